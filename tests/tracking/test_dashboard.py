"""The dashboards: what W&B's own library makes of them, and whether runs log what they show.

After a change of the panels, write the stored specification anew and look at its difference:

    python tests/tracking/test_dashboard.py
"""

import json
import os
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import wandb

import toydepth.tracking
from toydepth.config import Experiment
from toydepth.dashboard import main
from toydepth.settings import meanings
from toydepth.tracking import dashboards
from toydepth.tracking.dashboards.panels import published_temperatures
from toydepth.tracking.wandb_lines import course_lines, loss_chart, measurement, summary

STORED = Path(__file__).parent / "dashboard.json"
SIZES = {"depth": (3, 6, 12, 24), "width": (4, 8, 16, 32)}


def build(project="depth", entity="lab", axis="depth", sizes=None):
    both = (dashboards.workspace, dashboards.report)
    return dashboards.as_sent(*(make(project, entity, axis, sizes or SIZES[axis]) for make in both))


def every():
    return {axis: without_ids(build(axis=axis)) for axis in SIZES}


def without_ids(tree):
    """The same without the ids that the library draws at random for panels and sets of runs."""
    if isinstance(tree, dict):
        return {k: without_ids(v) for k, v in tree.items() if not (k in ("__id__", "id") and v)}
    return [without_ids(each) for each in tree] if isinstance(tree, list) else tree


def leaves(tree, *keys):
    """Every value of these keys, however deep, one by one."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key in keys:
                yield from value if isinstance(value, list) else [value]
            yield from leaves(value, *keys)
    for each in tree if isinstance(tree, list) else []:
        yield from leaves(each, *keys)


def test_the_specification_is_the_stored_one():
    assert every() == json.loads(STORED.read_text())


@pytest.fixture(scope="module", params=SIZES)
def axis(request):
    return request.param


@pytest.fixture(scope="module")
def logged(axis):
    """What the tracker logs of a ladder at one temperature, and of one over the published ones."""
    names = {"table": set(), "history": set(), "summary": set()}
    for heats in ([None], published_temperatures()):
        record = {"loss": 0.1, "step": 1, "replica": 0, "time": 1.0, "total_step": 1}
        rungs = [
            {"size": size, "replica": 0, "loss": 0.1, "temperature": heat}
            for size in SIZES[axis]
            for heat in heats
        ]
        value = {"value": 1.0, "stderr": 0.1, "low": 0.8, "high": 1.2}
        alpha = value if len(heats) == 1 else None
        course = [value | {"share": 1.0, "temperature": heat} for heat in heats]
        result = {"status": "completed", "alpha": alpha, "rungs": rungs}
        names["summary"] |= set(summary(result, axis, course))
        for kind in ("train", "test"):
            for number, rung in enumerate(rungs):
                names["history"] |= set(
                    measurement(record | rung | {"kind": kind}, number, axis, 1)
                )
        for line in course_lines(course, {}):
            names["history"] |= set(line)
        names["table"] |= set(loss_chart(result, axis).table.columns)
    return names


@pytest.mark.parametrize("view", ["workspace", "report"])
def test_runs_log_what_the_panels_show(view, logged, axis):
    spec = build(axis=axis)[view]["spec"]
    settings = {name for name, *_ in meanings(Experiment)}

    def known(accessor):
        kind, _, name = accessor.partition(":")
        if kind == "config":
            room, rest = name.split(".value.")
            return f"{room}.{rest}" in settings
        assert kind in ("summary", "run"), accessor
        return kind == "run" or name in logged["summary"]

    bars = list(leaves(spec, "metrics"))
    assert bars and set(bars) <= logged["summary"]
    accessors = [*leaves(spec, "accessor"), *leaves(spec, "columnOrder")]
    accessors += [at for at in leaves(spec, "xAxis", "yAxis") if ":" in at]
    assert accessors and all(known(accessor) for accessor in accessors)
    groups = [group for group in leaves(spec, "groupBy") if group]
    assert groups and {group.replace(".value", "") for group in groups} <= settings
    axes = {at for at in leaves(spec, "xAxis") if ":" not in at} - {"_step"}
    assert axes == {"step", "training_share"} and axes <= logged["history"]
    patterns = list(leaves(spec, "metricRegex"))
    assert len(patterns) == 3
    for pattern in patterns:
        assert [name for name in logged["history"] if re.search(pattern, name)], pattern
    (fields,) = leaves(spec, "fieldSettings")
    assert set(fields.values()) <= logged["table"]


def test_curves_are_losses_and_nothing_else(logged, axis):
    patterns = list(leaves(build(axis=axis)["workspace"]["spec"], "metricRegex"))
    drawn = {name for name in logged["history"] for p in patterns if re.search(p, name)}
    small, *_, large = (f"{axis}_{size:02d}" for size in SIZES[axis])
    shown = {f"test/{large}/loss", f"train/{small}/loss/T=1", "alpha_over_training/value"}
    assert shown <= drawn
    assert "alpha_over_training/stderr" not in drawn
    assert not re.search(patterns[0], f"test/{large}/loss_stderr")


def test_the_table_is_the_one_that_the_client_logs():
    chart = loss_chart({"rungs": [{"size": 3, "loss": 0.1}]}, "depth")
    chart.set_key("loss_by_depth")
    found = [f["value"] for f in _fields(build()["report"]) if f.get("name") == "tableKey"]
    assert found == [chart.spec.table_key]


def _fields(tree):
    if isinstance(tree, dict):
        yield tree
        tree = list(tree.values())
    for each in tree if isinstance(tree, list) else []:
        yield from _fields(each)


@pytest.fixture
def stranger(monkeypatch, tmp_path, tmp_path_factory):
    """Someone without W&B settings, a key or a netrc file, in an empty folder."""
    for name in [name for name in os.environ if name.startswith("WANDB_")] + ["NETRC"]:
        monkeypatch.delenv(name, raising=False)
    home = tmp_path_factory.mktemp("home")
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    monkeypatch.chdir(tmp_path)
    wandb.teardown()  # W&B reads the environment once per process
    yield
    wandb.teardown()


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], "project=null is not allowed: name the W&B project"),
        (["project="], "project= is not allowed"),
        (["project=a/b"], "project=a/b is not allowed: a W&B name"),
        (["project=a", "project=b"], "it is given once"),
        (["project=a\x1b"], "printable"),
        (["project=a", "entity=x?y"], "entity=x?y is not allowed"),
        (["project=a", "depths=3,x"], "depths=3,x is not allowed: whole numbers"),
        (["project=a", "depths=0"], "depths=0 is not allowed"),
        (["project=a", "widths=4.5"], "widths=4.5 is not allowed: whole numbers"),
        (["project=a", "depths=3", "widths=4"], "widths=4 is not allowed: depths are given"),
        (["project=a", "--force"], "argument=--force is not allowed: there are project=NAME"),
        (["project=a", "output=no/such/folder.json"], "output=no/such/folder.json is not allowed"),
        (["project=a"], "W&B has no key (WANDB_API_KEY or wandb login); output=FILE writes"),
    ],
)
def test_refusals_are_one_line(arguments, words, stranger, tmp_path, capsys):
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and len(printed.err.splitlines()) == 1
    assert printed.err.startswith("toydepth.dashboard: ") and words in printed.err
    assert list(tmp_path.iterdir()) == []


def test_offline_sends_nothing(stranger, monkeypatch, capsys):
    monkeypatch.setenv("WANDB_API_KEY", "a" * 40)
    monkeypatch.setenv("WANDB_MODE", "offline")
    assert main(["project=depth"]) == 2
    assert "WANDB_MODE=offline sends nothing" in capsys.readouterr().err


def test_what_wandb_has_to_say_is_one_line(stranger, monkeypatch, capsys):
    def refuse():
        raise wandb.errors.CommError("permission\ndenied")

    monkeypatch.setenv("WANDB_API_KEY", "a" * 40)
    monkeypatch.setattr(wandb, "Api", refuse)
    assert main(["project=depth"]) == 1
    assert capsys.readouterr().err == "toydepth.dashboard: W&B: CommError: permission denied\n"


def test_without_its_package_it_says_how_to_get_it(stranger, monkeypatch, capsys):
    monkeypatch.delattr(toydepth.tracking, "dashboards", raising=False)
    monkeypatch.setitem(sys.modules, "toydepth.tracking.dashboards", None)
    assert main(["project=depth", "output=views.json"]) == 2
    assert "pip install 'toydepth[dashboard]'" in capsys.readouterr().err


def test_a_file_needs_neither_key_nor_entity(stranger, monkeypatch, tmp_path, capsys):
    file = tmp_path / "views.json"
    assert main(["project=depth", f"output={file}"]) == 0
    assert capsys.readouterr().out == f"{file}\n"
    assert without_ids(json.loads(file.read_text())) == without_ids(build(entity=""))
    monkeypatch.setenv("WANDB_ENTITY", "lab")
    wandb.teardown()
    assert main(["project=depth", "depths=4,8,2", f"output={file}"]) == 0
    assert without_ids(json.loads(file.read_text())) == without_ids(build(sizes=(2, 4, 8)))
    assert main(["project=depth", "widths=[32,16]", f"output={file}"]) == 0
    expected = without_ids(build(axis="width", sizes=(16, 32)))
    assert without_ids(json.loads(file.read_text())) == expected


def test_what_is_sent_is_what_the_file_holds(stranger, monkeypatch, tmp_path, capfd):
    sent = []

    class Server(BaseHTTPRequestHandler):
        """As much of W&B as saving the two views asks for."""

        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            operation = re.search(r"(?:query|mutation)\s+(\w+)", asked["query"])[1]
            given = asked.get("variables") or {}
            answer = {"viewer": {"id": "1", "entity": "lab", "username": "me", "flags": "{}"}}
            if operation == "GetProjects":
                answer = {"models": {"edges": [], "pageInfo": {"hasNextPage": False}}}
                answer["models"]["pageInfo"]["endCursor"] = None
            elif operation.lower().startswith("upsertview"):
                sent.append(given)
                project = {"id": "1", "name": given["projectName"], "entityName": "lab"}
                view = {"id": f"view{len(sent)}", "updatedAt": None, "project": project}
                view |= {
                    k: given[k] for k in ("type", "name", "displayName", "description", "spec")
                }
                answer = {"upsertView": {"view": view, "inserted": True}}
            elif operation == "CreateProject":
                answer = {"upsertModel": {"project": None, "model": None, "inserted": True}}
            body = json.dumps({"data": answer}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_): ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("WANDB_BASE_URL", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("WANDB_API_KEY", "a" * 40)
        wandb.teardown()
        status = main(["project=depth"])
        printed = capfd.readouterr()
        wandb.teardown()
        server.shutdown()
    assert (status, printed.err) == (0, "")
    assert [line.partition(":")[0] for line in printed.out.splitlines()] == ["report", "workspace"]
    assert all("/lab/depth" in line for line in printed.out.splitlines())
    arrived = {"report": sent[0], "workspace": sent[1]}
    for name, expected in build().items():
        found = arrived[name] | {"spec": json.loads(arrived[name]["spec"])}
        assert without_ids({key: found[key] for key in expected}) == without_ids(expected)


if __name__ == "__main__":
    STORED.write_text(json.dumps(every(), indent=1) + "\n")
