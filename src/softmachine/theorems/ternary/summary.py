"""What a summarising decoder has more: it reads summaries, knows when to write one, and writes it."""

from __future__ import annotations

from dataclasses import dataclass

from softmachine.ir import Signal, named, relu, stack
from softmachine.ir.gadgets import all_of, broadcast, exists, kept, occurs
from softmachine.ir.kinds import BIT, SIGN
from softmachine.languages.turing import Verdict
from softmachine.theorems.ternary.cells import Read
from softmachine.theorems.ternary.embedding import Positions, Words, agreement
from softmachine.theorems.ternary.tokens import Cell, Mark, Meaning, State


@dataclass(frozen=True)
class Phase:
    """Whether a token belongs to the prompt or to the run: both may have a summary.

    Args:
        prompt_ends: A bit: whether the prompt ends with this token.
        late: A bit: whether the prompt has ended.
        told_early: A bit: whether this token is the state in the prompt.
        told_late: A bit: whether it is the state in the summary that the run ends with.
        ended: A bit: whether the machine has stopped.
    """

    prompt_ends: Signal
    late: Signal
    told_early: Signal
    told_late: Signal
    ended: Signal


def phase_of(words: Words, positions: Positions) -> Phase:
    """Where in its segment every token stands."""

    def seen(name: str, where: Signal) -> Signal:
        return positions.retrieved(name, exists(name, where))

    prompt_ends, told = words.flag("prompt ends", Mark.BEGIN, Mark.END_SUMMARY), words.flag("told", State)
    late = seen("in the run", prompt_ends)
    return Phase(
        prompt_ends,
        late,
        told_early=relu("told in the prompt", told - late).known(BIT),
        told_late=all_of("told in the run", told, late),
        ended=seen("verdict is given", words.flag("verdict", Verdict)),
    )


def beginnings(words: Words, positions: Positions, phase: Phase) -> list[Signal]:
    """Where cells are counted from, the later the higher: the input, the prompt's cells, the output or summary."""
    told_late = (words.flag("verdict", Verdict) + phase.told_late).known(BIT)
    if not words.codec.two_way:
        return [positions.sink, phase.told_early, told_late]
    goes_left = words.flag("LEFT", Mark.LEFT)
    left_early = relu("left in the prompt", goes_left - phase.late).known(BIT)
    left_late = all_of("left in the run", goes_left, phase.late)
    return [positions.sink, phase.told_early, left_early, told_late, left_late]


def told_at_the_end(words: Words, positions: Positions, phase: Phase, counted: Signal) -> tuple[list[Signal], Signal]:
    """The cells of the heads and the state, at the end of a prompt that is a summary; else none."""
    ends = words.flag("ESUMM", Mark.END_SUMMARY)

    def at_end(name: str, where: Signal, read: Signal) -> Signal:
        return kept(name, positions.retrieved(name, broadcast(name, [positions.sink, where], read)), ends)

    own = named("own cell", positions.fetched("own cell", positions.previous, named("counted", counted)))
    heads = []
    for k in words.tapes:
        here = relu(words.name("head in the prompt", k), words.head_here(k) - phase.late).known(BIT)
        heads.append(at_end(words.name("head told", k), here, own))
    return heads, at_end("state told", phase.told_early, words.told_state)


def is_full(positions: Positions, phase: Phase) -> Signal:
    """A bit: whether the run is at least three times as long as the position P of the prompt's end.

    The token at position 4P finds that out (its bits are those of P, two higher), and all later ones see it.
    """
    here, highest = positions.here, len(positions.here) - 2
    name = "end of the prompt"
    end = positions.retrieved(name, broadcast(name, [positions.sink, phase.prompt_ends], here))
    quarter, low = here[2:], stack(here[:2], end[highest:])
    less = relu("P and i/4: less", end[:highest] - quarter - 1)
    more = relu("P and i/4: more", quarter - end[:highest] - 1)
    differ = less.total + more.total
    at_4p = relu("at position 4P", phase.late - low.total - differ - 4).known(BIT)
    return named("full", positions.retrieved("full", exists("full", at_4p)))


def last_step(words: Words, positions: Positions, state: Signal, head: list[Signal]) -> tuple[list[Signal], Signal]:
    """Whether each head is on the cell that comes next in a summary; and at the SUMM of the run, the last state."""
    closing = relu("summary begins", words.flag("SUMM", Mark.SUMMARY) - positions.sink).known(BIT)

    def before(name: str, what: str, read: Signal) -> Signal:
        return named(name, kept(name, positions.fetched(what, positions.previous, read), closing))

    heads = []
    for k in words.tapes:
        last = before(words.name("last head", k), words.name("last head", k), head[k])
        name = words.name("head on the next cell", k)
        heads.append(positions.retrieved(name, occurs(name, head[k], last, positions.sink)))
    return heads, before("state to tell", "last state", state)


def summary_logits(
    words: Words, phase: Phase, read: list[Read], on_next: list[Signal], state: Signal, left: Signal
) -> dict[Meaning, Signal]:
    """While a summary is written, what comes next: the state, a column, LEFT or ESUMM."""
    two_way = words.codec.two_way
    writing = phase.told_late + all_of("column in the run", words.flag("column", Cell), phase.late)
    if two_way:
        goes_left = words.flag("LEFT", Mark.LEFT)
        writing = writing + relu("left of the summary", goes_left + phase.late - 1 - phase.ended).known(BIT)
    writing = named("summary is written", writing.known(BIT))
    here = stack(*on_next)
    missing = relu("no more columns", writing - stack(*(item.found for item in read)).total - here.total).known(BIT)
    more = (writing - missing).known(BIT)
    parts = []
    for k in words.tapes:
        on = relu(words.name("head to tell", k), here[k] + more - 1)
        parts += [kept(words.name("column", k), read[k].symbol, more), (2 * on - more).known(SIGN)]
    column = named("column to write", stack(*parts).known(SIGN))

    logits: dict[Meaning, Signal] = {Mark.END_SUMMARY: missing}
    if two_way:
        logits[Mark.END_SUMMARY] = all_of("summary ends", missing, left)
        logits[Mark.LEFT] = relu("summary goes left", missing - left).known(BIT)
    for meaning in words.codec.meanings.values():
        if isinstance(meaning, State):
            logits[meaning] = agreement(state, words.state_code[meaning.state])
        if isinstance(meaning, Cell):
            logits[meaning] = agreement(column, words.cell_code(meaning))
    return logits
