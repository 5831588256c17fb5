"""Other people's software at work on our weights: does it say what the reference interpreter says?"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from softmachine.exports.dialogue import Dialogue, Sample
from softmachine.exports.lowered import Lowered
from softmachine.progress import Tell, nobody, told

GENERATED = 256
"""Runs up to so many tokens are generated; longer ones are read in pieces, predicting each token from those before."""
BATCH, PIECE = 32, 256
SMALL = 1 << 20
"""Vocabulary times width: below, a model is small."""


@dataclass(frozen=True)
class Verification:
    """What a stock model said in one floating-point format.

    Args:
        dtype: The format.
        inputs: How many inputs were tried.
        tokens: How many tokens were compared.
        longest: The largest number of positions of any of them.
        margin: The smallest distance between the right logit and the next; 1 is what exact arithmetic has at least.
        failure: The first thing that was wrong, None if nothing was.
    """

    dtype: str
    inputs: int
    tokens: int
    longest: int
    margin: float | None
    failure: str | None

    @property
    def holds(self) -> bool:
        """Whether everything was right."""
        return self.failure is None


def verify(
    model: Any,
    lowered: Lowered,
    dialogue: Dialogue,
    *,
    dtype: str,
    gain: float,
    generating: bool,
    tell: Tell = nobody,
) -> Verification:
    """Let a loaded model speak, and compare.

    Args:
        model: The stock model.
        lowered: What it should be.
        dialogue: What it should say.
        dtype: The format that it was loaded in, for people.
        gain: What a margin of 1 has become.
        generating: Whether short runs are also generated, in left-padded batches.
        tell: Is told how far it is.
    """
    with _threads(1 if lowered.embedding.size < SMALL else None):
        return _Verifier(model, lowered, dialogue, dtype, gain).verification(generating=generating, tell=tell)


@contextlib.contextmanager
def _threads(wanted: int | None) -> Iterator[None]:
    """Small matrices are multiplied faster by one thread."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(wanted or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class _Verifier:
    def __init__(self, model: Any, lowered: Lowered, dialogue: Dialogue, dtype: str, gain: float) -> None:
        self.model, self.vocabulary, self.dialogue = model, lowered.vocabulary, dialogue
        self.pad, self.dtype, self.gain = lowered.pad, dtype, gain
        self.positions, self.causal, self.labels = len(lowered.positions), lowered.causal, lowered.labels
        self.index = {token: k for k, token in enumerate(self.vocabulary)}
        self.label = {label: k for k, label in enumerate(self.labels)}

    def verification(self, *, generating: bool, tell: Tell) -> Verification:
        samples = sorted(self.dialogue.samples, key=lambda sample: len(sample.expected))
        short = [sample for sample in samples if len(sample.expected) <= GENERATED]
        failure = None
        margin = float("inf")
        if self.dialogue.decodes and generating:
            for batch in told([*self.batches(short)], f"generating in {self.dtype}: batch", tell):
                failure = failure or self.generated(batch)
        groups = [[sample] for sample in samples] if self.causal else [*self.batches(samples)]
        for group in told(groups, f"verifying in {self.dtype}: {'input' if self.causal else 'batch'}", tell):
            if failure is None:
                failure, smallest = self.read(group[0]) if self.causal else self.answered(group)
                margin = min(margin, smallest)
        return Verification(
            dtype=self.dtype,
            inputs=len(samples),
            tokens=sum(1 for sample in samples for token in sample.expected if token is not None),
            longest=max(
                (len(s.prompt) + (len(s.expected) if self.dialogue.decodes else 0) for s in samples), default=0
            ),
            margin=margin / self.gain if failure is None and margin < float("inf") else None,
            failure=failure,
        )

    def batches(self, samples: Sequence[Sample]) -> Iterator[list[Sample]]:
        """Samples together, as long as none of them runs out of positions while others go on."""
        batch: list[Sample] = []
        for sample in samples:
            more = [*batch, sample]
            new = max(len(s.expected) for s in more) if self.causal else 0
            if len(more) > BATCH or max(len(s.prompt) for s in more) + new > self.positions:
                yield batch
                more = [sample]
            batch = more
        if batch:
            yield batch

    def ids(self, tokens: Sequence[str | None]) -> list[int]:
        return [self.index[token] for token in tokens if token is not None]

    def generated(self, samples: Sequence[Sample]) -> str | None:
        """What is wrong with what ``generate`` makes of a left-padded batch."""
        import torch

        samples = [sample for sample in samples if sample.expected]
        if not samples:
            return None
        widest = max(len(sample.prompt) for sample in samples)
        rows = [self.ids(sample.prompt) for sample in samples]
        ids = torch.tensor([[self.pad] * (widest - len(row)) + row for row in rows])
        mask = torch.tensor([[0] * (widest - len(row)) + [1] * len(row) for row in rows])
        new = max(len(sample.expected) for sample in samples)
        with torch.no_grad():
            said = self.model.generate(ids, attention_mask=mask, max_new_tokens=new, max_length=None, do_sample=False)
        for sample, row in zip(samples, said[:, widest:].tolist(), strict=True):
            for step, expected in enumerate(self.ids(sample.expected)):
                found = row[step] if step < len(row) else self.pad
                if found != expected:
                    return self.wrong(sample, step, expected, found)
        return None

    def read(self, sample: Sample) -> tuple[str | None, float]:
        """What is wrong with the predictions after each token of a run, and the smallest margin of the right ones."""
        import torch

        decodes = self.dialogue.decodes
        expected = self.ids(sample.expected) if decodes else []
        sequence = self.ids(sample.prompt) + expected[:-1]
        first = len(sample.prompt) - 1 if decodes else 0
        wanted = (
            dict(enumerate(expected, first))
            if decodes
            else {k: self.label[token] for k, token in enumerate(sample.expected) if token is not None}
        )
        smallest, cache, start = float("inf"), None, 0
        while start < len(sequence):
            piece = sequence[start : start + PIECE]
            with torch.no_grad():
                answer = self.model(torch.tensor([piece]), past_key_values=cache, use_cache=True)
            cache = answer.past_key_values
            logits = answer.logits[0].double()
            best = logits.topk(2, dim=-1)
            for k in range(len(piece)):
                right = wanted.get(start + k)
                if right is None:
                    continue
                found: int | None = int(best.indices[k, 0])
                distance = float(best.values[k, 0] - best.values[k, 1])
                if not distance > 0:
                    found = None
                if found != right:
                    return self.wrong(sample, start + k - first, right, found), 0.0
                smallest = min(smallest, distance)
            start += len(piece)
        return None, smallest

    def answered(self, samples: Sequence[Sample]) -> tuple[str | None, float]:
        """What is wrong with an encoder's answers to a batch, padded at the right, and the smallest margin."""
        import torch

        widest = max(len(sample.prompt) for sample in samples)
        rows = [self.ids(sample.prompt) for sample in samples]
        ids = torch.tensor([row + [self.pad] * (widest - len(row)) for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (widest - len(row)) for row in rows])
        with torch.no_grad():
            logits = self.model(ids, attention_mask=mask).logits.double()
        smallest = float("inf")
        best = logits.topk(min(2, logits.shape[-1]), dim=-1)
        for number, sample in enumerate(samples):
            for k, token in enumerate(sample.expected):
                if token is None:
                    continue
                found: int | None = int(best.indices[number, k, 0])
                # Of one answer, nothing is next to it.
                following = float(best.values[number, k, 1]) if len(self.labels) > 1 else float("-inf")
                distance = float(best.values[number, k, 0]) - following
                if not distance > 0:
                    found = None
                if found != self.label[token]:
                    return self.wrong(sample, k, self.label[token], found), 0.0
                smallest = min(smallest, distance)
        return None, smallest

    def wrong(self, sample: Sample, step: int, expected: int, found: int | None) -> str:
        return wrong(self.labels, self.dialogue, self.dtype, sample, step, expected, found)


def wrong(
    labels: Sequence[str],
    dialogue: Dialogue,
    dtype: str,
    sample: Sample,
    step: int,
    expected: int,
    found: int | None,
) -> str:
    """What a model got wrong, and where."""
    word = repr(sample.word) if sample.word else "the empty input"
    what = "token" if dialogue.decodes else "the answer at position"
    was = "is not decided" if found is None else f"is {labels[found]}"
    return f"in {dtype}, on {word}, {what} {step} should be {labels[expected]}, but {was}"
