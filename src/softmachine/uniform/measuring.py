"""How much space the machines of a family use, and whether they print what ``compile`` makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from random import Random

from softmachine.transformer.features import ceil_log2
from softmachine.uniform.connections import OUTPUT, connection_language
from softmachine.uniform.describing import description, features
from softmachine.uniform.families import UniformFamily
from softmachine.uniform.transducer import Transducer, unary

FEW_STEPS = 20_000_000
"""Where a machine makes more steps for one position, only some of the positions are tried."""
MANY, FEW = 24, 3
"""How many positions are tried, or questions about connections asked, with and without that."""


@dataclass(frozen=True)
class Use:
    """What a machine took: cells of its work tapes, and steps, the most of some runs; and how many runs there were."""

    cells: int
    steps: int
    runs: int = 1


@dataclass(frozen=True)
class Measured:
    """The machines of a family, run for one n.

    Args:
        n: Of the family.
        printed: How many characters the description of T_n has.
        weights: What M₁ took.
        features: What M₂ took.
        connections: What the machine for the connection language took, if there is one.
        differences: Where something else was printed than ``compile`` makes, in words; there should be none.
    """

    n: int
    printed: int
    weights: Use
    features: Use
    connections: Use | None
    differences: tuple[str, ...]

    @property
    def logarithm(self) -> int:
        """⌈log₂ n⌉."""
        return ceil_log2(self.n)

    @property
    def uses(self) -> dict[str, Use]:
        """What each machine took."""
        found = {"weights": self.weights, "features": self.features}
        return found if self.connections is None else found | {"connections": self.connections}


def measured(family: UniformFamily, n: int, *, seed: int = 0) -> Measured:
    """Run the machines of a family for n, and compare what they print with what ``compile`` makes.

    All weights are compared. Of the position features, those of the first and last position and of random others; of
    the connection language, tuples that are in it, and random ones.
    """
    transformer, positions = family.transformer(n)
    first, second = family.machines
    wanted = "".join(f"{line}\n" for line in description(transformer))
    weights, wrong = _tried(first, [(unary(n), wanted)], "the weights")
    draw = Random(seed)
    tries = FEW if weights.steps > FEW_STEPS else MANY
    some = sorted({0, positions - 1, *(draw.randrange(positions) for _ in range(tries))})
    expected = ((unary(n, i), "".join(f"{line}\n" for line in features(transformer, i))) for i in some)
    encoding, more = _tried(second, expected, "the features")
    connected, others = None, list[str]()
    if family.connections is not None:
        connected, others = _tried(family.connections, _questions(family, n, draw), "the connections")
    return Measured(n, len(wanted), weights, encoding, connected, (*wrong, *more, *others))


def _questions(family: UniformFamily, n: int, draw: Random) -> Iterator[tuple[str, str]]:
    """Some questions about connections, with the answers: half of them are yes."""
    language = connection_language(family.circuit(n))
    wires = len(family.circuit(n).wires)
    yes = draw.sample(sorted(language), min(MANY, len(language)))
    others = [(draw.randrange(wires), draw.randrange(wires), draw.randrange(OUTPUT + 1)) for _ in range(MANY)]
    for asked in chain(yes, others):
        yield unary(n, *asked), f"{int(asked in language)}\n"


def _tried(
    machine: Transducer, pairs: Iterator[tuple[str, str]] | list[tuple[str, str]], what: str
) -> tuple[Use, list[str]]:
    """Run a machine on inputs, and say where it prints something else than expected."""
    cells = steps = runs = 0
    wrong = []
    for given, expected in pairs:
        run = machine.run(given)
        said = run.text()
        if said != expected:
            wrong.append(f"{what} on input {given}: {_difference(said, expected)}")
        cells, steps, runs = max(cells, run.cells), max(steps, run.steps), runs + 1
    return Use(cells, steps, runs), wrong


def _difference(said: str, expected: str) -> str:
    """The first line that is another one."""
    lines = zip([*said.splitlines(), "nothing"], [*expected.splitlines(), "nothing"], strict=False)
    number, (one, other) = next((k, pair) for k, pair in enumerate(lines, 1) if pair[0] != pair[1])
    return f"line {number} is {one!r}, and should be {other!r}"


def per_doubling(found: list[Measured], machine: str) -> int | None:
    """By how many cells the space of a machine grows at most when n is doubled; None if no n was.

    Space in O(log n) is space that grows by a constant with every doubling.
    """
    cells = {each.n: each.uses[machine].cells for each in found}
    pairs = [(n, m) for n in cells for m in (2 * n, 2 * n - 1) if m in cells and m > n]
    return max((cells[m] - cells[n] for n, m in pairs), default=None)
