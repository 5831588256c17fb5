"""What the Tab key completes, and how long it takes."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from softmachine.cli.app import COMMANDS
from softmachine.cli.completion import find_candidates
from softmachine.cli.options import complete_theorem_name, complete_zoo_name
from softmachine.languages import zoo
from softmachine.theorems import all_theorems

COMMAND = [sys.executable, "-m", "softmachine"]


def asked(words: str, shell: str = "bash", **more: str) -> subprocess.CompletedProcess[str]:
    """What a process says that a shell has started; the last of the words is incomplete."""
    environment = {
        **os.environ,
        "_SOFTMACHINE_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
        **more,
    }
    return subprocess.run(COMMAND, capture_output=True, text=True, timeout=60, check=False, env=environment)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", [*COMMANDS, "--version", "--install-completion", "--show-completion"]),
        ("ch", ["check"]),
        ("run pal", ["palindrome", "palindrome-relative"]),
        ("run --quiet pal", ["palindrome", "palindrome-relative"]),
        ("run --theorem turing-ternary pal", ["palindrome", "palindrome-relative"]),
        ("run palindrome ab", []),
        ("run palindrome --theorem turing-res", ["turing-residue-address", "turing-residue-address-no-positions"]),
        ("show palindrome --the", ["--theorem"]),
        ("check palindrome --attention ", ["hard", "soft"]),
        ("run palindrome -- --the", []),
        ("theorems turing-av", ["turing-average-hard", "turing-average-hard-summary"]),
        ("zoo busy-beaver-2x", ["busy-beaver-2x3", "busy-beaver-2x4"]),
        ("export incr", ["increment"]),
        ("nosuch x", []),
        ("show ./some/fi", []),
    ],
)
def test_the_tab_key_completes(words: str, said: list[str]) -> None:
    *written, incomplete = words.split(" ")
    assert find_candidates(written, incomplete) == said


def test_all_names_are_completed() -> None:
    assert list(complete_zoo_name("")) == [entry.name for entry in zoo.list_entries()]
    assert sorted(complete_theorem_name("")) == sorted(theorem.name for theorem in all_theorems())


@pytest.mark.parametrize(
    ("shell", "said"),
    [
        ("bash", "palindrome\npalindrome-relative\n"),
        ("zsh", '_arguments \'*: :(("palindrome"\n"palindrome-relative"))\'\n'),
        ("fish", "palindrome\npalindrome-relative\n"),
    ],
)
def test_shells_are_answered_in_their_own_way(shell: str, said: str) -> None:
    typed = {"_TYPER_COMPLETE_ARGS": "softmachine run pal", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    done = asked("softmachine run pal", shell, **typed)
    assert (done.returncode, done.stdout, done.stderr) == (0, said, "")


def test_the_tab_key_is_answered_quickly() -> None:
    """In time that a processor takes, since tests run side by side."""
    least = float("inf")
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert "turing-residue-address" in asked("softmachine run palindrome --theorem turing-res").stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        least = min(least, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert least < 0.6  # 0.2 on a machine that does nothing else


def test_a_shell_that_completes_by_the_installed_script(tmp_path: Path) -> None:
    """Bash itself, with what ``--install-completion`` has written in a home of its own."""
    home = {**os.environ, "HOME": str(tmp_path), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    program = tmp_path / "softmachine"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m softmachine "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    for option in ("--show-completion", "--install-completion"):
        done = subprocess.run(
            ["bash", "-c", f"softmachine {option}; exit $?"], capture_output=True, text=True, env=home, check=False
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
    script = (
        "source ~/.bashrc; COMP_WORDS=(softmachine run pal); COMP_CWORD=2; "
        '_softmachine_completion softmachine; echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=home, check=False)
    assert done.stdout == "palindrome palindrome-relative\n", done.stderr
