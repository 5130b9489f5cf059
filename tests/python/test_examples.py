"""The documentation's examples and the notebook, run as they stand."""

import pathlib
import re
import subprocess
import sys

import nbformat
import pytest
from nbclient import NotebookClient

TREE = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = re.findall(r"^```python\n(.*?)^```", (TREE / "docs" / "python.md").read_text(), re.S | re.M)


@pytest.mark.parametrize("place", range(len(EXAMPLES)))
def test_an_example_of_the_page_runs(place, tmp_path):
    done = subprocess.run([sys.executable, "-c", EXAMPLES[place]], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_notebook_runs_and_shows_its_images(tmp_path):
    notebook = nbformat.read(TREE / "python" / "omnirt" / "examples" / "omnirt.ipynb", as_version=4)
    client = NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    shown = [set(each.get("data", {})) for cell in notebook.cells for each in cell.get("outputs", [])]
    assert sum("image/png" in each for each in shown) == 2 and sum("text/html" in each for each in shown) == 1
