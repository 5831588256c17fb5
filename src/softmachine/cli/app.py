"""The click command that contains all commands. Neither it nor their modules import anything slow."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, wraps
from importlib import import_module
from inspect import Parameter, signature
from itertools import chain
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from softmachine.cli.errors import ClickError
from softmachine.cli.options import Debug, Json, Quiet, Yes, expand_group, group_values
from softmachine.cli.output import Output
from softmachine.support.argument_validation import MAX_INTEGER, require_in_range
from softmachine.support.resources import allow_expensive

GROUPS = {
    "Start": ("zoo", "run", "show", "gallery"),
    "Verify": ("check", "certify"),
    "Export and data": ("compile", "export", "dataset"),
    "Learn": ("learn", "experiments"),
    "Research": ("theorems", "new", "atlas", "uniform", "rewrite", "slices", "circuit", "reduce", "bench"),
}
"""The commands in the order and under the titles of the help; the module of a command has its name."""
COMMANDS = tuple(chain.from_iterable(GROUPS.values()))
FAST_COMMANDS = ("reduce", "theorems", "new", "zoo", "gallery", "atlas", "uniform", "bench")
"""Commands that are always fast. The others have --yes, without which they refuse work that takes very long."""
EXAMPLES = """[dim]Examples:[/]
  softmachine run palindrome abba
  softmachine run "1RB1LB_1LA1RZ"
  softmachine check palindrome --up-to 4
  softmachine show increment
  softmachine compile palindrome -o model/
  softmachine certify "Q_a since Q_b" --length 100
  softmachine export palindrome --to gpt2 -o palindrome-gpt2"""


Panels = Mapping[str, tuple[str, ...]]
"""``PANELS`` of a command: titles of panels in the help, and the options in each; those in no panel come first."""


class _CommandMixin:
    """Help without the types of arguments, and usage errors that carry the context of their command."""

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)  # type: ignore[misc]
        if option is not None:
            option.metavar = ""
        return option

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        pieces: list[str] = super().collect_usage_pieces(ctx)  # type: ignore[misc]
        return [piece.strip("{}") for piece in pieces]

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        try:
            return super().parse_args(ctx, args)  # type: ignore[misc]
        except ClickError as error:
            error.ctx = getattr(error, "ctx", None) or ctx
            raise


class _Command(_CommandMixin, TyperCommand):
    """A command."""


class _Group(_CommandMixin, TyperGroup):
    """All commands."""


def _version(wanted: bool) -> None:
    if wanted:
        from softmachine.support import __version__

        print(f"softmachine {__version__}")
        raise typer.Exit


def softmachine(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option("--version", metavar="", callback=_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Compile programs and formal languages to exact transformer weights; run, check and inspect them."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def _with_common_options(carry_out: Callable[..., int | None], *, long: bool) -> Callable[..., int | None]:
    """Convert a command to a function of options: groups become their options, ``output`` the common ones.

    A long command gets --yes as well. Estimates of time and memory are printed where progress is shown.
    """

    @wraps(carry_out)
    def called(*, as_json: bool, quiet: bool, _debug: bool, yes: bool = False, **given: object) -> int | None:
        output = Output(as_json, quiet)
        for name, value in given.items():
            if isinstance(value, int):
                require_in_range(f"--{name.replace('_', '-')}", value, -MAX_INTEGER)
        with allow_expensive(yes, output.warn if output.progress else None):
            return carry_out(**group_values(whole, given), output=output)

    whole = signature(carry_out, eval_str=True)
    shared = {**({"yes": Yes} if long else {}), "as_json": Json, "quiet": Quiet, "_debug": Debug}
    more = [Parameter(name, Parameter.KEYWORD_ONLY, default=False, annotation=kind) for name, kind in shared.items()]
    own = [parameter for parameter in whole.parameters.values() if parameter.name != "output"]
    every = [*chain.from_iterable(map(expand_group, own)), *more]
    vars(called)["__signature__"] = whole.replace(parameters=every)
    return called


@cache
def command(name: str | None = None) -> Any:
    """Return the click command that contains all commands, or only the one of this name, which alone is imported."""
    app = typer.Typer(
        name="softmachine",
        cls=_Group,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog=EXAMPLES,
    )
    app.callback(invoke_without_command=True)(softmachine)
    panels: dict[str, Panels] = {}
    for title, names in GROUPS.items():
        for each in names if name not in COMMANDS else {name} & {*names}:
            module = import_module(f"softmachine.cli.{each}")
            carry_out = _with_common_options(module.command, long=each not in FAST_COMMANDS)
            app.command(each, cls=_Command, epilog=module.EXAMPLES, rich_help_panel=title)(carry_out)
            panels[each] = getattr(module, "PANELS", {})
    whole: Any = get_command(app)
    for each in (whole, *whole.commands.values()):
        _clean_up_help(each, panels.get(each.name, {}))
    return whole


def _clean_up_help(each: Any, panels: Panels) -> None:
    """Sort options into panels, and clean up the help: no line breaks in paragraphs, emoji, or types of arguments."""
    titles = {option: title for title, options in panels.items() for option in options}
    order = {option: place for place, option in enumerate(titles)}
    arguments = [parameter for parameter in each.params if parameter.param_type_name == "argument"]
    each.params.sort(key=lambda parameter: -1 if parameter in arguments else order.get(parameter.name, len(order)))
    for parameter in each.params:
        parameter.help = _without_emoji(parameter.help)
        parameter.rich_help_panel = titles.get(parameter.name, parameter.rich_help_panel)
        if parameter in arguments:
            parameter.display_type_rich = lambda ctx: None  # noqa: ARG005
        elif parameter.name in ("install_completion", "show_completion"):
            parameter.metavar = ""
    each.help = _without_emoji(re.sub(r"(?<!\n)\n(?!\n)", " ", each.help))
    each.epilog = _without_emoji(each.epilog)


def _without_emoji(text: str | None) -> str | None:
    """Insert an empty tag where rich would replace ``:B:`` by an emoji."""
    return text and re.sub(r":(?=[^\s:]+:)", ":[b][/b]", text)
