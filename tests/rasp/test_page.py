"""The names documented on docs/rasp-python.md exist; `tests/test_docs.py` runs its Python."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from softmachine import rasp
from softmachine.rasp import causal

TEXT = (Path(__file__).parents[2] / "docs" / "rasp-python.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("module", [rasp, causal])
def test_every_name_that_the_page_promises_is_there(module: object) -> None:
    heading = {rasp: "## Objects\n", causal: "## Functions of sequences\n"}[module]  # type: ignore[index]
    section = TEXT.split(heading, 1)[1].split("\n## ", 1)[0]
    promised = section.rpartition("There are ")[2].partition("and operators")[0]
    names = re.findall(r"[A-Za-z_]\w+", " ".join(re.findall(r"`([^`]+)`", promised)))
    assert len(names) > 15
    assert [name for name in names if not hasattr(module, name) and name != "named"] == []
