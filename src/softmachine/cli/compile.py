"""``softmachine compile``: save the exact weights of a source to a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from softmachine.cli import options
from softmachine.cli.models import Wanted, model_line, open_model
from softmachine.cli.output import Output

NAME = "compile"
EXAMPLES = """[dim]Examples:[/]
  softmachine compile palindrome -o palindrome-model
  softmachine run palindrome-model abba"""


def command(
    source: options.Source,
    *,
    folder: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", show_default=False, help="The folder to write.")
    ],
    force: Annotated[
        bool, typer.Option("--force", metavar="", help="Replace a model that was saved there before.")
    ] = False,
    construction: options.ConstructionName = None,
    attention: options.AttentionName = None,
    certified: options.CertifiedLength = None,
    length: options.Length = None,
    alphabet: options.Alphabet = None,
    format_name: options.Format = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    _debug: options.Debug = False,
) -> None:
    """Compile a machine, and save the exact weights: safetensors, and one JSON file of everything that has a name.

    The folder can be used wherever a SOURCE is expected.
    """
    from softmachine import api

    output = Output(as_json, quiet)
    transformer = open_model(source, Wanted(format_name, construction, attention, alphabet, certified, length), output)
    api.save(transformer, folder, force=force)
    size = sum(file.stat().st_size for file in folder.iterdir())
    if as_json:
        output.answer(
            {
                "path": str(folder),
                "name": transformer.name,
                "construction": transformer.construction,
                "parameters": transformer.parameters,
                "bytes": size,
                "files": sorted(file.name for file in folder.iterdir()),
            }
        )
    elif quiet:
        output.say(str(folder))
    else:
        output.say(f"saved {transformer.name} to {folder} ({size / 1000:,.0f} kB)")
        output.say(f"  {model_line(transformer)}")
        output.say(f"  try: softmachine run {folder}")
