"""Laws on published training runs, against known answers and SciPy's own solver."""

from pathlib import Path

import numpy as np
import pytest
import scipy.optimize

from toydepth.datasets import exclude_highest, read_rows
from toydepth.scaling import Law, alike, by_clusters, compare, fit_law, folds, held_out

DATA = Path(__file__).parents[3] / "shared" / "data"
FREE = Law({"width": None, "depth": None, "data": None})


def published(name, unit, left_out=0):
    path = DATA / f"{name}.csv"
    if not path.exists():
        pytest.skip(f"{path} is not there: the published runs lie beside the project")
    rows = exclude_highest(read_rows(path, FREE.variables), left_out)
    return rows.variables | {"data": rows.variables["data"] / unit}, rows.losses


@pytest.fixture(scope="module")
def chinchilla():
    return published("chinchilla", 1e6, left_out=40)


@pytest.fixture(scope="module")
def gemstones():
    return published("gemstones", 1e9)


def scipys(sizes, losses):
    """The minimum by a trust-region solver, and standard errors by its Jacobian."""
    logs = np.log(np.stack([sizes[v] for v in FREE.variables], 1))

    def residuals(theta):
        return np.log(losses) - np.log(np.exp(theta[3:6] - logs * theta[:3]).sum(1) + theta[6])

    start = [1, 1, 0.3, *np.log([300, 5, 10]), 1.7]
    options = dict(x_scale="jac", ftol=1e-15, xtol=1e-15, gtol=1e-14, max_nfev=5000)
    found = scipy.optimize.least_squares(residuals, start, "3-point", **options)
    variance = 2 * found.cost / (len(losses) - 7)
    return found.x, np.sqrt(variance * np.diag(np.linalg.inv(found.jac.T @ found.jac)))


def test_chinchilla_free_is_the_minimum(chinchilla):
    fit = fit_law(FREE, *chinchilla)
    values, errors = scipys(*chinchilla)
    np.testing.assert_allclose(fit.values, values, rtol=1e-5)
    np.testing.assert_allclose(np.sqrt(np.diag(fit.covariance)), errors, rtol=1e-4)
    known = [0.945, 1.325, 0.2991, 5.616, 1.905, 2.139, 1.7536]
    np.testing.assert_allclose(fit.values, known, atol=1e-3)
    np.testing.assert_allclose(np.sqrt(np.diag(fit.covariance))[[0, 1, 2, 6]],
                               [0.085, 0.287, 0.0139, 0.024], rtol=0.01)  # fmt: skip
    assert fit.mean_squared_log_residual <= 3.02745e-5
    assert fit.solution.agreeing == fit.solution.starts == 16 and fit.solution.gradient < 1e-9


@pytest.mark.parametrize("seed", range(100))
def test_any_start_finds_it(chinchilla, seed):
    fit = fit_law(FREE, *chinchilla, starts=1, seed=seed)
    np.testing.assert_allclose(fit.values[:3], [0.94548, 1.32513, 0.29909], atol=1e-4)
    assert fit.mean_squared_log_residual <= 3.02745e-5


def test_chinchilla_universal(chinchilla):
    sizes, losses = chinchilla
    fit = fit_law(FREE.universal(), sizes, losses)
    found = [fit.parameters[f"coefficient_{v}"].value for v in FREE.variables]
    np.testing.assert_allclose([*found, fit.floor], [387.64, 3.2527, 10.643, 1.7777], rtol=1e-4)
    assert fit.mean_squared_log_residual == pytest.approx(3.1686e-5, rel=1e-4)
    assert found[0] / (2 * found[1]) == pytest.approx(59.6, abs=0.1)
    fit = fit_law(FREE.universal(), sizes | {"depth": sizes["depth"] - 2}, losses)
    found = [fit.parameters[f"coefficient_{v}"].value for v in ("width", "depth")]
    assert found[0] / (2 * found[1]) == pytest.approx(71.1, abs=0.05)


def test_universality_holds_on_chinchilla(chinchilla):
    free, fixed = (fit_law(law, *chinchilla) for law in (FREE, FREE.universal()))
    test = compare(fixed, free)
    assert test.verdict == "holds" and test.p_value == pytest.approx(0.0298, abs=1e-3)
    # By hand, from the known mean squared residuals.
    gain = 203 * np.log(3.16861e-5 / 3.02737e-5)
    assert test.aic_difference == pytest.approx(gain - 2 * 3, abs=0.01)
    assert test.bic_difference == pytest.approx(gain - 3 * np.log(203), abs=0.01)
    sizes, _ = chinchilla
    shapes = list(zip(sizes["width"], sizes["depth"], strict=True))
    assert alike(free, shapes) == pytest.approx(0.35, abs=0.01)
    assert compare(fixed, free, shapes).verdict == "holds"
    unseen = held_out(fixed, free, shapes)
    assert unseen.groups == 39 and unseen.difference < 0


def test_universality_is_rejected_on_gemstones(gemstones):
    free, fixed = (fit_law(law, *gemstones) for law in (FREE, FREE.universal()))
    assert 2 * fixed.solution.cost == pytest.approx(2 * 0.0829, rel=1e-3)
    assert 2 * free.solution.cost == pytest.approx(2 * 0.00894, rel=1e-3)
    exponents = [free.parameters[f"exponent_{v}"].value for v in FREE.variables]
    np.testing.assert_allclose(exponents, [0.32, 0.17, 0.58], atol=0.01)
    sizes, losses = gemstones
    shapes = list(zip(sizes["width"], sizes["depth"], strict=True))
    for test in (compare(fixed, free), compare(fixed, free, shapes)):
        assert test.verdict == "rejected" and test.p_value < 1e-6
    assert test.clustered_p_value < 1e-6
    # Rows of one shape are one training run: by shapes the exponents are less certain.
    clustered = by_clusters(free, shapes)
    assert clustered.interval_freedom == 21
    for v in ("width", "depth"):
        wider = clustered.parameters[f"exponent_{v}"].stderr
        assert wider > 1.3 * free.parameters[f"exponent_{v}"].stderr
    for groups in (folds(220, 10, 0).tolist(), shapes):
        unseen = held_out(fixed, free, groups)
        assert unseen.difference > 3 * unseen.stderr > 0 or unseen.fixed > 5 * unseen.free
