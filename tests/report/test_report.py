"""The report over result.json files written by hand."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from omegaconf import OmegaConf

from toydepth.report.report_command import Written, build_report, main, print_report
from toydepth.results.records import ResultError
from toydepth.results.report_record import ReportRecord
from toydepth.results.verdicts import verdict
from toydepth.scaling import Estimate, fit_power_law
from toydepth.train.sweep import Gather

ROOT = Path(__file__).parents[2]
DEPTHS = (3, 6, 12, 24)


def rung(depth, loss, replica=0, **changes):
    return {
        "size": depth, "replica": replica, "temperature": None, "loss": loss,
        "loss_stderr": None if loss is None else 0.01 * abs(loss),
        "steps": 100, "parameters": 10 * depth,
        "converged": True, "status": "completed", "diverged_step": None,
    } | changes  # fmt: skip


def ladder(alpha, replica=0, depths=DEPTHS, level=1.0, **changes):
    generator = np.random.default_rng(replica)
    return [
        rung(d, level * d**-alpha * np.exp(0.03 * generator.normal()), replica, **changes)
        for d in depths
    ]


def result(kind="shared", rungs=None, seed=0, settings=None, head=None, **changes):
    fixed = {"student.block": "residual", "student.width": 16, "objective.head": head,
             "train.steps": 100, "seed": 0, "replicas": 1,
             "optimizer.learning_rate": 0.008}  # fmt: skip
    return {
        "schema": 2, "status": "completed", "error": None, "axis": "depth",
        "teacher": {"kind": kind, "depth": 64, "width": 16, "seed": seed},
        "objective": "mse", "temperature": None,
        "experiment": None, "settings": fixed | (settings or {}),
        "rungs": ladder(3) if rungs is None else rungs,
        "alpha": None, "alpha_reason": None, "local_alpha": [], "seconds": 1.0, "versions": {},
    } | changes  # fmt: skip


def failed(error):
    return result(rungs=[], status="failed", error=error)


def report_of(folders, output=None):
    """What build_report leaves in report.json."""
    written = build_report(folders, output)
    found = strict(written.folder / "report.json")
    assert found == json.loads(json.dumps(written.record.model_dump()))
    return found


def write(folder, contents, age=0):
    (folder / ".hydra").mkdir(parents=True, exist_ok=True)
    path = folder / "result.json"
    path.write_text(contents if isinstance(contents, str) else json.dumps(contents))
    os.utime(path, (1_700_000_000 - age,) * 2)
    return folder


def command(*arguments, cwd):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    line = [sys.executable, "-m", "toydepth.report", *map(str, arguments)]
    return subprocess.run(
        line, capture_output=True, text=True, cwd=cwd, env=environment, check=False
    )


def strict(path):
    def refuse(name):
        raise AssertionError(f"{name} in {path}")

    return json.loads(path.read_text(), parse_constant=refuse)


def test_command_on_one_run(tmp_path):
    write(tmp_path / "run", result())
    done = command("run", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()
    assert done.stdout.splitlines()[-1] == str(tmp_path / "run/figures/loss_against_depth.png")
    assert "shared: consistent with discretisation (3), not with averaging (1)" in done.stdout
    report = strict(tmp_path / "run/report.json")
    (regime,) = report["regimes"]
    law = fit_power_law(DEPTHS, regime["losses"], regime["loss_stderr"])
    assert regime["alpha"] == pytest.approx(
        {k: getattr(law.alpha, k) for k in ("value", "stderr", "low", "high")}
    )
    assert regime["alpha_converged"] == regime["alpha"]
    assert f"{law.alpha.low:.2f} to {law.alpha.high:.2f}" in done.stdout
    assert regime["teacher"] == {"kind": "shared", "depth": 64, "width": 16}
    assert (regime["label"], regime["objective"], regime["head"], regime["temperature"]) == (
        "shared",
        "mse",
        None,
        None,
    )
    assert (regime["sizes"], regime["replicas"], len(regime["local_alpha"])) == (
        list(DEPTHS),
        1,
        3,
    )
    assert (regime["not_converged"], regime["alpha_reason"]) == ([], None)
    assert regime["floor"]["sentence"].startswith("the data")
    assert (report["unfinished"], report["notes"]) == ([], [])
    for figure in report["figures"].values():
        assert (tmp_path / "run" / figure).read_bytes().startswith(b"\x89PNG")
    assert sorted(report["figures"]) == ["local_alpha", "loss_against_depth"]
    files = {path.name for path in (tmp_path / "run").rglob("*") if path.is_file()}
    drawn = {"loss_against_depth.png", "local_alpha.png"}
    assert files == {"result.json", "report.json", "report.html"} | drawn


def test_multirun_of_one_depth_per_job_is_one_ladder(tmp_path):
    for job, (depth, steps) in enumerate(zip(DEPTHS, (100, 200, 400, 800), strict=True)):
        settings = {"student.depth": depth, "train.steps": steps}
        write(tmp_path / str(job), result(rungs=[rung(depth, depth**-1.0)], settings=settings))
    (regime,) = report_of([tmp_path])["regimes"]
    assert regime["sizes"] == list(DEPTHS)
    assert regime["alpha"]["value"] == pytest.approx(1)
    assert [point["run"] for point in regime["points"]] == ["0", "1", "2", "3"]


def test_several_regimes_are_told_apart_by_what_differs(tmp_path):
    write(tmp_path / "a", result("shared", ladder(3)))
    write(tmp_path / "b", result("independent", ladder(1)))
    report = report_of([tmp_path / "a", tmp_path / "b"])
    assert [regime["label"] for regime in report["regimes"]] == ["shared", "independent"]
    assert (
        report["regimes"][1]["verdict"]
        == "consistent with averaging (1), not with discretisation (3)"
    )
    assert (tmp_path / "report.json").is_file()  # the folder that holds both
    write(tmp_path / "c", result("shared", ladder(3), settings={"optimizer.learning_rate": 0.004}))
    labels = [regime["label"] for regime in report_of([tmp_path])["regimes"]]
    assert labels == [
        "shared, optimizer.learning_rate = 0.004",
        "shared, optimizer.learning_rate = 0.008",
        "independent, optimizer.learning_rate = 0.008",
    ]


def test_temperatures_are_regimes(tmp_path):
    rungs = ladder(3, temperature=1.0) + ladder(1, temperature=0.1)
    write(
        tmp_path / "a", result(rungs=rungs, objective="kl", head="learned", temperature=[0.1, 1.0])
    )
    regimes = report_of([tmp_path])["regimes"]
    assert [(r["label"], r["temperature"]) for r in regimes] == [
        ("shared, T = 0.1", 0.1),
        ("shared, T = 1.0", 1.0),
    ]
    assert [round(r["alpha"]["value"]) for r in regimes] == [1, 3]
    assert (regimes[0]["objective"], regimes[0]["head"]) == ("kl", "learned")


def test_steps_are_a_regime_when_one_rung_has_several(tmp_path):
    for steps in (100, 1000):
        write(tmp_path / str(steps), result(settings={"train.steps": steps}))
    labels = [regime["label"] for regime in report_of([tmp_path])["regimes"]]
    assert labels == ["shared, train.steps = 100", "shared, train.steps = 1000"]


def test_replicas_are_pooled_with_an_intercept_each(tmp_path):
    write(tmp_path / "a", result(rungs=ladder(3) + ladder(3, replica=1, level=9.0)))
    write(tmp_path / "b", result(rungs=ladder(3, level=0.1), seed=7))
    (regime,) = report_of([tmp_path])["regimes"]
    assert regime["replicas"] == 3
    points = regime["points"]
    assert {point["teacher_seed"] for point in points} == {0, 1, 7}
    law = fit_power_law(
        *[[p[k] for p in points] for k in ("size", "loss", "loss_stderr", "teacher_seed")]
    )
    assert regime["alpha"]["stderr"] == pytest.approx(law.alpha.stderr)
    at_three = [point["loss"] for point in points if point["size"] == 3]
    assert regime["losses"][0] == pytest.approx(np.prod(at_three) ** (1 / 3))
    assert regime["loss_stderr"][0] == pytest.approx(0.01 * regime["losses"][0] / np.sqrt(3))


def test_the_newer_of_two_counts(tmp_path):
    write(tmp_path / "a", result(rungs=[rung(3, 0.5), rung(6, 0.25)]), age=0)
    write(tmp_path / "z", result(rungs=[rung(3, 9.0)], settings={"student.depth": 3}), age=1000)
    report = report_of([tmp_path, tmp_path / "a"])
    (regime,) = report["regimes"]
    assert regime["losses"] == pytest.approx([0.5, 0.25])
    assert len(report["notes"]) == 1
    named = "depth 3, teacher seed 0, seed 0 was found twice: a, the newer, counts"
    assert named in report["notes"][0]


def test_runs_of_other_seeds_are_replicas(tmp_path):
    """Inputs and the students' start drawn anew for one and the same teacher."""
    for seed, level in enumerate((1.0, 5.0, 0.3)):
        rungs = [rung(depth, level * depth**-2.0) for depth in DEPTHS]
        write(tmp_path / str(seed), result(rungs=rungs, settings={"seed": seed}))
    report = report_of([tmp_path])
    (regime,) = report["regimes"]
    assert report["notes"] == [] and regime["replicas"] == 3
    assert [p["seed"] for p in regime["points"]] == [0, 1, 2] * len(DEPTHS)
    assert regime["alpha"]["value"] == pytest.approx(2)  # each has a coefficient of its own
    assert regime["alpha"]["stderr"] < 0.1


def test_what_diverged_on_the_way_to_a_rung_is_noted(tmp_path):
    ramp = rung(4, None, 1, temperature=0.5, status="diverged", diverged_step=7)
    write(tmp_path / "a", result(ramp_diverged=[ramp]))
    (note,) = report_of([tmp_path])["notes"]
    assert note.startswith("a: ") and "depth 4, teacher seed 1, seed 0 at T = 0.5" in note
    assert "diverged at step 7" in note


def test_diverged_and_missing_losses_are_left_out_and_named(tmp_path, capsys):
    bad = rung(48, None, status="diverged", diverged_step=12)
    write(tmp_path / "a", result(rungs=[*ladder(3), bad, rung(96, 0.0)], status="diverged"))
    report = report_of([tmp_path])
    (regime,) = report["regimes"]
    assert regime["sizes"] == list(DEPTHS) and len(regime["points"]) == 6
    (diverged,) = [point for point in regime["points"] if point["status"] == "diverged"]
    assert (diverged["size"], diverged["diverged_step"], diverged["run"]) == (48, 12, "a")
    assert any("depth 96" in note and "its loss is 0" in note for note in report["notes"])
    print_report(Written(ReportRecord(**report), tmp_path))
    assert (
        "diverged, left out: shared, depth 48, teacher seed 0, seed 0 at step 12 (a)"
        in capsys.readouterr().out
    )


def test_unfinished_jobs_are_named(tmp_path):
    write(tmp_path / "0", result())
    write(tmp_path / "1", failed("out of memory"))
    (tmp_path / "2/.hydra").mkdir(parents=True)
    done = command(".", cwd=tmp_path)
    assert done.returncode == 0
    assert "unfinished: 1: failed: out of memory" in done.stdout
    unfinished = strict(tmp_path / "report.json")["unfinished"]
    assert [job["folder"] for job in unfinished] == ["1", "2"]
    assert "no result.json" in unfinished[1]["reason"]


def test_no_run_has_finished(tmp_path, capsys):
    write(tmp_path / "0", failed("out of\nmemory"))
    (tmp_path / "1/.hydra").mkdir(parents=True)
    assert main([str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert err == "" and out.startswith("no run has finished\n") and "alpha" not in out
    assert "unfinished: 0: failed: out of memory\nunfinished: 1: no result.json" in out
    report = strict(tmp_path / "report.json")
    assert (report["regimes"], report["figures"]) == ([], {})
    assert [job["folder"] for job in report["unfinished"]] == ["0", "1"]


def test_a_sweep_gathers_its_jobs_whatever_became_of_them(tmp_path, capsys, recwarn):
    config = OmegaConf.create({"hydra": {"sweep": {"dir": str(tmp_path)}}})
    write(tmp_path / "0", failed("out of memory"))
    Gather().on_multirun_end(config)
    assert "unfinished: 0: failed: out of memory" in capsys.readouterr().out
    write(tmp_path / "0", "{")
    Gather().on_multirun_end(config)
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "0/result.json is not JSON" in err
    assert len(recwarn) == 0


def test_too_few_depths(tmp_path):
    write(tmp_path / "a", result(rungs=ladder(3, depths=(3, 6))))
    (regime,) = report_of([tmp_path])["regimes"]
    assert regime["alpha"] is None and regime["alpha_converged"] is None
    assert regime["alpha_reason"] == "two depths: an exponent needs three"
    assert regime["verdict"] == "too few depths for an interval"
    assert len(regime["local_alpha"]) == 1 and regime["floor"] is None


def test_every_rung_diverged(tmp_path):
    write(tmp_path / "a", result(rungs=[rung(3, None, status="diverged")], status="diverged"))
    done = command("a", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    report = strict(tmp_path / "a/report.json")
    assert report["figures"] == {} and report["regimes"][0]["alpha_reason"].startswith(
        "no rung has a loss"
    )
    assert not (tmp_path / "a/figures").exists()
    assert done.stdout.splitlines()[-1] == str(tmp_path / "a/report.json")


def test_one_seed_per_depth_gives_no_exponent(tmp_path):
    rungs = [rung(depth, depth**-1.0, replica) for replica, depth in enumerate(DEPTHS)]
    write(tmp_path / "a", result(rungs=rungs))
    report = report_of([tmp_path])
    assert report["regimes"][0]["alpha"] is None
    assert report["regimes"][0]["verdict"].startswith(
        "no exponent: no group holds two distinct sizes"
    )
    assert any("different replicas" in note for note in report["notes"])
    assert list(report["figures"]) == ["loss_against_depth"]


def test_convergence_is_in_the_verdict(tmp_path):
    rungs = ladder(3)
    for deep in rungs[2:]:
        deep["converged"] = False
    write(tmp_path / "a", result(rungs=rungs))
    (regime,) = report_of([tmp_path])["regimes"]
    assert regime["not_converged"] == [12, 24] and regime["alpha_converged"] is None
    assert regime["verdict"].startswith(
        "not converged at depth 12, 24: alpha is a lower bound; as measured, "
    )
    write(tmp_path / "a", result(rungs=ladder(3, converged=None)))
    assert report_of([tmp_path])["regimes"][0]["verdict"].endswith("; convergence not measured")


@pytest.mark.parametrize(
    "low, high, words",
    [
        (0.8, 1.2, "consistent with averaging (1), not with discretisation (3)"),
        (2.5, 3.5, "consistent with discretisation (3), not with averaging (1)"),
        (1.4, 2.5, "between the two, nearer averaging (1): excludes 1 and 3"),
        (2.75, 2.93, "between the two, nearer discretisation (3): excludes 1 and 3"),
        (0.5, 3.5, "interval too wide to tell"),
        (-0.5, 1.5, "interval too wide to tell"),
        (3.5, 4.0, "above both: excludes 1 and 3"),
        (0.2, 0.8, "below both: excludes 1 and 3"),
        (-2.0, -1.0, "the loss rises with depth: excludes 1 and 3"),
    ],
)
def test_verdict_reads_the_interval(low, high, words):
    alpha = Estimate((low + high) / 2, 0.1, low, high)
    assert verdict(alpha, None, DEPTHS, [], measured=True, floor=False) == words


def test_verdict_doubts():
    alpha = Estimate(1.0, 0.1, 0.8, 1.2)
    every = verdict(alpha, None, DEPTHS, DEPTHS, measured=True, floor=False)
    assert every.startswith(
        "not converged at depth 3, 6, 12, 24 (every depth): alpha is not to be trusted"
    )
    shallow = verdict(alpha, None, DEPTHS, [3], measured=True, floor=True)
    assert "alpha may be too high or too low" in shallow and "support a floor" in shallow
    assert (
        verdict(Estimate(1.0), "why", DEPTHS, [], measured=True, floor=False) == "no interval: why"
    )


def test_search_skips_links_and_what_is_not_a_run(tmp_path):
    outside = write(tmp_path / "outside", result("independent"))
    root = tmp_path / "runs"
    write(root / "a", result())
    write(root / "a/checkpoints/1", "not json")
    write(root / "wandb/run", "not json")
    (root / "link").symlink_to(outside, target_is_directory=True)
    assert [regime["label"] for regime in report_of([root])["regimes"]] == ["shared"]


def test_output_folder(tmp_path):
    write(tmp_path / "a", result())
    done = command("a", "output=else/where", cwd=tmp_path)
    assert done.returncode == 0
    report = strict(tmp_path / "else/where/report.json")
    assert report["regimes"][0]["points"][0]["run"] == os.path.join("..", "..", "a")
    assert (tmp_path / "else/where" / report["figures"]["local_alpha"]).is_file()
    assert not (tmp_path / "a/report.json").exists()


def test_labels_and_names_are_printed_as_they_are(tmp_path):
    name = "[red]dép\x1b"
    write(tmp_path / name, result(rungs=[*ladder(3), rung(48, None, status="diverged")]))
    for setting in ("\x1b[2J\nx", "y"):
        write(tmp_path / setting[-1], result(settings={"student.note": setting}))
    (tmp_path / "[b]\n2/.hydra").mkdir(parents=True)
    done = command(".", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.isascii() and "\x1b" not in done.stdout
    assert r"unfinished: [b]\n2: no result.json" in done.stdout
    assert r"depth 48, teacher seed 0, seed 0 ([red]d\xe9p\x1b)" in done.stdout
    table, lines = done.stdout.split(r"shared, student.note = \x1b[2J\nx: consistent with")
    assert r"\x1b[2J\nx" in "".join(table.split())


def broken(**changes):
    return json.dumps(result() | changes)


@pytest.mark.parametrize(
    "contents, words",
    [
        ("{", "a/result.json is not JSON: "),
        (json.dumps(result()).replace("0.008", "NaN"), "is not JSON: NaN is not a JSON number"),
        ("[]", "it has no schema"),
        (broken(schema=1), "has schema 1; this toydepth reads schema 2"),
        (broken(status="fine"), "status is 'fine', not completed, diverged or failed"),
        (broken(teacher={"kind": "shared", "seed": 0}), "teacher.depth is missing"),
        (
            broken(rungs=[rung(3, 1.0), rung(6, 1.0) | {"loss": "x"}]),
            "rungs[1].loss is 'x', not a finite number",
        ),
        (
            broken(rungs=[rung(3, 7.5)]).replace("7.5", "1e999"),
            "rungs[0].loss is inf, not a finite number",
        ),
        (broken(rungs=[rung(0, 1.0)]), "rungs[0].size is 0, not a whole number, 1 or more"),
        (broken(rungs=[3]), "rungs[0] is 3, not an object"),
        (
            broken(rungs=[rung(3, 1.0, observed=3)]),
            "rungs[0].observed is 3, not an object",
        ),
        (
            broken(rungs=[rung(3, 1.0, peak_rate=[0.1])]),
            "rungs[0].peak_rate is [0.1], not a finite number",
        ),
        (
            broken(rungs=[rung(3, 1.0, converged="yes")]),
            "rungs[0].converged is 'yes', not true or false",
        ),
        (broken(settings={"seed": "x"}), "settings.seed is 'x', not a whole number, 0 or more"),
        (broken(ramp_diverged=3), "ramp_diverged is 3, not a list"),
        (
            broken(ramp_diverged=[{"size": 2, "replica": 0, "temperature": None}]),
            "ramp_diverged[0].loss is missing",
        ),
    ],
)
def test_result_that_is_wrong_is_named(tmp_path, capsys, contents, words):
    write(tmp_path / "a", contents)
    assert main([str(tmp_path / "a")]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("toydepth.report: ") and words in err
    assert err.count("\n") == 1
    assert sorted(os.listdir(tmp_path / "a")) == [".hydra", "result.json"]


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], "RUN=null is not allowed: name the folder"),
        (["foo"], "RUN=foo is not a run: no such folder"),
        (["empty"], "RUN=empty is not a run: no result.json below it"),
        (["good", "empty"], "RUN=empty is not a run"),
        (["good", "output=good/result.json"], "is not a folder"),
        (["good", "output="], "output= is not allowed: it is given once"),
        (["good", "output=a", "output=b"], "output=b is not allowed: it is given once"),
        (["good", "colour=red"], "argument=colour=red is not allowed: there are RUN..."),
        (["good", "--fast"], "argument=--fast is not allowed"),
    ],
)
def test_refuses(tmp_path, monkeypatch, capsys, arguments, words):
    (tmp_path / "empty").mkdir()
    write(tmp_path / "good", result())
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("toydepth.report: ") and words in err
    assert err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_command_refuses(tmp_path):
    done = command("foo", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "toydepth.report: RUN=foo is not a run: no such folder\n"
    assert list(tmp_path.iterdir()) == []


def test_build_report_raises_for_a_caller(tmp_path):
    with pytest.raises(ResultError, match="no result.json below it"):
        build_report([tmp_path])


def test_report_does_not_import_what_is_slow():
    """Neither JAX nor, before there is something to draw, matplotlib and scipy.stats."""
    slow = ["jax", "matplotlib", "scipy.stats"]
    code = f"import sys, toydepth.report; print([m for m in {slow} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == "[]"


def test_help(tmp_path):
    done = command("--help", cwd=tmp_path)
    assert done.returncode == 0 and "RUN... [output=DIR]" in done.stdout


def test_other_verbs_folders_are_no_unfinished_runs(tmp_path):
    write(tmp_path / "run", result())
    for name, content in (("law", "law:\n  width: free\n"), ("stopped", "teacher:\n  depth: 3\n")):
        (tmp_path / name / ".hydra").mkdir(parents=True)
        (tmp_path / name / ".hydra" / "config.yaml").write_text(content)
    report = report_of([tmp_path])
    assert [job["folder"] for job in report["unfinished"]] == ["stopped"]
