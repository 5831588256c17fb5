"""Checkpoints of interrupted training: weights, optimizer state and progress in one safetensors file.

Tensors hold the numbers, metadata the rest. A file of another setting, or a damaged one, is an error; training does not
silently restart.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from softmachine.studies.learn.model import Decoder
from softmachine.support.errors import Place, SourceError
from softmachine.support.files import write


def save_state(path: Path, decoder: Decoder, optimizer: Optimizer, progress: Mapping[str, Any], digest: str) -> None:
    """Save the complete training state; the file is replaced atomically."""
    from safetensors.torch import save

    tensors: dict[str, Tensor] = {f"weights.{name}": each.detach() for name, each in decoder.named_parameters()}
    for name, parameter in decoder.named_parameters():
        for key, value in optimizer.state[parameter].items():
            tensors[f"optimizer.{key}.{name}"] = value.detach().reshape(value.shape)
    about = {"setting": digest, "progress": json.dumps(dict(progress))}
    write(path, save({name: each.contiguous() for name, each in tensors.items()}, metadata=about), force=True)


def load_state(path: Path, decoder: Decoder, optimizer: Optimizer, digest: str) -> dict[str, Any]:
    """Load the weights and the optimizer state in place, and return the progress.

    Raises:
        SourceError: If the file is not a state of this setting.
    """
    import torch
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            about = file.metadata() or {}
            if about.get("setting") != digest:
                raise SourceError("this is the state of another training run", place=Place(str(path)))
            with torch.no_grad():
                for name, parameter in decoder.named_parameters():
                    parameter.copy_(file.get_tensor(f"weights.{name}"))
                    optimizer.state[parameter] = {
                        key: file.get_tensor(f"optimizer.{key}.{name}") for key in ("step", "exp_avg", "exp_avg_sq")
                    }
            progress = json.loads(about["progress"])
    except (SafetensorError, OSError, KeyError, ValueError, RuntimeError) as error:
        raise SourceError(f"this is not the state of a training run: {error}", place=Place(str(path))) from None
    if not isinstance(progress, dict):
        raise SourceError("this is not the state of a training run", place=Place(str(path)))
    return progress
