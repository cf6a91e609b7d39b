"""The optimal channel against closed forms, against an independent Blahut-Arimoto, and as a law."""

import math

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.calibrators import channel as module
from rpac.calibrators.channel import ChannelSearch, Limit, coin
from rpac.calibrators.rate_distortion import Book
from rpac.front.bias import bias
from rpac.worlds.batch import stacked

RNG = np.random.default_rng(0)
CLUSTERED = rpac.Outputs(np.repeat(4 * RNG.normal(size=(6, 3)), 20, 0) + RNG.normal(size=(120, 3)))


def figures(outputs, law):
    """Return MI and E|Z - W|^2 by enumeration."""
    p, matrix = outputs.weights, law.matrix
    mass = p @ matrix
    logs = np.log(np.where(matrix > 0, matrix, 1.0)) - np.log(mass) * (matrix > 0)
    loss = np.square(outputs.values[:, None] - law.words).sum(axis=2)
    return float(p @ (matrix * logs).sum(axis=1)), float(p @ (matrix * loss).sum(axis=1))


def plain_blahut_arimoto(z, p, words, nats, rounds=400):
    """Return the least distortion on fixed words: textbook steps, the slope by bisection."""
    loss = np.square(z[:, None] - words).sum(axis=2)
    low, high = 1e-4 / loss.mean(), 1e4 / loss.mean()
    for _ in range(30):
        slope = math.sqrt(low * high)
        q, kernel = np.full(len(words), 1 / len(words)), np.exp(-slope * loss)
        for _ in range(rounds):
            matrix = q * kernel
            matrix /= matrix.sum(axis=1, keepdims=True)
            q = p @ matrix
        terms = matrix * np.log(np.maximum(matrix, 1e-300) / np.maximum(q, 1e-300))
        low, high = (slope, high) if p @ terms.sum(axis=1) <= nats else (low, slope)
    return float(p @ (matrix * loss).sum(axis=1))


def held(outputs, nats, law, least, tolerance=0.005):
    """Check leakage to 1e-9 by enumeration, the budget, and the distortion against a truth."""
    leak, lost = figures(outputs, law)
    certificate = rpac.certify(outputs, law, budget=nats)
    assert certificate.grade == "proved"
    assert abs(certificate.bound - leak) < 1e-9
    assert leak <= certificate.bound + 1e-12 <= nats + 1e-12
    assert lost <= least * (1 + tolerance)
    assert lost == pytest.approx(law.power, rel=1e-6)


@pytest.mark.parametrize("nats", [0.1, 0.5, 1.0, 2.0])
def test_a_gaussian_source_has_its_closed_form(nats):
    x = np.linspace(-5, 5, 301)
    p = np.exp(-x * x / 2) / np.exp(-x * x / 2).sum()
    outputs = rpac.Outputs(3 * x + 7, p)
    held(outputs, nats, rpac.calibrate(outputs, nats, "channel"), 9 * math.exp(-2 * nats))


def entropy(p):
    return -(p * math.log(p) + (1 - p) * math.log(1 - p)) if 0 < p < 1 else 0.0


@pytest.mark.parametrize(("rare", "nats"), [(0.5, 0.02), (0.5, 0.3), (0.2, 0.1), (0.03, 0.05)])
def test_a_binary_source_under_hamming_loss_has_its_closed_form(rare, nats):
    """R(D) = h(p) - h(D)."""
    outputs = rpac.Outputs([0, 1], [1 - rare, rare])
    law = rpac.calibrate(outputs, nats, rpac.Equilibrium(rpac.hamming, "channel"))
    low, high = 0.0, rare
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if entropy(rare) - entropy(middle) > nats else (low, middle)
    changed = outputs.weights @ (law.matrix * (outputs.values != law.words.T)).sum(axis=1)
    assert low * (1 - 1e-6) <= changed <= low * 1.005
    assert rpac.certify(outputs, law).bound <= nats
    labels = rpac.Outputs(["no", "yes"], [1 - rare, rare])
    same = rpac.calibrate(labels, nats, "channel")  # of labels: the label channel
    assert isinstance(same, rpac.LabelChannel)
    assert same.matrix == pytest.approx(law.matrix, abs=1e-3)


def test_the_clusters_of_the_oracles(truths):
    """Against an independent Blahut-Arimoto on a fixed fine code book; noise needs more error."""
    checked = 0
    for case in truths("lattice_optimum") + truths("gaussian_equilibrium_2d"):
        z = np.asarray(case["atoms"], float).reshape(len(case["p"]), -1)
        outputs = rpac.Outputs(z, case["p"])
        ends = [np.linspace(z[:, c].min(), z[:, c].max(), (201, 21)[z.shape[1] - 1])
                for c in range(z.shape[1])]  # fmt: skip
        grid = np.stack(np.meshgrid(*ends), axis=-1).reshape(-1, z.shape[1])
        law = rpac.calibrate(outputs, case["budget"], "channel")
        least = plain_blahut_arimoto(z, outputs.weights, np.concatenate([grid, z]), case["budget"])
        held(outputs, case["budget"], law, least)
        assert law.power < case["power"]
        checked += 1
    assert checked == 15 or not truths("lattice_optimum")


@pytest.mark.parametrize("nats", [0.3, 1.0, 2.5])
def test_several_numbers_reach_the_limit_and_beat_noise_after_shrinkage(nats):
    law = rpac.calibrate(CLUSTERED, nats, "channel")
    held(CLUSTERED, nats, law, math.inf)
    found = rpac.Equilibrium().limit(CLUSTERED, law)
    with pytest.raises(rpac.InputError, match="Expected a Codebook; got GaussianNoise"):
        rpac.Equilibrium().limit(CLUSTERED, rpac.calibrate(CLUSTERED, 1.0, "auto-pac"))
    assert isinstance(found, Limit)
    assert 0 <= found.gap < 0.01
    noise = rpac.calibrate(CLUSTERED, nats)
    assert law.power < bias(CLUSTERED, noise).shrunk


def test_equal_seeds_give_equal_laws_in_any_company():
    first = rpac.calibrate(CLUSTERED, 1.0, "channel").digest
    assert all(rpac.calibrate(CLUSTERED, 1.0, "channel").digest == first for _ in range(3))
    again = rpac.Outputs(CLUSTERED.values.copy())
    assert rpac.calibrate(again, 1.0, rpac.Equilibrium(family="channel", seed=0)).digest == first


def test_equal_outputs_have_equal_rows():
    outputs = rpac.Outputs([0.0, 5.0, 0.0, 9.0, 5.0])
    matrix = rpac.calibrate(outputs, 0.4, "channel").matrix
    assert (matrix[0] == matrix[2]).all()
    assert (matrix[1] == matrix[4]).all()


def test_a_curve_falls_and_meets_every_budget_from_below():
    budgets = [0.2, 0.6, 1.2, 2.0]
    laws = rpac.curve(CLUSTERED, budgets, "channel")
    powers = [law.power for law in laws]
    assert powers == sorted(powers, reverse=True)
    for nats, law in zip(budgets, laws, strict=True):
        assert 0.998 * nats <= rpac.certify(CLUSTERED, law).bound <= nats
        alone = rpac.calibrate(CLUSTERED, nats, "channel")
        assert law.power <= alone.power * 1.002


def test_given_words_are_released_as_they_were_given():
    words = np.array([[0.1, 0.2, 0.3], [4.0, 4.0, 4.0], [-4.0, 2.0, 0.0]])
    law = rpac.calibrate(CLUSTERED, 0.4, rpac.Equilibrium(family="channel", words=words))
    assert {tuple(w) for w in law.words} <= {tuple(w) for w in words}
    assert rpac.certify(CLUSTERED, law).bound <= 0.4
    wide = rpac.Outputs(np.random.default_rng(1).normal(size=(4, 40)))
    kept = rpac.calibrate(wide, 0.4, rpac.Equilibrium(family="channel", words=wide.values[:2]))
    assert {tuple(w) for w in kept.words} <= {tuple(w) for w in wide.values[:2]}


def test_words_may_be_few():
    law = rpac.calibrate(CLUSTERED, 2.0, rpac.Equilibrium(family="channel", words=3))
    assert len(law.words) <= 3
    assert rpac.certify(CLUSTERED, law).bound <= math.log(3) + 1e-9


def test_words_grow_until_more_of_them_gain_little(monkeypatch):
    rng = np.random.default_rng(2)
    outputs = rpac.Outputs(rng.normal(size=(400, 2)))
    law = rpac.calibrate(outputs, 3.0, "channel")
    four_times = ChannelSearch(outputs, rpac.SquaredError(), None, 0)
    monkeypatch.setattr(module, "GAIN", -1.0)
    monkeypatch.setattr(module, "_FULL", 0.0)
    more = four_times._grown(3.0)
    assert law.power <= more.distortion * 1.03


@pytest.mark.parametrize("nats", [1e-3, 1e-5, 1e-8, 1e-11, 1e-13])
def test_tiny_budgets_are_met_too(nats):
    outputs = rpac.Outputs([0.0, 1.0, 2.0, 3.0])
    for words in (None, [0.0, 1.4, 3.0]):
        law = rpac.calibrate(outputs, nats, rpac.Equilibrium(family="channel", words=words))
        leak, lost = figures(outputs, law)
        assert leak <= nats + 1e-14
        assert lost <= 1.3
        if nats > 1e-10:
            assert rpac.certify(outputs, law).bound <= nats


def test_half_samples_need_given_words():
    people = rpac.Subsets(np.random.default_rng(0).normal(size=40), worlds=16)
    outputs = rpac.simulate(people, np.mean)
    with pytest.raises(rpac.InputError, match="code words that are given, for half-samples"):
        rpac.calibrate(outputs, 0.1, "channel")
    grid = rpac.Equilibrium(family="channel", words=np.linspace(-1, 1, 41))
    law = rpac.calibrate(outputs, 0.1, grid)
    found = rpac.certify(outputs, law, budget=0.1)
    assert found.worst_unit_success <= rpac.advantage.nats_to_success(0.1)
    rate = rpac.SuccessRate(0.55)
    careful = rpac.certify(outputs, rpac.calibrate(outputs, rate, grid), budget=rate)
    assert 0.53 < careful.worst_unit_success <= 0.55


def test_a_price_on_the_class_keeps_it_more_often():
    """For a little more squared error; and the squared error alone is the least."""
    rng = np.random.default_rng(3)
    logits = rpac.Outputs(3 * np.eye(4)[rng.integers(0, 4, 200)] + rng.normal(size=(200, 4)))

    def kept(law):
        right = logits.values.argmax(axis=1)[:, None] == law.words.argmax(axis=1)
        return float((law.matrix * right).sum() / 200)

    plain, priced, hard = (
        rpac.calibrate(logits, 0.4, rpac.Equilibrium(utility, "channel"))
        for utility in (rpac.SquaredError(), rpac.ArgMax(), rpac.hamming)
    )
    assert kept(plain) < kept(priced) <= kept(hard) + 0.01
    assert plain.power <= priced.power <= 1.1 * plain.power
    assert rpac.certify(logits, priced).bound <= 0.4


@pytest.mark.parametrize(
    "utility",
    [rpac.Weighted(np.diag([100.0, 1.0, 0.0])), rpac.Smooth(lambda b: np.abs(b).sum(axis=1)),
     lambda values, words: np.square(values[:, None, 0] - words[:, 0])],
)  # fmt: skip
def test_any_utility_is_met_and_helps_what_it_weighs(utility):
    law = rpac.calibrate(CLUSTERED, 0.8, rpac.Equilibrium(utility, "channel"))
    assert rpac.certify(CLUSTERED, law).bound <= 0.8
    plain = rpac.calibrate(CLUSTERED, 0.8, "channel")
    if not isinstance(utility, rpac.Smooth):
        first = [tabled.error()["noise"][0] for tabled in (law, plain)]
        assert first[0] < first[1]


def test_a_public_coin_mixes_leakage_and_distortion_alike():
    """Words of both books stay apart, so the coin is told: the leakage is the mean, exactly."""
    search = ChannelSearch(CLUSTERED, rpac.SquaredError(), None, 0)
    low, high = search._grown(0.4), search._grown(1.2)
    mixed = coin(low, high, 0.7)
    share = (0.7 - low.leakage) / (high.leakage - low.leakage)
    assert mixed.leakage == pytest.approx(0.7)
    assert mixed.distortion == pytest.approx((1 - share) * low.distortion + share * high.distortion)
    law = search._codebook(mixed)
    leak, lost = figures(CLUSTERED, law)
    assert (leak, lost) == pytest.approx((mixed.leakage, mixed.distortion), rel=1e-6)
    assert law.matrix[:, : low.matrix.shape[1]].sum(axis=1) == pytest.approx(1 - share)
    # A coin that depends on the world is no public coin, and its certificate says so.
    tilt = np.where(np.arange(120) % 2 == 0, 0.9, 0.1)[:, None]
    secret = np.concatenate([(1 - tilt) * low.matrix, tilt * high.matrix], axis=1)
    told = rpac.Codebook(law.words, secret[search.place])
    assert rpac.certify(CLUSTERED, told).bound > rpac.certify(CLUSTERED, law).bound + 0.2


def test_jumps_are_crossed_by_a_coin_where_it_gains(monkeypatch):
    search = ChannelSearch(CLUSTERED, rpac.SquaredError(), None, 0)
    low, high = (search._grown(nats).book for nats in (0.4, 1.2))
    found = search._closed(low, high, 0.7)
    assert found.leakage <= 0.7
    pushed = search._pushed(low, 0.7)
    assert found.distortion <= pushed.distortion
    assert pushed.leakage <= 0.7


def test_budgets_beyond_all_that_words_tell_are_met_by_all_of_it():
    outputs = rpac.Outputs([0.0, 1.0, 10.0])
    law = rpac.calibrate(outputs, 0.9, rpac.Equilibrium(family="channel", words=[0.5, 10.0]))
    assert rpac.certify(outputs, law).bound == pytest.approx(entropy(1 / 3), abs=1e-6)


REFUSED = {
    "a family": (lambda: rpac.Equilibrium(family="book"), 'family "auto".*"channel"; got \'book\''),
    "words of noise": (lambda: rpac.Equilibrium(words=3), 'family "channel" for words'),
    "a loss of noise": (lambda: rpac.Equilibrium(rpac.hamming), 'family "channel" for words'),
    "no words": (lambda: rpac.Equilibrium(family="channel", words=0), "whole `words` of at least"),
    "no utility": (lambda: rpac.Equilibrium(3, "channel"), "a utility, or a function loss"),
    "short words": (
        lambda: rpac.calibrate(CLUSTERED, 1.0, rpac.Equilibrium(family="channel", words=[[1.0]])),
        "words of 3 numbers; got shape",
    ),
    "draws": (
        lambda: rpac.calibrate(
            rpac.Outputs(CLUSTERED.values, clip=(np.full(3, -9.0), np.full(3, 9.0))), 1.0, "channel"
        ),
        "finite worlds for a channel; got draws",
    ),
    "a loss of another shape": (
        lambda: rpac.calibrate(CLUSTERED, 1.0, rpac.Equilibrium(lambda v, w: v, "channel")),
        "a loss of shape",
    ),
    "a negative loss": (
        lambda: rpac.Loss(lambda v, w: -np.ones((len(v), len(w)))).loss(np.eye(2), np.eye(2)),
        "a loss of shape .*negative",
    ),
    "the cost of a loss": (lambda: rpac.Loss(rpac.hamming).cost(np.eye(2)), "a cost of noise; got"),
    "the weight of one": (lambda: rpac.Loss(rpac.hamming).weight(np.eye(2)), "the loss hamming"),
    "a share": (lambda: rpac.ArgMax(-1.0), "a `share` of at least 0; got -1"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case):
    call, message = REFUSED[case]
    with pytest.raises(rpac.InputError, match=message):
        call()


def test_a_channel_that_tells_nothing_has_no_slope():
    search = ChannelSearch(CLUSTERED, rpac.SquaredError(), None, 0)
    law = rpac.Codebook(CLUSTERED.values[:2], np.full((120, 2), 0.5))
    found = search.limit(law)
    assert found.limit == 0.0
    assert found.gap == 1.0
    assert Limit(0.0, 0.0, 1).gap == 0.0


def test_the_first_book_spreads_out_as_far_as_worlds_differ():
    search = ChannelSearch(rpac.Outputs([0.0, 0.0, 1.0]), rpac.SquaredError(), None, 0)
    book = search._spread_out(Book(np.zeros((1, 1)), np.ones(1), 1.0), 5)
    assert len(book.words) <= 3
    assert book.mass.sum() == pytest.approx(1.0)


def test_words_stay_those_that_were_given():
    mine = [0.5, 10.0]
    grid = rpac.Equilibrium(family="channel", words=mine)
    mine[0] = 7.0
    assert list(grid.words) == [0.5, 10.0]


def test_half_samples_stay_half_samples_whoever_keeps_their_members():
    """Neither in SQL, nor in the span of worlds, nor in a batch are words found."""
    frame = pd.DataFrame({"id": range(40), "pay": np.random.default_rng(0).normal(size=40)})
    database = rpac.Database({"staff": frame}, unit="id", worlds=16)
    asked = rpac.simulate(database.source, database.query("SELECT avg(pay) AS pay FROM staff"))
    plain = rpac.simulate(rpac.Subsets(frame, unit="id", worlds=16), lambda t: t["pay"].mean())
    wide = rpac.Outputs(np.random.default_rng(0).normal(size=(5, 60)), masks=plain.masks[:5])
    for outputs in (asked, stacked([plain, plain]), wide.along(wide.span)):
        assert outputs.halves
        with pytest.raises(rpac.InputError, match="code words that are given"):
            rpac.calibrate(outputs, 0.1, "channel")
