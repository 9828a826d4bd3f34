"""What a report prints and draws of exponents along training."""

from collections.abc import Sequence

from toydepth.results.report_record import RegimeRecord, Window
from toydepth.results.time_exponents import ONE_THIRD, Binned
from toydepth.settings import printable

DRAWN = 8  # curves in one figure; more cannot be told apart
DRAWINGS = {  # name of a figure -> its title
    "loss_over_training": "Loss along training",
    "time_exponent_map": "The exponent over temperature and learning rate",
}
HEADINGS = ("regime", "window", "exponent", "against tau", "last decade", "verdict")

Timed = Sequence[tuple[RegimeRecord, Binned]]  # a regime's entry in the report, and its losses


def row(regime: RegimeRecord) -> tuple[str, ...]:
    """The window in steps, its exponent against steps and against tau, and what they say."""
    timed = regime.along_training
    window, last = timed.steps.window, timed.steps.last_decade
    return (
        printable(regime.label),
        f"{window.start:.0f} to {window.stop:.0f}" if window else "-",
        _exponent(window),
        _exponent(timed.tau.window),
        "-" if last is None else f"{last:.2f}",
        timed.steps.verdict,
    )


def _exponent(window: Window | None) -> str:
    return str(window.exponent) if window else "-"


def draw(timed: Timed) -> dict[str, bytes]:
    """The figures as PNG, by name."""
    if not timed:
        return {}
    from toydepth.figures import (  # matplotlib is slow to import
        Cell,
        exponent_map,
        loss_over_training,
        png,
    )

    # Those where a power law holds for longest first, as many as can be told apart.
    best = sorted(timed, key=lambda pair: -_decades(pair[0]))[:DRAWN]
    figures = {
        "loss_over_training": loss_over_training([training(*pair) for pair in best]),
    }
    cells = [
        Cell(
            regime.learning_rate,
            regime.temperature,
            regime.along_training.steps.last_decade,
            regime.along_training.steps.window is not None,
        )
        for regime, _ in timed
        if regime.temperature is not None
    ]
    # Of regimes that differ in more than these two there would be several in a cell.
    alone = len({(cell.x, cell.y) for cell in cells}) == len(cells)
    try:
        if alone:
            figures["time_exponent_map"] = exponent_map(
                cells, xlabel="learning rate", ylabel="temperature", expected=ONE_THIRD
            )
    except ValueError:  # one temperature, or one rate
        pass
    return {name: png(figure) for name, figure in figures.items()}


def training(regime: RegimeRecord, data: Binned):
    """What a figure draws of one regime."""
    import numpy as np

    from toydepth.figures import Training

    losses = np.exp(np.log(data.losses).mean(axis=0))
    return Training(regime.label, data.steps, losses, regime.along_training.steps.window)


def _decades(regime: RegimeRecord) -> float:
    window = regime.along_training.steps.window
    return window.decades if window else 0.0
