"""SIGKILL at any moment, then the same command again: the numbers of a run left alone."""

import random
import time

import pytest

from toydepth.results.records import read_result


@pytest.fixture
def ladder(finish, numbers, tmp_path, tiny, ladders):
    """ladder(name) -> (the command's words, its numbers when left alone, the seconds it took)."""

    def call(name):
        words = [*tiny, *ladders[name]]
        started = time.monotonic()
        finish(*words, "hydra.run.dir=whole")
        return words, numbers(tmp_path / "whole"), time.monotonic() - started

    return call


# Which records and renames there are: one of a checkpoint is two renames, a rung is one more.
POINTS = {
    "scratch": [("append", 1, "before"), ("append", 40, "after")],
    "continuation": [("append", 11, "after"), ("rename", 7, "before"), ("rename", 12, "after")],
    "converge": [("append", 5, "after"), ("rename", 10, "before")],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", POINTS)
def test_killed_where_it_hurts_it_goes_on_to_the_same_numbers(
    name, ladder, start, finish, numbers, tmp_path
):
    """One run is killed at each point in turn: within records, checkpoints, between rungs."""
    words, whole, _ = ladder(name)
    for kind, at, when in POINTS[name]:
        fault = {"kill": kind, "at": at, "when": when}
        process = start(*words, "hydra.run.dir=cut", "resume=true", fault=fault)
        process.join()
        assert process.exitcode == -9, process.said()
    said = finish(*words, "hydra.run.dir=cut", "resume=true")
    assert "going on from step" in said
    assert numbers(tmp_path / "cut") == whole


@pytest.mark.slow
def test_killed_in_the_final_write_it_ends_with_the_same_result(
    ladder, start, finish, numbers, tmp_path
):
    words, whole, _ = ladder("scratch")
    finish(*words, "hydra.run.dir=cut")
    (tmp_path / "cut" / "result.json").unlink()
    # All that is left to do is to write the answer: the only rename of such a start.
    fault = {"kill": "rename", "at": 1, "when": "before"}
    process = start(*words, "hydra.run.dir=cut", "resume=true", fault=fault)
    process.join()
    assert process.exitcode == -9, process.said()
    assert not (tmp_path / "cut" / "result.json").exists()
    finish(*words, "hydra.run.dir=cut", "resume=true")
    assert numbers(tmp_path / "cut") == whole
    assert not list((tmp_path / "cut").glob(".result.json*"))


def test_a_run_that_has_ended_is_left_alone(ladder, finish, numbers, tmp_path):
    words, whole, _ = ladder("scratch")
    written = (tmp_path / "whole" / "result.json").stat().st_mtime_ns
    words.append("hydra.run.dir=whole")
    assert "is completed already" in finish(*words, "resume=true")
    other = finish(*words, "resume=true", "train.steps=31", status=2)
    assert "train.steps=[30], not [31]" in other
    assert "it holds a run; resume=true goes on with it" in finish(*words, status=2)
    assert numbers(tmp_path / "whole") == whole
    assert (tmp_path / "whole" / "result.json").stat().st_mtime_ns == written


@pytest.mark.slow
def test_killed_while_hydra_writes_its_record_it_goes_on(ladder, finish, numbers, tmp_path):
    """Hydra writes its files in place, at each start: what a kill may leave of them is half."""
    words, whole, _ = ladder("scratch")
    (tmp_path / "whole" / "result.json").unlink()
    (tmp_path / "whole" / ".hydra" / "config.yaml").write_text("teacher:\n  ki")
    said = finish(*words, "hydra.run.dir=whole", "resume=true")
    assert "going on from step" in said and numbers(tmp_path / "whole") == whole
    (tmp_path / "new" / ".hydra").mkdir(parents=True)
    (tmp_path / "new" / ".hydra" / "config.yaml").write_text("teacher:\n  ki")
    finish(*words, "hydra.run.dir=new", "resume=true")
    assert numbers(tmp_path / "new") == whole


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, kills, seed", [("scratch", 17, 1), ("continuation", 17, 2), ("converge", 16, 3)]
)
def test_killed_at_random_moments(name, kills, seed, ladder, start, numbers, tmp_path):
    """Fifty kills: a run is killed and resumed until it ends; then another one begins."""
    words, whole, seconds = ladder(name)
    draw = random.Random(seed)
    killed = ended = 0
    while killed < kills:
        folder = f"cut-{ended}"
        started = time.monotonic()
        process = start(*words, f"hydra.run.dir={folder}", "resume=true")
        process.join(timeout=draw.uniform(0.1, 0.9) * seconds)
        process.kill()
        process.join()
        if process.exitcode == -9:
            killed += 1
            continue
        assert process.exitcode == 0, process.said()
        assert numbers(tmp_path / folder) == whole
        seconds = time.monotonic() - started  # as fast as this machine is by now
        ended += 1
    process = start(*words, f"hydra.run.dir=cut-{ended}", "resume=true")
    process.join()
    assert process.exitcode == 0, process.said()
    assert numbers(tmp_path / f"cut-{ended}") == whole
    assert read_result(tmp_path / f"cut-{ended}" / "result.json").status == "completed"
