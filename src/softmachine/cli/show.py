"""``softmachine show``: the architecture diagram of a transformer, and its costs."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated

from softmachine.cli import options
from softmachine.cli.compile_options import Compilation, Wanted, noted, open_model, say_notes
from softmachine.cli.options import file, switch, value
from softmachine.cli.output import Output, printable, require_svg
from softmachine.support.errors import Remedy, UsageError
from softmachine.support.text import did_you_mean, listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from softmachine.compiler.model import Model
    from softmachine.engines.fast.bytecode.interpreter import Interpreted
    from softmachine.engines.fast.codegen.emitter import Emitted
    from softmachine.languages.source import Source
    from softmachine.theorems.codec import Codec
    from softmachine.transformer.weights import Transformer

EXAMPLES = """[dim]Examples:[/]
  softmachine show palindrome
  softmachine show busy-beaver-4 --coordinates"""

SHORT_INPUTS, MAX_SAMPLES, MAX_TOKENS = range(1, 11), 12, 5_000
"""Chains of thought are measured on inputs of these lengths, at most 12 of each, up to 5,000 tokens."""
PAD = "□"
"""The filler token of prompts."""
INDENT = " " * 14
"""Indentation of the continuation lines of the diagram."""


Every = Annotated[bool, switch("Show all names; by default, long lists of names are abbreviated.", "--all")]
Coordinates = Annotated[bool, switch("List every coordinate of the residual stream by name.", "--coordinates")]
Picture = Annotated[Path | None, file("Draw it to FILE as SVG.", "--svg")]
Engine = Annotated[str | None, value("NAME", "With [b]fast[/]: show how the fast engine evaluates each head, and why.")]
Growth = Annotated[
    str | None,
    value(
        "N,N,…",
        "Measure depth, loops, width, precision, volume and padding for weights built for these lengths; [b]{n}[/] in "
        "SOURCE is replaced by each.",
        "--growth",
    ),
]


def command(
    source: options.Source,
    *,
    every: Every = False,
    coordinates: Coordinates = False,
    engine: Engine = None,
    growth: Growth = None,
    svg: Picture = None,
    compilation: Compilation,
    output: Output,
) -> None:
    """Show the transformer of a source: layers, heads, names and costs."""
    if engine not in (None, "dense", "fast"):
        raise UsageError(f"unknown engine {engine!r}", hint=did_you_mean(engine or "", ("dense", "fast")))
    wanted = compilation.wanted
    if growth is not None:
        _show_growth(source, wanted, growth, output)
        return
    if _show_exported(source, every, output):
        return
    from softmachine.transformer.diagram import board as board_of

    if svg is not None:
        require_svg(svg)
    model = open_model(source, wanted, output, any_length=True)
    if svg is not None:
        from softmachine.inspection.svg import board_picture

        board_picture(model.weights).save(svg)
    if output.as_json:
        served = {"fast": _head_plans(model.weights)} if engine == "fast" else {}
        output.answer({**_answer(model), **served})
        return
    board = board_of(model.weights, every=every)
    if output.quiet:
        output.say(board)
        say_notes(model.notes, output)
        return
    output.say(f"{model.source}\n")
    output.say(f"{_wrap_diagram(board, output.width) if output.live else board}\n")
    output.out.print(_costs(model))
    if engine == "fast":
        _show_fast(model.weights, output)
    if coordinates:
        output.say("\nCoordinates of the residual stream")
        for number, name in enumerate(model.weights.coordinates):
            output.say(f"  {number:>4}  {name}")
    if svg is not None:
        output.say(f"wrote {svg}")


def _show_exported(source: str, every: bool, output: Output) -> bool:
    """Show an exported folder by its map; return False if the source is not one."""
    if not os.path.isdir(source):  # noqa: PTH112 - a formula can be longer than a file name
        return False
    from softmachine.exports.model_map import read_map

    mapped = read_map(Path(source))
    if mapped is None:
        return False
    if output.as_json:
        output.answer(mapped.to_json())
        return True
    board = "\n".join(mapped.lines(every=every))
    output.say(_wrap_diagram(board, output.width) if output.live else board)
    if not output.quiet:
        output.say(f"  how to use it: {Path(source) / 'README.md'}")
    return True


def _show_growth(source: str, wanted: Wanted, growth: str, output: Output) -> None:
    """Print the growth of the costs with the length."""
    from softmachine.studies.measure.growth import measure

    try:
        lengths = [int(part) for part in growth.split(",")]
    except ValueError:
        raise UsageError(f"{growth!r} is not a list of lengths", hint="an example is 8,16,32") from None
    if min(lengths) < 0:
        raise UsageError(f"{min(lengths)} is not a length")
    models = {
        n: open_model(source.replace("{n}", str(n)), wanted if "{n}" in source else replace(wanted, context=n), output)
        for n in lengths
    }
    for model in models.values():
        only = model.codec.input_length
        if only is not None and "{n}" not in source and not model.theorem.takes_length(model.source):
            raise UsageError(
                f"all inputs of {model.source.name!r} have length {only}",
                hint=Remedy("leave out --growth, or write {{n}} in SOURCE in place of the size", growth=None),
            )
    measured = measure(lambda n: models[n].weights, lengths, padding=lambda n: _padding(models[n].codec))
    if output.as_json:
        output.answer(
            {quantity.name: dict(zip(lengths, quantity.values, strict=True)) for quantity in measured.quantities}
        )
    else:
        output.say(str(measured))


def _padding(codec: Codec[Source]) -> int:
    """Return the number of filler tokens after an input, if all inputs have one length."""
    width = codec.input_length
    return 0 if width is None else codec.prompt(codec.alphabet[:1] * width).tokens.count(PAD)


def _chain_of_thought(chain: Source | None) -> str | None:
    """Describe the length of the chains of thought of a C-RASP program."""
    from softmachine.languages.crasp import Program
    from softmachine.studies.measure.cot_length import growth, thoughts

    if not isinstance(chain, Program):
        return None
    found = list(thoughts(chain, SHORT_INPUTS, samples=MAX_SAMPLES, max_tokens=MAX_TOKENS))
    longest = [each for each in found if each.most is not None]
    if not longest:
        return f"no run on short inputs ends within {MAX_TOKENS:,} tokens"
    fit = growth(found)
    most = f"at most {longest[-1].most:,} tokens on the inputs of length {longest[-1].length} tried"
    return f"{most}; {fit}" if fit else most


def _answer(model: Model) -> dict[str, object]:
    weights = model.weights
    return {
        "name": weights.name,
        "theorem": model.theorem.name,
        "statement": model.theorem.statement,
        "layers": len(weights.layers),
        "heads": len(weights.heads),
        "width": weights.width,
        "vocabulary": len(weights.vocabulary),
        "parameters": weights.parameters,
        "nonzeros": weights.nonzeros,
        "largest_weight": str(weights.largest_weight),
        "attention": [str(weighting) for weighting in weights.weightings],
        "position_features": [feature.name for feature in weights.features],
        **{f"position_features_{label.replace(' ', '_')}": names for label, names in _encoding(model).items()},
        "tokens_per_step": _tokens_per_step(model.codec),
        "chain_of_thought": _chain_of_thought(model.codec.chain),
        "coordinates": list(weights.coordinates),
        **noted(model.notes),
    }


def _code(transformer: Transformer) -> Emitted | Interpreted | str:
    """Return the code of the fast engine, or the reason why it does not support the model."""
    from softmachine.engines.fast import Declined, FastEngine

    try:
        return FastEngine(transformer).code
    except (Declined, UsageError) as reason:
        return str(reason)


def _head_plans(transformer: Transformer) -> dict[str, object]:
    """Describe how the fast engine evaluates each head, as JSON data."""
    code = _code(transformer)
    if isinstance(code, str):
        return {"declined": code}
    keys = ("layer", "head", "index", "why")
    heads = [dict(zip(keys, row, strict=True)) for row in code.explanation()]
    return {"heads": heads, "about": code.summary(), "positions": code.horizon}


def _show_fast(transformer: Transformer, output: Output) -> None:
    code = _code(transformer)
    output.say("\nThe fast engine")
    if isinstance(code, str):
        output.say(f"  does not support this model, which the dense engine runs: {code}")
        return
    for layer, head, index, why in code.explanation():
        output.say(f"  {layer:<9} {printable(head)}: {index}")
        for line in wrap(why, max(output.width - 14, 40)):
            output.say(f"            {line}")
    for line in code.summary():
        output.say(f"  {line}")


def _costs(model: Model) -> RenderableType:
    """Tabulate the theorem, parts and costs of a model."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    for label, text in _rows(model):
        table.add_row(f"  {label}", Text(printable(text)))
    return table


def _rows(model: Model) -> Iterator[tuple[str, str]]:
    from softmachine.theorems import theorems_for

    weights, theorem = model.weights, model.theorem
    yield "theorem", f"{theorem.name}: {theorem.statement}"
    yield "needs", str(theorem.needs)
    others = ", ".join(item.name for item in theorems_for(model.source) if item.name != theorem.name)
    if others:
        yield "others", f"{others} (--theorem)"
    yield "attention", ", ".join(str(weighting) for weighting in weights.weightings) or "none"
    yield "position features", listed(feature.name for feature in weights.features) or "none"
    for label, names in _encoding(model).items():
        yield f"  {label}", listed(names) or "none"
    yield "layers", f"{len(weights.layers):,}"
    yield "heads", f"{len(weights.heads):,}"
    yield "width", f"{weights.width:,}"
    yield "vocabulary", f"{len(weights.vocabulary):,} tokens"
    yield "parameters", f"{weights.parameters:,}, of which weights that are not 0: {weights.nonzeros:,}"
    yield "largest weight", str(weights.largest_weight)
    per_step = _tokens_per_step(model.codec)
    if per_step is not None:
        yield "tokens per step", str(per_step)
    thought = _chain_of_thought(model.codec.chain)
    if thought is not None:
        yield "chain of thought", thought
    if model.notes:
        yield "note", "; ".join(model.notes)


def _encoding(model: Model) -> dict[str, list[str]]:
    """Divide the position features into those of the paper, by its names, and ours; {} if no names are defined."""
    name_of = model.theorem.encoding
    if name_of is None or not model.weights.features:
        return {}
    names = {feature.name: name_of(model.source, feature) for feature in model.weights.features}
    of_paper = [name if theirs == name else f"{name} as its {theirs}" for name, theirs in names.items() if theirs]
    return {"of the paper": of_paper, "of our own": [name for name, theirs in names.items() if theirs is None]}


def _tokens_per_step(codec: Codec[Source]) -> int | None:
    from softmachine.theorems.codec import DecoderCodec

    return codec.token_limit(2) - codec.token_limit(1) if isinstance(codec, DecoderCodec) else None


def _wrap_diagram(board: str, width: int) -> str:
    """Wrap the diagram to a number of columns; the output of a layer moves to a continuation line."""
    lines: list[str] = []
    for line in board.split("\n"):
        label, _, result = line.partition(" → ")
        if len(line) <= width:
            lines.append(line)
        else:
            lines += wrap(label.rstrip(" ."), width, subsequent_indent=INDENT)
            lines += (
                wrap(f"→ {result}", width, initial_indent=INDENT, subsequent_indent=f"{INDENT}  ") if result else []
            )
    return "\n".join(lines)
