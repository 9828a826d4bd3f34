"""Every run that a sweep asks for is a command that composes.

W&B's own engine says what a sweep file means and which runs it asks for; W&B's own agent makes
the commands.
"""

import itertools
import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import wandb
from wandb import wandb_agent
from wandb.sdk.launch.sweeps.utils import load_sweep_config

from toydepth.commands.command_line import read_command
from toydepth.commands.spec import groups
from toydepth.config import Experiment
from toydepth.settings import meanings
from toydepth.tracking.wandb_tracker import start_wandb
from toydepth.train.training_command import VERB

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the engine is written for an older pydantic
    import sweeps

FOLDER = Path(__file__).parents[2] / "sweeps"
FILES = sorted(FOLDER.glob("*.yaml"))
FIGURES = ["fig3b", "fig4", "fig5", "midpoint", "teacher24"]
JOBS = dict.fromkeys(FIGURES, 2) | {
    "crossover": 12,
    "crossover_length": 12,
    "superposition_sweep": 90,
}
PRESETS = groups(VERB)["experiment"]
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


@pytest.fixture
def agent(monkeypatch, tmp_path):
    """agent(sweep file, {name: value}) -> the words that W&B's agent would run."""
    ran = []
    monkeypatch.setattr(wandb_agent, "AgentProcess", lambda command, **_: ran.append(command))
    monkeypatch.chdir(tmp_path)
    for name in ("WANDB_RUN_ID", "WANDB_SWEEP_PARAM_PATH", "WANDB_DIR"):
        monkeypatch.setenv(name, "")  # so that what the agent sets is undone
        monkeypatch.delenv(name)
    monkeypatch.setenv("WANDB_SWEEP_ID", "sweep1")

    def words(path, values):
        config = load_sweep_config(str(path))
        runner = wandb_agent.Agent.__new__(wandb_agent.Agent)
        runner._in_jupyter = runner._function = None
        runner._forward_signals, runner._run_processes = False, Ran()
        runner._sweep_command = config["command"]
        args = {name: {"value": value} for name, value in values.items()}
        runner._command_run({"run_id": "run1", "program": config["program"], "args": args})
        return ran.pop()

    return words


class Ran(dict):
    """The agent's processes, of which there are none."""

    def __getitem__(self, name):
        return self

    def __setattr__(self, name, value): ...


def runs(path):
    """Each run that W&B's engine asks for: all of a grid; of a search the corners and 4 draws."""
    config = load_sweep_config(str(path))
    if config["method"] == "grid":
        found = []
        while (run := sweeps.next_run(config, found)) is not None:
            found.append(run)
        return [{name: each["value"] for name, each in run.config.items()} for run in found]
    bounds = {name: (each["min"], each["max"]) for name, each in config["parameters"].items()}
    corners = [
        dict(zip(bounds, corner, strict=True)) for corner in itertools.product(*bounds.values())
    ]
    np.random.seed(0)
    draws = [sweeps.next_run(config | {"method": "random"}, []).config for _ in range(4)]
    # As JSON, which is how an agent gets them: without NumPy's numbers.
    draws = json.loads(json.dumps(draws))
    return corners + [{name: each["value"] for name, each in draw.items()} for draw in draws]


def job(command):
    """The one job of a command that an agent runs."""
    assert command[:4] == ["/usr/bin/env", "python", "-m", "toydepth.train"]
    read = read_command(VERB, command[4:])
    assert not read.multirun  # two jobs in one run of W&B would overwrite each other
    (experiment,) = read.jobs
    return experiment


@each_file
def test_wandb_takes_the_file(path):
    config = load_sweep_config(str(path))
    config.pop("run_cap", None)  # documented, and newer than this engine's schema
    assert sweeps.schema_violations_from_proposed_config(config) == []


@each_file
def test_every_run_composes(path, agent):
    asked = runs(path)
    composed = [job(agent(path, values)) for values in asked]
    assert len(set(composed)) == len(asked)  # no value is lost on the way
    for values, experiment in zip(asked, composed, strict=True):
        for name, value in values.items():
            if name != "experiment":
                room, setting = name.split(".")
                known = getattr(getattr(experiment, room), setting)
                assert known in (value, (value,))
        assert len(experiment.student.depth) >= 3  # alpha needs three


@each_file
def test_parameters_are_single_settings(path):
    """W&B keeps a parameter above the run's configuration: `teacher` would hide `teacher.kind`."""
    known = {name for name, *_ in meanings(Experiment)}
    assert set(load_sweep_config(str(path))["parameters"]) <= known | {"experiment"}


def test_a_run_of_a_sweep_keeps_the_whole_configuration(agent, tmp_path):
    values = {"teacher.kind": "independent", "teacher.seed": 2}
    agent(FOLDER / "depth.yaml", values)
    wandb.teardown()  # W&B reads what the agent has set once per process
    config = {"teacher": {"kind": "independent", "depth": 64, "seed": 2}}
    try:
        tracker = start_wandb(
            tmp_path, project=None, entity=None, group="g", name="n", config=config
        )
        assert dict(tracker._run.config) == config | values
        assert (tracker.address.run_id, tracker._run.sweep_id) == ("run1", "sweep1")
        tracker.finish({"status": "completed"}, [])
    finally:
        wandb.teardown()


@pytest.mark.parametrize(
    "values, taken",
    [
        ({"student.depth": [3, 6, 12, 24]}, True),  # a list is Hydra's list
        ({"train.converge": True}, True),
        ({"optimizer.learning_rate": 3.2e-05}, True),
        ({"optimizer": {"learning_rate": 0.01}}, False),  # W&B's nested parameters are not
        ({"parallel.devices": None}, False),  # Python's None, Hydra's null
    ],
)
def test_what_the_agent_makes_of_values(values, taken, agent):
    command = agent(FOLDER / "depth.yaml", values)
    if taken:
        assert job(command)
    else:
        with pytest.raises(ValueError, match="is not allowed"):
            job(command)


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) if JOBS.get(n, 1) > 50 else n for n in PRESETS],
)
def test_every_preset_composes(name):
    command = read_command(VERB, [f"experiment={name}"])
    assert command.multirun == (name in JOBS)
    assert len(set(command.jobs)) == len(command.jobs) == JOBS.get(name, 1)
    if name in FIGURES:
        assert [e.teacher.kind for e in command.jobs] == ["shared", "independent"]


def test_the_readme_lists_every_recipe_and_counts_its_runs():
    rows = re.findall(
        r"^\| `([^`]+)` \|.*\| (\d+) \|[^|]*\|$", (FOLDER / "README.md").read_text(), re.M
    )
    counted = {name: int(count) for name, count in rows}
    expected = {
        path.name: load_sweep_config(str(path)).get("run_cap") or len(runs(path)) for path in FILES
    }
    expected |= {f"experiment={name}": jobs for name, jobs in JOBS.items()}
    assert counted == expected
