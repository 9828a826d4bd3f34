"""How far a multirun is, told by what its jobs have left: in whichever process it is asked."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from toydepth.commands.progress_bar import clock


class Standing(NamedTuple):
    """A multirun as each of its jobs sees it.

    Attributes:
      folders: where the jobs that are to run leave their files.
      answer: the file that a job writes last; one that failed may leave error.txt instead.
      started: when they were started, as Unix time: files that are older are of an earlier try.
      before: how many more jobs had ended by then.
    """

    folders: Sequence[Path]
    answer: str
    started: float
    before: int = 0

    def words(self) -> str:
        """Such as "5 of 12 jobs, about 3:20 left".

        The time takes the jobs that are left to be like those that ended since the start.
        """
        done = sum(map(self._ended, self.folders))
        left = len(self.folders) - done
        text = f"{self.before + done} of {self.before + len(self.folders)} jobs"
        if done and left:
            text += f", about {clock((time.time() - self.started) / done * left)} left"
        return text

    def _ended(self, folder: Path) -> bool:
        for name in (self.answer, "error.txt"):
            try:
                if (folder / name).stat().st_mtime >= self.started:
                    return True
            except OSError:
                pass
        return False
