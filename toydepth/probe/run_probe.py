"""One probe, from its settings to the files in its folder."""

import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from toydepth.commands.progress_bar import progress
from toydepth.files import plain, versions, write_whole
from toydepth.probe.probe_settings import Probe
from toydepth.results.probe_record import ProbeRecord
from toydepth.results.records import write_record
from toydepth.tracking.start import start_tracker

__all__ = ["prepare", "run", "sentence"]  # what `commands/analysis_command.py` asks a room for


def prepare(probe: Probe) -> None:
    """Raises SettingError, SettingError or ValueError for what cannot be probed."""
    if probe.run is not None:
        from toydepth.probe.toy_states import read_run

        read_run(probe.run)
    else:
        from toydepth.probe.model_states import check

        check(probe)


def sentence(summary: dict[str, Any]) -> str:
    """One line on a probe, for a sweep."""
    from toydepth.probe import probe_summary

    return probe_summary.sentence(summary)


def run(probe: Probe, folder: Path, cfg: dict[str, Any], *, brief: bool = False) -> dict[str, Any]:
    """Measures, writes probe.json and figures, and prints them unless `brief`.

    Returns what probe.json says. Raises as `prepare` does, and OSError if writing fails.
    """
    start = time.monotonic()
    from toydepth.probe.probe_printing import print_probe
    from toydepth.probe.probe_summary import flat

    summary, draw = _measure_run(probe) if probe.run is not None else _measure_model(probe)
    summary = {"status": "completed", "angles": "in units of pi", **summary}
    summary |= {"seconds": time.monotonic() - start, "versions": versions()}
    _write(folder, summary)  # what comes after it takes nothing away
    pngs = draw()
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    summary["figures"] = {name: f"figures/{name}.png" for name in pngs}
    paths = [folder / path for path in summary["figures"].values()]
    for path, png in zip(paths, pngs.values(), strict=True):
        write_whole(path, png)
    tracker = start_tracker(
        probe.tracker, folder, group="probe", name=f"probe {summary['name']}", config=cfg
    )
    tracker.finish({"status": "completed"}, paths, flat(summary))
    _write(folder, summary)
    if not brief:
        print_probe(summary, [*paths, folder / "probe.json"])
    return summary


def _write(folder: Path, summary: dict[str, Any]) -> None:
    write_record(folder / "probe.json", ProbeRecord(**plain(summary)))


FINEWEB = "HuggingFaceFW/fineweb:sample-10BT"  # what null reads


def _measure_run(probe: Probe) -> tuple[dict[str, Any], Callable[[], dict[str, bytes]]]:
    from toydepth.probe.probe_figures import draw_toy
    from toydepth.probe.probe_summary import describe
    from toydepth.probe.toy_states import count, probe_run, read_run

    e = read_run(probe.run)
    with progress(count(e)) as bar:
        subjects, notes = probe_run(probe, e, lambda done, label: bar.update(done, label, None))
    summary = {
        "name": f"{e.teacher.name} teacher, {e.objective.kind}",
        "probed": {"run": probe.run, "settings": asdict(probe)},
        "subjects": [describe(subject) for subject in subjects],
        **dict.fromkeys(("clusters", "readout", "trace")),
        "notes": notes,
    }
    return summary, partial(draw_toy, subjects)


def _measure_model(probe: Probe) -> tuple[dict[str, Any], Callable[[], dict[str, bytes]]]:
    from toydepth.probe.model_states import probe_model
    from toydepth.probe.probe_figures import draw_model
    from toydepth.probe.probe_summary import (
        describe,
        describe_kinds,
        describe_losses,
        describe_trace,
    )

    with progress(probe.tokens) as bar:
        measured = probe_model(probe, lambda done, label: bar.update(done, label, None))
    summary = {
        "name": measured.subject.label,
        "probed": {
            "model": probe.model,
            "text": probe.text or FINEWEB,
            "settings": asdict(probe),
            "versions": versions("torch", "transformers"),
        },
        "subjects": [describe(measured.subject)],
        "clusters": describe_kinds(measured.kinds),
        "readout": describe_losses(measured.losses),
        "trace": describe_trace(measured.trace),
        "notes": measured.notes,
    }
    return summary, partial(draw_model, measured)
