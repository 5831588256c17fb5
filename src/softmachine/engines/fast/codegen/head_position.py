"""Code for heads whose scores depend only on the position: the argmax in closed form."""

from __future__ import annotations

from dataclasses import dataclass

from softmachine.engines.fast.analysis.plans import IndexPlan, PositionPlan
from softmachine.engines.fast.codegen.expressions import PositionNames
from softmachine.engines.fast.codegen.head import HeadWriter, zero_unless_visible
from softmachine.engines.fast.indexes.arrays import ValueArray
from softmachine.ir.primitives import Position
from softmachine.transformer.attention import AttentionKind


def emit_position_head(writer: HeadWriter, plan: PositionPlan, name: str) -> None:
    """Emit a head whose scores depend only on the position; ``name`` is the prefix of its variables."""
    fetch = _Fetch(writer, plan, _value_array(writer, plan, name))
    last = "i" if plan.sees_itself else "i - 1"
    if plan.vertex is not None:
        j = writer.new_name("j")
        writer.write(f"{j} = {writer.numerator(plan.vertex)}")
        writer.write(f"{j} = min(max({j}, 0), {last})")
        fetch.name_at(j)
        return
    if plan.slope is not None and plan.curve is not None:
        writer.write(f"slope, curve = {writer.numerator(plan.slope)}, {writer.numerator(plan.curve)}")
    else:
        _emit_scaled_fractions(writer, plan)
    writer.flag_overflow_if("abs(float(slope)) >= LIMIT / 4 or abs(float(curve)) >= LIMIT / 4")
    writer.stop_on_overflow()
    kind, first, final = (writer.new_name("c") for _ in range(3))
    writer.write(f"{kind}, {first}, {final} = top_of_parabola(slope, curve, {last})")
    if plan.single:
        fetch.name_at(first if plan.head.weighting.kind is AttentionKind.LEFTMOST else final)
    else:
        _emit_mean_of_best(fetch, *_emit_totals(writer, plan, name), (kind, first, final))


def _emit_scaled_fractions(writer: HeadWriter, plan: PositionPlan) -> None:
    """Scale slope and curve by a positive number that makes them integers."""
    (sn, sd), (cn, cd) = (writer.fraction(form) for form in plan.forms)
    writer.flag_overflow_if(f"abs(float({sn}) * float({cd})) >= LIMIT or abs(float({cn}) * float({sd})) >= LIMIT")
    writer.write(f"slope, curve = {sn} * {cd}, {cn} * {sd}")


def _value_array(writer: HeadWriter, plan: PositionPlan, name: str) -> ValueArray | None:
    """The array of values; None if they follow from the token and the position."""
    ranges = writer.numbers.atoms
    atoms = {atom for component in plan.components for atom in plan.head.value[component].other_terms}
    if all(isinstance(atom[0], Position) and ranges[atom].grid for atom in atoms):
        return None
    storage, number = writer.declare_storage(ValueArray(name, plan.width, plan.head.name))
    writer.stop_if(f"{name}_rows.size < s * {storage.width}", f"FULL + {number}")
    for k, part in enumerate(writer.emit_values(plan)):
        writer.write(f"{name}_rows[i * {storage.width} + {k}] = {part}")
    return storage


@dataclass(frozen=True)
class _Fetch:
    """Emits the values of a head at a position, loaded from an array or recomputed."""

    writer: HeadWriter
    plan: PositionPlan
    kept: ValueArray | None

    def load(self, j: str) -> list[str]:
        """The integers of the values at a position."""
        if self.kept is not None:
            return [f"{self.kept.name}_rows[{j} * {self.kept.width} + {k}]" for k in range(self.kept.width)]
        place = PositionNames(self.writer.new_name("j"), self.writer.new_name("s"), self.writer.new_name("b"))
        self.writer.write(f"{place.index}, {place.next} = {j}, {j} + 1")
        forms = [form for c in self.plan.components if (form := self.plan.head.value[c]).token_terms]
        if forms:
            self.writer.forms_elsewhere += forms
            self.writer.write(f"{place.base} = token_at(tokens, base, pages, older, {j}) * WIDTH")
        return self.writer.emit_values(self.plan, place)

    def name_at(self, j: str) -> None:
        """Name the values at one position; 0 if it is -1."""
        at = self.writer.new_name("j")
        self.writer.write(f"{at} = {j}")
        if self.plan.sees_itself:
            found = self.load(at)
        else:
            self.writer.write(f"seen = {at} >= 0")
            self.writer.write(f"{at} = max({at}, 0)")
            found = zero_unless_visible(self.plan, self.load(at), "seen")
        self.writer.name_results(self.plan, found)


def _emit_mean_of_best(fetch: _Fetch, totals: list[str], lost: list[str], places: tuple[str, str, str]) -> None:
    """Name the mean of the values at one position, at two, or at all."""
    writer, plan, (kind, first, final) = fetch.writer, fetch.plan, places
    fractions = not plan.whole
    found = [writer.new_name("r") for _ in totals]
    blank = ["1" if fractions and k % 2 else "0" for k in range(len(found))]
    writer.write(f"count, {', '.join(found)} = 1, {', '.join(blank)}")
    writer.write(f"if {kind} == EVERY:")
    writer.write(f"    count, {', '.join(found)} = {'s' if plan.sees_itself else 'i'}, {', '.join(totals)}")
    with writer.indented(f"elif {kind} != NOBODY:"):
        one = fetch.load(first)
        writer.write(f"count, {', '.join(found)} = 1, {', '.join(one)}")
    with writer.indented(f"if {kind} == TWO:"):
        writer.write("count = 2")
        other = fetch.load(final)
        for k in range(0, len(found), 2 if fractions else 1):
            if fractions:
                pair = f"{found[k]}, {found[k + 1]}"
                writer.write(f"{pair}, bad = added({pair}, {other[k]}, {other[k + 1]})")
                writer.flag_overflow_if("bad")
            else:
                writer.flag_overflow_if(f"abs(float({found[k]})) + abs(float({other[k]})) >= LIMIT")
                writer.write(f"{found[k]} += {other[k]}")
    writer.flag_overflow_if(f"{kind} == EVERY and ({' or '.join(f'{part} != 0' for part in lost)})")
    writer.name_results(plan, found, "count")


def _emit_totals(writer: HeadWriter, plan: IndexPlan, name: str) -> tuple[list[str], list[str]]:
    """The sums of all visible values, and flags for sums that overflowed, which is harmless unless they are used.

    They are used only if all keys tie, and sums of squares of positions overflow 64 bits long before the run does.
    """
    totals, lost, fractions, parts = [], [], not plan.whole, writer.emit_values(plan)
    for k in range(0, len(parts), 2 if fractions else 1):
        stem, over = f"{name}_t{k}", writer.new_name("m")
        writer.declare_scalar(f"{stem}_lost", over)
        if fractions:
            n, d = writer.new_name("m"), writer.new_name("m")
            writer.declare_scalar(f"{stem}_n", n)
            writer.declare_scalar(f"{stem}_d", d)
            old = f"({stem}_d if {stem}_d else 1)"
            writer.write(f"{n}, {d}, bad = added({stem}_n, {old}, {parts[k]}, {parts[k + 1]})")
            writer.write(f"{over} = 1 if bad or {stem}_lost else 0")
            totals += [n, d] if plan.sees_itself else [f"{stem}_n", old]
        else:
            new = writer.new_name("m")
            writer.declare_scalar(stem, new)
            full = f"abs(float({stem})) + abs(float({parts[k]})) >= LIMIT"
            writer.write(f"{over} = 1 if {stem}_lost or {full} else 0")
            writer.write(f"{new} = 0 if {over} else {stem} + {parts[k]}")
            totals.append(new if plan.sees_itself else stem)
        lost.append(over if plan.sees_itself else f"{stem}_lost")
    return totals, lost
