"""Two chains of runs side by side, a core each: one shows what it does, the other keeps a log.

Nothing here is of one system: no shell, and of signals those that Windows has, too (there an
interrupt reaches the runs through the console, and a run that is ended leaves its last checkpoint).
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from toydepth.commands.command_line import read_command
from toydepth.commands.overrides import parse
from toydepth.commands.spec import Verb
from toydepth.settings import SettingError

OWN = ("experiment", "teacher")  # what the runs of a chain differ in
PATIENCE = 15.0  # seconds for a run that is to end; it leaves within ten
SIGNALS = (signal.SIGINT, signal.SIGTERM)

Runs = Mapping[str, Sequence[str]]  # the folder of each run, and its overrides


class Chain:
    """Commands one after another, each in a process of its own; the first that fails is the last.

    Attributes:
      status: None as long as there is something to do; then the exit status.
    """

    def __init__(self, commands: Sequence[Sequence[str]], log: IO[bytes] | None = None):
        self.status: int | None = None
        self._left = list(commands)
        self._log = log
        self._process: subprocess.Popen | None = None

    def look(self) -> None:
        """Starts the next command if there is none at work."""
        if self.status is not None:
            return
        if self._process is not None:
            ended = self._process.poll()
            if ended is None:
                return
            if ended or not self._left:
                self.status = ended if ended >= 0 else 128 - ended  # as a shell counts signals
                return
        # XLA's thread pool keeps to one core, so that the two chains do not fight.
        self._process = subprocess.Popen(
            self._left.pop(0), env=os.environ | {"NPROC": "1"}, stdout=self._log, stderr=self._log
        )

    def working(self) -> bool:
        """Whether a process is at work."""
        return self._process is not None and self._process.poll() is None

    def end(self, *, at_once: bool = False) -> None:
        """Asks the process that is at work to leave, or ends it."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill() if at_once else self._process.terminate()


def commands(verb: Verb, folder: Path, runs: Runs, more: Sequence[str]) -> list[list[str]]:
    """The command of each run, whose folder is in `folder`; all are checked first.

    Raises:
      SettingError: for what is not allowed in `more`, the overrides that all runs get.
    """
    for text in more:
        name, _, value = text.partition("=")
        if text.startswith("-") or "=" not in text:
            raise SettingError("argument", text, f"there are settings of toydepth.{verb.name}")
        if (name := parse(text).key_or_group or name) in OWN or name.startswith("hydra."):
            raise SettingError(name, value, "here each run has its own")
    found = []
    for name, words in runs.items():
        words = [*words, "parallel.devices=1", "tracker=none", *more]
        words.append(f"hydra.run.dir={(folder / name).as_posix()}")
        read_command(verb, words)
        found.append([sys.executable, "-m", f"toydepth.{verb.name}", *words])
    return found


def new_folder(name: str) -> Path:
    """Where a command that starts now leaves its runs. Nothing is made yet."""
    return Path("outputs", *time.strftime(f"%Y-%m-%d %H-%M-%S-{name}").split(" "))


def run_both(here: Sequence[Sequence[str]], behind: Sequence[Sequence[str]], log: Path) -> int:
    """Runs two chains of commands, `behind` with its output in the file `log`.

    Where one fails the other ends, too, and so do both on SIGINT and SIGTERM.

    Returns:
      The exit status: 0 if all went well, or that of what failed; 130 on SIGINT, 143 on SIGTERM.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as file, noted() as signals:
        first, second = Chain(here), Chain(behind, file)
        _work(first, second, signals)
        _end((first, second), signals)
    if signals:
        return 128 + signals[0]
    if second.status:
        print(f"A run in the background failed; the end of {log}:", file=sys.stderr)
        print("\n".join(tail(log)), file=sys.stderr, flush=True)
    return first.status or second.status or 0


@contextmanager
def noted() -> Iterator[list[int]]:
    """The signals that come in the meantime, in a list: none of them breaks what is being done."""
    signals: list[int] = []
    before = {n: signal.signal(n, lambda number, frame: signals.append(number)) for n in SIGNALS}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def tail(log: Path, lines: int = 20) -> list[str]:
    """The last lines of a file."""
    return log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]


def _work(here: Chain, behind: Chain, signals: Sequence[int]) -> None:
    """Returns when both chains are done, when one has failed, or when a signal has come."""
    waiting = False
    while not (signals or here.status or behind.status):
        behind.look()
        here.look()
        if here.status == 0 and behind.status == 0:
            return
        if here.status == 0 and not waiting:
            print("Waiting for the background", flush=True)
            waiting = True
        time.sleep(0.1)


def _end(chains: Sequence[Chain], signals: Sequence[int]) -> None:
    """Ends what is at work: at once where a second signal asks for that, or patience has gone."""
    for chain in chains:
        chain.end()
    deadline, known = time.monotonic() + PATIENCE, max(1, len(signals))
    while any(chain.working() for chain in chains):
        if time.monotonic() > deadline or len(signals) > known:
            for chain in chains:
                chain.end(at_once=True)
        time.sleep(0.05)
