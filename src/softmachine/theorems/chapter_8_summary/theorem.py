"""Chapter 8 with summaries: a Turing machine for ever, in a context that grows with the space it uses, not the time.

Theorem 8.2 as in :mod:`softmachine.theorems.chapter_8`, with prompts that are configurations: what a cell holds is read
off the prompt, if no later token wrote to it, and a head starts as far to the right as there are columns before it.
Cell c of the prompt stands at position c + 1; that number is its place. When the run is three times as long as its
prompt, the decoder writes the next prompt: the columns from the leftmost to the rightmost place in use.

Needs: average-hard attention, position features i, i² and 1/(i+1); one set of weights for every length and every space.
Costs: 8 layers for one tape, one more for every other; one token a step, and in every segment a column for every cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from softmachine.languages.turing import Action, Tape, TuringMachine, Verdict
from softmachine.signals import Program, Signal, Vocabulary, attend, constant, named, position, relu, stack
from softmachine.signals.gadgets import (
    Located,
    Row,
    Squared,
    all_of,
    at_least,
    broadcast,
    exists,
    first_of,
    first_position,
    gate,
    here,
    latest,
    locate,
    lookup,
    mean,
    previous,
    table,
    where_zero,
)
from softmachine.signals.kinds import BIT
from softmachine.theorems.chapter_8.theorem import NOTHING, Move, action_labels, held_back, moved, on_tape
from softmachine.theorems.chapter_8_summary.tokens import Begin, Column, Meaning, Start, SummaryCodec
from softmachine.theorems.shared.turing_tokens import Given
from softmachine.theorems.theorem import Theorem
from softmachine.transformer.features import INVERSE, I


def signals(codec: SummaryCodec) -> Program:
    """The decoder of a machine."""
    return _Decoder(codec).program()


@dataclass(frozen=True)
class _Dump:
    """What is known while a summary is written.

    Args:
        going_on: A bit: whether a column comes next.
        ending: A bit: whether the summary ends next.
        symbol: For each tape, the symbol of that column.
        before: For each tape, whether the head is further to the right.
        state: The state to go on in.
    """

    going_on: Signal
    ending: Signal
    symbol: list[Signal]
    before: list[Signal]
    state: Signal


class _Decoder:
    def __init__(self, codec: SummaryCodec) -> None:
        self.codec, self.machine = codec, codec.machine
        self.tapes = range(codec.machine.tapes)
        self.tokens: Vocabulary[Meaning] = Vocabulary(codec.meanings)
        self.two_way = codec.machine.tape is Tape.TWO_WAY
        self.runs = self.tokens.bit("step", lambda token: isinstance(token, Action))
        self.first = first_position("position 0")

    def name(self, what: str, tape: int) -> str:
        return on_tape(self.machine, what, tape)

    def program(self) -> Program:
        """The proof."""
        machine, tokens, tapes = self.machine, self.tokens, self.tapes

        # Steps 1 and 2 as in chapter 8: the places of the heads, and of the cells that tokens wrote to.
        state = tokens.onehot("state", machine.states, _state)
        told = [tokens.onehot(self.name("told", k), machine.symbols, _told(k)) for k in tapes]
        wrote = [tokens.onehot(self.name("wrote", k), machine.symbols, _wrote(k)) for k in tapes]
        move = [Move(tokens, machine, k, _moved) for k in tapes]
        shares = mean("mean of moves", stack(*(part.value for part in move)))
        head, cell = [], []
        for k in tapes:
            share = shares[k] + position(INVERSE)  # the place of cell 0 is 1
            head.append(self.located("head", k, share, told[k]))
            cell.append(self.located("cell", k, share - move[k].share).number)

        # Step 3. The symbols under the heads: the latest write, or what the prompt tells, or a blank.
        symbol = [self.symbol(k, "symbol", head[k].number, head[k].read, cell[k], wrote[k]) for k in tapes]

        # Step 4. The transition; and a summary, if the run is long enough.
        at_end = [relu(self.name("at left end", k), 2 - head[k].number.value).known(BIT) for k in tapes]
        rows = list(self.rows(state, symbol, at_end))
        labels = tuple(dict.fromkeys(label for row in rows for label in row.outputs))
        following = table("next", (*labels, "rule"), rows)
        dump = self.dump(head, cell, told, wrote, state)
        return tokens.program(machine.name, self.logits(following, state, dump), margin=Fraction(1))

    def located(self, what: str, tape: int, share: Signal, read: Signal = NOTHING) -> Located:
        name = self.name(what, tape)
        return locate(name, named(f"{name}/(i+1)", share), read, negative=self.two_way)

    def symbol(self, tape: int, what: str, at: Squared, told: Signal, cell: Squared, wrote: Signal) -> Signal:
        """The symbol at a place: the latest that was written there, or what the prompt tells, or a blank."""
        name = self.name(what, tape)
        last = latest(f"last write for {name}", stack(cell.value, wrote), where=self.runs, equal=(cell, at))
        bits = last[1:].known(BIT).labelled(self.machine.symbols, exclusive=True)
        written = where_zero(f"written {name}", bits, last[0] - at.value)
        untouched = gate(f"untouched {name}", told, off=written.total)
        return first_of(name, written, untouched, labels=self.machine.symbols, default=self.machine.blank)

    def rows(self, state: Signal, symbol: list[Signal], at_end: list[Signal]) -> Iterator[Row]:
        """One row a rule: what is emitted where it applies; at a left end, several."""
        for rule in self.machine.rules:
            read = (state[rule.state], *(symbol[k][rule.read[k]] for k in self.tapes))
            for conditions, move in held_back(self.machine, rule, at_end):
                labels = action_labels(Action(rule.next, rule.write, move))
                yield Row(str(rule), (*read, *conditions), ("rule", *labels))

    def dump(
        self, head: list[Located], cell: list[Squared], told: list[Signal], wrote: list[Signal], state: Signal
    ) -> _Dump:
        """The next column: SUMM sees how far the heads have been, and every column counts from there."""
        tokens = self.tokens
        begins = tokens.bit("prompt ends", lambda token: isinstance(token, Begin))
        summary = tokens.bit("SUMM", lambda token: token == Start(summary=True))
        closing = relu("summary begins", summary - self.first).known(BIT)
        late = exists("in the run", begins)
        column = all_of("column in the run", tokens.bit("column", lambda token: isinstance(token, Column)), late)
        end = broadcast("prompt's end", [self.first, begins], position(I))
        reached = [named(self.name("reached", k), head[k].number.value + self.first) for k in self.tapes]
        low = constant(1)
        if self.two_way:
            lows = [
                attend(self.name("lowest", k), query=constant(1), key=-reached[k], value=reached[k], gap=1, single=True)
                for k in self.tapes
            ]
            low = self.least("lowest", [constant(1), *lows])
        highs = [
            attend(self.name("highest", k), query=constant(1), key=reached[k], value=reached[k], gap=1, single=True)
            for k in self.tapes
        ]
        high = -self.least("highest", [1 - end, *(-item for item in highs)])
        last_state = previous("last state", state)
        kept = stack(position(I), low, high, *(head[k].number.value for k in self.tapes), last_state)
        seen = broadcast("summary's beginning", [self.first, closing], kept)
        since, low, high, heads = seen[0], seen[1], seen[2], seen[3 : 3 + len(head)]
        place = named("next place", low + position(I) - since)
        writing = (closing + column).known(BIT)
        room = at_least("a column is left", high - place, 0)
        going_on = all_of("a column comes", writing, room)
        at, found = self.square(place, told)
        symbols = [self.symbol(k, "told symbol", at, found[k], cell[k], wrote[k]) for k in self.tapes]
        before = [at_least(self.name("head further right", k), heads[k] - place, 1) for k in self.tapes]
        self.due = at_least("three times the prompt", position(I) - 4 * end, 0)
        return _Dump(
            going_on=going_on,
            ending=relu("summary ends", writing - room).known(BIT),
            symbol=symbols,
            before=before,
            state=seen[3 + len(head) :].known(BIT).labelled(self.machine.states, exclusive=True),
        )

    def least(self, name: str, numbers: list[Signal]) -> Signal:
        """The least of integers: a - ReLU(a - b), again and again."""
        least = numbers[0]
        for index, number in enumerate(numbers[1:], 1):
            least = named(f"{name} of {index + 1}", least - relu(f"{name}: more than {index}", least - number))
        return least

    def square(self, place: Signal, told: list[Signal]) -> tuple[Squared, list[Signal]]:
        """A place with its square, and what the prompt tells of it."""
        own = here()
        found = lookup("next place", place, stack(own.value, own.square, *told))
        value, square, read = found[0], found[1], found[2:]
        if self.two_way:
            mirrored = lookup("-next place", -place, stack(own.value, own.square))
            value, square = value - mirrored[0], square + mirrored[1]
        size = len(self.machine.symbols)
        parts = [
            read[k * size : (k + 1) * size].known(BIT).labelled(self.machine.symbols, exclusive=True)
            for k in self.tapes
        ]
        named_parts = [named(self.name("told at the next place", k), part) for k, part in enumerate(parts)]
        return Squared(named("place", value), named("place²", square)), named_parts

    def logits(self, following: Signal, state: Signal, dump: _Dump) -> dict[str, Signal]:
        """The logits: a summary 4, an action 2, a verdict 1, a column or the end of a summary 2 or 3."""
        machine = self.machine
        full = all_of("summary comes", self.runs, self.due, following["rule"])
        column: dict[tuple[int, object], Signal] = {}
        for k in self.tapes:
            shut = 1 - dump.going_on
            symbols = gate(self.name("column", k), dump.symbol[k], off=shut)
            column |= {(k, symbol): symbols[symbol] for symbol in machine.symbols}
            column[k, True] = gate(self.name("column before", k), dump.before[k], off=shut)
            column[k, False] = gate(self.name("column not before", k), 1 - dump.before[k], off=shut)
        told = gate("state to go on in", dump.state, off=1 - dump.ending)
        logits: dict[str, Signal] = {}
        for token, meaning in self.codec.meanings.items():
            match meaning:
                case Action():
                    parts = [following[label] for label in action_labels(meaning)]
                    logits[token] = 2 * (stack(*parts).total - (len(parts) - 1))
                case Verdict():
                    logits[token] = state.among([q for q in machine.states if machine.verdict(q) is meaning])
                case Start(summary=True):
                    logits[token] = 4 * full
                case Begin():
                    logits[token] = 3 * told[meaning.state]
                case Column():
                    parts = [column[k, symbol] for k, symbol in enumerate(meaning.symbols)]
                    parts += [column[k, here_before] for k, here_before in enumerate(meaning.before)]
                    logits[token] = 2 * (stack(*parts).total - (len(parts) - 1))
        return logits


def _state(token: Meaning) -> str | None:
    return token.state if isinstance(token, Action | Begin) else None


def _moved(token: Meaning, tape: int) -> str | None:
    """How a token moves the head; a column before the head moves it to the right."""
    if isinstance(token, Column):
        return "R" if token.before[tape] else None
    return moved(token, tape)


def _told(tape: int) -> Callable[[Meaning], str | None]:
    def told(token: Meaning) -> str | None:
        if isinstance(token, Column):
            return token.symbols[tape]
        return token.symbol if isinstance(token, Given) and tape == 0 else None

    return told


def _wrote(tape: int) -> Callable[[Meaning], str | None]:
    return lambda token: token.write[tape] if isinstance(token, Action) else None


THEOREMS = (
    Theorem(
        "chapter-8-summary",
        "Theorem 8.2 with summaries: the run goes on from the configuration, in a context as long as the space",
        "Chiang, Theorem 8.2, with the summaries of Brösamle and Eckstein",
        "position features i, i², 1/(i+1); nothing of the length",
        "7 + K layers for K tapes; one token a step, and in every segment a column for every cell in use",
        TuringMachine,
        ("hard",),
        codec=lambda machine, _: SummaryCodec(machine),
        signals=lambda codec, _: signals(codec),
        steps=(
            "A prompt is a configuration: a head starts as far to the right as there are columns before it.",
            "Inside a segment the run is that of Theorem 8.2; what a cell holds is read off the prompt at first.",
            "When the run is three times as long as its prompt, the next prompt is written, column by column.",
        ),
        rank=2,
    ),
)
