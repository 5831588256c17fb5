"""Unchecked runs: what edited weights emit, on every engine, labelled wherever a run is shown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.dense.engine import DenseEngine
from softmachine.exports.manifest import WEIGHTS_FILE
from softmachine.support.errors import (
    AmbiguousTokenError,
    ContextTooShortError,
    DivergedError,
    InputError,
    SourceError,
    UsageError,
)
from softmachine.theorems.codec import DecoderCodec
from softmachine.transformer.weights import Head, Matrix, Transformer
from tests.cases import CASES, Case
from tests.cli.conftest import Cli, cli  # noqa: F401
from tests.engines.test_verify import FEW
from tests.models import model_of

STEPS = 12
LABEL = "unchecked: not compared with the reference interpreter"


def ablated(model: Model, name: str) -> Model:
    """The model, with one head that adds nothing to the residual stream."""

    def edited(head: Head) -> Head:
        return replace(head, output=Matrix(((),) * len(head.output.rows), head.output.columns))

    def without(weights: Transformer) -> Transformer:
        blocks = [
            replace(
                block,
                layers=tuple(
                    replace(layer, heads=tuple(edited(head) if head.name == name else head for head in layer.heads))
                    for layer in block.layers
                ),
            )
            for block in weights.blocks
        ]
        return replace(weights, blocks=tuple(blocks))

    return replace(model, weights=without(model.weights))


def greedy(model: Model, word: str) -> list[str]:
    """The output of the weights in rational arithmetic: each token is predicted from all tokens before it."""
    engine = DenseEngine(model.weights, "ball" if model.weights.first_group_normalised_unit else "exact")
    prompt, said = model.codec.prompt(word), list[str]()
    if not isinstance(model.codec, DecoderCodec):
        return engine.predict([prompt.tokens], prompt.length)[0]
    while not (said and model.codec.is_stop_token(said[-1])) and len(said) < model.codec.max_tokens(STEPS):
        reading = engine.start()
        (decided,) = reading.argmax_outputs(reading.extend([(*prompt.tokens, *said)])[:, -1:])
        said.append(model.weights.outputs[decided[-1]])
    return said


@pytest.fixture(scope="module")
def palindrome() -> Model:
    """Without the head that locates the tape head, the model accepts every input that begins with a."""
    return ablated(model_of("palindrome"), "recover head position")


@pytest.mark.parametrize("engine", ["dense", "fast", "auto"])
@pytest.mark.parametrize("head", [head.name for head in model_of("palindrome").weights.heads])
def test_an_ablated_model_emits_what_its_weights_do_on_every_engine(head: str, engine: str) -> None:
    model = ablated(model_of("palindrome"), head)
    for word in ("abba", "ab"):
        run = sm.run(model, word, checked=False, engine=engine, max_steps=STEPS)
        assert list(run.tokens)[: len(greedy(model, word))] == greedy(model, word)
        assert not run.checked


def test_without_it_such_a_run_is_an_error(palindrome: Model) -> None:
    with pytest.raises(DivergedError, match="--unchecked"):
        sm.run(palindrome, "abba")


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.theorem not in FEW and case.attention != "soft"], ids=str
)
def test_models_of_every_theorem_run_when_a_head_is_ablated(case: Case) -> None:
    whole = case.model
    word = case.examples[0][0]
    for head in {whole.weights.heads[0].name, whole.weights.heads[-1].name} if whole.weights.heads else ():
        model = ablated(whole, head)
        try:
            run = sm.run(model, word, checked=False, engine="dense", max_steps=STEPS)
        except (AmbiguousTokenError, ContextTooShortError):  # logits tie, or the run leaves the context
            continue
        assert list(run.tokens)[: len(greedy(model, word))] == greedy(model, word)
        assert LABEL in run.format()
        assert "unchecked" in repr(run)


def test_a_shorter_context_is_not_advised_for_weights_that_outgrow_theirs() -> None:
    case = next(case for case in CASES if (case.theorem, case.attention) == ("turing-ternary", "hard"))
    whole = case.model
    with pytest.raises(ContextTooShortError, match="or limit the steps"):
        sm.run(ablated(whole, whole.weights.heads[0].name), case.examples[0][0], checked=False)


def test_whole_weights_give_the_same_run_but_for_the_label() -> None:
    run, other = sm.run("palindrome", "abba"), sm.run("palindrome", "abba", checked=False)
    assert (run.tokens, run.outcome) == (other.tokens, other.outcome)
    assert run.checked
    assert LABEL not in run.format()
    assert other.notes == (LABEL, *run.notes)


def test_an_unchecked_run_is_not_compared_in_an_arithmetic_that_rounds() -> None:
    run = sm.run("palindrome", "abba", checked=False, arithmetic="fixed:4", max_steps=STEPS)
    assert run.verified_count is None
    assert run.difference is None


def test_a_run_is_not_both_verified_and_unchecked(palindrome: Model) -> None:
    with pytest.raises(UsageError, match="--unchecked cannot be combined with --verify"):
        sm.run(palindrome, "abba", checked=False, verify=True)


def test_tokens_that_the_codec_does_not_know_are_refused() -> None:
    model = model_of("palindrome")
    known = model.codec.prompt("abba").tokens
    vocabulary, outputs = (
        tuple(token if token in known else f"new {token}" for token in tokens)
        for tokens in (model.weights.vocabulary, model.weights.outputs)
    )
    renamed = replace(model, weights=replace(model.weights, vocabulary=vocabulary, outputs=outputs))
    with pytest.raises(InputError, match=r"emits 'new \(first,a,S\)', which is not a token of its codec"):
        sm.run(renamed, "abba", checked=False)


def test_the_page_is_labelled_and_claims_no_certificate(palindrome: Model, tmp_path: Path) -> None:
    from softmachine.inspection.inspection import Inspection
    from softmachine.inspection.page.html import _python_command
    from softmachine.inspection.page.run_json import build_page_data

    run = sm.run(palindrome, "abba", checked=False)
    data = build_page_data(Inspection(run), None, _python_command(run))
    assert isinstance(data, dict)
    about = data["about"]
    assert isinstance(about, dict)
    assert about["verdict"] == "accept (unchecked)"
    assert about["notes"] == [LABEL]
    assert about["command"] == "sm.page(sm.run(model, 'abba', checked=False), 'run.html')"
    assert isinstance(data["soft"], dict)
    assert data["soft"]["certified"] is None
    sm.page(run, tmp_path / "run.html")


def test_an_ablated_model_is_saved_loaded_and_run_by_the_command(
    palindrome: Model,
    tmp_path: Path,
    cli: Cli,  # noqa: F811
) -> None:
    folder = tmp_path / "ablated"
    sm.save(palindrome, folder)
    assert sm.run(folder, "abba", checked=False).tokens == sm.run(palindrome, "abba", checked=False).tokens
    assert cli("run", folder, "abba").status != 0
    called = cli("run", folder, "abba", "--unchecked")
    assert called.status == 0
    assert LABEL in called.out
    for engine in ("dense", "fast"):
        answer = cli("run", folder, "abba", "--unchecked", "--json", "--tokens", "--engine", engine).json
        assert answer["unchecked"] is True
        assert answer["notes"] == [LABEL]
        assert answer["verdict"] == "accept"
        assert answer["trace_tokens"] == greedy(palindrome, "abba")
    assert "unchecked" not in cli("run", "palindrome", "abba", "--json").json
    page = tmp_path / "run.html"
    assert cli("run", folder, "abba", "--unchecked", "--html", page, "--trace").status == 0
    assert page.exists()


def test_verify_and_sample_are_refused_with_unchecked(cli: Cli) -> None:  # noqa: F811
    for option in ("--verify", "--sample"):
        called = cli("run", "palindrome", "abba", "--unchecked", option)
        assert called.status == 2
        assert "cannot be combined" in called.err


def test_a_damaged_folder_is_refused_unchecked_too(palindrome: Model, tmp_path: Path, cli: Cli) -> None:  # noqa: F811
    folder = tmp_path / "ablated"
    sm.save(palindrome, folder)
    data = (folder / WEIGHTS_FILE).read_bytes()
    (folder / WEIGHTS_FILE).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(SourceError):
        sm.run(folder, "abba", checked=False)
    assert cli("run", folder, "abba", "--unchecked").status == 2


def test_data_sets_have_the_interpreters_traces_whatever_the_weights(palindrome: Model) -> None:
    whole = model_of("palindrome")
    rows = [
        json.dumps([row.__dict__ for row in sm.dataset(model, up_to=3)], default=str) for model in (whole, palindrome)
    ]
    assert rows[0] == rows[1]
