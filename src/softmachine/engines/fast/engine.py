"""The fast engine: analyses a decoder's weights, compiles them, and runs them; token for token the exact run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmachine.compiler.rewrites.sign_norm import signs_as_steps
from softmachine.engines.fast import status
from softmachine.engines.fast.analysis.flow import Flow, require_causal, unfold
from softmachine.engines.fast.analysis.grids import HORIZON, Declined
from softmachine.engines.fast.analysis.plans import Compared
from softmachine.engines.fast.bytecode.interpreter import Interpreted, is_large, tables_of
from softmachine.engines.fast.bytecode.memory import TableMemory
from softmachine.engines.fast.code_cache import compiled, is_compiled, uncompiled
from softmachine.engines.fast.codegen.emitter import Emitted, TooLong, emit
from softmachine.engines.fast.indexes.arrays import Memory
from softmachine.engines.fast.tokens import Tokens
from softmachine.support.errors import (
    AmbiguousTokenError,
    ConstructionError,
    InputError,
    PrecisionError,
    Remedy,
    SoftmachineError,
)
from softmachine.support.resources import require_memory
from softmachine.support.stored_names import earlier_head
from softmachine.support.text import many
from softmachine.support.token_array import Coded, Codes
from softmachine.transformer.weights import Transformer

CHUNK = 1 << 21
"""Positions per compiled call; Ctrl-C is handled between calls."""


REHEARSED = 64
"""Positions run in plain Python first if the plan makes unproved assumptions: a wrong one then costs no compilation."""


class FastEngine:
    """A decoder, compiled for fast exact runs.

    Args:
        transformer: The weights.
        plain: Run the generated code as plain Python: slow, but available without compiling; for short runs and tests.
        tables: Interpret the weights as bytecode (True) or compile them to code of their own (False). By default large
            models are interpreted.

    Raises:
        Declined: If some head or number is not supported; the message names it.
    """

    def __init__(self, transformer: Transformer, *, plain: bool = False, tables: bool | None = None) -> None:
        try:
            self.transformer = signs_as_steps(transformer, "its root is not a rational number")
        except ConstructionError as problem:
            raise Declined(problem.message) from None
        self.plain = plain
        self.general: frozenset[str] = frozenset()
        self.uneven: frozenset[str] = frozenset()
        self._recording: dict[tuple[int, ...], tuple[Emitted, Callable[..., None]]] = {}
        self.code: Emitted | Interpreted = self._generate(tables)
        self.identities = self.digests
        """Hashes of the model. Unlike :attr:`digests` they do not change when a run switches to a more general plan."""

    def _generate(self, tables: bool | None) -> Emitted | Interpreted:
        if tables or (tables is None and is_large(self.transformer)):
            require_causal(self.transformer)
            return tables_of(self.transformer)
        try:
            return emit(self.flow)
        except TooLong:
            return tables_of(self.transformer)

    @cached_property
    def flow(self) -> Flow:
        """The data-flow graph: what has to be computed at every position."""
        return unfold(self.transformer)

    @cached_property
    def advance(self) -> Callable[..., None]:
        """The compiled step function."""
        return uncompiled(self.code.text) if self.plain else compiled(self.code.text)

    @property
    def rehearsal(self) -> Callable[..., None] | None:
        """The step function as plain Python, if it is not compiled yet and its plan makes assumptions that may fail."""
        if self.plain or "advance" in self.__dict__ or isinstance(self.code, Interpreted):
            return None
        return uncompiled(self.code.text) if any(plan.evenly for plan in self.code.plans) else None

    @property
    def ready(self) -> bool:
        """Whether the step function is available without compiling."""
        return self.plain or is_compiled(self.code.text)

    def recording(self, atoms: tuple[int, ...]) -> tuple[Emitted, Callable[..., None]]:
        """Code that also records some atoms at every position, for models that have generated code."""
        if atoms not in self._recording:
            code = emit(self.flow, self.general, self.uneven, atoms)
            self._recording[atoms] = code, uncompiled(code.text) if self.plain else compiled(code.text)
        return self._recording[atoms]

    def replan(self, storage: int) -> None:
        """Switch a head to the general index, because an assumption of its plan failed in this run."""
        if isinstance(self.code, Interpreted):
            self.code = self.code.replanned(storage)
        else:
            self.assume_less(self.general | {self.code.storages[storage].head}, self.uneven)

    def take_fractions(self, number: int) -> None:
        """Keep the means of a head as fractions, because a mean of integers was not an integer.

        Also switches all heads with the same kind of plan that retrieve the same values, whose means would fail too.
        """
        assert isinstance(self.code, Emitted)
        plans = [plan for plan in self.code.plans if plan.evenly]
        found = self.code.plans[number]
        alike = {plan.head.name for plan in plans if isinstance(plan, Compared) and plan.retrieves(found)}
        self.assume_less(self.general, self.uneven | {found.head.name} | alike)

    def assume_less(self, general: frozenset[str], uneven: frozenset[str]) -> None:
        """Switch some heads to the general index, and keep the means of some as fractions."""
        if (general, uneven) != (self.general, self.uneven) and isinstance(self.code, Emitted):
            try:
                self.code = emit(self.flow, general, uneven)
            except TooLong:
                raise PrecisionError(
                    "an assumption of the plan does not hold, and the code of a more general plan would be too large",
                    hint=Remedy("use {}", engine="dense"),
                ) from None
            self.general, self.uneven = general, uneven
            self._recording.clear()
            self.__dict__.pop("advance", None)

    @property
    def digests(self) -> tuple[str, str]:
        """Hashes of everything that determines how the engine runs this model: with present and former head names."""
        text = former = self.code.stored_text
        for head in self.transformer.heads:
            former = former.replace(f", {head.name}: ", f", {earlier_head(head.name)}: ")
        return self._digest(text), self._digest(former)

    def _digest(self, text: str) -> str:
        transformer = self.transformer
        digest = hashlib.sha256(f"{text}\0{transformer.vocabulary}\0{transformer.outputs}".encode())
        for array in self.code.data:
            digest.update(array.tobytes())
        return digest.hexdigest()

    def start(
        self,
        tokens: Sequence[str],
        stops: Callable[[str], bool] = lambda _: False,
        *,
        listening: bool = False,
    ) -> FastPass:
        """Start a pass that reads these tokens and then continues, or (`listening`) receives its tokens later."""
        return FastPass(self, tokens, stops, answer_all=listening)

    def answers(self, tokens: Sequence[str]) -> list[str]:
        """The argmax output at every position."""
        return FastPass(self, tokens, lambda _: True, answer_all=True).answers()

    def reading(self, tokens: Tokens, count: int) -> FastPass:
        """A pass that only reads the first ``count`` tokens."""
        again = FastPass(self, [], lambda _: True, answer_all=True)
        again.tokens, again.given, again.first_answer = tokens.for_reading(count, self.code.kinds), count, count
        again.info[:] = [0, count, status.RUNNING, -1, 0]
        return again


class FastPass:
    """A token sequence that is read and continued.

    Args:
        engine: The engine.
        prompt: The input tokens.
        stops: Whether an output ends the run.
        said: Tokens already known to follow the prompt.
        answer_all: Whether the output at every input position is wanted.
    """

    def __init__(
        self,
        engine: FastEngine,
        prompt: Sequence[str],
        stops: Callable[[str], bool],
        said: Sequence[str] = (),
        answer_all: bool = False,
    ) -> None:
        self.engine = engine
        transformer = engine.transformer
        index = transformer.token_index
        tokens = (*prompt, *said)
        strangers = [token for token in tokens if token not in index]
        if strangers:
            raise InputError(f"{strangers[0]!r} is not a token of {transformer.name!r}")
        if not tokens and not answer_all:
            raise InputError("the prompt is empty: nothing to continue")
        self.names = (*transformer.vocabulary, *(name for name in transformer.outputs if name not in index))
        self.prompt = len(prompt)
        self.given = len(tokens)
        self.tokens = Tokens(self.names, [index[token] for token in tokens], engine.code.kinds)
        self.follow = np.array(
            [-1 if stops(output) else index.get(output, -2) for output in transformer.outputs], dtype=np.int64
        )
        self.said = np.zeros(self.given + 1 if answer_all else 1, dtype=np.int64)
        self.first_answer = 0 if answer_all else self.given - 1
        self.info = np.array([0, self.given, status.RUNNING, -1, 0], dtype=np.int64)
        self.memory: Memory | TableMemory = engine.code.memory()
        self.stopped_by: str | None = None

    @property
    def read(self) -> int:
        """The number of positions computed."""
        return int(self.info[status.AT])

    @property
    def known(self) -> int:
        """The number of tokens, given or appended, without the one that stopped the run."""
        return int(self.info[status.KNOWN])

    @property
    def size(self) -> int:
        """The memory of the run in bytes."""
        return self.memory.size + self.tokens.size(self.known)

    def again(self, codes: NDArray[Any]) -> None:
        """Restart on another prompt, given as token indices."""
        self.adopt(codes, len(codes))
        self.memory.forget()
        self.info[:] = [0, self.given, status.RUNNING, -1, 0]
        self.first_answer = self.given - 1
        self.stopped_by = None

    def go_on_from(self, tokens: Tokens, count: int) -> None:
        """Replace the tokens by the first ``count`` of these and read them again. The prompt length does not change."""
        self.tokens, self.given = tokens, count
        self.memory.forget()
        self.info[:] = [0, count, status.RUNNING, -1, 0]
        self.first_answer = count - 1

    def adopt(self, codes: NDArray[Any], prompt: int) -> None:
        """Replace the tokens; the first ``prompt`` of them are the prompt."""
        self.prompt, self.given = prompt, len(codes)
        self.tokens.begin_anew(codes)
        self.info[status.KNOWN] = self.given

    def reserve(self, positions: int) -> None:
        """Reserve capacity for this many tokens, so that they need not be moved, and for a large model's state."""
        self.tokens.reserve(positions + 1)
        if isinstance(self.memory, TableMemory):
            self.memory.reserve(positions)

    def said_since(self, most: int) -> Codes[str]:
        """The output after the prompt: at most ``most`` tokens, and the one that stopped the run."""
        end = self.known + (self.stopped_by is not None)
        if self.stopped_by is None:
            end = min(end, self.prompt + most)
        return self.tokens.said(self.prompt, end)

    @property
    def spoken(self) -> range:
        """The positions that produced an output."""
        return range(self.prompt - 1, self.known - (self.stopped_by is None))

    def said_at(self, position: int) -> str:
        """The output produced at a position."""
        return self.names[self.tokens[position + 1]]

    def go(self, limit: int) -> bool:
        """Compute positions up to ``limit``; returns whether the run can continue (nothing stopped it).

        Raises:
            AmbiguousTokenError: If two logits are equal.
            PrecisionError: If numbers leave the range in which they are exact.
        """
        self.settle()
        while self.stopped_by is None and self.read < limit:
            target = min(limit, self.read + CHUNK)
            if self.read >= self.engine.code.horizon:
                raise PrecisionError(
                    self._horizon_message(), hint="models that continue from summaries have short contexts"
                )
            target = min(target, self.engine.code.horizon)
            rehearsal = self.engine.rehearsal if self.read < REHEARSED else None
            if rehearsal:
                self.call(rehearsal, min(target, REHEARSED))
            else:
                self.call(self.engine.advance, target)
        return self.stopped_by is None

    def prepare(self) -> None:
        """Load or compile the machine code, computing at most a few positions whose tokens are known.

        If the plan makes unproved assumptions and too few tokens are known to test them, nothing is compiled yet.
        """
        known = min(REHEARSED, self.given - 1)
        if self.read < known and self.engine.rehearsal:
            with suppress(SoftmachineError):  # the same error recurs in the run
                self.go(known)
        if self.read >= REHEARSED or not self.engine.rehearsal:
            self._call(self.engine.advance, self.info.copy(), 0)

    def call(self, advance: Callable[..., None], target: int) -> None:
        """Compute positions up to ``target``, or until the code returns with a status, which is handled."""
        self._call(advance, self.info, target)
        self.settle()

    def _call(self, advance: Callable[..., None], info: NDArray[np.int64], target: int) -> None:
        memory = self.memory
        self.tokens.frame(int(info[status.AT]), max(target, int(info[status.AT])), self.known)
        info[status.BASE] = self.tokens.base
        before = (self.tokens.window, self.said, memory.tables, self.follow, info, memory.scalars)
        older = self.tokens.older
        advance(*before, target, self.first_answer, older.pages, older.kept, *memory.arrays)

    def answers(self) -> list[str]:
        """The outputs at all given positions."""
        self.go(self.given)
        return list(self.answered())

    def answered(self) -> Coded[str]:
        """The outputs at all given positions, which must have been computed."""
        codes = np.append(self.said[: self.given - 1], self.info[status.SAID])[: self.given]
        return Coded(codes, self.engine.transformer.outputs)

    def _horizon_message(self) -> str:
        code = self.engine.code
        if code.proof:
            return f"softmax is proved to decide like hard attention only up to position {code.horizon:,}"
        limit = f"{code.horizon:,} positions" + (" (2^30)" if code.horizon == HORIZON else "")
        return f"a context of more than {limit} exceeds the range in which the fast engine is proved exact"

    def settle(self) -> None:
        """Handle the status with which the code returned: record a stop, raise, switch the plan or grow an array."""
        info = self.info
        found = int(info[status.STATUS])
        outputs = self.engine.transformer.outputs
        if found == status.STOPPED:
            stop = outputs[int(info[status.SAID])]
            self.tokens.put(self.known, self.names.index(stop))
            self.stopped_by = stop
        elif found == status.TIE:
            names = ", ".join(repr(outputs[k]) for k in self.memory.tied()[:4])
            where = f"at position {self.read} the next token is undecided among {names}"
            if self.engine.code.proof:
                raise PrecisionError(f"{where}: the logits are equal up to the error of softmax")
            raise AmbiguousTokenError(f"{where}: the logits are equal")
        elif found == status.STRANGER:
            raise InputError(f"{outputs[int(info[status.SAID])]!r} is not a token of {self.engine.transformer.name!r}")
        elif found == status.TOO_LARGE:
            raise PrecisionError(
                f"at position {self.read} a number exceeds the 64-bit integers of the fast engine",
                hint=Remedy("use {}", engine="dense"),
            )
        elif found >= status.UNEVEN:
            self.engine.take_fractions(found - status.UNEVEN)
            self._restart_with_new_plans()
            info[status.STATUS] = status.RUNNING
        elif found >= status.REPLAN:
            self.engine.replan(found - status.REPLAN)
            self._restart_with_new_plans()
            info[status.STATUS] = status.RUNNING
        elif found >= status.FULL:
            number = found - status.FULL
            where = f"the run stopped after {many(self.known - self.prompt, 'token')}"
            require_memory(self.memory.growth(number), f"{where}: the state of its heads")
            self.memory.make_room(number)
            info[status.STATUS] = status.RUNNING

    def _restart_with_new_plans(self) -> None:
        """Restart from position 0 with the engine's new plans, keeping the tokens."""
        self.memory = self.engine.code.memory()
        self.info[status.AT] = 0
        self.tokens.ask(self.engine.code.kinds)
        if self.said.size <= self.known:  # outputs stay as they are; the output array cannot hold them a second time
            self.first_answer = self.known - 1
