"""Lossless JSON form of Turing machines, stored in saved models."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from softmachine.languages.formats import make_json_codec
from softmachine.languages.turing.machine import Rule, TapeConvention, TuringMachine
from softmachine.support.errors import SourceError


def machine_to_json(machine: TuringMachine) -> dict[str, object]:
    """Convert a machine to dictionaries, lists and strings."""
    return {
        "name": machine.name,
        "states": list(machine.states),
        "alphabet": list(machine.alphabet),
        "symbols": list(machine.symbols),
        "blank": machine.blank,
        "rules": [
            [rule.state, list(rule.read), list(rule.write), list(rule.move), rule.next] for rule in machine.rules
        ],
        "start": machine.start,
        "accept": list(machine.accept),
        "reject": list(machine.reject),
        "tape": str(machine.tape),
        "tapes": machine.tapes,
        "default_input": list(machine.default_input) or None,
    }


def machine_from_json(data: Any) -> TuringMachine:
    """The inverse of :func:`machine_to_json`.

    Raises:
        SourceError: If the data does not have that form.
        InvalidError: If the Turing machine is not valid.
    """
    try:
        return TuringMachine(
            name=str(data["name"]),
            states=_strings(data["states"]),
            alphabet=_strings(data["alphabet"]),
            symbols=_strings(data["symbols"]),
            blank=str(data["blank"]),
            rules=tuple(
                Rule(str(state), _strings(read), _strings(write), _strings(move), str(following))
                for state, read, write, move, following in data["rules"]
            ),
            start=str(data["start"]),
            accept=_strings(data["accept"]),
            reject=_strings(data["reject"]),
            tape=TapeConvention(data["tape"]),
            tapes=int(data["tapes"]),
            default_input=_strings(data["default_input"] or ()),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise SourceError(f"this is not a Turing machine in JSON: {error!r}") from None


def _strings(items: Iterable[object]) -> tuple[str, ...]:
    strings = tuple(item for item in items if isinstance(item, str))
    if isinstance(items, str) or strings != tuple(items):
        raise TypeError(f"{items!r} is not a list of strings")
    return strings


parse_json, format_json = make_json_codec(machine_to_json, machine_from_json)
