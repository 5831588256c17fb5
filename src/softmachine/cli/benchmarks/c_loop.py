"""A Turing machine as a table-driven loop in C, if a compiler is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from softmachine.languages.turing import TuringMachine, execute
from softmachine.languages.turing.machine import MOVES, TapeConvention
from softmachine.support.errors import SoftmachineError
from softmachine.support.files import temporary_folder, write_file

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
