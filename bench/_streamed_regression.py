"""A linear regression over rows on disk, in a process of its own, so that its memory can be measured.

python -m bench._streamed_regression FOLDER     reads rows-*.npz and scores-*.npy of FOLDER, prints one line of JSON
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from textmill.linear import SupportVectorRegression


class Chunks:
    """Rows and scores, read again from disk each time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for path in sorted(self.folder.glob("rows-*.npz")):
            yield sparse.load_npz(path), np.load(self.folder / f"{path.stem.replace('rows', 'scores')}.npy")


def write_chunks(folder: Path, X: Any, y: Any, size: int) -> None:
    """Cut rows into files for `Chunks`."""
    for number, a in enumerate(range(0, X.shape[0], size)):
        sparse.save_npz(folder / f"rows-{number:04}.npz", X[a : a + size], compressed=False)
        np.save(folder / f"scores-{number:04}.npy", y[a : a + size])


def mebibytes() -> float:
    """The most memory so far; getrusage would count that of the process which started this one."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 2**10


def main() -> None:
    before, start = mebibytes(), time.process_time()
    model = SupportVectorRegression(cost=1.0, tolerance=1e-2, n_jobs=1).fit(Chunks(Path(sys.argv[1])))
    found = {
        "seconds": time.process_time() - start,
        "passes": model.n_iter_,
        "gap": model.gap_ / model.objective_,
        "objective": model.objective_,
        "memory": mebibytes(),
        "before": before,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
