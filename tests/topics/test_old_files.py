"""Models as earlier versions wrote them: they load, give the same answers, and can be saved and trained further."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import textmill
from textmill.topics import CVB0, Gibbs, Online

FILES = Path(__file__).parents[1] / "files" / "topics"
X = np.array([[3, 2, 0, 0], [2, 3, 0, 0], [0, 0, 4, 1], [0, 0, 1, 2]])
TEXTS = ["the moon", "money bank"]

# file -> transformed rows (of X, or of the texts), and parameters and attributes of today
OLD: dict[str, tuple[list[list[float]], dict[str, Any]]] = {
    "lda-online-1": (
        [[0.08423, 0.91577], [0.08423, 0.91577], [0.91599, 0.08401], [0.87363, 0.12637]],
        {
            "method": Online(
                chunk_size=2, update_every=2, learning_offset=4.0, learning_decay=0.7, total_docs=8, tolerance=1e-3,
                eval_every=2, restart=True,
            ),
            "max_iter": 3, "inner_max_iter": 20, "inner_tolerance": 1e-4, "n_iter_": 3, "updates_": 3, "documents_": 4,
        },
    ),
    "lda-fading-1": (
        [[0.87969, 0.12031], [0.87976, 0.12024], [0.12179, 0.87821], [0.17803, 0.82197]],
        {"method": Online(chunk_size=2, half_life=3.0), "weighting": "idf", "max_iter": None},
    ),
    "lda-batch-1": (
        [[0.77055, 0.22945], [0.69719, 0.30281]],
        {"method": "batch", "alpha": "auto", "eta": "auto", "max_iter": 4, "n_iter_": 4},
    ),
    "lda-gibbs-1": (
        [[0.08534, 0.91466], [0.08492, 0.91508], [0.91599, 0.08401], [0.87371, 0.12629]],
        {"method": Gibbs(burn_in=5, thin=5, n_chains=2, collapsed=False), "max_iter": 30, "n_iter_": 30},
    ),
    "lda-cvb0-1": (
        [[0.08456, 0.91544], [0.08456, 0.91544], [0.91576, 0.08424], [0.87315, 0.12685]],
        {"method": CVB0(thin=5), "max_iter": 20, "dtype": "float64", "n_iter_": 20},
    ),
    "lsa-1": ([[0.80178, 0.0], [0.0, 0.58209]], {"method": "one_pass", "chunk_method": "gram", "decay": 0.9}),
    "pca-2": (
        [[-2.27871, 0.23972], [-2.27871, 0.23972], [3.08035, 1.12313], [1.47707, -1.60258]],
        {"method": "krylov", "power_iterations": 3},
    ),
    "nmf-1": (
        [[5.00027, 0.0], [5.00027, 0.0], [0.0, 5.32869], [0.0, 2.20722]],
        {"method": "multiplicative", "max_iter": 9, "decay": 0.8, "n_iter_": 3, "converged_": True},
    ),
    "nmf-online-1": (
        [[5.0, 0.0], [5.0, 0.0], [0.0, 5.0], [0.0, 3.0]],
        {"method": "fast", "max_iter": 2, "decay": 0.8, "chunk_size": 2, "n_iter_": 2, "converged_": False},
    ),
    "plsa-1": ([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]], {"max_iter": 9, "decay": 0.8}),
    "plsa-online-1": (
        [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]],
        {"max_iter": 2, "decay": 0.7, "chunk_size": 2, "n_iter_": 2},
    ),
    "mixture-1": ([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.99999, 1e-05]], {"max_iter": 9}),
}  # fmt: skip


def test_every_old_file_is_listed() -> None:
    assert sorted(path.stem for path in FILES.iterdir()) == sorted(OLD)


@pytest.mark.parametrize("name", OLD)
def test_an_old_file_loads_answers_and_goes_on(name: str, tmp_path: Path) -> None:
    model = textmill.load(FILES / f"{name}.mill", verify=True)
    expected, values = OLD[name]
    documents: Any = X if model.vectorizer_ is None else TEXTS
    assert model.transform(documents) == pytest.approx(np.array(expected), abs=1e-5)
    assert {key: getattr(model, key) for key in values} == values
    if hasattr(model, "trace_") and not name.startswith("lda-online") and name != "lda-fading-1":
        assert len(model.trace_) > 0
    model.save(tmp_path / "new.mill")
    again = textmill.load(tmp_path / "new.mill", verify=True)
    assert again.fingerprint() == model.fingerprint()
    assert {key: getattr(again, key) for key in values} == values
    assert again.partial_fit(documents).documents_ > model.documents_
