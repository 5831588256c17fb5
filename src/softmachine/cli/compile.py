"""``softmachine compile``: compile a source, and save the exact weights to a folder."""

from __future__ import annotations

from softmachine.cli import options
from softmachine.cli.compile_options import (
    CompileOptionGroup,
    format_model,
    load_model,
    notes_json,
    print_notes,
    warn_if_no_effect,
)
from softmachine.cli.output import Output

EXAMPLES = """[dim]Examples:[/]
  softmachine compile palindrome -o palindrome-model
  softmachine run palindrome-model abba"""


def command(
    source: options.Source,
    *,
    folder: options.Folder,
    force: options.Force = False,
    compilation: CompileOptionGroup,
    output: Output,
) -> None:
    """Compile a source, and save the exact weights to a folder.

    The weights are in safetensors; one JSON file holds the names, the vocabulary and the certificate. The folder can be
    used as a SOURCE.
    """
    from softmachine import api
    from softmachine.exports.folder import list_written_files

    wanted = compilation.options
    model = load_model(source, wanted, output)
    warn_if_no_effect(wanted, model, output)
    api.save(model, folder, force=force)
    size = sum(file.stat().st_size for file in list_written_files(folder))
    if output.as_json:
        output.print_json(
            {
                "path": str(folder),
                "name": model.name,
                "theorem": model.theorem.name,
                "parameters": model.weights.parameter_count,
                "bytes": size,
                "files": [file.name for file in list_written_files(folder)],
                **notes_json(model.notes),
            }
        )
    elif output.quiet:
        output.print(str(folder))
        print_notes(model.notes, output)
    else:
        output.print(f"saved {model.name} to {folder} ({size / 1000:,.0f} kB)")
        output.print(f"  {format_model(model.weights)}")
        output.print(f"  try: softmachine run {folder}")
        print_notes(model.notes, output)
