"""Writer of Hugging Face checkpoints: weights, configuration, tokenizer, and the texts of the model card."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from itertools import count
from pathlib import Path

from softmachine.compiler.model import Model
from softmachine.exports.lowered_model import LoweredTransformer
from softmachine.exports.lowering import lower
from softmachine.exports.model_card import SPACES_REQUIRED, CardTexts, quote_code
from softmachine.exports.prompt_format import PromptFormat
from softmachine.exports.tensors import ArchitectureTensors
from softmachine.exports.verification import StoredCheckpoint, Verification, silence_libraries, verify_checkpoint
from softmachine.exports.writer import WrittenModel
from softmachine.support.errors import PrecisionError, UsageError
from softmachine.support.files import write_file
from softmachine.support.progress import ProgressCallback, ignore_progress

DTYPES = ("float32", "bfloat16", "float16", "float64")


def make_library_check(*libraries: tuple[str, str]) -> Callable[[], None]:
    """A function that raises UsageError unless the libraries are installed, given with the extras that install them."""

    def require() -> None:
        for library, extra in libraries:
            try:
                import_module(library)
            except ImportError as error:
                needs = "exporting needs" if extra == "hf" else f"exporting to {extra} needs"
                hint = f"pip install 'softmachine[{extra}]'"
                raise UsageError(f"{needs} {error.name}, which is not installed", hint=hint) from None

    return require


require_libraries = make_library_check(("torch", "hf"), ("transformers", "hf"))


def write_model(
    model: Model,
    folder: Path,
    length: int,
    dtype: str,
    prompt_format: PromptFormat,
    progress: ProgressCallback,
    *,
    to_architecture: Callable[[LoweredTransformer, str], ArchitectureTensors],
    bidirectional: bool = False,
) -> WrittenModel:
    """Write a model to a folder as ``from_pretrained`` loads it; see :data:`.writer.ModelWriter`.

    ``to_architecture`` lays a lowered model out for an architecture; ``bidirectional`` means that its attention is
    bidirectional.
    """
    progress("placing the weights")
    placed = to_architecture(lower(model, length, bidirectional=bidirectional), dtype)
    results, parameters, rounded = write_verified_checkpoint(placed, folder, dtype, prompt_format, progress=progress)
    _record_dtypes(folder, len(placed.model.positions), results)
    return WrittenModel(placed, placed.architecture, results, parameters, rounded, _card_texts(placed))


def write_verified_checkpoint(
    placed: ArchitectureTensors,
    folder: Path,
    dtype: str,
    prompt_format: PromptFormat,
    *,
    all_dtypes: bool = True,
    progress: ProgressCallback = ignore_progress,
) -> tuple[tuple[Verification, ...], int, int]:
    """Write a checkpoint and verify it: the results, the number of weights, and how many of them were rounded.

    If the dtype of the weights is accurate enough, ``all_dtypes`` also tries the others.
    """
    with silence_libraries():
        rounded, parameters = _save(placed, folder, dtype, prompt_format)
        _save_tokenizer(placed.model, folder, prompt_format)
        _require_tokenizer(placed, folder, prompt_format)
        return (
            _verify_dtypes(placed, folder, dtype, prompt_format, every_format=all_dtypes, progress=progress),
            parameters,
            rounded,
        )


def _save(placed: ArchitectureTensors, folder: Path, dtype: str, prompt_format: PromptFormat) -> tuple[int, int]:
    """Write weights and configurations; how many weights were rounded, and the number of weights."""
    import torch
    import transformers
    from safetensors.torch import save as to_bytes
    from transformers import AutoConfig, GenerationConfig

    model = placed.model
    index = model.index
    marks: dict[str, int | list[int]] = {"pad_token_id": model.pad_id}
    if model.causal:
        marks["eos_token_id"] = [index[token] for token in prompt_format.stop_tokens]
    if prompt_format.prefix:
        marks["bos_token_id"] = index[prompt_format.prefix[0]]
    settings = {key: value for key, value in placed.config.items() if key != "model_type"}
    config = AutoConfig.for_model(placed.config["model_type"], vocab_size=len(model.vocabulary), **marks, **settings)
    target = getattr(torch, dtype)
    config.architectures, config.dtype = [placed.architecture], target
    with torch.device("meta"):  # only names and shapes are needed
        empty = getattr(transformers, placed.auto_class).from_config(config)
        shapes = {name: weight.shape for name, weight in empty.state_dict().items()}
    tensors = {name: torch.from_numpy(tensor.copy()) for name, tensor in placed.tensors.items()}
    if config.tie_word_embeddings:
        shapes.pop("lm_head.weight", None)
    if {name: tensor.shape for name, tensor in tensors.items()} != shapes:
        odd = sorted(shapes.keys() ^ tensors.keys())[:4]
        raise UsageError(f"{placed.architecture} has other weights in this version of transformers: {odd}")
    cast = {name: tensor.to(target).contiguous() for name, tensor in tensors.items()}
    for name, tensor in cast.items():
        if not torch.isfinite(tensor).all():
            hint = "export it in another --dtype, or with a smaller --context"
            raise PrecisionError(f"weights of {name} are too large for {dtype}", hint=hint)
    limit = len(model.positions) if prompt_format.is_decoder else len(model.positions) + 1
    config.save_pretrained(folder)
    if model.causal:
        GenerationConfig(max_length=limit, do_sample=False, **marks).save_pretrained(folder)
    write_file(folder / "model.safetensors", to_bytes(cast, metadata={"format": "pt"}))
    rounded = sum(int((cast[name].double() != tensor).sum()) for name, tensor in tensors.items())
    return rounded, sum(tensor.numel() for tensor in tensors.values())


def _save_tokenizer(model: LoweredTransformer, folder: Path, prompt_format: PromptFormat) -> None:
    """Write the tokenizer.

    Text between spaces is a token, or a sequence of one-character symbols, or unknown. The tokenizer adds the special
    tokens around an input.
    """
    from tokenizers import AddedToken, Regex, Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Sequence, Split, WhitespaceSplit
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    index, spelled = model.index, model.spelling_of
    unknown = model.spellings[model.unknown_id]
    tokenizer = Tokenizer(WordLevel({text: k for k, text in enumerate(model.spellings)}, unk_token=unknown))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    if letters := "".join(f"\\x{{{ord(letter):x}}}" for letter in prompt_format.unspaced_alphabet(spelled)):
        # Text with other characters is not split: it is one token, known or unknown.
        tokenizer.pre_tokenizer = Sequence([WhitespaceSplit(), Split(Regex(rf"\A(?![{letters}]+\z).+|."), "isolated")])
    around = [*prompt_format.prefix, None, *prompt_format.suffix]
    template = " ".join("$A" if token is None else spelled[token] for token in around)
    marks = [(spelled[token], index[token]) for token in dict.fromkeys((*prompt_format.prefix, *prompt_format.suffix))]
    if all(":" not in text and "$" not in text for text, _ in marks):
        tokenizer.post_processor = TemplateProcessing(single=template, special_tokens=marks)
    first = [("bos_token", spelled[token]) for token in prompt_format.prefix[:1]]
    names = [("pad_token", model.spellings[model.pad_id]), ("unk_token", unknown), *first]
    special = {name: AddedToken(text, special=True, normalized=False) for name, text in names}
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=len(model.positions),
        padding_side="left" if model.causal else "right",
        clean_up_tokenization_spaces=False,
        **special,
    )
    fast.save_pretrained(folder)


def _require_tokenizer(placed: ArchitectureTensors, folder: Path, prompt_format: PromptFormat) -> None:
    """Verify that the tokenizer, loaded as in the model card, encodes and decodes all samples correctly."""
    import transformers

    index, spelled, unknown = placed.model.index, placed.model.spelling_of, placed.model.unknown_id
    tokenizer = getattr(transformers, placed.tokenizer).from_pretrained(folder)
    marked = tokenizer("").input_ids == [index[token] for token in (*prompt_format.prefix, *prompt_format.suffix)]
    separators = (" ", "") if marked and prompt_format.unspaced_alphabet(spelled) else (" ",)
    for sample in prompt_format.samples:
        tokens = prompt_format.strip_affixes(sample.prompt) if marked else sample.prompt
        wanted = [index[token] for token in sample.prompt]
        read = [tokenizer(between.join(spelled[token] for token in tokens)).input_ids for between in separators]
        shown = [spelled[token] for token in sample.prompt]
        if any(ids != wanted for ids in read) or tokenizer.decode(wanted).split() != shown:
            raise _tokenizer_error(" ".join(shown))
    stray = next(chr(k) for k in count(33) if chr(k) not in placed.model.spellings)
    if tokenizer.unk_token_id != unknown or unknown not in tokenizer(stray).input_ids:
        raise _tokenizer_error(stray)


def _tokenizer_error(text: str) -> UsageError:
    return UsageError(f"the tokenizer, as loaded by this version of transformers, encodes {text!r} incorrectly")


def _verify_dtypes(
    placed: ArchitectureTensors,
    folder: Path,
    dtype: str,
    prompt_format: PromptFormat,
    *,
    every_format: bool,
    progress: ProgressCallback,
) -> tuple[Verification, ...]:
    """Verify the written files in each dtype, that of the weights first."""
    results: list[Verification] = []
    for name in (dtype, *(other for other in DTYPES if other != dtype)):
        stored, generating = StoredCheckpoint(str(folder.absolute()), placed.auto_class, name), name == dtype
        results.append(
            verify_checkpoint(
                stored, placed.model, prompt_format, gain=placed.gain, generating=generating, progress=progress
            )
        )
        if not results[0].holds or not every_format:
            break
    return tuple(results)


def _record_dtypes(folder: Path, positions: int, results: tuple[Verification, ...]) -> None:
    """List in the configuration the dtypes in which the model is correct."""
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    holding = [result.dtype for result in results if result.holds]
    config["softmachine"] = {"positions": positions, "dtypes_that_hold": holding}
    write_file(path, json.dumps(config, indent=2, ensure_ascii=False) + "\n", force=True)


def _card_texts(placed: ArchitectureTensors) -> CardTexts:
    """The texts of the model card, for use with transformers."""
    sample, batches = (_GENERATE, "") if placed.model.causal else (_ANSWER, " Batches are padded at the right.")
    return CardTexts(
        library="transformers",
        kind=f"an unmodified `{placed.architecture}`",
        usage_template=sample.replace("AutoTokenizer", placed.tokenizer),
        is_autoregressive=placed.model.causal,
        special_tokens_intro="The tokenizer adds",
        notes=f"{SPACES_REQUIRED} "
        f"{_UNKNOWN.format(quote_code(placed.model.spellings[placed.model.unknown_id]))}{batches}",
        dtypes_note="; `config.json` lists the\nothers under `softmachine`",
        internals_template=_INSIDE,
    )


_UNKNOWN = (
    "Text that is not in the vocabulary becomes the token {}. It is not a symbol, and its embedding is zero: the "
    "output is then meaningless, even if it looks like a verdict. The code above rejects such text, and inputs that "
    "are too long; your own code should do the same."
)
_REFUSE = """\
if tokenizer.unk_token_id in inputs.input_ids:
    raise ValueError("the input has a symbol that is not in the vocabulary")
if inputs.input_ids.shape[1] > {length}:
    raise ValueError("the input does not fit in {length} positions")
"""
_GENERATE = f"""\
```python
from transformers import AutoModelForCausalLM, AutoTokenizer

word = {{word}}
tokenizer = AutoTokenizer.from_pretrained(".")
model = AutoModelForCausalLM.from_pretrained(".", dtype="auto")
inputs = tokenizer(word, return_tensors="pt", return_token_type_ids=False)
{_REFUSE}run = model.generate(**inputs)[0]
print(tokenizer.decode(run))
# {{shown}}
if run[-1] not in model.generation_config.eos_token_id:
    print("no verdict: the run does not end within {{length}} positions")
```
"""

_ANSWER = f"""\
```python
{{imports}}from transformers import AutoModelForTokenClassification, AutoTokenizer

word = {{word}}
tokenizer = AutoTokenizer.from_pretrained(".")
model = AutoModelForTokenClassification.from_pretrained(".", dtype="auto")
inputs = tokenizer(word, return_tensors="pt", return_token_type_ids=False)
{_REFUSE}answers = [model.config.id2label[int(k)] for k in model(**inputs).logits[0].argmax(-1)]
{{facts}}{{prints}}
```
"""

_INSIDE = """\
The following code continues the example above. `hidden_states[k]` is the input of `blocks[k]`: the residual stream
before layer k or, after the last layer, the input of the unembedding. {storage}

```python
import json
from pathlib import Path

import torch

facts = json.loads(Path("softmachine.json").read_text(encoding="utf-8"))
coordinates = {{c["name"]: c for c in facts["coordinates"]}}
blocks = {blocks}


def read(stream, name):
    c = coordinates[name]
    return stream[..., c["index"]] / c["scale"]


def write(stream, name, value):
    c = coordinates[name]
    stream[..., c["index"]] = value * c["scale"]{mirrored}


@torch.no_grad()
def run(layer=0, position=0, values={{}}):
    def patch(block, args):
        stream = args[0].clone()
        for name, value in values.items():
            write(stream[:, position], name, value)
        return (stream, *args[1:])

    hook = blocks[layer].register_forward_pre_hook(patch)
    try:
        return model(**inputs, output_hidden_states=True)
    finally:
        hook.remove()


def answer(output, position):
    k = output.logits[0, position].argmax().item()
    return {label}

{example}
```

Attention maps need `attn_implementation="eager"`; the other implementations do not return them:

```python
eager = {auto_class}.from_pretrained(".", dtype="auto", attn_implementation="eager")
maps = eager(**inputs, output_attentions=True).attentions
for layer, heads in enumerate(facts["layers"]):
    for head in heads["heads"]:
        print(layer, head["name"], [round(weight, 3) for weight in maps[layer][0, head["index"], -1].tolist()])
```"""
