"""Rows that have no logarithm are refused or counted; the papers' rules for the others."""

from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from toydepth.law.published import PUBLISHED
from toydepth.law.rows import exclude_highest, read_rows, subtract_depth
from toydepth.settings import SettingError

PROJECT = Path(__file__).parents[2]


def csv_file(tmp_path, *lines):
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(["depth,loss,note", *lines]))
    return path


def with_losses(tmp_path, losses):
    return read_rows(
        csv_file(tmp_path, *(f"{i + 1},{x}," for i, x in enumerate(losses))), ["depth"]
    )


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("", "''"),
        ("x", "'x'"),
        ("1_000", "'1_000'"),
        ("True", "'True'"),
        ('"1,5"', "'1,5'"),
        ("0", "0"),
        ("-0.5", "-0.5"),
        ("nan", "nan"),
        ("inf", "inf"),
        ("1e999", "inf"),
        ("1e-999", "0"),
    ],
)
def test_cells_of_csv_without_a_logarithm(tmp_path, cell, shown):
    path = csv_file(tmp_path, "1,2,", f"2,{cell},", f"{cell},3,", "4,5,")
    with pytest.raises(SettingError) as caught:
        read_rows(path, ["depth"])
    assert (caught.value.setting, caught.value.value) == ("data.path", str(path))
    assert caught.value.allowed == (
        f"2 of 4 rows lack a positive, finite number (line 3: loss is {shown}, "
        f"line 4: depth is {shown}); data.drop_invalid=true leaves them out"
    )
    rows = read_rows(path, ["depth"], drop_invalid=True)
    assert (rows.read, rows.dropped, rows.lines.tolist()) == (4, 2, [2, 5])
    assert (rows.variables["depth"].tolist(), rows.losses.tolist()) == ([1, 4], [2, 5])


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("null", "missing"),
        ("true", "True"),
        ('"2.5"', "'2.5'"),
        ("[2]", "[2.0]"),
        ("-1", "-1"),
        ("NaN", "nan"),
        ("1e400", "inf"),
        ("1" + "0" * 400, "inf"),
        ("1" + "0" * 9000, "inf"),
    ],
)
def test_cells_of_json_without_a_logarithm(tmp_path, cell, shown):
    path = tmp_path / "runs.jsonl"
    path.write_text(f'{{"depth": 3, "loss": {cell}, "note": {cell}}}\n{{"depth": 3, "loss": 2}}')
    with pytest.raises(SettingError) as caught:
        read_rows(path, ["depth"])
    assert f"1 of 2 rows lack a positive, finite number (line 1: loss is {shown});" in str(
        caught.value
    )
    assert read_rows(path, ["depth"], drop_invalid=True).lines.tolist() == [2]


def test_cells_of_parquet_without_a_logarithm(tmp_path):
    path = tmp_path / "runs.parquet"
    table = {"depth": [1, None, 3, 4], "loss": [2.0, 1.0, float("nan"), 1.0]}
    pyarrow.parquet.write_table(pyarrow.table(table), path)
    with pytest.raises(SettingError, match=r"\(row 2: depth is missing, row 3: loss is nan\)"):
        read_rows(path, ["depth"])
    assert read_rows(path, ["depth"], drop_invalid=True).lines.tolist() == [1, 4]
    pyarrow.parquet.write_table(pyarrow.table({"depth": [True], "loss": [1.0]}), path)
    with pytest.raises(SettingError, match="row 1: depth is True"):
        read_rows(path, ["depth"])


def test_names_three_rows_and_counts_the_others(tmp_path):
    path = csv_file(tmp_path, *["1,0,"] * 5)
    start = (
        "5 of 5 rows lack a positive, finite number "
        "(line 2: loss is 0, line 3: loss is 0, line 4: loss is 0, ...); "
    )
    with pytest.raises(SettingError) as caught:
        read_rows(path, ["depth"])
    assert caught.value.allowed == start + "data.drop_invalid=true leaves them out"
    with pytest.raises(SettingError) as caught:
        read_rows(path, ["depth"], drop_invalid=True)
    assert caught.value.allowed == start + "no row is left"


@pytest.mark.parametrize(
    ("count", "left"),
    [(0, [5, 3, 9, 3, 7]), (1, [5, 3, 3, 7]), (2, [5, 3, 3]), (3, [3, 3])],
)
def test_excludes_the_highest_losses(tmp_path, count, left):
    rows = exclude_highest(with_losses(tmp_path, [5, 3, 9, 3, 7]), count)
    assert rows.losses.tolist() == left
    assert len(rows.lines) == len(rows.variables["depth"]) == len(left)
    assert np.array_equal(rows.lines, rows.variables["depth"] + 1)
    assert (rows.read, rows.excluded) == (5, 5 - len(left))


def test_ties_of_the_last_one_excluded_go_too(tmp_path):
    rows = exclude_highest(with_losses(tmp_path, [4, 9, 9, 9, 8]), 1)
    assert (rows.losses.tolist(), rows.excluded) == ([4, 8], 3)
    assert exclude_highest(rows, 1).excluded == 4


@pytest.mark.parametrize(
    ("losses", "count"), [([1, 2], 2), ([1, 2], 3), ([2, 2, 2], 1), ([1, 1, 2], 2), ([1, 2], -1)]
)
def test_refuses_to_exclude_all(tmp_path, losses, count):
    with pytest.raises(SettingError) as caught:
        exclude_highest(with_losses(tmp_path, losses), count)
    assert (caught.value.setting, caught.value.value) == ("data.exclude_highest", count)
    assert f"some of the {len(losses)} rows" in caught.value.allowed


def test_subtracts_from_the_depth(tmp_path):
    rows = with_losses(tmp_path, [5, 3, 1])
    assert subtract_depth(rows, 0.5).variables["depth"].tolist() == [0.5, 1.5, 2.5]
    assert subtract_depth(rows, 0).variables["depth"].tolist() == [1, 2, 3]
    assert rows.variables["depth"].tolist() == [1, 2, 3]
    with pytest.raises(SettingError) as caught:
        subtract_depth(rows, 2)
    assert str(caught.value) == (
        "data.depth_offset=2 is not allowed: 2 of 3 depths would not be positive "
        "(line 2, line 3); the lowest is 1"
    )
    with pytest.raises(SettingError, match="data.depth_offset=nan"):
        subtract_depth(rows, float("nan"))


def test_a_file_without_depth_has_no_offset(tmp_path):
    rows = read_rows(csv_file(tmp_path, "1,2,"), [])
    assert subtract_depth(rows, 0) is rows
    with pytest.raises(SettingError, match="the depth is not among the variables"):
        subtract_depth(rows, 2)


@pytest.mark.parametrize(
    ("name", "count", "parameters"),
    [("chinchilla", 245, "model_size"), ("gemstones", 220, "params")],
)
def test_measured_data(name, count, parameters):
    path = PROJECT.parent / "shared" / "data" / f"{name}.csv"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    prefer = PUBLISHED[name].prefer
    rows = read_rows(path, ["width", "depth", "data", "parameters"], prefer=prefer)
    assert (rows.read, len(rows.losses), rows.dropped) == (count, count, 0)
    assert rows.lines.tolist() == list(range(2, count + 2))
    assert rows.columns["parameters"] == parameters
    # Names alone find the same columns.
    assert read_rows(path, list(rows.variables)).columns == rows.columns
    if name == "chinchilla":
        assert rows.columns["width"] == "d_model"
        kept = exclude_highest(rows, 40)
        assert (len(kept.losses), kept.excluded) == (203, 42)
        assert kept.losses.max() < np.sort(rows.losses)[-40]
        assert subtract_depth(kept, 2).variables["depth"].min() > 0
