from __future__ import annotations

import os
import random
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softmachine.languages import zoo
from softmachine.languages.formats import formats, parse, recognise
from softmachine.languages.turing import TuringMachine
from softmachine.languages.turing.machine import machine_table
from softmachine.support.errors import SoftmachineError, SourceError
from softmachine.testing.turing import random_turing_machine
from tests.languages.test_bbchallenge import BUSY_BEAVER_4
from tests.languages.test_jflap import FLIP
from tests.languages.test_turingmachine_io import INCREMENT
from tests.sources.circuits import AIGER, BENCH, BLIF, BRISTOL, EDGES

FORMULA = "alphabet a b c\n# x\nQ_a since (2*#<[Q_b] - 1 >= #>['c'])  # y"
PROGRAM = """
alphabet a b
n(i) = psum j : (1 if in(j) = 'a' else -1)  # x
v(i) = rightmost j < i where n(j) = n(i) : in(j) else '?'
output v
"""
COUNTING = """
alphabet a b  # x
P := #[Q_a] - 2*#['t'] + (Q_b ? 1 : #R[true])
ok := P >= min(2, 3) and not Q_a
ACC <- ok or P = 0
t   <- true
"""
COUNTERS = """
input a b
counters x
start q
accept yes
q: a >= 2 or not b = 2*x -> q: a -= 2, x += 1  # x
q: else -> yes
"""
IN_THE_ZOO = {"rasp": "histogram-rasp", "family": "parity-family", "logspace": "equal-blocks"}
EXAMPLES = {
    "bbchallenge": BUSY_BEAVER_4,
    "jflap": FLIP,
    "turingmachine.io": INCREMENT,
    "srasp": PROGRAM,
    "crasp": COUNTING,
    "counter": COUNTERS,
    "bench": BENCH,
    "blif": BLIF,
    "aiger": AIGER,
    "bristol": BRISTOL,
    "temporal": FORMULA,
    "edges": EDGES,
    **{form: entry.read_text() for form, name in IN_THE_ZOO.items() if (entry := zoo.find_entry(name))},
}


@pytest.mark.parametrize(("name", "text"), EXAMPLES.items())
def test_a_format_is_recognised_by_its_content(name: str, text: str) -> None:
    assert recognise(text) == name
    assert parse(text) == formats()[name].parse(text)


@pytest.mark.parametrize(
    ("filename", "name"), [("a.jff", "jflap"), ("a.b/c.YML", "turingmachine.io"), ("x.yaml", "turingmachine.io")]
)
def test_an_extension_decides_over_the_content(filename: str, name: str) -> None:
    assert recognise(BUSY_BEAVER_4, filename=filename) == name


def test_a_given_format_is_not_recognised() -> None:
    assert parse(INCREMENT, format="turingmachine.io", source="increment.txt", name="n").name == "n"
    with pytest.raises(SourceError, match="XML"):
        parse(INCREMENT, format="jflap")


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    for call in (lambda: recognise("what is this?"), lambda: parse("x", format="brainfuck")):
        with pytest.raises(SourceError) as caught:
            call()
        assert all(name in str(caught.value) for name in formats())


@pytest.mark.parametrize("name", formats())
@given(text=st.text())
@settings(max_examples=100, deadline=None)
def test_any_text_is_parsed_or_refused(name: str, text: str) -> None:
    with suppress(SoftmachineError):
        assert parse(text, format=name).name is not None


PIECES = st.sampled_from([*"[]{}:,&*!|>-?'\"%@`#~\t\n\\<>/=_0LRZ□", "null", "<a/>", "&b;", "\n  ", "\0", "\ud800"])


@pytest.mark.filterwarnings("ignore:.*leaves a final state")
@pytest.mark.parametrize("name", formats())
@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_a_damaged_file_is_read_or_refused_but_breaks_nothing(name: str, data: st.DataObject) -> None:
    text = EXAMPLES[name]
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 20)))
        text = text[:start] + data.draw(PIECES | st.text(max_size=5) | st.just(text[start:end] * 2)) + text[end:]
    with suppress(SoftmachineError):
        assert parse(text, format=name).name is not None


def test_an_html_table_escapes_every_name() -> None:
    machine = parse("blank: ' '\nstart state: <b>\ntable: {<b>: {'<i>': {write: '&', R}}}", name="<script>")
    assert isinstance(machine, TuringMachine)
    table = machine._repr_html_()
    assert table == machine_table(machine)
    assert not any(tag in table for tag in ("<script>", "<b>", "<i>"))
    assert "&lt;script&gt;" in table
    assert "<th>␣</th>" in table


def test_an_html_table_shows_the_rules_of_several_tapes() -> None:
    machine = random_turing_machine(random.Random(5), tapes=2, symbols=6)
    assert machine_table(machine).count("<tr>") == len(machine.states) + 1


def test_parsers_are_imported_without_slow_dependencies() -> None:
    program = (
        "import sys, softmachine.languages.formats\n"
        "print([name for name in ('numba', 'yaml', 'defusedxml') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("source", "language"), [("palindrome", "turing"), ("Q_a since Q_b", "temporal")])
def test_reading_a_source_imports_no_other_language(source: str, language: str) -> None:
    program = (
        "import sys, softmachine.theorems.read_source\n"
        f"softmachine.theorems.read_source.read_source({source!r})\n"
        "known = [name.split('.') for name in sys.modules if name.startswith('softmachine.languages.')]\n"
        "packages = {name[2] for name in known if hasattr(sys.modules['.'.join(name[:3])], '__path__')}\n"
        "print(sorted(packages - {'text', 'zoo'}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"['{language}']"


def test_a_format_of_another_package_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[softmachine.formats]\nbusy = busy:FORMAT\nbroken = no_such_module:X\n")
    (tmp_path / "busy.py").write_text(
        "from softmachine.languages.formats import Format\n"
        "from softmachine.languages.turing import bbchallenge\n"
        "FORMAT = Format('busy', ('.busy',), lambda text: text == 'busy', bbchallenge.parse, bbchallenge.to_text)\n"
    )
    program = (
        "from softmachine.languages.formats import formats, parse, recognise\n"
        "from softmachine.support.plugins import Registry\n"
        f"print(parse({BUSY_BEAVER_4!r}, source='x.busy').name, recognise('busy'), list(formats())[-1])\n"
        "print(*Registry.problems, sep='\\n')"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    read, problem = done.stdout.splitlines()
    assert read == "x busy busy"
    assert problem.startswith("'broken' of softmachine.formats (no_such_module:X) cannot be used: ModuleNotFoundError")
