"""``softmachine learn``: train small transformers on the traces of a source, and see how far they go on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli import options, training
from softmachine.cli.groups import Group
from softmachine.cli.options import file, switch, value
from softmachine.cli.output import Output
from softmachine.support.errors import UsageError
from softmachine.support.files import temporary_folder

if TYPE_CHECKING:
    from softmachine.languages.source import Source
    from softmachine.studies.learn.compiled import Beside
    from softmachine.studies.learn.runs import Record
    from softmachine.studies.learn.settings import Schedule, Setting, Task

EXAMPLES = """[dim]Examples:[/]
  softmachine learn parity-counter --train 8 --test 16 --steps 100
  softmachine learn division-counter --positions none,rope --train 30 --test 60,90 -o runs --yes
  softmachine learn palindrome --positions absolute --train 6 --test 8 --steps 50 --layers 1,2"""

PANEL = "Training"


def _number(about: str, *names: str, least: float = 0, metavar: str = "N") -> object:
    return typer.Option(*names, metavar=metavar, min=least, help=about, rich_help_panel=PANEL)


def _listed(metavar: str, about: str, *names: str) -> object:
    return typer.Option(*names, metavar=metavar, help=about, rich_help_panel=PANEL)


Positions = Annotated[
    str,
    typer.Option(
        "--positions",
        metavar="NAMES",
        help="Position encodings, with commas between: none, rope, alibi, absolute, sinusoidal, relative (the relation "
        "R); with +log, scores grow with log n.",
    ),
]
Train = Annotated[int, typer.Option("--train", metavar="N", min=1, help="Words of the training have up to N letters.")]
Tests = Annotated[str, typer.Option("--test", metavar="N,N", help="How far each further bin of tests goes.")]
Steps = Annotated[int, _number("Steps of training.", "--steps", least=1)]
DataSeed = Annotated[int, _listed("S", "Which random words.", "--data-seed")]


@dataclass(frozen=True)
class Shapes(Group):
    """What models are like; of several values with commas, every combination is trained."""

    layers: Annotated[str, _listed("N,N", "Layers; several with commas.", "--layers")] = "2"
    width: Annotated[int, _number("The width of the residual stream.", "--width", least=1)] = 64
    heads: Annotated[int, _number("Heads of a layer.", "--heads", least=1)] = 2
    precision: Annotated[
        str, _listed("NAMES", "float32, bfloat16 or bits:B: what activations are rounded to (emulated).", "--precision")
    ] = "float32"
    seeds: Annotated[str, _listed("N,N", "The seeds of first weights and of what steps see.", "--seeds")] = "0"

    def grid(self, task: Task, schedule: Schedule, positions: list[str]) -> list[Setting]:
        """All runs."""
        from softmachine.studies.learn.tasks import grid

        return grid(
            task,
            schedule,
            positions=positions,
            layers=_numbers(self.layers, "--layers"),
            precisions=_names(self.precision),
            seeds=_numbers(self.seeds, "--seeds"),
            width=self.width,
            heads=self.heads,
        )


@dataclass(frozen=True)
class Pace(Group):
    """How they are trained, in the words of :class:`.Schedule`."""

    learning_rate: Annotated[float, _number("The highest learning rate.", "--learning-rate")] = 2e-3
    batch: Annotated[int, _number("Words of a step.", "--batch", least=1)] = 64
    curriculum: Annotated[
        float, _number("The share of steps in which words get longer.", "--curriculum", metavar="F")
    ] = 0.0
    patience: Annotated[
        int, _number("End when the validation split was all right N times in a row; 0 for never.", "--patience")
    ] = 0
    minutes: Annotated[float | None, value("N", "End each training after N minutes.", "--minutes")] = None


@dataclass(frozen=True)
class Data(Group):
    """Which words they see, in the words of :class:`.Task`."""

    words: Annotated[int, _number("Words to train on and to hold out, at most.", "--words", least=2)] = 2_000
    test_words: Annotated[
        int | None,
        value("K", "Words of each bin; by default up to 200, or as many as there are.", "--test-words", least=1),
    ] = None
    long_traces: Annotated[float, _number("The share of traces of over 10 tokens.", "--long-traces", metavar="F")] = 0.8
    near_misses: Annotated[
        bool, switch("Words come in pairs, one edit apart, of different verdicts.", "--near-misses")
    ] = False
    max_steps: Annotated[
        int, typer.Option("--max-steps", metavar="N", min=1, help="How many steps a run may take.")
    ] = 10_000


@dataclass(frozen=True)
class Kept(Group):
    """What is kept of the runs, and drawn."""

    folder: training.Runs = None
    save: Annotated[
        Path | None,
        value("DIR", "Save the model as a stock LLaMA, if it is one run with positions none or rope.", "--save"),
    ] = None
    plot: Annotated[Path | None, file("Draw exact traces against the length of words (PNG or SVG).", "--plot")] = None
    compiled: Annotated[bool, switch("Put the compiled model beside it, on the same words.", "--compiled")] = False
    probes: Annotated[
        Path | None,
        file(
            "Read the compiled model's variables off each layer of the first run, and draw how well (PNG or SVG).",
            "--probes",
        ),
    ] = None

    def require(self, settings: list[Setting], cluster: str | None) -> None:
        """Complain before the training about files that cannot be written after it."""
        from softmachine.studies.learn.checkpoint import require_stock
        from softmachine.support.figures import require_picture

        if (self.save or self.probes) and cluster is not None:
            raise UsageError("weights stay where they were trained: --save and --probes are not for a cluster")
        if self.save is not None:
            if len(settings) > 1:
                raise UsageError(f"--save is for one run, and these are {len(settings)}")
            require_stock(settings[0].shape.positions, settings[0].shape.precision, self.save)
        for each in (self.plot, self.probes):
            if each is not None:
                require_picture(each)

    @property
    def files(self) -> dict[str, str]:
        """What was written, and where."""
        named = {"plot": self.plot, "probes": self.probes, "save": self.save, "runs": self.folder}
        return {name: str(path) for name, path in named.items() if path is not None}


def command(
    source: options.Source,
    *,
    positions: Positions = "none",
    train: Train = 30,
    test: Tests = "60,90",
    steps: Steps = 1_000,
    shapes: Shapes,
    data_seed: DataSeed = 0,
    pace: Pace,
    data: Data,
    kept: Kept,
    theorem: options.TheoremName = None,
    context: options.Context = None,
    format_name: options.Format = None,
    workers: options.Workers = None,
    cluster: options.Cluster = None,
    output: Output,
) -> None:
    """Train small transformers on the traces of a source, and measure how far they go on to longer words.

    What they learn from is what the compiled model says. Needs torch, which the extra "learn" brings.
    """
    from softmachine.studies.learn.runs import require_torch

    require_torch()
    from softmachine.api import load, source_of
    from softmachine.studies.learn.settings import Schedule
    from softmachine.studies.learn.tasks import task_for

    item = source_of(load(source, format_name))
    tests = _numbers(test, "--test")
    task = task_for(item, train=train, tests=tests, theorem=theorem, context=context, seed=data_seed, **asdict(data))
    schedule = Schedule(steps=steps, every=max(1, min(100, steps // 4)), **asdict(pace))
    settings = shapes.grid(task, schedule, _names(positions))
    kept.require(settings, cluster)
    with temporary_folder() as scratch:
        folder = kept.folder or (Path(scratch) if kept.save or kept.probes else None)  # weights come from a folder
        records = training.trained(settings, folder, workers, cluster, output)
        beside = _written(kept, item, settings[0], records, folder, output)
    _answer(records, beside, kept.files, output)


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(part.strip() for part in text.split(",")))


def _numbers(text: str, option: str) -> list[int]:
    """Numbers between commas.

    Raises:
        UsageError: If something else stands there.
    """
    parts = _names(text)
    if not all(part.isascii() and part.isdigit() and len(part) <= 9 for part in parts):
        raise UsageError(f"{option} takes numbers with commas between, not {text!r}")
    return [int(part) for part in parts]


def _written(
    kept: Kept, item: Source, setting: Setting, records: list[Record], folder: Path | None, output: Output
) -> Beside | None:
    """Write what is kept of runs and drawn; the compiled model beside them, if it is wanted."""
    from softmachine.studies.learn.checkpoint import save_checkpoint
    from softmachine.studies.learn.data import corpus_of
    from softmachine.studies.learn.pictures import draw_runs
    from softmachine.studies.learn.runs import trained

    shown = kept.compiled or kept.plot or kept.probes  # a plot has the compiled model's line
    beside = _beside(item, setting, probes=kept.probes, output=output, folder=folder) if shown else None
    if kept.save is not None and folder is not None:
        save_checkpoint(trained(setting, folder), corpus_of(setting.task), kept.save)
    if kept.plot is not None:
        draw_runs(records, beside.shares if beside else None, kept.plot)
    return beside


def _beside(item: Source, setting: Setting, *, probes: Path | None, folder: Path | None, output: Output) -> Beside:
    """The compiled model on the same words, and its variables in the trained one."""
    from softmachine import api
    from softmachine.cli.progress import working
    from softmachine.studies.learn.compiled import beside
    from softmachine.studies.learn.data import corpus_of
    from softmachine.studies.learn.pictures import draw_probes
    from softmachine.studies.learn.runs import trained

    task = setting.task
    with working("compiling", output) as tell:
        model = api.compile(item, task.theorem, context=task.context)
        tell("the compiled model on the same words")
        found = beside(model, corpus_of(task), trained(setting, folder) if probes and folder else None)
        if probes is not None:
            draw_probes(found.probes, task.name, probes)
    return found


def _answer(records: list[Record], beside: Beside | None, written: dict[str, str], output: Output) -> None:
    from softmachine.studies.learn.tables import notes, table

    if output.as_json:
        more = {} if beside is None else {"compiled": beside.to_json()}
        output.answer({"runs": records, **more, "files": written})
        return
    output.say(table(records))
    if beside is not None:
        output.say(str(beside))
    if not output.quiet:
        for note in notes(records):
            output.say(f"  {note}")
        for name, path in written.items():
            output.say(f"{name} written to {path}")
