"""C-RASP in a transformer: the same tokens as the evaluator, for every way to take a sign, hard and soft."""

from __future__ import annotations

import random
from itertools import islice

import pytest

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.check import check_inputs
from softmachine.engines.dense.decoding import decode
from softmachine.engines.dense.engine import DenseEngine
from softmachine.ir import evaluate
from softmachine.languages.crasp import CraspProgram, desugar, parse
from softmachine.languages.crasp.interpreter import generate
from softmachine.support.errors import ConstructionError, InputError, NoNextTokenError, UsageError
from softmachine.testing import words as all_words
from softmachine.testing.crasp import random_program
from softmachine.theorems.counting.crasp.codec import STUCK_TOKEN, CraspCodec
from softmachine.transformer.attention import AttentionKind
from tests.models import signals_of

LENGTH = 100
Variant = tuple[str, str, int | None]
"""A theorem, the kind of attention, and the length if the weights depend on one."""
SOFT, HARD = ("crasp", "soft", None), ("crasp", "hard", None)
VARIANTS: list[Variant] = [
    SOFT,
    HARD,
    ("crasp-relu-max-length", "soft", LENGTH),
    ("crasp-relu", "soft", None),
    ("crasp-relu", "hard", None),
]
PARITY = """
    alphabet a b
    P := #[Q_a] - 2*#[Q_t]
    ACC <- P = 0
    REJ <- P = 1
    t <- P >= 2
"""
DYCK = """
    alphabet ( )
    accept #[ #[')'] > #['('] ] = 0 and #['('] = #[')']
"""
ENCODE = """
    alphabet a b
    A := #[Q_a or '$']
    B := #[Q_b or '$']
    '$' <- #['$'] = 0
    x <- #[Q_x] = 0 and #R[Q_a or '$'] = A and #R[true] = A
    l <- #[Q_x] = 0
    y <- #[Q_y] = 0 and #R[Q_b or '$'] = B and #R[true] = B
    l <- #[Q_y] = 0
    ACC <- true
"""


def compiled(program: CraspProgram, variant: Variant) -> Model:
    return sm.compile(program, variant[0], attention=variant[1], length=variant[2])


def nested(program: CraspProgram) -> bool:
    """Whether ReLU alone, without a length, is not enough."""
    try:
        signals_of(program, "crasp-relu")
    except ConstructionError as error:
        assert "cannot be counted" in str(error)  # noqa: PT017
        return True
    return False


def tokens_of(program: CraspProgram, word: tuple[str, ...], most: int) -> list[str]:
    """The chain of thought by the reference evaluator; a stuck run ends with the token for "stuck"."""
    found: list[str] = []
    try:
        found.extend(islice(generate(program, word), most))
    except NoNextTokenError:
        found.append(STUCK_TOKEN)
    return found


def right(program: CraspProgram, variant: Variant, words: list[tuple[str, ...]], most: int, arithmetic: str) -> None:
    model = compiled(program, variant)
    if not program.has_chain_of_thought:
        assert check_inputs(model, words, arithmetic=arithmetic).disagreements == ()
        return
    engine, codec = DenseEngine(model.weights, arithmetic), model.codec
    assert isinstance(codec, CraspCodec)
    for word in words:
        said = list(islice(decode(engine, codec.prompt(word), codec.is_stop_token), most))
        assert said == tokens_of(program, word, most), f"{program.name} on {word}"


def random_programs_are_right(seeds: range, *, longest: int, most: int) -> int:
    """Compare random programs on all words; how many were compared in all variants."""
    everywhere = 0
    for seed in seeds:
        program = random_program(seed, with_rules=seed % 3 != 0, depth=3)
        if program.relations:
            continue
        words = list(all_words(program.alphabet, longest))
        fitting = [variant for variant in VARIANTS if variant[0] != "crasp-relu" or not nested(program)]
        everywhere += len(fitting) == len(VARIANTS)
        for variant in fitting:
            right(program, variant, words, most, "float64")
        right(program, VARIANTS[seed % 3], words[:7], most, "exact")
    return everywhere


@pytest.mark.parametrize("block", range(4))
def test_random_programs_give_what_the_evaluator_gives(block: int) -> None:
    assert random_programs_are_right(range(10 * block, 10 * (block + 1)), longest=2, most=6) > 0


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_a_thousand_random_programs_give_what_the_evaluator_gives(block: int) -> None:
    assert random_programs_are_right(range(1000 + 50 * block, 1000 + 50 * (block + 1)), longest=5, most=20) > 0


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("arithmetic", ["exact", "float64", "float32"])
def test_parity_by_a_chain_of_thought(variant: Variant, arithmetic: str) -> None:
    program = parse(PARITY)
    words = list(all_words(program.alphabet, 4))
    right(program, variant, words, 20, arithmetic)
    for word in words:
        assert (tokens_of(program, word, 20)[-1] == "ACC") == (word.count("a") % 2 == 0)
    assert sm.run(compiled(program, variant), "aabaa", arithmetic=arithmetic).tokens == ("t", "t", "ACC")


@pytest.mark.parametrize("variant", VARIANTS[:3], ids=str)
def test_dyck_1_by_nested_counts(variant: Variant) -> None:
    program = parse(DYCK)
    right(program, variant, list(all_words(program.alphabet, 7)), 0, "float64")
    assert sm.run(compiled(program, variant), "(())()").accepted
    assert sm.run(compiled(program, variant), "").accepted
    assert not sm.run(compiled(program, variant), "())(").accepted


@pytest.mark.parametrize(
    ("word", "lengths", "total"), [("ab", (21, 38), 39), ("bb", (17, 23), 24), ("aba", (43, 74), 75)]
)
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_words_are_encoded_in_lengths_through_the_relative_relation(
    variant: Variant, word: str, lengths: tuple[int, ...], total: int
) -> None:
    run = sm.run(compiled(parse(ENCODE), variant), word)
    sequence = [*word, *run.tokens[:-1]]
    assert (sequence.index("x"), sequence.index("y")) == lengths
    assert len(sequence) == total


def test_counts_through_the_relation_compare_with_one_another() -> None:
    lines = ["alphabet a b", "accept 2*#R[Q_a] - #R[Q_b] + 1 > 0 or #R[Q_a or Q_b] = 2 or #R[true] < #R[Q_b] - 1"]
    program = parse("\n".join(lines))
    chooser = random.Random(0)
    words = [*all_words(program.alphabet, 5), *(tuple(chooser.choices("ab", k=k)) for k in (11, 22, 23, 46, 47, 95))]
    for variant in VARIANTS:
        right(program, variant, words, 0, "float64")
    right(program, HARD, words[:30], 0, "exact")


def test_promises_about_scores_hold() -> None:
    """The exact evaluator checks every gap and every kind."""
    for text in (PARITY, DYCK, ENCODE):
        program = parse(text)
        for variant in (HARD, ("crasp-relu-max-length", "hard", 40)):
            signals, _ = signals_of(program, *variant)
            for word in all_words(program.alphabet, 3):
                evaluate(signals.logits, [signals.vocabulary[0], *word, *program.tokens], len(word))


def test_no_position_features_and_uniform_attention_only() -> None:
    for seed in range(60):
        program = random_program(seed, with_rules=True)
        if program.relations:
            continue
        for variant in VARIANTS[:3]:
            model = compiled(program, variant).weights
            assert model.features == ()
            for head in model.heads:
                assert head.query.bias == ()
                assert head.bias is None
                assert head.weighting.kind is (AttentionKind.SOFTMAX if variant[1] == "soft" else AttentionKind.AVERAGE)


def test_all_comparisons_of_one_depth_share_a_head() -> None:
    assert len(compiled(parse(PARITY), SOFT).weights.heads) == 1
    assert len(compiled(parse(DYCK), SOFT).weights.heads) == 2
    sums = 3
    lines = [
        "alphabet a b c",
        "ACC <- #[Q_a] = #[Q_b] and #[Q_b] = #[Q_c]",
        "REJ <- #[Q_a] > #[Q_b]",
        "c <- #[Q_c] < 9",
    ]
    model = compiled(parse("\n".join(lines)), SOFT).weights
    assert len(model.heads) == 1
    assert len(model.heads[0].value.bias) == sums + 1
    assert len(model.layers) == 2


def test_what_cannot_be_counted_is_named() -> None:
    with pytest.raises(ConstructionError, match=r"#\['\)'\] - #\['\('\] > 0"):
        signals_of(parse(DYCK), "crasp-relu")
    mixed = parse("alphabet a\naccept 2*#R[Q_a] = #[Q_a]")
    with pytest.raises(ConstructionError, match="a single one with a single ordinary count"):
        signals_of(mixed, "crasp")


def test_a_run_that_gets_stuck_says_where() -> None:
    program = parse("alphabet a b\na <- #[Q_a] < 3\n")
    for variant in VARIANTS:
        with pytest.raises(NoNextTokenError, match="at position 4, after 'a'"):
            sm.run(compiled(program, variant), "ab")


def test_a_length_is_needed_and_kept_to() -> None:
    program = parse(PARITY)
    with pytest.raises(ConstructionError, match="--context 256"):
        sm.compile(program, "crasp-relu-max-length")
    model = sm.compile(program, "crasp-relu-max-length", length=5)
    assert model.context == 5
    with pytest.raises(InputError, match="takes 6 positions, but the weights are built for 5"):
        sm.run(model, "babab")
    assert sm.run(model, "aab").tokens == ("t", "ACC")
    with pytest.raises(UsageError, match="does not end within the 5 positions"):
        sm.run(model, "aaaa")


def test_rules_of_one_token_that_do_not_follow_each_other() -> None:
    lines = ["alphabet a", "a <- #[Q_a] = 1", "ACC <- #[Q_a] = 2", "a <- #[Q_a] = 0", "REJ <- #[Q_a] >= 2"]
    program = parse("\n".join(lines))
    assert desugar(program).rules[0][0] == desugar(program).rules[2][0]
    for variant in VARIANTS:
        right(program, variant, [("a",) * k for k in range(5)], 9, "exact")


def test_a_term_may_have_the_name_of_what_is_averaged_beside_it() -> None:
    """The first head also averages a bit of the start token; a term called start once took its place."""
    program = sm.compile(parse("alphabet a b\nstart := #[Q_a] - #[Q_b]\naccept start >= 1\n", name="start"))
    assert sm.check(program, up_to=5)
