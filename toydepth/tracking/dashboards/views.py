"""The workspace and the report, built with W&B's own library, and what it makes of them."""

from collections.abc import Sequence
from typing import Any

import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.workspaces as ws

from toydepth.tracking.dashboards import panels

NAME = "toydepth: regimes side by side"
# What the table of runs shows first: W&B keeps a setting `room.name` as `room.value.name`.
COLUMNS = [
    "run:displayName",
    "run:state",
    "config:teacher.value.kind",
    "summary:alpha",
    "summary:alpha_stderr",
]


def workspace(project: str, entity: str, axis: str, sizes: Sequence[int]) -> ws.Workspace:
    """A view of the project's own page, its runs over "depth" or "width" grouped by regime."""
    sections = {
        f"Loss against {axis}": panels.loss_against_size(axis, sizes),
        "Exponent": panels.exponents(axis),
        "Along training": panels.curves(axis),
        "Settings": panels.settings(axis, sizes),
    }
    return ws.Workspace(
        entity=entity,
        project=project,
        name=NAME,
        sections=[
            ws.Section(
                name=name,
                panels=found,
                is_open=True,
                layout_settings=ws.SectionLayoutSettings(columns=2, rows=2),
            )
            for name, found in sections.items()
        ],
        runset_settings=ws.RunsetSettings(groupby=[ws.Metric("Group")], pinned_columns=COLUMNS),
    )


def report(project: str, entity: str, axis: str, sizes: Sequence[int]) -> wr.Report:
    """A page with words between the panels, to be sent to people."""

    def grid(found: list) -> wr.PanelGrid:
        """Two panels a row. The runs are the project's own, all of them, grouped by regime."""
        for i, panel in enumerate(found):
            panel.layout = wr.Layout(x=12 * (i % 2), y=8 * (i // 2), w=12, h=8)
        runs = wr.Runset(name="regimes", groupby=["group"], pinned_columns=COLUMNS)
        return wr.PanelGrid(runsets=[runs], panels=found)

    return wr.Report(
        project=project,
        entity=entity,
        title=NAME,
        description=f"How the loss falls with {axis}: loss ~ {axis}^-alpha.",
        width="fluid",
        blocks=[
            wr.H2("Which exponent?"),
            wr.P(
                f"{panels.COMPARED[axis].words} A run's alpha has a standard error, alpha_stderr "
                "in the table of runs; bars show the mean of runs and its standard error. Failed "
                "and diverged runs count as failed in W&B and have no alpha or one of fewer sizes."
            ),
            grid(panels.exponents(axis)),
            wr.H2(f"Loss against {axis}"),
            grid(panels.loss_against_size(axis, sizes)),
            wr.H2("Along training"),
            wr.P("A rung whose test loss still falls at its end has not converged."),
            grid(panels.curves(axis)),
            wr.H2("What differs between the runs"),
            grid(panels.settings(axis, sizes)),
        ],
    )


def as_sent(view: ws.Workspace, page: wr.Report) -> dict[str, Any]:
    """The two views as saving them would send them; ids of panels are drawn anew for each view."""
    # The library serialises by a method that it does not publish; `save` sends the same.
    saved, written = view._to_model(), page._to_model()
    return {
        "workspace": {
            "entityName": saved.entity,
            "projectName": saved.project,
            "displayName": saved.display_name,
            "type": "project-view",
            "spec": _plain(saved.spec),
        },
        "report": {
            "entityName": written.project.entity_name,
            "projectName": written.project.name,
            "displayName": written.display_name,
            "description": written.description,
            "type": "runs",
            "spec": _plain(written.spec),
        },
    }


def _plain(spec: Any) -> dict[str, Any]:
    return spec.model_dump(mode="json", by_alias=True, exclude_none=True)
