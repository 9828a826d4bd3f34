"""probe.json, and compare.json of several probes. Angles are in units of pi."""

from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from toydepth.results.fields import Count, Record, Several, Text, Whole, without_none
from toydepth.results.records import SCHEMA, Estimate

ByLayer = Several[float | None]  # None where a state does not move, or of one token


class Measured(Record):
    """A mean over tokens with its 95 % interval; all None where nothing moves."""

    value: float | None
    stderr: float | None
    low: float | None
    high: float | None


class Updates(Measured):
    """The angle between neighbouring updates, averaged over all layers, and in words."""

    verdict: Text


class Layers(Record):
    """Layers or tokens, both ends counted."""

    first: Whole
    last: Whole


class Statistics(Record):
    """One measure of the hidden states, for each layer."""

    mean: ByLayer
    stderr: ByLayer
    std: ByLayer
    quantiles: dict[Text, ByLayer]
    tokens: Several[Whole]


class Facts(Record):
    """What tells a network from the others of its probe; a language model needs nothing."""

    teacher: Text | None = None
    objective: Text | None = None
    teacher_seed: Whole | None = None
    block: Text | None = None
    temperature: float | None = None
    peak_rate: float | None = None

    @model_serializer(mode="wrap")
    def _known(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return without_none(handler(self))


class Subject(Record):
    """One network."""

    kind: Literal["model", "student", "teacher"]
    label: Text
    facts: Facts
    depth: Count
    width: Count
    tokens: Whole
    updates: Updates
    middle_layers: Layers
    middle_step: Measured
    theta: Statistics
    theta_updates: Statistics
    to_last: Statistics
    norms: Statistics
    update_norms: Statistics
    projection: Statistics


class Kind(Record):
    """One of the two clusters of tokens."""

    share: float | None
    stderr: float | None
    examples: Several[Text]
    theta: ByLayer


class Clusters(Record):
    """Tokens by how they move: evenly, or in early layers."""

    even: Kind
    early: Kind
    explained_variance: ByLayer
    silhouette: float | None
    early_tokens: Text | None
    verdict: Text
    first_tokens: Text


class Readout(Record):
    """The cross entropy after each layer, nats per token."""

    tokens: Whole
    after_layers: Several[Whole]
    cross_entropy: ByLayer
    stderr: ByLayer


class TraceRecord(Record):
    """Probabilities of an answer, with one token's clean state restored after one layer."""

    tokens: Several[Text]
    subject: Layers
    answer: Text
    probability_clean: float | None
    probability_corrupted: float | None
    corrupted_stderr: float | None
    restored: Several[ByLayer]
    restored_stderr: Several[ByLayer]
    restored_by: Text


class Probed(Record):
    """What was probed: a run's folder, or a model on a text; with the probe's own settings."""

    run: Text | None = None
    model: Text | None = None
    text: Text | None = None
    settings: dict[Text, Any]
    versions: dict[Text, Text | None] | None = None


class ProbeRecord(Record):
    """probe.json: the hidden states of the networks of a run, or of one language model."""

    schema_: Literal[2] = Field(SCHEMA, alias="schema")
    status: Literal["completed"]
    angles: Text
    name: Text
    probed: Probed
    subjects: Several[Subject]
    clusters: Clusters | None
    readout: Readout | None
    trace: TraceRecord | None
    notes: Several[Text]
    seconds: float
    versions: dict[Text, Text | None]
    figures: dict[Text, Text] = {}


class ComparePoint(Record):
    """One network; `of` names those that it is compared with."""

    name: Text
    of: Text
    family: Text
    depth: Count
    middle_step: float
    stderr: float
    probe: Text


class Group(Record):
    """Networks of one kind, and the exponent of their middle step against depth."""

    of: Text
    points: Several[ComparePoint]
    exponent: Estimate | None
    reason: Text | None


class CompareRecord(Record):
    """compare.json."""

    schema_: Literal[2] = Field(SCHEMA, alias="schema")
    groups: Several[Group]
    left_out: Several[Text]
    figures: dict[Text, Text]
