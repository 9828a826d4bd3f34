"""Checked points: what a fit on logarithms may be given."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

Numbers = Float[np.ndarray, "points"] | Sequence[float]


class Points(NamedTuple):
    """Positive sizes and losses, as float arrays of one length.

    `relative` is stderr / loss, the standard error of log loss, or None.
    `member` is the index of each point's group, 0 where there are no groups.
    """

    sizes: Float[np.ndarray, "points"]
    losses: Float[np.ndarray, "points"]
    relative: Float[np.ndarray, "points"] | None
    member: Int[np.ndarray, "points"]


def check_points(
    sizes: Numbers,
    losses: Numbers,
    stderr: Numbers | None = None,
    groups: Sequence[Hashable] | None = None,
) -> Points:
    """Raises ValueError, naming the index and the value, for what has no logarithm."""
    sizes = _positive("sizes", sizes)
    losses = _positive("losses", losses)
    if len(losses) != len(sizes):
        raise ValueError(f"{len(sizes)} sizes but {len(losses)} losses")
    relative = None
    if stderr is not None:
        stderr = _positive("stderr", stderr)
        if len(stderr) != len(sizes):
            raise ValueError(f"{len(sizes)} sizes but {len(stderr)} stderr")
        relative = stderr / losses
    member = np.zeros(len(sizes), int)
    if groups is not None:
        labels = list(groups)
        if len(labels) != len(sizes):
            raise ValueError(f"{len(sizes)} sizes but {len(labels)} groups")
        member = number_labels(labels)
    return Points(sizes, losses, relative, member)


def number_labels(labels: Sequence[Hashable]) -> Int[np.ndarray, "points"]:
    """Labels as 0, 1, 2, ... in order of appearance; they may be of any hashable kind, mixed."""
    index = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    return np.array([index[label] for label in labels], int)


def _positive(name: str, values: Numbers) -> Float[np.ndarray, "points"]:
    values = np.asarray(values)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(
            f"{name} has shape {values.shape}; one or more numbers in a row are needed"
        )
    try:
        values = values.astype(float)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} holds something that is not a number: {values.tolist()!r}"
        ) from None
    for index in np.flatnonzero(~(np.isfinite(values) & (values > 0)))[:1]:
        raise ValueError(f"{name}[{index}] is {values[index]:g}; it must be positive and finite")
    return values
