"""How fast transformers of Turing machines decode, against what else makes the same steps or the same tokens."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from softmachine import api
from softmachine.cli.benchmarks.c_loop import compiler, looped
from softmachine.cli.benchmarks.result import ROUNDS, Result, alternately
from softmachine.compiler.model import Model
from softmachine.engines.fast import FastEngine
from softmachine.languages.turing import TuringMachine, execute
from softmachine.support.files import temporary_folder
from softmachine.theorems.codec import DecoderCodec

MACHINES = {"busy beaver 5": "busy-beaver-5", "binary counter": "binary-counter", "bouncer": "1RB1LA_1LA1RB"}
STEPS, BEGINNING = 10_000_000, 100_000
"""How many steps are made; and so many take a loop to get going, which is left out: it is compiled meanwhile."""
DENSE_STEPS, STOCK_POSITIONS = 500, 256


def decoding() -> Iterator[Result]:
    """Tokens a second of the fast engine, one token a step."""
    notes = () if compiler() else ("there is no C compiler to compare with",)
    stock, missing = _generated("busy-beaver-5")
    for name, source in MACHINES.items():
        machine = api.load(source)
        assert isinstance(machine, TuringMachine)
        model = api.compile(machine)
        engine = FastEngine(model.weights)
        plain, speed = _speeds(partial(_interpreted, machine), partial(decoded, engine, model))
        ratios = {"interpreter": speed / plain}
        in_c = looped(machine, STEPS, ROUNDS)
        if in_c is not None:
            ratios["C loop"] = speed / in_c
        ratios["dense engine"] = speed / _dense(model)
        if stock is not None:
            ratios["generate()"] = speed / stock
        yield Result("decoding", name, speed, "tokens", ratios, (*notes, *missing))


def _speeds(*actions: Callable[[int], object]) -> list[float]:
    """Steps a second of each, when they have got going."""
    for action in actions:
        action(BEGINNING)  # compiles
    times = alternately(*(partial(action, steps) for action in actions for steps in (BEGINNING, STEPS)))
    return [(STEPS - BEGINNING) / max(long - short, 1e-9) for short, long in zip(times[::2], times[1::2], strict=True)]


def _interpreted(machine: TuringMachine, steps: int) -> None:
    execute(machine, "", max_steps=steps)


def decoded(engine: FastEngine, model: Model, steps: int) -> int:
    """Decode so many steps on the empty input; how many tokens there are then."""
    codec = model.codec
    assert isinstance(codec, DecoderCodec)
    prompt = codec.prompt("").tokens
    run = engine.start(prompt, codec.stops)
    run.go(len(prompt) + steps)
    return run.read


def _dense(model: Model) -> float:
    """Tokens a second of the engine that computes every score."""
    began = time.process_time()
    api.run(model, "", engine="dense", max_steps=DENSE_STEPS)
    return DENSE_STEPS / (time.process_time() - began)


def _generated(source: str) -> tuple[float | None, tuple[str, ...]]:
    """Tokens a second of ``generate()`` on an export, if torch is there; and what to say if it is not."""
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("transformers") is None:
        return None, ("there is no torch, so no generate() to compare with",)
    with temporary_folder() as scratch:
        folder = Path(scratch) / "model"
        api.export(source, folder, context=STOCK_POSITIONS)
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        from softmachine.exports.stored import quiet

        before = torch.get_num_threads()
        torch.set_num_threads(1)  # everything is measured on one core
        try:
            with quiet():
                tokenizer = AutoTokenizer.from_pretrained(folder)
                stock = AutoModelForCausalLM.from_pretrained(folder)
                prompt = tokenizer("", return_tensors="pt", return_token_type_ids=False)
                began = time.process_time()
                said = stock.generate(**prompt)[0]
                return len(said) / (time.process_time() - began), ()
        finally:
            torch.set_num_threads(before)
