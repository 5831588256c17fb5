"""The programs on docs/rasp.md give the outputs shown there; tests/test_docs.py runs its Python."""

from __future__ import annotations

import re
from pathlib import Path

from softmachine.languages.rasp import generate, parse, run

PAGE = (Path(__file__).parents[3] / "docs" / "rasp.md").read_text("utf-8")
PROGRAMS = [
    re.sub("^    ", "", block, flags=re.MULTILINE) for block in re.findall(r"(?:^    .*\n)+", PAGE, re.MULTILINE)
]


def program(name: str) -> str:
    return next(text for text in PROGRAMS if re.search(rf"^{name} = ", text, re.MULTILINE))


def test_the_programs_of_the_page_give_the_documented_outputs() -> None:
    assert run(parse(program("sorted")), "dacab") == tuple("aabcd")
    assert generate(parse(program("written")), "1011|").letters == tuple("1101")
    assert run(parse("# alphabet: 0 1\n" + program("previous")), "10110") == tuple("11011")
