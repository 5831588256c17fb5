"""Output logits of RASP programs: one per token of the output vocabulary."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from softmachine.ir import Signal, constant
from softmachine.ir.gadgets import all_of
from softmachine.ir.gadgets.integers import compare_with_zero
from softmachine.ir.ranges import BIT, integer
from softmachine.ir.signal import Affine
from softmachine.languages.rasp.values import format_value, is_number
from softmachine.support.errors import ConstructionError
from softmachine.theorems.rasp.layout import LinearInPosition
from softmachine.theorems.rasp.rasp.codec import GeneratingRaspCodec
from softmachine.theorems.rasp.rasp.lowering import Lowering
from softmachine.theorems.rasp.rasp.output_tokens import LESS, MORE, OTHER, OutputVocabulary
from softmachine.theorems.rasp.values import (
    BoundedFraction,
    BoundedInteger,
    Categorical,
    Value,
    as_number,
    linear_integer,
)


def logits(build: Lowering, answers: OutputVocabulary, value: Value) -> Signal:
    """One logit per token; the correct one is the largest, by 1. At the start token it is the first one.

    Categories give their bits. An integer x gives the token of v the logit 2 x v - v² = x² - (x - v)², whatever the
    size of x. A fraction s/c is compared with every p/q, by s q - p c.
    """
    sink, letter = build.layout.sink, build.layout.input_bit
    if answers.out_of_range_tokens and isinstance(value, Categorical):
        value = as_number(value)
    match value:
        case Categorical():
            return _categorical_logits(answers, value, sink, letter)
        case BoundedInteger() if MORE in answers.out_of_range_tokens or not answers.out_of_range_tokens:
            return _integer_logits(build, answers, value)
        case BoundedFraction() if answers.only_integers:
            return _integer_or_other_logits(build, answers, value)
        case _:
            return _fraction_logits(build, answers, value)


def _categorical_logits(answers: OutputVocabulary, value: Categorical, sink: Signal, letter: Signal) -> Signal:
    forms: dict[str, list[Affine]] = {token: [] for token in answers.tokens}
    for form, item in zip(value.bits.forms, value.values, strict=True):
        if format_value(item) in forms:
            forms[format_value(item)].append(form)
    if answers.may_be_undefined:
        forms[answers.undefined].append((letter - value.presence).forms[0])
    first = answers.tokens[0]
    forms[first].append(sink.forms[0])
    return Signal(tuple(Affine.sum(parts) for parts in forms.values()), (BIT,) * len(forms))


def _integer_or_other_logits(build: Lowering, answers: OutputVocabulary, ratio: BoundedFraction) -> Signal:
    """A fraction that grows: integers have tokens, every other value is OTHER."""
    value = build.finder.to_real(ratio)
    floor = build.finder.floor("output: floor", value, ratio)
    rest = replace(ratio, value=value - floor.value, numerator_and_denominator=None)
    split = build.finder.compare("output is not an integer", rest, ">")
    if ratio.presence is not None:
        split = all_of("output is not an integer, and defined", split, ratio.presence)
    defined = build.layout.input_bit if ratio.presence is None else ratio.presence
    whole = build.finder.choose_integer("output if whole", [((defined - split).with_range(BIT), floor)])
    return _integer_logits(build, answers, replace(whole, presence=ratio.presence), split)


def _integer_logits(
    build: Lowering, answers: OutputVocabulary, number: BoundedInteger, other: Signal | None = None
) -> Signal:
    """2 x v - v², also for the integers beyond the largest and smallest; where undefined, x is 0 and the logit 1."""
    undefined = constant(-1)
    if number.presence is not None and other is not None:  # it is 0 already
        undefined = 2 * (build.layout.input_bit - number.presence) - 1
    elif number.presence is not None:
        undefined = 2 * (build.layout.input_bit - number.presence) - 1
        number = build.finder.choose_integer("output if defined", [(number.presence, number)])
    numbers = [int(value) for value in answers.values if is_number(value)]
    if len(set(numbers)) < len(answers.values):
        raise ConstructionError("the output may be a number, or a Boolean or symbol with the same text")
    ends = {MORE: max(numbers, default=0) + 1, LESS: min(numbers, default=0) - 1}
    wanted = [*numbers, *(ends[name] for name in answers.out_of_range_tokens if name in ends)]
    (form,) = number.value.forms
    parts = [Affine.sum([form * Fraction(2 * v), Affine({}, Fraction(-v * v))]) for v in wanted]
    if 0 not in wanted and (answers.may_be_undefined or OTHER in answers.out_of_range_tokens):
        # At the start token x is 0: the token of 1 would tie with those for values without a token.
        parts[0] = Affine.sum([parts[0], build.layout.sink.forms[0]])
    if OTHER in answers.out_of_range_tokens:
        parts += (constant(-1) if other is None else 2 * other - 1).forms
    parts += undefined.forms if answers.may_be_undefined else ()
    return Signal(tuple(parts), tuple(part.value_range for part in parts))


def _fraction_logits(build: Lowering, answers: OutputVocabulary, value: BoundedInteger | BoundedFraction) -> Signal:
    sink, letter = build.layout.sink, build.layout.input_bit
    over = (
        (value, linear_integer(LinearInPosition(1), letter))
        if isinstance(value, BoundedInteger)
        else value.numerator_and_denominator
    )
    if over is None:
        over = _integer_fraction(build, value)
    top, below = over
    presence = value.presence
    bits: list[Affine] = []
    for item in answers.values:
        fraction = Fraction(item)  # type: ignore[arg-type]
        scaled = (
            top.value.forms[0] * Fraction(fraction.denominator),
            below.value.forms[0] * Fraction(-fraction.numerator),
        )
        form = Affine.sum(scaled)
        bit = compare_with_zero(f"output is {item}", Signal((form,), (form.value_range,)), "=", letter)
        if presence is not None:
            bit = all_of(f"output is {item}, defined", bit, presence)
        bits.append(bit.forms[0])
    known = Signal((Affine.sum(bits),), (BIT,))
    defined = letter if presence is None else presence
    rest = (defined - known).forms[0]
    bits[0] = Affine.sum([bits[0], sink.forms[0]])
    undefined = (letter - defined).forms
    every = (*bits, *([rest] if answers.out_of_range_tokens else []), *(undefined if answers.may_be_undefined else ()))
    return Signal(every, (BIT,) * len(every))


def _integer_fraction(
    build: Lowering, value: BoundedInteger | BoundedFraction
) -> tuple[BoundedInteger, BoundedInteger]:
    """Numerator and denominator of a fraction with a constant denominator."""
    assert isinstance(value, BoundedFraction)
    if value.power or value.value is None:
        raise ConstructionError(
            "the output is a fraction whose numerator is not known as an integer",
            hint="round it, or compare it with another value",
        )
    scaled = value.value * value.factor
    number = scaled.with_range(integer(scaled.ranges[0].low, scaled.ranges[0].high))
    return BoundedInteger(number), linear_integer(LinearInPosition(value.factor), build.layout.input_bit)


def next_token_logits(build: Lowering, codec: GeneratingRaspCodec, value: Value) -> Signal:
    """One logit per possible next token: the output as a symbol, the stop symbol, or the token for "stuck"."""
    sink, letter = build.layout.sink, build.layout.input_bit
    if not isinstance(value, Categorical):
        program = codec.source
        stop = [int(codec.stop)] if codec.stop.lstrip("-").isdecimal() else []
        value = build.pointwise.to_category("next", value, [*program.letters, *stop])
    forms: dict[str, list[Affine]] = {token: [] for token in codec.tokens}
    for form, item in zip(value.bits.forms, value.values, strict=True):
        forms[codec.token_of(item)].append(form)
    forms[codec.stuck] += [(letter - value.presence).forms[0], sink.forms[0]]
    return Signal(tuple(Affine.sum(parts) for parts in forms.values()), (BIT,) * len(forms))
