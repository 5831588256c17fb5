"""The decoder is causal, and independent of the KV cache, for every encoding; encodings match their definitions."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'softmachine[learn]'")

from softmachine.languages.crasp.relations import beta  # noqa: E402
from softmachine.studies.learn.config import POSITION_ENCODINGS, ModelConfig, parse_encoding  # noqa: E402
from softmachine.studies.learn.model import (  # noqa: E402
    Decoder,
    KVCache,
    alibi_slopes,
    apply_rope,
    relation_matrix,
)
from softmachine.support.errors import UsageError  # noqa: E402

ENCODINGS = [*POSITION_ENCODINGS, "none+log", "relative+log"]
CONTEXT = 24


def decoder(positions: str, precision: str = "float32") -> Decoder:
    torch.manual_seed(1)
    return Decoder(ModelConfig(layers=2, width=16, heads=2, positions=positions, precision=precision), 7, CONTEXT)


@pytest.mark.parametrize("positions", ENCODINGS)
def test_nothing_depends_on_what_comes_later(positions: str) -> None:
    model, tokens = decoder(positions), torch.randint(7, (3, CONTEXT))
    changed = tokens.clone()
    changed[:, 10:] = (changed[:, 10:] + 1) % 7
    assert torch.equal(model(tokens)[:, :10], model(changed)[:, :10])
    assert not torch.allclose(model(tokens)[:, 10:], model(changed)[:, 10:])


@pytest.mark.parametrize("positions", ENCODINGS)
def test_token_by_token_is_the_same_as_all_at_once(positions: str) -> None:
    model, tokens = decoder(positions), torch.randint(7, (3, CONTEXT))
    memory = KVCache(model.shape, 3, CONTEXT)
    with torch.no_grad():
        one_by_one = [model(tokens[:, [at]], torch.full((3, 1), at), memory) for at in range(CONTEXT)]
        assert torch.allclose(torch.cat(one_by_one, 1), model(tokens), atol=1e-5)


def test_without_positions_the_order_of_earlier_tokens_is_unknown_and_with_any_other_it_is_not() -> None:
    tokens = torch.randint(7, (1, CONTEXT))
    tokens[0, 3], tokens[0, 5] = 1, 2
    swapped = tokens.clone()
    swapped[0, 3], swapped[0, 5] = 2, 1
    for positions in POSITION_ENCODINGS:
        torch.manual_seed(1)
        one_layer = Decoder(ModelConfig(layers=1, width=16, heads=2, positions=positions), 7, CONTEXT)
        same = torch.allclose(one_layer(tokens)[0, -1], one_layer(swapped)[0, -1], atol=1e-6)
        assert same == (positions == "none"), positions


def test_the_relation_is_that_of_the_paper() -> None:
    table = relation_matrix(40)
    for x in range(1, 40):
        bits = beta(x) or ""
        assert table[x].tolist() == [float(0 < i <= len(bits) and bits[i - 1] == "1") for i in range(40)]


def test_turning_keeps_lengths_and_scores_depend_on_distances_alone() -> None:
    query, key = torch.randn(1, 1, 1, 8), torch.randn(1, 1, 1, 8)

    def score(i: int, j: int) -> float:
        return float((apply_rope(query, torch.tensor([[i]])) * apply_rope(key, torch.tensor([[j]]))).sum())

    assert math.isclose(score(9, 4), score(25, 20), abs_tol=1e-4)
    assert math.isclose(float(apply_rope(query, torch.tensor([[7]])).norm()), float(query.norm()), rel_tol=1e-5)


def test_scores_fall_faster_in_earlier_heads() -> None:
    assert alibi_slopes(4) == sorted(alibi_slopes(4), reverse=True)
    assert alibi_slopes(4)[-1] == 2**-8


def test_rounded_streams_have_few_bits() -> None:
    streams = decoder("none", "bits:3").residual_streams(torch.randint(7, (2, 9)))
    for stream in streams:
        mantissas = torch.frexp(stream.detach())[0] * 8
        assert torch.equal(mantissas, mantissas.round())
    unrounded = decoder("none").residual_streams(torch.randint(7, (2, 9)))[1].detach()
    assert len(set(unrounded.flatten().tolist())) > 200


@pytest.mark.parametrize("name", ["", "nope", "rope+ln", "+log"])
def test_other_encodings_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="there is no position encoding"):
        parse_encoding(name)
