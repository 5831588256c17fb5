"""The S-RASP programs of the zoo, against plain Python definitions of what they compute."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import softmachine
from softmachine.languages.formats import format_by_name
from softmachine.languages.srasp import SraspProgram, accepts, parse, run, to_text
from softmachine.testing import words

FOLDER = Path(softmachine.__file__).parent / "languages" / "zoo" / "srasp"
NAMES = sorted(path.stem for path in FOLDER.glob("*.srasp"))


@cache
def load(name: str) -> SraspProgram:
    path = FOLDER / f"{name}.srasp"
    return parse(path.read_text(encoding="utf-8"), source=str(path))


def nested(word: str) -> bool:
    while (shorter := word.replace("()", "").replace("[]", "")) != word:
        word = shorter
    return not word


def flip_flop(word: str) -> bool:
    if not re.fullmatch(r"w[01]([wir][01])*", word):
        return False
    memory = ""
    for instruction, bit in zip(word[::2], word[1::2], strict=True):
        if instruction == "w":
            memory = bit
        if instruction == "r" and bit != memory:
            return False
    return True


LANGUAGES: dict[str, tuple[Callable[[str], bool], int]] = {
    "dyck-1": (nested, 10),
    "dyck-2": (nested, 6),
    "flip-flop": (flip_flop, 5),
    "balanced": (lambda word: word.count("a") == word.count("b"), 6),
    "bigram": (lambda word: word.endswith("ab"), 7),
    "trigram": (lambda word: word.endswith("aba"), 7),
}


def hop(word: str, i: int | None) -> int | None:
    """The position after the most recent earlier occurrence of the letter at i."""
    if i is None:
        return None
    return next((j for j in range(i, 0, -1) if word[j - 1] == word[i]), None)


def letter(word: str, i: int | None) -> str:
    return "?" if i is None else word[i]


def copied(word: str) -> str:
    head, bar, tail = word.partition("|")
    return head + bar + "".join(head[k] if symbol == "_" and k < len(head) else symbol for k, symbol in enumerate(tail))


TRANSDUCTIONS: dict[str, tuple[Callable[[str], str], int]] = {
    "majority": (lambda word: ("a" if word.count("a") >= word.count("b") else "b") * len(word), 7),
    "induction-head": (lambda word: "".join(letter(word, hop(word, i)) for i in range(len(word))), 6),
    "two-hop-induction-head": (
        lambda word: "".join(letter(word, hop(word, hop(word, i))) for i in range(len(word))),
        6,
    ),
    "reverse": (lambda word: word[::-1], 6),
    "last-symbol": (lambda word: word[-1:] * len(word), 6),
    "copy": (copied, 5),
    "shift": (lambda word: ("?" + word)[: len(word)], 6),
}


def test_every_program_has_a_definition_here() -> None:
    assert sorted({**LANGUAGES, **TRANSDUCTIONS}) == NAMES


@pytest.mark.parametrize("name", LANGUAGES)
def test_it_accepts_what_it_should_and_nothing_else(name: str) -> None:
    program = load(name)
    belongs, longest = LANGUAGES[name]
    for word in words(program.alphabet, longest, shortest=1):
        assert accepts(program, word) is belongs("".join(word)), "".join(word)


@pytest.mark.parametrize("name", TRANSDUCTIONS)
def test_it_computes_what_it_should(name: str) -> None:
    program = load(name)
    function, longest = TRANSDUCTIONS[name]
    for word in words(program.alphabet, longest):
        assert program.format_values(run(program, word)) == function("".join(word)), "".join(word)


@pytest.mark.parametrize("name", ["bigram", "trigram"])
def test_an_n_gram_is_marked_wherever_it_ends(name: str) -> None:
    gram = {"bigram": "ab", "trigram": "aba"}[name]
    for word in words(("a", "b"), 7):
        text = "".join(word)
        assert run(load(name), word) == tuple(text[: i + 1].endswith(gram) for i in range(len(text)))


def test_dyck_2_is_right_on_long_words() -> None:
    rng = random.Random(0)
    for _ in range(5):
        word, closing = "", ""
        while len(word) < 60 or closing:
            if len(word) < 60 and (not closing or rng.random() < 0.5):
                pair = rng.choice(["()", "[]"])
                word, closing = word + pair[0], pair[1] + closing
            else:
                word, closing = word + closing[0], closing[1:]
        assert accepts(load("dyck-2"), word)
        broken = list(word)
        index = rng.randrange(len(word))
        broken[index] = {"(": "[", "[": "(", ")": "]", "]": ")"}[word[index]]
        assert not accepts(load("dyck-2"), broken)


def test_flip_flop_is_right_on_long_words() -> None:
    rng = random.Random(1)
    verdicts = set()
    for _ in range(40):
        word = "w0" + "".join(rng.choice("wiiir") + rng.choice("01") for _ in range(rng.randint(1, 12)))
        verdicts.add(flip_flop(word))
        assert accepts(load("flip-flop"), word) is flip_flop(word)
    assert verdicts == {True, False}


@pytest.mark.parametrize("name", NAMES)
def test_the_files_are_recognised_and_come_back_from_their_text(name: str) -> None:
    assert format_by_name("srasp").looks_like((FOLDER / f"{name}.srasp").read_text(encoding="utf-8"))
    assert load(name).name == name
    assert parse(to_text(load(name))) == load(name)
