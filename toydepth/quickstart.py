"""Both teachers on a laptop: two ladders at the same time, then their exponents and the figure.

    python -m toydepth.quickstart
    python -m toydepth.quickstart train.steps=300

Trains a ladder against shared and one against independent layers, a core each, and reports on the
two. Settings of toydepth.train (name=value) go to both. Files are left in
outputs/<date>/<time>-quickstart.

Exit status: 0 all well, 2 a setting is not allowed (nothing was written), 130 SIGINT, 143 SIGTERM,
or that of toydepth.train or toydepth.report where it failed.
"""

import subprocess
import sys
from collections.abc import Sequence

from toydepth.commands import command_line
from toydepth.commands.side_by_side import commands, new_folder, run_both
from toydepth.settings import SettingError
from toydepth.train.training_command import VERB

HERE = {"shared": ["experiment=quickstart", "teacher=shared"]}
BEHIND = {"independent": ["experiment=quickstart", "teacher=independent"]}


def main(arguments: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    if set(arguments) & {"-h", "--help"}:
        print(__doc__.strip())
        return 0
    try:
        return quickstart(arguments)
    except SettingError as error:
        command_line.say("quickstart", error)
        return 2
    except KeyboardInterrupt:
        command_line.say("quickstart", "interrupted")
        return 130


def quickstart(overrides: Sequence[str]) -> int:
    """Trains both ladders with these overrides, reports on them, and returns the exit status.

    Raises:
      SettingError: if an override is not allowed. Nothing was written.
    """
    folder = new_folder("quickstart")
    here, behind = (commands(VERB, folder, runs, overrides) for runs in (HERE, BEHIND))
    log = folder / "independent.log"
    print(f"Independent layers train in the background: {log}")
    print("Shared layers train here:", flush=True)
    status = run_both(here, behind, log)
    if status:
        return status
    return subprocess.call([sys.executable, "-m", "toydepth.report", str(folder)])


if __name__ == "__main__":
    sys.exit(main())
