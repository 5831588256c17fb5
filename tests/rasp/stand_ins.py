"""Stand-ins for tracr's classes, with the same class names and attributes."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any


class RASPExpr:
    name: str

    def __init__(self, **attributes: Any) -> None:
        for key, value in attributes.items():
            setattr(self, key, value)


class SOp(RASPExpr):
    pass


class TokensType(SOp):
    name = "tokens"


class IndicesType(SOp):
    name = "indices"


class LengthType(SOp):
    name = "length"


class Map(SOp):
    name = "map"

    def __init__(self, f: Callable[..., Any], inner: SOp) -> None:
        super().__init__(f=f, inner=inner)


class SequenceMap(SOp):
    name = "sequence_map"

    def __init__(self, f: Callable[..., Any], fst: SOp, snd: SOp) -> None:
        super().__init__(f=f, fst=fst, snd=snd)


class LinearSequenceMap(SequenceMap):
    name = "linear_sequence_map"

    def __init__(self, fst: SOp, snd: SOp, fst_fac: float, snd_fac: float) -> None:
        super().__init__(lambda x, y: fst_fac * x + snd_fac * y, fst, snd)
        self.fst_fac, self.snd_fac = fst_fac, snd_fac


class Full(SOp):
    name = "full"

    def __init__(self, fill: Any) -> None:
        super().__init__(fill=fill)


class ConstantSOp(SOp):
    name = "constant_sop"

    def __init__(self, value: Any, check_length: bool = True) -> None:
        super().__init__(value=value, check_length=check_length)


class Comparison(Enum):
    EQ = "=="
    LT = "<"
    LEQ = "<="
    GT = ">"
    GEQ = ">="
    NEQ = "!="
    TRUE = "True"
    FALSE = "False"


class Selector(RASPExpr):
    pass


class Select(Selector):
    name = "select"

    def __init__(self, keys: SOp, queries: SOp, predicate: Any) -> None:
        super().__init__(keys=keys, queries=queries, predicate=predicate)


class ConstantSelector(Selector):
    name = "constant_selector"

    def __init__(self, value: Any, check_length: bool = True) -> None:
        super().__init__(value=value, check_length=check_length)


class SelectorAnd(Selector):
    name = "selector_and"

    def __init__(self, fst: Selector, snd: Selector) -> None:
        super().__init__(fst=fst, snd=snd)


class SelectorOr(SelectorAnd):
    name = "selector_or"


class SelectorNot(Selector):
    name = "selector_not"

    def __init__(self, inner: Selector) -> None:
        super().__init__(inner=inner)


class SelectorWidth(SOp):
    name = "selector_width"

    def __init__(self, selector: Selector) -> None:
        super().__init__(selector=selector)


class Aggregate(SOp):
    name = "aggregate"

    def __init__(self, selector: Selector, sop: SOp, default: Any = None) -> None:
        super().__init__(selector=selector, sop=sop, default=default)
