"""Parquet files: every row a record, its columns the fields.

A value is what it is in Python: str, int, float, bool, None for a missing one, list and dict for nested ones, bytes for
binary ones; times finer than a microsecond are cut to it. The record number is that of the row.

Cost: one pass by batches of rows; memory is a batch and the buffers of the columns, also for files with a single huge
row group. What cannot be read at any position (a pipe, a compressed file) is first copied to a temporary file.
Reference: Apache Parquet format.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from textmill.corpus.streams import BadRecords, Part, open_bytes
from textmill.errors import DataError

__all__ = ["read_parquet"]

_ROWS = 256  # of long texts these are some megabytes
_BUFFER = 1 << 16


def read_parquet(part: Part, bad: BadRecords) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number and fields of every row; a file that is damaged from here on is one bad record.

    >>> import io, pyarrow, pyarrow.parquet
    >>> file = io.BytesIO()
    >>> pyarrow.parquet.write_table(pyarrow.table({"id": [7], "text": ["a storm"]}), file)
    >>> list(read_parquet(Part(file, "news.parquet"), BadRecords("strict", "news.parquet")))
    [(1, {'id': 7, 'text': 'a storm'})]
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        fault = "Parquet needs the pyarrow library: pip install 'textmill[parquet]'"
        raise DataError(fault, source=part.name) from None
    number = 0
    fault = ""
    with ExitStack() as stack:
        stream = stack.enter_context(open_bytes(part.source, name=part.name))
        if not stream.seekable():
            copy = stack.enter_context(tempfile.TemporaryFile())
            shutil.copyfileobj(stream, copy)
            stream = copy
        try:
            file = pyarrow.parquet.ParquetFile(stream, buffer_size=_BUFFER, pre_buffer=False)
            _check_names(file.schema_arrow.names, part.name)
            for batch in file.iter_batches(_ROWS, use_threads=False):
                for fields in _rows(batch):
                    number += 1
                    if isinstance(fields, dict):
                        yield number, fields
                    else:
                        bad(DataError(fields, source=part.name, line=number))
        except DataError:
            raise
        except (pyarrow.ArrowException, OSError, ValueError) as error:  # ValueError: names that are not UTF-8
            if isinstance(error, OSError) and error.errno is not None:
                raise
            fault = " ".join(str(error).split())
    if fault:
        fault = f"damaged Parquet data ({fault}); fetch or make the file again"
        bad(DataError(fault, source=part.name, line=number + 1 if number else None))


def _check_names(names: list[str], source: str) -> None:
    """An error if a column cannot be told from another."""
    for name, count in Counter(names).items():
        if count > 1:
            raise DataError(f"{count} columns have the name {name!r}; rename them", source=source)


def _rows(batch: Any) -> Iterator[dict[str, Any] | str]:
    """The rows of a batch as mappings, or what is wrong with them."""
    batch = _without_nanoseconds(batch)
    try:
        yield from batch.to_pylist()
        return
    except (ValueError, OverflowError):
        pass  # one of the values: look for it
    for i in range(batch.num_rows):
        try:
            row = batch.slice(i, 1).to_pylist()[0]
        except UnicodeDecodeError as error:
            row = f"a text is not UTF-8 ({error.reason}); write the file again with texts in UTF-8"
        except (ValueError, OverflowError) as error:
            row = f"a value cannot be read ({error}); write the column as text"
        yield row


def _without_nanoseconds(batch: Any) -> Any:
    """The batch with times that Python can hold."""
    import pyarrow as pa

    for i, field in enumerate(batch.schema):
        if pa.types.is_temporal(field.type) and getattr(field.type, "unit", "") == "ns":
            if pa.types.is_timestamp(field.type):
                kind = pa.timestamp("us", tz=field.type.tz)
            else:
                kind = pa.time64("us") if pa.types.is_time(field.type) else pa.duration("us")
            batch = batch.set_column(i, field.name, batch.column(i).cast(kind, safe=False))
    return batch
