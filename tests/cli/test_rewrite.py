"""Rewriting weights at the command line."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from softmachine.cli.rewrite import FORMS
from softmachine.studies.measure.rewrite_cost import RewriteComparison, RewriteForm
from softmachine.transformer.weights import Transformer
from tests.cli.conftest import Cli


@pytest.mark.parametrize("form", ["one-loop", "unmasked", "causal", "one-head"])
def test_a_graph_is_answered_alike(cli: Cli, form: str) -> None:
    found = cli("rewrite", "one-street", "--as", form)
    assert found.status == 0
    assert "4 inputs: equal logits at every position (exact)" in found.out


def test_one_loop_in_constant_precision(cli: Cli) -> None:
    answer = cli("rewrite", "one-way-streets", "--as", "one-loop", "--arithmetic", "fixed:2", "--json").json
    assert (answer["inputs"], answer["same"]) == (25, True)
    assert (answer["before"]["blocks"], answer["after"]["blocks"]) == (2, 1)
    assert answer["before"]["iterations"] == answer["after"]["iterations"] == 4


def test_softmax_is_average_hard_attention_in_fixed_point(cli: Cli) -> None:
    """By default in the least F_b that has all weights; inside attention with as many bits as Lemma 3.1 needs."""
    found = cli("rewrite", "Q_a since Q_b", "--as", "softmax-fixed-point", "--up-to", 4)
    assert found.status == 0
    assert "31 inputs: equal residual streams at every position (fixed:2:6, softmax scale 32)" in found.out
    options = ("--up-to", 3, "--arithmetic", "fixed:6", "--json")
    answer = cli("rewrite", "palindrome", "--as", "softmax-fixed-point", *options).json
    assert (answer["inputs"], answer["same"], answer["arithmetic"], answer["scale"]) == (15, True, "fixed:6:12", 1024)
    assert answer["before"] == answer["after"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("Q_a since Q_b", "--theorem", "temporal-unique-hard"), "head 'Q_a since Q_b' is rightmost-hard"),
        (("Q_a since Q_b", "--arithmetic", "exact"), "in fixed point, not in exact"),
        (("Q_a since Q_b", "--arithmetic", "fixed:8:9"), "the lowest sufficient precision is fixed:8:13"),
        (("prev Q_a", "--arithmetic", "fixed:1"), "is 6, which is not a number of F_1"),
    ],
)
def test_what_does_not_fit_softmax_in_fixed_point_is_refused_with_the_reason(
    cli: Cli, options: tuple[str, ...], message: str
) -> None:
    found = cli("rewrite", *options, "--as", "softmax-fixed-point", "--up-to", 3)
    assert found.status == 2
    assert message in " ".join(found.err.split())


def test_a_difference_is_shown_and_fails(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rewriting that adds a little to a logit."""
    monkeypatch.setattr(RewriteComparison, "rewrite", _tilted)
    found = cli("rewrite", "one-street", "--as", "one-loop")
    assert found.status == 1
    assert "different at position 0" in found.out


def _tilted(rewriting: RewriteComparison, *_: object) -> Transformer:
    given = rewriting.given
    first, *others = given.unembedding.bias
    return replace(given, unembedding=replace(given.unembedding, bias=(first + Fraction(1, 1000), *others)))


def test_forms_are_named_as_they_are(cli: Cli) -> None:
    assert set(FORMS) == set(RewriteForm)
    found = cli("rewrite", "one-street", "--as", "xyz")
    assert found.status == 2
    assert "choose one of one-head, one-loop, unmasked, causal, softmax-fixed-point" in found.err


def test_words_without_a_length_have_to_be_chosen(cli: Cli) -> None:
    found = cli("rewrite", "Q_a since Q_b", "--as", "unmasked")
    assert found.status == 2
    assert "choose the inputs" in found.err


def test_what_takes_too_long_is_refused(cli: Cli) -> None:
    found = cli("rewrite", "Q_a since Q_b", "--as", "one-head", "--up-to", 99)
    assert found.status == 2
    assert "comparing more than 10^30 inputs would take about" in found.err
    assert "--yes" in found.err


def test_a_word_that_is_too_long_to_be_written_is_refused(cli: Cli) -> None:
    found = cli("rewrite", "Q_a since Q_b", "--as", "one-head", "--up-to", 10**17)
    assert found.status == 2
    assert "a word of 100,000,000,000,000,000 symbols would take" in found.err
