"""The commands, put together. Nothing heavy is imported here or in their modules: ``--help`` should be instant."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from softmachine.cli import atlas, certify, check, circuit, compile, export, run, show, slices, theorems, zoo  # noqa: A004
from softmachine.cli.failures import CommandLineError

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


app = typer.Typer(
    name="softmachine",
    cls=_Group,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EXAMPLES,
)


def _version(wanted: bool) -> None:
    if wanted:
        from softmachine import __version__

        print(f"softmachine {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
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


for module in (run, check, show, compile, certify, export, slices, circuit, theorems, zoo, atlas):
    app.command(module.NAME, cls=_Command, epilog=module.EXAMPLES)(module.command)


@cache
def command() -> Any:
    """All of it as one click command."""
    return get_command(app)
