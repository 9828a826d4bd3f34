"""From a report to the text of report.html."""

import dataclasses
import json
import math
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from toydepth.config import teacher_name
from toydepth.report import time_table
from toydepth.report.page.crossover_plot import crossings
from toydepth.report.page.curves import curves
from toydepth.report.page.differences import differences
from toydepth.report.page.found import Found
from toydepth.report.page.geometry_plots import geometry
from toydepth.report.page.headline import headline, questions
from toydepth.report.page.local_plot import local
from toydepth.report.page.losses import losses
from toydepth.report.page.rerun import commands
from toydepth.report.page.shown import choose
from toydepth.report.page.temperature import temperature
from toydepth.report.page.training import training
from toydepth.results import feature_overlap
from toydepth.results.records import Teacher
from toydepth.results.report_record import RegimeRecord, ReportRecord
from toydepth.scaling import PowerLaw

TOLD = 8  # regimes that are told of in the words of one figure
ROWS, LINES = 500, 200  # of the tables of regimes; of each list of jobs and notes


def page(
    report: ReportRecord,
    laws: Sequence[PowerLaw | None] = (),
    found: Found | None = None,
    still: bytes | None = None,
    along: Mapping[str, bytes] | None = None,
) -> str:
    """The page of a report.

    Args:
      report: what report.json says.
      laws: each regime's fit, in the report's order, for the lines and bands; none if empty.
      found: what the run folders say beyond the report.
      still: the first figure as PNG, which the reader sees until its plot is drawn: a browser that
        has just been started takes seconds over Plotly.
      along: figures of losses along training as PNG, named as in `time_table.DRAWINGS`.
    """
    found = found or Found()
    regimes = report.regimes
    shown, note = choose(regimes, laws or [None] * len(regimes))
    colours = {its.place: its.look.colour for its in shown}
    title, cards = headline(regimes, colours, report.crossovers)
    axes = list(dict.fromkeys(its.regime.axis for its in shown))
    over = [losses(shown, axis, note) for axis in axes]
    main, *more = [*crossings(report.crossovers), *over] or [None]
    more += [*(local(shown, axis, note) for axis in axes), training(shown, note)]
    more.append(temperature(regimes))
    sections = [(figure.title, [figure]) for figure in more if figure is not None]
    for name, figures in (
        ("Training curves", curves(regimes, found.curves)),
        (
            "Geometry of hidden states",
            geometry(found.probes, [_teacher(regime.teacher) for regime in regimes]),
        ),
    ):
        if figures:
            sections.append((name, figures))
    figures = [main] * (main is not None) + [f for _, several in sections for f in several]
    ladders = [regime for regime in regimes if not regime.along_training]
    of = {regime.axis for regime in ladders}
    timed = [regime for regime in regimes if regime.along_training]
    environment = Environment(
        loader=PackageLoader("toydepth.report.page", "template"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(
        title=title,
        cards=cards,
        questions=questions(regimes),
        regimes=regimes,
        ladders=ladders,
        times=[time_table.row(regime) for regime in timed],
        headings=time_table.HEADINGS,
        pictures=[
            (time_table.DRAWINGS[name], _told(timed), b64encode(png).decode())
            for name, png in (along or {}).items()
        ],
        features=[feature_overlap.row(regime) for regime in ladders if regime.features],
        of_features=feature_overlap.HEADINGS,
        size=of.pop() if len(of) == 1 else "size",
        main=main,
        still=b64encode(still).decode() if still else None,
        sections=sections,
        probes=found.probes,
        differences=differences(regimes, found.settings),
        diverged=[(r.label, r.axis, rung) for r in regimes for rung in r.diverged],
        unfinished=report.unfinished,
        notes=[*report.notes, *found.notes],
        commands=commands(found.overrides),
        rows=ROWS,
        lines=LINES,
        plots=script_json([dataclasses.asdict(figure) for figure in figures]),
        style=Markup(_template("page.css")),
        behaviour=Markup(_template("page.js")),
        plotly=Markup(_plotly()) if figures else "",
    )


def _teacher(teacher: Teacher) -> str:
    """What a probe calls it."""
    return teacher_name(teacher.kind, teacher.drawn_by)


def _told(timed: Sequence[RegimeRecord]) -> str:
    """What a figure of losses along training shows, in words."""
    words = [f"{r.label}: {r.along_training.steps.verdict}" for r in timed]
    more = f"; and {len(words) - TOLD} more" if len(words) > TOLD else ""
    return "; ".join(words[:TOLD]) + more + "."


def script_json(value: Any) -> Markup:
    """JSON that may stand in a script element: ASCII, and nothing in it ends the element."""
    text = json.dumps(_finite(value), allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(its) for name, its in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(its) for its in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _template(name: str) -> str:
    return (resources.files("toydepth.report.page") / "template" / name).read_text(encoding="utf-8")


@cache
def _plotly() -> str:
    from plotly.offline import get_plotlyjs  # slow to import

    return get_plotlyjs()
