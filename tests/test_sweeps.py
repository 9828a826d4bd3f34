"""Every combination of a sweep file's values is a command that composes."""

import itertools
from pathlib import Path

import pytest
import yaml

from toydepth.cli import read_command
from toydepth.train import VERB

SWEEPS = sorted((Path(__file__).parents[1] / "sweeps").glob("*.yaml"))


def test_there_are_sweeps():
    assert SWEEPS


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_every_combination_composes(path):
    sweep = yaml.safe_load(path.read_text())
    assert sweep["program"] == "toydepth.train"
    assert "${args_no_hyphens}" in sweep["command"]
    names = list(sweep["parameters"])
    values = [sweep["parameters"][name]["values"] for name in names]
    for combination in itertools.product(*values):
        words = [f"{name}={value}" for name, value in zip(names, combination, strict=True)]
        (experiment,) = read_command(VERB, words).jobs
        assert str(experiment.teacher.kind) in combination
        if sweep["metric"]["name"] == "alpha":  # which three depths are needed for
            assert len(experiment.student.depth) >= 3
