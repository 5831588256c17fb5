"""``softmachine export``: write a checkpoint that third-party software loads."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli import options
from softmachine.cli.compile_options import choose_rasp_theorem, notes_json, print_notes
from softmachine.cli.options import complete_zoo_name, value_option
from softmachine.cli.output import Output
from softmachine.languages.source import Source
from softmachine.support.errors import FixHint, UsageError
from softmachine.support.text import pluralize

if TYPE_CHECKING:
    from softmachine.compiler.model import Model
    from softmachine.exports.writer import ExportRecord

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
        autocompletion=complete_zoo_name,
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
    value_option(
        "N",
        "Number of positions: markers, input and steps together. Default: 256.",
        "--context",
        minimum=1,
    ),
]
Dtype = Annotated[
    str | None,
    value_option("NAME", "Number format of the weights: float32 (the default), bfloat16, float16 or float64."),
]
Workers = Annotated[
    int,
    value_option("N", "Number of processes that verify the exported model on sample inputs. Default: 1.", minimum=1),
]
SetName = Annotated[
    str | None,
    value_option(
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
    theorem = choose_rasp_theorem(theorem, causal=causal)
    if (source is None) == (set_name is None):
        raise UsageError(
            "choose a SOURCE or a --set",
            hint=FixHint("for example {}, or --set encoders --to bert", set="interp"),
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
    from softmachine.cli.output import spinner

    with spinner("exporting", output) as progress:
        exported = api.export(
            item,
            folder,
            to=to,
            context=context,
            dtype=dtype,
            theorem=theorem,
            force=force,
            progress=progress,
            workers=workers,
        )
    if output.as_json:
        output.print_json(_answer(exported, to))
        return
    if output.quiet:
        output.print(str(folder))
    else:
        from softmachine.theorems import find_theorem

        default = find_theorem(item).name if isinstance(item, Source) and theorem is None else exported.theorem
        _print_summary(exported, default, output)
    print_notes(exported.notes, output)


def _export_native(
    item: Source | Model, folder: Path, theorem: str | None, context: int | None, force: bool, output: Output
) -> None:
    """Write the same folder as ``softmachine compile``."""
    from softmachine import api

    model = api.compile(item, theorem, context=context)
    api.save(model, folder, force=force)
    if output.as_json:
        from softmachine.exports.folder import list_written_files

        files = [file.name for file in list_written_files(folder)]
        facts = {"path": str(folder), "format": "native", "parameters": model.weights.parameter_count, "files": files}
        output.print_json(facts | notes_json(model.notes))
        return
    parameters = pluralize(model.weights.parameter_count, "parameter")
    output.print(str(folder) if output.quiet else f"wrote {folder}: exact weights, {parameters}")
    print_notes(model.notes, output)


def _export_set(name: str, folder: Path, to: str, dtype: str | None, force: bool, output: Output) -> None:
    """Write a set of models."""
    from softmachine import api
    from softmachine.cli.output import spinner
    from softmachine.exports.export import export_bundle

    if to == "native":
        raise UsageError("a set cannot be written in the native format", hint="export its models one by one")
    with spinner("exporting", output) as progress:
        written = export_bundle(name, folder, to=to, dtype=dtype, force=force, export=api.export, progress=progress)
    if output.as_json:
        output.print_json({"path": str(folder), "set": name, "models": [_answer(item, to) for item in written]})
        return
    output.print(str(folder) if output.quiet else f"wrote {folder}: {pluralize(len(written), 'model')}")
    for item in () if output.quiet else written:
        output.print(
            f"  {item.folder.name:<20} {item.parameters:>10,} parameters, {item.length} positions, by {item.theorem}"
        )


def _print_summary(exported: ExportRecord, default: str, output: Output) -> None:
    """Print a summary; ``default`` is the theorem that other commands compile the source with."""
    first = exported.verifications[0]
    output.print(f"wrote {exported.folder}: {exported.architecture}, {exported.length:,} positions, {exported.dtype}")
    other = f", designed for stock checkpoints; run and show use {default} by default"
    output.print(f"  compiled with the theorem {exported.theorem}{other if default != exported.theorem else ''}")
    output.print(
        f"  verified on {pluralize(first.inputs, 'input')}, {pluralize(first.tokens, 'token')}, up to "
        f"{pluralize(first.longest, 'position')}"
    )
    for result in exported.verifications:
        margin = "" if result.margin is None else f", margin {result.margin:.3f}"
        output.print(
            f"  {result.dtype:<8} {'holds' + margin if result.holds else 'does not hold: ' + str(result.failure)}"
        )
    output.print(f"  how to use it: {exported.folder}/README.md")


def _answer(exported: ExportRecord, to: str) -> dict[str, object]:
    from softmachine.exports.folder import list_written_files

    return {
        "path": str(exported.folder),
        "format": to,
        "architecture": exported.architecture,
        "length": exported.length,
        "theorem": exported.theorem,
        "dtype": exported.dtype,
        "dtypes_that_hold": list(exported.dtypes),
        "parameters": exported.parameters,
        "rounded": exported.rounded_weights,
        "verified": [
            {"dtype": result.dtype, "holds": result.holds, **asdict(result)} for result in exported.verifications
        ],
        "files": [file.name for file in list_written_files(exported.folder)],
        **notes_json(exported.notes),
    }
