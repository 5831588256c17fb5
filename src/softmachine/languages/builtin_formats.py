"""Built-in source formats: names, file extensions and recognition patterns; parsers are imported on first use.

A text is attributed to a format by regular expressions, so that recognising a source imports no parser. A pattern
describes what a text in the format contains even if it has syntax errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from softmachine.languages.formats import Format
from softmachine.languages.text import QUOTED

TEMPORAL_HEADER = re.compile(r"\ufeff?(?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*alphabet(?=\s|$)(?P<letters>[^\n]*)")
"""The line of a formula that declares its alphabet, with the comments before it."""
_LEADING_COMMENTS = r"\A\s*(?:#[^\n]*\n\s*)*"
_FORMULA = (
    r"\bQ_|#[<>]\s*\[|←#|→#|[¬∧∨⊖⊕]|'[^'\n]+'|\b\w+\s*\(\s*(i\s*[,)]|#[<>])"
    r"|\b(since|until|prev|next|once|historically|eventually|always)\b[ !(]|\A\s*(true|false|first|last)\s*\Z"
)
"""Patterns that hardly occur outside formulas."""
_ONE_LINE_FORMULA = (
    r"\b[FGHOXY]\s*\(|\b[FGHOXY]\s+\w+\s*\Z|\w\s+[SU]\s+\w|[-=]>|[→↔]|\s[&|]{1,2}\s|\A\s*[!~]\s*\w|#\s*\["
)
"""Patterns that identify a single line as a formula."""
_NOT_A_FORMULA = r"\A\s*[<{]|:=|^\s*[^\W\d]\w*\s*<-(?!>)|^\s*\w[\w .]*:|^\s*\w+\(i\)\s*="
"""Patterns of definitions, rules and machine tables, which do not occur in formulas."""
_FILE_NAME = r"\s*[^\s'\"]*[./\\][^\s'\"]*\s*"


@dataclass(frozen=True)
class _DeferredFunction:
    """A function that is imported when it is first called."""

    module: str
    name: str

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return getattr(import_module(self.module), self.name)(*arguments, **options)


def _matches_all(*patterns: str) -> Callable[[str], bool]:
    """A test whether every pattern occurs in a text; ``^`` matches at the beginning of a line."""
    return lambda text: all(re.search(pattern, text, re.MULTILINE) for pattern in patterns)


def _is_formula(text: str) -> bool:
    if header := TEMPORAL_HEADER.match(text):
        text = text[header.end() :]
    elif re.fullmatch(_FILE_NAME, text):
        return False
    found = re.search(_FORMULA, text) or ("\n" not in text.strip() and re.search(_ONE_LINE_FORMULA, text))
    return bool(found) and not re.search(_NOT_A_FORMULA, text, re.MULTILINE)


def _is_edge_list(text: str) -> bool:
    """Whether a text has an undirected edge, or several lines of two names each."""
    if re.search(r"^\s*\w+ -- \w+\s*$", text, re.MULTILINE):
        return True
    lines = [line.partition("#")[0].split() for line in text.splitlines()]
    return sum(map(bool, lines)) > 1 and all(len(line) in (0, 2) and "".join(line).isalnum() for line in lines if line)


def _builtin_format(
    name: str,
    extensions: tuple[str, ...],
    module: str,
    looks_like: Callable[[str], bool],
    *,
    rank: int,
    magic: bytes = b"",
) -> Format:
    """A format whose module defines ``parse`` and ``to_text``."""
    parse, to_text = _DeferredFunction(module, "parse"), _DeferredFunction(module, "to_text")
    return Format(name, extensions, looks_like, parse, to_text, rank, magic)


def _json_format(language: str, module: str) -> Format:
    """The lossless JSON form of a language in saved models; its module defines ``parse_json`` and ``format_json``."""
    parse, to_text = _DeferredFunction(module, "parse_json"), _DeferredFunction(module, "format_json")
    return Format(language, (), lambda _: False, parse, to_text)


FORMATS = (
    _builtin_format(
        "bbchallenge",
        (".bb",),
        "softmachine.languages.turing.bbchallenge",
        _matches_all(r"\A\s*(?:[0-9][LRlr][A-Za-z]|---)[0-9A-Za-z_-]*\s*\Z"),
        rank=10,
    ),
    _builtin_format(
        "jflap",
        (".jff",),
        "softmachine.languages.turing.jflap",
        _matches_all(r"\A[\ufeff \t\r\n]*<", r"<structure\b"),
        rank=20,
    ),
    _builtin_format(
        "turingmachine.io",
        (".yaml", ".yml"),
        "softmachine.languages.turing.turingmachine_io",
        _matches_all(r"^['\"]?(table|source code|start state)['\"]?\s*:"),
        rank=30,
    ),
    _builtin_format(
        "family",
        (".family",),
        "softmachine.languages.family.parser",
        _matches_all(rf"{_LEADING_COMMENTS}family\s+\S"),
        rank=35,
    ),
    _builtin_format(
        "logspace",
        (".nl",),
        "softmachine.languages.logspace.machine",
        _matches_all(rf"{_LEADING_COMMENTS}machine\s+\S+[^\n]*\n", r"^\s*space\s"),
        rank=36,
    ),
    _builtin_format(
        "srasp",
        (".srasp",),
        "softmachine.languages.srasp.parser",
        _matches_all(r"^[ \t]*[^\W\d]\w*[ \t]*\([ \t]*i[ \t]*\)[ \t]*=", r"^[ \t]*(?:alphabet|output)[ \t]+\S"),
        rank=40,
    ),
    _builtin_format(
        "counter",
        (".cm",),
        "softmachine.languages.counter.parser",
        _matches_all(r"^[ \t]*start[ \t]+[^\s:]", r"^[ \t]*\S[^\n]*:[^\n]*(?:->|→)"),
        rank=50,
    ),
    _builtin_format(
        "crasp",
        (".crasp",),
        "softmachine.languages.crasp.parser",
        _matches_all(
            r"^[ \t]*alphabet[ \t]+\S",
            rf"^[ \t]*(?:{QUOTED}|[^\s<:]+)[ \t]*(?::=|<-(?!>))"
            r"|^[ \t]*accept[ \t].*(?:\bQ_|#\w*\[|'|\btrue\b|\bfalse\b)",
        ),
        rank=60,
    ),
    _builtin_format(
        "rasp",
        (".rasp",),
        "softmachine.languages.rasp.parser",
        _matches_all(
            ";",
            r"^\s*(?:\w+(?:\s*,\s*\w+)*\s*=[^=]|def\s+\w+\s*\(|repeat\s+\w+\s*=)",
            r"\b(?:select|aggregate|selector_width)\s*\(|\b(?:tokens(?:_\w+)?|indices|length)\b",
        ),
        rank=65,
    ),
    _builtin_format(
        "bench",
        (".bench",),
        "softmachine.languages.circuit.bench",
        _matches_all(r"(?i)^\s*(INPUT|OUTPUT)\s*\("),
        rank=70,
    ),
    _builtin_format(
        "blif", (".blif",), "softmachine.languages.circuit.blif", _matches_all(r"^\s*\.(model|inputs|names)\b"), rank=80
    ),
    _builtin_format(
        "aiger",
        (".aag", ".aig"),
        "softmachine.languages.circuit.aiger",
        _matches_all(r"\A\s*(aag|ag|aig)\s+\d"),
        rank=90,
        magic=b"aig ",
    ),
    _builtin_format(
        "bristol",
        (".bristol",),
        "softmachine.languages.circuit.bristol",
        _matches_all(r"\A\s*\d+[ \t]+\d+[ \t\r]*\n\s*\d[\d \t]*\r?\n"),
        rank=100,
    ),
    _builtin_format("temporal", (".ltl",), "softmachine.languages.temporal.parser", _is_formula, rank=110),
    _builtin_format("edges", (".edges",), "softmachine.languages.graph.graph", _is_edge_list, rank=120),
    _json_format("turing", "softmachine.languages.turing.machine"),
    _json_format("circuit", "softmachine.languages.circuit.circuit"),
    _json_format("graph", "softmachine.languages.graph.graph"),
)
