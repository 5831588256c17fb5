"""A shell in which ``softmachine`` runs the code under test."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import softmachine

SOURCES = Path(softmachine.__file__).parent.parent
DROPPED = ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "LINES", "TTY_COMPATIBLE", "TTY_INTERACTIVE")


def environment(folder: Path, path: Sequence[Path] = (), **more: str) -> dict[str, str]:
    """Return environment variables with ``softmachine`` on the path, and further modules importable."""
    script = folder / "bin" / "softmachine"
    script.parent.mkdir(exist_ok=True)
    # Shells start background jobs with SIGINT ignored; restore its handler.
    restore = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{restore}; from softmachine.cli import main; raise SystemExit(main())"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c {shlex.quote(code)} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if name not in DROPPED}
    kept["PYTHONPATH"] = os.pathsep.join(str(each) for each in (*path, SOURCES))
    return {**kept, "PATH": f"{script.parent}{os.pathsep}{kept['PATH']}", **more}


def in_a_shell(command: str, folder: Path, path: Sequence[Path] = (), **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command line in a shell, in a folder."""
    return subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment(folder, path, **more),
        cwd=folder,
        check=False,
        timeout=600,
    )


def installed(folder: Path, distribution: str, group: str, entry: str) -> Path:
    """Create a folder for the path with the metadata of an installed package with one entry point."""
    info = folder / f"{distribution}-0.1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 0.1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[{group}]\n{entry}\n", encoding="utf-8")
    return folder
