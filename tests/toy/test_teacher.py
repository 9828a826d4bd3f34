"""Teachers: the distribution of their weights, what they store, and that seeds are their own."""

import jax
import numpy as np
import pytest

from toydepth.toy import KINDS, draw_teacher, final_state, hidden_states, rms_norm

WIDTH, DEPTH = 16, 64
DRAWN_BY = {"mixed": {"rho": 0.5}, "correlated": {"correlation_length": 8}}


def draw(kind, seed=0, head=None):
    sizes = {"width": WIDTH, "depth": DEPTH, "vocabulary": 32}
    return draw_teacher(kind, seed, **sizes, head=head, **DRAWN_BY.get(kind, {}))


def test_a_shared_teacher_stores_one_layer():
    assert draw("shared").layers.w_in.shape == (1, WIDTH, 4 * WIDTH)
    assert draw("independent").layers.w_in.shape == (DEPTH, WIDTH, 4 * WIDTH)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "mixed"])
def test_weights_are_uniform_in_their_bounds(kind):
    layers = draw(kind).layers
    bounds = {
        "w_in": WIDTH**-0.5,
        "b_in": WIDTH**-0.5,
        "w_out": (4 * WIDTH) ** -0.5 * DEPTH**-0.5,
    }
    for name, bound in bounds.items():
        w = np.asarray(getattr(layers, name))
        assert np.abs(w).max() <= bound
        assert np.var(w) == pytest.approx(bound**2 / 3, rel=0.25)


@pytest.mark.parametrize("kind", KINDS)
def test_final_state_ends_the_hidden_states(kind):
    teacher = draw(kind)
    x = jax.random.normal(jax.random.key(1), (8, WIDTH))
    states = hidden_states(teacher.layers, x, DEPTH)
    assert states.shape == (DEPTH + 1, 8, WIDTH)
    np.testing.assert_allclose(states[0], rms_norm(x))
    np.testing.assert_allclose(
        final_state(teacher.layers, x, DEPTH), rms_norm(states[-1]), rtol=1e-5, atol=1e-6
    )


def test_smooth_updates_line_up_and_a_random_walk_s_do_not():
    x = jax.random.normal(jax.random.key(1), (64, WIDTH))
    cosines = {}
    for kind in ("shared", "independent"):
        updates = np.diff(hidden_states(draw(kind).layers, x, DEPTH), axis=0)
        updates /= np.linalg.norm(updates, axis=-1, keepdims=True)
        cosines[kind] = (updates[1:] * updates[:-1]).sum(-1).mean()
    assert cosines["shared"] > 0.99
    assert abs(cosines["independent"]) < 0.3


def test_heads():
    assert draw("shared").head is None
    learned, frozen = draw("shared", head="learned").head, draw("shared", head="frozen").head
    assert np.abs(learned).max() <= WIDTH**-0.5 < np.abs(frozen).max()
    assert np.std(frozen) == pytest.approx(WIDTH**-0.5, rel=0.15)


def test_seeds_and_purposes_are_apart():
    one, again, other = draw("shared", 0), draw("shared", 0), draw("shared", 1)
    np.testing.assert_array_equal(one.layers.w_in, again.layers.w_in)
    assert not np.allclose(one.layers.w_in, other.layers.w_in)
