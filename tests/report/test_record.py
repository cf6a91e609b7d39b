"""Records: all that is public of a release, as it was written or not at all."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

import rpac
from rpac._base.sealed import publish
from rpac.report import record as records
from rpac.report import wording

NOISE = rpac.LatticeNoise(1.0, [-1, 0, 1], [0.25, 0.5, 0.25])
ABOUT = {"unit": "rows", "worlds": 2}


@pytest.fixture(scope="module")
def small():
    """The record of a release of one number, without ledger, plan or audit."""
    certificate = rpac.certify(rpac.Outputs([0, 1]), NOISE, draws=0)
    return records.record(records.said(rpac.Release(1, certificate)), "which?", about=ABOUT)


def test_a_record_holds_all_that_is_public_and_comes_back(made, tmp_path):
    records.save(made.body, tmp_path / "record.json")
    again, certificate = records.load(tmp_path / "record.json")
    assert again == json.loads(json.dumps(made.body))
    assert certificate == made.certificate
    assert made.release.certificate.published() == certificate
    text = (tmp_path / "record.json").read_text()
    assert str(tmp_path) not in text
    assert text == publish(made.body, indent=1) + "\n"
    (tmp_path / "record.json").write_text(publish(made.body))  # on one line it is the same
    assert records.load(str(tmp_path / "record.json")) == (again, certificate)


def test_the_parts_of_a_record_and_their_order(made, small):
    parts = "schema promise question about meaning answer value certificate receipt sha256"
    assert list(made.body) == list(small) == parts.split()
    assert small["receipt"] is None
    assert made.body["promise"] == {"name": "sample", "pool": records.POOL}
    assert small["answer"] == [{"answer": 1}]
    assert small["meaning"] == wording.any_guess(made_of(small).bound)
    receipt = made.release.receipt  # where it is booked, not what was charged
    assert made.body["receipt"] == {
        "ledger": receipt.ledger,
        "seq": receipt.seq,
        "hash": receipt.hash,
        "dataset": "staff",
        "date": receipt.date,
    }
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", receipt.date)
    assert made.body["value"][0].keys() == {"dept", "pay", "n"}


def made_of(body):
    return rpac.Certificate.from_json(body["certificate"])


def test_the_hash_is_of_everything_else():
    body = {"a": 1, "b": [1.5, None]}
    mark = records.content_hash(body)
    assert re.fullmatch("[0-9a-f]{64}", mark)
    assert records.content_hash(body | {"sha256": "anything"}) == mark
    assert records.content_hash({"a": 1, "b": [1.5]}) != mark
    assert records.content_hash({"b": [1.5, None], "a": 1}) != mark  # order is content


def test_every_changed_byte_is_found(small, tmp_path):
    file = tmp_path / "r.json"
    records.save(small, file)
    whole = file.read_bytes()
    for place in range(len(whole)):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(rpac.CertificateError, match=r"Expected a record (as|of)|unaltered"):
            records.load(file)
    for text in (whole[:-2], whole[1:], whole + b" ", b" " + whole, whole + whole):
        file.write_bytes(text)
        with pytest.raises(rpac.CertificateError):
            records.load(file)
    file.write_bytes(whole)
    assert records.load(file)[0] == small


def test_a_forged_record_needs_more_than_a_hash_that_fits(small, tmp_path):
    file = tmp_path / "r.json"

    def forged(**changes):
        body = small | changes
        file.write_text(publish(body | {"sha256": records.content_hash(body)}))
        return records.load(file)

    assert forged(value=2)[0]["value"] == 2  # only a ledger can tell
    with pytest.raises(rpac.CertificateError, match="got 'r.json', which was changed. Ask its"):
        forged(meaning="Nobody learns anything.")
    with pytest.raises(rpac.CertificateError, match="Expected an unaltered certificate"):
        forged(certificate=small["certificate"].replace("proved", "proven"))
    for name in (
        "promise",
        "question",
        "about",
        "meaning",
        "answer",
        "value",
        "certificate",
        "receipt",
    ):
        body = {key: part for key, part in small.items() if key != name}
        file.write_text(publish(body | {"sha256": records.content_hash(body)}))
        with pytest.raises(rpac.CertificateError, match="which was changed"):
            records.load(file)
    text = publish(small, indent=1)
    file.write_text(text.replace('{\n "schema"', '{\n "question": "another",\n "schema"'))
    with pytest.raises(rpac.CertificateError, match="which was changed"):  # a name said twice
        records.load(file)


@pytest.mark.parametrize(
    ("text", "schema"),
    [("", "None"), ("[1]", "None"), ("{}", "None"), ("id,pay\n1,2", "None"), ("[" * 10_000, "None"),
     ('{"schema": "rpac-record/1"}', "'rpac-record/1'"), ('{"schema": 7}', "7"),
     ('{"schema": "' + "x" * 99 + '"}', f"'{'x' * 16}'")],
)  # fmt: skip
def test_what_is_no_record_is_told_by_its_schema(text, schema, tmp_path):
    (tmp_path / "x.json").write_text(text)
    expected = f"Expected a record of schema rpac-record/3; got 'x.json' of schema {schema}. Write"
    with pytest.raises(rpac.CertificateError, match=re.escape(expected)):
        records.load(tmp_path / "x.json")


def test_numbers_that_json_lacks_are_a_change(small, tmp_path):
    text = publish(small, indent=1).replace('"value": 1', '"value": NaN')
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(rpac.CertificateError, match="which was changed"):
        records.load(tmp_path / "r.json")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(
        rpac.InputError, match="Expected a file that exists; got 'gone.json'. Check"
    ):
        records.load(tmp_path / "gone.json")


def test_a_record_is_held_against_its_ledger(made, tmp_path):
    unsealed = re.escape(made.release.receipt.hash[:16])
    with pytest.raises(
        rpac.LedgerError, match=f"sealed in this ledger for the receipt '{unsealed}"
    ):
        records.match(made.body, made.ledger)
    before = sum(1 for _ in made.ledger.entries())
    records.seal(made.body, made.ledger)
    records.match(made.body, made.ledger)
    *_, last = made.ledger.entries()
    assert last["seq"] == before
    assert (last["kind"], last["of"], last["record"]) == (
        "seal", made.release.receipt.hash, made.body["sha256"])  # fmt: skip
    edited = made.body | {"sha256": "0" * 64}
    with pytest.raises(rpac.LedgerError, match="got a record of hash '0000000000000000'. Ask its"):
        records.match(edited, made.ledger)
    other = rpac.Ledger(tmp_path / "other.db", budget=2)
    said = f"this certificate; got the hash '{unsealed}'. Ask for the right ledger."
    with pytest.raises(rpac.LedgerError, match=said):
        records.match(made.body, other)
    with pytest.raises(rpac.LedgerError, match="for this certificate; got the hash None"):
        records.match(made.body | {"receipt": None}, made.ledger)
    another = rpac.certify(rpac.Outputs([0, 1]), NOISE, draws=0).to_json()
    with pytest.raises(rpac.LedgerError, match="the receipt of a charge in this ledger"):
        records.match(made.body | {"certificate": another}, made.ledger)


def test_intervals_stand_beside_their_own_rows(made):
    values = made.release.value["n"].tolist()
    assert values == sorted(values)
    for row, value in zip(made.body["answer"], values, strict=True):
        low, high = row["n"]["noise"]
        wide_low, wide_high = row["n"]["sampling"]
        assert row["n"]["value"] == value
        assert wide_low <= low < value < high <= wide_high


def test_an_audit_is_summed_up_without_naming_anybody(made):
    found = records.audit_summary(made.audit)
    assert found["verdict"] == made.audit.verdict
    assert (found["alarm"], found["games"]) == (False, made.audit.games)
    assert found["lower"] == made.audit.lower
    assert [row["attack"] for row in found["rows"]] == ["bayes", "membership"]
    assert all(set(row) == {"attack", "measure", "estimate", "low", "high", "nats"}
               for row in found["rows"])  # fmt: skip
    assert "unit" not in publish(found)


def test_findings_without_a_limit_are_left_out_of_the_summary():
    def finding(name, high):
        return rpac.attack.Finding(name, "nats", 0.1, 0.0, high)

    found = (finding("a", 0.2), finding("b", np.inf), finding("c", np.nan))
    audit = rpac.Audit(found, {}, {"budget": 1.0}, None, 0.99, 10, 0)
    assert [row["attack"] for row in records.audit_summary(audit)["rows"]] == ["a"]


def test_nothing_sealed_can_be_recorded(made):
    told = records.said(made.release)
    with pytest.raises(rpac.InputError, match="Expected public values; got sealed Outputs"):
        records.record(told | {"value": made.release.sealed[0]}, "?", about={})
    with pytest.raises(rpac.InputError, match="Expected public values; got SimpleNamespace"):
        records.record(told, "?", about=SimpleNamespace())
