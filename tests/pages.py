"""What a page shows to be tried, in the order of the page, and what it says that comes of it.

Three things are found in Markdown (and in the examples of the help):

- commands: lines ``$ softmachine …`` in a block, with what they print below them; lines ``softmachine …`` in a block
  and in `code`, of which nothing is shown;
- Python: blocks of it, with what they print in a block ``text`` right below, or in comments;
- Python in a session (``>>>``).

A line that is only ``…`` stands for any lines, and a long line may be broken at blanks.
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
"""Options that say where something is written that later commands may read."""


@dataclass(frozen=True)
class Item:
    """Something that a page shows to be tried.

    Args:
        kind: ``command``, ``python`` or ``session``.
        text: What is tried.
        said: What the page says that is printed, if it says anything.
        line: Where on the page.
    """

    kind: str
    text: str
    said: str | None
    line: int

    @property
    def written(self) -> tuple[str, ...]:
        """The files and folders that a command writes."""
        words = shlex.split(self.text) if self.kind == "command" else []
        return tuple(name.rstrip("/") for option, name in pairwise(words) if option in WRITES)

    @property
    def fails(self) -> bool:
        """Whether the page shows that the command ends with another status than 0."""
        return bool(FAILS.search(self.said or ""))


@dataclass(frozen=True)
class _Block:
    language: str
    text: str
    line: int


def items(page: str) -> list[Item]:
    """All items of a page, in order."""
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
    """What a piece of Python prints, if the next thing on the page is that."""
    if following is None or following.language not in ("text", ""):
        return None
    lines = following.line - block.line - block.text.count("\n")
    prints = following.language == "text" or "print(" in block.text.splitlines()[-1]
    return following.text if prints and lines <= 3 else None


def examples(epilog: str) -> list[Item]:
    """The examples of a help text."""
    return list(_commands(_Block("", re.sub(r"^ +", "", epilog.replace("\\\n", " "), flags=re.MULTILINE), 0)))


def groups(found: Sequence[Item]) -> list[list[Item]]:
    """Items that need one another: those that name what a command writes with it; all Python of a page."""
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
    """The blocks of a page, fenced or indented by four blanks after an empty line; and the lines of prose."""
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
    """Commands in the text that could be typed as they are."""
    for line, text in prose:
        for command in INLINE.findall(text):
            if not PLACEHOLDER.search(command):
                yield line, command


def _commands(block: _Block) -> Iterator[Item]:
    """The commands of a block: what follows the last ``&&``, with what is shown below."""
    lines = iter(enumerate(block.text.splitlines(), block.line))
    command, first, said = "", 0, list[str]()
    for number, text in lines:
        asked = text.startswith("$ ")
        if not asked and not text.startswith("softmachine "):
            said.append(text)
            continue
        yield from _command(command, said, first)
        command, first, said = text, number, []
        while command.endswith("\\"):
            command = command[:-1] + next(lines)[1].strip()
    yield from _command(command, said, first)


def _command(text: str, said: list[str], line: int) -> Iterator[Item]:
    if text:
        shown = "\n".join(said).rstrip() if text.startswith("$ ") else ""
        command = re.sub(r"\s{2,}#.*", "", text.removeprefix("$ ").rpartition(" && ")[2])
        yield Item("command", command, shown or None, line)


def parted(found: str, said: str) -> str:
    """Where what was printed is not what a page says; empty if nowhere."""
    wanted = [line.rstrip() for line in said.strip("\n").splitlines()]
    pattern = "\n".join(re.escape(line) if line.strip() != "…" else "…" for line in wanted)
    whole = "\n".join(line.rstrip() for line in found.strip("\n").splitlines())
    pattern = re.sub(r"^…(\n|$)", r"(?:.*(?:\\n|$))*", pattern, flags=re.MULTILINE)
    pattern = re.sub(r"\n(?=\S)", r"[\\n ]", pattern)
    if re.fullmatch(pattern.rstrip("\n"), whole.rstrip("\n")):
        return ""
    return f"the page says\n{said}\nbut this is printed:\n{whole}"


def carried_out(item: Item, names: dict[str, object]) -> tuple[str, str]:
    """Do what a piece of Python says; what it printed, and which values are not those that it says."""
    if item.kind == "session":
        return "", _session(item, names)
    output = StringIO()
    with redirect_stdout(output):
        wrong = [*_statements(item, names)]
    return output.getvalue(), "\n".join(wrong)


def _statements(item: Item, names: dict[str, object]) -> Iterator[str]:
    """Carry the statements out; an expression with a value in a comment behind it has that value."""
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
    """The value that a comment begins with, up to a semicolon, if it is one."""
    try:
        return (ast.literal_eval(comment.partition(";")[0].strip()),)
    except (SyntaxError, ValueError):
        return None


def _session(item: Item, names: dict[str, object]) -> str:
    """Carry a session out as doctest does."""
    test = doctest.DocTestParser().get_doctest(item.text, names, "page", None, item.line)
    test.globs = names
    complaints = StringIO()
    doctest.DocTestRunner(verbose=False).run(test, out=complaints.write, clear_globs=False)
    return complaints.getvalue()
