"""Which regimes the figures draw, and how each looks in all of them."""

from collections.abc import Sequence
from typing import NamedTuple

from toydepth.report.page.looks import Look, looks
from toydepth.report.page.plot import spread
from toydepth.results.report_record import RegimeRecord
from toydepth.scaling import PowerLaw

REGIMES = 40  # in one figure
BANDS = 4  # more than these hide one another


class Shown(NamedTuple):
    """`regime` is an entry of report.json, the one at `place`; `key` names its traces."""

    place: int
    key: str
    regime: RegimeRecord
    law: PowerLaw | None
    look: Look


def choose(
    regimes: Sequence[RegimeRecord], laws: Sequence[PowerLaw | None]
) -> tuple[list[Shown], str]:
    """(the regimes to draw, of the ladders with a loss; a note if there are more)."""
    with_loss = [
        place for place, regime in enumerate(regimes) if regime.sizes and not regime.along_training
    ]
    places = [with_loss[index] for index in spread(len(with_loss), REGIMES)]
    every_look = looks([regimes[place] for place in places])
    shown = [
        Shown(place, f"r{place}", regimes[place], laws[place], look)
        for place, look in zip(places, every_look, strict=True)
    ]
    if len(shown) == len(with_loss):
        return shown, ""
    return shown, (
        f"{len(shown)} of {len(with_loss)} regimes are drawn, "
        "evenly spread over the order of the table. "
    )
