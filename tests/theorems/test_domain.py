"""The domains that codecs declare, against their prompts and runs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations, islice

import pytest

import softmachine as sm
from softmachine.inspection.contexts import Contexts
from softmachine.ir.domain import Domain
from softmachine.languages import zoo
from softmachine.languages.graph import Graph
from softmachine.languages.predicate import FormalLanguage
from softmachine.languages.source import Source
from softmachine.languages.turing import TuringMachine
from softmachine.support.errors import ConstructionError, ContextTooShortError, InputError
from softmachine.testing import load_as
from softmachine.testing.turing import random_turing_machine
from softmachine.theorems import applicable_theorems, find_theorem
from softmachine.theorems.codec import Codec, DecoderCodec, Prompt, SegmentedCodec, Word
from softmachine.theorems.shared.recogniser_codec import RecogniserCodec
from softmachine.theorems.theorem import Theorem
from tests.cases import CASES, Case
from tests.digests.cases import CONTEXTS, FEW_LETTERS, LENGTHS_OF_WORDS
from tests.models import signals_of

COUNTING = ("turing-counter", "turing-counter-relative-bias")
"""Theorems whose codecs take a second to build."""
LENGTHS = {**dict.fromkeys(FEW_LETTERS, LENGTHS_OF_WORDS), "turing-configuration-graph": (2, 4)}
"""Lengths that weights are built for, if they depend on one and not on the two usual lengths."""
MAX_STEPS = 60
MAX_WORDS = 100
"""Words of one length that are tried at most."""
MAX_TOKENS = 20_000
"""Tokens of all sequences of a codec that are compared at most."""
MACHINES = [entry.name for entry in zoo.list_entries() if entry.file.startswith("turing/")]
LOOSE = (*COUNTING, "turing-average-hard-summary", "turing-ternary-summary", "turing-residue-address")
"""Theorems with tokens that occur in long runs only, or that no run needs."""
ONE_PER_THEOREM = {case.theorem: case for case in reversed(CASES)}.values()
GRAPHS = ("connectivity", "odd-walks")


def words_of(codec: Codec[Source], up_to: int = 3) -> Iterator[tuple[str, ...]]:
    """Random words up to length 12, and all words up to a length; of one length if all inputs have the same."""
    only, rng = codec.input_length, random.Random(0)
    for _ in range(30):
        yield codec.random_word(rng, rng.randint(0, 12) if only is None else only)
    for length in range(up_to + 1) if only is None else (only,):
        yield from islice(codec.words(length), MAX_WORDS)


def sequences_of(codec: Codec[Source], word: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """What a model reads: prompts, and the tokens that it emits except the last one of each segment."""
    if isinstance(codec, SegmentedCodec):
        for prompt, output in codec.expected_segments(word, MAX_STEPS):
            yield (*prompt.tokens, *output[:-1])
    elif isinstance(codec, DecoderCodec):
        yield (*codec.prompt(word).tokens, *map(str, list(codec.expected(word, MAX_STEPS))[:-1]))
    else:
        yield codec.prompt(word).tokens


def sequences(codec: Codec[Source], up_to: int = 3) -> Iterator[tuple[str, ...]]:
    """The sequences of many words; those that the codec refuses are left out."""
    total = 0
    for word in words_of(codec, up_to):
        try:
            for tokens in sequences_of(codec, word):
                total += len(tokens)
                yield tokens
        except (InputError, ContextTooShortError):
            continue
        if total > MAX_TOKENS:
            return


def codecs(source: Source, theorem: Theorem) -> Iterator[Codec[Source]]:
    """The codecs of a source, for several lengths if the weights depend on one; none if it is refused."""
    for length in LENGTHS.get(theorem.name, CONTEXTS) if theorem.length else (None,):
        try:
            codec = theorem.build_codec(source, length)
            codec.domain(())
        except ContextTooShortError as reason:
            if reason.context is not None and theorem.name not in LENGTHS:
                yield theorem.build_codec(source, reason.context)
        except (ConstructionError, InputError):
            continue
        else:
            yield codec


def count_sequences(source: Source, theorem: Theorem) -> int:
    """Assert that prompts and runs are in the domain of every codec of a source, and return their number."""
    count = 0
    for codec in codecs(source, theorem):
        domain = codec.domain(())
        for tokens in sequences(codec):
            assert domain.find_violation(tokens) is None, (theorem.name, tokens)
            count += 1
    return count


def load(name: str) -> Source:
    source = sm.load(name)
    assert isinstance(source, Source)
    return source


@pytest.mark.parametrize("name", zoo.names())
def test_prompts_and_runs_are_in_the_domain(name: str) -> None:
    source = load(name)
    theorems = [theorem for theorem in applicable_theorems(source) if theorem.name not in COUNTING]
    counts = {theorem.name: count_sequences(source, theorem) for theorem in theorems}
    assert counts[theorems[0].name] > 0, counts


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name == "power-of-two" else pytest.mark.slow) for name in MACHINES],
)
def test_runs_of_counting_machines_are_in_the_domain(name: str) -> None:
    machine = load_as(name, TuringMachine)
    counts = [count_sequences(machine, find_theorem(machine, theorem)) for theorem in COUNTING]
    is_refused = machine.tapes > 1 or name == "turing-1936"  # whose C-RASP program is too large
    assert [count > 0 for count in counts] == [not is_refused] * 2


@pytest.mark.parametrize("seed", range(12))
def test_runs_of_random_machines_are_in_the_domain(seed: int) -> None:
    machine = random_turing_machine(seed)
    theorems = [theorem for theorem in applicable_theorems(machine) if theorem.name not in COUNTING]
    assert sum(count_sequences(machine, theorem) for theorem in theorems) > 100


@pytest.mark.parametrize("case", [case for case in CASES if case.theorem not in (*LOOSE, *GRAPHS)], ids=str)
def test_every_token_of_a_domain_occurs(case: Case) -> None:
    source = load(case.source)
    codec = find_theorem(source, case.theorem).build_codec(source, case.length)
    domain, found = codec.domain(()), list(sequences(codec, up_to=5))
    assert {tokens[0] for tokens in found} == domain.first
    assert {token for tokens in found for token in tokens[1:]} == domain.later
    if domain.placed is not None:
        assert tuple(map(frozenset, zip(*found, strict=True))) == domain.placed


def test_summaries_reach_both_kinds_of_prompts_and_all_unique_tokens() -> None:
    machine = load("binary-counter")
    for name in ("turing-average-hard-summary", "turing-ternary-summary"):
        codec = find_theorem(machine, name).build_codec(machine, 64)
        domain, found = codec.domain(()), list(sequences(codec))
        assert {tokens[0] for tokens in found} == domain.first == {"INP", "SUMM"}
        read = {token for tokens in found for token in tokens}
        assert all(unique & read for unique in (*domain.unique, *domain.unique_later))
        assert any(tokens.count("SUMM") == 2 for tokens in found)  # so that it is unique after position 0 only
        assert domain.has_at_most_one({"SUMM"}, 1)
        assert not domain.has_at_most_one({"SUMM"})


@pytest.mark.parametrize("theorem", GRAPHS)
def test_domains_of_graphs_contain_all_graphs_of_a_size(theorem: str) -> None:
    names = ("u", "v", "w")
    pairs = [(one, other) for one in names for other in names]
    graphs = [Graph(name="g", vertices=names, edges=tuple(edges)) for edges in combinations(pairs, 3)]
    built = [find_theorem(graph, theorem).build_codec(graph, None) for graph in graphs]
    (domain,) = {codec.domain(()) for codec in built}
    prompts = [codec.prompt(("u", "v")).tokens for codec in built]
    assert tuple(map(frozenset, zip(*prompts, strict=True))) == domain.placed


@pytest.mark.parametrize("case", [case for case in CASES if case.theorem not in COUNTING], ids=str)
def test_domains_are_over_the_vocabulary(case: Case) -> None:
    program, codec = signals_of(load(case.source), case.theorem, case.attention, case.length)
    domain = codec.domain(program.vocabulary)
    assert domain.first | domain.later <= set(program.vocabulary)
    assert domain.placed is None or len(domain.placed) == program.position_count


@pytest.mark.parametrize("case", [case for case in ONE_PER_THEOREM if case.theorem not in COUNTING], ids=str)
def test_a_model_reads_sequences_of_the_domain(case: Case) -> None:
    model = case.model
    domain = model.codec.domain(model.weights.vocabulary)
    for word, _ in case.examples:
        contexts = Contexts(sm.run(model, word))
        position = 0
        while position < len(contexts):
            context = contexts.context_at(position)
            read = contexts.tokens_of(context)
            assert domain.find_violation(read) is None
            position = context.start + len(read)


def test_recognisers_of_plugins_have_a_domain() -> None:
    for letters, start in (("ab", "<s>"), (("a", "<s>"), "<<s>>")):
        codec = RecogniserCodec(FormalLanguage("even", tuple(letters), lambda word: len(word) % 2 == 0))
        assert codec.domain(codec.tokens) == Domain(frozenset({start}), frozenset(letters))


class Reversed(RecogniserCodec):
    """A codec that declares nothing: it has no start token."""

    domain = Codec.domain

    def prompt(self, word: Word) -> Prompt:
        return Prompt(self.source.word(word)[::-1])


def test_a_codec_that_declares_nothing_reads_every_sequence() -> None:
    codec = Reversed(FormalLanguage("any", ("a", "b"), lambda word: True))
    assert codec.domain("abc") == Domain.all_sequences("abc")
