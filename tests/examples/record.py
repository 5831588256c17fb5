"""Run the notebooks of ``examples/`` and store their output: ``python -m tests.examples.record [NAME …]``.

Only deterministic data are stored: no times, execution counts or versions.
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


def execute(path: Path) -> Any:
    """Run every cell of a notebook in a fresh kernel."""
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
    """Set the environment that kernels inherit: one thread, and no warnings about progress bars."""
    given = dict(os.environ)
    os.environ.update(OMP_NUM_THREADS="1", PYTHONWARNINGS="ignore:IProgress not found")
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(given)


def outputs(notebook: Any) -> list[list[str]]:
    """Return for each code cell the printed text and the value of its last line."""
    return [[_text(output) for output in cell.outputs] for cell in notebook.cells if cell.cell_type == "code"]


def _text(output: Any) -> str:
    if output.output_type == "stream":
        return str(output.text)
    return str(output.data["text/plain"])


def record(path: Path) -> None:
    """Run a notebook and store it with its output."""
    import nbformat

    notebook = execute(path)
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
