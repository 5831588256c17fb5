"""The table of rooms in docs/architecture.md, enforced on the imports."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import softmachine

ROOT = Path(softmachine.__file__).parent

FORBIDDEN = {
    "languages": ["signals", "constructions", "compiler", "transformer", "arithmetic", "engines", "runs", "api", "cli"],
    "signals": [
        "languages",
        "constructions",
        "compiler",
        "transformer",
        "arithmetic",
        "engines",
        "api",
        "cli",
        "numpy",
    ],
    "constructions": ["compiler", "engines", "arithmetic", "api", "cli", "runs"],
    "compiler": ["languages", "constructions", "arithmetic", "engines", "api", "cli"],
    "arithmetic": ["transformer", "signals", "languages", "constructions", "compiler", "engines", "api", "cli"],
    "engines": ["constructions", "languages", "signals", "compiler", "api", "cli"],
    "certify": ["languages", "constructions", "api", "cli"],
    "exports": ["constructions", "languages", "signals", "compiler", "api", "cli"],
    "lowering": ["constructions", "signals", "compiler", "certify", "api", "cli"],
    "growth.py": ["constructions", "languages", "signals", "compiler", "api", "cli"],
    "transformer.py": ["languages", "constructions", "compiler", "arithmetic", "engines", "signals", "api", "cli"],
    "zoo": ["signals", "constructions", "compiler", "transformer", "engines", "api", "cli"],
    "api.py": ["cli"],
}


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


@pytest.mark.parametrize("room", FORBIDDEN)
def test_no_room_knows_more_than_the_table_allows(room: str) -> None:
    files = [ROOT / room] if room.endswith(".py") else sorted((ROOT / room).rglob("*.py"))
    assert files
    for path in files:
        for name in imports(path):
            parts = name.split(".")
            known = parts[1] if parts[0] == "softmachine" and len(parts) > 1 else parts[0]
            assert known not in FORBIDDEN[room], f"{path.relative_to(ROOT)} imports {name}"


def test_importing_softmachine_imports_nothing_heavy() -> None:
    code = "import softmachine, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "numba", "flint", "yaml", "lark", "torch", "transformers", "rich"} & set(loaded)
