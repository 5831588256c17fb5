"""Exporting: from a source or a model to a folder that other people's software loads."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, product
from pathlib import Path

from softmachine import zoo
from softmachine.certify import certify
from softmachine.certify import soften as soften_program
from softmachine.codec import Codec, DecoderCodec
from softmachine.compiler import compile_program
from softmachine.engines.runs import codec_of
from softmachine.errors import ConstructionError, InputError, UsageError
from softmachine.exports.dialogue import dialogue_of
from softmachine.exports.exported import Exported
from softmachine.exports.fits import require_decoder, require_encoder, require_length
from softmachine.exports.folder import MARK, listing, new_folder, require_free
from softmachine.exports.formats import STOCK_FORMATS, StockFormat, stock_format
from softmachine.exports.lengths import words_that_fit
from softmachine.languages.source import Source
from softmachine.languages.turing import TuringMachine
from softmachine.progress import Tell, nobody
from softmachine.sources import read_source
from softmachine.theorems import CONSTRUCTIONS, construction_for, stock_construction
from softmachine.transformer.weights import Transformer

SHARPNESS = 32
"""The scaled gap of every head: e⁻³² is less than float32 can see beside 1."""
DEFAULT_LENGTH = 256
SHORT_WORDS, SHORT_WORDS_ANSWERED = 40, 300
"""So many of the shortest inputs are tried before a model is written; more if a model answers at once."""
RANDOM_WORDS_ANSWERED = 8
"""So many random words of each of a few lengths are tried of a model that answers at once, else one."""


def export_stock(
    item: Source | Transformer,
    folder: Path,
    *,
    to: str,
    length: int | None,
    dtype: str | None,
    construction: str | None,
    force: bool,
    tell: Tell = nobody,
) -> Exported:
    """Write a model, compiled on the way if need be, in a stock format; see :func:`softmachine.export`."""
    form, dtype = stock_format(to), dtype or "float32"
    form.require_dtype(dtype)
    require_free(folder, force=force)
    require_length(DEFAULT_LENGTH if length is None else length)
    form.require_libraries()
    if isinstance(item, Transformer):
        positions = _positions(item, length)
        model = _softened(item, positions, form, tell)
    else:
        positions = DEFAULT_LENGTH if length is None else length
        wanted = construction or _construction(item, form, dtype)
        model = _compiled(item, wanted, positions, form, tell)
    source = codec_of(model).source
    tell("choosing inputs to try")
    return form.write(
        model,
        folder,
        length=positions,
        dtype=dtype,
        dialogue=dialogue_of(model, _words(model, positions), positions),
        about=f"{source}",
        remedy=_remedy(source, model, form, dtype),
        force=force,
        tell=tell,
    )


SETS: dict[str, tuple[tuple[str, int], ...]] = {
    "interp": (
        ("majority-crasp", 64),
        ("flip-flop-formula", 64),
        ("dyck-1-crasp", 64),
        ("parity-formula", 64),
        ("majority-formula", 64),
        ("bigram-formula", 64),
        ("parity-counter", 64),
        ("dyck-1-formula", 64),
        ("alternating-formula", 64),
        ("bit-inversion", 64),
        ("increment", 64),
        ("parity", 64),
        ("divisible-by-three", 64),
        ("busy-beaver-3", 64),
        ("busy-beaver-4", 128),
        ("palindrome", 128),
        ("binary-addition", 256),
        ("two-tape-palindrome", 128),
    ),
    "encoders": (
        ("majority-formula", 32),
        ("bigram-program", 32),
        ("flip-flop-formula", 32),
        ("last-symbol", 32),
        ("shift-program", 32),
        ("lookahead-adder-4", 128),
        ("sorting-6", 128),
        ("trigram-program", 32),
        ("dyck-1-program", 32),
        ("response-formula", 32),
        ("induction-head", 32),
        ("majority-rule", 32),
        ("reverse-program", 32),
        ("flip-flop-program", 32),
        ("dyck-2-program", 32),
        ("two-hop-induction-head", 32),
    ),
}
"""Ready-made sets of models with known circuits, of growing size: the zoo's names, and numbers of positions.

``interp`` is for decoders, ``encoders`` for formats that see all positions.
"""


def export_set(
    name: str, folder: Path, *, to: str, dtype: str | None, force: bool, tell: Tell = nobody
) -> tuple[Exported, ...]:
    """Write every model of a set to a folder of its own in one folder, all or nothing; see :data:`SETS`."""
    if name not in SETS:
        raise UsageError(f"there is no set {name!r}", hint=f"there is {', '.join(SETS)}")
    form = stock_format(to)
    if name == "encoders" and not form.encodes:
        raise UsageError(f"the set encoders cannot be written as {to}", hint="it is for --to bert or --to onnx")
    if name == "interp" and not (form.decodes and form.positions):
        raise UsageError(f"the set interp cannot be written as {to}", hint="choose gpt2, gpt2-default or onnx")
    written: list[Exported] = []
    with new_folder(folder, force=force) as new:
        for number, (source, length) in enumerate(SETS[name], 1):
            made = export_stock(
                read_source(source),
                new / source,
                to=to,
                length=length,
                dtype=dtype,
                construction=None,
                force=False,
                tell=partial(_told_of_one, tell, f"{source} ({number} of {len(SETS[name])})"),
            )
            written.append(replace(made, folder=folder / source))
        models = [
            {"folder": item.folder.name, "architecture": item.architecture, "positions": item.length}
            for item in written
        ]
        facts = {"format": "softmachine-set", "version": 1, "name": name, "models": models, "files": listing(new)}
        (new / MARK).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return tuple(written)


def _told_of_one(tell: Tell, model: str, doing: str) -> None:
    tell(f"{model}: {doing}")


def _positions(model: Transformer, length: int | None) -> int:
    """The number of positions to write: what is wanted, at most what the weights were made for."""
    if None not in (length, model.length) and (length or 0) > (model.length or 0):
        raise UsageError(f"{model.name!r} was made for {model.length} positions, not {length}")
    return length or model.length or DEFAULT_LENGTH


def _construction(item: object, form: StockFormat, dtype: str) -> str | None:
    """The name of the construction to use; None for the default one."""
    if form.encodes and not isinstance(item, TuringMachine):
        return None
    return stock_construction(item, dtype, positions=form.positions)


def _compiled(
    item: Source,
    construction: str | None,
    length: int,
    form: StockFormat = STOCK_FORMATS["gpt2"],
    tell: Tell = nobody,
) -> Transformer:
    """The model of a source, with softmax at a temperature that is certified for the length."""
    tell("compiling")
    theorem = construction_for(item, construction)
    made_for = length if theorem.family else None
    if "hard" not in theorem.attentions:
        program, codec = theorem.program(item, theorem.attention("soft"), made_for)
        return compile_program(program).with_codec(codec, theorem.name, made_for)
    program, codec = theorem.program(item, "hard", made_for)
    return _softened(compile_program(program).with_codec(codec, theorem.name, made_for), length, form, tell)


def _softened(
    model: Transformer, length: int, form: StockFormat = STOCK_FORMATS["gpt2"], tell: Tell = nobody
) -> Transformer:
    """The model itself if it is soft; else what a certificate for the length, or the theorem, puts in its place."""
    if not form.decodes:
        require_encoder(model)
    if not form.encodes or isinstance(model.codec, DecoderCodec):
        require_decoder(model)
    if model.attention == "soft" or not any(head.query.bias for head in model.heads):
        return model
    tell(f"certifying for {length:,} positions")
    codec = codec_of(model)
    theorem = construction_for(codec.source, model.construction)
    program, _ = theorem.program(codec.source, "hard", model.length)
    try:
        proof = certify(program, length, SHARPNESS)
        if not proof.holds:
            least = certify(program, length)
            proof = certify(program, length, 1 << (least.sharpness - 1).bit_length())
    except ConstructionError:
        if "soft" not in theorem.attentions:
            raise
        program, codec = theorem.program(codec.source, "soft", model.length)
        return compile_program(program).with_codec(codec, model.construction, model.length)
    tell("compiling with softmax")
    return soften_program(program, proof).with_codec(codec, model.construction, model.length)


def _words(model: Transformer, length: int) -> Iterator[tuple[str, ...]]:
    """Inputs to try: those of the zoo, some that fill the positions, and the shortest ones."""
    codec = codec_of(model)
    entry = zoo.find(model.name)
    seen: set[tuple[str, ...]] = set()
    for word in (*_sampled(entry, codec.source), *_long(codec, length), *_short(codec, length)):
        if word not in seen:
            seen.add(word)
            yield word


def _short(codec: Codec, length: int) -> Iterator[tuple[str, ...]]:
    """The shortest inputs; more of them for a model that answers at once."""
    lengths = map(len, words_that_fit(codec, length))
    words = (word for count in lengths for word in product(codec.alphabet, repeat=count))
    return islice(words, SHORT_WORDS if isinstance(codec, DecoderCodec) else SHORT_WORDS_ANSWERED)


def _sampled(entry: zoo.Entry | None, source: object) -> Iterator[tuple[str, ...]]:
    """The zoo's own samples of a source."""
    read: Callable[[str], Sequence[str]] = getattr(source, "word", tuple)
    for sample in entry.samples if entry else ():
        try:
            yield tuple(read(sample.input))
        except InputError:  # something else has the name of an entry
            return


def _long(codec: Codec, length: int) -> Iterator[tuple[str, ...]]:
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
            yield tuple(chooser.choice(alphabet) for _ in range(count))
        yield (alphabet[0],) * count


def _remedy(source: object, model: Transformer, form: StockFormat, dtype: str) -> str:
    """What would hold where this model does not."""
    try:
        better = _construction(source, form, dtype)
    except ConstructionError:
        better = None
    if better and better != model.construction and any(item.name == better for item in CONSTRUCTIONS):
        return f"the construction {better} is made for {dtype}"
    return "export it in float32, or for a smaller --length"
