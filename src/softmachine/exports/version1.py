"""Models that version 1 wrote: position features by kind, and sources inside of codecs. They go on loading."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from softmachine.errors import SourceError
from softmachine.exports.native_data import Json
from softmachine.transformer.features import (
    HALF_INVERSE,
    I_SQUARED,
    INVERSE,
    LENGTH,
    NEXT,
    REST,
    Alternating,
    Bit,
    Constant,
    Distance,
    Feature,
    I,
    Last,
    Logarithm,
    Monomial,
    N,
    PowerOfTwo,
    Predecessor,
    Prime,
    Relation,
    Residue,
)
from softmachine.transformer.saved_features import to_json
from softmachine.transformer.wired_features import AddressBit, AddressVector, Shifted, Table

_HALF = Fraction(1, 2)
_PLAIN: dict[str, Feature | Relation] = {
    "i": I,
    "i²": I_SQUARED,
    "1/(i+1)": INVERSE,
    "1/(2i+2)": HALF_INVERSE,
    "(-1)^i": Alternating(),
    "n": N,
    "1/(n+1)": 1 / LENGTH,
    "i/(n+1)": I * LENGTH**-1,
    "1/(n-i+1)": 1 / REST,
    "1/(2n+2)": _HALF / LENGTH,
    "1/(i+1)²": 1 / NEXT**2,
    "last": Last(),
    "⌈log₂ n⌉": Logarithm(of_length=True),
    "(i-1)/(i+1)": Predecessor(),
    "prime": Prime(),
    "power of two": PowerOfTwo(),
    "in": I * N,
    "distance": Distance(),
}
_MULTIPLES: dict[str, Monomial] = {
    "c·i(n+1)": I * LENGTH,
    "c·i²(n+1)": I_SQUARED * LENGTH,
    "c(n+1)": LENGTH,
    "c(n+1)²": LENGTH**2,
    "c(i+1)": NEXT,
    "c(i+1)²": NEXT**2,
    "c(n-i+1)": REST,
}
_MADE: dict[str, Callable[..., Feature]] = {
    "bit": Bit,
    "±bit": lambda k: Bit(k, signed=True),
    "cell bit": lambda k, cells, offset: Bit(k, cells=cells, offset=offset),
    "mod": Residue,
    "constant": Constant,
    "c⌈log₂(i+1)⌉": Logarithm,
    "i/c": lambda c: I * Fraction(1, c),
    "wired flag": lambda name, table: Table(name, tuple(map(Fraction, table))),
    "wired ratio": lambda name, over, under: Table(name, tuple(map(Fraction, over, under))),
    "wired ±bit": lambda name, k, table: AddressBit(name, k, tuple(table)),
    "wired μ": lambda name, component, bits, table: AddressVector(name, component, bits, tuple(table)),
    "shifted": lambda offset, kind, *parameters: Shifted(offset, _feature(kind, parameters)),
}
_OWN = {"predicate": "PositionPredicate", "[i>0]/(n+1)": "ShareAfterStart", "[[R]]": "InRelation"}
"""Those that belong to a theorem, as :func:`.saved_features.to_json` writes them."""


def _feature(kind: str, parameters: Sequence[Any]) -> Any:
    """The feature of a kind."""
    if kind in _MULTIPLES:
        return parameters[0] * _MULTIPLES[kind]
    return _MADE[kind](*parameters) if kind in _MADE else _PLAIN[kind]


def _renamed(data: Json) -> Json:
    kind, parameters = data["kind"], data["parameters"]
    if kind == "predicate":
        return {"is": _OWN[kind], "predicate": parameters[0], "parameters": parameters[1:]}
    return {"is": _OWN[kind]} if kind in _OWN else dict(to_json(_feature(kind, parameters)))


def upgraded(data: Json) -> Json:
    """What version 1 wrote, as version 2 would have; the weights are the same.

    Raises:
        LookupError, TypeError, ValueError: If it is damaged.
    """
    weights = {key: data[key] for key in ("name", "vocabulary", "coordinates", "outputs")}
    weights["features"] = [_renamed(item) for item in data["features"]]
    weights["blocks"] = [_block(block) for block in data["blocks"]]
    source = _source(data["codec"])
    return {"theorem": data["construction"], "length": data["length"], "source": source, "weights": weights}


def _block(block: Json) -> Json:
    repeats = block["repeats"]
    layers = [{**layer, "heads": [_head(head) for head in layer["heads"]]} for layer in block["layers"]]
    return {**block, "repeats": repeats if isinstance(repeats, int) else _renamed(repeats), "layers": layers}


def _head(head: Json) -> Json:
    scale, bias = head["scale"], head["bias"]
    return {**head, "scale": scale if isinstance(scale, str) else _renamed(scale), "bias": bias and _renamed(bias)}


def _source(codec: Json) -> dict[str, str]:
    """The source that a codec held, as text in the format of its language."""
    language, name = codec["kind"], codec.get("name", "")
    match language:
        case "turing":
            machine = codec["machine"]
            return {"language": language, "name": machine["name"], "text": json.dumps(machine)}
        case "circuit" | "graph":
            return {"language": language, "name": name, "text": json.dumps(codec)}
        case "srasp" | "crasp":
            return {"language": language, "name": name, "text": codec["program"]}
        case "counter":
            return {"language": language, "name": name, "text": codec["machine"]}
        case "temporal":
            from softmachine.languages.formats import source_text
            from softmachine.languages.temporal import Specification, parse_formula

            formula, alphabet = parse_formula(str(codec["formula"])), tuple(map(str, codec["alphabet"]))
            made = Specification(name=str(name), formula=formula, alphabet=alphabet)
            return {"language": language, "name": made.name, "text": source_text(made)}
        case _:
            raise SourceError(f"a codec of kind {language!r} is not known to this version")
