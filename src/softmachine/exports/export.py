"""Exporting: from a model to a folder that other people's software loads, with inputs that are tried before."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from softmachine import zoo
from softmachine.certify import certify_theorem, require_theorem_weights
from softmachine.codec import Codec, DecoderCodec
from softmachine.compiler import compile_program
from softmachine.errors import ConstructionError, InputError, PrecisionError, UsageError
from softmachine.exports.dialogue import dialogue_of
from softmachine.exports.fits import WHOLE, require_decoder, require_encoder, require_length
from softmachine.exports.folder import new_folder, require_free
from softmachine.exports.formats import StockFormat, stock_format
from softmachine.exports.lengths import words_that_fit
from softmachine.exports.writing import Exported, describe
from softmachine.languages.source import Source
from softmachine.model import Model
from softmachine.progress import Tell, nobody
from softmachine.theorems import Theorem, theorems_for

SHARPNESS = 32
"""The scaled gap of every head: e⁻³² is less than float32 can see beside 1."""
DEFAULT_LENGTH = 256
SHORT_WORDS, SHORT_WORDS_ANSWERED = 40, 300
"""So many of the shortest inputs are tried before a model is written; more if a model answers at once."""
RANDOM_WORDS_ANSWERED = 8
"""So many random words of each of a few lengths are tried of a model that answers at once, else one."""


def ready(to: str, dtype: str, folder: Path, length: int | None, *, force: bool) -> StockFormat:
    """The format of this name, after seeing that there is nothing in the way: no minutes of compiling for nothing.

    Raises:
        UsageError: If there is no such format, or what is wanted cannot be written.
    """
    form = stock_format(to)
    form.require_dtype(dtype)
    require_free(folder, force=force)
    require_length(DEFAULT_LENGTH if length is None else length)
    form.require_libraries()
    return form


def written(
    model: Model, folder: Path, form: StockFormat, *, length: int, dtype: str, force: bool, tell: Tell = nobody
) -> Exported:
    """Write a model in a stock format, with softmax at a temperature that is certified for the length.

    Nothing is there in the end unless other people's software has said what it should.

    Raises:
        PrecisionError: If the format does not hold; it names the step at which it fails.
        ConstructionError: If the architecture cannot hold the model.
        UsageError: If the folder cannot be written.
    """
    model = _softened(model, length, form, tell)
    tell("choosing inputs to try")
    dialogue = dialogue_of(model, _words(model, length), length)
    with new_folder(folder, force=force) as new:
        filled = form.fill(model, new, length, dtype, dialogue, tell)
        first, positions = filled.verified[0], len(filled.placed.model.positions)
        if not first.holds:
            hint = _remedy(model, form, dtype)
            raise PrecisionError(f"{model.name!r} does not hold: {first.failure}", hint=hint)
        exported = Exported(
            folder,
            filled.architecture,
            positions,
            dtype,
            filled.verified,
            filled.parameters,
            filled.rounded,
            model.notes,
        )
        describe(new, model, filled, exported, dialogue)
    return exported


def positions_of(model: Model, length: int | None) -> int:
    """The number of positions to write: what is wanted, at most what the weights were made for."""
    if None not in (length, model.length) and (length or 0) > (model.length or 0):
        raise UsageError(f"{model.name!r} was made for {model.length} positions, not {length}")
    return length or model.length or DEFAULT_LENGTH


def stock_theorem(source: Source, form: StockFormat, dtype: str) -> Theorem | None:
    """The theorem that is made for a stock checkpoint in a floating-point format; None for the default one."""
    for theorem in theorems_for(source):
        made = theorem.stock
        if made is None or (form.encodes and not made.ahead) or (made.dtypes and dtype not in made.dtypes):
            continue
        if made.positions in (None, form.positions):
            return theorem
    return None


def _softened(model: Model, length: int, form: StockFormat, tell: Tell) -> Model:
    """The model itself if it is soft; else what a certificate for the length, or the theorem, puts in its place."""
    model.weights.require_no_root(WHOLE)
    if not form.decodes:
        require_encoder(model)
    if not form.encodes or isinstance(model.codec, DecoderCodec):
        require_decoder(model.weights)
    choosing = (head.query.bias or head.weighting.unique for head in model.weights.heads)
    if model.attention == "soft" or not any(choosing):
        return model
    tell(f"certifying for {length:,} positions")
    require_theorem_weights(model)
    try:
        proof = certify_theorem(model, length, SHARPNESS)
        if not proof.holds:
            least = certify_theorem(model, length)
            proof = certify_theorem(model, length, 1 << (least.sharpness - 1).bit_length())
    except ConstructionError:
        if "soft" not in model.theorem.attentions:
            raise
        return replace(model, weights=compile_program(model.theorem.signals(model.codec, "soft")))
    return replace(model, weights=proof.softened, certificate=proof)


def _words(model: Model, length: int) -> Iterator[tuple[str, ...]]:
    """Inputs to try: those of the zoo, some that fill the positions, and the shortest ones."""
    codec = model.codec
    entry = zoo.find(model.name)
    seen: set[tuple[str, ...]] = set()
    for word in (*_sampled(entry, codec.source), *_long(codec, length), *_short(codec, length)):
        if word not in seen:
            seen.add(word)
            yield word


def _short(codec: Codec[Source], length: int) -> Iterator[tuple[str, ...]]:
    """The shortest inputs; more of them for a model that answers at once."""
    lengths = map(len, words_that_fit(codec, length))
    words = (word for count in lengths for word in codec.words(count))
    return islice(words, SHORT_WORDS if isinstance(codec, DecoderCodec) else SHORT_WORDS_ANSWERED)


def _sampled(entry: zoo.Entry | None, source: object) -> Iterator[tuple[str, ...]]:
    """The zoo's own samples of a source."""
    read: Callable[[str], Sequence[str]] = getattr(source, "word", tuple)
    for sample in entry.samples if entry else ():
        try:
            yield tuple(read(sample.input))
        except InputError:  # something else has the name of an entry
            return


def _long(codec: Codec[Source], length: int) -> Iterator[tuple[str, ...]]:
    """Words of an eighth, a quarter, half and, where inputs are answered at once, all of the positions.

    Some are of one symbol, the others random; the codec's next smaller length is taken.
    """
    chooser, alphabet = random.Random(0), codec.alphabet
    answers = not isinstance(codec, DecoderCodec)
    fitting = sorted(map(len, words_that_fit(codec, length))) if answers else None
    for share in (8, 4, 2, 1)[: 4 if answers else 3] if alphabet else ():
        count = length // share
        if fitting is not None:
            count = max([size for size in fitting if size <= count], default=fitting[0] if fitting else 0)
        for _ in range(RANDOM_WORDS_ANSWERED if answers else 1):
            yield codec.random_word(chooser, count)
        yield (alphabet[0],) * count


def _remedy(model: Model, form: StockFormat, dtype: str) -> str:
    """What would hold where this model does not."""
    better = stock_theorem(model.source, form, dtype)
    if better is not None and better.name != model.theorem.name:
        return f"the theorem {better.name} is made for {dtype}"
    return "export it in float32, or for a smaller --length"
