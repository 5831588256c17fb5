"""View of a run in terms of its source: the source text with its active lines, and a picture of the state.

``Codec.run_view`` returns this view. Code that displays it handles these kinds of pictures and is independent of the
source language.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias


@dataclass(frozen=True, kw_only=True)
class TapesPicture:
    """Tapes with heads, and the effect of tokens on them.

    Args:
        blank: The symbol of cells that are not listed.
        state: The state before the first shown token.
        cells: The contents of each tape at that time, by cell.
        heads: The cell under each head.
        steps: Number of steps made until then.
        actions: For each token that is a step: the next state, and for each tape the written symbol and the head move
            (-1, 0 or 1).
        announced: Whether the first of these tokens only states where the run starts.
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
class CountersPicture:
    """Counters, and the effect of tokens on them.

    Args:
        state: The state before the first shown token.
        counters: The values of the counters at that time.
        steps: Number of steps made until then.
        actions: For each token that is a step: the next state, and the change of each counter.
    """

    kind: ClassVar[str] = "counters"
    state: str
    counters: Mapping[str, int]
    steps: int
    actions: Mapping[str, tuple[str, Mapping[str, int]]]


@dataclass(frozen=True, kw_only=True)
class RowsPicture:
    """A word aligned with rows of values.

    Args:
        first: The position of the first symbol.
        word: The symbols, one per position.
        rows: Named rows: one value per symbol; None where there is no value.
    """

    kind: ClassVar[str] = "rows"
    first: int
    word: Sequence[str]
    rows: Sequence[tuple[str, Sequence[bool | int | str | None]]]


@dataclass(frozen=True, kw_only=True)
class WiresPicture:
    """A circuit with the values of its wires.

    Args:
        wires: For each wire: its name, its driver, its level, its value, and the input wires of its gate.
        outputs: The output wires.
        positions: Index of the wire at each position; -1 where there is none.
    """

    kind: ClassVar[str] = "wires"
    wires: Sequence[tuple[str, str, int, bool, Sequence[int]]]
    outputs: Sequence[int]
    positions: Sequence[int]


@dataclass(frozen=True, kw_only=True)
class GraphPicture:
    """A graph, and the vertices that each position represents.

    Args:
        vertices: The names of the vertices.
        edges: Pairs of vertex indices.
        directed: Whether edges are directed.
        asked: The query vertices of the input.
        reached: For each vertex, the vertices reachable from it.
        positions: The vertices that each position represents, in order.
    """

    kind: ClassVar[str] = "network"
    vertices: Sequence[str]
    edges: Sequence[tuple[int, int]]
    directed: bool
    asked: Sequence[int]
    reached: Sequence[Sequence[int]]
    positions: Sequence[Sequence[int]]


Picture: TypeAlias = TapesPicture | CountersPicture | RowsPicture | WiresPicture | GraphPicture


@dataclass(frozen=True)
class RunView:
    """Source listing and picture of a run.

    Args:
        lines: The lines of the source text.
        active_lines: Index of the active line at each shown position; None where no line is active.
        line_names: The name that each line defines, if any: attention heads of that name belong to the line.
        picture: The picture; None if only tokens are shown.
        focus_position: The position selected initially; None for the first generated position.
    """

    lines: Sequence[str]
    active_lines: Sequence[int | None] = ()
    line_names: Sequence[str | None] = ()
    picture: Picture | None = None
    focus_position: int | None = None


@dataclass(frozen=True)
class TokenWindow:
    """A window of a context.

    Args:
        tokens: The tokens of the window.
        first: The position of the first token.
        generated: Number of tokens at the end that the model generated; the others belong to the prompt.
        generated_before: The tokens that the model generated before the window, in this context and all earlier ones.
    """

    tokens: Sequence[str]
    first: int = 0
    generated: int = 0
    generated_before: Sequence[str] = field(default=())
