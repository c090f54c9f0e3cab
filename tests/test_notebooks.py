"""The example notebook runs in a fresh kernel, and its cells show what the documentation says."""

import base64
import shutil
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = ROOT / "examples" / "notebooks" / "first_flight.ipynb"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Execute the notebook with this interpreter, in an empty folder; return the last output of each code cell."""
    folder = tmp_path_factory.mktemp("notebook")
    home = folder / "jupyter"
    kernel = home / "kernels" / "python3"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text(
        '{"display_name": "Python 3", "language": "python", "argv": '
        f'["{sys.executable}", "-m", "ipykernel_launcher", "-f", "{{connection_file}}"]}}'
    )
    (folder / "work").mkdir()
    shutil.copy(NOTEBOOK, folder / "work")
    notebook = nbformat.read(folder / "work" / NOTEBOOK.name, as_version=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(home))
        patch.setenv("MPLBACKEND", "agg")
        patch.setenv("IPYTHONDIR", str(folder / "ipython"))
        NotebookClient(
            notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder / "work")}}
        ).execute()
    return [cell.outputs[-1] for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.process
def test_every_cell_of_the_notebook_shows_its_result(outputs):
    """Tables with figures, a figure, frames; no output is long text, and none is an address in memory."""
    run, frame, figure, found, digest, table = (output["data"] for output in outputs)
    assert "x500: flown" in run["text/html"]
    assert "<img" in run["text/html"]
    assert "pos_ned_d" in frame["text/html"]
    assert base64.b64decode(figure["image/png"]).startswith(PNG)
    assert "the flights differ" in found["text/html"]
    assert "<img" in found["text/html"]
    assert len(digest["text/plain"].strip("'")) == 64
    assert table["text/html"].count("flown") == 3
    for data in (run, figure, found):
        assert len(data["text/plain"]) < 1_000
        assert " at 0x" not in data["text/plain"]


def test_the_notebook_in_the_repository_has_no_outputs():
    """They would differ from machine to machine."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None)
            assert "%" not in cell.source
