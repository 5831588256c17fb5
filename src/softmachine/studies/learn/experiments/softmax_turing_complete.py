"""Experiment on number theory with chain of thought: which position encoding generalises to longer words?

According to "Softmax Transformers are Turing-Complete", unary inputs need none and binary inputs need the relation R.
Its table has five tasks. The unary ones are here counter machines of the zoo, whose traces have one token per
transition.

For binary inputs, the paper does not define a word of 201 letters, since R reaches back only as many letters as a
position has bits, and phase I of its Theorem 4.3 takes 2^n tokens for n letters. Only short words can be trained on.
The binary part is therefore a different task, and is labelled so: phase I (fillers until the length encodes the word,
once for each letter), then a question about the resulting number, which a counter machine answers in steps of its
modulus, so that traces are short: is the last letter b (modulo 4), is the last but one b (modulo 8)?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from softmachine.languages.counter import parse
from softmachine.languages.crasp.from_turing_relative import relative_program
from softmachine.languages.source import Source
from softmachine.studies.learn.config import Schedule, Setting
from softmachine.studies.learn.data import grid, task_for
from softmachine.studies.learn.report import aligned, ends, measured, named, settings_of
from softmachine.studies.learn.runs import Record
from softmachine.support.text import many
from softmachine.theorems.read_source import read_source

ABOUT = "Which position encoding generalises to longer words in unary and binary number theory? (ICLR 2026)"

THEIRS = {
    "prime-counter": (100.0, 100.0),
    "exponential-counter": (99.95, 99.96),
    "division-counter": (99.90, 99.99),
    "gcd-counter": (99.99, 99.70),
    "multiplication-counter": (99.99, 99.98),
}
"""Unary, without positions: test0 and test2 of the paper, in %, trained on lengths up to 100, test2 from 201 to 300."""
THEIR_BINARY = "binary with R 100 % on test0 and test2, without 64–95 % and 0 %"
BINARY = ("ends-in-b-relative", "last-but-one-b")
LAST_BUT_ONE = """# The last letter but one is b: the number a is 1 0 w 1 in binary, so that its third digit from the
# right is 0; below 16 the word has fewer than two letters.
input a b
start small
accept yes
reject no

small: a < 16 -> no
small: else -> digits

digits: a >= 8 -> digits: a -= 8
digits: a < 4 -> yes
digits: else -> no
"""


@dataclass(frozen=True)
class Scale:
    """Size of the experiment.

    Args:
        lengths: Training length of each unary task; the tests have up to two and three times that length.
        binary: Training length of binary tasks; the tests have one and two letters more.
        positions: Position encodings for unary tasks.
        binary_positions: Position encodings for binary tasks.
        layers: Number of layers.
        width: Width of the residual stream.
        heads: Heads per layer.
        schedule: Training schedule.
        seeds: Number of seeds.
        max_steps: Maximum number of steps of a run of a source.
    """

    lengths: dict[str, int]
    binary: int
    positions: tuple[str, ...]
    binary_positions: tuple[str, ...]
    layers: int
    width: int
    heads: int
    schedule: Schedule
    seeds: int
    max_steps: int = 100_000


_ALL = ("none", "rope", "alibi", "absolute", "sinusoidal")
_RELATIVE = ("none", "none+log", "relative", "relative+log")
SCALES = {
    "small": Scale(
        dict.fromkeys(THEIRS, 30) | {"prime-counter": 20},
        5,
        ("none", "rope"),
        ("none", "relative", "relative+log"),
        2,
        64,
        2,
        Schedule(),
        1,
        10_000,
    ),
    "medium": Scale(
        dict.fromkeys(THEIRS, 50) | {"prime-counter": 30},
        5,
        _ALL,
        _RELATIVE,
        2,
        128,
        4,
        Schedule(steps=6_000, learning_rate=1e-3),
        3,
    ),
    "paper": Scale(
        dict.fromkeys(THEIRS, 100),
        7,
        _ALL,
        _RELATIVE,
        4,
        256,
        8,
        Schedule(steps=30_000, learning_rate=5e-4, patience=3),
        5,
    ),
}
FEW_WORDS = {"prime-counter": 8, **dict.fromkeys(BINARY, 8)}
"""Batch sizes of the tasks with long traces."""


def source_named(name: str) -> Source:
    """Return a source of the zoo, or the one defined in this module."""
    if name == BINARY[1]:
        return relative_program(parse(LAST_BUT_ONE, name=name), name=name)
    return read_source(name)


def settings(scale: str, seeds: int | None = None) -> list[Setting]:
    """Return the runs of a scale."""
    chosen = SCALES[scale]
    found: list[Setting] = []
    for name in (*THEIRS, *BINARY):
        unary = name in THEIRS
        length = chosen.lengths[name] if unary else chosen.binary
        tests = (2 * length, 3 * length) if unary else (length + 1, length + 2)
        task = task_for(source_named(name), train=length, tests=tests, seed=2026, max_steps=chosen.max_steps)
        found += grid(
            task,
            replace(chosen.schedule, batch=FEW_WORDS.get(name, chosen.schedule.batch)),
            positions=chosen.positions if unary else chosen.binary_positions,
            layers=(chosen.layers,),
            seeds=range(seeds or chosen.seeds),
            width=chosen.width,
            heads=chosen.heads,
        )
    return found


def report(records: Sequence[Record]) -> list[str]:
    """Format our results next to those of the paper, by task."""
    rows = [["task", "positions", "test0", "long", "test1", "long", "test2", "long", "theirs 0", "theirs 2"]]
    lines: list[str] = []
    for name in dict.fromkeys(one.task.name for one in settings_of(records)):
        own = [each for each in records if each["setting"]["task"]["name"] == name]
        for label, group in named(own):
            cells = [measured(group, f"test{k}", key) for k in range(3) for key in ("exact", "exact_long")]
            theirs = THEIRS.get(name) if label == "none" else None
            shown = [f"{value:g}" for value in theirs] if theirs else ["–", "–"]
            rows.append([name, label, *cells, *shown])
        lines += _facts(name, own)
    return [aligned(rows), "", *lines, "", *_caveats(records)]


def _facts(name: str, records: Sequence[Record]) -> list[str]:
    task = settings_of(records)[0].task
    bins = records[0]["measures"]
    counts = "; ".join(
        f"{bin_} {lengths[0]}–{lengths[-1]}: {bins[bin_]['words']} words, {bins[bin_]['accepted']} accepted, "
        f"{bins[bin_]['long_words']} long, baseline {100 * bins[bin_]['same_trace']:.0f} %"
        for bin_, lengths in task.bins.items()
    )
    return [
        f"{name}: trained on {records[0]['data']['train']['words']} words; {counts}",
        *(f"  {label}: {ends(group)}" for label, group in named(records)),
    ]


def _caveats(records: Sequence[Record]) -> list[str]:
    first = settings_of(records)[0]
    cells = (
        "Shares of words whose whole trace is exact, in %; long: among traces of over 10 tokens. Mean and range over "
        f"{many(len({each['setting']['seed'] for each in records}), 'seed')}. Baseline: always the most frequent "
        "trace of the training split."
    )
    sizes = (
        f"Ours: {first.shape.layers} layers, width {first.shape.width}, {first.shape.heads} heads, "
        f"{first.schedule.steps:,} steps, data seed {first.task.seed}. "
        "Theirs (unary, no positions): lengths up to 100, test2 from 201 to 300, up to 30,000 steps; "
        f"{THEIR_BINARY}."
    )
    unknown = (
        "The paper states neither layers, width, learning rate, data, traces, loss, measure nor seeds; what length "
        "means in its binary part is unknown. Binary tasks here are phase I of its Theorem 4.3 with the end marker of "
        "our repaired encoding, and a question about the number: they are not the paper's tasks."
    )
    return [cells, sizes, unknown]
