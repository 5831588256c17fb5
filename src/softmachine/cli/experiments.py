"""``softmachine experiments``: repeat the training experiments of two papers, next to their reported results."""

from __future__ import annotations

from typing import Annotated

import typer

from softmachine.cli import options, training
from softmachine.cli.options import complete_from, value_option
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
        autocompletion=complete_from(*NAMES),
        help="softmax-turing-complete (position encodings and length generalisation) or depth-or-precision (the limits "
        "of the length of a chain of thought).",
    ),
]
Scale = Annotated[
    str,
    typer.Option(
        "--scale",
        metavar="NAME",
        autocompletion=complete_from("small", "medium", "paper"),
        help="small (under two hours on two cores), medium (a night) or paper (for a GPU).",
    ),
]
Seeds = Annotated[int | None, value_option("K", "Number of seeds. Default: that of the scale.", "--seeds", minimum=1)]


def command(
    name: Name,
    *,
    scale: Scale = "small",
    seeds: Seeds = None,
    folder: training.RunsFolderOption = None,
    workers: options.Workers = None,
    cluster: options.Cluster = None,
    output: Output,
) -> None:
    """Repeat a paper's training experiment; compare with its results.

    Requires torch: the extra "learn".
    """
    from softmachine.studies.learn.runs import require_torch

    require_torch()
    from softmachine.studies.learn.experiments import find_experiment, require_scale

    experiment = find_experiment(name)
    require_scale(scale)
    records = training.train_all(experiment.list_runs(scale, seeds), folder, workers, cluster, output)
    if output.as_json:
        output.print_json(
            {"experiment": name, "scale": scale, "report": experiment.format_report(records), "runs": records}
        )
        return
    if not output.quiet:
        output.print(f"{experiment.description}\n")
    for line in experiment.format_report(records):
        output.print(line)
