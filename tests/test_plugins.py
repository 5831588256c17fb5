from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from softmachine.cli import main
from softmachine.support.plugins import Registry

LIGHT = "\nLAMP = 'light'\n"
BROKEN = "raise RuntimeError('no\\npower')\n"


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with three lamps in it, and a distribution that brings more."""
    files = {
        "house/__init__.py": "",
        "house/hall/__init__.py": "",
        "house/hall/floor_lamp.py": "\nLAMP = 'bright'  # .floor\n",
        "house/hall/wall.py": "# no\n# LAMP = here\n",
        "house/hall/theorem.py": LIGHT,
        "house/attic/__init__.py": "\nLAMP: str = 'dim'\n",
        "house/attic/wall.py": "raise RuntimeError\n",
        "garden.py": "\nLAMP = 'green'\n",
        "shed.py": BROKEN,
        "garden-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: garden\nVersion: 1.0\n",
        "garden-1.0.dist-info/entry_points.txt": (
            "[house.lamps]\nlantern = garden:LAMP\nshed = shed:LAMP\nattic = garden:LAMP\nre = re\n"
        ),
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(Registry, "problems", [])
    yield tmp_path
    for module in [name for name in sys.modules if name.partition(".")[0] in ("house", "garden", "shed")]:
        del sys.modules[module]


def lamps(pattern: str = "*/*.py", group: str = "house.lamps", main: str = "__init__.py") -> Registry[str]:
    return Registry(str, attribute="LAMP", package="house", pattern=pattern, group=group, main_files=(main,))


@pytest.mark.usefixtures("house")
def test_a_part_is_named_after_its_module_or_its_folder() -> None:
    assert lamps(group="none").load_by_name() == {"attic": "dim", "floor_lamp": "bright", "theorem": "light"}
    assert lamps("*/theorem.py", "none", main="theorem.py").load_by_name() == {"hall": "light"}


@pytest.mark.usefixtures("house")
def test_only_the_module_that_is_asked_for_is_imported() -> None:
    shelf = lamps()
    assert shelf.modules_containing(".floor") == ("floor_lamp",)
    assert "attic" in shelf.names()
    assert not any(name.startswith("house.") for name in sys.modules)
    assert shelf.get("floor-lamp") == shelf.get("floor.lamp") == "bright"
    assert {name for name in sys.modules if name.startswith("house.")} == {"house.hall", "house.hall.floor_lamp"}


@pytest.mark.usefixtures("house")
def test_other_packages_add_parts_and_break_nothing() -> None:
    shelf = lamps()
    assert shelf.get("attic") == "dim"
    assert "garden" not in sys.modules
    assert shelf.names() == ("attic", "floor_lamp", "theorem", "lantern")
    assert shelf.get("lantern") == "green"
    assert shelf.get("shed") is None
    assert sorted(shelf.problems) == [
        "'attic' of house.lamps (garden:LAMP) cannot be used: the name is taken",
        "'re' of house.lamps (re) cannot be used: it is not of type str",
        "'shed' of house.lamps (shed:LAMP) cannot be used: RuntimeError: no power",
    ]


def test_the_command_line_warns_once_of_what_cannot_be_used(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        Registry, "problems", ["'rasp' of softmachine.formats (rasp) cannot be used: it is not of type Format"]
    )
    for lines in (["warning: 'rasp' of softmachine.formats (rasp) cannot be used: it is not of type Format"], []):
        assert main(["zoo", "palindrome"]) == 0
        assert capsys.readouterr().err.splitlines() == lines
