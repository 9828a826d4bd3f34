"""W&B dashboards that compare regimes, as code: a workspace and a report of one project.

`panels` says what is drawn, by the names that `toydepth.tracking` logs; `views` puts the panels
into the workspace and the report. Both need `pip install 'toydepth[dashboard]'`.
"""

from toydepth.tracking.dashboards.views import as_sent, report, workspace

__all__ = ["as_sent", "report", "workspace"]
