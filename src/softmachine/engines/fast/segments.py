"""Runs in segments: each continues from the summary that the previous one wrote, so that the context stays short.

Of earlier segments only the output is kept, compressed. The arrays of a segment are reused by the next one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.fast.audit import Audit, StepDifference, draw_steps, recompute_steps, require_affordable_audit
from softmachine.support.errors import InputError
from softmachine.support.token_array import CodedSequence, CompressedSequence

if TYPE_CHECKING:
    from softmachine.engines.fast.engine import FastEngine, FastPass
    from softmachine.languages.source import Source
    from softmachine.theorems.codec import SegmentedCodec

CHUNK_POSITIONS = 1 << 15
"""Positions per chunk of a segment; the output is examined between chunks."""


class SegmentedPass:
    """A run in segments.

    Args:
        engine: The engine.
        codec: Determines which token ends a run, and where summaries begin and end.
        prompt: The input tokens of the first segment.
        continuation: Tokens already known to follow the prompt, in all segments.
        max_steps: Maximum number of steps of the source language.
        max_positions: Maximum context length, if the weights were built for one.
    """

    def __init__(
        self,
        engine: FastEngine,
        codec: SegmentedCodec[Source],
        prompt: Sequence[str],
        continuation: Sequence[str] = (),
        *,
        max_steps: int,
        max_positions: int | None = None,
    ) -> None:
        self.engine, self.codec, self.first_prompt = engine, codec, tuple(prompt)
        self.max_steps, self.max_positions = max_steps, max_positions
        self.current = engine.start(prompt, lambda token: codec.is_stop_token(token) or codec.ends_segment(token))
        names = self.current.names
        self._is_step, self._begins, self._ends = (
            np.array([name in engine.transformer.token_index and holds(name) for name in names], dtype=bool)
            for holds in (codec.is_step, codec.begins_segment, codec.ends_segment)
        )
        self.output_tokens: CompressedSequence[str] = CompressedSequence(names)
        self.current.reserve(max_positions or 0)
        self.steps = 0
        self.segments: list[int] = []
        """The number of tokens in the context of each segment that produced an output."""
        self._appended = 0
        self.stopped_by: str | None = None
        self.exceeded_context = False
        """Whether the run exceeded the context length the weights were built for."""
        self.reached_step_limit = False
        """Whether the step limit was reached."""
        self._full_output: CompressedSequence[str] | None = None
        """The full known output, if it exceeds the step limit."""
        if len(continuation):
            number = {name: code for code, name in enumerate(names)}
            known: CompressedSequence[str] = CompressedSequence(names)
            known.extend(np.array([number[token] for token in continuation], dtype=np.int64))
            self.resume_from(known)

    def prepare(self) -> None:
        """Load or compile the machine code."""
        self.current.prepare()

    def resume_from(self, continuation: CompressedSequence[str]) -> None:
        """Continue from this output of all segments, cut off at the step limit. It must not contain a stop token."""
        self.output_tokens = continuation
        steps = self._flagged_indices(self._is_step)
        if len(steps) > self.max_steps:
            self._full_output, self.output_tokens, self.reached_step_limit = (
                continuation,
                CompressedSequence(continuation.names),
                True,
            )
            self.output_tokens.extend(continuation[: int(steps[self.max_steps])].codes)
        self.steps = min(len(steps), self.max_steps)
        structure = self._structure()
        self.segments = [prompt + count for prompt, count in structure if count]
        prompt, count = structure[-1]
        end = len(self.output_tokens)
        self.current.restart(self._context(len(structure) - 1, prompt, end - count, end))
        self.current.prompt_length, self._appended = prompt, count

    @property
    def has_ended(self) -> bool:
        """Whether nothing is left to compute."""
        return self.stopped_by is not None or self.exceeded_context or self.reached_step_limit

    @property
    def size(self) -> int:
        """The memory of the run in bytes."""
        return self.current.size + self.output_tokens.memory_bytes

    def output(self, max_tokens: int) -> CompressedSequence[str]:
        """The output of all segments; the step limit is already applied, so ``max_tokens`` is ignored."""
        del max_tokens
        return self.output_tokens

    def stored_output(self) -> CodedSequence[str]:
        """The full known output, without the token that stopped the run."""
        if self._full_output is not None:
            return self._full_output
        return self.output_tokens.with_items(self.output_tokens.names)[: -1 if self.stopped_by is not None else None]

    def advance(self, count: int) -> None:
        """Produce ``count`` more tokens (up to a chunk more), unless the run ends earlier.

        Raises:
            AmbiguousTokenError: If two logits are equal.
            PrecisionError: If numbers leave the range in which they are exact.
        """
        goal = len(self.output_tokens) + count
        while not self.has_ended and len(self.output_tokens) < goal:
            run = self.current
            end = (
                run.positions_read
                + min(CHUNK_POSITIONS, goal - len(self.output_tokens))
                + max(run.given_count - run.positions_read, 0)
            )
            if self.max_positions is not None:
                end = min(end, self.max_positions)
            run.run_until(end)
            self._append_output(run)
            if run.stopped_by is not None and not self.has_ended:
                if self.codec.is_stop_token(run.stopped_by):
                    self.stopped_by = run.stopped_by
                else:
                    self._next_segment(run)

    def _append_output(self, run: FastPass) -> None:
        """Append the new output of the current segment, cut off at the limits."""
        begin = run.prompt_length + self._appended
        end = run.token_count + (run.stopped_by is not None)
        codes = run.tokens.slice_codes(begin, end)
        steps = np.flatnonzero(self._is_step[codes])
        allowed = len(codes)
        if self.steps + len(steps) > self.max_steps:
            allowed = int(steps[self.max_steps - self.steps])
            self.reached_step_limit = True
        if self.max_positions is not None and begin + allowed > self.max_positions:
            allowed = max(self.max_positions - begin, 0)
            self.exceeded_context, self.reached_step_limit = True, False
        self.output_tokens.extend(codes[:allowed])
        self.steps += int(np.count_nonzero(steps < allowed))
        self._appended += allowed
        if self._appended:
            if not self.segments or begin == run.prompt_length:
                self.segments.append(0)
            self.segments[-1] = run.prompt_length + self._appended

    def _next_segment(self, run: FastPass) -> None:
        """Start the next segment on the summary that was written last."""
        codes = run.tokens.slice_codes(run.prompt_length, run.token_count + 1)
        beginnings = np.flatnonzero(self._begins[codes])
        if not len(beginnings):
            raise InputError(f"{run.stopped_by!r} ends a summary that was not started")
        run.restart(codes[beginnings[-1] :].copy())
        self._appended = 0

    def audit(self, count: int, seed: int) -> Audit:
        """Recompute random steps of all segments.

        Raises:
            TooExpensiveError: If that takes too long and was not approved.
        """
        count, mean = min(count, len(self.output_tokens)), sum(self.segments) / max(len(self.segments), 1)
        require_affordable_audit(self.engine, count, mean, int(min(count * mean, sum(self.segments))))
        steps = draw_steps(range(len(self.output_tokens)), count, seed)
        differences: list[StepDifference] = []
        scores, begin = 0, 0
        for segment, (prompt, length) in enumerate(self._structure()):
            here = steps[bisect_left(steps, begin) : bisect_left(steps, begin + length)]
            if here:
                run = self.engine.start([], all_outputs=True)
                run.replace_tokens(self._context(segment, prompt, begin, begin + length), prompt)
                more, found = recompute_steps(run, [prompt - 1 + step - begin for step in here])
                scores += more
                differences += found
            begin += length
        return Audit(steps, scores, tuple(differences), len(self.output_tokens), seed)

    def _structure(self) -> list[tuple[int, int]]:
        """For each segment, the length of its prompt and of its output; the last entry is the current segment."""
        found: list[tuple[int, int]] = []
        beginnings, prompt, at = self._flagged_indices(self._begins), len(self.first_prompt), 0
        for end in self._flagged_indices(self._ends).tolist():
            found.append((prompt, end + 1 - at))
            before = int(np.searchsorted(beginnings, end)) - 1
            prompt = end + 1 - int(beginnings[before]) if before >= 0 else 0
            at = end + 1
        return [*found, (prompt, len(self.output_tokens) - at)]

    def _flagged_indices(self, flags: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The indices of flagged tokens in the output."""
        found, before = [np.zeros(0, dtype=np.int64)], 0
        for part in self.output_tokens.code_arrays():
            found.append(np.flatnonzero(flags[part]) + before)
            before += len(part)
        return np.concatenate(found)

    def _context(self, segment: int, prompt: int, begin: int, end: int) -> NDArray[Any]:
        """The tokens of a segment: its prompt and its output."""
        output = self.output_tokens[begin:end].codes
        if segment:
            return np.concatenate([self.output_tokens[begin - prompt : begin].codes, output])
        index = self.engine.transformer.token_index
        return np.concatenate([np.array([index[token] for token in self.first_prompt], dtype=output.dtype), output])
