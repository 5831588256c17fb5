"""The dense engine: runs a transformer in any arithmetic, with every score computed; the reference of all others.

The definition is in :mod:`.forward_pass` and :mod:`.attention`. :mod:`.acceleration` computes the same outputs faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.dense.forward_pass import Pass, PreparedTransformer
from softmachine.engines.numerics import Arithmetic, Tensor
from softmachine.transformer.weights import Transformer

if TYPE_CHECKING:
    from softmachine.engines.dense.acceleration import Accelerator


class DenseEngine(PreparedTransformer):
    """Runs a transformer in an arithmetic.

    Args:
        transformer: The weights.
        arithmetic: The arithmetic, or its name.
        accelerated: Whether caches, deduplication, cycle detection and speculative decoding are used. They change no
            output; error bounds may differ, and hold as well.

    Raises:
        PrecisionError: If a weight is not representable; the message names it.
    """

    def __init__(
        self, transformer: Transformer, arithmetic: str | Arithmetic = "float64", *, accelerated: bool = True
    ) -> None:
        super().__init__(transformer, arithmetic)
        self.accelerator: Accelerator | None = None
        if accelerated:
            from softmachine.engines.dense.acceleration import Accelerator

            self.accelerator = Accelerator(transformer, self.arithmetic)

    def start(self, batch: int = 1, length: int | None = None) -> Pass:
        """Start a pass over a batch of sequences; ``length`` is n, for models that read it."""
        return self.accelerator.start(self, batch, length) if self.accelerator else Pass(self, batch, length)

    def residual_stream(self, sequences: Sequence[Sequence[str]], length: int | None = None) -> Tensor:
        """Return the residual stream after the last layer: (sequence, position, coordinate)."""
        return self.start(len(sequences), length).extend(sequences)

    def predict(self, sequences: Sequence[Sequence[str]], length: int | None = None) -> list[list[str]]:
        """Return the output of the largest logit at every position of every sequence."""
        return [[self.transformer.outputs[k] for k in row] for row in self.predict_indices(sequences, length)]

    def predict_indices(self, sequences: Sequence[Sequence[str]], length: int | None = None) -> NDArray[np.intp]:
        """Return the output of the largest logit at every position as an index: (sequence, position)."""
        indices = self.encode(sequences)
        if self.accelerator:
            return self.accelerator.predict_indices(self, indices, length)
        run = self.start(len(indices), length)
        return run.argmax_outputs(run.extend(indices))
