"""What is asked about a fit: its intervals, the universal exponents, how robust it is."""

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from toydepth.law.prepared import Prepared, in_units, select, shapes_of
from toydepth.law.rows import Rows
from toydepth.scaling import (
    Comparison,
    Draws,
    HeldOut,
    Interval,
    Law,
    LawFit,
    alike,
    bootstrap,
    by_clusters,
    compare,
    fit_law,
    folds,
    held_out,
    profile_intervals,
    warnings,
)
from toydepth.settings import SettingError

MANY = 20  # shapes from which on the cluster-robust covariance is good
LEFT_OUT = 200  # groups of shapes at most that are left out in turn
Show = Callable[[int, str], None]  # is told how much of a stage is done


class Universal(NamedTuple):
    """The universal exponents against free ones, on the rows of a study."""

    fixed: LawFit
    free: LawFit
    test: Comparison
    by_rows: HeldOut | None
    by_shapes: HeldOut | None


class Analysis(NamedTuple):
    """All that is known of a fit.

    `universal` is None where the free exponents cannot be fitted. `as_asked` compares a mixture
    of fixed and free exponents with all free. `excluded` and `offsets` are the fits of the
    robustness scans, by the count or the offset; a string says why there is none.
    """

    profile: dict[str, Interval]
    draws: Draws | None
    universal: Universal | None
    as_asked: Comparison | None
    excluded: dict[int, LawFit | str]
    offsets: dict[float, LawFit | str]
    warnings: list[str]


def steps(prepared: Prepared) -> int:
    """How many refits `analyse` will report, about."""
    study = prepared.study
    groups = _shape_groups(prepared)
    count = study.bootstrap.resamples + min(study.compare.folds, len(prepared.rows.losses))
    return count + (len(set(groups)) if groups else 0) + len(study.robustness.exclude)


def analyse(prepared: Prepared, show: Show) -> Analysis:
    """Everything that the settings ask about the fit."""
    study, fit = prepared.study, prepared.fit
    done = 0

    def stage(label: str) -> Callable[[int], None]:
        start = done

        def report(count: int) -> None:
            nonlocal done
            done = start + count
            show(done, label)

        return report

    shapes = prepared.shapes
    correlation = None if shapes is None else alike(fit, shapes)
    clusters = shapes if study.errors == "shapes" else None
    draws = None
    if study.bootstrap.resamples and fit.degrees_of_freedom > 0:
        draws = bootstrap(
            fit,
            study.bootstrap.resamples,
            seed=study.seed,
            clusters=clusters,
            show=stage("bootstrap"),
        )
    tested_by = shapes if clusters or correlation is not None else None
    universal, untested = _universal(prepared, tested_by, stage)
    as_asked = None
    if universal and fit.law not in (universal.fixed.law, universal.free.law):
        as_asked = compare(fit, universal.free, tested_by)
    data, scans = study.data, study.robustness
    excluded, report = {}, stage("rows left out")
    for i, count in enumerate(scans.exclude):
        excluded[count] = _refit(prepared, data.depth_offset, count)
        report(i + 1)
    offsets = {}
    if "depth" in fit.law.exponents:
        for offset in scans.depth_offsets:
            offsets[offset] = _refit(prepared, offset, data.exclude_highest)
    # A profile takes the residuals as independent.
    profile = profile_intervals(fit) if clusters is None else {}
    words = warnings(fit, profile)
    if clusters is None and correlation is not None:
        words.append(
            f"residuals of one shape are alike (intraclass correlation {correlation:.2f} over "
            f"{len(set(shapes))} shapes): standard errors by rows are too small; errors=shapes "
            "has them right"
        )
    elif clusters is not None and len(set(shapes)) < MANY:
        words.append(f"{len(set(shapes))} shapes are few: intervals by shapes are too narrow")
    if universal is None:
        words.append(f"the universal exponents are not tested: {untested}")
    return Analysis(profile, draws, universal, as_asked, excluded, offsets, words)


def _universal(prepared: Prepared, clusters, stage) -> tuple[Universal | None, str]:
    """The comparison, or None and the reason."""
    study, law = prepared.study, prepared.fit.law
    try:
        free = _fit(prepared, law.freed(), prepared.rows)
        fixed = _fit(prepared, law.universal(), prepared.rows)
        test = compare(fixed, free, clusters)
    except ValueError as error:
        return None, str(error)
    count = len(prepared.rows.losses)
    number = min(study.compare.folds, count)
    by_rows = held_out(fixed, free, folds(count, number, study.seed), stage("held-out rows"))
    groups = _shape_groups(prepared)
    by_shapes = None
    if groups and len(set(groups)) > 1:
        by_shapes = held_out(fixed, free, groups, stage("held-out shapes"))
    return Universal(fixed, free, test, by_rows, by_shapes), ""


def _shape_groups(prepared: Prepared) -> Sequence[Hashable] | None:
    """Each row's shape, or a group of shapes where there are very many."""
    shapes = prepared.shapes
    if shapes is None:
        return None
    labels = list(dict.fromkeys(shapes))
    if len(labels) <= LEFT_OUT:
        return shapes
    group = dict(
        zip(labels, folds(len(labels), LEFT_OUT, prepared.study.seed).tolist(), strict=True)
    )
    return [group[shape] for shape in shapes]


def _refit(prepared: Prepared, depth_offset: float, highest: int) -> LawFit | str:
    """The study's law on other rows; a sentence where it cannot be fitted."""
    try:
        rows = select(prepared.everything, depth_offset, highest)
        return _fit(prepared, prepared.fit.law, rows)
    except SettingError as error:
        return error.allowed
    except ValueError as error:
        return str(error)


def _fit(prepared: Prepared, law: Law, rows: Rows) -> LawFit:
    study = prepared.study
    if law == prepared.fit.law and rows is prepared.rows:
        return prepared.fit
    fit = fit_law(
        law,
        in_units(rows, prepared.units),
        rows.losses,
        huber=prepared.huber,
        starts=study.fit.starts,
        seed=study.seed,
    )
    return by_clusters(fit, shapes_of(rows)) if study.errors == "shapes" else fit
