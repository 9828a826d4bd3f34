"""The JSON schemas of what toydepth leaves behind, written out from the records.

    python -m toydepth.results.schemas FOLDER

Writes result.schema.json, report.schema.json, law.schema.json and probe.schema.json into FOLDER.
"""

import json
import sys
from pathlib import Path

from toydepth.results.law_record import LawRecord
from toydepth.results.probe_record import ProbeRecord
from toydepth.results.records import Record, RunRecord
from toydepth.results.report_record import ReportRecord

MODELS: dict[str, type[Record]] = {
    "result": RunRecord,
    "report": ReportRecord,
    "law": LawRecord,
    "probe": ProbeRecord,
}


def schema(name: str) -> str:
    """The schema of NAME.json, as text."""
    model = MODELS[name]
    found = model.model_json_schema()
    found["required"] = ["schema", *found["required"]]  # which has a default for who writes one
    found = {"$schema": "https://json-schema.org/draft/2020-12/schema"} | found
    return json.dumps(found | {"title": f"{name}.json"}, indent=2) + "\n"


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__.strip())
        return 0 if set(arguments) & {"-h", "--help"} else 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name in MODELS:
        (folder / f"{name}.schema.json").write_text(schema(name), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
