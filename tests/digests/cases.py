"""What is recorded: every zoo entry by every construction that applies. All that is used of softmachine is here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import softmachine as sm
from softmachine.languages import zoo
from softmachine.support.stored_names import THEOREMS
from tests.digests.digest import name_digest, number_digest

CONTEXTS = (16, 64)
"""The lengths that weights are made for, if they depend on one."""
MORE_CONTEXTS = {
    "turing-configuration-graph": (2, 4), "circuit-evaluator": (1024,), "circuit-evaluator-threshold": (1024,),
}  # fmt: skip
"""Lengths that serve more sources: most are refused at 16 and 64, there is too much or too little room."""
FEW_LETTERS = (
    "uniform-circuits",
    "uniform-circuits-threshold",
    "nl-configuration-graph",
    "nl-configuration-graph-unpruned",
)
"""Of these the length is that of words, and weights for long ones are large: only these lengths."""
LENGTHS_OF_WORDS = (0, 1, 2, 3)
SOFTENED = "softened"
"""Soft attention with a certificate."""
CERTIFIED = 50
"""The length of the certificates."""
ALSO_SOFTENED = (
    ("palindrome", "turing-average-hard"),
    ("universal", "turing-average-hard"),
    ("palindrome", "turing-average-hard-summary"),
    ("induction-head", "srasp"),
    ("dyck-2-program", "srasp"),
    ("dyck-1-formula", "temporal-encoder"),
)
"""Beside the first entry of every construction."""
ANY_LENGTH = "any length"
REFUSED = "refused"
"""Recorded in place of the digest of the numbers if there is an error; its message stands in place of the names."""
LEFT_OUT = "left out"
"""Recorded in place of both digests of a case that has not been recorded because it takes too long."""
RENAMED: dict[str, str] = dict(THEOREMS)
"""From the recorded name of an entry, a theorem or a kind of attention to its present one, where they differ.

A rename adds a line here and leaves the keys of the record as they are.
"""


@dataclass(frozen=True)
class Case:
    """One model."""

    entry: str
    construction: str
    attention: str
    length: int | None

    def __str__(self) -> str:
        length = ANY_LENGTH if self.length is None else f"length {self.length}"
        recorded = {present: old for old, present in RENAMED.items()}
        names = (recorded.get(name, name) for name in (self.entry, self.construction, self.attention))
        return " · ".join((*names, length))

    @staticmethod
    def read(text: str) -> Case:
        """The case that prints like this."""
        *names, length = text.split(" · ")
        entry, construction, attention = (RENAMED.get(name, name) for name in names)
        made_for = None if length == ANY_LENGTH else int(length.removeprefix("length "))
        return Case(entry, construction, attention, made_for)

    def compiled(self) -> Any:
        """The transformer."""
        source = _source(self.entry)
        if self.attention == SOFTENED:
            hard = sm.compile(source, self.construction, attention="hard", length=self.length)
            return sm.soften(hard, length=self.length or CERTIFIED)[0]
        return sm.compile(source, self.construction, attention=self.attention, length=self.length)

    def digests(self) -> tuple[str, str]:
        """The digests of its numbers and of its names; or that it is refused, and the message."""
        try:
            weights = self.compiled().weights
        except sm.SoftmachineError as error:
            return REFUSED, error.message
        return number_digest(weights), name_digest(weights)


def cases() -> Iterator[Case]:
    """All that exist today."""
    from softmachine.theorems import all_theorems

    softened = set(ALSO_SOFTENED)
    begun = set()
    for entry in zoo.list_entries():
        for construction in all_theorems():
            name = construction.name
            if not construction.applies_to(_source(entry.name)):
                continue
            contexts = LENGTHS_OF_WORDS if name in FEW_LETTERS else (*CONTEXTS, *MORE_CONTEXTS.get(name, ()))
            lengths = contexts if construction.length else (None,)
            for attention in construction.attentions:
                for length in lengths:
                    yield Case(entry.name, name, attention, length)
            if "hard" in construction.attentions and (name not in begun or (entry.name, name) in softened):
                begun.add(name)
                yield Case(entry.name, name, SOFTENED, contexts[-1] if name in FEW_LETTERS else CERTIFIED)


@cache
def _source(entry: str) -> Any:
    return sm.load(entry)
