"""What a summarising ternary decoder has more: it reads summaries, knows when to write one, and writes it."""

from __future__ import annotations

from collections.abc import Callable

from softmachine.languages.turing import Verdict
from softmachine.signals import Signal, constant, named, relu, stack
from softmachine.signals.gadgets import all_of, broadcast, exists, kept, occurs
from softmachine.signals.kinds import BIT, SIGN
from softmachine.theorems.ternary.tokens import Cell, Mark, Output, State
from softmachine.theorems.ternary.words import Words

Fetch = Callable[[str, Signal, Signal], Signal]


class Summary:
    """The signals of a summarising decoder.

    Args:
        words: What tokens say.
        cleaned: What becomes of a retrieved signal: itself, or rounded.
        sink: The bit that is 1 at position 0.
    """

    def __init__(self, words: Words, cleaned: Callable[[Signal, str], Signal], sink: Signal) -> None:
        self.words, self.cleaned, self.sink = words, cleaned, sink
        self.ends = words.flag("prompt ends", Mark.BEGIN, Mark.END_SUMMARY)
        self.late = cleaned(exists("in the run", self.ends), "in the run")
        summary = words.flag("SUMM", Mark.SUMMARY)
        self.closing = relu("summary begins", summary - sink).known(BIT)
        told = words.flag("told", State)
        self.told_early = relu("told in the prompt", told - self.late).known(BIT)
        self.told_late = all_of("told in the run", told, self.late)
        self.heads: list[Signal] = []
        self.state = constant(0)
        self._told_next = constant(0)
        self._is_full = constant(0)
        self._head_next: list[Signal] = []

    def beginnings(self, sink: Signal, ends: Signal, goes_left: Signal) -> list[Signal]:
        """Where cells are counted from, the later the higher: the input, the prompt's cells, the output or summary."""
        counted = (ends + self.told_late).known(BIT)
        if not self.words.codec.two_way:
            return [sink, self.told_early, counted]
        left_early = relu("left in the prompt", goes_left - self.late).known(BIT)
        left_late = all_of("left in the run", goes_left, self.late)
        return [sink, self.told_early, left_early, counted, left_late]

    def read_prompt(self, previous: Signal, counted: Signal, fetched: Fetch) -> None:
        """At the end of a summary: the state, and the cells of the heads."""
        words = self.words
        ends = words.flag("ESUMM", Mark.END_SUMMARY)
        told = self.cleaned(broadcast("state told", [self.sink, self.told_early], words.told_state), "state told")
        self.state = kept("state told", told, ends)
        own = named("own cell", fetched("own cell", previous, named("counted", counted)))
        for k in words.tapes:
            here = relu(words.name("head in the prompt", k), words.head_here(k) - self.late).known(BIT)
            name = words.name("head told", k)
            self.heads.append(kept(name, self.cleaned(broadcast(name, [self.sink, here], own), name), ends))

    def capped(self, place: Signal) -> Signal:
        """A bit: whether the run is at least three times as long as the position P of the prompt's end.

        The token at position 4P finds that out (its bits are those of P, two higher), and all later ones see it.
        """
        bits = len(place)
        end = self.cleaned(broadcast("end of the prompt", [self.sink, self.ends], place), "end of the prompt")
        shifted, low = place[2:], stack(place[:2], end[bits - 2 :])
        less = relu("P and i/4: less", end[: bits - 2] - shifted - 1)
        more = relu("P and i/4: more", shifted - end[: bits - 2] - 1)
        differ = less.total + more.total
        here = relu("at position 4P", self.late - low.total - differ - 4).known(BIT)
        self._is_full = named("full", self.cleaned(exists("full", here), "full"))
        return self._is_full

    def full(self, runs: Signal) -> Signal:
        """A bit: whether a summary is due after this step."""
        return all_of("summary is due", runs, self._is_full)

    def find_last(self, state: Signal, head: list[Signal], previous: Signal, fetched: Fetch) -> None:
        """At the closing SUMM, the state and the cells of the heads after the last step.

        So the state can be told next, and every column sees whether a head is on the cell that comes after it.
        """
        words = self.words
        last_state = kept("state to tell", fetched("last state", previous, state), self.closing)
        self._told_next = named("state to tell", last_state)
        for k in words.tapes:
            name = words.name("last head", k)
            last = named(name, kept(name, fetched(name, previous, head[k]), self.closing))
            name = words.name("head on the next cell", k)
            self._head_next.append(self.cleaned(occurs(name, head[k], last, self.sink), name))

    def printing(self, two_way: bool) -> Signal:
        """A bit: whether the output is being printed, not a summary."""
        words = self.words
        prints = words.flag("prints", Verdict, Output)
        if not two_way:
            return prints
        verdict = words.flag("verdict", Verdict)
        self._ended = self.cleaned(exists("verdict is given", verdict), "verdict is given")
        turned = all_of("left of the output", words.flag("LEFT", Mark.LEFT), self._ended)
        return (prints + turned).known(BIT)

    def written(
        self, read: list[Signal], found: list[Signal], left: Signal, fired: Signal, full: Signal, two_way: bool
    ) -> tuple[Signal, Signal, dict[Mark, Signal]]:
        """The next column of a summary, the state to tell, and the marks: SUMM, LEFT, ESUMM."""
        words = self.words
        columns = all_of("column in the run", words.flag("column", Cell), self.late)
        writing = self.told_late + columns
        if two_way:
            goes_left = words.flag("LEFT", Mark.LEFT)
            turned = relu("left of the summary", goes_left + self.late - 1 - self._ended).known(BIT)
            writing = writing + turned
        writing = named("summary is written", writing.known(BIT))
        here = stack(*self._head_next)
        missing = relu("no more columns", writing - stack(*found).total - here.total).known(BIT)
        more = (writing - missing).known(BIT)
        parts = []
        for k in words.tapes:
            on = relu(words.name("head to tell", k), here[k] + more - 1)
            parts += [kept(words.name("column", k), read[k], more), (2 * on - more).known(SIGN)]
        column = named("column to write", stack(*parts).known(SIGN))
        marks = {Mark.SUMMARY: all_of("summary comes", full, fired), Mark.END_SUMMARY: missing}
        if two_way:
            marks[Mark.END_SUMMARY] = all_of("summary ends", missing, left)
            marks[Mark.LEFT] = relu("summary goes left", missing - left).known(BIT)
        return column, self._told_next, marks
