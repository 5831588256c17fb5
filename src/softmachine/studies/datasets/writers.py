"""Writers of rows to JSONL, CSV and Parquet files, chosen by extension. The same rows give the same bytes."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

from softmachine.engines.inputs.row import Row
from softmachine.support.errors import UsageError
from softmachine.support.files import require_new, write
from softmachine.support.text import many

MOST_TOKENS = 1 << 20
"""Approximate number of tokens in a row group of a Parquet file."""


class Written:
    """Statistics of a written file, counted while rows are written.

    Args:
        path: The file.
        parts: The parts of the split.
    """

    def __init__(self, path: Path, parts: Iterable[str]) -> None:
        self.path = path
        self.rows = self.tokens = self.left_out = 0
        """Number of rows, of tokens in their traces, and of omitted words."""
        self.verdicts: Counter[str] = Counter()
        self.splits: Counter[str] = Counter(dict.fromkeys(parts, 0))

    def counted(self, rows: Iterable[Row], advance: Callable[[], None]) -> Iterator[Row]:
        """Yield the rows, counting them."""
        for row in rows:
            self.rows += 1
            self.tokens += len(row.trace)
            self.verdicts[row.verdict] += 1
            self.splits[row.split] += 1
            yield row
            advance()

    def to_json(self) -> dict[str, object]:
        """Return the statistics as JSON-serialisable data."""
        return {**vars(self), "path": str(self.path)}

    def __str__(self) -> str:
        verdicts, splits = (
            ", ".join(f"{count:,} {name}" for name, count in counts.items()) for counts in (self.verdicts, self.splits)
        )
        lines = [
            f"{many(self.rows, 'row')} in {self.path}",
            f"  verdicts  {verdicts}",
            f"  split     {splits}",
            f"  traces    {many(self.tokens, 'token')}",
        ]
        if self.left_out:
            lines.append(f"  omitted   {many(self.left_out, 'word')}, because their runs did not halt")
        return "\n".join(lines)


def writer_for(file: Path, *, force: bool) -> Callable[[Iterable[Row], Path], None]:
    """Return the writer for the extension of a file.

    Raises:
        UsageError: If the extension is unknown, the file exists, or pyarrow is missing.
    """
    known = WRITERS.get(file.suffix.lower())
    if known is None:
        raise UsageError(f"{str(file)!r} has no known extension", hint=f"use one of {', '.join(WRITERS)}")
    if known is _parquet and find_spec("pyarrow") is None:
        raise UsageError("Parquet needs pyarrow", hint="pip install 'softmachine[parquet]', or write .jsonl or .csv")
    require_new(file, force=force)
    return known


def _jsonl(rows: Iterable[Row], file: Path) -> None:
    """Write one JSON object per line."""
    write(file, (f"{json.dumps(row.to_json(), ensure_ascii=False)}\n" for row in rows))


def _csv(rows: Iterable[Row], file: Path) -> None:
    """Write the columns of JSONL; lists of tokens are JSON in their cells, and missing values are empty cells."""
    values = ([_cell(value) for value in row.to_json().values()] for row in rows)
    table = csv.writer(SimpleNamespace(write=str), lineterminator="\n")  # writerow returns what write returns
    write(file, map(table.writerow, chain([Row.__dataclass_fields__], values)))


def _cell(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value


def _parquet(rows: Iterable[Row], file: Path) -> None:
    """Write a Parquet table; tokens are lists of strings."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {"length": pa.int64(), "steps": pa.int64(), "prompt": pa.list_(pa.string()), "trace": pa.list_(pa.string())}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in Row.__dataclass_fields__])
    with pq.ParquetWriter(file, schema, compression="zstd") as table:
        for batch in _batches(rows):
            table.write_table(pa.Table.from_pylist([row.to_json() for row in batch], schema=schema))


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    tokens = 0
    for row in rows:
        batch.append(row)
        tokens += len(row.prompt) + len(row.trace)
        if tokens >= MOST_TOKENS:
            yield batch
            batch, tokens = [], 0
    if batch:
        yield batch


WRITERS = {".jsonl": _jsonl, ".csv": _csv, ".parquet": _parquet}
