"""Training data: traces are those of the reference interpreter, and no word is in two splits."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'softmachine[learn]'")

import softmachine as sm
from softmachine.studies.learn.data import PAD, BatchSampler, find_codec, load_corpus, make_task
from softmachine.support.errors import ConstructionError, UsageError
from softmachine.theorems.read_source import read_source
from tests.learn.helpers import parity


def test_traces_are_what_the_interpreter_says() -> None:
    task = parity()
    codec = find_codec(task)
    for each in load_corpus(task).all_examples:
        ((prompt, output),) = each.segments
        assert prompt == codec.prompt(each.input).tokens
        assert list(output) == list(codec.expected(each.input, 1000))


def test_summarised_traces_come_in_the_segments_of_their_codec() -> None:
    task = make_task(
        read_source("increment"), train=4, tests=(), theorem="turing-ternary-summary", context=64, words=60
    )
    codec = find_codec(task)
    several = [each for each in load_corpus(task).all_examples if len(each.segments) > 1]
    assert several
    for each in several:
        whole = [token for _, output in each.segments for token in output]
        assert whole == list(codec.expected(each.input, 1000))


def test_no_word_is_in_two_parts_and_bins_have_their_lengths() -> None:
    corpus = load_corpus(parity())
    parts = [corpus.train, corpus.validation, *corpus.tests.values()]
    words = [each.input for part in parts for each in part]
    assert len(set(words)) == len(words)
    for name, lengths in parity().bins.items():
        assert all(each.length in lengths for each in corpus.tests[name])


def test_only_the_tokens_of_the_trace_count() -> None:
    corpus = load_corpus(parity())
    segments = [each.segments[0] for each in corpus.train[:5]]
    tokens, following, counts = corpus.encode(segments)
    for row, (prompt, output) in enumerate(segments):
        chosen = [corpus.vocabulary[k] for k in following[row][counts[row]]]
        assert tuple(chosen) == output
        assert corpus.vocabulary[tokens[row][len(prompt) - 1]] == prompt[-1]
    assert corpus.vocabulary[0] == PAD


def test_what_a_step_sees_depends_on_seed_and_number_alone() -> None:
    corpus = load_corpus(parity())
    drawn = [BatchSampler(corpus, 3, 8).sample(step, 12) for step in (5, 6, 5)]
    assert drawn[0] == drawn[2] != drawn[1]
    assert BatchSampler(corpus, 4, 8).sample(5, 12) != drawn[0]
    assert all(len(prompt) <= 1 + 3 for prompt, _ in BatchSampler(corpus, 3, 8).sample(5, 3))


def test_accepted_words_are_drawn_as_often_as_others() -> None:
    corpus = load_corpus(parity())
    verdicts = [output[-1] for step in range(40) for _, output in BatchSampler(corpus, 0, 8).sample(step, 12)]
    assert 0.4 < verdicts.count("ACC") / len(verdicts) < 0.6


def test_a_source_without_traces_is_refused() -> None:
    with pytest.raises(UsageError, match="no traces to learn"):
        make_task(sm.load("Q_a since Q_b"), train=4, tests=(8,))  # type: ignore[arg-type]


def test_tokens_that_depend_on_a_length_need_one() -> None:
    with pytest.raises(ConstructionError, match="depend on a length"):
        make_task(read_source("palindrome"), train=4, tests=(8,), theorem="turing-ternary")


def test_more_tests_than_words_are_refused_and_it_says_how_many_there_are() -> None:
    with pytest.raises(UsageError, match=r"5,000 test words were requested, but only \d+ words of length 1 to 12"):
        load_corpus(replace(parity(), test_words=5_000))


def test_lengths_without_words_are_refused() -> None:
    graph = make_task(read_source("binary-addition"), train=2, tests=(), max_steps=1)
    with pytest.raises(UsageError, match=r"there are no test words|none are in the"):
        load_corpus(graph)


def test_bins_that_do_not_grow_are_refused() -> None:
    with pytest.raises(UsageError, match="test lengths 8,8 do not increase"):
        parity(4, (8, 8))
