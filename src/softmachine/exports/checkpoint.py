"""A Hugging Face checkpoint on disk: weights, configuration, tokenizer, model card, and the map of what is where."""

from __future__ import annotations

import contextlib
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from softmachine.errors import PrecisionError, UsageError
from softmachine.exports.card import model_card
from softmachine.exports.dialogue import Dialogue
from softmachine.exports.exported import Exported
from softmachine.exports.folder import MARK, new_folder, require_free
from softmachine.exports.lower import lower
from softmachine.exports.lowered import Lowered
from softmachine.exports.mapping import mapping
from softmachine.exports.placed import Placed
from softmachine.exports.verify import Verification, verify
from softmachine.progress import Tell, nobody
from softmachine.transformer import Transformer

DTYPES = ("float32", "bfloat16", "float16", "float64")
_NEEDED = "pip install 'softmachine[hf]'"


def require_libraries() -> None:
    """Complain unless torch and transformers are there."""
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise UsageError(f"exporting needs {error.name}, which is not installed", hint=_NEEDED) from None


def write(
    transformer: Transformer,
    folder: Path,
    *,
    place: Callable[[Lowered, str], Placed],
    ahead: bool = False,
    length: int,
    dtype: str,
    dialogue: Dialogue,
    about: str,
    remedy: str = "",
    force: bool = False,
    tell: Tell = nobody,
) -> Exported:
    """Write a checkpoint, after a stock model loaded from it has said what it should.

    Args:
        transformer: A model with softmax attention.
        folder: Where to.
        place: Puts a lowered model into an architecture.
        ahead: Whether every position sees all others in this architecture.
        length: The number of positions.
        dtype: The format of the weights.
        dialogue: How to talk to it, and what it should say.
        about: What it computes, in a line.
        remedy: What would help if the format does not hold.
        force: Whether to replace a model that is there.
        tell: Is told what is being done.

    Raises:
        PrecisionError: If the format does not hold; it names the step at which it fails.
        ConstructionError: If the architecture cannot hold the model.
        UsageError: If the folder cannot be written.
    """
    if dtype not in DTYPES:
        raise UsageError(f"there is no format {dtype!r} of numbers", hint=f"choose {', '.join(DTYPES)}")
    require_libraries()
    require_free(folder, force=force)
    tell("placing the weights")
    placed = place(lower(transformer, length, ahead=ahead), dtype)
    with new_folder(folder, force=force) as new:
        rounded, parameters, results = new_checkpoint(placed, new, dtype, dialogue, tell=tell)
        if not results[0].holds:
            raise PrecisionError(f"{transformer.name!r} does not hold: {results[0].failure}", hint=remedy or None)
        exported = Exported(
            folder, placed.architecture, len(placed.model.positions), dtype, results, parameters, rounded
        )
        _declare(new, exported)
        card = model_card(transformer, placed, exported, dialogue, about)
        (new / "README.md").write_text(card, encoding="utf-8")
        data = mapping(transformer, placed, exported, dialogue)
        (new / MARK).write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return exported


def new_checkpoint(
    placed: Placed, folder: Path, dtype: str, dialogue: Dialogue, *, every_format: bool = True, tell: Tell = nobody
) -> tuple[int, int, tuple[Verification, ...]]:
    """Write what ``from_pretrained`` loads, and load it: how many weights were rounded, how many there are, results.

    If the format that the weights are in holds, the others are tried as well, if wanted.
    """
    require_libraries()
    with _quiet():
        rounded, parameters = _save(placed, folder, dtype, dialogue)
        _save_tokenizer(placed.model, folder, dialogue)
        _require_tokenizer(placed, folder, dialogue)
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


def _save_tokenizer(model: Lowered, folder: Path, dialogue: Dialogue) -> None:
    """Words separated by blanks are tokens; what stands around an input is added by itself."""
    from tokenizers import AddedToken, Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    index = {token: k for k, token in enumerate(model.vocabulary)}
    spelled = {token: model.spellings[k] for token, k in index.items()}
    # No unknown token: a word that is none of ours is an error, not a guess.
    tokenizer = Tokenizer(WordLevel({text: k for k, text in enumerate(model.spellings)}, unk_token="<no such token>"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    around = [*dialogue.prefix, None, *dialogue.suffix]
    template = " ".join("$A" if token is None else spelled[token] for token in around)
    marks = [(spelled[token], index[token]) for token in dict.fromkeys((*dialogue.prefix, *dialogue.suffix))]
    if all(":" not in text and "$" not in text for text, _ in marks):
        tokenizer.post_processor = TemplateProcessing(single=template, special_tokens=marks)
    special: dict[str, Any] = {"pad_token": AddedToken(model.spellings[model.pad], special=True, normalized=False)}
    if dialogue.prefix:
        special["bos_token"] = AddedToken(spelled[dialogue.prefix[0]], special=True, normalized=False)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=len(model.positions),
        padding_side="left" if model.causal else "right",
        clean_up_tokenization_spaces=False,
        **special,
    )
    fast.save_pretrained(folder)


def _require_tokenizer(placed: Placed, folder: Path, dialogue: Dialogue) -> None:
    """Complain unless the tokenizer, loaded as the model card says, makes of texts what it should, and back."""
    import transformers

    model = placed.model
    spelled = dict(zip(model.vocabulary, model.spellings, strict=True))
    index = {token: k for k, token in enumerate(model.vocabulary)}
    tokenizer = getattr(transformers, placed.tokenizer).from_pretrained(folder)
    marked = tokenizer("").input_ids == [index[token] for token in (*dialogue.prefix, *dialogue.suffix)]
    for sample in dialogue.samples:
        tokens = dialogue.symbols(sample.prompt) if marked else sample.prompt
        wanted = [index[token] for token in sample.prompt]
        read = tokenizer(" ".join(spelled[token] for token in tokens)).input_ids
        if read != wanted or tokenizer.decode(wanted).split() != [spelled[token] for token in sample.prompt]:
            text = " ".join(spelled[token] for token in sample.prompt)
            raise UsageError(f"the tokenizer, as this version of transformers loads it, does not read {text!r} right")


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


def _declare(folder: Path, exported: Exported) -> None:
    """Say in the configuration in which formats the model holds."""
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["softmachine"] = {"positions": exported.length, "dtypes_that_hold": list(exported.dtypes)}
    path.write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


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
