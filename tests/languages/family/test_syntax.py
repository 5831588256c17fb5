"""Parser and printer of families, and their syntax errors."""

from __future__ import annotations

import pytest

from softmachine.languages import zoo
from softmachine.languages.circuit import GateKind
from softmachine.languages.family import CircuitFamily, parse, to_text
from softmachine.languages.formats import format_by_name, recognise
from softmachine.support.errors import InputError, InvalidError, SourceError

TEXT = """\
# A comment.
family odd ones
depth log^2

g(0, i) = OR x(i) for i in 0..n-1   # another
g(l, i) = AND g(l-1, 2*i) [x(j) for j in i..n-1 if j % 2 = 0 and j != 3] for l in 1..log(n), i in 0..(n-1)/2^l
h = THR(n/2 + 1) [x(i) for i in 0..n-1]
output h
"""


def test_a_family_is_read() -> None:
    found = parse(TEXT)
    assert (found.name, found.exponent, len(found.rules)) == ("odd ones", 2, 3)
    assert [rule.kind for rule in found.rules] == [GateKind.OR, GateKind.AND, GateKind.THR]
    assert found.has_threshold_gates
    assert found.alphabet == ("0", "1")


def test_a_family_may_declare_its_depth() -> None:
    found = parse(TEXT.replace("log^2", "log^2 <= 3*log(n)^2 + 1"))
    assert (found.exponent, str(found.max_depth), found.depth(8)) == (2, "3 * log(n)^2 + 1", 28)
    assert parse(to_text(found)) == found
    assert parse(TEXT.replace("log^2", "log <= n")).depth(5) == 5


def test_a_circuit_that_exceeds_the_declared_depth_is_refused() -> None:
    with pytest.raises(InputError, match="for 3 inputs has depth 1, which is more than n - 3"):
        parse("family f\ndepth log <= n - 3\ny = OR x(0)\noutput y").circuit(3)
    with pytest.raises(InvalidError, match="the depth: m is not defined"):
        parse("family f\ndepth log <= m\ny = OR x(0)\noutput y")
    with pytest.raises(SourceError, match="unexpected '<'; expected '<='"):
        parse("family f\ndepth log^1 < n\ny = OR x(0)\noutput y")


@pytest.mark.parametrize(
    "text", [TEXT, *(entry.read_text() for entry in zoo.list_entries() if entry.file.endswith(".family"))]
)
def test_what_is_written_is_read_back(text: str) -> None:
    found = parse(text)
    assert parse(to_text(found)) == found
    assert format_by_name("family").looks_like(text)
    assert recognise(text) == "family"


@pytest.mark.parametrize("text", ["2 * (i + 1)", "(n - 1) / 2 ^ l", "n - (i - 1)", "(2 ^ l) ^ 2", "log(n + 1) * 3 % 2"])
def test_expressions_keep_their_brackets(text: str) -> None:
    source = f"family f\ny(i, l) = OR x({text}) for i in 0..0, l in 0..0\noutput y(0, 0)"
    found = parse(source)
    assert parse(to_text(found)) == found


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("y = XOR x(0)", "<string>:2:5: unexpected 'XOR'; expected AND, OR, NOT or THR"),
        ("y = OR", "<string>:2:7: unexpected end of the line; expected a wire"),
        ("y = OR x(0) for i in 0", "<string>:2:23: unexpected end of the line; expected an operator or '[.]{2}'"),
        ("y = OR x(0", "<string>:2:9: this bracket is never closed"),
        ("y = OR x(0) ?", "<string>:2:13: unexpected '[?]'"),
        ("y = OR [x(0)]", "<string>:2:13: unexpected ']'; expected 'for'"),
        ("y = THR x(0)", "<string>:2:9: unexpected 'x'; expected '[(]'"),
        (
            "y = OR x(0) for i in 0..n if i",
            "<string>:2:31: unexpected end of the line; expected an operator or a comp",
        ),
        ("y = OR x(0) ]", "<string>:2:13: unexpected ']'; expected a wire or 'for' or 'if' or the end"),
        ("y = OR x(" + "(" * 60 + "0", "parentheses are nested more than 40 deep"),
        ("y = OR x(1234567890123)", "<string>:2:10: this number is too long"),
        ("depth log^x", "<string>:2:11: unexpected 'x'; expected an exponent"),
    ],
)
def test_syntax_errors_have_places(line: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        parse(f"family f\n{line}\noutput y")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y = OR z\noutput y", "there is no rule for z"),
        ("y = OR x(i)\noutput y", "i is not defined"),
        ("y = OR x(0) for n in 0..1\noutput y", "n is already defined"),
        ("x(0) = OR x(1)\noutput x(0)", "x is the name of the inputs"),
        ("depth log^7\ny = OR x(0)\noutput y", "the exponent is between 1 and 4"),
    ],
)
def test_invalid_families_are_refused(body: str, message: str) -> None:
    with pytest.raises(InvalidError, match=message):
        parse(f"family f\n{body}")


def test_an_output_is_needed_and_headers_come_once() -> None:
    with pytest.raises(SourceError, match="missing line 'output'; it contains the wire"):
        parse("family f\ny = OR x(0)")
    with pytest.raises(SourceError, match="duplicate line 'depth'"):
        parse("family f\ndepth log\ndepth log\ny = OR x(0)\noutput y")


def of(body: str) -> CircuitFamily:
    return parse(f"family f\n{body}")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y = OR x(0) for i in 0..2^40\noutput y", "takes more than"),
        ("y(i) = OR x(1/i) for i in 0..1\noutput y(0)", "divides by 0"),
        ("y = OR x(2^(0-1))\noutput y", "exponents are between"),
        ("y = OR x((2^31)*(2^31))\noutput y", "numbers of a family are at most"),
    ],
)
def test_expensive_texts_are_refused(body: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        of(body).circuit(3)


def test_circuits_that_are_none_are_refused_with_the_line() -> None:
    with pytest.raises(InvalidError, match="which nothing drives"):
        of("y = OR x(n)\noutput y").circuit(2)
    with pytest.raises(InvalidError, match="cycle"):
        of("y = OR z\nz = OR y\noutput y").circuit(2)
