"""What has been compiled, kept for the next process with the same shapes: JAX's own cache, bounded.

With a bound JAX holds a lock while it reads or writes an entry, so that jobs side by side see whole
entries. A process that is killed in mid-write leaves half an entry, and not the time of its last
use beside it, without which JAX can neither replace it nor write another: these are cleared away.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import filelock
import jax
import platformdirs

# Before each write JAX looks at all entries, a tenth of a millisecond each. So they are kept few:
# quick compilations, most by number, are left out.
SETTINGS = {
    "jax_compilation_cache_max_size": 32 * 2**20,
    "jax_persistent_cache_min_compile_time_secs": 0.05,
    "jax_persistent_cache_min_entry_size_bytes": 0,
}
KEPT = ("jax_compilation_cache_dir", *SETTINGS)  # what `keep_compilations` changes


def keep_compilations() -> None:
    """Sets JAX's cache up, in toydepth's own folder.

    A cache that the environment or the session has set up is the user's: it stays as it is.
    """
    config: Any = jax.config  # its settings are attributes that no checker knows
    if config.jax_compilation_cache_dir is not None:
        return
    for name, value in SETTINGS.items():
        if name.upper() not in os.environ:
            jax.config.update(name, value)
    folder = platformdirs.user_cache_path("toydepth") / "compiled"
    config.update("jax_compilation_cache_dir", str(folder))
    clear_half_entries(folder)


def clear_half_entries(folder: Path) -> None:
    """Removes entries of a bounded cache without a time: who wrote them held the lock and is dead.

    A folder that is absent, in use for long, or not to be written to is left as it is.
    """
    with suppress(OSError, filelock.Timeout):
        names = set(os.listdir(folder))
        if ".lockfile" not in names:  # no bounded cache: times are not written
            return
        with filelock.FileLock(folder / ".lockfile", timeout=10):
            names = set(os.listdir(folder))
            for name in names:
                if name.endswith("-cache") and f"{name[: -len('-cache')]}-atime" not in names:
                    (folder / name).unlink()
