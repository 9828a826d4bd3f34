"""Figures at the size of a page: what they leave out, cut, move or grow for it.

That nothing overlaps, is cut or is too small, `conftest.py` asks of every figure here.
"""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from toydepth.figures import (
    Cell,
    Course,
    Crossing,
    Curve,
    Term,
    Training,
    exponent_map,
    exponent_over_correlation,
    exponent_over_training,
    local_exponents,
    loss_against_size,
    loss_over_training,
    observed_against_predicted,
    terms,
    three_exponents,
)
from toydepth.figures.legends import folded, without_common
from toydepth.figures.style import COLOURS, within
from toydepth.scaling import Estimate, LocalAlpha, fit_power_law

SIZES = np.array([3.0, 6, 12, 24])
STEPS = np.arange(1.0, 9)
FEW = Training("head", STEPS, 4 * STEPS**-0.2)  # of eight steps: less than a decade


def curve(label, alpha, noise=1.02, scale=0.1, sizes=SIZES, **changes):
    losses = scale * sizes**-alpha * noise ** np.array([1, -1, -1, 1])
    return Curve(label, sizes, losses, fit=fit_power_law(sizes, losses), **changes)


def trained(scale=1.0, label="head"):
    times = np.geomspace(1, 4000, 60)
    return Training(label, times, scale * 4 * (1 + times / 3) ** (-1 / 3))


def words(figure, axes=0):
    return [text.get_text() for text in figure.axes[axes].get_legend().get_texts()]


@pytest.mark.parametrize("time", [FEW, trained()])
def test_three_panels_fit_a_page_with_their_bands_whole(time):
    depth = [curve("shared", 2.7), curve("independent", 1.0, 1.4, scale=0.006)]
    width = [curve("features", 0.96, 1.2, scale=9, sizes=SIZES / 3 * 4)]
    figure = three_exponents(depth, width, [time])
    assert figure.get_figwidth() <= 7.2
    for axes, drawn in zip(figure.axes[:2], (depth, width), strict=True):
        low, high = axes.get_ylim()
        for one in drawn:
            _, lows, highs = one.fit.predict(one.sizes)
            assert low < lows.min() and highs.max() < high
    assert words(figure, 1)[0].startswith("features,\nα = ")
    assert figure.get_suptitle() == "±, bars and bands: 95 %; thick: where a power law holds"


def test_a_guide_keeps_clear_of_the_losses_and_its_name_of_every_line():
    figure = loss_over_training([trained(), trained(0.5, "other")])
    figure.draw_without_rendering()
    (axes,) = figure.axes
    (guide,) = [line for line in axes.lines if line.get_linewidth() == 0.8]
    x, y = np.log(guide.get_data())
    for training in (trained(), trained(0.5)):
        at = np.log(training.times)
        inside = at > x[0]
        assert (np.interp(at[inside], x, y) > np.log(training.losses[inside])).all()
    # Where this guide ends, the losses of the upper curve lie.
    figure = three_exponents([curve("kl", 0.45, scale=3), curve("shared", 0.8)], [], [])
    figure.draw_without_rendering()
    axes = figure.axes[0]
    name = next(text for text in axes.texts if text.get_text() == "slope −1")
    middle = np.array(Text.get_window_extent(name)).mean(0)
    for line in axes.lines:
        if line.get_linewidth() > 1 and len(line.get_xdata()) > 50:
            spots = line.get_transform().transform(line.get_xydata())
            assert np.hypot(*(spots - middle).T).min() > 20


def test_few_steps_have_plain_labels():
    (axes,) = loss_over_training([FEW]).axes
    shown = [label.get_text() for label in axes.get_xticklabels()]
    assert {"1", "2", "5"} <= set(shown)
    assert not any(label.get_text() for label in axes.get_xticklabels(minor=True))


def test_an_interval_is_whole_unless_it_would_flatten_the_rest():
    values = [2.0, 2.5, 2.7, 2.8]
    wide = Course("shared", [1, 2, 3, 4], values, [0.9, 1.9, 2.5, 2.6], [3.1, 3.1, 2.9, 3.0])
    (axes,) = exponent_over_training([wide], xlabel="steps").axes
    low, high = axes.get_ylim()
    assert low < 0.9 and high > 3.1
    assert axes.get_title(loc="right") == "bands: 95 %"
    wide = wide._replace(low=[-30, 1.9, 2.5, 2.6], high=[34, 3.1, 2.9, 3.0])
    (axes,) = exponent_over_training([wide], xlabel="steps").axes
    assert np.ptp(axes.get_ylim()) < 4
    assert axes.get_title(loc="right") == "bands: 95 %, long ones cut"


def test_limits_hold_points_and_the_ends_of_their_bars():
    low, high, whole = within([1.0, 2.0], [0.5, 1.5, 1.8, 2.9])
    assert low < 0.5 and high > 2.9 and whole
    # Bars that are all long are no exception to leave out.
    assert within([1.0, 1.1], [0, 2, 0.1, 2.1])[2]
    low, high, whole = within([1.0, 2.0], [0.9, 1.1, 1.9, 99])
    assert 2.2 < high < 3 and not whole
    low, high, whole = within([1e-3, 1e-1], [-1.0, 1e-2], log=True)
    assert 1e-4 < low < 1e-3 and not whole
    assert within([1.0], [np.nan]) == (0.9, 1.1, True)


def test_more_than_four_legends_take_their_room():
    settings = ", ".join(f"some.long.setting_{i} = {{0}}" for i in range(9))
    many = [curve(f"shared, {settings.format(i)}, seed = 1", 2) for i in range(6)]
    for figure in (loss_against_size(many), local_exponents(many)):
        assert figure.get_figheight() > 6
        assert not any("seed" in label for label in words(figure))
        figure.draw_without_rendering()
        assert figure.axes[0].get_position().height > 0.6
    courses = [Course(f"regime {i}", [1, 2], [i, i], [i, i], [i, i]) for i in range(6)]
    assert exponent_over_training(courses, xlabel="steps").get_figwidth() <= 7.2
    three_exponents(many[:3], many[:2], [trained()])


def test_labels_leave_out_what_all_of_them_say():
    labels = ["a (x = 1, y = 2), T = 1, lr = 2, α = 3", "b (x = 1, y = 2), T = 2, lr = 2, α = 3"]
    assert without_common(labels) == [
        "a (x = 1, y = 2), T = 1, α = 3", "b (x = 1, y = 2), T = 2, α = 3"
    ]  # fmt: skip
    assert without_common(labels[:1]) == labels[:1]
    assert without_common(["T = 1", "T = 1"]) == ["T = 1", "T = 1"]
    assert folded("independent, α = 1.03 ± 0.53", 24) == "independent,\nα = 1.03 ± 0.53"


RHO = [0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.997, 0.999, 1]


def test_many_correlations_are_labelled_where_there_is_room_the_ends_first():
    crossings = [
        Crossing(rho, Estimate(1 + rho, 0.1, 0.8 + rho, 1.2 + rho),
                 [LocalAlpha(3 * 2**i, 6 * 2**i, 1 + rho - 0.3 * i, 0.1) for i in range(3)])
        for rho in RHO
    ]  # fmt: skip
    figure = exponent_over_correlation(crossings, xlabel="rho of the layers, " + "any word " * 9)
    figure.draw_without_rendering()
    left, right = figure.axes
    shown = [label.get_text() for label in left.get_xticklabels()]
    assert len(shown) == 12 and shown[0] == "0" and shown[-1] == "1"
    assert 5 <= len([label for label in shown if label]) < 12
    for axes in (left, right):
        for line in axes.lines:
            assert contrast(line.get_color()) > 2


def test_colours_are_seen_on_white():
    assert all(contrast(colour) > 2 for colour in COLOURS)


def contrast(colour):
    """The contrast with white, as the WCAG has it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 1.05 / (0.05 + np.dot([0.2126, 0.7152, 0.0722], linear))


def test_small_losses_four_terms_and_a_map_of_four_cells_fit_too():
    losses = 1e-4 * np.geomspace(2, 4, 20)
    observed_against_predicted(losses, losses * 1.01, spread=0.01)
    grid = np.geomspace(256, 4096, 9)
    cells = [Cell(x, y, 0.2, True) for x in (1e-3, 1e-2) for y in (0.1, 1)]
    exponent_map(cells, xlabel="learning rate", ylabel="temperature", expected=1 / 3)
    terms([Term(n, grid, 9 / grid, 1.0, (0.9, 1.1), False, grid, 9 / grid) for n in "mlDt"])
