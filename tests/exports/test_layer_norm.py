"""Layer norm and unique-hard heads in Hugging Face checkpoints: signs are exported, square roots are refused."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from softmachine import api
from softmachine.support.errors import ConstructionError

SIGNS = [
    ("dyck-1-crasp", "crasp-layer-norm", "gpt2"),
    ("2*#<[Q_a] >= #<[Q_b] + 1", "temporal-layer-norm", "gpt2"),
    ("2*#<[Q_a] >= #<[Q_b] + 1", "temporal-layer-norm", "llama"),
    ("once (#<[Q_a] > 2 and Q_b)", "temporal-layer-norm", "gpt2"),
    ("#>[Q_a] > 2 and Q_b", "temporal-layer-norm", "bert"),
    ("prev (Q_a and not Q_b)", "temporal-unique-hard", "gpt2"),
    ("last and (Q_a or Q_b)", "temporal-unique-hard", "bert"),
]


@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None or importlib.util.find_spec("transformers") is None,
    reason="exports need torch: pip install 'softmachine[hf]'",
)
@pytest.mark.parametrize(("source", "theorem", "to"), SIGNS)
def test_signs_are_exported_and_hold(source: str, theorem: str, to: str, tmp_path: Path) -> None:
    exported = api.export(api.compile(source, theorem), tmp_path / "model", to=to, context=24)
    assert exported.verifications[0].holds


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="exports need torch")
@pytest.mark.parametrize("to", ["gpt2", "llama", "bert"])
def test_a_hash_is_refused_with_the_reason(to: str, tmp_path: Path) -> None:
    model = api.compile("odd(#<[Q_a])" if to != "bert" else "odd(#>[Q_a])", "temporal-layer-norm")
    with pytest.raises(ConstructionError, match="a layer norm of several numbers, and the norms of an exported model"):
        api.export(model, tmp_path / "model", to=to, context=24)
    assert not (tmp_path / "model").exists()
