"""docs/rasp-python.md says what is so."""

from __future__ import annotations

import re

import pytest

from softmachine import rasp
from softmachine.rasp import causal
from tests.pages import Page

PAGE = Page("rasp-python.md")


def test_the_python_of_the_page_prints_what_the_page_says() -> None:
    pytest.importorskip("softmachine.theorems.rasp")
    for printed, said in PAGE.printed():
        assert printed == said


@pytest.mark.parametrize("module", [rasp, causal])
def test_every_name_that_the_page_promises_is_there(module: object) -> None:
    heading = {rasp: "## Objects\n", causal: "## Functions of sequences\n"}[module]  # type: ignore[index]
    section = PAGE.text.split(heading, 1)[1].split("\n## ", 1)[0]
    promised = section.rpartition("There are ")[2].partition("and operators")[0]
    names = re.findall(r"[A-Za-z_]\w+", " ".join(re.findall(r"`([^`]+)`", promised)))
    assert len(names) > 15
    assert [name for name in names if not hasattr(module, name) and name != "named"] == []
