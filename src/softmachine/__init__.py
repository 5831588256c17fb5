"""softmachine: programs and formal languages as real transformer weights.

>>> import softmachine as sm
>>> machine = sm.load("palindrome")  # a zoo name, a path, or a string in any known format
>>> model = sm.compile(machine)  # average-hard attention
>>> run = sm.run(model, "abba")  # run.accepted, run.steps, run.tape, run.tokens, run.text()
>>> report = sm.check(model, machine, up_to=6)  # against the reference interpreter, every input
"""

from __future__ import annotations

TYPE_CHECKING = False  # nothing is imported here, not even typing: no Ctrl-C handler is installed yet
if TYPE_CHECKING:
    from typing import Any

    from softmachine import rasp
    from softmachine.api import (
        certificate,
        check,
        compile,  # noqa: A004
        dataset,
        export,
        gallery,
        inspect,
        load,
        load_weights,
        page,
        picture,
        run,
        save,
        soften,
    )
    from softmachine.compiler.model import Model
    from softmachine.engines.result import Run
    from softmachine.languages.rasp.python.from_tracr import from_tracr
    from softmachine.languages.turing import Rule, TapeConvention, TuringMachine
    from softmachine.support import __version__
    from softmachine.support.errors import SoftmachineError
    from softmachine.theorems.theorem import Theorem
    from softmachine.transformer.weights import Transformer

__all__ = [
    "Model",
    "Rule",
    "Run",
    "SoftmachineError",
    "TapeConvention",
    "Theorem",
    "Transformer",
    "TuringMachine",
    "__version__",
    "certificate",
    "check",
    "compile",
    "dataset",
    "export",
    "from_tracr",
    "gallery",
    "inspect",
    "load",
    "load_weights",
    "page",
    "picture",
    "rasp",
    "run",
    "save",
    "soften",
]

_HOMES = {
    "Rule": "softmachine.languages.turing",
    "TapeConvention": "softmachine.languages.turing",
    "TuringMachine": "softmachine.languages.turing",
    "Run": "softmachine.engines.result",
    "SoftmachineError": "softmachine.support.errors",
    "Model": "softmachine.compiler.model",
    "Theorem": "softmachine.theorems.theorem",
    "Transformer": "softmachine.transformer.weights",
    "__version__": "softmachine.support",
    "from_tracr": "softmachine.languages.rasp.python.from_tracr",
}
"""Modules of the public names that are not defined in ``softmachine.api``."""


def __getattr__(name: str) -> Any:
    """Import public names on first use, which keeps ``import softmachine`` fast."""
    from importlib import import_module

    if name == "rasp":
        return import_module("softmachine.rasp")
    if name not in __all__:
        raise AttributeError(f"module 'softmachine' has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "softmachine.api")), name)


def __dir__() -> list[str]:
    return sorted(__all__)
