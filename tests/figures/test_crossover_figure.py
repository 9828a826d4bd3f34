"""The exponent between two regimes, read back from its artists."""

import numpy as np
import pytest

from toydepth.figures import Crossing, exponent_over_correlation, png
from toydepth.scaling import Estimate, LocalAlpha


def crossing(value, alpha, *local):
    pairs = [
        LocalAlpha(start, 2 * start, a, 0.1) for start, a in zip((3, 6, 12), local, strict=False)
    ]
    return Crossing(value, Estimate(alpha, 0.1, alpha - 0.2, alpha + 0.2), pairs)


RHO = [
    crossing(1.0, 3.0, 3.0, 3.0, 3.0), crossing(0.0, 1.0, 1.2, 1.0, 1.0),
    crossing(0.9, 1.8, 2.6, 1.9, 0.9), crossing(0.99, 2.4, 2.9, 2.5, 1.6),
]  # fmt: skip


def test_a_line_for_each_pair_of_depths_and_one_for_each_rho():
    figure = exponent_over_correlation(RHO, xlabel="rho of the layers")
    left, right = figure.axes
    assert left.get_xlabel() == "rho of the layers" and right.get_xlabel() == "depth"
    assert [t.get_text() for t in left.get_legend().get_texts()] == [
        "depth 3 to 6", "depth 6 to 12", "depth 12 to 24", "every depth"
    ]  # fmt: skip
    assert [t.get_text() for t in right.get_legend().get_texts()] == ["1", "0.99", "0.9", "0"]
    lines = {line.get_label(): line for line in left.lines}
    x, y = lines["depth 3 to 6"].get_data()
    assert x == pytest.approx([0, 1, 2, 2.5])  # -log10(1 - rho); rho = 1 stands beyond the others
    assert y == pytest.approx([1.2, 2.6, 2.9, 3.0])
    assert [tick.get_text() for tick in left.get_xticklabels()] == ["0", "0.9", "0.99", "1"]
    falling = next(line for line in right.lines if 0.9 in line.get_ydata())
    assert falling.get_xdata() == pytest.approx(np.sqrt([18, 72, 288]))
    assert falling.get_ydata() == pytest.approx([2.6, 1.9, 0.9])
    assert png(figure).startswith(b"\x89PNG")


def test_lengths_are_logarithmic_with_both_limits_beyond():
    lengths = [crossing(value, 1.0, 1.0) for value in (0, 1, 10, np.inf)]
    left, right = exponent_over_correlation(lengths, name="correlation length").axes
    assert left.get_xticks() == pytest.approx([-0.5, 0, 1, 1.5])
    assert left.get_xticklabels()[-1].get_text() == "∞"
    assert right.get_legend().get_title().get_text() == "correlation length"


def test_what_has_no_interval_or_no_exponent_is_drawn_as_far_as_it_goes():
    bare = Crossing(0.5, Estimate(1.5), [LocalAlpha(3, 6, 1.5)])
    png(exponent_over_correlation([bare, Crossing(0.7, None, [])]))
    with pytest.raises(ValueError, match="nothing to draw"):
        exponent_over_correlation([Crossing(0.5, None, [])])
