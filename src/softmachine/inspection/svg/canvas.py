"""SVG canvas with text, lines and boxes; all text is escaped, and the output is deterministic."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from unicodedata import east_asian_width

from softmachine.support.files import require_suffix, write
from softmachine.support.text import printable

SIZE = 12.0
"""The font size, in pixels (4/3 of points)."""
INK, SOFT, FAINT, PAPER = "#111111", "#555555", "#dddddd", "#ffffff"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7a5c00", "#56b4e9", "#e69f00")
"""The colour-blind-safe palette of Okabe and Ito, with darker yellows."""
MARGIN = 12.0
_ADVANCE = 0.602
"""The width of a character of a monospaced font, relative to the font size."""


@dataclass(frozen=True)
class Picture:
    """An SVG picture, which notebooks display."""

    svg: str

    def save(self, file: str | Path) -> None:
        """Write it to a new file, which ends in .svg.

        Raises:
            UsageError: If the name has another suffix, the file exists, or it cannot be written.
        """
        require_suffix(Path(file), ".svg")
        write(Path(file), self.svg)

    def _repr_svg_(self) -> str:
        return self.svg


def width_of(text: str, size: float = SIZE) -> float:
    """The width of a text; East Asian wide characters take two columns."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in printable(text)) * size * _ADVANCE


@dataclass
class Drawing:
    """A list of shapes.

    Args:
        title: The accessible description of the picture.
    """

    title: str
    shapes: list[str] = field(default_factory=list)
    right: float = 0.0
    bottom: float = 0.0

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = SIZE,
        anchor: str = "start",
        colour: str = INK,
        bold: bool = False,
        turned: bool = False,
    ) -> None:
        """Add a line of text with base line y; ``turned`` rotates it upwards."""
        style = f' font-size="{_n(size)}"' if size != SIZE else ""
        style += f' text-anchor="{anchor}"' if anchor != "start" else ""
        style += f' fill="{colour}"' if colour != INK else ""
        style += ' font-weight="bold"' if bold else ""
        style += f' transform="rotate(-90 {_n(x)} {_n(y)})"' if turned else ""
        self.shapes.append(f'<text x="{_n(x)}" y="{_n(y)}"{style}>{_text(text)}</text>')
        wide = 0.0 if turned else width_of(text, size) * {"start": 1, "middle": 0.5, "end": 0}[anchor]
        self._reach(x + wide, y + size / 3)

    def line(
        self, x1: float, y1: float, x2: float, y2: float, *, colour: str = INK, wide: float = 1, dash: str = ""
    ) -> None:
        """Add a straight line."""
        self.path(f"M{_n(x1)} {_n(y1)}L{_n(x2)} {_n(y2)}", colour=colour, wide=wide, dash=dash)
        self._reach(max(x1, x2), max(y1, y2))

    def path(self, steps: str, *, colour: str = INK, wide: float = 1, dash: str = "") -> None:
        """Add a path."""
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.shapes.append(f'<path d="{steps}" fill="none" stroke="{colour}" stroke-width="{_n(wide)}"{dashes}/>')

    def box(
        self, x: float, y: float, wide: float, high: float, *, fill: str = "none", colour: str = INK, edge: float = 1
    ) -> None:
        """Add a rectangle."""
        stroke = f' stroke="{colour}" stroke-width="{_n(edge)}"' if edge else ""
        self.shapes.append(
            f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(wide)}" height="{_n(high)}" fill="{fill}"{stroke}/>'
        )
        self._reach(x + wide, y + high)

    def _reach(self, right: float, bottom: float) -> None:
        self.right, self.bottom = max(self.right, right), max(self.bottom, bottom)

    def picture(self) -> Picture:
        """The picture, on a white background."""
        wide, high = _n(self.right + MARGIN), _n(self.bottom + MARGIN)
        fonts = "'DejaVu Sans Mono',Menlo,Consolas,monospace"
        size = f'width="{wide}" height="{high}" viewBox="0 0 {wide} {high}"'
        style = f'font-family="{fonts}" font-size="{_n(SIZE)}" fill="{INK}"'
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style} role="img">',
            f"<title>{escape(printable(self.title))}</title>",
            f'<rect width="{wide}" height="{high}" fill="{PAPER}"/>',
            *self.shapes,
            "</svg>",
        ]
        return Picture("\n".join(lines) + "\n")


def _text(text: str) -> str:
    """Escaped text with repeated spaces preserved, which viewers would collapse."""
    return escape(printable(text)).replace("  ", "\u00a0\u00a0").replace("\u00a0 ", "\u00a0\u00a0")


def _n(number: float) -> str:
    """A number with at most one decimal."""
    return f"{number:.1f}".removesuffix(".0")
