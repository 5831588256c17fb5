"""``softmachine bench``: one table of ratios, from what the package itself has."""

from __future__ import annotations

import pytest

from softmachine.cli import benchmarks as bench
from softmachine.cli.bench import NAMES
from softmachine.cli.benchmarks import measurements
from softmachine.cli.benchmarks.result import Result, format_number, format_ratio, format_results
from softmachine.languages.turing import TuringMachine
from softmachine.support.errors import SoftmachineError
from softmachine.testing import load_as
from tests.cli.conftest import Cli, cli  # noqa: F401 - a fixture


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Benchmarks that take no time, and mean nothing."""
    for name, value in (
        ("DECODED_STEPS", 40_000),
        ("WARM_UP_STEPS", 30_000),
        ("DECODED_MACHINES", {"bouncer": "1RB1LA_1LA1RB"}),
        ("DENSE_STEPS", 5),
        ("_measure_transformers_generate", lambda _: (None, ("there is no torch",))),
        ("CHECKED_WORDS", 16),
    ):
        monkeypatch.setattr(measurements, name, value)


def test_results_have_ratios_that_are_numbers(cli: Cli) -> None:  # noqa: F811
    answer = cli("bench", "decoding", "--json").json
    (result,) = answer["results"]
    assert (result["benchmark"], result["subject"], result["unit"]) == ("decoding", "bouncer", "tokens")
    assert {"interpreter", "dense engine"} <= set(result["ratios"])
    assert all(value > 0 for value in result["ratios"].values())
    assert "there is no torch" in answer["notes"]


def test_people_see_a_table(cli: Cli) -> None:  # noqa: F811
    said = cli("bench", "checking").out.splitlines()
    assert said[0].split() == ["checking", "rate", "against", "plain", "Python"]
    assert len(said) == 4


@pytest.mark.slow
def test_a_command_takes_longer_than_nothing_but_not_for_ever(cli: Cli) -> None:  # noqa: F811
    first, second = cli("bench", "starting", "--json").json["results"]
    for result in (first, second):
        (ratio_,) = result["ratios"].values()
        assert 1e-3 < ratio_ < 1


def test_a_benchmark_that_is_not_there_is_named(cli: Cli) -> None:  # noqa: F811
    called = cli("bench", "speed")
    assert called.status == 2
    assert "unknown benchmark 'speed'" in called.err
    assert tuple(bench.BENCHMARKS) == NAMES


def test_every_benchmark_has_its_columns_and_what_is_not_compared_a_dash() -> None:
    results = [Result("a", "x", 1234.0, "words", {"C": 0.25}), Result("a", "y", 3.0, "words", {"D": 7.0})]
    assert format_results([*results, Result("b", "z", 30.0, "calls", {"E": 12.0})]).splitlines() == [
        "a           rate  against C  against D",
        "x  1,200 words/s      1/4.0          –",
        "y    3.0 words/s          –      × 7.0",
        "",
        "b        rate  against E",
        "z  30 calls/s       × 12",
    ]


@pytest.mark.parametrize(("value", "said"), [(1.0, "× 1.0"), (38_712.0, "× 39,000"), (0.19, "1/5.3"), (0.004, "1/250")])
def test_ratios_have_as_many_digits_as_they_are_good_for(value: float, said: str) -> None:
    assert format_ratio(value) == said


def test_numbers_below_one() -> None:
    assert format_number(0.051) == "0.051"


@pytest.mark.skipif(measurements.find_compiler() is None, reason="there is no C compiler")
def test_the_loop_in_c_is_held_to_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = load_as("busy-beaver-4", TuringMachine)
    speed = measurements.measure_c_loop(machine, 50, 1)
    assert speed is not None
    assert speed > 0
    monkeypatch.setattr(measurements, "PROGRAM", measurements.PROGRAM.replace("step++", "step += 2"))
    with pytest.raises(SoftmachineError, match="differs from 'busy-beaver-4'"):
        measurements.measure_c_loop(machine, 50, 1)
