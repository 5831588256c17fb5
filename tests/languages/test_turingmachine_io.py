from __future__ import annotations

import random
from dataclasses import replace
from textwrap import dedent, indent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softmachine.languages.formats import format_by_name
from softmachine.languages.turing import Rule, TapeConvention, TuringMachine, execute
from softmachine.languages.turing.turingmachine_io import parse, to_text
from softmachine.support.errors import InvalidError, SourceError, UsageError
from softmachine.testing import random_word
from softmachine.testing.turing import random_turing_machine

INCREMENT = """\
# Adds one to a binary number.
input: '1011'
blank: ' '
start state: right
table:
  right:
    [1, 0]: R
    ' ': {L: carry}
  carry:
    1: {write: 0, L}
    [0, ' ']: {write: 1, L: done}
  done:
"""


def document(table: str, *lines: str) -> str:
    head = "".join(f"{line}\n" for line in ("blank: _", "start state: q", *lines))
    return f"{head}table:\n{indent(dedent(table), '  ')}"


def test_a_document_is_read_as_the_site_reads_it() -> None:
    machine = parse(INCREMENT, source="increment.yaml")
    assert machine.name == "increment"
    assert machine.states == ("right", "carry", "done")
    assert machine.rules == (
        Rule("right", ("1",), ("1",), ("R",), "right"),
        Rule("right", ("0",), ("0",), ("R",), "right"),
        Rule("right", (" ",), (" ",), ("L",), "carry"),
        Rule("carry", ("1",), ("0",), ("L",), "carry"),
        Rule("carry", ("0",), ("1",), ("L",), "done"),
        Rule("carry", (" ",), ("1",), ("L",), "done"),
    )
    assert machine.default_input == ("1", "0", "1", "1")
    assert (set(machine.alphabet), machine.tape, machine.halting_states) == ({"0", "1"}, TapeConvention.TWO_WAY, ())
    assert execute(machine, "1011").output == "1100"


def test_rules_have_places() -> None:
    places = [str(rule.place) for rule in parse(INCREMENT, source="increment.yaml").rules]
    assert places[:3] == ["increment.yaml:7:6", "increment.yaml:7:9", "increment.yaml:8:5"]


def test_a_synonym_stands_for_an_instruction() -> None:
    machine = parse(document("q: {a: accept, b: back}\naccept:", "synonyms: {accept: {R: accept}, back: L}"))
    assert [str(rule) for rule in machine.rules] == ["q, a → a R accept", "q, b → b L q"]
    assert machine.accept == ("accept",)


@pytest.mark.parametrize("move", ["S", "N"])
def test_a_head_may_stay(move: str) -> None:
    machine = parse(document(f"q: {{a: {move}, b: {{write: a, {move}: q}}}}"))
    assert [rule.move for rule in machine.rules] == [("S",), ("S",)]


def test_the_instruction_may_leave_out_the_state_in_every_way() -> None:
    machine = parse(document("q:\n  a: {R}\n  b: {R: }\n  c: {R: ~}\n  d: {write: a, R}\n  e: {R: null}"))
    assert {rule.next for rule in machine.rules} == {"q"}


def test_scalars_are_taken_as_they_are_written() -> None:
    names = ["0", "01", "1.0", "yes", "no", "null", "true", "0x1F", "1e3", "y", "~"]
    machine = parse(document("".join(f"{name}: {{{name}: {{write: '{name}', R: q}}}}\n" for name in names) + "q:"))
    assert machine.states == (*names, "q")
    assert machine.symbols == ("_", *names)


def test_states_named_accept_and_reject_are_final_if_they_have_no_instructions() -> None:
    machine = parse(document("q: {a: {R: Accept}, b: {R: rejected}}\nAccept:\nrejected: {}\nother:"))
    assert (machine.accept, machine.reject) == (("Accept",), ("rejected",))
    leaves = parse(document("q: {a: {R: accept}}\naccept: {a: R}"))
    assert leaves.accept == ()


def test_additional_keys_express_what_the_format_cannot() -> None:
    keys = ["alphabet: [a]", "symbols: [a, b, _, c]", "tape: stay", "name: mine"]
    endings = ["accept states: [yes]", "reject states: accept"]
    machine = parse(document("q: {a: {R: yes}, b: {R: accept}}\nyes:\naccept:", *keys, *endings))
    assert (machine.accept, machine.reject) == (("yes",), ("accept",))
    assert (machine.alphabet, machine.symbols) == (("a",), ("a", "b", "_", "c"))
    assert (machine.tape, machine.name) == (TapeConvention.STAY, "mine")


def test_an_input_of_long_symbols_has_blanks_between_them_or_is_a_list() -> None:
    for word in ("one two", "[one, two]"):
        machine = parse(document("q: {[one, two]: R}", f"input: {word}"))
        assert machine.default_input == ("one", "two")


def test_the_exported_form_is_unwrapped_with_the_places_of_the_file() -> None:
    wrapped = "name: increment!\nsource code: |\n" + indent(INCREMENT, "  ") + "positions:\n  right: {x: 1, y: 2}\n"
    machine = parse(wrapped, source="f.yaml")
    assert machine == parse(INCREMENT, name="increment!")
    assert str(machine.rules[0].place) == "f.yaml:9:8"
    with pytest.raises(SourceError) as caught:
        parse(wrapped.replace("{L: carry}", "{L: cary}"), source="f.yaml")
    assert str(caught.value.place) == "f.yaml:10:16"


def test_the_exported_form_may_be_quoted_but_then_has_only_a_line() -> None:
    quoted = 'name: n\nsource code: "blank: _\\nstart state: q\\ntable: {q: {a: X}}"\n'
    with pytest.raises(SourceError, match="'X' is not a move") as caught:
        parse(quoted)
    assert str(caught.value.place) == "<string>:2"


@pytest.mark.parametrize(
    ("text", "message", "where"),
    [
        ("", "the document is empty", "1:1"),
        ("# only a comment\n", "the document is empty", "1:1"),
        ("hello", "should be a mapping", "1:1"),
        ("- a\n- b\n", "should be a mapping", "1:1"),
        ("blank: [", "cannot read this as YAML", "1:9"),
        ("table:\n\tq:\n", "found a tab that", "2:1"),
        ("blank: '\\x00'\nblank: a\0b", "cannot read this as YAML", "1:1"),
        ('blank: "\\UFFFFFFFF"', "cannot read this as YAML", "1:1"),
        ("a: 1\n---\nb: 2\n", "cannot read this as YAML: but found another document", "2:1"),
        ("blank: &a x\nstart state: *a\n", "anchors and aliases", "1:8"),
        ("x: " + "[" * 100_000, "nested more than 32 deep", "1:35"),
        ("table: {q: }\nstart state: q\n", "no 'blank'", "1:1"),
        ("table: {q: }\nblank: _\n", "no 'start state'", "1:1"),
        ("start state: q\nblank: _\n", "no 'table'", "1:1"),
        ("table: {q: }\nstart state: q\nblank:\n", "'blank' is empty", "3:7"),
        ("table: {q: }\nstart state: q\nblank: [a]\n", "'blank' should be a single value, not a list", "3:8"),
        ("table: [q]\nstart state: q\nblank: _\n", "the table should be a mapping .* not a list", "1:8"),
        ("table: {q: }\nstart state: p\nblank: _\n", "state 'p' is not in the table", "2:14"),
        ("table: {q: }\nstart state: q\nblank: _\nblanc: _\n", "unknown key 'blanc'", "4:1"),
        ("table: {q: }\nstart state: q\nblank: _\nblank: _\n", "'blank' occurs twice", "4:1"),
        ("table: {q: }\nstart state: q\nblank: _\ntape: round\n", "no tape 'round'", "4:7"),
        ("table: {q: }\nstart state: q\nblank: _\naccept states: [q, r]\n", "state 'r' is not in the table", "4:20"),
        ("table: {q: , q: }\nstart state: q\nblank: _\n", "'q' occurs twice in the table", "1:14"),
        (document("q: R"), "row of state 'q' should be a mapping", "4:6"),
        (document("q: {a: X}"), "'X' is not a move, nor a synonym", "4:10"),
        (document("q: {a: {write: b}}"), "has no move", "4:10"),
        (document("q: {a: {L: , R: }}"), "moves L and R", "4:10"),
        (document("q: {a: {U: q}}"), "unknown key 'U' in an instruction", "4:11"),
        (document("q: {a: {write: , R: q}}"), "no symbol after 'write'", "4:17"),
        (document("q: {a: {R: r}}"), "state 'r' is not in the table", "4:14"),
        (document("q: {a: {R: [q]}}"), "a state should be a single value, not a list", "4:14"),
        (document("q: {a: }"), "an instruction is missing", "4:9"),
        (document("q: {a: [R]}"), "an instruction is missing", "4:10"),
        (document("q: {[[a]]: R}"), "an entry of a list of symbols should be a single value", "4:8"),
        (document("'': {a: R}\nq:"), "a state has no name", "4:3"),
        (document("q:", "synonyms: {s: t, t: R}"), "'t' is not a move", "3:15"),
        (document("q:", "synonyms: {R: L}"), "R is a move", "3:12"),
        ("source code: [a]\n", "'source code' should be a single value", "1:14"),
        ("x" * 2_000_000, "2,000,000 characters", ""),
    ],
)  # fmt: skip
def test_syntax_errors_have_places(text: str, message: str, where: str) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        parse(text)
    assert str(caught.value.place) == f"<string>:{where}".removesuffix(":")


def test_two_rules_for_the_same_reading_are_both_named() -> None:
    with pytest.raises(InvalidError, match=r"two rules for state 'q' reading 'a' \(f:5:6 and f:6:5\)"):
        parse(document("q:\n  [a, b]: R\n  a: L"), source="f")


def random_single(seed: int, tape: TapeConvention) -> TuringMachine:
    rng = random.Random(seed)
    machine = random_turing_machine(rng, symbols=rng.randrange(1, 7), states=rng.randrange(1, 6), tape=tape)
    word = random_word(rng, machine, 5) if machine.alphabet and rng.random() < 0.5 else ()
    return replace(machine, default_input=word)


@given(st.integers(0, 2**32), st.sampled_from(list(TapeConvention)))
@settings(max_examples=150, deadline=None)
def test_a_machine_comes_back_as_it_was(seed: int, tape: TapeConvention) -> None:
    machine = random_single(seed, tape)
    again = parse(to_text(machine))
    assert again == machine
    assert again.default_input == machine.default_input


names = st.text(min_size=1, max_size=6)
awkward = st.sampled_from([*"~-?:#'\"\\\n [", "null", "yes", "- a", "a: b", "ü" * 1200])


@given(
    name=names | awkward,
    states=st.lists(names | awkward | st.sampled_from(["accept", "REJECT", "rejected"]), unique=True, min_size=1),
    symbols=st.lists(st.characters() | st.sampled_from(["ab", "null", "'x", '"y"', "□□"]), unique=True, min_size=1),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=200, deadline=None)
def test_a_machine_with_awkward_names_comes_back_as_it_was(
    name: str, states: list[str], symbols: list[str], seed: int
) -> None:
    rng = random.Random(seed)
    endings = [state for state in states if rng.random() < 0.3]
    machine = TuringMachine(
        name=name,
        states=tuple(states),
        alphabet=tuple(symbol for symbol in symbols[1:] if rng.random() < 0.8),
        symbols=tuple(rng.sample(symbols, len(symbols))),
        blank=symbols[0],
        rules=tuple(
            Rule(state, (symbol,), (rng.choice(symbols),), (rng.choice("LRS"),), rng.choice(states))
            for state in states
            if state not in endings
            for symbol in symbols
            if rng.random() < 0.7
        ),
        start=rng.choice(states),
        accept=tuple(endings[::2]),
        reject=tuple(endings[1::2]),
        default_input=tuple(rng.choices(symbols, k=3)) if rng.random() < 0.5 else (),
    )
    again = parse(to_text(machine))
    assert again == machine
    assert again.default_input == machine.default_input


def test_what_is_written_is_what_one_would_write() -> None:
    assert to_text(parse(INCREMENT, name="increment")) == dedent("""\
        name: increment
        input: 1011
        blank: ' '
        start state: right
        table:
          right:
            [1, 0]: R
            ' ': {L: carry}
          carry:
            1: {write: 0, L}
            [0, ' ']: {write: 1, L: done}
          done:
        """)


def test_a_machine_with_two_tapes_is_refused() -> None:
    with pytest.raises(UsageError, match="it has 2 tapes"):
        to_text(random_turing_machine(random.Random(1), tapes=2))


@pytest.mark.parametrize(
    ("text", "meant"), [(INCREMENT, True), ("source code: |\n", True), ("1RB1LB", False), ("vegetable:", False)]
)
def test_documents_are_recognised(text: str, meant: bool) -> None:
    assert format_by_name("turingmachine.io").looks_like(text) is meant
