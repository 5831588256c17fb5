"""Audits: random steps of a long run, recomputed with every score, in exact rational arithmetic.

For a step at position p, every head compares every key (no index, no closed form), every unit and every logit is
recomputed from the lifted weights in rationals, and the token has to be the same. Keys and values before p are computed
from the run's numbers at these positions, which are other steps and may be drawn as well.

All steps are recomputed together, head after head: one pass over the run for heads that do not depend on each other.
Memory is that of the run and of one block of keys.

The numbers at earlier positions come from a replay: the tokens of the run are read again, and some of its numbers are
recorded, position by position. Inspections of long runs use it, too.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.fast.analysis.unrolled_program import UnrolledHead, UnrolledProgram
from softmachine.engines.fast.bytecode.interpreter import Bytecode
from softmachine.engines.fast.bytecode.memory import BytecodeHeap
from softmachine.engines.fast.codegen.emitter import GeneratedCode
from softmachine.engines.fast.exact_attention import (
    BiasColumn,
    ColumnName,
    ColumnSum,
    ExactQuery,
    HeadSearch,
    PositionBlock,
    TokenColumn,
    column_of_atom,
)
from softmachine.engines.fast.indexes.arrays import RunArrays
from softmachine.engines.fast.tokens import Tokens
from softmachine.ir.lifter import activate
from softmachine.ir.primitives import Named, Position, Unit
from softmachine.ir.signal import Affine, Atom
from softmachine.support.resources import Estimate, require_affordable
from softmachine.support.text import pluralize
from softmachine.transformer.attention import Mask

if TYPE_CHECKING:
    from softmachine.engines.fast.engine import FastEngine, FastPass


ZERO = Fraction(0)
Record = NDArray[np.int64]


def replay(engine: FastEngine, tokens: Tokens, count: int, atoms: Sequence[Atom], size: int) -> Iterator[PositionBlock]:
    """Read tokens again in blocks of ``size`` positions, recording some atoms.

    Memory is that of the run's own arrays and of one block. A block is valid until the next one is requested.

    Args:
        engine: The engine.
        tokens: The tokens.
        count: The number of tokens to read.
        atoms: Units and retrieved components.
        size: The positions per block.
    """
    records = _record_blocks(engine, tokens, count, atoms, size) if atoms else None
    places = {atom: 2 * k for k, atom in enumerate(atoms)}
    for first in range(0, count, size):
        here = tokens.slice_codes(first, min(first + size, count))
        yield PositionBlock(first, here, next(records) if records else None, places)


def _record_blocks(
    engine: FastEngine, tokens: Tokens, count: int, atoms: Sequence[Atom], size: int
) -> Iterator[Record]:
    """The numerators and denominators of the atoms, block by block."""
    record: Record = np.zeros((min(size, count), 2 * len(atoms)), dtype=np.int64)
    run, code = None, engine.code
    for start in range(0, count, size):
        stop = min(start + size, count)
        while run is None or run.positions_read < stop:
            if run is None or code is not engine.code:  # the plan changed: restart; only the last block is kept
                run, code = engine.start_replay(tokens, count), engine.code
            if isinstance(code, GeneratedCode):
                _run_recording_code(engine, run, atoms, record, stop)
            else:
                _record_position(engine, run, code, atoms, record)
        yield record[: stop - start]


def _run_recording_code(engine: FastEngine, run: FastPass, atoms: Sequence[Atom], record: Record, stop: int) -> None:
    """Read on with code that records."""
    code, advance = engine.recording_code(tuple(atoms))
    if not isinstance(run.memory, RunArrays) or run.memory.code is not code:
        run.memory = RunArrays(code, record)
    run.run_code(advance, stop)


def _record_position(engine: FastEngine, run: FastPass, code: Bytecode, atoms: Sequence[Atom], record: Record) -> None:
    """Read one position of a large model, in which every number has a register."""
    registers, here = [code.program.register_of(atom) for atom in atoms], run.positions_read
    if not (isinstance(run.memory, BytecodeHeap) and run.memory.compute_all):
        run.memory = BytecodeHeap(code, compute_all=True)
    run.run_code(engine.advance, here + 1)
    if run.positions_read == here + 1 and isinstance(run.memory, BytecodeHeap):
        record[here % len(record)] = [part for register in registers for part in run.memory.read_register(register)]


KEYS_PER_BLOCK = 1 << 16
"""Keys per block."""
PER_NUMBER, PER_SCORE, PER_POSITION, BYTES = 50e-6, 2.5e-9, 30e-9, 200
"""Seconds per recomputed number, per score, and per position replayed; bytes per recomputed number."""


@dataclass(frozen=True)
class StepDifference:
    """A step that differs when recomputed: its position, the run's token, and the correct one (None for a tie)."""

    position: int
    found: str
    expected: str | None


@dataclass(frozen=True)
class Audit:
    """The result of an audit.

    Args:
        steps: The positions of the recomputed steps.
        scores: The number of scores computed.
        differences: The steps that differ.
        positions: The number of steps of the run, from which these were drawn.
        seed: The seed of the draw.
    """

    steps: tuple[int, ...]
    scores: int
    differences: tuple[StepDifference, ...]
    positions: int
    seed: int

    @property
    def holds(self) -> bool:
        """Whether all steps agree."""
        return not self.differences

    def __str__(self) -> str:
        drawn = f"{len(self.steps):,} of {self.positions:,} steps (seed {self.seed})"
        what = f"{drawn} recomputed in exact arithmetic, {self.scores:,} scores"
        return f"{what}: {f'{len(self.differences)} differ' if self.differences else 'all agree'}"


def audit(run: FastPass, count: int, seed: int = 0) -> Audit:
    """Recompute random steps of a run.

    Raises:
        TooExpensiveError: If that takes too long and was not approved.
    """
    require_affordable_audit(run.engine, min(count, len(run.output_positions)), run.token_count, run.token_count)
    steps = draw_steps(run.output_positions, count, seed)
    return Audit(steps, *recompute_steps(run, steps), len(run.output_positions), seed)


def require_affordable_audit(engine: FastEngine, count: int, context: float, read: int) -> None:
    """Check the cost of recomputing steps. Called before they are drawn, since drawing takes memory too.

    Args:
        engine: The engine.
        count: The number of steps.
        context: The average context length of a step.
        read: The number of positions replayed.

    Raises:
        TooExpensiveError: If it takes too much time or memory and was not approved.
    """
    program = engine.program
    heads = sum(isinstance(item, UnrolledHead) for item in program.order)
    numbers = count * (len(program.order) + len(program.logits))
    seconds = numbers * PER_NUMBER + count * heads * context / 2 * PER_SCORE + heads * read * PER_POSITION
    require_affordable(
        Estimate(f"recomputing {pluralize(count, 'step')}", seconds, numbers * BYTES), hint="ask for fewer steps"
    )


def draw_steps(candidates: range, count: int, seed: int) -> tuple[int, ...]:
    """A random sample of the steps, in ascending order."""
    return tuple(sorted(random.Random(seed).sample(candidates, min(count, len(candidates)))))


def recompute_steps(run: FastPass, steps: Sequence[int]) -> tuple[int, tuple[StepDifference, ...]]:
    """Recompute the steps at some positions, in ascending order; returns the number of scores and the differences."""
    auditor = _Auditor(run, steps)
    found = zip(steps, map(run.output_at, steps), auditor.compute_outputs(), strict=True)
    return auditor.scores, tuple(StepDifference(*step) for step in found if step[1] != step[2])


@dataclass(frozen=True)
class HeadResult:
    """The result of a head at a step.

    Args:
        keys: The first of the keys it selected.
        count: The number of keys selected.
        values: The mean of their values; None for a component of numbers that the engine does not compute.
    """

    keys: Sequence[int]
    count: int
    values: Sequence[Fraction | None]


def recompute_heads(run: FastPass, steps: Sequence[int]) -> list[list[HeadResult | None]]:
    """The result of every head at some positions, in ascending order, with every score computed in rationals.

    Heads come layer by layer, those of loops once per iteration; None for a head that nothing depends on.
    """
    auditor = _Auditor(run, steps, every=True)
    auditor.compute_outputs()
    return [auditor.results_of(head) for head in auditor.program.heads]


@dataclass(frozen=True)
class _Step:
    """A step to recompute: its position, its token, and the atoms computed so far."""

    position: int
    token: int
    atoms: dict[Atom, Fraction]

    def value(self, form: Affine) -> Fraction:
        return form.at_token(self.token) + sum((w * self.atoms[atom] for atom, w in form.other_terms.items()), ZERO)


class _Auditor:
    """Some steps of a run. Heads retrieve the components that are read, or all of them if ``every``."""

    def __init__(self, run: FastPass, steps: Sequence[int], *, every: bool = False) -> None:
        self.every = every
        self.run = run
        self.program = run.engine.program
        self.steps = [_Step(position, run.tokens[position], {}) for position in steps]
        self.scores = 0
        self.queries: dict[UnrolledHead, tuple[Sequence[int], Sequence[ExactQuery]]] = {}
        """For each head that is needed, the components it retrieves, and its queries at the steps."""

    def compute_outputs(self) -> list[str | None]:
        """The model's output at each step; None if logits are equal."""
        todo: Sequence[Atom | UnrolledHead] = self.program.order if self.steps else ()
        while todo:
            todo = self._retrieve(self._compute(todo))
        return [self._argmax_output(step) for step in self.steps]

    def results_of(self, head: UnrolledHead) -> list[HeadResult | None]:
        """The results of a head at the steps."""
        if head not in self.queries:
            return [None] * len(self.steps)
        components, questions = self.queries[head]
        return [
            HeadResult(question.keys, question.count, _means(question, components, len(head.value)))
            for question in questions
        ]

    def _argmax_output(self, step: _Step) -> str | None:
        logits = [step.value(form) for form in self.program.logits]
        best = [k for k, logit in enumerate(logits) if logit == max(logits)]
        return self.run.engine.transformer.outputs[best[0]] if len(best) == 1 else None

    def _compute(self, todo: Sequence[Atom | UnrolledHead]) -> list[Atom | UnrolledHead]:
        """Compute everything that does not depend on a pending head; returns what is left."""
        left: list[Atom | UnrolledHead] = []
        for item in todo:
            if isinstance(item, UnrolledHead):
                left.append(item)
                continue
            match item[0]:
                case Position(feature=feature):
                    for step in self.steps:
                        step.atoms[item] = feature.at(step.position)
                case (Unit() | Named()) as node if not self._are_computed(node.forms):
                    left.append(item)
                case (Unit() | Named()) as node:
                    for step in self.steps:
                        value = step.value(node.forms[0])
                        step.atoms[item] = activate(node.activation, value) if isinstance(node, Unit) else value
        return left

    def _are_computed(self, forms: Sequence[Affine]) -> bool:
        return all(atom in self.steps[0].atoms for form in forms for atom in form.other_terms)

    def _retrieve(self, todo: Sequence[Atom | UnrolledHead]) -> list[Atom | UnrolledHead]:
        """Evaluate all heads whose inputs are computed; returns what is left."""
        heads = [_HeadColumns(head, self.program, every=self.every) for head in todo if isinstance(head, UnrolledHead)]
        ready = [head for head in heads if self._are_computed(head.forms)]
        assert ready or not heads, "a head depends only on earlier layers"
        searches = [HeadSearch([head.make_query(step) for step in self.steps]) for head in ready]
        recorded = {atom for head in ready for atom in head.recorded_atoms}
        atoms = sorted(recorded, key=self.program.numbers.__getitem__)
        run, count = self.run, self.steps[-1].position  # keys visible to some step besides its own
        for block in replay(run.engine, run.tokens, count, atoms, KEYS_PER_BLOCK) if ready else ():
            for search in searches:
                search.process(block)
        for head, search in zip(ready, searches, strict=True):
            for step, question in zip(self.steps, search.queries, strict=True):
                self.scores += step.position + 1
                head.add_own_key(step, question)
            self.queries[head.head] = head.components, search.queries
        done = {head.head for head in ready}
        return [item for item in todo if item not in done]


def _means(question: ExactQuery, components: Sequence[int], count: int) -> list[Fraction | None]:
    """The mean of every requested component, by its number."""
    known = dict(zip(components, _means_of(question, len(components)), strict=True))
    return [known.get(component) for component in range(count)]


def _means_of(question: ExactQuery, count: int) -> list[Fraction]:
    """The means that a query retrieves; zeros if no key is visible."""
    return [total / question.count for total in question.totals] if question.count else [ZERO] * count


class _HeadColumns:
    """A head, with its forms as sums of columns: those of the components that are read, or of all."""

    def __init__(self, head: UnrolledHead, program: UnrolledProgram, *, every: bool) -> None:
        self.head, self.program = head, program
        self.read = program.components_read(head)
        self.components = [k for k, form in enumerate(head.value) if k in self.read or (every and self._computed(form))]
        self.values = [head.value[component] for component in self.components]

    def _computed(self, form: Affine) -> bool:
        """Whether the engine computes all atoms of a form."""
        return all(atom in self.program.computed or isinstance(atom[0], Position) for atom in form.other_terms)

    @property
    def forms(self) -> list[Affine]:
        """The forms needed at the current position."""
        return [*self.head.query, *self.head.key, *self.values]

    @property
    def recorded_atoms(self) -> set[Atom]:
        """The atoms of keys and values, except position features."""
        forms = (*self.head.key, *self.values)
        return {atom for form in forms for atom in form.other_terms if not isinstance(atom[0], Position)}

    @cached_property
    def sums(self) -> tuple[list[ColumnSum], list[ColumnSum]]:
        """Keys and values."""
        return [self._sum(form) for form in self.head.key], [self._sum(form) for form in self.values]

    def _sum(self, form: Affine) -> ColumnSum:
        weights: dict[ColumnName, Fraction] = {column_of_atom(atom): w for atom, w in form.other_terms.items()}
        if form.token_terms:
            entries = [form.token_terms.get(token, ZERO) for token in range(self.program.vocabulary_size)]
            weights[TokenColumn(entries)] = Fraction(1)
        return ColumnSum(weights, form.constant)

    def make_query(self, step: _Step) -> ExactQuery:
        """The head's query at a step."""
        (keys, values), bias = self.sums, self.head.bias
        query = [step.value(form) for form in self.head.query]
        more: dict[ColumnName, Fraction] = {} if bias is None else {BiasColumn(bias, step.position): Fraction(1)}
        score = ColumnSum.combine(zip(query, keys, strict=True), more)
        return ExactQuery(step.position, score, values, self.head.weighting.kind)

    def add_own_key(self, step: _Step, question: ExactQuery) -> None:
        """Add the step's own key if the mask includes it, and store the retrieved values."""
        if self.head.mask is Mask.CAUSAL:
            pairs = zip(self.head.query, self.head.key, strict=True)
            own = sum((step.value(query) * step.value(key) for query, key in pairs), ZERO)
            if self.head.bias is not None:
                own += self.head.bias.at(step.position, step.position)
            question.update(own, [step.position], 1, lambda: [step.value(form) for form in self.values])
        for component, mean in zip(self.components, _means_of(question, len(self.components)), strict=True):
            if component in self.read:
                step.atoms[self.head, component] = mean
