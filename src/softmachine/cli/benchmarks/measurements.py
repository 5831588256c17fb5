"""Measurements of ``softmachine bench``: checking formulas, start-up, and decoding.

Formulas are checked by the transformer with comparison, against evaluating the formula in plain Python; start-up of
small commands is measured against an empty Python process; decoding by transformers of Turing machines, against other
implementations of the same steps or tokens.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, product
from pathlib import Path

from softmachine import api
from softmachine.cli.benchmarks.result import ROUNDS, Result, time_in_turn
from softmachine.compiler.model import Model
from softmachine.engines.check import check_inputs
from softmachine.engines.fast import FastEngine
from softmachine.languages.temporal import Specification, truth_values
from softmachine.languages.turing import TuringMachine, execute
from softmachine.languages.turing.machine import MOVES, TapeConvention
from softmachine.support.errors import SoftmachineError
from softmachine.support.files import temporary_folder, write_file
from softmachine.theorems.codec import DecoderCodec

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static const unsigned char written[] = {%(written)s};
static const signed char moved[] = {%(moved)s};
static const int next[] = {%(next)s};
int main(int count, char **arguments) {
  long most = atol(arguments[1]), step = 0, half = most + 1;
  unsigned char *tape = calloc(2 * half + 1, 1);
  unsigned char *head = tape + half;
  int state = %(start)d;
  clock_t began = clock();
  for (; step < most; step++) {
    int rule = state * %(symbols)d + *head;
    if (next[rule] < 0) break;
    *head = written[rule];
    head += moved[rule];
    state = next[rule];
  }
  double seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
  printf("%%.9f %%ld %%d %%ld\\n", seconds, step, state, (long)(head - tape) - half);
  return 0;
}
"""


def find_compiler() -> str | None:
    """Find a C compiler."""
    return next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)


def measure_c_loop(machine: TuringMachine, steps: int, rounds: int) -> float | None:
    """Measure the steps per second of a loop in C, the best of some rounds; None without a compiler.

    Raises:
        SoftmachineError: If its result differs from that of the interpreter.
    """
    with_c = find_compiler()
    if with_c is None or machine.tapes != 1 or machine.tape is not TapeConvention.TWO_WAY:
        return None
    with temporary_folder() as scratch:
        source, program = Path(scratch) / "machine.c", Path(scratch) / "machine"
        write_file(source, _c_program(machine))
        made = subprocess.run([with_c, "-O2", "-o", program, source], capture_output=True, check=False)
        if made.returncode:
            return None
        best = min(_time_once(machine, program, steps) for _ in range(rounds))
    return steps / best


def _time_once(machine: TuringMachine, program: Path, steps: int) -> float:
    """Measure the seconds of a number of steps."""
    printed = subprocess.run([program, str(steps)], capture_output=True, text=True, check=True).stdout.split()
    seconds, done, state, head = float(printed[0]), int(printed[1]), machine.states[int(printed[2])], int(printed[3])
    right = execute(machine, "", max_steps=steps)
    if (done, state, head) != (right.steps, right.state, right.heads[0]):
        raise SoftmachineError(f"the loop in C differs from {machine.name!r}")
    return max(seconds, 1e-9)


def _c_program(machine: TuringMachine) -> str:
    """Return the program in C; the blank is symbol 0."""
    symbols = (machine.blank, *(symbol for symbol in machine.symbols if symbol != machine.blank))
    written, moved, following = [], [], []
    for state in machine.states:
        for symbol in symbols:
            rule = None if state in machine.halting_states else machine.find_rule(state, (symbol,))
            written.append(symbols.index(rule.write[0]) if rule else 0)
            moved.append(MOVES[rule.move[0]] if rule else 0)
            following.append(machine.states.index(rule.next) if rule else -1)
    lists = {"written": written, "moved": moved, "next": following}
    return PROGRAM % {
        **{name: ", ".join(map(str, numbers)) for name, numbers in lists.items()},
        "start": machine.states.index(machine.start),
        "symbols": len(symbols),
    }


CHECKED_FORMULAS = ("Q_a since Q_b", "#<[Q_a] >= 2*#>[Q_b]", "odd(#<[Q_a]) and always (Q_a -> once Q_b)")
CHECKED_LENGTH, CHECKED_WORDS = 16, 4096


def measure_checking() -> Iterator[Result]:
    """Measure the words of 16 symbols per second."""
    for text in CHECKED_FORMULAS:
        source = api.extend_alphabet(api.load(text), "ab")
        assert isinstance(source, Specification)
        model = api.compile(source)
        words = list(islice(product("ab", repeat=CHECKED_LENGTH), CHECKED_WORDS))

        def checked(model: Model = model, words: list[tuple[str, ...]] = words) -> None:
            if not check_inputs(model, words).holds:
                raise SoftmachineError(f"the transformer of {model.name!r} is wrong")

        def evaluated(source: Specification = source, words: list[tuple[str, ...]] = words) -> None:
            for word in words:
                truth_values(source, word)

        plain, ours = time_in_turn(evaluated, checked)
        yield Result("checking", text, CHECKED_WORDS / ours, "words", {"plain Python": plain / ours})


STARTUP_COMMANDS = (("--version",), ("run", "palindrome", "abba", "--quiet"))


def measure_startup() -> Iterator[Result]:
    """Measure the calls per second of processor time."""
    for arguments in STARTUP_COMMANDS:
        best = {"ours": float("inf"), "nothing": float("inf")}
        for _ in range(ROUNDS):
            best["nothing"] = min(best["nothing"], _process_seconds("-c", "pass"))
            best["ours"] = min(best["ours"], _process_seconds("-m", "softmachine", *arguments))
        ratios = {"python -c pass": best["nothing"] / best["ours"]}
        yield Result("starting", f"softmachine {' '.join(arguments)}", 1 / best["ours"], "calls", ratios)


def _process_seconds(*arguments: str) -> float:
    """Measure the processor seconds of a process; elapsed seconds where the system does not report them."""
    before = _child_seconds()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    return _child_seconds() - before


def _child_seconds() -> float:
    try:
        import resource
    except ImportError:
        return time.perf_counter()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


DECODED_MACHINES = {"busy beaver 5": "busy-beaver-5", "binary counter": "binary-counter", "bouncer": "1RB1LA_1LA1RB"}
DECODED_STEPS, WARM_UP_STEPS = 10_000_000, 100_000
"""Number of steps; and of those that are not measured, since loops are compiled meanwhile."""
DENSE_STEPS, STOCK_POSITIONS = 500, 256


def measure_decoding() -> Iterator[Result]:
    """Measure the tokens per second of the fast engine, with one token per step."""
    notes = () if find_compiler() else ("no C compiler was found, so the C loop was not measured",)
    stock, missing = _measure_transformers_generate("busy-beaver-5")
    for name, source in DECODED_MACHINES.items():
        machine = api.load(source)
        assert isinstance(machine, TuringMachine)
        model = api.compile(machine)
        engine = FastEngine(model.weights)
        plain, speed = _measure_speeds(partial(_interpret, machine), partial(decode, engine, model))
        ratios = {"interpreter": speed / plain}
        in_c = measure_c_loop(machine, DECODED_STEPS, ROUNDS)
        if in_c is not None:
            ratios["C loop"] = speed / in_c
        ratios["dense engine"] = speed / _measure_dense(model)
        if stock is not None:
            ratios["generate()"] = speed / stock
        yield Result("decoding", name, speed, "tokens", ratios, (*notes, *missing))


def _measure_speeds(*actions: Callable[[int], object]) -> list[float]:
    """Measure the steps per second of each action, after a warm-up."""
    for action in actions:
        action(WARM_UP_STEPS)  # compiles
    times = time_in_turn(*(partial(action, steps) for action in actions for steps in (WARM_UP_STEPS, DECODED_STEPS)))
    return [
        (DECODED_STEPS - WARM_UP_STEPS) / max(long - short, 1e-9)
        for short, long in zip(times[::2], times[1::2], strict=True)
    ]


def _interpret(machine: TuringMachine, steps: int) -> None:
    execute(machine, "", max_steps=steps)


def decode(engine: FastEngine, model: Model, steps: int) -> int:
    """Decode a number of steps on the empty input; return the number of tokens."""
    codec = model.codec
    assert isinstance(codec, DecoderCodec)
    prompt = codec.prompt("").tokens
    run = engine.start(prompt, codec.is_stop_token)
    run.run_until(len(prompt) + steps)
    return run.positions_read


def _measure_dense(model: Model) -> float:
    """Measure the tokens per second of the dense engine."""
    began = time.process_time()
    api.run(model, "", engine="dense", max_steps=DENSE_STEPS)
    return DENSE_STEPS / (time.process_time() - began)


def _measure_transformers_generate(source: str) -> tuple[float | None, tuple[str, ...]]:
    """Measure the tokens per second of ``generate()`` on an export; without torch, return a note."""
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("transformers") is None:
        return None, ("torch is not installed, so generate() was not measured",)
    with temporary_folder() as scratch:
        folder = Path(scratch) / "model"
        api.export(source, folder, context=STOCK_POSITIONS)
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        from softmachine.exports.verification import silence_libraries

        before = torch.get_num_threads()
        torch.set_num_threads(1)  # all benchmarks use one core
        try:
            with silence_libraries():
                tokenizer = AutoTokenizer.from_pretrained(folder)
                stock = AutoModelForCausalLM.from_pretrained(folder)
                prompt = tokenizer("", return_tensors="pt", return_token_type_ids=False)
                began = time.process_time()
                output = stock.generate(**prompt)[0]
                return len(output) / (time.process_time() - began), ()
        finally:
            torch.set_num_threads(before)
