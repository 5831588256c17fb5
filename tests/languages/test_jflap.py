from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softmachine.languages.formats import format_by_name
from softmachine.languages.turing import Rule, TapeConvention, TuringMachine, execute
from softmachine.languages.turing.jflap import parse, to_text
from softmachine.support.errors import InvalidError, SourceError, UsageError
from softmachine.testing.turing import random_turing_machine

HEADER = '<?xml version="1.0" encoding="UTF-8" standalone="no"?><!--Created with JFLAP 6.4.-->'
FLIP = (
    HEADER
    + """<structure>
	<type>turing</type>
	<automaton>
		<!--The list of states.-->
		<block id="0" name="flip">
			<tag>Machine0</tag>
			<x>49.0</x>
			<y>101.0</y>
			<initial/>
		</block>
		<block id="1" name="done">
			<tag>Machine1</tag>
			<x>149.0</x>
			<y>101.0</y>
			<final/>
		</block>
		<!--The list of transitions.-->
		<transition>
			<from>0</from>
			<to>0</to>
			<read>a</read>
			<write>b</write>
			<move>R</move>
		</transition>
		<transition>
			<from>0</from>
			<to>0</to>
			<read>b</read>
			<write>a</write>
			<move>R</move>
		</transition>
		<transition>
			<from>0</from>
			<to>1</to>
			<read/>
			<write/>
			<move>S</move>
		</transition>
		<!--The list of automata-->
		<Machine0/>
		<Machine1/>
	</automaton>
</structure>
"""
)


def structure(body: str, kind: str = "turing", tapes: str = "") -> str:
    return f"<structure><type>{kind}</type>{tapes}<automaton>\n{body}\n</automaton></structure>"


STATES = '<state id="0" name="p"><initial/></state><state id="1" name="q"><final/></state>\n'


def transition(source: str, target: str, rest: str) -> str:
    return f"<transition><from>{source}</from><to>{target}</to>{rest}</transition>\n"


def test_a_file_of_jflap_7_is_read() -> None:
    machine = parse(FLIP, source="flip.jff")
    assert (machine.name, machine.states, machine.start, machine.accept) == (
        "flip",
        ("flip", "done"),
        "flip",
        ("done",),
    )
    assert machine.rules == (
        Rule("flip", ("a",), ("b",), ("R",), "flip"),
        Rule("flip", ("b",), ("a",), ("R",), "flip"),
        Rule("flip", ("□",), ("□",), ("S",), "done"),
    )
    assert (machine.symbols, machine.alphabet, machine.blank) == (("□", "a", "b"), ("a", "b"), "□")
    result = execute(machine, "abb")
    assert (result.output, result.verdict) == ("baa", "accept")


def test_rules_have_places() -> None:
    assert [str(rule.place) for rule in parse(FLIP, source="flip.jff").rules] == [
        "flip.jff:18:3", "flip.jff:25:3", "flip.jff:32:3",
    ]  # fmt: skip


def test_an_older_file_without_automaton_and_names_is_read() -> None:
    machine = parse(
        "<structure><type>turing</type><state id='0'><initial/></state><state id='7'><final/></state>"
        "<transition><from>0</from><to>7</to><read>a</read><write>a</write><move>L</move></transition></structure>"
    )
    assert (machine.states, machine.tapes) == (("q0", "q7"), 1)


def test_several_tapes_are_read_and_what_a_transition_leaves_out_is_blank_and_right() -> None:
    rest = '<read tape="2">a</read><write tape="1">b</write><move tape="2">L</move>'
    machine = parse(structure(STATES + transition("0", "1", rest), tapes="<tapes>2</tapes>"))
    assert machine.rules == (Rule("p", ("□", "a"), ("b", "□"), ("R", "L"), "q"),)


def test_states_with_the_same_name_are_distinguished_by_their_ids() -> None:
    states = '<state id="0" name="p"><initial/></state><state id="1" name="p"/><state id="2" name="p_1"/>'
    assert parse(structure(states)).states == ("p", "p_1_1", "p_1")


def test_a_transition_that_leaves_a_final_state_is_dropped_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="q, □ → □ R p leaves a final state"):
        machine = parse(structure(STATES + transition("1", "0", "<read/><write/><move>R</move>")))
    assert machine.rules == ()


@pytest.mark.parametrize("kind", ["fa", "pda", "mealy", "grammar"])
def test_another_structure_is_refused_by_name(kind: str) -> None:
    with pytest.raises(SourceError, match=f"of type '{kind}'"):
        parse(structure(STATES, kind=kind))


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("", "cannot read this as XML", 1),
        ("hello", "cannot read this as XML", 1),
        ("<structure>\n<type>turing</structure>", "cannot read this as XML: mismatched tag", 2),
        ("<automaton/>", "not a JFLAP file", 1),
        ("<structure/>", "not a JFLAP file", 1),
        ('<!DOCTYPE a [<!ENTITY b "c">]>\n<structure>&b;</structure>', "document type or entities", 1),
        ("<structure>&b;</structure>", "cannot read this as XML: undefined entity", 1),
        ("<a>" * 100_000, "nested more than 32 deep", 1),
        ("<structure>\ud800</structure>", "cannot read this as XML", None),
        (structure(""), "no states", 1),
        (structure('<state id="0"/>'), "no state is initial", 1),
        (structure('<state id="0"><initial/></state><state id="1"><initial/></state>'), "2 initial states", 1),
        (structure(STATES + '<state id="0"/>'), "two states have the id 0", 3),
        (structure(STATES + "<state/>"), "a state has no id", 3),
        (structure(STATES, tapes="<tapes>6</tapes>"), "'6' tapes are not possible", 1),
        (structure(STATES, tapes="<tapes>two</tapes>"), "'two' tapes are not possible", 1),
        (structure(STATES + transition("0", "2", "")), "transition 1 goes to state '2', which does not exist", 3),
        (structure(STATES + "<transition><to>0</to></transition>"), "transition 1 has no <from>", 3),
        (structure(STATES + transition("0", "1", "<move>U</move>")), "from 'p' to 'q', moves 'U'", 3),
        (structure(STATES + transition("0", "1", "<read>ab</read>")), "'ab'; expected one symbol", 3),
        (structure(STATES + transition("0", "1", "<read>~</read>")), "pattern '~'", 3),
        (structure(STATES + transition("0", "1", "<read>!a</read>")), "pattern '!a'", 3),
        (structure(STATES + transition("0", "1", "<read>a,b}w</read>")), "pattern 'a,b}w'", 3),
        (structure(STATES + transition("0", "1", '<read tape="2"/>')), "tape '2'; tapes are 1 to 1", 3),
        (FLIP.replace("<Machine0/>", "<Machine0><block id='0'/></Machine0>"), "'flip' contains a machine", 5),
        (structure(STATES + '<transition block="true"><from>0</from><to>1</to></transition>'), "building block", 3),
    ],
)  # fmt: skip
def test_syntax_errors_have_lines(text: str, message: str, line: int | None) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        parse(text)
    assert caught.value.place is not None
    assert caught.value.place.line == line


def test_nondeterminism_is_refused_with_both_places() -> None:
    rule = transition("0", "1", "<read>a</read><write>a</write><move>R</move>")
    with pytest.raises(InvalidError, match=r"two rules for state 'p' reading 'a' \(f:3:1 and f:4:1\)"):
        parse(structure(STATES + rule + rule), source="f")


def jflap_machine(seed: int, tapes: int) -> TuringMachine:
    """A random machine that JFLAP can express, with its symbols in the order of the JFLAP parser."""
    rng = random.Random(seed)
    machine = random_turing_machine(rng, tapes=tapes, symbols=rng.randrange(1, 5), states=rng.randrange(1, 6))
    used = {symbol for rule in machine.rules for symbol in rule.read + rule.write} - {"_"}
    letters = dict(zip(sorted(used), "<&'\"é!", strict=False)) | {"_": "□"}
    symbols = sorted(letters[symbol] for symbol in used)

    def renamed(part: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(letters[symbol] for symbol in part)

    return replace(
        machine,
        symbols=("□", *symbols),
        alphabet=tuple(symbols),
        blank="□",
        reject=(),
        rules=tuple(replace(rule, read=renamed(rule.read), write=renamed(rule.write)) for rule in machine.rules),
    )


@given(st.integers(0, 2**32), st.integers(1, 3))
@settings(max_examples=150, deadline=None)
def test_a_machine_comes_back_as_it_was(seed: int, tapes: int) -> None:
    machine = jflap_machine(seed, tapes)
    assert parse(to_text(machine), name=machine.name) == machine


@given(st.text(min_size=1))
def test_a_state_keeps_its_name_or_is_refused(name: str) -> None:
    machine = TuringMachine(
        name="m", states=(name,), alphabet=(), symbols=("□",), blank="□", rules=(), start=name, accept=(name,)
    )
    if any((ord(character) < 32 and character not in "\t\n\r") or character in "\ufffe\uffff" for character in name):
        with pytest.raises(UsageError, match="XML cannot represent"):
            to_text(machine)
    else:
        assert parse(to_text(machine), name="m") == machine


def test_a_blank_of_another_name_becomes_the_empty_element() -> None:
    machine = replace(
        parse(FLIP), symbols=("_", "a", "b"), blank="_", rules=(Rule("flip", ("a",), ("_",), ("R",), "done"),)
    )
    again = parse(to_text(replace(machine, symbols=("_", "a"), alphabet=("a",))))
    assert again.rules == (Rule("flip", ("a",), ("□",), ("R",), "done"),)


def test_every_state_has_its_own_coordinates() -> None:
    text = to_text(jflap_machine(3, 1))
    assert text.count("<x>") == text.count("<y>") == text.count("<state ")


def test_a_machine_that_jflap_cannot_have_is_refused_with_all_reasons() -> None:
    machine = TuringMachine(
        name="m", states=("q", "no\0"), alphabet=("~", "ab"), symbols=("□", "~", "ab", " "), blank="□", rules=(),
        start="q", reject=("no\0",), tape=TapeConvention.ERROR, tapes=6,
    )  # fmt: skip
    with pytest.raises(UsageError) as caught:
        to_text(machine)
    for reason in ("6 tapes", "tape has a left end", "rejecting states", "'~' is not", "'ab' is not", "' ' is not",
                   "'ab' does not occur in a rule", "is in the input alphabet", "XML cannot represent"):  # fmt: skip
        assert reason in str(caught.value)


@pytest.mark.parametrize(("text", "meant"), [(FLIP, True), ("<html>", False), ("<structure/>", True), ("", False)])
def test_files_are_recognised(text: str, meant: bool) -> None:
    assert format_by_name("jflap").looks_like(text) is meant
