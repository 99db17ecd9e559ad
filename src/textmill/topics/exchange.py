"""Files of topics that other tools write and read: MALLET, LDA-C, NumPy arrays, JSON for pyLDAvis.

MALLET state    text, usually gzipped: one token per line with its document, word and topic, and the priors on top
                    #doc source pos typeindex type topic
                    #alpha : 0.1 0.1
                    #beta : 0.01
                    0 NA 0 0 mill 1
MALLET keys     one topic per line: number, alpha, its words
LDA-C           NAME.beta, log probabilities, one topic per line, one number per term; NAME.other, the sizes and alpha
NumPy           one array topics x terms, .npy
pyLDAvis        JSON, an object of the arguments of `pyLDAvis.prepare`

A state needs a topic for each token. Models of ours hold distributions, so the tokens of a word in a document are dealt
out in proportion to theta_t phi_tw, in whole numbers, the largest remainders first: counts of topics then differ from
the expected ones by less than 1 for each word of each document.

Cost: one visit of each token. References: McCallum (2002), MALLET; Blei, Ng & Jordan (2003), Latent Dirichlet
allocation, whose programs read and write LDA-C.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats
from textmill.corpus import open_lines, writer
from textmill.errors import DataError
from textmill.files import replacing
from textmill.model import check_fitted, check_range
from textmill.numeric import sparse
from textmill.topics.formats import from_counts, from_matrix, terms_of, to_pyldavis
from textmill.topics.lda.model import LDA
from textmill.topics.model import TopicModel

__all__ = [
    "read_ldac",
    "read_mallet_state",
    "read_matrix",
    "write_ldac",
    "write_mallet_keys",
    "write_mallet_state",
    "write_matrix",
    "write_pyldavis",
]

Path = str | os.PathLike[str]


def write_ldac(model: TopicModel, path: Path) -> None:
    """Write the topics of a model as path.beta and path.other.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_ldac(from_matrix([[3, 1]]), f"{folder}/final")
    ...     pathlib.Path(folder, "final.other").read_text().split()[:4]
    ['num_topics', '1', 'num_terms', '2']
    """
    rows = _rows(model)
    with writer(f"{os.fspath(path)}.beta") as out:
        for row in np.log(np.maximum(rows, 1e-300)):
            out.write(" ".join(f"{value:.10f}" for value in row.tolist()) + "\n")
    with writer(f"{os.fspath(path)}.other") as out:
        alpha = float(model.alpha_.mean()) if isinstance(model, LDA) else 1.0 / len(rows)
        out.write(f"num_topics {len(rows)}\nnum_terms {rows.shape[1]}\nalpha {alpha:.10f}\n")


def read_ldac(path: Path, *, terms: Sequence[str] | None = None) -> LDA:
    """Return the LDA model of path.beta and path.other; `terms` are the names of the columns.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_ldac(from_matrix([[3, 1]]), f"{folder}/final")
    ...     read_ldac(f"{folder}/final").components_.round(6).tolist()
    [[0.75, 0.25]]
    """
    name = os.fspath(path)
    settings: dict[str, float] = {}
    for number, line in open_lines(f"{name}.other"):
        key, _, value = line.strip().partition(" ")
        if key:
            settings[key] = _number(value, f"{name}.other", number)
    topics, columns = (_size(settings, key, f"{name}.other") for key in ("num_topics", "num_terms"))
    rows = []
    for number, line in open_lines(f"{name}.beta"):
        values = line.split()
        if len(values) != columns:
            raise DataError(
                f"{len(values)} numbers for {columns} terms; the two files must be of one model",
                source=f"{name}.beta",
                line=number,
            )
        rows.append([_number(value, f"{name}.beta", number) for value in values])
    if len(rows) != topics:
        raise DataError(f"{len(rows)} lines for {topics} topics; the file is not complete", source=f"{name}.beta")
    logs = np.array(rows)
    if logs.max() > 1e-6:
        raise DataError("holds numbers above 0; LDA-C writes logarithms of probabilities", source=f"{name}.beta")
    return from_matrix(np.exp(logs), alpha=settings.get("alpha", 1.0 / topics), terms=terms)


def write_mallet_keys(model: TopicModel, path: Path, *, n_words: int = 20) -> None:
    r"""Write one line per topic: its number, its alpha and its first words; "-" is standard output.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_mallet_keys(from_matrix([[3, 1]], terms=["to", "be"]), f"{folder}/keys.txt")
    ...     pathlib.Path(folder, "keys.txt").read_text()
    '0\t1.00000\tto be\n'
    """
    check_range("n_words", n_words, at_least=1, whole=True)
    alpha = model.alpha_ if isinstance(model, LDA) else np.full(len(_rows(model)), 1.0 / len(model.components_))
    with writer(path) as out:
        for number, words in enumerate(model.topics(n_words)):
            out.write(f"{number}\t{alpha[number]:.5f}\t{' '.join(word for word, _ in words)}\n")


def write_mallet_state(model: TopicModel, X: Any, path: Path) -> None:
    """Write documents with a topic for each of their tokens, gzipped if the path ends in .gz; "-" is standard output.

    >>> write_mallet_state(from_matrix([[3, 1]], terms=["to", "be"]), ["to be"], "-")
    #doc source pos typeindex type topic
    #alpha : 1
    #beta : 1e-12
    0 NA 0 0 to 0
    0 NA 1 1 be 0
    """
    rows, names = _rows(model), terms_of(model)
    phi = np.ascontiguousarray(rows.T)
    alpha = model.alpha_ if isinstance(model, LDA) else np.full(len(rows), 1.0 / len(rows))
    beta = float(model.eta_.mean()) if isinstance(model, LDA) else 0.01
    for name in names:
        if not name or any(character.isspace() for character in name):
            raise DataError(f"the term {name!r} cannot stand in a state of MALLET, whose columns are cut at blanks")
    document = 0
    with writer(path) as out:
        out.write("#doc source pos typeindex type topic\n")
        out.write(f"#alpha : {' '.join(f'{value:.10g}' for value in alpha.tolist())}\n#beta : {beta:.10g}\n")
        for part in model.rows_of(X):
            theta = np.asarray(model.transform(part), dtype=np.float64)
            for row in range(part.shape[0]):
                terms, topics = _dealt(part, row, theta[row], phi)
                out.writelines(
                    f"{document} NA {place} {term} {names[term]} {topic}\n"
                    for place, (term, topic) in enumerate(zip(terms.tolist(), topics.tolist(), strict=True))
                )
                document += 1


def read_mallet_state(path: Path) -> LDA:
    r"""Return the LDA model of a state: its counts, words and priors.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "state")
    ...     _ = path.write_text("#alpha : 1\n#beta : 0.5\n0 NA 0 0 mill 0\n0 NA 1 1 wind 0\n0 NA 2 0 mill 0\n")
    ...     read_mallet_state(path).components_.tolist()
    [[0.625, 0.375]]
    """
    name = os.fspath(path)
    alpha: list[float] = []
    beta = math.nan
    terms: dict[int, str] = {}
    counts: dict[tuple[int, int], int] = {}
    documents: set[str] = set()
    for number, line in open_lines(path):
        if line.startswith("#"):
            key, _, values = line[1:].partition(":")
            if key.strip() == "alpha":
                alpha = [_number(value, name, number) for value in values.split()]
            elif key.strip() == "beta":
                beta = _number(values, name, number)
            continue
        fields = line.split(" ")
        if len(fields) != 6 or not fields[3].isdigit() or not fields[5].isdigit():
            raise DataError(
                "is no line of a state; it must hold doc source pos typeindex type topic", source=name, line=number
            )
        term, topic = int(fields[3]), int(fields[5])
        if not alpha or topic >= len(alpha):
            raise DataError(f"topic {topic} has no alpha; a state begins with its alphas", source=name, line=number)
        if terms.setdefault(term, fields[4]) != fields[4]:
            raise DataError(f"type {term} is {fields[4]!r} here, {terms[term]!r} before", source=name, line=number)
        counts[topic, term] = counts.get((topic, term), 0) + 1
        documents.add(fields[0])
    if not counts or math.isnan(beta):
        raise DataError("has no tokens, or no beta; it is no complete state of MALLET", source=name)
    order = {term: column for column, term in enumerate(sorted(terms))}  # a word without tokens has no line
    chi = np.zeros((len(alpha), len(order)))
    for (topic, term), count in counts.items():
        chi[topic, order[term]] = count
    words = [terms[term] for term in order]
    return from_counts(chi, alpha=alpha, eta=beta, documents=len(documents), terms=words)


def write_matrix(model: TopicModel, path: Path) -> None:
    """Write the topics, rows over terms, as a .npy file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_matrix(from_matrix([[3, 1]]), f"{folder}/topics.npy")
    ...     np.load(f"{folder}/topics.npy").round(6).tolist()
    [[0.75, 0.25]]
    """
    rows = _rows(model)
    with replacing(path) as file:
        np.save(file, rows, allow_pickle=False)


def read_matrix(path: Path, *, alpha: Any = None, terms: Sequence[str] | None = None) -> LDA:
    """Return the LDA model of a .npy file of topics, rows over terms that need not sum to 1.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_matrix(from_matrix([[3, 1]]), f"{folder}/topics.npy")
    ...     read_matrix(f"{folder}/topics.npy", terms=["to", "be"]).topics(1)[0]
    [('to', 0.75)]
    """
    try:
        rows = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as fault:
        raise DataError(f"is no array of numbers ({fault}); save it with numpy.save", source=os.fspath(path)) from None
    if not isinstance(rows, np.ndarray) or rows.dtype.kind not in "fiu":
        raise DataError("is no array of numbers; save one array with numpy.save", source=os.fspath(path))
    return from_matrix(rows, alpha="symmetric" if alpha is None else alpha, terms=terms)


def write_pyldavis(model: TopicModel, X: Any, path: Path) -> None:
    """Write the arguments of `pyLDAvis.prepare` for documents as JSON; "-" is standard output.

    >>> write_pyldavis(from_matrix([[3, 1]], terms=["to", "be"]), ["to be to"], "-")
    {"doc_lengths": [3.0], "doc_topic_dists": [[1.0]], "term_frequency": [2.0, 1.0], "topic_term_dists": ...
    """
    data = to_pyldavis(model, X)
    with writer(path) as out:
        lists = {name: value if isinstance(value, list) else value.tolist() for name, value in data.items()}
        out.write(json.dumps(dict(sorted(lists.items())), ensure_ascii=False) + "\n")


def _rows(model: TopicModel) -> Floats:
    check_fitted(model)
    rows = np.asarray(model.components_, dtype=np.float64)
    sums = rows.sum(axis=1, keepdims=True)
    if rows.min() < 0 or not (sums > 0).all():
        raise DataError(f"the topics of {type(model).__name__} are no distributions; export LDA or PLSA")
    shares: Floats = rows / sums
    return shares


def _dealt(X: sparse.csr_matrix, row: int, theta: Floats, phi: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The tokens of a document and their topics, dealt out in whole numbers."""
    begin, end = X.indptr[row], X.indptr[row + 1]
    terms = X.indices[begin:end].astype(np.int64)
    counts = np.rint(X.data[begin:end]).astype(np.int64)
    shares = phi[terms] * theta
    sums = shares.sum(axis=1, keepdims=True)
    expected = np.where(sums > 0, shares / np.where(sums > 0, sums, 1.0), 1.0 / len(theta)) * counts[:, None]
    dealt = np.floor(expected + 1e-9).astype(np.int64)
    missing = counts - dealt.sum(axis=1)
    order = np.argsort(-(expected - dealt), axis=1, kind="stable")
    ranks = np.argsort(order, axis=1, kind="stable")
    dealt += ranks < missing[:, None]
    words, topics = np.nonzero(dealt)
    return np.repeat(terms[words], dealt[words, topics]), np.repeat(topics, dealt[words, topics])


def _number(text: str, source: str, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise DataError(f"{text.strip()!r} is no number", source=source, line=line)
    return value


def _size(settings: dict[str, float], key: str, source: str) -> int:
    value = settings.get(key, 0.0)
    if value < 1 or value != int(value):
        raise DataError(f"says no {key}; it must be a whole number of at least 1", source=source)
    return int(value)
