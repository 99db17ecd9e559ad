"""Vectors and models in the formats of SVMlight and LIBSVM.

    write_vectors      "score column:value ..." one review a line, columns from 1
    read_svm_model     a support vector regression that LIBSVM (epsilon_svr, nu_svr) or SVMlight has trained

A model file of LIBSVM has a header of "name value" lines, "SV", then "coefficient column:value ..." lines; one of
SVMlight has its settings on numbered lines and the same lines of vectors. Both hold f(x) = sum_s a_s K(x_s, x) - b.

References: Chang & Lin (2011), LIBSVM; Joachims (1999), Making large-scale SVM learning practical.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from textmill.corpus import csr_arrays, open_lines, writer
from textmill.errors import DataError
from textmill.linear import SupportVectorRegression
from textmill.numeric import sparse
from textmill.tasks.polarity.scorer import PolarityScorer, check_scores

__all__ = ["read_svm_model", "write_vectors"]

_KERNELS = {"0": "linear", "1": "polynomial", "2": "rbf"}


def write_vectors(
    path: str | os.PathLike[str], scorer: PolarityScorer, texts: Sequence[str], scores: ArrayLike
) -> None:
    """Write the vectors of reviews with their scores."""
    values = check_scores(texts, scores)
    offsets, columns, data = csr_arrays(scorer.vectors(texts), np.float64)
    with writer(os.fspath(path)) as out:
        for row, score in enumerate(values.tolist()):
            begin, end = int(offsets[row]), int(offsets[row + 1])
            cells = [f"{c + 1}:{v:.17g}" for c, v in zip(columns[begin:end], data[begin:end], strict=True)]
            out.write(" ".join([f"{score:.17g}", *cells]) + "\n")


def read_svm_model(source: str | os.PathLike[str], *, columns: int) -> SupportVectorRegression:
    """Read a regression of LIBSVM or SVMlight over vectors of `columns` columns, as `write_vectors` has them.

    >>> import pathlib, tempfile
    >>> lines = ["svm_type epsilon_svr", "kernel_type linear", "nr_class 2", "total_sv 2", "rho -0.1", "SV"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "svr.model")
    ...     _ = path.write_text("\\n".join([*lines, "-0.8", "0.8 1:1"]) + "\\n")
    ...     model = read_svm_model(path, columns=1)
    >>> model.predict([[0.0], [1.0]]).round(4).tolist()
    [0.1, 0.9]
    """
    name = os.fspath(source)
    lines = [(number, line.strip()) for number, line in open_lines(name)]
    if lines and lines[0][1].startswith("SVM-light"):
        header, intercept, vectors = _svmlight_header(lines, name)
    else:
        header, intercept, vectors = _libsvm_header(lines, name)
    dual, X = _vectors(vectors, columns, name)
    model = SupportVectorRegression(**header)
    model._keep(X, dual[None], np.array([intercept]))
    model.n_iter_, model.converged_, model.objective_, model.gap_ = 0, True, 0.0, 0.0
    return model


def _libsvm_header(lines: list[tuple[int, str]], name: str) -> tuple[dict[str, Any], float, list[tuple[int, str]]]:
    entries: dict[str, str] = {}
    begin = 0
    for number, line in lines:
        begin = number
        key, _, value = line.partition(" ")
        if key == "SV":
            break
        entries[key] = value
    else:
        raise DataError("no model of LIBSVM or SVMlight: it has no line 'SV'", source=name)
    if entries.get("svm_type") not in ("epsilon_svr", "nu_svr"):
        raise DataError(f"svm_type is {entries.get('svm_type')!r}; only regressions can be read", source=name)
    settings = _settings(entries.get("kernel_type", ""), entries, name)
    vectors = [line for line in lines if line[0] > begin]
    return settings, -_number(entries, "rho", name), vectors


def _svmlight_header(lines: list[tuple[int, str]], name: str) -> tuple[dict[str, Any], float, list[tuple[int, str]]]:
    if len(lines) < 11:
        raise DataError("the model is cut: SVMlight writes 11 lines before the vectors", source=name)
    values = [line.partition("#")[0].strip() for _, line in lines[1:11]]
    entries = {"degree": values[1], "gamma": values[2] if values[0] == "2" else values[3], "coef0": values[4]}
    kernel = _KERNELS.get(values[0], values[0])
    entries["b"] = values[9]
    return _settings(kernel, entries, name), -_number(entries, "b", name), lines[11:]


def _settings(kernel: str, entries: dict[str, str], name: str) -> dict[str, Any]:
    if kernel not in _KERNELS.values():
        raise DataError(
            f"the kernel {kernel!r} is not known here; there are {', '.join(_KERNELS.values())}", source=name
        )
    if kernel == "linear":
        return {"kernel": kernel}
    settings: dict[str, Any] = {"kernel": kernel, "gamma": _number(entries, "gamma", name)}
    if kernel == "polynomial":
        settings |= {"degree": int(_number(entries, "degree", name)), "coef0": _number(entries, "coef0", name)}
    return settings


def _number(entries: dict[str, str], key: str, name: str) -> float:
    try:
        return float(entries[key])
    except (KeyError, ValueError):
        raise DataError(f"the model has no number for '{key}'", source=name) from None


def _vectors(lines: list[tuple[int, str]], columns: int, name: str) -> tuple[Any, Any]:
    dual, rows, ids, values = [], [], [], []
    for number, line in lines:
        cells = line.partition("#")[0].split()
        if not cells:
            continue
        try:
            pairs = [(int(c), float(v)) for c, _, v in (cell.partition(":") for cell in cells[1:])]
            dual.append(float(cells[0]))
        except ValueError:
            raise DataError("write 'coefficient column:value ...' on each line", source=name, line=number) from None
        for column, value in pairs:
            if not 1 <= column <= columns:
                raise DataError(f"column {column} is not among the {columns}", source=name, line=number)
            rows.append(len(dual) - 1)
            ids.append(column - 1)
            values.append(value)
    X = sparse.csr_matrix((values, (rows, ids)), shape=(len(dual), columns), dtype=np.float64)
    X.sum_duplicates()
    return np.array(dual), X
