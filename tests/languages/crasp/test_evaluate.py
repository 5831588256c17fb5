from __future__ import annotations

import random
from collections.abc import Callable
from itertools import islice

import pytest

from softmachine.languages.crasp import CraspProgram, Evaluation, generate, interpreter, parse, run
from softmachine.languages.crasp.streaming_interpreter import accept_prefixes
from softmachine.support.errors import ConstructionError, InputError, NoNextTokenError, UsageError
from softmachine.testing import strings
from softmachine.testing.crasp import random_program

PARITY = parse("alphabet a b\nP := #[Q_a] - 2*#[Q_t]\nACC <- P = 0\nREJ <- P = 1\nt <- P >= 2", name="parity")


def is_dyck(word: str) -> bool:
    depth = 0
    for letter in word:
        depth += 1 if letter == "(" else -1
        if depth < 0:
            return False
    return depth == 0


RECOGNISERS: list[tuple[str, str, Callable[[str], bool]]] = [
    ("accept #[Q_a] > #[Q_b]", "ab", lambda word: word.count("a") > word.count("b")),
    ("accept #[ #[')'] > #['('] ] = 0 and #['('] = #[')']", "()", is_dyck),
    ("accept #[Q_a and #[Q_b] > 0] = 0", "ab", lambda word: "ba" not in word),
    ("accept Q_a", "ab", lambda word: word.endswith("a")),
    ("accept not Q_a", "ab", lambda word: not word.endswith("a")),
    ("accept #[true] = 3", "ab", lambda word: len(word) == 3),
    ("accept #R[true] = 1", "a", lambda word: len(word) in (5, 9, 10)),
    ("accept #R[Q_a] = 1", "ab", lambda word: len(word) == 5 and word[0] == "a"),
    ("x := #[Q_a] - #[Q_b]\naccept max(x, 0 - x) = 2", "ab", lambda word: abs(word.count("a") - word.count("b")) == 2),
    ("accept #[(Q_a ? #[Q_a] : #[Q_b]) = 2] = 2", "ab", lambda word: {"a": 2, "b": 2}.items() <= counts(word).items()),
    ("accept Q_a <-> #[Q_a] > 1", "ab", lambda word: word.endswith("a") == (word.count("a") > 1)),
    ("accept Q_a -> #[Q_a] > 1", "ab", lambda word: not word.endswith("a") or word.count("a") > 1),
]


def counts(word: str) -> dict[str, int]:
    return {letter: min(2, word.count(letter)) for letter in "ab"}


@pytest.mark.parametrize(("text", "alphabet", "predicate"), RECOGNISERS)
def test_formulas_have_their_defined_semantics(text: str, alphabet: str, predicate: Callable[[str], bool]) -> None:
    program = parse(f"alphabet {' '.join(alphabet)}\n{text}")
    for word in strings(alphabet, 10 if len(alphabet) == 1 else 6):
        assert interpreter.satisfies(program, word) == predicate(word), word
        assert run(program, word).accepted == predicate(word), word
        assert [*accept_prefixes(program, word)] == [predicate(word[:count]) for count in range(len(word) + 1)], word


def test_parity_of_the_letters() -> None:
    for word in strings("ab", 8):
        result = run(PARITY, word)
        assert result.tokens == tuple(interpreter.generate(PARITY, word))
        assert result.accepted == (word.count("a") % 2 == 0)
        assert len(result.tokens) == word.count("a") // 2 + 1
    assert run(PARITY, "aabaa").tokens == ("t", "t", "ACC")


def test_before_the_first_token_no_symbol_is_there_and_every_count_is_0() -> None:
    program = parse(
        "alphabet a\nx := #[not Q_a]\ny := #R[true]\n"
        "t <- x = 0 and y = 0 and #[true] = 0 and not Q_a\nACC <- x = 1 and #[#[true] = 0] = 0 and Q_t"
    )
    assert run(program, "").tokens == ("t", "ACC") == tuple(interpreter.generate(program, ""))
    assert Evaluation(program).value("x", 0) == 0


@pytest.mark.parametrize("generator", [generate, interpreter.generate])
def test_a_stuck_run_names_position_and_token(generator: Callable[[CraspProgram, str], object]) -> None:
    program = parse("alphabet a b\nt <- Q_b and #[Q_t] < 2\nu <- Q_t", name="p")
    tokens = iter(generator(program, "ab"))  # type: ignore[call-overload]
    assert list(islice(tokens, 2)) == ["t", "u"]
    with pytest.raises(NoNextTokenError) as caught:
        next(tokens)
    assert "'p' is stuck at position 4, after 'u': no rule applies" in str(caught.value)
    with pytest.raises(NoNextTokenError, match="stuck on the empty word"):
        list(generator(program, ""))  # type: ignore[call-overload]


def test_the_first_rule_that_holds_counts() -> None:
    program = parse("alphabet a\nREJ <- #[Q_a] > 1\nACC <- true\nREJ <- true")
    assert [run(program, "a" * n).verdict for n in range(3)] == ["accept", "accept", "reject"]


def test_a_run_may_be_cut_short() -> None:
    program = parse("alphabet a\na <- true")
    result = run(program, "", max_tokens=5)
    assert result.tokens == ("a",) * 5
    assert result.verdict is None
    assert not result.accepted
    assert run(program, "", max_tokens=0).tokens == ()


def test_unknown_letters_are_refused() -> None:
    with pytest.raises(InputError, match="symbol 't' at position 2"):
        run(PARITY, "at")
    with pytest.raises(UsageError, match="no rules"):
        next(generate(parse("alphabet a\naccept true"), ""))


def same_runs(seeds: range, depth: int, length: int) -> int:
    """Compare the fast interpreter with the definition; returns the number of compared tokens."""
    compared = 0
    for seed in seeds:
        program = random_program(seed, with_rules=seed % 3 > 0, depth=depth)
        rng = random.Random(seed)
        for _ in range(3):
            word = [rng.choice(program.alphabet) for _ in range(rng.randint(0, 8))]
            if not program.rules:
                assert interpreter.satisfies(program, word) == run(program, word).accepted, (seed, word)
                continue
            expected = list(islice(interpreter.generate(program, word), length))
            assert list(islice(generate(program, word), length)) == expected, (seed, word)
            compared += len(expected)
    return compared


def test_the_fast_evaluator_agrees_with_the_definition() -> None:
    assert same_runs(range(120), 4, 20) > 2000


@pytest.mark.slow
def test_the_fast_evaluator_agrees_with_the_definition_on_many_programs() -> None:
    assert same_runs(range(1000, 2000), 5, 60) > 50_000


def test_a_long_run_does_not_slow_down_or_lose_count() -> None:
    result = run(PARITY, "ab" * 30_001)
    assert len(result.tokens) == 15_001
    assert result.verdict == "reject"


def test_large_coefficients_are_no_trouble() -> None:
    largest = 10**18
    program = parse(f"alphabet a b\naccept {largest}*#[Q_a] - {largest - 1}*#[Q_b] >= {largest}")
    for word in ("", "a", "b", "ab", "aab", "aabb", "a" * 30, "a" * 20 + "b" * 19, "b" * 30):
        expected = largest * word.count("a") - (largest - 1) * word.count("b") >= largest
        assert run(program, word).accepted == interpreter.satisfies(program, word) == expected


def test_what_unfolds_too_far_is_refused_and_still_evaluated_by_the_definition() -> None:
    names = "\n".join(f"x{n + 1} := x{n} <-> #[Q_a] <= {n + 2}" for n in range(40))
    program = parse(f"alphabet a b\nx0 := Q_a\n{names}\naccept x40")
    with pytest.raises(ConstructionError, match="unfold to more than 131,072 tests after one token"):
        run(program, "ab")
    assert not interpreter.satisfies(program, "ab")
    long = "\n".join(f"x{n + 1} := x{n} and #[Q_a] <= {n + 2}" for n in range(1500))
    accepting = parse(f"alphabet a b\nx0 := Q_a\n{long}\naccept x1500")
    assert [run(accepting, word).accepted for word in ("a", "ab", "aa", "aaa")] == [True, False, True, False]
