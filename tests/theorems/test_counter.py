"""Counter machines in a transformer: interpreter, C-RASP evaluator and decoder take the same transitions."""

from __future__ import annotations

import random
from itertools import islice, product

import numpy as np
import pytest

import softmachine as sm
from softmachine.engines.check import check_inputs
from softmachine.languages import zoo
from softmachine.languages.counter import CounterMachine, RunError, execute, parse
from softmachine.languages.crasp import generate
from softmachine.support.errors import ConstructionError
from softmachine.support.token_array import CompressedSequence
from softmachine.testing import load_as
from softmachine.testing.counter import random_counter_machine
from softmachine.theorems.counting.counter import CounterCodec

CONSTRUCTIONS = ["counter", "counter-relu", "counter-relu-max-length"]
MOST = 40
HALVE = """
    input a
    counters y
    start h
    accept yes
    reject no
    h: a >= 2 -> h: a -= 2, y += 1
    h: a = 1 and y = 0 -> yes
    h: a = 0 and y >= 1 -> m
    h: else -> no
    m: y >= 1 -> m: y -= 1, a += 1
    m: else -> h
"""


def random_machines_are_right(seeds: range, words: int) -> None:
    for seed in seeds:
        chooser = random.Random(seed)
        machine = random_counter_machine(chooser, letters=chooser.randint(1, 3), work_counters=chooser.randint(0, 3))
        inputs = [
            tuple(chooser.choices(machine.alphabet, k=chooser.randint(0, 12))) if machine.alphabet else ()
            for _ in range(words)
        ]
        three_agree(machine, inputs, CONSTRUCTIONS[seed % 3] if not machine.has_ordered_letters else "counter")


def three_agree(machine: CounterMachine, words: list[tuple[str, ...]], construction: str, most: int = MOST) -> None:
    """Interpreter, evaluator and decoder write the same tokens."""
    model = sm.compile(machine, construction, length=200)
    assert isinstance(model.codec, CounterCodec)
    for word in words:
        wanted = list(model.codec.expected(word, most))
        assert list(islice(generate(model.codec.program, word), len(wanted))) == wanted
    assert check_inputs(model, words, max_steps=most).disagreements == ()


def test_random_machines_take_the_transitions_that_the_interpreter_takes() -> None:
    random_machines_are_right(range(24), words=2)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_five_hundred_random_machines_take_the_right_transitions(block: int) -> None:
    random_machines_are_right(range(1000 + 25 * block, 1000 + 25 * (block + 1)), words=6)


ZOO = sorted(entry.name for entry in zoo.list_entries() if entry.file.endswith(".cm"))


def words_by_counts(machine: CounterMachine, longest: int) -> list[tuple[str, ...]]:
    """A word for every way to choose how often each letter occurs, up to a total."""
    chooser = random.Random(longest)
    found = []
    for counts in product(range(longest + 1), repeat=len(machine.alphabet)):
        if sum(counts) <= longest:
            word = word_of(machine, counts)
            found.append(word if machine.has_ordered_letters else tuple(chooser.sample(word, len(word))))
    return found


def word_of(machine: CounterMachine, counts: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(letter for letter, times in zip(machine.alphabet, counts, strict=True) for _ in range(times))


def pairs_with_results(machine: CounterMachine, largest: int) -> list[tuple[str, ...]]:
    """Of machines for a^m b^n c^f(m, n): for all m and n the right f, and one that is not."""
    found = []
    for m, n in product(range(largest + 1), repeat=2):
        results = (c for c in range(largest**2 + 1) if execute(machine, word_of(machine, (m, n, c))).accepted)
        right = next(results, 0)
        found += [word_of(machine, (m, n, right)), word_of(machine, (m, n, right + 1))]
    return found


@pytest.mark.parametrize("name", ZOO)
def test_machines_of_the_zoo_take_the_right_transitions(name: str) -> None:
    machine = load_as(name, CounterMachine)
    words = words_by_counts(machine, 3)
    three_agree(machine, words, "counter", most=400)
    if machine.has_ordered_letters:
        three_agree(machine, [tuple(reversed(words[-1]))], "counter", most=5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ZOO)
def test_machines_of_the_zoo_take_the_right_transitions_on_all_inputs(name: str) -> None:
    machine = load_as(name, CounterMachine)
    words = words_by_counts(machine, 12)
    if name in ("gcd-counter", "division-counter", "multiplication-counter"):
        words += pairs_with_results(machine, 8)
    three_agree(machine, words, "counter", most=3000)


@pytest.mark.parametrize("construction", CONSTRUCTIONS)
def test_powers_of_two_by_halving(construction: str) -> None:
    machine = parse(HALVE, name="halve")
    three_agree(machine, [("a",) * n for n in range(13)], construction)
    run = sm.run(sm.compile(machine, construction, length=50), "aaaaaaaa")
    assert run.accepted
    assert run.steps == 21
    assert run.output == "a=1 y=0"
    assert run.format().splitlines()[0].split() == ["0", "h", "a", "=", "8", "y", "=", "0"]


def test_states_that_no_path_leads_to_are_left_out() -> None:
    machine = parse("input a\nstart q\naccept yes\nreject no\nq: a = 0 -> yes\nq: else -> no\np: else -> q")
    three_agree(machine, [(), ("a",)], "counter")


def test_no_position_features_whatever_the_letters() -> None:
    for order in ("", "order"):
        text = f"input a b\n{order}\nstart q\naccept yes\nreject no\nq: a = b -> yes\nq: else -> no"
        model = sm.compile(parse(text), "counter").weights
        assert model.features == ()
        assert all(head.query.bias == () and head.bias is None for head in model.heads)
        assert len(model.heads) == 1 + bool(order)


def test_the_cost_of_a_machine() -> None:
    """One head carries the counters that are tested, and 1/(i+1); a unit for each side of a test, one for each rule."""
    model = sm.compile(parse(HALVE), "counter").weights
    tokens, counters, sides, tested_rules = 10, 2, 8, 4
    assert len(model.vocabulary) == tokens
    assert len(model.heads) == 1
    assert len(model.heads[0].value.bias) == counters + 1
    assert [len(layer.feed_forward.units) for layer in model.layers] == [sides, tested_rules]
    assert model.width == tokens + counters + 1 + sides + tested_rules


def test_letters_in_order_are_a_nested_count() -> None:
    text = "input a b\norder\nstart q\naccept yes\nreject no\nq: a = b -> yes\nq: else -> no"
    with pytest.raises(ConstructionError, match="cannot be counted"):
        sm.compile(parse(text), "counter-relu")
    machine = parse(text)
    for construction in ("counter", "counter-relu-max-length"):
        model = sm.compile(machine, construction, length=20)
        assert sm.run(model, "aabb").accepted
        assert not sm.run(model, "abab").accepted
        assert not sm.run(model, "aab").accepted


def test_a_machine_that_gets_stuck_says_where() -> None:
    machine = parse("input a\nstart q\naccept yes\nq: a >= 2 -> q: a -= 2\nq: a = 0 -> yes")
    assert sm.run(machine, "aaaa").accepted
    with pytest.raises(RunError, match="at step 2, no transition of state 'q' applies"):
        sm.run(machine, "aaa")


HEAD = "input a b\nstart q\naccept yes\nreject no\n"


@pytest.mark.parametrize("construction", CONSTRUCTIONS)
@pytest.mark.parametrize("after", ["q: a >= 1 -> yes: b -= 1", "q: a >= 1 -> r: b -= 1\nr: a >= 0 -> yes: b += 5"])
def test_a_counter_below_0_is_the_interpreters_error(construction: str, after: str) -> None:
    """The model continues with counters below 0; whether a later step repairs the value or not, the run is invalid."""
    machine = parse(f"{HEAD}{after}\nq: else -> no", name="down")
    with pytest.raises(RunError) as right:
        execute(machine, "a")
    model = sm.compile(machine, construction, length=20)
    with pytest.raises(RunError) as caught:
        sm.run(model, "a")
    assert str(caught.value) == str(right.value)
    assert "takes counter 'b' to -1" in str(caught.value)
    assert sm.run(model, "ab").accepted
    assert not sm.run(model, "b").accepted


def test_a_counter_below_0_comes_before_a_stuck_end() -> None:
    machine = parse(HEAD + "q: a >= 1 -> r: b -= 1\nq: else -> no\nr: b >= 0 -> yes", name="down")
    with pytest.raises(RunError, match=r"at step 1, .*takes counter 'b' to -1"):
        sm.run(machine, "a")


def test_a_choice_that_nobody_found_beforehand_is_the_interpreters_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softmachine.languages.counter.determinism.QUERY_BUDGET", 0)
    machine = parse(HEAD + "q: a >= 3 -> q: a -= 1\nq: 2*a = 3*b -> yes\nq: a < 3 and 2*a != 3*b -> no")
    model = sm.compile(machine)
    assert not sm.run(model, "aaa").accepted
    with pytest.raises(RunError, match=r"at step 3, two transitions apply: .*a >= 3.* and .*2\*a = 3\*b"):
        sm.run(model, "a" * 5 + "bb")


COUNT_UP = """
    input a
    counters x y
    start q
    accept yes
    q: x < 500 -> q: x += 1, y += 1
    q: else -> r
    r: x >= 1 -> r: x -= 1
    r: x = 0 and y < 8000 -> q
    r: else -> yes: y -= {}
"""


def test_long_runs_are_checked_too() -> None:
    run = sm.run(parse(COUNT_UP.format(7_900)), "a", engine="fast")
    assert (run.output, run.steps) == ("a=1 x=0 y=100", 16_032)
    with pytest.raises(RunError, match=r"at step 16,032, .*takes counter 'y' to -100"):
        sm.run(parse(COUNT_UP.format(8_100)), "a", engine="fast")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("step", "instead", "message"),
    [
        (21, ["q_2"], "at step 21, .*q: else -> r.* is taken, but .*x < 500.* applies"),
        (5_001, ["r_2", "q_1"], "at step 5,001, .*y < 8000.* is taken, but .*x >= 1.* applies"),
        (16_033, ["REJ"], r"at step 16,033, the verdict is reject, but the run has ended \(accepting state\)"),
        (16_032, ["ACC"], r"at step 16,032, the verdict is accept, but .*y -= 7900.* applies"),
        (16_033, ["q_1", "ACC"], r"at step 16,033, .*x < 500.* is taken, but the run has ended"),
    ],
)
def test_tokens_that_are_not_the_machines_run_are_told(
    packed: bool, step: int, instead: list[str], message: str
) -> None:
    codec = sm.compile(parse(COUNT_UP.format(7_900))).codec
    assert isinstance(codec, CounterCodec)
    said = [*codec.expected("a", 100_000)][: step - 1] + instead
    with pytest.raises(RunError, match=message):
        codec.parse_run("a", coded(said) if packed else said)


def coded(tokens: list[str]) -> CompressedSequence[str]:
    names = sorted(set(tokens))
    packed = CompressedSequence(names)
    packed.extend(np.array([names.index(token) for token in tokens]))
    return packed


def test_a_run_on_letters_out_of_order_is_told() -> None:
    codec = sm.compile(parse("input a b\norder\nstart q\naccept yes\nreject no\nq: a = b -> yes\nq: else -> no")).codec
    assert isinstance(codec, CounterCodec)
    assert codec.parse_run("ba", ["REJ"]).verdict == "reject"
    assert codec.parse_run("ba", []).verdict is None
    for said in (["q_1", "ACC"], ["ACC"], ["q_1"]):
        with pytest.raises(RunError, match="the input symbols are not in the order a b"):
            codec.parse_run("ba", said)
