"""Other people's software at work on our weights: does it say what the reference interpreter says?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from softmachine.export.dialogue import Dialogue, Sample

GENERATED = 256
"""Runs up to so many tokens are generated; longer ones are read in pieces, predicting each token from those before."""
BATCH, PIECE = 32, 256


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


def verify(model: Any, vocabulary: Sequence[str], dialogue: Dialogue, *, pad: int, dtype: str, gain: float) -> Verification:
    """Let a loaded model speak, in left-padded batches, and compare."""
    return _Verifier(model, vocabulary, dialogue, pad, dtype, gain).verification()


class _Verifier:
    def __init__(
        self, model: Any, vocabulary: Sequence[str], dialogue: Dialogue, pad: int, dtype: str, gain: float
    ) -> None:
        self.model, self.vocabulary, self.dialogue = model, vocabulary, dialogue
        self.pad, self.dtype, self.gain = pad, dtype, gain
        self.index = {token: k for k, token in enumerate(vocabulary)}

    def verification(self) -> Verification:
        samples = sorted(self.dialogue.samples, key=lambda sample: len(sample.expected))
        short = [sample for sample in samples if len(sample.expected) <= GENERATED]
        failure = None
        margin = float("inf")
        if self.dialogue.decodes:
            for start in range(0, len(short), BATCH):
                failure = failure or self.generated(short[start : start + BATCH])
        for sample in samples:
            if failure is None:
                failure, smallest = self.read(sample)
                margin = min(margin, smallest)
        return Verification(
            dtype=self.dtype,
            inputs=len(samples),
            tokens=sum(1 for sample in samples for token in sample.expected if token is not None),
            longest=max((len(s.prompt) + (len(s.expected) if self.dialogue.decodes else 0) for s in samples), default=0),
            margin=margin / self.gain if failure is None and margin < float("inf") else None,
            failure=failure,
        )

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
        wanted = dict(enumerate(expected, first)) if decodes else {
            k: self.index[token] for k, token in enumerate(sample.expected) if token is not None
        }
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
                found, distance = int(best.indices[k, 0]), float(best.values[k, 0] - best.values[k, 1])
                if found != right or distance <= 0 or distance != distance:  # noqa: PLR0124 - not a number
                    return self.wrong(sample, start + k - first, right, found), 0.0
                smallest = min(smallest, distance)
            start += len(piece)
        return None, smallest

    def wrong(self, sample: Sample, step: int, expected: int, found: int) -> str:
        name = self.vocabulary
        word = repr(sample.word) if sample.word else "the empty input"
        what = "token" if self.dialogue.decodes else "the answer at position"
        return f"in {self.dtype}, on {word}, {what} {step} should be {name[expected]}, but is {name[found]}"
