from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from softmachine.languages import formats
from softmachine.languages.formats import format_by_name
from softmachine.languages.rasp import FiniteType, IntegerType, RaspProgram, generate, parse, run
from softmachine.languages.rasp.ir import SelectPairs, Table
from softmachine.languages.rasp.program import OpenProgram
from softmachine.languages.source import ExtensibleSource, add_symbols_of_input
from softmachine.support.errors import InvalidError, SoftmachineError, SourceError
from softmachine.support.polynomial import Polynomial

HEADER = "# alphabet: a b c\n"


def output(text: str, word: str, alphabet: str = "a b c") -> tuple[object, ...]:
    return run(parse(f"# alphabet: {alphabet}\n{text}"), word)


# Parsing


def test_the_output_is_the_last_definition_or_given_by_a_header() -> None:
    text = "one = 1 + indices; two = 2 + indices;"
    assert output(text, "ab") == (2, 3)
    assert run(parse(f"# output: one\n{HEADER}{text}"), "ab") == (1, 2)
    assert output("x = indices; x + 5;", "ab") == (5, 6)


def test_a_sentence_about_the_output_is_a_comment() -> None:
    assert run(parse(f"# output: the positions\n{HEADER}x = indices;"), "ab") == (0, 1)


def test_headers_are_comments_for_other_tools() -> None:
    program = parse("# program: p\n# alphabet: ( ) $ #\n# input: ()\n# causal\n# stop: $\nx = tokens;")
    assert (program.name, program.alphabet, program.default_input) == ("p", ("(", ")", "$", "#"), ("(", ")"))
    assert (program.causal, program.stop) == (True, "$")
    longer = parse('# alphabet: one two " "\n# tokens: 1, True, (1/2, None)\n# input: one two\nx = tokens;')
    assert longer.alphabet == ("one", "two", " ")
    assert longer.letters == (1, True, (Fraction(1, 2), None))
    assert longer.default_input == ("one", "two")


def test_everything_but_sequence_operators_and_selectors_is_elaborated_away() -> None:
    text = """
    numbers = {"a": 1, "b": 2};
    def value(x, table) {
        result = 0;
        for key in table { result = table[key] if x == key else result; }
        return result, [2 * table[key] for key in table];
    }
    v, doubled = value(tokens, numbers);
    sums = [v + more for more in doubled];
    total = 0;
    for n, x in enumerate(sums) { total = total + n * x; }
    pairs = zip(range(3), ["x", "y", "z"]);
    last = pairs[len(pairs) - 1][1];
    out = last if total > 5 and not (tokens in ["b", "c"]) else "-";
    """
    assert output(text, "abc") == ("-", "-", "-")
    assert output(text.replace("> 5", "> 4"), "abc") == ("z", "-", "-")


def test_dictionaries_of_sequence_operators_are_tables() -> None:
    program = parse(HEADER + 'x = {("a", 0): "first", ("a", 1): "later"}[tokens, min(indices, 1)];')
    assert isinstance(program.nodes["x"], Table)
    assert program.format_values(run(program, "aba")) == "first undefined later"


def test_lists_of_pairs_are_selectors() -> None:
    program = parse(HEADER + 'n = selector_width(select(tokens, tokens, [("a", "b"), ("b", "b")]));')
    assert any(isinstance(node, SelectPairs) for node in program.nodes.values())
    assert run(program, "abc") == (0, 2, 0)


def test_a_position_of_a_sequence_operator_is_written_with_brackets() -> None:
    assert output("x = tokens[0]; y = tokens[-1]; z = (x, y)[1] + x;", "abc") == ("ca",) * 3


def test_without_a_default_nothing_is_0() -> None:
    assert output("x = aggregate(select(indices, indices - 1, ==), tokens);", "ab") == (0, "a")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("has_focus(select(tokens, indices, ==))", (False, False, False)),
        ('count(tokens, "a")', (2, 2, 2)),
        ('contains(tokens, "c")', (False, False, False)),
        ("average(indices)", (1, 1, 1)),
        ("load_from_location(tokens, 1)", ("b", "b", "b")),
        ('shift(tokens, 1, "_")', ("_", "a", "b")),
        ('shift(tokens, -1, "_")', ("b", "a", "_")),
        ('mark_last_instance(tokens, "a")', (False, False, True)),
        ('mark_first_instance(tokens, "a")', (True, False, False)),
        ('aggregate(select_from_last(tokens, "a"), indices)', (2, 2, 2)),
        ('aggregate(select_from_first(tokens, "a"), indices)', (0, 0, 0)),
        ("sort(tokens, tokens)", ("a", "a", "b")),
        ("sort(tokens, -indices)", ("a", "b", "a")),
        ("aggregate(select_next_identical(tokens), indices, -1)", (2, -1, -1)),
        ("aggregate(no_s, tokens, 7)", (7, 7, 7)),
        ("max(indices, 1) + min(indices, 1)", (1, 2, 3)),
        ("round(indices / 2)", (0, 0, 1)),
        ("int(indices / 2) + abs(-indices)", (0, 1, 3)),
        ("indicator(indices > 0)", (0, 1, 1)),
        ('aggregate(full_s, indices, 0, "max")', (2, 2, 2)),
        ("2 ^ min(indices, 3) // 2", (0, 1, 2)),
        ("0.5 + indices - 1/2", (0, 1, 2)),
    ],
)
def test_every_text_has_a_library(text: str, values: tuple[object, ...]) -> None:
    assert output(f"x = {text};", "aba") == values


def test_letters_are_also_numbers_and_booleans() -> None:
    assert output("x = tokens_int + tokens_float;", "12", "1 2") == (2, 4)
    assert output("x = tokens_bool;", "TF", "T F") == (True, False)
    partly = parse("# alphabet: 1 +\nx = tokens_int;")
    assert partly.types["x"] == FiniteType((1,), partial=True)


def test_what_a_shell_would_do_is_left_out_with_a_note() -> None:
    text = '\nset example "ab"\nx = tokens;\nexamples off\ndraw(x, "ab");\nx("ab");\nexit()\n'
    program = parse(HEADER + text)
    assert len(program.notes) == 5
    assert program.notes[0] == "line 3: shell command ignored"


def test_a_loop_is_written_repeat_until_unchanged() -> None:
    program = parse(
        "# alphabet: 0 1 2\nrepeat x = tokens_int, turns = 0 {\n"
        "  left = aggregate(select(indices, indices - 1, ==), x, 0);\n"
        "  x = max(x, left);\n  turns = min(turns + 1, 3);\n} until unchanged;\ny = x;"
    )
    assert run(program, "01020") == (0, 1, 1, 2, 2)
    assert program.types["y"] == FiniteType((0, 1, 2))


def test_numbers_in_loops_have_the_bounds_that_they_are_kept_in() -> None:
    program = parse(HEADER + "repeat x = 0 { x = min(x + 1, length); } until unchanged;\ny = x;")
    assert program.types["y"] == IntegerType(Polynomial(0), Polynomial(0, 1))
    assert run(program, "aba") == (3, 3, 3)


def test_a_file_may_load_others_beside_it(tmp_path: Path) -> None:
    (tmp_path / "own.rasp").write_text("def twice(x) { return 2 * x; }\n")
    main = tmp_path / "main.rasp"
    main.write_text(HEADER + 'load "own";\nx = twice(indices);\n')
    assert run(parse(main.read_text(), source=str(main)), "ab") == (0, 2)


@pytest.mark.parametrize(
    ("loaded", "message"),
    [
        ("/etc/hostname", "is outside the folder"),
        ("../other", "is outside the folder"),
        ("missing", "cannot be read"),
        ("broken", "in 'broken', line 2: expected ';'"),
        ("itself", "more than 20 files are loaded"),
    ],
)
def test_other_files_are_refused(loaded: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "broken.rasp").write_text("x = 1;\ny = 2\n")
    (tmp_path / "itself.rasp").write_text('load "itself";\n')
    main = tmp_path / "main.rasp"
    main.write_text(f'{HEADER}load "{loaded}";\nx = tokens;\n')
    with pytest.raises(SourceError, match=message) as raised:
        parse(main.read_text(), source=str(main))
    assert str(raised.value).startswith(f"{main}:2:1: ")


def test_a_text_in_no_file_loads_nothing() -> None:
    with pytest.raises(SourceError, match="only a program in a file can load other files"):
        parse(HEADER + 'load "x";')


def test_a_program_without_an_alphabet_is_over_the_letters_it_mentions() -> None:
    program = parse('x = tokens == "q"; # not "z"')
    assert isinstance(program, OpenProgram)
    assert isinstance(program, ExtensibleSource)
    assert program.alphabet == ("q", "a", "b", "c")
    assert program.with_symbols("pr").alphabet == ("q", "p", "r")
    unnamed = parse("x = tokens;")
    assert isinstance(unnamed, OpenProgram)
    assert run(unnamed.with_symbols(["one"]), ("one",)) == ("one",)
    assert not isinstance(parse(HEADER + "x = tokens;"), ExtensibleSource)
    widened = add_symbols_of_input(program, "qed")
    assert isinstance(widened, RaspProgram)
    assert run(widened, "qed") == (True, False, False)


def test_a_text_is_recognised() -> None:
    assert format_by_name("rasp").looks_like("x = select(tokens, tokens, ==);")
    assert formats.recognise("", filename="x.rasp") == "rasp"
    assert not format_by_name("rasp").looks_like("pigs fly; tokens count")


# Syntax errors


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("x = foo;", "2:5", "unknown name 'foo'; define it before this line"),
        ("x = selct(tokens, tokens, ==);", "2:5", "unknown name 'selct'; did you mean 'select'?"),
        ("x = select(tokens, tokens);", "2:5", "'select' takes 3 arguments, but 2 are given; write select(key, query"),
        ("def f(x) { return x; } y = f(1, 2);", "2:28", "'f' takes 1 argument, but 2 are given; write f(x)"),
        ("x = sort(tokens);", "2:5", "'sort' takes 2 arguments, but 1 is given; write sort(seq, key)"),
        ("x = aggregate(tokens, 1);", "2:15", "expected a selector, not a sequence operator"),
        ("x = selector_width(indices);", "2:20", "expected a selector, not a sequence operator"),
        ("x = full_s + 1;", "2:5", "'+' does not apply to a selector"),
        ("x = full_s and tokens;", "2:16", "expected a selector, not a sequence operator"),
        ("x = select(full_s, 1, ==);", "2:12", "expected a sequence operator, not a selector"),
        ("def f(x) { return f(x); } y = f(1);", "2:19", "'f' is recursive, so its expansion would not end"),
        ("def f(x) { return g(x); } def g(x) { return f(x); } y = f(1);", "2:45", "'f' is recursive"),
        ("def f(x) { y = x; } z = f(1);", "2:5", "the function 'f' does not end with a return; end it with: return x;"),
        ("return 1;", "2:1", "return outside a function"),
        ("x = tokens", "2:11", "expected ';' at the end of the statement; write ; here"),
        ("x = tokens\ny = 1;", "2:11", "expected ';' at the end of the statement; write ; here"),
        ("x = (tokens;", "2:5", "this bracket is never closed; close it with )"),
        ("x = tokens);", "2:11", "this bracket closes no open bracket"),
        ("x = 1 or 2 and 3;", "2:12", "add parentheses"),
        ("x = not tokens == 1;", "2:16", "add parentheses"),
        ("x = 1 % 2 * 3;", "2:11", "add parentheses"),
        ("x = -1 ^ 2;", "2:8", "add parentheses"),
        ("x = 1 if True else 2 if True else 3;", "2:22", "add parentheses"),
        ("x = tokens in [1] and True;", "2:19", "add parentheses"),
        ('x = "abc;', "2:5", 'unterminated quote; write a symbol as "a"'),
        ("x = tokens & 1;", "2:12", "unexpected character '&'; write and"),
        ("if x { y = 1; }", "2:1", "if is an expression: x if p else y"),
        ("x = [1, 2][5];", "2:12", "index 5 is out of range for 2 entries; indices start at 0"),
        ("for x in 5 { y = x; }", "2:10", "expected a list, not a number"),
        ("a, b = [1, 2, 3];", "2:1", "cannot unpack 3 values into 2 names"),
        ("x = 1 / 0;", "2:5", "'/' is undefined for a number and a number with these values"),
        ("x = tokens(1);", "2:5", "expected a function, not a sequence operator"),
        ("x = range(10000000);", "2:5", "a list has at most 20,000 entries"),
        ("x = 2; " + "x = x * x; " * 40, "2:155", "this value is too large"),
        ("repeat x = tokens { x = x; } until done;", "2:36", "a loop runs to a fixpoint: write until unchanged"),
        ("repeat x = 1 { repeat y = 1 { y = y; } until unchanged; } until unchanged;", "2:16", "loops cannot be"),
        ("x = tokens_int;", "2:5", "no letter of the alphabet converts"),
        ("True = 1;", "2:1", "'True' is a keyword; choose another name"),
        ("x = 3;", "1:1", "the program has no output; define a sequence operator"),
        ("x = " + "[" * 100 + "]" * 100 + ";", "2:40", "nested more than 64 levels deep; assign subexpressions"),
        ("for x in [1] { " * 30 + "}" * 30, "2:196", "blocks are nested more than 16 levels deep"),
        ("x = indices" + " + 1" * 20_000 + ";", "2:40011", "more than 10,000 operations up to here"),
    ],
)  # fmt: skip
def test_a_syntax_error_has_a_place_and_a_hint(text: str, place: str, message: str) -> None:
    with pytest.raises(SourceError) as raised:
        parse(HEADER + text, source="f.rasp")
    assert str(raised.value).startswith(f"f.rasp:{place}: ")
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("x = tokens + 1;", "2:5", """'+' needs numbers, but tokens is a symbol ("a", "b", "c")"""),
        ("x = tokens < 1;", "2:5", """'<' cannot compare tokens (a symbol ("a", "b", "c")) with 1"""),
        ("x = indices if length else 0;", "2:5", "length is an integer from n to n, but a condition is true or false"),
        ("x = indicator(indices);", "2:5", "'indicator' needs true or false; write indices != 0"),
        ("x = not tokens;", "2:5", "'not' needs true or false, but tokens is a symbol"),
        ("x = indices ^ indices;", "2:5", "this power grows faster than every polynomial"),
        ("x = indices / 0;", "2:5", "the divisor is always 0"),
        ('x = aggregate(select(tokens, "a", ==), indices, "-");', "2:5", "the default must be a number too"),
        ("x = average(aggregate(select(indices, indices, <), indices));", "2:5", "aggregate numerators, or round"),
        ("x = selector_width(select(tokens, indices, <));", "2:20", "'<' cannot compare a key that is a symbol"),
        ("repeat x = 0 { x = x + 1; } until unchanged;\ny = x;", "3:5", "limit them, for example by min(x"),
        ('x = table(tokens, {"z": 1});', "2:5", "no row of the table matches"),
    ],
)  # fmt: skip
def test_types_that_do_not_fit_are_reported_where_and_why(text: str, place: str, message: str) -> None:
    with pytest.raises(InvalidError) as raised:
        parse(HEADER + text, source="f.rasp")
    assert f"f.rasp:{place}: " in str(raised.value)
    assert message in str(raised.value)


def test_all_types_that_do_not_fit_are_reported_at_once() -> None:
    with pytest.raises(InvalidError) as raised:
        parse(HEADER + "x = tokens + 1;\ny = tokens - 1;\nz = (x == 1) and (y == 1);")
    assert len(raised.value.problems) == 2


def test_an_autoregressive_program_outputs_letters_only() -> None:
    with pytest.raises(InvalidError, match="a letter or '\\$', but the output is an integer from 0 to n-1"):
        parse(f"{HEADER}# causal\n# stop: $\nx = indices;")
    with pytest.raises(InvalidError, match='but the output may be "z"'):
        parse(f'{HEADER}# causal\n# stop: $\nx = "z" if indices > 3 else tokens;')
    with pytest.raises(InvalidError, match="only a causal program can have a stop symbol"):
        parse(f"{HEADER}# stop: $\nx = tokens;")


def test_digits_may_be_output_as_numbers() -> None:
    program = parse("# alphabet: 0 1 2\n# causal\n# stop: 3\nx = tokens_int + 1;")
    assert generate(program, "0").letters == ("1", "2")


@pytest.mark.parametrize("text", ["(" * 10**5 + "tokens" + ")" * 10**5, "(" * 10**5, "-" * 10**4 + "1"])
def test_a_hundred_thousand_brackets_are_read_or_refused(text: str) -> None:
    try:
        program = parse(f"{HEADER}x = {text};")
    except SoftmachineError as error:
        assert str(error).startswith("<string>:2:")  # noqa: PT017
    else:
        assert run(program, "ab") == ("a", "b")


def test_ten_megabytes_are_refused() -> None:
    with pytest.raises(SourceError, match="a program may have at most 1,048,576"):
        parse(HEADER + "x = tokens;\n" * 900_000)
