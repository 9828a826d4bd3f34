"""Tables of training runs as checked arrays, for fits of scaling laws.

A file in; sizes and losses out, each a positive finite number with the line that it came from.
Whatever is wrong with the file is one line for a person. The public API:

- `read_rows`        CSV, JSON Lines or Parquet -> `Rows`
- `exclude_highest`  leave out the rows of highest loss, as the papers do
- `subtract_depth`   count the layers from an offset (the papers compare l with l - 2)
- `PUBLISHED`        the tables that others published, by name -> `Published`
- `fetch`            a published table, downloaded once and checked -> its path
- `Rows`             what a fit is given
- `DataError`        a setting that the data do not allow
"""

from toydepth.datasets.errors import DataError
from toydepth.datasets.registry import PUBLISHED, Published, fetch
from toydepth.datasets.rows import Rows, exclude_highest, read_rows, subtract_depth

__all__ = [
    "PUBLISHED",
    "DataError",
    "Published",
    "Rows",
    "exclude_highest",
    "fetch",
    "read_rows",
    "subtract_depth",
]
