"""The last step of the ternary constructions: from the state and the symbols read to the token that comes next."""

from __future__ import annotations

from dataclasses import dataclass

from softmachine.languages.turing import Action, Tape, Verdict
from softmachine.signals import Signal, constant, named, relu, stack, weighted
from softmachine.signals.gadgets import all_of, is_place_zero, kept, matches
from softmachine.signals.kinds import BIT, SIGN
from softmachine.theorems.ternary.summary import Summary
from softmachine.theorems.ternary.tokens import Bits, Cell, Ending, Mark, Output, State
from softmachine.theorems.ternary.words import Words, agreement


@dataclass(frozen=True)
class Situation:
    """What is known at every position before the transition.

    Args:
        state: The state, at the tokens that decide what the machine does.
        head: For each tape, the cell that is looked at: the head's, or the next one to be told.
        read: For each tape, the symbol in it.
        found: For each tape, whether anything was ever written to it.
        due: Whether the heads' cells are to be spelled next.
        complete: Whether they have just been spelled.
        spelled: The next bit of each head's cell.
        left: Whether cells are told to the left of cell 0.
    """

    state: Signal
    head: list[Signal]
    read: list[Signal]
    found: list[Signal]
    due: Signal
    complete: Signal
    spelled: Signal
    left: Signal


class Next:
    """The logits.

    Args:
        words: What tokens say.
        summary: What a summarising decoder has more.
        now: What is known.
    """

    def __init__(self, words: Words, summary: Summary | None, now: Situation) -> None:
        self.words, self.summary, self.now = words, summary, now
        self.codec, self.machine, self.tapes = words.codec, words.machine, words.tapes

    def logits(self, runs: Signal) -> dict[str, Signal]:
        """What comes next: of each token, how well it agrees with what is to be emitted. The best wins by 1."""
        words, codec, machine, now = self.words, self.codec, self.machine, self.now
        summary, state, read, found, left = self.summary, now.state, now.read, now.found, now.left
        at_end = [
            named(words.name("at cell 0", k), is_place_zero(words.name("at cell 0", k), now.head[k]))
            for k in self.tapes
        ]
        fired, action = self.transition(state, read, at_end)
        active = words.flag("decides", Action, Mark.BEGIN, Mark.END_POSITION, Mark.END_SUMMARY)
        stopped = named("no rule applies", (active - fired).known(BIT))
        capped = summary.full(runs) if summary else constant(0)
        goes_on = (1 - now.due - capped).known(BIT)
        emitted = self.held_back(kept("next", action, goes_on), action, at_end, goes_on)

        printing = words.flag("prints", Verdict, Output, Mark.LEFT)
        if summary:
            printing = summary.printing(codec.two_way)
        if codec.ending is Ending.WORD:
            missing = matches("no more output", read[0], words.symbol_code[machine.blank], off=1 - printing)
        else:
            missing = relu("no more output", printing - found[0]).known(BIT)
        output = named("output", kept("output", read[0], (printing - missing).known(BIT)))
        ended, turned = missing, constant(0)
        if codec.two_way:
            ended = all_of("output ends", missing, left)
            turned = relu("output goes left", missing - left).known(BIT)

        marks = {
            Mark.POSITION: all_of("block begins", now.due, fired),
            Mark.END_POSITION: now.complete,
            Mark.END: ended,
            Mark.LEFT: turned,
        }
        column = told = constant(0)
        if summary:
            column, told, more = summary.written(read, found, left, fired, capped, codec.two_way)
            marks[Mark.LEFT] = turned + more.pop(Mark.LEFT, constant(0))
            marks |= more
        verdicts = self.verdicts(state, stopped)
        logits: dict[str, Signal] = {}
        for token, meaning in codec.meanings.items():
            match meaning:
                case Action():
                    logits[token] = agreement(emitted, words.action_code(meaning))
                case Bits():
                    logits[token] = agreement(now.spelled, [2 * bit - 1 for bit in meaning.bits])
                case Verdict():
                    logits[token] = verdicts[meaning]
                case Output():
                    logits[token] = agreement(output, words.symbol_code[meaning.symbol])
                case State():
                    logits[token] = agreement(told, words.state_code[meaning.state])
                case Cell():
                    logits[token] = agreement(column, words.cell_code(meaning))
                case Mark() if meaning in marks:
                    logits[token] = marks[meaning]
        return logits

    def transition(self, state: Signal, read: list[Signal], at_end: list[Signal]) -> tuple[Signal, Signal]:
        """Whether a rule applies, and the code of the action it takes: one unit a rule."""
        words, machine = self.words, self.machine
        situation = stack(state, *read)
        width = len(words.action_code(words.codec.actions[0])) if machine.rules else 1
        units: list[Signal] = []
        action: list[list[tuple[int, Signal]]] = [[] for _ in range(width)]
        for rule in machine.rules:
            wanted = (
                *words.state_code[rule.state],
                *(sign for symbol in rule.read for sign in words.symbol_code[symbol]),
            )
            lefts = [at_end[k] for k in self.tapes if rule.move[k] == "L" and machine.tape is Tape.ERROR]
            unit = matches(str(rule), situation, wanted, off=stack(*lefts) if lefts else None)
            units.append(unit)
            signs = words.action_code(Action(rule.next, rule.write, rule.move))
            for part, sign in zip(action, signs, strict=True):
                part.append((sign, unit))
        fired = named("a rule applies", weighted([(1, unit) for unit in units], 0, BIT))
        return fired, named("action", stack(*(weighted(parts, 0, SIGN) for parts in action)))

    def held_back(self, kept_action: Signal, action: Signal, at_end: list[Signal], goes_on: Signal) -> Signal:
        """The action, with moves to the left held back at an end where the head stays: L = (-1, -1), S = (1, -1)."""
        parts = [kept_action[k] for k in range(len(kept_action))]
        if self.machine.tape is Tape.STAY and self.machine.rules:
            first = len(action) - 2 * len(self.tapes)
            for k in self.tapes:
                held = relu(self.words.name("held back", k), at_end[k] - action[first + 2 * k] + goes_on - 2)
                parts[first + 2 * k] = parts[first + 2 * k] + 2 * held
        return named("next action", stack(*parts).known(SIGN))

    def verdicts(self, state: Signal, stopped: Signal) -> dict[Verdict, Signal]:
        """For each verdict, whether it comes next: the machine has stopped in one of its states."""
        machine, result = self.machine, {}
        kinds = self.codec.verdicts
        rest = stopped
        for verdict in kinds[1:]:
            states = [q for q in machine.states if machine.verdict(q) is verdict]
            inside = stack(*(matches(f"in {q}", state, self.words.state_code[q]) for q in states)).total
            result[verdict] = all_of(f"{verdict}", stopped, named(f"{verdict} state", inside.known(BIT)))
            rest = rest - result[verdict]
        return {kinds[0]: rest, **result}
