import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toydepth.geometry import Measures, angle, measure

ANGLES = [1e-6, 1e-3, 1.0, np.pi / 2, np.pi - 1e-6]


def pair(theta, width=576, seed=0):
    """Two vectors of unequal length, `theta` apart by construction, and one orthogonal to both."""
    x, y, z = np.linalg.qr(np.random.default_rng(seed).normal(size=(width, 3)))[0].T
    return 3.0 * x, 0.2 * (np.cos(theta) * x + np.sin(theta) * y), z


def plainly(states):
    """The measures of one token at a time, as their definitions read, with arccos."""
    rows = []
    for h in np.moveaxis(np.asarray(states, float), 1, 0):
        dh = [b - a for a, b in zip(h[:-1], h[1:], strict=True)]
        whole = h[-1] - h[0]
        rows.append(
            (
                [cosine(a, b) for a, b in zip(h[:-1], h[1:], strict=True)],
                [cosine(a, b) for a, b in zip(dh[:-1], dh[1:], strict=True)],
                [np.sqrt(np.sum(x**2)) for x in h],
                [np.sqrt(np.sum(x**2)) for x in dh],
                [cosine(x, h[-1]) for x in h[:-1]],
                [np.sum((x - h[0]) * whole) / np.sum(whole**2) for x in h],
            )
        )
    return Measures(*(np.array(row).T for row in zip(*rows, strict=True)))


def cosine(a, b):
    return np.arccos(np.clip(np.sum(a * b) / np.sqrt(np.sum(a**2)) / np.sqrt(np.sum(b**2)), -1, 1))


def walk(layers=6, tokens=20, width=16, seed=0):
    return np.random.default_rng(seed).normal(size=(layers + 1, tokens, width)).cumsum(axis=0)


@pytest.mark.parametrize("theta", ANGLES)
def test_angle_is_right_near_0_and_pi(theta):
    mpmath = pytest.importorskip("mpmath")
    a, b, _ = pair(theta)
    with mpmath.workdps(60):
        u, v = mpmath.matrix(a.tolist()), mpmath.matrix(b.tolist())
        exact = float(mpmath.acos((u.T * v)[0] / mpmath.norm(u) / mpmath.norm(v)))
    assert exact == pytest.approx(theta, rel=1e-9)
    assert angle(a, b) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("theta", ANGLES)
def test_measured_angles_are_right_near_0_and_pi(theta):
    a, b, c = pair(theta)
    # Steps from a to b; updates that are a and b themselves; the last state is b in both.
    steps = measure(np.stack([a, b, c, b])[:, None])
    assert steps.theta[0] == pytest.approx(theta, rel=1e-9)
    assert steps.to_last[0] == pytest.approx(theta, rel=1e-9)
    updates = measure(np.stack([0 * a, a, a + b])[:, None])
    assert updates.theta_updates[0] == pytest.approx(theta, rel=1e-6)
    # Of pi - theta what counts is its distance to pi.
    for found in (steps.theta[0], steps.to_last[0], updates.theta_updates[0], angle(a, b)):
        assert np.pi - found == pytest.approx(np.pi - theta, rel=1e-6)


def test_angle_broadcasts_and_forgets_length():
    a, b, _ = pair(0.3, width=8)
    scales = np.array([1e-310, 1e-30, 1.0, 1e30, 1e300])[:, None]
    found = angle(scales * a, b)
    assert found.shape == (5,)
    assert found[1:] == pytest.approx(0.3)
    assert found[0] == pytest.approx(0.3, abs=1e-10)  # subnormal: few digits are left
    assert np.isnan(angle(0 * a, b)) and np.isnan(angle(np.inf * a, b))
    assert angle(np.float16(a), -np.float16(a)) == pytest.approx(np.pi)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16, np.int8])
def test_measures_agree_with_their_definitions(dtype):
    states = (10 * walk()).astype(dtype)
    for name, found, expected in zip(
        Measures._fields, measure(states), plainly(states), strict=True
    ):
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=name)


def test_shapes_for_any_block(monkeypatch):
    states = walk(layers=4, tokens=23, width=7)
    whole = measure(states)
    assert [values.shape[0] for values in whole] == [4, 3, 5, 4, 4, 5]
    for size in (1, 100, 4 * 5 * 7):
        monkeypatch.setattr("toydepth.geometry.angles.BLOCK_SIZE", size)
        for found, expected in zip(measure(states), whole, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_states_are_left_as_they_are_and_may_be_views():
    states = walk()
    kept = states.copy()
    turned = np.asfortranarray(states)
    turned.flags.writeable = False
    for found, expected in zip(measure(turned), measure(states), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13)
    np.testing.assert_array_equal(states, kept)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), exponent=st.floats(-30, 30))
def test_rotation_and_scale_change_no_angle(seed, exponent):
    states = walk(seed=seed)
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(16, 16)))[0]
    scale = 10.0**exponent
    before, after = measure(states), measure(scale * states @ turn)
    for name in ("theta", "theta_updates", "to_last", "projection"):
        np.testing.assert_allclose(
            getattr(after, name), getattr(before, name), rtol=1e-9, atol=1e-11, err_msg=name
        )
    for name in ("norms", "update_norms"):
        np.testing.assert_allclose(getattr(after, name), scale * getattr(before, name), rtol=1e-9)


@pytest.mark.parametrize("step", [1e-5, 0.01, 0.3])
def test_a_circle_has_aligned_updates(step):
    times = step * np.arange(11)
    circle = np.stack([np.cos(times), np.sin(times)], -1)[:, None] * 5.0
    found = measure(circle)
    np.testing.assert_allclose(found.theta, step, rtol=1e-9)
    np.testing.assert_allclose(found.theta_updates, step, rtol=1e-5)
    np.testing.assert_allclose(found.norms, 5)
    np.testing.assert_allclose(found.to_last[:, 0], step * np.arange(10, 0, -1), rtol=1e-9)


def test_a_random_walk_has_orthogonal_updates():
    updates = measure(walk(layers=32, tokens=200, width=256)).theta_updates
    error = 1 / np.sqrt(
        256 * updates.size
    )  # an angle between random vectors spreads 1 / sqrt(width)
    assert updates.mean() == pytest.approx(np.pi / 2, abs=5 * error)


def test_projection_goes_from_0_to_1_even_far_from_the_origin():
    states = walk() + 1e6
    projection = measure(states).projection
    assert np.all(projection[0] == 0) and np.all(projection[-1] == 1)
    np.testing.assert_allclose(projection, measure(states - 1e6).projection, atol=1e-7)


def test_what_is_not_defined_is_nan():
    states = walk(layers=3, tokens=3)
    states[1, 0] = 0  # a zero state
    states[2, 1] = states[1, 1]  # a layer that does nothing
    states[3, 2] = states[0, 2]  # back at the start
    found = measure(states)
    undefined = {name: np.argwhere(np.isnan(v)).tolist() for name, v in found._asdict().items()}
    assert undefined == {
        "theta": [[0, 0], [1, 0]],
        "theta_updates": [[0, 1], [1, 1]],
        "norms": [],
        "update_norms": [],
        "to_last": [[1, 0]],
        "projection": [[0, 2], [1, 2], [2, 2], [3, 2]],
    }


@pytest.mark.parametrize(
    "dtype, size",
    [(np.float16, 65504), (np.float32, 1e30), (np.float32, 3e38), (np.float64, 1e148)],
)
def test_large_states_do_not_overflow(dtype, size):
    states = (size * np.sign(walk(width=64))).astype(dtype)
    with np.errstate(all="raise"):
        found = measure(states)
    np.testing.assert_allclose(found.norms, 8 * float(dtype(size)), rtol=1e-6)
    assert all(np.isfinite(values).all() for values in found)


@pytest.mark.parametrize(
    "shape", [(3, 4), (2, 5, 8), (1, 5, 8), (0, 5, 8), (4, 0, 8), (4, 5, 0), (4, 5, 8, 2), ()]
)
def test_refuses_other_shapes(shape):
    with pytest.raises(ValueError, match=r"^states have shape .* needed$"):
        measure(np.zeros(shape))


@pytest.mark.parametrize("value, shown", [(np.nan, "nan"), (-np.inf, "inf"), (1e155, r"1e\+155")])
def test_refuses_what_is_not_finite(value, shown):
    states = walk()
    states[4, 17, 3] = states[5, 2, 0] = value
    with pytest.raises(ValueError, match=rf"^states\[4, 17\].* holds {shown}; .*$"):
        measure(states)


@pytest.mark.parametrize("dtype", [complex, object, str])
def test_refuses_what_is_not_real(dtype):
    with pytest.raises(ValueError, match="real numbers are needed"):
        measure(np.ones((4, 2, 3)).astype(dtype))
