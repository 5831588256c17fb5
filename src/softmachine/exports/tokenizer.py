"""The tokenizer of a checkpoint: words are tokens, and what stands around an input is added by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from softmachine.errors import UsageError
from softmachine.exports.dialogue import Dialogue
from softmachine.exports.lowered import Lowered
from softmachine.exports.placed import Placed


def save_tokenizer(model: Lowered, folder: Path, dialogue: Dialogue) -> None:
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


def require_tokenizer(placed: Placed, folder: Path, dialogue: Dialogue) -> None:
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
