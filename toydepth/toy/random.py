"""Randomness: one seed, folded by purpose, so that no two uses share a stream."""

import enum

import jax
from jaxtyping import Array, Key


class Purpose(enum.IntEnum):
    """What a key is for. The numbers are part of a run's identity: never reuse one."""

    TRAIN = 0
    TEST = 1
    STUDENT = 2
    TEACHER = 3
    HEAD = 4


def key_for(seed: int, purpose: Purpose) -> Key[Array, ""]:
    """The key of one purpose under one seed."""
    return jax.random.fold_in(jax.random.key(seed), int(purpose))
