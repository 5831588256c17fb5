"""A format: bbchallenge codes, written backwards."""

from __future__ import annotations

from softmachine.languages.formats import Format
from softmachine.languages.source import Source
from softmachine.languages.turing import TuringMachine, bbchallenge


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> Source:
    return bbchallenge.parse(text.strip()[::-1], source=source, name=name)


def to_text(machine: TuringMachine) -> str:
    return bbchallenge.to_text(machine)[::-1]


FORMAT = Format("backwards", (".sdrawkcab",), lambda _: False, parse, to_text)
