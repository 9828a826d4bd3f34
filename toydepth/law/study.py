"""One study, from its settings to the files in its folder."""

import time
from pathlib import Path
from typing import Any

from toydepth.commands.progress_bar import progress
from toydepth.files import plain, versions, write_json, write_whole
from toydepth.law import model_plans
from toydepth.law.analysis import Analysis, analyse, steps
from toydepth.law.export import latex, parameters_csv, rows_csv
from toydepth.law.law_figures import draw
from toydepth.law.law_printing import print_study, sentence
from toydepth.law.law_settings import Study
from toydepth.law.law_summary import flat, summarise
from toydepth.law.prepared import Prepared, prepare
from toydepth.results.law_record import LawRecord
from toydepth.results.records import SCHEMA
from toydepth.tracking.start import start_tracker

__all__ = ["prepare", "run", "sentence"]  # what `commands/analysis_command.py` asks a room for


def run(study: Study, folder: Path, cfg: dict[str, Any], *, brief: bool = False) -> dict[str, Any]:
    """Analyses one study, writes law.json, figures and tables, and prints them.

    `brief` prints nothing. Returns what law.json says. Raises as `prepare` does, and OSError if
    writing fails.
    """
    start = time.monotonic()
    prepared = prepare(study)
    with progress(steps(prepared)) as bar:
        analysis = analyse(prepared, lambda done, label: bar.update(done, label, None))
    law = _planned_from(prepared, analysis)
    summary = summarise(prepared, analysis, law)
    summary |= {"seconds": time.monotonic() - start, "versions": versions()}
    _write(folder, summary)  # what comes after it takes nothing away
    pngs = draw(prepared, analysis, None if isinstance(law, str) else law, summary)
    tables = {}
    if "latex" in study.export:
        tables["parameters.tex"] = latex(summary)
    if "csv" in study.export:
        tables |= {"parameters.csv": parameters_csv(summary), "rows.csv": rows_csv(prepared)}
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    figures = {name: f"figures/{name}.png" for name in pngs}
    for name, png in pngs.items():
        write_whole(folder / figures[name], png)
    for name, content in tables.items():
        write_whole(folder / name, content.encode())
    summary |= {"figures": figures, "tables": list(tables)}
    tracker = start_tracker(
        study.tracker,
        folder,
        group="law",
        name=f"law {study.data.source} {summary['law']['formula']}",
        config=cfg,
    )
    tracker.finish(
        {"status": "completed"}, [folder / path for path in figures.values()], flat(summary)
    )
    _write(folder, summary)
    if not brief:
        paths = [folder / path for path in (*figures.values(), *tables, "law.json")]
        print_study(summary, paths)
    return summary


def _write(folder: Path, summary: dict[str, Any]) -> None:
    """law.json, checked; what a table does without is left out of it."""
    record = LawRecord(**plain(summary))
    write_json(folder / "law.json", {"schema": SCHEMA} | record.model_dump(exclude_unset=True))


def _planned_from(prepared: Prepared, analysis: Analysis) -> model_plans.Coefficients | str:
    """What models are planned from, or why none are."""
    try:
        return model_plans.coefficients(prepared, analysis.draws)
    except ValueError as error:
        return str(error)
