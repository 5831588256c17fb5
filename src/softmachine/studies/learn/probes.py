"""Linear probes: the share of a variable's variance that a linear map of the residual stream explains."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
RIDGE = 1e-3
"""Ridge penalty, relative to the mean square of the stream."""


@dataclass(frozen=True)
class ProbeResult:
    """R² of probes for one variable, after the embedding and after every layer.

    Args:
        name: The variable of the compiled model.
        trained: R² of linear maps of the trained model's residual stream, on held-out words.
        control: The same for a model with random weights.
    """

    name: str
    trained: tuple[float, ...]
    control: tuple[float, ...]

    @property
    def pairs(self) -> list[tuple[float, float]]:
        """Pairs of both, by layer."""
        return list(zip(self.trained, self.control, strict=True))

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON-serialisable data."""
        return asdict(self)


def fit_probe(stream: Array, variable: Array, test_stream: Array, test_variable: Array) -> float:
    """Fit a linear map from a stream to a variable, and return its R² on another stream.

    Args:
        stream: Positions × coordinates, to fit on.
        variable: The variable at these positions.
        test_stream: The same coordinates at other positions.
        test_variable: The variable at these positions.

    Returns:
        The share of the variance that the map explains; negative if it is worse than the mean.
    """
    mean, scale = stream.mean(0), stream.std(0) + 1e-9
    inputs = np.column_stack(((stream - mean) / scale, np.ones(len(stream))))
    weight = RIDGE * len(stream) * np.eye(inputs.shape[1])
    weight[-1, -1] = 0.0
    chosen = np.linalg.solve(inputs.T @ inputs + weight, inputs.T @ variable)
    predicted = np.column_stack(((test_stream - mean) / scale, np.ones(len(test_stream)))) @ chosen
    return float(1 - ((predicted - test_variable) ** 2).sum() / ((test_variable - test_variable.mean()) ** 2).sum())
