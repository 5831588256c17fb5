"""The zoo: sources that ship with softmachine, as ordinary text files with sample runs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from softmachine.languages.formats import decode_source, parse
from softmachine.languages.source import Source

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["ZooEntry", "SampleRun", "list_entries", "find_entry", "names"]

INDEX_FILE = "index.yaml"


@dataclass(frozen=True, kw_only=True)
class SampleRun:
    """One run of a source.

    Args:
        input: The input, as text.
        verdict: "accept", "reject" or "halt"; None if the machine does not halt.
        output: The contents of the first tape at the end; None if it is too long to be listed.
        steps: The number of steps.
        max_steps: The step limit, if the machine does not halt.
    """

    input: str
    verdict: str | None
    output: str | None = None
    steps: int
    max_steps: int | None = None


@dataclass(frozen=True, kw_only=True)
class ZooEntry:
    """A source of the zoo.

    Args:
        name: Its name on the command line.
        about: A one-line description.
        file: Its file, relative to the folder of the zoo.
        samples: Sample runs.
    """

    name: str
    about: str
    file: str
    samples: tuple[SampleRun, ...]

    def read_text(self) -> str:
        """Read the text of its file."""
        return decode_source(_folder().joinpath(*self.file.split("/")).read_bytes(), source=self.file)

    def load(self) -> Source:
        """Parse its file."""
        return parse(self.read_text(), source=f"zoo/{self.file}", name=self.name)


def list_entries() -> tuple[ZooEntry, ...]:
    """All entries of the zoo, in the order of the index."""
    return tuple(map(_entry, _index_texts()))


def find_entry(name: str) -> ZooEntry | None:
    """The entry with this name, if there is one."""
    return _entry(name) if name in _index_texts() else None


def names() -> tuple[str, ...]:
    """The names of all entries, without parsing them."""
    return tuple(_index_texts())


@cache
def _index_texts() -> dict[str, str]:
    """The lines of each entry in the index, by name. Parsing the whole index as YAML takes half a second."""
    index = _folder().joinpath(INDEX_FILE).read_text(encoding="utf-8")
    return {text.split()[2]: text for text in re.split("^(?=- name: )", index, flags=re.MULTILINE)[1:]}


@cache
def _entry(name: str) -> ZooEntry:
    # Imported here because importing yaml is slow.
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C loader, where available, is ten times as fast
    (fields,) = yaml.load(_index_texts()[name], Loader=loader)
    return ZooEntry(**{**fields, "samples": tuple(SampleRun(**sample) for sample in fields["samples"])})


def _folder() -> Traversable:
    return files(__name__)
