"""`python -m toydepth.law`: fits scaling laws to a table of training runs.

    python -m toydepth.law data.path=runs.csv
    python -m toydepth.law data=chinchilla data.path=chinchilla.csv data.exclude_highest=40 law=free
    python -m toydepth.law -m data=gemstones data.path=gemstones.csv law=free,universal

Exit status: 0 all well, 1 a job failed, 2 a setting or the data is not allowed (nothing was
written), 130 interrupted.
"""

from toydepth import analysis_verb, law_config
from toydepth.law_config import Study
from toydepth.verb import Verb

VERB = Verb("law", Study, law_config.study)


def main() -> None:
    analysis_verb.main(VERB, __doc__, room="toydepth.study", answer="law.json")


if __name__ == "__main__":
    main()
