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

from softmachine.engines.inputs.row import DatasetRow
from softmachine.support.errors import UsageError
from softmachine.support.files import require_creatable, write_file
from softmachine.support.text import pluralize

ROW_GROUP_TOKENS = 1 << 20
"""Approximate number of tokens in a row group of a Parquet file."""


class DatasetSummary:
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

    def count(self, rows: Iterable[DatasetRow], advance: Callable[[], None]) -> Iterator[DatasetRow]:
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
            f"{pluralize(self.rows, 'row')} in {self.path}",
            f"  verdicts  {verdicts}",
            f"  split     {splits}",
            f"  traces    {pluralize(self.tokens, 'token')}",
        ]
        if self.left_out:
            lines.append(f"  omitted   {pluralize(self.left_out, 'word')}, because their runs did not halt")
        return "\n".join(lines)


def find_writer(file: Path, *, force: bool) -> Callable[[Iterable[DatasetRow], Path], None]:
    """Return the writer for the extension of a file.

    Raises:
        UsageError: If the extension is unknown, the file exists, or pyarrow is missing.
    """
    known = WRITERS.get(file.suffix.lower())
    if known is None:
        raise UsageError(f"{str(file)!r} has no known extension", hint=f"use one of {', '.join(WRITERS)}")
    if known is _write_parquet and find_spec("pyarrow") is None:
        raise UsageError("Parquet needs pyarrow", hint="pip install 'softmachine[parquet]', or write .jsonl or .csv")
    require_creatable(file, force=force)
    return known


def _write_jsonl(rows: Iterable[DatasetRow], file: Path) -> None:
    """Write one JSON object per line."""
    write_file(file, (f"{json.dumps(row.to_json(), ensure_ascii=False)}\n" for row in rows))


def _write_csv(rows: Iterable[DatasetRow], file: Path) -> None:
    """Write the columns of JSONL; lists of tokens are JSON in their cells, and missing values are empty cells."""
    values = ([_format_cell(value) for value in row.to_json().values()] for row in rows)
    table = csv.writer(SimpleNamespace(write=str), lineterminator="\n")  # writerow returns what write returns
    write_file(file, map(table.writerow, chain([DatasetRow.__dataclass_fields__], values)))


def _format_cell(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value


def _write_parquet(rows: Iterable[DatasetRow], file: Path) -> None:
    """Write a Parquet table; tokens are lists of strings."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {"length": pa.int64(), "steps": pa.int64(), "prompt": pa.list_(pa.string()), "trace": pa.list_(pa.string())}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in DatasetRow.__dataclass_fields__])
    with pq.ParquetWriter(file, schema, compression="zstd") as table:
        for batch in _batches(rows):
            table.write_table(pa.Table.from_pylist([row.to_json() for row in batch], schema=schema))


def _batches(rows: Iterable[DatasetRow]) -> Iterator[list[DatasetRow]]:
    batch: list[DatasetRow] = []
    tokens = 0
    for row in rows:
        batch.append(row)
        tokens += len(row.prompt) + len(row.trace)
        if tokens >= ROW_GROUP_TOKENS:
            yield batch
            batch, tokens = [], 0
    if batch:
        yield batch


WRITERS = {".jsonl": _write_jsonl, ".csv": _write_csv, ".parquet": _write_parquet}
