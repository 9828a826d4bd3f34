"""The parts of the page, each by itself."""

import dataclasses
import json
import shlex
import sys

import numpy as np
import pytest

from toydepth.commands import command_line
from toydepth.report.page import plot
from toydepth.report.page.differences import differences
from toydepth.report.page.found import LINE_POINTS, Found, gather
from toydepth.report.page.geometry_plots import geometry
from toydepth.report.page.headline import headline
from toydepth.report.page.html import script_json
from toydepth.report.page.local_plot import local
from toydepth.report.page.looks import looks
from toydepth.report.page.losses import losses
from toydepth.report.page.plot import numbers, plain, spread
from toydepth.report.page.rerun import COMMANDS, commands
from toydepth.report.page.shown import choose
from toydepth.report.page.training import training
from toydepth.results.records import RunRecord
from toydepth.results.regimes import Run
from toydepth.results.report_record import Crossover, Point, ReportRecord
from toydepth.train.training_command import VERB


@pytest.fixture
def regime(regime_record):
    def build(label="shared", kind="shared", value=3.0, runs=("a",), **changes):
        teacher = {"kind": kind, "depth": 64, "width": 16}
        known = {
            "label": label, "kind": kind, "sizes": [3, 6, 12], "points": list(map(point, runs)),
            "alpha": {"value": value, "stderr": 0.1, "low": value - 0.2, "high": value + 0.2},
            "teacher": teacher | ({"rho": 0.5} if kind == "mixed" else {}),
        }  # fmt: skip
        return regime_record(**known | changes)

    return build


def point(run):
    return Point(
        run=run, size=3, replica=0, teacher_seed=0, seed=0, loss=0.1, loss_stderr=None,
        converged=None, status="completed", steps=0, parameters=8,
    )  # fmt: skip


def test_only_settings_that_differ_between_regimes_are_listed(regime):
    settings = {
        "a": {"student.depth": 3, "train.steps": 10, "optimizer.name": "adam"},
        "b": {"student.depth": 6, "train.steps": 10, "optimizer.name": "adam"},
        "c": {"student.depth": 3, "train.steps": 20, "optimizer.name": "adam", "new": None},
        "d": {"student.depth": 6, "train.steps": 20, "optimizer.name": "adam", "new": None},
    }
    found = differences([regime("x", runs="ab"), regime("y", runs="cd")], settings)
    assert found.corner == "setting" and found.heads == ["x", "y"] and found.note == ""
    assert found.rows == [("new", ["not set", "null"]), ("train.steps", ["10", "20"])]
    assert differences([regime(runs="ab")], settings) is None
    many = [regime(str(place), runs="ac"[place % 2]) for place in range(120)]
    found = differences(many, settings)
    assert found.corner == "regime" and found.heads == ["new", "train.steps"]
    assert len(found.rows) == 100 and "The first 100 of 120 regimes" in found.note


def test_one_run_of_several_temperatures(regime):
    settings = {"a": {"target.temperature": [0.1, 1.0]}}
    found = differences([regime("x", temperature=0.1), regime("y", temperature=1.0)], settings)
    assert found.rows == [("target.temperature", ["0.1", "1.0"])]


def test_commands_are_quoted_for_a_shell_and_listed_once():
    words = ["teacher=shared", "student.depth=[3,6]", "name=it's $HOME"]
    found = commands({"a": words, "b": list(words), "c": None})
    assert found.text == (
        "python -m toydepth.train teacher=shared 'student.depth=[3,6]' 'name=it'\"'\"'s $HOME'"
    )
    assert found.note == "1 of 3 runs have no record of their command. "
    many = commands({str(seed): [f"seed={seed}"] for seed in range(100)})
    assert many.count == COMMANDS == many.text.count("\n") + 1
    assert many.note.startswith(f"The first {COMMANDS} of 100 different commands")


def test_headline_of_few(regime):
    two = [regime(), regime("independent", "independent", 1.0)]
    title, cards = headline(two, {0: "var:c0", 1: "var:c1"})
    assert title == "shared: α 3.00; independent: α 1.00"
    levels = [(25.0, "1 averaging"), (75.0, "3 discretisation")]
    assert [card.ruler for card in cards] == [
        (75.0, 70.0, 80.0, levels),
        (25.0, 20.0, 30.0, levels),
    ]
    assert [card.colour for card in cards] == ["var:c0", "var:c1"]
    assert headline([], {}) == ("No run has finished", [])
    _, (card,) = headline([regime(alpha=None, alpha_reason="two depths")], {})
    assert (card.value, card.interval, card.ruler) == ("–", "two depths", None)


def test_headline_of_many(regime):
    many = [regime(str(n), ("shared", "independent")[n % 2], 2.999 - n % 2 * 2 + n / 100)
            for n in range(40)]  # fmt: skip
    many[2] = many[2].changed(not_converged=[24], verdict="not converged")
    _, cards = headline(many, {0: "var:c0", 1: "var:c1", 2: "var:c0"})
    assert [(card.label, card.colour) for card in cards] == [
        ("shared", "var:c0"),
        ("independent", "var:c1"),
    ]
    assert cards[0].interval == "median of 20 regimes, 3.00 to 3.38"
    # Intervals are 0.2 wide on either side: from 3.22 on they exclude 3, from 1.21 on 1.
    assert cards[0].verdict == (
        "1 of 20 have rungs that are not converged; as measured, "
        "11 of 20: consistent with discretisation (3), not with averaging (1)"
    )
    assert (
        cards[1].verdict == "10 of 20: consistent with averaging (1), not with discretisation (3)"
    )
    assert [card.doubt for card in cards] == [True, False]
    _, cards = headline(many[::2], {place: f"var:c{place % 7}" for place in range(20)})
    assert cards[0].colour == "var:guide"
    _, (card,) = headline([regime(alpha=None)] * 5, {})
    assert (card.value, card.interval) == ("–", "5 regimes, no exponent")


def test_a_crossover_has_a_card_of_its_own(regime):
    """A median over what a sweep varies would say nothing."""
    rhos = [0.5, 0.7, 0.9, 0.99, 1.0]
    swept = [regime(f"mixed (rho = {rho})", "mixed", value=1 + 2 * rho) for rho in rhos]
    known = {
        "axis": "rho", "label": "", "values": rhos, "rises": True, "sentence": "alpha rises",
        "regimes": [r.label for r in swept], "alpha": [r.alpha for r in swept],
        "local_alpha": [[] for _ in rhos],
    }  # fmt: skip
    series = Crossover(**known)
    title, (card,) = headline(swept, {}, [series])
    assert (card.label, card.value) == ("rho from 0.5 to 1.0", "2.00 to 3.00")
    assert (card.interval, card.verdict, card.doubt) == ("5 regimes", "alpha rises", False)
    assert title == "rho from 0.5 to 1.0: α 2.00 to 3.00"
    _, cards = headline([*swept, regime("shared")], {}, [series])
    assert [card.label for card in cards] == ["rho from 0.5 to 1.0", "shared"]
    unknown = series.changed(alpha=[None] * 5, rises=None)
    _, (card,) = headline(swept, {}, [unknown])
    assert (card.value, card.interval) == ("–", "5 regimes, no exponent")


def test_of_many_regimes_without_an_exponent_none_is_told(regime):
    _, (card,) = headline([regime(alpha=None)] * 5, {})
    assert (card.value, card.interval) == ("–", "5 regimes, no exponent")


def test_json_cannot_end_its_script():
    hostile = "</script><!--\u2028\u2029 'ü\""
    text = script_json({hostile: [hostile, np.nan, float("inf"), 1.5]})
    assert not set("<>&\u2028\u2029") & set(text) and text.isascii()
    assert json.loads(text) == {hostile: [hostile, None, None, 1.5]}


def test_plotly_reads_no_tags_in_names():
    assert plain("<b>a</b> & %{x}") == "&lt;b&gt;a&lt;/b&gt; &amp; %&#123;x}"


def test_caps_are_even_and_keep_the_ends():
    assert spread(3, 5) == [0, 1, 2] and spread(0, 5) == []
    assert spread(200, 5) == [0, 50, 100, 149, 199]
    assert numbers([1 / 3, None, np.nan]) == [0.33333, None, None]


def test_marks_and_dashes_differ_where_colours_repeat(regime):
    many = looks([regime(kind=("shared", "independent")[n % 2]) for n in range(20)])
    assert len({its.colour for its in many}) == 2
    assert len({(its.symbol, its.dash) for its in many}) == 20
    few = looks([regime() for _ in range(7)])
    assert len({its.colour for its in few}) == len({its.symbol for its in few}) == 7


def test_a_regime_looks_alike_in_every_figure(regime):
    """Also where one of them has nothing to draw."""
    pair = {"start": 3, "stop": 6, "value": 1.0, "stderr": 0.1}
    course = [{"share": share, "steps": None, "value": 1.0, "low": 0.9, "high": 1.1}
              for share in (0.5, 1.0)]  # fmt: skip
    own = {"losses": [1.0, 0.1, 0.01], "local_alpha": [], "alpha_over_training": []}
    regimes = [
        regime("a", **own),
        regime("b", **own | {"sizes": []}),
        regime("c", **own | {"local_alpha": [pair], "alpha_over_training": course}),
    ]
    shown, note = choose(regimes, [None] * 3)
    assert [its.regime.label for its in shown] == ["a", "c"] and note == ""
    figures = [losses(shown, "depth"), local(shown, "depth"), training(shown)]
    entries = [figure.legend[-1] for figure in figures]
    assert {(e["key"], e["colour"], e["symbol"]) for e in entries} == {("r2", "var:c1", "square")}


def test_a_band_ends_where_it_is_not_known():
    band = plot.band("r0", [1, 2, 3], [0.1, None, 0.3], [1.0, 2.0, np.inf], "var:c0")
    assert (band["x"], band["y"]) == ([1.0, 1.0], [0.1, 1.0])


def test_axes_of_losses_have_whole_numbers():
    wide, narrow = plot.loss_axis("loss", [1e-6, 1.0]), plot.loss_axis("loss", [0.02, 0.5])
    assert (wide["dtick"], wide["exponentformat"]) == (1, "power")
    assert (narrow["nticks"], narrow["tickformat"]) == (3, "~g")
    assert narrow["range"][0] < np.log10(0.02) and narrow["range"][1] > np.log10(0.5)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a" / ".hydra").mkdir(parents=True)
    return tmp_path


def run(name="a"):
    record = RunRecord(
        status="completed",
        axis="depth",
        teacher={"kind": "shared", "depth": 64, "width": 16, "seed": 0},
        objective="mse",
        temperature=None,
        settings={"seed": 0},
        rungs=[],
    )
    return Run(name, record, 0)


def report(*regimes):
    return ReportRecord(regimes=regimes)


def test_histories_are_thinned_and_a_step_done_twice_counts_once(folder, regime):
    place = {"size": 3, "replica": 0, "temperature": None}
    lines = [place | {"kind": "train", "step": step, "loss": 1 / step} for step in range(1, 3001)]
    lines += [place | {"kind": "train", "step": 3000, "loss": 9.0}]  # resumed
    lines += [place | {"kind": "test", "step": 3000, "loss": 2.0, "loss_stderr": 0.1}]
    lines += [place | {"kind": "train", "step": 3001, "loss": None}]  # diverged
    (folder / "a/history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = gather(report(regime()), [run()], folder, [folder])
    (curve,) = found.curves[0]
    assert len(curve.steps) <= LINE_POINTS and curve.steps == sorted(set(curve.steps))
    assert (curve.steps[0], curve.steps[-1], curve.losses[-1]) == (1, 3000, 9.0)
    assert (curve.test_steps, curve.test_losses, found.notes) == ([3000], [2.0], [])


def test_what_cannot_be_read_is_a_note(folder, regime):
    (folder / "a/history.jsonl").write_text("{\n{}\n")
    (folder / "a/probe.json").write_text("[]")
    (folder / "a/.hydra/overrides.yaml").write_text("[")
    found = gather(report(regime()), [run()], folder, [folder])
    assert found.curves == {} and found.probes == [] and found.overrides == {"a": None}
    history, probe = found.notes
    assert history.startswith("a: its training curves are left out")
    assert probe.startswith("a/probe.json is left out")


@pytest.mark.parametrize(
    ("words", "again"),
    [
        (["seed=3", "student.depth=[3,6]", "resume=true"], "seed=3 'student.depth=[3,6]'"),
        # A job of sweeps/figures.yaml.
        (
            ["hydra.mode=RUN", "replicas=1", "experiment=fig5", "teacher.kind=independent"],
            "hydra.mode=RUN replicas=1 experiment=fig5 teacher.kind=independent",
        ),
        (["hydra.mode=RUN", "experiment=quickstart"], "experiment=quickstart"),
        (["experiment=fig5", "teacher=independent"], "teacher=independent experiment=fig5"),
        (["-m", "experiment=fig5", "teacher.seed=4", "teacher=shared", "resume=true"],
         "teacher=shared experiment=fig5 teacher.seed=4"),
    ],
)  # fmt: skip
def test_a_command_does_again_what_the_job_did(monkeypatch, tmp_path, words, again):
    """Its folder is Hydra's own; the command is read as Hydra's would be."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["train"])
    command = command_line.read_command(VERB, words)._replace(folder=tmp_path / "out")
    command_line.launch(VERB, lambda cfg: None, command)
    (folder,) = command.job_folders
    found = gather(report(), [run(folder.name)], folder.parent, [])
    shown = commands(found.overrides).text
    assert shown == f"python -m toydepth.train {again}"
    (job,) = command_line.read_command(VERB, shlex.split(shown)[3:]).jobs
    assert job == dataclasses.replace(command.jobs[0], resume=False)


@pytest.fixture
def network(network_record):
    def build(label, depth=3, kind="student", **facts):
        return _network(network_record, label, depth, kind, facts)

    return build


def _network(network_record, label, depth, kind, facts):
    step = {"value": 0.1 / depth, "stderr": None, "low": 0.08 / depth, "high": 0.15 / depth}
    return network_record(
        kind=kind, label=label, depth=depth, facts=facts, middle_step=step,
        updates=step | {"value": 0.46, "verdict": "orthogonal: averaging"},
        theta_updates={"mean": [0.45, 0.47]},
    )  # fmt: skip


def test_probes_beside_the_runs_are_shown(folder, network, probe_record):
    """A ladder has a plot of its own; single networks share one."""
    ladder = [network("teacher", 64, "teacher", teacher="shared")]
    ladder += [network(label, depth, teacher="shared") for label, depth in (("b", 6), ("a", 3))]
    probes = {"one": [network("x")], "smooth": ladder, "two": [network("y")]}
    for name, networks in probes.items():
        (folder / name).mkdir()
        (folder / name / "probe.json").write_text(json.dumps(probe_record(name, networks)))
    found = gather(report(), [run()], folder, [folder])
    steps, own, shared = geometry(found.probes, ["independent", "shared"])
    assert "smooth: teacher: 0.00156 π" in steps.words
    assert [entry["label"] for entry in steps.legend] == ["smooth", "one", "two"]
    assert [trace["x"] for trace in steps.traces] == [[64.0], [3.0, 6.0], [3.0], [3.0]]
    assert steps.traces[0]["error_y"]["array"] == [pytest.approx(0.05 / 64)]
    assert steps.traces[0]["error_y"]["arrayminus"] == [pytest.approx(0.02 / 64)]
    assert (own.title, len(own.traces)) == ("Angles between updates: smooth", 3)
    assert "teacher: 0.46 π, orthogonal: averaging" in own.words
    assert [entry["label"] for entry in shared.legend] == ["x", "y"]
    assert shared.traces[0]["y"] == [0.45, 0.47]
    assert geometry(Found().probes) == []
