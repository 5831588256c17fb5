"""Transformers as circuits: every circuit agrees with its transformer in fixed point, on every word."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from types import ModuleType

import pytest

from softmachine import api
from softmachine.compiler import compile_program
from softmachine.compiler.model import Model
from softmachine.ir import Signal, attend, constant, loop, named, position, recogniser, relu, stack
from softmachine.ir.primitives import token
from softmachine.ir.ranges import BIT
from softmachine.languages.circuit import (
    Basis,
    Circuit,
    GateKind,
    adder,
    aiger,
    bench,
    blif,
    bristol,
    majority,
    truth_table,
)
from softmachine.languages.temporal import Specification, parse_formula
from softmachine.studies.circuits import TransformerCircuit, to_circuit
from softmachine.support.errors import ConstructionError, PrecisionError, UsageError
from softmachine.theorems.circuits.circuit.codec import AddressEncoding, CircuitCodec
from softmachine.theorems.circuits.circuit.theorem import binary_signals, unit_signals
from softmachine.theorems.codec import Prompt
from softmachine.transformer.attention import Weighting, softmax_weighting
from softmachine.transformer.features import I_SQUARED, RECIPROCAL, Bit, I, Logarithm
from softmachine.transformer.weights import Transformer
from tests.arithmetic.test_hard_by_softmax import soft
from tests.measure.test_growth import palindromes, prompt
from tests.models import with_codec, with_weights
from tests.sources.transformers import HARD, VOCABULARY, RandomTransformer

SOFT = (softmax_weighting(), softmax_weighting(2), softmax_weighting(Fraction(1, 2)), softmax_weighting(RECIPROCAL))


@dataclass(frozen=True)
class Words:
    """A codec that only converts words to prompts."""

    alphabet: tuple[str, ...]
    padded: bool = False
    knows: bool = False

    @property
    def source(self) -> Specification:
        return formula("Q_a")

    def prompt(self, word: str | Iterable[str]) -> Prompt:
        symbols = tuple(word)
        tokens = prompt("".join(symbols)).tokens if self.padded else symbols
        return Prompt(tokens, len(symbols) if self.knows else None)


def with_words(transformer: Transformer, words: Words) -> Model:
    return replace(with_weights(transformer), codec=words)  # type: ignore[arg-type]


def formula(text: str, alphabet: str = "ab") -> Specification:
    return Specification(name=text, formula=parse_formula(text), alphabet=tuple(alphabet))


def lookup() -> Model:
    """The bit at the position given by the first three bits of the word: a dynamic lookup."""
    bit = token("bit", {"0": (0,), "1": (1,)})
    places = stack(*(position(Bit(k, signed=True)) for k in range(3)))
    own = [
        attend(f"bit {k}", query=constant(1), key=-position(I_SQUARED) + 2 * k * position(I), value=bit)
        for k in range(3)
    ]
    pointer = stack(*(named(f"pointer {k}", (2 * b - 1)) for k, b in enumerate(own)))
    found = attend("there", query=pointer, key=places, value=bit)
    answer = named(
        "more than half",
        (2 * relu("half", found - Fraction(1, 4)) - 2 * relu("most", found - Fraction(3, 4))).with_range(BIT),
    )
    return with_words(compile_program(recogniser("lookup", ("0", "1"), answer)), Words(("0", "1")))


def spreading() -> Model:
    """A loop: in every iteration each position copies a 1 from the previous one."""
    bit = token("bit", {"0": (0,), "1": (1,)})

    def body(x: Signal) -> Signal:
        i = position(I)
        before = attend(
            "before",
            query=stack(constant(1), i),
            key=stack(-position(I_SQUARED) - 2 * i, 2 * i),
            value=x,
            single_key=True,
        )
        return named("taken", (relu("one", x + before) - relu("both", x + before - 1)).with_range(BIT))

    spread = loop("spread", iterations=Logarithm(of_length=True), initial=named("carried", bit), body=body)
    return with_words(compile_program(recogniser("spreading", ("0", "1"), spread)), Words(("0", "1"), knows=True))


def layout(circuit: Circuit, addresses: AddressEncoding, *, soft: bool) -> Model:
    """The padded transformer of a circuit."""
    codec = CircuitCodec(circuit, addresses)
    make = binary_signals if addresses is AddressEncoding.BINARY else unit_signals
    return with_codec(
        make(codec.layout, soft=soft),
        codec,
        "circuit-and-or-not" if addresses is AddressEncoding.BINARY else "circuit-threshold",
    )


def softly(model: Model, scale: int) -> Model:
    return replace(model, weights=soft(model.weights, scale))


Make = Callable[[], Model]
CASES: list[tuple[str, Make, str, int]] = [
    ("a symbol", lambda: api.compile(formula("Q_a")), "fixed:2", 6),
    ("since", lambda: api.compile(formula("Q_a since Q_b", "abc")), "fixed:4", 4),
    ("since, soft", lambda: api.compile(formula("Q_a since Q_b"), attention="soft"), "fixed:4", 6),
    ("until", lambda: api.compile(formula("Q_a until Q_b")), "fixed:5", 6),
    ("previous", lambda: api.compile(formula("prev Q_a")), "fixed:4", 6),
    ("next, soft", lambda: api.compile(formula("next Q_a or Q_b"), attention="soft"), "fixed:4", 6),
    ("nested", lambda: api.compile(formula("once (Q_a and prev Q_b)")), "fixed:4", 5),
    ("a count", lambda: api.compile(formula("#<[Q_a] = #<[Q_b]")), "fixed:4", 4),
    ("a count, soft", lambda: api.compile(formula("#<[Q_a] = #<[Q_b]"), attention="soft"), "fixed:3", 4),
    ("two counts", lambda: api.compile(formula("2*#<[Q_a] > #>[Q_b]")), "fixed:5", 6),
    ("parity", lambda: api.compile(formula("odd(#<[Q_a])")), "fixed:6", 6),
    ("masked", lambda: api.compile(formula("prev Q_a"), "temporal-masked"), "fixed:6", 5),
    ("a sign", lambda: api.compile(formula("#<[Q_a] >= #<[Q_b]"), "temporal-layer-norm"), "fixed:5", 6),
    ("nested signs", lambda: api.compile(formula("#<[#<[Q_a] > 1] >= 2"), "temporal-layer-norm"), "fixed:4", 5),
    ("a lookup", lookup, "fixed:8", 6),
    ("a loop", spreading, "fixed:8", 6),
    ("padding", lambda: with_words(palindromes(5), Words(("0", "1"), padded=True, knows=True)), "fixed:7", 5),
    ("an adder's layout", lambda: layout(adder(1), AddressEncoding.BINARY, soft=False), "fixed:2", 2),
    ("a majority's layout", lambda: layout(majority(3), AddressEncoding.BINARY, soft=True), "fixed:2", 3),
    ("a majority's layout, thresholds", lambda: layout(majority(5), AddressEncoding.UNIT, soft=False), "fixed:9", 5),
    ("an adder's layout, soft", lambda: layout(adder(1), AddressEncoding.UNIT, soft=True), "fixed:15", 2),
    ("more bits inside", lambda: softly(api.compile(formula("prev Q_a and Q_b")), 128), "fixed:4:8", 5),
]


LARGE = [
    pytest.param(*case, n + 1, id=f"{name}, longer", marks=pytest.mark.slow)
    for name, *case, n in CASES
    if name.startswith("a count")
]


@pytest.mark.parametrize(("make", "numbers", "n"), [*(pytest.param(*case, id=name) for name, *case in CASES), *LARGE])
def test_the_circuit_says_what_the_transformer_says_on_every_word(
    make: Callable[[], Model], numbers: str, n: int
) -> None:
    lowered = to_circuit(make(), n, numbers)
    assert list(lowered.find_disagreements()) == []
    kinds = {gate.kind for gate in lowered.circuit.gates}
    assert kinds <= {GateKind.AND, GateKind.OR, GateKind.NOT, GateKind.THR, GateKind.BUF, GateKind.ZERO, GateKind.ONE}
    output = {answer for row in lowered.predict([(s,) * n for s in lowered.codec.alphabet]) for answer in row}
    assert output <= set(lowered.model.weights.outputs)


def test_wrong_gates_are_noticed() -> None:
    """Some gates are irrelevant to all answers; many are not."""
    lowered = to_circuit(api.compile(formula("Q_a since Q_b")), 3, "fixed:4")
    gates = lowered.circuit.gates
    flipped = {GateKind.AND: GateKind.OR, GateKind.OR: GateKind.AND}
    noticed = []
    for place, gate in enumerate(gates):
        if gate.kind in flipped:
            wrong = (*gates[:place], replace(gate, kind=flipped[gate.kind]), *gates[place + 1 :])
            noticed.append(any(replace(lowered, circuit=replace(lowered.circuit, gates=wrong)).find_disagreements()))
    assert sum(noticed) > 10


@pytest.mark.parametrize("weightings", [HARD, SOFT], ids=["hard", "soft"])
def test_random_transformers_as_circuits(weightings: tuple[Weighting, ...]) -> None:
    sizes = []
    for seed in (1, 2, 3, 4, 7, 10, 13, 14, 16, 17, 18, 20):
        drawn = RandomTransformer(seed, weightings=weightings, denominators=(1, 2)).transformer()
        lowered = to_circuit(with_words(drawn, Words(VOCABULARY)), 2, "fixed:2")
        assert list(lowered.find_disagreements()) == [], seed
        sizes.append(lowered.size)
    assert max(sizes) > 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_more_random_transformers_as_circuits(seed: int) -> None:
    weightings = (*HARD, *SOFT)
    drawn = RandomTransformer(500 + seed, weightings=weightings, denominators=(1, 2)).transformer()
    lowered = to_circuit(with_words(drawn, Words(VOCABULARY)), 3, "fixed:2:3" if seed % 2 else "fixed:2")
    assert list(lowered.find_disagreements()) == []


def circuit(text: str, n: int, numbers: str = "fixed:6") -> TransformerCircuit:
    return to_circuit(api.compile(formula(text)), n, numbers)


def test_a_circuit_comes_back() -> None:
    """From a circuit to a transformer and back: the majority gate is recovered, among gates that negate answers."""
    lowered = to_circuit(layout(majority(5), AddressEncoding.UNIT, soft=False), 5, "fixed:9", positions=[5])
    thresholds = [gate for gate in lowered.circuit.gates if gate.kind is GateKind.THR]
    assert any(gate.inputs == lowered.circuit.inputs and gate.threshold == 3 for gate in thresholds)
    assert lowered.size <= 4


def test_the_depth_does_not_grow_with_the_length() -> None:
    """Lemma 4.2: constant depth; the size is polynomial."""
    circuits = {n: circuit("Q_a since Q_b", n) for n in range(4, 13)}
    assert max(found.depth for found in circuits.values()) <= 12
    assert circuits[12].depth <= circuits[6].depth
    assert circuits[12].size <= 3**3 * circuits[4].size


FLAT = ("Q_a since Q_b", "once Q_a")
NESTED = ("once (Q_a and (Q_a since Q_b))", "historically (Q_a -> once Q_b)", "Q_a since (Q_b and once Q_a)")
COUNTING = ("#<[Q_a] >= 2", "#<[Q_a since Q_b] >= 2")
LARGEST = 15
"""The largest number of F_2, in units: sums saturate there."""


def without_thresholds(model: Model, n: int) -> TransformerCircuit:
    """The circuit of AND, OR and NOT for the prediction in F_2 at the last position."""
    made = to_circuit(model, n, "fixed:2", positions=[-1], yes=True)
    gates = [gate for gate in made.circuit.gates if gate.kind is GateKind.THR]
    assert max((gate.effective_threshold for gate in gates), default=0) <= LARGEST, (
        "a threshold that grows with the length"
    )
    made = made.with_basis(Basis.AC0)
    assert GateKind.THR not in {gate.kind for gate in made.circuit.gates}
    return made


def agrees(made: TransformerCircuit) -> bool:
    """Whether circuit and transformer agree: on every word of up to 8 letters, else on 100 random ones."""
    draw = random.Random(made.length)
    some = [tuple(draw.choices("ab", k=made.length)) for _ in range(100)]
    return not list(made.find_disagreements(None if made.length <= 8 else some))


def constant_depth(text: str, attention: str, sizes: Iterable[int]) -> None:
    """Lemma 4.2: from n = 16 on one depth, and before that, where sums are too short to saturate, at most that."""
    model = api.compile(formula(text), attention=attention)
    depths = {}
    for n in sizes:
        made = without_thresholds(model, n)
        depths[n] = made.depth
        assert agrees(made), n
        assert made.size <= 60 * n**3
    (constant,) = {depth for n, depth in depths.items() if n >= 16}
    assert 0 < max(depths.values()) == constant, depths


@pytest.mark.parametrize(
    ("text", "attention"), [*product((FLAT[0], NESTED[0]), ("hard", "soft")), (COUNTING[1], "soft")]
)
def test_constant_precision_is_constant_depth_without_thresholds(text: str, attention: str) -> None:
    constant_depth(text, attention, (4, 8, 16, 20))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "attention"), [*product((*FLAT, *NESTED), ("hard", "soft")), *product(COUNTING, ["soft"])]
)
def test_constant_precision_is_constant_depth_up_to_64(text: str, attention: str) -> None:
    constant_depth(text, attention, (4, 8, 16, 24, 32, 48, 64))


def test_f_2_cannot_count_to_two_among_many() -> None:
    """Counting by hard attention is not in the sweep, since all shares round to the same number."""
    model = api.compile(formula(COUNTING[0]))
    assert without_thresholds(model, 4).depth > 0
    assert without_thresholds(model, 16).size == 2


@pytest.mark.slow
def test_softmax_in_f_6_becomes_a_circuit_for_16_symbols() -> None:
    began = time.process_time()
    made = to_circuit(api.compile(formula("Q_a since Q_b"), attention="soft"), 16, "fixed:6")
    assert time.process_time() - began < 60
    draw = random.Random(0)
    assert list(made.find_disagreements([tuple(draw.choices("ab", k=16)) for _ in range(100)])) == []


def test_a_loop_is_stacked_copies() -> None:
    """Lemma 5.1: the depth grows by the same amount with every iteration."""
    found = {n: to_circuit(spreading(), n, "fixed:8", positions=[-1]).depth for n in (2, 4, 8, 16)}
    assert found[16] > found[8] > found[4]
    assert found[16] - found[8] == found[8] - found[4]


def test_positions_may_be_chosen() -> None:
    last = to_circuit(api.compile(formula("Q_a since Q_b")), 4, "fixed:4", positions=[-1])
    assert last.positions == (4,)
    assert len(last.circuit.outputs) == 2
    assert last.predict([("b", "a", "a", "a"), ("b", "a", "b", "a"), ("a", "a", "a", "a")]) == [
        ("true",),
        ("true",),
        ("false",),
    ]
    assert "depth" in str(last)


def test_equal_logits_say_nothing() -> None:
    drawn = RandomTransformer(3, denominators=(1,)).transformer()
    flat = replace(
        drawn,
        unembedding=replace(
            drawn.unembedding,
            bias=(Fraction(1),) * len(drawn.outputs),
            weight=replace(drawn.unembedding.weight, rows=((),) * len(drawn.outputs)),
        ),
    )
    lowered = to_circuit(with_words(flat, Words(VOCABULARY)), 2, "fixed:3")
    assert lowered.predict([("a", "b")]) == [(None, None)]
    assert list(lowered.find_disagreements()) == []


def test_a_layer_norm_of_several_numbers_is_refused_by_name() -> None:
    hashed = api.compile(formula("odd(#<[Q_a])"), "temporal-layer-norm")
    with pytest.raises(ConstructionError, match=r"unit '.*' is a layer norm of several numbers, and fixed point"):
        to_circuit(hashed, 3, "fixed:6")


def test_what_has_no_circuit_is_refused() -> None:
    transformer = api.compile(formula("prev Q_a"))
    with pytest.raises(UsageError, match="fixed point"):
        to_circuit(transformer, 3, "float64")
    with pytest.raises(PrecisionError, match="smallest precision"):
        to_circuit(transformer, 3, "fixed:1")
    swapped = with_words(RandomTransformer(1, denominators=(1,)).transformer(), Words(VOCABULARY))

    class Mixed(Words):
        def prompt(self, word: str | Iterable[str]) -> Prompt:
            symbols = tuple(word)
            return Prompt(("b" if "b" in symbols else "a",) * len(symbols))

    with pytest.raises(ConstructionError, match="depends on two symbols"):
        to_circuit(replace(swapped, codec=Mixed(VOCABULARY)), 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", [bench, blif, aiger, bristol], ids=lambda form: form.__name__.rpartition(".")[2])
def test_the_circuit_goes_into_files_and_back(form: ModuleType) -> None:
    lowered = to_circuit(api.compile(formula("Q_a since Q_b")), 3, "fixed:4")
    again = form.parse(form.to_text(lowered.circuit))
    assert (truth_table(again) == truth_table(lowered.circuit)).all()


def test_a_gate_that_is_much_too_large_is_refused_in_few_digits() -> None:
    model = api.compile(formula("Q_a since Q_b"))
    with pytest.raises(ConstructionError, match=r"a gate would need more than 2\^\d+ arguments"):
        to_circuit(model, 3, "fixed:4096")
