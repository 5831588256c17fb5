"""What RASP costs: heads and layers of programs that grow, against the formulas of the theorem, at six sizes each."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from softmachine import api
from softmachine.languages import rasp

LETTERS = "abcdefghijkl"


def each(line: str, k: int) -> str:
    """A line for each of k letters, j the number of each and c the letter."""
    return "\n".join(line.format(j=j, c=LETTERS[j], next=j + 1) for j in range(k))


def total(term: str, k: int) -> str:
    return f"\nx = {' + '.join(term.format(j=j) for j in range(k))};"


def digits(k: int) -> str:
    """The letters as 0 to k."""
    return "{" + ", ".join(f'"{c}": {j}' for j, c in enumerate(LETTERS[: k + 1])) + "}"


WIDTH = 'w{j} = selector_width(select(tokens, "{c}", ==));'
PREVIOUS = 'y{next} = aggregate(select(indices, indices - 1, ==), y{j}, "a");'
OVER = 'aggregate({}, indicator(tokens == "{{c}}"))'
FAMILIES: dict[str, tuple[Callable[[int], str], Callable[[int], int], Callable[[int], int]]] = {
    "k widths": (lambda k: each(WIDTH, k) + total("w{j}", k), lambda k: 2 * k, lambda _: 2),
    "a width of k + 1 products": (
        lambda k: f"x = selector_width({' or '.join(f'select(indices, {j}, ==)' for j in range(k + 1))});",
        lambda k: 2 * (k + 1),
        lambda _: 2,
    ),
    "a width of a width, k times": (
        lambda k: "w0 = tokens;\n" + each("w{next} = selector_width(select(w{j}, w{j}, ==));", k) + f"\nx = w{k};",
        lambda k: 2 * k,
        lambda k: 2 * k,
    ),
    "a category of one key, k times": (
        lambda k: f"y0 = tokens;\n{each(PREVIOUS, k)}\nx = y{k};",
        lambda k: k,
        lambda k: k,
    ),
    "an integer of one key, k times": (
        lambda k: (
            "y0 = indices;\n" + each("y{next} = aggregate(select(indices, y{j}, ==), indices, 0);", k) + f"\nx = y{k};"
        ),
        lambda k: k,
        lambda k: k,
    ),
    "k categories of several keys": (
        lambda k: (
            each('y{j} = aggregate(select(tokens, "{c}", !=), tokens, "-");', k) + total('indicator(y{j} == "-")', k)
        ),
        lambda k: 2 * k,
        lambda k: k,
    ),
    "k largest integers": (
        lambda k: each('m{j} = aggregate(select(tokens, "{c}", ==), indices, 0, "max");', k) + total("m{j}", k),
        lambda k: k,
        lambda _: 1,
    ),
    "a sum of integers up to k": (
        lambda k: f"x = length * aggregate(full_s, table(tokens, {digits(k)}));",
        lambda k: 1 + k,
        lambda _: 2,
    ),
    "k choices between two integers that are no widths": (
        lambda k: each('y{j} = length - {j} if tokens == "{c}" else indices;', k) + total("y{j}", k),
        lambda k: 2 * k + 1,
        lambda _: 2,
    ),
    "k choices between two widths": (
        lambda k: (
            each(WIDTH, k + 1) + "\n" + each('y{j} = w{next} if tokens == "{c}" else w{j};', k) + total("y{j}", k)
        ),
        lambda k: 2 * (k + 1) + k,
        lambda _: 3,
    ),
    "k comparisons of two means": (
        lambda k: (
            "p = select(indices, indices, <=);\n"
            + each(f"f{{j}} = {OVER.format('p')} > {OVER.format('full_s')};", k)
            + total("indicator(f{j})", k)
        ),
        lambda k: 3 * k,
        lambda k: max(2, k),
    ),
    "k prefixes up to a width": (
        lambda k: each(WIDTH + "\nv{j} = selector_width(select(indices, w{j}, <));", k) + total("v{j}", k),
        lambda k: 4 * k + 1,
        lambda _: 4,
    ),
    "counting sort of a width, k times": (
        lambda k: (
            "w0 = selector_width(select(tokens, tokens, ==));\n"
            + each("w{next} = selector_width(select(w{j}, w{j}, <));", k)
            + f"\nx = w{k};"
        ),
        lambda k: 2 + 5 * k,
        lambda k: 2 + 5 * k,
    ),
    "a loop of k heads": (
        lambda k: f"repeat x = tokens {{\ny0 = x;\n{each(PREVIOUS, k)}\nx = y{k};\n}} until unchanged;",
        lambda k: k + 1,
        lambda k: k + 2,
    ),
    "a loop that carries an integer up to k n": (
        lambda k: f"repeat x = indices {{\nx = min(x + 1, {k} * length);\n}} until unchanged;\ny = x > 2;",
        lambda k: k + 1,
        lambda _: 5,
    ),
    "a loop that carries k integers": (
        lambda k: (
            f"repeat {', '.join(f'x{j} = indices' for j in range(k))} {{\n"
            + each("x{j} = min(x{j} + {next}, length);", k)
            + "\n} until unchanged;\ny = x0 > 2;"
        ),
        lambda k: k + 1,
        lambda k: 5 + (k > 1),
    ),
}
"""The program of size k, its heads, and its layers."""


@pytest.mark.parametrize("name", FAMILIES)
def test_heads_and_layers_are_those_of_the_formula(name: str) -> None:
    text, heads, layers = FAMILIES[name]
    for k in range(1, 7):
        source = rasp.parse(f"# alphabet: {' '.join(LETTERS[: k + 1])}\n{text(k)}")
        weights = api.compile(source).weights
        assert (len(weights.heads), len(weights.layers)) == (heads(k), layers(k)), (k, str(weights))
