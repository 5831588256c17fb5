"""Self-contained HTML page of a run: source, tokens, heads, residual stream and logits.

The page contains the weights as fractions, the tokens, and the keys that every head chose. It computes the activations
at a position itself, exactly, and so is an independent check of the engine.
"""

from softmachine.inspection.page.html import EXHIBITS, frame, html, index

__all__ = ["EXHIBITS", "frame", "html", "index"]
