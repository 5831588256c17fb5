"""Inspection of a run, position by position, in exact numbers.

The numbers are those of the dense engine, the reference: hard attention in rationals, softmax in ball arithmetic, whose
intervals contain the true numbers. Only the tokens of the run are used; the output at a position is recomputed, and a
difference from the run's token is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from softmachine.engines.dense.cost_estimate import allow_pass, longest
from softmachine.engines.dense.engine import DenseEngine, Pass
from softmachine.engines.numerics import arithmetic
from softmachine.engines.result import Run
from softmachine.inspection.activations import Logits, Moment
from softmachine.inspection.attention_patterns import Choices, Pattern
from softmachine.inspection.contexts import Context, Contexts
from softmachine.inspection.hooks import Notebook
from softmachine.inspection.numbers import numbers
from softmachine.support.errors import PartedError, PrecisionError, Remedy, UsageError
from softmachine.support.resources import consent
from softmachine.support.text import many
from softmachine.theorems.codec import DecoderCodec
from softmachine.transformer.head_view import Number
from softmachine.transformer.weights import Head, Transformer

PIECE = 1024
"""Positions per chunk of a causal model; the scores of a chunk are held in memory."""
PATIENCE = 2.0
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
        if arithmetic(run.arithmetic).rounds:
            raise UsageError(f"a run in {run.arithmetic} cannot be inspected: its activations are rounded, not exact")
        self.run, self.yes = run, yes
        self.contexts = Contexts(run)
        self.transformer: Transformer = run.model.weights
        self.arithmetic = arithmetic_for(run)
        """The name of the arithmetic: "exact", or that of balls."""
        self.adopted = False
        """Whether the keys and values of earlier positions come from the fast engine."""
        self._reading: tuple[int, list[str], Pass] | None = None

    def __len__(self) -> int:
        return len(self.contexts)

    def __repr__(self) -> str:
        return f"<Inspection of {self.run!r}, {many(len(self), 'position')}, {self.arithmetic}>"

    @cached_property
    def engine(self) -> DenseEngine:
        """The dense engine in this arithmetic."""
        return DenseEngine(self.transformer, self.arithmetic)

    @property
    def looks_ahead(self) -> bool:
        """Whether some head sees later positions, which must then be computed together."""
        return not all(head.mask.causal for head in self.transformer.heads)

    @property
    def soft(self) -> bool:
        """Whether some head has softmax attention of scores that differ."""
        return any(not uniform_or_hard(head) for head in self.transformer.heads)

    def index(self, position: int) -> int:
        """A position counted from 0.

        Raises:
            UsageError: If the run does not have it.
        """
        if not -len(self) <= position < len(self):
            raise UsageError(f"the run has the positions 0 to {len(self) - 1:,}, not {position:,}")
        return position % len(self)

    def at(self, position: int) -> Moment:
        """The activations at a position."""
        return next(self.moments([position]))

    def moments(self, positions: Iterable[int]) -> Iterator[Moment]:
        """The activations at several positions, which takes less time than one by one.

        Raises:
            PartedError: If the model's output there differs from that of the run.
            EffortError: If it takes too long or too much memory, and ``yes`` is not given.
        """
        wanted = [self.index(position) for position in positions]
        for some in [wanted] if self.looks_ahead else [[position] for position in wanted]:
            with consent(self.yes):
                found = self._of_one_pass(some) if self.looks_ahead else [self._alone(*some)]
            yield from found

    def _of_one_pass(self, wanted: list[int]) -> list[Moment]:
        """Several positions of an encoder: one pass over its input."""
        context = self.contexts.of(0)
        tokens = self.contexts.tokens(context)
        allow_pass(self.engine, tokens, self.run.prompt.length)
        reading = self.engine.start(length=self.run.prompt.length)
        reading.watcher = hook = Notebook(self.engine, tokens, wanted)
        stream = reading.extend([tokens])
        logits = self.engine.unembedding(stream)
        return [self._moment(position, context, hook, numbers(logits.value[0, position])) for position in wanted]

    def _alone(self, position: int) -> Moment:
        """One position of a causal model, after a pass over the positions before it."""
        context = self.contexts.of(position)
        place = context.place(position)
        tokens, reading = self._read(context, place)
        reading.watcher = hook = Notebook(self.engine, tokens[: place + 1], [place])
        try:
            logits = self.engine.unembedding(reading.again(tokens, place))
        finally:
            reading.watcher = None
        return self._moment(position, context, hook, numbers(logits.value[0, 0]))

    def _read(self, context: Context, place: int) -> tuple[list[str], Pass]:
        """A pass over a context up to a place; extends the last pass if it is of the same context."""
        if self._reading is None or self._reading[0] != context.segment:
            length = self.run.prompt.length
            self._reading = context.segment, self.contexts.tokens(context), self.engine.start(length=length)
        _, tokens, reading = self._reading
        if self._takes_long(reading, place):
            from softmachine.inspection.kv_prefill import adopt_prefix

            far = self.engine.start()
            if adopt_prefix(far, tokens[: 1 << place.bit_length()]):  # and more, for later positions
                self.adopted, reading = True, far
                self._reading = context.segment, tokens, far
        if reading.read <= place:
            allow_pass(self.engine, tokens[: place + 1], self.run.prompt.length)
            reading.extend([tokens[reading.read : place + 1]])
        return tokens, reading

    def _takes_long(self, reading: Pass, place: int) -> bool:
        """Whether the dense engine would take long to extend a pass up to a place, and the fast engine might not."""
        if reading.read > place or self.arithmetic != "exact" or not self.transformer.causal:
            return False
        return longest(self.engine, place, None) - longest(self.engine, reading.read, None) > PATIENCE

    def _moment(self, position: int, context: Context, hook: Notebook, logits: tuple[Number, ...]) -> Moment:
        place, emitted = context.place(position), self.contexts.said(position)
        found = Logits(self.transformer.outputs, logits, emitted)
        if emitted is not None and found.winner is None and found.bounded:
            raise PrecisionError(
                f"at position {position} the precision of {self.arithmetic} does not determine the largest logit",
                hint=Remedy("run it with more bits: {}", arithmetic="ball:1024"),
            )
        if emitted is not None and found.winner != emitted:
            output = "no token (logits tie)" if found.winner is None else repr(found.winner)
            raise PartedError(f"at position {position} the model emits {output}, but the run has {emitted!r} there")
        return Moment(
            position=position,
            place=place,
            segment=context.segment,
            token=self.contexts.token(position),
            step=self.step_of(position),
            tokens=hook.tokens,
            streams=tuple(hook.streams[place]),
            heads=tuple(hook.heads[place]),
            logits=found,
        )

    def patterns(self, position: int = -1) -> list[Pattern]:
        """The attention patterns of all heads over a context; in loops, of every iteration.

        They are computed in float64 with error bounds, and in rationals where the bounds do not determine them.

        Args:
            position: The last position of the patterns; those of an encoder cover its whole context.

        Raises:
            UsageError: If attention is softmax, which gives every position a weight.
        """
        if self.soft:
            raise UsageError("attention is soft: heads give weights to all positions instead of choosing some")
        position = self.index(position)
        context = self.contexts.of(position)
        return self.chosen(self.contexts.tokens(context)[: None if self.looks_ahead else context.place(position) + 1])

    def chosen(self, tokens: Sequence[str]) -> list[Pattern]:
        """The attention patterns of all heads over these tokens; a soft head has all visible positions."""
        with consent(self.yes):
            try:
                return self._patterns(DenseEngine(self.transformer), tokens)
            except PrecisionError:
                return self._patterns(self.engine, tokens)

    def _patterns(self, engine: DenseEngine, tokens: Sequence[str]) -> list[Pattern]:
        allow_pass(engine, tokens, self.run.prompt.length)
        reading = engine.start(length=self.run.prompt.length)
        reading.watcher = choices = Choices(engine)
        piece = max(len(tokens), 1) if self.looks_ahead else PIECE
        for start in range(0, len(tokens), piece):
            reading.extend([tokens[start : start + piece]])
        return list(choices.patterns.values())

    def step_of(self, position: int) -> int | None:
        """The step of the source language that is decided at a position; None if none is."""
        codec, number = self.run.model.codec, self.index(position) - len(self.run.prompt.tokens) + 1
        if not isinstance(codec, DecoderCodec) or not 0 <= number < len(self.run.tokens):
            return None
        if not codec.is_step(self.run.tokens[number]):
            return None
        return sum(map(codec.is_step, self.run.tokens[: number + 1])) - codec.announces

    def position_of(self, step: int) -> int:
        """The position at which a step of the source language is decided.

        Raises:
            UsageError: If the run does not have it.
        """
        codec, found = self.run.model.codec, -1
        if not isinstance(codec, DecoderCodec):
            raise UsageError("a model that answers in one pass has no steps, only positions")
        for number, token in enumerate(self.run.tokens):
            found += codec.is_step(token)
            if found + 1 - codec.announces == step and codec.is_step(token):
                return len(self.run.prompt.tokens) + number - 1
        first, last = 1 - codec.announces, found + 1 - codec.announces
        steps = f"the steps {first} to {last:,}" if last >= first else "no steps"
        raise UsageError(f"the run has {steps}, not {step:,}")


def arithmetic_for(run: Run) -> str:
    """The arithmetic to inspect a run in: rationals, unless softmax or a layer norm has irrational values."""
    weights = run.model.weights
    if is_exact(weights):
        return "exact"
    return run.arithmetic if run.arithmetic.startswith("ball") else "ball"


def is_exact(transformer: Transformer) -> bool:
    """Whether all activations are rational: no softmax of scores that differ, no square root of a layer norm."""
    return all(map(uniform_or_hard, transformer.heads)) and not transformer.rooted


def uniform_or_hard(head: Head) -> bool:
    """Whether a head's weights are rational: attention is hard, or all scores are equal."""
    return head.weighting.hard or not (head.query.bias or head.bias is not None)
