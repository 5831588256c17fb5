"""Code for heads that only look at positions: the best one in closed form."""

from __future__ import annotations

from softmachine.engines.fast.analysis.flow import Position
from softmachine.engines.fast.analysis.plans import ByPosition, Plan
from softmachine.engines.fast.codegen.serving import Serving, Storage
from softmachine.engines.fast.codegen.writing import Place
from softmachine.transformer.attention import Choice, Mask


class PositionCode:
    """Code for heads that only look at positions: the best one in closed form.

    Args:
        serving: Where the code goes.
    """

    def __init__(self, serving: Serving) -> None:
        self.serving = serving
        self.writer = serving.writer

    def serve(self, plan: ByPosition, name: str) -> None:
        """Write the code of a head; ``name`` is the stem of its names."""
        writer = self.writer
        fetch = self._fetched(plan, name)
        last = "i" if plan.head.mask is Mask.CAUSAL else "i - 1"
        if plan.vertex is not None:
            j = writer.fresh("j")
            writer.write(f"{j} = {writer.numerator(plan.vertex)}")
            writer.write(f"{j} = min(max({j}, 0), {last})")
            self._at(plan, fetch, j)
            return
        if plan.slope is not None and plan.curve is not None:
            slope, curve = writer.numerator(plan.slope), writer.numerator(plan.curve)
            writer.write(f"slope, curve = {slope}, {curve}")
        else:
            self._scaled_fractions(plan)
        writer.doubt("abs(float(slope)) >= LIMIT / 4 or abs(float(curve)) >= LIMIT / 4")
        writer.settle()
        kind, first, final = (writer.fresh("c") for _ in range(3))
        writer.write(f"{kind}, {first}, {final} = top_of_parabola(slope, curve, {last})")
        match plan.head.weighting.choice:
            case Choice.LEFTMOST:
                self._at(plan, fetch, first)
            case Choice.RIGHTMOST:
                self._at(plan, fetch, final)
            case _:
                self._one_two_or_all(plan, fetch, name, (kind, first, final))

    def _scaled_fractions(self, plan: ByPosition) -> None:
        """Slope and curve times a positive number that makes them integers."""
        writer = self.writer
        (sn, sd), (cn, cd) = (writer.fraction(form) for form in plan.forms)
        writer.doubt(f"abs(float({sn}) * float({cd})) >= LIMIT or abs(float({cn}) * float({sd})) >= LIMIT")
        writer.write(f"slope, curve = {sn} * {cd}, {cn} * {sd}")

    def _fetched(self, plan: ByPosition, name: str) -> Storage | None:
        """Where values are kept; None if they follow from the token and the position."""
        atoms = self.writer.numbers.flow.atoms
        forms = [plan.head.value[component] for _, component in plan.results]
        known = self.writer.numbers.atoms
        if all(isinstance(atoms[n], Position) and known[n].grid for form in forms for n in form.terms):
            return None
        storage = self.serving.store("rows", name, plan)
        self.writer.fail(f"{name}_rows.size < s * {storage.width}", f"FULL + {len(self.serving.storages) - 1}")
        for k, part in enumerate(self.serving.values(plan)):
            self.writer.write(f"{name}_rows[i * {storage.width} + {k}] = {part}")
        return storage

    def _look(self, plan: Plan, fetch: Storage | None, j: str) -> list[str]:
        """The integers that the values at a position are kept as."""
        if fetch is not None:
            return [f"{fetch.name}_rows[{j} * {fetch.width} + {k}]" for k in range(fetch.width)]
        place = Place(self.writer.fresh("j"), self.writer.fresh("s"), self.writer.fresh("b"))
        self.writer.write(f"{place.index}, {place.next} = {j}, {j} + 1")
        self.writer.write(f"{place.base} = np.int64(tokens[{j}]) * WIDTH")
        return self.serving.values(plan, place)

    def _at(self, plan: ByPosition, fetch: Storage | None, j: str) -> None:
        """Name the values at one position; 0 if it is -1."""
        writer = self.writer
        at = writer.fresh("j")
        writer.write(f"{at} = {j}")
        if plan.head.mask is Mask.CAUSAL:
            found = self._look(plan, fetch, at)
        else:
            writer.write(f"seen = {at} >= 0")
            writer.write(f"{at} = max({at}, 0)")
            blank = [0 if plan.whole or not k % 2 else 1 for k in range(2 * len(plan.results))]
            parts = self._look(plan, fetch, at)
            found = [f"({part} if seen else {none})" for part, none in zip(parts, blank, strict=False)]
        self.serving.name_found(plan, found)

    def _one_two_or_all(self, plan: ByPosition, fetch: Storage | None, name: str, places: tuple[str, str, str]) -> None:
        writer, (kind, first, final) = self.writer, places
        fractions = not plan.whole
        totals = self._totals(plan, name)
        found = [writer.fresh("r") for _ in totals]
        blank = ["1" if fractions and k % 2 else "0" for k in range(len(found))]
        writer.write(f"count, {', '.join(found)} = 1, {', '.join(blank)}")
        writer.write(f"if {kind} == EVERY:")
        seen = "s" if plan.head.mask is Mask.CAUSAL else "i"
        writer.write(f"    count, {', '.join(found)} = {seen}, {', '.join(totals)}")
        writer.write(f"elif {kind} != NOBODY:")
        writer.indent += 1
        one = self._look(plan, fetch, first)
        writer.write(f"count, {', '.join(found)} = 1, {', '.join(one)}")
        writer.indent -= 1
        writer.write(f"if {kind} == TWO:")
        writer.indent += 1
        writer.write("count = 2")
        other = self._look(plan, fetch, final)
        for k in range(0, len(found), 2 if fractions else 1):
            if fractions:
                pair = f"{found[k]}, {found[k + 1]}"
                writer.write(f"{pair}, bad = added({pair}, {other[k]}, {other[k + 1]})")
                writer.doubt("bad")
            else:
                writer.doubt(f"abs(float({found[k]})) + abs(float({other[k]})) >= LIMIT")
                writer.write(f"{found[k]} += {other[k]}")
        writer.indent -= 1
        self.serving.name_found(plan, found, "count")

    def _totals(self, plan: Plan, name: str) -> list[str]:
        """The sums of all visible values, as they are kept."""
        writer, totals = self.writer, []
        causal, fractions, parts = plan.head.mask is Mask.CAUSAL, not plan.whole, self.serving.values(plan)
        for k in range(0, len(parts), 2 if fractions else 1):
            stem = f"{name}_t{k}"
            if fractions:
                n, d = writer.fresh("m"), writer.fresh("m")
                self.serving.scalar(f"{stem}_n", n)
                self.serving.scalar(f"{stem}_d", d)
                old = f"({stem}_d if {stem}_d else 1)"
                writer.write(f"{n}, {d}, bad = added({stem}_n, {old}, {parts[k]}, {parts[k + 1]})")
                writer.doubt("bad")
                totals += [n, d] if causal else [f"{stem}_n", old]
            else:
                new = writer.fresh("m")
                self.serving.scalar(stem, new)
                writer.doubt(f"abs(float({stem})) + abs(float({parts[k]})) >= LIMIT")
                writer.write(f"{new} = {stem} + {parts[k]}")
                totals.append(new if causal else stem)
        return totals
