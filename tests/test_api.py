"""The public names: what they are, what importing them costs, and their examples."""

import doctest
import importlib
import subprocess
import sys
import typing

import pytest

import toydepth

SLOW_IMPORTS = {"jax", "flax", "numpy", "matplotlib", "hydra", "pydantic", "wandb", "scipy"}


def test_importing_it_loads_nothing_slow():
    code = f"import sys, toydepth; print(sorted({SLOW_IMPORTS} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_every_public_name_is_there_and_documented():
    assert sorted(toydepth.__all__) == sorted(toydepth._HOME_OF)
    assert set(toydepth.__all__) <= set(dir(toydepth))
    for name in toydepth.__all__:
        assert getattr(toydepth, name).__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'train_lader'"):
        _ = toydepth.train_lader


def test_type_checkers_are_told_of_the_same_names(monkeypatch):
    """What stands under TYPE_CHECKING is what is loaded."""
    lazy = {name: getattr(toydepth, name) for name in toydepth.__all__}
    monkeypatch.setattr(typing, "TYPE_CHECKING", True)
    spec = importlib.util.find_spec("toydepth")
    told = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(told)
    assert {name: vars(told)[name] for name in toydepth.__all__} == lazy


@pytest.mark.parametrize("name", [n for n in toydepth.__all__ if n not in ("ResultError",)])
def test_the_example_of_each_name_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    thing = getattr(toydepth, name)
    finder = doctest.DocTestFinder(recurse=False)
    examples = finder.find(thing, name, globs={"toydepth": toydepth})
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert sum(len(example.examples) for example in examples) > 0, f"{name} has no example"
    for example in examples:
        runner.run(example)
    assert runner.summarize(verbose=False).failed == 0
