"""A sweep's command again: finished jobs are skipped, half-done ones go on, failed ones retry."""

import json
import time

import pytest


@pytest.mark.slow
def test_a_broken_sweep_ends_in_the_report_of_one_left_alone(
    start, finish, numbers, tmp_path, tiny
):
    words = ["-m", *tiny, "student.depth=[2,3,4]", "train.steps=30", "teacher.seed=1,2,3,4"]
    drawn = {"report": True}
    finish(*words, "hydra.sweep.dir=whole", fault=drawn)

    process = start(*words, "hydra.sweep.dir=cut", fault=drawn)
    lines = tmp_path / "cut" / "1" / "history.jsonl"
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and not (lines.exists() and lines.stat().st_size > 5000):
        time.sleep(0.01)
    process.kill()
    process.join()
    done = tmp_path / "cut" / "0"
    kept = (done / "result.json").stat().st_mtime_ns
    # And one that had failed: its answer names the error, and another try may go better.
    failed = tmp_path / "cut" / "3"
    failed.mkdir()
    answer = {"schema": 1, "status": "failed", "error": "OSError: pulled out"}
    (failed / "result.json").write_text(json.dumps(answer))
    (failed / "error.txt").write_text("of an earlier try")

    said = finish(*words, "hydra.sweep.dir=cut", "resume=true", fault=drawn)
    assert "job 0: is completed already" in said and "1: going on from step" in said
    assert (done / "result.json").stat().st_mtime_ns == kept
    assert not (failed / "error.txt").exists()
    for number in "0123":
        assert numbers(tmp_path / "cut" / number) == numbers(tmp_path / "whole" / number)
    reports = [json.loads((tmp_path / f / "report.json").read_text()) for f in ("cut", "whole")]
    assert reports[0] == reports[1]
    assert reports[0]["unfinished"] == [] and reports[0]["regimes"][0]["replicas"] == 4


def test_each_job_that_fails_is_named_as_it_fails(start, tiny, tmp_path):
    """Hydra would name the first alone, when the last job has ended."""
    large = "student.width=60001,4,60002"  # teachers too large for any machine's memory
    words = [word for word in tiny if not word.startswith("student.width")]
    sweep = start("-m", *words, large, "student.depth=2", "train.steps=5", "hydra.sweep.dir=s")
    sweep.join(timeout=300)
    assert sweep.exitcode == 1, sweep.said()
    lines = [line for line in sweep.said().splitlines() if line.startswith("toydepth.train: ")]
    told = [words for _, bar, words in (line.partition(" | ") for line in lines) if bar]
    starts = ("job 0: failed: ", "job 1: shared teacher", "job 2: failed: ")
    assert len(told) == 3, told
    for words, expected in zip(told, starts, strict=True):
        assert words.startswith(expected), told
    assert "Traceback" not in sweep.said()
