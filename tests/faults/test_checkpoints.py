"""Checkpoints that a disk or a dying process has spoiled: named, and the one before is taken."""

import errno
import os
import shutil

import numpy as np
import pytest

from toydepth.engine import Checkpoint, Checkpoints

SHAPES = {"w": (3, 4), "b": (4,)}


def rungs(step):
    draw = np.random.default_rng(step)
    return ({name: draw.normal(size=shape).astype(np.float32) for name, shape in SHAPES.items()},)


def like(progress):
    return rungs(0)


def saved(folder, steps=(10, 20, 30), say=lambda words: None):
    with Checkpoints(folder, say) as checkpoints:
        for step in steps:
            checkpoints.save(
                step, Checkpoint({"step": step, "losses": [float("nan")]}, rungs(step))
            )
    return folder / "checkpoints"


def found(folder):
    """The step of the checkpoint that is gone on from, and what was said."""
    said = []
    with Checkpoints(folder, said.append) as checkpoints:
        checkpoint = checkpoints.restore(like)
    if checkpoint is None:
        return None, said
    step = checkpoint.progress["step"]
    for name, array in rungs(step)[0].items():
        np.testing.assert_array_equal(checkpoint.rungs[0][name], array)
    return step, said


def kept(folder):
    return sorted(int(path.name) for path in folder.iterdir() if path.name.isdigit())


def test_the_last_two_are_kept_and_the_last_is_taken(tmp_path):
    assert kept(saved(tmp_path)) == [20, 30]
    assert found(tmp_path) == (30, [])


def spoil(path, how):
    content = path.read_bytes()
    if how == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif how == "emptied":
        path.write_bytes(b"")
    elif how == "garbled":
        middle = len(content) // 2
        path.write_bytes(content[:middle] + bytes(255 - b for b in content[middle:]))
    else:
        path.unlink()


@pytest.mark.parametrize("how", ["truncated", "emptied", "garbled", "removed"])
def test_a_damaged_one_is_named_and_the_one_before_is_taken(tmp_path, how):
    """Whichever of its files it is; none is read as something else."""
    folder = saved(tmp_path / "first")
    parts = [p.relative_to(folder) for p in (folder / "30").rglob("*") if p.is_file()]
    assert len(parts) > 5
    taken = {}
    for number, part in enumerate(parts):
        run = tmp_path / str(number)
        shutil.copytree(folder, run / "checkpoints")
        spoil(run / "checkpoints" / part, how)
        taken[str(part)], said = found(run)
        if taken[str(part)] == 20:
            assert len(said) == 1 and str(run / "checkpoints" / "30") in said[0]
            assert "taking one before" in said[0]
            assert (run / "checkpoints" / "unreadable-30").is_dir()
            assert kept(run / "checkpoints") == [20]
        else:  # a file that nothing is read from
            assert taken[str(part)] == 30 and said == []
    assert sum(step == 20 for step in taken.values()) > 3
    saved(run, (40,))
    assert found(run) == (40, [])


@pytest.mark.parametrize("place", range(0, 1000, 250))
def test_a_single_bit_is_noticed(tmp_path, place):
    """Where TensorStore reads another number and says nothing."""
    folder = saved(tmp_path)
    data = max((folder / "30" / "rungs").rglob("d/*"), key=lambda path: path.stat().st_size)
    content = bytearray(data.read_bytes())
    content[len(content) * place // 1000] ^= 1
    data.write_bytes(content)
    step, said = found(tmp_path)
    assert (step, len(said)) in ((20, 1), (30, 0))


def test_one_that_the_run_cannot_go_on_from_is_damaged_too(tmp_path):
    """As where the machine has lost its power, and the measurements that it knows of."""
    saved(tmp_path)
    said = []
    with Checkpoints(tmp_path, said.append) as checkpoints:
        found = checkpoints.restore(like, lambda at: "too late" if at["step"] > 20 else None)
    assert found.progress["step"] == 20 and "too late" in said[0]


def test_where_none_can_be_read_this_is_said(tmp_path):
    folder = saved(tmp_path)
    for step in ("20", "30"):
        for path in (folder / step).rglob("*"):
            if path.is_file():
                path.write_bytes(b"")
    step, said = found(tmp_path)
    assert step is None and len(said) == 2 and all("starting again" in words for words in said)
    assert found(tmp_path) == (None, [])


def test_a_save_that_fails_in_the_background_is_said_and_later_ones_are_made(tmp_path, monkeypatch):
    """Orbax alone would count the failed one, and skip or refuse those that follow."""
    said, rename = [], os.rename

    def full(source, target, **options):
        if str(target).endswith("/20"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return rename(source, target, **options)

    monkeypatch.setattr(os, "rename", full)
    monkeypatch.setattr(os, "replace", full)
    folder = saved(tmp_path, (10, 20, 30), said.append)
    assert len(said) == 1 and said[0].startswith("the checkpoint at step 20 was not written: ")
    assert kept(folder) == [10, 30]
    assert not list(folder.glob("*tmp*"))
    monkeypatch.undo()
    assert found(tmp_path) == (30, [])


def test_a_failed_last_save_leaves_the_one_before(tmp_path, monkeypatch):
    said, rename = [], os.rename

    def full(source, target, **options):
        if str(target).endswith("/20"):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return rename(source, target, **options)

    monkeypatch.setattr(os, "rename", full)
    monkeypatch.setattr(os, "replace", full)
    assert kept(saved(tmp_path, (10, 20), said.append)) == [10]
    assert len(said) == 1
    monkeypatch.undo()
    assert found(tmp_path) == (10, [])
    saved(tmp_path, (20, 30))
    assert found(tmp_path) == (30, [])


def test_what_a_killed_process_left_half_written_is_no_checkpoint(tmp_path):
    folder = saved(tmp_path)
    (folder / "30").rename(folder / "40.orbax-checkpoint-tmp")
    assert found(tmp_path)[0] == 20
    assert kept(folder) == [20]
