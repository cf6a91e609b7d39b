"""Logits and weights of a classifier, released under the promise sample."""

# %% [markdown]
# # An engineer: logits and weights
#
# You have a classifier, and want to show what it says or what it has learnt. The data are public:
# anybody can download MNIST. What nobody needs to know is *which* record the classifier looked at,
# or *which half* of the images it was trained on. That is the promise *sample*: the secret is
# drawn from a public pool, and the function may be anything.
#
# Had you trained on customers, that promise would be empty, since it declares the list of
# customers public. Then use *person*, by blocks ([which promise?](../choose.md#which-promise)).
#
# The data are read from a folder, `data` here or the one that `RPAC_DATA` names. Put a file
# `mnist.npz` there, with the arrays `x_train`, `y_train`, `x_test` and `y_test`, images of 28 x 28
# bytes; or fetch the publisher's four files once, with
# `rpac.paper.data.load("mnist", "data", download=True)`.

# %%
import os
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neural_network import MLPClassifier

import rpac
from rpac.paper import data

folders = [Path(os.environ.get("RPAC_DATA", "data")), Path("../shared/data")]
folder = next((f for f in folders if f.is_dir()), folders[0])  # where mnist.npz is
mnist = data.load("mnist", folder)


def coarse(images):
    """Return images of 7 x 7 pixels, as rows of numbers up to 1."""
    small = images.reshape(len(images), 7, 4, 7, 4).mean(axis=(2, 4))
    return small.reshape(len(images), -1) / 255


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it is stopped early on purpose
    network = MLPClassifier((32,), max_iter=25, random_state=0)
    network.fit(coarse(mnist.train_x[:4000]), mnist.train_y[:4000])


def logits(rows):
    """Return the network's last layer before the softmax, centred in each row."""
    hidden = np.maximum(rows @ network.coefs_[0] + network.intercepts_[0], 0)
    found = hidden @ network.coefs_[1] + network.intercepts_[1]
    return found - found.mean(axis=1, keepdims=True)


chosen = np.concatenate([np.flatnonzero(mnist.test_y == digit)[:50] for digit in range(10)])
images, digits = coarse(mnist.test_x[chosen]), mnist.test_y[chosen]
scores = logits(images)
print(f"{len(scores)} test records, accuracy {(scores.argmax(axis=1) == digits).mean():.3f}")

# %% [markdown]
# ## Outputs: one for each possible secret
#
# One of these 500 records was classified, and the secret is which. So there are 500 *worlds*, each
# with its ten logits. `Outputs` takes an array that you have; `simulate` would run a function on a
# source.

# %%
outputs = rpac.Outputs(scores)
print(outputs)
print(f"the secret has {outputs.entropy:.2f} nats = log {len(scores)}")

# %% [markdown]
# ## What a budget of nats allows
#
# The class that the network names is a function of the record. Somebody who guesses it blindly
# takes the most frequent one. After a release that leaks b nats they are right at most as often as
# *Fano's inequality* allows, whoever they are. It is a limit on attackers, and just as well on
# you: no release shows the class more often.

# %%
budgets = [0.25, 0.5, 1.0, 2.0]
blind = np.bincount(scores.argmax(axis=1)).max() / len(scores)
ceiling = rpac.advantage.nats_to_success(budgets, blind)
for nats, most in zip(budgets, ceiling, strict=True):
    print(
        f"{nats:4} nats: the class is guessed right {blind:.0%} before, {most:.1%} after, at most"
    )

# %% [markdown]
# ## Methods side by side
#
# `auto-pac` is Gaussian noise in closed form; `equilibrium` is the least Gaussian noise for the
# *true* leakage; `channel` releases one of a few public *code words* in place of noise. What you
# want from logits is their largest one, and a channel may be told so: `rpac.ArgMax` puts a price
# on a changed class, here as much as all variance of the logits. The utility is how often the
# released class is the network's.

# %%
methods = {
    "auto-pac": "auto-pac",
    "equilibrium": "equilibrium",
    "channel": "channel",
    "channel for the class": rpac.Equilibrium(family="channel", utility=rpac.ArgMax(1.0)),
}


def agreement(values, released):
    """Return how often the largest released number is the largest of the true ones."""
    return (values.argmax(axis=1) == released.argmax(axis=1)).mean()


table = rpac.compare(outputs, budgets, methods, agreement)
shown = table.frame()[["method", "budget", "power", "keeps", "bound", "grade", "utility"]]
print(shown.round(4).to_string(index=False))

# %% [markdown]
# Noise spends nats on telling apart records that nobody asked to tell apart. A channel need not,
# and errs less for the same nats (`power` is the mean squared error), but it is *biased*: code
# words are drawn towards the mean of all worlds, and `keeps` is how much of the distance from it
# is left. Use it where only a decision counts, and noise where the numbers do.
#
# If the class is all you want, release the class. Labels have a channel of their own, which
# reaches the ceiling where classes are equally frequent.

# %%
labels = rpac.Outputs(scores.argmax(axis=1).astype(str), kind="category")
channels = [rpac.calibrate(labels, nats) for nats in budgets]
kept = np.array([1 - channel.power for channel in channels])  # its power: how often it changes one
for nats, channel in zip(budgets, channels, strict=True):
    assert rpac.certify(labels, channel, budget=nats).grade == "proved"

figure, axes = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
axes.plot(budgets, ceiling, "k--", label="Fano's ceiling")
axes.plot(budgets, kept, "s", color="0.4", label="the label alone")
for method in reversed(methods):
    axes.plot(budgets, table.column(method, "utility"), "o-", label=method)
axes.axhline(blind, color="0.5", linewidth=1, label="blind guess")
axes.set(xscale="log", xlabel="budget (nats)", ylabel="released class is the network's")
axes.set_xticks(budgets, budgets)
axes.set_ylim(0, 1)
axes.minorticks_off()
axes.set_title("What logits still show of the class", fontsize=10, loc="left")
axes.legend(frameon=False, fontsize=9)

slack = 6 * 0.5 / np.sqrt(20_000)  # agreement is estimated from 20,000 draws
for method in methods:
    assert (table.column(method, "utility") < ceiling + slack).all(), "above Fano's ceiling"
    assert (table.column(method, "bound") <= budgets).all(), "above the budget"
assert (kept <= ceiling + 1e-9).all()
noisy, told = (table.column(m, "utility")[-1] for m in ("equilibrium", "channel for the class"))
assert told > noisy + 0.1

# %% [markdown]
# ## One release
#
# `privatize` does it all: it draws a record, runs the classifier, finds noise or words, certifies
# the law that is really released, and only then draws from it.

# %%
word = rpac.privatize(
    lambda row: logits(row[None])[0],
    rpac.Worlds(list(images)),
    1.0,
    method=methods["channel for the class"],
)
print("released:", np.round(word.value, 1), "-> digit", word.value.argmax())
print(f"certified: at most {word.certificate.bound:.4f} nats ({word.certificate.grade})")
assert word.certificate.bound <= 1.0
assert word.certificate.promise == "sample"

# %% [markdown]
# ## Weights
#
# Any function will do, a training run as well. Here it is a ridge classifier, 500 weights, trained
# on a half of 3,000 images. `Subsets` draws the half; who was in it is the secret.


# %%
def trained(rows):
    """Return (50, 10) weights of ridge regression on rows of (image, digit)."""
    x, digit = np.column_stack([rows[:, :-1], np.ones(len(rows))]), rows[:, -1].astype(int)
    return np.linalg.solve(x.T @ x + 10 * np.eye(x.shape[1]), x.T @ (2.0 * np.eye(10)[digit] - 1))


def tested(weights):
    """Return the accuracy of weights on 10,000 images that no half has."""
    x = coarse(mnist.test_x)
    found = np.column_stack([x, np.ones(len(x))]) @ weights
    return (found.argmax(axis=1) == mnist.test_y).mean()


pool = np.column_stack([coarse(mnist.train_x[:3000]), mnist.train_y[:3000]])
halves = rpac.Subsets(pool, worlds=64)
release = rpac.privatize(trained, halves, 0.5)
print(f"accuracy of weights without noise, all images: {tested(trained(pool)):.3f}")
print(f"accuracy of the released weights:              {tested(release.value):.3f}")
print(f"certified: at most {release.certificate.bound:.4f} nats about the half")
print(f"anybody's membership guessed: at most {release.certificate.worst_unit_success:.1%} right")
assert release.certificate.bound <= 0.5
assert 0.5 < release.certificate.worst_unit_success < 1
assert tested(release.value) > 0.25

# %% [markdown]
# Nothing was clipped, and no gradient was touched: noise lies along the directions in which the 64
# trainings differ, and what they agree on survives. More images a half, or a smoother training,
# means less noise for the same nats.
#
# ## An audit
#
# A certificate says *at most*, an attack *at least*. The audit draws halves and releases, lets
# attacks guess, and holds what they reach against the claim.

# %%
report = rpac.audit(release, confidence=1 - 1e-7)
print(report)
assert not report.alarm
assert report.lower <= release.certificate.bound

# %%
report.plot()

# %% [markdown]
# ## What it does not say
#
# - The pool is public, by your declaration: who is in it, the noise level, and whatever all halves
#   agree on.
# - The nats are an average over draws. The certificate prints quantiles of what a single release
#   tells.
# - Every release about the same pool counts. Keep a ledger, as [the custodian](2_custodian.md)
#   does, or ask for all you need in one call.
#
# Next: [a researcher](4_researcher.md) compares methods, and writes one.
