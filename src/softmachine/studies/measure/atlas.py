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
LOOP_DEPTH = "log^d N"
LOGSPACE_UNIFORM, FULLY_UNIFORM = "L-uniform", "fully uniform"
EARLIER_PAPER = "Merrill & Sabharwal 2025a"


class Claim(StrEnum):
    """The three claims that make up the equality of a regime and its class."""

    LOWER = "lower"
    """The whole class is recognised: a family is compiled and run."""
    UNIFORM = "uniform"
    """The family is uniform: machines print it, and their space is measured."""
    UPPER = "upper"
    """No other language is recognised (cited): one transformer becomes a circuit of the class."""


@dataclass(frozen=True)
class Demonstration:
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
class Regime:
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
    lower: tuple[Demonstration, ...] = ()
    uniform: tuple[Demonstration, ...] = ()
    above: tuple[Demonstration, ...] = ()
    cited: str = ""
    upper: str = ""

    @property
    def witnesses(self) -> dict[Claim, tuple[Demonstration, ...]]:
        """The witnesses of each claim."""
        return {Claim.LOWER: self.lower, Claim.UNIFORM: self.uniform, Claim.UPPER: self.above}

    @property
    def witnessed(self) -> tuple[Claim, ...]:
        """The claims that have witnesses."""
        return tuple(claim for claim, witnesses in self.witnesses.items() if witnesses)


def iterate_demonstrations(cells: tuple[Regime, ...]) -> Iterator[tuple[Claim, Demonstration]]:
    """Yield all distinct witnesses, by claim and in the order of the cells."""
    yield from dict.fromkeys((claim, each) for claim in Claim for cell in cells for each in cell.witnesses[claim])


_BINARY = Demonstration(
    "circuit-and-or-not", "softmachine run lookahead-adder-4 10110110 --arithmetic fixed:2", "any circuit"
)
_UNIT = Demonstration(
    "circuit-threshold",
    "softmachine run majority-7 1101001 --theorem circuit-threshold --arithmetic fixed:11",
    "any circuit",
)
_DEEP_UNIT = Demonstration(
    "circuit-threshold",
    "softmachine run parity-8 10110000 --theorem circuit-threshold --arithmetic fixed:17",
    "any circuit, one iteration per level of its depth",
)
_READS = Demonstration(
    "circuit-evaluator",
    "softmachine run and-or 101 --theorem circuit-evaluator --context 64 --arithmetic fixed:2",
    "circuit evaluation is complete (Lemma C.2 of Svete et al. 2026); one iteration per level of the circuit",
)
_FAMILY = Demonstration(
    "uniform-circuits",
    "softmachine run parity-family 01 --theorem uniform-circuits --arithmetic fixed:2",
    "the language of a uniform family, reduced to circuit evaluation: log^d iterations",
)
_COUNTING_FAMILY = Demonstration(
    "uniform-circuits-threshold",
    "softmachine run vote-tree 101 --arithmetic fixed:17",
    "the language of a uniform family with thresholds, in width 33: log^d iterations",
)
_GUESSES = Demonstration(
    "nl-configuration-graph",
    "softmachine run equal-blocks '1#1' --arithmetic fixed:2",
    "NL (Lemma 5.4 of Svete et al. 2026, d = 1): a nondeterministic machine, reduced to connectivity",
)
_GRAPH = Demonstration(
    "connectivity",
    "softmachine run one-way-streets 'home station' --arithmetic fixed:2",
    "complete for NL (Theorem C.1 of Svete et al. 2026, d = 1)",
)
_FLAT_FAMILY = Demonstration(
    "adjacent-ones", "softmachine uniform adjacent-ones", "a family in AC⁰, by circuit-and-or-not"
)
_TREE_FAMILY = Demonstration("and-or-tree", "softmachine uniform and-or-tree", "a family in AC¹, by circuit-and-or-not")
_RULES = Demonstration(
    "parity-family",
    "softmachine uniform parity-family",
    "any family given by rules: its circuits (Lemma C.1 of Svete et al. 2026), and the transformer of Corollary 5.1",
)
_COUNTING_RULES = Demonstration(
    "vote-tree", "softmachine uniform vote-tree", "any family given by rules, with thresholds"
)
_EVALUATOR = Demonstration(
    "circuit-evaluator",
    "softmachine uniform circuit-evaluator",
    "circuit evaluation itself (Lemma C.3 of Svete et al. 2026)",
)
_COUNTING_EVALUATOR = Demonstration(
    "circuit-evaluator-threshold",
    "softmachine uniform circuit-evaluator-threshold",
    "circuit evaluation itself, with thresholds",
)
_GRAPH_FAMILY = Demonstration("connectivity", "softmachine uniform connectivity", "all graphs of n vertices")
_MAJORITY_FAMILY = Demonstration(
    "majority", "softmachine uniform majority --up-to 12", "a family in TC⁰, by circuit-threshold"
)
_DEEP_FAMILY = Demonstration(
    "tree-of-majorities", "softmachine uniform tree-of-majorities --up-to 13", "a family in TC¹, by circuit-threshold"
)
_TO_AC = Demonstration(
    "to_circuit",
    "softmachine circuit 'Q_a since Q_b' --length 12 --arithmetic fixed:2 --gates AC",
    "Lemma 4.2 of Svete et al. 2026: AND, OR, NOT, in a depth independent of the length",
)
_TO_TC = Demonstration(
    "to_circuit",
    "softmachine circuit 'Q_a since Q_b' --length 6 --arithmetic fixed:6 --gates TC",
    "Lemma 4.2 of Svete et al. 2026: threshold gates, in a depth independent of the length",
)
_TO_DEEP_AC = Demonstration(
    "to_circuit",
    "softmachine circuit full-adder --theorem circuit-and-or-not --length 3 --arithmetic fixed:2 --gates AC",
    "Lemma 5.1 of Svete et al. 2026: one copy per iteration of the loop",
)
_TO_DEEP_TC = Demonstration(
    "to_circuit",
    "softmachine circuit full-adder --theorem circuit-threshold --length 3 --arithmetic fixed:11 --gates TC",
    "Lemma 5.1 of Svete et al. 2026: one copy per iteration of the loop",
)
_MEMBERS = Demonstration(
    "temporal-layer-norm",
    "softmachine run majority-formula aab --theorem temporal-layer-norm --arithmetic fixed:4",
    "members of the class, with layer norm: no position features, one set of weights; the whole class is cited",
)
_LOOPED_MEMBERS = Demonstration(
    "automaton-layer-norm",
    "softmachine run shell-game srrsr --theorem automaton-layer-norm",
    "members of the class (d = 1), one complete for NC¹, with layer norm: no position features, one set of weights, "
    "log N iterations; in float64, since layer norm of several numbers is not defined in fixed point; the whole class "
    "is cited",
)


def _constant_depth_regimes() -> tuple[Regime, ...]:
    upper = "Lemma 4.2"
    ac, tc = "L-uniform AC⁰", "L-uniform TC⁰"
    flat = (_BINARY,), (_FLAT_FAMILY,), (_TO_AC,)
    counts = (_UNIT,), (_MAJORITY_FAMILY,), (_TO_TC,)
    return (
        Regime(CONSTANT, CONSTANT, CONSTANT, FULLY_UNIFORM, ""),
        Regime(CONSTANT, CONSTANT, CONSTANT, LOGSPACE_UNIFORM, ""),
        Regime(CONSTANT, CONSTANT, LOGARITHMIC, LOGSPACE_UNIFORM, ac, *flat, upper=upper),
        Regime(CONSTANT, CONSTANT, POLYNOMIAL, LOGSPACE_UNIFORM, ac, *flat, upper=upper),
        Regime(
            CONSTANT,
            LOGARITHMIC,
            CONSTANT,
            FULLY_UNIFORM,
            "FO-uniform TC⁰",
            (_MEMBERS,),
            cited=EARLIER_PAPER,
            upper=EARLIER_PAPER,
        ),
        *(Regime(CONSTANT, LOGARITHMIC, width, LOGSPACE_UNIFORM, tc, *counts, upper=upper) for width in _WIDTHS),
        Regime(
            CONSTANT,
            POLYNOMIAL,
            CONSTANT,
            FULLY_UNIFORM,
            "FO-uniform TC⁰",
            (_MEMBERS,),
            cited=EARLIER_PAPER,
            upper=EARLIER_PAPER,
        ),
        *(Regime(CONSTANT, POLYNOMIAL, width, LOGSPACE_UNIFORM, tc, *counts, upper=upper) for width in _WIDTHS),
    )


def _looped_regimes() -> tuple[Regime, ...]:
    upper = "Lemma 5.2 (5b)"
    unstated = "Lemma 4.2, Lemma 5.1"  # equation (5b) covers logarithmic precision only
    ac, tc = "FO-uniform AC^d", "FO-uniform TC^d"
    complete = (_FAMILY, _READS, _GUESSES, _GRAPH), (_EVALUATOR, _RULES, _TREE_FAMILY, _GRAPH_FAMILY), (_TO_DEEP_AC,)
    counts = (_COUNTING_FAMILY, _DEEP_UNIT), (_COUNTING_EVALUATOR, _COUNTING_RULES, _DEEP_FAMILY), (_TO_DEEP_TC,)
    return (
        Regime(LOOP_DEPTH, CONSTANT, CONSTANT, FULLY_UNIFORM, ""),
        Regime(LOOP_DEPTH, CONSTANT, CONSTANT, LOGSPACE_UNIFORM, ""),
        *(
            Regime(LOOP_DEPTH, CONSTANT, width, LOGSPACE_UNIFORM, ac, *complete, upper="Lemma 5.2 (5a)")
            for width in (LOGARITHMIC, POLYNOMIAL)
        ),
        Regime(
            LOOP_DEPTH,
            LOGARITHMIC,
            CONSTANT,
            FULLY_UNIFORM,
            tc,
            (_LOOPED_MEMBERS,),
            cited=EARLIER_PAPER,
            upper=EARLIER_PAPER,
        ),
        *(Regime(LOOP_DEPTH, LOGARITHMIC, width, LOGSPACE_UNIFORM, tc, *counts, upper=upper) for width in _WIDTHS),
        Regime(
            LOOP_DEPTH,
            POLYNOMIAL,
            CONSTANT,
            FULLY_UNIFORM,
            tc,
            (_LOOPED_MEMBERS,),
            cited=EARLIER_PAPER,
            upper=EARLIER_PAPER,
        ),
        *(Regime(LOOP_DEPTH, POLYNOMIAL, width, LOGSPACE_UNIFORM, tc, *counts, upper=unstated) for width in _WIDTHS),
    )


_WIDTHS = (CONSTANT, LOGARITHMIC, POLYNOMIAL)

ATLAS: tuple[Regime, ...] = (*_constant_depth_regimes(), *_looped_regimes())
"""All regimes, by rows of the figure."""
