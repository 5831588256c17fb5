"""``softmachine new``: write a package with a small theorem, to be replaced by one's own."""

from __future__ import annotations

import os
import re
import shlex
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from softmachine.cli.options import complete_from, value_option
from softmachine.cli.output import Output
from softmachine.support.errors import SoftmachineError, UsageError

EXAMPLES = """[dim]Examples:[/]
  softmachine new theorem ends-in-ab
  softmachine new theorem other-name -o theorems/other-name"""

KINDS = ("theorem",)
TEMPLATES = {
    "pyproject.toml": "pyproject.toml.template",
    "src/$module/__init__.py": "theorem.py.template",
    "tests/test_$module.py": "test.py.template",
}
"""The files of the package, and the template of each; both are `string.Template`."""
NAME = re.compile("[a-z][a-z0-9]*(-[a-z0-9]+)*")


def command(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND", show_default=False, autocompletion=complete_from(*KINDS), help="What to write: theorem."
        ),
    ],
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", show_default=False, help="Its name: lower-case letters, digits and hyphens."),
    ],
    *,
    folder: Annotated[Path | None, value_option("DIR", "Folder to write. Default: NAME.", "--output", "-o")] = None,
    output: Output,
) -> None:
    """Write a package with a theorem that runs, checks and certifies.

    It has a reference interpreter, the proof as signals, codec, cost, entry point and tests, all to be replaced by your
    own. Existing files are not overwritten.
    """
    from softmachine.support.files import atomic_folder, make_folder, write_file

    if kind not in KINDS:
        raise UsageError(f"unknown kind {kind!r}", hint=f"write a theorem: softmachine new theorem {name}")
    _require_free_name(name)
    place = folder or Path(name)
    values = {"name": name, "module": name.replace("-", "_")}
    paths = [Template(path).substitute(values) for path in TEMPLATES]
    if existing := [path for path in paths if os.path.lexists(place / path)]:
        raise UsageError(f"{place / existing[0]} exists already", hint="choose another folder: -o DIR")
    with atomic_folder(place) as scratch:
        for path, template in zip(paths, TEMPLATES.values(), strict=True):
            text = (Path(__file__).parent / "templates" / template).read_text(encoding="utf-8")
            make_folder((scratch / path).parent)
            write_file(scratch / path, Template(text).substitute(values))
    if output.as_json:
        output.print_json({"path": str(place), "name": name, "files": paths})
    elif output.quiet:
        output.print(str(place))
    else:
        installed = shlex.quote(str(place) if place.is_absolute() else f"./{place}")
        output.print(f"wrote {place}: {', '.join(paths)}")
        output.print(f"  install it: pip install -e {installed}")
        output.print(f"  try: softmachine run {name} aab")


def _require_free_name(name: str) -> None:
    """Require the name of a theorem and of a module that are not in use.

    Raises:
        UsageError: If it is malformed, or names a source, a theorem or a module.
    """
    from softmachine.theorems import get_theorem
    from softmachine.theorems.read_source import read_source

    if not NAME.fullmatch(name):
        raise UsageError(
            f"invalid name {name!r}", hint="use lower-case letters, digits and hyphens, as in first-equals-last"
        )
    module = name.replace("-", "_")
    if iskeyword(module) or find_spec(module) is not None:
        raise UsageError(f"the Python name {module!r} is reserved or in use", hint="choose another name")
    try:
        taken = get_theorem(name) is not None or read_source(name) is not None
    except SoftmachineError:
        taken = False
    if taken:
        raise UsageError(f"{name!r} is the name of a theorem or a source already", hint="choose another name")
