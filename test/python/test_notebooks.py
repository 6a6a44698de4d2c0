"""The notebooks run, and their outputs are those that are kept in them."""

from __future__ import annotations

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat of requirements/test.txt is missing")
nbclient = pytest.importorskip("nbclient", reason="nbclient of requirements/test.txt is missing")

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))


def text_of(cell) -> str:
    """What a cell prints, and its value."""
    parts = [output.get("text") or output.data["text/plain"] for output in cell.outputs]
    return "".join(parts)


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) == 2
    assert all(path.stat().st_size < 20_000 for path in NOTEBOOKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    kept = [text_of(cell) for cell in notebook.cells if cell.cell_type == "code"]
    resources = {"metadata": {"path": str(tmp_path)}}
    client = nbclient.NotebookClient(notebook, timeout=600, resources=resources)
    client.execute()  # raises CellExecutionError
    assert [text_of(cell) for cell in notebook.cells if cell.cell_type == "code"] == kept
