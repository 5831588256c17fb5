"""What a checkpoint is before it is written: tensors, a configuration, and where everything of the model went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from softmachine.exports.lowered import Array, Lowered

SAMPLING_GAIN = 64.0
"""Logits are multiplied by this, so that sampling at temperature 1 decides as greedy decoding does."""


@dataclass(frozen=True)
class Placed:
    """Tensors in the places of an architecture.

    Args:
        architecture: The name of the class in transformers, e.g. "GPT2LMHeadModel".
        config: The configuration, without what all architectures share.
        tensors: The weights by name; they are cast to the wanted format when written.
        model: What was placed.
        mirror: Coordinate c is also stored, negated, at this index plus c; None if it is not.
        gain: What a margin of 1 between logits of the original has become.
        activation_gain: Pre-activations of the feed-forward units are multiplied by this.
        tokenizer: The class in transformers that loads the tokenizer as it was written.
    """

    architecture: str
    config: Mapping[str, Any]
    tensors: Mapping[str, Array]
    model: Lowered
    mirror: int | None
    gain: float
    activation_gain: float
    tokenizer: str = "AutoTokenizer"

    @property
    def auto_class(self) -> str:
        """The class in transformers that loads the model without knowing its architecture."""
        return "AutoModelForCausalLM" if self.model.causal else "AutoModelForTokenClassification"

    @property
    def task(self) -> str:
        """What transformers calls what the model does."""
        return "text-generation" if self.model.causal else "token-classification"
