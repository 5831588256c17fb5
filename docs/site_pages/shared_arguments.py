"""Griffe extension: the docstrings of public functions, completed by the descriptions of shared arguments."""

from __future__ import annotations

import griffe

from softmachine.support.argument_validation import complete_docstring


class SharedArguments(griffe.Extension):
    """Completes docstrings as :func:`softmachine.support.argument_validation.validate_arguments` does at run time."""

    def on_function(self, *, func: griffe.Function, **_: object) -> None:
        """Complete the docstring of a function that is decorated."""
        if func.docstring and any(str(each.value) == "validate_arguments" for each in func.decorators):
            names = [parameter.name for parameter in func.parameters]
            func.docstring.value = complete_docstring(func.docstring.value, names)
