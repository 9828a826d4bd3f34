"""`train_ladder`: from settings to an answer, in Python; and `compare`, of any ladders and runs.

    ladder = toydepth.train_ladder(teacher="independent", depth=(3, 6, 12, 24))
    ladder.alpha, ladder.rungs

The command `python -m toydepth.train` trains by the same core, `train/core.py`, to the same bits.
"""

import dataclasses
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.types import Quote, QuotedString
from jaxtyping import PyTree
from omegaconf import OmegaConf

from toydepth import config
from toydepth.commands import command_line
from toydepth.commands.command_line import Command
from toydepth.commands.folder import claim, holds_run, let_go
from toydepth.config import OBJECTS, Experiment, check_objects
from toydepth.engine import Stopped, borrowed_devices
from toydepth.files import History, clear_halves, read_history
from toydepth.report.comparison import compare
from toydepth.results.records import (
    Estimate,
    LocalAlpha,
    ResultError,
    Rung,
    RunRecord,
    read_result,
    write_record,
)
from toydepth.results.weights import as_arrays, read_rung, rung_file, save_rung
from toydepth.settings import SettingError, nested, reason
from toydepth.toy import Block, Own, called, check_numbers, fingerprint, problem_of
from toydepth.train import resume
from toydepth.train.core import grid, train_in_folder, train_in_memory
from toydepth.train.signals import interruptible
from toydepth.train.training_command import VERB

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Ladder:
    """Trained students of several sizes, and what their losses say of the exponent.

    Attributes:
      record: all that result.json says.
      folder: where it lies on the disk, or None.

    >>> words = ["train.steps=20", "teacher.depth=4", "train.batch_size=32"]
    >>> ladder = toydepth.train_ladder(depth=(2, 4), width=8, overrides=words, progress=False)
    >>> ladder.rungs[1].size, ladder.rungs[1].steps
    (4, 20)
    >>> print(ladder.alpha, ladder.alpha_reason)
    None two depths: an exponent needs three
    >>> ladder.weights(depth=4)["layers"]["b_in"].shape  # replica, condition, layer, hidden
    (1, 1, 4, 32)
    """

    record: RunRecord
    folder: Path | None
    _history: Sequence[dict[str, Any]] | None
    _weights: dict[int, PyTree]
    _words: tuple[str, ...]
    _configuration: dict[str, Any]

    @property
    def alpha(self) -> Estimate | None:
        """The exponent of loss ~ size^-alpha over all rungs, with its 95 % interval.

        None where it cannot be told; `alpha_reason` says why.
        """
        return self.record.alpha

    @property
    def alpha_reason(self) -> str | None:
        """Why alpha, or its interval, is missing."""
        return self.record.alpha_reason

    @property
    def local_alpha(self) -> tuple[LocalAlpha, ...]:
        """The exponent between neighbouring sizes."""
        return tuple(self.record.local_alpha)

    @property
    def rungs(self) -> tuple[Rung, ...]:
        """Each student: `size`, `loss`, `loss_stderr`, `steps`, `parameters`, `converged`, ..."""
        return tuple(self.record.rungs)

    @cached_property
    def history(self) -> Sequence[dict[str, Any]]:
        """Every measurement on the way, as lines of history.jsonl."""
        return read_history(self.folder) if self._history is None else self._history

    def weights(self, depth: int | None = None, *, width: int | None = None) -> PyTree:
        """The parameters of one rung, arrays (replica, condition, ...) in nested dictionaries.

        Conditions are the temperatures and learning rates that trained side by side.

        Args:
          depth, width: the rung's size, whichever the ladder runs over.

        Raises:
          SettingError: there is no such rung, or it has diverged.
        """
        given = {"depth": depth, "width": width}[self.record.axis]
        kept = sorted(self._kept())
        if given not in kept:
            words = f"there are weights at {kept or 'none'}"
            raise SettingError(self.record.axis, given, words)
        if given in self._weights:
            return self._weights[given]
        return read_rung(rung_file(self.folder, given, self.record.axis))

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Loss against size with the fitted line, on `ax` or on a figure of its own."""
        return compare([self]).plot(ax)

    def save(self, folder: str | Path) -> "Ladder":
        """Writes what the command would have left, without its checkpoints; `load` reads it.

        Raises:
          SettingError: the folder holds a run already, or cannot be written to.
        """
        folder = _absolute(folder)
        if holds_run(folder):
            raise SettingError("folder", folder, "it holds a run; name another folder")
        try:
            (folder / ".hydra").mkdir(parents=True, exist_ok=True)
            if self._configuration:  # a run that was copied without its .hydra has none
                _write_configuration(folder, self._configuration, self._words)
                resume.sign(folder, config.experiment(self._configuration))
            with History.open(folder) as history:
                for line in self.history:
                    history.append(line)
            for size in self._kept():
                params = self.weights(**{self.record.axis: size})
                save_rung(folder, self.record.axis, size, params)
            write_record(folder / "result.json", self.record)
        except OSError as error:
            raise SettingError("folder", folder, f"cannot write there: {error.strerror}") from None
        _report(folder)
        return load(folder)

    def _kept(self) -> list[int]:
        """The sizes of which there are weights."""
        if self.folder is None:
            return list(self._weights)
        sizes = {rung.size for rung in self.rungs}
        return [s for s in sizes if rung_file(self.folder, s, self.record.axis).is_file()]

    def __repr__(self) -> str:
        losses = {rung.size: rung.loss for rung in self.rungs}
        words = ", ".join(
            f"{size}: {'diverged' if loss is None else f'{loss:.3g}'}"
            for size, loss in losses.items()
        )
        alpha = self.alpha or f"None ({self.alpha_reason})"
        return f"Ladder(alpha={alpha}, loss by {self.record.axis} {words})"


def train_ladder(
    teacher: str | Callable | None = None,
    student: str | Block | None = None,
    objective: str | Callable | None = None,
    depth: int | Iterable[int] | None = None,
    width: int | Iterable[int] | None = None,
    overrides: Sequence[str] = (),
    experiment: str | None = None,
    folder: str | Path | None = None,
    progress: bool = True,
) -> Ladder:
    """Trains students of several sizes on one teacher (arXiv 2602.05970, appendix C).

    What is not given is as for the command `python -m toydepth.train`; with the same settings on
    the same devices the numbers are the same to the bit. A KeyboardInterrupt ends it after the
    chunk of steps in hand; with a folder, `overrides=["resume=true"]` goes on from there.

    Args:
      teacher: a kind, such as "shared", or a function (key, width) -> a map of states
        (batch, width) -> (batch, width).
      student: a kind of block, such as "midpoint", or a `Block`.
      objective: "mse", "kl", or a function of the student's and the teacher's normalised last
        states (batch, width), giving a scalar: a mean over the rows.
      depth: of the students; several make a ladder.
      width: of the states; of `student="autoencoder"`, several make a ladder.
      overrides: further settings in Hydra's words, such as "train.steps=300" or "replicas=3".
      experiment: a preset of conf/experiment from which the settings start.
      folder: where to keep the run, as the command would. None writes nothing, and W&B is not
        told.
      progress: whether to show how far it is.

    Raises:
      SettingError: the first setting that is not allowed, in the words of the command.
      KeyboardInterrupt: it was interrupted.

    >>> words = ["train.steps=30", "teacher.depth=4", "train.batch_size=32"]
    >>> ladder = toydepth.train_ladder(
    ...     teacher="independent", depth=(2, 3, 4), width=8, overrides=words, progress=False
    ... )
    >>> [rung.size for rung in ladder.rungs]
    [2, 3, 4]
    >>> ladder.alpha.low < ladder.alpha.value < ladder.alpha.high
    True
    """
    given = {"teacher": teacher, "student": student, "objective": objective}
    words = _words(experiment, given, depth, width, overrides)
    own = Own(*(None if isinstance(thing, str) else thing for thing in given.values()))
    with _ONE_AT_A_TIME:
        return _train(words, own, experiment, folder, progress)


# JAX's configuration, Hydra's state and the handlers of signals are of the whole process.
_ONE_AT_A_TIME = threading.RLock()


def _train(
    words: list[str],
    own: Own,
    experiment: str | None,
    folder: str | Path | None,
    progress: bool,
) -> Ladder:
    """What `train_ladder` does, of what it was given in words and in objects."""
    command = _one(_compose(words))
    (e,) = command.jobs
    check_objects(e, own.given)
    if e.parallel.processes not in (None, 1):
        said = "several processes train one job by python -m toydepth.train"
        raise SettingError("parallel.processes", e.parallel.processes, said)
    if folder is None:
        return _in_memory(e, own, words, experiment, progress)
    return _in_folder(command, _absolute(folder), own, words, experiment, progress)


def _compose(words: list[str]) -> Command:
    """The checked command line of these words, also where Hydra is in use by somebody else."""
    for word in words:
        if word.startswith("-"):
            raise SettingError("overrides", word, "each is a setting, name=value")
    known = GlobalHydra.instance().hydra
    GlobalHydra.instance().hydra = None
    try:
        return command_line.read_command(VERB, words)
    finally:
        GlobalHydra.instance().hydra = known  # Hydra may have put another instance there


def _absolute(folder: str | Path) -> Path:
    """Where a folder is, wherever the process goes later."""
    return Path(folder).expanduser().absolute()


def load(folder: str | Path) -> Ladder:
    """A ladder from its folder, left by `train_ladder`, `Ladder.save` or the command.

    Raises:
      ResultError: there is no result, or it is not what it should be; one line.

    >>> words = ["train.steps=20", "teacher.depth=4", "train.batch_size=32"]
    >>> ladder = toydepth.train_ladder(depth=2, width=8, overrides=words, progress=False)
    >>> saved = ladder.save("run")
    >>> toydepth.load("run").rungs == ladder.rungs
    True
    """
    folder = _absolute(folder)
    if not (folder / "result.json").is_file():
        raise ResultError(f"{folder} is not a run that has ended: there is no result.json in it")
    hydra = folder / ".hydra"
    record = read_result(folder / "result.json")
    words = _yaml(hydra / "overrides.yaml", [])
    return Ladder(record, folder, None, {}, tuple(words), _yaml(hydra / "config.yaml", {}))


def _in_memory(
    e: Experiment, own: Own, words: Sequence[str], experiment: str | None, progress: bool
) -> Ladder:
    if e.resume is not False:
        raise SettingError("resume", e.resume, "without a folder there is nothing to go on with")
    if _given(words, "tracker", "tracker.kind") not in (None, "none"):
        raise SettingError("tracker", e.tracker.kind, "without a folder nothing leaves the process")
    e = dataclasses.replace(e, tracker=dataclasses.replace(e.tracker, kind="none"))
    with borrowed_devices(e.parallel.devices), interruptible() as stop:
        e = _tried(e, own)
        trained = _interrupted(
            partial(train_in_memory, e, own, experiment=experiment, stop=stop, quiet=not progress)
        )
    weights = {size: as_arrays(params) for size, params in trained.weights.items()}
    return Ladder(trained.record, None, trained.history, weights, tuple(words), nested(e))


def _in_folder(
    command: Command,
    folder: Path,
    own: Own,
    words: Sequence[str],
    experiment: str | None,
    progress: bool,
) -> Ladder:
    (e,) = command.jobs
    with borrowed_devices(e.parallel.devices), interruptible() as stop:
        grid(e)  # what is refused leaves no folder behind
        e = _tried(e, own)
        if isinstance(e.resume, str) and _absolute(e.resume) != folder:
            raise SettingError("resume", e.resume, f"folder= names another, {folder}")
        command = command._replace(jobs=[e])
        command = claim(resume.resolve(command._replace(folder=folder, named=True)))
        folder = command.folder  # which is held now
        try:
            if resume.finished(folder, e) is None:
                clear_halves(folder)
                resume.sign(folder, e)
                (folder / ".hydra").mkdir(exist_ok=True)
                _write_configuration(folder, nested(e), words)
                for left in ("error.txt", "result.json"):  # of an earlier try
                    (folder / left).unlink(missing_ok=True)
                _interrupted(
                    partial(
                        train_in_folder,
                        e,
                        folder,
                        own,
                        cfg=nested(e),
                        say=partial(command_line.say, "train_ladder"),
                        experiment=experiment,
                        stop=stop,
                        quiet=not progress,
                    )
                )
                _report(folder)
        finally:
            let_go(folder)
        if stop():  # in the last moment, when all was done
            raise KeyboardInterrupt
    return load(folder)


def _tried(e: Experiment, own: Own) -> Experiment:
    """Refuses objects of one's own that do not fit, before anything is written.

    Returns the settings, with what tells the objects from others of the same name.
    """
    problem_of(e, own)
    check_numbers(own, e.teacher.seed, e.student.width if own.given else 0)
    for room, function in fingerprint(own, e.student.width).items():
        e = dataclasses.replace(
            e, **{room: dataclasses.replace(getattr(e, room), function=function)}
        )
    return e


def _interrupted(train: Callable[[], Any]) -> Any:
    """A notebook's interrupt is raised where it was heard: after the chunk in hand."""
    try:
        return train()
    except Stopped:
        raise KeyboardInterrupt from None


def _words(
    experiment: str | None,
    given: dict[str, Any],
    depth: int | Iterable[int] | None,
    width: int | Iterable[int] | None,
    overrides: Sequence[str],
) -> list[str]:
    """The command line that says the same, but for objects of one's own."""
    words = [] if experiment is None else [f"experiment={experiment}"]
    for room, thing in given.items():
        if isinstance(thing, str):
            words.append(f"{room}={thing}")
        elif thing is not None:
            if not (isinstance(thing, Block) if room == "student" else callable(thing)):
                what = "a toydepth.Block" if room == "student" else "a function"
                raise SettingError(room, thing, f"it must be the name of a kind, or {what}")
            name = QuotedString(called(thing), Quote.single).with_quotes()
            words += [f"{room}.{OBJECTS[room]}=own", f"{room}.function={name}"]
            words += ["teacher.depth=0"] if room == "teacher" else []
    for name, sizes in (("depth", depth), ("width", width)):
        if sizes is not None:
            several = isinstance(sizes, Iterable) and not isinstance(sizes, str)
            value = f"[{','.join(map(str, sizes))}]" if several else sizes
            words.append(f"student.{name}={value}")
    if isinstance(overrides, str):
        raise SettingError("overrides", overrides, "it is a list of settings, each name=value")
    for name in ("hydra", "launcher"):
        for word in overrides:
            if word.lstrip("+~").partition("=")[0].split(".")[0].split("/")[0] == name:
                own, _, value = word.partition("=")
                said = "it is of the command, which runs sweeps; the folder here is folder=..."
                raise SettingError(own, value, said)
    return [*words, *overrides]


def _given(words: Sequence[str], *names: str) -> str | None:
    """The last value that the words give to a setting of one of these names."""
    values = [value for name, _, value in (word.partition("=") for word in words) if name in names]
    return values[-1] if values else None


def _one(command: Command) -> Command:
    """A preset that is a sweep makes several ladders, unless what it sweeps over is given."""
    if len(command.jobs) != 1:
        words = "it is a sweep; give what it sweeps over (teacher=...), or run it by the command"
        raise SettingError("experiment", f"{len(command.jobs)} ladders", words)
    return command._replace(multirun=False)


def _write_configuration(folder: Path, configuration: dict[str, Any], words: Sequence[str]) -> None:
    """What Hydra would have left, from which reports, probes and `resume` read the settings."""
    (folder / ".hydra" / "config.yaml").write_text(OmegaConf.to_yaml(configuration))
    (folder / ".hydra" / "overrides.yaml").write_text(OmegaConf.to_yaml(list(words)))


def _report(folder: Path) -> None:
    from toydepth.report.report_command import build_report  # it is slow to import

    try:
        build_report([folder], folder)
    except Exception as error:  # the result stands without a figure
        words = f"{folder} has its result.json, but no report: {reason(error)}"
        command_line.say("train_ladder", words)


def _yaml(path: Path, otherwise: Any) -> Any:
    return OmegaConf.to_container(OmegaConf.load(path)) if path.is_file() else otherwise
