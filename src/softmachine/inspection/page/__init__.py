"""Self-contained HTML page of a run: source, tokens, heads, residual stream and logits.

The page contains the weights as fractions, the tokens, and the keys that every head chose. It computes the activations
at a position itself, exactly, and so is an independent check of the engine.
"""

from softmachine.inspection.page.html import GALLERY_ITEMS, render_frame, render_html, render_index

__all__ = ["GALLERY_ITEMS", "render_frame", "render_html", "render_index"]
