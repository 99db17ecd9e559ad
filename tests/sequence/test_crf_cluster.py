"""CRFs on real worker processes: the objective of one process, also when a worker is killed in the middle."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textmill.corpus import sample_path
from textmill.sequence import CRF, read_labeled
from textmill.sequence.training import objective as module

PATTERNS = ["*", "u:w=%x[0,0]", "u:p=%x[0,1]", "u:q=%x[-1,1]/%x[0,1]"]
SETTINGS: dict[str, Any] = {"patterns": PATTERNS, "max_iter": 6, "tolerance": 0.0, "n_jobs": 1}
evaluate = module._evaluate


class DiesOnce:
    """The evaluation of a partition that brings its worker down at one of the calls."""

    def __init__(self, folder: Path, call: int) -> None:
        self.folder, self.call = folder, call

    def __call__(self, *arguments: Any) -> Any:
        with (self.folder / "calls").open("ab", buffering=0) as file:
            file.write(b".")
            number = file.tell()  # of this call among those of all workers
        if number == self.call:
            (self.folder / "died").write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return evaluate(*arguments)


@pytest.mark.parametrize("algorithm", ["lbfgs", "owlqn"])
def test_a_killed_worker_changes_no_objective(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, algorithm: str
) -> None:
    data = read_labeled(str(sample_path("chunks-test.txt")))
    here = CRF(algorithm=algorithm, **SETTINGS).fit(data.X, data.y)
    labels = len(here.classes_)
    monkeypatch.setattr(module, "PART_CELLS", 700 * labels)  # five partitions of the 3,233 tokens
    client.wait_for_workers(2)
    workers = set(client.run(os.getpid).values())
    monkeypatch.setattr(module, "_evaluate", DiesOnce(tmp_path, 22))
    there = CRF(algorithm=algorithm, **SETTINGS).fit(data.X, data.y, cluster=client)
    assert int((tmp_path / "died").read_text()) in workers
    ours, theirs = ([entry["objective"] for entry in model.training_log_] for model in (here, there))
    assert len(ours) == len(theirs) == 6
    np.testing.assert_allclose(theirs, ours, rtol=1e-10)
    assert there.predict(data.X) == here.predict(data.X)


def test_any_number_of_partitions_is_the_same_problem(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = read_labeled(str(sample_path("chunks-test.txt")))
    whole = CRF(**SETTINGS).fit(data.X, data.y, cluster=client)
    monkeypatch.setattr(module, "PART_CELLS", 2000)
    parts = CRF(**SETTINGS).fit(data.X, data.y, cluster=client)
    assert parts.objective_ == pytest.approx(whole.objective_, rel=1e-10)
    assert parts.features_.tolist() == whole.features_.tolist()
