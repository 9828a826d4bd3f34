"""What the figures of a fitted law show, read back from their artists."""

import io

import numpy as np
import pytest
from matplotlib.text import Text

from toydepth.figures import (
    Budget,
    Frontier,
    Scan,
    ShapePrice,
    Term,
    exclusion_scan,
    frontier,
    observed_against_predicted,
    shape_price,
    terms,
)

GRID = np.geomspace(256, 4096, 50)
COMPUTE = np.geomspace(1e19, 1e25, 30)


def png(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=50)
    assert buffer.getvalue().startswith(b"\x89PNG")


def drawn(axes, **looks):
    """The lines of some look ("marker", "linestyle", ...), as an array of x and y each."""
    return [
        np.array(line.get_data())
        for line in axes.lines
        if all(getattr(line, f"get_{name}")() == look for name, look in looks.items())
    ]


def note(axes):
    return axes.get_title(loc="right")


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def offsets(axes):
    """The points of the axes' one scatter."""
    (points,) = [found for found in axes.collections if len(found.get_offsets()) > 1]
    return np.asarray(points.get_offsets())


def term(label="width m", rows=200, **changes):
    sizes = np.random.default_rng(0).choice([256, 512, 1024, 2048, 4096], rows)
    part = 387 / GRID
    return Term(
        label, sizes, 387 / sizes, 1.0, (0.9, 1.1), False, GRID, part, 0.9 * part, 1.1 * part
    )._replace(**changes)


def test_terms_have_a_panel_each_on_one_log_scale():
    figure = terms([term(), term("depth l"), term("tokens D", fixed=True, exponent=1 / 3)])
    png(figure)
    assert [axes.get_xlabel() for axes in figure.axes] == ["width m", "depth l", "tokens D"]
    assert all((a.get_xscale(), a.get_yscale()) == ("log", "log") for a in figure.axes)
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    assert [legend(axes) for axes in figure.axes] == [
        ["α = 1.00 ± 0.10"], ["α = 1.00 ± 0.10"], ["α = 0.333 (fixed)"],
    ]  # fmt: skip
    assert figure.get_suptitle() == "large marks: medians; ± and bands: 95 %"
    handles = [axes.get_legend().legend_handles[0] for axes in figure.axes]
    assert len({handle.get_linestyle() for handle in handles}) == 3
    assert len({handle.get_color() for handle in handles}) == 3


def test_terms_draw_every_row_and_the_median_of_every_size():
    (axes,) = terms([term()]).axes
    (rows,) = drawn(axes, marker=".")
    (medians,) = drawn(axes, marker="o")
    assert rows.shape == (2, 200)
    assert medians[0].tolist() == [256, 512, 1024, 2048, 4096]
    assert medians[1] == pytest.approx(387 / medians[0])


def test_many_sizes_share_eight_bins_of_equal_count():
    sizes = np.geomspace(1e9, 1e12, 160)
    (axes,) = terms([term(sizes=sizes, partial=1064 / np.cbrt(sizes))]).axes
    (medians,) = drawn(axes, marker="o")
    assert medians.shape == (2, 8)
    assert medians[1] == pytest.approx(1064 / np.cbrt(medians[0]), rel=0.01)
    assert medians[0, 0] == pytest.approx(np.median(sizes[:20]))


def test_rows_that_a_logarithm_cannot_show_are_a_rug():
    sizes = [256, 512, 1024, 2048, 4096]
    odd = term(sizes=sizes, partial=[1.5, -0.2, 0.0, 1e-6, 0.09], low=None, high=None)
    (axes,) = (figure := terms([odd])).axes
    png(figure)
    (rug,) = drawn(axes, marker="|")
    assert rug[0].tolist() == [512, 1024, 2048]
    (rows,) = drawn(axes, marker=".")
    assert rows.T.tolist() == [[256, 1.5], [4096, 0.09]]
    assert note(axes) == "rug: 2 ≤ 0, 1 below the axis"
    assert axes.get_ylim()[0] > 1e-3
    assert note(terms([term()]).axes[0]) == ""


def test_terms_of_one_row_without_interval_and_of_none_above_zero():
    lone = term("a $\\broken{ b", sizes=[1024], partial=[0.4], interval=None, low=None, high=None)
    figure = terms([lone])
    png(figure)
    assert legend(figure.axes[0]) == ["α = 1.00 (no interval)"]
    assert figure.get_suptitle() == "large marks: medians"
    png(terms([term(partial=np.full(200, -1.0), part=-GRID), term("l", sizes=[], partial=[])]))


def test_a_narrow_interval_has_a_third_digit():
    (axes,) = terms([term(exponent=0.3349, interval=(0.3319, 0.3379))]).axes
    assert legend(axes) == ["α = 0.335 ± 0.003"]


def test_observed_lies_on_equal_axes_with_residuals_in_percent():
    predicted = np.linspace(2, 4, 50)
    observed = predicted * np.exp(0.01 * (-1.0) ** np.arange(50))
    observed[7] *= 1.5
    figure = observed_against_predicted(
        predicted, observed, spread=0.006, sizes=np.linspace(4, 48, 50), label="depth $l"
    )
    png(figure)
    above, below, bar = figure.axes
    assert (above.get_xscale(), above.get_yscale()) == ("log", "log")
    assert above.get_xlim() == above.get_ylim()
    assert above.get_xlim() == below.get_xlim()
    assert offsets(above) == pytest.approx(np.stack([predicted, observed], 1))
    assert offsets(below)[:2] == pytest.approx(np.stack([predicted[:2], [1, -1]], 1))
    levels = [line[1, 0] for line in drawn(below, linestyle="--")]
    assert levels == pytest.approx([-1.2, 1.2])
    assert note(above) == "dashed: ±2 s, s = 0.6 %; 49 of 50 rows within"
    assert bar.get_ylabel() == r"depth \$l"
    box = [axes.get_position() for axes in (above, below)]
    assert (box[0].x0, box[0].x1) == pytest.approx((box[1].x0, box[1].x1))


def test_one_row_needs_no_colours_and_one_size_no_range():
    figure = observed_against_predicted([2.0], [2.0], spread=0.0)
    png(figure)
    assert len(figure.axes) == 2
    png(observed_against_predicted([2.0, 3], [2.1, 3], spread=0.01, sizes=[8, 8], label="l"))


def best(**changes):
    loss = 1.78 + 10 * (COMPUTE / 1e19) ** -0.2
    return Frontier(
        COMPUTE, loss, np.sqrt(COMPUTE / 120), np.sqrt(COMPUTE / 0.3), 0.99 * loss, 1.01 * loss
    )._replace(**changes)


def budget(compute, label="m 4096, l 48, D/N 21"):
    loss = 1.78 + 10 * (compute / 1e19) ** -0.2
    return Budget(label, compute, loss, np.sqrt(compute / 120), np.sqrt(compute / 0.3))


def test_frontier_marks_budgets_floor_and_runs():
    plans = [budget(1e24, "large $"), budget(1e22, "small")]
    runs = (np.array([1e19, 1e20, 1e21]), np.array([13.0, 9.0, 6.0]))
    figure = frontier(best(), budgets=plans, floor=1.78, runs=runs)
    png(figure)
    above, below = figure.axes
    assert drawn(above, linestyle="--")[0][1].tolist() == [1.78, 1.78]
    assert [text.get_text() for text in above.texts] == ["floor 1.78", r"large \$", "small"]
    assert drawn(above, marker=".")[0] == pytest.approx(np.array(runs))
    assert drawn(above, marker="o")[0][0].tolist() == [1e22, 1e24]
    assert drawn(below, marker="s")[0][1] == pytest.approx(
        [np.sqrt(1e22 / 120), np.sqrt(1e24 / 120)]
    )
    assert legend(below) == ["parameters N", "tokens D"]
    assert below.get_xscale() == above.get_xscale() == "log"
    assert note(above) == "line: compute-optimal; band: 95 %; grey: training runs"


@pytest.mark.parametrize("count", [2, 6, 10])
def test_labels_of_near_budgets_do_not_overlap(count):
    plans = [budget(compute) for compute in np.geomspace(1e21, 1e22, count)]
    figure = frontier(best(), budgets=plans)
    figure.draw_without_rendering()
    words = [Text.get_window_extent(text) for text in figure.axes[0].texts]  # not the leaders
    assert len(words) == count
    leaders = [text.arrow_patch.get_window_extent() for text in figure.axes[0].texts]
    for i, one in enumerate(words):
        assert not any(one.overlaps(other) for other in words[i + 1 :])
        assert not any(one.overlaps(leader) for k, leader in enumerate(leaders) if k != i)


def test_a_bare_frontier_and_one_of_one_budget():
    figure = frontier(best(low=None, high=None))
    png(figure)
    assert note(figure.axes[0]) == "line: compute-optimal"
    assert not figure.axes[0].texts
    one = Frontier([1e22], [2.1], [7e9], [2e11], [2.0], [2.2])
    png(frontier(one, budgets=[budget(1e22)], floor=1.78, runs=([], [])))


def price(label="C = 1e22 FLOP", best=64, **changes):
    ratios = np.geomspace(8, 512, 61)
    factors = np.exp(0.3 * np.log(ratios / best) ** 2)
    return ShapePrice(label, ratios, factors, 0.9 * factors, 1.1 * factors)._replace(**changes)


def test_prices_name_the_best_ratio():
    figure = shape_price([price(), price("larger $", 128, low=None, high=None)])
    png(figure)
    (axes,) = figure.axes
    assert axes.get_xscale() == "log"
    assert legend(axes) == ["C = 1e22 FLOP: best m/l = 64", r"larger \$: best m/l = 128"]
    first, second = axes.lines[1:]
    assert [first.get_xdata()[i] for i in first.get_markevery()] == pytest.approx([64])
    assert (first.get_linestyle(), first.get_marker()) != (
        second.get_linestyle(),
        second.get_marker(),
    )
    assert len(axes.collections) == 1
    assert note(axes) == "bands: 95 %"


def test_a_least_price_at_the_edge_is_a_bound():
    figure = shape_price([price("high", 600), price("low", 8), price("none", ratios=[], factors=[],
                          low=None, high=None), ShapePrice("one", [64], [1.0])])  # fmt: skip
    png(figure)
    assert legend(figure.axes[0]) == ["high: best m/l ≥ 512", "low: best m/l ≤ 8",
                                      "one: best m/l = 64"]  # fmt: skip
    bare = shape_price([ShapePrice("one", [64], [1.0])])
    assert note(bare.axes[0]) == ""


def test_scan_has_a_panel_per_exponent():
    counts = [0, 20, 40]
    scans = [
        Scan("width", [0.9, 1.0, 1.1], [0.8, 0.9, 1.0], [1.0, 1.1, 1.2], 1.0),
        Scan("tokens $", [0.5, 0.4, 0.3], [None, 0.3, 0.2], [None, 0.5, 0.4]),
    ]
    figure = exclusion_scan(counts, scans, in_use=40)
    png(figure)
    first, second = figure.axes
    assert [axes.get_ylabel() for axes in figure.axes] == ["width", r"tokens \$"]
    assert drawn(first, marker="o")[0].tolist() == [counts, [0.9, 1.0, 1.1]]
    assert drawn(first, linestyle="--")[0][1].tolist() == [1.0, 1.0]
    assert not drawn(second, linestyle="--")
    bars = second.collections[0].get_segments()
    assert np.asarray(bars[-1])[:, 1] == pytest.approx([0.2, 0.4])
    assert drawn(first, linewidth=10)[0][0].tolist() == [40, 40]
    assert note(first) == "bars: 95 %; dashed: universal exponents; shaded: 40 rows, in use"


def test_a_wide_bar_does_not_flatten_the_rest():
    scan = Scan("depth", [1.0, 1.2, 1.3], [-50, 1.1, 1.2], [52, 1.3, 1.4])
    (axes,) = exclusion_scan([0, 20, 40], [scan]).axes
    assert np.ptp(axes.get_ylim()) < 2


def test_a_scan_of_one_count():
    figure = exclusion_scan([40], [Scan("depth", [1.2], [None], [None])])
    png(figure)
    assert note(figure.axes[0]) == "bars: 95 %"
    png(exclusion_scan([40], [Scan("depth", [1.0], [0.5], [1.5], 1.0)], in_use=40))


def test_nothing_to_draw_is_refused():
    for draw in (
        lambda: terms([]),
        lambda: terms([term(sizes=[], partial=[])]),
        lambda: observed_against_predicted([], [], spread=0.1),
        lambda: frontier(Frontier([], [], [], [])),
        lambda: shape_price([]),
        lambda: exclusion_scan([], []),
    ):
        with pytest.raises(ValueError, match="nothing to draw"):
            draw()


def test_lengths_that_differ_are_refused():
    for draw in (
        lambda: terms([term(partial=[1.0])]),
        lambda: terms([term(high=[1.0])]),
        lambda: observed_against_predicted([2.0], [2.0, 3.0], spread=0.1),
        lambda: observed_against_predicted([2.0], [2.0], spread=0.1, sizes=[1, 2]),
        lambda: frontier(best(loss=[1.0])),
        lambda: frontier(best(), runs=([1e20], [])),
        lambda: shape_price([price(low=[1.0])]),
        lambda: exclusion_scan([0, 1], [Scan("m", [1.0], [None], [None])]),
    ):
        with pytest.raises(ValueError, match="differ"):
            draw()
    with pytest.raises(ValueError, match="must be positive"):
        observed_against_predicted([2.0], [-2.0], spread=0.1)
