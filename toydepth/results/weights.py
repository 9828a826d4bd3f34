"""The trained weights of a run's rungs on disk: NumPy arrays by name, no pickles."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from flax import nnx

from toydepth.files import write_whole


def rung_file(folder: Path, size: int, axis: str = "depth") -> Path:
    """Where a run keeps the weights of the rung of one size."""
    return folder / "rungs" / f"{axis}_{size:02d}.npz"


def save_rung(folder: Path, axis: str, size: int, params: nnx.State | dict) -> None:
    """Writes one rung's parameters (replica, condition, ...), all of them or nothing."""
    path = rung_file(folder, size, axis)
    path.parent.mkdir(exist_ok=True)
    buffer = io.BytesIO()
    np.savez(buffer, **_flat(nnx.to_pure_dict(params) if isinstance(params, nnx.State) else params))
    write_whole(path, buffer.getvalue())


def load_rung(folder: Path, depth: int, like: nnx.State) -> nnx.State:
    """One rung's parameters (replica, temperature, ...), in the structure of `like`.

    Raises ValueError, in one line, for a file that is not there or holds something else.
    """
    path = rung_file(folder, depth)
    try:
        with np.load(path, allow_pickle=False) as file:
            found = {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise ValueError(f"{path} is not there: the run has not come so far") from None
    except Exception as error:  # a damaged archive raises what zipfile or NumPy have at hand
        raise ValueError(f"{path} cannot be read: {error}") from None
    wanted = _flat(nnx.to_pure_dict(like))
    for name, array in wanted.items():
        if name not in found or found[name].shape[2:] != array.shape:
            raise ValueError(f"{path} does not hold the weights of this run: {name}")
    nested: dict[str, Any] = {}
    for name in wanted:
        *groups, last = name.split("/")
        node = nested
        for group in groups:
            node = node.setdefault(group, {})
        node[last] = found[name]
    loaded = nnx.State(like)
    nnx.replace_by_pure_dict(loaded, nested)
    return loaded


def _flat(node: Mapping[str, Any], prefix: str = "") -> dict[str, np.ndarray]:
    flat = {}
    for name, value in node.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}/")
        else:
            flat[f"{prefix}{name}"] = np.asarray(value)
    return flat
