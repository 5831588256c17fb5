"""Models are what they were: numbers byte for byte, names as recorded. See :mod:`tests.digests.record`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest

from softmachine.transformer.features import Bit, Distance, Monomial
from softmachine.transformer.table_features import BlockFeature, OffsetFeature, TableFeature
from tests.digests.cases import LEFT_OUT, REFUSED, RENAMED, Case, cases
from tests.digests.digest import name_digest, number_digest
from tests.digests.record import Line, recorded, updated

QUICK = 0.03
"""Cases that take at most this many seconds are compared in every run of the suite …"""
SLOW = 2
"""… and those that take more than this only in the slow tier."""

RECORD = {key: line for key, line in recorded().items() if line.numbers != LEFT_OUT}


def quick(record: dict[str, Line]) -> set[str]:
    """Also the quickest case of every construction, attention and length, and of every entry."""
    chosen = {key for key, line in record.items() if line.seconds <= QUICK}
    first: dict[object, str] = {}
    for key in sorted(record, key=lambda key: (record[key].numbers == REFUSED, record[key].seconds, key)):
        case = Case.read(key)
        first.setdefault((case.construction, case.attention, case.length), key)
        first.setdefault(case.entry, key)
    return chosen | {key for key in first.values() if record[key].seconds <= SLOW}


def parameters() -> list[Any]:
    """The cases of each theorem, those of every run of the suite and the slow ones apart."""
    fast = quick(RECORD)
    groups: dict[tuple[str, bool], list[str]] = {}
    for key in RECORD:
        groups.setdefault((Case.read(key).construction, key not in fast), []).append(key)
    return [
        pytest.param(keys, id=f"{theorem}{'-slow' * slow}", marks=[pytest.mark.slow] * slow)
        for (theorem, slow), keys in groups.items()
    ]


@pytest.mark.parametrize("keys", parameters())
def test_the_numbers_and_the_names_are_those_that_were_recorded(keys: list[str]) -> None:
    found = {key: Case.read(key).digests() for key in keys}
    changed = [key for key, (numbers, _) in found.items() if numbers != RECORD[key].numbers]
    assert not changed, "the weights have changed, which takes a commit of its own that gives the reason"
    renamed = [key for key, (_, names) in found.items() if names != RECORD[key].names]
    assert not renamed, "only names have changed: python -m tests.digests.record"


def test_every_entry_construction_and_attention_is_in_the_record() -> None:
    assert {str(case) for case in cases()} == recorded().keys()


def test_a_renamed_theorem_keeps_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RENAMED, "old", "new")
    case = Case("palindrome", "new", "hard", None)
    assert str(case) == "palindrome · old · hard · any length"
    assert Case.read(str(case)) == case


def test_recording_names_keeps_the_numbers() -> None:
    old = Line("1", "a", 0.5)
    assert updated(old, Line("1", "b", 0.1), numbers=False) == Line("1", "b", 0.1)
    assert updated(old, Line("2", "b", 0.1), numbers=False) == old
    assert updated(old, Line("2", "b", 0.1), numbers=True) == Line("2", "b", 0.1)
    assert updated(Line(), old, numbers=False) == old


NAMED = (
    "palindrome · chapter-8 · hard · any length",
    "adder-8 · circuit-unit · hard · any length",
    "one-way-streets · connectivity · hard · any length",
    "prime-length-formula · unique-hard · hard · any length",
    "palindrome-relative · crasp · soft · any length",
    "majority-crasp · crasp-layer-norm · soft · any length",
)
"""Models that together have loops, relations, tables, predicates, scales that are features, and layer norm."""


@dataclass(frozen=True)
class Other:
    """A feature or relation of another class, with another printed form and the same values."""

    hidden: Any

    def at(self, *places: int) -> Fraction:
        found: Fraction = self.hidden.at(*places)
        return found

    def __str__(self) -> str:
        return f"other {self.hidden}"


def renamed(transformer: Any) -> Any:
    """The transformer with another name for everything that has one, features of other classes included."""

    def names(items: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"other {item}" for item in items)

    def other(value: Any) -> Any:
        return value if value is None or isinstance(value, int | Fraction) else Other(value)

    def head(old: Any) -> Any:
        weighting = replace(old.weighting, scale=other(old.weighting.scale))
        return replace(old, name=f"other {old.name}", weighting=weighting, bias=other(old.bias))

    def layer(old: Any) -> Any:
        forward = replace(old.feed_forward, units=names(old.feed_forward.units))
        return replace(old, heads=tuple(map(head, old.heads)), feed_forward=forward)

    def block(old: Any) -> Any:
        changes = {"name": f"other {old.name}", "repeats": other(old.repeats)}
        return replace(old, layers=tuple(map(layer, old.layers)), **changes)

    return replace(
        transformer,
        name=f"other {transformer.name}",
        vocabulary=names(transformer.vocabulary),
        coordinates=names(transformer.coordinates),
        outputs=names(transformer.outputs),
        features=tuple(map(other, transformer.features)),
        blocks=tuple(map(block, transformer.blocks)),
    )


@pytest.mark.parametrize("key", NAMED)
def test_another_name_for_everything_changes_the_names_and_no_number(key: str) -> None:
    model = Case.read(key).compiled().weights
    other = renamed(model)
    assert number_digest(other) == number_digest(model)
    assert name_digest(other) != name_digest(model)
    assert renamed(model) != model


def test_every_name_is_in_the_digest_of_the_names_and_in_no_other() -> None:
    model = Case("palindrome", "turing-average-hard", "hard", None).compiled().weights
    block = model.blocks[0]
    layer = block.layers[0]
    head, forward = layer.heads[0], layer.feed_forward

    def with_layer(**changes: Any) -> Any:
        changed = replace(layer, **changes)
        return replace(model, blocks=(replace(block, layers=(changed, *block.layers[1:])), *model.blocks[1:]))

    others = [
        replace(model, name="another"),
        replace(model, vocabulary=model.vocabulary[::-1]),
        replace(model, coordinates=model.coordinates[::-1]),
        replace(model, outputs=model.outputs[::-1]),
        replace(model, features=(Other(model.features[0]), *model.features[1:])),
        replace(model, blocks=(replace(block, name="another"), *model.blocks[1:])),
        with_layer(heads=(replace(head, name="another"), *layer.heads[1:])),
        with_layer(feed_forward=replace(forward, units=forward.units[::-1])),
    ]
    assert len({name_digest(model), *map(name_digest, others)}) == 1 + len(others)
    assert {number_digest(model), *map(number_digest, others)} == {number_digest(model)}


def test_every_change_of_a_number_is_in_the_digest_of_the_numbers() -> None:
    model = Case("palindrome", "turing-average-hard", "hard", None).compiled().weights
    block = model.blocks[0]
    layer = block.layers[0]
    head, forward = layer.heads[0], layer.feed_forward
    bias = (*forward.first.bias[:-1], forward.first.bias[-1] + Fraction(1, 10**9))

    def with_layer(changed: Any) -> Any:
        return replace(model, blocks=(replace(block, layers=(changed, *block.layers[1:])), *model.blocks[1:]))

    def with_head(**changes: Any) -> Any:
        return with_layer(replace(layer, heads=(replace(head, **changes), *layer.heads[1:])))

    def with_forward(**changes: Any) -> Any:
        return with_layer(replace(layer, feed_forward=replace(forward, **changes)))

    others = [
        replace(model, embedding=replace(model.embedding, rows=model.embedding.rows[::-1])),
        replace(model, features=model.features[::-1]),
        replace(model, blocks=(replace(block, repeats=2), *model.blocks[1:])),
        replace(model, unembedding=replace(model.unembedding, bias=(bias[-1], *model.unembedding.bias[1:]))),
        with_head(query=head.value),
        with_head(mask="all j"),
        with_head(weighting=replace(head.weighting, kind="softmax")),
        with_head(weighting=replace(head.weighting, scale=Fraction(2))),
        with_head(weighting=replace(head.weighting, scale=Monomial(next=1))),
        with_head(bias=Distance()),
        with_forward(first=replace(forward.first, bias=bias)),
        with_forward(second=replace(forward.second, bias=(bias[-1], *forward.second.bias[1:]))),
        with_forward(activations=("step", *forward.activations[1:])),
        with_forward(activations=("norm", *forward.activations[1:]), norms=((0,),)),
        with_forward(activations=("norm", *forward.activations[1:]), norms=((0, 1),)),
    ]
    assert len({number_digest(model), *map(number_digest, others)}) == 1 + len(others)


def test_features_with_different_values_have_different_digests_however_far_away_they_differ() -> None:
    model = Case("palindrome", "turing-average-hard", "hard", None).compiled().weights
    far = (Fraction(0),) * 3000
    features = [
        Bit(20),
        Bit(21),
        TableFeature("t", (*far, Fraction(1))),
        TableFeature("t", (*far, Fraction(2))),
        OffsetFeature(1, TableFeature("t", (*far, Fraction(1)))),
        BlockFeature(0, TableFeature("t", (Fraction(0), Fraction(1))), 7, 99),
        BlockFeature(0, TableFeature("t", (Fraction(0), Fraction(1))), 8, 99),
    ]
    assert len({number_digest(replace(model, features=(feature,))) for feature in features}) == len(features)
    short, padded = TableFeature("t", (Fraction(1),)), TableFeature("u", (Fraction(1), *far))
    assert number_digest(replace(model, features=(short,))) == number_digest(replace(model, features=(padded,)))
