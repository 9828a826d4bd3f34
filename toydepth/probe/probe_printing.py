"""A probe for a person: tables on a terminal, plain ASCII where there is none."""

from pathlib import Path
from typing import Any

from toydepth.commands.printed import Printed
from toydepth.results.probe_record import CompareRecord

SHOWN = 24  # networks in the table


def print_probe(summary: dict[str, Any], paths: list[Path]) -> None:
    """Print the angles of each network, the clusters, the read-out, the trace, and the files."""
    printed = Printed()
    printed.line(
        "angles in units of pi: 0 is aligned, 1/2 orthogonal; +- one standard error, as if tokens "
        "were independent"
    )
    rows = []
    for s in summary["subjects"][:SHOWN]:
        theta = s["theta"]["mean"]
        rows.append(
            [
                s["label"],
                str(s["tokens"]),
                f"{theta[0]:.3g}",
                _pair(s["middle_step"]),
                f"{theta[-1]:.3g}",
                _pair(s["updates"]),
                s["updates"]["verdict"].split(":")[0],
            ]
        )
    printed.table(
        "Hidden states",
        ["", "tokens", "first step", "middle step", "last step", "updates", "updates are"],
        rows,
    )
    more = len(summary["subjects"]) - SHOWN
    if more > 0:
        printed.line(f"and {more} more in probe.json")
    if summary["clusters"]:
        clusters = summary["clusters"]
        printed.line(f"tokens: {clusters['verdict']}")
        names = ("move evenly", clusters["early_tokens"] or "the others")
        for name, kind in zip(names, ("even", "early"), strict=True):
            printed.line(f"  {name}: {' '.join(repr(word) for word in clusters[kind]['examples'])}")
    if summary["readout"]:
        loss, error = summary["readout"]["cross_entropy"], summary["readout"]["stderr"]
        after = len(loss) - 1
        places = sorted({0, after // 4, after // 2, 3 * after // 4, after})
        told = ", ".join(f"{loss[at]:.2f} +- {error[at]:.2f} after {at}" for at in places)
        printed.line(
            f"read-out, nats per token: {told} of {after + 1} layers (the last is the model's)"
        )
    if summary["trace"]:
        _trace(summary["trace"], printed)
    for note in summary["notes"]:
        printed.line(f"note: {note}")
    for path in paths:
        printed.line(path)


def _trace(found: dict[str, Any], printed: Printed) -> None:
    restored = found["restored"]
    layer, token = max(
        ((i, j) for i, row in enumerate(restored) for j in range(len(row))),
        key=lambda at: restored[at[0]][at[1]],
    )
    printed.line(
        f"trace: p({found['answer']!r}) is {found['probability_clean']:.3g}, with noise on the "
        f"subject {found['probability_corrupted']:.3g} +- {found['corrupted_stderr']:.1g}; most is "
        f"restored at {found['tokens'][token]!r} after layer {layer + 1}: "
        f"{restored[layer][token]:.3g} +- {found['restored_stderr'][layer][token]:.1g}"
    )


def print_comparison(found: CompareRecord, output: Path) -> None:
    """Print each kind's exponent and points, and the figures."""
    printed = Printed()
    for group in found.groups:
        rows = [
            [p.name, str(p.depth), f"{p.middle_step:.4g} +- {p.stderr:.1g}"] for p in group.points
        ]
        printed.table(f"Middle step of {group.of}, in units of pi", ["", "depth", "step"], rows)
        exponent = group.exponent
        if exponent is None or exponent.low is None:
            value = "" if exponent is None else f"{exponent.value:.2f}, "
            printed.line(f"step ~ depth^-alpha: alpha {value}no interval: {group.reason}")
        else:
            printed.line(
                f"step ~ depth^-alpha: alpha {exponent}"
                + ("; the paper's language models: about 1" if group.of == "models" else "")
            )
    for words in found.left_out:
        printed.line(f"left out: {words}")
    for name in (*found.figures.values(), "compare.json"):
        printed.line(output / name)


def _pair(found: dict[str, Any]) -> str:
    return f"{found['value']:.3g} +- {found['stderr']:.1g}"
