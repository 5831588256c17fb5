"""``softmachine compile``: compile a source, and save the exact weights to a folder."""

from __future__ import annotations

from softmachine.cli import options
from softmachine.cli.compile_options import Compilation, model_line, noted, open_model, say_notes, warn_if_unused
from softmachine.cli.output import Output

EXAMPLES = """[dim]Examples:[/]
  softmachine compile palindrome -o palindrome-model
  softmachine run palindrome-model abba"""


def command(
    source: options.Source,
    *,
    folder: options.Folder,
    force: options.Force = False,
    compilation: Compilation,
    output: Output,
) -> None:
    """Compile a source, and save the exact weights to a folder.

    The weights are in safetensors; one JSON file holds the names, the vocabulary and the certificate. The folder can be
    used as a SOURCE.
    """
    from softmachine import api
    from softmachine.exports.folder import written

    wanted = compilation.wanted
    model = open_model(source, wanted, output)
    warn_if_unused(wanted, model, output)
    api.save(model, folder, force=force)
    size = sum(file.stat().st_size for file in written(folder))
    if output.as_json:
        output.answer(
            {
                "path": str(folder),
                "name": model.name,
                "theorem": model.theorem.name,
                "parameters": model.weights.parameters,
                "bytes": size,
                "files": [file.name for file in written(folder)],
                **noted(model.notes),
            }
        )
    elif output.quiet:
        output.say(str(folder))
        say_notes(model.notes, output)
    else:
        output.say(f"saved {model.name} to {folder} ({size / 1000:,.0f} kB)")
        output.say(f"  {model_line(model.weights)}")
        output.say(f"  try: softmachine run {folder}")
        say_notes(model.notes, output)
