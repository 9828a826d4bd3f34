"""Where alpha crosses from averaging to discretisation: regimes in order of what their teachers
are drawn by, from independent layers to shared ones.
"""

import json
import math
from collections import defaultdict
from collections.abc import Sequence

from toydepth.config import as_written
from toydepth.results.records import Estimate
from toydepth.results.regimes import Regime, drawn_by, teacher_of
from toydepth.results.report_record import Crossover, RegimeRecord

# By what a series is in order of: the kind that it is of, and its values at the two limits.
SERIES = {
    "rho": ("mixed", {"independent": 0.0, "shared": 1.0}),
    "correlation_length": ("correlated", {"independent": 0.0, "shared": "inf"}),
}


def crossovers(
    labelled: Sequence[tuple[str, Regime]], entries: Sequence[RegimeRecord]
) -> list[Crossover]:
    """Alpha in order of rho, and of the correlation length, for regimes alike in all else.

    Args:
      labelled: regimes with their labels.
      entries: what report.json says of each.

    Returns an entry for each series of three values or more that have exponents. Its `label` is
    what tells it from other series; `rises` is None where there are no intervals.
    """
    found = []
    for axis, (kind, limits) in SERIES.items():
        members = defaultdict(dict)
        # Its own kind comes first: at a limit it counts, not the teacher that it is equal to.
        of = sorted(
            zip(labelled, entries, strict=True),
            key=lambda pair: pair[0][1].facts["teacher.kind"] != kind,
        )
        for (label, regime), entry in of:
            its = regime.facts["teacher.kind"]
            if not entry.local_alpha or its not in (kind, *limits):
                continue
            value = as_written(drawn_by(regime.facts)[axis] if its == kind else limits[its])
            others = {
                name: fact
                for name, fact in regime.facts.items()
                if name not in ("teacher.kind", f"teacher.{axis}")
            }
            members[json.dumps(others, sort_keys=True)].setdefault(value, (label, regime, entry))
        for series in members.values():
            ordered = sorted(series.items(), key=lambda item: float(item[0]))
            _, (label, regime, _) = ordered[0]
            own = [value for value, (_, r, _) in ordered if r.facts["teacher.kind"] == kind]
            if len(ordered) < 3 or not own:
                continue
            alphas = [entry.alpha for _, (_, _, entry) in ordered]
            values = [value for value, _ in ordered]
            rises, sentence = _verdict(axis.replace("_", " "), values, alphas)
            found.append(
                Crossover(
                    axis=axis,
                    label=label.removeprefix(teacher_of(regime.facts)).lstrip(", "),
                    values=values,
                    regimes=[label for _, (label, _, _) in ordered],
                    alpha=alphas,
                    local_alpha=[entry.local_alpha for _, (_, _, entry) in ordered],
                    rises=rises,
                    sentence=sentence,
                )
            )
    return found


def _verdict(
    name: str, values: Sequence[float | str], alphas: Sequence[Estimate | None]
) -> tuple[bool | None, str]:
    """Whether alpha rises along the values within its 95 % intervals, and that in words."""
    known = [
        (f"{alpha.value:.2f} at {name} {value}", alpha)
        for value, alpha in zip(values, alphas, strict=True)
        if alpha and alpha.low is not None
    ]
    if len(known) < 3:
        return None, f"fewer than three values of {name} have an exponent with an interval"
    highest, top = None, -math.inf  # the interval that ends highest from below, so far
    for words, alpha in known:
        if alpha.high < top:
            return False, f"alpha falls from {highest} to {words}: their intervals are apart"
        if alpha.low > top:
            highest, top = words, alpha.low
    (first, low), (last, high) = known[0], known[-1]
    if high.low <= low.high:
        return False, f"alpha is {first} and {last}: their intervals overlap"
    return True, f"alpha rises from {first} to {last}, and falls nowhere beyond its intervals"
