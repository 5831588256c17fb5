"""How much space the machines of a family use, and whether they print what they should."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from softmachine.studies.uniformity.families import UniformFamily, WrittenFamily
from softmachine.transformer.features import ceil_log2


@dataclass(frozen=True)
class Use:
    """What a machine took: cells of its work tapes, and steps, the most of some runs; how many runs there were.

    Args:
        cells: Cells of work tapes that a head has been on.
        steps: Steps of the machine.
        printed: Characters of output.
        runs: How many inputs were tried.
    """

    cells: int = 0
    steps: int = 0
    printed: int = 0
    runs: int = 0


@dataclass(frozen=True)
class Measured:
    """The machines of a family, run for one n.

    Args:
        n: Of the family.
        uses: What each machine took.
        differences: Where something else was printed than there should be, in words; there should be none.
    """

    n: int
    uses: Mapping[str, Use]
    differences: tuple[str, ...]

    @property
    def logarithm(self) -> int:
        """⌈log₂ n⌉."""
        return ceil_log2(self.n)


def measured(family: UniformFamily | WrittenFamily, n: int) -> Measured:
    """Run the machines of a family for n, and compare what they print with what it should be."""
    uses: dict[str, Use] = {}
    wrong = []
    for name, given, expected in family.trials(n, Random(0)):
        run = family.machines[name].run(given)
        said = run.text()
        if said != expected:
            wrong.append(f"the {name} on input {given}: {_difference(said, expected)}")
        so_far = uses.get(name, Use())
        uses[name] = replace(
            so_far,
            cells=max(so_far.cells, run.cells),
            steps=max(so_far.steps, run.steps),
            printed=max(so_far.printed, len(said)),
            runs=so_far.runs + 1,
        )
    return Measured(n, uses, tuple(wrong))


def _difference(said: str, expected: str) -> str:
    """The first line that is another one."""
    lines = zip([*said.splitlines(), "nothing"], [*expected.splitlines(), "nothing"], strict=False)
    number, (one, other) = next((k, pair) for k, pair in enumerate(lines, 1) if pair[0] != pair[1])
    return f"line {number} is {one!r}, and should be {other!r}"


def per_doubling(found: Sequence[Measured], machine: str) -> int | None:
    """By how many cells the space of a machine grows at most when n is doubled; None if no n was.

    Space in O(log n) is space that grows by a constant with every doubling.
    """
    cells = {each.n: each.uses[machine].cells for each in found}
    pairs = [(n, m) for n in cells for m in (2 * n, 2 * n - 1) if m in cells and m > n]
    return max((cells[m] - cells[n] for n, m in pairs), default=None)
