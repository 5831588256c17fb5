"""``softmachine gallery``: write pages of runs of the zoo, and an index."""

from __future__ import annotations

from softmachine.cli import options
from softmachine.cli.output import Output
from softmachine.support.text import pluralize

EXAMPLES = """[dim]Examples:[/]
  softmachine gallery -o gallery/"""


def command(
    *,
    folder: options.Folder,
    output: Output,
) -> None:
    """Write pages of a dozen runs of the zoo, and an index.

    Each page is self-contained and shows all activations of a run. Open index.html in a browser.
    """
    from softmachine import api
    from softmachine.cli.output import spinner

    with spinner("writing the gallery", output) as progress:
        pages = api.gallery(folder, progress=progress)
    if output.as_json:
        output.print_json({"gallery": str(folder), "pages": [str(page) for page in pages]})
    elif not output.quiet:
        output.print(f"wrote {pluralize(len(pages), 'page')} and an index to {folder / 'index.html'}")
