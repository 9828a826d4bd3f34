"""The records that runs leave behind: what result.json may hold, and how records are read.

Every record is a frozen model that pydantic checks, on writing as on reading. A file that is not
what it should be ends in a ResultError, one line that names the file and the field. Nothing here
imports JAX.
"""

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from toydepth.config import DRAWN_BY
from toydepth.files import write_json
from toydepth.results.fields import (
    LARGEST,
    Axis,
    Count,
    Length,
    Record,
    Setting,
    Several,
    Temperature,
    Text,
    Whole,
    shown,
    without_none,
    wrong,
)
from toydepth.settings import fold

SCHEMA = 2
SKIPPED = ("checkpoints", "wandb")


class ResultError(ValueError):
    """A folder or a file that is not what it should be; the message is one line."""


class Estimate(Record):
    """A value, its standard error and its 95 % interval, as far as they are known."""

    value: float
    stderr: float | None = None
    low: float | None = None
    high: float | None = None

    @model_validator(mode="after")
    def _both_ends(self) -> Self:
        if (self.low is None) != (self.high is None):
            raise wrong("an estimate with both ends of its interval, or neither")
        return self

    def __str__(self) -> str:
        """Such as "0.34 (0.33 to 0.35)", as far as it is known."""
        ends = "" if self.low is None else f" ({self.low:.2f} to {self.high:.2f})"
        return f"{self.value:.2f}{ends}"


class LocalAlpha(Record):
    """Alpha between the neighbouring sizes `start` < `stop`."""

    start: float
    stop: float
    value: float
    stderr: float | None = None


class Teacher(Record):
    """What a teacher is drawn by. Those of its settings that its kind does without are None."""

    kind: Text
    depth: Whole
    width: Count
    function: Text | None = None
    rho: float | None = None
    correlation_length: Length | None = None
    features: Count | None = None
    skew: float | None = None
    active: float | None = None

    @property
    def drawn_by(self) -> dict[str, Any]:
        """What such teachers are drawn by besides depth, width and seed."""
        return {name: getattr(self, name) for name in DRAWN_BY.get(self.kind, ())}

    @model_validator(mode="after")
    def _drawn(self) -> Self:
        for name, value in self.drawn_by.items():
            if value is None:
                raise wrong("missing", name)
        return self

    @model_serializer(mode="wrap")
    def _known(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return without_none(handler(self))


class SeededTeacher(Teacher):
    """The teacher of a run: replica r has the seed `seed + r`."""

    seed: Whole


class Rung(Record):
    """One student of a ladder, and how it ended.

    `size` is its depth or its width, as the run's `axis` says. `loss` is on test batches; a rung
    that diverged has none. `temperature` and `peak_rate` tell variants apart that train side by
    side, and are None where the loss has no temperature or the run has one rate. `converged` is
    None where that was not measured. `annealed` are the test losses at the end of each schedule,
    `observed` what else the last test measured.
    """

    size: Count
    replica: Whole
    temperature: float | None = None
    peak_rate: float | None = None
    loss: float | None
    loss_stderr: float | None
    loss_as_trained: float | None = None
    steps: Whole
    parameters: Whole
    converged: bool | None
    status: Literal["completed", "diverged"]
    diverged_step: Whole | None = None
    annealed: Several[float | None] = ()
    observed: dict[Text, float | None] = {}

    @property
    def has_logarithm(self) -> bool:
        """Whether it is completed with a loss above zero, as a power law needs it."""
        return self.status == "completed" and (self.loss or 0) > 0


class Exponents(Record):
    """Alpha over all rungs and over those that converged; why it, or its interval, is missing."""

    alpha: Estimate | None = None
    alpha_converged: Estimate | None = None
    alpha_reason: Text | None = None
    local_alpha: Several[LocalAlpha] = ()


class ReplicaExponents(Exponents):
    """Those of one replica and variant by itself."""

    replica: Whole
    temperature: float | None = None
    peak_rate: float | None = None


# Settings that a record says elsewhere: in its teacher, its objective and its temperature.
SAID = frozenset(
    {"objective.kind", "target.temperature"}
    | {f"teacher.{name}" for name in SeededTeacher.model_fields}
)


def _check_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Nothing is said twice, and the seed is there, which tells replicas apart."""
    for name in SAID & settings.keys():
        raise wrong("unknown", name)
    seed = settings.get("seed")
    if type(seed) is not int or not 0 <= seed <= LARGEST:
        raise wrong("a whole number, 0 or more" if "seed" in settings else "missing", "seed", seed)
    return settings


class RunRecord(Exponents):
    """result.json: one job, its ladder and its exponent.

    `settings` are those on which the numbers depend, by dotted name, that nothing else here says;
    `every_setting` has them all. `ramp_diverged` are rungs that diverged on the way to one that
    was asked for. `regimes` are the exponents of each replica and variant, where there are
    several.
    """

    schema_: Literal[2] = Field(SCHEMA, alias="schema")
    status: Literal["completed", "diverged", "failed"]
    error: Text | None = None
    experiment: Text | None = None
    axis: Axis
    teacher: SeededTeacher
    objective: Text
    temperature: Temperature
    settings: Annotated[dict[Text, Setting], AfterValidator(_check_settings)]
    rungs: Several[Rung]
    ramp_diverged: Several[Rung] = ()
    regimes: Several[ReplicaExponents] = ()
    seconds: float | None = None
    compile_seconds: float | None = None
    devices: Count | None = None
    versions: dict[Text, Text | None] = {}

    @property
    def seed(self) -> int:
        return self.settings["seed"]

    @property
    def every_setting(self) -> dict[str, Any]:
        """All that the numbers depend on, by dotted name."""
        heats = [1.0] if self.temperature is None else self.temperature
        said = {
            f"teacher.{name}": getattr(self.teacher, name) for name in SeededTeacher.model_fields
        }
        said["objective.kind"] = self.objective
        said["target.temperature"] = list(heats) if isinstance(heats, Sequence) else [heats]
        return said | self.settings


def read_result(path: Path) -> RunRecord:
    """The contents of one result.json. Raises ResultError, naming the file and the field."""
    return read_record(path, RunRecord, "result")


R = TypeVar("R", bound=Record)


def read_record(path: Path, model: type[R], name: str) -> R:
    """What a file holds, as the model says; `name` is what such a file is called.

    Raises ResultError, naming the file and the first field that is not what it should be.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except (OSError, UnicodeDecodeError) as error:
        raise ResultError(f"{path} cannot be read: {fold(error)}") from None
    except (ValueError, RecursionError) as error:
        raise ResultError(f"{path} is not JSON: {fold(error)}") from None
    if not isinstance(found, dict) or "schema" not in found:
        raise ResultError(f"{path} is not a toydepth {name}: it has no schema")
    if type(found["schema"]) is not int or found["schema"] != SCHEMA:
        schema = shown(found["schema"])
        raise ResultError(f"{path} has schema {schema}; this toydepth reads schema {SCHEMA}")
    try:
        return model.model_validate(found)
    except ValidationError as error:
        raise ResultError(f"{path} is not a toydepth {name}: {_first(error)}") from None


def write_record(path: Path, record: Record) -> None:
    """Writes it as JSON, all of it or nothing; OSError if that fails."""
    found = record.model_dump()
    write_json(path, {"schema": found["schema"]} | found)


ALLOWED = {
    "bool_type": "true or false",
    "dict_type": "an object",
    "finite_number": "a finite number",
    "float_type": "a finite number",
    "greater_than_equal": "a whole number, {ge} or more",
    "int_type": "a whole number",
    "less_than_equal": "a whole number, {le} or less",
    "literal_error": "{expected}",
    "model_type": "an object",
    "tuple_type": "a list",
}


def _first(error: ValidationError) -> str:
    """One line on the first field that is wrong: where it is, what it is, what is allowed."""
    found = error.errors(include_url=False)[0]
    more, value, kind = found.get("ctx", {}), shown(found["input"]), found["type"]
    words = ALLOWED.get(kind, found["msg"]).format(**more) if kind in ALLOWED else found["msg"]
    place = found["loc"]
    if kind == "wrong" and more["field"]:
        place, value = (*place, more["field"]), more["value"]
    where = "".join(f"[{at}]" if isinstance(at, int) else f".{at}" for at in place).lstrip(".")
    if kind == "missing" or words == "missing":
        return fold(f"{where} is missing")
    if kind == "extra_forbidden" or words == "unknown":
        return fold(f"{where} is no field of it")
    return fold(f"{where} is {value}, not {words.replace(chr(39), '')}")


def _refuse_constant(name: str):
    raise ValueError(f"{name} is not a JSON number")


def find_runs(folder: Path) -> tuple[list[Path], list[Path]]:
    """(result.json files, job folders without one) at and below `folder`, in order of path.

    A job folder holds Hydra's `.hydra`, left by train. Symlinks are not followed, and
    `checkpoints` and `wandb` are not entered. Raises ResultError if there is
    neither.
    """
    if not folder.is_dir():
        raise ResultError(f"RUN={folder} is not a run: no such folder")
    results, unfinished = [], []
    for parent, folders, files in os.walk(folder, onerror=_refuse_folder):
        here = Path(parent)
        if "result.json" in files and not (here / "result.json").is_symlink():
            results.append(here / "result.json")
        elif ".hydra" in folders:
            config = here / ".hydra" / "config.yaml"
            if not config.exists() or left_by_train(config):
                unfinished.append(here)
        folders[:] = sorted(name for name in folders if name not in SKIPPED and name != ".hydra")
    if not results and not unfinished:
        raise ResultError(f"RUN={folder} is not a run: no result.json below it")
    return results, unfinished


def left_by_train(mark: Path) -> bool:
    """Whether Hydra left the file for train; other verbs' folders lie beside its own."""
    try:
        return re.search(r"^teacher:", mark.read_text(errors="replace"), re.MULTILINE) is not None
    except OSError:
        return False


def _refuse_folder(error: OSError):
    raise ResultError(f"{error.filename} cannot be searched: {error.strerror}")
