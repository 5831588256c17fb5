"""docs/architecture.md, held to the code: who imports whom, no cycles, and the files that one run enters."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

import softmachine

ROOT = Path(softmachine.__file__).parent
MAP = (Path(__file__).parent.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
ALWAYS = {"arguments", "errors", "text", "views", "progress", "plugins"}
"""Rooms that everybody may import."""


def table(heading: str) -> list[list[str]]:
    """The rows of the table below a heading, without its first two lines."""
    section = MAP.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def modules() -> dict[str, Path]:
    """All modules by name."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(("softmachine", *(part for part in parts if part != "__init__")))] = path
    return found


MODULES = modules()


def imports(path: Path) -> Iterator[str]:
    """The modules that a file imports, also inside functions; not those that only types need."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typed = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    ignored = {id(inner) for block in typed for part in block.body for inner in ast.walk(part)}
    for node in ast.walk(tree):
        if id(node) in ignored:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in MODULES else node.module


def rooms() -> dict[str, set[str]]:
    """What each room may import, as the map says; a room is a folder or a module."""
    found = {}
    for names, _, allowed in table("The rooms"):
        for name in re.findall(r"`([^`]+)`", names):
            found[name.removesuffix(".py").rstrip("/")] = {
                item.removesuffix(".py").rstrip("/") for item in re.findall(r"`([^`]+)`", allowed)
            }
    return found


ROOMS = rooms()


def room(module: str) -> str:
    """The room that a module is in: the longest name in the map that fits."""
    inner = module.removeprefix("softmachine").lstrip(".").replace(".", "/")
    fitting = [name for name in ROOMS if inner == name or inner.startswith(f"{name}/")]
    return max(fitting, key=len, default="__init__" if not inner else f"nowhere: {inner}")


def test_every_module_is_in_a_room() -> None:
    assert not [module for module in MODULES if room(module).startswith("nowhere")]
    for name in ROOMS:
        assert (ROOT / name).is_dir() or (ROOT / f"{name}.py").is_file(), f"there is no room {name}"


@pytest.mark.parametrize("module", MODULES)
def test_no_module_imports_what_the_map_does_not_allow(module: str) -> None:
    mine = room(module)
    for name in imports(MODULES[module]):
        if name.partition(".")[0] == "softmachine":
            theirs = room(name)
            allowed = ROOMS.get(mine, set()) | ALWAYS | {mine}
            assert theirs in allowed or "everything" in allowed, f"{module} imports {name}"


def test_the_map_allows_nothing_that_nobody_does() -> None:
    used: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        used.setdefault(room(module), set()).update(room(n) for n in imports(path) if n.startswith("softmachine"))
    for name, allowed in ROOMS.items():
        assert allowed - {"everything"} <= used.get(name, set()), f"{name} need not be allowed all of that"


def test_there_are_no_cycles_not_even_through_functions() -> None:
    edges = ((module, name) for module, path in MODULES.items() for name in imports(path) if name != module)
    graph = nx.DiGraph((a, b) for a, b in edges if b in MODULES and not a.startswith(f"{b}."))
    assert not [sorted(found) for found in nx.strongly_connected_components(graph) if len(found) > 1]


ENTERED = """
import sys
from softmachine.cli import main

root, order = sys.argv[1], {}

def enter(frame, event, argument):
    code = frame.f_code
    if event != "call" or not code.co_filename.startswith(root) or not code.co_flags & 2 or code.co_filename in order:
        return
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    if frame is None or not frame.f_code.co_filename.startswith(root):  # it is not just being imported
        order[code.co_filename] = None

sys.setprofile(enter)
main(["run", "palindrome", "abba", "--quiet"])
sys.setprofile(None)
print("ENTERED", *(name[len(root) + 1:] for name in order))
print("IMPORTED", *(name for name in sys.modules if name.partition(".")[0] == "softmachine"))
"""


@pytest.fixture(scope="module")
def run() -> dict[str, list[str]]:
    """The files that a run enters, in order, and the modules that it imports."""
    command = [sys.executable, "-c", ENTERED, str(ROOT)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {words[0]: words[1:] for words in (line.split() for line in printed)}


def test_the_path_of_one_run_names_the_files_that_are_entered_in_order(run: dict[str, list[str]]) -> None:
    told = [name for row in table("The path of one run") for name in re.findall(r"`([^`]+\.py)`", row[1])]
    assert told == run["ENTERED"]


def test_one_run_imports_few_modules(run: dict[str, list[str]]) -> None:
    assert len(run["IMPORTED"]) <= 120


def test_importing_softmachine_imports_nothing_heavy() -> None:
    code = "import softmachine, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "numba", "flint", "yaml", "lark", "torch", "transformers", "rich"} & set(loaded)
