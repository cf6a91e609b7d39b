"""Settings: the margin in closed form, and every setting that makes no sense refused by name."""

import math

import pytest

import rpac
from rpac.learned.settings import FAMILIES, Adjustment, Constraint, Training


@pytest.mark.parametrize(
    ("capacity", "bound", "samples", "delta"), [(5.0, 3.0, 10**6, 1e-3), (0.0, 1.0, 400, 0.05)]
)
def test_the_margin_is_rademacher_plus_concentration(capacity, bound, samples, delta):
    by_hand = 4 * capacity / math.sqrt(samples)
    by_hand += 2 * bound * math.sqrt(2 * math.log(1 / delta) / samples)
    made = Adjustment(capacity, bound, samples, delta)
    assert made.epsilon == pytest.approx(by_hand)
    assert Constraint(adjustment=made).epsilon == made.epsilon


def test_the_margin_falls_with_draws_and_rises_with_confidence():
    sizes = [Adjustment(samples=n).epsilon for n in (10, 1_000, 100_000)]
    assert sizes[0] > sizes[1] > sizes[2]
    assert sizes[0] / sizes[2] == pytest.approx(100.0)  # like one over the square root
    assert Adjustment(delta=1e-9).epsilon > Adjustment(delta=1e-2).epsilon
    assert Constraint().epsilon == 0.0


def test_settings_are_hashable_and_equal_by_value():
    """Compiled code is looked up by them."""
    made = [Training(constraint=Constraint(adjustment=Adjustment(bound=2.0))) for _ in range(2)]
    assert made[0] == made[1]
    assert hash(made[0]) == hash(made[1])
    assert made[0] != Training()


def test_the_families_are_those_of_the_documentation():
    assert FAMILIES == (
        "gaussian", "low-rank", "mixture", "generalized-normal", "laplace", "flow",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Adjustment(samples=0), "a whole `samples` of at least 1; got 0"),
        (lambda: Adjustment(delta=1.0), "`delta` between 0.0 and 1.0; got 1.0"),
        (lambda: Adjustment(capacity=-1.0), r"of at least 0; got \(-1.0, 1.0\)"),
        (lambda: Adjustment(bound=-2.0), r"of at least 0; got \(1.0, -2.0\)"),
        (lambda: Constraint(weight=0.0), "`weight` between 0.0 and inf; got 0.0"),
        (lambda: Training(iterations=0), "a whole `iterations` of at least 1; got 0"),
        (lambda: Training(decoder_steps=0), "a whole `decoder_steps` of at least 1; got 0"),
        (lambda: Training(batch=1), "a whole `batch` of at least 2; got 1"),
        (lambda: Training(batch=2.5), "a whole `batch` of at least 2; got 2.5"),
        (lambda: Training(patience=-1), "a whole `patience` of at least 0; got -1"),
        (lambda: Training(noise_rate=0.0), "`noise_rate` between 0.0 and 10.0; got 0.0"),
        (lambda: Training(decoder_rate=10), "`decoder_rate` between 0.0 and 10.0; got 10"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(rpac.InputError, match=f"Expected .*{message}"):
        call()
