"""Single files: whole or not at all, and never in the place of something else."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from softmachine.errors import UsageError
from softmachine.files import new_file


def write_late(path: Path) -> None:
    """Write a file after someone else has written one."""
    with new_file(path) as scratch:
        scratch.write_text("new")
        path.write_text("mine")


def write_half(path: Path) -> None:
    with new_file(path) as scratch:
        scratch.write_text("half")
        raise ZeroDivisionError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write(path: Path, text: str = "new") -> None:
    with new_file(path) as scratch:
        scratch.write_text(text, encoding="utf-8")


def test_a_file_appears_whole_as_any_new_file_would(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("")
    write(tmp_path / "file.txt")
    assert (tmp_path / "file.txt").read_text() == "new"
    assert names(tmp_path) == ["file.txt", "other"]
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("file.txt", "other")}
    assert len(modes) == 1


def test_nothing_that_is_there_is_overwritten_not_even_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("file", "folder", "link"):
        with pytest.raises(UsageError, match="exists already"):
            write(tmp_path / name)
    assert names(tmp_path) == ["file", "folder", "link"]
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appears_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    if not links:
        monkeypatch.setattr(Path, "hardlink_to", refuse)
    with pytest.raises(UsageError, match=r"exists|denied|permitted"):
        write_late(tmp_path / "file")
    assert names(tmp_path) == ["file"]
    assert (tmp_path / "file").read_text() == "mine"
    write(tmp_path / "another")
    assert (tmp_path / "another").read_text() == "new"


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        write_half(tmp_path / "file")
    with pytest.raises(UsageError, match="No space left"), new_file(tmp_path / "file"):
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(UsageError, match="there is no folder"):
        write(tmp_path / "nowhere" / "file")
    assert names(tmp_path) == []


def test_a_file_and_nothing_else_is_replaced_by_force(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="--force to replace it"), new_file(tmp_path / "file", force=False):
        pass
    with pytest.raises(UsageError, match="only files are replaced"), new_file(tmp_path / "folder", force=True):
        pass
    assert (tmp_path / "file").read_text() == "mine"
    with new_file(tmp_path / "file", force=True) as scratch:
        scratch.write_text("new")
    assert (tmp_path / "file").read_text() == "new"
    assert names(tmp_path) == ["file", "folder"]
