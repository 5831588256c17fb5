"""The notebooks of ``examples/`` print their stored output; ``python -m tests.examples.record`` re-records it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.examples.record import FOLDER, execute, outputs

nbformat = pytest.importorskip("nbformat")
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the packages that run kernels
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_its_stored_output(path: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    if "import torch" in "".join(cell.source for cell in stored.cells) and not find_spec("torch"):
        pytest.skip("needs torch")
    assert any(any(cell) for cell in outputs(stored))
    assert outputs(execute(path)) == outputs(stored)


def test_the_four_notebooks_are_there() -> None:
    names = {path.stem for path in NOTEBOOKS}
    assert names >= {"1-turing-machine", "2-hard-to-soft", "3-patching-gpt2", "4-own-theorem"}
