"""Published runs, and runs drawn from a law that is known."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from toydepth.law.rows import exclude_highest, read_rows
from toydepth.scaling import Law

DATA = Path(__file__).parents[3] / "shared" / "data"


class Runs(NamedTuple):
    sizes: dict[str, np.ndarray]
    losses: np.ndarray


class Known(NamedTuple):
    """Losses of a known law, to be seen with noise."""

    law: Law
    sizes: dict[str, np.ndarray]
    losses: np.ndarray
    parameters: dict[str, float]

    def draw(self, seed, noise=0.01):
        generator = np.random.default_rng(seed)
        return self.losses * np.exp(noise * generator.normal(size=len(self.losses)))


def published(name, unit):
    path = DATA / name
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    rows = read_rows(path, ["width", "depth", "data"])
    if name == "chinchilla.csv":
        rows = exclude_highest(rows, 40)
    return Runs(rows.variables | {"data": rows.variables["data"] / unit}, rows.losses)


@pytest.fixture(scope="session")
def chinchilla():
    """203 runs, D in millions of tokens."""
    return published("chinchilla.csv", 1e6)


@pytest.fixture(scope="session")
def gemstones():
    """220 runs of 22 shapes, D in billions of tokens."""
    return published("gemstones.csv", 1e9)


@pytest.fixture(scope="session")
def grid():
    """150 runs, as one would plan them: 6 widths, 5 depths, tokens over three decades."""
    mesh = np.meshgrid(
        np.geomspace(128, 4096, 6), [4, 8, 16, 32, 64], np.geomspace(1e8, 1e11, 5), indexing="ij"
    )
    sizes = {v: axis.ravel() for v, axis in zip(("width", "depth", "data"), mesh, strict=True)}
    parameters = {
        "exponent_width": 0.95,
        "exponent_depth": 1.2,
        "exponent_data": 0.3,
        "coefficient_width": 300.0,
        "coefficient_depth": 5.0,
        "coefficient_data": 500.0,
        "floor": 1.7,
    }
    losses = 1.7 + sum(
        parameters[f"coefficient_{v}"] / x ** parameters[f"exponent_{v}"] for v, x in sizes.items()
    )
    return Known(Law(dict.fromkeys(sizes)), sizes, losses, parameters)
