"""Registry of the third-party formats: modules of this package that define ``EXPORT_FORMAT``, and entry points.

Other packages register theirs in the entry-point group ``softmachine.exports``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from softmachine.exports import hf_checkpoint
from softmachine.exports.writer import ModelWriter
from softmachine.support.errors import UsageError
from softmachine.support.plugins import Registry
from softmachine.support.text import did_you_mean

DTYPES_WITHOUT_FLOAT16 = tuple(dtype for dtype in hf_checkpoint.DTYPES if dtype != "float16")
"""The dtypes of formats whose norms need constants out of the range of float16."""


@dataclass(frozen=True)
class ExportFormat:
    """A file format or architecture that third-party software loads.

    Args:
        name: Its name on the command line.
        description: A one-line description.
        write_model: Writes a model to a folder.
        dtypes: The possible number formats of the weights.
        has_positions: Whether the architecture has a position embedding.
        supports_decoders: Whether it can be autoregressive.
        supports_encoders: Whether its attention can be bidirectional.
        check_libraries: Raises UsageError unless the libraries that write and verify it are installed.
        rank: Its place in the list of all formats.
    """

    name: str
    description: str
    write_model: ModelWriter
    dtypes: tuple[str, ...] = hf_checkpoint.DTYPES
    has_positions: bool = True
    supports_decoders: bool = True
    supports_encoders: bool = False
    check_libraries: Callable[[], None] = hf_checkpoint.require_libraries
    rank: int = 1000

    def require_libraries(self) -> None:
        """Check that the libraries are installed."""
        self.check_libraries()

    def require_dtype(self, dtype: str) -> None:
        """Check that the format supports a number format of the weights."""
        if dtype not in self.dtypes:
            more = "" if self.dtypes == hf_checkpoint.DTYPES else f"; gpt2 has {', '.join(hf_checkpoint.DTYPES)}"
            hint = f"choose {' or '.join(self.dtypes)}{more}"
            raise UsageError(f"{self.name} does not support {dtype}", hint=hint)


REGISTRY = Registry(
    ExportFormat, attribute="EXPORT_FORMAT", package="softmachine.exports", pattern="*.py", group="softmachine.exports"
)


def list_formats() -> tuple[ExportFormat, ...]:
    """All formats, by rank."""
    return tuple(sorted(REGISTRY.load_all(), key=lambda form: form.rank))


def find_format(name: str) -> ExportFormat:
    """The format of a name.

    Raises:
        UsageError: If there is none.
    """
    found = REGISTRY.find(name)
    if found is None:
        known = ("native", *(form.name for form in list_formats()))
        raise UsageError(f"unknown format {name!r}", hint=did_you_mean(name, known))
    return found
