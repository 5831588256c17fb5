"""``softmachine experiments``: repeat the training experiments of two papers, next to their reported results."""

from __future__ import annotations

from typing import Annotated

import typer

from softmachine.cli import learn_common, options
from softmachine.cli.options import one_of, value
from softmachine.cli.output import Output

EXAMPLES = """[dim]Examples:[/]
  softmachine experiments depth-or-precision --scale small -o runs --yes
  softmachine experiments softmax-turing-complete --workers 2 -o runs --yes"""
NAMES = ("softmax-turing-complete", "depth-or-precision")

Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        show_default=False,
        autocompletion=one_of(*NAMES),
        help="softmax-turing-complete (position encodings and length generalisation) or depth-or-precision (the limits "
        "of the length of a chain of thought).",
    ),
]
Scale = Annotated[
    str,
    typer.Option(
        "--scale",
        metavar="NAME",
        autocompletion=one_of("small", "medium", "paper"),
        help="small (under two hours on two cores), medium (a night) or paper (for a GPU).",
    ),
]
Seeds = Annotated[int | None, value("K", "Number of seeds. Default: that of the scale.", "--seeds", least=1)]


def command(
    name: Name,
    *,
    scale: Scale = "small",
    seeds: Seeds = None,
    folder: learn_common.Runs = None,
    workers: options.Workers = None,
    cluster: options.Cluster = None,
    output: Output,
) -> None:
    """Repeat a paper's training experiment; compare with its results.

    Requires torch: the extra "learn".
    """
    from softmachine.studies.learn.runs import require_torch

    require_torch()
    from softmachine.studies.learn.experiments import experiment_named, require_scale

    experiment = experiment_named(name)
    require_scale(scale)
    records = learn_common.trained(experiment.settings(scale, seeds), folder, workers, cluster, output)
    if output.as_json:
        output.answer({"experiment": name, "scale": scale, "report": experiment.report(records), "runs": records})
        return
    if not output.quiet:
        output.say(f"{experiment.about}\n")
    for line in experiment.report(records):
        output.say(line)
