"""A softmax head alone: the toy of the loss along training (arXiv 2602.03685).

The teacher is a head at a temperature T; the student is one too, and learns its distribution. At
low T the targets are peaked, and the softmax can match them only as its weights grow: the loss
falls as time^-1/3, where every cell of temperature and rate is a race of its own.
"""

from functools import partial

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

from toydepth.config import Experiment
from toydepth.toy import stream
from toydepth.toy.layers import rms_norm
from toydepth.toy.problem import Problem, variants, weight_decay
from toydepth.toy.random import Purpose, key_for
from toydepth.toy.teacher import draw_head

Head = Float[Array, "width vocabulary"]
# The teacher's probabilities at each temperature, and their entropy in nats.
Answers = tuple[Float[Array, "temperature rows vocabulary"], Float[Array, "temperature rows"]]


def head_problem(e: Experiment) -> Problem:
    """Students of one head that learn a head, at each temperature and learning rate."""
    width, vocabulary = e.student.width, e.objective.vocabulary
    temperatures = jnp.array(e.target.temperature, jnp.float32)
    found = variants(e)
    shape, scale = (width, vocabulary), e.student.scale * width**-0.5

    def inputs(key, step, rows):
        return rms_norm(stream.inputs(key, step, rows, width))

    def targets(teacher: Head, x: Float[Array, "rows width"]) -> Answers:
        log_p = jax.nn.log_softmax(x @ teacher / temperatures[:, None, None])
        p = jnp.exp(log_p)
        return p, -jnp.sum(p * log_p, axis=-1)

    def start(_: int) -> dict[str, Head]:
        drawn = jax.random.normal(key_for(e.seed, Purpose.STUDENT), shape)
        return {"head": scale * drawn}

    def loss(
        params: dict[str, Head],
        teacher: Head,
        temperature: Int[Array, ""],
        x: Float[Array, "rows width"],
        target: Answers,
    ) -> Float[Array, ""]:
        """KL(teacher || student) in nats, mean over the batch; `temperature` is its place."""
        p, entropy = jax.tree.map(lambda t: t[temperature], target)
        logits = x @ params["head"]
        # The entropy is taken off row by row: the mean of small differences keeps their digits.
        cross = jax.nn.logsumexp(logits, axis=-1) - jnp.sum(p * logits, axis=-1)
        return jnp.mean(cross - entropy)

    def observe(params, *rest) -> dict[str, Float[Array, ""]]:
        gradient = jax.grad(loss)(params, *rest)
        return {
            "gradient_norm": optax.tree.norm(gradient),
            "weight_norm": optax.tree.norm(params),
        }

    return Problem(
        axis="width",
        conditions=jnp.array([e.target.temperature.index(v.temperature) for v in found]),
        labels=tuple(v.label for v in found),
        rates=tuple(v.rate for v in found),
        teacher=lambda seed: draw_head(key_for(seed, Purpose.HEAD), *shape, "learned"),
        key=partial(key_for, e.seed),
        inputs=inputs,
        targets=targets,
        target_cost=0.0,
        start=start,
        grow=lambda params, _: params,
        loss=loss,
        training_loss=None,
        decay=weight_decay(e),
        observe=observe,
    )
