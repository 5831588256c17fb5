"""The numbers that the page computes are the exact ones of the dense engine."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest

import softmachine as sm
from softmachine.engines.result import Run
from softmachine.inspection.activations import Activations
from softmachine.languages.zoo import list_entries
from tests.page.conftest import Open, Opened
from tests.page.runs import LANGUAGES, OTHERS, run_of

STREAM = "([s, c, p]) => softmachine.value(s, c, p)"
RANKING = "([l, h, p]) => softmachine.ranking(l, h, p)"
RETRIEVED = "([l, h, p]) => softmachine.retrieved(l, h, p)"


def stages(run: Run) -> list[tuple[int, int, int]]:
    """The layers in order of computation: block, iteration and depth of each."""
    length = run.prompt.length
    blocks = enumerate(run.model.weights.blocks)
    return [(b, t, d) for b, block in blocks for t in range(block.iterations(length)) for d in range(len(block.layers))]


def require_equal(
    opened: Opened, run: Run, moment: Activations, place: int, chooser: random.Random, triples: int
) -> None:
    """Compare a position: coordinates after random sublayers, random heads, all logits."""
    weights = run.model.weights
    assert opened.value("([p]) => softmachine.logits(p)", place) == [str(value) for value in moment.logits.values]
    # Hooks are not called for sublayers that add nothing; the page has two per layer.
    streams = {(s.hook_point.layer, s.hook_point.iteration, s.hook_point.sublayer): s for s in moment.residual_streams}
    order = stages(run)
    numbers = {where: sum(len(b.layers) for b in weights.blocks[: where[0]]) + where[2] + 1 for where in order}
    for _ in range(triples):
        s, c = chooser.randrange(2 * len(order) + 1), chooser.randrange(weights.width)
        at, found = s, None
        while found is None:
            if at == 0:
                found = moment.residual_streams[0]
            else:
                where = order[(at - 1) // 2]
                turn = where[1] + 1 if weights.blocks[where[0]].name else 0
                found = streams.get((numbers[where], turn, "attention" if at % 2 else "feed-forward"))
            at -= 1
        assert opened.value(STREAM, s, c, place) == str(found.values[c]), (s, weights.coordinates[c], place)
    for head in chooser.sample(moment.heads, min(len(moment.heads), 3)):
        turn = max(head.hook_point.iteration - 1, 0)
        layer = next(k for k, where in enumerate(order) if numbers[where] == head.hook_point.layer and where[1] == turn)
        retrieved = opened.value(RETRIEVED, layer, head.index, place)
        assert retrieved == [str(value) for value in head.retrieved]
        ranking: Any = opened.value(RANKING, layer, head.index, place)
        assert [Fraction(score) for score in ranking["scores"]] == list(head.scores.values())
        assert tuple(ranking["tied"]) == head.tied
        if head.gap is not None:
            assert Fraction(ranking["best"]) - Fraction(ranking["next"]) == head.gap
            assert tuple(ranking["following"]) == head.next_best


def compare(opened: Opened, run: Run, positions: int, triples: int, seed: int) -> None:
    chooser, inspection = random.Random(seed), sm.inspect(run)
    context = inspection.contexts.context_at(len(run.prompt.tokens) - 1)
    count = opened.value("softmachine.page.model.count")
    places = sorted(chooser.sample(range(count), min(count, positions)))
    offset = context.start - len(context.prompt)
    moments = inspection.at_positions([place + offset for place in places])
    for place, moment in zip(places, moments, strict=True):
        require_equal(opened, run, moment, place, chooser, triples)


@pytest.mark.parametrize("kind", LANGUAGES)
def test_the_page_computes_what_the_dense_engine_computes(open_kind: Open, kind: str) -> None:
    compare(open_kind(kind), run_of(kind), positions=4, triples=6, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", LANGUAGES | OTHERS)
def test_the_page_computes_what_the_dense_engine_computes_at_200_triples(open_kind: Open, kind: str) -> None:
    compare(open_kind(kind), run_of(kind), positions=20, triples=10, seed=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", [entry.name for entry in list_entries()])
def test_the_page_of_every_entry_of_the_zoo_computes_what_the_dense_engine_computes(open_run: Open, name: str) -> None:
    entry = next(entry for entry in list_entries() if entry.name == name)
    sample = max(entry.samples, key=lambda one: (len(one.input) <= 8) * (1 + len(one.input)))
    run = sm.run(name, sample.input, max_steps=60)
    if not all(head.weighting.is_hard or not (head.query.bias or head.bias) for head in run.model.weights.heads):
        pytest.skip("softmax of different scores is no rational number; see the tests of soft attention")
    compare(open_run(run), run, positions=20, triples=10, seed=2)


def test_a_window_far_from_the_beginning_has_the_same_numbers(open_run: Open, short_pages: None) -> None:
    run = sm.run("binary-counter", max_steps=400)
    opened = open_run(run, "#step=300&head=3.1", step=300)
    first, weights = opened.value("softmachine.page.model.first"), run.model.weights
    assert first == 270
    assert "positions 270 to 329 of 401" in opened.text("#on")
    assert "step 300" in opened.text("#where")
    for place in (0, 20, 59):
        moment = sm.inspect(run).at(first + place)
        assert opened.value("([p]) => softmachine.logits(p)", place) == [str(value) for value in moment.logits.values]
        for stream in moment.residual_streams[1:]:
            s = 2 * stream.hook_point.layer - (stream.hook_point.sublayer == "attention")
            found = opened.value("([s, p]) => softmachine.stream(s, p)", s, place)
            assert found == [str(value) for value in stream.values], (s, weights.coordinates)


@pytest.mark.slow
def test_the_page_of_ten_thousand_steps_takes_less_than_a_megabyte(open_run: Open) -> None:
    run = sm.run("busy-beaver-5", max_steps=10_000)
    opened = open_run(run, "#step=9500&head=3.1")
    assert opened.file.stat().st_size < 1_000_000
    assert opened.value("softmachine.page.model.count") == 10_001
    assert opened.page.locator("#head .good").count() == 1
    moment = sm.inspect(sm.run("busy-beaver-5", max_steps=400)).at(300)
    require_equal(opened, run, moment, 300, random.Random(3), triples=20)
