"""The settings by which regimes differ, and no others."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from toydepth.results.report_record import RegimeRecord

SETTINGS, REGIMES, VALUES, WIDE = 40, 100, 4, 4


class Differences(NamedTuple):
    """A table: `corner` names what its rows are. `note` says what is left out."""

    corner: str
    heads: list[str]
    rows: list[tuple[str, list[str]]]
    note: str = ""


def differences(
    regimes: Sequence[RegimeRecord], settings: Mapping[str, Mapping[str, Any]]
) -> Differences | None:
    """None if there is one regime, or if all are set alike.

    A regime's value of a setting is all the values of its runs: a sweep over sizes differs
    within each regime, and not between them.
    """
    own = [_of(regime, settings) for regime in regimes]
    names = sorted({name for its in own for name in its})
    differing = [name for name in names if len({its.get(name, ()) for its in own}) > 1]
    if not differing:
        return None
    shown, some = differing[:SETTINGS], list(zip(regimes, own, strict=True))[:REGIMES]
    cells = [(r.label, [_words(its.get(name, ())) for name in shown]) for r, its in some]
    note = ""
    if len(shown) < len(differing):
        note += f"The first {len(shown)} of {len(differing)} settings are listed. "
    if len(some) < len(regimes):
        note += f"The first {len(some)} of {len(regimes)} regimes are listed. "
    if len(cells) > WIDE:
        return Differences("regime", shown, cells, note)
    rows = [(name, [row[place] for _, row in cells]) for place, name in enumerate(shown)]
    return Differences("setting", [label for label, _ in cells], rows, note)


def _of(
    regime: RegimeRecord, settings: Mapping[str, Mapping[str, Any]]
) -> dict[str, tuple[str, ...]]:
    values: dict[str, set[str]] = {}
    for run in sorted({point.run for point in regime.points}):
        for name, value in settings.get(run, {}).items():
            words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            values.setdefault(name, set()).add(words)
    found = {name: tuple(sorted(its)) for name, its in values.items()}
    if regime.temperature is not None:  # one of those that its runs name together
        found["target.temperature"] = (json.dumps(regime.temperature),)
    if regime.learning_rate is not None:  # likewise
        found["optimizer.learning_rate"] = (json.dumps(regime.learning_rate),)
    return found


def _words(values: Sequence[str]) -> str:
    more = len(values) - VALUES
    words = ", ".join(values[:VALUES]) + (f" and {more} more" if more > 0 else "")
    return words or "not set"
