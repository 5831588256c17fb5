"""A student in a hurry: typos, nothing at all, pipes, and a window that is far too narrow."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shlex
import struct
import subprocess
import termios
import time
from fcntl import ioctl
from pathlib import Path

import pytest

from tests.roles.conftest import Desk
from tests.shell import environment, in_a_shell

CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
TYPOS = [
    ("softmachine runn palindrome", "Did you mean 'run'?"),
    ("softmachine run", "missing argument 'SOURCE'"),
    ("softmachine run palindrom abba", "did you mean palindrome or "),
    ("softmachine run busybeaver5", "did you mean busy-beaver-5 or "),
    ("softmachine run palindrome abba --quit", "--quiet"),
    ("softmachine run palindrome abba --steps 3", "--max-steps"),
    ("softmachine run palindrome abc", "the alphabet is a b"),
    ("softmachine run palindrome --input abba", "no such option: --input"),
    ("softmachine run palindrome abba abba", "unexpected extra argument"),
    ("softmachine run palindrome abba --max-steps many", "'many' is not a whole number"),
    ("softmachine run palindrome abba --max-steps -1", "-1 is less than 0"),
    ("softmachine run palindrome abba --theorem ternry", "did you mean turing-ternary?"),
    ("softmachine run palindrome abba --arithmetic flot64", "did you mean float64 or "),
    ("softmachine run palindrome abba --attention sfot", "did you mean soft?"),
    ("softmachine run palindrome.yml abba", "'palindrome.yml' is not in the zoo, not a file"),
    ("softmachine run .", "this is a folder"),
    ("softmachine run '' abba", "the source is empty"),
    ("softmachine run 'G(a -> F b)' ab", "write Q_a for the symbol a"),
    ("softmachine run 'Q_a since' ab", "unexpected end of the formula"),
    ("softmachine run 1RB1LB_1LA1R abba", "1RB1LB_1LA1R"),
    ("softmachine check palindrome", "for example --up-to 4"),
    ("softmachine check palindrome --up-to four", "'four' is not a whole number"),
    ("softmachine certify palindrome", "missing option '--length'"),
    ("softmachine certify palindrome --length 10 --plot picture.docx", "picture.docx"),
    ("softmachine compile palindrome", "missing option '--output'"),
    ("softmachine dataset palindrome --up-to 3 -o rows.xlsx", ".jsonl"),
    ("softmachine show nothing-like-it", "`softmachine zoo` lists the bundled sources"),
    ("softmachine zoo palindrmoe", "palindrome"),
    ("softmachine theorems chapter8", "turing-average-hard"),
]


@pytest.mark.parametrize(("command", "says"), TYPOS)
def test_a_typo_gets_one_message_that_helps(command: str, says: str, desk: Desk) -> None:
    called = desk.types(command, status=2)
    assert called.out == ""
    assert called.err.startswith("error: ")
    assert says in called.err
    assert len(called.err) < 600
    assert list(desk.folder.iterdir()) == []
    problem = json.loads(desk.types(f"{command} --json", status=2).out)["error"]
    assert problem["message"]


def test_nothing_at_all_is_a_question_for_help(desk: Desk) -> None:
    said = desk.types("softmachine").out
    assert "Usage: softmachine" in said
    assert "softmachine run palindrome abba" in said


@pytest.mark.parametrize("command", ["run palindrome 'a b b a'", "run palindrome ' abba '", "run palindrome a,b,b,a"])
def test_a_word_with_blanks_is_the_word(command: str, desk: Desk) -> None:
    if "," in command:
        assert "symbol ',' at position 2" in desk.types(f"softmachine {command}", status=2).err
    else:
        assert "accept" in desk.types(f"softmachine {command} --quiet").out


PIPES = [
    ("softmachine run palindrome abba | head -1", "     0  first      [a] b  b  a\n"),
    ("softmachine run palindrome abba --quiet | cut -d' ' -f1", "accept\n"),
    ("softmachine zoo palindrome --quiet | softmachine run - abba --quiet | cut -d' ' -f1", "accept\n"),
    ("softmachine run <(softmachine zoo increment --quiet) 11 --quiet | cut -d' ' -f1,3", "halt '100'\n"),
    ("softmachine zoo --quiet | wc -l | tr -d ' '", None),
    (
        "softmachine run palindrome ab --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[\"steps\"])'",
        "4\n",
    ),
    (
        "softmachine run nothing 2>&1 >/dev/null | head -1",
        "error: 'nothing' is not in the zoo, not a file, and not in a one-line format\n",
    ),
    ("yes | head -c 2000000 | softmachine run - 2>&1 | head -1", "error: <stdin>: the source is longer than 1 MiB\n"),
    ("softmachine run - </dev/null 2>&1", "error: standard input is empty\n"),
]


@pytest.mark.parametrize(
    ("command", "prints"), [*PIPES[:4], *(pytest.param(*pipe, marks=pytest.mark.slow) for pipe in PIPES[4:])]
)
def test_pipes(command: str, prints: str | None, tmp_path: Path) -> None:
    done = in_a_shell(command, tmp_path)
    assert done.stderr == ""
    if prints is not None:
        assert done.stdout == prints
    else:
        assert int(done.stdout) > 80


def on_a_terminal(command: str, folder: Path, columns: int) -> tuple[int, list[str]]:
    """The status, and the lines that a command writes to a terminal that is so narrow."""
    main, terminal = pty.openpty()
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    words = shlex.split(command)
    env = environment(folder, TERM="xterm-256color")
    with subprocess.Popen(words, stdin=terminal, stdout=terminal, stderr=terminal, env=env, cwd=folder) as process:
        os.close(terminal)
        written, deadline = b"", time.monotonic() + 60
        while time.monotonic() < deadline:
            if select.select([main], [], [], 1)[0]:
                try:
                    data = os.read(main, 65536)
                except OSError:  # the other end is closed
                    break
                written += data
        status = process.wait(timeout=10)
    os.close(main)
    return status, re.split(r"[\r\n]+", CODES.sub("", written.decode("utf-8")))


@pytest.mark.parametrize("columns", [40, *(pytest.param(columns, marks=pytest.mark.slow) for columns in (80, 20, 7))])
def test_a_run_in_a_narrow_window(columns: int, tmp_path: Path) -> None:
    status, lines = on_a_terminal("softmachine run palindrome abba", tmp_path, columns)
    assert status == 0
    assert max(map(len, lines)) <= max(columns, 20)
    assert any("accept" in line for line in lines) or columns < 20


@pytest.mark.parametrize("arguments", ["show palindrome", "theorems", "zoo", "--help", "run --help"])
@pytest.mark.slow
def test_other_commands_in_a_narrow_window(arguments: str, tmp_path: Path) -> None:
    status, lines = on_a_terminal(f"softmachine {arguments}", tmp_path, 40)
    assert status == 0
    assert "Traceback" not in "".join(lines)
    too_wide = [line for line in lines if len(line) > 40 and len(line.split()) > 1]  # one word cannot be wrapped
    assert [line for line in too_wide if not line.startswith("Turing machine")] == []


def test_ctrl_c_at_once_is_one_word(tmp_path: Path) -> None:
    command = "softmachine run busy-beaver-5 & sleep 0.3; kill -INT $!; wait $!; echo $?"
    done = in_a_shell(command, tmp_path)
    assert done.stdout.splitlines()[-1] in ("130", "0")
    assert done.stderr in ("", "interrupted\n")
