"""Words whose verdicts are known, and some of each kind to make relatives of."""

from __future__ import annotations

from collections import Counter, defaultdict
from random import Random

from softmachine.engines.inputs import Word
from softmachine.engines.inputs.neighbours import shape
from softmachine.engines.inputs.row import Judged

SHAPES, OF_A_SHAPE = 1_000, 100
"""So many shapes are remembered of each kind, and so many words of each shape."""


class Known:
    """What was judged up to now."""

    def __init__(self) -> None:
        self.verdicts: dict[Word, str] = {}
        self.count: Counter[str] = Counter()
        """How many words have each verdict."""
        self._kinds: dict[tuple[str, bool], dict[Word, list[Word]]] = defaultdict(dict)
        """Words by verdict, whether their traces are long, and shape."""

    def add(self, judged: Judged) -> None:
        """Remember a word."""
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
        """A word of a verdict, with a long trace if there are any and that is wanted; all shapes are as likely."""
        lengthy, brief = (list(self._kinds[verdict, is_long].values()) for is_long in (True, False))
        shapes = lengthy if long and lengthy else lengthy + brief
        return chooser.choice(chooser.choice(shapes)) if shapes else None
