"""The RASP programs of the zoo, compared with definitions in plain Python."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import product

import pytest

from softmachine.languages import formats, zoo
from softmachine.languages.rasp import UNDEFINED, RaspProgram, generate, parse, run, to_text
from softmachine.testing import load_as

ENTRIES = {entry.name: entry for entry in zoo.list_entries() if entry.file.startswith("rasp/")}
Letters = tuple[str, ...]


@cache
def program(name: str) -> RaspProgram:
    return load_as(f"{name}-rasp", RaspProgram)


def first(word: Letters, i: int) -> bool:
    return word[i] not in word[:i]


def by_frequency(word: Letters) -> list[str]:
    return sorted(dict.fromkeys(word), key=lambda letter: -word.count(letter))


def double_histogram(word: Letters) -> list[int]:
    often = Counter(Counter(word).values())
    return [often[word.count(letter)] for letter in word]


def sorted_unique(word: Letters) -> list[object]:
    places = {sum(other < letter for other in word): letter for letter in word}
    return [places.get(i, 0) for i in range(len(word))]


def share(word: Letters, letter: str, i: int) -> Fraction:
    return Fraction(word[: i + 1].count(letter), i + 1)


def shuffled(word: Letters, pairs: list[str]) -> list[bool]:
    def balances(pair: str) -> list[int]:
        return [word[:i].count(pair[0]) - word[:i].count(pair[1]) for i in range(len(word) + 1)]

    return [all(min(balances(pair)) >= 0 and balances(pair)[-1] == 0 for pair in pairs)] * len(word)


def dyck(word: Letters, pairs: list[str]) -> list[str]:
    closing = {pair[1]: pair[0] for pair in pairs}
    stack: list[str] = []
    verdicts = []
    failed = False
    for letter in word:
        if letter not in closing:
            stack.append(letter)
        elif not stack or stack.pop() != closing[letter]:
            failed = True
        verdicts.append("F" if failed else "P" if stack else "T")
    return verdicts


def addition(word: Letters) -> list[int]:
    one, _, other = "".join(word).partition("+")
    return [int(digit) for digit in f"{int(one or '0') + int(other or '0'):0{len(word)}}"]


def mode(word: Letters) -> list[str]:
    return [max("abc", key=word[: i + 1].count) for i in range(len(word))]


def induction(word: Letters) -> list[str]:
    found = []
    for i, letter in enumerate(word):
        after = [word[j] for j in range(1, i + 1) if word[j - 1] == letter]
        found.append(after[-1] if after else "?")
    return found


def subleq(word: Letters) -> list[int]:
    memory, place = [int(letter) for letter in word], 0

    def at(index: int) -> int:
        return memory[index] if 0 <= index < len(memory) else 0

    for _ in range(1000):
        if not 0 <= place < len(memory):
            return memory
        a, b, c = at(place), at(place + 1), at(place + 2)
        less = max(-9, min(9, at(b) - at(a)))
        if 0 <= b < len(memory):
            memory[b] = less
        place = c if less <= 0 else place + 3
    return []


COMPUTED: dict[str, Callable[[Letters], Sequence[object]]] = {
    "length": lambda word: [len(word)] * len(word),
    "reverse": lambda word: list(word[::-1]),
    "histogram": lambda word: [word.count(letter) for letter in word],
    "double-histogram": double_histogram,
    "sort": sorted,
    "sort-unique": sorted_unique,
    "sort-by-frequency": lambda word: [*by_frequency(word), *"-" * (len(word) - len(set(word)))],
    "most-frequent": lambda word: by_frequency(word)[:1] * len(word),
    "fraction-of-previous": lambda word: [share(word, "x", i) for i in range(len(word))],
    "pair-balance": lambda word: [share(word, "(", i) - share(word, ")", i) for i in range(len(word))],
    "shuffle-dyck-1": lambda word: shuffled(word, ["()"]),
    "shuffle-dyck-2": lambda word: shuffled(word, ["()", "{}"]),
    "dyck-1": lambda word: dyck(word, ["()"]),
    "dyck-2": lambda word: dyck(word, ["()", "{}"]),
    "dyck-3": lambda word: dyck(word, ["()", "{}", "[]"]),
    "shift": lambda word: ["_", *word][: len(word)],
    "detect-pattern": lambda word: [word[max(0, i - 2) : i + 1] == ("a", "b", "a") for i in range(len(word))],
    "count-less-frequent": lambda word: [sum(word.count(letter) < 2 for letter in word)] * len(word),
    "mode": mode,
    "induction": induction,
    "parity-loop": lambda word: [str(word[: i + 1].count("1") % 2) for i in range(len(word))],
    "sort-loop": lambda word: sorted(map(int, word)),
}  # fmt: skip


def words(alphabet: tuple[str, ...], limit: int = 250) -> list[Letters]:
    """All words up to a length, unless there are too many, and a few longer ones."""
    found: list[Letters] = []
    for length in range(7):
        if len(alphabet) ** length > limit:
            break
        found += product(alphabet, repeat=length)
    rng = random.Random(0)
    return found + [tuple(rng.choices(alphabet, k=length)) for length in (9, 12, 20) for _ in range(5)]


@pytest.mark.parametrize("name", COMPUTED)
def test_a_program_agrees_with_its_definition(name: str) -> None:
    for word in words(program(name).alphabet):
        assert list(run(program(name), word)) == COMPUTED[name](word), word


def test_a_histogram_with_a_start_token_counts_letters_but_not_the_token() -> None:
    for word in words(("a", "b", "c"), 100):
        counts = run(program("histogram-bos"), ("§", *word))
        assert list(counts) == [0, *(word.count(letter) for letter in word)]


@pytest.mark.parametrize("name", ["long-addition", "addition-loop"])
def test_a_sum_is_a_sum(name: str) -> None:
    rng = random.Random(1)
    sums = [(rng.randrange(10**length), rng.randrange(10**other)) for length in range(5) for other in range(5)]
    for one, other in [*sums, (999, 1), (1, 9999), (95, 904), (0, 0)]:
        word = tuple(f"{one}+{other}")
        assert list(run(program(name), word)) == addition(word)


def test_a_copy_is_written_until_it_is_complete() -> None:
    for word in words(("a", "b", "c"), 100):
        written = generate(program("copy"), (*word, "|"))
        assert (written.letters, written.is_complete) == (word, True)


def test_parities_are_written_until_the_last() -> None:
    for word in words(("0", "1"), 100):
        written = generate(program("parity-scratchpad"), (*word, "|"))
        assert written.letters == tuple(str(word[: i + 1].count("1") % 2) for i in range(len(word)))


def test_a_sum_is_written_digit_by_digit() -> None:
    for one, other in product(range(9), repeat=2):
        word = f"{one:b}"[::-1] + "+" + f"{other:b}"[::-1] + "="
        written = generate(program("addition-scratchpad"), word).letters
        digits = "".join(str(int(letter) % 2) for letter in reversed(written))
        assert int(digits, 2) == one + other


def test_a_subleq_machine_does_what_subleq_machines_do() -> None:
    rng = random.Random(2)
    halting = 0
    while halting < 40:
        word = tuple(rng.choices(program("subleq").alphabet, k=rng.randint(1, 9)))
        memory = subleq(word)
        if memory:
            halting += 1
            assert list(run(program("subleq"), word)) == memory


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=list(ENTRIES))
def test_samples_agree_with_the_interpreter(entry: zoo.ZooEntry) -> None:
    loaded = entry.load()
    assert isinstance(loaded, RaspProgram)
    assert len(entry.samples) >= 3
    for sample in entry.samples:
        if loaded.stop is None:
            output = loaded.format_values(run(loaded, sample.input))
        else:
            written = generate(loaded, sample.input)
            assert written.is_complete
            output = "".join(written.letters)
        assert output == sample.output


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=list(ENTRIES))
def test_a_program_survives_a_round_trip_and_is_recognised(entry: zoo.ZooEntry) -> None:
    loaded = entry.load()
    assert isinstance(loaded, RaspProgram)
    assert parse(to_text(loaded), name=loaded.name) == loaded
    assert "# exact" not in to_text(loaded)
    assert formats.recognise(entry.read_text()) == "rasp"
    assert loaded.default_input


@pytest.mark.parametrize("name", [*COMPUTED, "long-addition", "subleq"])
def test_no_program_of_the_zoo_is_undefined_anywhere(name: str) -> None:
    word = program(name).default_input
    assert UNDEFINED not in run(program(name), word)
