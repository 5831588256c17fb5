"""SVG pictures for papers and slides: one step of a run, attention patterns, the architecture diagram."""

from softmachine.inspection.svg.board import board_picture
from softmachine.inspection.svg.pattern import attention_picture
from softmachine.inspection.svg.step import step_picture
from softmachine.inspection.svg.svg import Picture

__all__ = ["Picture", "attention_picture", "board_picture", "step_picture"]
