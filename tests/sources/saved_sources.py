"""What a saved model keeps of its source."""

from __future__ import annotations

from softmachine.languages.formats import source_from, source_text
from softmachine.languages.source import Source


def assert_kept(source: Source) -> None:
    """A source that is written as text and read again is the same, with its name and the input it suggests."""
    again = source_from(source.language, source.name, source_text(source))
    assert type(again) is type(source)
    assert again == source
    assert (again.name, again.alphabet, again.default_input) == (source.name, source.alphabet, source.default_input)
