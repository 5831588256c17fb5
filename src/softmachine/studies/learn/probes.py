"""Linear probes: how much of a variable a linear map of the residual stream tells."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
RIDGE = 1e-3
"""How much large maps cost, against the mean square of the stream."""


@dataclass(frozen=True)
class Probed:
    """How well one variable can be read, after the embedding and after every layer: 1 is exactly, 0 not at all.

    Args:
        name: The variable of the compiled model.
        trained: R² of linear maps of the trained model's residual stream, on words that they were not fitted on.
        control: The same of a model with random weights.
    """

    name: str
    trained: tuple[float, ...]
    control: tuple[float, ...]

    @property
    def pairs(self) -> list[tuple[float, float]]:
        """Both, layer by layer."""
        return list(zip(self.trained, self.control, strict=True))

    def to_json(self) -> dict[str, object]:
        """As plain data."""
        return asdict(self)


def probe(stream: Array, variable: Array, other: Array, truth: Array) -> float:
    """The R² of the best linear map from a stream to a variable, on another stream with known truth.

    Args:
        stream: Positions × coordinates, to fit on.
        variable: What is to be read there.
        other: The same coordinates at other positions.
        truth: What is to be read there.

    Returns:
        The share of the variance that the map tells; less than 0 if it does worse than the mean.
    """
    mean, scale = stream.mean(0), stream.std(0) + 1e-9
    inputs = np.column_stack(((stream - mean) / scale, np.ones(len(stream))))
    weight = RIDGE * len(stream) * np.eye(inputs.shape[1])
    weight[-1, -1] = 0.0
    chosen = np.linalg.solve(inputs.T @ inputs + weight, inputs.T @ variable)
    said = np.column_stack(((other - mean) / scale, np.ones(len(other)))) @ chosen
    return float(1 - ((said - truth) ** 2).sum() / ((truth - truth.mean()) ** 2).sum())
