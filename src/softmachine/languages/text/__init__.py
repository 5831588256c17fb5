"""Parsing utilities shared by the text languages: grammars, statements, diagnostics."""

QUOTED = r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\""""
"""Pattern of a quoted symbol, as in Python."""
