"""A run that can be looked into, position by position, in exact numbers.

The numbers are those of the dense engine, the referee: hard attention in rationals, softmax in balls, in which the true
numbers certainly are. Nothing is replayed from the run but its tokens; what the model says at a position is computed
again, and is an error if the run has another token there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from softmachine.engines.dense.effort import allow_pass, longest
from softmachine.engines.dense.engine import DenseEngine, Pass
from softmachine.engines.numerics import arithmetic
from softmachine.engines.result import Run
from softmachine.inspection.choices import Choices, Pattern
from softmachine.inspection.contexts import Context, Contexts
from softmachine.inspection.moment import Logits, Moment
from softmachine.inspection.numbers import numbers
from softmachine.inspection.watching import Notebook
from softmachine.support.errors import PartedError, PrecisionError, Remedy, UsageError
from softmachine.support.estimates import consent
from softmachine.support.text import many
from softmachine.theorems.codec import DecoderCodec
from softmachine.transformer.sight import Number
from softmachine.transformer.weights import Head, Transformer

PIECE = 1024
"""So many positions are read at a time, where the model looks back: scores take memory."""
PATIENCE = 2.0
"""Where reading a context may take more seconds, the fast engine is asked."""


class Inspection:
    """A run, from the inside.

    Positions count from 0, over the prompt and all that was said (of an encoder, over the prompt); negative ones from
    the end. A decoder says at each position what comes next.

    Args:
        run: The run.
        yes: Whether to go on, even if it takes more than ten minutes or half of the free memory.

    Raises:
        UsageError: If the run is of an arithmetic that rounds by definition: exact numbers are not its own.
    """

    def __init__(self, run: Run, *, yes: bool = False) -> None:
        if arithmetic(run.arithmetic).rounds:
            raise UsageError(f"a run in {run.arithmetic} is the rounded one; exact numbers would be those of another")
        self.run, self.yes = run, yes
        self.contexts = Contexts(run)
        self.transformer: Transformer = run.model.weights
        self.arithmetic = arithmetic_for(run)
        """The name of the arithmetic: "exact", or balls."""
        self.adopted = False
        """Whether what is known of earlier positions comes from the fast engine."""
        self._reading: tuple[int, list[str], Pass] | None = None

    def __len__(self) -> int:
        return len(self.contexts)

    def __repr__(self) -> str:
        return f"<Inspection of {self.run!r}, {many(len(self), 'position')}, {self.arithmetic}>"

    @cached_property
    def engine(self) -> DenseEngine:
        """What computes it."""
        return DenseEngine(self.transformer, self.arithmetic)

    @property
    def looks_ahead(self) -> bool:
        """Whether heads look ahead, so that a position cannot be computed without those after it."""
        return not all(head.mask.causal for head in self.transformer.heads)

    @property
    def soft(self) -> bool:
        """Whether some head gives weights that are not a matter of the best scores alone."""
        return any(not uniform_or_hard(head) for head in self.transformer.heads)

    def index(self, position: int) -> int:
        """A position counted from 0.

        Raises:
            UsageError: If there is none.
        """
        if not -len(self) <= position < len(self):
            raise UsageError(f"the run has the positions 0 to {len(self) - 1:,}, not {position:,}")
        return position % len(self)

    def at(self, position: int) -> Moment:
        """All that the model computed at a position."""
        return next(self.moments([position]))

    def moments(self, positions: Iterable[int]) -> Iterator[Moment]:
        """The same for several positions, which takes less time than one by one.

        Raises:
            PartedError: If the model does not say there what the run has.
            EffortError: If it takes too long, or too much memory, and nobody said yes.
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
        reading.watcher = notebook = Notebook(self.engine, tokens, wanted)
        stream = reading.extend([tokens])
        logits = self.engine.unembedding(stream)
        return [self._moment(position, context, notebook, numbers(logits.value[0, position])) for position in wanted]

    def _alone(self, position: int) -> Moment:
        """One position, after those that it sees were read."""
        context = self.contexts.of(position)
        place = context.place(position)
        tokens, reading = self._read(context, place)
        reading.watcher = notebook = Notebook(self.engine, tokens[: place + 1], [place])
        try:
            logits = self.engine.unembedding(reading.again(tokens, place))
        finally:
            reading.watcher = None
        return self._moment(position, context, notebook, numbers(logits.value[0, 0]))

    def _read(self, context: Context, place: int) -> tuple[list[str], Pass]:
        """A pass that has read a context up to a place; what was read before is not read again."""
        if self._reading is None or self._reading[0] != context.segment:
            length = self.run.prompt.length
            self._reading = context.segment, self.contexts.tokens(context), self.engine.start(length=length)
        _, tokens, reading = self._reading
        if self._takes_long(reading, place):
            from softmachine.inspection.prefix import adopt_prefix

            far = self.engine.start()
            if adopt_prefix(far, tokens[: 1 << place.bit_length()]):  # and some more, for who goes on from there
                self.adopted, reading = True, far
                self._reading = context.segment, tokens, far
        if reading.read <= place:
            allow_pass(self.engine, tokens[: place + 1], self.run.prompt.length)
            reading.extend([tokens[reading.read : place + 1]])
        return tokens, reading

    def _takes_long(self, reading: Pass, place: int) -> bool:
        """Whether the dense engine would take long to read on up to a position, and others may know it."""
        if reading.read > place or self.arithmetic != "exact" or not self.transformer.causal:
            return False
        return longest(self.engine, place, None) - longest(self.engine, reading.read, None) > PATIENCE

    def _moment(self, position: int, context: Context, notebook: Notebook, logits: tuple[Number, ...]) -> Moment:
        place, said = context.place(position), self.contexts.said(position)
        found = Logits(self.transformer.outputs, logits, said)
        if said is not None and found.winner is None and found.bounded:
            raise PrecisionError(
                f"at position {position} the bits of {self.arithmetic} do not tell which logit is the largest",
                hint=Remedy("run it with more: {}", arithmetic="ball:1024"),
            )
        if said is not None and found.winner != said:
            says = "nothing: logits tie" if found.winner is None else repr(found.winner)
            raise PartedError(f"at position {position} the model says {says}, but the run has {said!r} there")
        return Moment(
            position=position,
            place=place,
            segment=context.segment,
            token=self.contexts.token(position),
            step=self.step_of(position),
            tokens=notebook.tokens,
            streams=tuple(notebook.streams[place]),
            heads=tuple(notebook.heads[place]),
            logits=found,
        )

    def patterns(self, position: int = -1) -> list[Pattern]:
        """What every head chose at all positions of a context, up to a position; in loops, in every turn.

        It is decided in float64 with error bounds, where what is chosen is certain, and else in rationals.

        Args:
            position: A position of the context, up to which (of an encoder: all of which) is told.

        Raises:
            UsageError: If attention is soft: every position has a weight then.
        """
        if self.soft:
            raise UsageError("attention is soft: heads choose nothing, but give all positions weights")
        position = self.index(position)
        context = self.contexts.of(position)
        return self.chosen(self.contexts.tokens(context)[: None if self.looks_ahead else context.place(position) + 1])

    def chosen(self, tokens: Sequence[str]) -> list[Pattern]:
        """What every head chose at all positions of these tokens; of a soft head, all that it saw."""
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
            UsageError: If there is none.
        """
        codec, found = self.run.model.codec, -1
        if not isinstance(codec, DecoderCodec):
            raise UsageError("a model that answers at once has no steps, only positions")
        for number, token in enumerate(self.run.tokens):
            found += codec.is_step(token)
            if found + 1 - codec.announces == step and codec.is_step(token):
                return len(self.run.prompt.tokens) + number - 1
        first, last = 1 - codec.announces, found + 1 - codec.announces
        steps = f"the steps {first} to {last:,}" if last >= first else "no steps"
        raise UsageError(f"the run has {steps}, not {step:,}")


def arithmetic_for(run: Run) -> str:
    """The arithmetic to look into a run in: rationals, unless softmax or a layer norm has no rational value."""
    weights = run.model.weights
    if is_exact(weights):
        return "exact"
    return run.arithmetic if run.arithmetic.startswith("ball") else "ball"


def is_exact(transformer: Transformer) -> bool:
    """Whether all numbers are rational: no softmax of scores that differ, no root of a layer norm."""
    return all(map(uniform_or_hard, transformer.heads)) and not transformer.rooted


def uniform_or_hard(head: Head) -> bool:
    """Whether a head's weights are rational: attention is hard, or all scores are equal."""
    return head.weighting.hard or not (head.query.bias or head.bias is not None)
