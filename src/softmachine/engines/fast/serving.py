"""Code that serves a head by its plan: keep the position's key and value, find the best keys, name what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from softmachine.attention import Choice, Mask
from softmachine.engines.fast.flow import Position
from softmachine.engines.fast.forms import Form
from softmachine.engines.fast.grids import HORIZON, SAFE, Number
from softmachine.engines.fast.plans import ByPosition, Groups, Parabola, Plan, Uniform
from softmachine.engines.fast.writing import HERE, Place, Writer

CHOICES = {Choice.AVERAGE: "AVERAGE", Choice.SOFTMAX: "AVERAGE", Choice.LEFTMOST: "LEFTMOST", Choice.RIGHTMOST: "RIGHTMOST"}


@dataclass(frozen=True)
class Storage:
    """What a head keeps between positions.

    Args:
        kind: "rows" (a row a position), "table" (a parabola's), or "groups".
        name: The stem of the arrays' names.
        plan: What it is for.
        width: The integers of a row of values.
        key_width: The integers of a key.
    """

    kind: str
    name: str
    plan: Plan
    width: int
    key_width: int = 0

    @property
    def arrays(self) -> tuple[str, ...]:
        """The names of the arrays that the code is given."""
        parts = {
            "rows": ("rows",),
            "table": ("there", "values", "meta"),
            "groups": ("keys", "places", "values", "slots", "meta", "key", "value", "query", "out"),
        }[self.kind]
        return tuple(f"{self.name}_{part}" for part in parts)


class Serving:
    """Writes the code of heads, one after the other.

    Args:
        writer: Where the code goes.
    """

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.scalars: list[str] = []
        """Numbers that are kept from position to position."""
        self.commits: list[tuple[str, str]] = []
        """(scalar, expression): what they become at the end of a step."""
        self.storages: list[Storage] = []
        self.early: list[str] = []
        """Lines that come before everything else in a step: keys that only later positions see."""

    def serve(self, plan: Plan) -> None:
        """Write the code of a head."""
        name = f"h{len(self.storages)}_{len(self.scalars)}"
        self.writer.write(f"# {plan.head.layer}, {plan.head.name.encode('unicode_escape').decode()}: {plan.kind}")
        match plan:
            case Uniform():
                self._uniform(plan, name)
            case ByPosition():
                self._by_position(plan, name)
            case Parabola():
                self._parabola(plan, name)
            case Groups():
                self._groups(plan, name)

    def _scalar(self, name: str, becomes: str) -> str:
        self.scalars.append(name)
        self.commits.append((name, becomes))
        return name

    def _store(self, kind: str, name: str, plan: Plan, key_width: int = 0) -> Storage:
        width = len(plan.results) * (1 if plan.whole else 2)
        self.storages.append(Storage(kind, name, plan, width, key_width))
        return self.storages[-1]

    def _name_whole(self, number: int, expression: str) -> None:
        self.writer.write(f"a{number} = {expression}")

    def _name_fraction(self, number: int, n: str, d: str) -> None:
        self.writer.write(f"a{number}, a{number}d = lowest({n}, {d})")

    def _over(self, value: Number) -> int:
        assert value.grid is not None
        return value.grid.over

    def _value(self, form: Form, value: Number, whole: bool, place: Place = HERE) -> list[str]:
        """The integers that a value is kept as: its numerator, or that and the denominator."""
        if not whole:
            return list(self.writer.fraction(form, place))
        linear = self.writer.numbers.linear([form])
        assert linear is not None
        del value
        name = self.writer.fresh("v")
        self.writer.write(f"{name} = {self.writer.numerator(linear[0], place)}")
        return [name]

    def _values(self, plan: Plan, place: Place = HERE) -> list[str]:
        pairs = zip(plan.results, plan.values, strict=True)
        return [x for (_, c), value in pairs for x in self._value(plan.head.value[c], value, plan.whole, place)]

    # Uniform heads

    def _uniform(self, plan: Uniform, name: str) -> None:
        choice, causal = plan.head.weighting.choice, plan.head.mask is Mask.CAUSAL
        for index, ((number, component), value) in enumerate(zip(plan.results, plan.values, strict=True)):
            form, stem = plan.head.value[component], f"{name}_{index}"
            parts = self._value(form, value, value.steady)
            if choice is Choice.LEFTMOST:
                kept = [self._scalar(f"{stem}_{k}", f"{x} if i == 0 else {stem}_{k}") for k, x in enumerate(parts)]
                found = [f"({x} if i == 0 else {k})" for x, k in zip(parts, kept, strict=True)] if causal else kept
                self._name_single(number, value, found)
            elif choice is Choice.RIGHTMOST:
                kept = [self._scalar(f"{stem}_{k}", x) for k, x in enumerate(parts)] if not causal else []
                self._name_single(number, value, parts if causal else kept)
            else:
                self._mean(plan, number, value, parts, stem)

    def _name_single(self, number: int, value: Number, found: Sequence[str]) -> None:
        if value.steady:
            self._name_whole(number, found[0])
        else:
            self.writer.write(f"a{number}, a{number}d = {found[0]}, {found[1]} if {found[1]} else 1")

    def _mean(self, plan: Uniform, number: int, value: Number, parts: list[str], stem: str) -> None:
        writer = self.writer
        if value.steady:
            new = writer.fresh("m")
            self._scalar(stem, new)
            if value.size * writer.numbers.horizon >= SAFE:
                writer.fail(f"abs(float({stem})) + abs(float({parts[0]})) >= LIMIT", "TOO_LARGE")
            writer.write(f"{new} = {stem} + {parts[0]}")
            if plan.head.mask is Mask.CAUSAL:
                self._name_whole(number, new)
            else:
                self._name_fraction(number, stem, f"({self._over(value)} * i if i else 1)")
            return
        n, d = writer.fresh("m"), writer.fresh("m")
        self._scalar(f"{stem}_n", n)
        self._scalar(f"{stem}_d", d)
        writer.write(f"{n}, {d}, bad = added({stem}_n, {stem}_d if {stem}_d else 1, {parts[0]}, {parts[1]})")
        writer.fail("bad", "TOO_LARGE")
        causal = plan.head.mask is Mask.CAUSAL
        count, total = ("s", (n, d)) if causal else ("(i if i else 1)", (f"{stem}_n", f"({stem}_d if {stem}_d else 1)"))
        writer.write(f"a{number}, a{number}d, bad = times(1, {count}, {total[0]}, {total[1]})")
        writer.fail("bad", "TOO_LARGE")

    # Heads that only look at positions

    def _by_position(self, plan: ByPosition, name: str) -> None:
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
        writer.fail("abs(float(slope)) >= LIMIT / 4 or abs(float(curve)) >= LIMIT / 4", "TOO_LARGE")
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
        writer.fail(f"abs(float({sn}) * float({cd})) >= LIMIT or abs(float({cn}) * float({sd})) >= LIMIT", "TOO_LARGE")
        writer.write(f"slope, curve = {sn} * {cd}, {cn} * {sd}")

    def _fetched(self, plan: ByPosition, name: str) -> Storage | None:
        """Where values are kept; None if they follow from the token and the position."""
        atoms = self.writer.numbers.flow.atoms
        forms = [plan.head.value[component] for _, component in plan.results]
        if all(isinstance(atoms[number], Position) for form in forms for number in form.terms):
            return None
        storage = self._store("rows", name, plan)
        self.writer.fail(f"{name}_rows.size < s * {storage.width}", f"FULL + {len(self.storages) - 1}")
        for k, part in enumerate(self._values(plan)):
            self.writer.write(f"{name}_rows[i * {storage.width} + {k}] = {part}")
        return storage

    def _look(self, plan: Plan, fetch: Storage | None, j: str) -> list[str]:
        """The integers that the values at a position are kept as."""
        if fetch is not None:
            return [f"{fetch.name}_rows[{j} * {fetch.width} + {k}]" for k in range(fetch.width)]
        place = Place(self.writer.fresh("j"), self.writer.fresh("s"), self.writer.fresh("b"))
        self.writer.write(f"{place.index}, {place.next} = {j}, {j} + 1")
        self.writer.write(f"{place.base} = np.int64(tokens[{j}]) * WIDTH")
        return self._values(plan, place)

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
        self._name_found(plan, found)

    def _name_found(self, plan: Plan, found: Sequence[str], count: str = "1") -> None:
        for index, ((number, _), value, known) in enumerate(zip(plan.results, plan.values, plan.numbers, strict=True)):
            if known.grid is not None and not plan.whole:
                # Kept in lowest terms, because other components are fractions; the denominator divides the grid's.
                self._name_whole(number, f"{found[2 * index]} * ({self._over(value)} // {found[2 * index + 1]})")
            elif known.grid is not None:
                self._name_whole(number, found[index])
            elif plan.whole:
                self._name_fraction(number, found[index], f"{self._over(value)} * {count}")
            else:
                self.writer.write(
                    f"a{number}, a{number}d, bad = times(1, {count}, {found[2 * index]}, {found[2 * index + 1]})"
                )
                self.writer.fail("bad", "TOO_LARGE")

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
                writer.fail("bad", "TOO_LARGE")
            else:
                writer.fail(f"abs(float({found[k]})) + abs(float({other[k]})) >= LIMIT", "TOO_LARGE")
                writer.write(f"{found[k]} += {other[k]}")
        writer.indent -= 1
        self._name_found(plan, found, "count")

    def _totals(self, plan: Plan, name: str) -> list[str]:
        """The sums of all visible values, as they are kept."""
        writer, totals = self.writer, []
        causal, fractions, parts = plan.head.mask is Mask.CAUSAL, not plan.whole, self._values(plan)
        for k in range(0, len(parts), 2 if fractions else 1):
            stem = f"{name}_t{k}"
            if fractions:
                n, d = writer.fresh("m"), writer.fresh("m")
                self._scalar(f"{stem}_n", n)
                self._scalar(f"{stem}_d", d)
                old = f"({stem}_d if {stem}_d else 1)"
                writer.write(f"{n}, {d}, bad = added({stem}_n, {old}, {parts[k]}, {parts[k + 1]})")
                writer.fail("bad", "TOO_LARGE")
                totals += [n, d] if causal else [f"{stem}_n", old]
            else:
                new = writer.fresh("m")
                self._scalar(stem, new)
                writer.fail(f"abs(float({stem})) + abs(float({parts[k]})) >= LIMIT", "TOO_LARGE")
                writer.write(f"{new} = {stem} + {parts[k]}")
                totals.append(new if causal else stem)
        return totals

    # Heads that look up an integer

    def _parabola(self, plan: Parabola, name: str) -> None:
        writer = self.writer
        storage = self._store("table", name, plan)
        number = len(self.storages) - 1
        x, square = writer.fresh("x"), writer.fresh("x")
        writer.write(f"{x} = {writer.numerator(plan.x)}")
        writer.write(f"{square} = {writer.numerator(plan.square)}")
        parts = [x, square, *self._values(plan)]
        if plan.head.mask is Mask.CAUSAL:
            self._insert_integer(plan, storage, number, parts, "i")
        else:
            kept = [self._scalar(f"{name}_p{k}", part) for k, part in enumerate(parts)]
            after, writer.lines = writer.lines, []
            writer.write("if i > 0:")
            writer.indent += 1
            self._insert_integer(plan, storage, number, kept, "i - 1")
            writer.indent -= 1
            self.early += writer.lines
            writer.lines = after
        self._find_integer(plan, storage)

    def _insert_integer(self, plan: Parabola, storage: Storage, number: int, parts: list[str], i: str) -> None:
        writer, name, x = self.writer, storage.name, parts[0]
        writer.fail(f"abs({x}) > {HORIZON} or {parts[1]} != {x} * {x}", f"REPLAN + {number}")
        o = writer.fresh("o")
        writer.write(f"{o} = {x} - {name}_first")
        writer.write(f"if {o} < 0 or {o} >= {name}_there.size:")
        writer.write(f"    {name}_meta[3] = {x}")
        writer.write(f"    status = FULL + {number}")
        writer.write("    break")
        if not plan.later:
            writer.write(f"if {name}_there[{o}] < 0:")
            writer.indent += 1
        for k, part in enumerate(parts[2:]):
            writer.write(f"{name}_values[{o} * {storage.width} + {k}] = {part}")
        writer.write(f"{name}_there[{o}] = {i}")
        if not plan.later:
            writer.indent -= 1
        writer.write(f"if {x} < {name}_least:")
        writer.write(f"    {name}_least = {x}")
        writer.write(f"if {x} > {name}_most:")
        writer.write(f"    {name}_most = {x}")

    def _find_integer(self, plan: Parabola, storage: Storage) -> None:
        writer, name = self.writer, storage.name
        q, o = writer.fresh("q"), writer.fresh("o")
        writer.write(f"{q} = {writer.numerator(plan.vertex)}")
        past = plan.head.mask is not Mask.CAUSAL
        if past:
            writer.write("seen = i > 0")
            writer.write(f"{o} = 0")
            writer.write("if seen:")
            writer.indent += 1
        writer.write(f"{o} = {q} - {name}_first")
        writer.write(f"if {o} < 0 or {o} >= {name}_there.size or {name}_there[{o}] < 0:")
        writer.indent += 1
        writer.write(f"below, above = neighbours({name}_there, {name}_first, {name}_least, {name}_most, {q}, 1)")
        writer.write(f"{o} = below - {name}_first")
        # Of the two neighbours the nearer one, and of two as near the one that the position prefers.
        earlier = ">" if plan.later else "<"
        nearer = f"above - {q} < {q} - below"
        tied = f"above - {q} == {q} - below and {name}_there[above - {name}_first] {earlier} {name}_there[{o}]"
        writer.write(f"if above != below and ({nearer} or ({tied})):")
        writer.write(f"    {o} = above - {name}_first")
        writer.indent -= 1
        if past:
            writer.indent -= 1
        found = [f"{name}_values[{o} * {storage.width} + {k}]" for k in range(storage.width)]
        if past:
            found = [f"({part} if seen else 0)" for part in found]
        self._name_found(plan, found)

    # All other heads

    def _groups(self, plan: Groups, name: str) -> None:
        writer = self.writer
        storage = self._store("groups", name, plan, len(plan.keys) * (2 if plan.fractional else 1))
        number = len(self.storages) - 1
        keys = [x for key in plan.keys for x in self._value(key, Number(None), not plan.fractional)]
        values = self._values(plan)
        arrays = ", ".join(f"{name}_{part}" for part in ("keys", "places", "values", "slots", "meta", "key", "value"))
        if plan.head.mask is Mask.CAUSAL:
            self._insert_group(plan, name, number, (keys, values), f"insert({arrays}, i, {not plan.whole})")
        else:
            kept = [[self._scalar(f"{name}_{w}{k}", x) for k, x in enumerate(part)] for w, part in zip("kv", (keys, values), strict=True)]
            after, writer.lines = writer.lines, []
            writer.write("if i > 0:")
            writer.indent += 1
            self._insert_group(plan, name, number, (kept[0], kept[1]), f"insert({arrays}, i - 1, {not plan.whole})")
            writer.indent -= 1
            self.early += writer.lines
            writer.lines = after
        time = self._query(plan, name)
        choice = CHOICES[plan.head.weighting.choice]
        found = ", ".join(f"{name}_{part}" for part in ("keys", "places", "values", "meta", "query"))
        count = writer.fresh("c")
        writer.write(f"{count}, bad = search({found}, {time}, {choice}, {plan.fractional}, {not plan.whole}, {name}_out)")
        writer.fail("bad", "TOO_LARGE")
        out = [f"{name}_out[{k}]" for k in range(storage.width)]
        if plan.head.mask is not Mask.CAUSAL:
            blank = ["0" if plan.whole or not k % 2 else "1" for k in range(storage.width)]
            out = [f"({part} if {count} else {none})" for part, none in zip(out, blank, strict=True)]
        self._name_found(plan, out, f"max({count}, 1)")

    def _insert_group(self, plan: Groups, name: str, number: int, parts: tuple[list[str], list[str]], call: str) -> None:
        writer = self.writer
        del plan
        for which, part in zip(("key", "value"), parts, strict=True):
            for k, x in enumerate(part):
                writer.write(f"{name}_{which}[{k}] = {x}")
        full = writer.fresh("f")
        writer.write(f"{full} = {call}")
        writer.fail(f"{full} == 1", f"FULL + {number}")
        writer.fail(f"{full} == 2", "TOO_LARGE")

    def _query(self, plan: Groups, name: str) -> str:
        """Fill in the query; the coefficient of the position on the same scale."""
        writer = self.writer
        time = writer.fresh("t")
        # Keys are kept without their denominators, so each component of the query is divided by its key's.
        overs = [1] * len(plan.keys)
        if not plan.fractional:
            overs = [self._over(writer.numbers.of(key)) for key in plan.keys]
        forms = [query.scaled(Fraction(1) / over) for query, over in zip(plan.queries, overs, strict=True)]
        linear = writer.numbers.linear([*forms, plan.slope])
        if linear is not None:
            for k, part in enumerate(linear[:-1]):
                writer.write(f"{name}_query[{k}] = {writer.numerator(part)}")
            writer.write(f"{time} = {writer.numerator(linear[-1])}")
            return time
        parts = [writer.fraction(form) for form in (*forms, plan.slope)]
        common = writer.fresh("d")
        writer.write(f"{common} = 1")
        for _, d in parts:
            writer.fail(f"float({common}) * float({d}) >= LIMIT", "TOO_LARGE")
            writer.write(f"{common} = {common} // divisor({common}, {d}) * {d}")
        for n, d in parts:
            writer.fail(f"abs(float({n})) * float({common}) >= LIMIT * float({d})", "TOO_LARGE")
        for k, (n, d) in enumerate(parts[:-1]):
            writer.write(f"{name}_query[{k}] = {n} * ({common} // {d})")
        writer.write(f"{time} = {parts[-1][0]} * ({common} // {parts[-1][1]})")
        return time
