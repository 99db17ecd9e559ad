"""LatentCRF on worker processes: the objective of one process, order 1 and 2, in several partitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from papers.latent_crf.hidden_chains import HiddenChain
from textmill.sequence import LatentCRF
from textmill.sequence.training import objective as module


@pytest.mark.parametrize("order", [1, 2])
def test_a_cluster_trains_the_same_model(client: Any, monkeypatch: pytest.MonkeyPatch, order: int) -> None:
    X, y, _ = HiddenChain({"A": 2, "B": 1}, vocabulary=8, random_state=0).sample(40, 10)
    settings: dict[str, Any] = {"patterns": ["u:%x[0,0]", "b"], "states": 2, "order": order, "noise": 0.5}
    settings |= {"max_iter": 5, "tolerance": 0.0, "n_jobs": 1, "random_state": 0}
    here = LatentCRF(**settings).fit(X, y)
    monkeypatch.setattr(module, "PART_CELLS", 4 * 150)  # three partitions of 400 tokens
    there = LatentCRF(**settings).fit(X, y, cluster=client)
    np.testing.assert_allclose(there.trace_, here.trace_, rtol=1e-10)
    assert there.predict(X) == here.predict(X)
