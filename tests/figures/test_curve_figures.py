"""What the figures show, read back from their artists."""

import io

import numpy as np
import pytest
from matplotlib.colors import to_hex

from toydepth.figures import Curve, local_exponents, loss_against_size
from toydepth.scaling import fit_power_law

DEPTHS = [3, 6, 12, 24]


def curve(label, alpha, **changes):
    losses = np.array(DEPTHS) ** -float(alpha) * np.array([1.0, 1.1, 0.95, 1.0])
    stderr = 0.02 * losses
    return Curve(**{
        "label": label, "sizes": DEPTHS, "losses": losses, "stderr": stderr,
        "fit": fit_power_law(DEPTHS, losses),
    } | changes)  # fmt: skip


def legend(figure):
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def png(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=50)
    return buffer.getvalue()


def test_losses_are_log_log_with_ticks_at_the_sizes():
    first = curve("shared", 3)
    figure = loss_against_size([first, curve("independent", 1)])
    axes = figure.axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("depth", "test loss")
    assert axes.get_xticks().tolist() == DEPTHS
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["3", "6", "12", "24"]
    alpha = first.fit.alpha
    assert legend(figure)[0] == f"shared, α = {alpha.value:.2f} ± {alpha.high - alpha.value:.2f}"
    assert len(axes.collections) >= 4  # two bands, two sets of bars
    assert png(figure).startswith(b"\x89PNG")


def test_regimes_differ_without_colour():
    handles = (
        loss_against_size([curve(name, 2) for name in "abcdef"]).axes[0].get_legend().legend_handles
    )
    assert len({(handle.get_marker(), handle.get_linestyle()) for handle in handles}) == 6
    assert len({to_hex(handle.get_color()) for handle in handles}) == 6


def test_points_that_have_not_converged_are_hollow():
    figure = loss_against_size([curve("shared", 3, converged=[True, True, True, False])])
    hollow = [line for line in figure.axes[0].lines if line.get_markerfacecolor() == "white"]
    assert np.concatenate([line.get_xdata() for line in hollow]).tolist() == [24]
    assert "hollow: not converged" in figure.axes[0].get_title(loc="right")
    assert "hollow" not in loss_against_size([curve("shared", 3)]).axes[0].get_title(loc="right")


def test_guides_have_the_slopes_asked_for():
    axes = loss_against_size(
        [curve("shared", 3)], references=(2,), xlabel="width", ylabel="loss"
    ).axes[0]
    assert [text.get_text() for text in axes.texts] == ["slope −2"]
    (guide,) = [line for line in axes.lines if line.get_linewidth() == 0.8]
    x, y = guide.get_data()
    assert np.diff(np.log(y)) / np.diff(np.log(x)) == pytest.approx([-2])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("width", "loss")


def test_a_fit_without_interval_says_so():
    short = Curve("shared", [3, 6], [1.0, 0.1], fit=fit_power_law([3, 6], [1.0, 0.1]))
    figure = loss_against_size([short, Curve("none", [3], [1.0])])
    assert legend(figure) == ["shared, α = 3.32 (no interval)", "none"]
    png(figure)


def test_labels_are_words_not_mathematics():
    png(loss_against_size([curve(r"a $\broken{ b", 1)]))


def test_local_exponents_sit_at_geometric_means():
    figure = local_exponents([curve("shared", 3, converged=[True, True, True, False])])
    axes = figure.axes[0]
    line = next(line for line in axes.lines if len(line.get_xdata()) == 3)
    x, y = line.get_data()
    assert x == pytest.approx(np.sqrt([18, 72, 288]))
    losses = curve("shared", 3).losses
    assert y == pytest.approx(np.log(losses[:-1] / losses[1:]) / np.log(2))
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
    assert hollow[0].get_xdata() == pytest.approx([np.sqrt(288)])
    assert [text.get_text() for text in axes.texts] == ["α = 1", "α = 3"]
    png(figure)


def test_nothing_to_draw_is_refused():
    with pytest.raises(ValueError, match="no curve holds a point"):
        loss_against_size([])
    with pytest.raises(ValueError, match="no curve holds two sizes"):
        local_exponents([Curve("one", [3], [1.0])])
