"""Files appear whole or not at all, and nothing is overwritten unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from softmachine.errors import UsageError
from softmachine.files import new_file, require_free, write_text


def test_a_file_appears_at_the_end(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    with new_file(file) as scratch:
        scratch.write_text("text")
        assert not file.exists()
    assert file.read_text() == "text"
    assert list(tmp_path.iterdir()) == [file]


def test_nothing_is_left_of_a_file_that_is_not_finished(tmp_path: Path) -> None:
    def interrupted() -> None:
        with new_file(tmp_path / "a.txt") as scratch:
            scratch.write_text("text")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_there_is_replaced_only_by_force(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("old")
    for force, hint in ((None, "choose another name"), (False, "--force")):
        with pytest.raises(UsageError, match="exists already") as found:
            write_text(file, "new", force=force)
        assert hint in str(found.value.hint)
    assert "--force" not in str(_refusal(file).hint)
    write_text(file, "new", force=True)
    assert file.read_text() == "new"


def _refusal(file: Path) -> UsageError:
    with pytest.raises(UsageError) as found:
        require_free(file)
    return found.value


def test_a_file_that_somebody_wrote_meanwhile_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"

    def both() -> None:
        with new_file(file) as scratch:
            scratch.write_text("ours")
            file.write_text("theirs")

    with pytest.raises(UsageError, match="exists already"):
        both()
    assert file.read_text() == "theirs"


def test_folders_are_not_replaced_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a file"):
        require_free(tmp_path, force=True)
    with pytest.raises(UsageError, match="there is no folder"):
        require_free(tmp_path / "nowhere" / "a.txt")
