"""Index of labelled words by verdict and shape, from which similar words are derived."""

from __future__ import annotations

from collections import Counter, defaultdict
from random import Random

from softmachine.engines.inputs import Word
from softmachine.engines.inputs.neighbours import shape
from softmachine.engines.inputs.row import Judged

SHAPES, OF_A_SHAPE = 1_000, 100
"""Limits of stored shapes per kind of word, and of words per shape."""


class Known:
    """The words labelled up to now."""

    def __init__(self) -> None:
        self.verdicts: dict[Word, str] = {}
        self.count: Counter[str] = Counter()
        """The number of words per verdict."""
        self._kinds: dict[tuple[str, bool], dict[Word, list[Word]]] = defaultdict(dict)
        """Words by (verdict, has a long trace), then by shape."""

    def add(self, judged: Judged) -> None:
        """Store a word."""
        if judged.word in self.verdicts:
            return
        self.verdicts[judged.word] = judged.verdict
        self.count[judged.verdict] += 1
        shapes, form = self._kinds[judged.verdict, judged.is_long], shape(judged.word)
        if len(shapes) < SHAPES or form in shapes:
            words = shapes.setdefault(form, [])
            if len(words) < OF_A_SHAPE:
                words.append(judged.word)

    def one(self, verdict: str, chooser: Random, *, long: bool) -> Word | None:
        """Draw a word with a verdict, uniformly over shapes; with a long trace if ``long`` and there are any."""
        lengthy, brief = (list(self._kinds[verdict, is_long].values()) for is_long in (True, False))
        shapes = lengthy if long and lengthy else lengthy + brief
        return chooser.choice(chooser.choice(shapes)) if shapes else None
