"""``softmachine export``: write a checkpoint that third-party software loads."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli import options
from softmachine.cli.compile_options import noted, rasp_theorem, say_notes
from softmachine.cli.options import value, zoo_names
from softmachine.cli.output import Output
from softmachine.languages.source import Source
from softmachine.support.errors import Remedy, UsageError
from softmachine.support.text import many

if TYPE_CHECKING:
    from softmachine.compiler.model import Model
    from softmachine.exports.writer import Exported

EXAMPLES = """[dim]Examples:[/]
  softmachine export palindrome --to gpt2 --context 256 -o palindrome-gpt2
  softmachine export busy-beaver-4 --to gpt2-default --context 128 -o bb4
  softmachine export increment --to gpt2 --dtype bfloat16 --context 64 -o inc
  softmachine export reverse-program --to bert --context 32 -o reverse-bert
  softmachine export --set interp -o interp-models
  softmachine export "Q_a since Q_b" --to gpt2 --context 128 -o since"""


ExportedSource = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE",
        show_default=False,
        autocompletion=zoo_names,
        help="The source, see [b]softmachine run --help[/].",
    ),
]
To = Annotated[
    str,
    typer.Option(
        "--to",
        metavar="FORMAT",
        help="gpt2, gpt2-default (its configuration changes only sizes), llama, mistral, qwen2, bert (for encoders), "
        "onnx, gguf, or native (as written by [b]softmachine compile[/]).",
    ),
]
Positions = Annotated[
    int | None,
    value(
        "N",
        "Number of positions: markers, input and steps together. Default: 256.",
        "--context",
        least=1,
    ),
]
Dtype = Annotated[
    str | None, value("NAME", "Number format of the weights: float32 (the default), bfloat16, float16 or float64.")
]
Workers = Annotated[
    int,
    value("N", "Number of processes that verify the exported model on sample inputs. Default: 1.", least=1),
]
SetName = Annotated[
    str | None,
    value(
        "NAME",
        "Export a set of models for interpretability instead of SOURCE: interp, or encoders (for bert).",
        "--set",
    ),
]


def command(
    source: ExportedSource = None,
    *,
    folder: options.Folder,
    to: To = "gpt2",
    context: Positions = None,
    dtype: Dtype = None,
    set_name: SetName = None,
    force: options.Force = False,
    workers: Workers = 1,
    theorem: options.TheoremName = None,
    causal: options.Causal = False,
    alphabet: options.Alphabet = None,
    format_name: options.Format = None,
    output: Output,
) -> None:
    """Write a checkpoint for Hugging Face, ONNX or llama.cpp.

    The folder includes a tokenizer, a model card and a map of all names. Before it is written, the third-party model is
    run on sample inputs and compared with the reference interpreter.
    """
    theorem = rasp_theorem(theorem, causal=causal)
    if (source is None) == (set_name is None):
        raise UsageError(
            "choose a SOURCE or a --set",
            hint=Remedy("for example {}, or --set encoders --to bert", set="interp"),
        )
    if set_name is not None:
        if any(given is not None for given in (context, theorem, alphabet, format_name)):
            raise UsageError(
                "a set defines its own sources and contexts", hint="only the format and the dtype can be chosen"
            )
        _export_set(set_name, folder, to, dtype, force, output)
        return
    from softmachine import api

    item = api.load(source or "", format_name, alphabet=alphabet)
    if to == "native":
        if dtype is not None:
            raise UsageError("the native format stores exact weights; --dtype does not apply")
        _export_native(item, folder, theorem, context, force, output)
        return
    from softmachine.cli.output import working

    with working("exporting", output) as tell:
        exported = api.export(
            item, folder, to=to, context=context, dtype=dtype, theorem=theorem, force=force, tell=tell, workers=workers
        )
    if output.as_json:
        output.answer(_answer(exported, to))
        return
    if output.quiet:
        output.say(str(folder))
    else:
        from softmachine.theorems import theorem_for

        default = theorem_for(item).name if isinstance(item, Source) and theorem is None else exported.theorem
        _print_summary(exported, default, output)
    say_notes(exported.notes, output)


def _export_native(
    item: Source | Model, folder: Path, theorem: str | None, context: int | None, force: bool, output: Output
) -> None:
    """Write the same folder as ``softmachine compile``."""
    from softmachine import api

    model = api.compile(item, theorem, context=context)
    api.save(model, folder, force=force)
    if output.as_json:
        from softmachine.exports.folder import written

        files = [file.name for file in written(folder)]
        facts = {"path": str(folder), "format": "native", "parameters": model.weights.parameters, "files": files}
        output.answer(facts | noted(model.notes))
        return
    parameters = many(model.weights.parameters, "parameter")
    output.say(str(folder) if output.quiet else f"wrote {folder}: exact weights, {parameters}")
    say_notes(model.notes, output)


def _export_set(name: str, folder: Path, to: str, dtype: str | None, force: bool, output: Output) -> None:
    """Write a set of models."""
    from softmachine import api
    from softmachine.cli.output import working
    from softmachine.exports.export import export_set

    if to == "native":
        raise UsageError("a set cannot be written in the native format", hint="export its models one by one")
    with working("exporting", output) as tell:
        written = export_set(name, folder, to=to, dtype=dtype, force=force, export=api.export, tell=tell)
    if output.as_json:
        output.answer({"path": str(folder), "set": name, "models": [_answer(item, to) for item in written]})
        return
    output.say(str(folder) if output.quiet else f"wrote {folder}: {many(len(written), 'model')}")
    for item in () if output.quiet else written:
        output.say(
            f"  {item.folder.name:<20} {item.parameters:>10,} parameters, {item.length} positions, by {item.theorem}"
        )


def _print_summary(exported: Exported, default: str, output: Output) -> None:
    """Print a summary; ``default`` is the theorem that other commands compile the source with."""
    first = exported.verified[0]
    output.say(f"wrote {exported.folder}: {exported.architecture}, {exported.length:,} positions, {exported.dtype}")
    other = f", designed for stock checkpoints; run and show use {default} by default"
    output.say(f"  compiled with the theorem {exported.theorem}{other if default != exported.theorem else ''}")
    output.say(
        f"  verified on {many(first.inputs, 'input')}, {many(first.tokens, 'token')}, up to "
        f"{many(first.longest, 'position')}"
    )
    for result in exported.verified:
        margin = "" if result.margin is None else f", margin {result.margin:.3f}"
        output.say(
            f"  {result.dtype:<8} {'holds' + margin if result.holds else 'does not hold: ' + str(result.failure)}"
        )
    output.say(f"  how to use it: {exported.folder}/README.md")


def _answer(exported: Exported, to: str) -> dict[str, object]:
    from softmachine.exports.folder import written

    return {
        "path": str(exported.folder),
        "format": to,
        "architecture": exported.architecture,
        "length": exported.length,
        "theorem": exported.theorem,
        "dtype": exported.dtype,
        "dtypes_that_hold": list(exported.dtypes),
        "parameters": exported.parameters,
        "rounded": exported.rounded,
        "verified": [{"dtype": result.dtype, "holds": result.holds, **asdict(result)} for result in exported.verified],
        "files": [file.name for file in written(exported.folder)],
        **noted(exported.notes),
    }
