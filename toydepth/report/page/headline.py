"""The answer at the top: which regime has which exponent."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from toydepth.report.page.looks import FEW
from toydepth.results.records import Estimate
from toydepth.results.regimes import verdict
from toydepth.results.report_record import Crossover, RegimeRecord
from toydepth.results.time_exponents import ONE_THIRD
from toydepth.results.verdicts import REFERENCES

KINDS = 12
SCALE = 4.0  # the ruler under an exponent runs from 0 to here


# What is asked of the regimes of each axis, and of those whose exponent is along training.
QUESTIONS = {
    "depth": "Loss ~ depth^−α. α near 1: layers average. α near 3: it is a finer discretisation.",
    "width": "Loss ~ width^−α. α near 1: features in superposition.",
    "time": "Loss ~ steps^−α. α near 1/3: a softmax that learns peaked targets.",
}


class Ruler(NamedTuple):
    """Marks on the ruler, in percent of its length; no ends without an interval.

    `levels` are the exponents that theory has, each with where it is and its name.
    """

    at: float
    low: float | None
    high: float | None
    levels: list[tuple[float, str]]


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
    regimes: Sequence[RegimeRecord],
    colours: Mapping[int, str],
    crossovers: Sequence[Crossover] = (),
) -> tuple[str, list[Card]]:
    """(a title, a card for each regime or, of many, for each crossover and kind of teacher).

    `colours` are by the regime's place; one that no figure draws has none.
    """
    if not regimes:
        return "No run has finished", []
    if len(regimes) <= FEW:
        cards = [_one(r, colours.get(place, "var:line")) for place, r in enumerate(regimes)]
    else:
        cards = [_crossing(series) for series in crossovers[:KINDS]]
        told = {label for series in crossovers for label in series.regimes}
        kinds = defaultdict(list)
        for place, regime in enumerate(regimes):
            if regime.label not in told:
                kinds[regime.teacher.kind].append(place)
        for kind, places in list(kinds.items())[:KINDS]:
            drawn = [colours[place] for place in places if place in colours]
            its = [regimes[place] for place in places]
            # One kind alone has no colour of its own: its regimes have theirs.
            colour = drawn[0] if len(set(drawn)) == 1 else "var:guide"
            cards.append(_many(kind, its, colour))
    return "; ".join(f"{card.label}: α {card.value}" for card in cards[:FEW]), cards


def axis_of(regime: RegimeRecord) -> str:
    """What a regime's exponent is in: "depth", "width" or "time"."""
    return "time" if regime.along_training else regime.axis


def questions(regimes: Sequence[RegimeRecord]) -> dict[str, str]:
    """axis -> what is asked."""
    found = set(map(axis_of, regimes))
    return {axis: words for axis, words in QUESTIONS.items() if axis in found}


def _answer(regime: RegimeRecord) -> tuple[Estimate | None, str, str]:
    """(the exponent, why there is none, the verdict)."""
    if axis_of(regime) != "time":
        return regime.alpha, regime.alpha_reason or "no exponent", regime.verdict
    course = regime.along_training.steps
    window = course.window
    return window and window.exponent, "no power law for a decade", course.verdict


def _levels(axis: str) -> list[tuple[float, str]]:
    if axis == "time":
        return [(_percent(ONE_THIRD), "1/3")]
    return [(_percent(level), f"{level} {name}") for level, name in REFERENCES[axis]]


def _one(regime: RegimeRecord, colour: str) -> Card:
    alpha, reason, words = _answer(regime)
    doubt = bool(regime.not_converged)
    if alpha is None:
        return Card(regime.label, colour, "–", reason, words, doubt, None)
    ends, interval = (None, None), "no interval"
    if alpha.low is not None:
        ends = _percent(alpha.low), _percent(alpha.high)
        interval = f"95 %: {alpha.low:.2f} to {alpha.high:.2f}"
    ruler = Ruler(_percent(alpha.value), *ends, _levels(axis_of(regime)))
    value = f"{alpha.value:.2f}"
    return Card(regime.label, colour, value, interval, words, doubt, ruler)


def _crossing(series: Crossover) -> Card:
    """From the first of its regimes that have an exponent to the last."""
    known = [
        (value, alpha.value)
        for value, alpha in zip(series.values, series.alpha, strict=True)
        if alpha
    ]
    name, what = series.axis.replace("_", " "), series.label and f", {series.label}"
    count = f"{len(series.values)} regimes"
    if not known:
        return Card(f"by {name}{what}", "var:guide", "–", f"{count}, no exponent", "", False, None)
    (first, low), (last, high) = known[0], known[-1]
    label = f"{name} from {first} to {last}{what}" if first != "inf" else f"{name}{what}"
    ruler = Ruler(_percent(high), _percent(low), _percent(high), _levels("depth"))
    doubt = series.rises is None
    return Card(
        label, "var:guide", f"{low:.2f} to {high:.2f}", count, series.sentence, doubt, ruler
    )


def _many(kind: str, regimes: Sequence[RegimeRecord], colour: str) -> Card:
    known = [regime for regime in regimes if _answer(regime)[0]]
    count = len(regimes)
    if not known:
        return Card(kind, colour, "–", f"{count} regimes, no exponent", "", False, None)
    words, most = Counter(map(_as_measured, known)).most_common(1)[0]
    verdicts = f"{most} of {count}: {words}"
    unsure = sum(bool(regime.not_converged) for regime in regimes)
    if unsure:
        verdicts = f"{unsure} of {count} have rungs that are not converged; as measured, {verdicts}"
    values = sorted(_answer(regime)[0].value for regime in known)
    middle, ends = median(values), (values[0], values[-1])
    interval = f"median of {len(values)} regimes, {ends[0]:.2f} to {ends[1]:.2f}"
    ruler = Ruler(_percent(middle), *map(_percent, ends), _levels(axis_of(known[0])))
    return Card(kind, colour, f"{middle:.2f}", interval, verdicts, bool(unsure), ruler)


def _as_measured(regime: RegimeRecord) -> str:
    """The verdict without its doubts, and along training without its decades."""
    if axis_of(regime) == "time":
        found = _answer(regime)[0]
        low, high = found.low, found.high
        if low > ONE_THIRD or high < ONE_THIRD:
            return f"{'above' if low > ONE_THIRD else 'below'} 1/3, which is excluded"
        return "too wide to tell" if low <= 0 else "consistent with 1/3"
    told = regime.alpha, regime.alpha_reason, regime.sizes
    return verdict(*told, [], measured=True, floor=False, axis=regime.axis)


def _percent(alpha: float) -> float:
    return round(100 * min(max(alpha / SCALE, 0), 1), 1)
