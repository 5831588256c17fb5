"""Turing machines by counting alone: counter machines, C-RASP, softmax decoders with uniform attention."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import pytest

import softmachine as sm
from softmachine.engines.check import check_inputs
from softmachine.languages.crasp import run as evaluate
from softmachine.languages.turing import Rule, TuringMachine, execute
from softmachine.support.errors import ConstructionError, InputError
from softmachine.testing import load_as
from softmachine.theorems.turing.via_counters import CountingCodec


def codec_of(name: str, construction: str) -> CountingCodec:
    codec = sm.compile(name, construction).codec
    assert isinstance(codec, CountingCodec)
    return codec


def agree(name: str, construction: str, words: list[str]) -> list[int]:
    """The decoder, the evaluator of C-RASP and the Turing machine give one verdict; the lengths of the chains."""
    machine = load_as(name, TuringMachine)
    model = sm.compile(machine, construction)
    assert check_inputs(model, [machine.word(word) for word in words]).disagreements == ()
    assert isinstance(model.codec, CountingCodec)
    chains = [list(model.codec.expected(word, 10_000)) for word in words]
    for word, chain in zip(words, chains, strict=True):
        assert model.codec.parse_run(word, chain).verdict == execute(machine, word).verdict
    return list(map(len, chains))


def test_powers_of_two_by_counting() -> None:
    """Minsky's reduction as it is in textbooks takes 1,038 tokens for n = 4; strides take 92."""
    assert agree("power-of-two", "turing-counter", ["1" * n for n in range(5)])[-1] == 92


def test_letter_bounded_words_by_counting() -> None:
    agree("increment", "turing-counter", ["", "0", "01", "11", "011"])
    agree("anbncn", "turing-counter", ["", "a", "abc", "c", "bc"])


def test_palindromes_by_the_relative_encoding() -> None:
    words = ["".join(word) for n in range(3) for word in product("ab", repeat=n)]
    assert agree("palindrome", "turing-counter-relative-bias", words) == [26, 42, 30, 70, 74, 48, 56]


def test_palindromes_up_to_length_4_in_the_evaluator() -> None:
    program = codec_of("palindrome", "turing-counter-relative-bias").program
    for n in range(5):
        for word in product("ab", repeat=n):
            assert evaluate(program, word).accepted == (word == word[::-1])


def test_words_whose_letters_are_not_in_order_are_refused() -> None:
    with pytest.raises(InputError, match="not in the order a b"):
        sm.run(sm.compile("palindrome", "turing-counter"), "aba")


def test_machines_with_two_tapes_are_refused() -> None:
    with pytest.raises(ConstructionError, match="2 tapes"):
        sm.compile("two-tape-copy", "turing-counter")


@pytest.mark.parametrize("construction", ["turing-counter", "turing-counter-relative-bias"])
def test_machines_without_letters_are_refused_by_name(construction: str) -> None:
    """The message is about the machine, which has none, not about a line of the C-RASP program."""
    machine = load_as("turing-1936", TuringMachine)
    with pytest.raises(ConstructionError, match="'turing-1936' has no input alphabet"):
        sm.compile(machine, construction)
    assert sm.run(sm.compile(replace(machine, alphabet=("0",)), construction), max_steps=50).verdict is None


@pytest.mark.parametrize("name", ["palindrome", "increment", "busy-beaver-2", "anbncn"])
@pytest.mark.parametrize("length", range(5))
def test_the_words_of_theorem_3_3_have_their_letters_in_order(name: str, length: int) -> None:
    codec = codec_of(name, "turing-counter")
    every = [word for word in product(codec.alphabet, repeat=length) if _takes(codec, word)]
    assert list(codec.words(length)) == every
    assert codec.word_count(length) == len(every)
    assert not every or codec.random_word(random.Random(length), length) in every


def _takes(codec: CountingCodec, word: tuple[str, ...]) -> bool:
    try:
        codec.prompt(word)
    except InputError:
        return False
    return True


def test_steps_that_do_not_move_the_head_are_steps_of_the_run_that_is_compared() -> None:
    """They cost no token, so that a run can have more steps than its chain of thought has tokens."""
    machine = TuringMachine(
        name="stays",
        states=("look", "yes"),
        alphabet=("a",),
        symbols=("_", "a"),
        blank="_",
        rules=(
            Rule(state="look", read=("a",), write=("_",), move=("S",), next="look"),
            Rule(state="look", read=("_",), write=("a",), move=("R",), next="yes"),
        ),
        start="look",
        accept=("yes",),
    )
    run = sm.run(sm.compile(machine, "turing-counter"), "a")
    assert run.verdict == "accept"
    assert len(run.tokens) <= execute(machine, "a").steps
