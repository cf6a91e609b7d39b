"""Outputs on the disk: used where they lie, read in chunks, and never left behind."""

import os
import stat
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rpac
from rpac.errors import InputError, TooLarge
from rpac.worlds import stored
from rpac.worlds.stored import folder, kept, room_for

VALUES = np.random.default_rng(0).normal(size=(6, 50))


def test_a_memory_map_is_kept_where_it_lies(tmp_path):
    mapped = np.memmap(tmp_path / "values", np.float64, "w+", shape=VALUES.shape)
    mapped[:] = VALUES
    outputs = rpac.Outputs(mapped)
    assert np.shares_memory(outputs.values, mapped)
    assert not outputs.values.flags.writeable
    assert outputs.digest == rpac.Outputs(VALUES).digest


def test_arrays_that_nobody_can_change_are_kept_and_others_copied():
    own = VALUES.copy()
    assert not np.shares_memory(rpac.Outputs(own).values, own)
    seen = own.view()
    seen.setflags(write=False)  # its owner still can
    assert not np.shares_memory(rpac.Outputs(seen).values, own)
    own.setflags(write=False)
    assert np.shares_memory(rpac.Outputs(own).values, own)


def test_maps_of_another_type_and_zarr_are_copied_by_blocks(tmp_path, monkeypatch):
    zarr = pytest.importorskip("zarr")
    monkeypatch.setattr(stored, "_BLOCK", 60)
    single = np.memmap(tmp_path / "single", np.float32, "w+", shape=VALUES.shape)
    single[:] = VALUES
    chunks = zarr.create_array(tmp_path / "z", shape=VALUES.shape, chunks=(6, 7), dtype="f8")
    chunks[:] = VALUES
    for given, same in [(single, VALUES.astype(np.float32)), (chunks, VALUES)]:
        found = rpac.Outputs(given)
        assert isinstance(kept(given), np.memmap)
        assert (found.values == same).all()
        assert found.kind == "real"
    whole = zarr.create_array(tmp_path / "i", shape=(3, 2), chunks=(3, 1), dtype="i8")
    assert rpac.Outputs(whole).kind == "count"  # read as any array is


def test_parquet_has_a_column_for_each_world(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "_BLOCK", 60)
    names = [f"w{i}" for i in range(6)]
    for part, at in enumerate((slice(0, 30), slice(30, 50))):
        table = pa.table(dict(zip(names, VALUES[:, at], strict=True)))
        pq.write_table(table, tmp_path / f"part-{part}.parquet")
    assert (rpac.Outputs(tmp_path).values == VALUES).all()
    assert (rpac.Outputs(tmp_path / "part-0.parquet").values == VALUES[:, :30]).all()
    with pytest.raises(InputError, match="Expected a Parquet file, or a folder of them"):
        rpac.Outputs(tmp_path / "none")
    pq.write_table(table.rename_columns([*names[1:], "z"]), tmp_path / "part-2.parquet")
    with pytest.raises(InputError, match="Parquet files with the same columns.*One column a world"):
        rpac.Outputs(tmp_path)


def test_a_file_of_outputs_has_no_name_and_is_for_its_owner_alone(tmp_path, monkeypatch):
    seen = []
    real = np.memmap

    def watched(file, *args, **kwargs):
        seen.append(os.fstat(file.fileno()))
        return real(file, *args, **kwargs)

    monkeypatch.setattr(np, "memmap", watched)
    table = room_for(4, 1000, tmp_path)
    table[:] = 1.0
    assert table.sum() == 4000
    assert list(tmp_path.iterdir()) == []
    assert stat.S_IMODE(seen[0].st_mode) == 0o600
    assert seen[0].st_nlink == 0


def test_too_many_numbers_are_refused_before_they_are_allocated(monkeypatch, tmp_path):
    monkeypatch.setenv("RPAC_MEMORY", "1 GB")
    with pytest.raises(TooLarge, match="128 answers of 10000000 numbers .*store=FOLDER"):
        room_for(128, 10**7)
    with pytest.raises(TooLarge, match="that fit on the disk.*Take another folder"):
        room_for(128, 10**15, tmp_path)
    assert room_for(2, 3).shape == (2, 3)


def test_the_folder_must_exist(tmp_path):
    assert folder(None) is None
    assert folder(str(tmp_path)) == tmp_path
    with pytest.raises(InputError, match="Expected a folder in `store`; got .*Make it first"):
        folder(Path("no such folder"))
