from __future__ import annotations

from fractions import Fraction

import pytest

from softmachine.languages.rasp import (
    UNDEFINED,
    Definition,
    DefinitionBuilder,
    Operator,
    RaspProgram,
    Reduction,
    evaluate,
    generate,
    run,
)
from softmachine.languages.rasp.ir import (
    Aggregate,
    Apply,
    Combine,
    Constant,
    Indices,
    Length,
    Repeat,
    Select,
    SelectAll,
    SelectPairs,
    Table,
    Tokens,
    Value,
    Width,
)
from softmachine.support.errors import InputError, NoNextTokenError, UsageError


class Maker(DefinitionBuilder):
    """Short notation for programs."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.indices, self.length = self.add(Tokens()), self.add(Indices()), self.add(Length())

    def constant(self, value: Value) -> str:
        return self.add(Constant(value))

    def apply(self, operator: Operator, *operands: str) -> str:
        return self.add(Apply(operator, operands))

    def select(self, key: str, query: str, comparison: Operator = Operator.EQUAL) -> str:
        return self.add(Select(key, query, comparison))

    def aggregate(
        self, selector: str, values: str, default: Value = None, reduction: Reduction = Reduction.MEAN
    ) -> str:
        return self.add(Aggregate(selector, values, self.constant(default), reduction))

    def program(
        self,
        output: str,
        alphabet: str = "ab",
        letters: tuple[Value, ...] = (),
        causal: bool = False,
        stop: str | None = None,
    ) -> RaspProgram:
        return RaspProgram(
            name="p", alphabet=tuple(alphabet), letters=letters, definitions=self.definitions(), output=output,
            causal=causal, stop=stop,
        )  # fmt: skip


@pytest.fixture
def make() -> Maker:
    return Maker()


def test_length_is_the_number_of_positions_and_in_a_causal_program_of_those_so_far(make: Maker) -> None:
    assert run(make.program(make.length), "abab") == (4, 4, 4, 4)
    assert run(make.program(make.length, causal=True), "abab") == (1, 2, 3, 4)


def test_reverse_finds_the_position_from_the_end(make: Maker) -> None:
    last = make.apply(Operator.SUBTRACT, make.length, make.constant(1))
    opposite = make.apply(Operator.SUBTRACT, last, make.indices)
    program = make.program(make.aggregate(make.select(make.indices, opposite), make.tokens), "abc")
    assert run(program, "abcc") == ("c", "c", "b", "a")
    assert run(program, "") == ()


def test_a_width_counts_the_keys_that_are_selected(make: Maker) -> None:
    histogram = make.add(Width(make.select(make.tokens, make.tokens)))
    assert run(make.program(histogram), "abaa") == (3, 1, 3, 3)
    assert run(make.program(histogram, causal=True), "abaa") == (1, 1, 2, 3)


def test_a_selector_compares_the_key_with_the_query_in_this_order(make: Maker) -> None:
    before = make.add(Width(make.select(make.indices, make.indices, Operator.LESS)))
    assert run(make.program(before), "abab") == (0, 1, 2, 3)
    after = make.add(Width(make.select(make.indices, make.indices, Operator.GREATER)))
    assert run(make.program(after), "abab") == (3, 2, 1, 0)


def test_selectors_are_joined_and_negated_among_the_keys_that_are_seen(make: Maker) -> None:
    same, before = make.select(make.tokens, make.tokens), make.select(make.indices, make.indices, Operator.LESS)
    both = make.add(Combine(Operator.AND, (same, before)))
    either = make.add(Combine(Operator.OR, (same, before)))
    neither = make.add(Combine(Operator.NOT, (either,)))
    counts = [make.add(Width(selector)) for selector in (both, either, neither)]
    values = evaluate(make.program(counts[0]), "aba")
    assert [values[name] for name in counts] == [(0, 0, 1), (2, 2, 3), (1, 1, 0)]
    values = evaluate(make.program(counts[0], causal=True), "aba")
    assert [values[name] for name in counts] == [(0, 0, 1), (1, 2, 3), (0, 0, 0)]


def test_a_mean_is_the_value_if_there_is_one_the_exact_mean_of_numbers_or_the_default(make: Maker) -> None:
    everything = make.add(SelectAll())
    assert run(make.program(make.aggregate(everything, make.indices)), "abab") == (Fraction(3, 2),) * 4
    assert run(make.program(make.aggregate(everything, make.indices)), "aba") == (1, 1, 1)
    assert run(make.program(make.aggregate(everything, make.tokens)), "aa") == ("a", "a")
    nothing = make.add(SelectAll(selected=False))
    assert run(make.program(make.aggregate(nothing, make.tokens, "?")), "ab") == ("?", "?")


def test_a_mean_of_different_categories_is_undefined_and_so_is_all_that_comes_of_it(make: Maker) -> None:
    mixed = make.aggregate(make.add(SelectAll()), make.tokens)
    is_a = make.apply(Operator.EQUAL, mixed, make.constant("a"))
    matching = make.add(Width(make.select(mixed, make.tokens)))
    values = evaluate(make.program(is_a, causal=True), "aab")
    assert values[mixed] == ("a", "a", UNDEFINED)
    assert values[is_a] == (True, True, UNDEFINED)
    values = evaluate(make.program(matching, causal=True), "aab")
    assert values[matching] == (1, 2, UNDEFINED)


def test_a_choice_counts_only_the_branch_that_is_taken(make: Maker) -> None:
    inverse = make.apply(Operator.DIVIDE, make.constant(1), make.indices)
    first = make.apply(Operator.EQUAL, make.indices, make.constant(0))
    assert run(make.program(inverse), "abab") == (UNDEFINED, 1, Fraction(1, 2), Fraction(1, 3))
    assert run(make.program(make.apply(Operator.CHOOSE, make.constant(0), first, inverse)), "aba") == (
        0,
        1,
        Fraction(1, 2),
    )


def test_largest_and_smallest(make: Maker) -> None:
    everything = make.add(SelectAll())
    largest = make.aggregate(everything, make.tokens, reduction=Reduction.MAXIMUM)
    smallest = make.aggregate(everything, make.tokens, reduction=Reduction.MINIMUM)
    values = evaluate(make.program(largest, "123", (3, 1, 2), causal=True), "3213")
    assert values[largest] == (2, 2, 3, 3)
    assert values[smallest] == (2, 1, 1, 1)


def test_tables_and_pairs_tell_true_from_one(make: Maker) -> None:
    table = make.add(Table((make.tokens,), (((True,), "yes"), ((1,), "one"))))
    paired = make.add(Width(make.add(SelectPairs(make.tokens, make.tokens, ((1, True),)))))
    values = evaluate(make.program(table, "t10", (True, 1, 0)), "t10")
    assert values[table] == ("yes", "one", UNDEFINED)
    assert values[paired] == (1, 0, 0)
    assert make.constant(True) != make.constant(1)


def test_none_goes_through_tables_and_cannot_be_compared(make: Maker) -> None:
    first = make.aggregate(make.select(make.indices, make.length), make.tokens)
    table = make.add(Table((first,), (((None,), "nothing"),)))
    compared = make.apply(Operator.EQUAL, first, make.constant("a"))
    values = evaluate(make.program(table), "ab")
    assert values[first] == (None, None)
    assert values[table] == ("nothing", "nothing")
    assert values[compared] == (UNDEFINED, UNDEFINED)


@pytest.mark.parametrize(
    ("operator", "operands", "result"),
    [
        (Operator.ADD, (True, 1), 2), (Operator.SUBTRACT, (1, Fraction(1, 2)), Fraction(1, 2)),
        (Operator.MULTIPLY, (Fraction(1, 2), 4), 2), (Operator.DIVIDE, (1, 3), Fraction(1, 3)),
        (Operator.DIVIDE, (6, 3), 2), (Operator.DIVIDE, (6, 0), UNDEFINED), (Operator.FLOOR_DIVIDE, (-7, 2), -4),
        (Operator.MODULO, (-7, 3), 2), (Operator.MODULO, (7, 0), UNDEFINED), (Operator.POWER, (2, -1), Fraction(1, 2)),
        (Operator.POWER, (2, Fraction(1, 2)), UNDEFINED), (Operator.POWER, (0, -1), UNDEFINED),
        (Operator.POWER, (9, 10**9), UNDEFINED), (Operator.NEGATE, (True,), -1), (Operator.ABSOLUTE, (-3,), 3),
        (Operator.ROUND, (Fraction(5, 2),), 2), (Operator.ROUND, (Fraction(7, 2),), 4),
        (Operator.TRUNCATE, (Fraction(-5, 2),), -2), (Operator.MINIMUM, (3, 2), 2), (Operator.MAXIMUM, (3, 2), 3),
        (Operator.EQUAL, (True, 1), True), (Operator.EQUAL, ("a", 1), False), (Operator.UNEQUAL, ("a", 1), True),
        (Operator.LESS, ("a", "b"), True), (Operator.LESS, ("a", 1), UNDEFINED), (Operator.AT_MOST, (1, 1), True),
        (Operator.GREATER, (2, Fraction(3, 2)), True), (Operator.AT_LEAST, (1, 2), False),
        (Operator.AND, (True, 1), True),
        (Operator.OR, (False, 0), False), (Operator.NOT, (0,), True), (Operator.NOT, ("a",), UNDEFINED),
        (Operator.INDICATOR, (True,), 1), (Operator.CHOOSE, ("a", False, "b"), "b"),
        (Operator.ADD, ("a", "b"), "ab"), (Operator.ADD, ("a", 1), UNDEFINED),
        (Operator.CHOOSE, ("a", "b", "c"), UNDEFINED),
    ],
)  # fmt: skip
def test_elementwise_operations_are_those_of_python_and_undefined_where_they_mean_nothing(
    operator: Operator, operands: tuple[Value, ...], result: Value
) -> None:
    from softmachine.languages.rasp.values import apply, identity_key

    assert identity_key(apply(operator, operands)) == identity_key(result)


def repeated(make: Maker, start: str, body: tuple[Definition, ...], following: str) -> str:
    return make.add(Repeat((("x", start),), body, (following,), "x"))


def test_a_loop_ends_when_nothing_changes(make: Maker) -> None:
    before = make.apply(Operator.SUBTRACT, make.indices, make.constant(1))
    previous = make.select(make.indices, before)
    body = (
        Definition("moved", Aggregate(previous, "x", make.tokens)),
        Definition("next", Apply(Operator.MAXIMUM, ("x", "moved"))),
    )
    assert run(make.program(repeated(make, make.tokens, body, "next"), "012", (0, 1, 2)), "010200") == (
        0,
        1,
        1,
        2,
        2,
        2,
    )


def test_a_loop_that_cycles_is_detected(make: Maker) -> None:
    body = (Definition("other", Table(("x",), ((("a",), "b"), (("b",), "a")))),)
    with pytest.raises(NoNextTokenError, match="its state after iteration 4 equals that after iteration 2"):
        run(make.program(repeated(make, make.tokens, body, "other")), "ab")


def test_a_scratchpad_is_written_until_the_stop_symbol(make: Maker) -> None:
    """Writes b after every a, then stops."""
    table = make.add(Table((make.tokens,), ((("a",), "b"), (("b",), "c"), (("c",), "$"))))
    program = make.program(table, "abc", causal=True, stop="$")
    assert generate(program, "a").letters == ("b", "c")
    assert generate(program, "a").is_complete
    assert not generate(program, "a", max_steps=2).is_complete


def test_a_scratchpad_needs_a_stop_symbol_and_a_position_to_begin_with(make: Maker) -> None:
    with pytest.raises(UsageError, match="has no stop symbol"):
        generate(make.program(make.tokens), "a")
    with pytest.raises(NoNextTokenError, match="cannot start from the empty word"):
        generate(make.program(make.tokens, causal=True, stop="$"), "")
    stuck = make.add(Table((make.tokens,), ((("a",), "b"),)))
    with pytest.raises(NoNextTokenError, match="after 1 steps is undefined"):
        generate(make.program(stuck, causal=True, stop="$"), "a")


def test_a_letter_that_is_not_in_the_alphabet_is_refused(make: Maker) -> None:
    with pytest.raises(InputError, match="not in the alphabet"):
        run(make.program(make.tokens), "abc")
