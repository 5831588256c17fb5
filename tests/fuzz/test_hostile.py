"""Hostile files of every format: each is read or refused, in time, with one message, and stays as it is."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from softmachine.languages import zoo
from softmachine.languages.formats import formats
from tests.fuzz.calling import call, contents
from tests.fuzz.damage import damaged
from tests.fuzz.sizes import BATCHES, HOSTILE, batch
from tests.languages.circuit.test_aiger import binary_file, random_graph

WORDS = ("", "a", "ab", "01", "1011", "a" * 40, "é", "\x00", "x y", "-", "🙂", "--help")
EXTENSIONS = sorted(extension for entry in formats().values() for extension in entry.extensions)
EXTRA = {
    ".bb": [b"1RB1LB_1LA0LC_1RZ1LD_1RD0RA\n", b"1RB---_1LA---\n"],
    ".aig": [binary_file(*random_graph(seed, inputs=3, gates=12), "i0 a\no0 y\nc\nhello\n") for seed in range(3)],
    ".bristol": [b"3 5\n2 1 1\n1 2\n\n2 1 0 1 2 XOR\n2 1 0 1 3 AND\n1 1 2 4 EQW\n"],
    ".blif": [b".model m\n.inputs a b\n.outputs y\n.names a b y\n1- 1\n01 1\n.end\n"],
    ".ltl": [b"alphabet a b\nQ_a since (Q_b and 2*#<[Q_a] <= #>[Q_b] + 3) or mod(#<[Q_a],3,1)\n"],
}
TEN_MEGABYTES = 10 << 20


def samples() -> dict[str, list[bytes]]:
    """Good files by extension: those of the zoo, and some more."""
    found = {extension: list(EXTRA.get(extension, [])) for extension in EXTENSIONS}
    for entry in zoo.list_entries():
        extension = Path(entry.file).suffix
        if len(entry.read_text()) < 3_000 and len(found[extension]) < 12:
            found[extension].append(entry.read_text().encode())
    found[".yml"] = found[".yaml"]
    found[".jff"] = found[".jff"] or [jflap()]
    return found


def jflap() -> bytes:
    machine = next(entry for entry in zoo.list_entries() if entry.name == "parity").load()
    return formats()["jflap"].to_text(machine).encode()


GOOD = samples()


def attempt(folder: Path, name: str, data: bytes, rng: random.Random) -> int:
    """Show or run a file; nothing in its folder may change."""
    file = folder / name
    file.write_bytes(data)
    before = contents(folder)
    command = (
        ["show", str(file)] if rng.random() < 0.3 else ["run", str(file), "--max-steps", "30", "--engine", "dense"]
    )
    more = [] if command[0] == "show" else ["--", rng.choice(WORDS)]
    status, _ = call(*command, *(["--json"] if rng.random() < 0.5 else []), *more)
    assert contents(folder) == before
    file.unlink()
    return status


@pytest.mark.slow
def test_there_is_a_good_file_of_every_format(tmp_path: Path) -> None:
    for extension in EXTENSIONS:
        assert GOOD[extension], extension
        (tmp_path / f"good{extension}").write_bytes(GOOD[extension][0])
        assert call("show", str(tmp_path / f"good{extension}"))[0] == 0


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_a_few_hostile_files(extension: str, tmp_path: Path) -> None:
    hostile(extension, range(1), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(BATCHES))
@pytest.mark.parametrize("extension", EXTENSIONS)
def test_many_hostile_files(extension: str, number: int, tmp_path: Path) -> None:
    hostile(extension, batch(number, HOSTILE // len(EXTENSIONS)), tmp_path)


def hostile(extension: str, seeds: range, folder: Path) -> None:
    for seed in seeds:
        rng = random.Random(f"{extension} {seed}")
        data = damaged(rng, rng.choice(GOOD[extension]))
        attempt(folder, "hostile" + (extension if rng.random() < 0.9 else ""), data, rng)


@pytest.mark.slow
@pytest.mark.parametrize("extension", EXTENSIONS)
def test_ten_megabytes(extension: str, tmp_path: Path) -> None:
    rng = random.Random(extension)
    for data in (rng.choice(GOOD[extension]), b"(", b"\n", b" ", b"9", b"\xff"):
        assert attempt(tmp_path, f"large{extension}", data * (TEN_MEGABYTES // len(data)), rng) == 2
