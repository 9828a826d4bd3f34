"""The page: a report as one HTML file that opens from a disk and asks the network for nothing.

- `page(report, laws, found)`  the file's text; pure
- `gather(...) -> Found`       what the run folders say beyond the report

One file for each part: `headline.py`, the plots (`losses.py`, `local.py`, `training.py`,
`temperature.py`, `curves.py`, `geometry.py`), `differences.py`, `commands.py`. A `Plot` is data;
`template/page.js` gives it the colours of the reader's screen and draws it when it comes into
view.
"""

from toydepth.report.page.found import Found, gather
from toydepth.report.page.html import page

__all__ = ["Found", "gather", "page"]
