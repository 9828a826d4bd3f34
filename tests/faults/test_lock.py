"""One process in a folder: the second is refused, and a dead one holds nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from toydepth.commands.command_line import Command
from toydepth.commands.folder import FolderInUse, claim, hold, let_go
from toydepth.settings import SettingError

HOLDER = """
import sys, time, multiprocessing
from pathlib import Path
from toydepth.commands.folder import hold
if __name__ == "__main__":
    hold(Path(sys.argv[1]))
    children = [multiprocessing.get_context(kind).Process(target=time.sleep, args=(600,))
                for kind in ("fork", "spawn")]
    for child in children:
        child.start()
    print(*(child.pid for child in children), flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """A process that holds the folder, and its two children."""
    script = tmp_path / "holder.py"
    script.write_text(HOLDER)
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    children = [int(pid) for pid in process.stdout.readline().split()]
    yield process
    process.kill()
    process.wait()
    for child in children:
        os.kill(child, 9)


def test_the_second_process_is_refused_and_a_killed_one_holds_nothing(holder, tmp_path):
    """Not through its children either, which outlive it."""
    asked = Command([], tmp_path, True, False, [], resumed=True)
    with pytest.raises(SettingError) as refused:
        claim(asked)
    words = f"hydra.run.dir={tmp_path} is not allowed: process {holder.pid} of "
    assert str(refused.value).startswith(words)
    assert str(refused.value).endswith(" is at work there")
    holder.kill()
    holder.wait()
    claim(asked)
    let_go(tmp_path)


def test_a_process_may_hold_a_folder_twice_and_several_folders(tmp_path):
    (tmp_path / "0").mkdir()
    hold(tmp_path)
    hold(tmp_path / "0" / "..")
    hold(tmp_path / "0")
    try:
        again = [sys.executable, "-c", "import sys; from pathlib import Path; "
                 "from toydepth.commands.folder import hold; hold(Path(sys.argv[1]))"]  # fmt: skip
        for folder in (tmp_path, tmp_path / "0"):
            other = subprocess.run([*again, str(folder)], capture_output=True, text=True)
            assert FolderInUse.__name__ in other.stderr and str(os.getpid()) in other.stderr
    finally:
        let_go(tmp_path)
        let_go(tmp_path / "0")
    assert subprocess.run([*again, str(tmp_path)]).returncode == 0


def test_the_second_command_in_a_folder_is_one_line_and_status_2(holder, start, tmp_path, tiny):
    before = sorted(tmp_path.rglob("*"))
    second = start(*tiny, f"hydra.run.dir={tmp_path}", "resume=true")
    second.join()
    assert second.exitcode == 2
    (line,) = second.said().splitlines()
    assert line.endswith(" is at work there")
    left = {path for path in tmp_path.rglob("*") if not path.name.startswith("said-")}
    assert left == set(before)


def test_a_job_whose_folder_another_process_works_in_is_left_alone(holder, start, tmp_path, tiny):
    """As where a cluster's job has outlived the sweep that is taken up again."""
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "0").symlink_to(tmp_path)
    words = ["-m", *tiny, "student.depth=2,3", "train.steps=5", "hydra.sweep.dir=sweep"]
    sweep = start(*words, "resume=true")
    sweep.join()
    assert sweep.exitcode == 1
    assert f"is left as it is: process {holder.pid} of " in sweep.said()
    assert "job 1: " in sweep.said()
    assert not (tmp_path / "result.json").exists()
    assert Path(tmp_path / "sweep" / "1" / "result.json").exists()


WINDOWS = """
import sys, types
from pathlib import Path
import toydepth.commands.command_line
locked = []
sys.modules["fcntl"] = None
locking = lambda *where: locked.append(where)
sys.modules["msvcrt"] = types.SimpleNamespace(LK_NBLCK=2, locking=locking)
sys.platform = "win32"
from toydepth.commands.folder import hold
hold(Path(sys.argv[1]))
assert [where[1:] for where in locked] == [(2, 1)]
"""


def test_where_there_is_no_fcntl_windows_own_locks_hold(tmp_path):
    """With a stand-in for them."""
    subprocess.run([sys.executable, "-c", WINDOWS, str(tmp_path)], check=True)
    assert (tmp_path / ".lock").read_text().startswith("process ")
