"""NL: nondeterministic logspace machines, by reduction to graph connectivity.

Lemma 5.4 of "Revisiting Padded Transformer Expressivity" (Svete et al. 2026). On a word of length n such a machine has
polynomially many configurations: a state, the positions of two heads, and the contents of O(log n) cells. Whether one
may lead to another depends on one symbol of the word, so that a transformer of constant depth computes it for all pairs
in parallel: that is the reduction, which is even first-order. The word is accepted iff an accepting configuration is
reachable from the initial one. ``connectivity``, composed with the reduction (Lemma 5.3 of the same paper), decides
this in ⌈log₂ N⌉ iterations. The precision is F_2, with hard attention and with softmax.

``nl-configuration-graph`` omits configurations that are on no path from the initial one to acceptance, on any word
of length n; ``ConfigurationGraph`` documents why this is sound. ``nl-configuration-graph-unpruned`` omits none, as in
the lemma, which is feasible for tiny machines only. N is the number of kept configurations, plus one for acceptance:
the accepting configurations, which have no successors, are one vertex.

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
        "Which input symbol does this step need?",
        "Lemma 5.4 of Svete et al. 2026. There is a position for each pair of configurations; the first may lead to "
        "the second if the input head reads a certain symbol, which the position fetches. Position features encode the "
        "cell and the symbol.",
        ("cell", "own cell", "read", "leads…", "needs…"),
    ),
    Guide(
        "An edge of the configuration graph",
        "Lemma 5.3 of Svete et al. 2026. The output of the reduction replaces the adjacency matrix that connectivity "
        "reads.",
        ("letter", "is letter", "is padding"),
    ),
    Guide(
        "Is there a path?",
        "Theorem C.1 of Svete et al. 2026. After iteration l a pair has a bit: whether at most 2^l steps lead from one "
        "to the other.",
        ("i to k", "k to j", "path over k", "i to j over some k", "reached", "doubling"),
    ),
)


_CELLS = parameter("s", "work cells", lambda codec: codec.source.space(codec.length))
_WORK = parameter("|Γ|", "work symbols", lambda codec: len(codec.source.symbols))
_GOING = parameter(
    "|Q|", "states that do not accept", lambda codec: len({*codec.source.states} - {*codec.source.accept})
)
_COST = cost(
    parameter("N", "kept configurations + 1", lambda codec: codec.configurations.vertices),
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
            also="padding; any F_b with b ≥ 2",
        ),
        _COST,
        LogspaceMachine,
        ("hard", "soft"),
        codec=lambda source, length: LogspaceCodec(source, length, kept),
        signals=lambda codec, attention: signals(codec.configurations, soft=attention == "soft"),
        steps=(
            "On words of length n there are polynomially many configurations; each step depends on one symbol.",
            "The reduction computes the steps for all pairs of configurations in parallel: each fetches its symbol.",
            "Connectivity, composed with it, decides whether an accepting configuration is reachable.",
        ),
        guide=GUIDE,
        length="the length of words",
        rank=rank,
    )


THEOREMS = (
    _theorem(
        "nl-configuration-graph",
        "NL: nondeterministic logspace machines, by reduction to connectivity, constant precision",
        Kept.USEFUL,
        rank=1,
    ),
    _theorem(
        "nl-configuration-graph-unpruned",
        "NL with all configurations as vertices, including unreachable ones, as in the paper",
        Kept.ALL,
        rank=2,
    ),
)
