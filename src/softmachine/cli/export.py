"""``softmachine export``: a folder that other people's software loads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softmachine.cli import options
from softmachine.cli.output import Output
from softmachine.errors import UsageError
from softmachine.text import many

if TYPE_CHECKING:
    from softmachine.exports.exported import Exported

NAME = "export"
EXAMPLES = """[dim]Examples:[/]
  softmachine export palindrome --to gpt2 --length 256 -o palindrome-gpt2
  softmachine export busy-beaver-4 --to gpt2-default --length 128 -o bb4
  softmachine export increment --to gpt2 --dtype bfloat16 --length 64 -o increment-bf16
  softmachine export "Q_a since Q_b" --to gpt2 --length 128 -o since"""


def command(
    source: options.Source,
    *,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="FORMAT",
            show_default=False,
            help="gpt2, gpt2-default (nothing but sizes in its configuration), or native (as [b]compile[/] writes).",
        ),
    ],
    folder: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", show_default=False, help="The folder to write.")
    ],
    length: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, show_default=False, help="The number of positions: marks, input and steps together."
        ),
    ] = None,
    dtype: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            help="The format of the weights: float32 (the default), bfloat16, float16 or float64.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", metavar="", help="Replace a model that was written there.")] = False,
    construction: options.ConstructionName = None,
    alphabet: options.Alphabet = None,
    format_name: options.Format = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    _debug: options.Debug = False,
) -> None:
    """Write a model so that other people's software loads it: a Hugging Face checkpoint with a tokenizer and a card.

    Before anything is written, the stock model is run on sample inputs and compared with the reference interpreter.
    """
    from softmachine import api
    from softmachine.cli.models import opened
    from softmachine.cli.progress import working

    output = Output(as_json, quiet)
    item = opened(source, format_name, alphabet)
    if to == "native":
        if dtype is not None:
            raise UsageError("the native format has exact weights, and no --dtype")
        model = api.compile(item, construction, length=length)
        api.save(model, folder, force=force)
        output.answer({"path": str(folder), "format": to}) if as_json else output.say(str(folder))
        return
    with working("exporting", output):
        exported = api.export(item, folder, to=to, length=length, dtype=dtype, construction=construction, force=force)
    if as_json:
        output.answer(_answer(exported, to))
    elif quiet:
        output.say(str(folder))
    else:
        _say(exported, output)


def _say(exported: Exported, output: Output) -> None:
    first = exported.verified[0]
    output.say(f"wrote {exported.folder}: {exported.architecture}, {exported.length:,} positions, {exported.dtype}")
    output.say(
        f"  verified by transformers on {many(first.inputs, 'input')}, {many(first.tokens, 'token')}, up to "
        f"{many(first.longest, 'position')}"
    )
    for result in exported.verified:
        margin = "" if result.margin is None else f", margin {result.margin:.3f}"
        output.say(
            f"  {result.dtype:<8} {'holds' + margin if result.holds else 'does not hold: ' + str(result.failure)}"
        )
    output.say(f'  try: AutoModelForCausalLM.from_pretrained("{exported.folder}"), see {exported.folder}/README.md')


def _answer(exported: Exported, to: str) -> dict[str, Any]:
    return {
        "path": str(exported.folder),
        "format": to,
        "architecture": exported.architecture,
        "length": exported.length,
        "dtype": exported.dtype,
        "dtypes_that_hold": list(exported.dtypes),
        "parameters": exported.parameters,
        "rounded": exported.rounded,
        "verified": [
            {
                "dtype": result.dtype,
                "holds": result.holds,
                "inputs": result.inputs,
                "tokens": result.tokens,
                "longest": result.longest,
                "margin": result.margin,
                "failure": result.failure,
            }
            for result in exported.verified
        ],
        "files": sorted(file.name for file in exported.folder.iterdir()),
    }
