"""Export of a model to a folder that third-party software loads, and the choice of inputs to verify it on.

Bundles of models with known circuits, exported together to one folder.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Protocol

from softmachine.certify import certify_theorem, require_theorem_weights
from softmachine.compiler import compile_program
from softmachine.compiler.model import Model
from softmachine.engines.inputs.constraints import Wishes
from softmachine.engines.inputs.row import Judge, Judged
from softmachine.engines.inputs.sampling import relative
from softmachine.engines.inputs.search import OTHER, Search
from softmachine.exports.folder import new_folder, require_free
from softmachine.exports.formats import StockFormat, stock_format
from softmachine.exports.manifest import seal
from softmachine.exports.prompt_format import dialogue_of
from softmachine.exports.requirements import WHOLE, require_decoder, require_encoder, require_length
from softmachine.exports.sequence_length import words_that_fit
from softmachine.exports.writer import Exported, describe
from softmachine.languages import zoo
from softmachine.languages.source import Source
from softmachine.languages.words import Word
from softmachine.support.errors import ConstructionError, InputError, PrecisionError, Remedy, UsageError
from softmachine.support.progress import Tell, nobody
from softmachine.support.text import did_you_mean
from softmachine.theorems import Theorem, theorems_for
from softmachine.theorems.codec import Codec, DecoderCodec

SHARPNESS = 32
"""The scaled score gap of every head: 1 + e⁻³² is 1 in float32."""
DEFAULT_LENGTH = 256
SHORT_WORDS, SHORT_WORDS_ANSWERED = 40, 300
"""The number of shortest inputs to verify: of a decoder, and of a model that answers in one pass."""
SAMPLED, SAMPLED_ANSWERED = 24, 8
"""The number of random words to verify: of a decoder, and of a model that answers in one pass per length."""
WIDER = {"float16": "float32", "bfloat16": "float32", "float32": "float64"}
"""The wider format to suggest if one is not accurate enough."""
MOST_SAMPLED = 1 << 16
"""The budget of a search for random words, in tokens of the reference interpreter."""


def ready(to: str, dtype: str, folder: Path, length: int | None, *, force: bool) -> StockFormat:
    """The format of a name, after checking all conditions that do not need the model, before minutes of compiling.

    Raises:
        UsageError: If there is no such format, or the folder, the dtype or the length is not possible.
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
    """Write a model in a third-party format, with softmax at a temperature that is certified for the length.

    The folder is written only if the third-party software gives the expected outputs.

    Raises:
        PrecisionError: If the dtype is not accurate enough; the message gives the first wrong token.
        ConstructionError: If the architecture cannot hold the model.
        UsageError: If the folder cannot be written.
    """
    model = _softened(model, length, form, tell)
    tell("choosing inputs to try")
    spec = dialogue_of(model, _words(model, length), length)
    with new_folder(folder, force=force) as new:
        filled = form.fill(model, new, length, dtype, spec, tell)
        first, positions = filled.verified[0], len(filled.placed.model.positions)
        if not first.holds:
            hint = _remedy(model, form, dtype)
            raise PrecisionError(f"{model.name!r} gives a wrong output: {first.failure}", hint=hint)
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
        describe(new, model, filled, exported, spec)
    return exported


def positions_of(model: Model, length: int | None) -> int:
    """The number of positions to write: the given one, at most that of the weights."""
    if None not in (length, model.length) and (length or 0) > (model.length or 0):
        raise UsageError(f"{model.name!r} was compiled for {model.length} positions, not {length}")
    return length or model.length or DEFAULT_LENGTH


def stock_theorem(source: Source, form: StockFormat, dtype: str) -> Theorem | None:
    """The theorem designed for checkpoints of a format in a dtype; None for the default one."""
    for theorem in theorems_for(source):
        made = theorem.stock
        if made is None or (form.encodes and not made.ahead) or (made.dtypes and dtype not in made.dtypes):
            continue
        if made.positions in (None, form.positions):
            return theorem
    return None


def _softened(model: Model, length: int, form: StockFormat, tell: Tell) -> Model:
    """The model itself if its attention is softmax; else its softened form, by a certificate or by the theorem."""
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
    """Inputs to verify: those of the zoo, one whose run ends near the last position, the shortest, and longer ones.

    They are used in this order until there are enough tokens.
    """
    codec = model.codec
    entry, (longest, sampled) = zoo.find(model.name), _sample(codec, length)
    words = (*_zoo_samples(entry, codec.source), *longest, *_short(codec, length), *sampled, *_long(codec, length))
    yield from dict.fromkeys(words)


def _short(codec: Codec[Source], length: int) -> Iterator[Word]:
    """The shortest inputs; more of them for a model that answers in one pass."""
    lengths = map(len, words_that_fit(codec, length))
    words = (word for count in lengths for word in codec.words(count))
    return islice(words, SHORT_WORDS if isinstance(codec, DecoderCodec) else SHORT_WORDS_ANSWERED)


def _zoo_samples(entry: zoo.Entry | None, source: object) -> Iterator[Word]:
    """The zoo's own samples of a source."""
    read: Callable[[str], Sequence[str]] = getattr(source, "word", tuple)
    for sample in entry.samples if entry else ():
        try:
            yield tuple(read(sample.input))
        except InputError:  # another source with the name of an entry
            return


def _long(codec: Codec[Source], length: int) -> Iterator[Word]:
    """Long words of one symbol; a run that does not fit is compared up to the last position."""
    for count in _long_lengths(codec, length) if codec.alphabet else ():
        yield (codec.alphabet[0],) * count


def _long_lengths(codec: Codec[Source], length: int) -> list[int]:
    """All positions (only for a model that answers in one pass), then half, a quarter and an eighth of them.

    Each is rounded down to a length that the codec accepts.
    """
    if isinstance(codec, DecoderCodec):
        return [length // 2, length // 4, length // 8]
    fitting = sorted(map(len, words_that_fit(codec, length)))
    below = [[size for size in fitting if size <= length // share] or fitting[:1] for share in (1, 2, 4, 8)]
    return [*dict.fromkeys(sizes[-1] for sizes in below if sizes)]


def _sample(codec: Codec[Source], length: int) -> tuple[list[Word], list[Word]]:
    """A word whose run ends near the last position (for a decoder), and random words.

    The random words are balanced between accepted and rejected ones, if both exist, and half of each have long traces,
    if enough are found. Accepted and rejected ones alternate, since only the first ones may be used.
    """
    decodes, judge = isinstance(codec, DecoderCodec), Judge(codec, length, length, skip=True, budget=MOST_SAMPLED)
    fitting = [*words_that_fit(codec, length, 1 + length // 256 if decodes else 1)]  # prompts take linear time
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

    For a decoder all lengths, then short ones in case too few words are found, since the number of steps may be
    quadratic in the length. For a model that answers in one pass a few single lengths, each with its predecessor: often
    all words of one of the two are rejected.
    """
    if isinstance(codec, DecoderCodec):
        return [range(sizes[0], last + 1) for last in (sizes[-1], min(2 * math.isqrt(length), sizes[-1]))]
    return [range(size - (size - 1 in sizes), size + 1) for size in _long_lengths(codec, length)]


def _longest(judge: Judge, most: int, found: Sequence[Judged], chooser: random.Random) -> Word:
    """Among the given words and longer ones similar to them, a word whose run ends near the last position.

    Among runs that end within the last sixteenth of the positions, it is the one with the most steps.
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
    """The hint for a model that is not accurate enough."""
    better = stock_theorem(model.source, form, dtype)
    if better is not None and better.name != model.theorem.name:
        return f"the theorem {better.name} is designed for {dtype}"
    wider = f"in {WIDER[dtype]}, or " if WIDER.get(dtype) in form.dtypes else ""
    return f"export it {wider}with a smaller --context"


class Export(Protocol):
    """Compiles and exports one model: :func:`softmachine.export`."""

    def __call__(
        self, model: str, folder: Path, *, to: str, context: int | None, dtype: str | None, tell: Tell
    ) -> Exported:
        """Export the model of a source."""


_GROWING = {
    "interp": (
        ("majority-crasp flip-flop-formula dyck-1-crasp parity-formula majority-formula bigram-formula", 64),
        ("parity-counter dyck-1-formula alternating-formula bit-inversion increment parity", 64),
        ("divisible-by-three busy-beaver-3", 64),
        ("busy-beaver-4 palindrome", 128),
        ("binary-addition", 256),
        ("two-tape-palindrome", 128),
    ),
    "encoders": (
        ("majority-formula bigram-program flip-flop-formula last-symbol shift-program", 32),
        ("lookahead-adder-4 sorting-6", 128),
        ("trigram-program dyck-1-program response-formula induction-head majority-rule reverse-program", 32),
        ("flip-flop-program dyck-2-program two-hop-induction-head", 32),
    ),
}
SETS = {
    name: tuple((source, length) for sources, length in rows for source in sources.split())
    for name, rows in _GROWING.items()
}
"""Bundles of models with known circuits, in order of size: names of the zoo with numbers of positions.

``interp`` holds decoders, ``encoders`` is for formats with bidirectional attention.
"""


def export_set(
    name: str, folder: Path, *, to: str, dtype: str | None, force: bool, export: Export, tell: Tell = nobody
) -> tuple[Exported, ...]:
    """Export every model of a bundle to a subfolder, all or nothing; see :data:`SETS`."""
    if name not in SETS:
        raise UsageError(f"unknown set {name!r}", hint=did_you_mean(name, SETS))
    form = stock_format(to)
    if name == "encoders" and not form.encodes:
        raise UsageError(
            f"the set encoders cannot be written as {to}", hint=Remedy("choose {} or --to onnx", to="bert")
        )
    if name == "interp" and not (form.decodes and form.positions):
        raise UsageError(f"the set interp cannot be written as {to}", hint="choose gpt2, gpt2-default or onnx")
    written: list[Exported] = []
    with new_folder(folder, force=force) as new:
        for number, (source, length) in enumerate(SETS[name], 1):
            report_one = partial(_told_of_one, tell, f"{source} ({number} of {len(SETS[name])})")
            made = export(source, new / source, to=to, context=length, dtype=dtype, tell=report_one)
            written.append(replace(made, folder=folder / source))
        models = [
            {"folder": item.folder.name, "architecture": item.architecture, "positions": item.length}
            for item in written
        ]
        seal(new, {"format": "softmachine-set", "version": 2, "name": name, "models": models})
    return tuple(written)


def _told_of_one(tell: Tell, model: str, doing: str) -> None:
    tell(f"{model}: {doing}")
