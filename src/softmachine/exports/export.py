"""Exporting: from a model to a folder that other people's software loads, with inputs that are tried before."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice, zip_longest
from pathlib import Path

from softmachine.certify import certify_theorem, require_theorem_weights
from softmachine.compiler import compile_program
from softmachine.compiler.model import Model
from softmachine.engines.inputs.constraints import Wishes
from softmachine.engines.inputs.neighbours import relative
from softmachine.engines.inputs.row import Judge, Judged
from softmachine.engines.inputs.search import OTHER, Search
from softmachine.exports.dialogue import dialogue_of
from softmachine.exports.fits import WHOLE, require_decoder, require_encoder, require_length
from softmachine.exports.folder import new_folder, require_free
from softmachine.exports.formats import StockFormat, stock_format
from softmachine.exports.lengths import words_that_fit
from softmachine.exports.writing import Exported, describe
from softmachine.languages import zoo
from softmachine.languages.source import Source
from softmachine.languages.words import Word
from softmachine.support.errors import ConstructionError, InputError, PrecisionError, UsageError
from softmachine.support.progress import Tell, nobody
from softmachine.theorems import Theorem, theorems_for
from softmachine.theorems.codec import Codec, DecoderCodec

SHARPNESS = 32
"""The scaled gap of every head: e⁻³² is less than float32 can see beside 1."""
DEFAULT_LENGTH = 256
SHORT_WORDS, SHORT_WORDS_ANSWERED = 40, 300
"""So many of the shortest inputs are tried before a model is written; more if a model answers at once."""
SAMPLED, SAMPLED_ANSWERED = 24, 8
"""How many random words are tried; of a model that answers at once, how many of each of a few lengths."""
WIDER = {"float16": "float32", "bfloat16": "float32", "float32": "float64"}
"""The format to try where one does not hold."""
MOST_SAMPLED = 1 << 16
"""How many tokens of the reference interpreter a search for such words may take."""


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
            model.theorem.name,
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


def _words(model: Model, length: int) -> Iterator[Word]:
    """Inputs to try: those of the zoo, a run near the last position, the shortest ones, and longer ones.

    A dialogue takes them in this order until it has enough tokens.
    """
    codec = model.codec
    entry, (longest, sampled) = zoo.find(model.name), _sample(codec, length)
    words = (*_zoo_samples(entry, codec.source), *longest, *_short(codec, length), *sampled, *_long(codec, length))
    yield from dict.fromkeys(words)


def _short(codec: Codec[Source], length: int) -> Iterator[Word]:
    """The shortest inputs; more of them for a model that answers at once."""
    lengths = map(len, words_that_fit(codec, length))
    words = (word for count in lengths for word in codec.words(count))
    return islice(words, SHORT_WORDS if isinstance(codec, DecoderCodec) else SHORT_WORDS_ANSWERED)


def _zoo_samples(entry: zoo.Entry | None, source: object) -> Iterator[Word]:
    """The zoo's own samples of a source."""
    read: Callable[[str], Sequence[str]] = getattr(source, "word", tuple)
    for sample in entry.samples if entry else ():
        try:
            yield tuple(read(sample.input))
        except InputError:  # something else has the name of an entry
            return


def _long(codec: Codec[Source], length: int) -> Iterator[Word]:
    """Words of one symbol; a run that does not fit is compared up to the last position."""
    for count in _long_lengths(codec, length) if codec.alphabet else ():
        yield (codec.alphabet[0],) * count


def _long_lengths(codec: Codec[Source], length: int) -> list[int]:
    """Where inputs are answered at once, all of the positions; then half, a quarter and an eighth of them.

    The codec's next smaller length is taken.
    """
    if isinstance(codec, DecoderCodec):
        return [length // 2, length // 4, length // 8]
    fitting = sorted(map(len, words_that_fit(codec, length)))
    below = [[size for size in fitting if size <= length // share] or fitting[:1] for share in (1, 2, 4, 8)]
    return [*dict.fromkeys(sizes[-1] for sizes in below if sizes)]


def _sample(codec: Codec[Source], length: int) -> tuple[list[Word], list[Word]]:
    """A word with a run that ends near the last position, if runs have positions; and random words.

    As many of these are accepted as rejected, if there are both, and half of either have long traces, if enough are
    found. Accepted and rejected ones alternate, since a dialogue takes the first ones.
    """
    decodes, judge = isinstance(codec, DecoderCodec), Judge(codec, length, length, skip=True, budget=MOST_SAMPLED)
    fitting = [*words_that_fit(codec, length, 1 + length // 256 if decodes else 1)]  # a prompt takes its length
    first = next(filter(None, map(judge, fitting)), None)
    if first is None or not codec.alphabet:
        return [], []
    wishes = Wishes(balance=first.verdict in OTHER, long_traces=0.5 if decodes else 0.0)
    columns, chooser = list[list[Judged]](), random.Random(0)
    for lengths in _ranges(codec, [*map(len, fitting)], length):
        judge.budget, wanted = MOST_SAMPLED, SAMPLED - sum(map(len, columns)) if decodes else SAMPLED_ANSWERED
        search = Search(judge, lengths, wishes, lambda _: "", chooser, whole=False)
        columns.append([judged for (judged,) in search.found(wanted, fewer=True)])
    found = {each.word: each for row in zip_longest(*columns) for each in row if each is not None}
    accepted = [word for word, each in found.items() if each.verdict == "accept"]
    others = [word for word in found if word not in accepted]
    longest = [_longest(judge, len(fitting[-1]), [first, *found.values()], chooser)] if decodes else []
    return longest, [*chain(*zip(accepted, others, strict=False))] if accepted and others else [*found]


def _ranges(codec: Codec[Source], sizes: list[int], length: int) -> list[range]:
    """Lengths of words to draw from.

    All lengths of a decoder's words; if too few are found there, short ones, since a run may take a number of steps
    that is quadratic in the length. Of a model that answers at once, a few single lengths, each with the one before:
    often the words of one of the two are all rejected.
    """
    if isinstance(codec, DecoderCodec):
        return [range(sizes[0], last + 1) for last in (sizes[-1], min(2 * math.isqrt(length), sizes[-1]))]
    return [range(size - (size - 1 in sizes), size + 1) for size in _long_lengths(codec, length)]


def _longest(judge: Judge, most: int, found: Sequence[Judged], chooser: random.Random) -> Word:
    """Of words that were found, and of longer ones that resemble them: a word whose run ends near the last position.

    Of several that come as near as a sixteenth of the positions, the one that makes the most steps.
    """

    def rank(judged: Judged) -> tuple[int, int]:
        taken = len(judged.prompt.tokens) + len(judged.trace)
        return min(taken, (judge.positions or 0) * 15 // 16), len(judged.trace)

    judge.budget, best = MOST_SAMPLED, max(found, key=rank)
    for like in found:
        low, high = len(like.word), most + 1
        while high - low > 1 and judge.budget > 0:
            middle = (low + high) // 2
            word = relative(like.word, judge.codec.alphabet, middle, chooser)
            judged = judge(word) if word is not None and judge.codec.has_word(word) else None
            low, high = (low, middle) if judged is None else (middle, high)
            best = max(best, judged or best, key=rank)
    return best.word


def _remedy(model: Model, form: StockFormat, dtype: str) -> str:
    """What would hold where this model does not."""
    better = stock_theorem(model.source, form, dtype)
    if better is not None and better.name != model.theorem.name:
        return f"the theorem {better.name} is made for {dtype}"
    wider = f"in {WIDER[dtype]}, or " if WIDER.get(dtype) in form.dtypes else ""
    return f"export it {wider}for a smaller --length"
