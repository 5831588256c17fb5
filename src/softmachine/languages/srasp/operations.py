"""Normal form of S-RASP programs, with at most one operation per definition; and the list of operations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from softmachine.languages.srasp.ast import Attention, Expression, PrefixSum, VectorRead, map_children, move_to_i, walk
from softmachine.languages.srasp.predicate_split import PredicateProduct, split_predicate
from softmachine.languages.srasp.program import Definition, SraspProgram


@dataclass(frozen=True)
class PrefixSumStep:
    """A prefix sum.

    Args:
        name: The vector that it defines.
        term: The summand as a vector: an expression at i.
    """

    name: str
    term: Expression


@dataclass(frozen=True)
class AttentionStep:
    """An attention operation.

    Args:
        name: The vector that it defines.
        attention: The operation.
        products: Its predicate as a sum of products.
        read_vectors: The vectors that its value reads at the selected j.
    """

    name: str
    attention: Attention
    products: tuple[PredicateProduct, ...]
    read_vectors: tuple[VectorRead, ...]


Step: TypeAlias = PrefixSumStep | AttentionStep


def list_operations(program: SraspProgram) -> tuple[Step, ...]:
    """The operations of the normal form of a program (see ``normalise``), in order.

    Raises:
        ConstructionError: If a predicate has too many cases to be split.
    """
    flat = normalise(program)
    return tuple(
        PrefixSumStep(definition.name, move_to_i(body.term))
        if isinstance(body, PrefixSum)
        else AttentionStep(definition.name, body, split_predicate(flat, body.predicate), _find_reads_at_j(body.value))
        for definition in flat.definitions
        if isinstance(body := definition.body, PrefixSum | Attention)
    )


def normalise(program: SraspProgram) -> SraspProgram:
    """Convert a program to normal form: each definition is either position-wise or a single operation.

    Operations inside expressions become separate vectors, defined before the one that contains them.
    """
    hoisting = _Hoister({definition.name for definition in program.definitions})
    definitions = tuple(entry for definition in program.definitions for entry in hoisting.flatten(definition))
    return program if definitions == program.definitions else replace(program, definitions=definitions)


class _Hoister:
    """Moves operations out of expressions into definitions with new names."""

    def __init__(self, used: set[str]) -> None:
        self.taken = used
        self.hoisted: list[Definition] = []

    def flatten(self, definition: Definition) -> Iterator[Definition]:
        """The definitions that replace a definition; it comes last itself."""
        self.hoisted = []
        body = map_children(definition.body, lambda part: self._hoist(part, definition))
        yield from self.hoisted
        yield replace(definition, body=body)

    def _hoist(self, expression: Expression, definition: Definition) -> Expression:
        inner = map_children(expression, lambda part: self._hoist(part, definition))
        if not isinstance(inner, PrefixSum | Attention):
            return inner
        name = self._unused_name(definition.name)
        self.hoisted.append(Definition(name, inner, definition.place))
        return VectorRead(name, "i", place=expression.place)

    def _unused_name(self, name: str) -> str:
        number = 1
        while f"{name}_{number}" in self.taken:
            number += 1
        self.taken.add(f"{name}_{number}")
        return f"{name}_{number}"


def _find_reads_at_j(value: Expression) -> tuple[VectorRead, ...]:
    reads = (part for part in walk(value) if isinstance(part, VectorRead) and part.at == "j")
    return tuple(dict.fromkeys(reads))
