"""The compiler: weights compute the signals exactly, as early as possible, without unused components."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

from softmachine.compiler import compile_program
from softmachine.engines.dense.engine import DenseEngine
from softmachine.ir import (
    Program,
    Signal,
    attend,
    constant,
    evaluate,
    loop,
    named,
    position,
    recogniser,
    relu,
    stack,
    step,
)
from softmachine.ir.gadgets import all_of, any_of, exists, fetch_latest
from softmachine.ir.primitives import Attention, Named, Unit, token
from softmachine.ir.ranges import integer
from softmachine.ir.signal import Affine, Atom
from softmachine.support.errors import ConstructionError
from softmachine.testing import assert_computes_signals
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import Feature, I, N
from softmachine.transformer.weights import Transformer
from tests.sources.oracle import LETTERS, START, letter
from tests.sources.signal_programs import RandomGraph, random_program, random_tokens


@cache
def random_model(seed: int) -> Transformer:
    return compile_program(random_program(seed))


def program_of(logits: Signal, name: str = "test") -> Program:
    return Program(name, LETTERS.tokens, tuple(f"out {k}" for k in range(len(logits))), logits)


def compiled(logits: Signal) -> Transformer:
    return compile_program(program_of(logits))


def check_random_program(seed: int, lengths: tuple[int, ...], size: int | None = None) -> None:
    program = random_program(seed, size)
    engine = DenseEngine(compile_program(program), "exact")
    for length in lengths:
        tokens = random_tokens(seed, length)
        stream = engine.residual_stream([tokens], length - 1)
        found = engine.unembedding(stream).value[0]
        expected = [list(row) for row in evaluate(program.logits, tokens, length - 1)]
        assert [[Fraction(str(number)) for number in row] for row in found] == expected, (seed, length)


# The same numbers


@pytest.mark.parametrize("part", range(10))
def test_the_weights_of_random_programs_compute_exactly_what_their_signals_say(part: int) -> None:
    for seed in range(40 * part, 40 * (part + 1)):
        check_random_program(seed, (1, 2, 5))


@pytest.mark.parametrize("seed", range(1000, 1008))
def test_the_weights_of_large_random_programs_do_too(seed: int) -> None:
    check_random_program(seed, (1, 3, 9), size=30)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_the_weights_of_thousands_of_random_programs_do_too(part: int) -> None:
    for seed in range(10_000 + 200 * part, 10_000 + 200 * (part + 1)):
        check_random_program(seed, (1, 2, 3, 6, 11))


# As early as possible


def read(atom: Atom, live: set[Atom]) -> list[Affine]:
    """The dependencies of a number; a head retrieves all its live values together."""
    node, k = atom
    match node:
        case Attention():
            return [*node.query, *node.key, *(form for v, form in enumerate(node.value) if v == k or (node, v) in live)]
        case Unit() | Named():
            return [node.forms[k]]
    return []


def depth(program: Program) -> int:
    """The number of layers by definition: heads in odd sublayers, units in even ones, after what they read."""
    live: set[Atom] = set()
    waiting = [atom for form in program.logits.forms for atom in form.terms]
    while waiting:
        atom = waiting.pop()
        if atom not in live:
            live.add(atom)
            waiting += [source for form in read(atom, set()) for source in form.terms]

    @cache
    def done(atom: Atom) -> int:
        ready = max((done(source) for form in read(atom, live) for source in form.terms), default=0)
        match atom[0]:
            case Attention():
                return ready + 1 + ready % 2
            case Unit():
                return ready + 2 - ready % 2
        return ready

    return (max(map(done, live), default=0) + 1) // 2


class WithoutLoops(RandomGraph):
    def primitive(self, *, inside_loop: bool = True) -> Signal:
        return super().primitive(inside_loop=True)


@pytest.mark.parametrize("size", [3, 8, 15])
def test_a_program_without_loops_has_as_many_layers_as_its_graph_is_deep(size: int) -> None:
    for seed in range(60):
        program = WithoutLoops(seed).program(size)
        assert len(compile_program(program).layers) == depth(program), seed


def test_independent_parts_share_their_layers() -> None:
    heads = [exists(f"some {x}", letter(x)) for x in "ab"]
    both = all_of("both", *heads)
    transformer = compiled(stack(both, any_of("either", *heads)))
    assert [len(layer.heads) for layer in transformer.layers] == [2]
    assert len(transformer.layers[0].feed_forward.units) == 2


def test_a_head_after_a_unit_takes_a_new_layer_and_a_unit_after_a_head_does_not() -> None:
    head = attend("h", value=relu("r", letter("a") - letter("b")))
    assert len(compiled(head).layers) == 2
    assert len(compiled(relu("after", head)).layers) == 2
    assert len(compiled(relu("twice", relu("after", head) - 1)).layers) == 3


def test_what_nobody_reads_costs_nothing() -> None:
    deep = letter("a")
    for k in range(5):
        deep = attend(f"deep {k}", value=relu(f"r {k}", deep))
    both = attend("both", query=constant(1), key=letter("b"), value=stack(deep, letter("a"), position(I)))
    transformer = compiled(both[1])
    assert len(transformer.layers) == 1
    assert set(transformer.coordinates) == {"a", "b", "both[1]"}
    assert transformer.features == ()


def test_what_a_loop_carries_for_nobody_costs_nothing() -> None:
    def body(carried: Signal) -> Signal:
        return stack(1 - carried[0], attend("h", value=carried[1]).with_range(integer(0, 1)), carried[0])

    start = stack(letter("a"), letter("b"), letter("b"))
    transformer = compiled(loop("turn", iterations=2, initial=start, body=body)[2])
    assert transformer.coordinates == ("turn[0]", "turn[2]")
    assert transformer.heads == ()


def test_no_component_of_a_vector_waits_for_another() -> None:
    late = attend("late", value=relu("r", letter("b") - 1))
    vector = named("vector", stack(letter("a"), late))
    units = relu("units", stack(vector[0] - 1, vector[1] - 1))
    assert len(compiled(relu("early", units[0] - 1)).layers) == 2
    assert len(compiled(stack(relu("early", units[0] - 1), units[1])).layers) == 2


def test_constants_need_no_coordinate() -> None:
    transformer = compiled(stack(constant(1), constant(2)))
    assert (transformer.width, transformer.blocks) == (0, ())
    assert DenseEngine(transformer).predict([[START, "a"]]) == [["out 1", "out 1"]]


def reads(transformer: Transformer) -> set[int]:
    matrices = [transformer.unembedding.weight]
    for layer in transformer.layers:
        matrices.append(layer.feed_forward.first.weight)
        for head in layer.heads:
            matrices += [head.query.weight, head.key.weight, head.value.weight]
    return {column for matrix in matrices for _, column, _ in matrix.entries()}


def test_every_coordinate_is_read_and_every_head_is_written_somewhere() -> None:
    for seed in range(200):
        transformer = random_model(seed)
        assert reads(transformer) == set(range(transformer.width)), seed
        for head in transformer.heads:
            written = {column for _, column, _ in head.output.entries()}
            assert written == set(range(head.output.columns)), (seed, head.name)


# Merging of equal nodes


def test_equal_heads_and_units_are_one() -> None:
    signals = [exists(name, letter("a")) for name in ("one", "two")]
    units = [relu(name, signal - 1) for name, signal in zip(("three", "four"), signals, strict=True)]
    transformer = compiled(stack(*signals, *units))
    assert [head.name for head in transformer.heads] == ["one"]
    assert [layer.feed_forward.units for layer in transformer.layers] == [("three",)]


def test_differences_of_equal_things_vanish() -> None:
    transformer = compiled(exists("one", letter("a")) - exists("two", letter("a")) + letter("b"))
    assert transformer.heads == ()


def test_heads_that_differ_in_mask_only_are_two() -> None:
    signals = [attend("h", value=letter("a"), mask=mask) for mask in Mask]
    assert len(compiled(stack(*signals)).heads) == 5


def test_what_a_body_computes_without_its_carried_values_is_computed_once_before_the_loop() -> None:
    def body(bit: Signal) -> Signal:
        return all_of("kept", bit, exists("some b", letter("b")))

    transformer = compiled(loop("turn", iterations=3, initial=letter("a"), body=body))
    assert [(block.name, block.repeats, len(block.layers)) for block in transformer.blocks] == [
        ("", 1, 1),
        ("turn", 3, 1),
    ]
    assert [len(layer.heads) for layer in transformer.layers] == [1, 0]


# Names


def names(transformer: Transformer) -> list[tuple[str, ...]]:
    units = tuple(unit for layer in transformer.layers for unit in layer.feed_forward.units)
    return [transformer.coordinates, tuple(head.name for head in transformer.heads), units]


def test_names_are_unique_in_the_whole_model() -> None:
    for seed in range(200):
        for group in names(random_model(seed)):
            assert len(set(group)) == len(group), seed


def test_a_number_behind_a_name_does_not_make_it_that_of_another() -> None:
    heads = [attend(name, value=letter("a"), mask=mask) for name, mask in zip(["x", "x", "x (2)"], Mask, strict=False)]
    transformer = compiled(stack(*heads))
    assert [head.name for head in transformer.heads] == ["x", "x (2)", "x (2) (2)"]
    assert transformer.coordinates[-3:] == ("x", "x (2)", "x (2) (2)")


def test_heads_of_one_name_in_different_layers_are_told_apart() -> None:
    signal = letter("a")
    for _ in range(3):
        signal = attend("mean", value=signal)
    assert [head.name for head in compiled(signal).heads] == ["mean", "mean (2)", "mean (3)"]


def test_coordinates_carry_the_names_and_labels_that_the_author_gave() -> None:
    vector = stack(letter("a"), letter("b")).with_labels(("p", "q"))
    transformer = compiled(relu("sum", named("state", vector).total - 1) + named("state", vector)["q"])
    assert set(transformer.coordinates) == {"state[p]", "state[q]", "sum"}


# The same program, the same weights


def test_the_same_program_gives_the_same_weights() -> None:
    for seed in range(60):
        assert compile_program(random_program(seed)) == random_model(seed)


_SAVE = """
import json
import sys
from pathlib import Path
from safetensors.numpy import save as to_bytes
from softmachine import api
from softmachine.compiler import compile_program
from softmachine.exports.native_tensors import serialize_transformer
from tests.sources.signal_programs import random_program
folder = Path(sys.argv[1])
for name in ("palindrome", "increment"):
    api.save(api.compile(name), folder / name)
for seed in (20, 34, 120):
    names, tensors = serialize_transformer(compile_program(random_program(seed, 12)))
    (folder / f"{seed}.json").write_text(json.dumps(names))
    (folder / f"{seed}.safetensors").write_bytes(to_bytes(tensors))
"""


def test_saved_bytes_do_not_depend_on_the_process(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    for seed in ("1", "2"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": os.pathsep.join((str(root), str(root / "src"))),
        }
        command = [sys.executable, "-c", _SAVE, str(tmp_path / seed)]
        subprocess.run(command, check=True, env=environment, cwd=root)
    files = sorted(path.relative_to(tmp_path / "1") for path in (tmp_path / "1").rglob("*") if path.is_file())
    assert len(files) == 10
    for file in files:
        assert (tmp_path / "1" / file).read_bytes() == (tmp_path / "2" / file).read_bytes(), file


# Loops


def test_loops_that_share_a_body_node_by_merging_are_refused_only_if_they_have_to_be() -> None:
    first = loop("first", iterations=2, initial=letter("a"), body=lambda bit: any_of("or", bit, letter("b")))
    second = loop("second", iterations=2, initial=letter("a"), body=lambda bit: any_of("or", bit, letter("b")))
    program = program_of(stack(first, second))
    assert_computes_signals(program, [START, "a", "b", "a"])


def test_a_loop_inside_another_is_refused() -> None:
    def body(bit: Signal) -> Signal:
        return loop("inner", iterations=2, initial=bit, body=lambda inner: ~inner)

    with pytest.raises(ConstructionError, match="loop 'inner' is inside loop 'outer'; loops do not nest"):
        compiled(loop("outer", iterations=2, initial=letter("a"), body=body))


def test_a_loop_whose_body_has_a_loop_that_does_not_depend_on_it_is_fine() -> None:
    def body(bit: Signal) -> Signal:
        return all_of("and", bit, loop("inner", iterations=3, initial=letter("b"), body=lambda inner: ~inner))

    outer = loop("outer", iterations=2, initial=letter("a"), body=body)
    transformer = compiled(outer)
    assert [block.name for block in transformer.blocks] == ["inner", "outer"]
    assert_computes_signals(program_of(outer), [START, "a", "b"])


def test_reading_a_carried_value_outside_of_its_loop_is_refused() -> None:
    inside: list[Signal] = []

    def body(bit: Signal) -> Signal:
        inside.append(relu("hidden", bit - letter("b")))
        return ~bit

    result = loop("turn", iterations=2, initial=letter("a"), body=body)
    with pytest.raises(ConstructionError, match="'hidden' is read outside its loop 'turn'"):
        compiled(result + inside[0])


def test_a_node_of_two_loops_is_refused() -> None:
    leaked: list[Signal] = []

    def first(bit: Signal) -> Signal:
        leaked.append(bit)
        return bit

    def second(bit: Signal) -> Signal:
        return all_of("mixed", bit, leaked[0])

    one = loop("one", iterations=1, initial=letter("a"), body=first)
    two = loop("two", iterations=1, initial=letter("b"), body=second)
    with pytest.raises(ConstructionError, match="'mixed' reads values carried by the loops"):
        compiled(one + two)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda x: stack(x, x), "loop 'l' carries 1 numbers, but its body returns 2"),
        (lambda x: x + 1, "loop 'l': component 0 is carried as bit, but the body returns integer in 1..2"),
        (lambda x: Fraction(1, 2) * x, "but the body returns real in 0..1/2"),
    ],
)
def test_a_body_has_to_give_what_the_loop_carries(body: object, message: str) -> None:
    assert callable(body)
    with pytest.raises(ConstructionError, match=message):
        loop("l", iterations=1, initial=letter("a"), body=body)


def test_a_loop_cannot_run_a_negative_number_of_times() -> None:
    with pytest.raises(ConstructionError, match="loop 'l' cannot run -1 times"):
        loop("l", iterations=-1, initial=letter("a"), body=lambda x: x)


@pytest.mark.parametrize("times", [0, 1, 7, N])
def test_a_loop_that_adds_a_constant_counts(times: int | Feature) -> None:
    """The feed-forward sublayer has a constant only, and no unit."""
    wide = integer(0, 100)
    counted = loop(
        "count", iterations=times, initial=letter("a").with_range(wide), body=lambda x: (x + 2).with_range(wide)
    )
    assert compiled(counted).layers[0].feed_forward.units == ()
    assert_computes_signals(program_of(counted), [START, "a", "b", "a"], 3)


def test_a_loop_may_carry_what_it_swaps() -> None:
    pair = stack(letter("a"), letter("b"))
    swapped = loop("swap", iterations=3, initial=pair, body=lambda x: stack(x[1], x[0]))
    assert_computes_signals(program_of(swapped), [START, "a", "b"])


def test_a_chain_of_loops_reads_what_the_earlier_ones_left() -> None:
    one = loop("one", iterations=2, initial=letter("a"), body=lambda bit: exists("some", bit))
    both = named("both", stack(one, letter("b")))
    two = loop("two", iterations=2, initial=both, body=lambda x: stack(x[1], any_of("or", x[0], one)))
    three = loop("three", iterations=1, initial=two[1], body=lambda x: ~x)
    program = program_of(stack(one, two, three, fetch_latest("last", both[0], where=two[0])))
    for tokens in ([START], [START, "a"], [START, "b", "a", "b", "b"]):
        assert_computes_signals(program, tokens)


# Large graphs


def test_a_graph_may_be_deeper_than_the_stack_of_calls() -> None:
    deep = letter("a")
    for k in range(400):
        deep = relu(f"layer {k}", 1 - deep)
    assert len(compiled(deep).layers) == 400


def test_sums_of_sums_of_names_are_compiled_in_reasonable_time() -> None:
    one, two = letter("a"), letter("b")
    for k in range(150):
        one, two = two, named(f"sum {k}", one + two)
    transformer = compiled(two)
    assert transformer.width == 1
    assert_computes_signals(program_of(two), [START, "a", "b"])


# Programs


def test_a_program_has_one_logit_for_each_output_and_each_token_once() -> None:
    with pytest.raises(ConstructionError, match="2 outputs, but 1 logits"):
        Program("p", LETTERS.tokens, ("x", "y"), letter("a"))
    with pytest.raises(ConstructionError, match="a token occurs twice in the vocabulary of 'p'"):
        Program("p", ("a", "a"), ("x",), letter("a"))


def test_a_recogniser_takes_a_bit() -> None:
    with pytest.raises(ConstructionError, match="recogniser takes bits"):
        recogniser("r", LETTERS.tokens, 2 * letter("a"))


def test_steps_become_step_units() -> None:
    transformer = compiled(step("sign", letter("a") - letter("b")))
    assert transformer.layers[0].feed_forward.activations == ("step",)


def test_token_tables_that_differ_only_in_a_column_of_zeros_stay_apart() -> None:
    narrow, wide = token("narrow", {"a": (1,), "b": (0,)}), token("wide", {"a": (1, 0), "b": (0, 0)})
    program = Program("p", ("a", "b"), ("x", "y"), stack(narrow + wide[1], constant(Fraction(1, 2))))
    assert DenseEngine(compile_program(program)).predict([("a", "b")]) == [["x", "y"]]
