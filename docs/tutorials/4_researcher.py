"""Methods compared on real outputs, one written on the spot, and all held against known truths."""

# %% [markdown]
# # A researcher: comparing privatizers
#
# You study how much noise privacy needs. rpac keeps three roles apart: a *calibrator* proposes
# noise for the outputs of a function, a *certificate* bounds what that noise leaks, an *attack*
# shows what it leaks at least. The proposer is never trusted, so a method of your own can be
# dropped in without a proof.

# %%
import math
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

import rpac
from rpac.calibrators.budget_search import meet, proved_bound
from rpac.contracts import check_calibrator

# %% [markdown]
# ## Outputs on every possible secret
#
# The data are the petals of 150 irises, the function is their lower tercile, and the secret is
# which half of the flowers was drawn. The function is run on 256 possible halves, and their
# answers are all that a calibrator sees.

# %%
petals = load_iris().data[:, 2]


def tercile(lengths):
    """Return a length that a third of the petals do not exceed."""
    return float(np.quantile(lengths, 1 / 3, method="nearest"))


halves = rpac.Subsets(petals, worlds=256)
outputs = rpac.simulate(halves, tercile)
figure, axes = plt.subplots(figsize=(7.2, 2.4), layout="constrained")
axes.hist(outputs.values[:, 0], bins=np.arange(1.45, 4.5, 0.1), color="tab:blue", alpha=0.7)
axes.set(xlabel="lower tercile of petal lengths (cm)", ylabel="halves")
axes.set_title("The answers on 256 halves fall into two clusters", fontsize=10, loc="left")
axes.margins(x=0)

# %% [markdown]
# The tercile lies in the gap between two species: the answers are far from Gaussian. That matters,
# since Auto-PAC bounds the leakage by that of a Gaussian with the same covariance.
#
# ## Budgets and methods
#
# `compare` calibrates every method at every budget, makes the law releasable, certifies it, and
# puts the results side by side: the noise's power, an interval for the true leakage, and the
# *Gaussianity gap*, what a Gaussian reference would charge beyond it.

# %%
budgets = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6]
table = rpac.compare(outputs, budgets, ["equilibrium", "auto-pac", "confident-auto-pac"])
columns = ["method", "budget", "power", "lower", "bound", "grade", "gaussianity_gap"]
print(table.frame()[columns].round(4).to_string(index=False))

# %%
table.plot()

# %% [markdown]
# On the left, power against the budget. On the right, what is really leaked: the equilibrium
# spends what it was given, Auto-PAC leaves a part of it unused, and ever more as budgets grow.
# That part is noise for nothing.

# %%
for name in ("auto-pac", "confident-auto-pac"):
    ratio = table.column(name, "power") / table.column("equilibrium", "power")
    print(f"power of {name} over the equilibrium's:", np.round(ratio, 2))
    assert (ratio > 0.99).all(), f"{name} was better than the equilibrium"
for name in ("equilibrium", "auto-pac", "confident-auto-pac"):
    assert (table.column(name, "bound") <= budgets).all()

# %% [markdown]
# ## A calibrator of your own
#
# Write one method, `propose`. This one adds two-sided geometric noise on a lattice, the discrete
# relative of Laplace noise. `meet` searches for a scale at which the proved bound lies just below
# the budget.


# %%
@dataclass(frozen=True)
class Geometric(rpac.Calibrator):
    """Two-sided geometric noise for one number, on a lattice.

    Attributes:
        step: Of the lattice.
        widest: How many steps the noise may reach.
    """

    step: float
    widest: int = 400

    def law(self, scale):
        """Return noise whose weight falls by a factor of e every `scale` steps."""
        offsets = np.arange(-self.widest, self.widest + 1)
        weights = np.exp(-np.abs(offsets) / scale)
        return rpac.LatticeNoise(self.step, offsets, weights / weights.sum())

    def propose(self, outputs, nats):
        """Return noise that leaks at most so many nats."""

        def gap(log_scale):
            return proved_bound(outputs, self.law(math.exp(log_scale))) - nats

        return self.law(math.exp(meet(gap, 1e-3 * nats)))


# %% [markdown]
# A *contract* checks that a calibrator repeats itself, keeps to its budget, and asks for less
# noise where more may leak. A method that promises too little noise is found out.

# %%
mine = Geometric(step=0.1)
check_calibrator(mine, outputs, budgets=(0.2, 0.4, 0.8))
print("the contract holds")


class Optimist(rpac.Calibrator):
    """Spends twice what it was given."""

    def propose(self, outputs, nats):
        """Return too little noise."""
        return mine.propose(outputs, 2 * nats)


try:
    check_calibrator(Optimist(), outputs, budgets=(0.2, 0.4))
    raise AssertionError("the contract has let an optimist pass")
except rpac.ContractError as refusal:
    print(refusal)

# %% [markdown]
# It goes into the same table as all the others, under a name of your choice.

# %%
wide = budgets[2:]
both = rpac.compare(
    outputs, wide, {"equilibrium": "equilibrium", "auto-pac": "auto-pac", "mine": mine}
)
figure, axes = plt.subplots(figsize=(7.2, 3.2), layout="constrained")
for name, mark in (("auto-pac", "s-"), ("mine", "o-")):
    axes.plot(
        wide, both.column(name, "power") / both.column("equilibrium", "power"), mark, label=name
    )
axes.axhline(1, color="0.5", linewidth=1, label="equilibrium")
axes.set(xscale="log", xlabel="budget (nats)", ylabel="power / equilibrium's")
axes.set_xticks(wide, wide)
axes.minorticks_off()
axes.set_title("What other noise costs, in shares of the equilibrium", fontsize=10, loc="left")
axes.legend(frameon=False)
assert (both.column("mine", "bound") <= wide).all()
assert (both.column("mine", "power") > 0.99 * both.column("equilibrium", "power")).all()

# %% [markdown]
# ## Problems that know their answer
#
# How good are the bounds themselves? `rpac.oracles` has problems whose leakage is known, in closed
# form or by quadrature that shares no code with the certificates. For each there should be a
# *sandwich*: what an attack reaches <= the truth <= what is certified.

# %%
rows = []
for problem in rpac.oracles.problems():
    certificate = rpac.certify(problem.outputs, problem.noise, confidence=1 - 1e-8)
    attack = rpac.audit((problem.outputs, problem.noise), ["bayes"], confidence=1 - 1e-8)
    rows.append((problem.name, attack.lower, problem.nats, certificate.bound, certificate.grade))
    slack = problem.error + 1e-9
    assert attack.lower <= problem.nats + slack, f"{problem.name}: an attack beyond the truth"
    assert certificate.lower - slack <= problem.nats <= certificate.bound + slack, problem.name
    name, *figures, grade = rows[-1]
    print(f"{name:28}", *(f"{figure:.4f}" for figure in figures), grade)

# %%
names, lower, truth, upper, _ = zip(*rows, strict=True)
places, truth = np.arange(len(rows)), np.array(truth)
figure, axes = plt.subplots(figsize=(7.2, 4.0), layout="constrained")
axes.barh(places, (np.array(upper) - lower) / truth, left=lower / truth, color="0.85")
axes.plot(lower / truth, places, "|", color="tab:red", markersize=14, label="attack: at least")
axes.plot(upper / truth, places, "|", color="tab:blue", markersize=14, label="certificate: at most")
axes.axvline(1, color="0.2", linewidth=1, label="truth")
axes.set_yticks(places, names)
axes.set(xlabel="nats, in shares of the truth", xlim=(0, 1.1))
axes.set_title("The sandwich: attack <= truth <= certificate", fontsize=10, loc="left")
axes.legend(frameon=False, loc="lower left")
axes.invert_yaxis()

assert (upper / truth).max() < 1.02

# %% [markdown]
# The certificates lie within a fraction of a per cent of these truths. The attacks' limits are
# lower mostly because they are limits: they hold with a confidence of 0.99999999 after 20,000
# games, and more games bring them closer.
#
# ## Where to go on
#
# - Noise that is *learned* against a decoder: `method="sr-pac"` ([SR-PAC](../sr-pac.md)).
# - Several numbers, other costs, channels: [which calibrator](../calibrators.md).
# - A calibrator for everybody: [its contract and its place](../contributing/calibrator.md).
# - The paper's experiments, all of them: `rpac paper iris` ([experiments](../experiments.md)).
#
# Next: [an auditor](5_auditor.md) holds somebody else's claims against what attacks can show.
