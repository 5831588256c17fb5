"""Runs in segments: each continues from the summary that the previous one wrote, so that the context stays short.

Of earlier segments only the output is kept, compressed. The arrays of a segment are reused by the next one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.fast.audit import Audit, Difference, done_again, drawn, foresee
from softmachine.support.errors import InputError
from softmachine.support.token_array import Codes, Packed

if TYPE_CHECKING:
    from softmachine.engines.fast.engine import FastEngine, FastPass
    from softmachine.languages.source import Source
    from softmachine.theorems.codec import SegmentedCodec

PIECE = 1 << 15
"""Positions per chunk of a segment; the output is examined between chunks."""


class SegmentedPass:
    """A run in segments.

    Args:
        engine: The engine.
        codec: Determines which token ends a run, and where summaries begin and end.
        prompt: The input tokens of the first segment.
        said: Tokens already known to follow the prompt, in all segments.
        most_steps: Maximum number of steps of the source language.
        most_positions: Maximum context length, if the weights were built for one.
    """

    def __init__(
        self,
        engine: FastEngine,
        codec: SegmentedCodec[Source],
        prompt: Sequence[str],
        said: Sequence[str] = (),
        *,
        most_steps: int,
        most_positions: int | None = None,
    ) -> None:
        self.engine, self.codec, self.first_prompt = engine, codec, tuple(prompt)
        self.most_steps, self.most_positions = most_steps, most_positions
        self.current = engine.start(prompt, lambda token: codec.stops(token) or codec.segment_ends(token))
        names = self.current.names
        self._is_step, self._begins, self._ends = (
            np.array([name in engine.transformer.token_index and holds(name) for name in names], dtype=bool)
            for holds in (codec.is_step, codec.segment_begins, codec.segment_ends)
        )
        self.said: Packed[str] = Packed(names)
        self.current.reserve(most_positions or 0)
        self.steps = 0
        self.segments: list[int] = []
        """The number of tokens in the context of each segment that produced an output."""
        self._appended = 0
        self.stopped_by: str | None = None
        self.outgrown = False
        """Whether the run exceeded the context length the weights were built for."""
        self.limited = False
        """Whether the step limit was reached."""
        self._full_output: Packed[str] | None = None
        """The full known output, if it exceeds the step limit."""
        if len(said):
            number = {name: code for code, name in enumerate(names)}
            known: Packed[str] = Packed(names)
            known.extend(np.array([number[token] for token in said], dtype=np.int64))
            self.go_on_from(known)

    def prepare(self) -> None:
        """Load or compile the machine code."""
        self.current.prepare()

    def go_on_from(self, said: Packed[str]) -> None:
        """Continue from this output of all segments, cut off at the step limit. It must not contain a stop token."""
        self.said = said
        steps = self._flagged_indices(self._is_step)
        if len(steps) > self.most_steps:
            self._full_output, self.said, self.limited = said, Packed(said.names), True
            self.said.extend(said[: int(steps[self.most_steps])].codes)
        self.steps = min(len(steps), self.most_steps)
        structure = self._structure()
        self.segments = [prompt + count for prompt, count in structure if count]
        prompt, count = structure[-1]
        end = len(self.said)
        self.current.again(self._context(len(structure) - 1, prompt, end - count, end))
        self.current.prompt, self._appended = prompt, count

    @property
    def ended(self) -> bool:
        """Whether nothing is left to compute."""
        return self.stopped_by is not None or self.outgrown or self.limited

    @property
    def size(self) -> int:
        """The memory of the run in bytes."""
        return self.current.size + self.said.size

    def said_since(self, most: int) -> Packed[str]:
        """The output of all segments; the step limit is already applied, so ``most`` is ignored."""
        del most
        return self.said

    def lasting(self) -> Codes[str]:
        """The full known output, without the token that stopped the run."""
        if self._full_output is not None:
            return self._full_output
        return self.said.renamed(self.said.names)[: -1 if self.stopped_by is not None else None]

    def advance(self, count: int) -> None:
        """Produce ``count`` more tokens (up to a chunk more), unless the run ends earlier.

        Raises:
            AmbiguousTokenError: If two logits are equal.
            PrecisionError: If numbers leave the range in which they are exact.
        """
        goal = len(self.said) + count
        while not self.ended and len(self.said) < goal:
            run = self.current
            end = run.read + min(PIECE, goal - len(self.said)) + max(run.given - run.read, 0)
            if self.most_positions is not None:
                end = min(end, self.most_positions)
            run.go(end)
            self._append_output(run)
            if run.stopped_by is not None and not self.ended:
                if self.codec.stops(run.stopped_by):
                    self.stopped_by = run.stopped_by
                else:
                    self._next_segment(run)

    def _append_output(self, run: FastPass) -> None:
        """Append the new output of the current segment, cut off at the limits."""
        begin = run.prompt + self._appended
        end = run.known + (run.stopped_by is not None)
        codes = run.tokens.between(begin, end)
        steps = np.flatnonzero(self._is_step[codes])
        allowed = len(codes)
        if self.steps + len(steps) > self.most_steps:
            allowed = int(steps[self.most_steps - self.steps])
            self.limited = True
        if self.most_positions is not None and begin + allowed > self.most_positions:
            allowed = max(self.most_positions - begin, 0)
            self.outgrown, self.limited = True, False
        self.said.extend(codes[:allowed])
        self.steps += int(np.count_nonzero(steps < allowed))
        self._appended += allowed
        if self._appended:
            if not self.segments or begin == run.prompt:
                self.segments.append(0)
            self.segments[-1] = run.prompt + self._appended

    def _next_segment(self, run: FastPass) -> None:
        """Start the next segment on the summary that was written last."""
        codes = run.tokens.between(run.prompt, run.known + 1)
        beginnings = np.flatnonzero(self._begins[codes])
        if not len(beginnings):
            raise InputError(f"{run.stopped_by!r} ends a summary that was not started")
        run.again(codes[beginnings[-1] :].copy())
        self._appended = 0

    def audit(self, count: int, seed: int) -> Audit:
        """Recompute random steps of all segments.

        Raises:
            EffortError: If that takes too long and was not approved.
        """
        count, mean = min(count, len(self.said)), sum(self.segments) / max(len(self.segments), 1)
        foresee(self.engine, count, mean, int(min(count * mean, sum(self.segments))))
        steps = drawn(range(len(self.said)), count, seed)
        differences: list[Difference] = []
        scores, begin = 0, 0
        for segment, (prompt, length) in enumerate(self._structure()):
            here = steps[bisect_left(steps, begin) : bisect_left(steps, begin + length)]
            if here:
                run = self.engine.start([], listening=True)
                run.adopt(self._context(segment, prompt, begin, begin + length), prompt)
                more, found = done_again(run, [prompt - 1 + step - begin for step in here])
                scores += more
                differences += found
            begin += length
        return Audit(steps, scores, tuple(differences), len(self.said), seed)

    def _structure(self) -> list[tuple[int, int]]:
        """For each segment, the length of its prompt and of its output; the last entry is the current segment."""
        found: list[tuple[int, int]] = []
        beginnings, prompt, at = self._flagged_indices(self._begins), len(self.first_prompt), 0
        for end in self._flagged_indices(self._ends).tolist():
            found.append((prompt, end + 1 - at))
            before = int(np.searchsorted(beginnings, end)) - 1
            prompt = end + 1 - int(beginnings[before]) if before >= 0 else 0
            at = end + 1
        return [*found, (prompt, len(self.said) - at)]

    def _flagged_indices(self, flags: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The indices of flagged tokens in the output."""
        found, before = [np.zeros(0, dtype=np.int64)], 0
        for part in self.said.parts():
            found.append(np.flatnonzero(flags[part]) + before)
            before += len(part)
        return np.concatenate(found)

    def _context(self, segment: int, prompt: int, begin: int, end: int) -> NDArray[Any]:
        """The tokens of a segment: its prompt and its output."""
        output = self.said[begin:end].codes
        if segment:
            return np.concatenate([self.said[begin - prompt : begin].codes, output])
        index = self.engine.transformer.token_index
        return np.concatenate([np.array([index[token] for token in self.first_prompt], dtype=output.dtype), output])
