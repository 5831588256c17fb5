"""One small program of each kind that is to come: it takes a few lines, compiles, and agrees with its definition."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache

import networkx as nx
import pytest

from softmachine.compiler import compile_program
from softmachine.ir import Signal, Vocabulary, loop, position, recogniser, stack, step
from softmachine.ir.gadgets import all_of, any_of, exists, fetch, fetch_latest, mean
from softmachine.ir.ranges import BIT
from softmachine.testing import assert_computes_signals, strings
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import Bit, Logarithm
from softmachine.transformer.table_features import TableFeature
from tests.sources.oracle import LETTERS, START, letter, truths

# Temporal logic: since


def since(p: Signal, q: Signal) -> Signal:
    """The latest j ≤ i with ¬p or q decides: true iff q there."""
    decider = any_of("¬p ∨ q", ~p, q)
    return fetch_latest("since", q, where=decider)


@pytest.mark.parametrize("length", range(6))
def test_since_holds_where_its_definition_does(length: int) -> None:
    p, q = letter("a"), letter("b")
    for word in strings("ab", length, length):
        found = truths(since(p, q), [START, *word])
        for i in range(1, length + 1):
            expected = any(
                word[j - 1] == "b" and all(word[k - 1] == "a" for k in range(j + 1, i + 1)) for j in range(1, i + 1)
            )
            assert found[i] == expected, (word, i)


# Counting without positions: a comparison of two counts


def at_least_zero(counts: list[tuple[int, Signal]]) -> Signal:
    """Σ c_k #[φ_k] ≥ 0 from one uniform head: the mean has the sign of the sum."""
    weighted = stack(*(factor * phi for factor, phi in counts)).total
    return step("comparison", mean("counts", weighted))


def test_a_comparison_of_two_counts_needs_no_position_feature_and_one_layer() -> None:
    more_a = at_least_zero([(1, letter("a")), (-1, letter("b"))])
    transformer = compile_program(recogniser("majority", LETTERS.tokens, more_a))
    assert transformer.features == ()
    assert len(transformer.layers) == 1
    for length in range(7):
        for word in strings("ab", length, length):
            found = truths(more_a, [START, *word])
            assert found == [word[:i].count("a") >= word[:i].count("b") for i in range(length + 1)]


# Circuits in padding: gates by detection, wired by tables


def wiring(name: str, of: dict[int, int]) -> Signal:
    return position(TableFeature(name, tuple(Fraction(of.get(i, 0)) for i in range(max(of) + 1))))


def address(name: str, of: dict[int, int], bits: int) -> Signal:
    """The ±1 bits of a number that each position is wired to; zeros where there is none."""
    return stack(*(wiring(f"{name}, bit {k}", {i: 2 * (x >> k & 1) - 1 for i, x in of.items()}) for k in range(bits)))


def test_an_and_gate_over_padding_tokens_detects_a_zero_among_its_arguments() -> None:
    """Inputs x1..xn, one argument token for each of them, which fetches it, and the gate: no argument is 0."""
    n, bits = 3, 3
    tokens = Vocabulary({START: 0, "0": 0, "1": 1, "pad": 0})
    value = tokens.bit("value", lambda meaning: meaning == 1)
    arguments, gate = range(n + 1, 2 * n + 1), 2 * n + 1
    own = address("own", {i: i for i in range(n + 1)}, bits)
    source = address("source", {i: i - n if i in arguments else 0 for i in range(gate + 1)}, bits)
    is_argument = wiring("is argument", dict.fromkeys(arguments, 1)).with_range(BIT)

    fetched = fetch("argument", source, own, value, mask=Mask.ALL)
    some_zero = exists("a zero", all_of("argument is 0", is_argument, ~fetched), mask=Mask.ALL)
    for word in itertools.product("01", repeat=n):
        found = truths(~some_zero, [START, *word, *["pad"] * (n + 1)], n, tokens.tokens)
        assert found[gate] == all(bit == "1" for bit in word)


# Ternary registers: a fetch by ±1 address bits


def test_a_fetch_by_address_bits_finds_the_position_with_that_number() -> None:
    r = 3
    here = stack(*(position(Bit(k, signed=True)) for k in range(r)))
    tokens = Vocabulary({str(k): k for k in range(8)})

    def wanted_bit(k: int) -> Signal:
        return tokens.number(f"wanted {k}", lambda number: 2 * (number >> k & 1) - 1)

    wanted = stack(*(wanted_bit(k) for k in range(r)))
    odd = tokens.bit("odd", lambda meaning: meaning % 2 == 1)
    found = fetch("by bits", wanted, here, odd, mask=Mask.ALL)
    sequence = [str(k) for k in (7, 3, 0, 2, 6, 5, 1, 4)]
    assert truths(found, sequence, None, tokens.tokens) == [int(sequence[int(token)]) % 2 == 1 for token in sequence]


# Looped transformers: reachability by doubling


@cache
def reachability(vertices: int) -> tuple[Signal, Vocabulary[int], int]:
    """Pairs (i, j) hold whether j is reachable from i; pads (i, k, j) combine (i, k) and (k, j); ⌈log₂ n⌉ times."""
    bits = max(1, (vertices - 1).bit_length())
    n = vertices * vertices
    pairs = dict(enumerate(itertools.product(range(vertices), repeat=2), 1))
    pads = dict(enumerate(itertools.product(range(vertices), repeat=3), n + 1))
    nowhere = dict.fromkeys(range(n + vertices**3 + 1), 0)

    def field(name: str, of: dict[int, int]) -> Signal:
        return address(name, of, bits)

    def wanted(name: str, of: dict[int, int]) -> Signal:
        return field(name, nowhere | of)

    own_i, own_j = ({p: pair[k] for p, pair in pairs.items()} for k in range(2))
    pad_i, pad_k, pad_j = ({p: triple[k] for p, triple in pads.items()} for k in range(3))
    tokens = Vocabulary({START: 0, "0": 0, "1": 1, "pad": 0})
    edge = tokens.bit("edge", lambda meaning: meaning == 1)
    is_pad, is_pair = (
        wiring(f"is {w}", dict.fromkeys(o, 1)).with_range(BIT) for w, o in (("pad", pads), ("pair", pairs))
    )

    def double(reach: Signal) -> Signal:
        own = stack(field("i", own_i), field("j", own_j))
        first = fetch("first half", stack(wanted("i'", pad_i), wanted("k'", pad_k)), own, reach, mask=Mask.ALL)
        second = fetch("second half", stack(wanted("k'", pad_k), wanted("j'", pad_j)), own, reach, mask=Mask.ALL)
        both = all_of("both halves", first, second, is_pad)
        ends = stack(field("end i", pad_i), field("end j", pad_j))
        ours = stack(wanted("i?", own_i), wanted("j?", own_j))
        through = all_of("through", exists("some middle", both, match=(ours, ends), mask=Mask.ALL), is_pair)
        return any_of("reachable", through, reach)

    return loop("doubling", iterations=Logarithm(of_length=True), initial=edge, body=double), tokens, n


@pytest.mark.parametrize(
    "edges", [[], [(0, 1)], [(0, 1), (1, 2)], [(2, 1), (1, 0)], [(0, 1), (1, 2), (2, 0)], [(1, 1), (0, 2)]]
)
def test_looped_doubling_finds_what_is_reachable(edges: list[tuple[int, int]]) -> None:
    vertices = 3
    reach, tokens, n = reachability(vertices)
    graph = nx.DiGraph(edges)
    graph.add_nodes_from(range(vertices))
    # Doubling is reflexive: a vertex reaches itself.
    pairs = list(itertools.product(range(vertices), repeat=2))
    word = ["1" if pair in edges or pair[0] == pair[1] else "0" for pair in pairs]
    found = truths(reach, [START, *word, *["pad"] * vertices**3], n, tokens.tokens)
    for position_of, (i, j) in enumerate(pairs, 1):
        assert found[position_of] == nx.has_path(graph, i, j), (i, j)


def test_a_loop_that_runs_no_time_leaves_its_start() -> None:
    carried = loop("nothing", iterations=0, initial=letter("a"), body=lambda bit: ~bit)
    assert truths(carried, [START, "a", "b"]) == [False, True, False]


@pytest.mark.parametrize("times", [1, 2, 5])
def test_a_loop_negates_as_often_as_it_runs(times: int) -> None:
    carried = loop("negate", iterations=times, initial=letter("a"), body=lambda bit: ~bit)
    assert truths(carried, [START, "a", "b"]) == [times % 2 == 1, times % 2 == 0, times % 2 == 1]


def test_a_loop_may_start_from_what_another_loop_left() -> None:
    first = loop("first", iterations=3, initial=letter("a"), body=lambda bit: ~bit)
    second = loop("second", iterations=2, initial=any_of("a or b", ~first, letter("b")), body=lambda bit: ~bit)
    third = loop("third", iterations=1, initial=first, body=lambda bit: all_of("and", bit, letter("b")))
    assert truths(second, [START, "a", "b"]) == [False, True, True]
    assert truths(third, [START, "a", "b"]) == [False, False, True]


def test_a_loop_may_name_things_and_use_what_is_outside() -> None:
    def body(bit: Signal) -> Signal:
        seen = exists("seen", any_of("bit or b", bit, letter("b")))
        return all_of("kept", seen, ~letter("a"))

    carried = loop("mix", iterations=3, initial=letter("a"), body=body)
    program = recogniser("mix", LETTERS.tokens, carried)
    for word in strings("ab", 4, 4):
        assert_computes_signals(program, [START, *word])
