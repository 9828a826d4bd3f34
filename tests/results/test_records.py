"""The records: what a run leaves comes back as it is, and what is wrong is one line."""

import json
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toydepth import config
from toydepth.report.report_command import build_report
from toydepth.results import outcome
from toydepth.results.law_record import LawRecord
from toydepth.results.probe_record import ProbeRecord
from toydepth.results.records import (
    SAID,
    Estimate,
    ResultError,
    Rung,
    RunRecord,
    Teacher,
    read_record,
    read_result,
    write_record,
)
from toydepth.results.report_record import ReportRecord
from toydepth.results.schemas import MODELS, main, schema

ROOT = Path(__file__).parents[2]
DEPTHS = (3, 6, 12, 24)


def concluded(depth, replica=0, temperature=None, **more):
    """A rung as the engine writes it down."""
    loss = (1 + 0.01 * (depth % 5)) * depth**-2.0
    known = {"size": depth, "replica": replica, "temperature": temperature, "reported": True}
    known |= {"steps": 40, "parameters": 64, "annealed": [loss], "loss": loss}
    known |= {"loss_stderr": 0.01 * loss, "loss_as_trained": None, "converged": None}
    return known | {"diverged_step": None, "observed": {}, "status": "completed"} | more


@pytest.fixture
def trained(make):
    """The record of a ladder, as a job makes it."""
    e = make({"student": {"depth": list(DEPTHS)}, "replicas": 2})
    rungs = [concluded(depth, replica) for depth in DEPTHS for replica in (0, 1)]
    lost = {"loss": None, "loss_stderr": None, "status": "diverged", "diverged_step": 7}
    rungs[-1] |= lost | {"annealed": [float("nan")]}
    rungs.append(concluded(2) | lost | {"reported": False})
    return e, outcome.result(e, rungs, seconds=1.5, versions={"jax": None}, experiment="fig5")


def test_a_record_comes_back_as_it_was_written(trained, tmp_path):
    _, record = trained
    write_record(tmp_path / "result.json", record)
    assert read_result(tmp_path / "result.json") == record
    build_report([tmp_path])
    report = read_record(tmp_path / "report.json", ReportRecord, "report")
    write_record(tmp_path / "again.json", report)
    again, first = (tmp_path / name for name in ("again.json", "report.json"))
    assert again.read_bytes() == first.read_bytes()


def test_each_fact_is_said_once(trained, tmp_path):
    e, record = trained
    write_record(tmp_path / "result.json", record)
    found = json.loads((tmp_path / "result.json").read_text())
    assert found["teacher"] == {"kind": "shared", "depth": 64, "width": 16, "seed": 0}
    assert not SAID & found["settings"].keys()
    assert {"axis", "objective", "temperature", "rungs", "alpha", "seconds"} <= found.keys()
    assert found["settings"]["student.depth"] == list(DEPTHS)
    # Together they say all that the numbers depend on.
    every = record.every_setting
    assert every.pop("teacher.width") == 16
    assert json.loads(json.dumps(every)) == json.loads(json.dumps(config.settings(e)))


def test_what_a_ladder_says(trained):
    _, record = trained
    assert record.status == "diverged" and record.axis == "depth" and record.seed == 0
    assert [rung.size for rung in record.rungs] == [depth for depth in DEPTHS for _ in (0, 1)]
    assert record.rungs[-1].annealed == (None,)
    assert [rung.size for rung in record.ramp_diverged] == [2]
    assert record.alpha.value == pytest.approx(2, abs=0.02)
    assert str(record.alpha) == f"2.0{str(record.alpha)[3]} ({record.alpha.low:.2f} to " + (
        f"{record.alpha.high:.2f})"
    )
    assert [its.replica for its in record.regimes] == [0, 1]
    with pytest.raises(ValueError, match="frozen"):
        record.status = "completed"


def test_of_one_replica_the_exponents_are_said_once(make):
    e = make({"student": {"depth": list(DEPTHS)}})
    record = outcome.result(e, [concluded(depth) for depth in DEPTHS])
    assert record.alpha and record.regimes == ()
    several = [
        concluded(depth, temperature=heat, peak_rate=rate)
        for depth in DEPTHS
        for heat, rate in ((0.1, 0.01), (1.0, 0.01))
    ]
    record = outcome.result(e, several)
    assert record.alpha is None and record.alpha_reason.startswith("several temperatures")
    assert [(its.temperature, its.peak_rate) for its in record.regimes] == [
        (0.1, 0.01),
        (1.0, 0.01),
    ]


def test_a_failed_job_has_a_record_too(make):
    record = outcome.failure(make(), "OSError: no disk", experiment=None)
    assert (record.status, record.error, record.rungs) == ("failed", "OSError: no disk", ())


def plain(record):
    return json.loads(json.dumps(record.model_dump()))


def line_of(folder, contents, model=RunRecord, name="result"):
    """What reading such a file says."""
    path = folder / f"{name}.json"
    path.write_text(contents if isinstance(contents, str) else json.dumps(contents))
    with pytest.raises(ResultError) as error:
        read_record(path, model, name)
    line = str(error.value)
    assert line.startswith(f"{path} ") and line.isprintable()
    return line.removeprefix(f"{path} ")


@pytest.mark.parametrize("model, name", [(m, n) for n, m in MODELS.items()])
def test_another_schema_is_said(tmp_path, model, name):
    for version, shown in ((1, "1"), (3, "3"), (True, "True"), ("2", "'2'"), (2.0, "2.0")):
        found = line_of(tmp_path, {"schema": version}, model, name)
        assert found == f"has schema {shown}; this toydepth reads schema 2"
    assert line_of(tmp_path, [], model, name) == f"is not a toydepth {name}: it has no schema"
    assert "is missing" in line_of(tmp_path, {"schema": 2}, model, name)


@pytest.mark.parametrize(
    "place, value, words",
    [
        (("status",), "fine", "status is 'fine', not completed, diverged or failed"),
        (("axis",), "time", "axis is 'time', not depth or width"),
        (("alpha",), 2.5, "alpha is 2.5, not an object"),
        (("alpha", "value"), "2", "alpha.value is '2', not a finite number"),
        (("alpha", "high"), None, "not an estimate with both ends of its interval, or neither"),
        (("teacher",), None, "teacher is None, not an object"),
        (("teacher", "kind"), 3, "teacher.kind is 3, not a text"),
        (("teacher", "kind"), "mixed", "teacher.rho is missing"),
        (("teacher", "rho"), True, "teacher.rho is True, not a finite number"),
        (("teacher", "correlation_length"), "far", "is 'far', not a number or inf"),
        (("teacher", "seed"), -1, "teacher.seed is -1, not a whole number, 0 or more"),
        (("temperature",), [[]], "temperature is [[]], not a number, a list of them, or null"),
        (("settings",), [], "settings is [], not an object"),
        (("settings", "seed"), 1.0, "settings.seed is 1.0, not a whole number, 0 or more"),
        (("settings", "seed"), "\ud800", r"settings.seed is '\ud800', not a whole number"),
        (("settings", "train.steps"), {}, "settings.train.steps is {}, not a setting"),
        (("settings", "teacher.seed"), 0, "settings.teacher.seed is no field of it"),
        (("rungs",), {}, "rungs is {}, not a list"),
        (("rungs", 0), 3, "rungs[0] is 3, not an object"),
        (("rungs", 1, "size"), True, "rungs[1].size is True, not a whole number"),
        (("rungs", 1, "size"), 0, "rungs[1].size is 0, not a whole number, 1 or more"),
        (("rungs", 1, "size"), 10**30, "rungs[1].size is 1"),
        (("rungs", 1, "loss"), True, "rungs[1].loss is True, not a finite number"),
        (("rungs", 1, "converged"), 1, "rungs[1].converged is 1, not true or false"),
        (("rungs", 1, "annealed", 0), "x", "rungs[1].annealed[0] is 'x', not a finite number"),
        (("rungs", 1, "observed"), {"a": []}, "rungs[1].observed.a is [], not a finite number"),
        (("rungs", 1, "depth"), 3, "rungs[1].depth is no field of it"),
        (("seconds",), "\x1b[2J\n\ud800", r"seconds is '\x1b[2J\n\ud800', not a finite number"),
    ],
)
def test_what_is_wrong_is_named(trained, tmp_path, place, value, words):
    found = plain(trained[1])
    *before, last = place
    node = found
    for name in before:
        node = node[name]
    node[last] = value
    line = line_of(tmp_path, found)
    assert line.startswith("is not a toydepth result: ") and words in line


@pytest.mark.parametrize("field", ["size", "loss", "status", "steps"])
def test_what_is_missing_is_named(trained, tmp_path, field):
    found = plain(trained[1])
    del found["rungs"][1][field]
    assert line_of(tmp_path, found) == f"is not a toydepth result: rungs[1].{field} is missing"


@pytest.mark.parametrize(
    "contents, words",
    [
        ("{", "is not JSON: "),
        ('{"schema": NaN}', "is not JSON: NaN is not a JSON number"),
        ("[" * 10**5, "is not JSON: "),
        ('{"schema": 2, "seconds": 1' + "0" * 5000 + "}", "is not JSON: "),
    ],
)
def test_what_is_not_json_is_said(tmp_path, contents, words):
    assert line_of(tmp_path, contents).startswith(words)


def test_what_cannot_be_read_is_said(tmp_path):
    with pytest.raises(ResultError, match="none.json cannot be read: "):
        read_result(tmp_path / "none.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff")
    with pytest.raises(ResultError, match="bytes.json cannot be read: "):
        read_result(tmp_path / "bytes.json")


def places(node, at=()):
    """Every place in nested data."""
    yield at
    if isinstance(node, dict | list):
        for name, its in node.items() if isinstance(node, dict) else enumerate(node):
            yield from places(its, (*at, name))


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda more: st.lists(more, max_size=3) | st.dictionaries(st.text(), more, max_size=3),
    max_leaves=5,
) | st.sampled_from([1e999, "\ud800", 10**40, {"\ud800": 1}, [[[[[]]]]]])


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.data())
def test_any_change_is_read_or_refused_in_a_line(trained, tmp_path, data):
    """With pydantic's errors only: never another one, and no line break in the words."""
    found = plain(trained[1])
    for _ in range(data.draw(st.integers(1, 3))):
        *before, last = data.draw(st.sampled_from(list(places(found))[1:]))
        node = found
        for name in before:
            node = node[name]
        how = data.draw(st.sampled_from(["change", "delete", "add"]))
        if how == "change":
            node[last] = deepcopy(data.draw(ANYTHING))
        elif how == "delete":
            del node[last]
        elif isinstance(node, dict):
            node[data.draw(st.text())] = deepcopy(data.draw(ANYTHING))
    path = tmp_path / "result.json"
    path.write_text(json.dumps(found))
    try:
        record = read_result(path)
    except ResultError as error:
        assert str(error).isprintable() and len(str(error)) < 1000
    else:
        write_record(path, record)
        assert read_result(path) == record


def test_numbers_are_kept_to_the_last_bit(tmp_path, trained):
    loss = 0.1 + 0.2
    record = trained[1].changed(seconds=loss, rungs=[Rung(**plain(trained[1].rungs[0]))])
    write_record(tmp_path / "result.json", record)
    assert read_result(tmp_path / "result.json").seconds == loss
    assert Estimate(value=3).value == 3.0


def test_the_schemas_in_the_docs_are_those_of_the_models(tmp_path):
    kept = ROOT / "docs" / "schemas"
    assert sorted(path.name for path in kept.iterdir()) == sorted(
        f"{n}.schema.json" for n in MODELS
    )
    assert main([str(tmp_path)]) == 0
    for name in MODELS:
        found = (kept / f"{name}.schema.json").read_text()
        again = "python -m toydepth.results.schemas docs/schemas"
        assert found == schema(name) == (tmp_path / f"{name}.schema.json").read_text(), again
        assert json.loads(found)["required"][0] == "schema"
    assert {LawRecord, ProbeRecord, ReportRecord, RunRecord} == set(MODELS.values())


def test_a_record_has_all_that_teachers_are_drawn_by():
    """A kind of teacher that is new has to be told here, too."""
    drawn = {name for names in config.DRAWN_BY.values() for name in names}
    assert drawn == Teacher.model_fields.keys() - {"kind", "depth", "width"}


def test_records_do_not_import_jax():
    code = "import sys, toydepth.results.schemas; print('jax' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == "False"
