"""The map of padded transformers: which circuit class each regime has, and what in this project shows it.

Figure 1 of "Revisiting Padded Transformer Expressivity". A regime is a depth, a precision, a width and a uniformity;
all have polynomial padding. A lower bound is witnessed if something here runs: for any circuit of the class a
construction builds the transformer (constant depth, and TC^d), or the steps of the proof run on small members (AC^d).
Otherwise it is only cited. Uniformity, that a machine prints the weights in little space, is cited everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

CONSTANT, LOGARITHMIC, POLYNOMIAL = "1", "log N", "poly N"
LOOPED = "log^d N"
LOGSPACE, FULLY = "L-uniform", "fully uniform"
EARLIER = "Merrill & Sabharwal 2025a"


@dataclass(frozen=True)
class Witness:
    """What runs of the proof of a lower bound.

    Args:
        construction: Its name.
        command: A command that runs it.
        note: How it shows the bound, if that needs a word.
    """

    construction: str
    command: str
    note: str = ""


@dataclass(frozen=True)
class Cell:
    """A regime and the class of languages that it recognises.

    Args:
        depth: How deep, by loops.
        precision: Bits of a number.
        width: Coordinates of the residual stream.
        uniformity: Of the parameters.
        languages: The class; empty if the regime has too little volume (precision × width) for a natural one.
        lower: What runs of the proof that all of the class is recognised.
        cited: Who shows it, where nothing here does.
        upper: Why nothing more is.
    """

    depth: str
    precision: str
    width: str
    uniformity: str
    languages: str
    lower: tuple[Witness, ...] = ()
    cited: str = ""
    upper: str = ""

    @property
    def witnessed(self) -> bool:
        """Whether something of the lower bound runs here."""
        return bool(self.lower)


_BINARY = Witness("circuit-binary", "softmachine run lookahead-adder-4 10110110 --arithmetic fixed:2")
_UNIT = Witness("circuit-unit", "softmachine run majority-7 1101001 --theorem circuit-unit --arithmetic fixed:11")
_DEEP_UNIT = Witness(
    "circuit-unit",
    "softmachine run parity-8 10110000 --theorem circuit-unit",
    "as many turns as the circuit is deep",
)
_READS = Witness(
    "circuit-evaluator",
    "softmachine run and-or 101 --theorem circuit-evaluator --length 64",
    "circuit evaluation is complete (Lemma C.2); as many turns as the circuit is deep",
)
_FAMILY = Witness(
    "uniform-circuits",
    "softmachine run parity-family 01 --theorem uniform-circuits --arithmetic fixed:2",
    "the language of a uniform family, reduced to circuit evaluation: log^d turns",
)
_COUNTING_FAMILY = Witness(
    "uniform-thresholds",
    "softmachine run vote-tree 101",
    "the language of a uniform family with thresholds, in width 33: log^d turns",
)
_GUESSES = Witness(
    "nondeterministic-logspace",
    "softmachine run equal-blocks '1#1' --arithmetic fixed:2",
    "NL (Lemma 5.4, d = 1): a machine that guesses, reduced to connectivity",
)
_GRAPH = Witness(
    "connectivity",
    "softmachine run one-way-streets 'home station' --arithmetic fixed:2",
    "complete for NL (Theorem C.1, d = 1)",
)


def _constant_depth() -> tuple[Cell, ...]:
    upper = "Lemma 4.2"
    ac, tc = "L-uniform AC⁰", "L-uniform TC⁰"
    return (
        Cell(CONSTANT, CONSTANT, CONSTANT, FULLY, ""),
        Cell(CONSTANT, CONSTANT, CONSTANT, LOGSPACE, ""),
        Cell(CONSTANT, CONSTANT, LOGARITHMIC, LOGSPACE, ac, (_BINARY,), upper=upper),
        Cell(CONSTANT, CONSTANT, POLYNOMIAL, LOGSPACE, ac, (_BINARY,), upper=upper),
        Cell(CONSTANT, LOGARITHMIC, CONSTANT, FULLY, "FO-uniform TC⁰", cited=EARLIER, upper=EARLIER),
        *(Cell(CONSTANT, LOGARITHMIC, width, LOGSPACE, tc, (_UNIT,), upper=upper) for width in _WIDTHS),
        Cell(CONSTANT, POLYNOMIAL, CONSTANT, FULLY, "FO-uniform TC⁰", cited=EARLIER, upper=EARLIER),
        *(Cell(CONSTANT, POLYNOMIAL, width, LOGSPACE, tc, (_UNIT,), upper=upper) for width in _WIDTHS),
    )


def _looped() -> tuple[Cell, ...]:
    upper, counting = "Lemma 5.2", (_COUNTING_FAMILY, _DEEP_UNIT)
    ac, tc = "FO-uniform AC^d", "FO-uniform TC^d"
    return (
        Cell(LOOPED, CONSTANT, CONSTANT, FULLY, ""),
        Cell(LOOPED, CONSTANT, CONSTANT, LOGSPACE, ""),
        *(
            Cell(LOOPED, CONSTANT, width, LOGSPACE, ac, (_FAMILY, _READS, _GUESSES, _GRAPH), upper=upper)
            for width in (LOGARITHMIC, POLYNOMIAL)
        ),
        Cell(LOOPED, LOGARITHMIC, CONSTANT, FULLY, tc, cited=EARLIER, upper=EARLIER),
        *(Cell(LOOPED, LOGARITHMIC, width, LOGSPACE, tc, counting, upper=upper) for width in _WIDTHS),
        Cell(LOOPED, POLYNOMIAL, CONSTANT, FULLY, tc, cited=EARLIER, upper=EARLIER),
        *(Cell(LOOPED, POLYNOMIAL, width, LOGSPACE, tc, counting, upper=upper) for width in _WIDTHS),
    )


_WIDTHS = (CONSTANT, LOGARITHMIC, POLYNOMIAL)

ATLAS: tuple[Cell, ...] = (*_constant_depth(), *_looped())
"""All regimes, as in the figure: row by row."""
