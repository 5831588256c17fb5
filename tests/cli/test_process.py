"""The command line as a process of its own: start, pipes, signals, terminals."""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from softmachine.languages import zoo

COMMAND = [sys.executable, "-m", "softmachine"]
# A shell starts background jobs with Ctrl-C ignored; a test of Ctrl-C must not depend on how it was started itself.
HEARS_CTRL_C = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from softmachine.cli import main; sys.exit(main())"
)
CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def _environment(**more: str) -> dict[str, str]:
    dropped = ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "LINES")
    return {**{name: value for name, value in os.environ.items() if name not in dropped}, **more}


def _run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        env=_environment(**environment),
    )


def _on_a_terminal(arguments: Sequence[str], **environment: str) -> tuple[int, str]:
    """The status, and everything that the command writes to a terminal of 80 columns."""
    main, terminal = pty.openpty()
    env = _environment(TERM="xterm-256color", COLUMNS="80", LINES="24", **environment)
    with subprocess.Popen([*COMMAND, *arguments], stdin=terminal, stdout=terminal, stderr=terminal, env=env) as process:
        os.close(terminal)
        written = b""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if select.select([main], [], [], 1)[0]:
                try:
                    data = os.read(main, 65536)
                except OSError:  # the other end is closed
                    break
                if not data:
                    break
                written += data
        status = process.wait(timeout=10)
    os.close(main)
    return status, written.decode("utf-8")


def test_help_and_version_import_nothing_heavy() -> None:
    code = (
        "import sys; from softmachine.cli import main; status = main(['--help'])\n"
        "heavy = {'numpy', 'numba', 'flint', 'yaml', 'safetensors'} & set(sys.modules)\n"
        "sys.exit(f'{status} {heavy}' if status or heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "run" in done.stdout
    assert _run("--version").stdout.startswith("softmachine ")


@pytest.mark.parametrize("source", ["palindrome", "always (Q_a or Q_b)"])
def test_a_short_run_does_not_wait_for_the_fast_engine(source: str) -> None:
    code = (
        f"import sys; from softmachine.cli import main; status = main(['run', {source!r}, 'abba', '--quiet'])\n"
        "sys.exit(f'{status}: numba is there' if status or 'numba' in sys.modules else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", ["run", "check", "show", "compile", "zoo"])
def test_every_command_has_help_with_an_example(command: str) -> None:
    done = _run(command, "--help")
    assert done.returncode == 0
    assert f"softmachine {command}" in done.stdout.split("Examples")[1]
    assert "--json" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_without_arguments_there_is_help() -> None:
    done = _run()
    assert done.returncode == 0
    assert "Usage: softmachine" in done.stdout


def test_ctrl_c_ends_a_run_with_what_there_is() -> None:
    arguments = [sys.executable, "-c", HEARS_CTRL_C, "run", "binary-counter", "--trace"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "right" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out.splitlines()[-1].startswith("interrupted  ")
    assert err == ""


@pytest.mark.parametrize(
    "module", ["softmachine.support.errors", "dataclasses", "typer", "rich.console", "softmachine.cli.run", "numpy"]
)
def test_ctrl_c_while_modules_are_imported_is_one_word(module: str) -> None:
    """As if it came at the moment when a module is looked for."""
    code = (
        "import sys\n"
        "class Impatient:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            sys.meta_path.remove(self)\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Impatient())\n"
        "from softmachine.cli import main\n"
        "sys.exit(main(['run', 'palindrome', 'abba']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_a_source_may_be_a_process() -> None:
    machine = shlex.quote(str(Path(zoo.__file__).parent / "turing" / "increment.yaml"))
    command = ["bash", "-c", f"{shlex.join(COMMAND)} run <(cat {machine}) 1011 --quiet"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("halt  '1100'  after 8 steps")


def test_an_empty_pipe_is_told_so() -> None:
    command = ["bash", "-c", f"{shlex.join(COMMAND)} run <(true) abba"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "error: the pipe /dev/fd/" in done.stderr


def test_a_reader_that_leaves_is_no_error() -> None:
    arguments = [*COMMAND, "run", "binary-counter", "--trace"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=30) == 141
        assert process.stderr.read() == ""


def test_output_that_cannot_show_a_symbol_shows_an_escape() -> None:
    done = _run("run", "two-tape-copy", "a", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0
    assert r"\u25a1" in done.stdout


def test_a_terminal_sees_the_tape_and_the_verdict() -> None:
    status, written = _on_a_terminal(["run", "palindrome", "abba"])
    text = CODES.sub("", written)
    assert status == 0
    assert re.search(r"accept +.*\[_\]", text)
    assert "verdict  accept after 15 steps" in text
    assert "5 layers, 6 heads" in text
    assert "\x1b[" in written


def test_a_terminal_sees_the_answers_of_what_has_no_tape() -> None:
    for arguments, last in (
        (["run", "bigram-formula", "ab"], ["a  b", "0  1", "accept  in one pass over 3 positions (dense, float64)"]),
        (["run", "full-adder", "101"], ["halt  '10'  in one pass over 35 positions (dense, float64)"]),
    ):
        status, written = _on_a_terminal(arguments)
        assert status == 0
        assert re.split(r"[\r\n]+", CODES.sub("", written).strip())[-len(last) :] == last
    _, written = _on_a_terminal(["run", "parity-counter", "aab"])
    assert "halve  a = 2  b = 1" in written
    assert "tape" not in written


def test_a_narrow_terminal_does_not_cut_the_map() -> None:
    assert "L AC⁰ " in _run("atlas", COLUMNS="40").stdout


@pytest.mark.parametrize("arguments", ["zoo --json", "run parity 1", "--help"])
def test_a_full_disk_is_one_clear_message(arguments: str) -> None:
    done = subprocess.run(
        f"{sys.executable} -m softmachine {arguments} > /dev/full",
        shell=True,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=_environment(),
    )
    assert done.returncode == 2
    assert done.stderr == "error: input or output failed: No space left on device\n"


@pytest.mark.parametrize(
    ("arguments", "status"), [("run parity 1 >&-", 0), ("run parity 1 2>&-", 0), ("run - <&-", 2), ("run nope >&-", 2)]
)
def test_closed_streams_are_no_error(arguments: str, status: int) -> None:
    command = f"{sys.executable} -m softmachine {arguments}"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == status
    assert "internal" not in done.stderr


def test_a_reader_of_help_who_leaves_is_no_error() -> None:
    command = f"{sys.executable} -m softmachine --help | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (0, 141)
    assert done.stderr == ""


def test_no_line_is_wider_than_the_terminal() -> None:
    for arguments in (
        ["run", "two-tape-copy", "ab" * 40, "--max-steps", "60"],
        ["show", "three-tape-addition"],
        ["zoo"],
    ):
        _, written = _on_a_terminal(arguments)
        lines = CODES.sub("", written).replace("\r", "\n").split("\n")
        assert max(map(len, lines)) <= 80, arguments


def test_no_colour_is_respected() -> None:
    _, written = _on_a_terminal(["run", "palindrome", "ab"], NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", written)


def test_quiet_on_a_terminal_has_no_codes() -> None:
    status, written = _on_a_terminal(["run", "palindrome", "abba", "--quiet"])
    assert status == 0
    assert "\x1b" not in written
