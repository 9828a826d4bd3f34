"""What must not leak, and what must not run: keys, pickles, names as code."""

import ast
import os
from pathlib import Path

import numpy as np
import pytest

from toydepth.results import weights

SOURCE = Path(weights.__file__).parents[1]
KEY = "0123456789abcdef" * 2 + "decade00"  # as long as W&B's


@pytest.mark.slow
def test_no_key_reaches_a_run_s_folder_or_its_words(command, tmp_path, tiny):
    """With W&B, which knows the key, and with a job that fails, whose error is written down."""
    words = [word for word in tiny if not word.startswith("tracker")] + ["train.steps=10"]
    names = ("WANDB_API_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "AWS_SECRET_ACCESS_KEY")
    env = dict.fromkeys(names, KEY) | {"WANDB_MODE": "offline"}
    done = command(
        "-m", *words, "student.depth=[2,3],[4]", "hydra.sweep.dir=sweep", env=env, timeout=500
    )
    assert done.returncode == 0, done.stderr
    assert KEY not in done.stdout + done.stderr
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.suffix == ".wandb" for path in files) and len(files) > 20
    for path in files:
        assert KEY.encode() not in path.read_bytes(), path


def calls(name):
    """(file, call) for each call of a function of that name in toydepth."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                function = node.func
                called = getattr(function, "attr", getattr(function, "id", None))
                if called == name:
                    yield path, node


def test_nothing_from_others_is_unpickled():
    for path in SOURCE.rglob("*.py"):
        imported = {
            alias.name.partition(".")[0]
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in (node.names if isinstance(node, ast.Import) else [ast.alias(node.module)])
        }
        assert not {"pickle", "dill", "cloudpickle", "shelve", "marshal"} & imported, path
    loads = []
    for path, call in calls("load"):
        if getattr(getattr(call.func, "value", None), "id", "") in ("np", "torch"):
            loads.append((path, call))
    assert loads
    for path, call in loads:
        given = {word.arg: getattr(word.value, "value", None) for word in call.keywords}
        safe = {"allow_pickle": False, "weights_only": True}
        assert any(given.get(word) is value for word, value in safe.items()), path


@pytest.mark.parametrize("name", ["eval", "exec", "system", "popen"])
def test_no_text_is_run_as_code(name):
    found = [
        (path.name, call.lineno)
        for path, call in calls(name)
        if not (name == "eval" and not call.args)
    ]  # a network's eval() takes nothing
    assert found == []


def test_no_shell_is_started():
    for name in ("run", "Popen", "check_output", "check_call", "call"):
        for path, call in calls(name):
            assert not any(word.arg == "shell" for word in call.keywords), path


def test_weights_that_hold_a_pickle_are_refused_unread(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    path = weights.rung_file(tmp_path, 2)
    path.parent.mkdir()
    np.savez(path, w=np.array([Trap()], dtype=object))
    with pytest.raises(ValueError, match="cannot be read") as refused:
        weights.load_rung(tmp_path, 2, like={})
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "sprung").exists()
