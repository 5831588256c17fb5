"""Signals of the summarising decoder: parsing a summary, deciding when to write one, and writing it."""

from __future__ import annotations

from dataclasses import dataclass

from softmachine.ir import Signal, named, relu, stack
from softmachine.ir.gadgets import all_of, exists, fetch_highest_ranked, keep_where, register_occurs
from softmachine.ir.ranges import BIT, SIGN
from softmachine.languages.turing import Verdict
from softmachine.theorems.turing.ternary.cells import ReadSymbols
from softmachine.theorems.turing.ternary.codec import Marker, Meaning, SummaryCell, SummaryState
from softmachine.theorems.turing.ternary.embedding import PositionRegisters, TokenRegisters, agreement_logit


@dataclass(frozen=True)
class PhaseFlags:
    """Whether a token belongs to the prompt or to the run: both may contain a summary.

    Args:
        is_prompt_end: A bit: whether the prompt ends with this token.
        is_run: A bit: whether the prompt has ended.
        in_prompt_summary: A bit: whether this token is the state in the prompt.
        in_run_summary: A bit: whether this token is the state in the summary at the end of the run.
        has_ended: A bit: whether the machine has stopped.
    """

    is_prompt_end: Signal
    is_run: Signal
    in_prompt_summary: Signal
    in_run_summary: Signal
    has_ended: Signal


def phase_flags(words: TokenRegisters, positions: PositionRegisters) -> PhaseFlags:
    """Compute the phase of every token."""

    def seen(name: str, where: Signal) -> Signal:
        return positions.round_output(name, exists(name, where))

    prompt_ends, state = (
        words.flag("prompt ends", Marker.BEGIN, Marker.END_SUMMARY),
        words.flag("is summary state", SummaryState),
    )
    late = seen("in the run", prompt_ends)
    return PhaseFlags(
        prompt_ends,
        late,
        in_prompt_summary=relu("state in the prompt", state - late).with_range(BIT),
        in_run_summary=all_of("state in the run", state, late),
        has_ended=seen("verdict is given", words.flag("verdict", Verdict)),
    )


def counting_starts(words: TokenRegisters, positions: PositionRegisters, phase: PhaseFlags) -> list[Signal]:
    """Flags of the tokens where counting of cells starts, in increasing priority: input, prompt, output or summary."""
    told_late = (words.flag("verdict", Verdict) + phase.in_run_summary).with_range(BIT)
    if not words.codec.two_way:
        return [positions.sink, phase.in_prompt_summary, told_late]
    goes_left = words.flag("LEFT", Marker.LEFT)
    left_early = relu("left in the prompt", goes_left - phase.is_run).with_range(BIT)
    left_late = all_of("left in the run", goes_left, phase.is_run)
    return [positions.sink, phase.in_prompt_summary, left_early, told_late, left_late]


def summarised_prompt(
    words: TokenRegisters, positions: PositionRegisters, phase: PhaseFlags, counted: Signal
) -> tuple[list[Signal], Signal]:
    """The cells of the heads and the state, at the end of a prompt that is a summary; else empty."""
    ends = words.flag("ESUMM", Marker.END_SUMMARY)

    def at_end(name: str, where: Signal, read: Signal) -> Signal:
        return keep_where(
            name, positions.round_output(name, fetch_highest_ranked(name, [positions.sink, where], read)), ends
        )

    own = named("own cell", positions.fetch_previous("own cell", named("counted", counted)))
    heads = []
    for k in words.tapes:
        here = relu(words.tape_name("head in the prompt", k), words.head_here(k) - phase.is_run).with_range(BIT)
        heads.append(at_end(words.tape_name("head in the summary", k), here, own))
    return heads, at_end("state in the summary", phase.in_prompt_summary, words.summarised_state)


def summary_is_due(positions: PositionRegisters, phase: PhaseFlags) -> Signal:
    """A bit: whether the run is at least three times as long as the position P of the prompt's end.

    The token at position 4P detects it (its bits are those of P, shifted by two), and all later ones attend to it.
    """
    here, highest = positions.here, len(positions.here) - 2
    name = "end of the prompt"
    end = positions.round_output(name, fetch_highest_ranked(name, [positions.sink, phase.is_prompt_end], here))
    quarter, low = here[2:], stack(here[:2], end[highest:])
    less = relu("P and i/4: less", end[:highest] - quarter - 1)
    more = relu("P and i/4: more", quarter - end[:highest] - 1)
    differ = less.total + more.total
    at_4p = relu("at position 4P", phase.is_run - low.total - differ - 4).with_range(BIT)
    return named("full", positions.round_output("full", exists("full", at_4p)))


def cells_at_heads(
    words: TokenRegisters, positions: PositionRegisters, state: Signal, head: list[Signal]
) -> tuple[list[Signal], Signal]:
    """Whether each head is on the next cell of a summary; and at the SUMM of the run, the last state."""
    closing = relu("summary begins", words.flag("SUMM", Marker.SUMMARY) - positions.sink).with_range(BIT)

    def before(name: str, what: str, read: Signal) -> Signal:
        return named(name, keep_where(name, positions.fetch_previous(what, read), closing))

    heads = []
    for k in words.tapes:
        last = before(words.tape_name("last head", k), words.tape_name("last head", k), head[k])
        name = words.tape_name("head on the next cell", k)
        heads.append(positions.round_output(name, register_occurs(name, head[k], last, positions.sink)))
    return heads, before("state to write", "last state", state)


def summary_logits(
    words: TokenRegisters,
    phase: PhaseFlags,
    read: list[ReadSymbols],
    on_next: list[Signal],
    state: Signal,
    left: Signal,
) -> dict[Meaning, Signal]:
    """The logits while a summary is written: the state, a column, LEFT or ESUMM."""
    two_way = words.codec.two_way
    writing = phase.in_run_summary + all_of("column in the run", words.flag("column", SummaryCell), phase.is_run)
    if two_way:
        goes_left = words.flag("LEFT", Marker.LEFT)
        writing = writing + relu("left of the summary", goes_left + phase.is_run - 1 - phase.has_ended).with_range(BIT)
    writing = named("summary is written", writing.with_range(BIT))
    here = stack(*on_next)
    missing = relu(
        "no more columns", writing - stack(*(item.was_written for item in read)).total - here.total
    ).with_range(BIT)
    more = (writing - missing).with_range(BIT)
    parts = []
    for k in words.tapes:
        on = relu(words.tape_name("head to write", k), here[k] + more - 1)
        parts += [keep_where(words.tape_name("column", k), read[k].symbol, more), (2 * on - more).with_range(SIGN)]
    column = named("column to write", stack(*parts).with_range(SIGN))

    logits: dict[Meaning, Signal] = {Marker.END_SUMMARY: missing}
    if two_way:
        logits[Marker.END_SUMMARY] = all_of("summary ends", missing, left)
        logits[Marker.LEFT] = relu("summary goes left", missing - left).with_range(BIT)
    for meaning in words.codec.meanings.values():
        if isinstance(meaning, SummaryState):
            logits[meaning] = agreement_logit(state, words.state_code[meaning.state])
        if isinstance(meaning, SummaryCell):
            logits[meaning] = agreement_logit(column, words.cell_code(meaning))
    return logits
