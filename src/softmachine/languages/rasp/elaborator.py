"""Elaborator: expands functions, loops over lists and loaded files into definitions.

Expressions are either compile-time values, which are computed, or sequence operators and selectors, which are emitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, Final

from softmachine.languages.rasp import ir
from softmachine.languages.rasp.emitter import Emitter, Operand
from softmachine.languages.rasp.environment import (
    BUILTIN_NAMES,
    CONSTANTS,
    MAX_LIST_LENGTH,
    BuiltinFunction,
    Closure,
    CompileTimeValue,
    LoopValue,
    OperatorValue,
    Scope,
    SelectorValue,
    SequenceValue,
    builtin_value,
    describe_value,
    emit_table,
    is_value,
)
from softmachine.languages.rasp.ir import UNDEFINED, Operator, Value, suggest_name
from softmachine.languages.rasp.syntax_tree import Node, Position
from softmachine.languages.rasp.values import MAX_BITS, apply, identity_key, is_number, normalise_number
from softmachine.languages.text.diagnostics import SyntaxDiagnostic

NARY_OPERATORS: Final = (Operator.AND, Operator.OR)
"""Operators with two or more operands."""
MAX_CALL_DEPTH: Final = 24


class Elaborator(Emitter):
    """Elaborates the statements of a program text into definitions.

    The methods ``_name``, ``_operation``, ``_for_`` and so on elaborate the nodes of the rule of that name.

    Args:
        source: The origin of the program text.
        alphabet: The letters of the input.
        letters: The values of the letters.
        library: The library functions available in every program.
        load: Loads and parses a file.
        exact: Whether each statement is exactly one definition with the statement's name.
    """

    def __init__(
        self,
        source: str,
        alphabet: Sequence[str],
        letters: Sequence[Value],
        library: Iterable[Node],
        load: Callable[[str, Position], tuple[Node, ...]],
        exact: bool = False,
    ) -> None:
        super().__init__(source, alphabet, letters, exact)
        self.notes: list[str] = []
        self.output: str | None = None
        self.output_position: Position = (1, 1)
        self._load_file = load
        known = Scope()
        functions = [Closure(definition, known, is_library=True) for definition in library]
        known.names.update({function.name: function for function in functions})
        self.scope = self.global_scope = Scope(known)

    def evaluate(self, node: Node) -> CompileTimeValue:
        """The compile-time value of an expression; the effect of a statement."""
        self.count_step(node.position)
        value: CompileTimeValue = getattr(self, f"_{node.rule}")(node, *node.parts)
        return value

    # Expressions

    def _name(self, node: Node, name: str) -> CompileTimeValue:
        if name in CONSTANTS:
            return CONSTANTS[name]
        scope = self.scope.find(name)
        if scope is not None:
            return scope.names[name]
        value = builtin_value(self, name)
        if value is None:
            hint = suggest_name(name, {*self.scope.bound_names(), *BUILTIN_NAMES}) or "define it before this line"
            raise self.diagnostic(f"unknown name {name!r}", node, hint)
        return value

    def _literal(self, _node: Node, value: Value) -> CompileTimeValue:
        return value

    def _relation_argument(self, _node: Node, operator: Operator) -> CompileTimeValue:
        return OperatorValue(operator)

    def _operation(self, node: Node, operator: Operator, operands: tuple[Node, ...]) -> CompileTimeValue:
        if operator is Operator.CHOOSE:
            return self._conditional(node, *operands)
        # A long sum is a left-deep tree, which is traversed without recursion.
        spine: list[Node] = []
        first = node
        while first.rule == "operation" and len(first.parts[1]) == 2 and first.parts[0] not in NARY_OPERATORS:
            spine.append(first)
            first = first.parts[1][0]
        if not spine:
            return self.apply(operator, [(self.evaluate(operand), operand) for operand in operands], node)
        value = self.evaluate(first)
        for operation in reversed(spine):
            operator, (left, right) = operation.parts
            value = self.apply(operator, [(value, left), (self.evaluate(right), right)], operation)
        return value

    def _conditional(self, node: Node, then: Node, condition: Node, otherwise: Node) -> CompileTimeValue:
        """If the condition is a compile-time value, only the branch taken is evaluated."""
        known = self.evaluate(condition)
        if is_value(known) and is_number(known):
            return self.evaluate(then if known else otherwise)
        operands = [(self.evaluate(then), then), (known, condition), (self.evaluate(otherwise), otherwise)]
        return self.apply(Operator.CHOOSE, operands, node)

    def apply(self, operator: Operator, operands: Sequence[Operand], node: Node) -> CompileTimeValue:
        """Apply an operator: to values at compile time; emits an operation if an operand is a sequence operator."""
        values = [value for value, _ in operands]
        if any(isinstance(value, SelectorValue) for value in values):
            return self._combine_selectors(operator, operands, node)
        if all(map(is_value, values)):
            return self._fold_constant(operator, values, node)
        references = [self.to_sequence(*operand) for operand in operands]
        self.position = node.position
        if operator not in NARY_OPERATORS:
            return self.emit_sequence(ir.Apply(operator, tuple(references)))
        return SequenceValue(reduce(lambda one, other: self.emit(ir.Apply(operator, (one, other))), references))

    def _combine_selectors(self, operator: Operator, operands: Sequence[Operand], node: Node) -> CompileTimeValue:
        if operator not in (*NARY_OPERATORS, Operator.NOT):
            hint = "combine selectors by and, or and not; use aggregate to get a sequence operator"
            raise self.diagnostic(f"{operator.value!r} does not apply to a selector", node, hint)
        for value, written in operands:
            if not isinstance(value, SelectorValue):
                hint = "combine selectors only with selectors; select(x, True, ==) converts x"
                raise self.diagnostic(f"expected a selector, not {describe_value(value)}", written, hint)
        return self.emit_selector(ir.Combine(operator, tuple(value.reference for value, _ in operands)))  # type: ignore[union-attr]

    def _fold_constant(self, operator: Operator, values: Sequence[Any], node: Node) -> Value:
        if operator in NARY_OPERATORS:
            result = reduce(lambda one, other: apply(operator, (one, other)), values)
        else:
            result = apply(operator, values)
        if result is UNDEFINED:
            operands = " and ".join(map(describe_value, values))
            message = f"{operator.value!r} is undefined for {operands} with these values"
            raise self.diagnostic(message, node, "check the values")
        if is_number(result):
            number = normalise_number(result)
            if max(abs(number.numerator), number.denominator).bit_length() > MAX_BITS:
                raise self.diagnostic("this value is too large", node, "use smaller values")
        return result  # type: ignore[no-any-return]

    def _member(self, node: Node, operand: Node, container: Node) -> CompileTimeValue:
        item = self.evaluate(operand)
        entries = self.list_items(self.evaluate(container), container)
        tests = [(self.apply(Operator.EQUAL, [(item, operand), (entry, container)], node), node) for entry in entries]
        return self.apply(Operator.OR, tests, node) if len(tests) > 1 else tests[0][0] if tests else False

    def _not_member(self, node: Node, operand: Node, container: Node) -> CompileTimeValue:
        return self.apply(Operator.NOT, [(self._member(node, operand, container), node)], node)

    def _call(self, node: Node, function: Node, arguments: tuple[Node, ...] = ()) -> CompileTimeValue:
        called = self.evaluate(function)
        values = [self.evaluate(argument) for argument in arguments]
        self.count_step(node.position)
        match called:
            case BuiltinFunction():
                if len(values) not in called.arities:
                    raise self._arity_diagnostic(called.name, min(called.arities), len(values), node, called.usage)
                return called.implementation(self, node, *zip(values, arguments, strict=True))
            case Closure():
                return self._inline_call(called, values, node)
            case _:
                hint = "only functions can be called; to run a sequence operator use: softmachine run FILE WORD"
                raise self.diagnostic(f"expected a function, not {describe_value(called)}", node, hint)

    def _arity_diagnostic(self, name: str, expected: int, found: int, call: Node, usage: str) -> SyntaxDiagnostic:
        """The diagnostic for a wrong number of arguments."""
        given = f"{found} {'is' if found == 1 else 'are'} given"
        message = f"{name!r} takes {expected} argument{'s' * (expected != 1)}, but {given}"
        return self.diagnostic(message, call, f"write {usage}")

    def _inline_call(self, function: Closure, arguments: list[CompileTimeValue], call: Node) -> CompileTimeValue:
        """Inline a call of a user-defined function and return its result. Recursion is an error."""
        definition = function.definition
        _, *rest, body = definition.parts
        parameters = rest[0].parts if rest else ()
        if len(arguments) != len(parameters):
            usage = f"{function.name}({', '.join(parameters)})"
            raise self._arity_diagnostic(function.name, len(parameters), len(arguments), call, usage)
        if any(running.definition is definition for running in self.call_stack):
            hint = "functions are expanded at compile time; use a for over a list, or repeat"
            raise self.diagnostic(f"{function.name!r} is recursive, so its expansion would not end", call, hint)
        if len(self.call_stack) == MAX_CALL_DEPTH:
            message = f"function calls are nested more than {MAX_CALL_DEPTH} levels deep"
            raise self.diagnostic(message, call, "nest fewer calls")
        outer = self.scope
        self.scope = Scope(function.scope, dict(zip(parameters, arguments, strict=True)))
        self.call_stack.append(function)
        try:
            self.elaborate(body[:-1])
            if not body or body[-1].rule != "returned":
                message = f"the function {function.name!r} does not end with a return"
                raise SyntaxDiagnostic(message, *definition.position, "end it with: return x;")
            values = [self.evaluate(value) for value in body[-1].parts[0]]
        finally:
            self.call_stack.pop()
            self.scope = outer
        self.count_step(call.position)
        return values[0] if len(values) == 1 else tuple(values)

    def _index(self, node: Node, operand: Node, indices: tuple[Node, ...]) -> CompileTimeValue:
        indexed = self.evaluate(operand)
        keys = [(self.evaluate(index), index) for index in indices]
        if isinstance(indexed, dict):
            if any(isinstance(key, SequenceValue | LoopValue) for key, _ in keys):
                return emit_table(self, tuple(self.to_sequence(*key) for key in keys), indexed, node)
            key = keys[0][0] if len(keys) == 1 else tuple(key for key, _ in keys)
            if not is_value(key) or identity_key(key) not in indexed:
                raise self.diagnostic("the dictionary has no such key", indices[0], "check the key")
            return indexed[identity_key(key)][1]  # type: ignore[no-any-return]
        index, written = keys[0]
        if len(keys) > 1 or not isinstance(index, int):
            message = f"an index must be an integer, not {describe_value(index)}"
            raise self.diagnostic(message, written, "write for example x[0]")
        if isinstance(indexed, SequenceValue | LoopValue):
            return self._value_at_position(self.to_sequence(indexed, operand), index)
        if not isinstance(indexed, list | tuple | str):
            message = f"{describe_value(indexed)} cannot be indexed"
            raise self.diagnostic(message, operand, "index a list, a tuple or a symbol")
        if not -len(indexed) <= index < len(indexed):
            message = f"index {index} is out of range for {len(indexed)} entries"
            raise self.diagnostic(message, written, "indices start at 0")
        return indexed[index]

    def _value_at_position(self, sequence: str, index: int) -> CompileTimeValue:
        """The value of a sequence operator at a position; negative positions count from the end."""
        position = self.emit(ir.Constant(index))
        if index < 0:
            position = self.emit(ir.Apply(Operator.ADD, (self.emit(ir.Length()), position)))
        there = self.emit(ir.Select(self.emit(ir.Indices()), position, Operator.EQUAL))
        return self.emit_sequence(ir.Aggregate(there, sequence, self.emit(ir.Constant(0))))

    def _listing(self, _node: Node, entries: tuple[Node, ...] = ()) -> CompileTimeValue:
        return [self.evaluate(entry) for entry in entries]

    def _pack(self, _node: Node, *entries: Any) -> CompileTimeValue:
        first, rest = entries[:1], entries[1:]
        return tuple(self.evaluate(entry) for entry in (*first, *(entry for others in rest for entry in others)))

    def _dictionary(self, _node: Node, entries: tuple[tuple[Node, Node], ...] = ()) -> CompileTimeValue:
        return dict(self._entry(entry) for entry in entries)

    def _entry(self, entry: tuple[Node, Node]) -> tuple[object, tuple[Value, CompileTimeValue]]:
        key, value = entry
        found = self.evaluate(key)
        if not is_value(found):
            message = f"a dictionary key must be a value, not {describe_value(found)}"
            raise self.diagnostic(message, key, 'write for example {"a": 1}')
        return identity_key(found), (found, self.evaluate(value))

    def _listing_of(self, node: Node, value: Node, names: Node, iterable: Node) -> CompileTimeValue:
        return self._comprehension(node, lambda: self.evaluate(value), names, iterable)

    def _dictionary_of(self, node: Node, entry: tuple[Node, Node], names: Node, iterable: Node) -> CompileTimeValue:
        return dict(self._comprehension(node, lambda: self._entry(entry), names, iterable))

    def _comprehension(self, node: Node, evaluate: Callable[[], Any], names: Node, iterable: Node) -> list[Any]:
        outer = self.scope
        values = []
        for entry in self.list_items(self.evaluate(iterable), iterable):
            self.scope = Scope(outer)
            self._bind(names.parts, entry, node.position)
            values.append(evaluate())
            self.scope = outer
        return values

    def list_items(self, iterable: CompileTimeValue, expression: Node) -> list[Any]:
        """The elements of an iterable: list entries, dictionary keys or characters of a symbol."""
        if isinstance(iterable, dict):
            return [key for key, _ in iterable.values()]
        if not isinstance(iterable, list | tuple | str):
            message = f"expected a list, not {describe_value(iterable)}"
            raise self.diagnostic(message, expression, "write for example [1, 2]")
        if len(iterable) > MAX_LIST_LENGTH:
            raise self.diagnostic(f"a list has at most {MAX_LIST_LENGTH:,} entries", expression, "")
        return list(iterable)

    # Statements

    def elaborate(self, statements: Iterable[Node]) -> None:
        """Elaborate statements in order."""
        for statement in statements:
            self.evaluate(statement)

    def _assignment(self, node: Node, names: Node, expressions: tuple[Node, ...]) -> None:
        values = [self.evaluate(expression) for expression in expressions]
        values = [self.emit_sequence(value.node) if isinstance(value, LoopValue) else value for value in values]
        self._bind(names.parts, values[0] if len(values) == 1 else tuple(values), node.position)

    def _bind(self, names: tuple[str, ...], value: CompileTimeValue, at: Position) -> None:
        """Bind names to a value, unpacking it if there are several names."""
        if len(names) == 1:
            self._define(names[0], value, at)
            return
        if not isinstance(value, list | tuple | str) or len(value) != len(names):
            found = f"{len(value)} values" if isinstance(value, list | tuple) else describe_value(value)
            message = f"cannot unpack {found} into {len(names)} names"
            raise SyntaxDiagnostic(message, *at, "give one value per name")
        for name, part in zip(names, value, strict=True):
            self._define(name, part, at)

    def _define(self, name: str, value: CompileTimeValue, at: Position) -> None:
        if name in CONSTANTS:
            raise SyntaxDiagnostic(f"{name!r} is a keyword", *at, "choose another name")
        if isinstance(value, SequenceValue | SelectorValue) and not self.is_in_library:
            self.set_name(value.reference, name)
        if self.scope is self.global_scope and isinstance(value, SequenceValue | LoopValue):
            self.output, self.output_position = name, at
        self.scope.names[name] = value

    def _function(self, node: Node, *_parts: object) -> None:
        function = Closure(node, self.scope, is_library=self.load_position is not None)
        self._define(function.name, function, node.position)

    def _returned(self, node: Node, _values: tuple[Node, ...]) -> None:
        hint = "use return only as the last statement of a def"
        raise SyntaxDiagnostic("return outside a function", *node.position, hint)

    def _for_(self, node: Node, names: Node, iterable: Node, body: tuple[Node, ...]) -> None:
        for entry in self.list_items(self.evaluate(iterable), iterable):
            self._bind(names.parts, entry, node.position)
            self.elaborate(body)

    def _repeat(self, node: Node, starts: tuple[tuple[str, Node], ...], body: tuple[Node, ...]) -> None:
        if self.loop is not None:
            raise SyntaxDiagnostic("loops cannot be nested", *node.position, "write one loop with more variables")
        names = [name for name, _ in starts]
        if len(set(names)) < len(names):
            raise SyntaxDiagnostic("a loop has two variables of the same name", *node.position, "rename one of them")
        initial = [self.to_sequence(self.evaluate(start), start) for _, start in starts]
        outer = self.scope
        variables = zip(names, self.open_loop(names), strict=True)
        self.scope = Scope(outer, {name: SequenceValue(own) for name, own in variables})
        self.elaborate(body)
        self.count_step(node.position)
        following = [self.to_sequence(self.scope.names[name], node) for name in names]
        self.scope = outer
        for name, result in zip(names, self.close_loop(initial, following), strict=True):
            self._define(name, LoopValue(result), node.position)

    def _load(self, node: Node, file: str) -> None:
        """Elaborate a loaded file; its errors are reported at the load statement."""
        statements = self._load_file(file, node.position)
        outer, self.load_position = self.load_position, self.load_position or node.position
        try:
            self.elaborate(statements)
        except SyntaxDiagnostic as error:
            prefix = "" if error.message.startswith("in '") else f"in {file!r}, line {error.line}: "
            raise SyntaxDiagnostic(prefix + error.message, *node.position, error.hint) from None
        finally:
            self.load_position = outer

    def _shown(self, node: Node, expression: Node) -> None:
        """Elaborate an expression statement ``x;``, which an interactive shell prints."""
        match expression:
            case Node("call", (Node("name", (function,)), *_)):
                scope = self.scope.find(function)
                if function == "draw" or (scope and isinstance(scope.names[function], SequenceValue)):
                    self.notes.append(f"line {node.position[0]}: shell output command ignored")
                    return
        value = self.evaluate(expression)
        if self.scope is self.global_scope and isinstance(value, SequenceValue | LoopValue):
            self.output, self.output_position = "the last expression", node.position
            self.scope.names[self.output] = SequenceValue(self.to_sequence(value, expression))
