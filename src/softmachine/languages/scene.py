"""What a run looks like in the terms of its source: the text with the lines in force, and a picture beside it.

A codec says what is seen (``Codec.scene``); who shows it knows these few pictures, and no language.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias


@dataclass(frozen=True, kw_only=True)
class Tapes:
    """Tapes with heads, and what tokens do to them.

    Args:
        blank: The symbol of a cell that is not listed.
        state: The state before the first token that is shown.
        cells: What is on each tape then, by cell.
        heads: The cell that each head is on.
        steps: How many steps were made by then.
        actions: Of the tokens that are steps: the next state, and for each tape what is written and -1, 0 or 1 for how
            its head moves.
        announced: Whether the first of these tokens only says where the run starts.
    """

    kind: ClassVar[str] = "tapes"
    blank: str
    state: str
    cells: Sequence[Mapping[int, str]]
    heads: Sequence[int]
    steps: int
    actions: Mapping[str, tuple[str, tuple[str, ...], tuple[int, ...]]]
    announced: bool = False


@dataclass(frozen=True, kw_only=True)
class Counters:
    """Counters, and what tokens add to them.

    Args:
        state: The state before the first token that is shown.
        counters: The counters then.
        steps: How many steps were made by then.
        actions: Of the tokens that are steps: the next state, and what is added to which counter.
    """

    kind: ClassVar[str] = "counters"
    state: str
    counters: Mapping[str, int]
    steps: int
    actions: Mapping[str, tuple[str, Mapping[str, int]]]


@dataclass(frozen=True, kw_only=True)
class Rows:
    """A word with values under it.

    Args:
        first: The position of the first symbol.
        word: The symbols, one a position.
        rows: What is computed, by name: a value for every symbol; None where there is none.
    """

    kind: ClassVar[str] = "rows"
    first: int
    word: Sequence[str]
    rows: Sequence[tuple[str, Sequence[bool | int | str | None]]]


@dataclass(frozen=True, kw_only=True)
class Wires:
    """A circuit with what its wires hold.

    Args:
        wires: Each wire: its name, what drives it, its level, what it holds, and the wires that its gate reads.
        outputs: The wires that are the result.
        positions: The wire at each position, by its number; -1 where there is none.
    """

    kind: ClassVar[str] = "wires"
    wires: Sequence[tuple[str, str, int, bool, Sequence[int]]]
    outputs: Sequence[int]
    positions: Sequence[int]


@dataclass(frozen=True, kw_only=True)
class Network:
    """A graph, and which vertices a position speaks of.

    Args:
        vertices: Their names.
        edges: Pairs of vertices, by number.
        directed: Whether an edge leads one way only.
        asked: The vertices that the input names.
        reached: Of each vertex, which others can be reached from it.
        positions: The vertices that each position speaks of, one after the other.
    """

    kind: ClassVar[str] = "network"
    vertices: Sequence[str]
    edges: Sequence[tuple[int, int]]
    directed: bool
    asked: Sequence[int]
    reached: Sequence[Sequence[int]]
    positions: Sequence[Sequence[int]]


Picture: TypeAlias = Tapes | Counters | Rows | Wires | Network


@dataclass(frozen=True)
class Scene:
    """The source as people read it, and a picture of the run.

    Args:
        lines: The source, line by line.
        active: The line in force at each position that is shown, by its number; None where none is.
        names: What a line defines, if it does: a head of that name belongs to it.
        picture: What else is seen; None if there is nothing but tokens.
        focus: The position to look at first; None if that is where the model begins to speak.
    """

    lines: Sequence[str]
    active: Sequence[int | None] = ()
    names: Sequence[str | None] = ()
    picture: Picture | None = None
    focus: int | None = None


@dataclass(frozen=True)
class Stretch:
    """A part of a context that is shown.

    Args:
        tokens: Its tokens.
        first: The position of the first one.
        said: How many of the last ones were said by the model; the others were given.
        before: What the model said before these, in this context and all earlier ones.
    """

    tokens: Sequence[str]
    first: int = 0
    said: int = 0
    before: Sequence[str] = field(default=())
