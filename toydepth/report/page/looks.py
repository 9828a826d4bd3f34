"""How regimes and rungs are told apart: colour, mark and dash change together."""

from collections.abc import Sequence
from typing import NamedTuple

from toydepth.results.report_record import RegimeRecord

COLOURS = 7  # as many as page.css names, --c0 to --c6
SYMBOLS = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "triangle-down",
    "cross",
    "x",
    "star",
)
DASHES = ("solid", "dash", "dashdot", "dot", "longdash", "longdashdot")
FEW = 4  # regimes that have a colour each, and a card each at the top


class Look(NamedTuple):
    """A colour by its name in page.css, which has one for a light and one for a dark screen."""

    colour: str
    symbol: str
    dash: str


def look(place: int) -> Look:
    """The cycles differ in length, so that looks repeat late."""
    return Look(
        f"var:c{place % COLOURS}", SYMBOLS[place % len(SYMBOLS)], DASHES[place % len(DASHES)]
    )


def looks(regimes: Sequence[RegimeRecord]) -> list[Look]:
    """A look for each regime; of more than a few, each kind of teacher has one colour."""
    every = [look(place) for place in range(len(regimes))]
    kinds = [regime.teacher.kind for regime in regimes]
    order = list(dict.fromkeys(kinds))
    if len(regimes) <= FEW or len(order) == 1:
        return every
    return [
        its._replace(colour=look(order.index(kind)).colour)
        for its, kind in zip(every, kinds, strict=True)
    ]


def faint(colour: str) -> str:
    return f"{colour}/0.16"
