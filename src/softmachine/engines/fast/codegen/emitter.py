"""The emitter: generates the code of a decoder, one function that reads or appends tokens, position after position."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.fast.analysis.flow import Flow, FlowHead, Position, Unit
from softmachine.engines.fast.analysis.forms import Form
from softmachine.engines.fast.analysis.grids import HORIZON, Declined
from softmachine.engines.fast.analysis.planner import Planner
from softmachine.engines.fast.analysis.plans import (
    ByPosition,
    Dense,
    Gated,
    Groups,
    Matched,
    Parabola,
    Plan,
    Record,
    Uniform,
)
from softmachine.engines.fast.analysis.softness import Softness, Unproved, soften
from softmachine.engines.fast.codegen.head import HeadWriter
from softmachine.engines.fast.codegen.head_groups import serve_dense, serve_groups, serve_matched
from softmachine.engines.fast.codegen.head_integer import serve_gated, serve_integer
from softmachine.engines.fast.codegen.head_position import serve_position
from softmachine.engines.fast.codegen.head_running import serve_record, serve_uniform
from softmachine.engines.fast.codegen.logits import Tail, tail_of
from softmachine.engines.fast.codegen.module import assembled, decision, recorded, stored_text
from softmachine.engines.fast.indexes.arrays import Memory, Storage
from softmachine.support.text import many

MOST_LINES, MOST_CHARACTERS = 5_000, 80_000
"""Limits on the size of the code; compiling more would take minutes."""


class TooLong(Exception):  # noqa: N818  (not an error: the model is interpreted)
    """The code would exceed the size limits."""


@dataclass(frozen=True)
class Emitted:
    """The code generated for a decoder, and the data it needs.

    Args:
        text: The module's text; it defines ``advance``.
        tables: [token, table], the integers that only depend on the token.
        scalars: The number of scalars kept between positions.
        storages: The growable arrays of the heads.
        tail: The last units and logits, if they are data.
        plans: The plan of every head.
        flow: The data-flow graph.
        proof: The proof that softmax decides as hard attention does, if there is softmax.
        kinds: For each token the first one that adds the same wherever a head reads the token of another position; None
            if none does.
    """

    text: str
    tables: NDArray[np.int64]
    scalars: int
    storages: tuple[Storage, ...]
    tail: Tail | None
    plans: tuple[Plan, ...]
    flow: Flow
    proof: Softness | None
    kinds: NDArray[np.int32] | None = None

    def memory(self) -> Memory:
        """Fresh memory for a run."""
        return Memory(self)

    def explanation(self) -> list[tuple[str, str, str, str]]:
        """For each head: the layer, its name, the index that serves it, and why."""
        return [(plan.head.layer, plan.head.name, plan.kind, plan.why) for plan in self.plans]

    def summary(self) -> list[str]:
        """Statements about the model as a whole."""
        numbers = many(len(self.flow.order) - len(self.plans), "number")
        tables = many(self.tables.shape[1], "table")
        lines = [f"{many(len(self.plans), 'head')}, {numbers} per position; {tables} indexed by token"]
        if self.tail:
            count = many(len(self.tail.independent), "number")
            units = many(len(self.tail.units), "unit")
            lines.append(f"the last {units} and the logits are {self.tail.memory} of {count}")
        if self.proof:
            lines.append(
                f"softmax decides like hard attention: up to {self.horizon:,} positions the error of a logit is at "
                f"most {self.proof.doubt:.1e}, and different logits differ by at least {self.proof.margin:g}"
            )
        else:
            lines.append(f"exact for runs up to {self.horizon:,} positions; an overflow stops the run")
        return lines

    @property
    def stored_text(self) -> str:
        """The text as hashed in checkpoints."""
        return stored_text(self.text)

    @property
    def data(self) -> tuple[NDArray[np.int64], ...]:
        """All tables."""
        return (self.tables, *(self.tail.data if self.tail else ()))

    @property
    def horizon(self) -> int:
        """Maximum context length; up to it runs are exact, longer ones stop."""
        return self.proof.positions if self.proof else HORIZON


def emit(flow: Flow, general: Iterable[str] = (), uneven: Iterable[str] = (), record: Sequence[int] = ()) -> Emitted:
    """Generate the code of a data-flow graph.

    Args:
        flow: The graph.
        general: The names of heads that have to use the general index.
        uneven: The names of heads whose means are kept as fractions.
        record: Atoms whose numerator and denominator are recorded at every position, for audits.

    Raises:
        Declined: If a head or a number is not supported, or a softmax is not proved to decide as hard attention does.
        TooLong: If the code would take too long to compile.
    """
    planner, proof = _make_plans(flow, frozenset(general), frozenset(uneven))
    writer = HeadWriter(planner.numbers)
    tail = tail_of(flow, planner.numbers)
    for item in flow.order:
        if isinstance(item, FlowHead):
            _emit_head(writer, planner.plans[item])
            writer.heads += 1
        elif tail is None or item not in tail.units:
            _emit_unit(writer, item)
    writer.settle()
    body, writer.lines = writer.lines, []
    decision(writer, flow, tail)
    writer.settle()
    writer.tabulate()
    plans = tuple(planner.plans[item] for item in flow.order if isinstance(item, FlowHead))
    text = assembled(writer, body, writer.lines, tail, recorded(writer, record), plans)
    if not record and (text.count("\n") > MOST_LINES or len(text) > MOST_CHARACTERS):
        raise TooLong
    tables = np.array(writer.tables, dtype=np.int64).reshape(len(writer.tables), flow.vocabulary).T.copy()
    kinds = _token_classes(writer.distant, flow.vocabulary)
    return Emitted(text, tables, len(writer.scalars), tuple(writer.storages), tail, plans, flow, proof, kinds)


def _token_classes(forms: Sequence[Form], vocabulary: int) -> NDArray[np.int32] | None:
    """For each token the first one for which the forms have the same token part."""
    if not forms:
        return None
    added = [tuple(form.at_token(token) for form in forms) for token in range(vocabulary)]
    first: dict[object, int] = {}
    return np.array([first.setdefault(each, token) for token, each in enumerate(added)], dtype=np.int32)


def _make_plans(flow: Flow, general: frozenset[str], uneven: frozenset[str]) -> tuple[Planner, Softness | None]:
    """The plans; for softmax, with the proof for the greatest length that has one."""
    horizon = HORIZON
    planner = Planner(flow, general, uneven)
    soft = [plan.head for plan in planner.plans.values() if not plan.head.weighting.hard and plan.kind != Uniform.kind]
    if not soft:
        return planner, None
    reason = ""
    while horizon > 1:
        try:
            proof = soften(flow, planner.numbers, planner.plans)
        except Unproved as why:
            reason = str(why)
        else:
            if proof.holds:
                return planner, proof
            reason = f"errors of {proof.doubt:.1g} might change the argmax of the logits"
        horizon //= 2
        planner = Planner(flow, general, uneven, horizon)
    raise Declined(f"softmax is not proved to decide like hard attention at any length: {reason}")


def _emit_head(writer: HeadWriter, plan: Plan) -> None:
    """Emit the code of a head."""
    name = f"h{len(writer.storages)}_{len(writer.scalars)}"
    label = f"{plan.head.layer}, {plan.head.name}".encode("unicode_escape").decode()
    writer.write(f"# {label}: {plan.kind}")
    match plan:
        case Uniform():
            serve_uniform(writer, plan, name)
        case ByPosition():
            serve_position(writer, plan, name)
        case Parabola():
            serve_integer(writer, plan, name)
        case Record():
            serve_record(writer, plan, name)
        case Gated():
            serve_gated(writer, plan, name)
        case Matched():
            serve_matched(writer, plan, name)
        case Groups():
            serve_groups(writer, plan, name)
        case Dense():
            serve_dense(writer, plan, name)


def _emit_unit(writer: HeadWriter, number: int) -> None:
    """Emit the code of a hidden unit; simple position features are expanded where they are used."""
    item = writer.numbers.flow.atoms[number]
    if isinstance(item, Position) and writer.numbers.atoms[number].grid is None:
        values = writer.feature_table(item.feature)
        writer.write(f"a{number}, a{number}d = {values}[2 * i], {values}[2 * i + 1]")
    if not isinstance(item, Unit):
        return
    linear = writer.numbers.linear([item.form])
    if linear is None:
        n, d = writer.fraction(item.form)
        if item.step:
            writer.write(f"a{number} = 1 if {n} >= 0 else 0")
        elif item.function == "identity":
            writer.write(f"a{number}, a{number}d = {n}, {d}")
        else:
            writer.write(f"a{number}, a{number}d = max({n}, 0), {d} if {n} > 0 else 1")
        return
    writer.write(f"a{number} = {writer.numerator(linear[0])}")
    if item.function != "identity":
        writer.write(f"a{number} = (1 if a{number} >= 0 else 0)" if item.step else f"a{number} = max(a{number}, 0)")
