"""Alpha along training: a known law at each time, from histories written by hand."""

import numpy as np
import pytest

from toydepth.figures import Course, exponent_over_training
from toydepth.results.alpha_over_training import alpha_over_training, measured_in
from toydepth.results.regimes import Regime
from toydepth.results.report_record import Point

DEPTHS = (3, 6, 12)


def alpha_at(time):
    """The exponent when log(time) has passed: linear in it, so that interpolation is exact."""
    return 2 + 0.3 * np.log(time)


def history(depth, steps, clock, tests):
    """Measured at the given steps of a loss depth^-alpha(step / clock)."""
    lines = [{"kind": "train", "size": depth, "step": 1}]
    for step in tests:
        loss = float(depth ** -alpha_at(min(step, steps) / clock))
        line = {"kind": "test", "size": depth, "replica": 0, "temperature": None}
        line |= {"step": step, "loss": loss, "loss_stderr": 1e-3 * loss}
        lines += [line, line | {"replica": 1, "loss": 7.0}]  # not to be taken for this one's
    return lines


def point(depth, steps):
    return Point(
        size=depth,
        replica=0,
        teacher_seed=0,
        seed=0,
        steps=steps,
        parameters=8,
        loss=1.0,
        loss_stderr=1e-3,
        converged=None,
        status="completed",
        run=f"run-{depth}",
    )


def regime(method, points):
    return Regime({"axis": "depth", "T": None, "train.method": method}, points)


def test_by_continuation_rungs_are_compared_at_equal_shares():
    steps = {3: 100, 6: 200, 12: 400}
    tests = {3: (7, 30, 100), 6: (10, 90, 130, 200), 12: (20, 400)}  # no two alike
    runs = {f"run-{d}": measured_in(history(d, steps[d], steps[d], tests[d])) for d in DEPTHS}
    points = [point(d, steps[d]) for d in DEPTHS]
    found = alpha_over_training(regime("continuation", points), runs.__getitem__)
    assert [e.share for e in found] == pytest.approx([k / 20 for k in range(2, 21)])
    for entry in found:
        assert entry.value == pytest.approx(alpha_at(entry.share), abs=1e-6)
        assert entry.steps is None


def test_side_by_side_rungs_are_compared_at_equal_steps_and_hold_their_last_loss():
    steps = {3: 100, 6: 400, 12: 400}
    runs = {f"run-{d}": measured_in(history(d, steps[d], 400, (20, steps[d]))) for d in DEPTHS}
    points = [point(d, steps[d]) for d in DEPTHS]
    course = alpha_over_training(regime("scratch", points), runs.__getitem__)
    found = {round(e.steps): e for e in course}
    assert sorted(found) == list(range(20, 401, 20))
    assert found[80].value == pytest.approx(alpha_at(0.2), abs=1e-6)
    held = np.log([3 ** -alpha_at(0.25), 6 ** -alpha_at(1), 12 ** -alpha_at(1)])
    slope = -np.polyfit(np.log(DEPTHS), held, 1)[0]
    assert found[400].value == pytest.approx(slope, abs=1e-6)


def test_a_history_that_is_gone_gives_nothing():
    points = [point(d, 10) for d in DEPTHS]
    assert alpha_over_training(regime("scratch", points), lambda run: measured_in([])) == []


def test_the_figure_shows_every_course_and_refuses_none():
    course = Course("shared", [1, 2, 3], [1.0, 2.0, 2.9], [0.5, None, 2.8], [1.5, None, 3.0])
    figure = exponent_over_training([course, course._replace(label="other")], xlabel="steps")
    figure.canvas.draw()
    (axes,) = figure.axes
    drawn = [line for line in axes.lines if len(line.get_xdata()) == 3]
    np.testing.assert_array_equal(drawn[0].get_ydata(), course.values)
    assert len({(line.get_marker(), line.get_linestyle()) for line in drawn}) == 2
    assert axes.get_xlabel() == "steps"
    with pytest.raises(ValueError, match="nothing to draw"):
        exponent_over_training([], xlabel="steps")
