"""Languages of uniform families: the printed reduction, the evaluator for all families, and its iterations."""

from __future__ import annotations

import pytest

import softmachine as sm
from softmachine import api
from softmachine.ir import evaluate as evaluate_signal
from softmachine.ir.primitives import Position
from softmachine.ir.signal import topological_order
from softmachine.languages.circuit import Basis
from softmachine.languages.family import CircuitFamily, parse
from softmachine.support.errors import ConstructionError, InputError
from softmachine.testing import load_as
from softmachine.theorems.circuits.evaluator import TOKENS, pointer_width
from softmachine.theorems.circuits.uniform_family import FamilyCodec, signals
from tests.models import model_of


def family(name: str) -> CircuitFamily:
    return load_as(name, CircuitFamily)


SIMPLE = "family any\ndepth log\ny = OR [x(i) for i in 0..n-1]\noutput y\n"
COUNTED = "family most\ndepth log\ny = THR(n/2 + 1) [x(i) for i in 0..n-1]\nz = NOT y\noutput z\n"


@pytest.mark.parametrize(("attention", "arithmetic"), [("hard", "fixed:2"), ("soft", "fixed:2"), ("hard", "float64")])
@pytest.mark.parametrize("length", [1, 2, 3])
def test_words_are_recognised_in_constant_precision(length: int, attention: str, arithmetic: str) -> None:
    model = model_of(parse(SIMPLE), "uniform-circuits", attention, length)
    report = api.check(model, up_to=length, arithmetic=arithmetic)
    assert (report.inputs, report.holds) == (2**length, True)


@pytest.mark.parametrize("attention", ["hard", "soft"])
@pytest.mark.parametrize("length", [1, 3, 4])
def test_words_are_recognised_in_constant_width(length: int, attention: str) -> None:
    model = model_of(parse(COUNTED), "uniform-circuits-threshold", attention, length)
    bits = 2 * pointer_width(model.codec.total_positions) + 1  # type: ignore[attr-defined]
    for arithmetic in ("float64", f"fixed:{bits}"):
        assert api.check(model, up_to=length, arithmetic=arithmetic).holds


@pytest.mark.parametrize(("name", "basis"), [("parity-family", Basis.AC), ("vote-tree", Basis.TC)])
def test_the_transformer_reads_what_the_reduction_prints(name: str, basis: Basis) -> None:
    """Lemmas C.1 and C.2: at every position, the flags say the token that is printed, and only the word is given."""
    codec = FamilyCodec(family(name), 2, basis)
    nodes = topological_order(signals(codec, soft=False).logits.forms)
    flags = {node.name: node for node in nodes if isinstance(node, Position) and node.name.startswith("is ")}
    for place, token in enumerate(codec.evaluator_input("01")):
        for title, node in flags.items():
            said = node.feature.value(place, 2)
            assert said == int(("x=0" if token == "x=1" else token) in title.removeprefix("is ").split(" or "))
    assert codec.prompt("01").tokens[:2] == ("0", "1")
    assert set(codec.prompt("01").tokens[2:]) == {"□"}


@pytest.mark.parametrize("basis", [Basis.AC, Basis.TC])
def test_what_is_printed_is_what_the_evaluator_evaluates(basis: Basis) -> None:
    """The reduction, then the evaluator of any circuit on its output: Corollary 5.1 and Lemma C.2."""
    codec = FamilyCodec(parse(SIMPLE), 2, basis)
    name = "circuit-evaluator" if basis is Basis.AC else "circuit-evaluator-threshold"
    evaluator = api.compile(codec.circuit, name, length=codec.total_positions)
    for word in ("00", "01", "11"):
        assert list(evaluator.codec.prompt(word).tokens) == codec.evaluator_input(word)
        assert api.run(evaluator, word).accepted is ("1" in word)


def test_only_the_tokens_know_the_family() -> None:
    """Two families, one length: the layers are the same."""
    one = signals_layers(FamilyCodec(parse(SIMPLE), 2))
    other = signals_layers(FamilyCodec(parse(SIMPLE.replace("OR", "AND")), 2))
    assert one == other


def signals_layers(codec: FamilyCodec) -> object:
    weights = api.compile(codec.source, "uniform-circuits", length=codec.length).weights
    return weights.blocks, weights.embedding


SIZES = {"parity-family": (2, 4, 8, 16, 32, 64), "majority-sorted": (2, 3, 4, 6, 8, 16)}


@pytest.mark.parametrize("name", SIZES)
def test_turns_grow_as_the_power_of_the_logarithm(name: str) -> None:
    """Theorem 5.1 (a): ⌈log₂ T⌉^d iterations are at least the depth of the circuit, and T is a polynomial in n."""
    source = family(name)
    for length in SIZES[name]:
        codec = FamilyCodec(source, length)
        bits = pointer_width(codec.total_positions)
        assert codec.iterations == bits**source.exponent >= codec.circuit.depth
        assert codec.total_positions <= 40 * length**3 + 300
        assert bits <= 3 * (length.bit_length() - 1) + 9  # so that there are O(log^d n) iterations


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 6])
def test_the_model_has_that_many_turns(length: int) -> None:
    for name, basis in (("uniform-circuits", Basis.AC), ("uniform-circuits-threshold", Basis.TC)):
        source = family("parity-family") if length < 4 else parse(SIMPLE)
        codec = FamilyCodec(source, length, basis)
        weights = api.compile(source, name, length=length).weights
        bits = pointer_width(codec.total_positions)
        assert [block.repeats for block in weights.blocks if block.name] == [bits, codec.iterations]
        assert weights.width == 33 if basis is Basis.TC else weights.width <= 16 * bits + 16


def test_a_deep_circuit_is_padded_until_there_are_enough_turns() -> None:
    """Lemma C.2: the size of a wide circuit is large relative to its depth."""
    chain = "family chain\ndepth log\ng(0) = OR x(0)\ng(i) = OR g(i-1) for i in 1..11\noutput g(11)\n"
    codec = FamilyCodec(parse(chain), 1)
    assert codec.circuit.depth == 12
    assert codec.iterations == pointer_width(codec.total_positions) == 12
    assert codec.total_positions == 2**11 + 1
    assert codec.evaluator_input("1").count("□") > 1500


def test_families_with_thresholds_are_refused_in_constant_precision() -> None:
    with pytest.raises(ConstructionError, match="threshold gates"):
        api.compile(parse(COUNTED), "uniform-circuits", length=2)


def test_other_lengths_and_circuits_that_are_too_large_are_refused() -> None:
    model = model_of(parse(SIMPLE), "uniform-circuits", "hard", 2)
    with pytest.raises(InputError, match="weights are for words of length 2"):
        api.run(model, "011")
    with pytest.raises(InputError, match="no circuit for the empty word"):
        sm.compile(parse(SIMPLE), "uniform-circuits", length=0)
    with pytest.raises(ConstructionError, match="positions; at most 65,536"):
        api.compile("majority-sorted", "uniform-circuits", length=64)


@pytest.mark.slow
def test_signals_keep_their_promises() -> None:
    codec = FamilyCodec(parse("family same\ndepth log\ny = OR x(0)\noutput y\n"), 1)
    program = signals(codec, soft=False)
    assert set(codec.evaluator_input("0")) <= set(TOKENS)
    for word in ("0", "1"):
        logits = evaluate_signal(program.logits, codec.prompt(word).tokens, 1)
        assert (logits[codec.answer_position][1] > 0) is (word == "1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "theorem", "length", "arithmetic"),
    [
        ("parity-family", "uniform-circuits", 3, "fixed:2"),
        ("parity-family", "uniform-circuits", 4, "float64"),
        ("parity-family", "uniform-circuits-threshold", 4, "float64"),
        ("majority-sorted", "uniform-circuits", 3, "float64"),
        ("vote-tree", "uniform-circuits-threshold", 7, "float64"),
    ],
)
@pytest.mark.parametrize("attention", ["hard", "soft"])
def test_longer_words(name: str, theorem: str, length: int, arithmetic: str, attention: str) -> None:
    model = sm.compile(name, theorem, attention=attention, length=length)
    report = api.check(model, up_to=length, arithmetic=arithmetic)
    assert (report.inputs, report.holds) == (2**length, True)
