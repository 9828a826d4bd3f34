"""The notebooks of examples/ and the Python of the tutorials run as they stand."""

import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))


def run(notebook, folder):
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "", "language": "python"}
    # As users run them: programs that the other tests compile quickly are made fast here.
    env = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    client = NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}})
    client.execute(env=env)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_what_it_printed(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    run(nbformat.read(path, as_version=4), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_the_python_of_a_tutorial_runs(path, tmp_path):
    """Every block that begins a line; those of a list are parts of a file."""
    blocks = re.findall(r"^```python\n(.*?)^```", path.read_text(), re.M | re.S)
    assert blocks
    cells = [nbformat.v4.new_code_cell(block) for block in blocks]
    run(nbformat.v4.new_notebook(cells=cells), tmp_path)
