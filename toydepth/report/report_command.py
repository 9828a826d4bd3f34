"""The verb `report`: from finished runs to exponents, verdicts and figures.

    python -m toydepth.report RUN... [output=DIR]

Each RUN is a run folder, a multirun folder or any folder above runs. Writes
report.json, report.html and figures/ into DIR: by default the folder itself if there is one
RUN, else the folder that holds them all.

Exit status: 0 all well, 1 no run has finished (report.json names those that have not), 2 an
argument is not allowed.
"""

import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from toydepth.commands.command_line import say
from toydepth.commands.printed import Printed
from toydepth.commands.run_arguments import read_run_arguments
from toydepth.files import read_history, write_whole
from toydepth.report import time_table
from toydepth.results import feature_overlap
from toydepth.results.alpha_over_training import alpha_over_training, measured_in
from toydepth.results.crossovers import crossovers
from toydepth.results.records import Estimate, ResultError, find_runs, read_result, write_record
from toydepth.results.regimes import Run, columns, describe, label_regimes, pool_runs
from toydepth.results.report_record import Crossover, Point, RegimeRecord, ReportRecord
from toydepth.results.time_exponents import along_training, trained_in
from toydepth.results.verdicts import REFERENCES
from toydepth.scaling import PowerLaw
from toydepth.settings import SettingError, fold, printable, reason

if TYPE_CHECKING:
    from toydepth.figures import Curve

DRAWN = 12  # regimes in one figure; more cannot be told apart


class Written(NamedTuple):
    """What report.json says, and the folder that it was written into."""

    record: ReportRecord
    folder: Path


def build_report(folders: Sequence[Path], output: Path | None = None) -> Written:
    """Write report.json, the page and the figures of every run in and below `folders`.

    Where no run has finished, the report has no regimes and names them all.
    Raises ResultError (a ValueError with a one-line message), before anything
    is written, if a folder holds no run or a result.json is not what it should
    be; OSError if writing fails.
    """
    folders = [Path(folder) for folder in folders]
    if not folders:
        raise ResultError("no RUN given")
    results, jobs = {}, {}
    for folder in folders:
        found, without = find_runs(folder)
        results |= {path.resolve(): path for path in found}
        jobs |= {
            path.resolve(): "no result.json: it was stopped or is still running" for path in without
        }
    roots = [folder.resolve() for folder in folders]
    output = Path(output).resolve() if output is not None else Path(os.path.commonpath(roots))
    if output.exists() and not output.is_dir():
        raise ResultError(f"output={output} is not a folder")

    runs = []
    for path, given in sorted(results.items()):
        record = read_result(given)
        if record.status == "failed":
            jobs[path.parent] = f"failed: {record.error or 'no error was recorded'}"
        else:
            runs.append(Run(os.path.relpath(path.parent, output), record, path.stat().st_mtime_ns))
    regimes, notes = pool_runs(runs)
    entries, laws, curves, courses = [], [], [], []
    timed = []
    history = cache(lambda run: read_history(os.path.normpath(output / run)))
    measured = cache(lambda run: measured_in(history(run)))
    trained = cache(lambda run: trained_in(history(run)))
    labelled = label_regimes(regimes)
    for label, regime in labelled:
        entry, law, more = describe(label, regime)
        course, found = [], None
        try:
            course = alpha_over_training(regime, measured)
            found = along_training(regime, trained)
        except (OSError, ValueError, KeyError, TypeError) as error:
            notes.append(f"{label}: alpha along training is left out: {error!r}")
        entry = entry.changed(
            alpha_over_training=course,
            along_training=found and found[0],
            features=feature_overlap.features(regime),
        )
        if found:
            timed.append((entry, found[1]))
        entries.append(entry)
        laws.append(law)
        notes += more
        if entry.sizes and not found:
            curves.append((label, regime.usable(), law, entry.axis))
            courses.append((label, entry.alpha_over_training))
    if len(curves) > DRAWN:
        notes.append(f"the figures show the first {DRAWN} of {len(curves)} regimes")
    crossed = crossovers(labelled, entries)
    drawings = _draw(curves[:DRAWN], courses[:DRAWN], crossed) | time_table.draw(timed)

    report = ReportRecord(
        regimes=entries,
        crossovers=crossed,
        unfinished=[
            {"folder": os.path.relpath(folder, output), "reason": why}
            for folder, why in sorted(jobs.items())
        ],
        notes=notes,
        figures={name: f"figures/{name}.png" for name in drawings},
    )
    report, html = _page(report, laws, runs, output, folders, drawings)
    (output / "figures" if drawings else output).mkdir(parents=True, exist_ok=True)
    for name, png in drawings.items():
        write_whole(output / report.figures[name], png)
    if html:
        write_whole(output / report.page, html)
    write_record(output / "report.json", report)
    return Written(report, output)


def _page(
    report: ReportRecord,
    laws: list,
    runs: list[Run],
    output: Path,
    folders: list[Path],
    drawings: dict[str, bytes],
) -> tuple[ReportRecord, bytes | None]:
    """(the report with its page, report.html).

    Where it cannot be made, None and a note: the numbers must not wait for it.
    """
    try:
        from toydepth.report.page import gather, page  # Jinja2 and Plotly are slow to import

        still = next(iter(drawings.values()), None)
        along = {name: drawings[name] for name in time_table.DRAWINGS if name in drawings}
        html = page(report, laws, gather(report, runs, output, folders), still, along)
        # A folder's name may be no text.
        return report.changed(page="report.html"), html.encode(errors="backslashreplace")
    except Exception as error:  # it may quote the whole page
        note = f"report.html is left out: {reason(error)[:200]}"
        return report.changed(notes=[*report.notes, note]), None


def _draw(curves: list, courses: list, crossed: list[Crossover]) -> dict[str, bytes]:
    """The figures as PNG, by name, that which answers first; without those with nothing to show."""
    if not curves:
        return {}
    from toydepth.figures import (  # matplotlib is slow to import
        Course,
        exponent_over_training,
        local_exponents,
        loss_against_size,
        png,
    )

    drawn: dict[str, list["Curve"]] = {}
    for label, points, law, axis in curves:
        drawn.setdefault(axis, []).append(curve(label, points, law))
    figures = {}
    for series in crossed:
        name = f"alpha_over_{series.axis}"
        others = sum(figure.startswith(name) for figure in figures)
        figures[f"{name}_{others + 1}" if others else name] = _crossing(series)
    for axis, own in drawn.items():
        look = {"xlabel": axis, "references": slopes(axis)}
        figures[f"loss_against_{axis}"] = loss_against_size(own, **look)
        try:
            name = "local_alpha" if axis == "depth" else f"local_alpha_{axis}"
            figures[name] = local_exponents(own, **look)
        except ValueError:  # one size everywhere
            pass
    timed = [(label, found) for label, found in courses if len(found) > 1]
    if timed:
        same = all(entry.steps for _, found in timed for entry in found)
        time = "steps" if same else "share"
        names = (time, "value", "low", "high")
        figures["alpha_over_training"] = exponent_over_training(
            [
                Course(label, *([getattr(entry, name) for entry in found] for name in names))
                for label, found in timed
            ],
            xlabel="training steps"
            if same
            else "share of each rung's training, from the rung below on",
        )
    return {name: png(figure) for name, figure in figures.items()}


def slopes(axis: str) -> list[float]:
    """The exponents that theory has, as figures take them."""
    return [slope for slope, _ in REFERENCES[axis]]


def curve(label: str, points: Sequence[Point], law: PowerLaw | None) -> "Curve":
    """The losses of one regime, as figures take them."""
    from toydepth.figures import Curve

    data = columns(points)
    converged = [point.converged is not False for point in points]
    return Curve(label, data.sizes, data.losses, data.stderr, data.groups, converged, law)


def _crossing(series: Crossover):
    """Alpha over rho or the correlation length."""
    from toydepth.figures import Crossing, exponent_over_correlation

    name, unit = {"rho": ("rho", ""), "correlation_length": ("correlation length", " in layers")}[
        series.axis
    ]
    crossings = [
        Crossing(float(value), alpha, pairs)
        for value, alpha, pairs in zip(series.values, series.alpha, series.local_alpha, strict=True)
    ]
    label = f", {series.label}" if series.label else ""
    return exponent_over_correlation(
        crossings, name=name, xlabel=f"{name} of the teacher's layers{unit}{label}"
    )


def print_report(written: Written) -> None:
    """Print the exponents, the verdicts and what was left out; the figure's path comes last.

    Takes what `build_report` returns. Plain ASCII where there is no terminal.
    """
    printed, report = Printed(), written.record
    headings = ("regime", "alpha", "95 % interval", "converged only", "loss by size", "replicas")
    ladders = [regime for regime in report.regimes if not regime.along_training]
    timed = [regime for regime in report.regimes if regime.along_training]
    rows = [
        (
            printable(regime.label),
            _value(regime.alpha),
            _interval(regime.alpha),
            f"{_value(regime.alpha_converged)} ({_interval(regime.alpha_converged)})"
            if regime.alpha_converged
            else "-",
            _losses(regime),
            str(regime.replicas),
        )
        for regime in ladders
    ]
    if rows:
        printed.table("Exponents", headings, rows)
    if timed:
        rows = [time_table.row(regime) for regime in timed]
        printed.table("Exponents along training", time_table.HEADINGS, rows)
    rows = [feature_overlap.row(regime) for regime in ladders if regime.features]
    if rows:
        printed.table("Features", feature_overlap.HEADINGS, rows)
    if not report.regimes:
        printed.line("no run has finished")

    lines = [f"{regime.label}: {regime.verdict}" for regime in ladders]
    lines += [f"over {s.axis}: {s.sentence}" for s in report.crossovers]
    for regime in report.regimes:
        for rung in regime.diverged:
            step = "" if rung.diverged_step is None else f" at step {rung.diverged_step}"
            lines.append(
                f"diverged, left out: {regime.label}, {regime.axis} {rung.size}, "
                f"teacher seed {rung.teacher_seed}, seed {rung.seed}{step}"
                + ("" if rung.run == "." else f" ({rung.run})")
            )
    lines += [f"unfinished: {job.folder}: {fold(job.reason)}" for job in report.unfinished]
    lines += [f"note: {note}" for note in report.notes]
    if report.page:
        lines.append(f"page: {written.folder / report.page}")
    figure = next(iter(report.figures.values()), "report.json")
    lines.append(str(written.folder / figure))
    for line in lines:
        printed.line(line)


def _losses(regime: RegimeRecord) -> str:
    """A line for each size: its loss and standard error."""
    lines = []
    for size, loss, stderr in zip(regime.sizes, regime.losses, regime.loss_stderr, strict=True):
        error = "" if stderr is None else f" +- {stderr:.0e}"
        lines.append(f"{size:>3}  {loss:.2e}{error}")
    return "\n".join(lines) or "-"


def _value(alpha: Estimate | None) -> str:
    return f"{alpha.value:.2f}" if alpha else "-"


def _interval(alpha: Estimate | None) -> str:
    return (
        f"{alpha.low:.2f} to {alpha.high:.2f}" if alpha and alpha.low is not None else "no interval"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    if set(arguments) & {"-h", "--help"}:
        print(__doc__.strip())
        return 0
    try:
        folders, given = read_run_arguments(arguments, ("output",))
        output = Path(given["output"]) if given else None
        written = build_report(folders, output)
    except (SettingError, ResultError, OSError) as error:
        say("report", error)
        return 2
    print_report(written)
    return 0 if written.record.regimes else 1
