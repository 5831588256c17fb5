"""Output logits of RASP programs: one per token of the output vocabulary."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from softmachine.ir import Signal, constant
from softmachine.ir.gadgets import all_of
from softmachine.ir.gadgets.integers import compared
from softmachine.ir.ranges import BIT
from softmachine.ir.signal import Affine
from softmachine.languages.rasp.values import is_number, spelled
from softmachine.support.errors import ConstructionError
from softmachine.theorems.rasp.layout import Line
from softmachine.theorems.rasp.rasp.codec import GeneratingRaspCodec
from softmachine.theorems.rasp.rasp.lowering import Build
from softmachine.theorems.rasp.rasp.output_tokens import LESS, MORE, OTHER, Answers
from softmachine.theorems.rasp.values import Category, Number, Ratio, Value, line_number, numeric


def logits(build: Build, answers: Answers, value: Value) -> Signal:
    """One logit per token; the correct one is the largest, by 1. At the start token it is the first one.

    Categories give their bits. An integer x gives the token of v the logit 2 x v - v² = x² - (x - v)², whatever the
    size of x. A fraction s/c is compared with every p/q, by s q - p c.
    """
    sink, letter = build.frame.sink, build.frame.letter
    if answers.beyond and isinstance(value, Category):
        value = numeric(value)
    match value:
        case Category():
            return _categories(answers, value, sink, letter)
        case Number() if MORE in answers.beyond or not answers.beyond:
            return _integers(build, answers, value)
        case Ratio() if answers.whole:
            return _whole_or_other(build, answers, value)
        case _:
            return _fractions(build, answers, value)


def _categories(answers: Answers, value: Category, sink: Signal, letter: Signal) -> Signal:
    forms: dict[str, list[Affine]] = {token: [] for token in answers.tokens}
    for form, item in zip(value.bits.forms, value.values, strict=True):
        if spelled(item) in forms:
            forms[spelled(item)].append(form)
    if answers.partial:
        forms[answers.undefined].append((letter - value.defined).forms[0])
    first = answers.tokens[0]
    forms[first].append(sink.forms[0])
    return Signal(tuple(Affine.sum(parts) for parts in forms.values()), (BIT,) * len(forms))


def _whole_or_other(build: Build, answers: Answers, ratio: Ratio) -> Signal:
    """A fraction that grows: integers have tokens, every other value is OTHER."""
    value = build.finder.real(ratio)
    floor = build.finder.floor("output: floor", value, ratio)
    rest = replace(ratio, value=value - floor.value, over=None)
    split = build.finder.compare("output is not an integer", rest, ">")
    if ratio.presence is not None:
        split = all_of("output is not an integer, and defined", split, ratio.presence)
    defined = build.frame.letter if ratio.presence is None else ratio.presence
    whole = build.finder.choose("output if whole", [((defined - split).known(BIT), floor)])
    return _integers(build, answers, replace(whole, presence=ratio.presence), split)


def _integers(build: Build, answers: Answers, number: Number, other: Signal | None = None) -> Signal:
    """2 x v - v², also for the integers beyond the largest and smallest; where undefined, x is 0 and the logit 1."""
    undefined = constant(-1)
    if number.presence is not None and other is not None:  # it is 0 already
        undefined = 2 * (build.frame.letter - number.presence) - 1
    elif number.presence is not None:
        undefined = 2 * (build.frame.letter - number.presence) - 1
        number = build.finder.choose("output if defined", [(number.presence, number)])
    numbers = [int(value) for value in answers.values if is_number(value)]
    if len(set(numbers)) < len(answers.values):
        raise ConstructionError("the output may be a number, or a Boolean or symbol with the same text")
    ends = {MORE: max(numbers, default=0) + 1, LESS: min(numbers, default=0) - 1}
    wanted = [*numbers, *(ends[name] for name in answers.beyond if name in ends)]
    (form,) = number.value.forms
    parts = [Affine.sum([form * Fraction(2 * v), Affine({}, Fraction(-v * v))]) for v in wanted]
    if 0 not in wanted and (answers.partial or OTHER in answers.beyond):
        # At the start token x is 0: the token of 1 would tie with those for values without a token.
        parts[0] = Affine.sum([parts[0], build.frame.sink.forms[0]])
    if OTHER in answers.beyond:
        parts += (constant(-1) if other is None else 2 * other - 1).forms
    parts += undefined.forms if answers.partial else ()
    return Signal(tuple(parts), tuple(part.kind for part in parts))


def _fractions(build: Build, answers: Answers, value: Number | Ratio) -> Signal:
    sink, letter = build.frame.sink, build.frame.letter
    over = (value, line_number(Line(1), letter)) if isinstance(value, Number) else value.over
    if over is None:
        over = _whole(build, value)
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
        bit = compared(f"output is {item}", Signal((form,), (form.kind,)), "=", letter)
        if presence is not None:
            bit = all_of(f"output is {item}, defined", bit, presence)
        bits.append(bit.forms[0])
    known = Signal((Affine.sum(bits),), (BIT,))
    defined = letter if presence is None else presence
    rest = (defined - known).forms[0]
    bits[0] = Affine.sum([bits[0], sink.forms[0]])
    undefined = (letter - defined).forms
    every = (*bits, *([rest] if answers.beyond else []), *(undefined if answers.partial else ()))
    return Signal(every, (BIT,) * len(every))


def _whole(build: Build, value: Number | Ratio) -> tuple[Number, Number]:
    """Numerator and denominator of a fraction with a constant denominator."""
    assert isinstance(value, Ratio)
    if value.power or value.value is None:
        raise ConstructionError(
            "the output is a fraction whose numerator is not known as an integer",
            hint="round it, or compare it with another value",
        )
    scaled = value.value * value.factor
    kind = scaled.kinds[0]
    low, high = kind.low, kind.high
    return Number(low, high, scaled), line_number(Line(value.factor), build.frame.letter)


def next_tokens(build: Build, codec: GeneratingRaspCodec, value: Value) -> Signal:
    """One logit per possible next token: the output as a symbol, the stop symbol, or the token for "stuck"."""
    sink, letter = build.frame.sink, build.frame.letter
    if not isinstance(value, Category):
        program = codec.source
        stop = [int(codec.stop)] if codec.stop.lstrip("-").isdecimal() else []
        value = build.pointwise.sorted_out("next", value, [*program.letters, *stop])
    forms: dict[str, list[Affine]] = {token: [] for token in codec.tokens}
    for form, item in zip(value.bits.forms, value.values, strict=True):
        forms[codec.token_of(item)].append(form)
    forms[codec.stuck] += [(letter - value.defined).forms[0], sink.forms[0]]
    return Signal(tuple(Affine.sum(parts) for parts in forms.values()), (BIT,) * len(forms))
