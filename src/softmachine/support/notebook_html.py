"""HTML for notebooks: cards, text and tables in one style, with the colours of the surrounding page, without scripts.

All text is escaped, so sources cannot inject markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from softmachine.support.text import escape_unprintable

_FACE = "font-family:ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;font-size:13px;line-height:1.35"
_CARD = f"{_FACE};max-width:100%;overflow-x:auto;border:1px solid rgba(128,128,128,.5);border-radius:4px"
_PLAIN = "margin:0;padding:0;border:0;background:none;color:inherit"


def html_card(heading: str, body: str) -> str:
    """A heading, and below it a body of HTML."""
    top = f'<div style="font-weight:bold;padding-bottom:4px">{_text(heading)}</div>' if heading else ""
    return f'<div style="{_CARD};padding:8px 12px">{top}{body}</div>'


def html_text(text: str, heading: str = "") -> str:
    """Preformatted lines of text."""
    return html_card(heading, f'<pre style="{_FACE};{_PLAIN}">{_text(text)}</pre>')


def html_table(rows: Sequence[Sequence[str]], heading: str, *, head: Sequence[str] = ()) -> str:
    """A table of texts."""

    def line(cells: Sequence[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{_text(cell)}</{tag}>' for cell in cells)}</tr>"

    top = f"<thead>{line(head, 'th')}</thead>" if head else ""
    body = "".join(line(row, "td") for row in rows)
    return html_card(
        heading,
        f'<table style="{_FACE};{_PLAIN};text-align:left;border-spacing:12px 1px">{top}<tbody>{body}</tbody></table>',
    )


def _text(text: str) -> str:
    return escape(escape_unprintable(text))
