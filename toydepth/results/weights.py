"""The trained weights of a run's rungs on disk: NumPy arrays by name, no pickles."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from flax import nnx
from jaxtyping import PyTree

from toydepth.files import write_whole


def rung_file(folder: Path, size: int, axis: str = "depth") -> Path:
    """Where a run keeps the weights of the rung of one size."""
    return folder / "rungs" / f"{axis}_{size:02d}.npz"


def save_rung(folder: Path, axis: str, size: int, params: PyTree) -> None:
    """Writes one rung's parameters (replica, condition, ...), all of them or nothing."""
    path = rung_file(folder, size, axis)
    path.parent.mkdir(exist_ok=True)
    buffer = io.BytesIO()
    np.savez(buffer, **_flat(params))
    write_whole(path, buffer.getvalue())


def read_rung(path: Path) -> dict[str, Any]:
    """One rung's parameters (replica, condition, ...), as nested dictionaries of arrays.

    Raises ValueError, in one line, for a file that is not there or holds something else.
    """
    return _nest(_read(path))


def load_rung(folder: Path, depth: int, like: nnx.State) -> nnx.State:
    """One rung's parameters (replica, temperature, ...), in the structure of `like`.

    Raises ValueError, in one line, for a file that is not there or holds something else.
    """
    path = rung_file(folder, depth)
    found, wanted = _read(path), _flat(like)
    for name, array in wanted.items():
        if name not in found or found[name].shape[2:] != array.shape:
            raise ValueError(f"{path} does not hold the weights of this run: {name}")
    loaded = nnx.State(like)
    nnx.replace_by_pure_dict(loaded, _nest({name: found[name] for name in wanted}))
    return loaded


def as_arrays(params: PyTree) -> dict[str, Any]:
    """Parameters of any structure as nested dictionaries of NumPy arrays, as `read_rung` has."""
    return _nest(_flat(params))


def _read(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise ValueError(f"{path} is not there: the run has not come so far") from None
    except Exception as error:  # a damaged archive raises what zipfile or NumPy have at hand
        raise ValueError(f"{path} cannot be read: {error}") from None


def _flat(params: PyTree) -> dict[str, np.ndarray]:
    """Arrays by their place in the tree, such as layers/w_in."""
    params = nnx.to_pure_dict(params) if isinstance(params, nnx.State) else params
    leaves, _ = jax.tree_util.tree_flatten_with_path(params)
    return {
        jax.tree_util.keystr(path, simple=True, separator="/") or "weights": np.asarray(leaf)
        for path, leaf in leaves
    }


def _nest(flat: Mapping[str, np.ndarray]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for name, array in flat.items():
        *groups, last = name.split("/")
        node = nested
        for group in groups:
            node = node.setdefault(group, {})
        node[last] = array
    return nested
