"""RASP, in an encoder that is given the length or in a decoder: exact at every length.

Position 0 holds a start token, the *sink*; the input is at positions 1, …, n. At the sink every value is 0. A value of
a finite type is a one-hot vector, zero where it is undefined; an integer is a number, with its square and 1/(x+1) as
far as needed; a fraction is a real number, or numerator and denominator, or both.

| construct | how | gap |
|---|---|---|
| T tables, equalities x = y, a mask | Σ A(q) B(k) + Σ (2 x y - y²): T + Σ x² where all hold, and at the sink | 1 |
| any selector | Σ ± such products: not s is 1 - s; s or t is s + t - s t | 1 |
| width c | mean of [sink]: u = 1/(c+1); then the position c from 1 - u and u: (2 c j - j²) u | 1, 1/(n+1) |
| sum s of small integers | the same head gives s u; then the position s from s u and u | 1, 1/(n+1) |
| mean s/c with a default | the sink 1/2 lower: a bit retrieved there marks that no key is selected | 1/2 |
| common value of the selected keys | highest and lowest code; undefined where they differ | 1/(4m) |
| largest, smallest integer | x/(4(n+1)) breaks ties | 1/(4(n+1)) |
| indices < x | means over prefixes, looked up at x | 1, 1/(n+1) |
| y < x, other integers | counting sort: keys with y + 1 = p at every p; prefix sums; lookup. Encoders only | 1/(n+1) |
| +, -, comparison, min, max, abs | affine maps and units | – |
| x if p else y, unbounded | 1/(x+1) or 1/(y+1), chosen by units; then the position | 1, 1/(n+1) |
| x mod m, ⌊x/m⌋, round | position x, where residues are features; the position next to x/m - 1/2 + 1/(2m) | 1, 1/m |
| comparison of fractions | position 1 scores x - δ, position 0 scores 0; 2δ is the least x > 0 | δ ≥ 1/O((n+1)²) |
| mean times its width | the numerator; one over the weight of one key: the denominator | 1/(n+1) |
| loop until nothing changes | 8(n+1) iterations, in a decoder 64; undefined if the last one is a change | – |
| integer x carried by a loop | position x, looked up in every iteration so that softmax errors do not add up | 1 |
| output | one-hot; for an integer 2 x v - v² at the token of v; for s/c, whether s q = p c at p/q | margin 1 |

In a decoder, i+1 (the number of visible positions) takes the place of n+1. Where the interpreter's result is
*undefined*, so is the model's: a partial value has a presence bit, and a selector is undefined where a head finds an
undefined key.

Only the vocabulary is bounded: integers up to 254 have tokens, or those that words up to a given length need, and
fractions up to a denominator of 16 (fewer if there are many; only integers if fractions grow); beyond, the model emits
*more*, *less* or *other*.

Only for words up to a given length: functions of two unbounded integers (products, quotients), as tables.

Rejected with the name of the definition: choice between or selection by unbounded fractions, a mean over a sum of
products used as a number, an unbounded integer read by a sum of products, counting sort in a decoder or combined with
other conditions.

Needs: position features i, i², 1/(i+1); [i=1] for fractions; in an encoder [i>0]n, [i>0]n², i·n and 1/(n+1).
Costs, independent of n: a selector of k products takes k heads for a width, and k more to look up the counts; an
aggregate of a category takes 1 head if the selected keys are known to be equal, otherwise 2; of a number 1 head; a sum
2; a choice between unbounded integers 1, and 1 for each of them that is not a width; a comparison of fractions 1 (2 for
= and !=); a loop those of its body, plus 1, plus 1 for each integer that it carries. An integer of up to k times n is
looked up by k heads. Layers: the longest chain of these.
"""

from __future__ import annotations

from fractions import Fraction

from softmachine.ir import Program
from softmachine.ir.primitives import one_hot
from softmachine.ir.ranges import BIT
from softmachine.languages import rasp
from softmachine.theorems.rasp.layout import AtInputPositions, PositionLayout
from softmachine.theorems.rasp.rasp.codec import (
    CausalRaspCodec,
    GeneratingRaspCodec,
    RaspCodec,
    make_causal,
    needs_max_length,
)
from softmachine.theorems.rasp.rasp.logits import logits, next_token_logits
from softmachine.theorems.rasp.rasp.lowering import Lowering, errors_located_at
from softmachine.theorems.theorem import Requirements, Theorem, TourStep

REFERENCE = "Thinking Like Transformers, for the language; the constructions are our own"
COST = "one head per product of a selector, one per integer that is looked up; independent of the input length"
SHARPNESS = 128
"""Gap times inverse temperature of soft heads: e⁻¹²⁸ is 0 in float32, so that lookups return exact integers there."""
STEPS = (
    "Symbols are looked up from the token; functions of finitely many values are tables of units.",
    "A selector is a sum of products; the keys that a product selects tie, and all others score at least 1 less.",
    "With the sink among them, [sink] has the mean u = 1/(c+1); the width c is the position that 1 - u and u point at.",
    "With the sink 1/2 lower, the head retrieves the mean of the selected values, or a bit for 'none selected'.",
    "Integers are compared by units, and chosen by way of 1/(x+1); the output has the largest logit.",
)
TOUR = (
    TourStep("Which symbol is here?", "It is looked up from the token, as a one-hot vector.", ("letter…",)),
    TourStep(
        "Which keys are selected?",
        "They score T + Σ x² for this query, and so does the start token; all others at least 1 less. The head "
        "averages [sink] over them: 1/(c+1).",
        ("mean of …",),
    ),
    TourStep(
        "How many are there?",
        "The lookup scores (2 c j - j²)/(c+1) at position j: the best position is c itself.",
        ("recover …",),
    ),
    TourStep(
        "What is the output?",
        "A category has one token per value; an integer x, such as a width, gives the token of v the logit 2 x v - v².",
        ("width of …", "result…"),
    ),
)


def recogniser_signals(codec: RaspCodec, attention: str = "hard") -> Program:
    """A transformer that outputs at every position the program's output there.

    Raises:
        ConstructionError: If there is no construction for a definition; the message gives its name and the reason.
    """
    del attention  # soft attention comes from certificates
    build = _lower_program(codec.program, codec.length)
    with errors_located_at(codec.program.output, build.place):
        output = logits(build, codec.output_vocabulary, build.values[codec.program.output])
    tokens = (codec.start, *codec.alphabet)
    return Program(
        codec.program.name, tokens, codec.output_vocabulary.tokens, output, margin=Fraction(1), sharpness=SHARPNESS
    )


def decoder_signals(codec: GeneratingRaspCodec, attention: str = "hard") -> Program:
    """A decoder that appends the output at the last position to its input, until it is the stop symbol.

    Raises:
        ConstructionError: If the program has no stop symbol, or there is no construction for a definition.
    """
    del attention
    program = codec.source
    outputs = codec.tokens
    build = _lower_program(program, None)
    output = next_token_logits(build, codec, build.values[program.output])
    vocabulary = tuple(dict.fromkeys((codec.start, *program.alphabet, *outputs)))
    return Program(program.name, vocabulary, outputs, output, margin=Fraction(1), sharpness=SHARPNESS)


def _lower_program(program: rasp.RaspProgram, length: int | None) -> Lowering:
    letters = one_hot("letter", program.alphabet)
    build = Lowering(program, PositionLayout(program.causal, letters.total.with_range(BIT)), letters, length)
    build.lower_all()
    return build


CAUSAL_REQUIREMENTS = Requirements(
    "position features i, i², 1/(i+1), [i=1], as far as used", remark="independent of the input length"
)

THEOREMS = (
    Theorem(
        "rasp",
        "RASP by an encoder given the length; a causal program by one that attends to the past only",
        REFERENCE,
        Requirements(
            "position features i, i², 1/(i+1), 1/(n+1), n, i·n, n², as far as used",
            length_note="the length (unless causal)",
        ),
        COST,
        rasp.RaspProgram,
        ("hard",),
        codec=RaspCodec,
        accepts_length=needs_max_length,
        signals=recogniser_signals,
        steps=STEPS,
        tour=TOUR,
        features=(AtInputPositions,),
        rank=1,
    ),
    Theorem(
        "rasp-causal",
        "RASP made causal: selectors see only keys up to the query, as in a decoder",
        REFERENCE,
        CAUSAL_REQUIREMENTS,
        COST,
        rasp.RaspProgram,
        ("hard",),
        codec=CausalRaspCodec,
        accepts_length=lambda program: needs_max_length(make_causal(program)),
        signals=recogniser_signals,
        steps=STEPS,
        tour=TOUR,
        features=(AtInputPositions,),
        rank=2,
    ),
    Theorem(
        "rasp-generate",
        "a causal RASP program on its own output (autoregressive): a decoder that runs until the stop symbol",
        REFERENCE,
        CAUSAL_REQUIREMENTS,
        f"{COST}; one token per step",
        rasp.RaspProgram,
        ("hard",),
        codec=lambda program, _: GeneratingRaspCodec(program),
        signals=decoder_signals,
        steps=STEPS,
        tour=TOUR,
        features=(AtInputPositions,),
        rank=3,
    ),
)
