"""Domains by brute force: membership, enumeration and uniqueness against their definition."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product
from operator import contains

import pytest

from softmachine.ir.domain import Domain
from softmachine.testing import words

LETTERS = "abcd"


def random_domain(seed: int) -> Domain:
    """A domain over at most four letters."""
    rng = random.Random(seed)

    def some() -> frozenset[str]:
        return frozenset(letter for letter in LETTERS if rng.random() < 0.6)

    unique, unique_later = (tuple(some() for _ in range(rng.randrange(3))) for _ in range(2))
    if rng.random() < 0.3:
        fixed = Domain.of_positions(some() for _ in range(rng.randrange(5)))
        return replace(fixed, unique=unique, unique_later=unique_later)
    return Domain(some(), some(), unique, unique_later)


def is_member(domain: Domain, tokens: Sequence[str]) -> bool:
    """The definition of membership."""
    possible = set(tokens[:1]) <= domain.first and set(tokens[1:]) <= domain.later
    if domain.placed is not None:
        possible = len(tokens) == len(domain.placed) and all(map(contains, domain.placed, tokens))
    few = all(sum(token in unique for token in tokens) <= 1 for unique in domain.unique)
    return possible and few and all(sum(token in unique for token in tokens[1:]) <= 1 for unique in domain.unique_later)


@pytest.mark.parametrize("seed", range(60))
def test_sequences_are_those_of_the_definition(seed: int) -> None:
    domain = random_domain(seed)
    everything = words(LETTERS, 4)
    members = [tokens for tokens in everything if is_member(domain, tokens)]
    assert [tokens for tokens in everything if domain.find_violation(tokens) is None] == members
    assert [tokens for length in range(5) for tokens in domain.iterate_sequences(length)] == members


@pytest.mark.parametrize("seed", range(60))
def test_at_most_one_token_of_a_set_is_in_any_sequence(seed: int) -> None:
    domain = random_domain(seed)
    found = [tokens for length in range(5) for tokens in domain.iterate_sequences(length)]
    subsets = [frozenset(some) for size in range(5) for some in combinations(LETTERS, size)]
    for tokens, start in product(subsets, range(3)):
        most = max((sum(token in tokens for token in sequence[start:]) for sequence in found), default=0)
        assert most <= 1 or not domain.has_at_most_one(tokens, start), (domain, tokens, start)


def test_uniqueness_follows_from_a_set_of_unique_tokens_or_from_positions() -> None:
    domain = Domain(frozenset("st"), frozenset("abct"), unique=(frozenset("ab"),), unique_later=(frozenset("ct"),))
    unique = [{"s"}, {"a"}, {"a", "b"}, {"s", "x"}, {"c"}]
    assert [domain.has_at_most_one(tokens) for tokens in unique] == [True] * 5
    assert [domain.has_at_most_one(tokens) for tokens in ({"t"}, {"c", "t"}, {"a", "c"}, {"s", "a"})] == [False] * 4
    assert [domain.has_at_most_one(tokens, 1) for tokens in ({"t"}, {"c", "t"}, {"s", "a"}, {"s", "t"})] == [True] * 4
    assert not domain.has_at_most_one({"a", "c"}, 1)
    fixed = Domain.of_positions(["ab", "c", "c"])
    assert [fixed.has_at_most_one(tokens) for tokens in ({"a", "b"}, {"d"}, {"c"}, {"a", "c"})] == [True] * 2 + [
        False
    ] * 2
    assert [fixed.has_at_most_one({"a", "c"}, start) for start in range(4)] == [False, False, True, True]


def test_violations_have_a_position() -> None:
    domain = Domain(frozenset("s"), frozenset("ab"), unique=(frozenset("b"),))
    assert domain.find_violation("sab") is None
    assert domain.find_violation("asb") == "'a' is not possible at position 0"
    assert domain.find_violation("sas") == "'s' is not possible at position 2"
    assert domain.find_violation("sbab") == "'b' at position 3 excludes 'b' at position 1"
    fixed = Domain.of_positions(["ab", "c"])
    assert fixed.find_violation("a") == "the sequence ends 1 token too early"
    assert fixed.find_violation("acc") == "'c' is not possible at position 2"


def test_every_sequence_over_a_vocabulary() -> None:
    domain = Domain.all_sequences("ab")
    assert sorted(domain.iterate_sequences(3)) == sorted(product("ab", repeat=3))
    assert domain.tokens_at(0) == domain.tokens_at(7) == {"a", "b"}


def test_domains_are_described() -> None:
    domain = Domain(frozenset({"<s>"}), frozenset("ab"), (frozenset("b"),), (frozenset("a"),))
    assert str(domain) == "every sequence: first <s>; later a, b; at most one of b; after the first at most one of a"
    fixed = Domain.of_positions([*["01"] * 3, *["□"] * 5])
    assert str(fixed) == "every sequence of 8 positions: 0, 1 at 0 to 2; □ at 3 to 7"
    assert str(Domain.of_positions("ab" * 10)).endswith("b at 11; and 8 more")
    assert str(Domain.all_sequences("ab")) == "every sequence over a, b"
    assert len(str(Domain.all_sequences(map(str, range(10_000))))) < 300


def test_domains_are_plain_data() -> None:
    for domain in map(random_domain, range(20)):
        data = json.loads(json.dumps(domain.to_json()))
        sets = {name: [frozenset(each) for each in data[name]] for name in ("unique", "unique_later")}
        runs = data["placed"]
        placed = None if runs is None else tuple(frozenset(here) for here, count in runs for _ in range(count))
        unique, unique_later = tuple(sets["unique"]), tuple(sets["unique_later"])
        assert Domain(frozenset(data["first"]), frozenset(data["later"]), unique, unique_later, placed) == domain
