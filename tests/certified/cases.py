"""What is recorded of certificates: scales and the longest certified length of every zoo entry by every theorem.

With hard attention, a row has the certificate of the softmax model (``sm.certificate``) at some lengths, and the
longest length that is certified. With soft attention, it has the scales that the theorem itself gives to its heads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import softmachine as sm
from softmachine.languages import zoo
from softmachine.theorems import all_theorems, get_theorem
from tests.digests.cases import FEW_LETTERS, RENAMED

LENGTHS = (10, 1000)
"""The lengths of the certificates where one set of weights serves every length, …"""
LENGTHS_MADE_FOR = (10, 64)
"""… where the weights depend on the length, …"""
OTHER_LENGTHS = {
    **dict.fromkeys(FEW_LETTERS, (1, 2)),
    "turing-configuration-graph": (2, 4),
    "circuit-evaluator": (1024,),
    "circuit-evaluator-threshold": (1024,),
    "turing-counter": (10,),
    "turing-counter-relative-bias": (10,),
}
"""… and where models exist for few lengths only, or take long to compile; these have no longest length."""
LONGEST = 10**6
"""The longest length that is tried where one set of weights serves every length, …"""
LONGEST_MADE_FOR = 256
"""… and where the weights depend on it."""

Row = dict[str, Any]
"""A row of the table, as JSON holds it; exact numbers are texts."""


@dataclass(frozen=True)
class Case:
    """One row."""

    entry: str
    theorem: str
    attention: str

    def __str__(self) -> str:
        recorded = {present: old for old, present in RENAMED.items()}
        return " · ".join(recorded.get(name, name) for name in (self.entry, self.theorem, self.attention))

    @staticmethod
    def read(text: str) -> Case:
        """The case that prints like this."""
        return Case(*(RENAMED.get(name, name) for name in text.split(" · ")))

    def row(self, longest: int | None = None) -> Row:
        """What is certified. The longest certified length is searched only if it is not at least ``longest``."""
        return _hard_row(self, longest) if self.attention == "hard" else _soft_row(self)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of its certificates."""
        return OTHER_LENGTHS.get(self.theorem, LENGTHS_MADE_FOR if self.is_made_for_length else LENGTHS)

    @property
    def is_made_for_length(self) -> bool:
        """Whether the weights depend on the length."""
        theorem = get_theorem(self.theorem)
        assert theorem is not None
        return bool(theorem.length)

    def model(self, length: int) -> Any:
        """The model, made for a length if its weights depend on one."""
        made_for = length if self.is_made_for_length else None
        return sm.compile(_source(self.entry), self.theorem, attention=self.attention, length=made_for)


def cases() -> Iterator[Case]:
    """All rows."""
    for entry in zoo.list_entries():
        for theorem in all_theorems():
            if theorem.applies_to(_source(entry.name)):
                for attention in theorem.attentions:
                    yield Case(entry.name, theorem.name, attention)


@cache
def _source(entry: str) -> Any:
    return sm.load(entry)


def _hard_row(case: Case, longest: int | None) -> Row:
    found = {str(length): _certificate(case, length) for length in case.lengths}
    row: Row = {"certificates": found}
    if case.theorem not in OTHER_LENGTHS:
        row["longest"] = longest if longest is not None and is_certified(case, longest) else _longest(case, found)
    return row


def _certificate(case: Case, length: int) -> Row:
    """The certificate for a length, or why there is none."""
    try:
        model = case.model(length)
    except sm.SoftmachineError as error:
        return {"no model": error.message}
    try:
        proof = sm.certificate(model, length=length)
    except sm.SoftmachineError as error:
        return {"refused": error.message}
    if not proof.holds:
        return {"refused": proof.why}
    return {
        "sharpness": str(proof.sharpness),
        "gap": None if proof.gap is None else str(proof.gap),
        "margin": repr(proof.margin),
        "heads": [
            [line.head, line.layer, line.lemma, _text(line.gap), _text(line.scale), _at(line.scale, length)]
            for line in proof.rows
        ],
    }


def is_certified(case: Case, length: int) -> bool:
    """Whether there is a certificate for a length."""
    return "sharpness" in _certificate(case, length)


def _longest(case: Case, found: Row) -> int | None:
    """The longest certified length up to the longest that is tried, by bisection; None if there is none."""
    if not any("sharpness" in proof for proof in found.values()):
        return None
    most = LONGEST_MADE_FOR if case.is_made_for_length else LONGEST
    if is_certified(case, most):
        return most
    low, high = max(length for length in case.lengths if "sharpness" in found[str(length)]), most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_certified(case, middle) else (low, middle)
    return low


def _soft_row(case: Case) -> Row:
    length = case.lengths[0]
    try:
        weights = case.model(length).weights
    except sm.SoftmachineError as error:
        return {"no model": error.message}
    heads = [
        [head.name, number, _text(head.weighting.scale), _at(head.weighting.scale, length)]
        for number, layer in enumerate(weights.layers, start=1)
        for head in layer.heads
    ]
    return {"length": length, "heads": heads}


def _text(number: Any) -> str | None:
    return None if number is None else str(number)


def _at(scale: Any, length: int) -> str | None:
    """A scale at the last position of an input of a length, exactly."""
    if scale is None:
        return None
    return str(scale if isinstance(scale, Fraction) else scale.at(length, length))
