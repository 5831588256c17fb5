"""RASP by transformers: every construct, every zoo program, random programs, against the interpreter."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest

from softmachine import api
from softmachine.compiler.model import CompileOptions, Model
from softmachine.engines.dense.engine import DenseEngine
from softmachine.ir.interpreter import evaluate
from softmachine.languages import rasp, zoo
from softmachine.support.errors import (
    ConstructionError,
    ContextTooShortError,
    DivergedError,
    InputError,
    InvalidError,
    UsageError,
)
from softmachine.testing import load_as, words
from softmachine.testing.rasp import random_program
from softmachine.theorems.rasp.rasp.codec import CausalRaspCodec, RaspCodec
from softmachine.theorems.rasp.rasp.output_tokens import MAX_INTEGER_TOKEN
from softmachine.theorems.rasp.rasp.theorem import recogniser_signals
from tests.models import model_of

WRITERS = ("parity-scratchpad-rasp", "addition-scratchpad-rasp")


def program(text: str, alphabet: str = "a b c", more: str = "") -> rasp.RaspProgram:
    return rasp.parse(f"# alphabet: {alphabet}\n{more}{text}")


def answers(model: Model, word: str) -> tuple[bool | str, ...]:
    values = api.run(model, word, engine="dense").outcome.values
    assert values is not None
    return values


def require_agreement(
    source: rasp.RaspProgram, tried: Sequence[tuple[str, ...]], codec: RaspCodec | None = None
) -> None:
    """Compare the exact signals with the interpreter; every kind, gap and tie that is promised is checked, too."""
    codec = codec or RaspCodec(source)
    built = recogniser_signals(codec)
    for word in tried:
        prompt = codec.prompt(word)
        rows = evaluate(built.logits, prompt.tokens, prompt.length)
        for row, expected in zip(rows, codec.expected(word, 0), strict=True):
            best = max(row)
            others = [logit for logit in row if logit != best]
            assert expected is None or built.outputs[row.index(best)] == expected, (word, expected)
            # At the start token the output is unconstrained, but there must be one.
            assert row.count(best) == 1, word
            assert not others or best - max(others) >= 1, word


def some_words(source: rasp.RaspProgram, seed: int, count: int = 5, longest: int = 3) -> list[tuple[str, ...]]:
    rng = random.Random(seed)
    short = words(source, longest, 1)
    long = tuple(rng.choice(source.alphabet) for _ in range(6))
    return [*rng.sample(short, min(count, len(short))), long]


CONSTRUCTS = {
    "a width": "x = selector_width(select(tokens, tokens, ==));",
    "a width of what is not selected": "x = selector_width(not select(tokens, tokens, ==) or select(indices, 0, ==));",
    "unequal integers": "x = selector_width(select(indices, length - 2, !=));",
    "keys behind the query": "x = selector_width(select(indices, indices, >));",
    "a value at an index": 'x = aggregate(select(indices, length - 1 - indices, ==), tokens, "-");',
    "a symbol of several keys": 'x = aggregate(select(indices, indices, <), tokens, "-");',
    "the largest": 'x = aggregate(select(tokens, tokens, !=), indices, 0 - 1, "max");',
    "the smallest": 'x = aggregate(select(tokens, tokens, ==), selector_width(full_s) - indices, 0, "min");',
    "indices below an integer": 'x = selector_width(select(indices, selector_width(select(tokens, "a", ==)), <));',
    "indices below, by value": 'w = selector_width(select(tokens, "a", ==));\n'
    "x = selector_width(select(indices, w, <=) and select(tokens, tokens, ==));",
    "counting sort": "h = selector_width(select(tokens, tokens, ==));\nx = selector_width(select(h, h, <));",
    "counting sort downwards": "h = 0 - selector_width(select(tokens, tokens, ==));\n"
    "x = selector_width(select(h, h, <=));",
    "a sum": 'x = length * aggregate(full_s, 2 * indicator(tokens == "a") - indicator(tokens == "b"));',
    "a fraction": 'x = aggregate(select(indices, indices, <=), indicator(tokens == "a"));',
    "a fraction against another": 'p = select(indices, indices, <=);\n'
    'x = aggregate(p, indicator(tokens == "a")) >= aggregate(full_s, indicator(tokens == "b"));',
    "a fraction against a constant": 'x = aggregate(select(tokens, "a", ==), indices, 3) > 1;',
    "a mean of integers, cut off": 'x = int(aggregate(select(tokens, tokens, ==), indices));',
    "a mean of integers, rounded": 'x = round(aggregate(select(tokens, tokens, ==), indices));',
    "one over a mean": 's = select(tokens, tokens, ==) or select(indices, 0, ==);\n'
    "x = 1 / aggregate(s, indicator(indices == 0)) - 1;",
    "a choice between integers": 'x = indices if tokens == "a" else length;',
    "a choice between widths": "h = selector_width(select(tokens, tokens, ==));\n"
    'x = h if tokens == "a" else 2 * indices + 3;',
    "residues and quotients": "x = (indices % 3) + (length // 2) * 3;",
    "an integer times a bit": 'x = indices * indicator(tokens == "b");',
    "a table of an integer": 'x = {0: "p", 2: "q"}[indices];',
    "least and greatest of two": "x = max(indices, length - 3) - min(2, indices);",
    "pairs of integers, and all others": "x = selector_width(select(min(indices, 1) + 2, tokens, "
    '[(2, "a"), (2, "b"), (2, "c")]));',
    "pairs that are not selected": "x = selector_width(not select(indices, indices, [(0, 1), (1, 0)]));",
    "a symbol of an undefined key": 'y = aggregate(full_s, tokens);\nx = selector_width(select(y, y, ==));',
    "a loop": 'repeat x = tokens {\nx = aggregate(select(indices, indices - 1, ==), x, "a");\n} until unchanged;',
    "nothing selected": 'x = aggregate(no_s, tokens, "d");',
}  # fmt: skip
BIDIRECTIONAL = ("counting sort", "counting sort downwards")


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_every_construct_says_what_the_interpreter_says(construct: str) -> None:
    source = program(CONSTRUCTS[construct])
    require_agreement(source, some_words(source, 1))


@pytest.mark.parametrize("construct", [name for name in CONSTRUCTS if name not in (*BIDIRECTIONAL, "a loop")])
def test_every_construct_does_so_in_a_decoder(construct: str) -> None:
    source = program(CONSTRUCTS[construct])
    require_agreement(source, some_words(source, 2), CausalRaspCodec(source))


def test_at_the_start_token_something_is_said_also_where_no_integer_is_0() -> None:
    """There every number is 0, and the tokens of 1 and of what is undefined were as good as each other."""
    largest = 'aggregate(select(indices, indices, ==), x, length, "max")'
    source = program(f"repeat x = length {{\nx = max(x, {largest});\n}} until unchanged;", more="# causal\n")
    require_agreement(source, words(source, 2, 1))


@pytest.mark.parametrize("construct", BIDIRECTIONAL)
def test_counting_sort_is_refused_in_a_decoder_by_name(construct: str) -> None:
    with pytest.raises(ConstructionError, match="counting sort looks at all positions"):
        recogniser_signals(CausalRaspCodec(program(CONSTRUCTS[construct])))


def test_a_loop_of_finite_variables_is_certified() -> None:
    model = api.compile("parity-loop-rasp", attention="soft", length=8)
    assert api.check(model, up_to=3).holds


CARRIED = {
    "to n": "repeat x = indices {\nx = min(x + 1, length);\n} until unchanged;",
    "from below 0": "repeat x = 0 - 3 {\nx = min(x + 1, indices);\n} until unchanged;",
    "to beyond n": "repeat x = indices {\nx = min(x + 1, length + 2);\n} until unchanged;",
    "to 2n": "repeat x = indices {\nx = min(x + 2, 2 * length);\n} until unchanged;",
    "to -n": "repeat x = 0 - indices {\nx = max(x - 1, 0 - length);\n} until unchanged;",
    "by an aggregate": "repeat x = indices {\nx = max(x, aggregate(select(indices, indices - 1, ==), x, 0));\n"
    "} until unchanged;",
    "partly undefined": 'y = {"a": 1, "b": 2}[tokens];\nrepeat x = y + indices {\nx = min(x + 1, length);\n'
    "} until unchanged;",
}


@pytest.mark.parametrize("carried", CARRIED)
def test_loops_that_carry_integers_are_decided_in_every_variant(carried: str) -> None:
    """Errors of softmax added up from iteration to iteration; now each looks up integers again."""
    source = program(CARRIED[carried])
    tried = [("a",), tuple("abcabca")]
    require_agreement(source, tried)
    _require_models(0, source, "rasp", tried)


def test_random_programs_agree_with_the_interpreter_or_are_refused() -> None:
    outcomes = [_tried(seed) for seed in (*range(100, 115), 808)]  # 808: a default beside means that may be undefined
    assert sum(outcomes) >= 0.8 * len(outcomes)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_2000_random_programs_agree_with_the_interpreter_or_are_refused(block: int) -> None:
    outcomes = [_tried(seed) for seed in range(200 * block, 200 * block + 200)]
    assert sum(outcomes) >= 0.8 * len(outcomes)


def _tried(seed: int) -> bool:
    """Whether a random program compiles; it is then right, and otherwise the message names the cause.

    Right are the signals in exact numbers, and models that see all and that look back, hard and soft, in two formats.
    """
    source = random_program(random.Random(seed), loop=seed % 20 == 0)
    tried = some_words(source, seed, count=3, longest=2)
    try:
        recogniser_signals(RaspCodec(source))
    except ConstructionError as error:
        if "there is no construction for" not in str(error):
            raise
        compiles = False
    else:
        require_agreement(source, tried)
        compiles = True
    for theorem in ("rasp", "rasp-causal"):
        _require_models(seed, source, theorem, tried)
    return compiles


def _require_models(seed: int, source: rasp.RaspProgram, theorem: str, tried: Sequence[tuple[str, ...]]) -> None:
    try:
        hard = api.compile(source, theorem)
    except (ConstructionError, InvalidError):  # what is typed in an encoder need not be in a decoder
        return
    for model in (hard, api.soften(hard, length=6)[0]):
        for arithmetic in ("float64", "float32"):
            engine = DenseEngine(model.weights, arithmetic)
            for word in tried:
                prompt = model.codec.prompt(word)
                said = engine.predict([prompt.tokens], prompt.length)[0]
                expected = list(model.codec.expected(word, 0))
                assert said[1:] == expected[1:], (seed, theorem, model.attention, arithmetic, word)


def test_random_programs_are_right_in_every_variant() -> None:
    """Seed 10 has a bit that is rounded from what its units do not read."""
    assert sum(map(_tried, (10, *range(200, 206)))) >= 4


def test_the_answer_is_undefined_where_symbols_differ_and_never_one_of_them() -> None:
    model = api.compile(program("x = aggregate(select(indices, indices, <=), tokens);"))
    assert answers(model, "aaba") == ("a", "a", "undefined", "undefined")


def test_integers_beyond_the_vocabulary_are_called_more_and_a_run_has_the_vocabulary_that_it_needs() -> None:
    source = program("x = length;", "a")
    assert answers(api.compile(source), "a" * (MAX_INTEGER_TOKEN + 1))[0] == "more"
    run = api.run(source, "a" * (MAX_INTEGER_TOKEN + 1))
    assert run.outcome.values is not None
    assert run.outcome.values[0] == str(MAX_INTEGER_TOKEN + 1)


def test_a_product_of_two_integers_is_a_table_for_words_up_to_a_length() -> None:
    source = program("x = indices * length;", "a b")
    with pytest.raises(ConstructionError, match="of two integers without bound"):
        api.compile(source)
    assert api.check(source, up_to=4, context=4).holds
    assert api.run(source, "abba").outcome.values == ("0", "4", "8", "12")
    with pytest.raises(ContextTooShortError, match="the weights are built for at most"):
        api.run(api.compile(source, context=2), "abba")


REFUSED = {
    "mean over a union": ("x = aggregate(not select(indices, length - 2, ==), indices, 0) > 1;", "several heads"),
    "fractions that are selected by": (
        'y = aggregate(full_s, indicator(tokens == "a"));\nx = selector_width(select(y, y, ==));',
        "selects by unbounded fractions",
    ),
    "a loop that carries a large integer": (
        "repeat x = 0 {\nx = min(x + 1, 1000000);\n} until unchanged;",
        "1,000,000 beyond a multiple of the length",
    ),
    "a sort joined with equality": (
        "h = selector_width(select(tokens, tokens, ==));\nx = selector_width(select(h, h, <) and select(h, 1, !=));",
        "another condition, which counting sort does not support",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_no_construction_is_refused_by_name_and_place(case: str) -> None:
    text, reason = REFUSED[case]
    with pytest.raises(ConstructionError, match=reason) as caught:
        api.compile(program(text))
    assert caught.value.place is not None
    assert "there is no construction for" in caught.value.message


def test_a_causal_program_that_reads_the_length_has_a_note() -> None:
    assert "length is the number of symbols up to the position" in api.compile("length-rasp", "rasp-causal").notes[0]
    assert api.compile("length-rasp").notes == ()


@pytest.mark.parametrize(("name", "word", "written"), [(WRITERS[0], "1011|", "1101"), (WRITERS[0], "0|", "0")])
def test_a_program_that_feeds_on_its_output_writes_until_it_stops(name: str, word: str, written: str) -> None:
    run = api.run(name, word, theorem="rasp-generate")
    assert (run.outcome.verdict, run.outcome.output) == ("halt", written)


@pytest.mark.parametrize("name", WRITERS)
def test_what_it_writes_is_what_the_interpreter_writes(name: str) -> None:
    source = zoo.find_entry(name)
    assert source is not None
    said = api.run(name, theorem="rasp-generate")
    loaded = load_as(name, rasp.RaspProgram)
    assert said.outcome.output == loaded.format_values(rasp.generate(loaded, loaded.example).letters)


def test_what_was_written_is_read_in_one_run_and_a_wrong_letter_is_named() -> None:
    """Going on letter by letter, the interpreter would read all of it again for each."""
    codec = model_of(WRITERS[0], "rasp-generate").codec
    run = api.run(model_of(WRITERS[0], "rasp-generate"), "1011", max_steps=300, engine="dense")
    assert len(run.tokens) == 300
    said = list(run.tokens)
    assert list(codec.expected_up_to("1011", said[:60])) == [list(codec.expected("1011", 60))]
    said[200] = "1" if said[200] == "0" else "0"
    with pytest.raises(DivergedError, match="token 200 is"):
        codec.parse_run("1011", said)
    stopped = [*api.run(model_of(WRITERS[0], "rasp-generate"), "10|").tokens, "0"]
    with pytest.raises(DivergedError):
        codec.parse_run("10|", stopped)


def test_a_program_without_a_stop_symbol_does_not_write() -> None:
    with pytest.raises(ConstructionError, match="no stop symbol"):
        api.compile("reverse-rasp", "rasp-generate")
    with pytest.raises(InputError, match="the empty word has none"):
        api.run(WRITERS[0], "", theorem="rasp-generate")


def test_the_cost_is_the_formula_and_does_not_depend_on_the_length() -> None:
    """A width of k products takes 2k heads; what at most one key holds, 1; what several may hold, 2."""
    costs = {
        "x = selector_width(select(tokens, tokens, ==));": (2, 2),
        "x = aggregate(select(indices, length - 1 - indices, ==), tokens);": (1, 1),
        "x = aggregate(select(tokens, tokens, ==), tokens);": (1, 1),
        'x = aggregate(select(tokens, "a", !=), tokens);': (1, 2),
        "x = length;": (0, 0),
        'x = selector_width(select(tokens, "a", ==) or select(indices, 0, ==));': (2, 6),
    }  # fmt: skip
    for text, expected in costs.items():
        weights = api.compile(program(text)).weights
        assert (len(weights.layers), len(weights.heads)) == expected, text


def test_weights_are_the_same_whatever_the_word() -> None:
    source = program("x = selector_width(select(tokens, tokens, ==));")
    short, long = (api.compile_for(source, "ab" * n, CompileOptions()) for n in (1, 100))
    assert str(short) == str(long)


def test_a_saved_model_is_read_back_and_says_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    model = model_of("reverse-rasp")
    api.save(model, folder)
    again = api.load(folder)
    assert isinstance(again, Model)
    assert answers(again, "abcb") == answers(model, "abcb") == tuple("bcba")


def test_options_name_one_theorem() -> None:
    from softmachine.cli.compile_options import choose_rasp_theorem

    assert choose_rasp_theorem(None, causal=True) == "rasp-causal"
    assert choose_rasp_theorem("rasp", causal=False) == "rasp"
    with pytest.raises(UsageError):
        choose_rasp_theorem("rasp", causal=True)


def test_a_fraction_has_a_token_up_to_a_denominator() -> None:
    model = api.compile(program('x = aggregate(full_s, indicator(tokens == "a"));', "a b"))
    assert answers(model, "aab") == (str(Fraction(2, 3)),) * 3
    assert answers(model, "a" + "b" * 40) == ("other",) * 41
