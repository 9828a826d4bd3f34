"""Texts of every source, and one line for each that is none."""

import json
import sys

import pytest

from toydepth.probe.language import read_texts, texts


def documents(*arguments, **options):
    return list(read_texts(*arguments, **options))


def test_a_file_is_one_whole_text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("\ufeffdeux mots à lire\nligne\n", encoding="utf-8")
    found = read_texts(str(path))
    assert (found.whole, found.source) == (True, str(path))
    assert list(found) == ["deux mots à lire\nligne\n"]


def test_a_long_file_comes_in_parts_that_end_with_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr(texts, "PART", 20)
    lines = "".join(f"line {i} é\n" for i in range(30)) + "x" * 100
    (tmp_path / "a.txt").write_text(lines, encoding="utf-8")
    parts = documents(str(tmp_path / "a.txt"))
    assert "".join(parts) == lines
    assert len(parts) > 5
    assert max(map(len, parts)) <= 40  # also where no line ends
    assert all(part.endswith("\n") for part in parts[:8])


def test_a_folder_is_its_texts_at_any_depth_in_order(tmp_path):
    (tmp_path / "b").mkdir()
    for name in ["b/2.md", "a.txt", "c.TXT", "b/1.txt", "note.py", "b/data.jsonl"]:
        (tmp_path / name).write_text(name)
    found = read_texts(str(tmp_path))
    assert found.whole
    assert list(found) == ["a.txt", "b/1.txt", "b/2.md", "c.TXT"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.JSONL"])
def test_json_lines_are_documents(tmp_path, name):
    rows = [{"text": "one\ntwo", "id": 1}, {"id": 2, "text": "é"}]
    content = "\n\n".join(json.dumps(row) for row in rows)
    (tmp_path / name).write_text(content)
    found = read_texts(str(tmp_path / name))
    assert not found.whole
    assert list(found) == ["one\ntwo", "é"]


def test_another_column_and_a_limit(tmp_path):
    content = "".join(json.dumps({"body": str(i), "text": ""}) + "\n" for i in range(5))
    (tmp_path / "a.jsonl").write_text(content)
    assert documents(str(tmp_path / "a.jsonl"), column="body", limit=3) == ["0", "1", "2"]


def test_home_is_known(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a.txt").write_text("text")
    assert documents("~/a.txt") == ["text"]


@pytest.mark.parametrize(
    ("name", "content", "setting", "allowed"),
    [
        ("a.txt", b"\xff\xfe\x00", "text", "not UTF-8"),
        ("a.jsonl", b'{"text": "a"}\n[1]\n', "text", "line 2 is not a JSON object"),
        ("a.jsonl", b"\n\ntext\n", "text", "line 3 is not a JSON object"),
        ("a.jsonl", b"[" * 100_000, "text", "line 1 is not a JSON object"),
        ("a.jsonl", b'{"body": "a", "n\\u001b": "b", "m": 1}', "column", "it has body, n\\x1b"),
        ("a.jsonl", b'{"text": 1}', "column", "it has none"),
        ("a.jsonl", b"\xff", "text", "not UTF-8"),
    ],
)
def test_broken_files(tmp_path, refusal, name, content, setting, allowed):
    (tmp_path / name).write_bytes(content)
    error = refusal(documents, str(tmp_path / name))
    assert error.setting == setting
    assert allowed in error.allowed


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("nowhere.txt", "no such file or folder"),
        ("a/b/c", "no such file or folder"),
        ("new\nline", "no such file or folder"),
        ("nul\0", "no such file or folder"),
        ("", "no such file or folder"),
        ("/dev/null", "neither a file nor a folder"),
        ("x" * 3000, "cannot be read"),
        ("owner/name", "HF_HUB_OFFLINE forbids the network; give text=FILE"),
        (None, "HuggingFaceFW/fineweb, the default, cannot be streamed"),
    ],
)
def test_what_is_no_text(tmp_path, monkeypatch, refusal, text, allowed):
    monkeypatch.chdir(tmp_path)
    error = refusal(read_texts, text)
    assert (error.setting, error.value) == ("text", text)
    assert allowed in error.allowed


def test_a_folder_without_texts(tmp_path, refusal):
    (tmp_path / "a.py").write_text("")
    (tmp_path / "folder.txt").mkdir()
    assert "without *.txt and *.md" in refusal(read_texts, str(tmp_path)).allowed


def test_a_limit_of_none(refusal):
    assert refusal(read_texts, "a.txt", limit=0).setting == "limit"


class Corpus:
    """datasets.load_dataset, as if online."""

    def __init__(self, rows):
        self.rows, self.calls = rows, []

    def __call__(self, *arguments, **options):
        self.calls.append((arguments, options))
        if isinstance(self.rows, Exception):
            raise self.rows
        return self.rows()


@pytest.fixture
def online(monkeypatch):
    import datasets

    def get(rows):
        corpus = Corpus(rows)
        monkeypatch.setattr(texts, "unreachable", lambda: None)
        monkeypatch.setattr(datasets, "load_dataset", corpus)
        return corpus

    return get


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (None, ("HuggingFaceFW/fineweb", "sample-10BT")),
        ("owner/name", ("owner/name", None)),
        ("owner/name:small.1", ("owner/name", "small.1")),
        ("squad", ("squad", None)),
    ],
)
def test_a_corpus_is_streamed(online, text, asked):
    corpus = online(lambda: iter({"text": f"text {i}", "id": i} for i in range(10**9)))
    found = read_texts(text, limit=3)
    assert not found.whole
    assert list(found) == ["text 0", "text 1", "text 2"]
    assert corpus.calls == [(asked, {"split": "train", "streaming": True})]


def test_a_corpus_that_is_not_there(online, refusal):
    online(RuntimeError("Dataset \x1b does not exist\nand a second line"))
    error = refusal(read_texts, "owner/name")
    assert "RuntimeError: Dataset \\x1b does not exist" in error.allowed
    assert "second line" not in error.allowed


def test_a_stream_that_breaks(online, refusal):
    def rows():
        yield {"text": "a"}
        raise ConnectionError("reset by peer")

    online(rows)
    assert (
        "broke at row 2 (ConnectionError: reset by peer)" in refusal(documents, "owner/a").allowed
    )


def test_a_corpus_without_the_column(online, refusal):
    online(lambda: iter([{"content": "a"}]))
    error = refusal(documents, "owner/name", column="body")
    assert (error.setting, error.value) == ("column", "body")
    assert error.allowed == "row 1 has no text of that name; it has content"


def test_datasets_is_not_installed(monkeypatch, refusal):
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert "pip install 'toydepth[llm]'" in refusal(read_texts, "owner/name").allowed
