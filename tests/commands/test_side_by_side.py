"""Two chains of runs side by side: how they end, and the two commands made of them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from toydepth import quickstart, universality
from toydepth.commands.side_by_side import commands, run_both
from toydepth.settings import SettingError
from toydepth.train.training_command import VERB

TINY = ["train.steps=20", "student.depth=[2,3,4]", "teacher.depth=4", "train.batch_size=8"]
TINY += ["train.test_batches=2", "replicas=1", "engine.chunk=10"]
TRAIN = [sys.executable, "-m", "toydepth.train"]


def python(code):
    return [sys.executable, "-c", code]


SLEEP = python("import time; print('asleep', flush=True); time.sleep(600)")


def test_each_chain_runs_one_after_another_at_the_same_time_as_the_other(tmp_path):
    write = "import os, time; open({0!r}, 'a').write('{1}'); time.sleep(0.3)"
    words = [python(write.format(str(tmp_path / "order"), letter)) for letter in "ab"]
    meet = "import os, time\nopen({0!r}, 'w')\nwhile not os.path.exists({1!r}): time.sleep(0.02)\n"
    left, right = (str(tmp_path / name) for name in ("left", "right"))
    here = [*words, python(meet.format(left, right) + "assert os.environ['NPROC'] == '1'")]
    behind = [python(meet.format(right, left) + "print('heard')")]
    assert run_both(here, behind, tmp_path / "sub" / "log") == 0
    assert (tmp_path / "order").read_text() == "ab"
    assert (tmp_path / "sub" / "log").read_text().strip() == "heard"


def test_what_fails_ends_the_other_and_the_log_s_end_is_shown(tmp_path, capfd):
    fails = python("print(*range(30), sep='\\n'); raise SystemExit(3)")
    assert run_both([SLEEP], [fails, SLEEP], tmp_path / "log") == 3
    said = capfd.readouterr().err.splitlines()
    assert said[0].endswith(f"the end of {tmp_path / 'log'}:")
    assert said[1:] == [str(number) for number in range(10, 30)]
    assert run_both([python("raise SystemExit(4)"), SLEEP], [SLEEP], tmp_path / "log") == 4
    assert capfd.readouterr().err == ""


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")
@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_both(number, status, tmp_path):
    note = "import os, time; open(f'{0}/{{os.getpid()}}', 'w'); time.sleep(600)"
    sleep = python(note.format(tmp_path / "pids"))
    (tmp_path / "pids").mkdir()
    code = "import sys; from pathlib import Path; "
    code += "from toydepth.commands.side_by_side import run_both; "
    code += f"sys.exit(run_both([{sleep}], [{sleep}], Path({str(tmp_path / 'log')!r})))"
    process = subprocess.Popen(python(code))
    deadline = time.monotonic() + 60
    while len(list((tmp_path / "pids").iterdir())) < 2:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    assert process.wait(timeout=10) == status
    for path in (tmp_path / "pids").iterdir():
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.name), 0)


def test_an_override_goes_to_each_run_and_a_wrong_one_is_refused(tmp_path):
    made = commands(VERB, Path("out"), quickstart.HERE, ["train.steps=7"])
    words = ["experiment=quickstart", "teacher=shared", "parallel.devices=1", "tracker=none"]
    assert made == [[*TRAIN, *words, "train.steps=7", "hydra.run.dir=out/shared"]]
    for wrong in ("train.steps=-1", "teacher=shared", "hydra.run.dir=x", "-m", "train.steps", "=1"):
        with pytest.raises(SettingError):
            commands(VERB, tmp_path, quickstart.HERE, [wrong])


@pytest.mark.parametrize("verb", ["quickstart", "universality"])
def test_what_is_wrong_is_one_line_and_nothing_is_written(verb, command, tmp_path):
    refused = command("train.steps=0", verb=verb)
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1
    assert refused.stderr.startswith(f"toydepth.{verb}: train.steps=0 is not allowed: ")
    assert "FOLDER" in command("--help", verb="universality").stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_quickstart_trains_both_and_reports(command, tmp_path):
    done = command(*TINY, verb="quickstart", env={"OPENBLAS_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    (folder,) = tmp_path.glob("outputs/*/*-quickstart")
    report = json.loads((folder / "report.json").read_text())
    assert {r["teacher"]["kind"] for r in report["regimes"]} == {"shared", "independent"}
    for name in ("shared", "independent"):
        words = (folder / name / ".hydra" / "overrides.yaml").read_text().split("\n- ")
        assert {"parallel.devices=1", "tracker=none", f"teacher={name}"} < set(words)
    assert (folder / "independent.log").stat().st_size


def test_of_quickstart_a_run_that_fails_ends_both(command, tmp_path):
    """The one in the background finds no place to write."""
    code = "from toydepth import quickstart; import sys; "
    code += "quickstart.BEHIND = {'log/below': quickstart.BEHIND['independent']}; "
    code += "quickstart.new_folder = lambda name: __import__('pathlib').Path('out'); "
    code += "__import__('pathlib').Path('out').mkdir(); open('out/log', 'w'); "
    code += f"sys.exit(quickstart.main({[*TINY, 'train.steps=100000000']}))"
    done = subprocess.run(python(code), cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2, done.stderr
    assert "cannot write there" in done.stderr.splitlines()[-1]


def test_universality_trains_what_it_reads():
    names = {*universality.HERE, *universality.BEHIND}
    assert names == {"time", "depth_and_time", "shared", "independent", "width"}
    words = [*universality.HERE.values(), *universality.BEHIND.values()]
    assert ["experiment=width_scaling"] in words
    made = commands(VERB, Path("out"), universality.HERE | universality.BEHIND, ["train.steps=9"])
    assert all(command[-2] == "train.steps=9" for command in made)
