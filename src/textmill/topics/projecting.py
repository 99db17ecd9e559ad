"""Documents of any number as rows of topic weights in one file, chunk by chunk."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from textmill.errors import DataError
from textmill.files import replacing
from textmill.model import check_choice, check_fitted
from textmill.progress import track
from textmill.topics.model import TopicModel

__all__ = ["save_projections"]


def save_projections(
    model: TopicModel, X: Any, path: str | os.PathLike[str], *, dtype: str = "float32", **options: Any
) -> int:
    """Transform X chunk by chunk into a .npy file, in constant memory; returns the number of documents.

    `options` go to the model's `transform`.

    >>> import tempfile
    >>> from textmill.topics import PCA
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_projections(PCA(n_topics=2).fit(np.eye(3)), np.eye(3), f"{folder}/rows.npy")
    ...     np.load(f"{folder}/rows.npy", mmap_mode="r").shape
    3
    (3, 2)
    """
    check_fitted(model)
    check_choice("dtype", dtype, ["float32", "float64"])
    columns, rows = len(model.components_), 0
    with replacing(path) as file:
        if not file.seekable():
            raise DataError("an array needs a file in which its size can be written last; not a pipe")
        begin = _header(file, 0, columns, dtype)
        for part in track(model.rows_of(X, negative=True), "transforming", unit="chunks"):
            block = np.ascontiguousarray(model.transform(part, **options), dtype=dtype)
            file.write(block.data)
            rows += len(block)
        file.seek(0)
        if _header(file, rows, columns, dtype) != begin:
            raise DataError(f"{rows} rows are more than the header of the array has room for; write several files")
        file.seek(0, os.SEEK_END)
    return rows


def _header(file: Any, rows: int, columns: int, dtype: str) -> int:
    """Write the header of an array; NumPy leaves room for the number of rows to grow. Returns where the data begin."""
    form = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": (rows, columns)}
    np.lib.format.write_array_header_1_0(file, form)
    return int(file.tell())
