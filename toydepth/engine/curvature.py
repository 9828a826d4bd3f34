"""Eigenvalues and trace of a Hessian that is known by its products with vectors alone."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.sparse.linalg import LinearOperator, eigsh

Vector = Float[np.ndarray, "parameters"]


class Curvature(NamedTuple):
    """The largest eigenvalues, falling, and the trace with its standard error."""

    eigenvalues: Float[np.ndarray, "count"]
    trace: float
    trace_stderr: float


def curvature(
    product: Callable[[Vector], Vector], parameters: int, count: int, probes: int
) -> Curvature:
    """The `count` largest eigenvalues by Lanczos iteration, and the trace.

    The trace is the sum of those eigenvalues and, for the rest of the space, the mean of v' H v
    over random vectors v of signs (Hutchinson 1990), made orthogonal to the eigenvectors found.
    With as few parameters as probes, unit vectors take their place, and the trace is exact. The
    same start and the same random vectors serve every call, so that a Hessian has one answer.

    Raises ValueError unless 0 < count < parameters.
    """
    if not 0 < count < parameters:
        raise ValueError(f"{count} eigenvalues of {parameters}: give 1 or more, and fewer than all")
    generator = np.random.default_rng(0)
    operator = LinearOperator((parameters, parameters), matvec=product, dtype=np.float32)
    start = generator.normal(size=parameters).astype(np.float32)
    values, vectors = eigsh(operator, k=count, which="LA", v0=start, tol=1e-5)
    values, vectors = values[::-1].astype(float), vectors.astype(float)
    if parameters <= probes:
        trace = sum(product(unit)[i] for i, unit in enumerate(np.eye(parameters, dtype=np.float32)))
        return Curvature(values, float(trace), 0.0)
    rest = np.empty(probes)
    for i in range(probes):
        probe = generator.choice([-1.0, 1.0], parameters)
        probe -= vectors @ (vectors.T @ probe)
        rest[i] = probe @ product(probe.astype(np.float32))
    error = rest.std(ddof=1) / probes**0.5
    return Curvature(values, float(values.sum() + rest.mean()), float(error))
