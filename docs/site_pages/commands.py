"""One page per command: the text of ``--help``, in tables."""

from __future__ import annotations

from functools import cache
from textwrap import dedent
from typing import Any

from rich.text import Text

from site_pages.markdown import fenced, join_parts, section, table
from softmachine.cli.app import COMMANDS, GROUPS, command


@cache
def pages() -> dict[str, str]:
    """Pages by name: the list of all commands, and one page per command."""
    whole = command()
    return {"index": _index(whole), **{name: _page(name, whole.commands[name]) for name in COMMANDS}}


def _index(whole: Any) -> str:
    rows = {
        title: [(f"[{name}]({name}.md)", _plain(whole.commands[name].help).split("\n\n")[0]) for name in names]
        for title, names in GROUPS.items()
    }
    parts = [
        "# Commands",
        _plain(whole.help),
        *(section(title, table(("command", "does"), members)) for title, members in rows.items()),
        "Every command has `--help`, `--json` and `--quiet`; `softmachine --install-completion` adds shell completion.",
        fenced(_examples(whole.epilog), "sh"),
    ]
    return join_parts(parts)


def _page(name: str, each: Any) -> str:
    from typer.core import TyperArgument

    context = each.make_context(name, [], resilient_parsing=True)
    usage = f"softmachine {name} {' '.join(each.collect_usage_pieces(context))}"
    arguments = [item for item in each.params if isinstance(item, TyperArgument)]
    rows = [(f"`{item.metavar}`", _help(item)) for item in arguments]
    panels: dict[str, list[tuple[str, str]]] = {}
    for item in each.params:
        if not isinstance(item, TyperArgument) and not item.hidden:
            panels.setdefault(item.rich_help_panel or "Options", []).append((_names(item), _help(item)))
    parts = [
        f"# {name}",
        _plain(each.help),
        fenced(usage, "sh"),
        section("Examples", fenced(_examples(each.epilog), "sh")),
        section("Arguments", table(("argument", "is"), rows) if rows else ""),
        *(section(title, table(("option", "does"), rows)) for title, rows in panels.items()),
    ]
    return join_parts(parts)


def _plain(text: str | None) -> str:
    """The help without markup."""
    return Text.from_markup(dedent(text or "")).plain.strip()


def _examples(epilog: str) -> str:
    return dedent("\n".join(_plain(epilog).splitlines()[1:]))


def _names(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    value = "" if option.is_flag else option.metavar or option.type.name.upper()
    return f"{names} `{value}`" if value else names


def _help(item: Any) -> str:
    default = item.default
    shown = (
        "" if default in (None, False, True, ()) or callable(default) or item.required else f" Default: `{default}`."
    )
    return " ".join(_plain(item.help).split()) + shown
