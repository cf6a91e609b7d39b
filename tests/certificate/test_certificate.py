"""Certificates: what they say, what they mean, and that nobody can change a byte."""

import json
import math
from dataclasses import MISSING, replace
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rpac
from rpac._base.sealed import publish
from rpac.answers.release import _USUAL, unusual
from rpac.certificate.certificate import SCHEMA

OUTPUTS = rpac.Outputs([-1.0, 1.0])

NOISE = rpac.GaussianNoise(1.0)
CERTIFICATE = rpac.certify(OUTPUTS, rpac.tabulate(OUTPUTS, NOISE))


def test_the_first_line_names_secret_prior_adversary_bound_and_what_is_not_covered(tmp_path):
    line = CERTIFICATE.statement
    order = ["Promise: sample, which world was drawn, from a pool that is public by declaration",
             "Secret: which of 2 worlds", "Prior: all equally likely", "Adversary: knows every",
             "Bound: 0.336831 nats", "Not covered: the pool: who is in it"]  # fmt: skip
    places = [line.index(part) for part in order]
    assert places == sorted(places)
    assert list(json.loads(CERTIFICATE.to_json()))[0] == "statement"
    CERTIFICATE.save(tmp_path / "certificate.json")
    written = (tmp_path / "certificate.json").read_text().splitlines()
    assert written[1].startswith(' "statement": "Promise: sample, ')


def test_planning_and_charged_figures_say_which_they_are():
    planning = rpac.certify(OUTPUTS, NOISE, draws=1_000)
    assert not planning.charged
    assert CERTIFICATE.charged
    assert "planning figure" in planning.statement
    assert "planning figure" in str(planning)
    assert "planning figure" not in CERTIFICATE.statement


def test_meaning():
    assert CERTIFICATE.entropy == pytest.approx(math.log(2))
    assert CERTIFICATE.residual_entropy == pytest.approx(math.log(2) - CERTIFICATE.bound)
    rate = CERTIFICATE.success_rate(0.5)
    assert rpac.SuccessRate(rate).nats() == pytest.approx(CERTIFICATE.bound)
    best = 0.8413447  # the sign of Y: the best attack there is
    assert best < rate
    with pytest.raises(rpac.InputError, match="Expected `prior` between 0.0 and 1.0; got 1.0"):
        CERTIFICATE.success_rate(1.0)


def test_name_and_shame_shows_in_the_quantiles():
    """Everything is revealed, rarely: the average is small, the tail is not."""
    k, reveal = 65, 0.005  # the first label is "nobody"
    matrix = reveal * np.eye(k)
    matrix[:, 0] += 1 - reveal
    outputs = rpac.Outputs(["nobody"] + [f"person {i:02d}" for i in range(1, k)])
    certificate = rpac.certify(outputs, rpac.LabelChannel(matrix))
    assert certificate.bound < 0.03
    assert certificate.density_quantiles["0.5"] < 0.01
    assert certificate.density_quantiles["0.999"] > 4.0


def test_quantiles_agree_with_the_exact_law():
    draws = np.random.default_rng(0).normal(size=400_000)
    density = math.log(2) - np.log1p(np.exp(-2 - 2 * draws))
    for name, value in CERTIFICATE.density_quantiles.items():
        assert value == pytest.approx(np.quantile(density, float(name)), abs=0.03)


def test_open_distributions_have_no_residual_entropy():
    source = rpac.Draws(lambda rng: rng.normal(), clip=(-4, 4), draws=400)
    outputs = rpac.simulate(source, lambda x: x)
    certificate = rpac.certify(outputs, rpac.tabulate(outputs, NOISE), 0.9)
    assert certificate.residual_entropy is None
    assert certificate.charged
    assert certificate.prior == "the sampler's own law"
    assert "residual entropy" not in str(certificate)
    assert rpac.Certificate.from_json(certificate.to_json()) == certificate


def test_round_trip(tmp_path):
    path = tmp_path / "certificate.json"
    CERTIFICATE.save(path)
    assert rpac.Certificate.load(path) == CERTIFICATE
    weighted = rpac.certify(rpac.Outputs([0, 9], [0.1, 0.9]), rpac.LatticeNoise(1, [0], [1.0]))
    assert rpac.Certificate.from_json(weighted.to_json()) == weighted
    assert "given weights" in weighted.prior


def test_what_is_written_says_of_persons_what_was_requested():
    people = rpac.Outputs([0.0, 1.0], masks=np.eye(2, dtype=bool))
    law = rpac.tabulate(people, rpac.GaussianNoise(9.0))
    made = rpac.certify(people, law)
    assert made.worst_unit_success > 0.5
    assert rpac.Certificate.from_json(made.to_json()) == replace(made, worst_unit_success=None)
    asked = rpac.certify(people, law, budget=rpac.SuccessRate(0.9))
    assert asked.requested == {"success": 0.9}
    assert rpac.Certificate.from_json(asked.to_json()).worst_unit_success == 0.9
    assert rpac.certify(people, law, budget=rpac.Bits(1)).requested == {"nats": math.log(2)}


def test_what_is_published_is_what_was_requested_and_still_an_upper_bound():
    law = rpac.tabulate(OUTPUTS, NOISE)
    made = rpac.certify(OUTPUTS, law, budget=0.5)
    public = made.published()
    assert (public.bound, public.lower, public.bounds, public.density_quantiles) == (0.5, 0, {}, {})
    labels = [label for label, _ in public.figures()]
    assert not {"leaks at least", "information density"} & {*labels}
    assert {"leaks at least", "information density"} <= {label for label, _ in made.figures()}
    unasked = CERTIFICATE.published()
    assert CERTIFICATE.bound <= unasked.bound == 0.34
    assert public.published() == public


def test_numbers_on_which_all_worlds_agree_are_named_and_not_called_protected():
    outputs = rpac.Outputs([[0.0, 7.0], [1.0, 7.0]])
    made = rpac.certify(outputs, rpac.calibrate(outputs, 0.1, "auto-pac"), draws=0)
    assert made.facts == ("number 2",)
    assert made.lines().count(("not protected", made.facts_in_words)) == 1
    assert made.facts_in_words.startswith("number 2: the same in every world, so facts of the pool")
    assert 'The promise "person" would protect them' in made.facts_in_words
    assert CERTIFICATE.facts_in_words == ""
    many = replace(made, facts=tuple(f"n{i}" for i in range(20)))
    assert "n11 ...: the same" in many.facts_in_words
    assert rpac.Certificate.from_json(many.to_json()) == many


def test_every_changed_byte_is_detected(tmp_path):
    path = tmp_path / "certificate.json"
    CERTIFICATE.save(path)
    good = path.read_bytes()
    for i in range(len(good)):
        path.write_bytes(good[:i] + bytes([good[i] ^ 1]) + good[i + 1 :])
        with pytest.raises(rpac.CertificateError, match="Expected an unaltered certificate"):
            rpac.Certificate.load(path)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_mutations_are_detected(data):
    good = CERTIFICATE.to_json()
    i = data.draw(st.integers(0, len(good)))
    j = data.draw(st.integers(i, min(len(good), i + 20)))
    text = good[:i] + data.draw(st.text(max_size=8)) + good[j:]
    if text != good:
        with pytest.raises(rpac.CertificateError):
            rpac.Certificate.from_json(text)


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", "[" * 100_000, '{"bound": 1}', "\ud800"])
def test_other_texts_are_refused(text):
    with pytest.raises(rpac.CertificateError, match="Ask its issuer for the original"):
        rpac.Certificate.from_json(text)


def test_faces():
    assert "leaks at most" in str(CERTIFICATE)
    page = CERTIFICATE._repr_html_()
    assert page.startswith("<table>")
    assert "not covered" in page


def test_what_a_schema_leaves_unsaid_never_changes():
    """The books leave out what certificates of a schema usually say: others are another schema."""
    usual = {k: v for k, v in _USUAL.items() if v is not MISSING}
    texts = publish([SCHEMA, usual])
    assert sha256(texts.encode()).hexdigest().startswith("b6209b1a10f6f946")
    made = CERTIFICATE
    assert not {"adversary", "not_covered", "attempt", "worst_unit_success"} & {*unusual(made)}
    assert unusual(made)["schema"] == SCHEMA
    assert rpac.Certificate(**json.loads(publish(unusual(made)))) == made
    other = replace(made, adversary="somebody else")
    assert unusual(other) == unusual(made) | {"adversary": "somebody else"}
