"""The model and its derivatives against the formula, written out, and finite differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toydepth.scaling import Law
from toydepth.scaling.model import model

POINTS = 12


@st.composite
def problems(draw):
    """(model, theta, sizes, losses, relative, member) of a random law on random points."""
    variables = ["width", "depth", "data"][: draw(st.integers(1, 3))]
    exponents = {v: draw(st.none() | st.floats(0.1, 3)) for v in variables}
    law = Law(exponents, draw(st.booleans()))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    unit = 10.0 ** draw(st.integers(-9, 12))
    sizes = unit * np.exp(generator.uniform(0, 5, (POINTS, len(variables))))
    losses = 10.0 ** draw(st.integers(-6, 6)) * np.exp(generator.normal(size=POINTS))
    relative = np.exp(generator.normal(size=POINTS)) if draw(st.booleans()) else None
    member = None
    if draw(st.booleans()):
        member = generator.permutation(np.arange(POINTS) % draw(st.integers(1, 3)))
    problem = model(law, sizes, losses, relative, member)
    theta = generator.normal(size=problem.size)
    theta[: len(law.free)] = np.exp(theta[: len(law.free)])
    if law.floor:
        floor = len(law.fitted) - 1
        theta[floor] = abs(theta[floor])
    return problem, theta, sizes, losses, relative, member


def values_of(problem, theta):
    """theta in the user's units: exponents, log coefficients, floor."""
    return problem.to_units() @ theta + problem.offset()


@settings(max_examples=100, deadline=None)
@given(problems())
def test_residuals_are_of_the_law_in_the_user_s_units(case):
    problem, theta, sizes, losses, relative, member = case
    law = problem.law
    found = dict(zip(law.fitted, values_of(problem, theta), strict=True))
    fitted = np.full(POINTS, found.get("floor", 0.0))
    for column, (variable, exponent) in zip(sizes.T, law.exponents.items(), strict=True):
        if exponent is None:
            exponent = found[f"exponent_{variable}"]
        fitted += np.exp(found[f"log_coefficient_{variable}"] - exponent * np.log(column))
    log_factors = np.zeros(POINTS)
    if member is not None and member.max() > 0:
        shifts = theta[len(law.fitted) :]
        log_factors = np.append(shifts, -shifts.sum())[member]
    expected = np.log(losses) - np.log(fitted) - log_factors
    if relative is not None:
        expected = expected / relative
    np.testing.assert_allclose(problem.residuals(theta), expected, rtol=1e-6, atol=1e-6)


def differences(function, theta, step=1e-5):
    """The derivative by central differences, one column per parameter."""
    moves = step * np.eye(len(theta))
    return np.stack(
        [(function(theta + move) - function(theta - move)) / (2 * step) for move in moves], axis=-1
    )


@settings(max_examples=100, deadline=None)
@given(problems())
def test_jacobian_is_the_derivative_of_the_residuals(case):
    problem, theta, *_ = case
    expected = differences(problem.residuals, theta)
    scale = np.abs(problem.weights).max()
    np.testing.assert_allclose(problem.jacobian(theta), expected, rtol=1e-5, atol=1e-6 * scale)


@settings(max_examples=100, deadline=None)
@given(problems(), st.integers(0, 2**32 - 1))
def test_curvature_is_the_derivative_of_the_jacobian(case, seed):
    problem, theta, *_ = case
    psi = np.random.default_rng(seed).normal(size=POINTS)
    expected = differences(lambda moved: problem.jacobian(moved).T @ psi, theta)
    found = problem.curvature(theta, psi)
    scale = np.abs(problem.weights).max()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * scale)
    np.testing.assert_allclose(found, found.T, rtol=1e-12, atol=1e-12 * scale)


@settings(max_examples=50, deadline=None)
@given(problems())
def test_rows_and_units_of_one_are_the_same_law(case):
    problem, theta, sizes, *_ = case
    chosen = np.array([3, 3, 0, 7])
    np.testing.assert_array_equal(
        problem.rows(chosen).residuals(theta), problem.residuals(theta)[chosen]
    )
    law = problem.law
    for i, variable in enumerate(law.variables):
        other = problem.in_units_of_one(i)
        same = np.linalg.lstsq(
            np.vstack([other.to_units(), np.eye(problem.size)[len(law.fitted) :]]),
            np.append(values_of(problem, theta) - other.offset(), theta[len(law.fitted) :]),
        )[0]
        np.testing.assert_allclose(
            other.residuals(same), problem.residuals(theta), rtol=1e-6, atol=1e-6
        )
        coefficient = law.fitted.index(f"log_coefficient_{variable}")
        level = problem.log_references[-1]
        assert same[coefficient] == pytest.approx(values_of(problem, theta)[coefficient] - level)


def test_references_are_geometric_means_and_shifts_sum_to_zero():
    sizes = np.array([[2.0], [8.0], [2.0], [8.0]])
    losses = np.array([1.0, 4.0, 4.0, 16.0])
    problem = model(Law({"depth": None}), sizes, losses, None, np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(problem.log_references, [np.log(4), np.log(4)])
    np.testing.assert_array_equal(problem.shifts, [[1], [1], [-1], [-1]])
    assert problem.size == 4


def test_wild_steps_give_large_numbers_and_no_infinity():
    problem = model(Law({"depth": None}), np.array([[1e-6], [1.0], [1e6]]), np.ones(3))
    for theta in ([500.0, 0.0, 0.0], [1.0, -np.inf, 0.0], [1.0, 1e4, 0.0], [1.0, -1e4, 0.0]):
        assert np.isfinite(problem.residuals(np.array(theta))).all()
        assert np.isfinite(problem.jacobian(np.array(theta))).all()
