from __future__ import annotations

import random
from itertools import islice, product
from pathlib import Path

import pytest

from softmachine.languages import counter, zoo
from softmachine.languages.counter import CounterMachine
from softmachine.languages.crasp import generate, interpreter, parse, run, to_text
from softmachine.languages.crasp.from_counter import build_counter_program, transition_tokens
from softmachine.support.errors import NoNextTokenError
from softmachine.testing import words
from softmachine.testing.counter import random_counter_machine

FOLDER = Path(zoo.__file__).parent / "counter"
ZOO = {file.stem: counter.parse(file.read_text(encoding="utf-8"), name=file.stem) for file in FOLDER.glob("*.cm")}


def nearly_ordered(machine: CounterMachine, longest: int) -> list[tuple[str, ...]]:
    """All words; for an ordered machine only those with at most one letter out of order."""
    return [word for word in words(machine, longest) if machine.has_shape(word[1:])]


def written(machine: CounterMachine, word: tuple[str, ...], limit: int) -> list[str]:
    """The expected chain of thought, by the interpreter of the machine."""
    names = {id(transition): token for token, transition in transition_tokens(machine).items()}
    tokens = [names[id(transition)] for transition in islice(counter.iterate_transitions(machine, word), limit)]
    if len(tokens) < limit:
        tokens.append("ACC" if counter.execute(machine, word).accepted else "REJ")
    return tokens


def agree(machine: CounterMachine, longest: int, limit: int = 2000) -> int:
    program = build_counter_program(machine)
    compared = 0
    for word in nearly_ordered(machine, longest):
        expected = written(machine, word, limit)
        assert list(islice(generate(program, word), limit)) == expected, (machine.name, word)
        compared += len(expected)
    return compared


def test_the_zoo_is_there() -> None:
    assert len(ZOO) >= 10


@pytest.mark.parametrize("name", ZOO)
def test_a_program_writes_the_transitions_of_its_machine(name: str) -> None:
    longest = {1: 12, 2: 6, 3: 5}[len(ZOO[name].alphabet)]
    assert agree(ZOO[name], longest) > 60


@pytest.mark.slow
@pytest.mark.parametrize("name", ZOO)
def test_a_program_writes_the_transitions_of_its_machine_on_all_words_up_to_length_12(name: str) -> None:
    machine = ZOO[name]
    program = build_counter_program(machine)
    for length in range(13):
        for word in product(machine.alphabet, repeat=length):
            if machine.has_shape(word):
                assert list(generate(program, word)) == written(machine, word, 10**6), word
            elif length <= 6:
                assert list(generate(program, word)) == ["REJ"]


def random_machines(seeds: range, limit: int) -> int:
    compared = 0
    for seed in seeds:
        rng = random.Random(seed)
        machine = random_counter_machine(rng, letters=rng.randint(1, 3), work_counters=rng.randint(0, 2))
        program = build_counter_program(machine)
        for _ in range(4):
            word = tuple(rng.choice(machine.alphabet) for _ in range(rng.randint(0, 8)))
            if rng.random() < 0.7:
                word = tuple(sorted(word))
            expected = written(machine, word, limit)
            assert list(islice(generate(program, word), limit)) == expected, (seed, word)
            compared += len(expected)
    return compared


def test_random_machines_and_their_programs_agree() -> None:
    assert random_machines(range(60), 40) > 1000


@pytest.mark.slow
def test_500_random_machines_and_their_programs_agree() -> None:
    assert random_machines(range(1000, 1500), 300) > 20_000


def test_programs_of_random_machines_agree_with_the_definition() -> None:
    for seed in range(12):
        rng = random.Random(seed)
        machine = random_counter_machine(rng)
        program = build_counter_program(machine)
        for word in ("", "ab", "bba"):
            expected = list(islice(interpreter.generate(program, word), 15))
            assert list(islice(generate(program, word), 15)) == expected


@pytest.mark.parametrize("name", ZOO)
def test_a_program_can_be_written_and_read(name: str) -> None:
    program = build_counter_program(ZOO[name])
    assert parse(to_text(program)) == program
    assert not program.relations


def test_tokens_and_names_are_the_machines_own_where_they_can_be() -> None:
    machine = counter.parse(
        "input a b\norder\ncounters x true\nstart a\naccept b\n"
        "a: a >= 1 -> a: a -= 1, x += 1\na: else -> 'q 2'\n'q 2': true -> b\n",
        name="names",
    )
    assert list(transition_tokens(machine)) == ["a_1", "a_2", "q 2"]
    program = build_counter_program(machine)
    assert [entry.name for entry in program.definitions] == [
        "a", "b", "x", "true_", "begins", "in_a", "in_q_2", "in_b",
    ]  # fmt: skip
    assert program.tokens == ("a", "b", "REJ", "a_1", "a_2", "q 2", "ACC")
    assert run(program, "aab").tokens == ("a_1", "a_1", "a_2", "q 2", "ACC")
    assert run(program, "ba").tokens == ("REJ",)
    assert run(program, "").tokens == ("a_2", "q 2", "ACC")


def test_a_machine_may_halt_at_once() -> None:
    assert run(build_counter_program(counter.parse("input a\nstart q\naccept q")), "a").tokens == ("ACC",)
    assert run(build_counter_program(counter.parse("input a\nstart q\nreject q")), "").tokens == ("REJ",)


def test_where_the_machine_is_stuck_the_program_is() -> None:
    program = build_counter_program(
        counter.parse("input a\nstart q\naccept yes\nq: a >= 2 -> q: a -= 2\nq: a = 0 -> yes")
    )
    assert run(program, "aa").accepted
    with pytest.raises(NoNextTokenError, match="at position 4, after 'q_1'"):
        run(program, "aaa")
