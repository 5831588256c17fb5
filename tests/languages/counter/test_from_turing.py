from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import product

import pytest

from softmachine.languages import turing
from softmachine.languages.counter import (
    CounterMachine,
    CounterResult,
    RunError,
    build_counter_machine,
    build_relative_counter_machine,
    execute,
    execute_from,
)
from softmachine.languages.crasp import encode_word
from softmachine.languages.turing import TapeConvention, TuringMachine
from softmachine.support.errors import ConstructionError
from softmachine.testing import load_as, words
from softmachine.testing.turing import random_turing_machine
from tests.languages.counter.textbook import Textbook

MINSKY = (1,)
WAYS = [(3, (1, 2, 4, 8)), (4, (1, 2, 4, 8, 16, 32, 64, 128)), (3, (1, 3, 9, 27)), (4, MINSKY)]


def bounded(alphabet: tuple[str, ...], longest: int) -> Iterator[tuple[str, ...]]:
    """The words whose letters are in the order of the alphabet."""
    for counts in product(range(longest + 1), repeat=len(alphabet)):
        if sum(counts) <= longest:
            yield tuple(letter for letter, count in zip(alphabet, counts, strict=True) for _ in range(count))


def verdict(described: TuringMachine, word: tuple[str, ...], max_steps: int = 20_000) -> str | None:
    """The expected verdict of the counter machine: a machine that halts without a verdict accepts."""
    verdict = turing.execute(described, word, max_steps=max_steps).verdict
    return "accept" if verdict == "halt" else verdict


def answer(counted: CounterMachine, word: tuple[str, ...]) -> str | None:
    return execute(counted, word, max_steps=3_000_000).verdict


def relative_numbers(word: Sequence[str], alphabet: Sequence[str]) -> dict[str, int]:
    return dict(zip(alphabet, encode_word(word, alphabet)[0], strict=True))


def answer_to_numbers(counted: CounterMachine, word: tuple[str, ...]) -> str | None:
    numbers = relative_numbers(word, counted.alphabet)
    return execute_from(counted, numbers, max_steps=3_000_000).verdict


def test_number_of_steps_of_sipsers_machine() -> None:
    power = load_as("power-of-two", TuringMachine)
    plain, strides, four = (
        build_counter_machine(power, strides=MINSKY),
        build_counter_machine(power),
        build_counter_machine(power, work_counters=4),
    )
    assert [len(one.counters) for one in (plain, strides, four)] == [4, 4, 5]
    assert [len(one.transitions) for one in (plain, strides, four)] == [99, 267, 171]
    taken = {n: [execute(one, "1" * n).steps for one in (plain, strides, four)] for n in (2, 4, 6, 8)}
    assert taken == {2: [18, 18, 12], 4: [289, 91, 71], 6: [1455, 120, 102], 8: [34907, 604, 548]}


def test_the_textbook_reduction_takes_many_more_steps() -> None:
    power = load_as("power-of-two", TuringMachine)
    textbook = Textbook(power).counter_machine()
    assert (len(textbook.states), len(textbook.transitions)) == (85, 182)
    taken = {n: execute(textbook, "1" * n).steps for n in (1, 2, 3, 4, 6, 8)}
    assert taken == {1: 12, 2: 69, 3: 92, 4: 1017, 6: 5717, 8: 116_781}
    assert [n for n in taken if execute(textbook, "1" * n).accepted] == [1, 2, 4, 8]


@pytest.mark.parametrize("work_counters", [3, 4])
def test_sipsers_machine_accepts_the_powers_of_two(work_counters: int) -> None:
    counted = build_counter_machine(load_as("power-of-two", TuringMachine), work_counters=work_counters)
    assert [n for n in range(11) if execute(counted, "1" * n).accepted] == [1, 2, 4, 8]


@pytest.mark.parametrize(
    ("name", "longest"),
    [
        ("prime", 5),
        ("anbncn", 4),
        ("palindrome", 6),
        ("unary-subtraction", 5),
        ("unary-multiplication", 4),
        ("increment", 6),
        ("balanced-parentheses", 5),
        ("equality", 4),
        ("busy-beaver-3", 2),
        ("parity", 7),
    ],
)
@pytest.mark.parametrize(("work_counters", "strides"), WAYS[:2])
def test_machines_of_the_zoo_give_the_same_verdicts(
    name: str, longest: int, work_counters: int, strides: tuple[int, ...]
) -> None:
    described = load_as(name, TuringMachine)
    counted = build_counter_machine(described, work_counters=work_counters, strides=strides)
    assert counted.determinism.is_proven
    for word in bounded(described.alphabet, longest):
        assert answer(counted, word) == verdict(described, word), word


def test_words_of_another_shape_are_rejected() -> None:
    counted = build_counter_machine(load_as("palindrome", TuringMachine))
    assert execute(counted, "bab").reason == "shape"
    assert not build_counter_machine(load_as("palindrome", TuringMachine), letters=["b"]).has_ordered_letters
    backwards = build_counter_machine(load_as("palindrome", TuringMachine), letters=["b", "a"])
    assert execute(backwards, "bba").verdict == "reject"
    assert execute(backwards, "aa").accepted


def moves(result: turing.TuringResult) -> list[tuple[str, str]]:
    """The head moves of a Turing machine with the next states, without those that end the run."""
    return [
        (action.move[0], action.state)
        for action in result.actions or ()
        if action.move != ("S",) and action.state not in result.machine.halting_states
    ]


def moves_in_counters(result: CounterResult) -> list[tuple[str, str]]:
    sweeps = [one.target.split("_", 2) for one in result.transitions or () if one.target != one.source]
    return [("R" if parts[0] == "right" else "L", parts[2]) for parts in sweeps if parts[0] in ("left", "right")]


@pytest.mark.parametrize("tape", list(TapeConvention))
@pytest.mark.parametrize(("work_counters", "strides"), WAYS)
@pytest.mark.parametrize("count", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_random_machines_move_the_head_as_on_a_tape(
    tape: TapeConvention, work_counters: int, strides: tuple[int, ...], count: int
) -> None:
    rng = random.Random(f"{tape} {work_counters} {strides} {count}")
    ended = 0
    for _ in range(count):
        described = random_turing_machine(rng, symbols=rng.choice([2, 3, 4]), states=rng.randint(1, 5), tape=tape)
        bounded_machine = build_counter_machine(described, work_counters=work_counters, strides=strides)
        relative_machine = build_relative_counter_machine(described, work_counters=work_counters, strides=strides)
        for length in (0, 1, 2, 3):
            word = tuple(sorted(rng.choices(described.alphabet, k=length), key=described.alphabet.index))
            on_tape = turing.execute(described, word, max_steps=300, trace=True)
            for counted, numbers in (
                (bounded_machine, bounded_machine.initial_counters(word)),
                (relative_machine, relative_numbers(word, described.alphabet)),
            ):
                in_counters = execute_from(counted, numbers, max_steps=300, trace=True)
                expected, made = moves(on_tape), moves_in_counters(in_counters)
                if on_tape.halted and in_counters.halted:
                    ended += 1
                    assert in_counters.verdict == ("accept" if on_tape.verdict == "halt" else on_tape.verdict)
                    assert made == expected
                else:
                    both = min(len(made), len(expected))
                    assert made[:both] == expected[:both]
    assert ended > 2 * count


@pytest.mark.parametrize(
    ("name", "longest"), [("palindrome", 4), ("parity", 4), ("divisible-by-three", 4), ("equality", 3), ("anbncn", 2)]
)
@pytest.mark.parametrize("work_counters", [3, 4])
def test_numbers_of_the_relative_encoding_are_read_as_words(name: str, longest: int, work_counters: int) -> None:
    described = load_as(name, TuringMachine)
    counted = build_relative_counter_machine(described, work_counters=work_counters)
    assert counted.determinism.is_proven
    assert len(counted.work_counters) == work_counters
    for word in words(described.alphabet, longest):
        assert answer_to_numbers(counted, word) == verdict(described, word), word


def test_a_palindrome_of_four_letters_takes_about_a_hundred_steps() -> None:
    counted = build_relative_counter_machine(load_as("palindrome", TuringMachine))
    steps = {
        length: max(execute_from(counted, relative_numbers(word, "ab")).steps for word in product("ab", repeat=length))
        for length in range(5)
    }
    assert steps == {0: 14, 1: 23, 2: 36, 3: 64, 4: 104}


def test_any_number_that_encodes_a_letter_will_do() -> None:
    counted = build_relative_counter_machine(load_as("palindrome", TuringMachine))
    rng = random.Random(6)
    for word in words(("a", "b"), 4):
        numbers = {}
        for letter in "ab":
            indicator = "".join("1" if other == letter else "0" for other in word)
            numbers[letter] = int("1" * rng.randint(1, 4) + "0" + indicator + "1" + "0" * rng.randint(0, 4), 2)
        assert execute_from(counted, numbers).verdict == ("accept" if word == word[::-1] else "reject")


@pytest.mark.parametrize(("word", "numbers"), [("ab", (21, 38)), ("bb", (17, 23)), ("aba", (43, 74)), ("", (5, 10))])
def test_the_numbers_are_those_that_counting_up_finds(word: str, numbers: tuple[int, int]) -> None:
    assert tuple(relative_numbers(word, "ab").values()) == numbers


@pytest.mark.parametrize("numbers", [{"a": 0, "b": 0}, {"a": 0b1011, "b": 0b1011}, {"a": 5, "b": 0}])
def test_numbers_that_encode_no_word_get_stuck(numbers: dict[str, int]) -> None:
    with pytest.raises(RunError, match="no transition of state"):
        execute_from(build_relative_counter_machine(load_as("palindrome", TuringMachine)), numbers)


def test_letters_may_have_the_names_of_counters() -> None:
    rules = tuple(turing.Rule("q", (letter,), ("_",), ("R",), "q") for letter in "xy")
    described = TuringMachine(
        name="erase",
        states=("q", "end"),
        alphabet=("x", "y"),
        symbols=("_", "x", "y"),
        blank="_",
        start="q",
        rules=(*rules, turing.Rule("q", ("_",), ("_",), ("S",), "end")),
        accept=("end",),
    )
    assert build_counter_machine(described).counters == ("x", "y", "x_", "y_", "z")
    assert execute(build_counter_machine(described), "xxy").accepted
    assert answer_to_numbers(build_relative_counter_machine(described), ("y", "x")) == "accept"


def test_a_machine_that_circles_on_one_cell_runs_forever() -> None:
    described = TuringMachine(
        name="circle",
        states=("q",),
        alphabet=(),
        symbols=("_",),
        blank="_",
        start="q",
        rules=(turing.Rule("q", ("_",), ("_",), ("S",), "q"),),
    )
    for counted in (build_counter_machine(described), build_relative_counter_machine(described)):
        assert not execute(counted, "", max_steps=100_000).halted


def test_a_machine_that_starts_at_its_end_makes_no_step() -> None:
    described = TuringMachine(
        name="yes", states=("q",), alphabet=("a",), symbols=("_", "a"), blank="_", start="q", rules=(), accept=("q",)
    )
    assert execute(build_counter_machine(described), "aaa").steps == 0
    assert execute(build_counter_machine(described), "aaa").accepted


def test_what_the_reduction_is_not_for_is_refused() -> None:
    with pytest.raises(ConstructionError, match="has 2 tapes"):
        build_counter_machine(load_as("two-tape-copy", TuringMachine))
    with pytest.raises(ConstructionError, match="has 3 tapes"):
        build_relative_counter_machine(load_as("three-tape-addition", TuringMachine))
    with pytest.raises(ConstructionError, match="not in the input alphabet"):
        build_counter_machine(load_as("palindrome", TuringMachine), letters=["c"])
    with pytest.raises(ConstructionError, match="5 work counters"):
        build_counter_machine(load_as("palindrome", TuringMachine), work_counters=5)
    with pytest.raises(ConstructionError, match="do not reach every number"):
        build_counter_machine(load_as("palindrome", TuringMachine), strides=(2, 4))
    many = tuple(f"s{number}" for number in range(40))
    with pytest.raises(ConstructionError, match="40 letters"):
        build_relative_counter_machine(
            TuringMachine(name="m", states=("q",), alphabet=many, symbols=("_", *many), blank="_", rules=(), start="q")
        )


@pytest.mark.slow
def test_sipsers_machine_accepts_sixteen_ones() -> None:
    counted = build_counter_machine(load_as("power-of-two", TuringMachine))
    assert [n for n in range(11, 18) if execute(counted, "1" * n, max_steps=10**8).accepted] == [16]


@pytest.mark.slow
def test_words_of_six_letters_through_the_relative_encoding() -> None:
    for name in ("palindrome", "parity"):
        described = load_as(name, TuringMachine)
        counted = build_relative_counter_machine(described)
        for word in product(described.alphabet, repeat=6):
            assert answer_to_numbers(counted, word) == verdict(described, word), word
