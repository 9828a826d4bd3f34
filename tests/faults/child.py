"""What a forked process of these tests does: a command, with a fault in it if one is asked for.

Run with the globals ARGUMENTS, FOLDER (where), OUT (for both streams) and FAULT (a dictionary):
  kill: "append" or "rename", at: which of them, when: "before" or "after": SIGKILLs itself there
  full: after this many records, no more can be written; error: what is said then
  fill: [records, path]: after that many, a file there takes what is left of the disk
  stuck: seconds that the tenth record takes, however many signals come
  report: True draws the report of a sweep; those of jobs take longer than tiny runs
"""

import errno
import os
import signal
import sys
import time

os.chdir(FOLDER)  # noqa: F821
handle = os.open(OUT, os.O_WRONLY | os.O_CREAT | os.O_APPEND)  # noqa: F821
os.dup2(handle, 1)
os.dup2(handle, 2)
sys.stdout = open(1, "w", closefd=False, buffering=1)
sys.stderr = open(2, "w", closefd=False, buffering=1)

from toydepth.files import History  # noqa: E402
from toydepth.report import report_command  # noqa: E402
from toydepth.train import training_command  # noqa: E402

fault = dict(FAULT)  # noqa: F821
seen = {"append": 0, "rename": 0}


def watched(kind, function):
    """`function`, with the fault at the calls it is asked for."""

    def call(*arguments, **options):
        seen[kind] += 1
        here = fault.get("kill") == kind and seen[kind] == fault["at"]
        if here and fault["when"] == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "append" and seen[kind] > fault.get("full", seen[kind]):
            number = getattr(errno, fault.get("error", "ENOSPC"))
            raise OSError(number, os.strerror(number))
        if kind == "append" and "fill" in fault and seen[kind] == fault["fill"][0]:
            fill(fault["fill"][1])
        if kind == "append" and seen[kind] == 10 and "stuck" in fault:
            print("stuck")
            time.sleep(fault["stuck"])
        found = function(*arguments, **options)
        if here:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    return call


def fill(path):
    with open(path, "wb", buffering=0) as file:
        for size in (65536, 1):  # to the last byte
            try:
                while file.write(bytes(size)):
                    pass
            except OSError:
                pass


def report(folders, *rest):
    if not fault.get("report") or not os.path.exists(f"{folders[0]}/multirun.yaml"):
        raise RuntimeError("none is wanted")
    return build_report(folders, *rest)


History.append = watched("append", History.append)
os.rename, os.replace = watched("rename", os.rename), watched("rename", os.replace)
build_report, report_command.build_report = report_command.build_report, report
sys.argv = ["toydepth.train", *ARGUMENTS]  # noqa: F821
training_command.main()
