"""The layer's hand-written derivative, against automatic differentiation of the plain formula."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from toydepth.toy import Mlp, mlp, rms_norm
from toydepth.toy.layers import uniform_mlp


def plain(weights, h):
    active = jax.nn.relu(rms_norm(h) @ weights.w_in + weights.b_in)
    return jnp.square(active) @ weights.w_out.T


@pytest.fixture
def case():
    weights = Mlp(*(w[0] for w in uniform_mlp(jax.random.key(0), 8, 1)))
    h, change = jax.random.normal(jax.random.key(1), (2, 16, 8))
    return weights, h, change


def test_value_and_derivative_are_those_of_the_formula(case):
    weights, h, change = case
    value, transpose = jax.vjp(mlp, weights, h)
    expected, plain_transpose = jax.vjp(plain, weights, h)
    np.testing.assert_allclose(value, expected, rtol=1e-6, atol=1e-7)
    for got, wanted in zip(
        jax.tree.leaves(transpose(change)), jax.tree.leaves(plain_transpose(change)), strict=True
    ):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_bfloat16_rounds_the_factors_of_each_product_and_nothing_else(case):
    weights, h, change = case

    def rounded(x):
        return np.asarray(jnp.asarray(x, jnp.bfloat16).astype(jnp.float32), np.float64)

    active = np.maximum(rounded(rms_norm(h)) @ rounded(weights.w_in) + weights.b_in, 0)
    expected = rounded(active**2) @ rounded(weights.w_out).T
    value = mlp(weights, h, "bfloat16")
    cost = np.abs(value - plain(weights, h)).mean()
    assert 1e-4 < cost / np.abs(value).mean() < 1e-2
    # A factor that falls on the border between two roundings may differ, hence the tenth.
    assert np.abs(value - expected).mean() < 0.1 * cost
    gradient = jax.grad(lambda w: jnp.vdot(mlp(w, h, "bfloat16"), change))(weights)
    exact = jax.grad(lambda w: jnp.vdot(plain(w, h), change))(weights)
    for got, wanted in zip(gradient, exact, strict=True):
        assert 0 < float(jnp.abs(got - wanted).max() / jnp.abs(wanted).max()) < 3e-2
