"""``softmachine learn``: train small transformers on the traces of a source, and measure length generalisation."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli import options, training
from softmachine.cli.options import OptionGroup, file_option, switch_option, value_option
from softmachine.cli.output import Output
from softmachine.support.errors import UsageError
from softmachine.support.files import temporary_folder

if TYPE_CHECKING:
    from softmachine.languages.source import Source
    from softmachine.studies.learn.compiled_baseline import CompiledBaseline
    from softmachine.studies.learn.config import Schedule, TrainingConfig, TrainingTask
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


def _number_option(about: str, *names: str, least: float = 0, metavar: str = "N") -> object:
    return value_option(metavar, about, *names, minimum=least, default=True)


def _names_option(metavar: str, about: str, *names: str) -> object:
    return value_option(metavar, about, *names, default=True)


Positions = Annotated[
    str,
    typer.Option(
        "--positions",
        metavar="NAMES",
        help="Position encodings, separated by commas: none, rope, alibi, absolute, sinusoidal, relative (the relation "
        "R); the suffix +log scales scores by log n.",
    ),
]
Train = Annotated[int, _number_option("Maximum length of training words.", "--train", least=1)]
Tests = Annotated[str, _names_option("N,N", "Maximum length of the words in each longer test bin.", "--test")]
Steps = Annotated[int, _number_option("Training steps.", "--steps", least=1)]
DataSeed = Annotated[int, _names_option("S", "Seed of the random words.", "--data-seed")]


@dataclass(frozen=True)
class ArchitectureOptions(OptionGroup):
    """The architectures to train: all combinations of the values."""

    layers: Annotated[str, _names_option("N,N", "Numbers of layers.", "--layers")] = "2"
    width: Annotated[int, _number_option("Width of the residual stream.", "--width", least=1)] = 64
    heads: Annotated[int, _number_option("Heads per layer.", "--heads", least=1)] = 2
    precision: Annotated[
        str, _names_option("NAMES", "Precisions of activations (emulated): float32, bfloat16 or bits:B.", "--precision")
    ] = "float32"
    seeds: Annotated[str, _names_option("N,N", "Seeds of the initial weights and of the batches.", "--seeds")] = "0"

    def grid(self, task: TrainingTask, schedule: Schedule, positions: list[str]) -> list[TrainingConfig]:
        """Return the settings of all runs."""
        from softmachine.studies.learn.data import make_runs

        return make_runs(
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
class ScheduleOptions(OptionGroup):
    """The training schedule, see :class:`.Schedule`."""

    learning_rate: Annotated[float, _number_option("Maximum learning rate.", "--learning-rate")] = 2e-3
    batch: Annotated[int, _number_option("Words per step.", "--batch", least=1)] = 64
    curriculum: Annotated[
        float,
        _number_option("Share of the steps in which the maximum length of words grows.", "--curriculum", metavar="F"),
    ] = 0.0
    patience: Annotated[
        int, _number_option("Stop after N validations in a row without errors; 0 disables it.", "--patience")
    ] = 0
    minutes: Annotated[float | None, value_option("N", "Stop each run after N minutes.", "--minutes")] = None


@dataclass(frozen=True)
class DataOptions(OptionGroup):
    """Options of the words; see :class:`.TrainingTask`."""

    words: Annotated[
        int, _number_option("Maximum number of words for training and validation.", "--words", least=2)
    ] = 2_000
    test_words: Annotated[
        int | None,
        value_option("K", "Words per test bin. Default: up to 200.", "--test-words", minimum=1),
    ] = None
    long_traces: Annotated[
        float, _number_option("Minimum share of traces with more than 10 tokens.", "--long-traces", metavar="F")
    ] = 0.8
    near_misses: Annotated[
        bool, switch_option("Sample words in pairs at edit distance 1, one accepted and one rejected.", "--near-misses")
    ] = False
    max_steps: Annotated[int, _number_option("Maximum number of steps of a run.", "--max-steps", least=1)] = 10_000


@dataclass(frozen=True)
class OutputOptions(OptionGroup):
    """The files to write."""

    folder: training.RunsFolderOption = None
    save: Annotated[
        Path | None,
        value_option("DIR", "Save the model of a single run as a stock LLaMA (positions none or rope).", "--save"),
    ] = None
    plot: Annotated[
        Path | None, file_option("Plot the share of exact traces by word length (PNG or SVG).", "--plot")
    ] = None
    compiled: Annotated[bool, switch_option("Also measure the compiled model on the same words.", "--compiled")] = False
    probes: Annotated[
        Path | None,
        file_option(
            "Probe each layer of the first run for the compiled model's variables, and plot the accuracy (PNG or SVG).",
            "--probes",
        ),
    ] = None

    def require(self, settings: list[TrainingConfig], cluster: str | None) -> None:
        """Validate files before the training.

        Raises:
            UsageError: If one cannot be written.
        """
        from softmachine.studies.learn.hf_checkpoint import require_llama_compatible
        from softmachine.support.figures import require_drawable

        if (self.save or self.probes) and cluster is not None:
            raise UsageError("--save and --probes cannot be combined with --cluster, whose weights stay on the workers")
        if self.save is not None:
            if len(settings) > 1:
                raise UsageError(f"--save requires a single run; the options define {len(settings)}")
            require_llama_compatible(settings[0].shape.positions, settings[0].shape.precision, self.save)
        for each in (self.plot, self.probes):
            if each is not None:
                require_drawable(each)

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
    architectures: ArchitectureOptions,
    data_seed: DataSeed = 0,
    schedule_options: ScheduleOptions,
    data: DataOptions,
    outputs: OutputOptions,
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
    from softmachine.studies.learn.data import make_task

    item = source_of(load(source, format_name))
    tests = _numbers(test, "--test")
    task = make_task(item, train=train, tests=tests, theorem=theorem, context=context, seed=data_seed, **asdict(data))
    schedule = Schedule(steps=steps, every=max(1, min(100, steps // 4)), **asdict(schedule_options))
    settings = architectures.grid(task, schedule, _names(positions))
    outputs.require(settings, cluster)
    with temporary_folder() as scratch:
        folder = outputs.folder or (
            Path(scratch) if outputs.save or outputs.probes else None
        )  # the files are made from saved weights
        records = training.train_all(settings, folder, workers, cluster, output)
        beside = _write_results(outputs, item, settings[0], records, folder, output)
    _answer(records, beside, outputs.files, output)


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
    kept: OutputOptions,
    item: Source,
    setting: TrainingConfig,
    records: list[Record],
    folder: Path | None,
    output: Output,
) -> CompiledBaseline | None:
    """Write the requested files; return the measurements of the compiled model, if requested."""
    from softmachine.studies.learn.data import load_corpus
    from softmachine.studies.learn.hf_checkpoint import save_checkpoint
    from softmachine.studies.learn.report import draw_runs
    from softmachine.studies.learn.runs import load_decoder

    shown = kept.compiled or kept.plot or kept.probes  # a plot has the compiled model's line
    beside = _measure_compiled(item, setting, probes=kept.probes, output=output, folder=folder) if shown else None
    if kept.save is not None and folder is not None:
        save_checkpoint(load_decoder(setting, folder), load_corpus(setting.task), kept.save)
    if kept.plot is not None:
        draw_runs(records, beside.exact_shares if beside else None, kept.plot)
    return beside


def _measure_compiled(
    item: Source, setting: TrainingConfig, *, probes: Path | None, folder: Path | None, output: Output
) -> CompiledBaseline:
    """Measure the compiled model on the same words, and probe the trained one for its variables."""
    from softmachine import api
    from softmachine.cli.output import spinner
    from softmachine.studies.learn.compiled_baseline import evaluate_baseline
    from softmachine.studies.learn.data import load_corpus
    from softmachine.studies.learn.report import draw_probes
    from softmachine.studies.learn.runs import load_decoder

    task = setting.task
    with spinner("compiling", output) as progress:
        model = api.compile(item, task.theorem, context=task.context)
        progress("running the compiled model on the same words")
        found = evaluate_baseline(
            model, load_corpus(task), load_decoder(setting, folder) if probes and folder else None
        )
        if probes is not None:
            draw_probes(found.probes, task.name, probes)
    return found


def _answer(records: list[Record], beside: CompiledBaseline | None, written: dict[str, str], output: Output) -> None:
    from softmachine.studies.learn.report import format_notes, format_table

    if output.as_json:
        more = {} if beside is None else {"compiled": beside.to_json()}
        output.print_json({"runs": records, **more, "files": written})
        return
    output.print(format_table(records))
    if beside is not None:
        output.print(str(beside))
    if not output.quiet:
        for note in format_notes(records):
            output.print(f"  {note}")
        for name, path in written.items():
            output.print(f"{name} written to {path}")
