"""`python -m toydepth.law`: fits scaling laws to a table of training runs.

    python -m toydepth.law data.path=runs.csv
    python -m toydepth.law data=chinchilla data.path=chinchilla.csv data.exclude_highest=40 law=free
    python -m toydepth.law -m data=gemstones data.path=gemstones.csv law=free,universal

Exit status: 0 all well, 1 a job failed, 2 a setting or the data is not allowed (nothing was
written), 130 interrupted.
"""

from toydepth.commands import analysis_command
from toydepth.commands.spec import Verb
from toydepth.law import law_settings
from toydepth.law.law_settings import Study

VERB = Verb("law", Study, law_settings.study)


def main() -> None:
    analysis_command.main(VERB, __doc__, room="toydepth.law.study", answer="law.json")
