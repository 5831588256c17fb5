"""Derived facts hold on every sequence of the domain: a checker that does not use the analysis finds none false.

:mod:`tests.ir.exact` computes all numbers from the definitions, :mod:`tests.ir.checker` compares facts with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import pytest

from softmachine.certify.certificate import analyse, certify
from softmachine.compiler import compile_program
from softmachine.ir import Program, Signal, attend, constant, evaluate, lift, loop, named, position, relu, stack, token
from softmachine.ir.analysis import Analysis
from softmachine.ir.domain import Domain
from softmachine.ir.facts import NO_STEP, Fact, Step
from softmachine.ir.head_rules import HeadFact
from softmachine.ir.primitives import Attention, ScoreDecay, Unit
from softmachine.ir.ranges import real
from softmachine.ir.signal import Atom
from softmachine.languages import zoo
from softmachine.support.errors import ConstructionError
from softmachine.transformer.attention import Mask, softmax_weighting
from softmachine.transformer.features import I_PLUS_ONE, N_PLUS_ONE, RECIPROCAL, Bit, Feature, I, N, Residue
from tests.cases import Case
from tests.certified.cases import cases
from tests.ir.checker import Checker, find_false_facts
from tests.ir.exact import Batch, IrrationalError
from tests.ir.scores import random_scores
from tests.ir.zoo import SMALL, Compiled, compile_case, small_model
from tests.seed_blocks import choose_blocks
from tests.sources.signal_programs import random_program, random_tokens

LENGTH = 7
"""n of the analyses."""
ONE = Fraction(1)
EVERY = Domain.all_sequences("abc")
_ANY = real(-(10**12), 10**12)


def numbers(name: str, *values: Fraction | int) -> Signal:
    """A number for each of the letters a, b, c."""
    return token(name, {letter: (value,) for letter, value in zip("abc", values, strict=True)})


def program_of(logits: Signal, positions: int | None = None) -> Program:
    """A program over the letters a, b, c."""
    return Program("facts", tuple("abc"), tuple(f"y{k}" for k in range(len(logits))), logits, position_count=positions)


def analysis_of(program: Program, domain: Domain, length: int) -> Analysis:
    """The facts about the lifted weights of a program, without hints."""
    lifted = lift(compile_program(program), position_count=program.position_count)
    analysis = Analysis(lifted, domain, length)
    analysis.follow(lifted.logits.forms)
    return analysis


# The checker.


@pytest.mark.parametrize("seed", range(30))
def test_exact_values_are_those_of_the_interpreter(seed: int) -> None:
    program = random_program(seed) if seed % 2 else random_scores(seed)[0]
    if program.position_count is not None:
        return
    for size in (1, 2, 5):
        sequences = [random_tokens(seed + k, size) for k in range(4)]
        batch = Batch(sequences, size - 1, lambda *_: None)
        rows = [column.fractions() for column in batch.run(program)]
        found = [list(zip(*(row[k : k + size] for row in rows), strict=True)) for k in range(0, 4 * size, size)]
        assert found == [evaluate(program.logits, tokens, size - 1) for tokens in sequences]


def claims(fact: Fact) -> list[str]:
    """What the checker finds false if a fact is claimed of a mean of 0, 2, 3 for the letters.

    Its values are multiples of 1/(i+1) from 0 to 3.
    """
    mean = attend("mean", value=numbers("x", 0, 2, 3))
    ((node, _),) = mean.forms[0].terms
    checker = Checker(program_of(mean), {(node, 0): fact})
    for size in range(1, 4):
        checker.check(list(product("abc", repeat=size)))
    return checker.false


@pytest.mark.parametrize(
    "fact",
    [
        Fact(Fraction(0), Fraction(3), Step(ONE, next=1), Step(ONE, next=1)),
        Fact(Fraction(-1), Fraction(4), Step(ONE / 6), Step(ONE / 6)),
        Fact(Fraction(0), Fraction(3), Step(ONE / 2, length=1, next=1)),
    ],
)
def test_true_facts_are_confirmed(fact: Fact) -> None:
    assert claims(fact) == []


@pytest.mark.parametrize(
    "fact",
    [
        Fact(Fraction(1, 4), Fraction(3)),
        Fact(Fraction(0), Fraction(11, 4)),
        Fact(Fraction(0), Fraction(3), Step(ONE)),
        Fact(Fraction(0), Fraction(3), Step(2 * ONE, next=1)),
        Fact(Fraction(0), Fraction(3), Step(ONE, rest=1)),
        Fact(Fraction(0), Fraction(3), NO_STEP),
        Fact(Fraction(0), Fraction(3), None, Step(2 * ONE, next=1)),
        Fact(Fraction(0), Fraction(3), None, Step(ONE / 3)),
        Fact(Fraction(0), Fraction(3), None, NO_STEP),
        Fact(Fraction(0), Fraction(3), values=(Fraction(0), Fraction(3))),
        Fact(Fraction(0), Fraction(3), exact=Step(ONE, next=1)),
    ],
)
def test_false_facts_are_found(fact: Fact) -> None:
    assert claims(fact)


def claims_of_head(fact: HeadFact, *, by_position: bool = False, values: Sequence[int] = (0, 1, 2)) -> list[str]:
    """What the checker finds false if a fact is claimed of a head whose scores are 0, 1, 3 for the letters.

    With ``by_position``, the scores are -j² for the key j.
    """
    key = position(I * I) * -1 if by_position else numbers("key", 0, 1, 3)
    head = attend("head", query=constant(1), key=key, value=numbers("value", *values))
    ((node, _),) = head.forms[0].terms
    assert isinstance(node, Attention)
    checker = Checker(program_of(head), {}, {node: fact})
    for size in range(1, 5):
        checker.check(list(product("abc", repeat=size)))
    return checker.false


def test_facts_about_heads_are_confirmed_or_found_false() -> None:
    linear, quadratic = ScoreDecay.LINEAR, ScoreDecay.QUADRATIC
    assert claims_of_head(HeadFact("grid", ONE, single_key=True)) == []
    assert claims_of_head(HeadFact("grid", ONE / 2, single_key=True, decay=linear), values=(5, 5, 5)) != []
    assert claims_of_head(HeadFact("grid", RECIPROCAL)) == []
    assert claims_of_head(HeadFact("grid", ONE, decay=quadratic, unique=True, single_key=True), by_position=True) == []
    assert claims_of_head(HeadFact("grid", ONE, decay=linear, unique=True), by_position=True) == []
    assert claims_of_head(HeadFact("grid", 2 * ONE))
    assert claims_of_head(HeadFact("grid", N_PLUS_ONE))
    assert claims_of_head(HeadFact("grid", ONE, unique=True))
    assert claims_of_head(HeadFact("uniform"))
    assert claims_of_head(HeadFact("grid", 2 * ONE, decay=quadratic), by_position=True)
    assert claims_of_head(HeadFact("grid", ONE, decay=quadratic))


def test_ties_with_different_values_are_found() -> None:
    head = attend("head", query=constant(1), key=numbers("key", 0, 1, 1), value=numbers("value", 0, 1, 2))
    ((node, _),) = head.forms[0].terms
    assert isinstance(node, Attention)
    sequences = list(product("abc", repeat=3))
    integer: dict[Atom, Fact] = {(node, 0): Fact(Fraction(0), Fraction(2), Step(ONE))}
    none: dict[Atom, Fact] = {}
    for fact, atoms in ((HeadFact("grid", ONE, single_key=True), none), (HeadFact("grid", ONE), integer)):
        checker = Checker(program_of(head), atoms, {node: fact})
        checker.check(sequences)
        assert checker.false
    share = Fact(Fraction(0), Fraction(2), Step(ONE, counts=frozenset([node])))
    checker = Checker(program_of(head), {(node, 0): share}, {node: HeadFact("grid", ONE)})
    checker.check(sequences)
    assert checker.false == []


def test_facts_are_checked_where_their_assumptions_hold() -> None:
    """With keys that tie and hold different values, the retrieved number is no integer."""
    head = attend("head", query=constant(1), key=numbers("key", 0, 1, 1), value=numbers("value", 0, 1, 2))
    ((node, _),) = head.forms[0].terms
    assert isinstance(node, Attention)
    integer: dict[Atom, Fact] = {(node, 0): Fact(Fraction(0), Fraction(2), Step(ONE))}
    assumed = HeadFact("grid", ONE, single_key=True, assumptions=("single key",))
    low: dict[Atom, Fact] = {(node, 0): Fact(Fraction(1), Fraction(2))}
    for atoms, holds in ((integer, True), (low, False)):
        checker = Checker(program_of(head), atoms, {node: assumed})
        checker.check(list(product("abc", repeat=3)))
        assert (checker.false == []) is holds


# The zoo.


def false_facts(compiled: Compiled, longest: int, most: int, words: int) -> list[str]:
    """The facts that are false of a model, with hints and without."""
    found = []
    broken = compiled.without_ties()
    for hints in ({}, broken.hints):
        analysis = analyse(broken.weights, hints, broken.program, LENGTH, broken.domain)
        read = broken.sequences(words, positions=LENGTH + 1)
        if analysis.program.position_count is not None:
            read = read[: max(1, words // 50)]
        found += find_false_facts(analysis, range(1, longest + 1), most, read)
    return found


HARD = [case for case in SMALL if case.attention == "hard"]
LARGE = (
    *("circuit-evaluator-threshold", "turing-configuration-graph", "odd-walks", "connectivity", "circuit-and-or-not"),
    *("uniform-circuits", "turing-ternary", "turing-ternary-summary", "turing-residue-address"),
)
"""Theorems of which a sequence has about a hundred positions, or a model hundreds of nodes."""


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.slow] * (case.theorem in LARGE)) for case in HARD], ids=str
)
def test_no_fact_about_a_model_is_false(case: Case) -> None:
    try:
        assert false_facts(small_model(case), 3, 20, 12) == []
    except IrrationalError:
        assert small_model(case).weights.first_group_normalised_unit is not None


@pytest.mark.slow
@pytest.mark.parametrize("entry", zoo.names())
def test_no_fact_about_an_entry_of_the_zoo_is_false(entry: str) -> None:
    false = {}
    for case in cases():
        compiled = compile_case(case) if case.entry == entry and case.attention == "hard" else None
        if compiled is None or (compiled.program.position_count or 0) > 400:
            continue
        try:
            false[str(case)] = false_facts(compiled, 6, 100, 100)
        except IrrationalError:
            assert compiled.weights.first_group_normalised_unit is not None
    assert {case: found for case, found in false.items() if found} == {}


# Programs near the conditions of rules.


def false_facts_of_scores(seed: int, longest: int, most: int) -> list[str]:
    """The facts that are false of a random program; of one with padding, n is any number below that of positions."""
    program, domain = random_scores(seed)
    fixed = program.position_count
    try:
        lifted = lift(compile_program(program), position_count=fixed)
        analysis = Analysis(lifted, domain, LENGTH if fixed is None else seed % fixed)
        analysis.follow(lifted.logits.forms)
        return find_false_facts(analysis, range(1, longest + 1), most, seed=seed)
    except ConstructionError as error:
        assert "has no value" in str(error)  # noqa: PT017  (1/(n-i+1) beyond position n)
        return []


@pytest.mark.parametrize("block", range(10))
def test_no_fact_about_random_scores_is_false(block: int) -> None:
    assert {
        seed: found for seed in range(8 * block, 8 * block + 8) if (found := false_facts_of_scores(seed, 3, 40))
    } == {}


@pytest.mark.slow
@pytest.mark.parametrize("block", choose_blocks(40, 10))
def test_no_fact_about_many_random_scores_is_false(block: int) -> None:
    seeds = range(1000 + 100 * block, 1100 + 100 * block)
    assert {seed: found for seed in seeds if (found := false_facts_of_scores(seed, 6, 400))} == {}


# Facts that were false.


def assert_no_false_fact(program: Program, length: int, domain: Domain = EVERY, longest: int = 5) -> Analysis:
    """Assert that no fact about a program is false on any short sequence, and return the facts."""
    analysis = analysis_of(program, domain, length)
    assert find_false_facts(analysis, range(1, longest + 1), 3**6) == []
    return analysis


@pytest.mark.parametrize("n", [0, 1, 5])
def test_padding_allows_more_positions_than_n(n: int) -> None:
    """The share of tied keys is at least 1/6, the number of positions, not 1/(n+1)."""
    tied = attend("tied", query=constant(1), key=numbers("key", 0, 1, 1), value=numbers("bit", 0, 0, 1), mask=Mask.ALL)
    head = attend("head", query=named("m", tied), key=numbers("number", 0, 1, 2), value=position(I), mask=Mask.ALL)
    analysis = assert_no_false_fact(program_of(head, positions=6), n)
    assert [fact.gap for fact in analysis.heads.values()] == [ONE, ONE / 6]


@pytest.mark.parametrize("feature", [I * N_PLUS_ONE**-1, N, I * I * N_PLUS_ONE**-1])
def test_padding_does_not_fix_n(feature: Feature) -> None:
    """Facts hold for every n up to the length: here n is 5, and on the sequences less."""
    head = attend("head", query=constant(1), key=position(feature), value=position(feature), mask=Mask.ALL)
    checker = Checker.of(analysis_of(program_of(head, positions=6), EVERY, 5))
    for n in range(6):
        checker.check([tuple("abcabc"), tuple("bbbccc")], n)
    assert checker.false == []


def test_the_margin_of_a_padded_program_is_that_of_all_positions() -> None:
    """The logits differ by 0 or at least 1/6, whatever n is."""
    tied = attend("tied", query=constant(1), key=numbers("key", 0, 1, 1), value=numbers("bit", 0, 0, 1), mask=Mask.ALL)
    certificate = certify(program_of(stack(tied, constant(0)), positions=6), 1)
    (row,) = certificate.rows
    assert certificate.margin + 2 * row.error_out <= 1 / 6


def test_a_gap_that_grows_is_that_of_the_first_position() -> None:
    """With 48 positions, the scores at position i differ by 0 or i+1."""
    bit = numbers("bit", 0, 1, 1)
    head = attend("head", query=position(I_PLUS_ONE), key=bit, value=bit, mask=Mask.ALL)
    analysis = analysis_of(program_of(head, positions=48), EVERY, 5)
    assert [fact.gap for fact in analysis.heads.values()] == [ONE]
    assert find_false_facts(analysis, (), 10) == []


def test_the_number_of_ties_differs_from_iteration_to_iteration() -> None:
    """The sum of a mean of this iteration and of the one before is no multiple of the share of this iteration."""

    def body(carried: Signal) -> Signal:
        tied = attend("tied", query=carried[1], key=numbers("key", 0, 1, 1), value=numbers("bit", 0, 0, 1))
        both = attend("both", query=carried[0] + tied, key=numbers("number", 0, -1, 3), value=position(I))
        return stack(tied, 1 - carried[1], both).with_range(_ANY)

    initial = stack(constant(0), constant(0), constant(0)).with_range(_ANY)
    assert_no_false_fact(program_of(loop("loop", iterations=2, initial=initial, body=body)), 5)


@pytest.mark.parametrize("key", [numbers("bit", 0, 1, 1), position(Bit(0))])
def test_softmax_does_not_retrieve_one_of_the_values(key: Signal) -> None:
    """Between scores of 0 and 1, the weights are 1/(1+e) and e/(1+e)."""
    head = attend("head", query=constant(1), key=key, value=key, weighting=softmax_weighting())
    analysis = analysis_of(program_of(relu("unit", head)), EVERY, 5)
    ((_, fact),) = [(node, fact) for (node, _), fact in analysis.facts.items() if isinstance(node, Attention)]
    assert (fact.low, fact.high) == (Fraction(0), ONE)
    assert fact.values is None
    assert fact.step is None
    assert all(fact.values is None for (node, _), fact in analysis.facts.items() if isinstance(node, Unit))


def test_position_0_is_no_key_where_it_is_apart() -> None:
    """The keys at positions 1 and 2 tie, and their bits differ; position 0 would win but for its token."""
    domain = Domain(frozenset({"<s>"}), frozenset("ab"))
    bit = token("bit", {"<s>": (0,), "b": (1,), "a": (0,)})
    index = stack(position(I), position(I * I))
    own = attend("own", query=stack(position(I) * 2, constant(-1)), key=index, value=bit)
    first = token("first", {"<s>": (100,), "a": (0,)})
    key = position(Residue(50, 0)) * 10 + position(Bit(0)) - own - first
    head = attend("head", query=constant(1), key=key, value=own)
    assert_no_false_fact(Program("facts", ("<s>", "a", "b"), ("y",), head), 6, domain)


# Facts that were not found.


@pytest.mark.parametrize("mask", [Mask.CAUSAL, Mask.PAST])
@pytest.mark.parametrize("weight", [ONE, 3 * ONE, -ONE / 2])
def test_a_multiple_of_a_share_is_divided_by(weight: Fraction, mask: Mask) -> None:
    """The start token and every b tie; the lookup of position 1 has the scores (2j - j²)/c."""
    domain = Domain(frozenset({"<s>"}), frozenset("ab"))
    start = token("start", {"<s>": (weight,), "a": (0,), "b": (0,)})
    key = token("key", {"<s>": (1,), "a": (0,), "b": (1,)})
    share = attend("share", query=constant(1), key=key, value=start, mask=mask)
    share = (share + start if mask is Mask.PAST else share).with_range(_ANY) * (1 / weight)
    index = stack(position(I), position(I * I))
    head = attend("lookup", query=stack(share * 2, -share), key=index, value=position(I))
    analysis = assert_no_false_fact(Program("facts", ("<s>", "a", "b"), ("y",), head), 6, domain)
    assert {node.name: fact.rule for node, fact in analysis.heads.items()}["lookup"] == "lookup"


def test_a_step_with_counts_prints_names_only() -> None:
    """Each head reads the one before in query and key, so that as a whole they would take 4^40 lines."""
    mean = numbers("x", 0, 2, 3)
    for k in range(40):
        mean = attend(f"h{k}", query=mean, key=mean, value=mean)
    ((node, _),) = mean.forms[0].terms
    assert repr(Step(ONE, counts=frozenset([node]))) == "Step(1, next=0, length=0, rest=0, counts=['h39'])"
