"""SVG canvas with text, lines and boxes; all text is escaped, and the output is deterministic."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from unicodedata import east_asian_width

from softmachine.support.files import require_suffix, write_file
from softmachine.support.text import escape_unprintable

FONT_SIZE = 12.0
"""The font size, in pixels (4/3 of points)."""
TEXT_COLOUR, MUTED_COLOUR, LIGHT_COLOUR, BACKGROUND = "#111111", "#555555", "#dddddd", "#ffffff"
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7a5c00", "#56b4e9", "#e69f00")
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
        write_file(Path(file), self.svg)

    def _repr_svg_(self) -> str:
        return self.svg


def text_width(text: str, size: float = FONT_SIZE) -> float:
    """The width of a text; East Asian wide characters take two columns."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in escape_unprintable(text)) * size * _ADVANCE


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
        size: float = FONT_SIZE,
        anchor: str = "start",
        colour: str = TEXT_COLOUR,
        bold: bool = False,
        rotated: bool = False,
    ) -> None:
        """Add a line of text with base line y; ``rotated`` rotates it upwards."""
        style = f' font-size="{_format_number(size)}"' if size != FONT_SIZE else ""
        style += f' text-anchor="{anchor}"' if anchor != "start" else ""
        style += f' fill="{colour}"' if colour != TEXT_COLOUR else ""
        style += ' font-weight="bold"' if bold else ""
        style += f' transform="rotate(-90 {_format_number(x)} {_format_number(y)})"' if rotated else ""
        self.shapes.append(f'<text x="{_format_number(x)}" y="{_format_number(y)}"{style}>{_escape(text)}</text>')
        wide = 0.0 if rotated else text_width(text, size) * {"start": 1, "middle": 0.5, "end": 0}[anchor]
        self._reach(x + wide, y + size / 3)

    def line(
        self, x1: float, y1: float, x2: float, y2: float, *, colour: str = TEXT_COLOUR, width: float = 1, dash: str = ""
    ) -> None:
        """Add a straight line."""
        self.path(
            f"M{_format_number(x1)} {_format_number(y1)}L{_format_number(x2)} {_format_number(y2)}",
            colour=colour,
            width=width,
            dash=dash,
        )
        self._reach(max(x1, x2), max(y1, y2))

    def path(self, steps: str, *, colour: str = TEXT_COLOUR, width: float = 1, dash: str = "") -> None:
        """Add a path."""
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.shapes.append(
            f'<path d="{steps}" fill="none" stroke="{colour}" stroke-width="{_format_number(width)}"{dashes}/>'
        )

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str = "none",
        colour: str = TEXT_COLOUR,
        edge: float = 1,
    ) -> None:
        """Add a rectangle."""
        stroke = f' stroke="{colour}" stroke-width="{_format_number(edge)}"' if edge else ""
        self.shapes.append(
            f'<rect x="{_format_number(x)}" y="{_format_number(y)}" width="{_format_number(width)}" '
            f'height="{_format_number(height)}" fill="{fill}"{stroke}/>'
        )
        self._reach(x + width, y + height)

    def _reach(self, right: float, bottom: float) -> None:
        self.right, self.bottom = max(self.right, right), max(self.bottom, bottom)

    def to_picture(self) -> Picture:
        """The picture, on a white background."""
        wide, high = _format_number(self.right + MARGIN), _format_number(self.bottom + MARGIN)
        fonts = "'DejaVu Sans Mono',Menlo,Consolas,monospace"
        size = f'width="{wide}" height="{high}" viewBox="0 0 {wide} {high}"'
        style = f'font-family="{fonts}" font-size="{_format_number(FONT_SIZE)}" fill="{TEXT_COLOUR}"'
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style} role="img">',
            f"<title>{escape(escape_unprintable(self.title))}</title>",
            f'<rect width="{wide}" height="{high}" fill="{BACKGROUND}"/>',
            *self.shapes,
            "</svg>",
        ]
        return Picture("\n".join(lines) + "\n")


def _escape(text: str) -> str:
    """Escaped text with repeated spaces preserved, which viewers would collapse."""
    return escape(escape_unprintable(text)).replace("  ", "\u00a0\u00a0").replace("\u00a0 ", "\u00a0\u00a0")


def _format_number(number: float) -> str:
    """A number with at most one decimal."""
    return f"{number:.1f}".removesuffix(".0")
