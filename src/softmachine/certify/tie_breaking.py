"""Tie breaking in unique-hard attention: a term of the scores that makes the best key the only one.

Lemma 8 and section 4.3 of "Simulating Hard Attention Using Soft Attention". A leftmost- or rightmost-hard head takes
one of several best keys, which softmax cannot: equal scores get equal weights. So the score gets a term that grows, or
falls, with the position of the key, and takes less than the gap. Then the best key is the only one, average-hard
attention finds it, and certificates speak of it like of any other head.

| who | term of the score, for rightmost | the new gap, of a gap g | |
|---|---|---|---|
| a head of a program that knows n | + g j/(2(n+1)) | g/(2(n+1)) | Lemma 8 (b) |
| a head of one that does not, or is padded | - g/(j+1) | g/(i+1)², or g over the number of positions² | Lemma 8 (a) |

Leftmost is the same with the other sign: Lemma 8 (c), and (a) by the same proof, since 1/(j*+1) - 1/(j+1), for j > j*,
is (j-j*)/((j*+1)(j+1)) as well.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from softmachine.ir.primitives import Attention, Loop, Position, ScoreDecay, position
from softmachine.ir.program import Program
from softmachine.ir.signal import Affine, Node, Signal, rewrite, topological_order
from softmachine.support.errors import ConstructionError
from softmachine.transformer.attention import AVERAGE_HARD, AttentionKind
from softmachine.transformer.features import I_PLUS_ONE, N_PLUS_ONE, RECIPROCAL, Feature, I, Monomial


def break_ties_in_program(program: Program) -> Program:
    """The same program with average-hard heads that have no ties in place of leftmost- and rightmost-hard ones.

    Needs: that each such head whose scores differ promises their gap. Costs: a component of its query and key, and one
    position feature or two. A program without such heads is given back as it is.

    Raises:
        ConstructionError: If a head promises no gap of its scores, or no term is known for it; the message names it.
    """
    nodes = list(topological_order(program.logits.forms))
    if not any(isinstance(node, Attention) and node.weighting.is_unique_hard for node in nodes):
        return program
    reads_length = program.position_count is None and any(map(_needs_length, nodes))

    def without_ties(_: Node, node: Node) -> Node:
        if not isinstance(node, Attention) or not node.weighting.is_unique_hard:
            return node
        return _add_length_ramp(node) if reads_length else _add_position_term(node, program.position_count)

    return replace(program, logits=rewrite(program.logits, without_ties))


def _needs_length(node: Node) -> bool:
    """Whether only an encoder, which reads its length, can compute it."""
    match node:
        case Attention():
            return not node.mask.is_causal
        case Position():
            return node.feature.needs_length
        case Loop():
            return isinstance(node.iterations, Feature) and node.iterations.needs_length
    return False


def _add_length_ramp(node: Attention) -> Attention:
    """Lemma 8 (b) and (c): the ramp j/(n+1), of which all of it takes less than half of the gap."""
    gap = _score_gap(node)
    ramp = position(I * N_PLUS_ONE**-1)
    return _add_score_term(
        node, gap, ramp, rising=True, new_gap=gap * Fraction(1, 2) * N_PLUS_ONE**-1, share=Fraction(1, 2)
    )


def _add_position_term(node: Attention, positions: int | None) -> Attention:
    """Lemma 8 (a): the term 1/(j+1), of which all of it takes less than the gap."""
    gap = _score_gap(node)
    if positions is None:
        new_gap: Monomial = gap * I_PLUS_ONE**-2
    else:
        new_gap = gap * Fraction(1, positions**2)
    return _add_score_term(node, gap, position(RECIPROCAL), rising=False, new_gap=new_gap, share=Fraction(1))


def _add_score_term(
    node: Attention, gap: Monomial, term: Signal, *, rising: bool, new_gap: Monomial, share: Fraction
) -> Attention:
    later = node.weighting.kind is AttentionKind.RIGHTMOST
    sign = share if later == rising else -share
    plain = gap == Monomial(gap.factor)
    weight = Affine({}, gap.factor * sign) if plain else (position(gap) * sign).forms[0]
    return replace(
        node,
        query=(*node.query, weight),
        key=(*node.key, *term.forms),
        weighting=AVERAGE_HARD,
        gap=new_gap.factor if new_gap == Monomial(new_gap.factor) else new_gap,
        single_key=True,
        decay=ScoreDecay.LINEAR,
    )


def _score_gap(node: Attention) -> Monomial:
    """The gap of the scores that differ; any number will do where none do."""
    if not node.query and node.bias is None:
        return Monomial()
    if node.gap is None:
        raise ConstructionError(
            f"head {node.name!r} is {node.weighting}, and does not say what gap its scores have",
            hint="declare it (1 if all scores are integers), or use a gadget that does: lookup, fetch_latest, exists",
        )
    if isinstance(node.gap, Fraction):
        return Monomial(node.gap)
    if not isinstance(node.gap, Monomial):
        raise ConstructionError(f"head {node.name!r}: no term that breaks ties is known for the gap {node.gap}")
    return node.gap
