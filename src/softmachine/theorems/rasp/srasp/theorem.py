"""S-RASP in a transformer encoder, with average-hard attention or with softmax.

After "Simulating Hard Attention Using Soft Attention", Section 6, and the simulation of S-RASP by masked average-hard
attention transformers that it builds on (Strobl et al. 2024). Position 0 holds a start token, at which every vector is
0: Booleans are false, symbols are zero vectors, and integers are 0. So it contributes nothing to sums and matches no
predicate.

| operation | score | gap |
|---|---|---|
| psum | uniform; then the position c from c/(i+1): (2 c j - j²)/(i+1) | 1/(i+1) |
| x if p else y, integers without bound | the position x from x/(n+1): (2 x j - j²)/(n+1) | 1/(n+1) |
| square of x, for a key | 2 x j - j² | 1 |
| rightmost, leftmost | Σ_k A_k(i) B_k(j) - Σ (X(i) - Y(j))² ± j/(2(n+1)) | 1/(2(n+1)) |

The predicate of an attention is a sum of products Σ_k A_k(i) B_k(j), at most one of them 1, joined with equalities of
integers X(i) = Y(j); X(i)² is constant over keys and left out of the score. A predicate whose cases require different
equalities takes one head per set of equalities, which finds a position, and one more, which reads at the rightmost
(leftmost) of these. B_k and Y are retrieved with the value, so that the feed-forward layer can check whether the
position matches, and take the default if not.

Softmax is scaled by 6(n+1) where a head retrieves finite values only, as in Theorem 15 of Yang et al. 2024; otherwise
by 12(n+1)², and by 6(n+1)² or 6(n+1) where a position is looked up: every other key has weight at most e^(-6(n+1)).
Integers are not rounded after a head, and their errors, O(n²) times that, stay far below 1/4; bits and symbols are
rounded (Lemma 9). With integers represented as x/n, as in the paper, the largest scale is 12 n⁴, and the gap 1/(2n³).

Needs: the position features i/(n+1), and with integers i, i², n, i·n, 1/(i+1), 1/(n+1), [i>0]/(n+1), as far as used.
Costs: one head per attention operation; one for the mean of a prefix sum, and one per multiple of n that its absolute
value can reach (two for summands -1, 0, 1); as many for the square of an integer in a key, and for a choice between
integers whose difference is unbounded.
"""

from __future__ import annotations

from fractions import Fraction

from softmachine.ir import Program, named, recogniser, stack
from softmachine.ir.primitives import one_hot
from softmachine.languages import srasp
from softmachine.languages.srasp import AttentionStep, PrefixSumStep, list_operations, normalise
from softmachine.languages.srasp.ast import Expression, VectorRead
from softmachine.support.errors import ConstructionError
from softmachine.theorems.rasp.srasp.codec import SraspCodec
from softmachine.theorems.rasp.srasp.elementwise import ElementwiseLowering, Value, extend_one_hot, require_finite
from softmachine.theorems.rasp.srasp.integers import IntegerLookups, ScaledInteger, ShareAfterStart, position_signal
from softmachine.theorems.rasp.srasp.lookup import lower_attention
from softmachine.theorems.shared.recogniser_codec import START_TOKEN, unused_token
from softmachine.theorems.theorem import Requirements, Theorem, TourStep

TOUR = (
    TourStep(
        "What is here?",
        "Letters are looked up from the token, and functions of one position are feed-forward layers. "
        "The start token at position 0 holds nothing: it adds nothing to sums and matches no predicate.",
        ("in", "i", "i/(n+1)"),
    ),
    TourStep(
        "Add up",
        "A prefix sum is a mean times i+1: uniform attention gives c/(i+1), and the score (2 c j - j²)/(i+1) is "
        "largest at position c, which is retrieved (after Strobl et al. 2024).",
        ("mean of …", "recover …"),
    ),
    TourStep(
        "Look for a match",
        "rightmost and leftmost: a predicate is a sum of products of query and key terms, and equal integers are "
        "those with (x - y)² = 0. The term j/(2(n+1)) breaks ties.",
        ("length", "before…", "reverse…", "next…"),
    ),
    TourStep(
        "Did it match?",
        "The key terms of the predicate are retrieved with the value and compared with the query terms by a unit; the "
        "default is taken if they do not match. After softmax, bits are rounded first (Lemma 9 of Yang et al. 2024).",
        ("length matches", "length or default…", "reverse matches", "before or default…", "next or default…"),
    ),
)


def signals(program: srasp.SraspProgram, *, soft: bool) -> Program:
    """A transformer that outputs at every position the output of a program: true or false, or a symbol.

    Raises:
        ConstructionError: If there is no construction for an operation of the program.
    """
    if program.types[program.output].kind is srasp.ValueKind.INTEGER:
        raise ConstructionError(
            f"the output {program.output!r} of {program.name!r} is an integer, and the vocabulary is finite",
            hint="the output must be Boolean or a symbol",
        )
    source = normalise(program)
    steps = {step.name: step for step in list_operations(source)}
    letters = one_hot("in", source.alphabet)
    letter = letters.total  # 1 at every position but the start token
    vectors: dict[str, Value] = {"in": letters}

    def read(vector: VectorRead) -> Value:
        return position_signal() if vector.name == "pos" else vectors[vector.name]

    pointwise = ElementwiseLowering(source, IntegerLookups(soft), read, input_bit=letter)
    for definition in source.definitions:
        name = definition.name
        try:
            vectors[name] = _lower_definition(pointwise, name, steps.get(name, definition.body))
        except ConstructionError as error:
            message = f"there is no construction for the vector {name!r}: {error.message}"
            raise ConstructionError(message, place=definition.place, hint=error.hint) from None
    output, tokens = (
        require_finite(vectors[source.output]),
        (unused_token(START_TOKEN, source.alphabet), *source.alphabet),
    )
    if output.labels is None:
        return recogniser(source.name, tokens, output)
    # The output at the start token is unconstrained, but must be unique.
    logits = stack(output[0] + 1 - letter, *(output[k] for k in range(1, len(output))))
    return Program(source.name, tokens, output.labels, logits, margin=Fraction(1))


def _lower_definition(
    pointwise: ElementwiseLowering, name: str, body: PrefixSumStep | AttentionStep | Expression
) -> Value:
    """The vector of a definition, given those that it reads; 0 at the start token."""
    match body:
        # Step 2. A prefix sum.
        case PrefixSumStep(term=term):
            return pointwise.integers.prefix_sum(name, pointwise.lower_integer(term))
        # Steps 3 and 4. rightmost and leftmost.
        case AttentionStep():
            value = lower_attention(pointwise, body)
        # Step 1. Elementwise expressions.
        case _:
            value = pointwise.lower(body)
    if isinstance(value, ScaledInteger):
        return value if value.value is not None else pointwise.integers.with_value_and_square(name, value)
    symbols = pointwise.program.types[name].symbols
    return named(name, extend_one_hot(symbols, value) if symbols else value)


THEOREMS = (
    Theorem(
        "srasp",
        "S-RASP by an encoder given the length: average-hard attention, or softmax",
        "Simulating Hard Attention Using Soft Attention, Section 6; Strobl et al. 2024",
        Requirements(
            "position features i, i², 1/(i+1), i/(n+1), n, i·n", scale="O(n) to O(n²)", length_note="the length"
        ),
        "one head per attention operation, one per prefix sum for its mean, one per multiple of n that it can reach",
        srasp.SraspProgram,
        ("hard", "soft"),
        codec=lambda program, _: SraspCodec(program),
        signals=lambda codec, attention: signals(codec.source, soft=attention == "soft"),
        steps=(
            "Symbols are looked up from the token; elementwise expressions are feed-forward layers.",
            "A prefix sum is a mean times i+1: a lookup among the positions recovers the integer.",
            "rightmost, leftmost: a predicate is a sum of products of a query and a key term; j/(2(n+1)) breaks ties.",
            "The retrieved key terms are compared with the query terms; if they do not match, the default is taken.",
        ),
        tour=TOUR,
        features=(ShareAfterStart,),
        rank=1,
    ),
)
