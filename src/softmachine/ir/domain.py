"""Domain: the token sequences that a model reads, which its weights do not determine.

Analyses of weights hold for every sequence of the domain. A sequence is everything that one context contains: the
prompt, and the tokens that the model has emitted and reads again. It therefore does not contain the last token of a
run (a stop token, or the end of a summary), after which nothing is computed.

A domain may contain more sequences than there are, but not fewer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import groupby

from softmachine.support.text import abbreviate_names, format_range, pluralize

MAX_RUNS = 12
"""Maximal number of runs of positions with equal tokens in a description."""


@dataclass(frozen=True)
class Domain:
    """A set of token sequences.

    Args:
        first: The tokens that may stand at position 0.
        later: The tokens that may stand at positions 1, 2, ….
        unique: Sets of tokens; a sequence contains at most one token of each, at one position.
        unique_later: The same, for positions 1, 2, …: position 0 is not counted.
        placed: If the number of positions is fixed, the tokens that may stand at each of them; ``first`` and ``later``
            are their unions.
    """

    first: frozenset[str]
    later: frozenset[str]
    unique: tuple[frozenset[str], ...] = ()
    unique_later: tuple[frozenset[str], ...] = ()
    placed: tuple[frozenset[str], ...] | None = None

    @classmethod
    def all_sequences(cls, vocabulary: Iterable[str]) -> Domain:
        """Every sequence over a vocabulary."""
        tokens = frozenset(vocabulary)
        return cls(tokens, tokens)

    @classmethod
    def of_positions(cls, placed: Iterable[Iterable[str]]) -> Domain:
        """The sequences of a fixed number of positions, with the tokens that may stand at each of them."""
        sets = tuple(map(frozenset, placed))
        return cls(frozenset().union(*sets[:1]), frozenset().union(*sets[1:]), placed=sets)

    def tokens_at(self, position: int) -> frozenset[str]:
        """Return the tokens that may stand at a position."""
        if self.placed is not None:
            return self.placed[position] if position < len(self.placed) else frozenset()
        return self.later if position else self.first

    def has_at_most_one(self, tokens: AbstractSet[str], start: int = 0) -> bool:
        """Whether every sequence contains at most one of these tokens, at one position, from position ``start`` on.

        A sufficient condition: False if it does not follow from one set of unique tokens or from the positions.
        """
        if self.placed is not None and sum(not tokens.isdisjoint(here) for here in self.placed[start:]) <= 1:
            return True
        possible = tokens & (self.later if start else self.first | self.later)
        sets = (*self.unique, *(self.unique_later if start or possible.isdisjoint(self.first) else ()))
        return possible.isdisjoint(self.later) or any(possible <= unique for unique in sets)

    def find_violation(self, tokens: Sequence[str]) -> str | None:
        """Return why a sequence is not in the domain, with the first position; None if it is in the domain."""
        if (problem := self._find_violation_of_prefix(tokens)) is None and self.placed is not None:
            missing = len(self.placed) - len(tokens)
            return f"the sequence ends {pluralize(missing, 'token')} too early" if missing else None
        return problem

    def _find_violation_of_prefix(self, tokens: Sequence[str]) -> str | None:
        """Return why no sequence of the domain begins with some tokens."""
        sets = [*((0, unique) for unique in self.unique), *((1, unique) for unique in self.unique_later)]
        seen: dict[int, int] = {}
        for position, token in enumerate(tokens):
            if token not in self.tokens_at(position):
                return f"{token!r} is not possible at position {position}"
            for index, (start, unique) in enumerate(sets):
                if position >= start and token in unique and (before := seen.setdefault(index, position)) < position:
                    return f"{token!r} at position {position} excludes {tokens[before]!r} at position {before}"
        return None

    def iterate_sequences(self, length: int) -> Iterator[tuple[str, ...]]:
        """Yield all sequences of a number of positions, in lexicographic order."""
        if self.placed is None or len(self.placed) == length:
            yield from self._iterate_prefixes(length)

    def _iterate_prefixes(self, length: int) -> Iterator[tuple[str, ...]]:
        if not length:
            yield ()
            return
        following = sorted(self.tokens_at(length - 1))
        for prefix in self._iterate_prefixes(length - 1):
            longer = ((*prefix, token) for token in following)
            yield from (tokens for tokens in longer if self._find_violation_of_prefix(tokens) is None)

    def to_json(self) -> dict[str, object]:
        """As plain data; tokens are sorted, and ``placed`` is a list of (tokens, number of positions)."""
        return {
            "first": sorted(self.first),
            "later": sorted(self.later),
            "unique": list(map(sorted, self.unique)),
            "unique_later": list(map(sorted, self.unique_later)),
            "placed": None
            if self.placed is None
            else [[sorted(here), len(list(run))] for here, run in groupby(self.placed)],
        }

    def __str__(self) -> str:
        """A description in one line: "every sequence: first <s>; later a, b"."""
        if self.placed is not None:
            runs = [(here, list(run)) for here, run in groupby(range(len(self.placed)), key=self.tokens_at)]
            parts = [f"{_format_tokens(here)} at {format_range(run)}" for here, run in runs[:MAX_RUNS]]
            parts += [f"and {len(runs) - MAX_RUNS:,} more"] if len(runs) > MAX_RUNS else []
            return f"every sequence of {pluralize(len(self.placed), 'position')}: {'; '.join(parts)}"
        different = f": first {_format_tokens(self.first)}; later {_format_tokens(self.later)}"
        parts = [f" over {_format_tokens(self.first)}" if self.first == self.later else different]
        parts += [f"at most one of {_format_tokens(unique)}" for unique in self.unique]
        parts += [f"after the first at most one of {_format_tokens(unique)}" for unique in self.unique_later]
        return f"every sequence{'; '.join(parts)}"


def _format_tokens(tokens: AbstractSet[str]) -> str:
    return abbreviate_names(sorted(tokens)) or "none"
