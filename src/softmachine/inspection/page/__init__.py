"""One self-contained page that shows a run from the inside: source, tokens, heads, the residual stream, logits.

The page has the weights as fractions, the tokens, and which keys every head chose. What it shows at a position, it
computes there and then, exactly; so it is as much a second opinion as a picture.
"""

from softmachine.inspection.page.document import frame, html
from softmachine.inspection.page.gallery import EXHIBITS, index

__all__ = ["EXHIBITS", "frame", "html", "index"]
