"""One network whose hidden states were measured."""

from typing import Any, NamedTuple

from toydepth.geometry import Summary


class Subject(NamedTuple):
    """A network and its measures.

    Attributes:
      kind: "teacher", "student" or "model".
      label: what to call it.
      facts: what tells it from the others of a probe (replica, temperature, ...).
      depth: its layers.
      width: of its state.
      summary: of all tokens.
    """

    kind: str
    label: str
    facts: dict[str, Any]
    depth: int
    width: int
    summary: Summary
