"""Parsing utilities shared by the text languages: grammars, statements, diagnostics."""
