"""Export of models to folders that third-party software loads, and the choice of inputs to verify them on.

A bundle exports models with known circuits together to one folder.
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

from softmachine.certify import certify_model, has_theorem_weights
from softmachine.compiler import compile_program
from softmachine.compiler.model import Model
from softmachine.engines.inputs.constraints import Constraints
from softmachine.engines.inputs.row import LabelledWord, Labeller
from softmachine.engines.inputs.sampling import draw_similar
from softmachine.engines.inputs.search import OPPOSITE_VERDICT, WordSearch
from softmachine.exports.folder import new_folder, require_replaceable
from softmachine.exports.formats import ExportFormat, find_format
from softmachine.exports.manifest import write_manifest
from softmachine.exports.prompt_format import build_prompt_format
from softmachine.exports.requirements import PARTIAL_NORM_REASON, require_decoder, require_encoder, require_length
from softmachine.exports.sequence_length import iterate_fitting_inputs
from softmachine.exports.writer import ExportRecord, write_card_and_map
from softmachine.languages import zoo
from softmachine.languages.source import Source
from softmachine.languages.words import Word
from softmachine.support.errors import ConstructionError, FixHint, InputError, PrecisionError, UsageError
from softmachine.support.progress import ProgressCallback, ignore_progress
from softmachine.support.text import did_you_mean
from softmachine.theorems import Theorem, applicable_theorems
from softmachine.theorems.codec import Codec, DecoderCodec

SHARPNESS = 32
"""The scaled score gap of every head: 1 + e⁻³² is 1 in float32."""
DEFAULT_LENGTH = 256
SHORT_INPUTS, SHORT_INPUTS_ONE_PASS = 40, 300
"""The number of shortest inputs to verify: of a decoder, and of a model that answers in one pass."""
RANDOM_INPUTS, RANDOM_INPUTS_ONE_PASS = 24, 8
"""The number of random words to verify: of a decoder, and of a model that answers in one pass per length."""
WIDER_DTYPE = {"float16": "float32", "bfloat16": "float32", "float32": "float64"}
"""The wider format to suggest if one is not accurate enough."""
MAX_SEARCH_TOKENS = 1 << 16
"""The budget of a search for random words, in tokens of the reference interpreter."""


def prepare_export(to: str, dtype: str, folder: Path, context: int | None, *, force: bool) -> ExportFormat:
    """The format of a name, after checking all conditions that do not need the model, before minutes of compiling.

    Raises:
        UsageError: If there is no such format, or the folder, the dtype or the length is not possible.
    """
    form = find_format(to)
    form.require_dtype(dtype)
    require_replaceable(folder, force=force)
    require_length(DEFAULT_LENGTH if context is None else context)
    form.require_libraries()
    return form


def export_model(
    model: Model,
    folder: Path,
    form: ExportFormat,
    *,
    context: int,
    dtype: str,
    force: bool,
    progress: ProgressCallback = ignore_progress,
) -> ExportRecord:
    """Write a model in a third-party format, with softmax at a temperature that is certified for the length.

    The folder is written only if the third-party software gives the expected outputs.

    Raises:
        PrecisionError: If the dtype is not accurate enough; the message gives the first wrong token.
        ConstructionError: If the architecture cannot hold the model.
        UsageError: If the folder cannot be written.
    """
    given, model = model, _soften(model, context, form, progress)
    progress("choosing inputs to try")
    spec = build_prompt_format(model, _choose_inputs(model, context), context)
    with new_folder(folder, force=force) as new:
        filled = form.write_model(model, new, context, dtype, spec, progress)
        first, positions = filled.verifications[0], len(filled.tensors.model.positions)
        if not first.holds:
            hint = _accuracy_hint(given, form, dtype)
            raise PrecisionError(f"{model.name!r} gives a wrong output: {first.failure}", hint=hint)
        exported = ExportRecord(
            folder,
            filled.architecture,
            positions,
            dtype,
            filled.verifications,
            filled.parameters,
            filled.rounded_weights,
            model.theorem.name,
            model.notes,
        )
        write_card_and_map(new, model, filled, exported, spec)
    return exported


def resolve_length(model: Model, context: int | None) -> int:
    """The number of positions to write: the given one, at most that of the weights."""
    if None not in (context, model.context) and (context or 0) > (model.context or 0):
        raise UsageError(f"{model.name!r} was compiled for {model.context} positions, not {context}")
    return context or model.context or DEFAULT_LENGTH


def find_checkpoint_theorem(source: Source, form: ExportFormat, dtype: str) -> Theorem | None:
    """The theorem designed for checkpoints of a format in a dtype; None for the default one."""
    for theorem in applicable_theorems(source):
        made = theorem.checkpoints
        if (
            made is None
            or (form.supports_encoders and not made.bidirectional)
            or (made.dtypes and dtype not in made.dtypes)
        ):
            continue
        if made.has_position_embeddings in (None, form.has_positions):
            return theorem
    return None


def _soften(model: Model, length: int, form: ExportFormat, progress: ProgressCallback) -> Model:
    """The model itself if its attention is softmax; else its softened form, by a certificate or by the theorem."""
    model.weights.require_single_norms(PARTIAL_NORM_REASON)
    if not form.supports_decoders:
        require_encoder(model)
    if not form.supports_encoders or isinstance(model.codec, DecoderCodec):
        require_decoder(model.weights)
    choosing = (head.query.bias or head.weighting.is_unique_hard for head in model.weights.heads)
    if model.attention == "soft" or not any(choosing):
        return model
    progress(f"certifying for {length:,} positions")
    try:
        proof = certify_model(model, length, SHARPNESS)
        if not proof.holds:
            least = certify_model(model, length)
            proof = certify_model(model, length, 1 << (least.sharpness - 1).bit_length())
    except ConstructionError:
        if "soft" not in model.theorem.attentions or not has_theorem_weights(model):
            raise
        return replace(model, weights=compile_program(model.theorem.signals(model.codec, "soft")))
    return replace(model, weights=proof.soft_transformer, certificate=proof)


def _choose_inputs(model: Model, length: int) -> Iterator[Word]:
    """Inputs to verify: those of the zoo, one whose run ends near the last position, the shortest, and longer ones.

    They are used in this order until there are enough tokens.
    """
    codec = model.codec
    entry, (longest, sampled) = zoo.find_entry(model.name), _random_inputs(codec, length)
    words = (
        *_zoo_samples(entry, codec.source),
        *longest,
        *_short_inputs(codec, length),
        *sampled,
        *_long_inputs(codec, length),
    )
    yield from dict.fromkeys(words)


def _short_inputs(codec: Codec[Source], length: int) -> Iterator[Word]:
    """The shortest inputs; more of them for a model that answers in one pass."""
    lengths = map(len, iterate_fitting_inputs(codec, length))
    words = (word for count in lengths for word in codec.words(count))
    return islice(words, SHORT_INPUTS if isinstance(codec, DecoderCodec) else SHORT_INPUTS_ONE_PASS)


def _zoo_samples(entry: zoo.ZooEntry | None, source: object) -> Iterator[Word]:
    """The zoo's own samples of a source."""
    read: Callable[[str], Sequence[str]] = getattr(source, "word", tuple)
    for sample in entry.samples if entry else ():
        try:
            yield tuple(read(sample.input))
        except InputError:  # another source with the name of an entry
            return


def _long_inputs(codec: Codec[Source], length: int) -> Iterator[Word]:
    """Long words of one symbol; a run that does not fit is compared up to the last position."""
    for count in _long_lengths(codec, length) if codec.alphabet else ():
        yield (codec.alphabet[0],) * count


def _long_lengths(codec: Codec[Source], length: int) -> list[int]:
    """All positions (only for a model that answers in one pass), then half, a quarter and an eighth of them.

    Each is rounded down to a length that the codec accepts.
    """
    if isinstance(codec, DecoderCodec):
        return [length // 2, length // 4, length // 8]
    fitting = sorted(map(len, iterate_fitting_inputs(codec, length)))
    below = [[size for size in fitting if size <= length // share] or fitting[:1] for share in (1, 2, 4, 8)]
    return [*dict.fromkeys(sizes[-1] for sizes in below if sizes)]


def _random_inputs(codec: Codec[Source], length: int) -> tuple[list[Word], list[Word]]:
    """A word whose run ends near the last position (for a decoder), and random words.

    The random words are balanced between accepted and rejected ones, if both exist, and half of each have long traces,
    if enough are found. Accepted and rejected ones alternate, since only the first ones may be used.
    """
    decodes, judge = (
        isinstance(codec, DecoderCodec),
        Labeller(codec, length, length, skip=True, budget=MAX_SEARCH_TOKENS),
    )
    fitting = [*iterate_fitting_inputs(codec, length, 1 + length // 256 if decodes else 1)]  # prompts take linear time
    first = next(filter(None, map(judge, fitting)), None)
    if first is None or not codec.alphabet:
        return [], []
    wishes = Constraints(balance=first.verdict in OPPOSITE_VERDICT, long_traces=0.5 if decodes else 0.0)
    columns, chooser = list[list[LabelledWord]](), random.Random(0)
    for lengths in _length_ranges(codec, [*map(len, fitting)], length):
        judge.budget, wanted = (
            MAX_SEARCH_TOKENS,
            RANDOM_INPUTS - sum(map(len, columns)) if decodes else RANDOM_INPUTS_ONE_PASS,
        )
        search = WordSearch(judge, lengths, wishes, lambda _: "", chooser, exhaustive=False)
        columns.append([judged for (judged,) in search.find(wanted, fewer=True)])
    found = {each.word: each for row in zip_longest(*columns) for each in row if each is not None}
    accepted = [word for word, each in found.items() if each.verdict == "accept"]
    others = [word for word in found if word not in accepted]
    longest = [_longest_run(judge, len(fitting[-1]), [first, *found.values()], chooser)] if decodes else []
    return longest, [*chain(*zip(accepted, others, strict=False))] if accepted and others else [*found]


def _length_ranges(codec: Codec[Source], sizes: list[int], length: int) -> list[range]:
    """Lengths of words to draw from.

    For a decoder all lengths, then short ones in case too few words are found, since the number of steps may be
    quadratic in the length. For a model that answers in one pass a few single lengths, each with its predecessor: often
    all words of one of the two are rejected.
    """
    if isinstance(codec, DecoderCodec):
        return [range(sizes[0], last + 1) for last in (sizes[-1], min(2 * math.isqrt(length), sizes[-1]))]
    return [range(size - (size - 1 in sizes), size + 1) for size in _long_lengths(codec, length)]


def _longest_run(judge: Labeller, most: int, found: Sequence[LabelledWord], rng: random.Random) -> Word:
    """Among the given words and longer ones similar to them, a word whose run ends near the last position.

    Among runs that end within the last sixteenth of the positions, it is the one with the most steps.
    """

    def rank(judged: LabelledWord) -> tuple[int, int]:
        taken = len(judged.prompt.tokens) + len(judged.trace)
        return min(taken, (judge.positions or 0) * 15 // 16), len(judged.trace)

    judge.budget, best = MAX_SEARCH_TOKENS, max(found, key=rank)
    for like in found:
        low, high = len(like.word), most + 1
        while high - low > 1 and judge.budget > 0:
            middle = (low + high) // 2
            word = draw_similar(like.word, judge.codec.alphabet, middle, rng)
            judged = judge(word) if word is not None and judge.codec.has_word(word) else None
            low, high = (low, middle) if judged is None else (middle, high)
            best = max(best, judged or best, key=rank)
    return best.word


def _accuracy_hint(model: Model, form: ExportFormat, dtype: str) -> str:
    """The hint for a model that is not accurate enough, or has other weights than its source."""
    if model.attention == "hard" and not has_theorem_weights(model):
        return f"the weights are not those that the theorem {model.theorem.name} compiles the source to"
    better = find_checkpoint_theorem(model.source, form, dtype)
    if better is not None and better.name != model.theorem.name:
        return f"the theorem {better.name} is designed for {dtype}"
    wider = f"in {WIDER_DTYPE[dtype]}, or " if WIDER_DTYPE.get(dtype) in form.dtypes else ""
    return f"export it {wider}with a smaller --context"


class ExportFunction(Protocol):
    """Compiles and exports one model: :func:`softmachine.export`."""

    def __call__(
        self, model: str, folder: Path, *, to: str, context: int | None, dtype: str | None, progress: ProgressCallback
    ) -> ExportRecord:
        """Export the model of a source."""


_BUNDLE_SOURCES = {
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
BUNDLES = {
    name: tuple((source, length) for sources, length in rows for source in sources.split())
    for name, rows in _BUNDLE_SOURCES.items()
}
"""Bundles of models with known circuits, in order of size: names of the zoo with numbers of positions.

``interp`` holds decoders, ``encoders`` is for formats with bidirectional attention.
"""


def export_bundle(
    name: str,
    folder: Path,
    *,
    to: str,
    dtype: str | None,
    force: bool,
    export: ExportFunction,
    progress: ProgressCallback = ignore_progress,
) -> tuple[ExportRecord, ...]:
    """Export every model of a bundle to a subfolder, all or nothing; see :data:`BUNDLES`."""
    if name not in BUNDLES:
        raise UsageError(f"unknown set {name!r}", hint=did_you_mean(name, BUNDLES))
    form = find_format(to)
    if name == "encoders" and not form.supports_encoders:
        raise UsageError(
            f"the set encoders cannot be written as {to}", hint=FixHint("choose {} or --to onnx", to="bert")
        )
    if name == "interp" and not (form.supports_decoders and form.has_positions):
        raise UsageError(f"the set interp cannot be written as {to}", hint="choose gpt2, gpt2-default or onnx")
    written: list[ExportRecord] = []
    with new_folder(folder, force=force) as new:
        for number, (source, length) in enumerate(BUNDLES[name], 1):
            report_one = partial(_report_model, progress, f"{source} ({number} of {len(BUNDLES[name])})")
            made = export(source, new / source, to=to, context=length, dtype=dtype, progress=report_one)
            written.append(replace(made, folder=folder / source))
        models = [
            {"folder": item.folder.name, "architecture": item.architecture, "positions": item.length}
            for item in written
        ]
        write_manifest(new, {"format": "softmachine-set", "version": 2, "name": name, "models": models})
    return tuple(written)


def _report_model(progress: ProgressCallback, model: str, doing: str) -> None:
    progress(f"{model}: {doing}")
