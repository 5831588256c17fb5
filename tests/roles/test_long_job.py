"""Somebody with a long job: a hundred million steps, interrupted, gone on with, and compared token for token."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.roles.conftest import Desk
from tests.shell import environment, in_a_shell

pytestmark = pytest.mark.slow
STEPS = 100_000_000
FEWER = 5_000_000


def interrupted(command: str, folder: Path, after: float) -> tuple[int, str]:
    """What a command says that gets Ctrl-C after so many seconds."""
    with subprocess.Popen(
        command.split(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(folder),
        cwd=folder,
    ) as process:
        time.sleep(after)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=120)
    return process.returncode, said


def test_a_run_of_a_hundred_million_steps_is_interrupted_and_resumed(tmp_path: Path) -> None:
    status, said = interrupted(
        f"softmachine run binary-counter --max-steps {100 * STEPS} --checkpoint counter.run --quiet", tmp_path, 4
    )
    assert status == 130, said
    before = int(re.search(r"after ([\d,]+) steps", said)[1].replace(",", ""))  # type: ignore[index]
    steps = before + STEPS
    assert "--resume counter.run" in said
    done = in_a_shell(
        f"softmachine run binary-counter --max-steps {steps} --resume counter.run --verify --audit 3 --json", tmp_path
    )
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["steps"], answer["interrupted"]) == (3, steps, False)
    assert answer["verified"] == answer["tokens"] == steps + 1
    assert answer["resumed"] >= before
    assert answer["differs"] is False


def test_a_job_that_is_too_long_is_refused_with_an_estimate(desk: Desk) -> None:
    began = time.monotonic()
    said = desk.types("softmachine check palindrome --up-to 60", status=2).err
    assert "--yes" in said
    assert time.monotonic() - began < 5


def test_a_job_goes_on_where_it_was_and_ends_as_it_would_have(desk: Desk) -> None:
    whole = desk.types("softmachine run busy-beaver-5 --json").json
    desk.types(f"softmachine run busy-beaver-5 --max-steps {FEWER} --checkpoint five.run --quiet", status=3)
    rest = desk.types("softmachine run busy-beaver-5 --resume five.run --json").json
    assert [rest[key] for key in ("verdict", "steps", "tokens", "output")] == [
        whole[key] for key in ("verdict", "steps", "tokens", "output")
    ]
    assert (rest["steps"], rest["verdict"]) == (47_176_870, "halt")
    assert FEWER <= rest["resumed"] <= FEWER + 2
    again = desk.types("softmachine run busy-beaver-5 --resume five.run --json").json
    assert again["output"] == whole["output"]


def test_a_saved_run_of_another_job_is_refused_and_stays(desk: Desk) -> None:
    desk.types(f"softmachine run busy-beaver-5 --max-steps {FEWER} --checkpoint five.run --quiet", status=3)
    kept = (desk.folder / "five.run").read_bytes()
    desk.types("softmachine run binary-counter --resume five.run", status=2)
    assert (desk.folder / "five.run").read_bytes() == kept
