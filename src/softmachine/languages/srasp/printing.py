"""S-RASP as text, the form that ``syntax.parse`` reads, and as tables for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from softmachine.languages.srasp import expressions as ex
from softmachine.languages.srasp.expressions import Expression

if TYPE_CHECKING:
    from softmachine.languages.srasp.program import Program

# How tightly each form binds; an operand that binds more loosely than its place demands is put in parentheses.
WHOLE, OR, AND, NOT, COMPARISON, SUM, UNIT = range(7)
WIDEST_NAME = 16


def to_text(program: Program) -> str:
    """A program as text. Reading it gives the same program back."""
    width = min(WIDEST_NAME, max(len(definition.name) for definition in program.definitions)) + len("(i)")
    lines = [
        # Outside of the alphabet's lines, # begins a comment.
        f"program {program.name if _is_plain(program.name) and '#' not in program.name else quote(program.name)}",
        f"alphabet {' '.join(letter if _is_plain(letter) else quote(letter) for letter in program.alphabet)}",
        *(f"{f'{entry.name}(i)':{width}} = {show(entry.body)}" for entry in program.definitions),
        f"output {program.output}",
    ]
    return "\n".join(lines) + "\n"


def program_table(program: Program) -> str:
    """A table of the program's vectors: a row a vector, with its type and its definition."""
    rows = "".join(
        f"<tr><th>{escape(entry.name)}{' <small>output</small>' if entry.name == program.output else ''}</th>"
        f"<td>{escape(str(program.types[entry.name]))}</td>"
        f'<td style="text-align: left"><code>{escape(show(entry.body))}</code></td></tr>'
        for entry in program.definitions
    )
    return (
        f"<table><caption>{escape(str(program))}</caption>"
        f"<thead><tr><th>vector</th><th>type</th><th>definition</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def quote(symbol: str) -> str:
    """A symbol in quotes, as expressions have it."""
    return f"'{''.join(_escape(character) for character in symbol)}'"


def show(expression: Expression, demanded: int = WHOLE) -> str:
    """An expression as text, in parentheses if it binds more loosely than demanded."""
    text, binding = _show(expression)
    return f"({text})" if binding < demanded else text


def _show(expression: Expression) -> tuple[str, int]:
    match expression:
        case ex.Vector(name=name, at=at):
            return f"{name}({at})", UNIT
        case ex.Symbol(value=symbol):
            return quote(symbol), UNIT
        case ex.Integer(value=number):
            return str(number), UNIT
        case ex.Truth(value=value):
            return "true" if value else "false", UNIT
        case ex.Not(operand=ex.Member() as member):
            return f"{show(member.operand, SUM)} not in {_set(member.symbols)}", COMPARISON
        case ex.Not(operand=operand):
            return f"not {show(operand, NOT)}", NOT
        case ex.And(parts=parts):
            return " and ".join(show(part, NOT) for part in parts), AND
        case ex.Or(parts=parts):
            return " or ".join(show(part, AND) for part in parts), OR
        case ex.Compare(relation=relation, left=left, right=right):
            return f"{show(left, SUM)} {relation} {show(right, SUM)}", COMPARISON
        case ex.Member(operand=operand, symbols=symbols):
            return f"{show(operand, SUM)} in {_set(symbols)}", COMPARISON
        case ex.Add(left=left, right=right):
            return f"{show(left, SUM)} + {show(right, UNIT)}", SUM
        # -5 is a number, so 0 - 5 has to be written as what it is.
        case ex.Subtract(ex.Integer(0), right) if not (isinstance(right, ex.Integer) and right.value > 0):
            return f"-{show(right, UNIT)}", UNIT
        case ex.Subtract(left=left, right=right):
            return f"{show(left, SUM)} - {show(right, UNIT)}", SUM
        case ex.Conditional(condition=condition, then=then, otherwise=otherwise):
            return f"{show(then, OR)} if {show(condition, OR)} else {show(otherwise)}", WHOLE
        case ex.PrefixSum(term=term):
            return f"psum j : {show(term, OR)}", WHOLE
        case ex.Attention():
            return _attention(expression), WHOLE


def _attention(attention: ex.Attention) -> str:
    mask = "j" if attention.mask is ex.Mask.NONE else attention.mask.value
    where = "" if attention.predicate == ex.Truth(True) else f" where {show(attention.predicate, OR)}"
    value, default = show(attention.value, OR), show(attention.default)
    return f"{attention.choice} {mask}{where} : {value} else {default}"


def _set(symbols: tuple[str, ...]) -> str:
    return "{" + ", ".join(quote(symbol) for symbol in symbols) + "}"


def _is_plain(word: str) -> bool:
    """Whether a word can stand in a line as it is: no blanks, and neither a quote nor a comment begins with it."""
    return bool(word) and word.isprintable() and " " not in word and word[0] not in "'\"#"


def _escape(character: str) -> str:
    if character in "'\\":
        return "\\" + character
    return character if character.isprintable() else repr(character)[1:-1]
