"""The plan of a job: which rungs train together, in what order, for how many steps."""

from typing import NamedTuple

from toydepth.config import Train


class Phase(NamedTuple):
    """Rungs that train side by side. A rung that is not reported is a step of an inner ramp."""

    sizes: tuple[int, ...]
    steps: int
    reported: bool = True


def plan(train: Train, sizes: tuple[int, ...]) -> list[Phase]:
    """Continuation: one rung after another, shallow to deep; scratch: all of them at once.

    A single rung by continuation is reached through a ramp of halved sizes, down to 2 or 3.
    """
    steps = train.steps if len(train.steps) > 1 else train.steps * len(sizes)
    rungs = sorted(zip(sizes, steps, strict=True))
    if train.method == "scratch":
        return [Phase(tuple(size for size, _ in rungs), train.steps[0])]
    ramp = halvings(*rungs[0]) if len(rungs) == 1 else []
    return ramp + [Phase((size,), steps) for size, steps in rungs]


def halvings(size: int, steps: int) -> list[Phase]:
    """The unreported rungs below a single one, from the shallowest up."""
    ramp = []
    while size >= 4:
        size //= 2
        ramp.append(Phase((size,), steps, reported=False))
    return ramp[::-1]
