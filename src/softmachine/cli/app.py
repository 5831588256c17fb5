"""The commands, put together. Nothing heavy is imported here or in their modules: ``--help`` should be instant."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from inspect import Parameter, signature
from itertools import chain
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from softmachine.cli.failures import CommandLineError
from softmachine.cli.groups import grouped, options_of
from softmachine.cli.options import Debug, Json, Quiet, Yes
from softmachine.cli.output import Output
from softmachine.support.arguments import MAX_INTEGER, require_in_range
from softmachine.support.estimates import consent

COMMANDS = (
    "run",
    "check",
    "show",
    "compile",
    "certify",
    "export",
    "dataset",
    "learn",
    "experiments",
    "slices",
    "circuit",
    "reduce",
    "theorems",
    "zoo",
    "gallery",
    "atlas",
    "uniform",
    "rewrite",
    "bench",
)
"""The modules of the commands, in the order in which they are told."""
SHORT = ("reduce", "theorems", "zoo", "gallery", "atlas", "uniform", "bench")
"""Those that do not take long. All others refuse what takes very long, unless --yes is given."""
EXAMPLES = """[dim]Examples:[/]
  softmachine run palindrome abba
  softmachine run "1RB1LB_1LA1RZ"
  softmachine check palindrome --up-to 4
  softmachine show increment
  softmachine compile palindrome -o model/
  softmachine certify "Q_a since Q_b" --length 100
  softmachine export palindrome --to gpt2 -o palindrome-gpt2"""


class _Plain:
    """Help that does not call ``--help`` a <bool>, and mistakes that know which command they are about."""

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)  # type: ignore[misc]
        if option is not None:
            option.metavar = ""
        return option

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        try:
            return super().parse_args(ctx, args)  # type: ignore[misc]
        except CommandLineError as error:
            error.ctx = getattr(error, "ctx", None) or ctx
            raise


class _Command(_Plain, TyperCommand):
    """A command."""


class _Group(_Plain, TyperGroup):
    """All commands."""


def _version(wanted: bool) -> None:
    if wanted:
        from softmachine.support.version import __version__

        print(f"softmachine {__version__}")
        raise typer.Exit


def softmachine(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option("--version", metavar="", callback=_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Turn programs into the weights of a transformer, exactly; then run, check and look at them."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def _with_output(carry_out: Callable[..., int | None], *, long: bool) -> Callable[..., int | None]:
    """A command, with options in the place of groups and of its last parameter, ``output``; and --yes, if it is long.

    How long something takes is said where progress is shown.
    """

    @wraps(carry_out)
    def called(*, as_json: bool, quiet: bool, _debug: bool, yes: bool = False, **given: object) -> int | None:
        output = Output(as_json, quiet)
        for name, value in given.items():
            if isinstance(value, int):
                require_in_range(f"--{name.replace('_', '-')}", value, -MAX_INTEGER)
        with consent(yes, output.warn if output.progress else None):
            return carry_out(**grouped(whole, given), output=output)

    whole = signature(carry_out, eval_str=True)
    shared = {**({"yes": Yes} if long else {}), "as_json": Json, "quiet": Quiet, "_debug": Debug}
    more = [Parameter(name, Parameter.KEYWORD_ONLY, default=False, annotation=kind) for name, kind in shared.items()]
    own = [parameter for parameter in whole.parameters.values() if parameter.name != "output"]
    every = [*chain.from_iterable(map(options_of, own)), *more]
    vars(called)["__signature__"] = whole.replace(parameters=every)
    return called


@cache
def command(name: str | None = None) -> Any:
    """All commands as one click command; if there is one of this name, only that one, so that no other is imported."""
    app = typer.Typer(
        name="softmachine",
        cls=_Group,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog=EXAMPLES,
    )
    app.callback(invoke_without_command=True)(softmachine)
    for each in (name,) if name in COMMANDS else COMMANDS:
        module = import_module(f"softmachine.cli.{each}")
        app.command(each, cls=_Command, epilog=module.EXAMPLES)(_with_output(module.command, long=each not in SHORT))
    whole: Any = get_command(app)
    for each in (whole, *whole.commands.values()):
        _tidy(each)
    return whole


def _tidy(each: Any) -> None:
    """Help that shows what is written: no emoji where a name stands between colons, and no <bool> for switches."""
    for parameter in each.params:
        parameter.help = _without_emoji(parameter.help)
        if parameter.name in ("install_completion", "show_completion"):
            parameter.metavar = ""
    each.help, each.epilog = _without_emoji(each.help), _without_emoji(each.epilog)


def _without_emoji(text: str | None) -> str | None:
    """The text, with an empty tag where rich would read ``:B:`` as the name of a picture."""
    return text and re.sub(r":(?=[^\s:]+:)", ":[b][/b]", text)
