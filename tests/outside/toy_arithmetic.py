"""An arithmetic: rational numbers under another name."""

from __future__ import annotations

from softmachine.arithmetic import Family
from softmachine.arithmetic.exact import Exact


class Toy(Exact):
    name = "toy"


ARITHMETIC = Family(lambda name: Toy() if name == "toy" else None, ("toy",))
