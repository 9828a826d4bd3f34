"""Many sparse features in few dimensions: the toy of the loss against width (arXiv 2505.10465).

Feature i of n is there with probability p_i ~ i^-(1 + skew), its value uniform on (0, 2). The
student squeezes x through m < n dimensions, x -> relu(W W' x + b). In superposition every feature
has its row of W, and rows that overlap by 1/m in mean square leave a loss of 1/m.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from toydepth.config import Experiment
from toydepth.toy.problem import Problem, variants
from toydepth.toy.random import Purpose, key_for

Params = dict[str, Float[Array, "features ..."]]  # w (features, width), b (features,)


def probabilities(features: int, skew: float, active: float) -> Float[Array, "features"]:
    """P(feature i is there), in proportion to i^-(1 + skew); `active` are there on average."""
    weights = jnp.arange(1, features + 1, dtype=jnp.float32) ** -(1 + skew)
    return active * weights / jnp.sum(weights)


def present(
    probability: Float[Array, "features"], drawn: Float[Array, "rows features"]
) -> Float[Array, "rows features"]:
    """Features from numbers drawn uniformly on [0, 1): there if below p, and then 2 drawn / p."""
    return jnp.where(drawn < probability, 2 * drawn / probability, 0.0)


def drawn(
    key: Key[Array, ""], step: Int[Array, ""], rows: Int[Array, "rows"], features: int
) -> Float[Array, "rows features"]:
    """Uniform numbers for the given rows of the batch at one step.

    Small ones have all the digits of a 32-bit draw, since a rare feature is there at those alone.
    """
    keys = jax.vmap(jax.random.fold_in, (None, 0))(jax.random.fold_in(key, step), rows)
    bits = jax.vmap(lambda k: jax.random.bits(k, (features,)))(keys)
    return bits.astype(jnp.float32) * 2.0**-32


def reconstruct(params: Params, x: Float[Array, "rows features"]) -> Float[Array, "rows features"]:
    """relu(W W' x + b)."""
    return jax.nn.relu(x @ params["w"] @ params["w"].T + params["b"])


def growth(params: Params, decay: float) -> Params:
    """What an update adds for the decay of W, in units of the learning rate; b has none.

    W decays in proportion to itself if `decay` is positive. If it is negative each row moves
    towards length 1: W changes by rate * decay * W (1 - 1/|row|).
    """
    w = params["w"]
    pull = decay * w
    if decay < 0:
        length = jnp.linalg.norm(w, axis=1, keepdims=True)
        pull = -decay * (w - w / jnp.maximum(length, 1e-8))
    return {"w": pull, "b": jnp.zeros_like(params["b"])}


REPRESENTED = 0.5  # length of a row from which its feature counts as represented


def geometry(w: Float[Array, "features width"]) -> dict[str, Float[Array, ""]]:
    """The share of features that are represented, and how their rows overlap.

    `overlap` is the mean square of the cosine between two of those rows, which is at least about
    1 / width; the sum over all pairs of rows u is the squared norm of U'U.
    """
    length = jnp.linalg.norm(w, axis=1, keepdims=True)
    there = length > REPRESENTED
    unit = jnp.where(there, w / jnp.maximum(length, 1e-8), 0.0)
    count = jnp.sum(there, dtype=jnp.float32)  # pairs of a million are beyond whole numbers
    every = jnp.sum(jnp.square(unit.T @ unit))
    pairs = jnp.maximum(count * (count - 1), 1)
    return {"represented": count / len(w), "overlap": (every - count) / pairs}


def superposition_problem(e: Experiment) -> Problem:
    """Autoencoders of several widths for the same features."""
    features, decay = e.teacher.features, e.optimizer.weight_decay
    found = variants(e)

    def teacher(seed: int) -> Float[Array, "features"]:
        """The features' probabilities in an order of their own, so that replicas differ."""
        p = probabilities(features, e.teacher.skew, e.teacher.active)
        return jax.random.permutation(key_for(seed, Purpose.TEACHER), p)

    def start(width: int) -> Params:
        w = jax.random.normal(key_for(e.seed, Purpose.STUDENT), (features, width))
        return {"w": e.student.scale * width**-0.5 * w, "b": jnp.zeros(features)}

    def loss(params: Params, teacher, condition, x, target) -> Float[Array, ""]:
        """Squared error summed over features, mean over the batch."""
        error = reconstruct(params, target) - target
        return jnp.mean(jnp.sum(jnp.square(error), axis=-1))

    return Problem(
        axis="width",
        conditions=jnp.zeros(len(found)),
        labels=tuple(v.label for v in found),
        rates=tuple(v.rate for v in found),
        teacher=teacher,
        key=partial(key_for, e.seed),
        inputs=partial(drawn, features=features),
        targets=present,
        target_cost=1.0,
        start=start,
        grow=lambda params, _: params,
        loss=loss,
        training_loss=None,
        decay=partial(growth, decay=decay) if decay else None,
        observe=lambda params, *_: geometry(params["w"]),
    )
