"""Metrics of a trained model: accuracy of whole traces, verdicts and tokens, and the chance baselines.

A trace is exact if each of its tokens has the largest logit, given those before it. Greedy decoding produces exactly
these traces, since it emits the same tokens up to the first error; one forward pass therefore measures it. A verdict
may be correct after an error in the trace: words whose trace is not exact are decoded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

import torch

from softmachine.studies.learn.data import Corpus, Example, Segment
from softmachine.studies.learn.model import Decoder, KVCache

MAX_BATCH_TOKENS = 1 << 14
"""Maximum number of tokens per forward pass."""
MAX_EXTRA_TOKENS = 16
"""Number of tokens that decoding may exceed the expected length by."""
TOKEN_BIN_WIDTH = 16
"""Bin width of trace lengths, in tokens."""
MAX_DECODED_WORDS = 64
"""Maximum number of words per bin that are decoded for their verdicts."""


@dataclass(frozen=True)
class Metrics:
    """Metrics of a bin. Accuracies are shares from 0 to 1; None if there is nothing to measure.

    Args:
        words: Number of test words.
        accepted: Number of accepted words.
        long_words: Number of words with traces of more than ten tokens.
        exact: Share of traces that are correct from the first to the last token.
        exact_accepted: The same among accepted words.
        exact_rejected: The same among all other words.
        exact_long: The same among long traces: the most informative of these.
        tokens: Share of correct tokens, given those before.
        verdict: Share of words whose last token is correct in greedy decoding, among the decoded words.
        decoded: Number of decoded words.
        same_trace: Baseline: ``check_traces`` of a model that always emits the most frequent trace of the training
            split.
        same_verdict: Baseline: ``verdict`` of a model that always emits the most frequent verdict.
        by_length: For each word length: the number of words, and of exact traces.
        by_tokens: The same for each trace length, in bins of 16 tokens (keys are their upper ends).
    """

    words: int
    accepted: int
    long_words: int
    exact: float
    exact_accepted: float | None
    exact_rejected: float | None
    exact_long: float | None
    tokens: float
    verdict: float | None
    decoded: int
    same_trace: float
    same_verdict: float
    by_length: dict[int, tuple[int, int]]
    by_tokens: dict[int, tuple[int, int]]

    def to_json(self) -> dict[str, Any]:
        """Return the metrics as JSON-serialisable data."""
        tables = {"by_length": self.by_length, "by_tokens": self.by_tokens}
        plain = {name: {str(k): list(pair) for k, pair in found.items()} for name, found in tables.items()}
        return {**asdict(self), **plain}


def evaluate(decoder: Decoder, corpus: Corpus, examples: Sequence[Example]) -> Metrics:
    """Measure a model on examples."""
    marks = list(_score_traces(decoder, corpus, examples))
    right = [wrong is None for wrong, *_ in marks]
    decoded, verdicts = _check_verdicts(decoder, corpus, examples, marks)
    trace = Counter(map(_trace, corpus.train)).most_common(1)[0][0]
    verdict = Counter(each.verdict for each in corpus.train).most_common(1)[0][0]
    return Metrics(
        words=len(examples),
        accepted=sum(each.verdict == "accept" for each in examples),
        long_words=sum(each.is_long for each in examples),
        exact=fmean(right),
        exact_accepted=_share_correct(right, [each.verdict == "accept" for each in examples]),
        exact_rejected=_share_correct(right, [each.verdict != "accept" for each in examples]),
        exact_long=_share_correct(right, [each.is_long for each in examples]),
        tokens=sum(good for _, good, _ in marks) / sum(count for *_, count in marks),
        verdict=verdicts,
        decoded=decoded,
        same_trace=fmean(_trace(each) == trace for each in examples),
        same_verdict=fmean(each.verdict == verdict for each in examples),
        by_length=_count_by_kind([each.length for each in examples], right),
        by_tokens=_count_by_kind([TOKEN_BIN_WIDTH * -(-each.tokens // TOKEN_BIN_WIDTH) for each in examples], right),
    )


def _trace(example: Example) -> tuple[tuple[str, ...], ...]:
    """Return the trace of an example, without its prompts."""
    return tuple(trace for _, trace in example.segments)


def check_traces(decoder: Decoder, corpus: Corpus, examples: Sequence[Example]) -> list[bool]:
    """Return for each example whether its whole trace is correct."""
    return [wrong is None for wrong, *_ in _score_traces(decoder, corpus, examples)]


def _share_correct(right: Sequence[bool], among: Sequence[bool]) -> float | None:
    chosen = [good for good, one in zip(right, among, strict=True) if one]
    return fmean(chosen) if chosen else None


def _count_by_kind(kinds: Sequence[int], right: Sequence[bool]) -> dict[int, tuple[int, int]]:
    """Return for each kind the number of items, and of correct ones."""
    found: dict[int, tuple[int, int]] = {}
    for kind, good in sorted(zip(kinds, right, strict=True)):
        count, correct = found.get(kind, (0, 0))
        found[kind] = count + 1, correct + good
    return found


TraceScore = tuple[tuple[int, int] | None, int, int]
"""The first error of an example (segment, token), the number of correct tokens, and the number of tokens."""


def _score_traces(decoder: Decoder, corpus: Corpus, examples: Sequence[Example]) -> Iterator[TraceScore]:
    segments = [(row, k, segment) for row, each in enumerate(examples) for k, segment in enumerate(each.segments)]
    segments.sort(key=lambda item: sum(map(len, item[2])))
    wrong: dict[int, tuple[int, int]] = {}
    good, count = [0] * len(examples), [0] * len(examples)
    with torch.no_grad():
        for group in _batches(segments):
            tokens, following, _ = corpus.encode([segment for *_, segment in group])
            hits = decoder(tokens).argmax(-1) == following
            for (row, k, (prompt, trace)), hit in zip(group, hits, strict=True):
                own = hit[len(prompt) - 1 : len(prompt) + len(trace) - 1]
                good[row] += int(own.sum())
                count[row] += len(trace)
                if not bool(own.all()):
                    wrong[row] = min(wrong.get(row, (k + 1, 0)), (k, int((~own).int().argmax())))
    for row in range(len(examples)):
        yield wrong.get(row), good[row], count[row]


def _batches(segments: list[tuple[int, int, Segment]]) -> Iterator[list[tuple[int, int, Segment]]]:
    """Group segments, which are sorted by length, into batches of a maximum number of tokens."""
    group: list[tuple[int, int, Segment]] = []
    for item in segments:
        size = sum(map(len, item[2]))
        if group and (len(group) + 1) * size > MAX_BATCH_TOKENS:
            yield group
            group = []
        group.append(item)
    if group:
        yield group


def _check_verdicts(
    decoder: Decoder, corpus: Corpus, examples: Sequence[Example], marks: Sequence[TraceScore]
) -> tuple[int, float | None]:
    """Return the number of decoded words, and the share of them whose last token is correct.

    Words of several segments are correct only if their trace is exact: after an error the next prompt is undefined.
    """
    chosen = list(range(len(examples)))[:: max(1, -(-len(examples) // MAX_DECODED_WORDS))]
    doubtful = [row for row in chosen if marks[row][0] is not None and len(examples[row].segments) == 1]
    right = sum(marks[row][0] is None for row in chosen)
    wanted = [examples[row].segments[0] for row in doubtful]
    ends = {trace[-1] for each in corpus.train for _, trace in each.segments}
    for (_, trace), last in zip(wanted, decode_greedily(decoder, corpus, wanted, ends), strict=True):
        right += last == trace[-1]
    return len(chosen), right / len(chosen)


def decode_greedily(
    decoder: Decoder, corpus: Corpus, segments: Sequence[Segment], stop_tokens: set[str]
) -> list[str | None]:
    """Decode each segment greedily from its prompt; return its end token, or None if it has none."""
    if not segments:
        return []
    limits = [min(len(p) + len(s) + MAX_EXTRA_TOKENS, corpus.context) for p, s in segments]
    stops = {corpus.index[token] for token in stop_tokens}
    prompts = [[corpus.index[token] for token in prompt] for prompt, _ in segments]
    memory = KVCache(decoder.shape, len(segments), corpus.context)
    found: list[str | None] = [None] * len(segments)
    current, at = [prompt[0] for prompt in prompts], 0
    going = set(range(len(segments)))
    with torch.no_grad():
        while going and at < corpus.context:
            positions = torch.full((len(segments), 1), at)
            following = decoder(torch.tensor(current)[:, None], positions, memory)[:, 0].argmax(-1).tolist()
            at += 1
            for row in sorted(going):
                if at < len(prompts[row]):
                    current[row] = prompts[row][at]
                    continue
                current[row] = following[row]
                if following[row] in stops:
                    found[row] = corpus.vocabulary[following[row]]
                if following[row] in stops or at + 1 >= limits[row]:
                    going.discard(row)
    return found
