"""The loss along training as an exponent, against steps and against the sum of learning rates."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from toydepth.files import plain
from toydepth.results.alpha_over_training import cell_of, cell_of_rung
from toydepth.results.regimes import Regime
from toydepth.results.report_record import AlongTraining, CourseRecord, Window
from toydepth.scaling import Course, course_verdict, read_course

BINS = 10  # in a decade
ONE_THIRD = 1 / 3
RESOLVED = 1e-6  # nats; a loss below it is rounding, in float32
TIMED = "head"  # the students whose answer is the exponent along training


class Trained(NamedTuple):
    """The training losses of one student: means over stretches of steps, in order.

    `steps` and `taus` are where a stretch ends: updates made, and the sum of their rates;
    `rates` is the rate of the last of them.
    """

    steps: list[int]
    taus: list[float]
    rates: list[float]
    losses: list[float]


class Binned(NamedTuple):
    """The losses of a regime's replicas (replica, bin) at steps and taus spaced evenly in log."""

    steps: np.ndarray
    taus: np.ndarray
    losses: np.ndarray


def trained_in(history: Sequence[dict[str, Any]]) -> Mapping[tuple, Trained]:
    """`cell_of` a line -> its training losses.

    Every batch is fresh and its loss is taken before the update, so they are losses on inputs
    not seen before. Raises KeyError or TypeError for a line that is not one of toydepth's.
    """
    found: defaultdict[tuple, Trained] = defaultdict(lambda: Trained([], [], [], []))
    for line in history:
        if line["kind"] == "train" and "tau" in line:
            values = line["step"], line["tau"], line["learning_rate"], line["loss"]
            columns: tuple[list, ...] = found[cell_of(line)]
            for column, value in zip(columns, values, strict=True):
                column.append(value)
    return found


def binned(curves: Sequence[Trained]) -> Binned | None:
    """Ten means to a decade of steps, from the second on; None without a bin they all have.

    A stretch belongs to the bin of its middle, and weighs as many steps as it has. A course ends
    where its loss is no more than rounding.
    """
    rows = []
    for curve in curves:
        stop, tau, rate = (np.array(column) for column in curve[:3])
        start, earlier = np.append(0, stop[:-1]), np.append(0.0, tau[:-1])
        bins = defaultdict(list)
        # The loss of a step is taken before its update; the middle of a stretch of them:
        middle, tau_middle = (start + stop - 1) / 2, (earlier + tau - rate) / 2
        for i in np.flatnonzero(middle >= 1):
            loss = curve.losses[i]
            if loss is not None:
                at = round(BINS * np.log10(middle[i]))
                bins[at].append((middle[i], tau_middle[i], loss, stop[i] - start[i]))
        row = {}
        for at, members in sorted(bins.items()):
            values = np.array(members)
            weights = values[:, 3] / values[:, 3].sum()
            loss = weights @ values[:, 2]
            if loss < RESOLVED:
                break
            row[at] = (*np.exp(weights @ np.log(values[:, :2])), loss)
        rows.append(row)
    common = sorted(set.intersection(*map(set, rows))) if rows else []
    if not common:
        return None
    table = np.array([[row[at] for at in common] for row in rows])
    return Binned(table[0, :, 0], table[0, :, 1], table[:, :, 2])


def along_training(
    regime: Regime, trained: Callable[[str], Mapping[tuple, Trained]]
) -> tuple[AlongTraining, Binned] | None:
    """(the regime's entry in report.json, what a figure draws).

    None for students of which the exponent along training is not asked, or without a history.
    """
    if regime.facts.get("student.block") != TIMED:
        return None
    points = regime.usable()
    curves = [trained(point.run).get(cell_of_rung(point)) for point in points]
    if not points or not all(curves):
        return None
    data = binned(curves)
    if data is None:
        return None
    steps, tau = (_record(read_course(along, data.losses)) for along in (data.steps, data.taus))
    return AlongTraining(replicas=len(points), steps=steps, tau=tau), data


def _record(course: Course) -> CourseRecord:
    return CourseRecord(
        window=Window.from_fit(course.window),
        last_decade=plain(course.last_decade),
        times=plain(course.times),
        local=plain(course.local),
        verdict=course_verdict(course, ONE_THIRD, "1/3"),
    )
