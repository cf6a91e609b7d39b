"""Fetching: what is published is kept, whatever else comes is refused; servers on loopback."""

import gzip
import hashlib
import os

import pytest

from rpac.errors import InputError
from rpac.paper.data import NAMES, load
from rpac.paper.download import SOURCES, Remote, fetch, keep, words_after
from tests.paper.conftest import at, served, zipped


def md5(raw):
    return hashlib.md5(raw, usedforsecurity=False).hexdigest()


@pytest.mark.parametrize(
    "body",
    [b"something else", gzip.compress(b"other"), b"\x1f\x8b broken"],
    ids=["another file", "another file packed", "broken packing"],
)
def test_what_is_not_the_published_file_is_refused_and_not_kept(tmp_path, body):
    files = {remote.name: body for remote in SOURCES["mnist"]}
    with served(files) as (base, _), pytest.raises(InputError, match="md5 6bbc9ace") as caught:
        load("mnist", tmp_path, download=True, sources=at(base, "mnist"))
    assert "Nothing was kept" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_zip_without_the_file_is_refused(tmp_path):
    with (
        served({"iris.data": zipped("other.data", b"1,2")}) as (base, _),
        pytest.raises(InputError, match="md5 42615765"),
    ):
        load("iris", tmp_path, download=True, sources=at(base, "iris"))


def test_a_server_without_the_file_is_named(tmp_path):
    with served({}) as (base, _), pytest.raises(InputError, match="404") as caught:
        load("cifar10", tmp_path, download=True, sources=at(base, "cifar10"))
    assert "cifar-10-binary.tar.gz" in str(caught.value)
    with pytest.raises(InputError, match="by hand"):  # and one that is no longer there
        load("cifar10", tmp_path, download=True, sources=at(base, "cifar10"))


def test_every_source_is_fetched_over_https():
    assert set(SOURCES) == set(NAMES)
    remotes = [remote for files in SOURCES.values() for remote in files]
    assert all(remote.url.startswith("https://") and len(remote.md5) == 32 for remote in remotes)


@pytest.mark.parametrize(
    ("packing", "packed"),
    [("none", lambda raw: raw), ("gzip", gzip.compress), ("zip", lambda raw: zipped("file", raw))],
)
def test_files_are_unpacked_checked_and_kept(tmp_path, packing, packed):
    raw = b"some rows\n" * 1_000
    with served({"there": packed(raw)}) as (base, asked):
        remote = Remote("file", base + "there", md5(raw), packing)
        path = fetch(remote, tmp_path / "new")
        assert path.read_bytes() == raw
        assert fetch(remote, tmp_path / "new") == path
        assert len(asked) == 1  # what is there and sound is not fetched again
        path.write_bytes(b"damaged")
        assert fetch(remote, tmp_path / "new").read_bytes() == raw
        assert len(asked) == 2
    assert os.listdir(tmp_path / "new") == ["file"]


def test_a_server_that_cannot_be_reached_is_named(tmp_path):
    with served({}) as (base, _):
        pass
    remote = Remote("file", base + "file", "0" * 32)
    with pytest.raises(InputError, match=f"Expected file from {base}file; got .*put the file into"):
        fetch(remote, tmp_path)


def test_another_file_is_refused_with_both_sums(tmp_path):
    raw = b"not what was published"
    with served({"file": raw}) as (base, _):
        remote = Remote("file", base + "file", "0" * 32)
        message = f"Expected file with md5 {'0' * 32} .*; got md5 {md5(raw)}"
        with pytest.raises(InputError, match=message):
            fetch(remote, tmp_path)
    assert not os.listdir(tmp_path)


def test_a_sum_may_be_of_the_words_after_a_mark():
    """A table's header may be worded anew; its rows may not."""
    remote = Remote("rows", "", "", start="@DATA")
    rows = md5(b"1,2\n3,4")
    assert remote.sum(b"@relation x\r\n@data\r\n1,2\r\n3,4\r\n") == rows
    assert remote.sum(b"other words @DATA 1,2 3,4") == rows
    assert remote.sum(b"@data 1,2 3,5") != rows
    assert Remote("rows", "", "").sum(b"1,2") == md5(b"1,2")


def test_words_after_a_mark():
    assert words_after("@DATA", "a @Data b @data c") == ["b", "@data", "c"]
    assert words_after("@DATA", "a b") == []
    assert words_after("@DATA", "a @data") == []


def test_a_file_is_kept_whole_or_not_at_all(tmp_path):
    path = tmp_path / "deep" / "file.npz"
    keep(b"one", path)
    keep(b"two", path)
    assert path.read_bytes() == b"two"
    assert os.listdir(path.parent) == ["file.npz"]
