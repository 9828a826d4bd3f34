"""Every format reads to the same rows, and what is no table ends in one line."""

import csv
import json
import os
import sys
import textwrap
from decimal import Decimal

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toydepth.law.rows import read_rows
from toydepth.settings import SettingError

ANY_FOLDER = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

TABLE = {"width": [64.0, 128.0, 256.0], "note": ["a", "b\nc", None], "loss": [3.5, 2.25, 1e-3]}


def write(path, table):
    """A table of lists in the format that the path asks for; None is a cell that is not there."""
    rows = list(zip(*table.values(), strict=True))
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.table(table), path)
    elif path.suffix in (".jsonl", ".ndjson"):
        objects = [dict(zip(table, row, strict=True)) for row in rows]
        path.write_text("".join(json.dumps(o) + "\n" for o in objects), encoding="utf-8")
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writerows([list(table), *rows])
    return path


def refusal(path, wanted=("width",), **options):
    """The error of a file, which has to be a line that any terminal can show."""
    with pytest.raises(SettingError) as caught:
        read_rows(path, wanted, **options)
    assert str(caught.value).isprintable()
    assert str(caught.value).startswith(f"{caught.value.setting}=")
    return caught.value


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("runs.csv", [2, 3, 5]),  # the second row spans two lines
        ("runs.CSV", [2, 3, 5]),
        ("runs.tsv", [2, 3, 5]),
        ("runs.jsonl", [1, 2, 3]),
        ("runs.ndjson", [1, 2, 3]),
        ("runs.parquet", [1, 2, 3]),
    ],
)
def test_formats_agree(tmp_path, name, lines):
    path = write(tmp_path / name, TABLE)
    rows = read_rows(path, ["width"])
    assert rows.variables["width"].tolist() == TABLE["width"]
    assert rows.losses.tolist() == TABLE["loss"]
    assert rows.lines.tolist() == lines
    assert rows.columns == {"width": "width", "loss": "loss"}
    assert (rows.read, rows.dropped, rows.excluded) == (3, 0, 0)
    assert rows.source == str(path)


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("\ufeffwidth,loss\n1,2\n", [2]),  # a byte order mark
        ("width,loss\r\n1,2\r\n\r\n3,4", [2, 4]),  # Windows, a blank line, no last newline
        ("width,loss\r1,2\r", [2]),  # an old Mac
        ("\n\nwidth, loss\n 1 , 2\n", [4]),
        ('width,"loss"\n"1","2"\n', [2]),
        ("width,loss,,\n1,2,,\n", [2]),  # a spreadsheet's empty columns
        ('width,loss,note\n1,2,"""x"", y"\n', [2]),
    ],
)
def test_kinds_of_csv(tmp_path, content, lines):
    path = tmp_path / "runs.csv"
    path.write_bytes(content.encode())
    rows = read_rows(path, ["width"])
    assert (rows.variables["width"][0], rows.losses[0]) == (1, 2)
    assert rows.lines.tolist() == lines


def test_json_lines_may_differ_in_their_names(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text('\ufeff{"loss": 2, "a": {"loss": []}}\n\n{"width": 3, "loss": 1}\u2028 \n')
    assert refusal(path).allowed.startswith("line 3 is not a JSON object")
    path.write_text('\ufeff{"loss": 2, "a": {"x\u2028": []}}\n \n{"width": 3, "loss": 1}\r\n')
    assert "(line 1: width is missing)" in refusal(path).allowed
    rows = read_rows(path, ["width"], drop_invalid=True)
    assert (rows.lines.tolist(), rows.read, rows.dropped) == ([3], 2, 1)


@pytest.mark.parametrize(
    "kind",
    [
        pyarrow.int8(),
        pyarrow.uint64(),
        pyarrow.float16(),
        pyarrow.float32(),
        pyarrow.decimal128(9, 2),
        pyarrow.dictionary(pyarrow.int8(), pyarrow.int64()),
    ],
    ids=str,
)
def test_numbers_of_parquet(tmp_path, kind):
    values = [Decimal(3), Decimal(5)] if pyarrow.types.is_decimal(kind) else [3, 5]
    if pyarrow.types.is_float16(kind):
        values = np.array(values, np.float16)
    table = pyarrow.table({"width": pyarrow.array(values, kind), "loss": [1.0, 2.0]})
    path = tmp_path / "runs.parquet"
    pyarrow.parquet.write_table(table, path)
    assert read_rows(path, ["width"]).variables["width"].tolist() == [3, 5]


def test_parquet_columns_nested_or_with_dots(tmp_path):
    table = {"a": [{"loss": 9}], "width": [{"b": 1}], "width.b": [4.0], "loss": [2.0]}
    path = write(tmp_path / "runs.parquet", table)
    assert read_rows(path, ["width"], {"width": "width.b"}).variables["width"] == [4]
    assert "row 1: width is {'b': 1}" in refusal(path).allowed


@pytest.mark.parametrize(
    ("name", "content", "allowed"),
    [
        ("runs.csv", b"", "it is empty"),
        ("runs.csv", b"\n\n", "it is empty"),
        ("runs.jsonl", b"\xef\xbb\xbf \n", "it is empty"),
        ("runs.csv", b"width,loss\n", "it has no rows"),
        ("runs.csv", b"width,loss\n1,2\n\n1,2,3\n", "line 4 has 3 cells where the header has 2"),
        ("runs.csv", b'width,loss\n"1\n",2\n1\n', "line 4 has 1 cells where the header has 2"),
        ("runs.csv", b"loss,width,loss\n1,2,3\n", "line 1 has more than one column named loss"),
        ("runs.csv", b'width,loss\n1,2\n"3,4\n5,6\n', "line 3 is not CSV"),
        ("runs.csv", b'width,loss\n1,2\n"3"x,4\n', "line 3 is not CSV"),
        ("runs.csv", b"width,loss\n1,2\n3,4\xff\n", "line 3 is not UTF-8 text"),
        ("runs.csv", "width,loss\n1,2\n".encode("utf-16"), "line 1 is not UTF-8 text"),
        ("runs.jsonl", b'{"loss": 1}\n[1, 2]\n', "line 2 is not a JSON object"),
        ("runs.jsonl", b'\n{"loss": 1,\n"width": 2}\n', "line 2 is not a JSON object"),
        ("runs.jsonl", b"[" * 100_000, "line 1 is not a JSON object"),
        ("runs.jsonl", b"null", "line 1 is not a JSON object"),
        ("runs.jsonl", b'{"loss": 1, "loss": 2}', "line 1 has more than one column named loss"),
        ("runs.parquet", b"", "it is not a sound Parquet file"),
        ("runs.parquet", b"width,loss\n1,2\n", "it is not a sound Parquet file"),
        ("runs.csv.gz", b"\x1f\x8b", "its name must end in .csv, "),
        ("runs", b"width,loss\n1,2\n", "its name must end in .csv, "),
    ],
)
def test_refuses_what_is_no_table(tmp_path, name, content, allowed):
    path = tmp_path / name
    path.write_bytes(content)
    error = refusal(path)
    assert error.allowed.startswith(allowed)
    assert (error.setting, error.value) == ("data.path", str(path))


def test_refuses_parquet_without_rows_cut_short_or_with_a_name_twice(tmp_path):
    path = write(tmp_path / "runs.parquet", {"width": pyarrow.array([], "f8"), "loss": []})
    assert refusal(path).allowed == "it has no rows"
    twice = pyarrow.Table.from_arrays([pyarrow.array([1.0])] * 2, ["loss", "loss"])
    pyarrow.parquet.write_table(twice, path)
    assert refusal(path).allowed == "it has more than one column named loss"
    whole = write(path, TABLE).read_bytes()
    for end in (4, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:end])
        assert "not a sound Parquet file" in refusal(path).allowed
    path.write_bytes(whole[:4] + bytes(60) + whole[64:])  # the footer is whole, the cells are not
    assert "not a sound Parquet file" in refusal(path).allowed


def test_refuses_what_is_no_file(tmp_path, monkeypatch):
    (tmp_path / "folder.csv").mkdir()
    assert refusal(tmp_path / "folder.csv").allowed == "it is a folder"
    os.mkfifo(tmp_path / "pipe.csv")
    assert refusal(tmp_path / "pipe.csv").allowed == "it is not a file"
    missing = "it cannot be read (No such file or directory)"
    assert refusal(tmp_path / "missing.csv").allowed == missing
    assert "cannot be read" in refusal(tmp_path / "a\0b.csv").allowed
    assert "cannot be read" in refusal(tmp_path / ("a" * 5000)).allowed
    path = write(tmp_path / "runs.csv", TABLE)

    def forbidden(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_bytes", forbidden)  # the tests may run as root
    assert refusal(path).allowed == "it cannot be read (Permission denied)"


def test_reads_from_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    path = write(tmp_path / "runs.csv", TABLE)
    assert read_rows("~/runs.csv", ["width"]).source == str(path)


def test_parquet_says_what_to_install(tmp_path, monkeypatch):
    path = write(tmp_path / "runs.parquet", TABLE)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert refusal(path).allowed.endswith("pip install 'toydepth[parquet]'")


def test_nothing_in_a_file_reaches_the_terminal_raw(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text(
        textwrap.dedent("""\
            width,loss\x1b[31m,loss\x07
            1,2,3
            """)
    )
    assert "loss\\x1b[31m" in refusal(path).allowed
    path.write_text("width,loss\n1,\x1b[2J" + "x" * 1000 + "\n")
    error = refusal(path)
    assert "loss is '\\x1b[2Jxxx" in error.allowed
    assert len(error.allowed) < 300
    path = tmp_path / "runs.jsonl"
    path.write_text('{"width": 1, "loss": "\\ud800\\u001b"}')
    assert "'\\ud800\\x1b'" in refusal(path).allowed


@ANY_FOLDER
@given(
    name=st.sampled_from(["runs.csv", "runs.tsv", "runs.jsonl", "runs.parquet"]),
    start=st.sampled_from(
        [b"", b"width,loss\n", b"width\tloss\n1\t2\n", b'{"width":1,"loss":2}\n']
    ),
    content=st.binary(max_size=60)
    | st.text("\r\n\t\",'0e9-_ {}[]:ab", max_size=60).map(str.encode),
)
def test_any_content_reads_or_ends_in_one_line(tmp_path, name, start, content):
    path = tmp_path / name
    path.write_bytes(start + content)
    try:
        rows = read_rows(path, ["width"])
    except SettingError as error:
        assert str(error).isprintable()
    else:
        assert np.all(rows.losses > 0) and np.all(np.isfinite(rows.losses))


CELLS = st.none() | st.text(max_size=5) | st.sampled_from(["nan", "0", '"', ",", "\n", "loss"])


@ANY_FOLDER
@given(
    data=st.data(),
    name=st.sampled_from(["runs.csv", "runs.tsv", "runs.jsonl", "runs.parquet"]),
    pairs=st.lists(st.tuples(st.floats(1e-9, 1e9), st.integers(1, 10**12)), min_size=1, max_size=6),
)
def test_order_and_other_columns_make_no_difference(tmp_path, data, name, pairs):
    plain = {"loss": [loss for loss, _ in pairs], "tokens": [tokens for _, tokens in pairs]}
    expected = read_rows(write(tmp_path / "plain.csv", plain), ["data"])
    order = data.draw(st.permutations(range(len(pairs))))
    other = data.draw(st.lists(CELLS, min_size=len(pairs), max_size=len(pairs)))
    columns = {
        "tokens": [plain["tokens"][i] for i in order],
        "note": other,
        "n": list(range(len(pairs))),
        "loss": [plain["loss"][i] for i in order],
    }
    names = data.draw(st.permutations(list(columns)))
    rows = read_rows(write(tmp_path / name, {n: columns[n] for n in names}), ["data"])
    assert rows.columns == {"data": "tokens", "loss": "loss"}
    assert rows.losses.tolist() == expected.losses[order].tolist()
    assert rows.variables["data"].tolist() == expected.variables["data"][order].tolist()
