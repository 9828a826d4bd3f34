"""Every plan against SciPy's minimum, the papers' closed forms and brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar

from toydepth.scaling.plan import (
    aspect_ratio,
    for_compute,
    for_loss,
    for_parameters,
    smallest_model,
)
from toydepth.scaling.shapes import buildable_for_compute, buildable_for_loss, shape_price

UNIVERSAL = {  # Chinchilla's runs, arXiv 2606.25008
    "exponent_width": 1.0,
    "coefficient_width": 387.64,
    "exponent_depth": 1.0,
    "coefficient_depth": 3.2527,
    "exponent_data": 1 / 3,
    "coefficient_data": 1064.3,
    "floor": 1.7777,
}
CHINCHILLA = {  # arXiv 2203.15556
    "exponent_parameters": 0.34,
    "coefficient_parameters": 406.4,
    "exponent_data": 0.28,
    "coefficient_data": 410.7,
    "floor": 1.69,
}
BUDGETS = np.geomspace(1e17, 1e25, 9)
EMBEDDINGS = pytest.mark.parametrize("embeddings", [0.0, 64000.0])
SEEDS = pytest.mark.parametrize("seed", range(6))


def random_law(seed):
    """A law with free exponents whose parts are alike near width 1000, depth 20, 1e10 tokens."""
    random = np.random.default_rng(seed)
    law = {"floor": random.uniform(0, 2)}
    for name, size in (("width", 1e3), ("depth", 20), ("data", 1e10)):
        law[f"exponent_{name}"] = random.uniform(0.25, 1.5)
        law[f"coefficient_{name}"] = random.uniform(0.1, 1) * size ** law[f"exponent_{name}"]
    return law


def part(law, name, size):
    return law[f"coefficient_{name}"] / size ** law[f"exponent_{name}"]


def count_of(width, depth, embeddings):
    return 12 * width**2 * depth + embeddings * width


def loss_at(law, width, depth, compute, embeddings):
    tokens = compute / (6 * count_of(width, depth, embeddings))
    parts = part(law, "width", width) + part(law, "depth", depth) + part(law, "data", tokens)
    return law["floor"] + parts


def compute_at(law, width, depth, target, embeddings):
    """What reaches the target at a shape, inf where nothing does."""
    data = target - law["floor"] - part(law, "width", width) - part(law, "depth", depth)
    with np.errstate(divide="ignore", invalid="ignore"):
        tokens = (law["coefficient_data"] / data) ** (1 / law["exponent_data"])
    return np.where(data > 0, 6 * count_of(width, depth, embeddings) * tokens, np.inf)


def minimum(function, start):
    """SciPy's least value of a function of the logs, and the sizes there."""
    options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 10_000, "maxfev": 10_000}
    solution = minimize(
        lambda logs: function(*np.exp(logs)), np.log(start), method="Nelder-Mead", options=options
    )
    assert solution.success
    return solution.fun, np.exp(solution.x)


def slope(sizes, values):
    return np.polyfit(np.log(sizes), np.log(values), 1)[0]


# Against SciPy


@SEEDS
@EMBEDDINGS
def test_best_for_compute_is_scipys_minimum(seed, embeddings):
    law = random_law(seed)
    plan = for_compute(law, 1e20, embeddings)
    loss, sizes = minimum(lambda m, n: loss_at(law, m, n, 1e20, embeddings), (1000, 20))
    assert plan.loss == pytest.approx(loss, rel=1e-12)
    assert (plan.width, plan.depth) == pytest.approx(sizes, rel=1e-5)
    assert plan.parameters == pytest.approx(count_of(plan.width, plan.depth, embeddings))
    assert plan.compute == pytest.approx(6 * plan.parameters * plan.tokens)
    assert plan.compute == pytest.approx(1e20, rel=1e-11)
    assert plan.tokens_per_parameter == pytest.approx(plan.tokens / plan.parameters)
    assert list(plan.parts) == ["width", "depth", "data"]
    assert plan.parts["depth"] == pytest.approx(part(law, "depth", plan.depth))
    assert plan.loss == pytest.approx(law["floor"] + sum(plan.parts.values()))


@SEEDS
@EMBEDDINGS
def test_best_for_parameters_is_scipys_minimum(seed, embeddings):
    law, count = random_law(seed), 1e9

    def loss(log_width):
        width = np.exp(log_width)
        depth = (count - embeddings * width) / (12 * width**2)
        return law["floor"] + part(law, "width", width) + part(law, "depth", depth)

    widest = np.log(count / max(embeddings, 12))
    solution = minimize_scalar(loss, bounds=(0, widest), method="bounded", options={"xatol": 1e-9})
    plan = for_parameters(law, count, embeddings)
    assert plan.loss == pytest.approx(solution.fun, rel=1e-12)
    assert plan.width == pytest.approx(np.exp(solution.x), rel=1e-5)
    assert plan.parameters == pytest.approx(count, rel=1e-11)
    assert plan.tokens is plan.compute is plan.tokens_per_parameter is None
    assert list(plan.parts) == ["width", "depth"]


@SEEDS
@EMBEDDINGS
def test_cheapest_for_loss_is_scipys_minimum(seed, embeddings):
    law = random_law(seed)
    target = law["floor"] + 0.3
    start = for_loss(law, target).width * 3, for_loss(law, target).depth * 3
    log_compute, sizes = minimum(
        lambda m, n: np.log(compute_at(law, m, n, target, embeddings)), start
    )
    plan = for_loss(law, target, embeddings)
    assert plan.compute == pytest.approx(np.exp(log_compute), rel=1e-10)
    assert (plan.width, plan.depth) == pytest.approx(sizes, rel=1e-5)
    assert plan.loss == pytest.approx(target, rel=1e-12)


def test_parameters_law_is_scipys_minimum():
    def loss(log_count):
        count = np.exp(log_count)
        parts = part(CHINCHILLA, "parameters", count) + part(CHINCHILLA, "data", 1e22 / count / 6)
        return CHINCHILLA["floor"] + parts

    solution = minimize_scalar(loss, bracket=(10, 25), options={"xtol": 1e-10})
    plan = for_compute(CHINCHILLA, 1e22)
    assert plan.loss == pytest.approx(solution.fun, rel=1e-12)
    assert plan.parameters == pytest.approx(np.exp(solution.x), rel=1e-5)
    assert plan.width is plan.depth is None
    assert list(plan.parts) == ["parameters", "data"]
    assert for_loss(CHINCHILLA, plan.loss).compute == pytest.approx(1e22)
    # N grows as C^(d / (n + d)), arXiv 2203.15556 eq. 4.
    counts = for_compute(CHINCHILLA, BUDGETS).parameters
    assert slope(BUDGETS, counts) == pytest.approx(0.28 / (0.34 + 0.28))
    small = smallest_model(CHINCHILLA, 2.0)
    assert part(CHINCHILLA, "parameters", small.parameters) == pytest.approx(2 - 1.69)
    assert for_parameters(CHINCHILLA, small.parameters).loss == pytest.approx(2)


# Against each other


@SEEDS
@EMBEDDINGS
def test_goals_invert_each_other(seed, embeddings):
    law = random_law(seed)
    plan = for_compute(law, BUDGETS, embeddings)
    back = for_loss(law, plan.loss, embeddings)
    assert back.compute == pytest.approx(BUDGETS, rel=1e-8)
    assert back.width == pytest.approx(plan.width, rel=1e-8)
    shapes = for_parameters(law, np.geomspace(1e7, 1e12, 6), embeddings)
    back = smallest_model(law, shapes.loss, embeddings)
    assert back.parameters == pytest.approx(shapes.parameters, rel=1e-8)
    assert back.depth == pytest.approx(shapes.depth, rel=1e-8)


exponents = st.floats(0.15, 2)
parts = st.floats(-3, 3).map(lambda power: 10**power)


@settings(deadline=None, max_examples=200)
@given(
    exponents,
    exponents,
    exponents,
    parts,
    parts,
    parts,
    st.floats(14, 27).map(lambda power: 10**power),
    st.floats(-3, 7).map(lambda power: 10**power),
)
def test_embeddings_share_is_exact(a, b, d, width, depth, data, compute, embeddings):
    law = {
        "exponent_width": a,
        "coefficient_width": width * 1000**a,
        "exponent_depth": b,
        "coefficient_depth": depth * 20**b,
        "exponent_data": d,
        "coefficient_data": data * 1e10**d,
    }
    budget = for_compute(law, compute, embeddings)
    assert budget.compute == pytest.approx(compute, rel=1e-11)
    model = for_parameters(law, compute**0.5, embeddings)
    assert model.parameters == pytest.approx(compute**0.5, rel=1e-11)
    target = for_loss(law, budget.loss, embeddings)
    assert target.loss == pytest.approx(budget.loss, rel=1e-11)
    for plan in (budget, model, target, smallest_model(law, model.loss, embeddings)):
        blocks = 12 * plan.width**2 * plan.depth / plan.parameters
        price = a * plan.parts["width"] / (1 + blocks)
        assert b * plan.parts["depth"] / blocks == pytest.approx(price, rel=1e-11)
        if plan.tokens is not None:
            assert d * plan.parts["data"] == pytest.approx(price, rel=1e-11)


# The papers' closed forms


def test_universal_laws_scale_as_published():
    plan = for_compute(UNIVERSAL, BUDGETS)
    assert plan.width / plan.depth == pytest.approx(np.full(9, 387.64 / (2 * 3.2527)))
    assert plan.parts["width"] == pytest.approx(2 * plan.parts["depth"])
    assert slope(BUDGETS, plan.parameters) == pytest.approx(1 / 2)
    assert slope(BUDGETS, plan.tokens) == pytest.approx(1 / 2)
    assert slope(BUDGETS, plan.loss - UNIVERSAL["floor"]) == pytest.approx(-1 / 6)
    counts = np.geomspace(1e7, 1e12, 6)
    models = for_parameters(UNIVERSAL, counts)
    assert models.parts["width"] == pytest.approx(2 * models.parts["depth"])
    assert slope(counts, models.loss - UNIVERSAL["floor"]) == pytest.approx(-1 / 3)
    # 12 m^2 l = N and m = r l.
    depths = (counts / 12 / aspect_ratio(UNIVERSAL) ** 2) ** (1 / 3)
    assert models.depth == pytest.approx(depths)


def test_best_ratio_of_chinchilla():
    assert aspect_ratio(UNIVERSAL) == pytest.approx(59.6, abs=0.05)
    assert aspect_ratio(UNIVERSAL, 1e9) == pytest.approx(aspect_ratio(UNIVERSAL))


@SEEDS
def test_best_ratio_of_equal_and_of_other_exponents(seed):
    law = random_law(seed)
    model = for_parameters(law, 1e9)
    assert aspect_ratio(law, 1e9) == pytest.approx(model.width / model.depth)
    law["exponent_depth"] = law["exponent_width"]
    assert aspect_ratio(law, [1e8, 1e11]) == pytest.approx(aspect_ratio(law) * np.ones(2))


# Shapes that can be built


@SEEDS
@EMBEDDINGS
@pytest.mark.parametrize(
    "multiple, compute",
    # The last are budgets whose best depth is below 1 or best width below the multiple.
    [(64, 1e19), (64, 1e15), (5, 1e16), (1000, 1e18), (1000, 1e13), (1, 1e12)],
)
def test_buildable_is_best_of_all_whole_shapes(seed, embeddings, multiple, compute):
    law = random_law(seed)
    best = for_compute(law, compute, embeddings)
    far = max(10 * best.width, 4 * multiple), max(10 * best.depth, 100)
    widths, depths = np.meshgrid(np.arange(multiple, far[0], multiple), np.arange(1, far[1]))

    plan = buildable_for_compute(law, compute, multiple, embeddings)
    losses = loss_at(law, widths, depths, compute, embeddings)
    assert plan.loss == pytest.approx(losses.min(), rel=1e-13)
    index = losses.argmin()
    assert (plan.width, plan.depth) == (widths.flat[index], depths.flat[index])
    assert plan.compute == pytest.approx(compute)
    assert plan.loss >= best.loss

    plan = buildable_for_loss(law, best.loss, multiple, embeddings)
    computes = compute_at(law, widths, depths, best.loss, embeddings)
    index = computes.argmin()
    assert (plan.width, plan.depth) == (widths.flat[index], depths.flat[index])
    assert plan.compute == pytest.approx(computes.min(), rel=1e-10)
    assert plan.compute >= compute * (1 - 1e-9)
    assert plan.loss == pytest.approx(best.loss)


def test_buildable_by_default_has_widths_in_64():
    plan = buildable_for_compute(UNIVERSAL, 5.76e23)
    assert (plan.width, plan.depth) == (6528, 110)
    assert buildable_for_loss(UNIVERSAL, plan.loss).width % 64 == 0
    assert buildable_for_compute(UNIVERSAL, 5.76e23, width_multiple=1).loss <= plan.loss


# The price of a shape


@SEEDS
@EMBEDDINGS
@pytest.mark.parametrize("ratio", [3.0, 80.0, 2000.0])
def test_shape_price_is_scipys_minimum(seed, embeddings, ratio):
    law = random_law(seed)
    best = for_compute(law, 1e20, embeddings)
    price = shape_price(law, ratio, 1e20, embeddings)
    loss, (depth,) = minimum(lambda n: loss_at(law, ratio * n, n, 1e20, embeddings), (20,))
    assert price.plan.loss == pytest.approx(loss, rel=1e-12)
    assert price.plan.depth == pytest.approx(depth, rel=1e-5)
    assert price.plan.width == pytest.approx(ratio * price.plan.depth)
    assert price.plan.compute == pytest.approx(1e20)
    deep = max(best.depth, best.width / ratio) * 3
    log_compute, _ = minimum(
        lambda n: np.log(compute_at(law, ratio * n, n, best.loss, embeddings)), (deep,)
    )
    assert price.compute_factor == pytest.approx(np.exp(log_compute) / 1e20, rel=1e-9)


def test_best_ratio_has_no_price_and_others_do():
    best = aspect_ratio(UNIVERSAL)
    price = shape_price(UNIVERSAL, best * np.array([0.1, 0.9, 1, 1.1, 10]), 1e21)
    assert price.compute_factor[2] == pytest.approx(1, rel=1e-12)
    assert np.all(np.diff(price.compute_factor[:3]) < 0)
    assert np.all(np.diff(price.compute_factor[2:]) > 0)
    assert price.plan.loss[2] == pytest.approx(for_compute(UNIVERSAL, 1e21).loss, rel=1e-12)
    near = shape_price(UNIVERSAL, best * np.geomspace(1 - 1e-6, 1 + 1e-6, 99), 1e21)
    assert np.all(near.compute_factor >= 1)


# Draws


def draws_of(seeds):
    laws = [random_law(seed) for seed in seeds]
    return laws, {key: np.array([law[key] for law in laws]) for key in laws[0]}


@EMBEDDINGS
@pytest.mark.parametrize(
    "function, goal",
    [(for_compute, 1e20), (for_parameters, 1e9), (for_loss, 2.5), (smallest_model, 2.5)],
)
def test_draws_are_planned_one_by_one(function, goal, embeddings):
    laws, draws = draws_of(range(5))
    together = function(draws, goal, embeddings)
    for index, law in enumerate(laws):
        alone = function(law, goal, embeddings)
        assert together.width[index] == pytest.approx(alone.width)
        assert together.loss[index] == pytest.approx(alone.loss)
        for name, value in alone.parts.items():
            assert together.parts[name][index] == pytest.approx(value)


@EMBEDDINGS
def test_shape_price_of_draws_has_ratios_first(embeddings):
    laws, draws = draws_of(range(5))
    together = shape_price(draws, [10.0, 100.0, 1000.0], 1e20, embeddings)
    assert together.compute_factor.shape == together.plan.loss.shape == (3, 5)
    alone = shape_price(laws[4], 100.0, 1e20, embeddings)
    assert together.compute_factor[1, 4] == pytest.approx(alone.compute_factor)
    assert together.plan.tokens[1, 4] == pytest.approx(alone.plan.tokens)


def test_every_number_has_the_shape_of_the_draws():
    plan = for_compute(UNIVERSAL | {"floor": np.linspace(1.7, 1.8, 3)}, 1e21, 1000.0)
    numbers = [plan.width, plan.depth, plan.parameters, plan.tokens, plan.compute, plan.loss]
    assert {np.shape(number) for number in [*numbers, *plan.parts.values()]} == {(3,)}
    assert isinstance(for_compute(UNIVERSAL, 1e21).width, float)
    assert for_compute(UNIVERSAL | {"floor": np.zeros(3)}, [[1e20], [1e21]]).loss.shape == (2, 3)


@EMBEDDINGS
@pytest.mark.parametrize("function", [for_loss, smallest_model])
def test_draws_whose_floor_is_not_below_the_target_are_nan(function, embeddings):
    plan = function(UNIVERSAL | {"floor": np.array([1.7, 2.0, 2.1])}, 2.0, embeddings)
    assert np.isnan(plan.loss).tolist() == np.isnan(plan.width).tolist() == [False, True, True]


# Refusals


@pytest.mark.parametrize(
    "change, message",
    [
        ({"coefficient_depth": 0}, "coefficient_depth is 0, .*does not depend on depth"),
        ({"coefficient_width": [1, 2, -3]}, r"coefficient_width\[2\] is -3, not positive"),
        ({"exponent_data": np.nan}, "exponent_data is nan, not positive and finite"),
        ({"exponent_width": -0.5}, "exponent_width is -0.5, not positive and finite$"),
        ({"coefficient_time": 1.0}, "depends on data, depth, time, width"),
    ],
)
def test_refuses_laws(change, message):
    with pytest.raises(ValueError, match=message):
        for_compute(UNIVERSAL | change, 1e20)


def without(*names):
    return {k: v for k, v in UNIVERSAL.items() if not k.endswith(names)}


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: for_compute({"floor": 1.0}, 1e20), "depends on nothing"),
        (lambda: for_compute(without("depth"), 1e20), "depends on data, width"),
        (lambda: for_compute(without("exponent_depth"), 1e20), "the law has no exponent_depth"),
        (lambda: for_compute(without("data"), 1e20), "no data term"),
        (lambda: for_loss(without("data"), 2.0), "no data term"),
        (lambda: shape_price(without("data"), 60, 1e20), "no data term"),
        (lambda: buildable_for_compute(without("data"), 1e20), "no data term"),
        (lambda: for_compute(UNIVERSAL, 0), "compute is 0, not positive"),
        (lambda: for_compute(UNIVERSAL, [1e20, np.inf]), r"compute\[1\] is inf"),
        (lambda: for_parameters(UNIVERSAL, -1e9), r"count is -1e\+09"),
        (lambda: for_compute(UNIVERSAL, 1e20, -1.0), "embeddings are -1: allowed are 0"),
        (lambda: for_compute(UNIVERSAL, 1e20, np.nan), "embeddings are nan"),
        (lambda: for_compute(CHINCHILLA, 1e20, 1000.0), "embeddings count by the width"),
        (lambda: for_loss(UNIVERSAL, 1.7777), "target 1.7777 is not above the floor 1.7777"),
        (lambda: smallest_model(UNIVERSAL, 1.0), "target 1 is not above the floor"),
        (lambda: buildable_for_loss(UNIVERSAL, 1.0), "target 1 is not above the floor"),
        (lambda: for_loss(UNIVERSAL, np.inf), "target is inf"),
        (lambda: aspect_ratio(UNIVERSAL | {"exponent_depth": 0.9}), "needs a count"),
        (lambda: aspect_ratio(CHINCHILLA), "no width and depth"),
        (lambda: shape_price(CHINCHILLA, 60, 1e20), "no width and depth"),
        (lambda: shape_price(UNIVERSAL, [60, 0], 1e20), r"ratios\[1\] is 0, not positive"),
        (lambda: buildable_for_compute(CHINCHILLA, 1e20), "no width and depth"),
        (lambda: buildable_for_compute(UNIVERSAL, 1e20, 0), "width_multiple is 0, not positive"),
        (lambda: buildable_for_compute(UNIVERSAL, 1e20, 1.5), "width_multiple is 1.5, not whole"),
        (lambda: buildable_for_loss(UNIVERSAL | {"floor": [1, 2]}, 3.0), "not of draws"),
        (lambda: buildable_for_compute(UNIVERSAL, 1e105), "too large to build"),
    ],
)
def test_refuses_goals(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_laws_without_data_have_best_shapes():
    law = without("data", "floor")
    model = for_parameters(law, 1e9)
    assert model.loss == pytest.approx(for_parameters(UNIVERSAL, 1e9).loss - UNIVERSAL["floor"])
    assert smallest_model(law, model.loss).parameters == pytest.approx(1e9)
    assert aspect_ratio(law) == aspect_ratio(UNIVERSAL)
