"""`python -m toydepth.probe`: what layers do to the hidden state, in toys and language models.

    python -m toydepth.probe run=outputs/2026-12-01/10-00-00-shared
    python -m toydepth.probe model=PATH_OR_HUB_ID text=FILE_OR_CORPUS
    python -m toydepth.probe model=... text=... 'trace.prompt="The Eiffel Tower is in"' \
        'trace.subject="Eiffel Tower"' trace.answer=Paris
    python -m toydepth.probe compare RESULT... [output=DIR]

RESULT is a probe.json or a folder above some: their middle steps against depth, with the fitted
exponent.

Exit status: 0 all well, 1 a job failed, 2 a setting, a run, a model or a text is not allowed
(nothing was written), 130 interrupted.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from toydepth.commands import analysis_command, command_line
from toydepth.commands.spec import Verb
from toydepth.probe import probe_settings
from toydepth.probe.probe_settings import Probe

VERB = Verb("probe", Probe, probe_settings.probe)


def main() -> None:
    if sys.argv[1:2] == ["compare"]:
        compare_results(sys.argv[2:])
    else:
        analysis_command.main(VERB, __doc__, room="toydepth.probe.run_probe", answer="probe.json")


def compare_results(arguments: Sequence[str]) -> None:
    """`probe compare RESULT... [output=DIR]`."""
    results, output = [], Path("outputs/probes")
    try:
        from toydepth.probe.depth_comparison import compare
        from toydepth.probe.probe_printing import print_comparison
        from toydepth.results.records import ResultError

        for argument in arguments:
            name, given, value = argument.partition("=")
            if name == "output" and given:
                if not value:
                    raise ResultError("output= names no folder")
                output = Path(value)
            elif argument.startswith("-"):
                raise ResultError(f"{argument} is not known: give RESULT... and output=DIR")
            else:
                results.append(argument)
        found = compare(results, output)
    except (ValueError, OSError) as error:
        command_line.fail(VERB.name, error)
    except KeyboardInterrupt:
        command_line.fail(VERB.name, "interrupted", 130)
    print_comparison(found, output)
