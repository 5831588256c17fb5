"""Speculative decoding (Leviathan, Kalman and Matias, 2023): tokens are guessed cheaply and checked many at a time.

What the model should say is known to who compiled it, and is a good guess of what it says. Where there is nobody to
ask, or that was wrong, the guesses come from the same weights in plain floats, which know nothing of their errors.
Checking them is one pass over all of them in the arithmetic that was asked for: every score of every head. What that
says stands, whatever was guessed; a guess only decides how many tokens are computed at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from softmachine.engines.dense.engine import DenseEngine, Pass
from softmachine.errors import SoftmachineError

_FROM = 32
"""Runs that are shorter are not worth preparing the weights twice for."""
_AT_ONCE = 32
"""So many tokens are guessed at a time."""
_FEW, _MOST = 8, 128
"""So many that are likely are tried at first, and so many later on."""


class Draft:
    """Guesses of what a decoder says next, until one is wrong.

    Args:
        engine: The engine that checks them.
        stops: Whether the run is over with a token; nothing is guessed beyond.
        likely: What is likely to be said, from the first token on; None where nobody knows.
    """

    def __init__(
        self, engine: DenseEngine, stops: Callable[[str], bool], likely: Iterable[str | None] | None = None
    ) -> None:
        self.engine = engine
        self.stops = stops
        self.useful = self.plain = engine.arithmetic.checks_many
        self._likely = None if likely is None else iter(likely)
        self._taken, self._next = 0, _FEW
        self._run: Pass | None = None

    def after(self, tokens: Sequence[str], said: int) -> tuple[str, ...]:
        """What may follow the tokens, of which ``said`` were decoded; nothing if that is not worth the effort."""
        if not self.useful:
            return ()
        if self._likely is not None and self._follows(tokens, said):
            return self._following()
        if not self.plain or self._likely is not None or (said < _FROM and not self.engine.has_plain):
            return ()
        guesses: list[str] = []
        try:
            run = self._run = self._run or self.engine.plain.start()
            new = tokens[run.read :]
            while len(guesses) < _AT_ONCE and not (guesses and self.stops(guesses[-1])):
                guesses += run.says(new)
                new = guesses[-1:]
        except SoftmachineError:  # such as a number out of range, or a length that the weights were not made for
            self.useful = False
        return tuple(guesses)

    def _follows(self, tokens: Sequence[str], said: int) -> bool:
        """Whether what was said so far is what was likely; if not, nothing is likely any more."""
        assert self._likely is not None
        new = tokens[len(tokens) - said + self._taken :]
        self._taken = said
        if all(token == likely for token, likely in zip(new, self._asked(len(new)), strict=True)):
            return True
        self._likely = None
        return False

    def _following(self) -> tuple[str, ...]:
        found: list[str] = []
        for token in self._asked(self._next):
            self._taken += 1
            if token is None:
                break
            found.append(token)
            if self.stops(token):
                break
        self._next = min(2 * self._next, _MOST)
        return tuple(found)

    def _asked(self, count: int) -> list[str | None]:
        """The next so many that are likely; None where there are no more, or whoever knows them cannot go on."""
        assert self._likely is not None
        found: list[str | None] = []
        try:
            found += islice(self._likely, count)
        except SoftmachineError:
            self._likely = iter(())
        return [*found, *[None] * (count - len(found))]

    def compare(self, guesses: Sequence[str], said: Sequence[str]) -> None:
        """After a wrong guess there are no more of that kind: the next ones would hardly be better."""
        if len(said) > len(guesses):
            return
        if self._likely is None:
            self.useful = False
        self._likely = None
