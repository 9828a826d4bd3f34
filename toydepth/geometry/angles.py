"""Angles, lengths and projections of hidden states, token by token, in float64."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

# Blocks of about this many float64 numbers stay in a core's caches. Measured on one core, 31 states
# of 576 numbers: 27,000 to 31,000 tokens/s from 2^17 to 2^20, 15,000 at 2^14 and for the whole at
# once. A second thread gained less than the noise.
BLOCK_SIZE = 2**18
# An arc cosine is off by about 1e-15 / sin(angle): nearer to 0 or pi than 1.4e-3 rad, by `angle`.
NEARLY_PARALLEL = 1 - 1e-6
# Norms up to here can be subtracted, multiplied and squared.
LARGEST_NORM = 1e150


class Measures(NamedTuple):
    """What the layers do to each token's state; angles in radians, lengths in the states' units.

    h_l is the state after l layers and dh_l = h_{l+1} - h_l the update of layer l, as in arXiv
    2602.05970. What is not defined is nan: an angle with a zero vector, and the projection when
    the last state is the first.
    """

    theta: Float[np.ndarray, "layers tokens"]
    """Between h_l and h_{l+1}: the step."""
    theta_updates: Float[np.ndarray, "layers-1 tokens"]
    """Between dh_l and dh_{l+1}: near 0 in smooth dynamics, pi/2 in a random walk."""
    norms: Float[np.ndarray, "layers+1 tokens"]
    """|h_l|"""
    update_norms: Float[np.ndarray, "layers tokens"]
    """|dh_l|"""
    to_last: Float[np.ndarray, "layers tokens"]
    """Between h_l and the last state h_L."""
    projection: Float[np.ndarray, "layers+1 tokens"]
    """(h_l - h_0) . (h_L - h_0) / |h_L - h_0|^2: 0 at the start, 1 at the end."""


def angle(
    a: Float[np.ndarray, "*batch width"], b: Float[np.ndarray, "*batch width"]
) -> Float[np.ndarray, "*batch"]:
    """The angle in radians between vectors along the last axis, which may broadcast.

    2 atan2(|u - v|, |u + v|) for the unit vectors u and v: as exact near 0 and pi as elsewhere
    (W. Kahan, *How Futile are Mindless Assessments of Roundoff*, "Mangled angles"), where the arc
    cosine of a product sees nothing below 1e-8. nan where a vector is zero or not finite.
    """
    u, v = _unit(a), _unit(b)
    return 2 * np.arctan2(np.linalg.norm(u - v, axis=-1), np.linalg.norm(u + v, axis=-1))


def measure(states: Float[np.ndarray, "layers+1 tokens width"]) -> Measures:
    """Every measure of every token, from the states before, between and after the layers.

    `states` may be of any real type and layout; a few tokens at a time are taken to float64. A
    vector all of whose numbers are below 1e-160 counts as zero.

    Raises ValueError for states that are not of three dimensions or not real, for fewer than two
    layers, no token or no width, and for a state that is not finite or longer than 1e150.
    """
    states = np.asarray(states)
    _check(states)
    depth, tokens, width = len(states) - 1, *states.shape[1:]
    found = Measures(
        *(
            np.empty((rows, tokens))
            for rows in (depth, depth - 1, depth + 1, depth, depth, depth + 1)
        )
    )
    step = min(tokens, max(1, BLOCK_SIZE // ((depth + 1) * width)))
    # Filled again and again: arrays given back to the system and asked for anew cost most of all.
    block, updates = np.empty((depth + 1, step, width)), np.empty((depth, step, width))
    for start in range(0, tokens, step):
        some = slice(start, min(start + step, tokens))
        count = some.stop - some.start
        block[:, :count] = states[:, some]
        for values, part in zip(found, _block(block[:, :count], updates[:, :count]), strict=True):
            values[:, some] = part
    for layer, token in np.argwhere(~(found.norms < LARGEST_NORM))[:1]:
        largest = np.abs(states[layer, token].astype(np.float64)).max()
        raise ValueError(
            f"states[{layer}, {token}], after {layer} layers of token {token}, holds {largest:g}; "
            f"every state must be finite and shorter than {LARGEST_NORM:g}"
        )
    return found


def _block(
    states: Float[np.ndarray, "layers+1 tokens width"],
    updates: Float[np.ndarray, "layers tokens width"],
) -> Measures:
    """`measure`, of few float64 states; `updates` is room for their differences."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        np.subtract(states[1:], states[:-1], out=updates)
        norms, update_norms = _norms(states), _norms(updates)
        # Sums of updates, and not differences of projected states, which cancel.
        progress = np.cumsum(np.vecdot(updates, states[-1] - states[0]), axis=0)
        return Measures(
            theta=_angles(states[:-1], states[1:], norms[:-1], norms[1:]),
            theta_updates=_angles(updates[:-1], updates[1:], update_norms[:-1], update_norms[1:]),
            norms=norms,
            update_norms=update_norms,
            to_last=_angles(states[:-1], states[-1:], norms[:-1], norms[-1:]),
            projection=np.concatenate([0 * progress[:1], progress]) / progress[-1],
        )


def _angles(a, b, a_norms, b_norms) -> Float[np.ndarray, "layers tokens"]:
    """`angle`, at a quarter of its time where the arc cosine is exact enough."""
    cosines = np.vecdot(a, b) / (a_norms * b_norms)
    angles = np.arccos(np.clip(cosines, -1, 1))
    near = np.nonzero(np.abs(cosines) > NEARLY_PARALLEL)
    if len(near[0]):
        angles[near] = angle(a[near], np.broadcast_to(b, a.shape)[near])
    return angles


def _norms(vectors: Float[np.ndarray, "*batch width"]) -> Float[np.ndarray, "*batch"]:
    return np.sqrt(np.vecdot(vectors, vectors))


def _unit(vectors: Float[np.ndarray, "*batch width"]) -> Float[np.ndarray, "*batch width"]:
    vectors = np.asarray(vectors).astype(np.float64)
    with np.errstate(invalid="ignore"):
        # By the largest first: the squares neither overflow nor vanish.
        vectors = vectors / np.abs(vectors).max(axis=-1, keepdims=True)
        return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def _check(states: np.ndarray) -> None:
    if states.ndim != 3:
        raise ValueError(f"states have shape {states.shape}; (layers + 1, tokens, width) is needed")
    if len(states) < 3 or 0 in states.shape:
        raise ValueError(
            f"states have shape {states.shape}, (layers + 1, tokens, width); "
            "at least two layers, one token and a width of 1 are needed"
        )
    if not np.can_cast(states.dtype, np.float64, "same_kind"):
        raise ValueError(f"states are of type {states.dtype}; real numbers are needed")
