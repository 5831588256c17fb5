"""The public function that loads: sources from wherever they are, and saved models."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from softmachine.compiler.model import Model
from softmachine.languages.source import Extensible, Source, with_two_letters
from softmachine.support.arguments import validated
from softmachine.support.errors import UsageError


@validated
def load(
    source: str | Path | Source | Model,
    format: str | None = None,  # noqa: A002
    *,
    alphabet: str | Iterable[str] | None = None,
) -> Source | Model:
    """A zoo name, a file, a string in a one-line format, or a folder that :func:`save` wrote.

    Args:
        source: What to load; what is loaded already is taken as it is.
        format: The name of its format; by default it is recognised.
        alphabet: For a formula: more symbols that words may have.

    Raises:
        SourceError: If it cannot be read.
        UsageError: If it is nothing that could be.
    """
    item = _read(source, format) if isinstance(source, str | Path) else source
    return item if alphabet is None else extended(item, alphabet)


def load_for_many_words(
    source: str | Path | Source | Model, format_name: str | None = None, alphabet: str | Iterable[str] | None = None
) -> Source | Model:
    """The same to try many words on: a formula has at least two letters, if nothing is said about its alphabet."""
    item = load(source, format_name, alphabet=alphabet)
    return item if isinstance(item, Model) or alphabet is not None else with_two_letters(item)


def source_of(item: Source | Model) -> Source:
    """What was loaded, or what it was compiled from."""
    return item.source if isinstance(item, Model) else item


def _read(source: str | Path, format_name: str | None) -> Source | Model:
    folder = saved_folder(source)
    if folder:
        from softmachine.exports import native

        return native.load(folder)
    from softmachine.theorems.read_source import read_source

    return read_source(str(source), format_name)


def saved_folder(source: str | Path) -> Path | None:
    """The folder of a saved model, if the source is one; a path to a folder is taken for one."""
    from softmachine.exports.manifest import is_saved

    folder = Path(source)
    try:
        meant = is_saved(folder) or (isinstance(source, Path) and folder.is_dir())
    except (OSError, ValueError):  # a one-line source can be longer than a path may be
        return None
    return folder if meant else None


def extended(item: Source | Model, alphabet: str | Iterable[str]) -> Source:
    """A formula over more symbols: characters of a text, or its words if there are blanks in it.

    Raises:
        UsageError: If it is no formula.
    """
    if not isinstance(item, Extensible):
        raise UsageError("--alphabet is for formulas; other sources say themselves what an input may have")
    if not isinstance(alphabet, str):
        return item.extended(alphabet)
    return item.extended(alphabet.split() if " " in alphabet.strip() else alphabet.strip())
