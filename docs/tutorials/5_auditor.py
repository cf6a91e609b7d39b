"""Somebody else's record and noise, checked and attacked by an auditor who trusts neither."""

# %% [markdown]
# # An auditor: somebody else's record
#
# Somebody has published a number with a certificate, and you have to say whether the claim stands.
# You have their record, perhaps their books, perhaps their program. You trust none of it.
#
# ## What the publisher did
#
# There must be something to audit, so the next cell plays the publisher: made-up staff, one
# question, one release on the command line. From then on you see what is published, and nothing
# else.

# %%
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import rpac
from rpac.report.record import content_hash

os.chdir(tempfile.mkdtemp())


def run(line, lines=None):
    """Run a command line, print (the first lines of) what it says, and return its exit code."""
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(line)], capture_output=True, text=True, check=False
    )
    said = (done.stdout + done.stderr).rstrip().splitlines()
    print(f"$ {line}", *said[:lines], *(["..."] if said[lines:] and lines else []), sep="\n")
    return done.returncode


rng = np.random.default_rng(7)
staff = pd.DataFrame({"id": range(4_000), "pay": rng.lognormal(10.4, 0.35, 4_000).round(2)})
staff["department"] = rng.choice(["operations", "research", "sales"], 4_000, p=[0.5, 0.2, 0.3])
staff.to_csv("staff.csv", index=False)
sql = "SELECT department, avg(pay) AS pay, count(*) AS n FROM staff GROUP BY department"
release = f'rpac release staff.csv --unit id --sql "{sql}" --caps rows=1 --caps pay=0:200000'
release += " --keys department=operations,research,sales --middle pay=35000"
release += " --ledger books.db --cap 0.1 --dataset staff --out record.json"
assert run(release, lines=4) == 0

# %% [markdown]
# ## Is it what was written?
#
# A record carries a hash of itself, which finds damage and slips. That is what an outsider can
# check, from the record alone. Whoever has the books, their owner or an auditor they let in, also
# holds it against the entry that was written when the answer was charged.

# %%
assert run("rpac verify record.json", lines=2) == 0
assert run("rpac verify record.json --ledger books.db", lines=2) == 0

# %% [markdown]
# Change one byte, and it is refused.

# %%
text = Path("record.json").read_text()
at = re.search(r'"value": [1-8]', text).end() - 1  # the first digit of the first number
edited = text[:at] + str(int(text[at]) + 1) + text[at + 1 :]
Path("edited.json").write_text(edited)
print("one byte:", text[at], "->", edited[at])
assert run("rpac verify edited.json") == 1

# %% [markdown]
# **The hash is no signature.** Whoever edits a record can compute the hash again, and then only
# the books know better. So ask for them, or get the record from its issuer.

# %%
forged = json.loads(edited)
forged["sha256"] = content_hash(forged)
Path("forged.json").write_text(json.dumps(forged, indent=1) + "\n")
assert run("rpac verify forged.json", lines=2) == 0
assert run("rpac verify forged.json --ledger books.db") == 1

# %% [markdown]
# ## What does the record itself tell?
#
# What stands beside a certified number may tell more than the number. `rpac audit record.json`
# reads the file as somebody would who knows everything about everybody but one person. No data are
# needed.

# %%
assert run("rpac audit record.json") == 0

# %% [markdown]
# Suppose the publisher had meant well, and added a hash of the table, "for reproducibility".
# Whoever knows all rows but one tries candidates for the last until the hash fits:

# %%
helpful = json.loads(text) | {"table": {"sha256": "9f86d081884c7d659a2feaa0c55ad015" * 2}}
reading = rpac.audit(helpful)
print(reading.verdict)
for lesson in reading.defects:
    print(f"{lesson.where}: {lesson.tells}")
assert [lesson.part for lesson in reading.defects] == ["hashes"]

# %% [markdown]
# ## Does the noise keep its promise?
#
# A record says which law the noise was drawn from, not whether it was. For that you need to play:
# whoever lets you run their release, on data of your choice, can be attacked. Here the publisher
# claims 0.25 nats about which half of a public table was drawn (*sample*), and names function and
# noise.

# %%
pool = rng.normal(size=200)
halves = rpac.Subsets(pool, worlds=64)
outputs = rpac.simulate(halves, np.mean)
noise = rpac.calibrate(outputs, 0.25, "auto-pac")
sure = 1 - 1e-7  # an alarm is false once in ten million audits
declared = rpac.audit((outputs, noise), budget=0.25, confidence=sure)
print(declared)
assert not declared.alarm

# %% [markdown]
# Attackers were shown releases, learnt from some, and were judged on others. The table says how
# much they reached at least (`low`), and `nats` turns it into a lower bound on the leakage. All
# stay below the claim.
#
# ## A planted fault
#
# Now the program draws noise of half the scale. Certificate, record and report stay as they are,
# and nothing that is published looks different. Only its releases do.


# %%
def program(scale):
    """Return a release program whose noise has so many times the declared scale."""

    def released(worlds, rng):
        return outputs.values[worlds] + scale * noise.sample(len(worlds), rng)

    return released


caught = rpac.audit((outputs, noise), budget=0.25, released=program(0.5), confidence=sure)
print(caught.verdict)
assert caught.alarm

# %%
caught.plot()

# %% [markdown]
# ## What a lower bound can say, and what it cannot
#
# How small a fault would have been found? Each point is an audit of 20,000 games.

# %%
scales = [1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5]
audits = [
    rpac.audit((outputs, noise), ["bayes"], budget=0.25, released=program(s), confidence=sure)
    for s in scales
]
leaks = [rpac.certify(outputs, noise.scaled(s**2)).bound for s in scales]  # by power
figure, axes = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
axes.plot(scales, leaks, "o-", color="0.4", label="certified for the noise that was drawn")
axes.plot(scales, [found.lower for found in audits], "s-", label="shown by the audit, at least")
axes.axhline(0.25, color="0.2", linestyle="--", label="claimed")
axes.set(xlabel="scale of the noise, in shares of what was declared", ylabel="nats")
axes.set_title("Small faults hide between attack and certificate", fontsize=10, loc="left")
axes.legend(frameon=False)
axes.invert_xaxis()

assert [found.alarm for found in audits][0] is False
assert [found.alarm for found in audits][-1] is True
assert all(found.lower <= most for found, most in zip(audits, leaks, strict=True))

# %%
missed = [scale for scale, found in zip(scales, audits, strict=True) if not found.alarm]
print("no alarm at scales:", missed)

# %% [markdown]
# - **An alarm is proof** (with the stated confidence): more leaks than was claimed, whatever the
#   cause.
# - **No alarm proves nothing.** Noise that is a little too small stays below what so many games
#   can show; more games narrow the gap, and never close it. A release may also fail where nobody
#   looked: on another table, on a rare world, on the second call.
# - **So an audit cannot replace a certificate.** A certificate says *at most*, for every attack,
#   by proof. The audit is for what no proof covers: that the program does what the certificate is
#   about.
# - A claim about *person* is audited by its owner, since every attack needs the rows:
#   `--sealed-report` with `--audit`, or `rpac audit staff.csv ...`.
#
# More: [attacks and audits](../audit.md), [what a certificate guarantees](../guarantee.md).
