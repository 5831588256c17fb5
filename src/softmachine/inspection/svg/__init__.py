"""SVG pictures for papers and slides: one step of a run, attention patterns, the architecture diagram."""

from softmachine.inspection.svg.attention import attention_picture
from softmachine.inspection.svg.canvas import Picture
from softmachine.inspection.svg.diagram import board_picture
from softmachine.inspection.svg.step import step_picture

__all__ = ["Picture", "attention_picture", "board_picture", "step_picture"]
