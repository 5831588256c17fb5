"""The ternary constructions: equal to the interpreter, as small as promised, and never outside of -1, 0 and 1."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import softmachine as sm
from softmachine.certify import certify
from softmachine.certify.certificate import replace_by_softmax
from softmachine.compiler import compile_program
from softmachine.compiler.model import Model
from softmachine.engines.check import check_inputs
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.dense.forward_pass import DenseLayer, Pass
from softmachine.engines.numerics import Tensor
from softmachine.engines.numerics.base import Array, TensorMap
from softmachine.ir import Program, Signal, evaluate
from softmachine.ir.primitives import Named
from softmachine.ir.signal import node_signal, topological_order
from softmachine.languages.turing import Action, Configuration, Rule, TapeConvention, TuringMachine, execute
from softmachine.support.errors import ConstructionError, InputError, PrecisionError, UsageError
from softmachine.testing import load_as, random_word
from softmachine.testing.turing import random_turing_machine
from softmachine.theorems.turing.ternary.codec import Marker, OutputEnding, TernaryCodec, iterate_segments
from softmachine.theorems.turing.ternary.theorem import PLAIN_COST, SUMMARY_COST, position_bits, signals
from softmachine.transformer.weights import Layer, Transformer
from tests.models import with_codec
from tests.sources.adder import binary_adder


def model(machine: TuringMachine, bits: int, *, summarises: bool = False, denoised: bool = False) -> Model:
    codec = TernaryCodec(machine, bits, summarises)
    return with_codec(signals(codec, denoised=denoised), codec, "turing-ternary", codec.context)


def full_machine(
    tapes: int, tape: TapeConvention = TapeConvention.STAY, states: int = 3, symbols: int = 3
) -> TuringMachine:
    """A machine with a rule for every state but the last and everything that it can read."""
    names = tuple("_abcdefg"[:symbols])
    states_named = tuple(f"q{number}" for number in range(states))
    rules = (
        Rule(state, read, read[::-1], tuple("LSR"[(number + k) % 3] for k in range(tapes)), states_named[-1])
        for number, (state, read) in enumerate(product(states_named[:-1], product(names, repeat=tapes)))
    )
    return TuringMachine(
        name="full",
        states=states_named,
        alphabet=names[1:],
        symbols=names,
        blank="_",
        rules=tuple(rules),
        start="q0",
        accept=(states_named[-1],),
        tape=tape,
        tapes=tapes,
    )


def machines(count: int, *, largest: int = 2) -> Iterator[tuple[random.Random, TuringMachine]]:
    for seed in range(count):
        rng = random.Random(seed)
        tapes, tape = rng.randint(1, largest), rng.choice(list(TapeConvention))
        yield (
            rng,
            random_turing_machine(rng, tapes=tapes, symbols=rng.randint(2, 3), states=rng.randint(2, 4), tape=tape),
        )


@pytest.mark.parametrize("summarises", [False, True])
@pytest.mark.parametrize(
    ("name", "up_to", "arithmetic"),
    [
        ("increment", 4, "int8"),
        ("palindrome", 3, "int8"),
        ("unary-subtraction", 2, "float64"),
        ("increment", 1, "exact"),
        pytest.param("binary-addition", 4, "float64", marks=pytest.mark.slow),
        pytest.param("palindrome", 6, "int8", marks=pytest.mark.slow),
        pytest.param("equality", 3, "exact", marks=pytest.mark.slow),
    ],
)
def test_every_short_input_is_run_as_the_interpreter_does(
    name: str, up_to: int, arithmetic: str, summarises: bool
) -> None:
    machine = load_as(name, TuringMachine)
    report = sm.check(model(machine, 8, summarises=summarises), up_to=up_to, arithmetic=arithmetic, max_steps=60)
    assert report.holds, report.disagreements[:3]


@pytest.mark.parametrize("summarises", [False, True])
def test_random_machines_generate_the_interpreters_trace(summarises: bool) -> None:
    for rng, machine in machines(3):
        transformer = model(machine, 7, summarises=summarises)
        codec = transformer.codec
        assert isinstance(codec, TernaryCodec)
        word = random_word(rng, machine, rng.randrange(4))
        run = sm.run(transformer, word, arithmetic="int8", max_steps=25)
        limited = codec.expected(word, 25)
        assert run.tokens == tuple(limited)


def test_the_signals_keep_their_promises_and_the_weights_compute_them() -> None:
    rng, machine = next(machines(1))
    for summarises in (False, True):
        codec = TernaryCodec(machine, 4, summarises)
        program = signals(codec)
        prompt, said = next(iter(codec.expected_segments(random_word(rng, machine, 1), 3)))
        tokens = (*prompt.tokens, *said[:-1])[: codec.context]
        logits = evaluate(program.logits, tokens)
        engine = DenseEngine(compile_program(program), "exact")
        stream = engine.residual_stream([tokens])
        found = engine.unembedding(stream).value[0]
        assert [[int(x) for x in row] for row in found] == [[int(x) for x in row] for row in logits]


SIZES = [(1, 4), (1, 5), (1, 10), (2, 6)]
MORE_SIZES = [size for size in product((1, 2, 3), range(4, 11)) if size not in SIZES]


@pytest.mark.parametrize(
    ("tapes", "bits"), [*SIZES, *(pytest.param(*size, marks=pytest.mark.slow) for size in MORE_SIZES)]
)
@pytest.mark.parametrize("summarises", [False, True])
def test_dimensions_are_those_of_the_cost_formula_and_below_the_papers(tapes: int, bits: int, summarises: bool) -> None:
    codec, cost = TernaryCodec(full_machine(tapes), bits, summarises), SUMMARY_COST if summarises else PLAIN_COST
    made = compile_program(signals(codec))
    units, heads = max(len(layer.feed_forward.units) for layer in made.layers), cost.evaluate("heads per layer", codec)
    assert len(made.layers) == cost.evaluate("layers", codec)
    assert max(len(layer.heads) for layer in made.layers) == heads
    assert max(len(head.query.bias) for head in made.heads) == cost.evaluate("key width", codec) == 4 * bits - 1
    assert max(len(head.value.bias) for head in made.heads) == cost.evaluate("value width", codec)
    assert units <= cost.evaluate("units per layer", codec)
    assert made.width <= cost.evaluate("width", codec)
    assert made.largest_weight <= 2

    # The paper, with |Q| = 3 and |Γ| = 3 (2 bits each); it defines only even r.
    even = bits + bits % 2
    assert len(made.layers) <= 5 * even // 2 + 8
    if not summarises:
        assert heads <= 3 * tapes
        assert units <= max(18 * even + 2, 14 * tapes * even + 2 * even, 3 * 3**tapes + 1)
        assert made.width <= 6 * tapes * even + 6 * even + 6 + 2 * (3 * tapes + 1) + 10 * tapes + 21
    else:
        assert heads <= 3 * tapes + 2
        largest = max(22 * even + 11, 18 * tapes * even + 2 * even + 1, 3 * 3**tapes + 12 * tapes + 1)
        assert units <= largest
        assert made.width <= 7 * tapes * even + 9 * even + 10 + 2 * (4 * tapes + 1) + 13 * tapes + 31


@pytest.mark.parametrize("summarises", [False, True])
@pytest.mark.parametrize("bits", [4, 7])
def test_denoised_dimensions_are_those_of_the_cost_formula(bits: int, summarises: bool) -> None:
    codec, cost = (
        TernaryCodec(full_machine(1, TapeConvention.TWO_WAY), bits, summarises),
        SUMMARY_COST if summarises else PLAIN_COST,
    )
    made = compile_program(signals(codec, denoised=True))
    assert len(made.layers) == cost.evaluate("layers with softmax", codec) <= 5 * bits + 16
    assert max(len(layer.heads) for layer in made.layers) <= cost.evaluate("heads per layer", codec)
    units = "units per layer" if summarises else "units per layer with softmax"
    assert max(len(layer.feed_forward.units) for layer in made.layers) <= cost.evaluate(units, codec)
    assert made.width <= cost.evaluate("width", codec)


@pytest.mark.parametrize(
    ("word", "steps", "length", "bits", "segment_lengths", "segment_bits"),
    [
        ("1+1", 17, 42, 6, [27, 29], 6),
        ("110+101", 30, 75, 8, [49, 52, 20], 6),
        ("1011011+1101001", 58, 155, 8, [91, 93, 37], 8),
        ("110101101011+101100111010", 93, 245, 8, [134, 149, 68], 8),
        ("1" * 30 + "+" + "1" * 30, 219, 567, 10, [314, 329, 172], 10),
    ],
)
def test_the_papers_lengths_are_reproduced(
    word: str, steps: int, length: int, bits: int, segment_lengths: Sequence[int], segment_bits: int
) -> None:
    machine = binary_adder()
    first, second = word.split("+")
    result = execute(machine, word)
    assert (result.output, result.steps) == (f"{int(first, 2) + int(second, 2):b}", steps)
    (only,) = iterate_segments(TernaryCodec(machine, bits, ending=OutputEnding.WORD), word, 1000)
    assert len(only.prompt) + len(only.output) == length
    several = iterate_segments(
        TernaryCodec(machine, segment_bits, writes_summaries=True, ending=OutputEnding.WORD), word, 1000
    )
    assert [len(segment.prompt) + len(segment.output) for segment in several] == segment_lengths


def test_the_adder_of_the_papers_size_runs() -> None:
    codec = TernaryCodec(binary_adder(), 6, writes_summaries=True, ending=OutputEnding.WORD)
    transformer = with_codec(signals(codec), codec, "turing-ternary-summary", codec.context)
    run = sm.run(transformer, "1+1", arithmetic="int8")
    assert (run.output, run.verdict, run.steps, run.segments) == ("10", "accept", 17, (27, 29))


def ternary_after_every_sublayer(transformer: Transformer, tokens: Sequence[str], arithmetic: str) -> bool:
    """Whether the residual stream of a pass holds only -1, 0 and 1 after attention and after feed-forward."""
    engine = DenseEngine(transformer, arithmetic)
    seen: list[bool] = []
    add = engine.arithmetic.add

    def noted(x: Tensor, y: Tensor) -> Tensor:
        total = add(x, y)
        seen.append(bool(np.isin(np.asarray(total.value, dtype=np.float64), (-1, 0, 1)).all()))
        return total

    engine.arithmetic.add = noted  # type: ignore[method-assign]
    Pass(engine, 1, None).extend([tokens])
    assert len(seen) > len(transformer.layers)
    return all(seen)


@pytest.mark.parametrize("summarises", [False, True])
def test_the_residual_stream_is_ternary_after_every_sublayer(summarises: bool) -> None:
    for rng, machine in machines(2):
        transformer = model(machine, 7, summarises=summarises)
        codec = transformer.codec
        assert isinstance(codec, TernaryCodec)
        for prompt, said in codec.expected_segments(random_word(rng, machine, 3), 30):
            assert ternary_after_every_sublayer(
                transformer.weights, (*prompt.tokens, *said)[: codec.context], "float64"
            )


def cleared(layer: Layer) -> set[int]:
    """The coordinates that a feed-forward sublayer clears."""
    forward = layer.feed_forward
    rows = zip(forward.units, forward.first.weight.rows, strict=True)
    return {row[0][0] for name, row in rows if name.startswith("clear ")}


@pytest.mark.parametrize("summarises", [False, True])
def test_in_bfloat16_everything_but_what_heads_have_just_retrieved_is_ternary(summarises: bool) -> None:
    """Softmax leaves small errors where heads write, until the coordinate is cleared; nothing else ever has one."""
    codec = TernaryCodec(full_machine(1, TapeConvention.TWO_WAY), 6, summarises)
    transformer = compile_program(replace_by_softmax(signals(codec, denoised=True), 8))
    prompt, said = next(iter(codec.expected_segments("ab", 12)))
    streams = streams_after_layers(transformer, (*prompt.tokens, *said), "bfloat16")
    noisy: set[int] = set()
    errors = 0
    for layer, stream in zip(transformer.layers, streams, strict=True):
        noisy |= {row for head in layer.heads for row, _, _ in head.output.entries()}
        noisy -= cleared(layer)
        clean = [k for k in range(transformer.width) if k not in noisy]
        assert np.isin(stream[..., clean], (-1, 0, 1)).all()
        errors += int((~np.isin(stream, (-1, 0, 1))).sum())
    assert errors > 0


def streams_after_layers(transformer: Transformer, tokens: Sequence[str], arithmetic: str) -> list[Array]:
    """The residual stream after every layer."""
    engine = DenseEngine(transformer, arithmetic)
    found: list[Array] = []

    def noted(stream: Tensor) -> Tensor:
        found.append(stream.value)
        return stream

    engine.blocks = tuple(tuple(watched(layer, noted) for layer in block) for block in engine.blocks)
    engine.residual_stream([tokens])
    return found


def watched(layer: DenseLayer, note: TensorMap) -> DenseLayer:
    """A layer that shows the residual stream after its feed-forward network."""
    network = layer.network
    assert network is not None
    return replace(layer, network=lambda x: note(network(x)))


@pytest.mark.parametrize("summarises", [False, True])
def test_heads_cells_and_symbols_are_what_the_machine_has(summarises: bool) -> None:
    """The invariants of the proof, on the signals: after each step they name the same cells and symbols as the tape."""
    for rng, machine in machines(2):
        codec = TernaryCodec(machine, 6, summarises)
        program = signals(codec)
        named = _named(program)
        symbols = random_word(rng, machine, 2)
        configuration = Configuration.initial(machine, symbols)
        for segment in list(iterate_segments(codec, symbols, 14))[:2]:
            tokens = [codec.tokens[meaning] for meaning in (*segment.prompt, *segment.output)][: codec.context]
            heads = [_numbers(named[_name(machine, "head", k)], tokens) for k in range(machine.tapes)]
            cells = [_numbers(named[_name(machine, "cell", k)], tokens) for k in range(machine.tapes)]
            states = evaluate(named["state"], tokens)
            for position, meaning in enumerate((*segment.prompt, *segment.output)[: codec.context]):
                if isinstance(meaning, Action):
                    assert [cell[position] for cell in cells] == [head % codec.context for head in configuration.heads]
                    configuration.apply(meaning)
                if isinstance(meaning, Action) or meaning in (Marker.BEGIN, Marker.POSITION, Marker.END_POSITION):
                    assert [head[position] for head in heads] == [head % codec.context for head in configuration.heads]
                if isinstance(meaning, Action) or meaning in (Marker.BEGIN, Marker.END_POSITION):
                    wanted = machine.states.index(configuration.state)
                    assert sum(1 << k for k, bit in enumerate(states[position]) if bit == 1) == wanted


def _name(machine: TuringMachine, what: str, tape: int) -> str:
    return what if machine.tapes == 1 else f"{what} {tape + 1}"


def _named(program: Program) -> dict[str, Signal]:
    """The last signal of each name."""
    nodes = topological_order(program.logits.forms)
    return {node.name: node_signal(node) for node in nodes if isinstance(node, Named)}


def _numbers(register: Signal, tokens: Sequence[str]) -> list[int | None]:
    rows = evaluate(register, tokens)
    return [None if 0 in row else sum(1 << k for k, bit in enumerate(row) if bit == 1) for row in rows]


def test_machines_without_a_step_stop_at_once_with_a_verdict_and_their_input() -> None:
    machine = TuringMachine(
        name="nothing", states=("q",), alphabet=("a",), symbols=("_", "a"), blank="_", rules=(), start="q"
    )
    for construction in ("turing-ternary", "turing-ternary-summary"):
        run = sm.run(sm.compile(machine, construction, length=32), "aa")
        assert (run.verdict, run.steps, run.output) == ("halt", 0, "aa")


def test_outputs_with_blanks_and_on_both_sides_of_cell_0_are_printed_whole() -> None:
    rules = (
        Rule("a", ("_",), ("x",), ("L",), "b"),
        Rule("b", ("_",), ("_",), ("L",), "c"),
        Rule("c", ("_",), ("y",), ("S",), "d"),
    )
    machine = TuringMachine(
        name="gap", states=tuple("abcd"), alphabet=("x",), symbols=("_", "x", "y"), blank="_", rules=rules, start="a"
    )
    for construction in ("turing-ternary", "turing-ternary-summary"):
        transformer = sm.compile(machine, construction, length=64)
        run = sm.run(transformer, "")
        assert (run.verdict, run.output) == ("halt", "y_x")
        assert run.tokens[-6:] == ("HALT", "=x", "LEFT", "=_", "=y", "END")


def test_a_run_that_does_not_fit_is_noticed_and_the_length_that_would_do_is_named() -> None:
    for construction in ("turing-ternary", "turing-ternary-summary"):
        with pytest.raises(UsageError, match=r"does not end within the 24 positions") as refused:
            sm.run(sm.compile("busy-beaver-3", construction, length=24), "", arithmetic="int8")
        assert refused.value.hint
        needed = int(str(refused.value.hint).split()[-1])
        assert sm.run(sm.compile("busy-beaver-3", construction, length=needed), "", arithmetic="int8").halted
        assert not sm.check(sm.compile("busy-beaver-3", construction, length=24), up_to=0).holds
        with pytest.raises(UsageError, match="does not end within") as refused:
            sm.run(sm.compile("binary-counter", construction, length=16), "", arithmetic="int8", max_steps=40)
        needed = int(str(refused.value.hint).split()[-1])
        assert sm.run(sm.compile("binary-counter", construction, length=needed), "", max_steps=40).steps == 40
    with pytest.raises(UsageError, match="does not end within"):
        sm.run(sm.compile("busy-beaver-5", "turing-ternary", length=16), "", arithmetic="int8")
    with pytest.raises(UsageError, match="does not end within the 16 positions"):
        sm.run(sm.compile("palindrome", "turing-ternary", length=16), "a" * 20)


def test_bad_requests_are_refused() -> None:
    with pytest.raises(ConstructionError, match="depend on a length"):
        sm.compile("increment", "turing-ternary")
    with pytest.raises(ConstructionError, match=r"contexts of 2\^\d+ positions are not supported"):
        sm.compile("increment", "turing-ternary", length=1 << 40)
    with pytest.raises(InputError):
        sm.run(sm.compile("increment", "turing-ternary", length=32), "2")
    assert position_bits(4096) == 12
    assert position_bits(4097) == 13
    assert position_bits(3) == 4


def test_the_scale_is_the_one_that_the_gap_asks_for() -> None:
    """ln 8n in real numbers; ln 32n with the part of 1/4 that is spared for rounding."""
    codec = TernaryCodec(full_machine(1), 7)
    program = signals(codec, denoised=True)
    n = codec.context
    assert certify(program, n - 1).sharpness == math.ceil(math.log(32 * n)) == 9
    plain = certify(replace(program, spare_tolerance=Fraction(0)), n - 1)
    assert plain.sharpness == math.ceil(math.log(8 * n)) == 7
    assert plain.holds
    assert not certify(program, n - 1, 6).holds


@pytest.mark.parametrize("construction", ["turing-ternary", "turing-ternary-summary"])
def test_soft_attention_at_the_certified_scale_runs_in_low_precision(construction: str) -> None:
    soft = sm.compile("increment", construction, length=64, attention="soft")
    for arithmetic in ("bfloat16", "float16", "float8_e4m3fn", "float32"):
        run = sm.run(soft, "1", arithmetic=arithmetic)
        assert (run.verdict, run.output) == ("halt", "10")
    with pytest.raises(PrecisionError, match="is not representable in int8"):
        sm.run(soft, "1", arithmetic="int8")


def sixteen_steps_or_more(seed: int) -> tuple[TuringMachine, tuple[str, ...]]:
    """A random machine with one or two tapes and an input on which it makes at least 16 steps, if 20 tries find one."""
    rng = random.Random(seed)
    for _ in range(20):
        tapes, tape = rng.choice([1, 1, 1, 2]), rng.choice(list(TapeConvention))
        machine = random_turing_machine(
            rng, tapes=tapes, symbols=rng.randint(2, 3), states=rng.randint(2, 4), tape=tape
        )
        word = random_word(rng, machine, rng.randrange(4))
        if execute(machine, word, max_steps=16).steps == 16:
            break
    return machine, word


def fits(codec: TernaryCodec, word: tuple[str, ...], steps: int) -> bool:
    return all(len(p.tokens) + len(said) <= codec.context for p, said in codec.expected_segments(word, steps))


@pytest.mark.slow
@pytest.mark.parametrize("summarises", [False, True])
@pytest.mark.parametrize("hundred", range(10))
def test_thousand_random_machines(hundred: int, summarises: bool) -> None:
    """Free-running generation equals the interpreter's trace: hard in int8, soft in bfloat16 at the certified scale."""
    for seed in range(100 * hundred, 100 * hundred + 100):
        machine, word = sixteen_steps_or_more(seed)
        codec = next(codec for bits in (6, 7) if fits(codec := TernaryCodec(machine, bits, summarises), word, 16))
        expected = tuple(codec.expected(word, 16))
        denoised = signals(codec, denoised=True)
        sharpness = math.ceil(math.log(32 * codec.context))
        assert certify(denoised, codec.context - 1, sharpness, codec.domain(denoised.vocabulary)).holds
        hard, soft = signals(codec), replace_by_softmax(denoised, sharpness)
        for program, arithmetic in ((hard, "int8"), (soft, "bfloat16")):
            ready = with_codec(program, codec, "turing-ternary", codec.context)
            run = sm.run(ready, word, arithmetic=arithmetic, max_steps=16)
            assert run.tokens == expected, (seed, arithmetic)


@pytest.mark.slow
def test_100_000_steps_fit_into_a_short_context() -> None:
    """Segment by segment, every token is the interpreter's; no context has more than 4,096 tokens."""
    transformer = sm.compile("binary-counter", "turing-ternary-summary", length=4096)
    codec = transformer.codec
    assert isinstance(codec, TernaryCodec)
    assert codec.bits == 12
    lengths = [len(p.tokens) + len(said) for p, said in codec.expected_segments("", 100_000)]
    assert max(lengths) <= 4096
    report = check_inputs(transformer, [()], arithmetic="int8", max_steps=100_000)
    assert report.holds
    assert report.tokens == sum(len(said) for _, said in codec.expected_segments("", 100_000)) > 200_000
