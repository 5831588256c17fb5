"""NL: machines that guess and have a work tape of logarithmic size, by reduction to graph connectivity (Lemma 5.4).

On a word of n letters such a machine has polynomially many configurations: a state, the places of two heads, and what
is on O(log n) cells. Whether one may lead to another depends on one letter of the word, so that a transformer of
constant depth says it for all pairs at once: that is the reduction, which is even first-order. The word is accepted iff
an accepting configuration can be reached from the first one. ``connectivity`` finds out in ⌈log₂ N⌉ turns, stacked on
the reduction (Lemma 5.3). The whole runs in F_2, with hard attention and with softmax.

``nondeterministic-logspace`` leaves out configurations that are on no way from the first one to acceptance, on any word
of n letters; ``ConfigurationGraph`` says why that is sound. ``nondeterministic-logspace-literal`` leaves out none, as
in the lemma, which is possible for tiny machines only. N counts those that are taken, and one for acceptance: accepting
ones, from which no step leads on, are one vertex.

Needs: position features for the configurations; weights for one n.
"""

from __future__ import annotations

from softmachine.languages.logspace import LogspaceMachine
from softmachine.theorems.configuration_graph.theorem import LETTERS, cost, signals
from softmachine.theorems.cost import parameter
from softmachine.theorems.nondeterministic_logspace.tokens import Kept, LogspaceCodec
from softmachine.theorems.theorem import Guide, Needs, Theorem

GUIDE = (
    Guide(
        "Which letter decides?",
        "Lemma 5.4. There is a position for each pair of configurations; the first may lead to the second if the "
        "head of the input reads the right letter, which it fetches. Position features say which one in which cell.",
        ("cell", "own cell", "read", "leads…", "needs…"),
    ),
    Guide(
        "An edge of the configuration graph",
        "Lemma 5.3. What the reduction says stands in place of the adjacency matrix that connectivity reads.",
        ("letter", "is letter", "is padding"),
    ),
    Guide(
        "Is there a way?",
        "Theorem C.1. After turn l a pair knows whether at most 2^l steps lead from one to the other.",
        ("i to k", "k to j", "path over k", "i to j over some k", "reached", "doubling"),
    ),
)


_CELLS = parameter("s", "work cells", lambda codec: codec.source.space(codec.length))
_WORK = parameter("|Γ|", "work symbols", lambda codec: len(codec.source.symbols))
_GOING = parameter(
    "|Q|", "states that do not accept", lambda codec: len({*codec.source.states} - {*codec.source.accept})
)
_COST = cost(
    parameter("N", "configurations that are kept + 1", lambda codec: codec.configurations.vertices),
    _GOING * (LETTERS + 2) * (_CELLS + 2) * (_WORK + 1) ** _CELLS + 1,
)


def _theorem(name: str, statement: str, kept: Kept, rank: int) -> Theorem:
    return Theorem(
        name,
        statement,
        "Revisiting Padded Transformer Expressivity, Lemmas 5.3 and 5.4, Theorem C.1",
        Needs(
            "configurations as position features",
            scale="O(log positions)",
            also="padding; any F_b from F_2 on",
        ),
        _COST,
        LogspaceMachine,
        ("hard", "soft"),
        codec=lambda source, length: LogspaceCodec(source, length, kept),
        signals=lambda codec, attention: signals(codec.configurations, soft=attention == "soft"),
        steps=(
            "On words of n letters there are polynomially many configurations; one letter decides what leads to what.",
            "The reduction says it for all pairs of configurations at once: each looks at its letter.",
            "Connectivity, stacked on it, finds whether an accepting configuration can be reached.",
        ),
        guide=GUIDE,
        length="how many letters words have",
        rank=rank,
    )


THEOREMS = (
    _theorem(
        "nondeterministic-logspace",
        "Lemma 5.4: NL, machines that guess with a logarithmic work tape, by connectivity; constant precision",
        Kept.USEFUL,
        rank=1,
    ),
    _theorem(
        "nondeterministic-logspace-literal",
        "Lemma 5.4 as it stands: all configurations are vertices, also those that no run has",
        Kept.ALL,
        rank=2,
    ),
)
