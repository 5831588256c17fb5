"""What a theorem says that it costs is what it costs, at six sizes or more.

One table (``tests/theorems/costs``): for each theorem families of sources of growing size, the words of its cost, and
these words as formulas. Other tests hold single theorems to more (units of a layer, positions, the paper's own bounds).
"""

from __future__ import annotations

from itertools import pairwise

import pytest

import softmachine as sm
from softmachine.theorems import all_theorems, theorem_named
from tests.theorems.costs.circuits import circuits, evaluators, graphs
from tests.theorems.costs.family import SIX, Family, measured, positions
from tests.theorems.costs.machines import machines
from tests.theorems.costs.programs import (
    COSTS_OF_FORMULAS,
    counter_machines,
    formulas,
    nested,
    programs_of_counts,
    vectors,
)

ELSEWHERE = {"rasp", "rasp-causal", "rasp-generate", "automaton-layer-norm"}
"""In tests/theorems/test_rasp_costs.py, and, since turns grow with the word, in test_automaton_layer_norm.py."""
FAMILIES: list[Family] = [
    *formulas(),
    *programs_of_counts(),
    *counter_machines(),
    *vectors(),
    *machines(),
    *circuits(),
    *evaluators(),
    *graphs(),
]


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_a_theorem_costs_what_it_says(family: Family) -> None:
    theorem = theorem_named(family.theorem)
    assert theorem is not None
    assert [words for words in family.words if words not in theorem.cost] == []
    assert len(set(family.sizes)) >= 6
    for size in family.sizes:
        for attention in family.attentions:
            source, length = family.make(size)
            model = sm.compile(source, family.theorem, attention=attention, length=length)
            found, promised = measured(model), family.promised(size, model.codec)
            if "positions" in promised:
                found["positions"] = positions(model)
            assert {name: found[name] for name in promised} == promised, (size, attention)


def test_every_theorem_is_in_the_table() -> None:
    assert {family.theorem for family in FAMILIES} | ELSEWHERE == {theorem.name for theorem in all_theorems()}


@pytest.mark.parametrize("theorem", COSTS_OF_FORMULAS)
def test_the_width_of_a_formula_grows_by_the_same_for_each_operator(theorem: str) -> None:
    """Width O(|φ|), exactly."""
    for operator in COSTS_OF_FORMULAS[theorem][1]:
        widths = [sm.compile(nested(operator.pattern, depth), theorem).weights.width for depth in SIX]
        assert [after - before for before, after in pairwise(widths)] == [operator.width] * (len(SIX) - 1)
