"""The answer at the top: which regime has which exponent."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from toydepth.page.looks import FEW
from toydepth.regimes import verdict
from toydepth.scaling import Estimate

KINDS = 12
SCALE = 4.0  # the ruler under an exponent runs from 0 to here


class Ruler(NamedTuple):
    """Marks on the ruler, in percent of its length; no ends without an interval."""

    at: float
    low: float | None
    high: float | None


class Card(NamedTuple):
    """`value` is large, `interval` and `verdict` explain it; `colour` is that of the figures."""

    label: str
    colour: str
    value: str
    interval: str
    verdict: str
    doubt: bool
    ruler: Ruler | None


def headline(
    regimes: Sequence[dict[str, Any]], colours: Mapping[int, str]
) -> tuple[str, list[Card]]:
    """(a title, a card for each regime or, of many, for each kind of teacher).

    `colours` are by the regime's place; one that no figure draws has none.
    """
    if not regimes:
        return "No run has finished", []
    if len(regimes) <= FEW:
        cards = [_one(r, colours.get(place, "var:line")) for place, r in enumerate(regimes)]
    else:
        kinds = defaultdict(list)
        for place, regime in enumerate(regimes):
            kinds[regime["teacher"]["kind"]].append(place)
        cards = []
        for kind, places in list(kinds.items())[:KINDS]:
            drawn = [colours[place] for place in places if place in colours]
            its = [regimes[place] for place in places]
            # One kind alone has no colour of its own: its regimes have theirs.
            colour = drawn[0] if len(set(drawn)) == 1 else "var:guide"
            cards.append(_many(kind, its, colour))
    return "; ".join(f"{card.label}: α {card.value}" for card in cards[:FEW]), cards


def _one(regime: dict[str, Any], colour: str) -> Card:
    alpha = regime["alpha"]
    doubt = bool(regime["not_converged"])
    if alpha is None:
        reason = regime["alpha_reason"] or "no exponent"
        return Card(regime["label"], colour, "–", reason, regime["verdict"], doubt, None)
    ends, interval = (None, None), "no interval"
    if alpha["low"] is not None:
        ends = _percent(alpha["low"]), _percent(alpha["high"])
        interval = f"95 %: {alpha['low']:.2f} to {alpha['high']:.2f}"
    ruler = Ruler(_percent(alpha["value"]), *ends)
    value = f"{alpha['value']:.2f}"
    return Card(regime["label"], colour, value, interval, regime["verdict"], doubt, ruler)


def _many(kind: str, regimes: Sequence[dict[str, Any]], colour: str) -> Card:
    known = [regime for regime in regimes if regime["alpha"]]
    count = len(regimes)
    if not known:
        return Card(kind, colour, "–", f"{count} regimes, no exponent", "", False, None)
    words, most = Counter(map(_as_measured, known)).most_common(1)[0]
    verdicts = f"{most} of {count}: {words}"
    unsure = sum(bool(regime["not_converged"]) for regime in regimes)
    if unsure:
        verdicts = f"{unsure} of {count} have rungs that are not converged; as measured, {verdicts}"
    values = sorted(regime["alpha"]["value"] for regime in known)
    middle, ends = median(values), (values[0], values[-1])
    interval = f"median of {len(values)} regimes, {ends[0]:.2f} to {ends[1]:.2f}"
    ruler = Ruler(_percent(middle), *map(_percent, ends))
    return Card(kind, colour, f"{middle:.2f}", interval, verdicts, bool(unsure), ruler)


def _as_measured(regime: dict[str, Any]) -> str:
    """The verdict without its doubts."""
    alpha = Estimate(**regime["alpha"])
    reason = regime["alpha_reason"]
    return verdict(alpha, reason, regime["depths"], [], measured=True, floor=False)


def _percent(alpha: float) -> float:
    return round(100 * min(max(alpha / SCALE, 0), 1), 1)
