"""The emitter: generates the code of a decoder, one function that reads or appends tokens, position after position."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.fast.analysis.grids import MAX_POSITIONS, UnsupportedModel
from softmachine.engines.fast.analysis.planner import Planner
from softmachine.engines.fast.analysis.plans import (
    GatedTable,
    GroupsPlan,
    IndexPlan,
    LinearScanPlan,
    MatchingPlan,
    PositionPlan,
    RunningBest,
    TablePlan,
    UniformPlan,
)
from softmachine.engines.fast.analysis.softness import NoProof, SoftmaxErrorProof, bound_softmax_error
from softmachine.engines.fast.analysis.unrolled_program import UnrolledHead, UnrolledProgram
from softmachine.engines.fast.codegen.head import HeadWriter
from softmachine.engines.fast.codegen.head_groups import emit_groups_head, emit_linear_scan_head, emit_matching_head
from softmachine.engines.fast.codegen.head_integer import emit_gated_table_head, emit_table_head
from softmachine.engines.fast.codegen.head_position import emit_position_head
from softmachine.engines.fast.codegen.head_running import emit_running_best_head, emit_uniform_head
from softmachine.engines.fast.codegen.logits import LogitCode, logit_code
from softmachine.engines.fast.codegen.module import assemble_module, emit_argmax, emit_recording, text_for_digest
from softmachine.engines.fast.indexes.arrays import RunArrays, Storage
from softmachine.ir.primitives import Named, Position, Unit
from softmachine.ir.signal import Affine, Atom
from softmachine.support.text import pluralize

MAX_LINES, MAX_CHARACTERS = 5_000, 80_000
"""Limits on the size of the code; compiling more would take minutes."""


class CodeTooLarge(Exception):  # noqa: N818  (not an error: the model is interpreted)
    """The code would exceed the size limits."""


@dataclass(frozen=True)
class GeneratedCode:
    """The code generated for a decoder, and the data it needs.

    Args:
        text: The module's text; it defines ``advance``.
        tables: [token, table], the integers that only depend on the token.
        scalars: The number of scalars kept between positions.
        storages: The growable arrays of the heads.
        logit_code: The last units and logits, if they are data.
        plans: The plan of every head.
        program: The unrolled program.
        proof: The proof that softmax decides as hard attention does, if there is softmax.
        token_classes: For each token the first one with equal entries in all tables that heads read at other
            positions; None if there are no such tables.
    """

    text: str
    tables: NDArray[np.int64]
    scalars: int
    storages: tuple[Storage, ...]
    logit_code: LogitCode | None
    plans: tuple[IndexPlan, ...]
    program: UnrolledProgram
    proof: SoftmaxErrorProof | None
    token_classes: NDArray[np.int32] | None = None

    def memory(self) -> RunArrays:
        """Fresh memory for a run."""
        return RunArrays(self)

    def explanation(self) -> list[tuple[str, str, str, str]]:
        """For each head: the layer, its name, the index that serves it, and why."""
        return [(plan.head.layer, plan.head.name, plan.kind, plan.why) for plan in self.plans]

    def summary(self) -> list[str]:
        """Statements about the model as a whole."""
        numbers = pluralize(len(self.program.order) - len(self.plans), "number")
        tables = pluralize(self.tables.shape[1], "table")
        lines = [f"{pluralize(len(self.plans), 'head')}, {numbers} per position; {tables} indexed by token"]
        if self.logit_code:
            count = pluralize(len(self.logit_code.independent), "number")
            units = pluralize(len(self.logit_code.units), "unit")
            lines.append(f"the last {units} and the logits are {self.logit_code.memo} of {count}")
        if self.proof:
            lines.append(
                f"softmax decides like hard attention: up to {self.max_positions:,} positions the error of a logit is "
                f"at "
                f"most {self.proof.logit_error:.1e}, and different logits differ by at least {self.proof.margin:g}"
            )
        else:
            lines.append(f"exact for runs up to {self.max_positions:,} positions; an overflow stops the run")
        return lines

    @property
    def text_for_digest(self) -> str:
        """The text as hashed in checkpoints."""
        return text_for_digest(self.text)

    @property
    def data(self) -> tuple[NDArray[np.int64], ...]:
        """All tables."""
        return (self.tables, *(self.logit_code.data if self.logit_code else ()))

    @property
    def max_positions(self) -> int:
        """Maximum context length; up to it runs are exact, longer ones stop."""
        return self.proof.max_positions if self.proof else MAX_POSITIONS


def emit(
    program: UnrolledProgram,
    general_heads: Iterable[str] = (),
    fractional_heads: Iterable[str] = (),
    record: Sequence[Atom] = (),
) -> GeneratedCode:
    """Generate the code of a program.

    Args:
        program: The program.
        general_heads: The names of heads that have to use the general index.
        fractional_heads: The names of heads whose means are kept as fractions.
        record: Atoms whose numerator and denominator are recorded at every position, for audits.

    Raises:
        UnsupportedModel: If a head or a number is not supported, or a softmax is not proved to decide as hard
            attention does.
        CodeTooLarge: If the code would take too long to compile.
    """
    planner, proof = _make_plans(program, frozenset(general_heads), frozenset(fractional_heads))
    writer = HeadWriter(planner.numbers)
    tail = logit_code(program, planner.numbers)
    for item in program.order:
        if isinstance(item, UnrolledHead):
            _emit_head(writer, planner.plans[item])
            writer.head_count += 1
        elif tail is None or item not in tail.units:
            _emit_unit(writer, item)
    writer.stop_on_overflow()
    body, writer.lines = writer.lines, []
    emit_argmax(writer, program, tail)
    writer.stop_on_overflow()
    writer.declare_features()
    plans = tuple(planner.plans[item] for item in program.order if isinstance(item, UnrolledHead))
    text = assemble_module(writer, body, writer.lines, tail, emit_recording(writer, record), plans)
    if not record and (text.count("\n") > MAX_LINES or len(text) > MAX_CHARACTERS):
        raise CodeTooLarge
    tables = np.array(writer.tables, dtype=np.int64).reshape(len(writer.tables), program.vocabulary_size).T.copy()
    kinds = _token_classes(writer.forms_elsewhere, program.vocabulary_size)
    return GeneratedCode(text, tables, len(writer.scalars), tuple(writer.storages), tail, plans, program, proof, kinds)


def _token_classes(forms: Sequence[Affine], vocabulary: int) -> NDArray[np.int32] | None:
    """For each token the first one for which the forms have the same token part."""
    if not forms:
        return None
    added = [tuple(form.at_token(token) for form in forms) for token in range(vocabulary)]
    first: dict[object, int] = {}
    return np.array([first.setdefault(each, token) for token, each in enumerate(added)], dtype=np.int32)


def _make_plans(
    program: UnrolledProgram, general: frozenset[str], uneven: frozenset[str]
) -> tuple[Planner, SoftmaxErrorProof | None]:
    """The plans; for softmax, with the proof for the greatest length that has one."""
    horizon = MAX_POSITIONS
    planner = Planner(program, general, uneven)
    soft = [
        plan.head
        for plan in planner.plans.values()
        if not plan.head.weighting.is_hard and plan.kind != UniformPlan.kind
    ]
    if not soft:
        return planner, None
    reason = ""
    while horizon > 1:
        try:
            proof = bound_softmax_error(program, planner.numbers, planner.plans)
        except NoProof as why:
            reason = str(why)
        else:
            if proof.holds:
                return planner, proof
            reason = f"errors of {proof.logit_error:.1g} might change the argmax of the logits"
        horizon //= 2
        planner = Planner(program, general, uneven, horizon)
    raise UnsupportedModel(f"softmax is not proved to decide like hard attention at any length: {reason}")


def _emit_head(writer: HeadWriter, plan: IndexPlan) -> None:
    """Emit the code of a head."""
    name = f"h{len(writer.storages)}_{len(writer.scalars)}"
    label = f"{plan.head.layer}, {plan.head.name}".encode("unicode_escape").decode()
    writer.write(f"# {label}: {plan.kind}")
    match plan:
        case UniformPlan():
            emit_uniform_head(writer, plan, name)
        case PositionPlan():
            emit_position_head(writer, plan, name)
        case TablePlan():
            emit_table_head(writer, plan, name)
        case RunningBest():
            emit_running_best_head(writer, plan, name)
        case GatedTable():
            emit_gated_table_head(writer, plan, name)
        case MatchingPlan():
            emit_matching_head(writer, plan, name)
        case GroupsPlan():
            emit_groups_head(writer, plan, name)
        case LinearScanPlan():
            emit_linear_scan_head(writer, plan, name)


def _emit_unit(writer: HeadWriter, atom: Atom) -> None:
    """Emit the code of a hidden unit or a shared sum; simple position features are expanded where they are used."""
    name, (node, _) = writer.name(atom), atom
    if isinstance(node, Position) and writer.numbers.atoms[atom].grid is None:
        values = writer.feature_table(node.feature)
        writer.write(f"{name}, {name}d = {values}[2 * i], {values}[2 * i + 1]")
    if not isinstance(node, Unit | Named):
        return
    activation = node.activation if isinstance(node, Unit) else None
    linear = writer.numbers.linear(node.forms)
    if linear is None:
        n, d = writer.fraction(node.forms[0])
        if activation == "step":
            writer.write(f"{name} = 1 if {n} >= 0 else 0")
        elif activation is None:
            writer.write(f"{name}, {name}d = {n}, {d}")
        else:
            writer.write(f"{name}, {name}d = max({n}, 0), {d} if {n} > 0 else 1")
        return
    writer.write(f"{name} = {writer.numerator(linear[0])}")
    if activation is not None:
        writer.write(f"{name} = (1 if {name} >= 0 else 0)" if activation == "step" else f"{name} = max({name}, 0)")
