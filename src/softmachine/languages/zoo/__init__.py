"""The zoo: machines that come with softmachine, as ordinary text files with samples of what they do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from softmachine.languages.formats import parse, text_of
from softmachine.languages.source import Source

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["Entry", "Sample", "entries", "find", "suggest"]

INDEX = "index.yaml"


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One run of a machine.

    Args:
        input: The input, as text.
        verdict: "accept", "reject" or "halt"; None if the machine does not stop.
        output: What is on the first tape at the end; None if it is too long to be listed.
        steps: How many steps are made.
        max_steps: Where the run is cut off, if the machine does not stop.
    """

    input: str
    verdict: str | None
    output: str | None = None
    steps: int
    max_steps: int | None = None


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A machine of the zoo.

    Args:
        name: What to call it at the command line.
        about: What it does, in one line.
        file: Its file, from the folder of the zoo on.
        samples: Some runs of it.
    """

    name: str
    about: str
    file: str
    samples: tuple[Sample, ...]

    def read(self) -> str:
        """The text of its file."""
        return text_of(_folder().joinpath(*self.file.split("/")).read_bytes(), source=self.file)

    def load(self) -> Source:
        """What its file describes."""
        return parse(self.read(), source=f"zoo/{self.file}", name=self.name)


def entries() -> tuple[Entry, ...]:
    """All of the zoo, in the order of the index."""
    return tuple(map(_entry, _texts()))


def find(name: str) -> Entry | None:
    """The entry of this name, if there is one."""
    return _entry(name) if name in _texts() else None


def suggest(name: str) -> tuple[str, ...]:
    """Names in the zoo that are similar to one that is not there, the most similar first."""
    return tuple(get_close_matches(name.lower(), _texts()))


@cache
def _texts() -> dict[str, str]:
    """The lines of each entry in the index, by name. All of them together take YAML half a second."""
    index = _folder().joinpath(INDEX).read_text(encoding="utf-8")
    return {text.split()[2]: text for text in re.split("^(?=- name: )", index, flags=re.MULTILINE)[1:]}


@cache
def _entry(name: str) -> Entry:
    # Imported late because importing yaml takes long.
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C where it is there, which takes a tenth of the time
    (fields,) = yaml.load(_texts()[name], Loader=loader)
    return Entry(**{**fields, "samples": tuple(Sample(**sample) for sample in fields["samples"])})


def _folder() -> Traversable:
    return files(__name__)
