"""Gates and their kinds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from softmachine.support.errors import Place


class GateKind(StrEnum):
    """Boolean function of a gate. All but NOT, BUF and the constants take any number of arguments, at least one."""

    AND = "AND"
    OR = "OR"
    NOT = "NOT"
    XOR = "XOR"
    """Whether an odd number of arguments is 1."""
    XNOR = "XNOR"
    """Whether an even number of arguments is 1."""
    NAND = "NAND"
    NOR = "NOR"
    BUF = "BUF"
    """The identity."""
    MAJ = "MAJ"
    """Whether more than half of the arguments are 1."""
    THR = "THR"
    """Whether at least ``threshold`` arguments are 1."""
    ZERO = "ZERO"
    ONE = "ONE"


UNARY = frozenset({GateKind.NOT, GateKind.BUF})
CONSTANT = frozenset({GateKind.ZERO, GateKind.ONE})
NEGATED = {
    GateKind.NAND: GateKind.AND,
    GateKind.NOR: GateKind.OR,
    GateKind.XNOR: GateKind.XOR,
    GateKind.NOT: GateKind.BUF,
    GateKind.ONE: GateKind.ZERO,
}
"""Gate kinds that are the negation of another kind."""


@dataclass(frozen=True)
class Gate:
    """A gate: the wire that it drives, its kind, and the wires that it reads.

    Args:
        name: The wire that it drives.
        kind: Its Boolean function.
        inputs: The wires that it reads; a wire that is listed twice counts twice.
        threshold: For THR only: the number of arguments that must be 1.
        place: Location in the source.
    """

    name: str
    kind: GateKind
    inputs: tuple[str, ...] = ()
    threshold: int | None = None
    place: Place | None = field(default=None, compare=False, repr=False)

    @property
    def at_least(self) -> int:
        """The threshold of a THR or MAJ gate."""
        return len(self.inputs) // 2 + 1 if self.threshold is None else self.threshold

    def value(self, *arguments: bool) -> bool:
        """The value of the gate for these arguments."""
        if self.kind in NEGATED:
            return not Gate(self.name, NEGATED[self.kind], self.inputs).value(*arguments)
        ones = sum(arguments)
        match self.kind:
            case GateKind.AND:
                return ones == len(arguments)
            case GateKind.OR | GateKind.BUF:
                return ones > 0
            case GateKind.XOR:
                return ones % 2 == 1
            case GateKind.MAJ | GateKind.THR:
                return ones >= self.at_least
        return False

    def problems(self) -> Iterator[str]:
        """Yield the problems of the gate on its own, independent of the circuit."""
        if not self.name:
            yield "a gate drives a wire without a name"
        if self.kind in CONSTANT and self.inputs:
            yield f"the constant {self.name!r} has arguments; it takes none"
        elif self.kind in UNARY and len(self.inputs) != 1:
            yield f"gate {self.name!r} is {self.kind}, which takes 1 argument, not {len(self.inputs)}"
        elif self.kind not in CONSTANT and not self.inputs:
            yield f"gate {self.name!r} is {self.kind}, which takes at least 1 argument; for a constant use ZERO or ONE"
        if self.kind is GateKind.THR and self.threshold is None:
            yield f"gate {self.name!r} is THR without a threshold; give the number of arguments that must be 1"
        if self.kind is not GateKind.THR and self.threshold is not None:
            yield f"gate {self.name!r} is {self.kind} and has a threshold; only THR has one"

    def __str__(self) -> str:
        kind = f"THR_{self.threshold}" if self.kind is GateKind.THR else str(self.kind)
        return f"{self.name} = {kind}({', '.join(self.inputs)})"
