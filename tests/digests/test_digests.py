"""The weights are what they were: byte for byte, for the whole zoo. See :mod:`tests.digests.record`."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from tests.digests.cases import LEFT_OUT, REFUSED, Case, cases
from tests.digests.digest import digest
from tests.digests.record import recorded

QUICK = 0.03
"""What takes at most so many seconds is compared every time …"""
SLOW = 2
"""… and what takes more than this is not."""

RECORD = {key: line for key, line in recorded().items() if line[0] != LEFT_OUT}


def quick(record: dict[str, tuple[str, float]]) -> set[str]:
    """Also the quickest case of every construction, attention and length, and of every entry."""
    chosen = {key for key, (_, seconds) in record.items() if seconds <= QUICK}
    first: dict[object, str] = {}
    for key in sorted(record, key=lambda key: (record[key][0].startswith(REFUSED), record[key][1], key)):
        case = Case.read(key)
        first.setdefault((case.construction, case.attention, case.length), key)
        first.setdefault(case.entry, key)
    return chosen | {key for key in first.values() if record[key][1] <= SLOW}


def parameters() -> list[Any]:
    fast = quick(RECORD)
    return [pytest.param(Case.read(key), id=key, marks=() if key in fast else pytest.mark.slow) for key in RECORD]


@pytest.mark.parametrize("case", parameters())
def test_the_weights_are_those_that_were_recorded(case: Case) -> None:
    assert case.digest() == RECORD[str(case)][0]


def test_every_entry_construction_and_attention_is_in_the_record() -> None:
    assert {str(case) for case in cases()} == recorded().keys()


def test_every_change_of_the_weights_changes_the_digest() -> None:
    model = Case("palindrome", "chapter-8", "hard", None).compiled().weights
    block = model.blocks[0]
    layer = block.layers[0]
    head = layer.heads[0]
    forward = layer.feed_forward
    bias = (*forward.first.bias[:-1], forward.first.bias[-1] + Fraction(1, 10**9))

    def with_layer(changed: Any) -> Any:
        return replace(model, blocks=(replace(block, layers=(changed, *block.layers[1:])), *model.blocks[1:]))

    def with_head(**changes: Any) -> Any:
        return with_layer(replace(layer, heads=(replace(head, **changes), *layer.heads[1:])))

    def with_forward(**changes: Any) -> Any:
        return with_layer(replace(layer, feed_forward=replace(forward, **changes)))

    others = [
        replace(model, name="another"),
        replace(model, vocabulary=model.vocabulary[::-1]),
        replace(model, coordinates=model.coordinates[::-1]),
        replace(model, embedding=replace(model.embedding, rows=model.embedding.rows[::-1])),
        replace(model, features=model.features[::-1]),
        replace(model, outputs=model.outputs[::-1]),
        replace(model, blocks=(replace(block, repeats=2), *model.blocks[1:])),
        with_head(name="another"),
        with_head(query=head.value),
        with_head(mask="all j"),
        with_head(weighting=replace(head.weighting, choice="softmax")),
        with_head(weighting=replace(head.weighting, scale=Fraction(2))),
        with_forward(first=replace(forward.first, bias=bias)),
        with_forward(units=forward.units[::-1]),
        with_forward(activations=("step", *forward.activations[1:])),
    ]
    assert len({digest(model), *map(digest, others)}) == 1 + len(others)
