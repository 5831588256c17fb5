"""Source languages: data types, parsers, printers and reference interpreters. Independent of transformers.

Every text language has its own folder with a ``grammar.lark``, an AST builder whose methods are named after the rules
of the grammar, a table of syntax diagnostics, a parser of whole texts, and a printer. They share `diagnostics`,
`grammar` and `statements`.
"""
