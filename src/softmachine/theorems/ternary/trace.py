"""What a run of a machine is in the tokens of the ternary constructions, from the reference interpreter.

Written to be obviously right: the networks are held to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from softmachine.languages.turing import Action, Configuration, step
from softmachine.theorems.shared.turing_tokens import Given
from softmachine.theorems.ternary.tokens import Bits, Cell, Ending, Mark, Meaning, Output, State, TernaryCodec


@dataclass(frozen=True)
class Segment:
    """One context: the prompt, and what the decoder says."""

    prompt: tuple[Meaning, ...]
    said: tuple[Meaning, ...]


def segments(codec: TernaryCodec, word: str | Iterable[str], max_steps: int) -> Iterator[Segment]:
    """The contexts of a run, up to a step limit; the last one ends with END if the machine stops by then."""
    machine = codec.machine
    symbols = machine.word(word)
    configuration = Configuration.initial(machine, symbols)
    used = [(0, len(symbols))] + [(0, 0)] * (machine.tapes - 1)
    prompt: tuple[Meaning, ...] = (Mark.INPUT, *map(Given, symbols), Mark.BEGIN)
    while True:
        said, ended = _segment(codec, configuration, used, len(prompt) - 1, max_steps)
        yield Segment(prompt, tuple(said))
        if ended or said[-1:] != [Mark.END_SUMMARY]:
            return
        prompt = tuple(said[max(k for k, meaning in enumerate(said) if meaning is Mark.SUMMARY) :])


def _segment(
    codec: TernaryCodec, configuration: Configuration, used: list[tuple[int, int]], prompt_end: int, max_steps: int
) -> tuple[list[Meaning], bool]:
    """What is said in one context, and whether the machine stopped; ``used`` is the stretch of each tape in use."""
    said: list[Meaning] = []
    since = 0
    while isinstance(action := step(codec.machine, configuration), Action):
        if since and codec.summarises and len(said) >= 3 * prompt_end:
            said += _summary(codec, configuration, used)
            return said, False
        if since == codec.bits:
            said += _positions(codec, configuration)
            since = 0
        if configuration.steps >= max_steps:
            return said, False
        for tape, head in enumerate(configuration.heads):
            low, high = used[tape]
            used[tape] = (min(low, head), max(high, head + 1))
        configuration.apply(action)
        said.append(action)
        since += 1
    said.append(codec.machine.verdict(configuration.state))
    return [*said, *_output(codec, configuration, used[0]), Mark.END], True


def _positions(codec: TernaryCodec, configuration: Configuration) -> Iterator[Meaning]:
    yield Mark.POSITION
    for bit in range(codec.bits):
        yield Bits(tuple(head >> bit & 1 for head in configuration.heads))
    yield Mark.END_POSITION


def _output(codec: TernaryCodec, configuration: Configuration, used: tuple[int, int]) -> Iterator[Meaning]:
    low, high = used
    for cell in range(high):
        symbol = configuration.cells[0].get(cell, configuration.blank)
        if codec.ending is Ending.WORD and symbol == configuration.blank:
            break
        yield Output(symbol)
    if codec.two_way:
        yield Mark.LEFT
        for cell in range(-1, low - 1, -1):
            yield Output(configuration.cells[0].get(cell, configuration.blank))


def _summary(codec: TernaryCodec, configuration: Configuration, used: list[tuple[int, int]]) -> Iterator[Meaning]:
    def column(cell: int) -> Cell:
        symbols = tuple(cells.get(cell, configuration.blank) for cells in configuration.cells)
        return Cell(symbols, tuple(head == cell for head in configuration.heads))

    low = min([low for low, _ in used] + configuration.heads)
    high = max([high for _, high in used] + [head + 1 for head in configuration.heads])
    yield Mark.SUMMARY
    yield State(configuration.state)
    yield from map(column, range(high))
    if codec.two_way:
        yield Mark.LEFT
        yield from map(column, range(-1, low - 1, -1))
    yield Mark.END_SUMMARY
    for tape in range(codec.machine.tapes):
        used[tape] = (low, high)
