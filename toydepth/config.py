"""The schema of training: every setting, its default, what it may be, and what it means.

`experiment(cfg)` checks a composed configuration and turns it into the frozen `Experiment` that
the rest of toydepth reads. Nothing here imports JAX.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toydepth.settings import (
    SettingError,
    address,
    choice,
    either,
    flag,
    flatten,
    length,
    number,
    one_or_several,
    optional,
    read_schema,
    setting,
    several,
    text,
    whole,
)


@dataclass(frozen=True)
class Teacher:
    kind: str = setting(
        "shared",
        choice("shared", "independent", "mixed", "correlated", "head", "features", "own"),
        "how its layers are drawn; own is a Python function (toydepth.train_ladder)",
    )
    function: str | None = setting(
        None, optional(text()), "what the Python function is called (teacher.kind=own only)"
    )
    depth: int = setting(64, whole(0, 100_000), "its layers; 0 for one that has none")
    seed: int = setting(0, whole(0, 2**31 - 1), "draws its weights; replica r takes seed + r")
    rho: float | None = setting(
        None, optional(number(0, 1)), "correlation of any two layers (teacher=mixed only)"
    )
    correlation_length: float | str | None = setting(
        None,
        optional(length()),
        "layers over which they forget each other (teacher=correlated only)",
    )
    features: int | None = setting(
        None, optional(whole(2, 1_000_000)), "what may be in an input (teacher=features only)"
    )
    skew: float | None = setting(
        None,
        optional(number(0, 10)),
        "feature i is there in proportion to i^-(1 + skew) (teacher=features only)",
    )
    active: float | None = setting(
        None,
        optional(number(above=0)),
        "features in an input on average (teacher=features only)",
    )

    @property
    def drawn_by(self) -> dict[str, float | str]:
        """What its kind is drawn by besides depth and seed, name -> value."""
        return {name: getattr(self, name) for name in DRAWN_BY.get(self.kind, ())}

    @property
    def name(self) -> str:
        return teacher_name(self.kind, self.drawn_by)


DRAWN_BY = {
    "own": ("function",),
    "mixed": ("rho",),
    "correlated": ("correlation_length",),
    "features": ("features", "skew", "active"),
}


def teacher_name(kind: str, drawn_by: Mapping[str, Any]) -> str:
    """What to call teachers of a kind, as in `mixed (rho = 0.9)`; one's own, as its function."""
    if kind == "own":
        return f"own {drawn_by['function']}"
    own = [f"{name.replace('_', ' ')} = {as_written(value)}" for name, value in drawn_by.items()]
    return f"{kind} ({', '.join(own)})" if own else kind


def as_written(value: Any) -> Any:
    """A number as a person writes it, 1.0 as 1; anything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


@dataclass(frozen=True)
class Student:
    block: str = setting(
        "residual",
        choice("residual", "midpoint", "looped", "head", "autoencoder", "own"),
        "one step of its state, or what a student without layers is; own is a toydepth.Block",
    )
    function: str | None = setting(
        None, optional(text()), "what the Python object is called (student.block=own only)"
    )
    depth: tuple[int, ...] = setting(
        16, several(whole(0, 10_000)), "its blocks; a list makes a ladder"
    )
    width: int | tuple[int, ...] = setting(
        16,
        one_or_several(whole(1, 65_536)),
        "of its state and the teacher's; of an autoencoder, a list makes a ladder",
    )
    scale: float | None = setting(
        None,
        optional(number(0, 1e6)),
        "of the weights at the start, times sqrt(width) (without layers only)",
    )


@dataclass(frozen=True)
class Objective:
    kind: str = setting(
        "mse", choice("mse", "kl", "own"), "what the student is asked to match; own is Python"
    )
    function: str | None = setting(
        None, optional(text()), "what the Python function is called (objective.kind=own only)"
    )
    head: str | None = setting(
        None, optional(choice("learned", "frozen")), "who gives the student its head (kl only)"
    )
    vocabulary: int | None = setting(
        None, optional(whole(2, 1_000_000)), "outputs of the head (kl only)"
    )


@dataclass(frozen=True)
class Target:
    temperature: tuple[float, ...] = setting(
        1.0, several(number(1e-6, 1e6)), "divides the teacher's logits; a list trains one each"
    )


@dataclass(frozen=True)
class Train:
    method: str = setting(
        "continuation",
        choice("continuation", "scratch"),
        "each rung from the one below it, or all from zero at once",
    )
    steps: tuple[int, ...] = setting(
        5_000,
        several(whole(1, 10**9), distinct=False),
        "updates of a rung; a list gives each rung its own",
    )
    converge: bool = setting(
        False, flag(), "train on with twice the steps until the loss stays, and say if it did"
    )
    tolerance: float = setting(
        0.05, number(0, 1), "fall of the loss by the last doubling under which it stays"
    )
    max_doublings: int = setting(3, whole(1, 20), "budget of doublings for a rung")
    precision: str = setting(
        "float32",
        choice("float32", "bfloat16"),
        "of the MLPs' products in training; tests are float32",
    )
    batch_size: int = setting(256, whole(1, 10**7), "fresh inputs of each step")
    test_batches: int = setting(10, whole(2, 10_000), "fresh batches of the test loss")
    tests: int = setting(20, whole(1, 10_000), "test losses taken along the way of each rung")


@dataclass(frozen=True)
class Optimizer:
    name: str = setting("adam", choice("adam", "sgd"), "the update rule")
    learning_rate: float | tuple[float, ...] = setting(
        8e-3,
        one_or_several(number(above=0, high=1e30)),
        "peak rate at depth 1 (or width 1); a list trains one each",
    )
    depth_exponent: float = setting(
        0.5,
        number(0, 2),
        "peak rate = learning_rate / depth^depth_exponent; width, where there are no layers",
    )
    weight_decay: float = setting(
        0.0,
        number(),
        "decoupled decay per unit of rate; below 0 the rows of an autoencoder grow to length 1",
    )
    b1: float = setting(0.95, number(0, 0.999999), "decay of the mean of the gradient")
    b2: float = setting(0.95, number(0, 0.999999), "decay of the mean of its square")
    eps: float = setting(1e-8, number(above=0, high=1), "added to the root of the mean square")


@dataclass(frozen=True)
class Schedule:
    warmup: float = setting(0.02, number(0, 0.9), "share of the steps in which the rate rises")
    constant: float = setting(
        0.0, number(0, 1), "share of the steps after which the rate falls, if later than warmup"
    )
    final: float = setting(1e-3, number(0, 1), "share of the peak rate at the last step")
    fall: str = setting("linear", choice("linear", "cosine"), "how the rate falls")


@dataclass(frozen=True)
class Hessian:
    eigenvalues: int = setting(
        0, whole(0, 100), "largest eigenvalues of the loss's Hessian, taken at each test; 0 is none"
    )
    probes: int = setting(16, whole(2, 10_000), "random vectors from which its trace is estimated")


@dataclass(frozen=True)
class Engine:
    chunk: int = setting(100, whole(1, 100_000), "steps between two looks at the loss")
    target_cache_gb: float = setting(
        2.0, number(0, 1e6), "memory for targets that a later rung will ask for again"
    )
    checkpoint_seconds: float = setting(30.0, number(0, 1e6), "time between checkpoints")


@dataclass(frozen=True)
class Parallel:
    devices: int | None = setting(
        None,
        optional(whole(1, 4096)),
        "devices that share the batch, over all processes; null takes all that can",
    )
    processes: int | None = setting(
        None, optional(whole(1, 4096)), "processes that train the job together; null asks Slurm"
    )
    process_id: int | None = setting(
        None, optional(whole(0, 4095)), "which of the processes this is; 0 writes"
    )
    coordinator: str | None = setting(
        None, optional(address()), "where the other processes find process 0"
    )


@dataclass(frozen=True)
class Tracker:
    kind: str = setting("wandb", choice("wandb", "none"), "where numbers go besides the run folder")
    project: str | None = setting(None, optional(text()), "W&B project; null takes W&B's own")
    entity: str | None = setting(None, optional(text()), "W&B entity; null takes W&B's own")
    artifact: bool = setting(
        False, flag(), "keep result.json and the figures as an artifact of the W&B run"
    )


@dataclass(frozen=True)
class Experiment:
    """One job: a ladder of students that learns one teacher."""

    teacher: Teacher = Teacher()
    student: Student = Student()
    objective: Objective = Objective()
    target: Target = Target()
    train: Train = Train()
    optimizer: Optimizer = Optimizer()
    schedule: Schedule = Schedule()
    hessian: Hessian = Hessian()
    engine: Engine = Engine()
    parallel: Parallel = Parallel()
    tracker: Tracker = Tracker()
    replicas: int = setting(1, whole(1, 1024), "teacher seeds trained side by side")
    seed: int = setting(0, whole(0, 2**31 - 1), "draws the inputs and the students' start")
    resume: bool | str = setting(
        False, either(flag(), text()), "go on with the last such run, or with the folder named"
    )

    @property
    def axis(self) -> str:
        """What the size of a rung is called."""
        return "width" if self.student.block in LAYERLESS else "depth"

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the rungs, in the order given."""
        size = self.student.width if self.axis == "width" else self.student.depth
        return size if isinstance(size, tuple) else (size,)


# Students without layers, the teacher that each learns, and the objective that it can have.
LAYERLESS = {"head": ("head", "kl"), "autoencoder": ("features", "mse")}


# Settings that may differ between a checkpoint and the command that goes on from it.
FREE_ON_RESUME = (
    "resume",
    "engine.checkpoint_seconds",
    "engine.target_cache_gb",
    "hessian",
    "parallel",
    "tracker",
)


def experiment(cfg: Mapping[str, Any]) -> Experiment:
    """Checks a composed configuration, plain nested data, and freezes it.

    Raises:
      SettingError: for the first setting that is unknown or not allowed.
    """
    checked = read_schema(Experiment, cfg)
    _check_together(checked)
    return checked


# What may be a Python object: its group -> the setting that is then `own`.
OBJECTS = {"teacher": "kind", "student": "block", "objective": "kind"}


def check_objects(e: Experiment, given: frozenset[str] = frozenset()) -> None:
    """Refuses settings that speak of a Python object which is not among the `given` groups.

    Raises:
      SettingError: for the first of them.
    """
    for room, name in OBJECTS.items():
        kind = getattr(getattr(e, room), name)
        if (kind == "own") != (room in given):
            words = "it is a Python object, which toydepth.train_ladder takes and no command has"
            raise SettingError(f"{room}.{name}", kind, words)


def _check_together(e: Experiment) -> None:
    """The bounds that join several settings."""
    for kind, names in DRAWN_BY.items():
        for name in names:
            value = getattr(e.teacher, name)
            if (value is not None) != (e.teacher.kind == kind):
                words = "needs one" if e.teacher.kind == kind else f"has none; teacher={kind} has"
                raise SettingError(f"teacher.{name}", value, f"teacher={e.teacher.kind} {words}")
    for room, kind in (("student", e.student.block), ("objective", e.objective.kind)):
        function = getattr(e, room).function
        if (function is not None) != (kind == "own"):
            words = "it is called something" if kind == "own" else f"{room}={kind} has none"
            raise SettingError(f"{room}.function", function, words)
    _check_layers(e)
    least = _least_parameters(e)
    if e.hessian.eigenvalues >= least:
        words = f"the smallest student has {least} parameters: fewer than that"
        raise SettingError("hessian.eigenvalues", e.hessian.eigenvalues, words)
    is_kl = e.objective.kind == "kl"
    if is_kl and (e.objective.head is None or e.objective.vocabulary is None):
        missing = "head" if e.objective.head is None else "vocabulary"
        raise SettingError(f"objective.{missing}", None, "objective=kl needs one")
    if not is_kl and (e.objective.head or e.objective.vocabulary):
        named = "head" if e.objective.head else "vocabulary"
        value = getattr(e.objective, named)
        raise SettingError(f"objective.{named}", value, f"objective={e.objective.kind} has no head")
    if not is_kl and e.target.temperature != (1.0,):
        value = (
            list(e.target.temperature) if len(e.target.temperature) > 1 else e.target.temperature[0]
        )
        words = f"objective={e.objective.kind} has none; leave it at 1.0"
        raise SettingError("target.temperature", value, words)
    steps = e.train.steps
    if len(steps) > 1:
        if e.train.method == "scratch":
            raise SettingError(
                "train.steps", list(steps), "train.method=scratch trains all rungs for one number"
            )
        if len(steps) != len(e.student.depth):
            raise SettingError(
                "train.steps",
                list(steps),
                f"it must be one number or one for each of the {len(e.student.depth)} depths",
            )
    _check_processes(e.parallel)
    devices = e.parallel.devices
    if devices is not None:
        shards = row_shards(devices, e.replicas)
        if e.train.batch_size % shards:
            raise SettingError(
                "train.batch_size",
                e.train.batch_size,
                f"parallel.devices={devices} needs a multiple of {shards}",
            )


def _check_processes(p: Parallel) -> None:
    """Several processes have to know which of them each is, and where the first one is."""
    together = p.processes is not None and p.processes > 1
    for name in ("process_id", "coordinator"):
        value = getattr(p, name)
        if together and value is None:
            words = f"parallel.processes={p.processes} needs one"
            raise SettingError(f"parallel.{name}", value, words)
        if not together and value is not None:
            words = "it goes with parallel.processes=N, two or more"
            raise SettingError(f"parallel.{name}", value, words)
    if together and p.process_id >= p.processes:
        words = f"it must be below parallel.processes={p.processes}"
        raise SettingError("parallel.process_id", p.process_id, words)
    if together and p.devices is not None and p.devices % p.processes:
        words = f"parallel.processes={p.processes} needs a multiple of {p.processes}"
        raise SettingError("parallel.devices", p.devices, words)


def _check_layers(e: Experiment) -> None:
    """A teacher and a student have layers both, or neither, and what goes with that."""
    block, kind = e.student.block, e.teacher.kind
    without = block in LAYERLESS
    learned, objective = LAYERLESS.get(block, (kind, None))
    if kind != learned or (not without and kind in dict(LAYERLESS.values())):
        pairs = ", ".join(f"student={b} learns teacher={t}" for b, (t, _) in LAYERLESS.items())
        raise SettingError("student.block", block, f"the teacher is {kind}; {pairs}")
    for name, depths in (("teacher", (e.teacher.depth,)), ("student", e.student.depth)):
        none = without or (name == "teacher" and kind == "own")  # who knows what it is made of
        if none is not (depths == (0,)) or (not none and 0 in depths):
            who = f"student={block}" if without or kind != "own" else "teacher=own"
            words = f"{who} has {'none: 0' if none else 'layers: 1 or more'}"
            raise SettingError(f"{name}.depth", _plain(depths), words)
    widths = e.student.width if isinstance(e.student.width, tuple) else (e.student.width,)
    if isinstance(e.student.width, tuple) and block != "autoencoder":
        words = f"student={block} has one width; a list is for student=autoencoder"
        raise SettingError("student.width", list(widths), words)
    if (e.student.scale is None) is without:
        words = f"student={block} {'needs one' if without else 'has none'}"
        raise SettingError("student.scale", e.student.scale, words)
    if e.optimizer.weight_decay < 0 and block != "autoencoder":
        words = "only the rows of student=autoencoder grow; it must be at least 0"
        raise SettingError("optimizer.weight_decay", e.optimizer.weight_decay, words)
    if not without:
        return
    if e.objective.kind != objective:
        words = f"student={block} has no state to match and learns by objective={objective}"
        if objective == "mse":
            words = f"student={block} has no head and learns by objective={objective}"
        raise SettingError("objective.kind", e.objective.kind, words)
    if e.objective.head == "frozen":
        raise SettingError("objective.head", "frozen", "student=head has nothing else to learn")
    for name, needed in (("method", "scratch"), ("precision", "float32")):
        if getattr(e.train, name) != needed:
            words = f"student={block} has no layers: {needed}"
            raise SettingError(f"train.{name}", getattr(e.train, name), words)
    if kind == "features":
        if max(widths) >= e.teacher.features:
            words = f"every width must be below teacher.features={e.teacher.features}"
            raise SettingError("student.width", _plain(widths), words)
        most = sum(i ** -(1 + e.teacher.skew) for i in range(1, e.teacher.features + 1))
        if e.teacher.active > most:
            words = f"with these features and skew at most {most:.6g}, where the first is certain"
            raise SettingError("teacher.active", e.teacher.active, words)


def _least_parameters(e: Experiment) -> int:
    """Of the smallest student; the head of one that has layers is not counted."""
    width = min(e.sizes) if e.axis == "width" else e.student.width
    if e.student.block == "head":
        return width * e.objective.vocabulary
    if e.student.block == "autoencoder":
        return (width + 1) * e.teacher.features
    return 8 * width**2 + 4 * width


def _plain(values: tuple) -> Any:
    """A tuple as it was given: one value by itself."""
    return values[0] if len(values) == 1 else list(values)


def row_shards(devices: int, replicas: int) -> int:
    """Devices that share the rows of a batch, where replicas are split over devices first."""
    return devices // math.gcd(devices, replicas)


def settings(e: Experiment) -> dict[str, Any]:
    """Every setting that the numbers of a run depend on, by dotted name."""
    flat = dict(flatten(e))
    return {
        name: value
        for name, value in flat.items()
        if not any(name == free or name.startswith(f"{free}.") for free in FREE_ON_RESUME)
    }
