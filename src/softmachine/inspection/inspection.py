"""Inspection of a run, position by position, in exact numbers.

The numbers are those of the dense engine, the reference: hard attention in rationals, softmax in ball arithmetic, whose
intervals contain the true numbers. Only the tokens of the run are used; the output at a position is recomputed, and a
difference from the run's token is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from softmachine.engines.dense.cost_estimate import estimate_max_seconds, require_affordable_pass
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.dense.forward_pass import Pass
from softmachine.engines.numerics import find_arithmetic
from softmachine.engines.result import Run
from softmachine.inspection.activations import Activations, Logits
from softmachine.inspection.attention_patterns import AttentionPattern, PatternHook
from softmachine.inspection.contexts import Context, Contexts
from softmachine.inspection.hooks import RecordingHook
from softmachine.inspection.numbers import to_numbers
from softmachine.support.errors import DivergedError, FixHint, PrecisionError, UsageError
from softmachine.support.resources import allow_expensive
from softmachine.support.text import pluralize
from softmachine.theorems.codec import DecoderCodec
from softmachine.transformer.head_view import EnclosedNumber
from softmachine.transformer.weights import Head, Transformer

CHUNK_SIZE = 1024
"""Positions per chunk of a causal model; the scores of a chunk are held in memory."""
MAX_DENSE_SECONDS = 2.0
"""Estimated seconds of the dense engine for a context above which the fast engine computes keys and values."""


class Inspection:
    """The activations of a run.

    Positions count from 0, over the prompt and the output (of an encoder, over the prompt); negative ones from the end.
    At each position, a decoder predicts the next token.

    Args:
        run: The run.
        yes: Whether to continue even if it takes more than ten minutes or half of the free memory.

    Raises:
        UsageError: If the arithmetic of the run rounds by definition: its activations are not the exact numbers.
    """

    def __init__(self, run: Run, *, yes: bool = False) -> None:
        if find_arithmetic(run.arithmetic).is_approximate:
            raise UsageError(f"a run in {run.arithmetic} cannot be inspected: its activations are rounded, not exact")
        self.run, self.yes = run, yes
        self.contexts = Contexts(run)
        self.transformer: Transformer = run.model.weights
        self.arithmetic = choose_arithmetic(run)
        """The name of the arithmetic: "exact", or that of balls."""
        self.is_prefilled = False
        """Whether the keys and values of earlier positions come from the fast engine."""
        self._reading: tuple[int, list[str], Pass] | None = None

    def __len__(self) -> int:
        return len(self.contexts)

    def __repr__(self) -> str:
        return f"<Inspection of {self.run!r}, {pluralize(len(self), 'position')}, {self.arithmetic}>"

    @cached_property
    def engine(self) -> DenseEngine:
        """The dense engine in this arithmetic."""
        return DenseEngine(self.transformer, self.arithmetic)

    @property
    def is_bidirectional(self) -> bool:
        """Whether some head sees later positions, which must then be computed together."""
        return not all(head.mask.is_causal for head in self.transformer.heads)

    @property
    def has_soft_attention(self) -> bool:
        """Whether some head has softmax attention of scores that differ."""
        return any(not has_rational_weights(head) for head in self.transformer.heads)

    def resolve_position(self, position: int) -> int:
        """A position counted from 0.

        Raises:
            UsageError: If the run does not have it.
        """
        if not -len(self) <= position < len(self):
            raise UsageError(f"the run has the positions 0 to {len(self) - 1:,}, not {position:,}")
        return position % len(self)

    def at(self, position: int) -> Activations:
        """The activations at a position."""
        return next(self.at_positions([position]))

    def at_positions(self, positions: Iterable[int]) -> Iterator[Activations]:
        """The activations at several positions, which takes less time than one by one.

        Raises:
            DivergedError: If the model's output there differs from that of the run.
            TooExpensiveError: If it takes too long or too much memory, and ``yes`` is not given.
        """
        wanted = [self.resolve_position(position) for position in positions]
        for some in [wanted] if self.is_bidirectional else [[position] for position in wanted]:
            with allow_expensive(self.yes):
                found = self._inspect_encoder(some) if self.is_bidirectional else [self._inspect_decoder(*some)]
            yield from found

    def _inspect_encoder(self, wanted: list[int]) -> list[Activations]:
        """Several positions of an encoder: one pass over its input."""
        context = self.contexts.context_at(0)
        tokens = self.contexts.tokens_of(context)
        require_affordable_pass(self.engine, tokens, self.run.prompt.length)
        reading = self.engine.start(length=self.run.prompt.length)
        reading.hook = hook = RecordingHook(self.engine, tokens, wanted)
        stream = reading.extend([tokens])
        logits = self.engine.unembedding(stream)
        return [
            self._make_activations(position, context, hook, to_numbers(logits.value[0, position]))
            for position in wanted
        ]

    def _inspect_decoder(self, position: int) -> Activations:
        """One position of a causal model, after a pass over the positions before it."""
        context = self.contexts.context_at(position)
        place = context.local_position(position)
        tokens, reading = self._extend_pass(context, place)
        reading.hook = hook = RecordingHook(self.engine, tokens[: place + 1], [place])
        try:
            logits = self.engine.unembedding(reading.recompute(tokens, place))
        finally:
            reading.hook = None
        return self._make_activations(position, context, hook, to_numbers(logits.value[0, 0]))

    def _extend_pass(self, context: Context, place: int) -> tuple[list[str], Pass]:
        """A pass over a context up to a place; extends the last pass if it is of the same context."""
        if self._reading is None or self._reading[0] != context.segment:
            length = self.run.prompt.length
            self._reading = context.segment, self.contexts.tokens_of(context), self.engine.start(length=length)
        _, tokens, reading = self._reading
        if self._is_slow(reading, place):
            from softmachine.inspection.kv_prefill import prefill_kv_cache

            far = self.engine.start()
            if prefill_kv_cache(far, tokens[: 1 << place.bit_length()]):  # and more, for later positions
                self.is_prefilled, reading = True, far
                self._reading = context.segment, tokens, far
        if reading.tokens_read <= place:
            require_affordable_pass(self.engine, tokens[: place + 1], self.run.prompt.length)
            reading.extend([tokens[reading.tokens_read : place + 1]])
        return tokens, reading

    def _is_slow(self, reading: Pass, place: int) -> bool:
        """Whether the dense engine would take long to extend a pass up to a place, and the fast engine might not."""
        if reading.tokens_read > place or self.arithmetic != "exact" or not self.transformer.is_causal:
            return False
        return (
            estimate_max_seconds(self.engine, place, None)
            - estimate_max_seconds(self.engine, reading.tokens_read, None)
            > MAX_DENSE_SECONDS
        )

    def _make_activations(
        self, position: int, context: Context, hook: RecordingHook, logits: tuple[EnclosedNumber, ...]
    ) -> Activations:
        place, emitted = context.local_position(position), self.contexts.output_at(position)
        found = Logits(self.transformer.outputs, logits, emitted)
        if emitted is not None and found.winner is None and found.has_bounds:
            raise PrecisionError(
                f"at position {position} the precision of {self.arithmetic} does not determine the largest logit",
                hint=FixHint("run it with more bits: {}", arithmetic="ball:1024"),
            )
        if emitted is not None and found.winner != emitted:
            output = "no token (logits tie)" if found.winner is None else repr(found.winner)
            raise DivergedError(f"at position {position} the model emits {output}, but the run has {emitted!r} there")
        return Activations(
            position=position,
            local_position=place,
            segment=context.segment,
            token=self.contexts.token_at(position),
            step=self.step_at(position),
            token_step=self.step_at(position - 1) if position else None,
            tokens=hook.tokens,
            residual_streams=tuple(hook.streams[place]),
            heads=tuple(hook.heads[place]),
            logits=found,
        )

    def patterns(self, position: int = -1) -> list[AttentionPattern]:
        """The attention patterns of all heads over a context; in loops, of every iteration.

        They are computed in float64 with error bounds, and in rationals where the bounds do not determine them.

        Args:
            position: The last position of the patterns; those of an encoder cover its whole context.

        Raises:
            UsageError: If attention is softmax, which gives every position a weight.
        """
        if self.has_soft_attention:
            raise UsageError("attention is soft: heads give weights to all positions instead of choosing some")
        position = self.resolve_position(position)
        context = self.contexts.context_at(position)
        return self.patterns_of(
            self.contexts.tokens_of(context)[: None if self.is_bidirectional else context.local_position(position) + 1]
        )

    def patterns_of(self, tokens: Sequence[str]) -> list[AttentionPattern]:
        """The attention patterns of all heads over these tokens; a soft head has all visible positions."""
        with allow_expensive(self.yes):
            try:
                return self._patterns(DenseEngine(self.transformer), tokens)
            except PrecisionError:
                return self._patterns(self.engine, tokens)

    def _patterns(self, engine: DenseEngine, tokens: Sequence[str]) -> list[AttentionPattern]:
        require_affordable_pass(engine, tokens, self.run.prompt.length)
        reading = engine.start(length=self.run.prompt.length)
        reading.hook = choices = PatternHook(engine)
        piece = max(len(tokens), 1) if self.is_bidirectional else CHUNK_SIZE
        for start in range(0, len(tokens), piece):
            reading.extend([tokens[start : start + piece]])
        return list(choices.patterns.values())

    def step_at(self, position: int) -> int | None:
        """The step of the source language that is decided at a position; None if none is."""
        codec, number = self.run.model.codec, self.resolve_position(position) - len(self.run.prompt.tokens) + 1
        if not isinstance(codec, DecoderCodec) or not 0 <= number < len(self.run.tokens):
            return None
        if not codec.is_step(self.run.tokens[number]):
            return None
        return sum(map(codec.is_step, self.run.tokens[: number + 1])) - codec.has_initial_token

    def position_of_step(self, step: int) -> int:
        """The position at which a step of the source language is decided.

        Raises:
            UsageError: If the run does not have it.
        """
        codec, found = self.run.model.codec, -1
        if not isinstance(codec, DecoderCodec):
            raise UsageError("a model that answers in one pass has no steps, only positions")
        for number, token in enumerate(self.run.tokens):
            found += codec.is_step(token)
            if found + 1 - codec.has_initial_token == step and codec.is_step(token):
                return len(self.run.prompt.tokens) + number - 1
        first, last = 1 - codec.has_initial_token, found + 1 - codec.has_initial_token
        steps = f"the steps {first} to {last:,}" if last >= first else "no steps"
        raise UsageError(f"the run has {steps}, not {step:,}")


def choose_arithmetic(run: Run) -> str:
    """The arithmetic to inspect a run in: rationals, unless softmax or a layer norm has irrational values."""
    weights = run.model.weights
    if is_exact(weights):
        return "exact"
    return run.arithmetic if run.arithmetic.startswith("ball") else "ball"


def is_exact(transformer: Transformer) -> bool:
    """Whether all activations are rational: no softmax of scores that differ, no square root of a layer norm."""
    return all(map(has_rational_weights, transformer.heads)) and not transformer.first_group_normalised_unit


def has_rational_weights(head: Head) -> bool:
    """Whether a head's weights are rational: attention is hard, or all scores are equal."""
    return head.weighting.is_hard or not (head.query.bias or head.bias is not None)
