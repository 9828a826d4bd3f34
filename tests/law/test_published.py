"""Published tables are downloaded once, whole and as published, or not at all."""

import dataclasses
import hashlib
import http.client
import io
import urllib.error
from pathlib import Path

import platformdirs
import pytest

from toydepth.law import published as module
from toydepth.law.published import PUBLISHED, fetch
from toydepth.law.rows import read_rows
from toydepth.settings import SettingError

CONTENT = (
    b'{"run_name":"a","params_active_precise":50,"width":8,"depth":3,"tokens":9,"final_loss":3.5}\n'
    b'{"run_name":"b","params_active_precise":60,"width":8,"depth":4,"tokens":9,"final_loss":3.0}\n'
)


@pytest.fixture(autouse=True)
def published(monkeypatch):
    """Gemstones, as if two rows had been published."""
    table = PUBLISHED["gemstones"]
    known = dataclasses.replace(table, sha256=hashlib.sha256(CONTENT).hexdigest())
    monkeypatch.setitem(PUBLISHED, "gemstones", known)
    return known


def sends(content):
    return lambda address, timeout: io.BytesIO(content)


def fails(error):
    def open_url(address, timeout):
        raise error

    return open_url


def refusal(folder, open_url):
    with pytest.raises(SettingError) as caught:
        fetch("gemstones", folder, open_url=open_url)
    assert caught.value.setting == "data.path"
    assert str(caught.value).startswith("data.path=null is not allowed: ")
    assert str(caught.value).isprintable()
    assert caught.value.allowed.endswith("data.path=FILE")
    return caught.value.allowed


def test_downloads_once(tmp_path, published):
    asked = []

    def open_url(address, timeout):
        asked.append((address, timeout))
        return io.BytesIO(CONTENT)

    folder = tmp_path / "not" / "there"
    path = fetch("gemstones", folder, open_url=open_url)
    assert path == folder / "gemstones.jsonl"
    assert path.read_bytes() == CONTENT
    assert asked == [(published.address, 20.0)]
    assert fetch("gemstones", folder, open_url=fails(AssertionError())) == path
    assert list(folder.iterdir()) == [path]


def test_reads_as_published(tmp_path, published):
    path = fetch("gemstones", tmp_path, open_url=sends(CONTENT))
    wanted = ["width", "depth", "data", "parameters"]
    rows = read_rows(path, wanted, prefer=published.prefer)
    assert rows.columns == dict(published.prefer)
    assert rows.variables["parameters"].tolist() == [50, 60]
    assert rows.losses.tolist() == [3.5, 3.0]


def test_keeps_it_in_the_users_cache_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda name: tmp_path / name)
    path = fetch("gemstones", open_url=sends(CONTENT))
    assert path == tmp_path / "toydepth" / "data" / "gemstones.jsonl"


class CutShort(io.BytesIO):
    def read(self, size=-1):
        raise http.client.IncompleteRead(b"")


class Endless(io.RawIOBase):
    def readable(self):
        return True

    def readinto(self, buffer):
        buffer[:] = bytes(len(buffer))
        return len(buffer)


@pytest.mark.parametrize(
    ("open_url", "words"),
    [
        (fails(urllib.error.URLError(OSError(-2, "Name or service not known"))), "Name or service"),
        (fails(urllib.error.HTTPError("", 404, "Not Found", {}, None)), "(HTTP Error 404: Not Fou"),
        (fails(TimeoutError("timed out")), "(timed out)"),
        (fails(ConnectionResetError()), "(ConnectionResetError)"),
        (fails(ValueError("no host\x1b\n")), "(no host\\x1b\\n)"),
        (lambda address, timeout: CutShort(), "IncompleteRead"),
        (sends(CONTENT[:-1]), "did not send the whole file that was published"),
        (sends(b"<html>Log in first</html>"), "did not send the whole file that was published"),
        (lambda address, timeout: io.BufferedReader(Endless()), "did not send the whole file"),
    ],
)
def test_a_failed_download_leaves_nothing(tmp_path, monkeypatch, published, open_url, words):
    monkeypatch.setattr(module, "LIMIT", 1000)
    allowed = refusal(tmp_path, open_url)
    assert words in allowed
    assert published.address in allowed
    assert f"put the file at {tmp_path / 'gemstones.jsonl'}" in allowed
    assert list(tmp_path.iterdir()) == []


def test_a_file_put_there_by_hand_is_checked(tmp_path):
    path = tmp_path / "gemstones.jsonl"
    path.write_bytes(CONTENT)
    assert fetch("gemstones", tmp_path, open_url=fails(AssertionError())) == path
    path.write_bytes(CONTENT + b"\n")
    assert f"{path} is not the file that was published; delete it" in refusal(
        tmp_path, fails(AssertionError())
    )
    assert path.read_bytes() == CONTENT + b"\n"


def test_a_cache_that_cannot_be_used(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    assert "cannot be read (Not a directory)" in refusal(tmp_path / "file", sends(CONTENT))
    (tmp_path / "gemstones.jsonl").mkdir()
    assert "cannot be read (Is a directory)" in refusal(tmp_path, sends(CONTENT))
    (tmp_path / "gemstones.jsonl").rmdir()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert "cannot be written (No space left on device)" in refusal(tmp_path, sends(CONTENT))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_is_published(name):
    table = PUBLISHED[name]
    assert table.address.startswith("https://raw.githubusercontent.com/")
    assert len(table.sha256) == 64
    assert set(table.prefer) == {"width", "depth", "data", "parameters", "loss"}
    assert "arXiv" in table.cite


def test_the_known_copy_of_chinchilla_is_the_published_one(tmp_path):
    copy = Path(__file__).parents[2].parent / "shared" / "data" / "chinchilla.csv"
    if not copy.exists():
        pytest.skip(f"{copy} is not there")
    path = fetch("chinchilla", tmp_path, open_url=sends(copy.read_bytes()))
    assert path.read_bytes() == copy.read_bytes()
