"""Progress of one job: a live bar on a terminal, a few plain lines anywhere else."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Column

_SMOOTHING = 0.2  # weight of the newest interval in the rate
_TENTHS = 10  # plain lines over the whole job, beside one at the end of each rung


@contextmanager
def progress(total_steps: int, plain: bool | None = None, quiet: bool = False) -> Iterator[Bar]:
    """Show the progress of a job of `total_steps` steps: on stderr, or under a notebook's cell.

    Args:
        total_steps: steps of the whole job, over all its rungs.
        plain: lines instead of a live bar; None for a bar only where stderr is a terminal that
            may be drawn on (NO_COLOR is unset and TERM is not "dumb").
        quiet: nothing at all.
    """
    if quiet:
        yield Bar(total_steps, live=Silence())
        return
    if plain is None and Console().is_jupyter:
        yield Bar(total_steps, live=Cell(total_steps))
        return
    if plain is None:
        drawable = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        plain = not drawable or bool(os.environ.get("NO_COLOR"))
    if plain:
        bar = Bar(total_steps, live=None)
        try:
            yield bar
        finally:
            bar.finish_rung()
    else:
        label = TextColumn("{task.description}", markup=False)
        rest = BarColumn(bar_width=None, table_column=Column(ratio=1))
        status = TextColumn("{task.fields[status]}", markup=False)
        with Progress(label, rest, status, console=Console(stderr=True), expand=True) as live:
            yield Bar(total_steps, live)


class Silence:
    """Where a bar is drawn that nobody sees."""

    console = Console(file=io.StringIO(), width=80)

    def add_task(self, description: str, total: float, status: str) -> TaskID:
        return TaskID(0)

    def update(self, task: int, completed: float, description: str, status: str) -> None:
        pass


class Cell(Silence):
    """One line under a notebook's cell that is drawn anew, as rich draws it on a terminal."""

    def __init__(self, total: float):
        from IPython.display import display

        self._total = max(total, 1)
        self._handle = display({"text/plain": "starting"}, raw=True, display_id=True)

    def update(self, task: int, completed: float, description: str, status: str) -> None:
        done = round(30 * min(completed / self._total, 1))
        text = f"{description} [{'#' * done}{'.' * (30 - done)}] {status}"
        self._handle.update({"text/plain": text}, raw=True)


class Bar:
    """What `progress` yields. Steps are counted over the whole job."""

    def __init__(self, total_steps: int, live: Progress | Silence | None):
        self._total = total_steps
        self._live = live
        self._task = live.add_task("starting", total=total_steps, status="") if live else None
        self._label: str | None = None
        self._rate, self._pace = Rate(), Rate()
        self._tenth = 0
        self._pending = ""  # the newest line, if it has not been printed

    def update(
        self, done_steps: int, label: str, loss: float | None, share: float | None = None
    ) -> None:
        """Report that `done_steps` steps are done, in the rung called `label`.

        `share` is the part of the job's work that is done, where steps are not all alike; the
        time left is told from it.
        """
        new_rung = label != self._label
        if new_rung and not self._live:
            self.finish_rung()
        self._label = label
        share = done_steps / max(self._total, 1) if share is None else share
        self._rate.update(done_steps, time.monotonic(), skip=new_rung)
        self._pace.update(share, time.monotonic(), skip=new_rung)
        status = self._status(done_steps, loss, share)
        if self._live and self._task is not None:
            room = max(self._live.console.width - len(status) - 3, 1)  # two gaps, a bar of one
            short = label if len(label) <= room else label[: room - 1] + "…"
            self._live.update(
                self._task, completed=share * self._total, description=short, status=status
            )
            return
        self._pending = f"{label} | {status}"
        tenth = _TENTHS * done_steps // max(self._total, 1)
        if tenth > self._tenth:
            self._tenth = tenth
            self.finish_rung()

    def note(self, text: str) -> None:
        """Print a line of its own, above the bar."""
        if self._live:
            self._live.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def finish_rung(self) -> None:
        """Print the newest plain line, unless it has been printed already."""
        if self._pending:
            self.note(self._pending)
            self._pending = ""

    def _status(self, done: int, loss: float | None, share: float) -> str:
        total = f"/{self._total}" if done <= self._total else ""  # it can turn out to take more
        parts = [f"step {done}{total}"]
        if loss is not None:
            parts.append(f"loss {loss:.2e}")
        if self._rate.value and self._pace.value:
            rate = self._rate.value
            parts.append(f"{rate:.0f}/s" if rate >= 10 else f"{rate:.2g}/s")
            parts.append(f"{clock((1 - share) / self._pace.value)} left")
        return " | ".join(parts)


class Rate:
    """A smoothed rate per second; None until there is something to measure.

    The interval before a rung's first update holds its compilation, so it does not count.
    """

    def __init__(self) -> None:
        self.value: float | None = None
        self._last: tuple[float, float] | None = None

    def update(self, steps: float, seconds: float, skip: bool) -> None:
        """Take in that `steps` were done at time `seconds`; `skip` only moves the start."""
        if self._last and not skip and seconds > self._last[1] and steps > self._last[0]:
            newest = (steps - self._last[0]) / (seconds - self._last[1])
            old = newest if self.value is None else self.value
            self.value = old + _SMOOTHING * (newest - old)
        self._last = (steps, seconds)


def clock(seconds: float) -> str:
    """A duration in seconds as `m:ss`, or `h:mm:ss` from one hour on."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
