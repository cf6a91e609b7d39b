"""Datasets as their publishers have them: the shared data, encoded again and served on loopback."""

import csv
import gzip
import io
import sys
import tarfile
from dataclasses import replace

import numpy as np
import pytest

from rpac.errors import InputError
from rpac.paper.data import NAMES, load
from rpac.paper.download import SOURCES
from tests.conftest import SHARED
from tests.paper.conftest import at, served, zipped

DATA = SHARED / "data"
needs_data = pytest.mark.skipif(
    not (DATA / "mnist.npz").exists(), reason="data not found beside the checkout, nor RPAC_SHARED"
)


@pytest.fixture(scope="module")
def shared():
    """Every dataset in its compact form, read once."""
    if not (DATA / "mnist.npz").exists():
        pytest.skip("data not found beside the checkout, nor RPAC_SHARED")
    held = {}

    def get(name):
        return held.setdefault(name, held.get(name) or load(name, DATA))

    return get


def equal(a, b):
    assert a.classes == b.classes
    for part in ("train_x", "train_y", "test_x", "test_y"):
        ours, theirs = getattr(a, part), getattr(b, part)
        assert ours == theirs if isinstance(ours, list) else np.array_equal(ours, theirs), part


@pytest.mark.parametrize(
    ("name", "shape", "classes"), [("iris", (150, 4), 3), ("rice", (3810, 7), 2)]
)
def test_tables_come_in_one_part(shared, name, shape, classes):
    data = shared(name)
    assert data.train_x.shape == shape
    assert data.train_x.dtype == np.float64
    assert len(data.classes) == classes
    assert data.test_x.shape == (0, shape[1])
    assert data.test_y.shape == (0,)


def test_tables_hold_the_published_counts(shared):
    assert np.bincount(shared("iris").train_y).tolist() == [50, 50, 50]
    rice = dict(zip(shared("rice").classes, np.bincount(shared("rice").train_y), strict=True))
    assert rice == {"Cammeo": 1630, "Osmancik": 2180}


def test_mnist_has_the_published_mean_and_deviation(shared):
    data = shared("mnist")
    assert data.train_x.shape == (60_000, 28, 28)
    assert data.test_x.shape == (10_000, 28, 28)
    assert data.train_x.dtype == np.uint8
    assert data.train_x.mean() / 255 == pytest.approx(0.13066, abs=1e-5)
    assert data.train_x.std() / 255 == pytest.approx(0.30811, abs=1e-5)


@pytest.mark.parametrize(
    ("name", "means", "classes"),
    [("cifar10", (0.49421, 0.48513, 0.45041), 10), ("cifar100", (0.50880, 0.48739, 0.44194), 100)],
)
def test_cifar_has_the_published_means(shared, name, means, classes):
    data = shared(name)
    assert data.train_x.shape == (24_000, 32, 32, 3)
    assert data.test_x.shape == (10_000, 32, 32, 3)
    assert data.test_x.mean(axis=(0, 1, 2)) / 255 == pytest.approx(means, abs=1e-5)
    assert (np.bincount(data.test_y) == 10_000 // classes).all()
    assert len(data.classes) == classes


def test_news_is_title_and_description(shared):
    data = shared("ag_news")
    assert len(data.train_x) == 21_899
    assert np.bincount(data.test_y).tolist() == [1900] * 4
    assert data.test_x[0].startswith("Fears for T N pension after talks Unions representing")
    assert data.classes[data.test_y[0]] == "Business"


def test_first_cuts_both_parts(shared):
    few = shared("ag_news").first(5, 3)
    assert (len(few.train_x), len(few.train_y), len(few.test_x), len(few.test_y)) == (5, 5, 3, 3)


def test_iris_is_fetched_and_differs_in_the_two_documented_rows(shared, tmp_path):
    ours = shared("iris")
    x = ours.train_x.copy()
    x[34] = x[37] = [4.9, 3.1, 1.5, 0.1]
    rows = [
        ",".join([*map(str, row), f"Iris-{ours.classes[k]}"])
        for row, k in zip(x, ours.train_y, strict=True)
    ]
    raw = "\n".join([*rows, "", ""]).encode()
    with served({"iris.data": zipped("iris.data", raw)}) as (base, _):
        theirs = load("iris", tmp_path, download=True, sources=at(base, "iris"))
    equal(theirs, replace(ours, train_x=x))
    assert (theirs.train_x != ours.train_x).any(axis=1).nonzero()[0].tolist() == [34, 37]


def test_rice_is_fetched(shared, tmp_path):
    lines = (DATA / "rice.csv").read_text().split()
    head = (
        "@RELATION Rice\r\n\r\n@ATTRIBUTE Area INTEGER\r\n@ATTRIBUTE Class {Cammeo, Osmancik}\r\n"
    )
    raw = (head + "\r\n".join(["", "@DATA", *lines[1:]])).encode()
    name = SOURCES["rice"][0].name
    with served({name: zipped(name, raw)}) as (base, _):
        theirs = load("rice", tmp_path, download=True, sources=at(base, "rice"))
    equal(theirs, shared("rice"))


def test_mnist_is_fetched_with_its_published_sums(shared, tmp_path):
    ours = shared("mnist")
    parts = [ours.train_x, ours.train_y, ours.test_x, ours.test_y]
    files = {}
    for remote, part in zip(SOURCES["mnist"], parts, strict=True):
        head = bytes([0, 0, 8, part.ndim]) + np.array(part.shape, ">u4").tobytes()
        files[remote.name] = gzip.compress(head + part.astype(np.uint8).tobytes(), 1)
    with served(files) as (base, asked):
        equal(load("mnist", tmp_path, download=True, sources=at(base, "mnist")), ours)
        assert len(asked) == 4
        equal(load("mnist", tmp_path, download=True, sources=at(base, "mnist")), ours)
        assert len(asked) == 4  # what is there and sound is not fetched again
    assert not list(tmp_path.glob("*.part"))


def tarball(files):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz", compresslevel=1) as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"binary/{name}")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return made.getvalue()


def binary(x, labels):
    """Return images as CIFAR's binary files have them, after their columns of labels."""
    planes = x.transpose(0, 3, 1, 2).reshape(len(x), -1)
    return np.hstack([*(np.uint8(column)[:, None] for column in labels), planes]).tobytes()


def test_cifar10_is_fetched(shared, tmp_path):
    ours = shared("cifar10").first(500, 300)
    files = {
        f"data_batch_{i + 1}.bin": binary(ours.train_x[i::5], [ours.train_y[i::5]])
        for i in range(5)
    }
    files["test_batch.bin"] = binary(ours.test_x, [ours.test_y])
    files["batches.meta.txt"] = "\n".join([*ours.classes, ""]).encode()
    files = {"cifar-10-binary.tar.gz": tarball(files)}
    order = np.concatenate([np.arange(i, 500, 5) for i in range(5)])
    with served(files) as (base, _):
        sources = at(base, "cifar10", own_sums=files)
        theirs = load("cifar10", tmp_path, download=True, sources=sources)
    equal(theirs, replace(ours, train_x=ours.train_x[order], train_y=ours.train_y[order]))


def test_cifar100_is_fetched_with_fine_labels(shared, tmp_path):
    ours = shared("cifar100").first(500, 300)
    files = {
        "train.bin": binary(ours.train_x, [ours.train_y // 5, ours.train_y]),
        "test.bin": binary(ours.test_x, [ours.test_y // 5, ours.test_y]),
        "fine_label_names.txt": "\n".join(ours.classes).encode(),
    }
    files = {"cifar-100-binary.tar.gz": tarball(files)}
    with served(files) as (base, _):
        sources = at(base, "cifar100", own_sums=files)
        equal(load("cifar100", tmp_path, download=True, sources=sources), ours)


def news(path):
    """Return a parquet file of articles as the published CSV writes it."""
    from pyarrow import parquet

    made = io.StringIO(newline="")
    writer = csv.writer(made, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for row in parquet.read_table(path).to_pylist():
        writer.writerow([row["label"] + 1, row["title"], row["description"]])
    return made.getvalue().encode()


def test_news_is_fetched_and_its_test_part_has_the_published_sum(shared, tmp_path):
    train, test = news(DATA / "ag_news_train_subset.parquet"), news(DATA / "ag_news_test.parquet")
    files = {"ag_news_train.csv": train, "ag_news_test.csv": test}
    with served(files) as (base, _):
        sources = at(base, "ag_news", own_sums={"ag_news_train.csv": train})
        equal(load("ag_news", tmp_path, download=True, sources=sources), shared("ag_news"))
    # Files that were fetched are found later without asking anybody.
    equal(load("ag_news", tmp_path), shared("ag_news"))


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_file_is_named_with_the_next_move(tmp_path, name):
    with pytest.raises(InputError, match="--data DIR") as caught:
        load(name, tmp_path)
    first = {"ag_news": "ag_news_train_subset.parquet", "mnist": "mnist.npz", "iris": "iris.csv"}
    assert f"no {first.get(name, name)}" in str(caught.value)
    assert "--download" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("iris", ["iris.csv"]),
        ("mnist", ["mnist.npz"]),
        ("cifar10", ["cifar10_train.npz", "cifar10_test.npz"]),
        ("cifar100", ["cifar-100-binary.tar.gz"]),
        ("rice", ["Rice_Cammeo_Osmancik.arff"]),
        ("ag_news", ["ag_news_train_subset.parquet", "ag_news_test.parquet"]),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, name, files):
    for file in files:
        (tmp_path / file).write_bytes(b"a,b\nno,such,table\n")
    with pytest.raises(InputError, match="cannot be read"):
        load(name, tmp_path)


@needs_data
@pytest.mark.parametrize(("name", "package"), [("cifar10", "PIL"), ("ag_news", "pyarrow")])
def test_a_missing_package_is_named(monkeypatch, name, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=rf"got no module '{package}.*rpac\[paper\]"):
        load(name, DATA)


def test_an_unknown_name_is_refused():
    with pytest.raises(InputError, match="a dataset among .*; got 'imagenet'"):
        load("imagenet", DATA)


def test_tables_are_read_without_the_shared_data(tmp_path):
    (tmp_path / "iris.csv").write_text("a,b,kind\n1,2,x\n3,4.5,y\n5,6,x\n")
    data = load("iris", tmp_path)
    assert data.train_x.tolist() == [[1.0, 2.0], [3.0, 4.5], [5.0, 6.0]]
    assert data.train_y.tolist() == [0, 1, 0]
    assert data.classes == ("x", "y")
    (tmp_path / "iris.data").write_text("9,9,Iris-z\n1,1,Iris-w\n")  # the publisher's comes first
    theirs = load("iris", tmp_path)
    assert theirs.classes == ("w", "z")
    assert theirs.train_y.tolist() == [1, 0]


def test_digits_are_read_in_both_forms(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (6, 3, 4), dtype=np.uint8), rng.integers(0, 10, 6)
    np.savez(tmp_path / "mnist.npz", x_train=x[:4], y_train=y[:4], x_test=x[4:], y_test=y[4:])
    compact = load("mnist", tmp_path)
    parts = [x[:4], y[:4], x[4:], y[4:]]
    for remote, part in zip(SOURCES["mnist"], parts, strict=True):
        head = bytes([0, 0, 8, part.ndim]) + np.array(part.shape, ">u4").tobytes()
        (tmp_path / remote.name).write_bytes(head + part.astype(np.uint8).tobytes())
    equal(load("mnist", tmp_path), compact)
    np.testing.assert_array_equal(compact.train_x, x[:4])


def test_a_table_without_rows_is_refused(tmp_path):
    (tmp_path / "rice.csv").write_text("a,b,kind\n")
    with pytest.raises(
        InputError, match="Expected rice in rice.csv; got a file .*ValueError: no r"
    ):
        load("rice", tmp_path)
