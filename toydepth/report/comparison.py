"""`compare`: ladders and run folders side by side, in Python."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rich.console import Console

from toydepth.report.report_command import build_report, curve, slopes
from toydepth.results.records import RunRecord, find_runs, read_result
from toydepth.results.regimes import Regime, Run, describe, label_regimes, pool_runs
from toydepth.results.report_record import RegimeRecord
from toydepth.scaling import PowerLaw
from toydepth.settings import SettingError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Compared(Protocol):
    """What a ladder is to a comparison."""

    record: RunRecord
    folder: Path | None

    def save(self, folder: Path) -> Any: ...


@dataclass(frozen=True, eq=False)
class Comparison:
    """Regimes, each of rungs that differ by size and replica only, and what they say.

    Attributes:
      regimes: `label`, `alpha`, `local_alpha`, `sizes`, `losses`, `replicas`, `verdict`, ...
      notes: what was left out, and why.

    >>> words = ["train.steps=20", "teacher.depth=4", "train.batch_size=32"]
    >>> ladders = [
    ...     toydepth.train_ladder(kind, depth=(2, 3, 4), width=8, overrides=words, progress=False)
    ...     for kind in ("shared", "independent")
    ... ]
    >>> page = toydepth.compare(ladders)
    >>> [regime.label for regime in page.regimes]
    ['shared', 'independent']
    >>> list(page.table()[0])
    ['regime', 'alpha', 'low', 'high', 'losses', 'replicas', 'verdict']
    >>> page.save("page").name
    'report.html'
    """

    regimes: tuple[RegimeRecord, ...]
    notes: tuple[str, ...]
    _pooled: tuple[tuple[str, Regime], ...]
    _laws: tuple[PowerLaw | None, ...]
    _given: tuple[Compared | Path, ...]

    def table(self) -> list[dict[str, Any]]:
        """A row for each regime; `pandas.DataFrame(page.table())` shows it.

        `low` and `high` are the 95 % interval of alpha, `losses` the means over replicas by size;
        None is what cannot be told.
        """
        rows = []
        for regime in self.regimes:
            alpha = {name: getattr(regime.alpha, name, None) for name in ("value", "low", "high")}
            row = {"regime": regime.label, "alpha": alpha.pop("value"), **alpha}
            row["losses"] = dict(zip(regime.sizes, regime.losses, strict=True))
            rows.append(row | {"replicas": regime.replicas, "verdict": regime.verdict})
        return rows

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Loss against size with fits and 95 % bands, on `ax` or on a figure of its own.

        Raises:
          ValueError: there is no loss to draw, or some of the sizes are depths and some widths.
        """
        from toydepth.figures import loss_against_size

        if Console().is_jupyter:
            import matplotlib.pyplot  # noqa: F401  # which lets a notebook show figures

        axes = {regime.axis for regime in self.regimes}
        if len(axes) != 1:
            raise ValueError(f"one figure is of one axis, not of {sorted(axes) or 'none'}")
        (axis,) = axes
        curves = [
            curve(label, regime.usable(), law)
            for (label, regime), law in zip(self._pooled, self._laws, strict=True)
        ]
        return loss_against_size(curves, xlabel=axis, references=slopes(axis), ax=ax)

    def save(self, folder: str | Path) -> Path:
        """Writes report.json, report.html and the figures, as `python -m toydepth.report` does.

        Ladders that are only in memory are kept in `runs` there. Returns the page.

        Raises:
          SettingError: the folder holds other runs, or cannot be written to.
        """
        folder = Path(folder)
        places = []
        for index, one in enumerate(self._given):
            place = one if isinstance(one, Path) else one.folder
            if place is None:
                place = folder / "runs" / str(index)
                if not _holds(place, one.record):
                    one.save(place)
            places.append(place)
        try:
            built = build_report(places, folder)
        except OSError as error:
            raise SettingError("folder", folder, f"cannot write there: {error.strerror}") from None
        return built.folder / (built.record.page or "report.json")

    def __repr__(self) -> str:
        return "\n".join(
            f"{regime.label}: alpha {regime.alpha or '-'}; {regime.verdict}"
            for regime in self.regimes
        )


def _holds(place: Path, record: RunRecord) -> bool:
    """Whether the ladder is there already, as where a cell of a notebook is run again."""
    file = place / "result.json"
    return file.is_file() and read_result(file) == record


def compare(runs: Sequence[Compared | str | Path]) -> Comparison:
    """Pools the rungs of ladders and runs into regimes, and fits each (as the report does).

    Args:
      runs: ladders, and folders of runs, of sweeps, or above some.

    Raises:
      ResultError: a folder holds no run, or a record is not what it should be; one line.

    >>> words = ["train.steps=20", "teacher.depth=4", "train.batch_size=32"]
    >>> ladders = [
    ...     toydepth.train_ladder(kind, depth=(2, 3, 4), width=8, overrides=words, progress=False)
    ...     for kind in ("shared", "independent")
    ... ]
    >>> page = toydepth.compare(ladders)
    >>> [regime.label for regime in page.regimes]
    ['shared', 'independent']
    >>> page.regimes[0].sizes
    (2, 3, 4)
    """
    runs = [runs] if isinstance(runs, str | Path) else runs
    given = tuple(
        Path(one).expanduser().absolute() if isinstance(one, str | Path) else one for one in runs
    )
    found, notes = [], []
    for index, one in enumerate(given):
        if not isinstance(one, Path):
            found.append(Run(f"ladder {index}", one.record, time.time_ns()))
            continue
        paths, unfinished = find_runs(one)
        notes += [f"unfinished: {folder}" for folder in unfinished]
        found += [Run(str(p.parent), read_result(p), p.stat().st_mtime_ns) for p in paths]
    failed = [run for run in found if run.record.status == "failed"]
    notes += [f"failed: {run.name}: {run.record.error}" for run in failed]
    regimes, more = pool_runs([run for run in found if run not in failed])
    pooled = tuple(label_regimes(regimes))
    described = [describe(label, regime) for label, regime in pooled]
    notes += [*more, *(note for _, _, own in described for note in own)]
    return Comparison(
        tuple(record for record, _, _ in described),
        tuple(notes),
        pooled,
        tuple(law for _, law, _ in described),
        given,
    )
