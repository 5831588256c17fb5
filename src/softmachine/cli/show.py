"""``softmachine show``: the architecture diagram of a transformer, and its costs."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated

from softmachine.cli import options
from softmachine.cli.compile_options import CompileOptionGroup, load_model, notes_json, print_notes
from softmachine.cli.options import file_option, switch_option, value_option
from softmachine.cli.output import Output, escape_unprintable, require_svg
from softmachine.compiler.model import CompileOptions, Model
from softmachine.support.errors import FixHint, UsageError
from softmachine.support.text import did_you_mean, join_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from softmachine.engines.fast.bytecode.interpreter import Bytecode
    from softmachine.engines.fast.codegen.emitter import GeneratedCode
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


Every = Annotated[bool, switch_option("Show all names; by default, long lists of names are abbreviated.", "--all")]
Coordinates = Annotated[bool, switch_option("List every coordinate of the residual stream by name.", "--coordinates")]
Picture = Annotated[Path | None, file_option("Draw it to FILE as SVG.", "--svg")]
Engine = Annotated[
    str | None, value_option("NAME", "With [b]fast[/]: show how the fast engine evaluates each head, and why.")
]
Growth = Annotated[
    str | None,
    value_option(
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
    compilation: CompileOptionGroup,
    output: Output,
) -> None:
    """Show the transformer of a source: layers, heads, names and costs."""
    if engine not in (None, "dense", "fast"):
        raise UsageError(f"unknown engine {engine!r}", hint=did_you_mean(engine or "", ("dense", "fast")))
    wanted = compilation.options
    if growth is not None:
        _show_growth(source, wanted, growth, output)
        return
    if _show_exported(source, every, output):
        return
    from softmachine.transformer.diagram import render_diagram

    if svg is not None:
        require_svg(svg)
    model = load_model(source, wanted, output, any_length=True)
    if svg is not None:
        from softmachine.inspection.svg import draw_architecture

        draw_architecture(model.weights).save(svg)
    if output.as_json:
        served = {"fast": _head_plans(model.weights)} if engine == "fast" else {}
        output.print_json({**_answer(model), **served})
        return
    board = render_diagram(model.weights, full=every)
    if output.quiet:
        output.print(board)
        print_notes(model.notes, output)
        return
    output.print(f"{model.source}\n")
    output.print(f"{_wrap_diagram(board, output.width) if output.live else board}\n")
    output.out.print(_costs(model))
    if engine == "fast":
        _show_fast(model.weights, output)
    if coordinates:
        output.print("\nCoordinates of the residual stream")
        for number, name in enumerate(model.weights.coordinates):
            output.print(f"  {number:>4}  {name}")
    if svg is not None:
        output.print(f"wrote {svg}")


def _show_exported(source: str, every: bool, output: Output) -> bool:
    """Show an exported folder by its map; return False if the source is not one."""
    if not os.path.isdir(source):  # noqa: PTH112 - a formula can be longer than a file name
        return False
    from softmachine.exports.model_map import read_map

    mapped = read_map(Path(source))
    if mapped is None:
        return False
    if output.as_json:
        output.print_json(mapped.to_json())
        return True
    board = "\n".join(mapped.format_lines(show_all=every))
    output.print(_wrap_diagram(board, output.width) if output.live else board)
    if not output.quiet:
        output.print(f"  how to use it: {Path(source) / 'README.md'}")
    return True


def _show_growth(source: str, wanted: CompileOptions, growth: str, output: Output) -> None:
    """Print the growth of the costs with the length."""
    from softmachine.studies.measure.growth import measure_family

    try:
        lengths = [int(part) for part in growth.split(",")]
    except ValueError:
        raise UsageError(f"{growth!r} is not a list of lengths", hint="an example is 8,16,32") from None
    if min(lengths) < 0:
        raise UsageError(f"{min(lengths)} is not a length")
    models = {
        n: load_model(source.replace("{n}", str(n)), wanted if "{n}" in source else replace(wanted, context=n), output)
        for n in lengths
    }
    for model in models.values():
        only = model.codec.input_length
        if only is not None and "{n}" not in source and not model.theorem.takes_context(model.source):
            raise UsageError(
                f"all inputs of {model.source.name!r} have length {only}",
                hint=FixHint("leave out --growth, or write {{n}} in SOURCE in place of the size", growth=None),
            )
    measured = measure_family(lambda n: models[n].weights, lengths, padding=lambda n: _padding(models[n].codec))
    if output.as_json:
        output.print_json(
            {quantity.name: dict(zip(lengths, quantity.values, strict=True)) for quantity in measured.quantities}
        )
    else:
        output.print(str(measured))


def _padding(codec: Codec[Source]) -> int:
    """Return the number of filler tokens after an input, if all inputs have one length."""
    width = codec.input_length
    return 0 if width is None else codec.prompt(codec.alphabet[:1] * width).tokens.count(PAD)


def _chain_of_thought(chain: Source | None) -> str | None:
    """Describe the length of the chains of thought of a C-RASP program."""
    from softmachine.languages.crasp import CraspProgram
    from softmachine.studies.measure.cot_length import fit_cot_growth, measure_cot_lengths

    if not isinstance(chain, CraspProgram):
        return None
    found = list(measure_cot_lengths(chain, SHORT_INPUTS, samples=MAX_SAMPLES, max_tokens=MAX_TOKENS))
    longest = [each for each in found if each.longest is not None]
    if not longest:
        return f"no run on short inputs ends within {MAX_TOKENS:,} tokens"
    fit = fit_cot_growth(found)
    most = f"at most {longest[-1].longest:,} tokens on the inputs of length {longest[-1].length} tried"
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
        "parameters": weights.parameter_count,
        "nonzeros": weights.nonzero_count,
        "largest_weight": str(weights.largest_weight),
        "attention": [str(weighting) for weighting in weights.weightings],
        "position_features": [feature.name for feature in weights.features],
        **{f"position_features_{label.replace(' ', '_')}": names for label, names in _encoding(model).items()},
        "tokens_per_step": _tokens_per_step(model.codec),
        "chain_of_thought": _chain_of_thought(model.codec.chain_program),
        "coordinates": list(weights.coordinates),
        **notes_json(model.notes),
    }


def _code(transformer: Transformer) -> GeneratedCode | Bytecode | str:
    """Return the code of the fast engine, or the reason why it does not support the model."""
    from softmachine.engines.fast import FastEngine, UnsupportedModel

    try:
        return FastEngine(transformer).code
    except (UnsupportedModel, UsageError) as reason:
        return str(reason)


def _head_plans(transformer: Transformer) -> dict[str, object]:
    """Describe how the fast engine evaluates each head, as JSON data."""
    code = _code(transformer)
    if isinstance(code, str):
        return {"declined": code}
    keys = ("layer", "head", "index", "why")
    heads = [dict(zip(keys, row, strict=True)) for row in code.explanation()]
    return {"heads": heads, "about": code.summary(), "positions": code.max_positions}


def _show_fast(transformer: Transformer, output: Output) -> None:
    code = _code(transformer)
    output.print("\nThe fast engine")
    if isinstance(code, str):
        output.print(f"  does not support this model, which the dense engine runs: {code}")
        return
    for layer, head, index, why in code.explanation():
        output.print(f"  {layer:<9} {escape_unprintable(head)}: {index}")
        for line in wrap(why, max(output.width - 14, 40)):
            output.print(f"            {line}")
    for line in code.summary():
        output.print(f"  {line}")


def _costs(model: Model) -> RenderableType:
    """Tabulate the theorem, parts and costs of a model."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    for label, text in _rows(model):
        table.add_row(f"  {label}", Text(escape_unprintable(text)))
    return table


def _rows(model: Model) -> Iterator[tuple[str, str]]:
    from softmachine.theorems import applicable_theorems

    weights, theorem = model.weights, model.theorem
    yield "theorem", f"{theorem.name}: {theorem.statement}"
    yield "needs", str(theorem.requirements)
    others = ", ".join(item.name for item in applicable_theorems(model.source) if item.name != theorem.name)
    if others:
        yield "others", f"{others} (--theorem)"
    yield "attention", ", ".join(str(weighting) for weighting in weights.weightings) or "none"
    yield "position features", join_names(feature.name for feature in weights.features) or "none"
    for label, names in _encoding(model).items():
        yield f"  {label}", join_names(names) or "none"
    yield "layers", f"{len(weights.layers):,}"
    yield "heads", f"{len(weights.heads):,}"
    yield "width", f"{weights.width:,}"
    yield "vocabulary", f"{len(weights.vocabulary):,} tokens"
    yield "parameters", f"{weights.parameter_count:,}, of which weights that are not 0: {weights.nonzero_count:,}"
    yield "largest weight", str(weights.largest_weight)
    per_step = _tokens_per_step(model.codec)
    if per_step is not None:
        yield "tokens per step", str(per_step)
    thought = _chain_of_thought(model.codec.chain_program)
    if thought is not None:
        yield "chain of thought", thought
    if model.notes:
        yield "note", "; ".join(model.notes)


def _encoding(model: Model) -> dict[str, list[str]]:
    """Divide the position features into those of the paper, by its names, and ours; {} if no names are defined."""
    name_of = model.theorem.paper_feature_name
    if name_of is None or not model.weights.features:
        return {}
    names = {feature.name: name_of(model.source, feature) for feature in model.weights.features}
    of_paper = [name if theirs == name else f"{name} as its {theirs}" for name, theirs in names.items() if theirs]
    return {"of the paper": of_paper, "of our own": [name for name, theirs in names.items() if theirs is None]}


def _tokens_per_step(codec: Codec[Source]) -> int | None:
    from softmachine.theorems.codec import DecoderCodec

    return codec.max_tokens(2) - codec.max_tokens(1) if isinstance(codec, DecoderCodec) else None


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
