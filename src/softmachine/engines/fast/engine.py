"""The fast engine: analyses a decoder's weights, compiles them, and runs them; token for token the exact run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmachine.compiler.rewrites.sign_norm import replace_sign_norm
from softmachine.engines.fast import status
from softmachine.engines.fast.analysis.grids import MAX_POSITIONS, UnsupportedModel
from softmachine.engines.fast.analysis.plans import ScoredKeys
from softmachine.engines.fast.analysis.unrolled_program import UnrolledProgram, require_unrollable, unroll
from softmachine.engines.fast.bytecode.interpreter import Bytecode, encode_model, is_large
from softmachine.engines.fast.bytecode.memory import BytecodeHeap
from softmachine.engines.fast.code_cache import compile_code, define_plain, is_compiled
from softmachine.engines.fast.codegen.emitter import CodeTooLarge, GeneratedCode, emit
from softmachine.engines.fast.indexes.arrays import RunArrays
from softmachine.engines.fast.tokens import Tokens
from softmachine.ir.signal import Atom
from softmachine.support.errors import (
    AmbiguousTokenError,
    ConstructionError,
    FixHint,
    InputError,
    PrecisionError,
    SoftmachineError,
)
from softmachine.support.resources import require_memory
from softmachine.support.stored_names import earlier_head
from softmachine.support.text import pluralize
from softmachine.support.token_array import CodeArray, CodedSequence
from softmachine.transformer.weights import Transformer

CHUNK_POSITIONS = 1 << 21
"""Positions per compiled call; Ctrl-C is handled between calls."""


REHEARSAL_POSITIONS = 64
"""Positions run in plain Python first if the plan makes unproved assumptions: a wrong one then costs no compilation."""


class FastEngine:
    """A decoder, compiled for fast exact runs.

    Args:
        transformer: The weights.
        plain: Run the generated code as plain Python: slow, but available without compiling; for short runs and tests.
        tables: Interpret the weights as bytecode (True) or compile them to code of their own (False). By default large
            models are interpreted.

    Raises:
        UnsupportedModel: If some head or number is not supported; the message names it.
    """

    def __init__(self, transformer: Transformer, *, plain: bool = False, tables: bool | None = None) -> None:
        try:
            self.transformer = replace_sign_norm(transformer, "its root is not a rational number")
        except ConstructionError as problem:
            raise UnsupportedModel(problem.message) from None
        self.plain = plain
        self.general_heads: frozenset[str] = frozenset()
        self.fractional_heads: frozenset[str] = frozenset()
        self._recording: dict[tuple[Atom, ...], tuple[GeneratedCode, Callable[..., None]]] = {}
        self.code: GeneratedCode | Bytecode = self._generate(tables)
        self.identities = self.digests
        """Hashes of the model. Unlike :attr:`digests` they do not change when a run switches to a more general plan."""

    def _generate(self, tables: bool | None) -> GeneratedCode | Bytecode:
        if tables or (tables is None and is_large(self.transformer)):
            require_unrollable(self.transformer)
            return encode_model(self.transformer)
        try:
            return emit(self.program)
        except CodeTooLarge:
            return encode_model(self.transformer)

    @cached_property
    def program(self) -> UnrolledProgram:
        """The lifted program: the numbers to compute at every position."""
        return unroll(self.transformer)

    @cached_property
    def advance(self) -> Callable[..., None]:
        """The compiled step function."""
        return define_plain(self.code.text) if self.plain else compile_code(self.code.text)

    @property
    def rehearsal(self) -> Callable[..., None] | None:
        """The step function as plain Python, if it is not compiled yet and its plan makes assumptions that may fail."""
        if self.plain or "advance" in self.__dict__ or isinstance(self.code, Bytecode):
            return None
        return define_plain(self.code.text) if any(plan.assumes_integer_means for plan in self.code.plans) else None

    @property
    def is_ready(self) -> bool:
        """Whether the step function is available without compiling."""
        return self.plain or is_compiled(self.code.text)

    def recording_code(self, atoms: tuple[Atom, ...]) -> tuple[GeneratedCode, Callable[..., None]]:
        """Code that also records some atoms at every position, for models that have generated code."""
        if atoms not in self._recording:
            code = emit(self.program, self.general_heads, self.fractional_heads, atoms)
            self._recording[atoms] = code, define_plain(code.text) if self.plain else compile_code(code.text)
        return self._recording[atoms]

    def generalise_head(self, storage: int) -> None:
        """Switch a head to the general index, because an assumption of its plan failed in this run."""
        if isinstance(self.code, Bytecode):
            self.code = self.code.widen(storage)
        else:
            self.set_assumptions(self.general_heads | {self.code.storages[storage].head}, self.fractional_heads)

    def use_fractions(self, number: int) -> None:
        """Keep the means of a head as fractions, because a mean of integers was not an integer.

        Also switches all heads with the same kind of plan that retrieve the same values, whose means would fail too.
        """
        assert isinstance(self.code, GeneratedCode)
        plans = [plan for plan in self.code.plans if plan.assumes_integer_means]
        found = self.code.plans[number]
        alike = {plan.head.name for plan in plans if isinstance(plan, ScoredKeys) and plan.shares_values_with(found)}
        self.set_assumptions(self.general_heads, self.fractional_heads | {found.head.name} | alike)

    def set_assumptions(self, general_heads: frozenset[str], fractional_heads: frozenset[str]) -> None:
        """Switch some heads to the general index, and keep the means of some as fractions."""
        if (general_heads, fractional_heads) != (self.general_heads, self.fractional_heads) and isinstance(
            self.code, GeneratedCode
        ):
            try:
                self.code = emit(self.program, general_heads, fractional_heads)
            except CodeTooLarge:
                raise PrecisionError(
                    "an assumption of the plan does not hold, and the code of a more general plan would be too large",
                    hint=FixHint("use {}", engine="dense"),
                ) from None
            self.general_heads, self.fractional_heads = general_heads, fractional_heads
            self._recording.clear()
            self.__dict__.pop("advance", None)

    @property
    def digests(self) -> tuple[str, str]:
        """Hashes of everything that determines how the engine runs this model: with present and former head names."""
        text = former = self.code.text_for_digest
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
        all_outputs: bool = False,
    ) -> FastPass:
        """Start a pass that reads these tokens and then continues, or (`all_outputs`) receives its tokens later."""
        return FastPass(self, tokens, stops, all_outputs=all_outputs)

    def argmax_outputs(self, tokens: Sequence[str]) -> list[str]:
        """The argmax output at every position."""
        return FastPass(self, tokens, lambda _: True, all_outputs=True).compute_outputs()

    def start_replay(self, tokens: Tokens, count: int) -> FastPass:
        """A pass that only reads the first ``count`` tokens."""
        again = FastPass(self, [], lambda _: True, all_outputs=True)
        again.tokens, again.given_count, again.first_output = (
            tokens.read_only_prefix(count, self.code.token_classes),
            count,
            count,
        )
        again.info[:] = [0, count, status.RUNNING, -1, 0]
        return again


class FastPass:
    """A token sequence that is read and continued.

    Args:
        engine: The engine.
        prompt: The input tokens.
        stops: Whether an output ends the run.
        continuation: Tokens already known to follow the prompt.
        all_outputs: Whether the output at every input position is wanted.
    """

    def __init__(
        self,
        engine: FastEngine,
        prompt: Sequence[str],
        stops: Callable[[str], bool],
        continuation: Sequence[str] = (),
        all_outputs: bool = False,
    ) -> None:
        self.engine = engine
        transformer = engine.transformer
        index = transformer.token_index
        tokens = (*prompt, *continuation)
        strangers = [token for token in tokens if token not in index]
        if strangers:
            raise InputError(f"{strangers[0]!r} is not a token of {transformer.name!r}")
        if not tokens and not all_outputs:
            raise InputError("the prompt is empty: nothing to continue")
        self.names = (*transformer.vocabulary, *(name for name in transformer.outputs if name not in index))
        self.prompt_length = len(prompt)
        self.given_count = len(tokens)
        self.tokens = Tokens(self.names, [index[token] for token in tokens], engine.code.token_classes)
        self.next_token = np.array(
            [-1 if stops(output) else index.get(output, -2) for output in transformer.outputs], dtype=np.int64
        )
        self.outputs = np.zeros(self.given_count + 1 if all_outputs else 1, dtype=np.int64)
        self.first_output = 0 if all_outputs else self.given_count - 1
        self.info = np.array([0, self.given_count, status.RUNNING, -1, 0], dtype=np.int64)
        self.memory: RunArrays | BytecodeHeap = engine.code.memory()
        self.stopped_by: str | None = None

    @property
    def positions_read(self) -> int:
        """The number of positions computed."""
        return int(self.info[status.POSITION])

    @property
    def token_count(self) -> int:
        """The number of tokens, given or appended, without the one that stopped the run."""
        return int(self.info[status.TOKEN_COUNT])

    @property
    def size(self) -> int:
        """The memory of the run in bytes."""
        return self.memory.size + self.tokens.size(self.token_count)

    def restart(self, codes: NDArray[Any]) -> None:
        """Restart on another prompt, given as token indices."""
        self.replace_tokens(codes, len(codes))
        self.memory.reset()
        self.info[:] = [0, self.given_count, status.RUNNING, -1, 0]
        self.first_output = self.given_count - 1
        self.stopped_by = None

    def resume_from(self, tokens: Tokens, count: int) -> None:
        """Replace the tokens by the first ``count`` of these and read them again. The prompt length does not change."""
        self.tokens, self.given_count = tokens, count
        self.memory.reset()
        self.info[:] = [0, count, status.RUNNING, -1, 0]
        self.first_output = count - 1

    def replace_tokens(self, codes: NDArray[Any], prompt: int) -> None:
        """Replace the tokens; the first ``prompt`` of them are the prompt."""
        self.prompt_length, self.given_count = prompt, len(codes)
        self.tokens.assign(codes)
        self.info[status.TOKEN_COUNT] = self.given_count

    def reserve(self, positions: int) -> None:
        """Reserve capacity for this many tokens, so that they need not be moved, and for a large model's state."""
        self.tokens.reserve(positions + 1)
        if isinstance(self.memory, BytecodeHeap):
            self.memory.reserve(positions)

    def output(self, max_tokens: int) -> CodedSequence[str]:
        """The output after the prompt: at most ``max_tokens`` tokens, and the one that stopped the run."""
        end = self.token_count + (self.stopped_by is not None)
        if self.stopped_by is None:
            end = min(end, self.prompt_length + max_tokens)
        return self.tokens.names_between(self.prompt_length, end)

    @property
    def output_positions(self) -> range:
        """The positions that produced an output."""
        return range(self.prompt_length - 1, self.token_count - (self.stopped_by is None))

    def output_at(self, position: int) -> str:
        """The output produced at a position."""
        return self.names[self.tokens[position + 1]]

    def run_until(self, limit: int) -> bool:
        """Compute positions up to ``limit``; returns whether the run can continue (nothing stopped it).

        Raises:
            AmbiguousTokenError: If two logits are equal.
            PrecisionError: If numbers leave the range in which they are exact.
        """
        self.handle_status()
        while self.stopped_by is None and self.positions_read < limit:
            target = min(limit, self.positions_read + CHUNK_POSITIONS)
            if self.positions_read >= self.engine.code.max_positions:
                raise PrecisionError(
                    self._horizon_message(), hint="models that continue from summaries have short contexts"
                )
            target = min(target, self.engine.code.max_positions)
            rehearsal = self.engine.rehearsal if self.positions_read < REHEARSAL_POSITIONS else None
            if rehearsal:
                self.run_code(rehearsal, min(target, REHEARSAL_POSITIONS))
            else:
                self.run_code(self.engine.advance, target)
        return self.stopped_by is None

    def prepare(self) -> None:
        """Load or compile the machine code, computing at most a few positions whose tokens are known.

        If the plan makes unproved assumptions and too few tokens are known to test them, nothing is compiled yet.
        """
        known = min(REHEARSAL_POSITIONS, self.given_count - 1)
        if self.positions_read < known and self.engine.rehearsal:
            with suppress(SoftmachineError):  # the same error recurs in the run
                self.run_until(known)
        if self.positions_read >= REHEARSAL_POSITIONS or not self.engine.rehearsal:
            self._call(self.engine.advance, self.info.copy(), 0)

    def run_code(self, advance: Callable[..., None], target: int) -> None:
        """Compute positions up to ``target``, or until the code returns with a status, which is handled."""
        self._call(advance, self.info, target)
        self.handle_status()

    def _call(self, advance: Callable[..., None], info: NDArray[np.int64], target: int) -> None:
        memory = self.memory
        self.tokens.move_window(int(info[status.POSITION]), max(target, int(info[status.POSITION])), self.token_count)
        info[status.WINDOW_BASE] = self.tokens.base
        before = (self.tokens.window, self.outputs, memory.tables, self.next_token, info, memory.scalars)
        older = self.tokens.history
        advance(*before, target, self.first_output, older.pages, older.page_tokens, *memory.arrays)

    def compute_outputs(self) -> list[str]:
        """The outputs at all given positions."""
        self.run_until(self.given_count)
        return list(self.computed_outputs())

    def computed_outputs(self) -> CodeArray[str]:
        """The outputs at all given positions, which must have been computed."""
        codes = np.append(self.outputs[: self.given_count - 1], self.info[status.LAST_OUTPUT])[: self.given_count]
        return CodeArray(codes, self.engine.transformer.outputs)

    def _horizon_message(self) -> str:
        code = self.engine.code
        if code.proof:
            return f"softmax is proved to decide like hard attention only up to position {code.max_positions:,}"
        limit = f"{code.max_positions:,} positions" + (" (2^30)" if code.max_positions == MAX_POSITIONS else "")
        return f"a context of more than {limit} exceeds the range in which the fast engine is proved exact"

    def handle_status(self) -> None:
        """Handle the status with which the code returned: record a stop, raise, switch the plan or grow an array."""
        info = self.info
        found = int(info[status.STATUS])
        outputs = self.engine.transformer.outputs
        if found == status.STOPPED:
            stop = outputs[int(info[status.LAST_OUTPUT])]
            self.tokens.write(self.token_count, self.names.index(stop))
            self.stopped_by = stop
        elif found == status.TIE:
            names = ", ".join(repr(outputs[k]) for k in self.memory.tied_outputs()[:4])
            where = f"at position {self.positions_read} the next token is undecided among {names}"
            if self.engine.code.proof:
                raise PrecisionError(f"{where}: the logits are equal up to the error of softmax")
            raise AmbiguousTokenError(f"{where}: the logits are equal")
        elif found == status.STRANGER:
            raise InputError(
                f"{outputs[int(info[status.LAST_OUTPUT])]!r} is not a token of {self.engine.transformer.name!r}"
            )
        elif found == status.TOO_LARGE:
            raise PrecisionError(
                f"at position {self.positions_read} a number exceeds the 64-bit integers of the fast engine",
                hint=FixHint("use {}", engine="dense"),
            )
        elif found >= status.UNEVEN:
            self.engine.use_fractions(found - status.UNEVEN)
            self._restart_with_new_plans()
            info[status.STATUS] = status.RUNNING
        elif found >= status.REPLAN:
            self.engine.generalise_head(found - status.REPLAN)
            self._restart_with_new_plans()
            info[status.STATUS] = status.RUNNING
        elif found >= status.FULL:
            number = found - status.FULL
            where = f"the run stopped after {pluralize(self.token_count - self.prompt_length, 'token')}"
            require_memory(self.memory.bytes_to_grow(number), f"{where}: the state of its heads")
            self.memory.grow(number)
            info[status.STATUS] = status.RUNNING

    def _restart_with_new_plans(self) -> None:
        """Restart from position 0 with the engine's new plans, keeping the tokens."""
        self.memory = self.engine.code.memory()
        self.info[status.POSITION] = 0
        self.tokens.set_classes(self.engine.code.token_classes)
        if (
            self.outputs.size <= self.token_count
        ):  # outputs stay as they are; the output array cannot hold them a second time
            self.first_output = self.token_count - 1
