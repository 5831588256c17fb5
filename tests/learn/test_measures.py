"""Metrics agree with those of plain greedy decoding."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'softmachine[learn]'")

from softmachine.studies.learn.data import Corpus, Example, load_corpus  # noqa: E402
from softmachine.studies.learn.metrics import check_traces, decode_greedily, evaluate  # noqa: E402
from softmachine.studies.learn.model import Decoder  # noqa: E402
from softmachine.studies.learn.training import train  # noqa: E402
from tests.learn.helpers import parity, setting  # noqa: E402


@pytest.fixture(scope="module")
def half_trained() -> tuple[Decoder, Corpus]:
    corpus = load_corpus(parity())
    return train(setting(steps=30), corpus)[0], corpus


def said_by(decoder: Decoder, corpus: Corpus, example: Example) -> list[str]:
    """Greedy decoding with a full forward pass per token."""
    ((prompt, output),) = example.segments
    tokens = [corpus.index[token] for token in prompt]
    with torch.no_grad():
        for _ in range(min(len(output) + 16, corpus.context - len(prompt))):
            tokens.append(int(decoder(torch.tensor([tokens]))[0, -1].argmax()))
            if corpus.vocabulary[tokens[-1]] in ("ACC", "REJ"):
                break
    return [corpus.vocabulary[token] for token in tokens[len(prompt) :]]


def test_exact_traces_are_those_that_greedy_decoding_gives(half_trained: tuple[Decoder, Corpus]) -> None:
    decoder, corpus = half_trained
    examples = [each for bin_ in corpus.tests.values() for each in bin_][:24]
    found = check_traces(decoder, corpus, examples)
    assert found == [tuple(said_by(decoder, corpus, each)) == each.segments[0][1] for each in examples]
    assert True in found
    assert False in found


def test_verdicts_are_those_that_greedy_decoding_ends_with(half_trained: tuple[Decoder, Corpus]) -> None:
    decoder, corpus = half_trained
    examples = corpus.tests["test1"][:12]
    ends = decode_greedily(decoder, corpus, [each.segments[0] for each in examples], {"ACC", "REJ"})
    slow = [said_by(decoder, corpus, each)[-1] for each in examples]
    assert [end or "" for end in ends] == [end if end in ("ACC", "REJ") else "" for end in slow]


def test_shares_add_up(half_trained: tuple[Decoder, Corpus]) -> None:
    decoder, corpus = half_trained
    examples = corpus.tests["test0"]
    found, right = evaluate(decoder, corpus, examples), check_traces(decoder, corpus, examples)
    assert found.exact == sum(right) / len(right)
    for table in (found.by_length, found.by_tokens):
        assert sum(count for count, _ in table.values()) == len(examples)
        assert sum(good for _, good in table.values()) == sum(right)
    assert found.accepted == sum(each.verdict == "accept" for each in examples)
    assert found.exact_long is None


def test_the_baseline_says_the_most_frequent_trace_whatever_the_word_is(half_trained: tuple[Decoder, Corpus]) -> None:
    decoder, corpus = half_trained
    examples, traces = corpus.tests["test0"], [each.segments[0][1] for each in corpus.train]
    most = max(map(traces.count, traces))
    shares = {
        sum(each.segments[0][1] == trace for each in examples) / len(examples)
        for trace in traces
        if traces.count(trace) == most
    }
    assert most > 1
    assert evaluate(decoder, corpus, examples).same_trace in shares
