from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from softmachine.languages.rasp import Definition, DefinitionBuilder, Operator, RaspProgram
from softmachine.languages.rasp.ir import (
    Aggregate,
    Apply,
    Combine,
    Constant,
    Indices,
    Length,
    Node,
    Repeat,
    Select,
    SelectAll,
    SelectPairs,
    Table,
    Tokens,
    Width,
)
from softmachine.support.errors import InvalidError

GIVEN: dict[str, Node] = {"t": Tokens(), "i": Indices(), "one": Constant(1), "s": Select("t", "t", Operator.EQUAL)}


def program(**nodes: Node) -> RaspProgram:
    definitions = tuple(Definition(name, node) for name, node in {**GIVEN, **nodes}.items())
    output = next((name for name in reversed(nodes) if nodes[name]), "t")
    return RaspProgram(name="p", alphabet=("a", "b"), definitions=definitions, output=output)


def problems(**nodes: Node) -> tuple[str, ...]:
    with pytest.raises(InvalidError) as raised:
        program(**nodes)
    return raised.value.problems


@pytest.mark.parametrize(
    ("node", "problem"),
    [
        (Width("q"), "unknown name 'q'; define it before this one"),
        (Width("x"), "'x' is used before it is defined; definitions are evaluated from top to bottom"),
        (Width("t"), "'t' is a sequence operator; expected a selector"),
        (Aggregate("s", "s", "one"), "'s' is a selector; expected a sequence operator"),
        (Apply(Operator.ADD, ("i",)), "'+' takes 2 operands, not 1"),
        (Apply(Operator.NOT, ("i", "i")), "'not' takes 1 operand, not 2"),
        (Select("t", "t", Operator.ADD), "a selector compares by one of == != < <= > >=, not by <Operator.ADD: '+'>"),
        (Combine(Operator.AND, ("s",)), "'and' combines two or more selectors"),
        (Combine(Operator.NOT, ("s", "s")), "'not' negates one selector, not 2"),
        (Combine(Operator.ADD, ("s", "s")), "selectors are combined by and, or and not, but not by '+'"),
        (Table(("t",), ((("a",), 1), (("a",), 2))), "the table has two rows for ('a',); remove one"),
        (Table(("t",), ((("a", "b"), 1),)), "the row ('a', 'b') has 2 values for 1 operands"),
        (Table((), ()), "a table has at least one operand"),
        (SelectPairs("t", "t", (("a", "b"), ("a", "b"))), "the same pair of key and query is listed twice"),
        (Constant(10**10), "numbers in a program are at most 1,000,000,000 in size"),
        (Constant(Fraction(2, 1)), "2 is an integer; use an int"),
        (Constant(0.5), "0.5 is a float, which is not exact; use a Fraction"),  # type: ignore[arg-type]
        (Constant([1]), "a list is not a symbol, a Boolean, a number, None or a tuple of these"),  # type: ignore[arg-type]
        (Repeat((), (), (), "v"), "a loop has at least one variable"),
        (Repeat((("v", "t"),), (), (), "v"), "a loop of 1 variables has next values for 0 of them"),
        (Repeat((("v", "t"),), (), ("v",), "w"), "'w' is not a variable of the loop (v)"),
        (Repeat((("t", "t"),), (), ("t",), "t"), "'t' is defined both inside and outside the loop"),
        (
            Repeat((("v", "t"),), (Definition("r", Repeat((("u", "t"),), (), ("u",), "u")),), ("v",), "v"),
            "loops cannot be nested",
        ),
    ],
)  # fmt: skip
def test_structural_problems_have_hints(node: Node, problem: str) -> None:
    assert any(found.startswith(problem) for found in problems(x=node))


def test_all_problems_are_reported_at_once() -> None:
    assert len(problems(x=Width("q"), y=Width("t"))) == 2


def test_the_output_is_a_sequence_operator() -> None:
    assert problems(x=SelectAll()) == (
        "the output 'x' is a selector; it must be a sequence operator, so aggregate with it first",
    )


def test_names_are_names_and_each_is_used_once() -> None:
    assert problems(**{"2x": Tokens()})[0] == "'2x' is not a valid name; use letters, digits and _"
    assert problems(select=Tokens())[0] == "'select' is a reserved name; choose another name"
    twice = (Definition("x", Tokens()), Definition("x", Indices()))
    with pytest.raises(InvalidError, match="'x' is defined twice"):
        RaspProgram(name="p", alphabet=("a",), definitions=twice, output="x")


@pytest.mark.parametrize(
    ("alphabet", "letters", "problem"),
    [
        ((), (), "it has no alphabet"),
        (("a", "a"), (), "letter 'a' is listed 2 times in the alphabet"),
        (("a b",), (), "is empty or contains whitespace"),
        (("a", "b"), (1,), "there are values for 1 letters, but the alphabet has 2"),
        (("a",), (0.5,), "the value of a letter is invalid: 0.5 is a float"),
    ],
)
def test_an_alphabet_has_letters_each_once(alphabet: tuple[str, ...], letters: tuple[int, ...], problem: str) -> None:
    with pytest.raises(InvalidError, match=problem):
        RaspProgram(name="p", alphabet=alphabet, letters=letters, definitions=(Definition("x", Tokens()),), output="x")


def test_too_many_definitions_and_too_large_tables_are_refused() -> None:
    many = tuple(Definition(f"x{number}", Constant(number)) for number in range(10_001))
    with pytest.raises(InvalidError, match="it has 10,001 definitions; at most 10,000 are allowed"):
        RaspProgram(name="p", alphabet=("a",), definitions=many, output="x0")
    rows = tuple(((number,), 0) for number in range(1 << 15))
    assert "a table of 32,768 rows is too large" in problems(x=Table(("i",), rows))[0]


def test_what_is_built_twice_is_computed_once_and_first_names_stay() -> None:
    builder = DefinitionBuilder()
    one, other = (
        builder.add(Apply(Operator.ADD, (builder.add(Indices()), builder.add(Constant(1))))),
        builder.add(Tokens()),
    )
    assert builder.add(Apply(Operator.ADD, (builder.add(Indices()), builder.add(Constant(1))))) == one
    assert builder.add(Constant(True)) != builder.add(Constant(1))
    builder.set_name(one, "sum")
    builder.set_name(one, "again")
    builder.set_name(other, "sum")
    builder.set_name(other, "no name")
    assert [builder.name(reference) for reference in (one, other)] == ["sum", other]
    assert next(item for item in builder.definitions() if item.name == "sum").node == builder.node(one)


def test_a_program_shows_itself() -> None:
    shown = program(x=Width("s"))
    assert str(shown) == "RASP program p: 2 letters, 5 definitions"
    assert "<code>x = selector_width(s);</code>" in shown._repr_html_()
    assert "an integer from 1 to n" in shown._repr_html_()


def test_a_causal_program_that_reads_the_length_has_a_note() -> None:
    definitions = (Definition("n", Length()),)
    causal = RaspProgram(name="p", alphabet=("a",), definitions=definitions, output="n", causal=True)
    assert causal.notes == (
        "the program is causal, so length is the number of letters up to each position, not of the whole input",
    )
    assert replace(causal, causal=False, notes=()).notes == ()
    assert replace(causal, name="q").notes == causal.notes
