"""Statistics of a table of people, from a plan to a certificate."""

# %% [markdown]
# # A table of people in a notebook
#
# You have a table about people, and want to publish a few numbers from it: an average, a median, a
# histogram, averages by group. Nobody should be able to tell from them whether a given person is
# in the table. That is the promise *person*.
#
# The table here is *Adult*, 48,842 rows of a census. It is public, so every released number can be
# held against the truth. With a table of your own you never see that comparison in print, which is
# why it is worth seeing once.

# %%
import os
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import rpac
from rpac import statistics as st

folders = [Path(os.environ.get("RPAC_DATA", "data")), Path("../shared/data")]
folder = next((f for f in folders if f.is_dir()), folders[0])  # where adult.csv.gz is
adult = pd.read_csv(folder / "adult.csv.gz")
adult[["age", "education", "sex", "hours_per_week", "capital_gain"]].head()

# %% [markdown]
# ## Say whose row it is
#
# What is protected is a *unit*: all rows of one person come and go together. Adult has one row a
# person, `unit="rows"`. If people could have several rows, you would name the column with their
# id. `size` is a round, public figure, used for advice and nothing else.

# %%
people = rpac.Presence(adult, unit="rows", size=50_000)

# %% [markdown]
# ## The price, before anything is spent
#
# A budget is a success rate. If a coin decided whether Ms Lee's rows are in the table, somebody who
# knows everybody else's would guess it right half of the time. At `SuccessRate(0.55)` they are
# right at most 55 times in 100 with one answer; several answers add up. The comparison below
# reads no row: it would be the same for any table.

# %%
question = st.mean("hours_per_week")
rates = [rpac.SuccessRate(rate) for rate in (0.51, 0.52, 0.55, 0.60)]
prices = rpac.compare((question, people), rates).frame()
print(prices[["success", "epsilon", "number", "noise", "times"]].round(3).to_string(index=False))

# %% [markdown]
# An average is a noisy sum divided by a noisy count, so both are listed. The noise of the sum is a
# factor times a *level*: how much one person adds, which nobody has declared here. rpac finds it
# privately, for a share of the price. A guess of it tells what to expect:

# %%
factor = prices.query("success == 0.55 and times != ''")["noise"].item()
print(f"if one person adds 60 hours at most: +- {factor * 60 / 50_000:.4f} hours (one deviation)")

# %% [markdown]
# ## A first answer

# %%
careful = rpac.SuccessRate(0.55)
release = rpac.privatize(question, people, careful)
truth = adult["hours_per_week"].mean()
low, high = release.noise_interval
print(
    f"released {release.value:.3f}, without its noise {low:.3f} to {high:.3f} in 95 % of releases"
)
print(f"the truth, which only a public table can show: {truth:.3f}")
assert abs(release.value - truth) < 0.2

# %% [markdown]
# Every run draws new noise, so your figures differ from these in the last digits. A median is
# asked in the same way. It is a point of a public grid, and its noise is in the *rank*, by so many
# people as the plan says: no interval stands beside it.

# %%
median = rpac.privatize(st.median("age"), people, careful)
print(f"median age: released {median.value:.1f}, in truth {adult['age'].median():.1f}")
assert median.noise_interval is None
assert abs(median.value - adult["age"].median()) < 2

# %% [markdown]
# ## A histogram
#
# Edges are yours to choose, and must not come from the rows: the oldest person in the table is a
# person. A histogram costs no more than a single count, because nobody is in two bars.

# %%
edges = list(range(15, 100, 5))
bars = rpac.privatize(st.histogram("age", edges), people, careful)
names = [name for name in bars.value if name != "other"]
counts = np.array([bars.value[name] for name in names])
low, high = (np.array([side[name] for name in names]) for side in bars.noise_interval)
exact = np.histogram(adult["age"], bins=edges)[0]

figure, (above, below) = plt.subplots(
    2, 1, figsize=(7.2, 4.6), sharex=True, height_ratios=(2, 1), layout="constrained"
)
above.bar(edges[:-1], counts, width=4.5, align="edge", color="tab:blue", alpha=0.6)
above.set(ylabel="people, released")
below.errorbar(
    np.array(edges[:-1]) + 2.25, counts - exact, yerr=(high - low) / 2, fmt="o", markersize=4
)
below.axhline(0, color="0.2", linewidth=1)
below.set(xlabel="age", ylabel="released - truth")

thick = exact > 100
assert np.all(np.abs(counts - exact)[thick] < 2 * (high - low)[thick])  # eight deviations

# %% [markdown]
# The noise hides one person and is the same in every bar, a few people. In a bar of thousands
# nobody would see it, hence the lower picture; where a group is small, it is all one sees.
#
# ## An average for each group
#
# Groups are declared, never read off the rows, since a group that shows up only when somebody is
# in it tells that somebody is in it. Two numbers for every group are one question in SQL, and
# share its price.

# %%
schools = [
    "Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad",
    "Some-college", "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate",
]  # fmt: skip
tables = rpac.Database({"adult": adult}, unit="rows", keys={"education": schools})
by_school = tables.query(
    "SELECT education, avg(hours_per_week) AS hours, count(*) AS people "
    "FROM adult GROUP BY education"
)
groups = rpac.privatize(by_school, tables.presence, careful)
table = groups.value.set_index("education")
table["low"] = groups.noise_interval[0].set_index("education")["hours"]
table["high"] = groups.noise_interval[1].set_index("education")["hours"]
table["truth"] = adult.groupby("education")["hours_per_week"].mean()
table = table.loc[schools]
table.round(1)

# %%
firm = (table["high"] - table["low"]) / 2 < 2  # hours; known from what was released alone
figure, axes = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
places = np.arange(len(schools))
for rows, color, label in ((firm, "tab:blue", "released"), (~firm, "0.6", "released, too noisy")):
    part = table[rows]
    sides = [part["hours"] - part["low"], part["high"] - part["hours"]]
    axes.errorbar(part["hours"], places[rows], xerr=sides, fmt="o", color=color, label=label)
axes.plot(table["truth"], places, "kx", label="truth")
axes.set_yticks(places, schools)
axes.set(xlabel="average hours of work per week", xlim=(20, 60))
axes.legend(frameon=False, loc="lower right")

off = (table["hours"] - table["truth"]).abs() / (table["high"] - table["low"])
large = table["people"] > 1_000
assert off[large].max() < 2, "an average of a large group is off by more than 8 standard errors"

# %% [markdown]
# The 16 groups cost what one costs. The noise of a sum is the same in every group, so averages
# over few people are the noisy ones, and their bars say so. Which groups to leave out of the
# publication may be decided by what was *released* (a wide bar, a small noisy count); that is
# free. It must not be decided by the true counts.
#
# ## Middles and caps: what you may declare
#
# Whatever is public knowledge may save noise if you say it. A *middle* is what averages are counted
# from. *Caps* are what an entry is at least and at most; with them no level has to be found. A
# level is drawn anew each time, so widths differ from run to run where nothing is declared.

# %%
declared = {
    "nothing": {},
    "a middle of 40 hours": {"middle": {"hours_per_week": 40}},
    "caps of 1 and 99 hours, and the middle": {
        "caps": {"hours_per_week": (1, 99)},
        "middle": {"hours_per_week": 40},
    },
}
for name, known in declared.items():
    answer = rpac.privatize(question, rpac.Presence(adult, unit="rows", **known), careful)
    width = (answer.noise_interval[1] - answer.noise_interval[0]) / 2
    print(f"{name:40} {answer.value:.3f} +- {width:.3f}")

# %% [markdown]
# A wrong cap costs accuracy, not privacy, **and no error bar will tell you**. (A cap that was read
# off private rows tells what it was read from.) Nine in ten people in Adult have no capital gain,
# and a few have 99,999. Somebody who caps gains at 5,000 gets a narrow interval around the average
# of *capped* gains:

# %%
gain, true_gain = st.mean("capital_gain"), adult["capital_gain"].mean()
for name, caps in (
    ("no caps: a level is found", {}),
    ("caps of 0 and 100,000", {"capital_gain": (0, 100_000)}),
    ("caps of 0 and 5,000", {"capital_gain": (0, 5_000)}),
):
    source = rpac.Presence(adult, unit="rows", caps=caps, middle={"capital_gain": 0})
    answer = rpac.privatize(gain, source, careful)
    low, high = answer.noise_interval
    print(f"{name:27} {low:7.0f} to {high:7.0f}; in truth {true_gain:.0f}")
assert high < true_gain, "the interval of capped gains holds the true average"

# %% [markdown]
# ## Budgets side by side
#
# Noise falls as the allowed success grows, and it does not depend on how many people there are. In
# a large table a careful budget costs next to nothing, and in a small one the budget decides.

# %%
allowed = np.array([0.505, 0.51, 0.52, 0.55, 0.60, 0.70])
rates = [rpac.SuccessRate(rate) for rate in allowed]
noise = rpac.compare((st.count(), people), rates).frame()["noise"]
figure, axes = plt.subplots(figsize=(7.2, 3.2), layout="constrained")
axes.plot(100 * allowed, noise, "o-")
axes.set(yscale="log", xlabel="success of a guess, at most (%)", ylabel="people")
axes.set_yticks([1, 2, 4, 10, 20, 40], [1, 2, 4, 10, 20, 40])
axes.minorticks_off()
axes.set_title("noise of a count (standard deviation)", fontsize=10, loc="left")
axes.grid(visible=True, alpha=0.3)

# %% [markdown]
# ## Many questions, and books that cannot be overspent
#
# Answers about the same people add up, by the squares of their distances. A *ledger* keeps the sum
# and refuses what would exceed its cap. Here all answers together shall allow a success of at most
# 65 %; the distance that means is computed first.

# %%
cap = rpac.GaussianDP(rpac.advantage.success_to_distance(0.65))
books = Path(tempfile.mkdtemp()) / "books.db"
ledger = rpac.Ledger(books, budget=cap, dataset="adult")
questions = {column: st.mean(column) for column in ("age", "education_num", "hours_per_week")}
for column, mean in questions.items():
    answer = rpac.privatize(mean, people, careful, ledger=ledger, key=f"mean of {column}")
    print(f"{column:15} {answer.value:6.2f}, in truth {adult[column].mean():6.2f}")
print(ledger)

# %% [markdown]
# A question that is repeated under its `key` returns the stored answer and costs nothing. Without
# a key the same question is a second answer, with noise of its own, and is charged again: whoever
# averages the two has learnt more.

# %%
spent = ledger.spent
again = rpac.privatize(mean, people, careful, ledger=ledger, key=f"mean of {column}")
assert again.value == answer.value
assert ledger.spent == spent

asked = len(questions)
try:
    while True:
        rpac.privatize(st.count(), people, careful, ledger=ledger)
        asked += 1
except rpac.BudgetSpent as refusal:
    print(f"after {asked} answers:", refusal)
together = rpac.advantage.distance_to_success(np.sqrt(asked) * release.certificate.distance)
print(f"all {asked} answers together: presence guessed right at most {together:.1%} of the time")
assert together <= 0.65

# %% [markdown]
# ## Reading the certificate
#
# Every release carries one. It says what is protected, from whom, how well, and what is not
# covered.

# %%
print(release.certificate)

# %%
certificate = release.certificate
print(f"success, if a coin decides who is in: at most {certificate.worst_unit_success:.1%}")
print(f"of somebody who was 90 % sure before: at most {certificate.success_rate(0.9):.1%}")
print(f"as differential privacy: epsilon {certificate.epsilon(1e-5):.3f} at delta 0.00001")
assert certificate.promise == "person"
assert certificate.worst_unit_success == 0.55

# %% [markdown]
# ## What not to publish
#
# A certificate covers the released numbers, and whatever is computed from them and from public
# things. It covers nothing else. So these stay in the notebook:
#
# - anything computed from the rows beside the releases: true means, the true crosses in the
#   pictures above, the number of rows, the categories that occur, a correlation that you "only
#   looked at";
# - choices made by looking at the rows: edges, caps and groups set by what the data hold, or the
#   best of ten releases picked by its distance from the truth;
# - outputs of cells: a notebook that shows `adult.head()` publishes five people.
#
# What may go out is `release.value`, `release.noise_interval` and `release.certificate`, and
# everything you make of them. Next: [the custodian](2_custodian.md) asks in SQL and keeps the
# books for others.

# %%
ledger.close()
