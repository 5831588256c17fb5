"""A drawing as SVG: boxes, lines and words, on paper of its own so that it can be seen on any background."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

INK, GREY, PALE, PAPER = "#1f2937", "#6b7280", "#e5e7eb", "#ffffff"
TEAL, AMBER, RED = "#0f766e", "#d97706", "#b91c1c"
FONT = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"


def _number(value: float) -> str:
    """Short, and the same on every machine."""
    return f"{round(value, 2):g}"


@dataclass
class Drawing:
    """What is drawn, in the order in which it was drawn.

    Args:
        width: In pixels.
        height: In pixels.
        title: What the picture shows, for those who do not see it.
    """

    width: int
    height: int
    title: str
    parts: list[str] = field(default_factory=list)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str = PALE,
        *,
        line: str = "none",
        round_: float = 0,
    ) -> None:
        """A rectangle."""
        given = {"x": x, "y": y, "width": width, "height": height, "rx": round_}
        place = " ".join(f'{name}="{_number(value)}"' for name, value in given.items())
        self.parts.append(f'<rect {place} fill="{fill}" stroke="{line}"/>')

    def line(self, *points: tuple[float, float], colour: str = INK, width: float = 1.5, dashed: bool = False) -> None:
        """A line through some points."""
        path = " ".join(f"{_number(x)},{_number(y)}" for x, y in points)
        dash = ' stroke-dasharray="4 4"' if dashed else ""
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width:g}"{dash}/>')

    def dot(self, x: float, y: float, radius: float, fill: str = INK) -> None:
        """A disc."""
        self.parts.append(f'<circle cx="{_number(x)}" cy="{_number(y)}" r="{_number(radius)}" fill="{fill}"/>')

    def text(self, x: float, y: float, words: str, *, size: float = 13, colour: str = INK, at: str = "start") -> None:
        """Words; ``at`` says which part of them is at x: start, middle or end."""
        place = f'x="{_number(x)}" y="{_number(y)}" font-size="{size:g}" fill="{colour}" text-anchor="{at}"'
        self.parts.append(f"<text {place}>{escape(words)}</text>")

    def __str__(self) -> str:
        size = f'viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONT}" role="img">'
        paper = f'<rect width="{self.width}" height="{self.height}" rx="8" fill="{PAPER}"/>'
        return "\n".join([head, f"<title>{escape(self.title)}</title>", paper, *self.parts, "</svg>\n"])


def shade(weight: float, colour: tuple[int, int, int] = (15, 118, 110)) -> str:
    """A colour for a number from 0 to 1: from paper to teal."""
    return "#" + "".join(f"{round(255 + (part - 255) * weight):02x}" for part in colour)
