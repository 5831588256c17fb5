"""Turing machines that only read, by reduction to graph connectivity: the way of Lemma 5.4, on small machines.

Lemma 5.4 is about NL: machines with a read-only input and a work tape of logarithmic size, which may guess; for these
see ``nondeterministic-logspace``. Those here have no work tape and do not guess. They recognise the regular languages,
so that this shows how the reduction is stacked below connectivity (Lemma 5.3).

A machine that writes nothing (a two-way finite automaton) has |Q|·(n + 2) configurations on a word of n letters: a
state and a cell, of the word or next to it. Whether one leads to another depends on one letter, so that a transformer
of constant depth says it for all pairs at once: that is the reduction. The word is accepted iff an accepting
configuration can be reached from the first one, which ``connectivity`` recognises. Both are stacked into one
transformer (``reduction``), in F_2.

Needs: position features for the configurations; weights for one n. Of N vertices, the last is reached from every
accepting configuration.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from softmachine.ir import Program, attend, recogniser, stack
from softmachine.ir.gadgets.bit_addresses import UNIT, by_bits, matching, settled
from softmachine.ir.gadgets.wiring import address_width, binary_address, flag
from softmachine.ir.kinds import BIT
from softmachine.ir.primitives import one_hot
from softmachine.ir.reduction import stacked
from softmachine.languages.turing import TuringMachine
from softmachine.theorems.configuration_graph.tokens import ConfigurationCodec
from softmachine.theorems.connectivity import theorem as connectivity
from softmachine.theorems.cost import Cost, Expression, Term, ceil_log2, parameter
from softmachine.theorems.shared.special_tokens import PAD
from softmachine.theorems.shared.turing_tokens import STATES
from softmachine.theorems.theorem import Needs, Theorem
from softmachine.transformer.attention import Mask
from softmachine.transformer.wired_features import NO_ADDRESS


class Steps(Protocol):
    """Configurations on words of some letters, numbered from 0 on, and on which letter one leads to another."""

    @property
    def name(self) -> str:
        """What to call it."""

    @property
    def length(self) -> int:
        """How many letters words have."""

    @property
    def letters(self) -> tuple[str, ...]:
        """What may stand in a cell of a word."""

    @property
    def vertices(self) -> int:
        """How many configurations there are; the last one is acceptance."""

    def edges(self) -> Iterator[tuple[int, int, int, str]]:
        """From which to which, and the cell and the symbol on which it depends; cells beyond the word always fit."""


def signals(configurations: Steps, *, soft: bool) -> Program:
    """A transformer that recognises words of at most so many letters, by its answer for (start, accept)."""
    length, vertices = configurations.length, configurations.vertices
    positions = connectivity.positions(vertices)
    connects = connectivity.signals(vertices, soft=soft)
    # Steps 1 and 2. What leads to what.
    leads = reduction(configurations, length + positions, soft=soft)
    # Step 3. Connectivity, stacked on it.
    return stacked(configurations.name, leads, connects, offset=length, bits=vertices**2, length=positions)


def reduction(configurations: Steps, positions: int, *, soft: bool) -> Program:
    """A transformer that says at position n + iN + j whether configuration i leads to configuration j."""
    length, vertices, symbols = configurations.length, configurations.vertices, configurations.letters
    # Step 1. Which cell, and which symbol in it, leads from one configuration to another; or whether any does.
    pairs = vertices**2
    cells, always = [0] * pairs, [0] * pairs
    needs = {symbol: [0] * pairs for symbol in symbols}
    for origin, target, cell, symbol in configurations.edges():
        place = origin * vertices + target
        if 0 <= cell < length:
            cells[place], needs[symbol][place] = cell, 1
        else:
            always[place] = 1
    # Step 2. Each pair of configurations looks at its letter.
    before = [0] * length
    edge = flag("leads anyway", [*before, *always])
    if length:
        width = address_width(length)
        query, key = matching(
            binary_address("cell", width, [*before, *cells]),
            binary_address("own cell", width, [*range(length), *[NO_ADDRESS] * pairs]),
        )
        letters = one_hot("symbol", symbols, others=(PAD,))
        weighting = by_bits(soft, positions)
        read = attend("read", query=query, key=key, value=letters, mask=Mask.ALL, weighting=weighting, gap=UNIT)
        parts = [edge, *(settled(f"leads on {s}", read[s], flag(f"needs {s}", [*before, *needs[s]])) for s in symbols)]
        edge = stack(*parts).total.known(BIT)
    return recogniser(f"steps of {configurations.name}", (*symbols, PAD), edge, positions=positions)


LETTERS = parameter("n", "letters of a word", lambda codec: codec.configurations.length)


def cost(vertices: Expression, most: Term) -> Cost:
    """The cost for N vertices, of which there are at most so many."""
    exact = {"layers": 3 + 2 * ceil_log2(vertices), "positions": LETTERS + vertices**2 + vertices**3}
    return Cost(exact, {vertices.text: most, "precision": 2})


THEOREMS = (
    Theorem(
        "configuration-graph",
        "Lemmas 5.3, 5.4: a reduction to connectivity, stacked: machines that only read, constant precision",
        "Revisiting Padded Transformer Expressivity, Lemmas 5.3 and 5.4",
        Needs(
            "configurations as position features",
            scale="O(log positions)",
            also="padding; any F_b from F_2 on; only machines that write nothing",
        ),
        cost(
            parameter("N", "reached configurations + 1", lambda codec: codec.configurations.vertices),
            STATES * (LETTERS + 2) + 1,
        ),
        TuringMachine,
        ("hard", "soft"),
        codec=ConfigurationCodec,
        signals=lambda codec, attention: signals(codec.configurations, soft=attention == "soft"),
        steps=(
            "A machine that only reads has |Q|(n + 2) configurations; one letter decides what leads to what.",
            "The reduction says it for all pairs of configurations at once: each looks at its letter.",
            "Connectivity, stacked on it, finds whether an accepting configuration can be reached.",
        ),
        length="how many letters words have at most",
        rank=10,
    ),
)
