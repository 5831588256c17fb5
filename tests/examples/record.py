"""Run the notebooks of ``examples/`` and store what they print: ``python -m tests.examples.record [NAME …]``.

Nothing is stored that differs from run to run: no times, no counts of executions, no versions of what ran them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "examples"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def executed(path: Path) -> Any:
    """The notebook, as it is after every cell was run in a fresh kernel."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    with _quiet():
        NotebookClient(notebook, timeout=300, record_timing=False, coalesce_streams=True).execute()
    return notebook


@contextmanager
def _quiet() -> Iterator[None]:
    """A kernel inherits the environment: one core is enough, and nobody needs a progress bar for notebooks."""
    given = dict(os.environ)
    os.environ.update(OMP_NUM_THREADS="1", PYTHONWARNINGS="ignore:IProgress not found")
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(given)


def said(notebook: Any) -> list[list[str]]:
    """For each cell of code, what it printed and what its last line was worth."""
    return [[_text(output) for output in cell.outputs] for cell in notebook.cells if cell.cell_type == "code"]


def _text(output: Any) -> str:
    if output.output_type == "stream":
        return str(output.text)
    return str(output.data["text/plain"])


def record(path: Path) -> None:
    """Store a notebook with what it prints."""
    import nbformat

    notebook = executed(path)
    notebook.metadata = nbformat.from_dict(METADATA)
    for k, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{k}", {}
        if cell.cell_type == "code":
            cell.execution_count = None
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = None
    nbformat.validate(notebook)
    nbformat.write(notebook, path)


if __name__ == "__main__":
    wanted = sys.argv[1:]
    for file in sorted(FOLDER.glob("*.ipynb")):
        if not wanted or file.stem in wanted:
            record(file)
            print(file)
