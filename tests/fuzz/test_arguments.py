"""Public functions called with wrong arguments: a result, or a SoftmachineError; never a bare exception."""

from __future__ import annotations

import inspect
import itertools
import math
import shutil
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softmachine as sm
from softmachine.support.argument_validation import MAX_INTEGER
from softmachine.support.errors import SoftmachineError, UsageError
from tests.fuzz.calling import within

FUNCTIONS = [name for name in sm.__all__ if inspect.isroutine(getattr(sm, name))]
SECONDS = 30
"""The longest call that a wrong argument may lead to."""


class Unprintable:
    """An object whose representation cannot be made."""

    def __repr__(self) -> str:
        raise RuntimeError("no representation")


NUMBERS: tuple[Any, ...] = (
    -1,
    2.5,
    3.0,
    math.nan,
    math.inf,
    10**155,
    10**400,
    10**5000,
    1j,
    Fraction(1, 2),
    True,
    np.True_,
)
TEXTS: tuple[Any, ...] = ("", "x", "\ud800", "\udcff", "a\0b", "1-99999999999999999999", "train=1", "é" * 300, b"x")
OBJECTS: tuple[Any, ...] = (
    None,
    object(),
    Unprintable(),
    print,
    sm.Model,
    sm.TuringMachine,
    {},
    {"a": 1},
    np.arange(3),
)
LISTS: tuple[Any, ...] = ([], [1], [[1]], [None], ["\ud800"], [b"a"], (), set(), ("a", 2.5))
WRONG = (*NUMBERS, *TEXTS, *OBJECTS, *LISTS)


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], dict[str, Any]]:
    """Small arguments with which each function works; files are written to a folder of their own."""
    monkeypatch.chdir(tmp_path)
    model = sm.compile("increment")
    run = sm.run(model, "1")
    sm.save(model, tmp_path / "saved")
    valid: dict[str, dict[str, Any]] = {
        "certificate": {"model": model, "length": 3},
        "check": {"model": model, "up_to": 1},
        "compile": {"source": "increment"},
        "dataset": {"source": "increment", "up_to": 1},
        "export": {"model": "increment", "folder": "exported", "to": "none"},
        "from_tracr": {"output": object(), "vocabulary": ["a"]},
        "gallery": {"folder": "saved"},
        "inspect": {"run": run},
        "load": {"source": "increment"},
        "load_weights": {"folder": "saved"},
        "page": {"run": run, "file": "page.html"},
        "picture": {"subject": run},
        "run": {"model": model, "word": "1"},
        "save": {"model": model, "folder": "written"},
        "soften": {"model": model, "length": 3},
    }
    return valid.__getitem__


def wrong_values(annotation: str) -> Iterator[Any]:
    """Values that a parameter with this annotation does not have, and some that it should not."""
    yield from WRONG
    if "int" in annotation:
        yield from ("1", [1], MAX_INTEGER + 1, np.float64(2), np.array([1, 2]))
    if "Iterable" in annotation:
        yield from (iter([object()]), itertools.repeat([1], 2), ["a", None], np.zeros((2, 2)))
    if "Path" in annotation:
        yield from (Path("a\0b"), Path("\ud800"), Path("\udcff"), Path("x" * 5000), Path("no/such/folder"))
    if "bool" in annotation:
        yield from (0, 1, "yes")


def attempt(function: Callable[..., Any], arguments: dict[str, Any]) -> Exception | None:
    """The error of a call, if there is one; the message of it can be made, and names no address of an object."""
    caught: Exception | None = None
    try:
        with within(SECONDS):
            function(**arguments)
    except SoftmachineError as error:
        caught = error
    finally:
        for written in ("written", "exported", "page.html"):
            shutil.rmtree(written, ignore_errors=True)
            Path(written).unlink(missing_ok=True)
    assert caught is None or (str(caught) and " at 0x" not in str(caught))
    return caught


def test_every_public_function_is_tried(calls: Callable[[str], dict[str, Any]]) -> None:
    for name in FUNCTIONS:
        parameters = inspect.signature(getattr(sm, name)).parameters
        assert set(calls(name)) <= set(parameters)
    assert len(FUNCTIONS) >= 15


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_wrong_argument_is_a_result_or_an_error_of_the_package(
    name: str, calls: Callable[[str], dict[str, Any]]
) -> None:
    function = getattr(sm, name)
    refused = 0
    for parameter, about in inspect.signature(function).parameters.items():
        if parameter == "cluster":  # a string is taken for an address, which is waited for
            continue
        for value in wrong_values(about.annotation):
            if name == "gallery" and isinstance(value, str | Path) and "\0" not in str(value):
                continue  # these are names of files, and pages of a gallery take a while
            try:
                refused += attempt(function, {**calls(name), parameter: value}) is not None
            except Exception as error:
                shown = f"an integer of {value.bit_length()} bits" if isinstance(value, int) else ascii(value)
                raise AssertionError(f"{name}({parameter}={shown}) raises {type(error).__name__}: {error}") from error
    assert refused > 10, "most of them are wrong"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_value_of_no_type_that_is_expected_is_refused_by_the_name_of_its_parameter(
    name: str, calls: Callable[[str], dict[str, Any]]
) -> None:
    function = getattr(sm, name)
    for parameter, about in inspect.signature(function).parameters.items():
        for value in (Fraction(1, 2), Unprintable()) if about.annotation != "object" else ():
            error = attempt(function, {**calls(name), parameter: value})
            assert isinstance(error, UsageError)
            assert error.message.startswith(f"invalid value for {parameter!r}: ")


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("run", {"word": 11}, "invalid value for 'word': 11 is not a string or an iterable"),
        ("run", {"max_steps": 2.5}, "invalid value for 'max_steps': 2.5 is not a whole number"),
        ("run", {"max_steps": True}, "invalid value for 'max_steps': True is not a whole number"),
        ("run", {"yes": 1}, "invalid value for 'yes': 1 is not True or False"),
        ("inspect", {"run": None}, "invalid value for 'run': None is not a Run"),
        ("inspect", {"run": object()}, "invalid value for 'run': <object object> is not a Run"),
        ("soften", {"length": -1}, "invalid value for 'length': -1 is less than 0"),
        (
            "certificate",
            {"length": 2**63},
            "invalid value for 'length': 9223372036854775808 is more than 9,223,372,036,854,775,807",
        ),
        ("page", {"file": 3}, "invalid value for 'file': 3 is not a string or a Path"),
        ("load", {"file": 1}, "load(): got an unexpected keyword argument 'file'"),
    ],
)
def test_a_message_names_the_parameter_the_value_and_what_is_expected(
    name: str, given: dict[str, Any], message: str, calls: Callable[[str], dict[str, Any]]
) -> None:
    assert str(attempt(getattr(sm, name), {**calls(name), **given})) == message


def test_a_missing_argument_is_named() -> None:
    assert str(attempt(sm.run, {})) == "run(): missing a required argument: 'model'"


def test_integers_of_numpy_and_iterators_are_taken() -> None:
    run = sm.run("increment", (symbol for symbol in "101"), max_steps=np.int64(2))  # type: ignore[arg-type]
    assert run.outcome.word == ("1", "0", "1")
    assert type(run.steps) is int
