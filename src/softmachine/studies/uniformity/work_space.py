"""Measurement of the space that the machines of a family use, and verification of their output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from softmachine.studies.uniformity.families import RuleFamily, UniformFamily
from softmachine.transformer.features import ceil_log2


@dataclass(frozen=True)
class ResourceUse:
    """Resources of a machine: the maximum over several runs.

    Args:
        cells: Visited cells of the work tapes.
        steps: Steps of the machine.
        printed: Characters of output.
        runs: Number of runs.
    """

    cells: int = 0
    steps: int = 0
    printed: int = 0
    runs: int = 0


@dataclass(frozen=True)
class SpaceMeasurement:
    """Measurement of the machines of a family for one n.

    Args:
        n: The size.
        uses: Resources of each machine.
        differences: Descriptions of wrong outputs; empty if all outputs are correct.
    """

    n: int
    uses: Mapping[str, ResourceUse]
    differences: tuple[str, ...]

    @property
    def ceil_log_n(self) -> int:
        """⌈log₂ n⌉."""
        return ceil_log2(self.n)


def measure_space(family: UniformFamily | RuleFamily, n: int) -> SpaceMeasurement:
    """Run the machines of a family for n, and compare their output with the expected one."""
    uses: dict[str, ResourceUse] = {}
    wrong = []
    for name, given, expected in family.test_cases(n, Random(0)):
        run = family.machines[name].start(given)
        output = run.read_output()
        if output != expected:
            wrong.append(f"the {name} on input {given}: {_describe_difference(output, expected)}")
        use = uses.get(name, ResourceUse())
        uses[name] = replace(
            use,
            cells=max(use.cells, run.cells),
            steps=max(use.steps, run.steps),
            printed=max(use.printed, len(output)),
            runs=use.runs + 1,
        )
    return SpaceMeasurement(n, uses, tuple(wrong))


def _describe_difference(output: str, expected: str) -> str:
    """Describe the first line that differs."""
    lines = zip([*output.splitlines(), "nothing"], [*expected.splitlines(), "nothing"], strict=False)
    number, (one, other) = next((k, pair) for k, pair in enumerate(lines, 1) if pair[0] != pair[1])
    return f"line {number} is {one!r}; expected {other!r}"


def growth_per_doubling(found: Sequence[SpaceMeasurement], machine: str) -> int | None:
    """Return the maximum growth of the space of a machine, in cells, when n doubles; None if no n was doubled.

    Space O(log n) grows by at most a constant when n doubles.
    """
    cells = {each.n: each.uses[machine].cells for each in found}
    pairs = [(n, m) for n in cells for m in (2 * n, 2 * n - 1) if m in cells and m > n]
    return max((cells[m] - cells[n] for n, m in pairs), default=None)
