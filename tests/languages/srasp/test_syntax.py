from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import softmachine
from softmachine.languages.formats import format_by_name
from softmachine.languages.linear import Relation
from softmachine.languages.srasp import Definition, SraspProgram, parse, to_text
from softmachine.languages.srasp.ast import (
    Add,
    And,
    Attention,
    AttentionChoice,
    BooleanLiteral,
    Compare,
    Conditional,
    Expression,
    IntegerLiteral,
    Mask,
    Member,
    Not,
    Or,
    PrefixSum,
    Subtract,
    SymbolLiteral,
    VectorRead,
)
from softmachine.support.errors import InvalidError, SoftmachineError, SourceError
from softmachine.testing.srasp import random_program

CONTRACT = """
    alphabet ( ) [ ]
    open(i)  = in(i) in { '(' , '[' }
    depth(i) = psum j : (1 if open(j) else -1)
    match(i) = rightmost j < i where depth(j) = depth(i) + 1 and open(j) : in(j) else '?'
    first(i) = leftmost j <= i where not open(j) : pos(j) else 0
    good(i)  = match(i) != '?'
    output good
"""


def body(text: str, before: str = "") -> Expression:
    return parse(f"alphabet a b\n{before}\nx(i) = {text}\noutput x")["x"]


def test_all_forms_are_parsed() -> None:
    program = parse(CONTRACT)
    depth = PrefixSum(Conditional(VectorRead("open", "j"), IntegerLiteral(1), IntegerLiteral(-1)))
    same = Compare(Relation.EQUAL, VectorRead("depth", "j"), Add(VectorRead("depth", "i"), IntegerLiteral(1)))
    assert program.alphabet == ("(", ")", "[", "]")
    assert program["open"] == Member(VectorRead("in", "i"), ("(", "["))
    assert program["depth"] == depth
    assert program["match"] == Attention(
        AttentionChoice.RIGHTMOST,
        Mask.BEFORE,
        And((same, VectorRead("open", "j"))),
        VectorRead("in", "j"),
        SymbolLiteral("?"),
    )
    assert program["first"] == Attention(
        AttentionChoice.LEFTMOST, Mask.UP_TO, Not(VectorRead("open", "j")), VectorRead("pos", "j"), IntegerLiteral(0)
    )
    assert program.output == "good"


@pytest.mark.parametrize(
    ("loose", "tight"),
    [
        ("true or false and not true", "true or (false and (not true))"),
        ("not pos(i) = 1", "not (pos(i) = 1)"),
        ("pos(i) + 1 - 2 < 3 - -pos(i)", "((pos(i) + 1) - 2) < (3 - (-pos(i)))"),
        ("1 if true or true else 2 if false else 3", "1 if (true or true) else (2 if false else 3)"),
        ("psum j : 1 if in(j) = 'a' else 2", "psum j : (1 if in(j) = 'a' else 2)"),
        ("rightmost j : 1 if true else 2 else 3", "rightmost j : (1 if true else 2) else 3"),
        ("rightmost j where in(j) = 'a' : 1 else psum j : 2", "rightmost j where (in(j) = 'a') : 1 else (psum j : 2)"),
        ("psum j <= i : 1", "psum j : 1"),
        ("not in(i) in {'a'}", "in(i) not in {'a'}"),
        ('in(i) == "a"', "in(i) = 'a'"),
        ("pos(i) ≤ 3 − 1", "pos(i) <= 3 - 1"),
        ("rightmost j where true : 1 else 2", "rightmost j : 1 else 2"),
        ("rightmost  j<=i:1 else 2", "rightmost j <= i : 1 else 2"),
    ],
)
def test_what_binds_tighter(loose: str, tight: str) -> None:
    assert body(loose) == body(tight)


def test_parentheses_matter() -> None:
    assert body("(true and false) and true") == And(
        (And((BooleanLiteral(True), BooleanLiteral(False))), BooleanLiteral(True))
    )
    assert body("true and false and true") == And((BooleanLiteral(True), BooleanLiteral(False), BooleanLiteral(True)))
    assert body("1 - (2 - 3)") == Subtract(IntegerLiteral(1), Subtract(IntegerLiteral(2), IntegerLiteral(3)))


def test_words_that_begin_with_a_keyword_are_names() -> None:
    names = ["index", "ending", "iff", "j2", "order", "position", "no_t", "éa", "Output", "in_", "trueish"]
    text = "".join(f"{name}(i) = true\n" for name in names)
    assert list(parse(f"alphabet a\n{text}output index").types) == names


def test_comments_are_left_out_and_quoted_ones_are_not_comments() -> None:
    program = parse(
        "# about\nalphabet a # #b  # letters: a, # and #b\n  # inside\nx(i) = in(i) = '#' # one\n\n"
        'y(i) = in(i) = "#b"# another\n   and x(i)   # more\noutput y  # end\n'
    )
    assert program.alphabet == ("a", "#", "#b")
    assert program["x"] == Compare(Relation.EQUAL, VectorRead("in", "i"), SymbolLiteral("#"))
    assert program["y"] == And(
        (Compare(Relation.EQUAL, VectorRead("in", "i"), SymbolLiteral("#b")), VectorRead("x", "i"))
    )


def test_letters_may_be_signs_and_quotes_inside_words() -> None:
    assert parse("alphabet can't ( i ) = #  # isn't\nx(i) = 1\noutput x").alphabet == ("can't", "(", "i", ")", "=", "#")
    program = parse("alphabet ( i ) =\nx(i) = in(i)\noutput x")
    assert parse(to_text(program)) == program


def test_a_more_deeply_indented_line_continues_the_previous_one() -> None:
    text = "alphabet a\n    b\nx(i) =\n  in(i) = 'a'\n\n  # why\n  and\n\tpos(i) = 1\noutput x"
    assert parse(text) == parse("alphabet a b\nx(i) = in(i) = 'a' and pos(i) = 1\noutput x")


def test_a_header_does_not_continue_a_definition() -> None:
    assert parse("alphabet a b\n  x(i) = in(i)\n  output x").alphabet == ("a", "b")


def test_the_order_of_headers_does_not_matter_and_lines_may_end_in_any_way() -> None:
    assert parse("\ufeffoutput x\r\nx(i) = 1\ralphabet a") == parse("alphabet a\nx(i) = 1\noutput x\n")


def test_letters_may_be_quoted() -> None:
    program = parse(
        r"""alphabet ' ' '\'' "\"" '#' '\\' 'a' '\n' '\u00e9' long ' '
x(i) = in(i) = '\x41' or in(i) = "'"
output x""".replace("long ' '", "A")
    )
    assert program.alphabet == (" ", "'", '"', "#", "\\", "a", "\n", "é", "A")
    assert parse(to_text(program)) == program
    assert program.word(" 'a") == (" ", "'", "a")


def test_a_program_is_named_by_argument_text_or_file() -> None:
    text = "alphabet a\nx(i) = 1\noutput x"
    assert parse(f"program mine\n{text}", source="dir/file.srasp", name="told").name == "told"
    assert parse(f"program mine\n{text}", source="dir/file.srasp").name == "mine"
    assert parse(f"program 'my own'\n{text}").name == "my own"
    assert parse(text, source="dir/file.srasp").name == "file"
    assert parse(text).name == "program"


ERRORS = [
    ("x(i) = 1 +", "2:11", "unexpected end of the definition; expected an expression"),
    ("x(i) = depth + 1", "2:14", r"as in depth\(i\)"),
    ("x(i) = in(i-1)", "2:12", "rightmost j < i"),
    ("x(i) = (1", "2:10", r"expected '\)'"),
    ("x(i = 1", "2:5", r"expected '\)'"),
    ("x(j) = 1", "2:3", "expected 'i'"),
    ("x(i) = 1 < pos(i) < 3", "2:19", "join comparisons with 'and'"),
    ("x(i) = 'a = in(i)", "2:8", "unterminated quote"),
    ("x(i) = 2 * 3", "2:10", r"unexpected character '\*'"),
    ("x(i) = in(k)", "2:11", "expected 'i' or 'j'"),
    ("x(i) = in(i) in {}", "2:18", "a symbol such as 'a'"),
    ("x(i) = rightmost k < i : 1 else 2", "2:18", "expected 'j'"),
    ("x(i) = rightmost j < i : 1", "2:27", "expected 'else'"),
    ("x(i) = rightmost j < i where true 1 else 2", "2:35", "':'"),
    ("x(i) = 1\n  y(i) = 2", "3:3", "more deeply indented"),
    ("x = 1", "2:3", "with its position"),
    ("not(i) = 1", "2:1", "'not' is a keyword"),
    ("3 = 3", "2:1", "write a definition as in"),
    ("x(i) = '\\q' = in(i)", "2:8", "unknown escape"),
    ("x(i) = " + "9" * 5000, "2:8", "5,000 digits"),
    ("alphabet b", "2:1", "duplicate line"),
    ("output x y", "2:1", "expected one name after"),
    ("program", "2:1", "expected one name after"),
    ("output: x", "2:7", "expected a space"),
    ("program 'x", "2:9", "invalid quotes: expected a symbol"),
    ("program 'x'y'", "2:9", "invalid quotes: expected a symbol"),
]


@pytest.mark.parametrize(("line", "where", "message"), ERRORS)
def test_syntax_errors_have_a_place_and_a_caret(line: str, where: str, message: str) -> None:
    text = f"alphabet a\n{line}\n"
    with pytest.raises(SourceError, match=message) as caught:
        parse(text, source="file.srasp")
    assert str(caught.value).startswith(f"file.srasp:{where}: ")
    caret = str(caught.value).splitlines()[2]
    assert caret.strip() == "^"
    assert caught.value.place is not None
    assert caught.value.place.column is not None
    assert caret.index("^") - 4 == caught.value.place.column - 1


def test_all_syntax_errors_are_reported_at_once() -> None:
    with pytest.raises(SourceError) as caught:
        parse("\n".join(line for line, _, _ in ERRORS[:10]))
    assert str(caught.value).count("^") == 10
    with pytest.raises(SourceError, match="… and 80 more"):
        parse("x(i = 1\n" * 100)


def test_a_long_line_is_shown_in_part_and_wide_characters_are_wide() -> None:
    with pytest.raises(SourceError) as caught:
        parse(f"x(i) = {'pos(i) + ' * 100}) + {'pos(i) + ' * 100}1")
    window, caret = str(caught.value).splitlines()[1:3]
    assert len(window) < 120
    assert window[caret.index("^")] == ")"
    with pytest.raises(SourceError) as caught:
        parse("x(i) = in(i) = '日本' )")
    window, caret = str(caught.value).splitlines()[1:3]
    assert caret.index("^") == window.rindex(")") + 2


def test_a_source_that_is_too_long_is_refused() -> None:
    with pytest.raises(SourceError, match="1,200,000 characters"):
        parse("x(i) = 1" * 150_000)


@pytest.mark.parametrize(
    "text",
    [
        "not " * 5000 + "true",
        "-" * 5000 + "pos(i)",
        "(true and " * 3000 + "true" + ")" * 3000,
        "pos(i)" + " + pos(i)" * 3000,
        "1 if true else " * 3000 + "2",
        "rightmost j : 1 else " * 3000 + "2",
        "rightmost j : " * 2000 + "1" + " else 2" * 2000,
        "psum j : " * 3000 + "1",
    ],
)
def test_what_is_nested_too_deep_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidError, match="nested more than 100 deep"):
        body(text)


def test_what_is_long_but_not_deep_is_fine() -> None:
    assert body("(" * 5000 + "1" + ")" * 5000) == IntegerLiteral(1)
    parts = body(" and ".join(["true"] * 3000))
    assert isinstance(parts, And)
    assert len(parts.parts) == 3000
    assert body("not " * 99 + "true") == body("not " * 99 + "true")


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_come_back_from_their_text(seed: int) -> None:
    program = random_program(random.Random(seed), depth=4, vectors=4, integers=seed % 3 != 0)
    assert parse(to_text(program)) == program


@pytest.mark.parametrize(
    "expression",
    [
        Subtract(IntegerLiteral(0), IntegerLiteral(5)),
        Subtract(IntegerLiteral(0), IntegerLiteral(-5)),
        Subtract(IntegerLiteral(0), IntegerLiteral(0)),
        Subtract(IntegerLiteral(0), Subtract(IntegerLiteral(0), VectorRead("pos", "i"))),
        Subtract(IntegerLiteral(0), Add(IntegerLiteral(1), VectorRead("pos", "i"))),
        Subtract(VectorRead("pos", "i"), Subtract(IntegerLiteral(0), VectorRead("pos", "i"))),
        Add(IntegerLiteral(-1), Add(IntegerLiteral(-2), IntegerLiteral(-3))),
        Compare(Relation.EQUAL, Compare(Relation.LESS, IntegerLiteral(1), IntegerLiteral(2)), BooleanLiteral(True)),
        Compare(Relation.NOT_EQUAL, Not(BooleanLiteral(True)), And((BooleanLiteral(True), BooleanLiteral(False)))),
        Not(Or((BooleanLiteral(True), Not(Not(BooleanLiteral(False)))))),
        Not(Member(Conditional(BooleanLiteral(True), VectorRead("in", "i"), SymbolLiteral("b")), ("a",))),
        Or(
            (
                Or((BooleanLiteral(True), BooleanLiteral(False))),
                And((BooleanLiteral(True), Or((BooleanLiteral(False), BooleanLiteral(True))))),
            )
        ),
        Conditional(
            Conditional(BooleanLiteral(True), BooleanLiteral(False), BooleanLiteral(True)),
            IntegerLiteral(1),
            PrefixSum(IntegerLiteral(1)),
        ),
        Conditional(
            BooleanLiteral(True),
            Conditional(BooleanLiteral(True), IntegerLiteral(1), IntegerLiteral(2)),
            IntegerLiteral(3),
        ),
        Add(PrefixSum(Add(IntegerLiteral(1), IntegerLiteral(2))), IntegerLiteral(3)),
    ],
)
def test_what_is_written_by_hand_comes_back_from_its_text(expression: Expression) -> None:
    program = SraspProgram(name="x y", alphabet=("a", "b"), definitions=(Definition("v", expression),), output="v")
    assert parse(to_text(program)) == program


@example(["0"], "0#")
@given(st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=4, unique=True), st.text(max_size=6))
def test_any_letters_and_any_name_come_back(letters: list[str], name: str) -> None:
    try:
        program = SraspProgram(
            name=name or "x",
            alphabet=tuple(letters),
            definitions=(Definition("v", Member(VectorRead("in", "i"), tuple(letters))),),
            output="v",
        )
    except InvalidError:
        return
    assert parse(to_text(program)) == program


PIECES = [
    *(
        "alphabet a b\n",
        "output x",
        "\n",
        "\n  ",
        " ",
        "x(i) = ",
        "y(i) = ",
        "in(i)",
        "x(j)",
        "pos(i)",
        "'a'",
        "'",
        '"',
    ),
    *(
        "psum j : ",
        "rightmost j < i where ",
        "leftmost j",
        ": ",
        " else ",
        " if ",
        " and ",
        " or ",
        "not ",
        " in ",
        "{",
    ),
    *("}", ",", "(", ")", "=", "<=", "!=", "+", "-", "7", "true", "#", "\\", "program x\n", "é", "\t", "\0", "\u2028"),
]


@settings(deadline=None, max_examples=150)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=40))
def test_no_text_makes_the_parser_fail_in_another_way(text: str) -> None:
    format_by_name("srasp").looks_like(text)
    try:
        program = parse(text)
    except SoftmachineError:
        return
    assert parse(to_text(program)) == program


def test_no_damaged_program_makes_the_parser_fail_in_another_way() -> None:
    rng = random.Random(0)
    programs = Path(softmachine.__file__).parent / "languages" / "zoo" / "srasp"
    text = (programs / "flip-flop.srasp").read_text(encoding="utf-8")
    for _ in range(60):
        start = rng.randrange(len(text))
        damaged = text[:start] + rng.choice(PIECES) + text[start + rng.randrange(8) :]
        try:
            program = parse(damaged)
        except SoftmachineError:
            continue
        assert parse(to_text(program)) == program


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (CONTRACT, True),
        ("alphabet a\nx(i) = = 1", True),
        ("x(i) = 1\noutput x", True),
        ("alphabet a b\nP := #[Q_a]\naccept P = 0", False),
        ("odd(i) and Q_a", False),
        ("input: 'x(i) = 1'\ntable:", False),
        ("", False),
    ],
)
def test_programs_are_recognised_despite_syntax_errors(text: str, meant: bool) -> None:
    assert format_by_name("srasp").looks_like(text) is meant
