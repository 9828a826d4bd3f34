"""The schema of probing hidden states: every setting, its default, what it may be and means.

`probe(cfg)` checks a composed configuration and turns it into the frozen `Probe` that the verb
`probe` works from.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from toydepth.config import Tracker
from toydepth.settings import SettingError, choice, number, optional, read_schema, setting, whole
from toydepth.settings import text as printable  # a setting is called text

OF_MODELS = (
    "text",
    "column",
    "length",
    "batch_size",
    "sample",
    "readout",
    "device",
    "dtype",
)


@dataclass(frozen=True)
class Trace:
    """Causal tracing (arXiv 2602.05970, figure 6), if a prompt is given."""

    prompt: str | None = setting(None, optional(printable()), "a sentence that the answer ends")
    subject: str | None = setting(None, optional(printable()), "its part that noise is added to")
    answer: str | None = setting(None, optional(printable()), "what the model should say next")
    noise: float = setting(3.0, number(0, 1000), "of the subject, in deviations of an embedding")
    samples: int = setting(10, whole(1, 10_000), "draws of the noise")


@dataclass(frozen=True)
class Probe:
    """One job: the hidden states of a run's networks, or of a language model."""

    run: str | None = setting(None, optional(printable()), "the folder of a run of toydepth.train")
    model: str | None = setting(
        None, optional(printable()), "a language model: a folder, a GGUF file or an id of the hub"
    )
    text: str | None = setting(
        None,
        optional(printable()),
        "what the model reads: a file, a folder, JSON Lines or a corpus of the hub; null takes "
        "FineWeb",
    )
    column: str = setting(
        "text", printable(), "of JSON Lines or of a corpus, the field with the text"
    )
    tokens: int = setting(10_000, whole(2, 10**12), "tokens, or inputs of a toy, at most")
    length: int = setting(256, whole(2, 10**7), "tokens of a piece of text")
    batch_size: int = setting(8, whole(1, 10**6), "pieces that the model reads at once")
    middle_start: float = setting(
        0.25, number(0, 1), "share of the depth at which the middle layers begin"
    )
    middle_stop: float = setting(0.75, number(0, 1), "share of the depth at which they end")
    sample: int = setting(2000, whole(10, 20_000), "tokens kept for the clusters")
    readout: int = setting(
        1000,
        whole(0, 10**9),
        "tokens after which every layer is asked for the next (the head runs once for each "
        "layer); 0 asks none",
    )
    device: str | None = setting(
        None, optional(printable()), "of PyTorch, such as cpu or cuda; null takes the best there is"
    )
    dtype: str | None = setting(
        None,
        optional(choice("float32", "bfloat16", "float16")),
        "of the model's arithmetic; null takes that of its file",
    )
    trace: Trace = Trace()
    tracker: Tracker = Tracker()
    seed: int = setting(0, whole(0, 2**31 - 1), "draws the sample and the noise")


def probe(cfg: Mapping[str, Any]) -> Probe:
    """Checks a composed configuration, plain nested data, and freezes it.

    Raises:
      SettingError: for the first setting that is unknown or not allowed.
    """
    checked = read_schema(Probe, cfg)
    if (checked.run is None) == (checked.model is None):
        words = "give run=FOLDER of a toy or model=PATH_OR_ID of a language model, one of the two"
        raise SettingError("model", checked.model, words)
    untouched = {f.name: f.default for f in fields(Probe)}
    for name in OF_MODELS if checked.run is not None else ():
        value = getattr(checked, name)
        if value != untouched[name]:
            raise SettingError(name, value, "it is of language models; a toy reads no text")
    if checked.middle_start >= checked.middle_stop:
        words = f"it must be above middle_start={checked.middle_start:g}"
        raise SettingError("middle_stop", checked.middle_stop, words)
    asked = {name: getattr(checked.trace, name) for name in ("prompt", "subject", "answer")}
    given = [name for name, value in asked.items() if value is not None]
    if given and checked.model is None:
        raise SettingError(f"trace.{given[0]}", asked[given[0]], "a toy recalls no facts")
    if given and len(given) < 3:
        missing = next(name for name in asked if name not in given)
        raise SettingError(f"trace.{missing}", None, "prompt, subject and answer go together")
    return checked
