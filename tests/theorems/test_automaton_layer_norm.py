"""Finite automata in logarithmically many iterations: one set of weights, no position features, exact everywhere."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import pytest

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.languages.turing import TuringMachine, Verdict, execute
from softmachine.support.errors import ConstructionError, DivergedError
from softmachine.theorems.logic.automaton_layer_norm import Automaton, AutomatonCodec
from softmachine.transformer.features import ceil_log2

NAMES = ["parity", "divisible-by-three", "shell-game"]
EARLY = """
blank: _
start state: before
alphabet: [a, b, c]
table:
  before:
    a: R
    b: {R: after}
    c: {R: no}
  after:
    b: {R: yes}
    [a, c]: {R: before}
    _: {N: yes}
  yes:
  no:
"""
"""Stops at the first bb, and at the first c that is not after b; stops without a rule after a."""


def automaton(name: str) -> Model:
    return sm.compile(name, theorem="automaton-layer-norm")


def early(tmp_path_factory: pytest.TempPathFactory) -> Model:
    path = tmp_path_factory.mktemp("machines") / "early.yaml"
    path.write_text(EARLY.replace("yes", "accept").replace("no:", "reject:").replace("no}", "reject}"), "utf-8")
    return automaton(str(path))


def right(model: Model, words: list[tuple[str, ...]]) -> None:
    machine = model.source
    assert isinstance(machine, TuringMachine)
    for word in words:
        run = sm.run(model, word)
        expected = [Automaton(machine).accepts(word[:count]) for count in range(len(word) + 1)]
        assert [answer == "true" for answer in run.tokens] == expected, word
        assert expected[-1] == (execute(machine, word).verdict is Verdict.ACCEPT), word


@pytest.mark.parametrize("name", NAMES)
def test_every_short_word_is_decided_as_by_the_machine_and_all_that_it_begins_with(name: str) -> None:
    model = automaton(name)
    right(model, [word for n in range(8) for word in product(model.codec.alphabet, repeat=n)])


def test_a_machine_that_stops_early_has_decided(tmp_path_factory: pytest.TempPathFactory) -> None:
    model = early(tmp_path_factory)
    right(model, [word for n in range(6) for word in product("abc", repeat=n)])


@pytest.mark.parametrize("length", [9, 16, 17, 33, 100, 300, 700])
def test_longer_words_are_decided(length: int) -> None:
    model = automaton("shell-game")
    machine = model.source
    assert isinstance(machine, TuringMachine)
    chooser = random.Random(length)
    for _ in range(3):
        word = tuple(chooser.choices("sr", k=length))
        answers = sm.run(model, word).tokens
        decided = Automaton(machine)
        assert [answer == "true" for answer in answers] == [decided.accepts(word[:k]) for k in range(length + 1)]


def test_one_set_of_weights_without_position_features_turns_log_n_times() -> None:
    """Fully uniform: at eight lengths the same weights, the same width, and ⌈log₂ n⌉ iterations of three layers."""
    for name in NAMES:
        weights = automaton(name).weights
        states = len(Automaton(_machine(name)).states)
        assert weights.features == ()
        assert all(head.bias is None and head.weighting.is_hard for head in weights.heads)
        first, loop = weights.blocks
        assert (len(first.layers), first.repeats, len(loop.layers)) == (1, 1, 3)
        assert weights.width == 2 * states**2 + 10
        for n in (1, 2, 4, 10, 100, 1000, 10_000, 10**6):
            assert loop.iterations(n) == ceil_log2(n)
            assert weights.depth(n) == 1 + 3 * ceil_log2(n)


def _machine(name: str) -> TuringMachine:
    machine = automaton(name).source
    assert isinstance(machine, TuringMachine)
    return machine


def test_fewer_turns_are_not_enough() -> None:
    """With one iteration less, the first letter of words of more than half the length has no effect."""
    model = automaton("parity")
    first, loop = model.weights.blocks
    short = replace(model, weights=replace(model.weights, blocks=(first, replace(loop, repeats=2))))
    assert sm.run(short, "1000").verdict == "accept"
    with pytest.raises(DivergedError, match="token 5 is false, but should be true"):
        sm.run(short, "10000")
    assert sm.run(model, "10000").verdict == "accept"


def test_the_shell_game_moves_cups_in_every_way() -> None:
    """Its letters generate S₅, so that the language is complete for NC¹."""
    machine = Automaton(_machine("shell-game"))
    letters = [machine.successors(letter)[:5] for letter in "sr"]
    found = {tuple(range(5))}
    while True:
        more = {tuple(letter[k] for k in each) for each in found for letter in letters} | found
        if more == found:
            break
        found = more
    assert len(found) == 120


@pytest.mark.parametrize(
    ("name", "reason"),
    [("bit-inversion", "no accepting state"), ("palindrome", "writes"), ("two-tape-palindrome", "several tapes")],
)
def test_machines_that_are_no_automata_are_refused(name: str, reason: str) -> None:
    with pytest.raises(ConstructionError, match=reason):
        automaton(name)
    with pytest.raises(ConstructionError, match=reason):  # when it is compiled, not when a word is read
        AutomatonCodec(_machine(name))
