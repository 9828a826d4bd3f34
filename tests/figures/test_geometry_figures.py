"""What the figures of hidden states show, read back from their artists."""

import io

import numpy as np
import pytest

from toydepth.figures import (
    Cluster,
    Profile,
    ReadOut,
    Spread,
    Step,
    Trace,
    angles_against_layer,
    read_out,
    step_against_depth,
    trace_map,
    trajectories,
)
from toydepth.scaling import fit_power_law

DEPTHS = [6, 12, 24, 48]
RNG = np.random.default_rng(0)


def png(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=50)
    assert buffer.getvalue().startswith(b"\x89PNG")


def lines(axes, least=0):
    """Every thick line of more than `least` points, as an array of x and y."""
    found = [np.array(line.get_data(), float) for line in axes.lines if line.get_linewidth() > 1]
    return [line for line in found if line.shape[1] > least]


def levels(axes):
    """Heights of the thin horizontal lines."""
    return [line.get_ydata()[0] for line in axes.lines if line.get_linewidth() < 1]


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def spread(mean, width=0.02):
    mean = np.asarray(mean, float)
    return Spread(mean, (mean - width, mean + width), (mean - 2 * width, mean + 2 * width))


def profile(label="SmolLM2", layers=30, step=0.08, turn=0.5, **changes):
    steps = step + 0.4 * np.exp(-np.arange(layers))
    given = (np.arange(layers), spread(steps), spread(np.full(layers - 1, turn)))
    return Profile(label, *given)._replace(**changes)


def test_angles_have_a_panel_of_states_and_one_of_updates():
    figure = angles_against_layer([profile("a $"), profile("b", 24, turn=0.1)])
    png(figure)
    states, updates = figure.axes
    (first, second), (turns, _) = lines(states), lines(updates)
    assert first.tolist() == [list(range(30)), profile().states.mean.tolist()]
    assert second.shape == (2, 24)
    assert turns.tolist() == [list(range(29)), [0.5] * 29]
    assert levels(states) == levels(updates) == [0.5]
    assert legend(updates) == [r"a \$", "b"]
    assert states.get_ylim()[0] == updates.get_ylim()[0] == 0
    assert states.get_xlabel() == "layer $l$"
    assert r"\Delta h_l" in updates.get_ylabel()
    assert (
        figure.get_suptitle() == "lines: means; bands: 25–75 % and 5–95 %; grey level: orthogonal"
    )


@pytest.mark.parametrize(("count", "bands"), [(1, 2), (2, 4), (3, 3), (4, 0), (6, 0)])
def test_bands_of_many_profiles_do_not_hide_each_other(count, bands):
    figure = angles_against_layer([profile(f"model {i}") for i in range(count)])
    png(figure)
    assert [len(axes.collections) for axes in figure.axes] == [bands, bands]
    assert len(lines(figure.axes[0])) == count
    looks = {(line.get_marker(), line.get_linestyle(), line.get_color())
             for line in figure.axes[0].lines if line.get_linewidth() > 1}  # fmt: skip
    assert len(looks) == count


def test_bands_lie_between_their_quantiles():
    states = angles_against_layer([profile()]).axes[0]
    tails, middle = (band.get_paths()[0].vertices[:, 1] for band in states.collections)
    mean = profile().states.mean
    assert (tails.min(), tails.max()) == pytest.approx((mean.min() - 0.04, mean.max() + 0.04))
    assert (middle.min(), middle.max()) == pytest.approx((mean.min() - 0.02, mean.max() + 0.02))
    assert states.get_ylim()[1] > mean.max() + 0.04


def test_the_orthogonal_level_does_not_flatten_small_angles():
    shared = profile(layers=4, states=spread([0.02] * 4, 0.001), updates=spread([0.006] * 3, 0.001))
    figure = angles_against_layer([shared])
    png(figure)
    assert all(levels(axes) == [] and axes.get_ylim()[1] < 0.03 for axes in figure.axes)
    assert "orthogonal" not in figure.get_suptitle()


def test_one_layer_has_no_updates_to_draw():
    figure = angles_against_layer([Profile("one", [0], Spread([0.4]))])
    png(figure)
    (axes,) = figure.axes
    assert lines(axes)[0].tolist() == [[0], [0.4]]
    assert [tick for tick in axes.get_xticks() if -0.05 < tick < 0.05] == [0]
    assert len(angles_against_layer([profile(layers=1), profile(layers=2)]).axes) == 2
    png(angles_against_layer([profile(states=Spread([None] * 30)), Profile("0", [], Spread([]))]))


def steps(label, scale=2.0, **changes):
    return [
        Step(label, depth, scale / depth, 0.9 * scale / depth, 1.1 * scale / depth)._replace(
            **changes
        )
        for depth in DEPTHS
    ]


def test_steps_of_one_family_share_a_look_and_the_fit_names_its_exponent():
    points = steps("Pythia $") + steps("Qwen2.5", 2.3)
    fit = fit_power_law([p.depth for p in points], [p.theta for p in points])
    figure = step_against_depth(points, fit)
    png(figure)
    (axes,) = figure.axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.get_xticks().tolist() == DEPTHS
    half = fit.alpha.high - fit.alpha.value
    assert legend(axes) == [r"Pythia \$", "Qwen2.5", f"fit, α = 1.00 ± {half:.2f}"]
    assert axes.get_title(loc="right") == "±, bars and band: 95 %"
    marks = {line.get_marker(): np.array(line.get_data()) for line in axes.lines}
    assert marks["o"] == pytest.approx(np.array([DEPTHS, 2 / np.array(DEPTHS)]))
    bars = axes.collections[0].get_segments()
    assert np.asarray(bars[0])[:, 1] == pytest.approx([0.9 / 3, 1.1 / 3])
    (law,) = lines(axes, least=100)
    assert law[1] == pytest.approx(fit.predict(law[0])[0])


def test_the_guide_of_steps_has_slope_minus_one():
    (axes,) = step_against_depth(steps("Pythia")).axes
    assert [text.get_text() for text in axes.texts] == ["slope −1"]
    (guide,) = [np.log(line.get_data()) for line in axes.lines if line.get_linewidth() == 0.8]
    assert np.diff(guide[1]) / np.diff(guide[0]) == pytest.approx([-1])


def test_one_step_and_steps_without_bars():
    figure = step_against_depth([Step("SmolLM2", 30, 0.08)])
    png(figure)
    (axes,) = figure.axes
    assert not axes.texts
    assert axes.get_title(loc="right") == ""
    bare = steps("Pythia", low=None, high=None)[:2]
    fit = fit_power_law([6, 12], [point.theta for point in bare])
    figure = step_against_depth(bare, fit)
    png(figure)
    assert legend(figure.axes[0])[-1] == "fit, α = 1.00 (no interval)"


def test_a_long_bar_does_not_flatten_the_steps_and_many_models_have_their_legend_beside():
    points = [step._replace(label=f"model {i}") for i, step in enumerate(steps("") * 3)]
    points[0] = points[0]._replace(low=0.0, high=1e3)
    figure = step_against_depth(points)
    png(figure)
    low, high = figure.axes[0].get_ylim()
    assert 0.01 < low < high < 1
    assert len(legend(figure.axes[0])) == 12


def cluster(label="even", tokens=200, share=0.8, **changes):
    found = Cluster(label, RNG.normal(size=(tokens, 2)), spread(np.full(30, 0.08)), share)
    return found._replace(**changes)


def test_clusters_are_a_plane_of_tokens_and_mean_ways():
    two = [cluster(), cluster("stop $ early", 50, 0.2)]
    figure = trajectories(two, np.arange(30), explained=(0.612, 0.17))
    png(figure)
    plane, ways = figure.axes
    assert plane.get_xlabel() == "component 1 (61 % of variance)"
    assert plane.get_ylabel() == "component 2 (17 % of variance)"
    tokens, centre, _, other = (np.array(line.get_data()).T for line in plane.lines)
    assert tokens == pytest.approx(two[0].components)
    assert centre == pytest.approx(two[0].components.mean(0, keepdims=True))
    assert other == pytest.approx(two[1].components.mean(0, keepdims=True))
    assert len({line.get_marker() for line in plane.lines}) == 2
    assert lines(ways)[0].tolist() == [list(range(30)), [0.08] * 30]
    assert legend(ways) == ["even, 80 %", r"stop \$ early, 20 %"]
    assert figure.get_suptitle().endswith("bands: 25–75 % and 5–95 %")


def test_of_many_tokens_some_are_drawn():
    plane = trajectories([cluster(tokens=20_000), cluster(tokens=8)], np.arange(30)).axes[0]
    drawn = [len(line.get_xdata()) for line in plane.lines]
    assert 2000 < drawn[0] <= 3000
    assert drawn[2] == 2
    assert plane.get_xlabel() == "component 1"


def test_one_token_an_empty_cluster_and_many_clusters():
    one = Cluster("one", [[0.1, 0.2]], Spread([0.3]), 1.0)
    figure = trajectories([one, Cluster("none", [], Spread([None]), 0.0)], [0])
    png(figure)
    assert legend(figure.axes[1]) == ["one, 100 %", "none, 0 %"]
    png(trajectories([cluster(f"cluster {i}") for i in range(7)], np.arange(30) / 30))


def losses(label="SmolLM2", layers=30, own=3.2, **changes):
    loss = own + 8 * np.exp(-np.arange(layers + 1) / 5)
    found = ReadOut(label, np.arange(layers + 1), loss, loss - 0.1, loss + 0.1, own)
    return found._replace(**changes)


def test_read_out_draws_losses_and_the_level_of_the_model():
    figure = read_out([losses("a $"), losses("b", 6, 3.9)], xlabel="l / L")
    png(figure)
    (axes,) = figure.axes
    assert lines(axes)[0] == pytest.approx(np.array([losses().layers, losses().loss]))
    assert levels(axes) == [3.2, 3.9]
    assert legend(axes) == [r"a \$, own loss 3.20", "b, own loss 3.90"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("l / L", "cross-entropy (nats per token)")
    assert axes.get_title(loc="right") == "bands: 95 %; thin dashed: own loss"
    assert len(axes.collections) == 2


def test_a_bare_read_out_and_one_of_many_models():
    figure = read_out([ReadOut("one", [0], [9.0]), ReadOut("none", [], [])])
    png(figure)
    assert legend(figure.axes[0]) == ["one"]
    assert figure.axes[0].get_title(loc="right") == ""
    png(read_out([losses(f"model {i}", own=2 + i) for i in range(6)]))


def trace(tokens=30, layers=80, **changes):
    names = [f" token{i}" for i in range(tokens)]
    probability = 0.03 + 0.8 * RNG.random((tokens, layers))
    return Trace(names, [1, 2], probability, 0.9, 0.02)._replace(**changes)


def colour_ticks(bar):
    return dict(zip([t.get_text() for t in bar.get_yticklabels()], bar.get_yticks(), strict=True))


def test_a_trace_is_a_map_with_starred_subject_and_marked_ends():
    given = trace()
    figure = trace_map(given, answer=" Paris")
    png(figure)
    axes, bar = figure.axes
    (image,) = axes.images
    assert np.asarray(image.get_array()) == pytest.approx(given.probability)
    assert image.get_clim() == (0.02, 0.9)
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names[:4] == ["token0", "token1*", "token2*", "token3"]
    assert axes.get_ylim() == (29.5, -0.5)
    assert axes.get_xlim() == (-0.5, 79.5)
    assert axes.get_title(loc="left") == "probability of Paris"
    ticks = colour_ticks(bar)
    assert ticks["0.9 clean"] == 0.9
    assert ticks["0.02 corrupted"] == 0.02
    assert "0.4" in ticks


@pytest.mark.parametrize(("tokens", "layers"), [(3, 4), (30, 80)])
def test_names_of_tokens_and_of_marks_do_not_overlap(tokens, layers):
    for clean, corrupted in ((0.9, 0.02), (0.5, 0.45), (0.62, 0.5), (0.3, 0.6)):
        figure = trace_map(trace(tokens, layers, clean=clean, corrupted=corrupted))
        figure.draw_without_rendering()
        for axes in figure.axes:
            boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
            assert len(boxes) > 1
            assert not any(
                one.overlaps(two) for i, one in enumerate(boxes) for two in boxes[i + 1 :]
            )


def test_odd_tokens_a_missing_cell_and_equal_marks():
    odd = Trace(
        [" $x\n", "b" * 40, " "], [1], np.array([[0.1, 0.9], [np.nan, 0.2], [0.5, 0.3]]), 0.5, 0.49
    )
    figure = trace_map(odd, answer="$", layers=[2, 4])
    png(figure)
    axes, bar = figure.axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == [r"\$x\n", "b" * 17 + "…*", "␣"]
    assert axes.get_xlim() == (1, 5)
    assert axes.images[0].get_clim() == (0.1, 0.9)
    assert "0.5 clean\n0.49 corrupted" in colour_ticks(bar)
    flat = trace_map(Trace(["a"], [], [[0.5]], 0.5, 0.5))
    png(flat)
    assert flat.axes[0].get_title(loc="right") == ""


def test_nothing_to_draw_is_refused():
    for draw in (
        lambda: angles_against_layer([]),
        lambda: angles_against_layer([Profile("none", [], Spread([]))]),
        lambda: step_against_depth([]),
        lambda: trajectories([], [0]),
        lambda: trajectories([cluster(tokens=0)], np.arange(30)),
        lambda: read_out([ReadOut("none", [], [])]),
        lambda: trace_map(Trace([], [], np.ones((0, 3)), 0.5, 0.1)),
    ):
        with pytest.raises(ValueError, match="nothing to draw"):
            draw()


def test_lengths_that_differ_are_refused():
    for draw in (
        lambda: angles_against_layer([profile(states=Spread([0.1]))]),
        lambda: angles_against_layer([profile(states=spread([0.1] * 30)._replace(tails=([], [])))]),
        lambda: angles_against_layer([profile(updates=spread([0.5] * 30))]),
        lambda: trajectories([cluster()], np.arange(29)),
        lambda: read_out([losses(high=[1.0])]),
        lambda: trace_map(trace(tokens=30, probability=np.ones((29, 80)))),
        lambda: trace_map(trace(), layers=[0, 1]),
    ):
        with pytest.raises(ValueError, match="differ"):
            draw()


def test_other_wrong_input_is_refused():
    with pytest.raises(ValueError, match="must be positive"):
        step_against_depth([Step("a", 6, 0.0)])
    with pytest.raises(ValueError, match="need two components"):
        trajectories([cluster(components=np.ones((9, 3)))], np.arange(30))
    with pytest.raises(ValueError, match="beyond the tokens"):
        trace_map(trace(subject=[30]))
