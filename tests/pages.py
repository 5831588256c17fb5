"""The runnable items of a page, in order, with the output that the page shows.

Markdown (and the examples of the help) may contain:

- commands: lines ``$ softmachine …`` in a block, with their output below; lines ``softmachine …`` in a block and in
  `code`, without output;
- blocks of Python, with their output in a block ``text`` below, or in comments;
- Python sessions (``>>>``).

A line ``…`` stands for any lines, and a long line may be broken at spaces.
"""

from __future__ import annotations

import ast
import doctest
import re
import shlex
import tokenize
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from itertools import pairwise, zip_longest

FENCE = re.compile(r"```(\w*)$")
INLINE = re.compile(r"(?<!`)`(softmachine [^`]+)`(?!`)")
PLACEHOLDER = re.compile(r"\b(SOURCE|INPUT|FILE|DIR|FOLDER|FORMAT|NAME|N)\b|…")
FAILS = re.compile(r"^(error|step limit reached)\b|[^o] disagreements?\b|differs from the interpreter", re.MULTILINE)
WRITES = ("-o", "--checkpoint")
"""Options whose values are files or folders that later commands may read."""


@dataclass(frozen=True)
class Item:
    """A runnable item of a page.

    Args:
        kind: ``command``, ``python`` or ``session``.
        text: The command or code.
        output: The output shown on the page, if there is any.
        line: The line on the page.
    """

    kind: str
    text: str
    output: str | None
    line: int

    @property
    def written(self) -> tuple[str, ...]:
        """The files and folders that a command writes."""
        words = shlex.split(self.text) if self.kind == "command" else []
        return tuple(name.rstrip("/") for option, name in pairwise(words) if option in WRITES)

    @property
    def fails(self) -> bool:
        """Whether the output on the page implies a status other than 0."""
        return bool(FAILS.search(self.output or ""))


@dataclass(frozen=True)
class _Block:
    language: str
    text: str
    line: int


def items(page: str) -> list[Item]:
    """Return all items of a page, in order."""
    blocks, prose = _blocks(page)
    found = [Item("command", text, None, line) for line, text in _inline(prose)]
    for block, following in zip_longest(blocks, blocks[1:]):
        if block.language == "python":
            found.append(Item("python", block.text, _shown_below(block, following), block.line))
        elif ">>> " in block.text:
            found.append(Item("session", block.text, None, block.line))
        elif block.language in ("", "console"):
            found += _commands(block)
    return sorted(found, key=lambda item: item.line)


def _shown_below(block: _Block, following: _Block | None) -> str | None:
    """Return the output of a piece of Python, if the next block is that."""
    if following is None or following.language not in ("text", ""):
        return None
    lines = following.line - block.line - block.text.count("\n")
    prints = following.language == "text" or "print(" in block.text.splitlines()[-1]
    return following.text if prints and lines <= 3 else None


def examples(epilog: str) -> list[Item]:
    """Return the examples of a help text."""
    return list(_commands(_Block("", re.sub(r"^ +", "", epilog.replace("\\\n", " "), flags=re.MULTILINE), 0)))


def groups(found: Sequence[Item]) -> list[list[Item]]:
    """Group items that depend on one another: a command with those that name its files; all Python of a page."""
    kept: list[list[Item]] = []
    for item in found:
        with_it = [group for group in kept if any(_belong(earlier, item) for earlier in group)]
        kept = [group for group in kept if group not in with_it]
        kept.append([*(earlier for group in with_it for earlier in group), item])
    return [sorted(group, key=lambda item: item.line) for group in kept]


def _belong(earlier: Item, item: Item) -> bool:
    if "command" not in (earlier.kind, item.kind):
        return True
    return any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", item.text) for name in earlier.written)


def _blocks(page: str) -> tuple[list[_Block], list[tuple[int, str]]]:
    """Return the blocks of a page, fenced or indented by four spaces after an empty line, and the lines of prose."""
    blocks: list[_Block] = []
    prose: list[tuple[int, str]] = []
    lines = page.splitlines()
    k = 0
    while k < len(lines):
        if (fence := FENCE.match(lines[k])) is not None:
            end = lines.index("```", k + 1)
            blocks.append(_Block(fence[1] or "text", "".join(f"{line}\n" for line in lines[k + 1 : end]), k + 2))
            k = end + 1
        elif lines[k].startswith("    ") and (k == 0 or not lines[k - 1].strip()):
            end = next((j for j in range(k, len(lines)) if lines[j].strip() and lines[j][:4].strip()), len(lines))
            text = "".join(f"{line[4:]}\n" for line in lines[k:end]).rstrip("\n") + "\n"
            blocks.append(_Block("", text, k + 1))
            k = end
        else:
            prose.append((k + 1, lines[k]))
            k += 1
    return blocks, prose


def _inline(prose: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield commands in the text without placeholders."""
    for line, text in prose:
        for command in INLINE.findall(text):
            if not PLACEHOLDER.search(command):
                yield line, command


def _commands(block: _Block) -> Iterator[Item]:
    """Yield the commands of a block (after the last ``&&``), with the output below them."""
    lines = iter(enumerate(block.text.splitlines(), block.line))
    command, first, output = "", 0, list[str]()
    for number, text in lines:
        if not text.startswith(("$ ", "softmachine ")):
            output.append(text)
            continue
        yield from _command(command, output, first)
        command, first, output = text, number, []
        while command.endswith("\\"):
            command = command[:-1] + next(lines)[1].strip()
    yield from _command(command, output, first)


def _command(text: str, output: list[str], line: int) -> Iterator[Item]:
    if text:
        shown = "\n".join(output).rstrip() if text.startswith("$ ") else ""
        command = re.sub(r"\s{2,}#.*", "", text.removeprefix("$ ").rpartition(" && ")[2])
        yield Item("command", command, shown or None, line)


def compare_output(found: str, shown: str) -> str:
    """Compare the printed output with that on a page; return the difference, empty if there is none."""
    wanted = [line.rstrip() for line in shown.strip("\n").splitlines()]
    pattern = "\n".join(re.escape(line) if line.strip() != "…" else "…" for line in wanted)
    whole = "\n".join(line.rstrip() for line in found.strip("\n").splitlines())
    pattern = re.sub(r"^…(\n|$)", r"(?:.*(?:\\n|$))*", pattern, flags=re.MULTILINE)
    pattern = re.sub(r"\n(?=\S)", r"[\\n ]", pattern)
    if re.fullmatch(pattern.rstrip("\n"), whole.rstrip("\n")):
        return ""
    return f"on the page:\n{shown}\nprinted:\n{whole}"


def run_python(item: Item, names: dict[str, object]) -> tuple[str, str]:
    """Run a piece of Python; return its output, and the values that differ from those in its comments."""
    if item.kind == "session":
        return "", _session(item, names)
    output = StringIO()
    with redirect_stdout(output):
        wrong = [*_statements(item, names)]
    return output.getvalue(), "\n".join(wrong)


def _statements(item: Item, names: dict[str, object]) -> Iterator[str]:
    """Run the statements, and compare expressions with the values in comments after them."""
    comments = {
        token.start[0]: token.string[1:].strip()
        for token in tokenize.generate_tokens(StringIO(item.text).readline)
        if token.type == tokenize.COMMENT
    }
    for statement in ast.parse(item.text).body:
        if isinstance(statement, ast.Expr):
            value = eval(compile(ast.Expression(statement.value), "page", "eval"), names)
            wanted = _literal(comments.get(statement.end_lineno or 0, ""))
            if wanted is not None and value != wanted[0]:
                yield f"{ast.unparse(statement)} is {value!r}, not {wanted[0]!r}"
        else:
            exec(compile(ast.Module([statement], []), "page", "exec"), names)


def _literal(comment: str) -> tuple[object] | None:
    """Return the literal at the beginning of a comment, up to a semicolon, if there is one."""
    try:
        return (ast.literal_eval(comment.partition(";")[0].strip()),)
    except (SyntaxError, ValueError):
        return None


def _session(item: Item, names: dict[str, object]) -> str:
    """Run a session as doctest does."""
    test = doctest.DocTestParser().get_doctest(item.text, names, "page", None, item.line)
    test.globs = names
    complaints = StringIO()
    doctest.DocTestRunner(verbose=False).run(test, out=complaints.write, clear_globs=False)
    return complaints.getvalue()
