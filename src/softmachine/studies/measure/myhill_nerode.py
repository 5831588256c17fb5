"""Myhill–Nerode classes of the slices of a language: sizes of minimal automata for words of one length.

The slice L_n consists of the words of L of length n. Two prefixes of the same length are *equivalent* for L_n if they
have the same continuations in it (Myhill and Nerode). The number of classes, over all prefix lengths, is the size of
the minimal automaton that decides L on words of length n: one state per prefix length and class, including the class
without any continuation.

Languages recognised by C-RASP without relations, with or without chain of thought, have slices with polynomially many
classes: a program depends on a prefix only through its counts, which are at most n (Lemma 4.2 of "Softmax Transformers
are Turing-Complete"). A language whose slices have exponentially many classes, such as the palindromes, is therefore
not recognised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from softmachine.languages.words import words_from, words_of_lengths
from softmachine.studies.measure.growth_laws import GrowthFit, fit_growth
from softmachine.support.errors import UsageError
from softmachine.support.figures import curve_styles, open_figure
from softmachine.support.resources import CostForecast
from softmachine.support.text import pluralize

MAX_WORDS = 1 << 20
"""Maximum number of words of a slice."""
MAX_PRINTED_LENGTH = 50
"""Maximum length for which messages print the number of words in digits."""


@dataclass(frozen=True)
class MyhillNerodeSlice:
    """The Myhill–Nerode classes of the words of one length.

    Args:
        length: The length of the words.
        words: Number of words in the language.
        classes: Number of classes of prefixes, for prefixes of length 0 … length.
    """

    length: int
    words: int
    classes: tuple[int, ...]

    @property
    def num_states(self) -> int:
        """The number of classes over all prefix lengths: the states of the minimal automaton."""
        return sum(self.classes)

    @property
    def width(self) -> int:
        """The largest number of classes of prefixes of one length."""
        return max(self.classes)


def compute_slices(
    accepts: Callable[[tuple[str, ...]], bool], alphabet: Sequence[str], lengths: Iterable[int]
) -> Iterator[MyhillNerodeSlice]:
    """Yield the slices of a language at some lengths.

    Args:
        accepts: Whether a word is in the language.
        alphabet: The letters of words.
        lengths: The lengths.

    Raises:
        UsageError: If there are too many words of a length.
    """
    wanted = require_enumerable(len(alphabet), lengths)
    forecast = forecast_deciding(len(alphabet), wanted)

    def truth() -> Iterator[bool]:
        for done, word in enumerate(iterate_words(alphabet, wanted)):
            forecast.check(done)
            yield bool(accepts(word))

    return slices_from_verdicts(truth(), len(alphabet), wanted)


def require_enumerable(letters: int, lengths: Iterable[int]) -> list[int]:
    """Return the lengths, after checking the number of words.

    Raises:
        UsageError: If there are too many words of one of them.
    """
    wanted = list[int]()
    for length in lengths:
        if len(wanted) == MAX_WORDS or letters ** min(length, MAX_WORDS) > MAX_WORDS:
            number = f"{letters**length:,}" if length <= MAX_PRINTED_LENGTH else f"{letters}^{length}"
            message = f"there are {number} words of length {length}, too many to enumerate"
            raise UsageError(message, hint=f"at most {MAX_WORDS:,} are allowed; use lengths up to {length - 1}")
        wanted.append(length)
    return wanted


def forecast_deciding(letters: int, lengths: Sequence[int], workers: int = 1, known: int = 0) -> CostForecast:
    """Return a forecast of deciding all words that are not yet known, updated after the first ones."""
    total = sum(letters**length for length in lengths)
    return CostForecast(
        total - known, f"deciding {pluralize(total, 'word')}", hint="use a smaller maximum length", workers=workers
    )


def iterate_words(
    alphabet: Sequence[str], lengths: Sequence[int], start: int = 0, stop: int | None = None
) -> Iterator[tuple[str, ...]]:
    """Yield the words of these lengths in lexicographic order, between two indices."""
    every = words_of_lengths(lengths, partial(words_from, alphabet), lambda length: len(alphabet) ** length, start)
    return islice(every, None if stop is None else stop - start)


def slices_from_verdicts(verdicts: Iterator[bool], letters: int, lengths: Sequence[int]) -> Iterator[MyhillNerodeSlice]:
    """Yield the slices at these lengths, given for every word in order whether it is in the language."""
    return (_slice(list(islice(verdicts, letters**length)), letters, length) for length in lengths)


def _slice(truth: list[bool], letters: int, length: int) -> MyhillNerodeSlice:
    """Compute the slice of a language, given for every word in lexicographic order whether it is in it."""
    # The class of a prefix is determined by the classes of its extensions by one letter.
    classes = [int(value) for value in truth]
    numbers = [len(set(classes))]
    for _ in range(length):
        known: dict[tuple[int, ...], int] = {}
        groups = (tuple(classes[start : start + letters]) for start in range(0, len(classes), letters))
        classes = [known.setdefault(group, len(known)) for group in groups]
        numbers.append(len(known))
    return MyhillNerodeSlice(length, sum(truth), tuple(reversed(numbers)))


def format_slices(found: Sequence[MyhillNerodeSlice]) -> str:
    """Format slices as a table."""
    lines = [f"{'length':>6}  {'words':>9}  {'classes':>9}  {'widest':>9}"]
    lines += [f"{each.length:>6}  {each.words:>9,}  {each.num_states:>9,}  {each.width:>9,}" for each in found]
    return "\n".join(lines)


FITTED_SEQUENCE = "the largest number of classes up to each length, neighbours averaged"
"""The sequence that the growth law is fitted to; see :mod:`softmachine.studies.measure.growth_laws`."""


def fit_class_growth(found: Sequence[MyhillNerodeSlice]) -> GrowthFit | None:
    """Fit the growth of the number of classes; None if there are too few slices."""
    return fit_growth({each.length: each.num_states for each in found})


def format_growth(found: Sequence[MyhillNerodeSlice]) -> str:
    """Format the growth of the number of classes, and the sequence that was fitted."""
    grown = fit_class_growth(found)
    if grown is None:
        return f"{pluralize(len(found), 'slice')} are too few for a growth law"
    return f"fitted: {FITTED_SEQUENCE};\na description of these numbers, not a proof\nclasses: {grown}"


def draw_slices(name: str, found: Sequence[MyhillNerodeSlice], file: Path) -> None:
    """Plot the number of Myhill–Nerode classes of slices against their length, twice.

    With a logarithmic axis for the classes, exponentials are straight lines; with two, powers are.

    Args:
        name: The name of the language.
        found: The slices.
        file: The file to write.

    Raises:
        UsageError: If matplotlib is missing, or the file exists, has another extension or cannot be written.
    """
    with open_figure(file, 10, 4.2) as figure:
        left, right = figure.subplots(1, 2)
        grown = fit_class_growth(found)
        law = "" if grown is None else f": {grown.law}"
        figure.suptitle(f"Myhill–Nerode classes of the slices of {name}{law}")
        lengths = [each.length for each in found if each.length]
        under, over = curve_styles(2)
        for axes in (left, right):
            axes.plot(lengths, [each.num_states for each in found if each.length], label="classes", **under)
            axes.plot(lengths, [each.width for each in found if each.length], label="widest level", **over)
            axes.set_yscale("log")
            axes.set_xlabel("length n" + (" (logarithmic)" if axes is right else ""))
            axes.legend(loc="best", fontsize="small")
        right.set_xscale("log")
        left.set_ylabel("states of the minimal automaton")
        if grown is not None:
            exponential = f"{grown.base:.2f}^n misses by {grown.exponential_error:.1%}"
            power = f"n^{grown.degree:.2f} misses by {grown.power_error:.1%}"
            left.set_title(f"exponentials are straight here; {exponential}", fontsize="small")
            right.set_title(f"powers are straight here; {power}", fontsize="small")
