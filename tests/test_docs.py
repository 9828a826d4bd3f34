"""The docs keep their word: commands compose, Python compiles, the links of the README exist."""

import re
import shlex
from pathlib import Path

import pytest

import toydepth
from toydepth.commands.command_line import read_command
from toydepth.law.law_command import VERB as LAW
from toydepth.probe.probe_command import VERB as PROBE
from toydepth.train.training_command import VERB as TRAIN

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "sweeps" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
VERBS = {"train": TRAIN, "law": LAW, "probe": PROBE}


def blocks(kind):
    """(page, text) of every fenced block of a kind; those of a list are parts of a file."""
    for page in PAGES:
        for found in re.findall(rf"^```{kind}\n(.*?)^```$", page.read_text(), re.M | re.S):
            yield page.relative_to(ROOT), found


def commands():
    for page, text in blocks(""):
        for line in text.replace("\\\n", " ").splitlines():
            if found := re.search(r"python -m toydepth\.(train|law|probe) (.*)", line):
                arguments = shlex.split(found[2], comments=True)
                if arguments[0] != "compare":
                    yield pytest.param(
                        found[1], arguments, id=f"{page.stem}: {' '.join(arguments)}"
                    )


@pytest.mark.parametrize("verb, arguments", list(commands()))
def test_a_command_of_the_docs_composes(verb, arguments):
    read_command(VERBS[verb], [a for a in arguments if not a.startswith("resume=")])


def test_python_of_the_docs_is_python():
    for page, text in blocks("python"):
        compile(text, str(page), "exec")


def test_the_readme_is_short_and_its_links_lead_somewhere():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 150
    for link in re.findall(r"\]\(([^)]+)\)", text):
        assert link.startswith("https://") or (ROOT / link).exists(), link


def test_every_public_name_stands_in_the_reference():
    text = (ROOT / "docs" / "reference" / "api.md").read_text()
    assert set(toydepth.__all__) <= set(re.findall(r"^::: toydepth\.(\w+)$", text, re.M))
