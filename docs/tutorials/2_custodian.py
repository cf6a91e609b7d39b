"""Questions in SQL, answered by a custodian who keeps books."""

# %% [markdown]
# # A custodian: questions in SQL, and books
#
# You keep the tables of a hospital. Analysts ask about them in SQL, and you answer. Nobody should
# be able to tell from all of your answers together whether a given patient is in the tables: the
# promise *person*. The analysts choose the questions, and may be the patients' neighbours.
#
# The tables here are made up: patients, and their stays.

# %%
import json
import os
import shlex
import subprocess
import sys
import tempfile

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import rpac

os.chdir(tempfile.mkdtemp())
rng = np.random.default_rng(7)
n = 12_000
patient = pd.DataFrame({"id": [f"P{i:05}" for i in range(n)]})
patient["born"] = rng.integers(1930, 2020, n)
patient["region"] = rng.choice(["north", "south", "east", "west"], n, p=[0.4, 0.3, 0.2, 0.1])
often = np.minimum(1 + rng.poisson(0.6, n), 8)
stay = pd.DataFrame({"patient": np.repeat(patient["id"].to_numpy(), often)})
wards = ["surgery", "cardiology", "maternity", "eyes"]
stay["ward"] = rng.choice(wards, len(stay), p=[0.45, 0.33, 0.2, 0.02])
typical = stay["ward"].map({"surgery": 6.0, "cardiology": 4.5, "maternity": 3.0, "eyes": 1.5})
stay["days"] = np.minimum(rng.gamma(2.0, typical / 2), 30).round(1)
stay.head(3)

# %% [markdown]
# ## Say once what is public
#
# Nothing is read off private rows, so what an answer may show has to be declared: whose presence
# is the secret (`unit`), how a stay leads to a patient (`links`), which groups there are (`keys`),
# and how much one patient can add (`caps`: eight stays, of 30 days at most; both are rules of the
# house, not observations).

# %%
database = rpac.Database(
    {"patient": patient, "stay": stay},
    unit="patient.id",
    links={"stay.patient": "patient.id"},
    keys={"ward": wards, "region": ["north", "south", "east", "west"]},
    caps={"rows": 8, "days": (0, 30)},
    middle={"days": 5},
)
by_ward = database.query(
    "SELECT ward, avg(days) AS days, count(*) AS stays FROM stay GROUP BY ward ORDER BY stays DESC"
)

# %% [markdown]
# ## The price first
#
# Price and noise follow from the question and the declarations. No row is read, and nothing is
# spent. The columns `laplace` and `gaussian` show what differential privacy with known bounds
# would add at the same success.

# %%
budgets = [rpac.SuccessRate(0.52), rpac.SuccessRate(0.55)]
prices = rpac.compare((by_ward, database.presence), budgets).frame()
print(prices.drop(columns=["distance", "epsilon", "times"]).round(4).to_string(index=False))

# %% [markdown]
# ## Books with a cap
#
# A ledger is one file. It counts in nats, and a cap may be given as a distance (*Gaussian
# differential privacy*): 0.6 allows a success of 61.8 % to all answers together. Ann gets a
# smaller cap of her own.

# %%
ledger = rpac.Ledger("books.db", rpac.GaussianDP(0.6), dataset="stays", analyst="ann")
ledger.cap(rpac.GaussianDP(0.4), analyst="ann")
careful = rpac.SuccessRate(0.55)
release = rpac.privatize(by_ward, database.presence, careful, ledger=ledger, key="days by ward")
print(release.receipt)
release.value.round(2)

# %%
answer = release.value.set_index("ward")
low, high = (side.set_index("ward").loc[answer.index, "days"] for side in release.noise_interval)
truth = stay.groupby("ward")["days"].mean()
figure, axes = plt.subplots(figsize=(7.2, 2.6), layout="constrained")
places = np.arange(len(answer))
axes.errorbar(answer["days"], places, xerr=[answer["days"] - low, high - answer["days"]], fmt="o")
axes.plot(truth[answer.index], places, "kx", label="truth, for this tutorial alone")
axes.set_yticks(places, [f"{ward} (about {k} stays)" for ward, k in answer["stays"].items()])
axes.set(xlabel="average days of a stay, released with 95 % intervals", xlim=(0, 10))
axes.legend(frameon=False)

large = ["surgery", "cardiology", "maternity"]
assert (answer["days"] - truth)[large].abs().max() < 1.0

# %% [markdown]
# The ward for eyes has some 400 stays, and the noise hides a patient with eight: its interval is
# wide, and says so. All four wards were one question at one price.
#
# ## Retries are free, repetitions are not
#
# The charge is on the disk before the answer is shown. If a connection breaks, ask again under the
# same key: the stored answer comes back, to the last digit, and nothing is charged. A key stands
# for one request; another question under it is refused.

# %%
spent = ledger.spent
again = rpac.privatize(by_ward, database.presence, careful, ledger=ledger, key="days by ward")
assert again.value.equals(release.value)
assert ledger.spent == spent
try:
    stays = database.query("SELECT count(*) AS stays FROM stay")
    rpac.privatize(stays, database.presence, careful, ledger=ledger, key="days by ward")
except rpac.InputError as refusal:
    print(refusal)

# %% [markdown]
# ## Refused by wording, never by data
#
# A query may be asked if its numbers are sums over single patients. Whatever is refused is refused
# by its *text*, before a row is read, for nothing, and with another way to ask.

# %%
refused = {
    "rows of patients": "SELECT patient, days FROM stay",
    "a look at the others": "SELECT count(*) FROM stay WHERE days > (SELECT avg(days) FROM stay)",
    "a rank among them": "SELECT ward, rank() OVER (ORDER BY days) FROM stay",
    "groups that nobody declared": "SELECT born, count(*) FROM patient GROUP BY born",
    "a column that is not there": "SELECT avg(dayz) FROM stay",
}
for why, sql in refused.items():
    try:
        rpac.privatize(database.query(sql), database.presence, careful, ledger=ledger)
        raise AssertionError(f"{sql} was answered")
    except rpac.InputError as refusal:
        print(f"{why}:\n   {sql}\n   {refusal}\n")
assert ledger.spent == spent

# %% [markdown]
# A question about one patient is *not* refused, because a refusal would have to look. It is
# answered with noise that covers whatever one patient can add, and shows nothing:

# %%
nosy = database.query("SELECT count(*) AS stays FROM stay WHERE patient = 'P00042'")
about_one = rpac.privatize(nosy, database.presence, rpac.SuccessRate(0.52), ledger=ledger)
low, high = (int(side["stays"].item()) for side in about_one.noise_interval)
print(f"stays of P00042, at most 8: {about_one.value['stays'].item()} (95 %: {low} to {high})")
assert high - low > 8

# %% [markdown]
# When a cap is reached, no more is answered. The refusal says whose cap it is, and what is left.

# %%
asked = 0
try:
    while True:
        old = database.query("SELECT count(*) AS people FROM patient WHERE born < 1950")
        rpac.privatize(old, database.presence, careful, ledger=ledger, key=f"old people {asked}")
        asked += 1
except rpac.BudgetSpent as refusal:
    print(refusal)
print(ledger)
ledger.close()

# %% [markdown]
# ## The same on the command line
#
# What was declared in Python stands in a project file, and questions are one line each. The cell
# below writes the files and a small helper that runs a command line and shows what it prints.

# %%
patient.to_csv("patient.csv", index=False)
stay.to_csv("stay.csv", index=False)
with open("hospital.toml", "w") as file:
    file.write("""\
unit = "patient.id"
ledger = "books.db"
dataset = "stays"
caps = { rows = 8 }

[tables]
patient = "patient.csv"
stay = "stay.csv"

[links]
"stay.patient" = "patient.id"

[keys]
ward = ["surgery", "cardiology", "maternity", "eyes"]

[schema."stay.days"]
type = "number"
low = 0
high = 30
middle = 5
""")


def run(line, lines=None):
    """Run a command line, print (the first lines of) what it says, and return its exit code."""
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(line)], capture_output=True, text=True, check=False
    )
    said = (done.stdout + done.stderr).rstrip().splitlines()
    print(f"$ {line}", *said[:lines], *(["..."] if said[lines:] and lines else []), sep="\n")
    return done.returncode


# %%
plan = (
    'rpac plan --project hospital.toml --sql "SELECT ward, count(*) AS n FROM stay GROUP BY ward"'
)
assert run(plan) == 0

# %% [markdown]
# `release` charges the books, writes the public record and a report, and prints the answer.
# `--key` is free to retry here too. The same books are used, so Bob's question adds to Ann's.

# %%
release = plan.replace("plan", "release", 1)
release += (
    " --analyst bob --key bob-1 --out record.json --report report.html --sealed-report sealed.html"
)
assert run(release, lines=8) == 0
assert run(release, lines=5) == 0

# %% [markdown]
# - `record.json` is all that is public: question, answer, intervals, certificate, where it is
#   booked.
# - `report.html` is the same for people, one file that needs no network.
# - `sealed.html` is for the custodian alone: how exposed everybody is, how many were cut off. Only
#   its owner can read it.

# %%
with open("record.json") as file:
    record = json.load(file)
print("in the record:", ", ".join(record))
with open("report.html") as file:
    page = file.read()
print(f"the report has {len(page) / 1000:.0f} kB; the sealed one has mode", end=" ")
print(oct(os.stat("sealed.html").st_mode & 0o777))
assert "<script src" not in page
assert os.stat("sealed.html").st_mode & 0o777 == 0o600

# %% [markdown]
# Whoever holds a record can check it against the books: that it was charged, and that nothing in
# it was edited. A report can be made of a record again at any time.

# %%
assert run("rpac verify record.json --ledger books.db", lines=3) == 0
assert run("rpac report record.json --out again.html") == 0
assert run("rpac verify books.db") == 0
assert run("rpac ledger books.db --delta 1e-5") == 0

# %% [markdown]
# A refusal has exit code 1, its text says what to do next, and nothing is charged.

# %%
too_much = plan.replace("plan", "release", 1) + " --analyst bob --success 0.7"
assert run(too_much) == 1

# %% [markdown]
# ## What to keep in mind
#
# - **One dataset name for all versions.** Whoever is in January's and in February's table is
#   exposed by both, and the line `person stays` of the books counts both.
# - **Keep the books where analysts cannot write.** Entries are chained by hashes, which show
#   damage and rollback; they are no signatures.
# - **Declare rules, not observations.** `caps` and `keys` are public from the first question on.
#
# More: [questions in SQL](../sql.md), [books](../ledger.md), [command line](../command-line.md).
