"""What an exponent's interval says of the exponents that theory has, in words."""

from collections.abc import Sequence

from toydepth.results.records import Estimate

AVERAGING, DISCRETISATION = 1, 3
SUPERPOSITION = 1
# The exponents that theory has, by what a size counts, as figures and the page name them.
REFERENCES = {
    "depth": ((AVERAGING, "averaging"), (DISCRETISATION, "discretisation")),
    "width": ((SUPERPOSITION, "superposition"),),
}


def verdict(
    alpha: Estimate | None,
    reason: str | None,
    sizes: Sequence[int],
    not_converged: Sequence[int],
    measured: bool,
    floor: bool,
    axis: str = "depth",
) -> str:
    """What the 95 % interval says of the exponents that theory has, and its doubts."""
    if alpha is None:
        few = f"too few {axis}s for an interval"
        words = few if 0 < len(sizes) < 3 else f"no exponent: {reason}"
    elif alpha.low is None:
        words = f"no interval: {reason}"
    else:
        words = AGAINST[axis](alpha.low, alpha.high)
    if not_converged and alpha is not None:
        where = f"not converged at {axis} " + ", ".join(map(str, not_converged))
        largest = list(sizes[-len(not_converged) :]) == list(not_converged)
        if len(not_converged) == len(sizes):
            where += f" (every {axis}): alpha is not to be trusted"
        elif largest:  # their losses will still fall, and the line with them
            where += ": alpha is a lower bound"
        else:
            where += ": alpha may be too high or too low"
        words = f"{where}; as measured, {words}"
    elif not_converged:
        words += f"; not converged at {axis} " + ", ".join(map(str, not_converged))
    if floor:
        words += "; the data support a floor, so a pure power law understates alpha"
    if not measured:
        words += "; convergence not measured"
    return words


def _depth_against(low: float, high: float) -> str:
    """Of averaging (1) and discretisation (3)."""
    averaging, discretisation = low <= AVERAGING <= high, low <= DISCRETISATION <= high
    if averaging and (discretisation or low <= 0):
        return "interval too wide to tell"
    if averaging:
        return "consistent with averaging (1), not with discretisation (3)"
    if discretisation:
        return "consistent with discretisation (3), not with averaging (1)"
    if low > DISCRETISATION:
        return "above both: excludes 1 and 3"
    if low > AVERAGING:
        middle = (low + high) / 2
        near = "nearer discretisation (3)" if middle > 2 else "nearer averaging (1)"
        return f"between the two, {near}: excludes 1 and 3"
    if high < 0:
        return "the loss rises with depth: excludes 1 and 3"
    return "below both: excludes 1 and 3"


def _width_against(low: float, high: float) -> str:
    """Of superposition (1)."""
    if low <= SUPERPOSITION <= high:
        return (
            "interval too wide to tell" if low <= 0 else "consistent with strong superposition (1)"
        )
    if high < 0:
        return "the loss rises with width: excludes 1"
    return f"{'above' if low > SUPERPOSITION else 'below'} strong superposition: excludes 1"


AGAINST = {"depth": _depth_against, "width": _width_against}
