"""The stated cost of a theorem is that of its models: on families of sources, and on the zoo.

Each theorem has one :class:`TransformerCost`, which is printed wherever a cost is shown. Here it is evaluated: what it
calls exact is equal to what is measured, what it bounds is not exceeded, and on families that use everything bounds are
attained. Other tests hold single theorems to the papers' own bounds.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.languages import zoo
from softmachine.support.errors import ConstructionError, ContextTooShortError
from softmachine.theorems import all_theorems, get_theorem
from softmachine.theorems.cost import Cost, ceil_log2, conditional, define, format_term, largest, parameter
from tests.theorems.costs.circuits import circuits, evaluators, graphs
from tests.theorems.costs.family import SIX, Family, measured
from tests.theorems.costs.machines import machines
from tests.theorems.costs.programs import attentions, counter_machines, formulas, prefix_sum, programs_of_counts

AS_TEXT = {"rasp", "rasp-causal", "rasp-generate", "srasp"}
"""Their cost depends on how the numbers of a program grow: see test_rasp_costs.py, and S-RASP below."""
FAMILIES: list[Family] = [
    *formulas(),
    *programs_of_counts(),
    *counter_machines(),
    *machines(),
    *circuits(),
    *evaluators(),
    *graphs(),
]
LARGE = 2_000
"""Sources with longer files are left out."""
DOCS = Path(__file__).parents[2] / "docs"


def cost_of(theorem: str) -> Cost:
    found = get_theorem(theorem)
    assert found is not None
    assert isinstance(found.cost, Cost)
    return found.cost


def require_cost(model: Model, tight: tuple[str, ...] = ()) -> None:
    """Compare the cost of a model with the stated one; ``tight`` bounds are attained."""
    cost = cost_of(model.theorem.name)
    for quantity in (*cost.exact, *cost.bounds):
        found, promised = measured(model, quantity), cost.evaluate(quantity, model.codec)
        equal = quantity in cost.exact or quantity in tight
        assert found == promised if equal else found <= promised, (quantity, found, promised, str(model.source))


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_a_theorem_costs_what_it_says(family: Family) -> None:
    assert {*family.tight} <= {*cost_of(family.theorem).bounds}
    for size in family.sizes:
        for attention in family.attentions:
            source, length = family.make(size)
            require_cost(sm.compile(source, family.theorem, attention=attention, length=length), family.tight)


def test_every_theorem_is_in_the_table() -> None:
    names = {theorem.name for theorem in all_theorems()}
    assert {family.theorem for family in FAMILIES} | AS_TEXT == names
    assert {theorem.name for theorem in all_theorems() if not isinstance(theorem.cost, Cost)} == AS_TEXT


@pytest.mark.parametrize(
    "theorem",
    [
        pytest.param(name, marks=pytest.mark.slow) if name.startswith(("turing-ternary", "turing-counter")) else name
        for name in sorted({family.theorem for family in FAMILIES})
    ],
)
def test_it_costs_so_much_in_the_zoo(theorem: str) -> None:
    found = get_theorem(theorem)
    assert found is not None
    sources = [entry.load() for entry in zoo.list_entries() if len(entry.read_text()) < LARGE]
    for source in filter(found.applies_to, sources):
        try:
            model = sm.compile(source, theorem, length=8 if found.length else None)
        except (ConstructionError, ContextTooShortError):
            continue  # the theorem refuses the source, or a circuit is longer
        require_cost(model)


@pytest.mark.parametrize(
    ("make", "heads"),
    [
        (attentions, lambda k: k),
        (lambda k: prefix_sum(k, 0), lambda k: 1 + k),
        (lambda k: prefix_sum(k, -k), lambda k: 1 + 2 * k),
    ],
)
def test_s_rasp_has_a_head_for_each_attention_and_for_each_multiple_of_n_in_a_sum(make: object, heads: object) -> None:
    for k in SIX:
        assert len(sm.compile(make(k)).weights.heads) == heads(k)  # type: ignore[operator]


def test_expressions_print_what_they_compute() -> None:
    one, two = parameter("a", "one", lambda codec: codec[0]), parameter("b", "two", lambda codec: codec[1])
    for expression, printed, value in (
        (1 + 5 * one, "1 + 5a", 16),
        ((one + 1) * two, "(a + 1)b", 16),
        (2 * one * two - 1, "2ab - 1", 23),
        ((one + two) ** 2, "(a + b)²", 49),
        (one**two, "a^b", 81),
        (3 * ceil_log2(2 * one), "3⌈log₂ 2a⌉", 9),
        (ceil_log2(one + two), "⌈log₂ (a + b)⌉", 3),
        (largest(7, one + two, two), "max(7, a + b, b)", 7),
        (define("p", one + two) * two, "pb", 28),
        (conditional("for large b", lambda codec: codec[1] > 3, one, two), "(a for large b, else b)", 3),
    ):
        assert (format_term(expression), expression.evaluate((3, 4))) == (printed, value)
    cost = Cost({"layers": 5}, {"width": define("p", one + two) + 1}, remark="one token per step")
    assert str(cost) == "layers = 5, width ≤ p + 1, where p = a + b, a = one, b = two; one token per step"
    assert (cost.evaluate("layers", (3, 4)), cost.evaluate("width", (3, 4))) == (5, 8)


def test_docstrings_have_no_cost_of_their_own() -> None:
    """They are printed next to the cost, which another formula could contradict."""
    costs = [theorem for theorem in all_theorems() if theorem.name not in AS_TEXT]
    assert [theorem.name for theorem in costs if re.search(r"\bCosts?:", theorem.documentation)] == []


@pytest.mark.parametrize(
    ("page", "theorems", "quantities"),
    [
        (
            "circuits.md",
            ("circuit", "graph", "logspace", "family", "turing-configuration-graph"),
            ("layers", "width", "precision"),
        ),
    ],
)
def test_tables_of_the_docs_have_the_same_expressions(
    page: str, theorems: tuple[str, ...], quantities: tuple[str, ...]
) -> None:
    rows = {
        cells[1].strip(" `"): cells
        for line in (DOCS / page).read_text().splitlines()
        if len(cells := line.split("|")) == 7
    }
    for theorem in all_theorems():
        if theorem.language in theorems or theorem.name in theorems:
            cost = cost_of(theorem.name)
            for quantity, cell in zip(quantities, rows[theorem.name][3:6], strict=True):
                term = {**cost.exact, **cost.bounds}.get(quantity)
                assert (cell.strip() == format_term(term)) if term is not None else cell.startswith(" O("), (
                    theorem.name,
                    quantity,
                )


def test_the_table_of_ternary_has_the_same_expressions() -> None:
    lines = (DOCS / "low-precision.md").read_text().replace("\\|", "∣").splitlines()
    cells = {row[1].strip(): row[2].strip() for line in lines if len(row := line.split("|")) == 5}
    cost = cost_of("turing-ternary")
    for quantity in ("layers", "heads per layer", "width", "units per layer"):
        assert cells[quantity].replace("∣", "|") == format_term({**cost.exact, **cost.bounds}[quantity])
