"""What RASP programs say: written apart, like the other interpreters, vector after vector; nothing of the product."""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import Any

from tests.fuzz.interpreters import Answer

NOTHING = object()
"""What is undefined."""
MOST_TURNS = 200
"""Random loops hand the largest value on; they end much sooner."""
MOST_BITS = 1 << 14
COMPARING: dict[str, Any] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
CALCULATING: dict[str, Any] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "neg": operator.neg, "abs": abs, "round": round, "int": int, "min": min, "max": max,
}  # fmt: skip


def values(program: Any, word: tuple[str, ...], *, causal: bool) -> list[Any]:
    """The output at every position."""
    meaning = dict(zip(program.alphabet, program.letters, strict=True))
    letters = [meaning[letter] for letter in word]
    seen = [list(range(i + 1 if causal else len(word))) for i in range(len(word))]
    found: list[Any] = computed(program.definitions, {}, letters, seen)[program.output]
    return found


def computed(definitions: Any, earlier: dict[str, Any], letters: list[Any], seen: list[list[int]]) -> dict[str, Any]:
    """Vectors of values, and for selectors the keys of every query; all by name."""
    known = dict(earlier)
    positions = range(len(letters))

    def keys(node: Any, test: Any) -> list[Any]:
        key, query = known[node.key], known[node.query]
        tests = [[test(key[j], query[i]) for j in seen[i]] for i in positions]
        return [NOTHING if NOTHING in row else [j for j in seen[i] if row[j]] for i, row in enumerate(tests)]

    def vector(node: Any) -> list[Any]:
        match type(node).__name__:
            case "Tokens":
                return letters
            case "Indices":
                return list(positions)
            case "Length":
                return [len(seen[i]) for i in positions]
            case "Constant":
                return [node.value for _ in positions]
            case "Apply":
                return [applied(str(node.operator), [known[name][i] for name in node.operands]) for i in positions]
            case "Table":
                return [looked_up(node.rows, [known[name][i] for name in node.operands]) for i in positions]
            case "Select":
                return keys(node, lambda key, query: applied(str(node.comparison), [key, query]))
            case "SelectPairs":
                rows = [(pair, True) for pair in node.pairs]
                return keys(node, lambda key, query: looked_up(rows, [key, query], False))
            case "SelectAll":
                return [seen[i] if node.selected else [] for i in positions]
            case "Combine":
                parts = [known[name] for name in node.selectors]
                return [joined(str(node.operator), [part[i] for part in parts], seen[i]) for i in positions]
            case "Width":
                return [NOTHING if row is NOTHING else len(row) for row in known[node.selector]]
            case "Aggregate":
                return [aggregated(node, i, known) for i in positions]
            case "Repeat":
                return ended(node, known, letters, seen)
        raise AssertionError(f"no meaning is known for {type(node).__name__}")

    for definition in definitions:
        known[definition.name] = vector(definition.node)
    return known


def ended(node: Any, known: dict[str, Any], letters: list[Any], seen: list[list[int]]) -> list[Any]:
    """A variable of a loop when no variable changes any more."""
    state = {name: known[start] for name, start in node.variables}
    for _ in range(MOST_TURNS):
        after = computed(node.body, {**known, **state}, letters, seen)
        new = {name: after[following] for name, following in zip(state, node.next_values, strict=True)}
        if all(alike(x, y) for name in state for x, y in zip(state[name], new[name], strict=True)):
            return list(state[node.result])
        state = new
    raise AssertionError("a random loop does not end")


def alike(one: Any, other: Any) -> bool:
    """Whether two values are the same; True is not 1."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def number(value: Any) -> bool:
    return isinstance(value, int | Fraction)


def whole(value: Any) -> Any:
    """A number as an integer if it is one."""
    return int(value) if Fraction(value).denominator == 1 else Fraction(value)


def looked_up(rows: Any, given: list[Any], otherwise: Any = NOTHING) -> Any:
    """The result of the row that has these values."""
    if NOTHING in given:
        return NOTHING
    return next((result for row, result in rows if all(map(alike, row, given))), otherwise)


def applied(name: str, given: list[Any]) -> Any:
    """An operation at one position."""
    if name == "if":
        then, condition, otherwise = given
        return NOTHING if not number(condition) else then if condition else otherwise
    if NOTHING in given:
        return NOTHING
    if name in COMPARING:
        if None in given:
            return NOTHING
        try:
            return COMPARING[name](*given)
        except TypeError:
            return NOTHING
    if name == "+" and all(isinstance(value, str) for value in given):
        return "".join(given)
    if not all(number(value) for value in given):
        return NOTHING
    if name in ("and", "or", "not", "indicator"):
        bits = [bool(value) for value in given]
        return {"and": all(bits), "or": any(bits), "not": not bits[0], "indicator": int(bits[0])}[name]
    if name == "^":
        return power(Fraction(given[0]), whole(given[1]))
    if name in ("/", "//", "%") and given[1] == 0:
        return NOTHING
    return whole(CALCULATING[name](*map(Fraction, given)))


def power(base: Fraction, exponent: int | Fraction) -> Any:
    """No roots, no division by 0, nothing too large to write down."""
    if exponent != int(exponent) or (base == 0 and exponent < 0):
        return NOTHING
    bits = base.numerator.bit_length() + base.denominator.bit_length()
    if abs(base) not in (0, 1) and bits * abs(int(exponent)) > MOST_BITS:
        return NOTHING
    return whole(base ** int(exponent))


def joined(name: str, rows: list[Any], seen: list[int]) -> Any:
    """Keys by several selectors."""
    if NOTHING in rows:
        return NOTHING
    joins: dict[str, Any] = {"and": all, "or": any, "not": lambda chosen: not any(chosen)}
    return [j for j in seen if joins[name](j in row for row in rows)]


def aggregated(node: Any, i: int, known: dict[str, Any]) -> Any:
    """What is at the keys that a query selects, as one value."""
    row = known[node.selector][i]
    if row is NOTHING:
        return NOTHING
    if not row:
        return known[node.default][i]
    items = [known[node.values][j] for j in row]
    if any(item is NOTHING for item in items):
        return NOTHING
    if all(alike(items[0], item) for item in items):
        return items[0]
    if not all(number(item) for item in items):
        return NOTHING
    if str(node.reduction) == "mean":
        return whole(Fraction(sum(items)) / len(items))
    best = max(items) if str(node.reduction) == "max" else min(items)
    return bool(best) if all(isinstance(item, bool) for item in items) else whole(best)


def text(value: Any) -> str:
    """A value as an answer has it."""
    if isinstance(value, tuple):
        return f"({', '.join(map(text, value))})"
    return "undefined" if value is NOTHING else str(value)


def token_of(value: Any, tokens: tuple[str, ...]) -> str:
    """The token of a value, of those that there are; of a number without one, whether it is above or below them all."""
    if value is NOTHING or text(value) in tokens:
        return text(value)
    if number(value) and text(whole(value)) in tokens:
        return text(whole(value))
    integers = [int(token) for token in tokens if token.lstrip("-").isdigit()]
    if "more" in tokens and Fraction(value).denominator == 1:
        assert not min(integers) <= value <= max(integers)
        return "more" if value > 0 else "less"
    return "other"


def answers(program: Any, word: tuple[str, ...], tokens: tuple[str, ...], *, causal: bool) -> Answer:
    """What a model with these tokens is to say."""
    found = tuple(token_of(value, tokens) for value in values(program, word, causal=causal))
    return Answer("halt", values=found)


def written(program: Any, word: tuple[str, ...], most: int) -> Answer:
    """What a program writes that feeds on its own output."""
    letters, output = list(word), list[str]()
    stopped = False
    while len(output) < most:
        value = values(program, tuple(letters), causal=True)[-1]
        meant = [
            letter for letter, meaning in zip(program.alphabet, program.letters, strict=True) if alike(value, meaning)
        ]
        if value is NOTHING or text(value) == program.stop:
            stopped = value is not NOTHING
            break
        letters.append(meant[0])
        output.append(meant[0])
    between = "" if all(len(letter) == 1 for letter in output) else " "
    return Answer("halt" if stopped else None, len(output), between.join(output))
