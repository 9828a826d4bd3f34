"""What a report says of features in superposition: how many there are, how their rows overlap."""

import numpy as np

from toydepth.results.records import Estimate
from toydepth.results.regimes import Regime, columns
from toydepth.results.report_record import Features, RegimeRecord
from toydepth.scaling import fit_power_law
from toydepth.settings import printable

HEADINGS = ("regime", "width", "represented", "overlap", "overlap ~ width^-a")


def features(regime: Regime) -> Features | None:
    """The regime's entry in report.json; None for students that are no autoencoders.

    `represented` is the share of features whose rows are long, `overlap` the mean square of the
    cosine between two of those rows, both as means over replicas, for each of `widths`.
    `overlap_exponent` is that of overlap ~ width^-a (about 1 in arXiv 2505.10465), null with fewer
    than three widths.
    """
    points = [point for point in regime.usable() if point.observed.get("overlap") is not None]
    if not points:
        return None
    widths = sorted({point.size for point in points})

    def means(name: str) -> list[float]:
        return [float(np.mean([p.observed[name] for p in points if p.size == m])) for m in widths]

    overlapping = [point for point in points if point.observed["overlap"] > 0]
    exponent = None
    data = columns(overlapping)
    if len(set(data.sizes)) > 2:
        overlaps = [point.observed["overlap"] for point in overlapping]
        exponent = Estimate.from_fit(fit_power_law(data.sizes, overlaps, None, data.groups).alpha)
    return Features(
        widths=widths,
        represented=means("represented"),
        overlap=means("overlap"),
        overlap_exponent=exponent,
    )


def row(regime: RegimeRecord) -> tuple[str, ...]:
    """The cells of a table; a line for each width."""
    found = regime.features
    return (
        printable(regime.label),
        "\n".join(map(str, found.widths)),
        "\n".join(f"{share:.1%}" for share in found.represented),
        "\n".join(f"{overlap:.2g}" for overlap in found.overlap),
        str(found.overlap_exponent or "-"),
    )
