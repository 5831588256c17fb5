"""The public API, as the README shows it."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import softmachine as sm
from softmachine import api
from softmachine.compiler.model import CompileOptions
from softmachine.studies.sweeps import CheckOptions
from softmachine.support.argument_validation import SHARED_ARGUMENTS, complete_docstring
from softmachine.support.errors import ConstructionError, InputError, SourceError, UsageError


def test_load_compile_run_and_check_read_as_the_readme_says() -> None:
    machine = sm.load("palindrome")
    assert isinstance(machine, sm.TuringMachine)
    model = sm.compile(machine)
    run = sm.run(model, "abba")
    assert run.accepted
    assert run.halted
    assert (run.verdict, run.steps, run.tape, run.output) == ("accept", 15, "", "")
    assert run.tokens[-1] == "ACC"
    assert "accept" in run.format()
    report = sm.check(model, machine, up_to=3)
    assert report
    assert (report.inputs, report.disagreements) == (15, ())


def test_a_source_can_be_run_and_checked_at_once() -> None:
    assert sm.run("increment", "1011").output == "1100"
    assert sm.check("increment", sample=3, length=5, arithmetic="exact").holds


def test_run_and_check_take_what_the_commands_take() -> None:
    run = sm.run("increment", "11", theorem="turing-ternary", context=32)
    assert (run.model.theorem.name, run.model.context, run.output) == ("turing-ternary", 32, "100")
    run = sm.run("Q_a since Q_b", "bca", alphabet="abcd")
    assert (run.verdict, run.model.codec.alphabet) == ("reject", ("a", "b", "c", "d"))
    report = sm.check("increment", up_to=2, theorem="turing-ternary", context=32)
    assert (report.inputs, report.holds) == (7, True)
    assert sm.check("#<[Q_a] = 2", up_to=2, alphabet=["a", "bb", "c"]).inputs == 13
    assert sm.check("#<[Q_a] = 2", up_to=2).inputs == 7, "two letters, as the command has it"
    assert sm.check("Q_a since Q_b", up_to=2, attention="soft").holds
    assert sm.check("Q_a since Q_b", up_to=2, attention="soft", context=8).holds
    assert sm.run("1RB1LB_1LA1RZ", format="bbchallenge").steps == 6


def test_a_run_without_an_input_is_on_the_one_that_the_source_suggests() -> None:
    machine = sm.load("palindrome")
    assert isinstance(machine, sm.TuringMachine)
    assert machine.default_input
    assert sm.run(machine).outcome.word == machine.default_input
    assert sm.run(machine, "").outcome.word == ()


def test_inputs_of_one_length_need_no_bound() -> None:
    assert sm.check("full-adder").inputs == 8
    assert sm.check("full-adder", sample=3).inputs == 3
    with pytest.raises(UsageError, match="choose the inputs"):
        sm.check("palindrome")
    with pytest.raises(UsageError, match="none of length 4"):
        sm.check("full-adder", sample=3, length=4)


@pytest.mark.parametrize(
    ("source", "word", "shown"),
    [
        ("palindrome", "abba", "<Run of palindrome on 'abba': accept, 15 steps>"),
        ("full-adder", "110", "<Run of full-adder on '110': halt, output '10'>"),
        ("one-way-streets", "home market", "<Run of one-way-streets on 'home market': accept>"),
        ("Q_a since Q_b", "aba", "<Run of Q_a since Q_b on 'aba': accept>"),
    ],
)
def test_the_repr_of_a_run_is_one_short_line(source: str, word: str, shown: str) -> None:
    run = sm.run(source, word)
    assert repr(run) == shown
    assert len(repr(run.model)) < 100


def test_the_repr_of_a_long_run_is_short() -> None:
    shown = repr(sm.run("increment", "1" * 200))
    assert "\n" not in shown
    assert len(shown) < 200
    assert "(200 characters)" in shown


def test_a_report_is_plain_data_and_html() -> None:
    import json

    report = sm.check("increment", up_to=2)
    assert json.loads(json.dumps(report.to_json()))["inputs"] == 7
    assert "7 inputs, " in report._repr_html_()
    parity = sm.load("parity")
    assert isinstance(parity, sm.TuringMachine)
    wrong = sm.check(sm.compile("bit-inversion"), parity, up_to=2)
    facts = wrong.to_json(limit=2)
    assert (facts["holds"], facts["disagreement_count"]) == (False, len(wrong.disagreements))
    first = wrong.disagreements[0]
    assert facts["disagreements"] == [each.to_json() for each in wrong.disagreements[:2]]
    assert first.to_json()["word"] == "".join(first.word)
    assert wrong._repr_html_().count("<tr>") == len(wrong.disagreements) + 1


def test_a_graph_is_plain_data_and_html() -> None:
    from softmachine.languages.graph import Graph

    graph = sm.load("one-way-streets")
    assert isinstance(graph, Graph)
    facts = graph.to_json()
    assert facts["edges"] == [list(edge) for edge in graph.edges]
    html = graph._repr_html_()
    assert html.count("<tr>") == len(graph.edges)
    assert " → " in html
    odd = Graph(name="<b>", vertices=("<i>", "b"), edges=(("<i>", "b"),) * 150, directed=False)
    assert "&lt;i&gt; – b" in odd._repr_html_()
    assert "… 50 more edges" in odd._repr_html_()


def test_a_saved_model_runs_and_checks_without_its_source(tmp_path: Path) -> None:
    sm.save(sm.compile("increment"), tmp_path / "model")
    model = sm.load(tmp_path / "model")
    assert isinstance(model, sm.Model)
    assert model == sm.compile("increment")
    assert sm.run(str(tmp_path / "model"), "11").output == "100"
    assert sm.check(model, up_to=3)


def test_a_model_of_another_machine_is_found_out() -> None:
    parity = sm.load("parity")
    assert isinstance(parity, sm.TuringMachine)
    report = sm.check(sm.compile("bit-inversion"), parity, up_to=3)
    assert not report
    problem = report.disagreements[0]
    assert problem.expected != problem.found


def test_a_tampered_weight_is_found_out() -> None:
    from dataclasses import replace
    from fractions import Fraction

    model = sm.compile("increment")
    weights = model.weights
    rows = list(weights.unembedding.weight.rows)
    rows[1] = tuple((c, -w) for c, w in rows[1])
    weight = replace(weights.unembedding.weight, rows=tuple(rows))
    broken = replace(model, weights=replace(weights, unembedding=replace(weights.unembedding, weight=weight)))
    assert isinstance(rows[1][0][1], Fraction)
    assert not sm.check(broken, up_to=3)


def test_the_same_source_gives_the_same_bytes_in_two_processes(tmp_path: Path) -> None:
    code = "import softmachine as sm, sys; sm.save(sm.compile(sys.argv[1]), sys.argv[2])"
    for name in ("palindrome", "two-tape-copy"):
        folders = [tmp_path / f"{name}-{seed}" for seed in (1, 2)]
        for seed, folder in enumerate(folders, 1):
            subprocess.run(
                [sys.executable, "-c", code, name, str(folder)], check=True, env={"PYTHONHASHSEED": str(seed)}
            )
        for file in ("model.safetensors", "softmachine.json"):
            assert (folders[0] / file).read_bytes() == (folders[1] / file).read_bytes()


def test_a_run_ends_at_its_step_limit_without_a_verdict() -> None:
    run = sm.run("binary-counter", max_steps=30)
    assert (run.verdict, run.halted, run.steps) == (None, False, 30)


def test_a_run_that_stops_exactly_at_the_limit_has_its_verdict() -> None:
    assert sm.run("busy-beaver-3", max_steps=21).verdict == "halt"
    assert sm.run("busy-beaver-3", max_steps=20).verdict is None


def test_objects_show_themselves_in_notebooks() -> None:
    machine, model = sm.load("increment"), sm.compile("increment")
    assert isinstance(machine, sm.TuringMachine)
    for thing in (machine, model, sm.run(model, "1")):
        assert thing._repr_html_().startswith("<")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: sm.load("palindrom"), SourceError, "palindrome"),
        (lambda: sm.load("no/such/file.yaml"), SourceError, "not a file"),
        (lambda: sm.run("palindrome", "abc"), InputError, "'c' at position 3"),
        (lambda: sm.compile("palindrome", "chapter-9"), ConstructionError, "turing-average-hard"),
        (lambda: sm.run("palindrome", "a", arithmetic="float8"), UsageError, "float64"),
        (lambda: sm.check("palindrome"), UsageError, "up_to"),
        (lambda: sm.check("palindrome", up_to=3, sample=2, length=1), UsageError, "up_to"),
        (lambda: sm.load(None), UsageError, "'source': None is not a string, a Path, a Source or a Model"),  # type: ignore[arg-type]
        (lambda: sm.compile("increment", "turing-ternary", context=-4), UsageError, "'context': -4 is less than 0"),
        (lambda: sm.run("palindrome", "ab", max_steps=-1), UsageError, "'max_steps': -1 is less than 0"),
        (lambda: sm.check("palindrome", up_to=2, max_steps=-1), UsageError, "'max_steps': -1 is less than 0"),
        (lambda: sm.check("palindrome", up_to=2, workers=0), UsageError, "'workers': 0 is less than 1"),
        (lambda: sm.soften("palindrome", length=5, sharpness=0), UsageError, "'sharpness': 0 is less than 1"),
    ],
)
def test_mistakes_are_told_with_what_would_be_right(call: object, error: type[Exception], words: str) -> None:
    assert callable(call)
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


def test_the_package_names_what_it_lacks() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        sm.nothing  # noqa: B018
    assert "compile" in dir(sm)


@pytest.mark.parametrize(("tried", "length"), [(CheckOptions(up_to=2), 11), (CheckOptions(sample=4, length=1), 8)])
def test_soft_attention_is_certified_for_the_longest_run_checked(tried: CheckOptions, length: int) -> None:
    item = api.load("increment")
    assert api.compile_for_check(item, tried, CompileOptions(attention="soft")).certified_length == length
    assert api.compile_for_check(item, tried, CompileOptions(attention="soft", context=12)).certified_length == 12
    # The soft attention of this theorem is valid for every length.
    every = api.compile_for_check(api.load("Q_a since Q_b"), tried, CompileOptions(attention="soft"))
    assert every.certified_length is None


@pytest.mark.parametrize("name", sorted(set(sm.__all__) & set(vars(api))))
def test_every_parameter_of_a_public_function_is_described(name: str) -> None:
    function = getattr(api, name)
    if not inspect.isfunction(function):
        return
    described = set(re.findall(r"^    (\w+): ", str(function.__doc__).partition("\nArgs:\n")[2], re.MULTILINE))
    assert described >= set(inspect.signature(function).parameters)


def test_shared_descriptions_complete_a_docstring_and_do_not_replace_its_own() -> None:
    text = "Runs.\n\nArgs:\n    model: The model.\n    format: Its own\n        words.\n\nReturns:\n    The run."
    completed = complete_docstring(text, ["model", "alphabet", "format", "other"])
    assert completed.splitlines()[3:7] == [
        "    model: The model.",
        f"    alphabet: {SHARED_ARGUMENTS['alphabet']}",
        "    format: Its own",
        "        words.",
    ]
    assert completed.endswith("\n\nReturns:\n    The run.")
