"""Compiler from Python programs to machines: every variable becomes a work tape, every call is inlined.

An inlined call has separate tapes, which are freed after it; the number of tapes is therefore the maximum number of
live variables, independent of the input. Operators that need more than one sweep over two tapes (``*``, ``//``, ``%``)
are calls of programs (:mod:`softmachine.studies.uniformity.stdlib`).

The front end reads bodies and parameters of functions, or of generated code.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from inspect import getsource, signature, unwrap
from textwrap import dedent
from typing import Any

from softmachine.studies.uniformity import stdlib
from softmachine.studies.uniformity.machine_builder import BITS, MachineBuilder
from softmachine.studies.uniformity.transducer import ONE, Transducer


class ProgramError(ValueError):
    """A program uses a construct outside the supported subset of Python."""


@dataclass(frozen=True)
class GeneratedProgram:
    """Generated program: source text that is compiled to a machine and never run as Python.

    Args:
        text: The body.
        subroutines: The programs that it calls.
        parameters: Its parameters; ``tape`` are the input and output tapes.
    """

    text: str
    subroutines: Mapping[str, Callable[..., Any]] = field(hash=False)
    parameters: tuple[str, ...] = ("tape",)


ProgramSource = Callable[..., Any] | GeneratedProgram


def program_name(function: ProgramSource) -> str:
    """Return the name of a program for messages."""
    return "a generated program" if isinstance(function, GeneratedProgram) else function.__qualname__


def parameter_names(function: ProgramSource) -> list[str]:
    """Return the names of the parameters; the tapes, if it uses them, are first."""
    return list(function.parameters if isinstance(function, GeneratedProgram) else signature(function).parameters)


def global_names(function: ProgramSource) -> Mapping[str, Any]:
    """Return the global names of a function."""
    return function.subroutines if isinstance(function, GeneratedProgram) else vars(sys.modules[function.__module__])


@cache
def function_body(function: ProgramSource) -> list[ast.stmt]:
    """Return the body of a function; a return is allowed only as its last statement."""
    if isinstance(function, GeneratedProgram):
        return ast.parse(function.text).body
    tree = ast.parse(dedent(getsource(function))).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise ProgramError(f"{program_name(function)} is not a named function")
    returns = [node for node in ast.walk(tree) if isinstance(node, ast.Return)]
    if returns and returns != [tree.body[-1]]:
        raise ProgramError(f"{program_name(function)} returns before its end")
    return tree.body


def assigned_names(body: list[ast.stmt]) -> set[str]:
    """Return the variables that a body assigns."""
    nodes = (node for statement in body for node in ast.walk(statement))
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


MAX_CALL_DEPTH = 40
"""Maximum depth of nested calls; deeper nesting indicates recursion."""
_REGISTER_METHODS: dict[type[ast.operator], str] = {ast.Add: "add", ast.Sub: "subtract"}
_SUBROUTINES: dict[type[ast.operator], tuple[Callable[..., Any], int]] = {
    ast.Mult: (stdlib.multiply, 0),
    ast.FloorDiv: (stdlib.divide, 0),
    ast.Mod: (stdlib.divide, 1),
}


def compile_machine(name: str, program: ProgramSource, *given: object) -> Transducer:
    """Compile a program to a machine.

    Args:
        name: The name of its output, for messages.
        program: A function whose first parameter is the tapes.
        given: Values of its other parameters: objects whose methods are called, such as a family of circuits.

    Raises:
        ProgramError: If the program uses an unsupported construct.
    """
    registers = MachineBuilder()
    _Call(registers, program, [TAPES_PLACEHOLDER, *given]).inline()
    return registers.build(name)


TAPES_PLACEHOLDER = object()
"""Placeholder of the input and output tapes."""
BoundValue = Any
"""Value of a name: the number of a tape, wrapped in ``_TapeSignals``, or a Python object."""


@dataclass(frozen=True)
class _Tape:
    number: int


@dataclass
class _Call:
    """Inlining of a function call.

    Args:
        registers: The builder of the machine.
        function: The function.
        arguments: The values of its parameters.
        depth: Nesting depth of the call.
    """

    registers: MachineBuilder
    function: ProgramSource
    arguments: list[BoundValue]
    depth: int = 0
    own: list[int] = field(default_factory=list)
    names: dict[str, BoundValue] = field(default_factory=dict)

    def inline(self) -> list[int]:
        """Inline the call; the caller owns the tapes with the results."""
        if self.depth > MAX_CALL_DEPTH:
            raise ProgramError(f"{program_name(self.function)} is recursive; recursion is not supported")
        body = function_body(self.function)
        changed = assigned_names(body)
        for name, bound in zip(parameter_names(self.function), self.arguments, strict=True):
            self.names[name] = bound
            if isinstance(bound, _Tape) and name in changed:
                self.names[name] = _Tape(self._copied(bound.number))
        for name in sorted(changed - set(self.names)):
            self.names[name] = _Tape(self._allocate())
        results: list[int] = []
        for statement in body:
            if isinstance(statement, ast.Return):
                results = self._results(statement)
            else:
                self._statement(statement)
        for tape in self.own:
            self.registers.release(tape)
        return results

    def _allocate(self) -> int:
        """Allocate a tape for the duration of this call."""
        self.own.append(self.registers.allocate())
        return self.own[-1]

    def _copied(self, tape: int) -> int:
        copy = self._allocate()
        self.registers.copy(copy, tape)
        return copy

    def _results(self, statement: ast.Return) -> list[int]:
        if statement.value is None:
            return []
        values = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
        found = []
        for value in values:
            tape, temporary = self._value(value)
            if not temporary and tape in self.own and tape not in found:
                self.own.remove(tape)
            elif not temporary:
                given, tape = tape, self.registers.allocate()
                self.registers.copy(tape, given)
            found.append(tape)
        return found

    def _unsupported(self, node: ast.AST) -> ProgramError:
        line = getattr(node, "lineno", 0)
        return ProgramError(f"{program_name(self.function)}, line {line}: unsupported construct {ast.unparse(node)!r}")

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(ast.Constant()) | ast.Pass():
                return
            case ast.Expr(ast.Call() as call):
                for tape in self._call(call):
                    self.registers.release(tape)
            case ast.Assign([ast.Name(name)], value):
                self._assign(name, value)
            case ast.Assign([ast.Tuple(names)], ast.Call() as call):
                for target, tape in zip(names, self._call(call), strict=True):
                    assert isinstance(target, ast.Name)
                    self.registers.copy(self._tape(target.id), tape)
                    self.registers.release(tape)
            case ast.AugAssign(ast.Name(name), operator, value) if type(operator) in _REGISTER_METHODS:
                self._add_or_subtract(self._tape(name), type(operator), value)
            case ast.AugAssign(ast.Name(name), ast.FloorDiv(), ast.Constant(2)):
                self.registers.halve(self._tape(name))
            case ast.If(test, then, otherwise):
                self._if(test, lambda: self._statements(then), lambda: self._statements(otherwise))
            case ast.While(test, body, []):
                self._while(test, lambda: self._statements(body))
            case ast.For(ast.Name(name), ast.Call(ast.Name("range"), bounds), body, []):
                self._for(name, bounds, body)
            case _:
                raise self._unsupported(node)

    def _statements(self, nodes: Iterable[ast.stmt]) -> None:
        for node in nodes:
            self._statement(node)

    def _tape(self, name: str) -> int:
        bound = self.names[name]
        assert isinstance(bound, _Tape), name
        return bound.number

    def _assign(self, name: str, value: ast.expr) -> None:
        with self._read(value) as tape:
            self.registers.copy(self._tape(name), tape)

    @contextmanager
    def _read(self, node: ast.expr) -> Iterator[int]:
        """Compile an expression; the value is its tape, which is released at the end if it is a temporary one."""
        tape, temporary = self._value(node)
        yield tape
        self._drop(tape, temporary)

    def _drop(self, tape: int, temporary: bool) -> None:
        if temporary:
            self.registers.release(tape)

    def _add_or_subtract(self, tape: int, operator: type[ast.operator], value: ast.expr) -> None:
        """Add a value to the number on a tape, or subtract it."""
        if isinstance(value, ast.Constant) and value.value == 1:
            getattr(self.registers, "increment" if operator is ast.Add else "decrement")(tape)
            return
        with self._read(value) as other:
            if other != tape:
                getattr(self.registers, _REGISTER_METHODS[operator])(tape, other)
            elif operator is ast.Add:
                self.registers.double(tape)
            else:
                self.registers.constant(tape, 0)

    def _if(self, test: ast.expr, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        yes, no = self._branch(test)
        end = self.registers.new_state()
        for state, part in ((yes, then), (no, otherwise)):
            self.registers.current = state
            part()
            self.registers.jump(end)

    def _while(self, test: ast.expr, body: Callable[[], None]) -> None:
        start = self.registers.new_state()
        self.registers.jump(start)
        yes, no = self._branch(test)
        self.registers.current = yes
        body()
        self.registers.jump(start)
        self.registers.current = no

    def _for(self, name: str, bounds: list[ast.expr], body: list[ast.stmt]) -> None:
        first, last = bounds if len(bounds) == 2 else (ast.Constant(0), bounds[0])
        self._assign(name, first)
        limit = f"{name} stops"  # not a Python identifier, hence unique
        tape, temporary = self._value(last)
        self.names[limit] = _Tape(tape if temporary else self._copied(tape))
        test = ast.Compare(ast.Name(name), [ast.Lt()], [ast.Name(limit)])

        def iterate() -> None:
            self._statements(body)
            self.registers.increment(self._tape(name))

        self._while(test, iterate)
        self._drop(tape, temporary)

    def _branch(self, node: ast.expr) -> tuple[int, int]:
        """Compile a condition; return the states in which it holds, and in which it does not."""
        match node:
            case ast.UnaryOp(ast.Not(), inner):
                yes, no = self._branch(inner)
                return no, yes
            case ast.BoolOp(operator, parts):
                return self._and_or(parts, isinstance(operator, ast.And))
            case ast.Compare(ast.BinOp(one, ast.Mod(), ast.Constant(2)), [ast.Eq()], [ast.Constant(1)]):
                return self._branch_on(one, (ONE,))
            case ast.Compare(one, [ast.Gt() | ast.NotEq()], [ast.Constant(0)]):
                return self._branch_on(one, BITS)
            case ast.Compare(one, [ast.In()], [ast.Tuple(several)]):
                return self._and_or([ast.Compare(one, [ast.Eq()], [each]) for each in several], every=False)
            case ast.Compare(one, [operator], [other]):
                return self._compare(one, operator, other)
        return self._branch_on(node, BITS)

    def _branch_on(self, node: ast.expr, wanted: tuple[int, ...]) -> tuple[int, int]:
        with self._read(node) as tape:
            return self.registers.branch(tape, wanted)

    def _and_or(self, parts: list[ast.expr], every: bool) -> tuple[int, int]:
        """Compile AND or OR with short-circuit evaluation."""
        settled = self.registers.new_state()
        for part in parts[:-1]:
            yes, no = self._branch(part)
            self.registers.current = no if every else yes
            self.registers.jump(settled)
            self.registers.current = yes if every else no
        yes, no = self._branch(parts[-1])
        self.registers.current = no if every else yes
        self.registers.jump(settled)
        return (yes, settled) if every else (settled, no)

    def _compare(self, one: ast.expr, operator: ast.cmpop, other: ast.expr) -> tuple[int, int]:
        with self._read(one) as x, self._read(other) as y:
            if x == y:
                raise self._unsupported(one)
            outcomes = self.registers.compare(x, y)
        wanted = {ast.Lt: (0,), ast.LtE: (0, 1), ast.Eq: (1,), ast.NotEq: (0, 2), ast.GtE: (1, 2), ast.Gt: (2,)}
        yes, no = self.registers.new_state(), self.registers.new_state()
        for number, state in enumerate(outcomes):
            self.registers.current = state
            self.registers.jump(yes if number in wanted[type(operator)] else no)
        return yes, no

    def _value(self, node: ast.expr) -> tuple[int, bool]:
        """Compile an expression; return its tape, and whether it is a temporary one that the caller must release."""
        match node:
            case ast.Name(name) if isinstance(self.names.get(name), _Tape):
                return self._tape(name), False
            case ast.BinOp(one, ast.FloorDiv(), ast.Constant(2)):
                tape = self._fresh(one)
                self.registers.halve(tape)
                return tape, True
            case ast.BinOp(one, operator, other) if type(operator) in _REGISTER_METHODS:
                tape = self._fresh(one)
                self._add_or_subtract(tape, type(operator), other)
                return tape, True
            case ast.BinOp(one, operator, other) if type(operator) in _SUBROUTINES:
                function, which = _SUBROUTINES[type(operator)]
                return self._only(self._inline_call(function, [one, other]), which), True
            case ast.IfExp(test, then, otherwise):
                return self._select(test, then, otherwise), True
            case ast.Call():
                return self._only(self._call(node), 0), True
            case ast.Compare() | ast.BoolOp():
                return self._select(node, ast.Constant(1), ast.Constant(0)), True
        known = self._constant(node)
        if not isinstance(known, int) or known < 0:
            raise self._unsupported(node)
        tape = self.registers.allocate()
        self.registers.constant(tape, int(known))
        return tape, True

    def _fresh(self, node: ast.expr) -> int:
        """Compile an expression to a tape that may be modified."""
        given, temporary = self._value(node)
        if temporary:
            return given
        tape = self.registers.allocate()
        self.registers.copy(tape, given)
        return tape

    def _select(self, test: ast.expr, then: ast.expr, otherwise: ast.expr) -> int:
        tape = self.registers.allocate()

        def take(node: ast.expr) -> None:
            with self._read(node) as value:
                self.registers.copy(tape, value)

        self._if(test, lambda: take(then), lambda: take(otherwise))
        return tape

    def _only(self, tapes: list[int], which: int) -> int:
        """Select one of several results; release the others."""
        for number, tape in enumerate(tapes):
            self._drop(tape, number != which)
        return tapes[which]

    def _constant(self, node: ast.expr) -> Any:
        """Return the compile-time value of an expression: a constant, a function, an object."""
        match node:
            case ast.Constant(value):
                return value
            case ast.Name(name) if name in self.names:
                return self.names[name]
            case ast.Name(name) if name in global_names(self.function):
                return global_names(self.function)[name]
            case ast.Attribute(inner, name):
                return getattr(self._constant(inner), name)
        raise self._unsupported(node)

    def _call(self, node: ast.Call) -> list[int]:
        match node.func:
            case ast.Attribute(ast.Name(name), action) if self.names.get(name) is TAPES_PLACEHOLDER:
                return self._on_tapes(action, node)
        return self._inline_call(self._constant(node.func), node.args)

    def _inline_call(self, function: Callable[..., Any], nodes: list[ast.expr]) -> list[int]:
        arguments: list[BoundValue] = []
        temporaries = []
        for node in nodes:
            if isinstance(node, ast.Name) and not isinstance(self.names.get(node.id, 0), (_Tape, int)):
                arguments.append(self.names[node.id])
                continue
            tape, temporary = self._value(node)
            arguments.append(_Tape(tape))
            temporaries += [tape] if temporary else []
        results = _Call(self.registers, unwrap(function), arguments, self.depth + 1).inline()
        for tape in temporaries:
            self.registers.release(tape)
        return results

    def _on_tapes(self, action: str, node: ast.Call) -> list[int]:
        """Compile an operation on the input or output tape."""
        if action in ("unary", "binary"):
            tape = self.registers.allocate()
            getattr(self.registers, f"read_{action}")(tape)
            return [tape]
        (given,) = node.args
        for part in given.values if isinstance(given, ast.JoinedStr) else [given]:
            match part:
                case ast.Constant(str(text)):
                    self.registers.emit_text(text)
                case ast.FormattedValue(number, format_spec=ast.JoinedStr([ast.Constant("b")])):
                    with self._read(number) as tape:
                        self.registers.emit_number(tape)
                case _:
                    raise self._unsupported(given)
        return []
