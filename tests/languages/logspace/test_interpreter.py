"""Logspace machines compared with Python definitions; nondeterministic choices."""

from __future__ import annotations

from itertools import product

import pytest

from softmachine.languages.logspace import LogspaceMachine, accepts, parse, reachable_configurations
from softmachine.testing import load_as


def equal_blocks(word: str) -> bool:
    blocks = [block for block in word.split("#") if block]
    return len(set(blocks)) < len(blocks)


@pytest.mark.parametrize(
    ("name", "definition"),
    [("anbn-logspace", lambda word: word == "a" * (len(word) // 2) + "b" * (len(word) // 2)),
     ("equal-blocks", equal_blocks)],
)  # fmt: skip
def test_every_short_word(name, definition) -> None:  # type: ignore[no-untyped-def]
    found = load_as(name, LogspaceMachine)
    for length in range(8):
        for word in product(found.alphabet, repeat=length):
            assert accepts(found, word) is definition("".join(word)), word


@pytest.mark.parametrize("count", [5, 16, 17, 40])
def test_longer_words(count: int) -> None:
    """Counters carry and borrow."""
    assert accepts(load_as("anbn-logspace", LogspaceMachine), "a" * count + "b" * count)
    assert not accepts(load_as("anbn-logspace", LogspaceMachine), "a" * count + "b" * (count + 1))
    assert accepts(load_as("equal-blocks", LogspaceMachine), f"{'1' * count}#1#{'1' * count}")
    assert not accepts(load_as("equal-blocks", LogspaceMachine), f"{'1' * count}#1#{'1' * (count + 1)}")


def test_configurations_are_reached_step_by_step() -> None:
    found = reachable_configurations(load_as("equal-blocks", LogspaceMachine), "1#1")
    assert [str(configuration) for configuration in found][:3] == ["begin@0,0:__", "seek@1,1:__", "first@1,1:__"]


def test_the_number_of_configurations_that_are_reached_is_at_most_that_of_all() -> None:
    found = load_as("equal-blocks", LogspaceMachine)
    for length in range(6):
        assert len(reachable_configurations(found, "1" * length)) <= found.count_configurations(length)


def test_a_nondeterministic_choice_is_any_of_several_rules() -> None:
    head = "machine m\ninput a b\nspace 1\nstart s\naccept yes\n\n"
    ends_in_a = parse(head + "s < < -> t < R S\nt * < -> t < R S\nt a < -> u < R S\nu > < -> yes < S S\n")
    assert accepts(ends_in_a, "bba")
    assert not accepts(ends_in_a, "ab")
