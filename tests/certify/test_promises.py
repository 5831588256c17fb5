"""Certificates are about the weights that they are given, and rest on promises that were tested."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import softmachine as sm
from softmachine.certify import promises
from softmachine.certify.promises import check_promises
from softmachine.compiler.model import Model
from softmachine.exports.manifest import MANIFEST_FILE
from softmachine.inspection.page.model_json import build_softmax_data
from softmachine.ir import Program, attend, position, recogniser, stack, token
from softmachine.ir.gadgets import round_unit_bit
from softmachine.ir.ranges import BIT
from softmachine.languages.predicate import FormalLanguage
from softmachine.studies.sweeps import Recipe
from softmachine.support.errors import (
    BrokenPromiseError,
    ContextTooShortError,
    PrecisionError,
    SourceError,
)
from softmachine.theorems import Theorem
from softmachine.theorems.codec import Prompt
from softmachine.theorems.shared.recogniser_codec import RecogniserCodec
from softmachine.transformer.features import I
from softmachine.transformer.weights import AffineMap, Matrix, Transformer, compute_digest
from tests.models import model_of, rewrite
from tests.shell import in_a_shell


@pytest.fixture(autouse=True)
def _short_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promises, "MAX_WORK", 20_000)


def ablated(weights: Transformer) -> Transformer:
    """The same transformer with the value of its last head zeroed."""
    blocks = list(weights.blocks)
    at, block = next((b, block) for b, block in reversed(list(enumerate(blocks))) if any(x.heads for x in block.layers))
    layers = list(block.layers)
    depth, layer = next((d, x) for d, x in reversed(list(enumerate(layers))) if x.heads)
    head = layer.heads[-1]
    empty = AffineMap(Matrix.of([{}] * len(head.value.bias), weights.width), (Fraction(0),) * len(head.value.bias))
    layers[depth] = replace(layer, heads=(*layer.heads[:-1], replace(head, value=empty)))
    blocks[at] = replace(block, layers=tuple(layers))
    return replace(weights, blocks=tuple(blocks))


@pytest.fixture
def edited() -> Model:
    model = model_of("palindrome")
    return replace(model, weights=ablated(model.weights))


def test_edited_weights_get_a_certificate_of_their_own_in_which_everything_is_derived(edited: Model) -> None:
    softened, proof = sm.soften(edited, length=20)
    assert proof.hard_digest == compute_digest(edited.weights) != compute_digest(model_of("palindrome").weights)
    assert not proof.assumptions
    assert proof.soft_digest == compute_digest(softened.weights)
    hard, soft = (sm.run(model, "abba", checked=False, max_steps=15).tokens for model in (edited, softened))
    assert hard == soft != sm.run("palindrome", "abba").tokens


def test_softened_edited_weights_are_saved_with_their_certificate(edited: Model, tmp_path: Path) -> None:
    softened, proof = sm.soften(edited, length=20)
    sm.save(softened, tmp_path / "soft")
    model = sm.load(tmp_path / "soft")
    assert isinstance(model, Model)
    assert (model.weights, model.certificate) == (softened.weights, proof)


def test_edited_weights_are_not_exported_as_if_they_were_not(edited: Model, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(PrecisionError, match="not those that the theorem turing-average-hard compiles"):
        sm.export(edited, tmp_path / "out", to="gpt2", context=32)
    assert not (tmp_path / "out").exists()


def test_an_edited_folder_is_certified_for_its_own_weights(edited: Model, tmp_path: Path) -> None:
    sm.save(edited, tmp_path / "model")
    done = in_a_shell("softmachine certify ./model --length 20 --json", tmp_path)
    assert json.loads(done.stdout)["digests"]["hard"] == compute_digest(edited.weights)


def test_renamed_weights_are_still_those_of_the_theorem() -> None:
    model = model_of("Q_a since Q_b")
    renamed = replace(model, weights=replace(model.weights, name="other", coordinates=("x",) * model.weights.width))
    assert sm.certificate(renamed, length=20).holds


def test_the_page_has_the_scales_of_the_weights_that_it_shows(edited: Model) -> None:
    found: Any = build_softmax_data(edited, range(20), None)
    assert found["certified"] == 19
    assert set(found["scales"]) <= {head.name for head in edited.weights.heads}


def test_the_weights_alone_can_still_be_certified() -> None:
    model = model_of("Q_a since Q_b")
    cut = ablated(model.weights)
    weights, proof = sm.soften(cut, length=3)
    assert proof.holds
    assert (proof.hard_digest, proof.soft_digest) == (compute_digest(cut), compute_digest(weights))


def test_a_certificate_has_the_digests_of_its_weights() -> None:
    model = model_of("Q_a since Q_b")
    softened, proof = sm.soften(model, length=20)
    assert (proof.hard_digest, proof.soft_digest) == (compute_digest(model.weights), compute_digest(softened.weights))
    assert proof.to_json()["digests"] == {"hard": proof.hard_digest, "soft": proof.soft_digest}
    assert (softened.certified_length, softened.certificate) == (20, proof)


def test_weights_that_are_changed_later_are_not_certified() -> None:
    softened, _ = sm.soften("Q_a since Q_b", length=20)
    changed = replace(softened, weights=ablated(softened.weights))
    assert changed.certified_length is None
    assert not any("certified" in note for note in changed.notes_at(100))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    sm.save(sm.soften("Q_a since Q_b", length=20, sharpness=9)[0], tmp_path / "soft")
    return tmp_path / "soft"


def test_a_certificate_is_stored_and_verified(folder: Path) -> None:
    stored = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))["certificate"]
    model = sm.load(folder)
    assert isinstance(model, Model)
    assert model.certificate is not None
    assert (model.certified_length, stored) == (20, model.certificate.to_json())
    assert Recipe.from_model(model) is not None
    assert Recipe.from_model(model).compile().weights == model.weights  # type: ignore[union-attr]


def without_certificate(facts: dict[str, Any]) -> None:
    """Replace the keys of a manifest by those of earlier versions, which did not store the certificate."""
    facts.update(length=facts.pop("context"), certified=facts.pop("certificate")["length"])


@pytest.mark.parametrize(
    "change",
    [
        lambda facts: facts["certificate"].update(length=-1),
        lambda facts: facts["certificate"].update(sharpness=1),
        lambda facts: facts["certificate"]["digests"].update(soft="0" * 64),
        lambda facts: facts["certificate"].update(sharpness="many"),
        lambda facts: facts.update(certificate=[]),
        without_certificate,  # the sharpness was not the default one, so it is not found again
    ],
)
def test_a_claim_that_is_not_confirmed_is_refused(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    rewrite(folder, change)
    with pytest.raises(SourceError, match=r"does not confirm|damaged"):
        sm.load(folder)


def test_an_earlier_folder_without_certificate_gets_it_again(tmp_path: Path) -> None:
    model = sm.soften("Q_a since Q_b", length=20)[0]
    sm.save(model, tmp_path / "soft")
    rewrite(tmp_path / "soft", without_certificate)
    assert sm.load(tmp_path / "soft") == model


def test_a_certified_length_is_not_written_for_changed_weights(tmp_path: Path) -> None:
    softened, _ = sm.soften("Q_a since Q_b", length=20)
    sm.save(replace(softened, weights=ablated(softened.weights)), tmp_path / "soft")
    assert "certificate" not in json.loads((tmp_path / "soft" / MANIFEST_FILE).read_text(encoding="utf-8"))
    model = sm.load(tmp_path / "soft")
    assert isinstance(model, Model)
    assert model.certified_length is None


FIRST = FormalLanguage("begins-with-a", ("a", "b"), lambda word: word[:1] == ("a",))


def first_letter(codec: RecogniserCodec, gap: Fraction | int, margin: Fraction | int = 1) -> Program:
    """Whether the first letter is a: score -(j-1)²/6 is largest at position 1, by a gap of 1/6."""
    place = position(I)
    ramp = token("ramp", {codec.start: (1,), "a": (0,), "b": (0,)})
    is_a = token("is a", {codec.start: (0,), "a": (1,), "b": (0,)})
    score = stack(-Fraction(1, 6) * place - Fraction(1, 3) * ramp)
    one = token("one", dict.fromkeys(codec.tokens, (1,)))
    found = attend("first", query=one, key=score, value=is_a, gap=gap)
    program = recogniser(FIRST.name, codec.tokens, round_unit_bit("begins", found.with_range(BIT)))
    return replace(program, margin=Fraction(margin))


def plugin(gap: Fraction | int, margin: Fraction | int = 1) -> Theorem:
    return Theorem(
        name="begins-with-a",
        statement="words that begin with a",
        reference="a toy",
        requirements="a position feature",
        cost="1 layer",
        source=FIRST,
        attentions=("hard",),
        codec=lambda language, _: RecogniserCodec(language),
        signals=lambda codec, _: first_letter(codec, gap, margin),
    )


@pytest.mark.parametrize("work", [sm.soften, sm.certificate])
def test_a_false_gap_of_a_plugin_is_refused(work: Callable[..., object]) -> None:
    model = sm.compile(FIRST, plugin(5))
    with pytest.raises(
        BrokenPromiseError, match="head 'first' declares the gap 5, but only 1/6 is derived"
    ):
        work(model, length=40)


def test_a_false_gap_of_a_plugin_is_not_exported(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(BrokenPromiseError, match="only 1/6 is derived"):
        sm.export(sm.compile(FIRST, plugin(5)), tmp_path / "out", to="bert", context=12)


def test_a_false_margin_is_refused() -> None:
    with pytest.raises(BrokenPromiseError, match=r"exceeds the others by 1, less than the promised margin 7"):
        sm.certificate(sm.compile(FIRST, plugin(Fraction(1, 6), 7)), length=40)


def test_check_tests_the_promises_of_a_plugin() -> None:
    report = sm.check(sm.compile(FIRST, plugin(5)), up_to=3)
    assert not report.disagreements
    assert not report.holds
    assert "the gap is 1/6" in str(report)
    assert "the gap is 1/6" in str(report.to_json()["broken_promise"])
    good = sm.check(sm.compile(FIRST, plugin(Fraction(1, 6))), up_to=3)
    assert good.holds
    assert "promises evaluated exactly on" in str(good)


def test_true_declarations_are_derived() -> None:
    model = sm.compile(FIRST, plugin(Fraction(1, 6)))
    softened, proof = sm.soften(model, length=40)
    assert (proof.assumptions, proof.promises) == ([], None)
    assert sm.check(softened, up_to=7).holds


def test_every_short_input_is_evaluated_and_random_ones_up_to_the_certified_length() -> None:
    codec = RecogniserCodec(FIRST)
    tested = check_promises(first_letter(codec, Fraction(1, 6)), codec, 3)
    assert (tested.complete, tested.longest) == (3, 3)


def test_inputs_that_outgrow_the_model_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    codec = RecogniserCodec(FIRST)

    def outgrow(self: RecogniserCodec, word: tuple[str, ...]) -> Prompt:
        if len(word) > 2:
            raise ContextTooShortError("too long")
        return Prompt((self.start, *word))

    monkeypatch.setattr(RecogniserCodec, "prompt", outgrow)
    tested = check_promises(first_letter(codec, Fraction(1, 6)), codec, 40)
    assert (tested.short, tested.complete, tested.longest) == (7, 2, 2)


def test_digests_ignore_names_and_notice_every_weight() -> None:
    weights = model_of("Q_a since Q_b").weights
    assert compute_digest(replace(weights, name="other", coordinates=("x",) * weights.width)) == compute_digest(weights)
    assert compute_digest(ablated(weights)) != compute_digest(weights)
    bias = weights.unembedding.bias
    for k, number in product(range(len(bias)), (Fraction(1, 3), Fraction(-7))):
        changed = AffineMap(weights.unembedding.weight, (*bias[:k], bias[k] + number, *bias[k + 1 :]))
        assert compute_digest(replace(weights, unembedding=changed)) != compute_digest(weights)
    assert compute_digest(replace(weights, outputs=("no", "yes"))) != compute_digest(weights)
