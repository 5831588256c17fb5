"""Shell completion of commands, options, and names of the zoo and of theorems.

A shell starts a process with an environment variable and waits for it, so only the module of the command being typed
is imported, its options are inspected but not parsed, and names are read from files. The protocol is typer's
(``--install-completion``).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from softmachine.cli.options import with_prefix

ENVIRONMENT_VARIABLE = "_SOFTMACHINE_COMPLETE"
"""The variable whose value names the shell, such as ``complete_bash``."""


def complete(instruction: str) -> int:
    """Print the completions for a shell; typer handles unknown shells."""
    from softmachine.cli.app import command

    typer = _import_typer_completion()
    typer.completion_init()
    action, _, shell = instruction.partition("_")
    kind = typer.shell_completion.get_completion_class(shell)
    if action != "complete" or kind is None:
        return int(typer.shell_complete(command(), {}, "softmachine", ENVIRONMENT_VARIABLE, instruction))
    completion = kind(command, {}, "softmachine", ENVIRONMENT_VARIABLE)
    completion.get_completions = _completion_items
    print(completion.complete())
    return 0


def _completion_items(written: list[str], incomplete: str) -> list[Any]:
    """Return the candidates in the form of typer."""
    item = _import_typer_completion().shell_completion.CompletionItem
    return [item(text) for text in find_candidates(written, incomplete)]


def _import_typer_completion() -> Any:
    """Import typer's module of shell completion, not all of which is public."""
    return import_module("typer.completion")


def find_candidates(written: list[str], incomplete: str) -> list[str]:
    """Return the candidates for the next word.

    Args:
        written: The words after the program's name.
        incomplete: The prefix of the next one.
    """
    from softmachine.cli.app import COMMANDS, command

    name, *rest = written or [""]
    whole = command(name)
    if name not in COMMANDS:
        return [*with_prefix(() if written else COMMANDS, incomplete), *with_prefix(_option_names(whole), incomplete)]
    chosen = whole.commands[name]
    options = {text: parameter for parameter in chosen.params for text in _parameter_names(parameter)}
    if incomplete.startswith("-") and "--" not in rest:
        return [*with_prefix(options, incomplete)]
    parameter = options.get(rest[-1]) if rest else None
    if parameter is None or parameter.is_flag:
        parameter = next((each for each in chosen.params if not _parameter_names(each)), None)
        if parameter is None or _has_argument(rest, options):
            return []
    found = parameter.shell_complete(chosen.context_class(chosen), incomplete)
    return [str(item.value) for item in found if item.type == "plain"]


def _has_argument(words: list[str], options: dict[str, Any]) -> bool:
    """Whether one of the words is an argument: neither an option nor its value."""
    before = ["", *words]
    return any(
        not word.startswith("-") and (previous not in options or options[previous].is_flag)
        for previous, word in zip(before, words, strict=False)
    )


def _option_names(command: Any) -> list[str]:
    return [text for parameter in command.params for text in _parameter_names(parameter)]


def _parameter_names(parameter: Any) -> list[str]:
    """Return the names of an option; none for an argument."""
    return [text for text in (*parameter.opts, *parameter.secondary_opts) if text.startswith("-")]
