"""Parity with the published experiment code: states, losses and gradients of six small cases."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

from toydepth import config, settings
from toydepth.engine import learning_rates, update_rule
from toydepth.toy import Mlp, Teacher, depth_problem, final_state, hidden_states

GOLDEN = Path(__file__).parents[3] / "shared" / "golden"
pytestmark = pytest.mark.skipif(not GOLDEN.is_dir(), reason=f"{GOLDEN} is not there")

PUBLISHED = {"b1": 0.9, "b2": 0.999}
HELD = {"warmup": 0.0, "constant": 0.8, "final": 0.1}
# name: (objective, block, optimizer, schedule)
CASES = {
    "kl_independent": ({"kind": "kl", "head": "learned"}, "residual", (6e-4, 0.0), None),
    "kl_shared": ({"kind": "kl", "head": "learned"}, "residual", (6e-4, 0.0), None),
    "kl_shared_fixed_head": ({"kind": "kl", "head": "frozen"}, "residual", (2.4e-3, 0.5), HELD),
    "mse_independent": ({"kind": "mse"}, "residual", (1.2e-3, 0.5), HELD),
    "mse_shared": ({"kind": "mse"}, "residual", (1.2e-3, 0.5), HELD),
    "mse_shared_midpoint": ({"kind": "mse"}, "midpoint", (1.2e-3, 0.5), HELD),
}


def load(name):
    """The experiment a file belongs to, and its arrays, nested by the slashes in their names."""
    with np.load(GOLDEN / f"{name}.npz") as file:
        arrays = {key: jnp.asarray(file[key]) for key in file.files}
    objective, block, (rate, exponent), schedule = CASES[name]
    nested = {}
    for key, value in arrays.items():
        *path, last = key.split("/")
        if last == "w_out":  # toydepth keeps it output first
            value = jnp.swapaxes(value, -1, -2)
        node = nested
        for part in path:
            node = node.setdefault(part, {})
        node[last] = value
    cfg = settings.defaults(config.Experiment)
    cfg["teacher"] |= {"depth": 8}
    cfg["student"] |= {"block": block, "width": 32, "depth": 4}
    cfg["objective"] |= objective | ({"vocabulary": 128} if objective["kind"] == "kl" else {})
    cfg["optimizer"] |= PUBLISHED | {"learning_rate": rate, "depth_exponent": exponent}
    cfg["schedule"] |= schedule or {"warmup": 0.0, "constant": 1.0, "final": 1.0}
    if objective["kind"] == "kl":
        cfg["target"]["temperature"] = float(nested["temperature"])
    return config.experiment(cfg), nested


def teacher_of(golden, layers=slice(None)):
    weights = {key: golden["teacher"][key][layers] for key in Mlp._fields}
    return Teacher(Mlp(**weights), golden["teacher"].get("head"))


def student_params(problem, weights):
    params = problem.start(4)
    own = {key: w for key, w in weights.items() if key == "head" and key in params}
    layers = {key: w for key, w in weights.items() if key != "head"}
    nnx.replace_by_pure_dict(params, own | (layers if "first" in layers else {"layers": layers}))
    return params


def assert_close(actual, expected, relative):
    """The largest error, as a share of the largest value."""
    error = float(jnp.max(jnp.abs(actual - expected)) / jnp.max(jnp.abs(expected)))
    assert error < relative


@pytest.mark.parametrize("name", CASES)
def test_hidden_states(name):
    e, golden = load(name)
    teacher = teacher_of(golden)
    x = golden["inputs"][0]
    states = hidden_states(teacher.layers, x, e.teacher.depth)
    assert states.shape == golden["teacher"]["hidden_states"].shape
    for state, expected in zip(states, golden["teacher"]["hidden_states"], strict=True):
        assert_close(state, expected, 1e-5)
    assert_close(final_state(teacher.layers, x, 8), golden["teacher"]["final"], 1e-5)


@pytest.mark.parametrize("name", [name for name in CASES if "shared" in name])
def test_one_stored_layer_stands_for_all(name):
    e, golden = load(name)
    one = teacher_of(golden, slice(1)).layers
    assert_close(final_state(one, golden["inputs"][0], 8), golden["teacher"]["final"], 1e-5)


@pytest.mark.parametrize("name", CASES)
def test_gradient(name):
    e, golden = load(name)
    problem, teacher = depth_problem(e), teacher_of(golden)
    params = student_params(problem, golden["student"])
    x = golden["inputs"][0]
    target = problem.targets(teacher, x)
    gradient = jax.grad(problem.loss)(params, teacher, problem.conditions[0], x, target)
    expected = student_params(problem, golden["grad"])
    assert jax.tree.structure(gradient) == jax.tree.structure(expected)
    jax.tree.map(lambda g, w: assert_close(g, w, 1e-4), gradient, expected)


@pytest.mark.parametrize("name", CASES)
def test_twenty_adam_steps(name):
    e, golden = load(name)
    problem, teacher, rule = depth_problem(e), teacher_of(golden), update_rule(e.optimizer)
    rates = learning_rates(e.optimizer, e.schedule, np.arange(20), size=4, steps=20)
    np.testing.assert_allclose(rates, golden["learning_rates"], rtol=1e-6)

    @jax.jit
    def step(params, state, x, rate):
        target = problem.targets(teacher, x)
        loss, gradient = jax.value_and_grad(problem.loss)(
            params, teacher, problem.conditions[0], x, target
        )
        change, state = rule.update(gradient, state)
        return optax.apply_updates(params, optax.tree.scale(-rate, change)), state, loss

    params = student_params(problem, golden["student"])
    state, losses = rule.init(params), []
    for x, rate in zip(golden["inputs"], rates, strict=True):
        params, state, loss = step(params, state, x, rate)
        losses.append(loss)
    np.testing.assert_allclose(np.array(losses), golden["losses"], rtol=1e-5)
