"""Signals of the summarising decoder: parsing a summary, deciding when to write one, and writing it."""

from __future__ import annotations

from dataclasses import dataclass

from softmachine.ir import Signal, named, relu, stack
from softmachine.ir.gadgets import all_of, broadcast, exists, kept, occurs
from softmachine.ir.ranges import BIT, SIGN
from softmachine.languages.turing import Verdict
from softmachine.theorems.turing.ternary.cells import Read
from softmachine.theorems.turing.ternary.codec import Cell, Mark, Meaning, State
from softmachine.theorems.turing.ternary.embedding import Positions, Words, agreement


@dataclass(frozen=True)
class Phase:
    """Whether a token belongs to the prompt or to the run: both may contain a summary.

    Args:
        prompt_ends: A bit: whether the prompt ends with this token.
        late: A bit: whether the prompt has ended.
        told_early: A bit: whether this token is the state in the prompt.
        told_late: A bit: whether this token is the state in the summary at the end of the run.
        ended: A bit: whether the machine has stopped.
    """

    prompt_ends: Signal
    late: Signal
    told_early: Signal
    told_late: Signal
    ended: Signal


def phase_of(words: Words, positions: Positions) -> Phase:
    """Compute the phase of every token."""

    def seen(name: str, where: Signal) -> Signal:
        return positions.retrieved(name, exists(name, where))

    prompt_ends, state = words.flag("prompt ends", Mark.BEGIN, Mark.END_SUMMARY), words.flag("is summary state", State)
    late = seen("in the run", prompt_ends)
    return Phase(
        prompt_ends,
        late,
        told_early=relu("state in the prompt", state - late).known(BIT),
        told_late=all_of("state in the run", state, late),
        ended=seen("verdict is given", words.flag("verdict", Verdict)),
    )


def beginnings(words: Words, positions: Positions, phase: Phase) -> list[Signal]:
    """Flags of the tokens where counting of cells starts, in increasing priority: input, prompt, output or summary."""
    told_late = (words.flag("verdict", Verdict) + phase.told_late).known(BIT)
    if not words.codec.two_way:
        return [positions.sink, phase.told_early, told_late]
    goes_left = words.flag("LEFT", Mark.LEFT)
    left_early = relu("left in the prompt", goes_left - phase.late).known(BIT)
    left_late = all_of("left in the run", goes_left, phase.late)
    return [positions.sink, phase.told_early, left_early, told_late, left_late]


def told_at_the_end(words: Words, positions: Positions, phase: Phase, counted: Signal) -> tuple[list[Signal], Signal]:
    """The cells of the heads and the state, at the end of a prompt that is a summary; else empty."""
    ends = words.flag("ESUMM", Mark.END_SUMMARY)

    def at_end(name: str, where: Signal, read: Signal) -> Signal:
        return kept(name, positions.retrieved(name, broadcast(name, [positions.sink, where], read)), ends)

    own = named("own cell", positions.fetched("own cell", positions.previous, named("counted", counted)))
    heads = []
    for k in words.tapes:
        here = relu(words.name("head in the prompt", k), words.head_here(k) - phase.late).known(BIT)
        heads.append(at_end(words.name("head in the summary", k), here, own))
    return heads, at_end("state in the summary", phase.told_early, words.told_state)


def is_full(positions: Positions, phase: Phase) -> Signal:
    """A bit: whether the run is at least three times as long as the position P of the prompt's end.

    The token at position 4P detects it (its bits are those of P, shifted by two), and all later ones attend to it.
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
    """Whether each head is on the next cell of a summary; and at the SUMM of the run, the last state."""
    closing = relu("summary begins", words.flag("SUMM", Mark.SUMMARY) - positions.sink).known(BIT)

    def before(name: str, what: str, read: Signal) -> Signal:
        return named(name, kept(name, positions.fetched(what, positions.previous, read), closing))

    heads = []
    for k in words.tapes:
        last = before(words.name("last head", k), words.name("last head", k), head[k])
        name = words.name("head on the next cell", k)
        heads.append(positions.retrieved(name, occurs(name, head[k], last, positions.sink)))
    return heads, before("state to write", "last state", state)


def summary_logits(
    words: Words, phase: Phase, read: list[Read], on_next: list[Signal], state: Signal, left: Signal
) -> dict[Meaning, Signal]:
    """The logits while a summary is written: the state, a column, LEFT or ESUMM."""
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
        on = relu(words.name("head to write", k), here[k] + more - 1)
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
