"""A sweep's command again: finished jobs are skipped, half-done ones go on, failed ones retry."""

import json
import time

import pytest


@pytest.mark.slow
def test_a_broken_sweep_ends_in_the_report_of_one_left_alone(
    start, finish, numbers, tmp_path, tiny
):
    words = ["-m", *tiny, "student.depth=[2,3]", "train.steps=30", "teacher.seed=1,2,3"]
    drawn = {"report": True}
    finish(*words, "hydra.sweep.dir=whole", fault=drawn)

    process = start(*words, "hydra.sweep.dir=cut", fault=drawn)
    lines = tmp_path / "cut" / "1" / "history.jsonl"
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and not (lines.exists() and lines.stat().st_size > 3000):
        time.sleep(0.01)
    process.kill()
    process.join()
    done = tmp_path / "cut" / "0"
    kept = (done / "result.json").stat().st_mtime_ns
    # And one that had failed: its answer names the error, and another try may go better.
    failed = tmp_path / "cut" / "2"
    failed.mkdir()
    answer = {"status": "failed", "error": "OSError: pulled out", "rungs": []}
    answer = json.loads((done / "result.json").read_text()) | answer
    (failed / "result.json").write_text(json.dumps(answer))
    (failed / "error.txt").write_text("of an earlier try")

    said = finish(*words, "hydra.sweep.dir=cut", "resume=true", fault=drawn)
    assert "1 of 3 jobs | job 0: is completed already" in said and "1: going on from step" in said
    assert said.count("completed already") == 1 and "toydepth.train: 3 of 3 jobs | job 2: " in said
    assert (done / "result.json").stat().st_mtime_ns == kept
    assert not (failed / "error.txt").exists()
    for number in "012":
        assert numbers(tmp_path / "cut" / number) == numbers(tmp_path / "whole" / number)
    reports = [json.loads((tmp_path / f / "report.json").read_text()) for f in ("cut", "whole")]
    assert reports[0] == reports[1]
    assert reports[0]["unfinished"] == [] and reports[0]["regimes"][0]["replicas"] == 3


def test_each_job_that_fails_is_named_as_it_fails_and_leaves_the_others(start, tiny, tmp_path):
    """Hydra would name the first alone, when the last job has ended."""
    large = "student.width=60001,4,60002"  # teachers too large for any machine's memory
    words = [word for word in tiny if not word.startswith("student.width")]
    words = ["-m", *words, large, "student.depth=2", "train.steps=5", "hydra.sweep.dir=s"]
    sweep = start(*words, fault={"report": True})
    sweep.join(timeout=300)
    assert sweep.exitcode == 1, sweep.said()
    lines = [line for line in sweep.said().splitlines() if line.startswith("toydepth.train: ")]
    told = [words for _, bar, words in (line.partition(" | ") for line in lines) if bar]
    starts = ("job 0: failed: ", "job 1: shared teacher", "job 2: failed: ")
    assert len(told) == 3, told
    for words, expected in zip(told, starts, strict=True):
        assert words.startswith(expected), told
    assert "Traceback" not in sweep.said()
    results = [json.loads((tmp_path / "s" / n / "result.json").read_text()) for n in "012"]
    assert [result["status"] for result in results] == ["failed", "completed", "failed"]
    assert "Traceback" in (tmp_path / "s" / "0" / "error.txt").read_text()
    report = json.loads((tmp_path / "s" / "report.json").read_text())
    assert [job["folder"] for job in report["unfinished"]] == ["0", "2"]
    assert all(job["reason"].startswith("failed: ") for job in report["unfinished"])
    assert [regime["teacher"]["width"] for regime in report["regimes"]] == [4]


@pytest.mark.slow
def test_runs_and_sweeps_are_not_resumed_as_each_other(finish, numbers, tiny, tmp_path):
    tiny = [*tiny, "train.steps=5"]
    finish(*tiny, "student.depth=2", "hydra.run.dir=run")
    finish("-m", *tiny, "student.depth=2,3", "hydra.sweep.dir=sweep")

    def files():
        return sorted(str(p) for folder in ("run", "sweep") for p in (tmp_path / folder).rglob("*"))

    before = files()
    one = finish(*tiny, "student.depth=2", "resume=sweep", status=2)
    many = finish("-m", *tiny, "student.depth=2,3", "resume=run", status=2)
    assert "not the folder of a run" in one and "not the folder of a sweep" in many
    assert files() == before
    # A result that cannot be read is said, and made again from the last checkpoint.
    whole = numbers(tmp_path / "run")
    (tmp_path / "run" / "result.json").write_text("{")
    assert "is not JSON" in finish(*tiny, "student.depth=2", "resume=run")
    assert numbers(tmp_path / "run") == whole
