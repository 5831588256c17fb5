"""The public functions that show a run from the inside: numbers, a page, a picture, a gallery."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from softmachine.compiler.model import Model
from softmachine.running import run
from softmachine.support.arguments import validated
from softmachine.support.estimates import consent
from softmachine.support.progress import Tell, nobody

if TYPE_CHECKING:
    from softmachine.engines.result import Run
    from softmachine.inspection import Inspection
    from softmachine.inspection.svg import Picture

__all__ = ["gallery", "inspect", "page", "picture"]


@validated
def inspect(run: Run, *, yes: bool = False) -> Inspection:
    """A run from the inside: what heads saw, the residual stream and the logits at any position, in exact numbers.

    Args:
        run: The run.
        yes: Whether to go on, even if that takes more than ten minutes or half of the free memory.
    """
    from softmachine.inspection import Inspection

    return Inspection(run, yes=yes)


@validated
def page(
    run: Run,
    file: str | Path,
    *,
    position: int | None = None,
    step: int | None = None,
    command: str | None = None,
    yes: bool = False,
) -> None:
    """Write a page that shows a run from the inside: one file that a browser opens, and that needs nothing else.

    Args:
        run: The run.
        file: A new file, which ends in .html or .htm.
        position: The position that it opens at, and that it has a window around if the run is long.
        step: The same as a step of the source language.
        command: What makes this page, for its readers.
        yes: Whether to go on, even if that takes more than ten minutes or half of the free memory.
    """
    from softmachine.inspection.page import html
    from softmachine.support.files import write

    require_page_file(Path(file))
    if step is not None:
        position = inspect(run).position_of(step)
    with consent(yes):
        write(Path(file), html(run, command, position))


def require_page_file(file: Path) -> None:
    """Require a name that a page can be written to: a new one, which ends in .html or .htm.

    Raises:
        UsageError: If it is not one.
    """
    from softmachine.support.files import require_new, require_suffix

    require_suffix(file, ".html", ".htm")
    require_new(file)


@validated
def gallery(folder: str | Path, *, tell: Tell = nobody) -> list[Path]:
    """Write pages of some runs of the zoo, and an index of them; the files that were written.

    Args:
        folder: A new folder.
        tell: Is told what is being done.
    """
    from softmachine.inspection.page import EXHIBITS, html, index
    from softmachine.support.files import new_folder, require_new, write

    folder, pages, shown = Path(folder), {}, []
    require_new(folder)
    for item in EXHIBITS:
        tell(f"making the page of {item.title}")
        found = run(item.source, item.word, theorem=item.theorem, attention=item.attention)
        pages[item.file] = html(found, item.command)
        shown.append((item, found.model.source.language, found.verdict or "goes on"))
    with new_folder(folder) as new:
        for file, text in (*pages.items(), ("index.html", index(shown))):
            write(new / file, text)
    return [folder / file for file in pages]


@validated
def picture(
    shown: Run | Model, *, position: int | None = None, step: int | None = None, attention: bool | str = False
) -> Picture:
    """A picture for a paper or a slide, as SVG: of one step of a run, of attention patterns, or of a model's board.

    Args:
        shown: A run, or a model.
        position: The position of the run; by default the last one.
        step: The same as a step of the source language.
        attention: What all heads of a run looked at up to there, or what the head of this name did.
    """
    from softmachine.inspection.svg import attention_picture, board_picture, step_picture

    if isinstance(shown, Model):
        return board_picture(shown.weights)
    inspection = inspect(shown)
    if step is not None:
        position = inspection.position_of(step)
    where = -1 if position is None else position
    if attention:
        return attention_picture(inspection, attention if isinstance(attention, str) else None, where)
    return step_picture(inspection, where)
