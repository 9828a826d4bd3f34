"""Where along a course a power law holds: found, not assumed."""

import dataclasses

import numpy as np
from jaxtyping import Float

from toydepth.scaling.estimate import Estimate, estimate
from toydepth.scaling.points import check_points

DECADE = np.log(10)
SPAN = 0.5  # decades over which a local exponent is taken
LEAST = 1.0  # decades that a window must have
SPREAD = 0.3  # largest difference of local exponents in a window, as a share of their mean

Times = Float[np.ndarray, "times"]


@dataclasses.dataclass(frozen=True)
class Window:
    """A stretch of time in which loss = c time^-exponent; `low` to `high` bound its local ones."""

    start: float
    stop: float
    decades: float
    exponent: Estimate
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Course:
    """A loss along time, as exponents.

    `times` and `local` are the middles of half decades and the exponent over each. `last_decade`
    is the exponent over the last decade, whether or not a power law holds there; None where the
    course is shorter. `window` is None where no power law holds for a decade.
    """

    times: Times
    local: Times
    last_decade: float | None
    window: Window | None


def read_course(times: Times, losses: Float[np.ndarray, "replicas times"]) -> Course:
    """The local exponents along time, and the longest window in which they stay.

    A window is a stretch of at least a decade whose local exponents, each by least squares over
    half a decade, lie within 30 % of their mean of each other; of two as long the later counts.
    Its exponent is the slope of log loss over it. Points along one training are no independent
    draws, so the interval does not come from their residuals: the window is cut into blocks of
    about half a decade, three or more, and the slopes of the blocks and replicas are the
    sample. What drifts or differs between them widens the interval; where losses are independent
    it is far too wide (of 200 such courses it held the exponent in 200).

    Args:
      times: steps, or sums of learning rates; about evenly spaced in their logarithm.
      losses: one row for each replica. They are joined by their geometric mean.

    Raises ValueError for a time or loss that is not positive and finite, or times not rising.
    """
    losses = np.atleast_2d(np.asarray(losses, float))
    for row in losses:
        times = check_points(times, row).sizes
    if np.any(np.diff(times) <= 0):
        raise ValueError("times do not rise")
    x, rows = np.log(times), np.log(losses)
    mean = rows.mean(axis=0)
    half = SPAN / 2 * DECADE
    tolerance = 1e-9
    slack = 0.1 * SPAN * DECADE
    middles, local = [], []
    for middle in x:
        # Only where the half decade was seen, but for a tenth of it.
        if middle - half < x[0] - slack - tolerance or middle + half > x[-1] + slack + tolerance:
            continue
        near = np.abs(x - middle) <= half + tolerance
        if near.sum() >= 3:
            middles.append(middle)
            local.append(_exponent(x[near], mean[near]))
    middles, local = np.array(middles), np.array(local)
    last = None
    if x[-1] - x[0] >= LEAST * DECADE - tolerance:
        late = x >= x[-1] - DECADE - tolerance
        last = _exponent(x[late], mean[late])
    window = _window(x, rows, middles, local) if len(local) else None
    return Course(np.exp(middles), local, last, window)


def _exponent(x: Times, y: Times) -> float:
    return -float(np.polyfit(x, y, 1)[0])


def _window(
    x: Times, rows: Float[np.ndarray, "replicas times"], middles: Times, local: Times
) -> Window | None:
    best = None
    for i in range(len(local)):
        for j in range(len(local) - 1, i, -1):
            inside = local[i : j + 1]
            # The half decades at the ends reach beyond their middles.
            start = max(middles[i] - SPAN / 2 * DECADE, x[0])
            stop = min(middles[j] + SPAN / 2 * DECADE, x[-1])
            decades = (stop - start) / DECADE
            if decades < LEAST - 1e-9 or (best and decades < best[0] - 1e-9):
                break
            if np.ptp(inside) <= SPREAD * inside.mean():
                best = decades, i, j, start, stop
                break
    if best is None:
        return None
    decades, i, j, start, stop = best
    there = (x >= start - 1e-9) & (x <= stop + 1e-9)
    blocks = np.array_split(np.flatnonzero(there), max(3, round(decades / SPAN)))
    # Neighbours share a point, so that no step between blocks goes unseen.
    joined = [np.append(b, b[-1] + 1) for b in blocks[:-1]] + [blocks[-1]]
    slopes = [_exponent(x[b], row[b]) for row in rows for b in joined if len(b) > 1]
    value = np.mean([_exponent(x[there], row[there]) for row in rows])
    variance = np.var(slopes, ddof=1) / len(slopes)
    return Window(
        float(np.exp(start)),
        float(np.exp(stop)),
        float(decades),
        estimate(value, variance, len(slopes) - 1),
        float(local[i : j + 1].min()),
        float(local[i : j + 1].max()),
    )


def course_verdict(course: Course, expected: float, name: str) -> str:
    """What a course says of an expected exponent, and where it is no power law, what it is."""
    local, window = course.local, course.window
    if not len(local) or course.last_decade is None:
        return "too short: a power law needs a decade"
    if window is None:
        ends = f"over half decades the exponent goes from {local[0]:.2g} to {local[-1]:.2g}"
        rising = local[-1] > local[len(local) // 2]
        return f"no power law for a decade, {'ever faster' if rising else 'ever slower'}: {ends}"
    exponent = window.exponent
    where = f"a power law over {window.decades:.1f} decades"
    if exponent.low <= expected <= exponent.high:
        words = "too wide to tell" if exponent.low <= 0 else f"consistent with {name}"
    else:
        words = f"{'above' if exponent.value > expected else 'below'} {name}, which it excludes"
    after = np.log10(course.times[-1] / window.stop) + SPAN / 2
    if after > SPAN:
        later = "unsteady"
        if not window.low <= local[-1] <= window.high:
            later = "faster" if local[-1] > window.high else "slower"
        words += f"; it ends {after:.1f} decades before the training does, {later} there"
    return f"{where}: {words}"
