"""Read-only Turing machines, by reduction to graph connectivity: the method of Lemma 5.4, for small machines.

All numbers refer to "Revisiting Padded Transformer Expressivity" (Svete et al. 2026). Lemma 5.4 is about NL:
nondeterministic machines with a read-only input and a work tape of logarithmic size; see ``nl-configuration-graph``.
The machines here are deterministic and have no work tape. They recognise the regular languages, and serve as a small
example of a reduction composed with connectivity (Lemma 5.3).

A machine that writes nothing (a two-way finite automaton) has |Q|·(n + 2) configurations on a word of length n: a state
and a cell, of the word or next to it. Whether a step leads from one to another depends on one symbol, so that a
transformer of constant depth computes it for all pairs in parallel: that is the reduction. The word is accepted iff an
accepting configuration is reachable from the initial one, which ``connectivity`` decides. Both are composed into one
transformer (``reduction``), in F_2.

Needs: position features for the configurations; weights for one n. The last of the N vertices is the successor of every
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
from softmachine.theorems.connectivity.theorem import positions
from softmachine.theorems.connectivity.theorem import signals as connectivity_signals
from softmachine.theorems.cost import Cost, Expression, Term, ceil_log2, parameter
from softmachine.theorems.shared.special_tokens import PAD
from softmachine.theorems.shared.turing_tokens import STATES
from softmachine.theorems.theorem import Needs, Theorem
from softmachine.transformer.attention import Mask
from softmachine.transformer.wired_features import NO_ADDRESS


class Steps(Protocol):
    """Configurations on words of a length, numbered from 0, and the symbols on which one leads to another."""

    @property
    def name(self) -> str:
        """The name of the machine."""

    @property
    def length(self) -> int:
        """The length of words."""

    @property
    def letters(self) -> tuple[str, ...]:
        """The symbols of the cells of a word."""

    @property
    def vertices(self) -> int:
        """The number of vertices; the last one is acceptance."""

    def edges(self) -> Iterator[tuple[int, int, int, str]]:
        """Yield (from, to, cell, symbol): the step requires the symbol in the cell, if it is a cell of the word."""


def signals(configurations: Steps, *, soft: bool) -> Program:
    """Build a transformer that recognises words up to a length, by its answer for (start, accept)."""
    length, vertices = configurations.length, configurations.vertices
    connected = positions(vertices)
    connects = connectivity_signals(vertices, soft=soft)
    # Steps 1 and 2. The edges of the configuration graph.
    leads = reduction(configurations, length + connected, soft=soft)
    # Step 3. The composition with connectivity.
    return stacked(configurations.name, leads, connects, offset=length, bits=vertices**2, length=connected)


def reduction(configurations: Steps, count: int, *, soft: bool) -> Program:
    """Build a transformer of ``count`` positions: at n + iN + j, whether configuration i leads to configuration j."""
    length, vertices, symbols = configurations.length, configurations.vertices, configurations.letters
    # Step 1. The cell and symbol that lead from one configuration to another, or whether the step is unconditional.
    pairs = vertices**2
    cells, always = [0] * pairs, [0] * pairs
    needs = {symbol: [0] * pairs for symbol in symbols}
    for origin, target, cell, symbol in configurations.edges():
        place = origin * vertices + target
        if 0 <= cell < length:
            cells[place], needs[symbol][place] = cell, 1
        else:
            always[place] = 1
    # Step 2. Each pair of configurations fetches its symbol.
    before = [0] * length
    edge = flag("leads anyway", [*before, *always])
    if length:
        width = address_width(length)
        query, key = matching(
            binary_address("cell", width, [*before, *cells]),
            binary_address("own cell", width, [*range(length), *[NO_ADDRESS] * pairs]),
        )
        letters = one_hot("symbol", symbols, others=(PAD,))
        weighting = by_bits(soft, count)
        read = attend("read", query=query, key=key, value=letters, mask=Mask.ALL, weighting=weighting, gap=UNIT)
        parts = [edge, *(settled(f"leads on {s}", read[s], flag(f"needs {s}", [*before, *needs[s]])) for s in symbols)]
        edge = stack(*parts).total.known(BIT)
    return recogniser(f"steps of {configurations.name}", (*symbols, PAD), edge, positions=count)


LETTERS = parameter("n", "length of a word", lambda codec: codec.configurations.length)


def cost(vertices: Expression, most: Term) -> Cost:
    """Return the cost for N vertices, with an upper bound of N."""
    exact = {"layers": 3 + 2 * ceil_log2(vertices), "positions": LETTERS + vertices**2 + vertices**3}
    return Cost(exact, {vertices.text: most, "precision": 2})


THEOREMS = (
    Theorem(
        "turing-configuration-graph",
        "Read-only Turing machines, by reduction to connectivity of configurations, constant precision",
        "Revisiting Padded Transformer Expressivity, Lemmas 5.3 and 5.4",
        Needs(
            "configurations as position features",
            scale="O(log positions)",
            also="padding; any F_b with b ≥ 2; only machines that write nothing",
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
            "A read-only machine has |Q|(n + 2) configurations; whether one leads to another depends on one symbol.",
            "The reduction computes this for all pairs of configurations in parallel: each fetches its symbol.",
            "Connectivity, composed with it, decides whether an accepting configuration is reachable.",
        ),
        length="the maximal length of words",
        rank=10,
    ),
)
