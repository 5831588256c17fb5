"""What the languages that are written as text have in common.

A language is a folder: ``grammar.lark``; ``building``, whose methods make something of each part that the grammar
finds; ``mistakes``, a table of words for the one `mistakes.Explainer`; ``printing``; and ``syntax``, which reads a
whole text, by `layout` and `reader` if it has one statement a line.
"""
