"""Cost of C-RASP programs, and of machines reduced to them, by the formulas of the core program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache

from softmachine.languages.crasp import Comparison, Core, Program, core, counted
from softmachine.languages.temporal import And, Formula, Or, subformulas
from softmachine.theorems.cost import Cost, Expression, largest, parameter
from softmachine.theorems.temporal.cost import nesting


@lru_cache(maxsize=1)
def _parts(program: Program) -> tuple[Core, tuple[Formula, ...]]:
    plain = core(program)
    bodies = [body for _, body in plain.rules] if plain.accept is None else [plain.accept]
    return plain, subformulas(*bodies)


def _core(symbol: str, meaning: str, at: Callable[[Core, tuple[Formula, ...]], int]) -> Expression:
    """A parameter computed from the core program of a codec and its subformulas."""
    return parameter(symbol, meaning, lambda codec: at(*_parts(getattr(codec, "program", codec.source))))


def _related(formula: Formula) -> bool:
    """Whether a comparison counts through a relation."""
    return isinstance(formula, Comparison) and any(count.relation for _, count in counted(formula)[0])


def _repeated(found: Core) -> int:
    return max(Counter(head for head, _ in found.rules).values(), default=1) - 1


_DEPTH = largest(1, _core("D", "nesting depth of counts", lambda _, parts: nesting(parts, Comparison)))
_RELATED = _core("R", "comparisons through the relation R", lambda _, parts: sum(map(_related, parts)))
_BOOLEAN = _core("B", "nesting depth of and and or", lambda _, parts: nesting(parts, And, Or))
_REPEATED = _core("M", "largest number of rules for one token, minus 1", lambda found, _: _repeated(found))

COST = Cost({}, {"heads": _DEPTH + 2 * _RELATED, "layers": _DEPTH + _BOOLEAN + _REPEATED})
