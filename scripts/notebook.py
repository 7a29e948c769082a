"""Run the cells of docs/notebooks/evaluate.ipynb in order, without a kernel, and write what they print into it."""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK = ROOT / "docs/notebooks/evaluate.ipynb"


def executed(path: Path) -> nbformat.NotebookNode:
    """Return a notebook with the output of its cells. They run in the current folder."""
    book, names = nbformat.read(path, as_version=4), {}
    for number, cell in enumerate((cell for cell in book.cells if cell.cell_type == "code"), 1):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(cell.source, str(path), "exec"), names)  # noqa: S102 (a notebook of this repository)
        text = printed.getvalue()
        cell.execution_count = number
        cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=text)] if text else []
    return book


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("models").symlink_to(ROOT / "models")
        nbformat.write(executed(NOTEBOOK), NOTEBOOK)
