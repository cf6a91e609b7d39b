"""Decoders on problems with known answers: exact posteriors, normal densities, fair coins."""

import math

import numpy as np
import pytest
from scipy import stats

pytest.importorskip("jax", reason="the extra `neural` is not installed")

import jax
import jax.numpy as jnp

import rpac
from rpac.learned.decoders import (
    DECODERS,
    BernoulliDecoder,
    DensityDecoder,
    FlowDecoder,
    KernelDecoder,
    NetworkDecoder,
    blind_entropy,
    decoder_of,
    draw_worlds,
    dv_network,
    make_table,
    network,
    network_init,
)
from rpac.learned.families import FullGaussian, family_of

POINTS = np.array([[-2.0, 0.0], [0.0, 1.0], [1.0, -1.0], [3.0, 0.5]])
PRIOR = np.array([0.4, 0.3, 0.2, 0.1])
TABLE = make_table(POINTS, PRIOR, POINTS)
RELEASES = jnp.array([[0.0, 0.0], [-1.5, 0.3], [2.5, 0.0]])
KEY = jax.random.key(0)


def zeros(params):
    return jax.tree.map(jnp.zeros_like, params)


def bayes(y, scale):
    """Return the posterior of the worlds under normal noise, (n, m), by its definition."""
    likelihood = stats.norm.pdf(np.asarray(y)[:, None], POINTS, scale).prod(axis=-1)
    joint = likelihood * PRIOR
    return joint / joint.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("scale", [0.3, 1.0, 5.0])
def test_a_kernel_of_the_true_noise_is_the_posterior(scale):
    family = FullGaussian()
    decoder, params = KernelDecoder(family, known=True), family.init(2, scale)
    scores = np.asarray(decoder.scores(params, TABLE, RELEASES), float)
    found = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
    assert found == pytest.approx(bayes(RELEASES, scale), abs=1e-5)
    worlds = jnp.array([0, 2, 3])
    loss, log_loss = decoder.log_loss(params, TABLE, worlds, RELEASES)
    truth = -np.log(bayes(RELEASES, scale)[np.arange(3), np.asarray(worlds)])
    assert np.asarray(loss) == pytest.approx(truth, rel=1e-3, abs=1e-5)
    assert np.exp(np.asarray(log_loss)) == pytest.approx(np.asarray(loss), rel=1e-3, abs=1e-6)


def test_the_logarithm_of_the_loss_survives_where_the_loss_does_not():
    """All but sure: 1 - posterior is far below single precision, its logarithm is not."""
    family = FullGaussian()
    decoder, params = KernelDecoder(family), family.init(2, 0.05)
    loss, log_loss = decoder.log_loss(params, TABLE, jnp.array([1]), jnp.asarray(POINTS[[1]]))
    assert float(loss[0]) < 1e-30
    gaps = np.square(POINTS - POINTS[1]).sum(axis=1) / (2 * 0.05**2)
    others = [math.log(p / 0.3) - g for p, g in zip(PRIOR, gaps, strict=True) if g > 0]
    assert float(log_loss[0]) == pytest.approx(np.logaddexp.reduce(others), rel=1e-4)
    gradient = jax.grad(lambda y: decoder.log_loss(params, TABLE, jnp.array([1]), y)[1].sum())(
        jnp.asarray(POINTS[[1]]) + 0.01
    )
    assert np.isfinite(np.asarray(gradient)).all()


def test_a_network_that_says_nothing_leaves_the_prior():
    decoder = NetworkDecoder()
    params = zeros(decoder.init(KEY, TABLE))
    loss, _ = decoder.log_loss(params, TABLE, jnp.array([0, 1, 3]), RELEASES)
    assert np.asarray(loss) == pytest.approx(-np.log(PRIOR[[0, 1, 3]]), rel=1e-5)
    assert decoder.prior_entropy(TABLE, 1.25) == 1.25


def test_members_guessed_by_fair_coins():
    masks = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]], float)
    table = make_table(POINTS, PRIOR, masks)
    decoder = BernoulliDecoder()
    params = zeros(decoder.init(KEY, table))
    loss, log_loss = decoder.log_loss(params, table, jnp.array([0, 1, 2]), RELEASES)
    assert np.asarray(loss) == pytest.approx(np.full(3, 3 * math.log(2)), rel=1e-5)
    assert np.asarray(log_loss) == pytest.approx(np.log(np.asarray(loss)), rel=1e-5)
    share = PRIOR @ masks
    coins = -(share * np.log(share) + (1 - share) * np.log1p(-share)).sum()
    assert decoder.prior_entropy(table, 0.0) == pytest.approx(coins, rel=1e-5)
    scores = np.asarray(decoder.scores(params, table, RELEASES))
    assert scores == pytest.approx(np.tile(np.log(PRIOR), (3, 1)), rel=1e-5)


def test_scores_of_members_are_log_probabilities_of_the_masks():
    masks = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]], float)
    table = make_table(POINTS, PRIOR, masks)
    decoder = BernoulliDecoder()
    params = decoder.init(jax.random.key(3), table)
    inside = 1 / (1 + np.exp(-np.asarray(network(params, RELEASES), float)))
    each = np.log(np.where(masks[None] > 0, inside[:, None], 1 - inside[:, None])).sum(axis=-1)
    scores = np.asarray(decoder.scores(params, table, RELEASES), float) - np.log(PRIOR)
    assert scores - scores[:, :1] == pytest.approx(each - each[:, :1], abs=1e-4)


def test_a_density_that_says_nothing_is_the_standard_normal():
    decoder = DensityDecoder()
    params = zeros(decoder.init(KEY, TABLE))
    loss, log_loss = decoder.log_loss(params, TABLE, jnp.array([0, 1, 3]), RELEASES)
    truth = -stats.norm.logpdf(POINTS[[0, 1, 3]]).sum(axis=1)
    assert np.asarray(loss) == pytest.approx(truth, rel=1e-5)
    assert np.isnan(np.asarray(log_loss)).all()  # the loss may be negative
    scores = np.asarray(decoder.scores(params, TABLE, RELEASES))
    truth = np.log(PRIOR) + stats.norm.logpdf(POINTS).sum(axis=1)
    assert scores == pytest.approx(np.tile(truth, (3, 1)), rel=1e-4)


@pytest.mark.parametrize("decoder", [DensityDecoder(), DensityDecoder(components=5), FlowDecoder()])
def test_conditional_densities_integrate_to_one(decoder):
    """Over a fine grid of one-dimensional secrets, every one a world of its own."""
    x = np.linspace(-30.0, 30.0, 3_001)
    table = make_table(np.zeros((x.size, 2)), np.full(x.size, 1 / x.size), x[:, None])
    params = decoder.init(jax.random.key(5), table)
    log_density = np.asarray(decoder.scores(params, table, RELEASES), float) + math.log(x.size)
    mass = np.exp(log_density).sum(axis=1) * (x[1] - x[0])
    assert mass == pytest.approx(np.ones(3), abs=5e-3)
    loss, _ = decoder.log_loss(params, table, jnp.array([1_400, 1_500, 1_600]), RELEASES)
    own = log_density[np.arange(3), [1_400, 1_500, 1_600]]
    assert np.asarray(loss) == pytest.approx(-own, abs=1e-3)


def test_a_blind_guess_scores_the_entropy_of_a_normal():
    variances = PRIOR @ np.square(POINTS - PRIOR @ POINTS)
    truth = sum(stats.norm(scale=math.sqrt(v)).entropy() for v in variances)
    assert blind_entropy(TABLE) == pytest.approx(truth, rel=1e-5)
    for decoder in (DensityDecoder(), FlowDecoder()):
        assert decoder.prior_entropy(TABLE, 0.0) == blind_entropy(TABLE)


def test_worlds_are_drawn_from_the_prior():
    drawn = np.asarray(draw_worlds(TABLE, jax.random.key(1), 40_000))
    assert np.bincount(drawn) / 40_000 == pytest.approx(PRIOR, abs=6 * 0.5 / 200)
    assert set(np.asarray(draw_worlds(TABLE, KEY, 8))) <= {0, 1, 2, 3}


def test_a_perceptron_has_two_hidden_layers_and_starts_small():
    params = network_init(KEY, 3, 5)
    assert [w.shape for w, _ in params] == [(3, 64), (64, 64), (64, 5)]
    assert all((b == 0).all() for _, b in params)
    out = network(params, jax.random.normal(KEY, (200, 3)))
    assert out.shape == (200, 5)
    assert float(jnp.abs(out).mean()) < 0.2
    x = np.array([[0.5, -1.0, 2.0]])
    hidden = x
    for weight, bias in params[:-1]:
        hidden = np.asarray(jax.nn.gelu(hidden @ np.asarray(weight) + np.asarray(bias)))
    by_hand = hidden @ np.asarray(params[-1][0]) + np.asarray(params[-1][1])
    assert np.asarray(network(params, jnp.asarray(x))) == pytest.approx(by_hand, abs=1e-5)


def test_a_critic_tells_two_normals_apart():
    """Donsker-Varadhan at the trained critic lies below the divergence, and comes near it."""
    rng = np.random.default_rng(0)
    shift = 0.8
    critic = dv_network(rng.normal(shift, 1, (2_000, 1)), rng.normal(size=(2_000, 1)), seed=0)
    up, down = critic(rng.normal(shift, 1, (50_000, 1))), critic(rng.normal(size=(50_000, 1)))
    found = up.mean() - math.log(np.exp(down).mean())
    truth = shift**2 / 2
    assert 0.8 * truth < found < 1.03 * truth
    assert np.abs(np.concatenate([up, down])).max() <= 4.0
    best = np.array([[-1.0], [0.4], [2.0]])  # the log ratio, up to a constant
    assert np.diff(critic(best)) == pytest.approx(shift * np.diff(best[:, 0]), abs=0.35)


def test_every_name_makes_a_decoder_and_others_are_refused():
    family = family_of("mixture", 3)
    made = {name: decoder_of(name, family) for name in DECODERS}
    assert made["bayes"].known
    assert not made["kernel"].known
    assert made["kernel"].family == family
    assert made["mixture"].components == 5
    assert len({*made.values()}) == len(DECODERS)  # hashable, and all different
    with pytest.raises(rpac.InputError, match=r"Expected a decoder among \('bayes'.*; got 'orac"):
        decoder_of("oracle", family)
