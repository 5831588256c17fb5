"""Live view of a Turing machine: the last configurations, one per line, with cells in columns."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from softmachine.cli.output import escape_unprintable
from softmachine.languages.turing import Action, Configuration, TapeContents, TapeConvention, TuringMachine
from softmachine.support.token_array import CodedSequence

MAX_NAME = 16
"""Maximum characters of names of states and symbols; longer ones are cut."""
LEFT_MARGIN = 6
"""Cells shown to the left of those visited, if they fit."""
MIN_LEAP = 1000
"""More tokens than this are applied in one call."""
HEAD, BLANK, LABEL = "bold reverse", "dim", "dim"


@runtime_checkable
class TapeCodec(Protocol):
    """A codec whose tokens are actions of a Turing machine."""

    @property
    def machine(self) -> TuringMachine:
        """The machine."""

    @property
    def meanings(self) -> Mapping[str, object]:
        """The meanings of tokens."""

    @property
    def has_initial_token(self) -> bool:
        """Whether the first token of a run is the initial configuration, not an action."""


@dataclass(frozen=True, slots=True)
class _StepUndo:
    """The state, heads and symbols under them before a step, to undo it."""

    state: str
    heads: tuple[int, ...]
    symbols: tuple[str, ...]


class _TapeWindow:
    """The visible window of a tape. It moves only when the head leaves it, which keeps columns aligned."""

    def __init__(self, *, left_end: bool) -> None:
        self.left_end = left_end
        self.left: int | None = None

    def first_visible(self, head: int, reach: tuple[int, int], cells: int) -> int:
        """Return the first of ``cells`` visible cells: all visited ones, if they fit, else those around the head."""
        low, high = reach
        free = cells - (high + 1 - low)
        first, last = reach if free >= 0 else (head, head)
        if self.left is None or not self.left <= first <= last < self.left + cells:
            self.left = low - min(free // 2, LEFT_MARGIN) if free >= 0 else head - cells // 2
        if self.left_end:
            self.left = max(self.left, 0)
        return self.left


class TapeView:
    """All tapes of a machine, updated token by token.

    Args:
        codec: The codec.
        word: The input.
        remember: Number of past steps to keep.
    """

    def __init__(self, codec: TapeCodec, word: str | Sequence[str], remember: int) -> None:
        machine = codec.machine
        symbols = machine.word(word)
        self._machine = machine
        self.meanings: Mapping[str, object] = codec.meanings
        self.tapes = range(machine.tapes)
        self.configuration = Configuration.initial(machine, symbols)
        self._past: deque[_StepUndo] = deque(maxlen=remember)
        self._begun = not codec.has_initial_token
        self._reach = [(0, max(len(symbols) - 1, 0) if k == 0 else 0) for k in self.tapes]
        self._cameras = [_TapeWindow(left_end=machine.tape is not TapeConvention.TWO_WAY) for _ in self.tapes]
        self._symbol_width = min(max(cell_len(_shown(symbol)) for symbol in machine.symbols), MAX_NAME)
        self._state_width = min(max(cell_len(escape_unprintable(state)) for state in machine.states), MAX_NAME)

    def apply(self, token: str) -> bool:
        """Apply a token; return whether it is an action. If the codec ``announces``, the first action has no effect."""
        action = self.meanings[token]
        if not isinstance(action, Action):
            return False
        if self._begun:
            now = self.configuration
            self._past.append(_StepUndo(now.state, tuple(now.heads), now.read_symbols()))
            now.apply(action)
            self._reach = [
                (min(low, head), max(high, head)) for (low, high), head in zip(self._reach, now.heads, strict=True)
            ]
        self._begun = True
        return True

    def apply_all(self, tokens: Sequence[str]) -> None:
        """Apply many tokens; the last ones one by one, so that they can be shown as steps."""
        quick = len(tokens) - (self._past.maxlen or 0) - 1
        if isinstance(tokens, CodedSequence) and quick > MIN_LEAP and self._begun:
            self._leap(tokens[:quick])
            tokens = tokens[quick:]
        for token in tokens:
            self.apply(token)

    def _leap(self, tokens: CodedSequence[str]) -> None:
        """Apply many actions in one call; other tokens have no effect."""
        from softmachine.languages.turing.jit_interpreter import replay

        actions = tokens.map_items(lambda name: found if isinstance(found := self.meanings[name], Action) else None)
        now = self.configuration
        replay(self._machine, now, tuple(actions.names), actions.code_arrays())
        self._past.clear()
        for k, (low, high) in enumerate(self._reach):
            contents = TapeContents.from_cells(now.cells[k], now.blank)
            written = (now.heads[k], contents.first, contents.first + max(len(contents.symbols) - 1, 0))
            self._reach[k] = (min(low, *written), max(high, *written))

    def rows(self, width: int, height: int) -> Sequence[Text]:
        """Return the last configurations, the latest at the bottom, with one line per tape."""
        cells = self._cells(width - self._label_width)
        lefts = [self._first_visible(k, cells) for k in self.tapes]
        found: list[list[Text]] = []
        for step, state, heads, views in self._backwards(lefts, cells):
            if (len(found) + 1) * len(self.tapes) > max(height, len(self.tapes)):
                break
            label = self._label(step, state)
            lines = [self._format_cells(k, views[k], lefts[k], heads[k]) for k in self.tapes]
            found.append([Text.assemble(label if k == 0 else " " * len(label), lines[k]) for k in self.tapes])
        return [line for lines in reversed(found) for line in lines]

    def line(self, width: int) -> Text:
        """Return the latest configuration, with its tapes side by side."""
        cells = self._cells((width - self._label_width) // len(self.tapes))
        now = self.configuration
        text = self._label(now.steps, now.state)
        for k in self.tapes:
            left = self._first_visible(k, cells)
            view = [now.cells[k].get(cell, now.blank) for cell in range(left, left + cells)]
            text.append("" if k == 0 else "│").append_text(self._format_cells(k, view, left, now.heads[k]))
        text.rstrip()
        return text

    @property
    def _label_width(self) -> int:
        return 8 + self._state_width + 1

    def _cells(self, width: int) -> int:
        """Return the number of cells that fit, with an ellipsis on each side."""
        return max((width - 3) // (self._symbol_width + 2), 1)

    def _first_visible(self, tape: int, cells: int) -> int:
        return self._cameras[tape].first_visible(self.configuration.heads[tape], self._reach[tape], cells)

    def _label(self, step: int, state: str) -> Text:
        return Text.assemble((f"{step:>6}  ", LABEL), _fit_columns(escape_unprintable(state), self._state_width), " ")

    def _backwards(self, lefts: list[int], cells: int) -> Iterator[tuple[int, str, Sequence[int], list[list[str]]]]:
        """Yield the visible part of each configuration from the latest back, by undoing each step."""
        now = self.configuration
        views = [[now.cells[k].get(cell, now.blank) for cell in range(lefts[k], lefts[k] + cells)] for k in self.tapes]
        yield now.steps, now.state, now.heads, views
        for back, before in enumerate(reversed(self._past), 1):
            for k in self.tapes:
                index = before.heads[k] - lefts[k]
                if 0 <= index < cells:
                    views[k][index] = before.symbols[k]
            yield now.steps - back, before.state, before.heads, views

    def _format_cells(self, tape: int, view: list[str], left: int, head: int) -> Text:
        """Format the visited cells in view, with the one under the head in brackets."""
        low, high = self._reach[tape]
        text = Text.assemble(("…" if low < left else " ", LABEL))
        for cell, symbol in enumerate(view, left):
            shown = _fit_columns(_shown(symbol), self._symbol_width)
            if cell == head:
                text.append(f"[{shown}]", style=HEAD)
            elif low <= cell <= high:
                text.append(f" {shown} ", style=BLANK if symbol == self.configuration.blank else "")
            else:
                text.append(" " * (self._symbol_width + 2))
        return text.append("…" if high >= left + len(view) else " ", style=LABEL)


def _fit_columns(name: str, width: int) -> str:
    """Pad or cut a name to a number of columns."""
    return set_cell_size(name, width - 1) + "…" if cell_len(name) > width else set_cell_size(name, width)


def _shown(symbol: str) -> str:
    return "␣" if symbol == " " else escape_unprintable(symbol)
