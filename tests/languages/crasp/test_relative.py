from __future__ import annotations

from itertools import product

import pytest

from softmachine.languages import counter, turing
from softmachine.languages.crasp import RelativeEncoding, encode_word, interpreter, parse, run, to_text
from softmachine.languages.crasp.from_turing_relative import (
    build_bounded_program,
    build_relative_program,
    build_turing_program,
)
from softmachine.support.errors import UsageError
from softmachine.testing import load_as, strings

AT_ONCE = counter.parse("input a b\nstart yes\naccept yes", name="at once")
EVEN = counter.parse(
    "input a b\nstart q\naccept yes\nreject no\nq: a >= 2 -> q: a -= 2\nq: a = 0 -> yes\nq: a = 1 -> no", name="even"
)


def lengths(word: str, tokens: tuple[str, ...]) -> tuple[tuple[int, ...], int]:
    """The lengths at which the markers occur, and the length after the last one."""
    places = [len(word) + index for index, token in enumerate(tokens) if token.startswith("M_")]
    return tuple(places), places[-1] + 1


@pytest.mark.parametrize("encoding", [RelativeEncoding.LITERAL, RelativeEncoding.MARKED])
def test_phase_one_writes_the_encoding(encoding: RelativeEncoding) -> None:
    program = build_relative_program(AT_ONCE, encoding=encoding)
    for word in strings("ab", 5):
        result = run(program, word)
        assert lengths(word, result.tokens) == encode_word(word, "ab", encoding)
        assert result.accepted
    for word in strings("ab", 2):
        assert tuple(interpreter.generate(program, word)) == run(program, word).tokens


def test_phase_one_writes_the_encoding_of_three_letters() -> None:
    program = build_relative_program(counter.parse("input a b c\nstart yes\naccept yes"))
    for word in strings("abc", 3):
        assert lengths(word, run(program, word).tokens) == encode_word(word, "abc")


def test_the_figures_with_the_end_marker() -> None:
    program = build_relative_program(AT_ONCE)
    assert lengths("ab", run(program, "ab").tokens) == ((21, 38), 39)
    assert lengths("bb", run(program, "bb").tokens) == ((17, 23), 24)
    assert lengths("aba", run(program, "aba").tokens) == ((43, 74), 75)


def test_without_the_end_marker_ab_fires_at_length_5() -> None:
    literal = build_relative_program(EVEN, encoding=RelativeEncoding.LITERAL)
    tokens = run(literal, "ab").tokens
    assert tokens[:4] == ("l_a", "l_a", "l_a", "M_a")
    # β(5) is 1, not 10, so the word seems to end in a. With β(X_a) = 10 it would be seen that X_a is even.
    assert not run(literal, "ab").accepted
    assert encode_word("ab", "ab", RelativeEncoding.EXACT)[0][0] % 2 == 0
    for word in strings("ab", 6)[1:]:
        assert (encode_word(word, "ab", RelativeEncoding.EXACT)[0][0] % 2 == 0) == word.endswith("b")


ENDS_IN_B = counter.parse(
    "input a b\nstart q\naccept yes\nreject no\nq: a = 5 -> no\nq: a >= 6 -> r: a -= 4\nr: a >= 4 -> r: a -= 4\n"
    "q: a <= 4 -> no\nr: a = 1 -> yes\nr: a != 1 and a <= 3 -> no",
    name="ends in b",
)


def test_with_the_end_marker_the_last_letter_is_the_second_digit() -> None:
    program = build_relative_program(ENDS_IN_B)
    for word in strings("ab", 6):
        assert run(program, word).accepted == word.endswith("b")


def test_a_program_keeps_its_tokens_apart() -> None:
    machine = counter.parse("input $ l_a M_$\nstart M_l_a\naccept yes\nM_l_a: true -> yes", name="odd letters")
    program = build_relative_program(machine)
    assert program.relations == ("R",)
    assert len(program.tokens) == 3 + 1 + 6 + 1 + 1
    assert parse(to_text(program), name=program.name) == program
    word = ("l_a", "$", "M_$")
    first = encode_word(word, machine.alphabet)[1] - 1
    assert run(program, word).tokens[first - 3] not in machine.alphabet
    assert run(program, word).accepted


def test_invalid_arguments_are_refused() -> None:
    with pytest.raises(UsageError, match="C-RASP cannot express the exact encoding"):
        build_relative_program(AT_ONCE, encoding=RelativeEncoding.EXACT)
    ordered = counter.parse("input a b\norder\nstart yes\naccept yes")
    with pytest.raises(UsageError, match="requires its letters in order"):
        build_relative_program(ordered)


@pytest.fixture(scope="module")
def palindrome() -> turing.TuringMachine:
    return load_as("palindrome", turing.TuringMachine)


def test_palindromes_by_the_relative_encoding(palindrome: turing.TuringMachine) -> None:
    program = build_turing_program(palindrome)
    longest: dict[int, int] = {}
    for word in strings("ab", 6):
        result = run(program, word)
        assert result.accepted == (word == word[::-1]), word
        longest[len(word)] = max(longest.get(len(word), 0), len(result.tokens))
    assert longest == {0: 26, 1: 42, 2: 74, 3: 137, 4: 256, 5: 469, 6: 855}


def test_palindromes_by_the_relative_encoding_as_defined(palindrome: turing.TuringMachine) -> None:
    program = build_turing_program(palindrome)
    for word in ("", "b"):
        assert tuple(interpreter.generate(program, word)) == run(program, word).tokens


@pytest.mark.parametrize("name", ["power-of-two", "parity", "anbncn", "equality"])
def test_turing_machines_by_counters(name: str) -> None:
    machine = load_as(name, turing.TuringMachine)
    program = build_turing_program(machine)
    length = 4 if len(machine.alphabet) < 3 else 3
    for size in range(length + 1):
        for word in product(machine.alphabet, repeat=size):
            assert run(program, word).verdict == turing.execute(machine, word).verdict, word
    bounded = build_bounded_program(machine)
    order = machine.alphabet
    for size in range(7 if len(order) < 3 else 5):
        for word in product(order, repeat=size):
            expected = turing.execute(machine, word).accepted and list(word) == sorted(word, key=order.index)
            assert run(bounded, word).accepted == expected, word
