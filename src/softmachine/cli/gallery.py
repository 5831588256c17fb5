"""``softmachine gallery``: pages of runs of the zoo, and an index of them."""

from __future__ import annotations

from softmachine.cli import options
from softmachine.cli.output import Output
from softmachine.support.text import many

EXAMPLES = """[dim]Examples:[/]
  softmachine gallery -o gallery/"""


def command(
    *,
    folder: options.Folder,
    output: Output,
) -> None:
    """Write a gallery: a page for each of a dozen runs of the zoo, of all languages, and an index.

    Every page is one file that shows a run from the inside and needs nothing else: open index.html in a browser.
    """
    from softmachine import api as showing
    from softmachine.cli.progress import working

    with working("writing the gallery", output) as tell:
        pages = showing.gallery(folder, tell=tell)
    if output.as_json:
        output.answer({"gallery": str(folder), "pages": [str(page) for page in pages]})
    elif not output.quiet:
        output.say(f"wrote {many(len(pages), 'page')} and an index to {folder / 'index.html'}")
