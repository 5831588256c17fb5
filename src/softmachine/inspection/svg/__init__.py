"""SVG pictures for papers and slides: one step of a run, attention patterns, the architecture diagram."""

from softmachine.inspection.svg.attention import draw_attention
from softmachine.inspection.svg.canvas import Picture
from softmachine.inspection.svg.diagram import draw_architecture
from softmachine.inspection.svg.step import draw_step

__all__ = ["Picture", "draw_attention", "draw_architecture", "draw_step"]
