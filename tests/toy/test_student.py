"""Blocks against their formulas in double precision, and what depth continuation keeps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from toydepth.toy import BLOCKS, Student, deepen

EPS = np.finfo(np.float32).eps


def rms_norm(x):
    return x / np.sqrt(np.mean(x**2, -1, keepdims=True) + EPS)


def mlp(w, layer, h):
    hidden = np.maximum(rms_norm(h) @ w["w_in"][layer] + w["b_in"][layer], 0) ** 2
    return hidden @ w["w_out"][layer].T


def oracle(block, weights, x, depth):
    h = rms_norm(x)
    for layer in range(depth):
        if block == "residual":
            h = h + mlp(weights["layers"], layer, h)
        elif block == "looped":
            h = h + mlp(weights["layers"], 0, h)
        else:
            middle = h + mlp(weights["first"], layer, h) / 2
            h = h + mlp(weights["second"], layer, middle)
    return rms_norm(h)


def student(block, depth, vocabulary=None):
    """A student moved off its zero start."""
    model = Student(jax.random.key(0), block, depth=depth, width=6, vocabulary=vocabulary)
    params = nnx.state(model, nnx.Param)
    leaves, structure = jax.tree.flatten(params)
    keys = jax.random.split(jax.random.key(1), len(leaves))
    moved = [x + 0.2 * jax.random.normal(k, x.shape) for x, k in zip(leaves, keys, strict=True)]
    return nnx.merge(nnx.graphdef(model), jax.tree.unflatten(structure, moved))


@pytest.mark.parametrize("block", BLOCKS)
def test_forward_is_the_formula(block):
    model = student(block, 5)
    x = jax.random.normal(jax.random.key(2), (7, 6))
    weights = jax.tree.map(np.float64, nnx.to_pure_dict(nnx.state(model, nnx.Param)))
    np.testing.assert_allclose(
        model(x), oracle(block, weights, np.float64(x), 5), rtol=2e-5, atol=1e-5
    )


@pytest.mark.parametrize("block", BLOCKS)
def test_a_fresh_student_does_nothing(block):
    model = Student(jax.random.key(0), block, depth=3, width=6, vocabulary=4)
    x = jax.random.normal(jax.random.key(2), (7, 6))
    np.testing.assert_allclose(model(x), rms_norm(np.float64(x)), rtol=1e-5)
    assert not model.head[...].any()
    bound = 6**-0.5
    w_in = getattr(model, BLOCKS[block].mlps[0]).w_in[...]
    assert w_in.shape == (1 if block == "looped" else 3, 6, 24)
    assert 0.9 * bound < jnp.abs(w_in).max() <= bound


@pytest.mark.parametrize("block", ["residual", "midpoint"])
@pytest.mark.parametrize("old, new", [(2, 4), (3, 7), (5, 3)])
def test_deepen_resamples_in_depth_time(block, old, new):
    params = nnx.state(student(block, old, vocabulary=4), nnx.Param)
    before, after = nnx.to_pure_dict(params), nnx.to_pure_dict(deepen(params, block, new))
    sources = [int((layer + 0.5) / new * old) for layer in range(new)]
    for name in BLOCKS[block].mlps:
        for layer, source in enumerate(sources):
            for key in ("w_in", "b_in"):
                np.testing.assert_array_equal(after[name][key][layer], before[name][key][source])
            np.testing.assert_allclose(
                after[name]["w_out"][layer], before[name]["w_out"][source] * old / new, rtol=1e-6
            )
    np.testing.assert_array_equal(after["head"], before["head"])


@pytest.mark.parametrize("old, new", [(2, 4), (3, 7), (5, 3)])
def test_a_loop_is_deepened_by_shorter_steps_of_the_same_layer(old, new):
    params = nnx.state(student("looped", old, vocabulary=4), nnx.Param)
    deeper = deepen(params, "looped", new)
    assert jax.tree.structure(deeper) == jax.tree.structure(
        nnx.state(student("looped", new, vocabulary=4), nnx.Param)
    )
    before, after = nnx.to_pure_dict(params), nnx.to_pure_dict(deeper)
    for key in ("w_in", "b_in"):
        np.testing.assert_array_equal(after["layers"][key], before["layers"][key])
    wanted = before["layers"]["w_out"] * old / new
    np.testing.assert_allclose(after["layers"]["w_out"], wanted, rtol=1e-6)
    np.testing.assert_array_equal(after["head"], before["head"])
    # The module that runs it takes the depth from its parameters, as the engine needs.
    graph = nnx.graphdef(student("looped", 1, vocabulary=4))
    assert len(nnx.merge(graph, deeper).hidden_states(np.ones((2, 6)))) == new + 1
    assert len(nnx.merge(graph, params).hidden_states(np.ones((2, 6)))) == old + 1


def test_a_loop_equals_a_student_whose_layers_are_alike():
    loop, model = student("looped", 5), student("residual", 5)
    params = nnx.state(model, nnx.Param)
    one = nnx.to_pure_dict(nnx.state(loop, nnx.Param))["layers"]
    alike = {key: np.repeat(w, 5, axis=0) for key, w in one.items()}
    nnx.replace_by_pure_dict(params, {"layers": alike})
    x = jax.random.normal(jax.random.key(2), (7, 6))
    np.testing.assert_allclose(
        loop.hidden_states(x), nnx.merge(nnx.graphdef(model), params).hidden_states(x), rtol=1e-5
    )


def test_a_doubled_student_moves_on_as_before_in_the_limit_of_small_steps():
    model = student("residual", 4)
    params = nnx.state(model, nnx.Param)
    x = jax.random.normal(jax.random.key(2), (7, 6))

    def error(scale):
        small = jax.tree.map(lambda p: p, params)
        small["layers"]["w_out"] = jax.tree.map(lambda w: w * scale, small["layers"]["w_out"])
        graph = nnx.graphdef(model)
        deeper = nnx.merge(graph, deepen(small, "residual", 8))(x)
        return float(jnp.abs(deeper - nnx.merge(graph, small)(x)).max()) / scale

    assert error(1e-2) < 0.2 * error(1e-1)
