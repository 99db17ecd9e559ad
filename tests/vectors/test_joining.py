"""An index joined of parts of others is, byte for byte, the one that is built of the same rows."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import normalize

from textmill.errors import DataError
from textmill.files import scratch_array
from textmill.vectors import Index, join_indexes, joining


def vectors(random: np.random.Generator, rows: int, dense: bool) -> Any:
    if dense:
        return np.abs(random.standard_normal((rows, 24))).astype(np.float32)
    return sparse.random(rows, 60, 0.1, format="csr", random_state=random, dtype=np.float32)


@pytest.mark.parametrize("block", [7, 1 << 18])
@pytest.mark.parametrize("measure", ["cosine", "euclidean", "hellinger"])
@pytest.mark.parametrize("dense", [True, False])
def test_a_joined_index_has_the_bytes_of_one_that_is_built(
    dense: bool, measure: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "_BLOCK", block)
    random = np.random.default_rng(block)
    pieces, rows, ids = [], [], []
    for number, size in enumerate((40, 1, 25)):
        X = vectors(random, size, dense)
        if measure == "hellinger":
            X = normalize(X + (0 if dense else sparse.csr_matrix(np.eye(size, 60, dtype=np.float32))), norm="l1")
        names = 100 * number + np.sort(random.choice(100, size, replace=False))
        index = Index(measure=measure).fit(X, ids=names)
        chosen = names[random.random(size) < 0.7] if size > 1 else names
        pieces.append((index, chosen))
        rows.append(index.vectors_of(chosen))
        ids.append(chosen)
    stacked = np.concatenate(rows) if dense else sparse.vstack([one.csr() for one in rows], format="csr")
    joined = join_indexes(pieces, ids=np.concatenate(ids), room=partial(scratch_array, tmp_path))
    joined.save(tmp_path / "joined.mill")
    Index.of(stacked, ids=np.concatenate(ids), measure=measure).save(tmp_path / "built.mill")
    assert (tmp_path / "joined.mill").read_bytes() == (tmp_path / "built.mill").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["built.mill", "joined.mill"]


def test_rows_that_wait_for_postings_are_joined_too() -> None:
    random = np.random.default_rng(3)
    X = vectors(random, 30, dense=False)
    index = Index().fit(X[:20])
    index.add(X[20:])
    joined = join_indexes([(index, np.arange(5, 30))], ids=np.arange(25))
    assert joined.query(X[25], k=1)[0].ids.tolist() == [20]


def test_indexes_of_different_kinds_are_refused() -> None:
    one, other = Index().fit(np.eye(3)), Index(method="scan").fit(np.eye(3))
    with pytest.raises(DataError, match="only coarse or inverted"):
        join_indexes([(one, np.array([0])), (other, np.array([1]))], ids=np.arange(2))
