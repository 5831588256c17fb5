"""Growth of a family n ↦ transformer: depth, loops, width, precision, volume and padding as functions of n.

All quantities are measured on members of the family. A formula is given if some of the lengths determine one and the
others confirm it (:mod:`softmachine.studies.measure.growth_laws`); otherwise the numbers are given. The volume
(Definition 2.2 of "Revisiting Padded Transformer Expressivity") is precision × width: the bits of the residual stream
per position.

"Revisiting Padded Transformer Expressivity" (section 6) leaves open the power of transformers whose volume grows slower
than log n, and conjectures that those without padding, of volume Θ(log n), recognise less than their circuit classes
(Conjecture 6.1). The volume that one model needs is a probe: for each length, the least b such that every output in F_b
is correct, on all words of that length. A model that needs constant volume has the same b at all lengths; one whose b
grows with log n uses volume Θ(log n). It measures this model only, not others for the same language: evidence, not a
proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from softmachine.engines.dense.weight_names import min_fixed_point_bits
from softmachine.studies.measure.growth_laws import ClosedForm, find_closed_form
from softmachine.support.errors import UsageError
from softmachine.transformer.weights import Transformer

FamilyFunction = Callable[[int], Transformer]
ITERATIONS = "iterations"
QUANTITY_ORDER = ("depth", "layers", ITERATIONS, "width", "precision", "volume", "padding")
"""The first words of the names of quantities, in the order of the report."""


@dataclass(frozen=True)
class Quantity:
    """A quantity measured at several lengths, and a formula for it if these lengths confirm one."""

    name: str
    lengths: tuple[int, ...]
    values: tuple[int, ...]

    @cached_property
    def formula(self) -> ClosedForm | None:
        """The simple function of n that these values determine and confirm."""
        return find_closed_form(dict(zip(self.lengths, self.values, strict=True)))

    def __str__(self) -> str:
        return str(self.formula) if self.formula else ", ".join(map(str, self.values))


@dataclass(frozen=True)
class Growth:
    """The members of a family for some lengths, measured.

    Args:
        quantities: The depth (layers applied to an input, counting every iteration of a loop), the number of distinct
            layers, the iterations of every loop, width, precision (the b of F_b) and volume if they are known, and
            padding (number of filler tokens after the input).
    """

    quantities: tuple[Quantity, ...]

    def __getitem__(self, name: str) -> Quantity:
        return {quantity.name: quantity for quantity in self.quantities}[name]

    def __str__(self) -> str:
        wide = max(len(quantity.name) for quantity in self.quantities)
        lines = [f"{quantity.name.ljust(wide)}  {quantity}" for quantity in self.quantities]
        return "\n".join([*lines, f"measured for n = {_format_lengths(self.quantities[0].lengths)}"])


def measure_family(
    family: FamilyFunction,
    lengths: Iterable[int],
    *,
    padding: Callable[[int], int] = lambda _: 0,
    precision: Callable[[int], int] | None = None,
) -> Growth:
    """Build the members of a family and measure them.

    Args:
        family: Returns the transformer for inputs of length n; a constant function for weights that serve all lengths.
        lengths: The values of n.
        padding: Number of filler tokens after an input of length n.
        precision: The b of the F_b that the member for n runs in. Default: the least b whose F_b contains all weights.

    Raises:
        UsageError: If there are no lengths.
    """
    rows: dict[int, dict[str, int]] = {}
    for n in sorted(set(lengths)):
        transformer = family(n)
        bits = precision(n) if precision else min_fixed_point_bits(transformer)
        rows[n] = {**_measure_member(n, transformer, bits), "padding": padding(n)}
    if not rows:
        raise UsageError("measuring a family requires at least one length")
    names = sorted(
        {name: None for row in rows.values() for name in row}, key=lambda name: QUANTITY_ORDER.index(name.split()[0])
    )
    quantities = []
    for name in names:
        values = tuple(row.get(name, 0 if name.startswith(ITERATIONS) else None) for row in rows.values())
        known = tuple(value for value in values if value is not None)
        if len(known) == len(values):
            quantities.append(Quantity(name, tuple(rows), known))
    return Growth(tuple(quantities))


def _measure_member(n: int, transformer: Transformer, precision: int | None) -> dict[str, int]:
    loops = {
        f"{ITERATIONS} of {block.name or f'block {number}'}": block.iterations(n)
        for number, block in enumerate(transformer.blocks, start=1)
        if block.name or block.repeats != 1
    }
    width = transformer.width
    return {
        "depth": transformer.depth(n),
        "layers": len(transformer.layers),
        **loops,
        "width": width,
        **({} if precision is None else {"precision": precision, "volume": precision * width}),
    }


def _format_lengths(numbers: Sequence[int]) -> str:
    steps = {after - before for before, after in pairwise(numbers)}
    if len(numbers) > 4 and len(steps) == 1:
        return f"{numbers[0]}, {numbers[1]}, …, {numbers[-1]}"
    return ", ".join(map(str, numbers))


MAX_BITS = 16
"""Maximum precision of the search."""
VOLUME_CAVEAT = "this holds for one model and these words; other models may need less, and longer words more"
"""Caveat printed with every result."""


@dataclass(frozen=True)
class Volume:
    """Volume needed for the words of one length.

    Args:
        length: The length.
        precision: The least b such that the model is correct in F_b; None if there is none up to 16.
        width: The width of the model.
    """

    length: int
    precision: int | None
    width: int

    @property
    def bits(self) -> int | None:
        """The volume in bits."""
        return None if self.precision is None else self.precision * self.width


def find_volumes(is_correct: Callable[[int, int], bool], width: int, lengths: Iterable[int]) -> Iterator[Volume]:
    """Yield the volume that a model needs for each length.

    Args:
        is_correct: Whether the model is correct on all words of a length in F_b; takes the length and b.
        width: The width of the model.
        lengths: The lengths.
    """
    for length in lengths:
        enough = (bits for bits in range(1, MAX_BITS + 1) if is_correct(length, bits))
        yield Volume(length, next(enough, None), width)
