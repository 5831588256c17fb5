"""Atlas of padded transformers: the circuit class of each regime, and commands that demonstrate it.

Figure 1 of "Revisiting Padded Transformer Expressivity" (Svete et al. 2026). A regime is a depth, a precision, a width
and a uniformity; all have polynomial padding. That a regime equals its class consists of three claims, each witnessed
by commands that run, or only cited: the whole class is recognised (a family is compiled and run), by a uniform family
(machines print it, and their space is measured), and no other language is. The last is a statement about all
transformers: every cell cites it, and the command demonstrates its proof on one transformer, which becomes a circuit of
the class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

CONSTANT, LOGARITHMIC, POLYNOMIAL = "1", "log N", "poly N"
LOOPED = "log^d N"
LOGSPACE, FULLY = "L-uniform", "fully uniform"
EARLIER = "Merrill & Sabharwal 2025a"


class Claim(StrEnum):
    """The three claims that make up the equality of a regime and its class."""

    LOWER = "lower"
    """The whole class is recognised: a family is compiled and run."""
    UNIFORM = "uniform"
    """The family is uniform: machines print it, and their space is measured."""
    UPPER = "upper"
    """No other language is recognised (cited): one transformer becomes a circuit of the class."""


@dataclass(frozen=True)
class Witness:
    """Runnable part of the proof of a claim.

    Args:
        construction: The name of the construction.
        command: A command that runs it in less than a minute.
        note: How it supports the claim, and to what extent.
    """

    construction: str
    command: str
    note: str = ""


@dataclass(frozen=True)
class Cell:
    """A regime and the class of languages that it recognises.

    Args:
        depth: Depth, with loops.
        precision: Bits per number.
        width: Coordinates of the residual stream.
        uniformity: Uniformity of the parameters.
        languages: The class; empty if the volume (precision × width) is too small for a natural class.
        lower: Witnesses of the claim that the whole class is recognised.
        uniform: Witnesses of the claim that a uniform family recognises it.
        above: Witnesses of the claim that no other language is recognised.
        cited: The paper that proves the lower bound, where this package has no construction for it.
        upper: The result that proves the upper bound: of Svete et al. 2026 unless it has authors and a year.
    """

    depth: str
    precision: str
    width: str
    uniformity: str
    languages: str
    lower: tuple[Witness, ...] = ()
    uniform: tuple[Witness, ...] = ()
    above: tuple[Witness, ...] = ()
    cited: str = ""
    upper: str = ""

    @property
    def witnesses(self) -> dict[Claim, tuple[Witness, ...]]:
        """The witnesses of each claim."""
        return {Claim.LOWER: self.lower, Claim.UNIFORM: self.uniform, Claim.UPPER: self.above}

    @property
    def witnessed(self) -> tuple[Claim, ...]:
        """The claims that have witnesses."""
        return tuple(claim for claim, witnesses in self.witnesses.items() if witnesses)


def all_witnesses(cells: tuple[Cell, ...]) -> Iterator[tuple[Claim, Witness]]:
    """Yield all distinct witnesses, by claim and in the order of the cells."""
    yield from dict.fromkeys((claim, each) for claim in Claim for cell in cells for each in cell.witnesses[claim])


_BINARY = Witness(
    "circuit-and-or-not", "softmachine run lookahead-adder-4 10110110 --arithmetic fixed:2", "any circuit"
)
_UNIT = Witness(
    "circuit-threshold",
    "softmachine run majority-7 1101001 --theorem circuit-threshold --arithmetic fixed:11",
    "any circuit",
)
_DEEP_UNIT = Witness(
    "circuit-threshold",
    "softmachine run parity-8 10110000 --theorem circuit-threshold --arithmetic fixed:17",
    "any circuit, one iteration per level of its depth",
)
_READS = Witness(
    "circuit-evaluator",
    "softmachine run and-or 101 --theorem circuit-evaluator --context 64 --arithmetic fixed:2",
    "circuit evaluation is complete (Lemma C.2 of Svete et al. 2026); one iteration per level of the circuit",
)
_FAMILY = Witness(
    "uniform-circuits",
    "softmachine run parity-family 01 --theorem uniform-circuits --arithmetic fixed:2",
    "the language of a uniform family, reduced to circuit evaluation: log^d iterations",
)
_COUNTING_FAMILY = Witness(
    "uniform-circuits-threshold",
    "softmachine run vote-tree 101 --arithmetic fixed:17",
    "the language of a uniform family with thresholds, in width 33: log^d iterations",
)
_GUESSES = Witness(
    "nl-configuration-graph",
    "softmachine run equal-blocks '1#1' --arithmetic fixed:2",
    "NL (Lemma 5.4 of Svete et al. 2026, d = 1): a nondeterministic machine, reduced to connectivity",
)
_GRAPH = Witness(
    "connectivity",
    "softmachine run one-way-streets 'home station' --arithmetic fixed:2",
    "complete for NL (Theorem C.1 of Svete et al. 2026, d = 1)",
)
_FLAT_FAMILY = Witness("adjacent-ones", "softmachine uniform adjacent-ones", "a family in AC⁰, by circuit-and-or-not")
_TREE_FAMILY = Witness("and-or-tree", "softmachine uniform and-or-tree", "a family in AC¹, by circuit-and-or-not")
_RULES = Witness(
    "parity-family",
    "softmachine uniform parity-family",
    "any family given by rules: its circuits (Lemma C.1 of Svete et al. 2026), and the transformer of Corollary 5.1",
)
_COUNTING_RULES = Witness("vote-tree", "softmachine uniform vote-tree", "any family given by rules, with thresholds")
_EVALUATOR = Witness(
    "circuit-evaluator",
    "softmachine uniform circuit-evaluator",
    "circuit evaluation itself (Lemma C.3 of Svete et al. 2026)",
)
_COUNTING_EVALUATOR = Witness(
    "circuit-evaluator-threshold",
    "softmachine uniform circuit-evaluator-threshold",
    "circuit evaluation itself, with thresholds",
)
_GRAPH_FAMILY = Witness("connectivity", "softmachine uniform connectivity", "all graphs of n vertices")
_MAJORITY_FAMILY = Witness(
    "majority", "softmachine uniform majority --up-to 12", "a family in TC⁰, by circuit-threshold"
)
_DEEP_FAMILY = Witness(
    "tree-of-majorities", "softmachine uniform tree-of-majorities --up-to 13", "a family in TC¹, by circuit-threshold"
)
_TO_AC = Witness(
    "to_circuit",
    "softmachine circuit 'Q_a since Q_b' --length 12 --arithmetic fixed:2 --gates AC",
    "Lemma 4.2 of Svete et al. 2026: AND, OR, NOT, in a depth independent of the length",
)
_TO_TC = Witness(
    "to_circuit",
    "softmachine circuit 'Q_a since Q_b' --length 6 --arithmetic fixed:6 --gates TC",
    "Lemma 4.2 of Svete et al. 2026: threshold gates, in a depth independent of the length",
)
_TO_DEEP_AC = Witness(
    "to_circuit",
    "softmachine circuit full-adder --theorem circuit-and-or-not --length 3 --arithmetic fixed:2 --gates AC",
    "Lemma 5.1 of Svete et al. 2026: one copy per iteration of the loop",
)
_TO_DEEP_TC = Witness(
    "to_circuit",
    "softmachine circuit full-adder --theorem circuit-threshold --length 3 --arithmetic fixed:11 --gates TC",
    "Lemma 5.1 of Svete et al. 2026: one copy per iteration of the loop",
)
_MEMBERS = Witness(
    "temporal-layer-norm",
    "softmachine run majority-formula aab --theorem temporal-layer-norm --arithmetic fixed:4",
    "members of the class, with layer norm: no position features, one set of weights; the whole class is cited",
)
_LOOPED_MEMBERS = Witness(
    "automaton-layer-norm",
    "softmachine run shell-game srrsr --theorem automaton-layer-norm",
    "members of the class (d = 1), one complete for NC¹, with layer norm: no position features, one set of weights, "
    "log N iterations; in float64, since layer norm of several numbers is not defined in fixed point; the whole class "
    "is cited",
)


def _constant_depth() -> tuple[Cell, ...]:
    upper = "Lemma 4.2"
    ac, tc = "L-uniform AC⁰", "L-uniform TC⁰"
    flat = (_BINARY,), (_FLAT_FAMILY,), (_TO_AC,)
    counts = (_UNIT,), (_MAJORITY_FAMILY,), (_TO_TC,)
    return (
        Cell(CONSTANT, CONSTANT, CONSTANT, FULLY, ""),
        Cell(CONSTANT, CONSTANT, CONSTANT, LOGSPACE, ""),
        Cell(CONSTANT, CONSTANT, LOGARITHMIC, LOGSPACE, ac, *flat, upper=upper),
        Cell(CONSTANT, CONSTANT, POLYNOMIAL, LOGSPACE, ac, *flat, upper=upper),
        Cell(CONSTANT, LOGARITHMIC, CONSTANT, FULLY, "FO-uniform TC⁰", (_MEMBERS,), cited=EARLIER, upper=EARLIER),
        *(Cell(CONSTANT, LOGARITHMIC, width, LOGSPACE, tc, *counts, upper=upper) for width in _WIDTHS),
        Cell(CONSTANT, POLYNOMIAL, CONSTANT, FULLY, "FO-uniform TC⁰", (_MEMBERS,), cited=EARLIER, upper=EARLIER),
        *(Cell(CONSTANT, POLYNOMIAL, width, LOGSPACE, tc, *counts, upper=upper) for width in _WIDTHS),
    )


def _looped() -> tuple[Cell, ...]:
    upper = "Lemma 5.2 (5b)"
    unstated = "Lemma 4.2, Lemma 5.1"  # equation (5b) covers logarithmic precision only
    ac, tc = "FO-uniform AC^d", "FO-uniform TC^d"
    complete = (_FAMILY, _READS, _GUESSES, _GRAPH), (_EVALUATOR, _RULES, _TREE_FAMILY, _GRAPH_FAMILY), (_TO_DEEP_AC,)
    counts = (_COUNTING_FAMILY, _DEEP_UNIT), (_COUNTING_EVALUATOR, _COUNTING_RULES, _DEEP_FAMILY), (_TO_DEEP_TC,)
    return (
        Cell(LOOPED, CONSTANT, CONSTANT, FULLY, ""),
        Cell(LOOPED, CONSTANT, CONSTANT, LOGSPACE, ""),
        *(
            Cell(LOOPED, CONSTANT, width, LOGSPACE, ac, *complete, upper="Lemma 5.2 (5a)")
            for width in (LOGARITHMIC, POLYNOMIAL)
        ),
        Cell(LOOPED, LOGARITHMIC, CONSTANT, FULLY, tc, (_LOOPED_MEMBERS,), cited=EARLIER, upper=EARLIER),
        *(Cell(LOOPED, LOGARITHMIC, width, LOGSPACE, tc, *counts, upper=upper) for width in _WIDTHS),
        Cell(LOOPED, POLYNOMIAL, CONSTANT, FULLY, tc, (_LOOPED_MEMBERS,), cited=EARLIER, upper=EARLIER),
        *(Cell(LOOPED, POLYNOMIAL, width, LOGSPACE, tc, *counts, upper=unstated) for width in _WIDTHS),
    )


_WIDTHS = (CONSTANT, LOGARITHMIC, POLYNOMIAL)

ATLAS: tuple[Cell, ...] = (*_constant_depth(), *_looped())
"""All regimes, by rows of the figure."""
