"""Pictures for papers and slides: one step of a run, attention patterns, the board; as small SVG files."""

from softmachine.inspection.pictures.board import board_picture
from softmachine.inspection.pictures.pattern import attention_picture
from softmachine.inspection.pictures.step import step_picture
from softmachine.inspection.pictures.svg import Picture

__all__ = ["Picture", "attention_picture", "board_picture", "step_picture"]
