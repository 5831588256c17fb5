"""A Hugging Face checkpoint on disk: weights, configuration, tokenizer, model card, and the map of what is where."""

from __future__ import annotations

import contextlib
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from softmachine.errors import PrecisionError, UsageError
from softmachine.exports.dialogue import Dialogue
from softmachine.exports.lower import lower
from softmachine.exports.lowered import Lowered
from softmachine.exports.manual import SEPARATED, Manual
from softmachine.exports.placed import Placed
from softmachine.exports.tokenizer import require_tokenizer, save_tokenizer
from softmachine.exports.verify import Verification, verify
from softmachine.exports.writing import Filled
from softmachine.model import Model
from softmachine.progress import Tell, nobody

DTYPES = ("float32", "bfloat16", "float16", "float64")
_NEEDED = "pip install 'softmachine[hf]'"


def require_libraries() -> None:
    """Complain unless torch and transformers are there."""
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise UsageError(f"exporting needs {error.name}, which is not installed", hint=_NEEDED) from None


def fill(
    model: Model,
    folder: Path,
    length: int,
    dtype: str,
    dialogue: Dialogue,
    tell: Tell,
    *,
    place: Callable[[Lowered, str], Placed],
    ahead: bool = False,
) -> Filled:
    """Put a model into a folder as ``from_pretrained`` loads it; see :data:`.writing.Fill`.

    Args:
        model: A model with softmax attention.
        folder: Where to.
        length: The number of positions.
        dtype: The format of the weights.
        dialogue: How to talk to it, and what it should say.
        tell: Is told what is being done.
        place: Puts a lowered model into an architecture.
        ahead: Whether every position sees all others in this architecture.
    """
    require_libraries()
    tell("placing the weights")
    placed = place(lower(model, length, ahead=ahead), dtype)
    rounded, parameters, results = new_checkpoint(placed, folder, dtype, dialogue, tell=tell)
    _declare(folder, len(placed.model.positions), results)
    return Filled(placed, placed.architecture, results, parameters, rounded, _manual(placed))


def new_checkpoint(
    placed: Placed, folder: Path, dtype: str, dialogue: Dialogue, *, every_format: bool = True, tell: Tell = nobody
) -> tuple[int, int, tuple[Verification, ...]]:
    """Write what ``from_pretrained`` loads, and load it: how many weights were rounded, how many there are, results.

    If the format that the weights are in holds, the others are tried as well, if wanted.
    """
    require_libraries()
    with _quiet():
        rounded, parameters = _save(placed, folder, dtype, dialogue)
        save_tokenizer(placed.model, folder, dialogue)
        require_tokenizer(placed, folder, dialogue)
        return rounded, parameters, _verified(placed, folder, dtype, dialogue, every_format=every_format, tell=tell)


def _save(placed: Placed, folder: Path, dtype: str, dialogue: Dialogue) -> tuple[int, int]:
    """Write weights and configurations; how many weights were rounded, and how many there are."""
    import torch
    import transformers
    from safetensors.torch import save as to_bytes
    from transformers import AutoConfig, GenerationConfig

    model = placed.model
    index = {token: k for k, token in enumerate(model.vocabulary)}
    marks: dict[str, Any] = {"pad_token_id": model.pad}
    if model.causal:
        marks["eos_token_id"] = [index[token] for token in dialogue.stops]
    if dialogue.prefix:
        marks["bos_token_id"] = index[dialogue.prefix[0]]
    settings = {key: value for key, value in placed.config.items() if key != "model_type"}
    config = AutoConfig.for_model(placed.config["model_type"], vocab_size=len(model.vocabulary), **marks, **settings)
    target = getattr(torch, dtype)
    config.architectures, config.dtype = [placed.architecture], target
    with torch.device("meta"):  # only its names and shapes are of interest
        empty = getattr(transformers, placed.auto_class).from_config(config)
        shapes = {name: weight.shape for name, weight in empty.state_dict().items()}
    tensors = {name: torch.from_numpy(tensor.copy()) for name, tensor in placed.tensors.items()}
    if config.tie_word_embeddings:
        shapes.pop("lm_head.weight", None)
    if {name: tensor.shape for name, tensor in tensors.items()} != shapes:
        odd = sorted(shapes.keys() ^ tensors.keys())[:4]
        raise UsageError(f"this version of transformers has other weights in {placed.architecture}: {odd}")
    cast = {name: tensor.to(target).contiguous() for name, tensor in tensors.items()}
    if any(not torch.isfinite(tensor).all() for tensor in cast.values()):
        name = next(name for name, tensor in cast.items() if not torch.isfinite(tensor).all())
        raise PrecisionError(
            f"weights of {name} are too large for {dtype}",
            hint="export it in another --dtype, or for a smaller --length",
        )
    limit = len(model.positions) if dialogue.decodes else len(model.positions) + 1
    config.save_pretrained(folder)
    if model.causal:
        GenerationConfig(max_length=limit, do_sample=False, **marks).save_pretrained(folder)
    (folder / "model.safetensors").write_bytes(to_bytes(cast, metadata={"format": "pt"}))
    rounded = sum(int((cast[name].double() != tensor).sum()) for name, tensor in tensors.items())
    return rounded, sum(tensor.numel() for tensor in tensors.values())


def _verified(
    placed: Placed, folder: Path, dtype: str, dialogue: Dialogue, *, every_format: bool, tell: Tell
) -> tuple[Verification, ...]:
    """What the written files say in each format, the one that they are in first."""
    import torch
    import transformers

    stock = getattr(transformers, placed.auto_class)
    results: list[Verification] = []
    for name in (dtype, *(other for other in DTYPES if other != dtype)):
        model = stock.from_pretrained(folder, dtype=getattr(torch, name)).eval()
        results.append(
            verify(model, placed.model, dialogue, dtype=name, gain=placed.gain, generating=name == dtype, tell=tell)
        )
        if not results[0].holds or not every_format:
            break
    return tuple(results)


def _declare(folder: Path, positions: int, results: tuple[Verification, ...]) -> None:
    """Say in the configuration in which formats the model holds."""
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    holding = [result.dtype for result in results if result.holds]
    config["softmachine"] = {"positions": positions, "dtypes_that_hold": holding}
    path.write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _manual(placed: Placed) -> Manual:
    """How transformers runs it."""
    sample, batches = (_GENERATE, "") if placed.model.causal else (_ANSWER, " Batches are padded at the right.")
    return Manual(
        library="transformers",
        form=f"a stock `{placed.architecture}`",
        sample=sample.replace("AutoTokenizer", placed.tokenizer),
        generates=placed.model.causal,
        adds="The tokenizer adds",
        notes=f"{SEPARATED} A word that is not in the vocabulary is an error.{batches}",
        holding="; `config.json` lists the formats that hold, under `softmachine`",
        inside=_INSIDE,
    )


_GENERATE = """\
```python
from transformers import AutoModelForCausalLM, AutoTokenizer

word = {word}
tokenizer = AutoTokenizer.from_pretrained(".")
model = AutoModelForCausalLM.from_pretrained(".", dtype="auto")
inputs = tokenizer(word, return_tensors="pt", return_token_type_ids=False)
print(tokenizer.decode(model.generate(**inputs)[0]))
# {shown}
```
"""

_ANSWER = """\
```python
{imports}from transformers import AutoModelForTokenClassification, AutoTokenizer

word = {word}
tokenizer = AutoTokenizer.from_pretrained(".")
model = AutoModelForTokenClassification.from_pretrained(".", dtype="auto")
inputs = tokenizer(word, return_tensors="pt", return_token_type_ids=False)
answers = [model.config.id2label[int(k)] for k in model(**inputs).logits[0].argmax(-1)]
{facts}{prints}
```
"""

_INSIDE = """:

```python
import json
from pathlib import Path

coordinates = json.loads(Path("softmachine.json").read_text(encoding="utf-8"))["coordinates"]
stream = model(**inputs, output_hidden_states=True).hidden_states[-1][0]
print({c["name"]: round((stream[-1, c["index"]] / c["scale"]).item(), 3) for c in coordinates})
```"""


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the notes and progress bars of the libraries; their errors stay errors."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
