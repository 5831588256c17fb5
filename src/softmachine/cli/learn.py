"""``softmachine learn``: train small transformers on the traces of a source, and measure length generalisation."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli import learn_common, options
from softmachine.cli.groups import Group
from softmachine.cli.options import file, switch, value
from softmachine.cli.output import Output
from softmachine.support.errors import UsageError
from softmachine.support.files import temporary_folder

if TYPE_CHECKING:
    from softmachine.languages.source import Source
    from softmachine.studies.learn.compiled_baseline import Beside
    from softmachine.studies.learn.config import Schedule, Setting, Task
    from softmachine.studies.learn.runs import Record

EXAMPLES = """[dim]Examples:[/]
  softmachine learn parity-counter --train 8 --test 16 --steps 100
  softmachine learn division-counter --positions none,rope -o runs --yes
  softmachine learn palindrome --train 6 --test 8 --steps 50 --layers 1,2"""

PANELS = {
    "Options": (
        *("positions", "train", "test", "steps", "layers", "width", "heads", "seeds", "folder", "plot"),
        "yes",
    ),
    "Training": ("learning_rate", "batch", "curriculum", "patience", "minutes", "precision", "workers", "cluster"),
    "Data": ("words", "test_words", "long_traces", "near_misses", "max_steps", "data_seed"),
    "Compilation": ("theorem", "context", "format_name"),
    "Results": ("save", "compiled", "probes"),
}


def _number(about: str, *names: str, least: float = 0, metavar: str = "N") -> object:
    return value(metavar, about, *names, least=least, default=True)


def _listed(metavar: str, about: str, *names: str) -> object:
    return value(metavar, about, *names, default=True)


Positions = Annotated[
    str,
    typer.Option(
        "--positions",
        metavar="NAMES",
        help="Position encodings, separated by commas: none, rope, alibi, absolute, sinusoidal, relative (the relation "
        "R); the suffix +log scales scores by log n.",
    ),
]
Train = Annotated[int, _number("Maximum length of training words.", "--train", least=1)]
Tests = Annotated[str, _listed("N,N", "Maximum length of the words in each longer test bin.", "--test")]
Steps = Annotated[int, _number("Training steps.", "--steps", least=1)]
DataSeed = Annotated[int, _listed("S", "Seed of the random words.", "--data-seed")]


@dataclass(frozen=True)
class Shapes(Group):
    """The architectures to train: all combinations of the values."""

    layers: Annotated[str, _listed("N,N", "Numbers of layers.", "--layers")] = "2"
    width: Annotated[int, _number("Width of the residual stream.", "--width", least=1)] = 64
    heads: Annotated[int, _number("Heads per layer.", "--heads", least=1)] = 2
    precision: Annotated[
        str, _listed("NAMES", "Precisions of activations (emulated): float32, bfloat16 or bits:B.", "--precision")
    ] = "float32"
    seeds: Annotated[str, _listed("N,N", "Seeds of the initial weights and of the batches.", "--seeds")] = "0"

    def grid(self, task: Task, schedule: Schedule, positions: list[str]) -> list[Setting]:
        """Return the settings of all runs."""
        from softmachine.studies.learn.data import grid

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
    """The training schedule, see :class:`.Schedule`."""

    learning_rate: Annotated[float, _number("Maximum learning rate.", "--learning-rate")] = 2e-3
    batch: Annotated[int, _number("Words per step.", "--batch", least=1)] = 64
    curriculum: Annotated[
        float, _number("Share of the steps in which the maximum length of words grows.", "--curriculum", metavar="F")
    ] = 0.0
    patience: Annotated[
        int, _number("Stop after N validations in a row without errors; 0 disables it.", "--patience")
    ] = 0
    minutes: Annotated[float | None, value("N", "Stop each run after N minutes.", "--minutes")] = None


@dataclass(frozen=True)
class Data(Group):
    """The words, see :class:`.Task`."""

    words: Annotated[int, _number("Maximum number of words for training and validation.", "--words", least=2)] = 2_000
    test_words: Annotated[
        int | None,
        value("K", "Words per test bin. Default: up to 200.", "--test-words", least=1),
    ] = None
    long_traces: Annotated[
        float, _number("Minimum share of traces with more than 10 tokens.", "--long-traces", metavar="F")
    ] = 0.8
    near_misses: Annotated[
        bool, switch("Sample words in pairs at edit distance 1, one accepted and one rejected.", "--near-misses")
    ] = False
    max_steps: Annotated[int, _number("Maximum number of steps of a run.", "--max-steps", least=1)] = 10_000


@dataclass(frozen=True)
class Kept(Group):
    """The files to write."""

    folder: learn_common.Runs = None
    save: Annotated[
        Path | None,
        value("DIR", "Save the model of a single run as a stock LLaMA (positions none or rope).", "--save"),
    ] = None
    plot: Annotated[Path | None, file("Plot the share of exact traces by word length (PNG or SVG).", "--plot")] = None
    compiled: Annotated[bool, switch("Also measure the compiled model on the same words.", "--compiled")] = False
    probes: Annotated[
        Path | None,
        file(
            "Probe each layer of the first run for the compiled model's variables, and plot the accuracy (PNG or SVG).",
            "--probes",
        ),
    ] = None

    def require(self, settings: list[Setting], cluster: str | None) -> None:
        """Validate files before the training.

        Raises:
            UsageError: If one cannot be written.
        """
        from softmachine.studies.learn.hf_checkpoint import require_stock
        from softmachine.support.figures import require_picture

        if (self.save or self.probes) and cluster is not None:
            raise UsageError("--save and --probes cannot be combined with --cluster, whose weights stay on the workers")
        if self.save is not None:
            if len(settings) > 1:
                raise UsageError(f"--save requires a single run; the options define {len(settings)}")
            require_stock(settings[0].shape.positions, settings[0].shape.precision, self.save)
        for each in (self.plot, self.probes):
            if each is not None:
                require_picture(each)

    @property
    def files(self) -> dict[str, str]:
        """The files written, by their options."""
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
    """Train small transformers on a source's traces; test longer words.

    The training data are the traces of the compiled model. Requires torch: the extra "learn".
    """
    from softmachine.studies.learn.runs import require_torch

    require_torch()
    from softmachine.api import load, source_of
    from softmachine.studies.learn.config import Schedule
    from softmachine.studies.learn.data import task_for

    item = source_of(load(source, format_name))
    tests = _numbers(test, "--test")
    task = task_for(item, train=train, tests=tests, theorem=theorem, context=context, seed=data_seed, **asdict(data))
    schedule = Schedule(steps=steps, every=max(1, min(100, steps // 4)), **asdict(pace))
    settings = shapes.grid(task, schedule, _names(positions))
    kept.require(settings, cluster)
    with temporary_folder() as scratch:
        folder = kept.folder or (
            Path(scratch) if kept.save or kept.probes else None
        )  # the files are made from saved weights
        records = learn_common.trained(settings, folder, workers, cluster, output)
        beside = _write_results(kept, item, settings[0], records, folder, output)
    _answer(records, beside, kept.files, output)


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(part.strip() for part in text.split(",")))


def _numbers(text: str, option: str) -> list[int]:
    """Parse numbers separated by commas.

    Raises:
        UsageError: If a part is not a number.
    """
    parts = _names(text)
    if not all(part.isascii() and part.isdigit() and len(part) <= 9 for part in parts):
        raise UsageError(f"invalid value for {option}: {text!r}; expected numbers separated by commas")
    return [int(part) for part in parts]


def _write_results(
    kept: Kept, item: Source, setting: Setting, records: list[Record], folder: Path | None, output: Output
) -> Beside | None:
    """Write the requested files; return the measurements of the compiled model, if requested."""
    from softmachine.studies.learn.data import corpus_of
    from softmachine.studies.learn.hf_checkpoint import save_checkpoint
    from softmachine.studies.learn.report import draw_runs
    from softmachine.studies.learn.runs import trained

    shown = kept.compiled or kept.plot or kept.probes  # a plot has the compiled model's line
    beside = _measure_compiled(item, setting, probes=kept.probes, output=output, folder=folder) if shown else None
    if kept.save is not None and folder is not None:
        save_checkpoint(trained(setting, folder), corpus_of(setting.task), kept.save)
    if kept.plot is not None:
        draw_runs(records, beside.shares if beside else None, kept.plot)
    return beside


def _measure_compiled(
    item: Source, setting: Setting, *, probes: Path | None, folder: Path | None, output: Output
) -> Beside:
    """Measure the compiled model on the same words, and probe the trained one for its variables."""
    from softmachine import api
    from softmachine.cli.output import working
    from softmachine.studies.learn.compiled_baseline import beside
    from softmachine.studies.learn.data import corpus_of
    from softmachine.studies.learn.report import draw_probes
    from softmachine.studies.learn.runs import trained

    task = setting.task
    with working("compiling", output) as tell:
        model = api.compile(item, task.theorem, context=task.context)
        tell("running the compiled model on the same words")
        found = beside(model, corpus_of(task), trained(setting, folder) if probes and folder else None)
        if probes is not None:
            draw_probes(found.probes, task.name, probes)
    return found


def _answer(records: list[Record], beside: Beside | None, written: dict[str, str], output: Output) -> None:
    from softmachine.studies.learn.report import notes, table

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
