"""Other people's software at work on our weights: does it say what the reference interpreter says?

The numbers that come back are compared in one place, :class:`Hearing`, whoever computed them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softmachine.exports.dialogue import Dialogue, Sample
from softmachine.exports.lowered import Lowered
from softmachine.support.parallel import Crew, Json, Work, parts
from softmachine.support.progress import Tell, nobody

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

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


@contextlib.contextmanager
def threads(wanted: int | None) -> Iterator[None]:
    """Small matrices are multiplied faster by one thread."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(wanted or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Hearing:
    """What should be said, in numbers of tokens and labels, and a comparison with what is.

    Args:
        lowered: The model that speaks.
        dialogue: What it should say.
        dtype: The format in which it speaks, for people.
    """

    def __init__(self, lowered: Lowered, dialogue: Dialogue, dtype: str) -> None:
        self.lowered, self.dialogue, self.dtype = lowered, dialogue, dtype
        self._label = {label: k for k, label in enumerate(lowered.labels)}

    def ids(self, tokens: Sequence[str | None]) -> list[int]:
        """The numbers of tokens."""
        return [self.lowered.index[token] for token in tokens if token is not None]

    def sequence(self, sample: Sample) -> list[int]:
        """All that a model reads: the prompt, and of a run all but its last token."""
        return self.ids((*sample.prompt, *(sample.expected[:-1] if self.dialogue.decodes else ())))

    def judged(self, sample: Sample, logits: NDArray[np.floating], start: int = 0) -> tuple[str | None, float]:
        """What is wrong with the logits of positions from the start on, and the smallest margin of the right ones."""
        first = len(sample.prompt) - 1 if self.dialogue.decodes else 0
        smallest = float("inf")
        for position, row in enumerate(logits, start):
            step = position - first
            right = sample.expected[step] if 0 <= step < len(sample.expected) else None
            if right is None:
                continue
            found = int(row.argmax())
            distance = float(row[found] - np.delete(row, found).max(initial=-np.inf))
            if found != self._label[right] or not distance > 0:
                return self.wrong(sample, step, found if distance > 0 else None), 0.0
            smallest = min(smallest, distance)
        return None, smallest

    def wrong(self, sample: Sample, step: int, found: int | None) -> str:
        """What a model got wrong, and where."""
        word = repr(sample.word) if sample.word else "the empty input"
        what = "token" if self.dialogue.decodes else "the answer at position"
        was = "is not decided" if found is None else f"is {self.lowered.labels[found]}"
        return f"in {self.dtype}, on {word}, {what} {step} should be {sample.expected[step]}, but {was}"

    def summary(self, longest: int, margin: float, failure: str | None) -> Verification:
        """All in all."""
        samples = self.dialogue.samples
        tokens = sum(token is not None for sample in samples for token in sample.expected)
        smallest = margin if failure is None and margin < float("inf") else None
        return Verification(self.dtype, len(samples), tokens, longest, smallest, failure)


class Verifier(Hearing):
    """Listens to a model of transformers: to batches that it generates, and then to single inputs, or batches.

    Args:
        model: The model.
        lowered: What it should be.
        dialogue: What it should say.
        dtype: The format in which it speaks, for people.
        generating: Whether short runs are also generated.
    """

    def __init__(
        self, model: PreTrainedModel, lowered: Lowered, dialogue: Dialogue, dtype: str, *, generating: bool
    ) -> None:
        super().__init__(lowered, dialogue, dtype)
        self.model, self.pad, self.causal, self.generating = model, lowered.pad, lowered.causal, generating
        samples = sorted(dialogue.samples, key=lambda sample: len(sample.expected))
        short = [sample for sample in samples if len(sample.expected) <= GENERATED]
        self.to_generate = [*self.batches(short)] if dialogue.decodes and generating else []
        self.to_read = [[sample] for sample in samples] if self.causal else [*self.batches(samples)]

    def verification(self, gain: float, tell: Tell, crew: Crew | None, away: Callable[[], Work | None]) -> Verification:
        """What came of all of it, up to the first thing that is wrong."""
        total, failure, margin = len(self.to_generate) + len(self.to_read), None, float("inf")
        found = parts(partial(self.part, tell=tell), total, away=away, crew=crew, tell=tell)
        with contextlib.closing(found):
            for part in found:
                failure, margin = part.result["failure"], min(margin, part.result["margin"])
                if failure is not None:
                    break
        samples, decodes = self.dialogue.samples, self.dialogue.decodes
        longest = max((len(s.prompt) + (len(s.expected) if decodes else 0) for s in samples), default=0)
        return self.summary(longest, margin / gain, failure)

    def part(self, start: int, stop: int, tell: Tell = nobody) -> Json:
        """What is wrong with some of what there is to do, if anything; and the smallest margin of what is right."""
        failure, margin = None, float("inf")
        for number in range(start, stop):
            if number < len(self.to_generate):
                tell(f"generating in {self.dtype}: batch {number + 1:,} of {len(self.to_generate):,}")
                failure = self.generated(self.to_generate[number])
            else:
                place = number - len(self.to_generate)
                what = "input" if self.causal else "batch"
                tell(f"verifying in {self.dtype}: {what} {place + 1:,} of {len(self.to_read):,}")
                group = self.to_read[place]
                failure, smallest = self.read(group[0]) if self.causal else self.answered(group)
                margin = min(margin, smallest)
            if failure is not None:
                break
        return {"failure": failure, "margin": margin}

    def batches(self, samples: Sequence[Sample]) -> Iterator[list[Sample]]:
        """Samples together, as long as none of them runs out of positions while others go on."""
        batch: list[Sample] = []
        for sample in samples:
            more = [*batch, sample]
            new = max(len(s.expected) for s in more) if self.causal else 0
            if len(more) > BATCH or max(len(s.prompt) for s in more) + new > len(self.lowered.positions):
                yield batch
                more = [sample]
            batch = more
        if batch:
            yield batch

    def padded(self, samples: Sequence[Sample]) -> tuple[Tensor, Tensor]:
        """Prompts, with padding before them in a decoder and after them in an encoder, and the mask that tells."""
        import torch

        widest = max(len(sample.prompt) for sample in samples)
        rows = [self.ids(sample.prompt) for sample in samples]
        rest = [[self.pad] * (widest - len(row)) for row in rows]
        ids = [more + row if self.causal else row + more for row, more in zip(rows, rest, strict=True)]
        return torch.tensor(ids), (torch.tensor(ids) != self.pad).long()

    def generated(self, samples: Sequence[Sample]) -> str | None:
        """What is wrong with what ``generate`` makes of a left-padded batch."""
        import torch

        samples = [sample for sample in samples if sample.expected]
        if not samples:
            return None
        ids, mask = self.padded(samples)
        new = max(len(sample.expected) for sample in samples)
        with torch.no_grad():
            said = self.model.generate(ids, attention_mask=mask, max_new_tokens=new, max_length=None, do_sample=False)
        for sample, row in zip(samples, said[:, ids.shape[1] :].tolist(), strict=True):
            for step, expected in enumerate(self.ids(sample.expected)):
                found = row[step] if step < len(row) else self.pad
                if found != expected:
                    return self.wrong(sample, step, found)
        return None

    def read(self, sample: Sample) -> tuple[str | None, float]:
        """What is wrong with the predictions after each token of a run, and the smallest margin of the right ones."""
        import torch

        sequence, smallest, cache = self.sequence(sample), float("inf"), None
        for start in range(0, len(sequence), PIECE):
            with torch.no_grad():
                answer = self.model(
                    torch.tensor([sequence[start : start + PIECE]]), past_key_values=cache, use_cache=True
                )
            cache = answer.past_key_values
            failure, distance = self.judged(sample, answer.logits[0].double().numpy(), start)
            if failure is not None:
                return failure, 0.0
            smallest = min(smallest, distance)
        return None, smallest

    def answered(self, samples: Sequence[Sample]) -> tuple[str | None, float]:
        """What is wrong with an encoder's answers to a batch, padded at the right, and the smallest margin."""
        import torch

        ids, mask = self.padded(samples)
        with torch.no_grad():
            logits = self.model(ids, attention_mask=mask).logits.double().numpy()
        found = [self.judged(sample, rows) for sample, rows in zip(samples, logits, strict=True)]
        wrong = next((failure for failure, _ in found if failure is not None), None)
        return wrong, min(distance for _, distance in found)
