"""A disk that is full or has become read-only: one line, status 1, and what is there is whole."""

import json
import os
import subprocess

import pytest

from toydepth.files import read_history

LONG = ["student.depth=[2,3]", "train.steps=1000000"]


def mounted(*arguments):
    return subprocess.run(["mount", *arguments], capture_output=True, text=True).returncode == 0


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a file system of its own, of which three megabytes are left."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() or not mounted("-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)):
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def failed_in_one_line(process, folder, reason):
    """The line on how the run failed; what it has written is read as if it were still running."""
    process.join(timeout=300)
    assert process.exitcode == 1, process.said()
    assert "Traceback" not in process.said(), process.said()
    lines = [line for line in process.said().splitlines() if line.startswith("toydepth.train: ")]
    failures = [line for line in lines if " failed: " in line]
    assert len(failures) == 1 and reason in failures[0], lines
    assert len(read_history(folder)) > 0
    json.loads((folder / "settings.json").read_text())
    if (folder / "result.json").exists():
        assert json.loads((folder / "result.json").read_text())["status"] == "failed"
    assert not list(folder.glob(".result.json.*"))


@pytest.mark.slow
def test_a_full_disk_ends_a_run_that_goes_on_when_there_is_room(
    small_disk, start, finish, numbers, tmp_path, tiny, ladders
):
    run, words = small_disk / "run", [*tiny, *ladders["scratch"]]
    finish(*words, "hydra.run.dir=whole")
    room = small_disk / "room"
    process = start(*words, f"hydra.run.dir={run}", fault={"fill": [30, str(room)]})
    failed_in_one_line(process, run, "No space left on device")
    room.unlink()
    said = finish(*words, f"hydra.run.dir={run}", "resume=true")
    assert "going on from step" in said
    assert numbers(run) == numbers(tmp_path / "whole")


@pytest.mark.slow
def test_a_folder_gone_read_only_ends_a_run_in_one_line(small_disk, start, tiny):
    process = start(*tiny, *LONG, f"hydra.run.dir={small_disk / 'run'}",
                    fault={"full": 30, "error": "EROFS"})  # fmt: skip
    failed_in_one_line(process, small_disk / "run", "Read-only file system")


def test_a_disk_full_from_the_start_is_one_line(small_disk, start, tiny):
    with pytest.raises(OSError), (small_disk / "room").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    process = start(*tiny, *LONG, f"hydra.run.dir={small_disk / 'run'}")
    process.join(timeout=300)
    assert process.exitcode in (1, 2), process.said()
    (line,) = process.said().splitlines()
    assert line.startswith("toydepth.train: ") and "No space left on device" in line


def test_a_read_only_folder_is_refused(tmp_path, start, tiny):
    folder = tmp_path / "shelf"
    folder.mkdir()
    if os.geteuid() or not mounted("-t", "tmpfs", "-o", "ro", "tmpfs", str(folder)):
        pytest.skip("no file system can be mounted here")
    try:
        process = start(*tiny, *LONG, f"hydra.run.dir={folder / 'run'}")
        process.join(timeout=300)
        assert process.exitcode == 2
        (line,) = process.said().splitlines()
        assert "hydra.run.dir=" in line and "Read-only file system" in line
        assert os.listdir(folder) == []
    finally:
        subprocess.run(["umount", str(folder)], check=True)
