"""Elaborator: expands functions, loops over lists and loaded files into definitions.

Expressions are either compile-time values, which are computed, or sequence operators and selectors, which are emitted.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from softmachine.languages.rasp import ir, syntax_tree
from softmachine.languages.rasp.emitter import Emitter
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
from softmachine.languages.rasp.syntax_tree import Expression, SourcePosition, Statement
from softmachine.languages.rasp.values import MAX_BITS, apply, identity_key, is_number, normalise_number
from softmachine.languages.text.diagnostics import SyntaxDiagnostic

NARY_OPERATORS: Final = (Operator.AND, Operator.OR)
"""Operators with two or more operands."""


class ExpressionElaborator(Emitter):
    """Evaluates expressions in a scope to compile-time values."""

    scope: Scope

    @abstractmethod
    def inline_call(
        self, function: Closure, arguments: list[CompileTimeValue], call: syntax_tree.Call
    ) -> CompileTimeValue:
        """Inline a call of a user-defined function and return its result."""

    @abstractmethod
    def bind(self, names: tuple[str, ...], value: CompileTimeValue, at: SourcePosition) -> None:
        """Bind names to a value, unpacking it if there are several names."""

    def evaluate(self, expression: Expression) -> CompileTimeValue:
        """The compile-time value of an expression."""
        self.count_step(expression.position)
        match expression:
            case syntax_tree.Name():
                return self._look_up(expression)
            case syntax_tree.Literal(value=value):
                return value
            case syntax_tree.OperatorArgument(operator=operator):
                return OperatorValue(operator)
            case syntax_tree.Operation():
                return self._operation(expression)
            case syntax_tree.Member():
                return self._member(expression)
            case syntax_tree.Call():
                return self._evaluate_call(expression)
            case syntax_tree.Index():
                return self._index(expression)
            case syntax_tree.Collection(parts=parts, is_list=is_list):
                entries = [self.evaluate(part) for part in parts]
                return entries if is_list else tuple(entries)
            case syntax_tree.Dictionary(entries=entries):
                return dict(self._evaluate_entry(key, value) for key, value in entries)
            case syntax_tree.Comprehension():
                return self._comprehension(expression)

    def _look_up(self, name: syntax_tree.Name) -> CompileTimeValue:
        if name.name in CONSTANTS:
            return CONSTANTS[name.name]
        scope = self.scope.find(name.name)
        if scope is not None:
            return scope.names[name.name]
        value = builtin_value(self, name.name)
        if value is None:
            hint = suggest_name(name.name, {*self.scope.bound_names(), *BUILTIN_NAMES}) or "define it before this line"
            raise self.diagnostic(f"unknown name {name.name!r}", name, hint)
        return value

    def _operation(self, expression: syntax_tree.Operation) -> CompileTimeValue:
        # A long sum is a left-deep tree, which is traversed without recursion.
        spine: list[syntax_tree.Operation] = []
        part: Expression = expression
        while (
            isinstance(part, syntax_tree.Operation) and len(part.operands) == 2 and part.operator not in NARY_OPERATORS
        ):
            spine.append(part)
            part = part.operands[0]
        if expression.operator is Operator.CHOOSE:
            return self._conditional(expression)
        if not spine:
            operands = [(self.evaluate(operand), operand) for operand in expression.operands]
            return self.apply(expression.operator, operands, expression)
        value = self.evaluate(part)
        for operation in reversed(spine):
            left, right = operation.operands
            value = self.apply(operation.operator, [(value, left), (self.evaluate(right), right)], operation)
        return value

    def _conditional(self, expression: syntax_tree.Operation) -> CompileTimeValue:
        """If the condition is a compile-time value, only the branch taken is evaluated."""
        then, condition, otherwise = expression.operands
        known = self.evaluate(condition)
        if is_value(known) and is_number(known):
            return self.evaluate(then if known else otherwise)
        operands = [(self.evaluate(then), then), (known, condition), (self.evaluate(otherwise), otherwise)]
        return self.apply(Operator.CHOOSE, operands, expression)

    def apply(
        self, operator: Operator, operands: list[tuple[CompileTimeValue, Expression]], expression: Expression
    ) -> CompileTimeValue:
        """Apply an operator: to values at compile time; emits an operation if an operand is a sequence operator."""
        values = [value for value, _ in operands]
        if any(isinstance(value, SelectorValue) for value in values):
            return self._combine_selectors(operator, operands, expression)
        if all(map(is_value, values)):
            return self._fold_constant(operator, values, expression)
        references = [self.to_sequence(value, written) for value, written in operands]
        self.position = expression.position
        if operator not in NARY_OPERATORS:
            return self.emit_sequence(ir.Apply(operator, tuple(references)))
        joined = references[0]
        for reference in references[1:]:
            joined = self.emit(ir.Apply(operator, (joined, reference)))
        return SequenceValue(joined)

    def _combine_selectors(
        self, operator: Operator, operands: list[tuple[CompileTimeValue, Expression]], at: Expression
    ) -> CompileTimeValue:
        if operator not in (Operator.AND, Operator.OR, Operator.NOT):
            hint = "combine selectors by and, or and not; use aggregate to get a sequence operator"
            raise self.diagnostic(f"{operator.value!r} does not apply to a selector", at, hint)
        for value, written in operands:
            if not isinstance(value, SelectorValue):
                hint = "combine selectors only with selectors; select(x, True, ==) converts x"
                raise self.diagnostic(f"expected a selector, not {describe_value(value)}", written, hint)
        return self.emit_selector(ir.Combine(operator, tuple(value.reference for value, _ in operands)))  # type: ignore[union-attr]

    def _fold_constant(self, operator: Operator, values: Sequence[Any], at: Expression) -> Value:
        result = values[0]
        pairs = [values] if operator not in NARY_OPERATORS else [(value,) for value in values[1:]]
        for pair in pairs:
            result = apply(operator, pair if operator not in NARY_OPERATORS else (result, *pair))
        if result is UNDEFINED:
            operands = " and ".join(map(describe_value, values))
            raise self.diagnostic(
                f"{operator.value!r} is undefined for {operands} with these values", at, "check the values"
            )
        large = (
            is_number(result)
            and max(abs(normalise_number(result).numerator), normalise_number(result).denominator).bit_length()
            > MAX_BITS
        )
        if large:
            raise self.diagnostic("this value is too large", at, "use smaller values")
        return result  # type: ignore[no-any-return]

    def _member(self, expression: syntax_tree.Member) -> CompileTimeValue:
        operand = self.evaluate(expression.operand)
        entries = self.list_items(self.evaluate(expression.container), expression.container)
        written = expression.operand
        found: CompileTimeValue = False
        if entries:
            tests = [
                self.apply(Operator.EQUAL, [(operand, written), (entry, expression.container)], expression)
                for entry in entries
            ]
            found = (
                tests[0]
                if len(tests) == 1
                else self.apply(Operator.OR, [(test, expression) for test in tests], expression)
            )
        return self.apply(Operator.NOT, [(found, expression)], expression) if expression.negated else found

    def _evaluate_call(self, call: syntax_tree.Call) -> CompileTimeValue:
        function = self.evaluate(call.function)
        arguments = [self.evaluate(argument) for argument in call.arguments]
        self.count_step(call.position)
        match function:
            case BuiltinFunction():
                if len(arguments) not in function.arities:
                    raise self.arity_diagnostic(
                        function.name, min(function.arities), len(arguments), call, function.usage
                    )
                return function.implementation(self, arguments, call)
            case Closure():
                return self.inline_call(function, arguments, call)
            case _:
                hint = "only functions can be called; to run a sequence operator use: softmachine run FILE WORD"
                raise self.diagnostic(f"expected a function, not {describe_value(function)}", call, hint)

    def arity_diagnostic(
        self, name: str, expected: int, found: int, call: syntax_tree.Call, usage: str
    ) -> SyntaxDiagnostic:
        """The diagnostic for a wrong number of arguments."""
        given = f"{found} {'is' if found == 1 else 'are'} given"
        message = f"{name!r} takes {expected} argument{'s' * (expected != 1)}, but {given}"
        return self.diagnostic(message, call, f"write {usage}")

    def _index(self, expression: syntax_tree.Index) -> CompileTimeValue:
        operand = self.evaluate(expression.operand)
        indices = [(self.evaluate(index), index) for index in expression.indices]
        if isinstance(operand, dict):
            if any(isinstance(index, SequenceValue | LoopValue) for index, _ in indices):
                names = tuple(self.to_sequence(index, written) for index, written in indices)
                return emit_table(self, names, operand, expression)
            key = indices[0][0] if len(indices) == 1 else tuple(index for index, _ in indices)
            if not is_value(key) or identity_key(key) not in operand:
                raise self.diagnostic("the dictionary has no such key", indices[0][1], "check the key")
            return operand[identity_key(key)][1]  # type: ignore[no-any-return]
        index, written = indices[0]
        if len(indices) > 1 or not isinstance(index, int):
            raise self.diagnostic(
                f"an index must be an integer, not {describe_value(index)}", written, "write for example x[0]"
            )
        if isinstance(operand, SequenceValue | LoopValue):
            return self._value_at_position(self.to_sequence(operand, expression.operand), index)
        if not isinstance(operand, list | tuple | str):
            raise self.diagnostic(
                f"{describe_value(operand)} cannot be indexed", expression.operand, "index a list, a tuple or a symbol"
            )
        if not -len(operand) <= index < len(operand):
            raise self.diagnostic(
                f"index {index} is out of range for {len(operand)} entries", written, "indices start at 0"
            )
        return operand[index]

    def _value_at_position(self, sequence: str, index: int) -> CompileTimeValue:
        """The value of a sequence operator at a position; negative positions count from the end."""
        position = self.emit(ir.Constant(index))
        if index < 0:
            position = self.emit(ir.Apply(Operator.ADD, (self.emit(ir.Length()), position)))
        there = self.emit(ir.Select(self.emit(ir.Indices()), position, Operator.EQUAL))
        return self.emit_sequence(ir.Aggregate(there, sequence, self.emit(ir.Constant(0))))

    def _comprehension(self, expression: syntax_tree.Comprehension) -> CompileTimeValue:
        entries = self.list_items(self.evaluate(expression.iterable), expression.iterable)
        outer = self.scope
        made: list[Any] = []
        for entry in entries:
            self.scope = Scope(outer)
            self.bind(expression.names, entry, expression.position)
            if expression.key is None:
                made.append(self.evaluate(expression.value))
            else:
                made.append(self._evaluate_entry(expression.key, expression.value))
            self.scope = outer
        return made if expression.key is None else dict(made)

    def _evaluate_entry(self, key: Expression, value: Expression) -> tuple[object, tuple[Value, CompileTimeValue]]:
        found = self.evaluate(key)
        if not is_value(found):
            raise self.diagnostic(
                f"a dictionary key must be a value, not {describe_value(found)}", key, 'write for example {"a": 1}'
            )
        return identity_key(found), (found, self.evaluate(value))

    def dictionary_entries(self, dictionary: dict[Any, Any]) -> Iterable[tuple[Value, CompileTimeValue]]:
        """The entries of a dictionary as pairs of key and value."""
        return dictionary.values()

    def list_items(self, iterable: CompileTimeValue, expression: Expression) -> list[Any]:
        """The elements of an iterable: list entries, dictionary keys or characters of a symbol."""
        if isinstance(iterable, dict):
            return [key for key, _ in self.dictionary_entries(iterable)]
        if not isinstance(iterable, list | tuple | str):
            raise self.diagnostic(
                f"expected a list, not {describe_value(iterable)}", expression, "write for example [1, 2]"
            )
        if len(iterable) > MAX_LIST_LENGTH:
            raise self.diagnostic(f"a list has at most {MAX_LIST_LENGTH:,} entries", expression, "")
        return list(iterable)


MAX_CALL_DEPTH: Final = 24


class Elaborator(ExpressionElaborator):
    """Elaborates the statements of a program text into definitions.

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
        library: Iterable[Statement],
        load: Callable[[str, SourcePosition], tuple[Statement, ...]],
        exact: bool = False,
    ) -> None:
        super().__init__(source, alphabet, letters, exact)
        self.notes: list[str] = []
        self.output: str | None = None
        self.output_position = SourcePosition(1, 1)
        self._load_file = load
        known = Scope()
        for definition in library:
            assert isinstance(definition, syntax_tree.Function)
            known.names[definition.name] = Closure(definition, known, is_library=True)
        self.scope = self.global_scope = Scope(known)

    def elaborate(self, statements: Iterable[Statement]) -> None:
        """Elaborate statements in order."""
        for statement in statements:
            self.count_step(statement.position)
            self._elaborate_statement(statement)

    def _elaborate_statement(self, statement: Statement) -> None:
        match statement:
            case syntax_tree.Assignment():
                self._elaborate_assignment(statement)
            case syntax_tree.Function():
                foreign = self.load_position is not None
                self._define(statement.name, Closure(statement, self.scope, is_library=foreign), statement.position)
            case syntax_tree.For():
                for entry in self.list_items(self.evaluate(statement.iterable), statement.iterable):
                    self.bind(statement.names, entry, statement.position)
                    self.elaborate(statement.body)
            case syntax_tree.Loop():
                self._elaborate_loop(statement)
            case syntax_tree.ExpressionStatement():
                self._elaborate_expression_statement(statement)
            case syntax_tree.Load():
                self._elaborate_load(statement)
            case syntax_tree.Return():
                raise SyntaxDiagnostic(
                    "return outside a function",
                    *statement.position.line_and_column,
                    "use return only as the last statement of a def",
                )

    def _elaborate_load(self, statement: syntax_tree.Load) -> None:
        """Elaborate a loaded file; its errors are reported at the load statement."""
        statements = self._load_file(statement.file, statement.position)
        outer, self.load_position = self.load_position, self.load_position or statement.position
        try:
            self.elaborate(statements)
        except SyntaxDiagnostic as error:
            prefix = "" if error.message.startswith("in '") else f"in {statement.file!r}, line {error.line}: "
            raise SyntaxDiagnostic(prefix + error.message, *statement.position.line_and_column, error.hint) from None
        finally:
            self.load_position = outer

    def _elaborate_assignment(self, statement: syntax_tree.Assignment) -> None:
        values = [self.evaluate(value) for value in statement.values]
        values = [self.emit_sequence(value.node) if isinstance(value, LoopValue) else value for value in values]
        if len(values) == 1:
            self.bind(statement.names, values[0], statement.position)
        else:
            self.bind(statement.names, tuple(values), statement.position)

    def bind(self, names: tuple[str, ...], value: CompileTimeValue, at: SourcePosition) -> None:
        """Bind names to a value, unpacking it if there are several names."""
        if len(names) == 1:
            self._define(names[0], value, at)
            return
        if not isinstance(value, list | tuple | str) or len(value) != len(names):
            found = f"{len(value)} values" if isinstance(value, list | tuple) else describe_value(value)
            raise SyntaxDiagnostic(
                f"cannot unpack {found} into {len(names)} names", *at.line_and_column, "give one value per name"
            )
        for name, part in zip(names, value, strict=True):
            self._define(name, part, at)

    def _define(self, name: str, value: CompileTimeValue, at: SourcePosition) -> None:
        if name in CONSTANTS:
            raise SyntaxDiagnostic(f"{name!r} is a keyword", *at.line_and_column, "choose another name")
        if isinstance(value, SequenceValue | SelectorValue) and not self.is_in_library:
            value = type(value)(self.recorder.set_name(value.reference, name))
        if self.scope is self.global_scope and isinstance(value, SequenceValue | LoopValue):
            self.output, self.output_position = name, at
        self.scope.names[name] = value

    def _elaborate_expression_statement(self, statement: syntax_tree.ExpressionStatement) -> None:
        expression = statement.expression
        if isinstance(expression, syntax_tree.Call) and isinstance(expression.function, syntax_tree.Name):
            function = expression.function.name
            scope = self.scope.find(function)
            if function == "draw" or (scope and isinstance(scope.names[function], SequenceValue)):
                self.notes.append(f"line {statement.position.line}: shell output command ignored")
                return
        value = self.evaluate(expression)
        if self.scope is self.global_scope and isinstance(value, SequenceValue | LoopValue):
            reference = self.to_sequence(value, expression)
            self.output, self.output_position = "the last expression", statement.position
            self.scope.names[self.output] = SequenceValue(reference)

    def _elaborate_loop(self, statement: syntax_tree.Loop) -> None:
        if self.recorder.is_in_loop:
            message = "loops cannot be nested"
            raise SyntaxDiagnostic(message, *statement.position.line_and_column, "write one loop with more variables")
        names = [name for name, _ in statement.starts]
        if len(set(names)) < len(names):
            raise SyntaxDiagnostic(
                "a loop has two variables of the same name", *statement.position.line_and_column, "rename one of them"
            )
        starts = [self.to_sequence(self.evaluate(start), start) for _, start in statement.starts]
        outer = self.scope
        variables = self.recorder.open_loop(names)
        self.scope = Scope(outer, {name: SequenceValue(own) for name, own in zip(names, variables, strict=True)})
        self.elaborate(statement.body)
        self.count_step(statement.position)
        following = [
            self.to_sequence(self.scope.names[name], syntax_tree.Name(name, position=statement.position))
            for name in names
        ]
        self.scope = outer
        results = self.recorder.close_loop(starts, following)
        for name, node in zip(names, results, strict=True):
            self._define(name, LoopValue(node), statement.position)

    def inline_call(
        self, function: Closure, arguments: list[CompileTimeValue], call: syntax_tree.Call
    ) -> CompileTimeValue:
        """Inline a call of a user-defined function and return its result. Recursion is an error."""
        definition = function.definition
        if len(arguments) != len(definition.parameters):
            usage = f"{function.name}({', '.join(definition.parameters)})"
            raise self.arity_diagnostic(function.name, len(definition.parameters), len(arguments), call, usage)
        if any(running.definition is definition for running in self.call_stack):
            hint = "functions are expanded at compile time; use a for over a list, or repeat"
            raise self.diagnostic(f"{function.name!r} is recursive, so its expansion would not end", call, hint)
        if len(self.call_stack) == MAX_CALL_DEPTH:
            raise self.diagnostic(
                f"function calls are nested more than {MAX_CALL_DEPTH} levels deep", call, "nest fewer calls"
            )
        outer = self.scope
        self.scope = Scope(function.scope, dict(zip(definition.parameters, arguments, strict=True)))
        self.call_stack.append(function)
        try:
            *body, last = definition.body or (None,)
            self.elaborate(statement for statement in body if statement is not None)
            if not isinstance(last, syntax_tree.Return):
                hint = "end it with: return x;"
                raise SyntaxDiagnostic(
                    f"the function {function.name!r} does not end with a return",
                    *definition.position.line_and_column,
                    hint,
                )
            values = [self.evaluate(value) for value in last.values]
        finally:
            self.call_stack.pop()
            self.scope = outer
        self.count_step(call.position)
        return values[0] if len(values) == 1 else tuple(values)
