"""What the Tab key completes: commands, options, names of the zoo and of theorems.

A shell asks by a process with a variable of the environment, and waits for it: so nothing is imported but the command
that is being written, its options are looked at and not parsed, and names are read from files. How a shell asks and is
answered is typer's (``--install-completion``).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from softmachine.cli.names import beginning

VARIABLE = "_SOFTMACHINE_COMPLETE"
"""Its value says which shell asks, such as ``complete_bash``."""


def complete(instruction: str) -> int:
    """Answer the shell that asks; one that typer does not know is told so, as typer does."""
    from softmachine.cli.app import command

    typer = _typer()
    typer.completion_init()
    action, _, shell = instruction.partition("_")
    kind = typer.shell_completion.get_completion_class(shell)
    if action != "complete" or kind is None:
        return int(typer.shell_complete(command(), {}, "softmachine", VARIABLE, instruction))
    asked = kind(command, {}, "softmachine", VARIABLE)
    asked.get_completions = _completions
    print(asked.complete())
    return 0


def _completions(written: list[str], incomplete: str) -> list[Any]:
    """What could be written next, in the form that typer wants."""
    item = _typer().shell_completion.CompletionItem
    return [item(text) for text in candidates(written, incomplete)]


def _typer() -> Any:
    """What typer knows of shells; it does not give all of that public names."""
    return import_module("typer.completion")


def candidates(written: list[str], incomplete: str) -> list[str]:
    """What could be written next.

    Args:
        written: The words after the program's name.
        incomplete: The beginning of the next one.
    """
    from softmachine.cli.app import COMMANDS, command

    name, *rest = written or [""]
    whole = command(name)
    if name not in COMMANDS:
        return [*beginning(() if written else COMMANDS, incomplete), *beginning(_options(whole), incomplete)]
    chosen = whole.commands[name]
    options = {text: parameter for parameter in chosen.params for text in _names(parameter)}
    if incomplete.startswith("-") and "--" not in rest:
        return [*beginning(options, incomplete)]
    asks = options.get(rest[-1]) if rest else None
    if asks is None or asks.is_flag:
        asks = next((parameter for parameter in chosen.params if not _names(parameter)), None)
        if asks is None or _positional(rest, options):
            return []
    found = asks.shell_complete(chosen.context_class(chosen), incomplete)
    return [str(item.value) for item in found if item.type == "plain"]


def _positional(words: list[str], options: dict[str, Any]) -> bool:
    """Whether one of these words is an argument: neither an option nor the value of one."""
    before = ["", *words]
    return any(
        not word.startswith("-") and (previous not in options or options[previous].is_flag)
        for previous, word in zip(before, words, strict=False)
    )


def _options(each: Any) -> list[str]:
    return [text for parameter in each.params for text in _names(parameter)]


def _names(parameter: Any) -> list[str]:
    """How an option is written; nothing for an argument."""
    return [text for text in (*parameter.opts, *parameter.secondary_opts) if text.startswith("-")]
