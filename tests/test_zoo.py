from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import softmachine as sm
from softmachine.languages import counter, formats, zoo
from softmachine.languages.circuit import Circuit, are_equivalent
from softmachine.languages.turing import Configuration, Rule, TuringMachine, TuringStopReason, execute, next_action
from softmachine.languages.zoo import SampleRun, ZooEntry
from softmachine.support.text import did_you_mean
from softmachine.testing import load_as, strings
from tests.models import model_of

ENTRIES = {entry.name: entry for entry in zoo.list_entries() if entry.file.startswith("turing/")}
"""The Turing machines."""
COUNTERS = [entry for entry in zoo.list_entries() if entry.file.startswith("counter/")]
"""The counter machines."""
COUNTING = [entry for entry in zoo.list_entries() if entry.file.startswith("crasp/")]
"""The programs that count; tests/languages/crasp/test_zoo_programs.py is about them."""
RASP = [entry for entry in zoo.list_entries() if entry.file.startswith("rasp/")]
"""RASP programs; tests/languages/rasp/test_zoo_programs.py is about them."""
OTHERS = [
    entry for entry in zoo.list_entries() if entry.name not in ENTRIES and entry not in COUNTERS + COUNTING + RASP
]
"""Formulas and programs."""
SAMPLES = [pytest.param(entry, sample, id=f"{entry.name} {sample.input!r}") for entry in ENTRIES.values()
           for sample in entry.samples]  # fmt: skip
PAGE = Path(__file__).parents[1] / "docs" / "zoo.md"

Answer = tuple[str, str | None]
"""A verdict and what is left on the first tape; None if that is the machine's own business."""


@cache
def machine(name: str) -> TuringMachine:
    return load_as(name, TuringMachine)


# The index


def test_the_index_lists_every_file_and_every_name_once() -> None:
    folder = Path(zoo.__file__).parent
    rooms = ("turing", "temporal", "srasp", "counter", "crasp", "rasp", "circuits", "graphs", "families", "logspace")
    files = sorted(f"{room}/{path.name}" for room in rooms for path in (folder / room).iterdir())
    assert sorted(entry.file for entry in zoo.list_entries()) == files
    assert len({entry.name for entry in zoo.list_entries()}) == len(zoo.list_entries())
    assert len(ENTRIES) >= 24


@pytest.mark.parametrize("entry", OTHERS, ids=[entry.name for entry in OTHERS])
@pytest.mark.parametrize("attention", ["hard", "soft"])
def test_formulas_and_programs_do_what_the_index_says(entry: ZooEntry, attention: str) -> None:
    of_one_length = entry.file.startswith(("families/", "logspace/"))
    for sample in entry.samples:
        length = len(sample.input) if of_one_length else None
        run = sm.run(model_of(entry.name, None, attention, length), sample.input)
        assert (run.verdict, run.output) == (sample.verdict, sample.output)


@pytest.mark.parametrize("entry", COUNTING, ids=[entry.name for entry in COUNTING])
def test_counting_programs_do_in_a_decoder_what_the_index_says(entry: ZooEntry) -> None:
    model = sm.compile(entry.name)
    for sample in sorted(entry.samples, key=lambda sample: len(sample.input))[:6]:
        assert sm.run(model, sample.input).verdict == sample.verdict


@pytest.mark.parametrize("entry", COUNTERS, ids=[entry.name for entry in COUNTERS])
def test_counter_machines_do_what_the_index_says(entry: ZooEntry) -> None:
    described = entry.load()
    assert isinstance(described, counter.CounterMachine)
    model = sm.compile(described)
    for sample in entry.samples:
        result = counter.execute(described, sample.input)
        assert (result.verdict, result.steps) == (sample.verdict, sample.steps)
        run = sm.run(model, sample.input)
        assert (run.verdict, run.steps) == (sample.verdict, sample.steps)
    assert "" in {sample.input for sample in entry.samples}
    assert {sample.verdict for sample in entry.samples} == {"accept", "reject"}
    assert formats.recognise(entry.read_text()) == "counter"
    assert counter.parse(counter.to_text(described), name=entry.name) == described


@pytest.mark.parametrize("entry", OTHERS + COUNTING, ids=[entry.name for entry in OTHERS + COUNTING])
def test_formulas_and_programs_survive_the_way_through_reader_and_writer(entry: ZooEntry) -> None:
    form = formats.formats()[formats.recognise(entry.read_text(), filename=entry.file)]
    loaded, again = entry.load(), form.parse(form.to_text(entry.load()), name=entry.name)
    if isinstance(loaded, Circuit) and isinstance(again, Circuit):  # some formats know no names
        assert are_equivalent(loaded, again, samples=1 << 10)
    else:
        assert again == loaded


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_an_entry_has_a_name_for_the_command_line_and_one_line_about_it(entry: ZooEntry) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry.name)
    assert Path(entry.file).stem == entry.name == entry.load().name
    assert entry.about
    assert "\n" not in entry.about
    assert len(entry.about) <= 110


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_a_machine_that_takes_inputs_has_three_samples_with_the_empty_word_among_them(entry: ZooEntry) -> None:
    inputs = {sample.input for sample in entry.samples}
    if entry.load().alphabet and not entry.name.startswith("busy-beaver"):
        assert len(entry.samples) >= 3
        assert "" in inputs or entry.name == "universal"
    else:
        assert inputs == {""}


@pytest.mark.parametrize(("entry", "sample"), SAMPLES)
def test_the_reference_interpreter_agrees_with_every_sample(entry: ZooEntry, sample: SampleRun) -> None:
    result = execute(machine(entry.name), sample.input, max_steps=sample.max_steps or 100_000_000)
    assert (result.verdict, result.steps) == (sample.verdict, sample.steps)
    assert sample.output in (result.output, None)
    assert (sample.max_steps is None) == result.halted


def test_an_output_is_left_out_only_if_it_is_long() -> None:
    without = {entry.name for entry in ENTRIES.values() for sample in entry.samples if sample.output is None}
    assert without == {"busy-beaver-5", "busy-beaver-2x4"}


def test_names_are_found_and_others_are_not() -> None:
    assert zoo.find_entry("palindrome") is ENTRIES["palindrome"]
    assert zoo.find_entry("palindrom") is None
    assert zoo.find_entry("") is None


def test_similar_names_are_suggested() -> None:
    assert did_you_mean("palindrom", zoo.names()).startswith("did you mean palindrome")
    assert "binary-addition" in did_you_mean("addition", zoo.names())
    assert did_you_mean("Collatz", zoo.names()).startswith("did you mean collatz")
    assert did_you_mean("quicksort3000", zoo.names(), "none") == "none"


# The files


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_a_file_survives_the_way_through_reader_and_writer(entry: ZooEntry) -> None:
    form = formats.formats()[formats.recognise(entry.read_text(), filename=entry.file)]
    original, again = machine(entry.name), form.parse(form.to_text(entry.load()), name=entry.name)
    assert isinstance(again, TuringMachine)
    assert again == original
    assert again.default_input == original.default_input


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES.values() if not entry.file.endswith(".yaml")])
def test_a_file_without_comments_is_what_our_writer_writes(entry: ZooEntry) -> None:
    form = formats.formats()[formats.recognise(entry.read_text(), filename=entry.file)]
    assert entry.read_text().strip() == form.to_text(entry.load()).strip()


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_a_format_is_recognised_without_the_name_of_the_file(entry: ZooEntry) -> None:
    assert formats.recognise(entry.read_text()) == formats.recognise(entry.read_text(), filename=entry.file)


# What the machines compute, in plain Python


def number(digits: str) -> int:
    return int(digits or "0", 2)


def decided(accepts: bool) -> Answer:
    return ("accept" if accepts else "reject", None)


def computed(output: str | None) -> Answer:
    return ("accept", output) if output is not None else ("reject", None)


def incremented(word: str) -> Answer:
    return "halt", f"{number(word) + 1:0{max(1, len(word))}b}"


def decremented(word: str) -> Answer:
    return ("accept", f"{number(word) - 1:0{len(word)}b}") if number(word) else ("reject", word)


def of_two_numbers(sign: str, value: Callable[[int, int], int]) -> Callable[[str], Answer]:
    def answer(word: str) -> Answer:
        operands = word.split(sign)
        return computed(f"{value(number(operands[0]), number(operands[1])):b}" if len(operands) == 2 else None)

    return answer


def product_in_unary(word: str) -> Answer:
    factors = word.split("*")
    return computed("1" * (len(factors[0]) * len(factors[1])) if len(factors) == 2 else None)


def difference_in_unary(word: str) -> Answer:
    operands = word.split("-")
    fits = len(operands) == 2 and len(operands[0]) >= len(operands[1])
    return computed("1" * (len(operands[0]) - len(operands[1])) if fits else None)


def pea(word: str) -> int:
    """Which of five cups the pea is under: s swaps the first two, r moves all one place on."""
    cups = [True, False, False, False, False]
    for letter in word:
        cups = [cups[1], cups[0], *cups[2:]] if letter == "s" else [cups[4], *cups[:4]]
    return cups.index(True)


def collatz_step(word: str) -> Answer:
    return "halt", f"{3 * number(word) + 1:0{len(word)}b}" if word.endswith("1") else word[:-1]


def collatz(word: str) -> Answer:
    value = number(word)
    while value > 1:
        value = 3 * value + 1 if value % 2 else value // 2
    return ("accept", "1") if value else ("reject", "")


def tagged(word: str) -> Answer:
    while len(word) > 1:
        word = word[2:] + {"a": "bc", "b": "a", "c": "aaa"}[word[0]]
    return "halt", word


def is_balanced(word: str) -> bool:
    while word != (word := word.replace("()", "").replace("[]", "")):
        pass
    return not word


def is_prime(value: int) -> bool:
    return value > 1 and all(value % divisor for divisor in range(2, value))


def is_abc(word: str) -> bool:
    third = len(word) // 3
    return word == "a" * third + "b" * third + "c" * third


def is_equality(word: str) -> bool:
    first, mark, second = word.partition("#")
    return mark == "#" and first == second


DEFINITIONS: dict[str, tuple[int, Callable[[str], Answer]]] = {
    "increment": (8, incremented),
    "decrement": (8, decremented),
    "binary-addition": (6, of_two_numbers("+", lambda x, y: x + y)),
    "three-tape-addition": (6, of_two_numbers("+", lambda x, y: x + y)),
    "binary-multiplication": (6, of_two_numbers("*", lambda x, y: x * y)),
    "divisible-by-three": (8, lambda word: decided(number(word) % 3 == 0)),
    "collatz-step": (8, collatz_step),
    "collatz": (6, collatz),
    "binary-to-unary": (6, lambda word: ("halt", "1" * number(word))),
    "unary-to-binary": (40, lambda word: ("halt", f"{len(word):b}")),
    "power-of-two": (40, lambda word: decided(len(word).bit_count() == 1)),
    "prime": (20, lambda word: decided(is_prime(len(word)))),
    "unary-multiplication": (8, product_in_unary),
    "unary-subtraction": (8, difference_in_unary),
    "palindrome": (8, lambda word: decided(word == word[::-1])),
    "two-tape-palindrome": (8, lambda word: decided(word == word[::-1])),
    "equality": (6, lambda word: decided(is_equality(word))),
    "anbncn": (6, lambda word: decided(is_abc(word))),
    "balanced-parentheses": (8, lambda word: decided(is_balanced(word))),
    "dyck-2": (6, lambda word: decided(is_balanced(word))),
    "parity": (8, lambda word: decided(word.count("1") % 2 == 1)),
    "shell-game": (8, lambda word: decided(pea(word) == 0)),
    "bit-inversion": (8, lambda word: ("halt", word.translate(str.maketrans("01", "10")))),
    "copy": (7, lambda word: ("halt", f"{word}#{word}")),
    "two-tape-copy": (8, lambda word: ("accept", word + word)),
    "sort-bits": (8, lambda word: ("halt", "".join(sorted(word)))),
    "collatz-tag-system": (4, tagged),
}


def agrees(name: str, word: str) -> bool:
    verdict, output = DEFINITIONS[name][1](word)
    result = execute(machine(name), word)
    return result.verdict == verdict and output in (result.output, None)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_machine_does_on_every_short_input_what_it_is_defined_to_do(name: str) -> None:
    longest, _ = DEFINITIONS[name]
    assert [word for word in strings(machine(name), longest) if not agrees(name, word)] == []


def test_every_machine_that_stops_has_a_definition_or_a_test_of_its_own() -> None:
    others = {"universal", "binary-counter", "rule-110", "turing-1936"}
    beavers = {name for name in ENTRIES if name.startswith("busy-beaver")}
    assert set(ENTRIES) == set(DEFINITIONS) | others | beavers


@given(st.integers(0, 1 << 20), st.integers(0, 1 << 20), st.sampled_from(["binary-addition", "three-tape-addition"]))
def test_additions_are_right_for_large_numbers(x: int, y: int, name: str) -> None:
    assert execute(machine(name), f"{x:b}+{y:b}").output == f"{x + y:b}"


@given(st.integers(0, 255), st.integers(0, 255))
def test_multiplication_is_right_for_larger_numbers(x: int, y: int) -> None:
    assert execute(machine("binary-multiplication"), f"{x:b}*{y:b}").output == f"{x * y:b}"


@given(st.text("()[]", max_size=40))
def test_dyck_2_is_right_for_longer_words(word: str) -> None:
    assert agrees("dyck-2", word)


@given(st.text("ab", max_size=20), st.sampled_from(["", "a", "b"]))
def test_long_palindromes_are_accepted(half: str, middle: str) -> None:
    for name in ("palindrome", "two-tape-palindrome"):
        assert execute(machine(name), half + middle + half[::-1]).accepted


@pytest.mark.parametrize("n", range(6))
def test_anbncn_accepts_longer_members_and_rejects_their_neighbours(n: int) -> None:
    assert agrees("anbncn", "a" * n + "b" * n + "c" * n)
    assert agrees("anbncn", "a" * n + "b" * (n + 1) + "c" * n)
    assert agrees("anbncn", "a" * (n + 1) + "b" * n + "c" * n)
    assert agrees("anbncn", "a" * n + "b" * n + "c" * n + "a")


@pytest.mark.parametrize("length", [0, 1, 10, 100])
def test_the_machines_on_more_tapes_take_linear_time(length: int) -> None:
    assert execute(machine("two-tape-palindrome"), "a" * length).steps <= 3 * length + 3
    assert execute(machine("two-tape-copy"), "a" * length).steps <= 3 * length + 3
    assert execute(machine("three-tape-addition"), "1" * length + "+" + "1" * length).steps <= 4 * length + 6


# Machines with a story of their own


def test_sipsers_machine_runs_on_two_ones_as_in_the_book() -> None:
    result = execute(machine("power-of-two"), "11", trace=True)
    assert [str(action) for action in result.actions or ()] == [
        "_ R q1", "x R q2", "_ L q4", "x L q4", "_ R q1", "x R q1", "_ R accept",
    ]  # fmt: skip
    assert machine("power-of-two").tape == "stay"


def test_a_difference_below_zero_runs_into_the_left_end() -> None:
    assert execute(machine("unary-subtraction"), "1-11").reason is TuringStopReason.LEFT_END
    assert execute(machine("unary-subtraction"), "11").reason is TuringStopReason.NO_RULE


@pytest.mark.parametrize(
    ("name", "steps", "marks"),
    [
        ("busy-beaver-2", 6, 4),
        ("busy-beaver-3", 21, 5),
        ("busy-beaver-4", 107, 13),
        ("busy-beaver-5", 47_176_870, 4_098),
        ("busy-beaver-2x3", 38, 9),
        ("busy-beaver-2x4", 3_932_964, 2_050),
    ],
)
def test_busy_beavers_make_as_many_steps_and_marks_as_the_community_says(name: str, steps: int, marks: int) -> None:
    result = execute(machine(name), "", max_steps=100_000_000)
    assert (result.steps, len(result.output) - result.output.count("0")) == (steps, marks)


def moments(name: str, word: str, is_one: Callable[[Configuration], bool]) -> Iterator[str]:
    """What is on the tape at certain moments of a run that never ends."""
    configuration = Configuration.initial(machine(name), word)
    while True:
        if is_one(configuration):
            yield "".join(configuration.tape_contents[0].symbols)
        action = next_action(machine(name), configuration)
        assert not isinstance(action, TuringStopReason)
        configuration.apply(action)


@pytest.mark.parametrize("word", ["", "0", "1", "0110", "111"])
def test_the_counter_counts(word: str) -> None:
    at_the_end = moments(
        "binary-counter", word, lambda moment: moment.state == "right" and moment.read_symbols() == ("_",)
    )
    counted = [number(digits) for digits in islice(at_the_end, 200)]
    assert counted == list(range(number(word), number(word) + 200))


def next_generation(cells: str) -> str:
    padded = f"00{cells}0"
    return "".join(str(0b01101110 >> int(padded[place : place + 3], 2) & 1) for place in range(len(cells) + 1))


@pytest.mark.parametrize("word", ["", "0", "1", "10011", "0110111"])
def test_rule_110_goes_from_generation_to_generation(word: str) -> None:
    at_the_start = moments("rule-110", word, lambda moment: moment.state == "00" and moment.heads == [0])
    for cells in islice(at_the_start, 60):
        assert cells == word
        word = next_generation(word)


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 4, 5, 100])
def test_turings_first_machine_prints_zeros_and_ones_on_every_other_square(steps: int) -> None:
    assert execute(machine("turing-1936"), "", max_steps=steps).output == ("0_1_" * steps)[:steps].rstrip("_")


# The universal machine


def encoded(described: TuringMachine) -> str:
    """A machine with the symbols 0 (its blank) and 1 as the universal machine wants it; see docs/zoo.md."""
    ends = {state for state in described.states if not any(rule.state == state for rule in described.rules)}
    rows = [described.start, *(state for state in described.states if state not in {described.start, *ends})]

    def rule(state: str, symbol: str) -> str:
        found = described.find_rule(state, (symbol,))
        if found is None:
            return ""
        strokes = 0 if found.next in ends else rows.index(found.next) + 1
        return f"{found.write[0]}{found.move[0]}{'s' * strokes}"

    return "".join(f";{rule(state, '0')},{rule(state, '1')}" for state in rows)


def random_machine(rng: random.Random) -> TuringMachine:
    """A machine with two symbols; some rules are missing."""
    states = [f"q{index}" for index in range(rng.randint(1, 4))]
    return TuringMachine(
        name="random",
        states=(*states, "end"),
        alphabet=("1",),
        symbols=("0", "1"),
        blank="0",
        rules=tuple(
            Rule(state, (read,), (rng.choice("01"),), (rng.choice("LR"),), rng.choice([*states, *states, "end"]))
            for state in states
            for read in "01"
            if rng.random() < 0.9
        ),
        start=states[0],
    )


def tape_left_by(described: TuringMachine, word: str, max_steps: int) -> str | None:
    """What a machine makes of a word that may have blanks in it; None if it does not stop."""
    configuration = Configuration.initial(described, "")
    configuration.cells[0] = dict(enumerate(word))
    while not isinstance(action := next_action(described, configuration), TuringStopReason):
        if configuration.steps == max_steps:
            return None
        configuration.apply(action)
    return "".join(configuration.tape_contents[0].symbols)


def test_the_encoding_is_the_one_of_the_documentation() -> None:
    assert encoded(machine("busy-beaver-2")) == ";1Rss,1Lss;1Ls,1R"
    assert encoded(machine("busy-beaver-3")) == ";1Rss,1R;1Lss,0Rsss;1Lsss,1Ls"


@pytest.mark.parametrize("name", ["busy-beaver-2", "busy-beaver-3", "busy-beaver-4"])
def test_the_universal_machine_runs_busy_beavers(name: str) -> None:
    result = execute(machine("universal"), encoded(machine(name)) + "#")
    assert result.accepted
    assert result.output.strip("0") == execute(machine(name), "").output


def test_the_universal_machine_does_what_random_machines_do() -> None:
    rng = random.Random(110)
    halting = 0
    for _ in range(400):
        described, word = random_machine(rng), "".join(rng.choices("01", k=rng.randint(0, 5)))
        left = tape_left_by(described, word, max_steps=100)
        limit = 2_000 if left is None else 1_000_000
        simulated = execute(machine("universal"), f"{encoded(described)}#{word}", max_steps=limit)
        if left is None:
            assert not simulated.halted, described
        else:
            halting += 1
            assert simulated.accepted, described
            assert simulated.output.strip("0") == left, described
    assert halting > 100


@pytest.mark.parametrize("word", ["", "#", "1", "1R,1R#", ";1R,1R", ";R,1R#", ";1,1R#", ";1Rss,1R#", ";1R#1", ";1LL,#"])
def test_the_universal_machine_rejects_what_it_finds_wrong(word: str) -> None:
    result = execute(machine("universal"), word)
    assert result.halted
    assert not result.accepted


def test_the_universal_machine_is_small() -> None:
    assert len(machine("universal").states) < 40
    assert len(machine("universal").symbols) <= 15


# The page


def test_the_page_says_how_large_each_machine_is_and_what_a_sample_does() -> None:
    lines = PAGE.read_text("utf-8").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if re.match(r"\| `[a-z]", line)]
    assert [row[0].strip("`") for row in rows] == list(ENTRIES)
    for row, (name, entry) in zip(rows, ENTRIES.items(), strict=True):
        described = machine(name)
        assert [int(cell) for cell in row[2:5]] == [described.tapes, len(described.states), len(described.symbols)]
        given_input, _, result = row[5].partition(" → ")
        word, left = given_input.strip("`ε"), result.removesuffix(" …").strip("`")
        sample = next(one for one in entry.samples if one.input == word and f"{one.steps:,}" == row[6])
        assert left in (sample.output, sample.verdict) or sample.output is None


def test_the_run_of_the_universal_machine_on_the_page_is_one() -> None:
    moments = re.findall(r"^    after +(\d+) steps +(\S+)", PAGE.read_text("utf-8"), re.MULTILINE)
    assert len(moments) == 7
    for steps, tape in moments:
        assert execute(machine("universal"), ";1Rss,1Lss;1Ls,1R#", max_steps=int(steps)).output == tape


def test_the_encoding_on_the_page_is_the_one_of_the_tests() -> None:
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[-1]
    names: dict[str, Callable[[TuringMachine], str]] = {}
    exec(code, names)
    for name in ("busy-beaver-2", "busy-beaver-3", "busy-beaver-4"):
        assert names["encoded"](machine(name)) == encoded(machine(name))
