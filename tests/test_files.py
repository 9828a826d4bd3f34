import json
import math

import numpy as np
import pytest

from toydepth.files import HISTORY, History, read_history, versions, write_json


def test_history_holds_one_line_per_record(tmp_path):
    with History.open(tmp_path) as history:
        history.append({"step": 1, "loss": np.float32(0.5)})
        assert read_history(tmp_path) == [{"step": 1, "loss": 0.5}]  # flushed before it closes
        history.append({"step": 2, "loss": math.nan})
        assert history.lines == 2
    assert read_history(tmp_path) == [{"step": 1, "loss": 0.5}, {"step": 2, "loss": None}]


def test_a_resumed_history_goes_back_to_what_the_checkpoint_knew(tmp_path):
    with History.open(tmp_path) as history:
        for step in range(5):
            history.append({"step": step})
    with History.open(tmp_path, keep=3) as history:
        assert history.lines == 3
        history.append({"step": "again"})
    assert [record["step"] for record in read_history(tmp_path)] == [0, 1, 2, "again"]


def test_a_new_run_starts_with_an_empty_history(tmp_path):
    (tmp_path / HISTORY).write_text('{"step": 1}\n')
    History.open(tmp_path).close()
    assert read_history(tmp_path) == []


def test_a_half_written_last_line_is_dropped(tmp_path):
    path = tmp_path / HISTORY
    path.write_text('{"step": 1}\n{"step": 2}\n{"ste')
    assert read_history(tmp_path) == [{"step": 1}, {"step": 2}]
    with History.open(tmp_path, keep=2) as history:
        history.append({"step": 3})
    assert read_history(tmp_path) == [{"step": 1}, {"step": 2}, {"step": 3}]


def test_a_garbled_last_line_is_dropped_but_no_other(tmp_path):
    path = tmp_path / HISTORY
    path.write_bytes(b'{"step": 1}\n\x00\x00\xff\n')
    assert read_history(tmp_path) == [{"step": 1}]
    path.write_bytes(b'{"step": 1}\n\x00\x00\xff\n{"step": 3}\n')
    with pytest.raises(ValueError, match="line 2"):
        read_history(tmp_path)


def test_a_history_shorter_than_its_checkpoint_is_an_error(tmp_path):
    (tmp_path / HISTORY).write_text('{"step": 1}\n{"st')
    with pytest.raises(ValueError, match="1 complete lines; 2 were expected"):
        History.open(tmp_path, keep=2)


def test_no_history_is_an_empty_one(tmp_path):
    assert read_history(tmp_path) == []


def test_write_json_accepts_numpy_and_turns_non_finite_into_null(tmp_path):
    path = tmp_path / "result.json"
    missing = np.float64("nan")
    content = {"a": np.float32(0.5), "b": [math.nan, -math.inf], "c": np.arange(2), "d": missing}
    write_json(path, content)
    assert json.loads(path.read_text()) == {"a": 0.5, "b": [None, None], "c": [0, 1], "d": None}


@pytest.mark.parametrize("broken_call", ["os.fsync", "os.replace"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, broken_call):
    path = tmp_path / "result.json"
    write_json(path, {"status": "old"})

    def full_disk(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(f"toydepth.files.{broken_call}", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_json(path, {"status": "new"})
    assert json.loads(path.read_text()) == {"status": "old"}
    assert list(tmp_path.iterdir()) == [path]


def test_what_json_cannot_hold_leaves_the_old_file(tmp_path):
    path = tmp_path / "result.json"
    write_json(path, {"status": "old"})
    with pytest.raises(TypeError):
        write_json(path, {"status": object()})
    assert json.loads(path.read_text()) == {"status": "old"}
    assert list(tmp_path.iterdir()) == [path]


def test_versions_name_what_a_result_depends_on():
    found = versions()
    names = {"python", "toydepth", "jax", "flax", "optax", "orbax-checkpoint", "numpy", "scipy"}
    assert names == set(found) and versions("no-such-package")["no-such-package"] is None
    assert found["numpy"] == np.__version__
