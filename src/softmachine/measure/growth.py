"""How a family n ↦ transformer grows: depth, loops, width, precision, volume and padding, as functions of n.

Everything is measured, on the members of the family for some lengths; a formula is given where one that is exact on all
of them is simple enough that the lengths leave no doubt. The volume (Definition 2.3 of "Revisiting Padded Transformer
Expressivity") is precision × width: the bits that the residual stream has at a position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

from softmachine.engines.dense.weights import least_precision
from softmachine.errors import UsageError
from softmachine.measure.fitting import Formula, fitted
from softmachine.transformer.weights import Block, Transformer

Family = Callable[[int], Transformer]


@dataclass(frozen=True)
class Member:
    """What the transformer for one length measures.

    Args:
        n: The length of the input.
        depth: How many layers an input passes through, those of a loop each time.
        layers: How many layers there are.
        loops: How often each loop runs, by its name.
        width: The number of coordinates.
        precision: b, if the numbers are those of F_b.
        padding: How many filler tokens follow the input.
    """

    n: int
    depth: int
    layers: int
    loops: dict[str, int]
    width: int
    precision: int | None
    padding: int

    @property
    def volume(self) -> int | None:
        """Precision × width."""
        return None if self.precision is None else self.precision * self.width


@dataclass(frozen=True)
class Quantity:
    """Something measured at several lengths, and a formula for it, if one fits."""

    name: str
    lengths: tuple[int, ...]
    values: tuple[int, ...]

    @cached_property
    def formula(self) -> Formula | None:
        """A simple function of n with all these values."""
        return fitted(dict(zip(self.lengths, self.values, strict=True)))

    @property
    def constant(self) -> bool:
        """Whether it is the same at all lengths."""
        return len(set(self.values)) == 1

    def __str__(self) -> str:
        return str(self.formula) if self.formula else ", ".join(map(str, self.values))


@dataclass(frozen=True)
class Growth:
    """The members of a family, measured."""

    members: tuple[Member, ...]

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """Depth, layers, every loop, width, precision and volume if they are known, and padding."""
        loops = dict.fromkeys(name for member in self.members for name in member.loops)
        measured: dict[str, Callable[[Member], int | None]] = {
            "depth": lambda member: member.depth,
            "layers": lambda member: member.layers,
            **{f"turns of {name}": partial(_turns, name) for name in loops},
            "width": lambda member: member.width,
            "precision": lambda member: member.precision,
            "volume": lambda member: member.volume,
            "padding": lambda member: member.padding,
        }
        lengths = tuple(member.n for member in self.members)
        found = []
        for name, value in measured.items():
            values = tuple(number for member in self.members if (number := value(member)) is not None)
            if len(values) == len(lengths):
                found.append(Quantity(name, lengths, values))
        return tuple(found)

    def __getitem__(self, name: str) -> Quantity:
        for quantity in self.quantities:
            if quantity.name == name:
                return quantity
        raise KeyError(name)

    def __str__(self) -> str:
        wide = max(len(quantity.name) for quantity in self.quantities)
        lines = [f"{quantity.name.ljust(wide)}  {quantity}" for quantity in self.quantities]
        return "\n".join([*lines, f"measured for n = {_listed([member.n for member in self.members])}"])


def measure(
    family: Family,
    lengths: Iterable[int],
    *,
    padding: Callable[[int], int] = lambda _: 0,
    precision: Callable[[int], int] | None = None,
) -> Growth:
    """Build the members of a family and measure them.

    Args:
        family: The transformer for inputs of length n; for one that serves all lengths, a constant function.
        lengths: For which n.
        padding: How many filler tokens follow an input.
        precision: The b of the F_b that the member for n runs in. Left out, the least one that has all its weights.

    Raises:
        UsageError: If there are no lengths.
    """
    count = padding
    members = []
    for n in sorted(set(lengths)):
        transformer = family(n)
        bits = precision(n) if precision else least_precision(transformer)
        members.append(_measured(n, transformer, bits, count(n)))
    if not members:
        raise UsageError("a family is measured at one length at least")
    return Growth(tuple(members))


def _measured(n: int, transformer: Transformer, precision: int | None, padding: int) -> Member:
    turns = [(block, block.count(n)) for block in transformer.blocks]
    return Member(
        n=n,
        depth=sum(len(block.layers) * times for block, times in turns),
        layers=len(transformer.layers),
        loops={_name(k, block): times for k, (block, times) in enumerate(turns, start=1) if _loops(block)},
        width=transformer.width,
        precision=precision,
        padding=padding,
    )


def _loops(block: Block) -> bool:
    return bool(block.name) or block.repeats != 1


def _turns(name: str, member: Member) -> int:
    return member.loops.get(name, 0)


def _name(number: int, block: Block) -> str:
    return block.name or f"block {number}"


def _listed(numbers: Sequence[int]) -> str:
    steps = {after - before for before, after in pairwise(numbers)}
    if len(numbers) > 4 and len(steps) == 1:
        return f"{numbers[0]}, {numbers[1]}, …, {numbers[-1]}"
    return ", ".join(map(str, numbers))
