"""Round trip of sources through saved models."""

from __future__ import annotations

from softmachine.languages.formats import source_from, source_text
from softmachine.languages.source import Source


def assert_kept(source: Source) -> None:
    """Check that printing and parsing a source preserves it, including its name and suggested input."""
    again = source_from(source.language, source.name, source_text(source))
    assert type(again) is type(source)
    assert again == source
    assert (again.name, again.alphabet, again.default_input) == (source.name, source.alphabet, source.default_input)
