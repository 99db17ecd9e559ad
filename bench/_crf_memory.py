"""Peak memory of a training run, in a process of its own: python -m bench._crf_memory ALGORITHM [quick].

Prints the megabytes that training took beyond what was there before it began (the data), those of the whole process,
and those of one vector of all K weights.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

from bench._crf_peers import LETTERS, nettalk
from textmill._native import sequence as native
from textmill.optimize import Stopping, minimize_owlqn
from textmill.sequence import Encoder, FeatureLayout, label_ids
from textmill.sequence.training.batch import WorkingSet, train_working_set
from textmill.sequence.training.objective import ChainObjective
from textmill.sequence.training.online import OnlineState, training_data


def memory(field: str) -> float:
    """A field of the process's status, in MB."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def main() -> None:
    algorithm = sys.argv[1]
    folder = Path(os.environ["TEXTMILL_DATA"])
    words, phonemes = nettalk(folder, 1000 if "quick" in sys.argv else None)
    cut = len(words) * 8 // 10
    data = Encoder(patterns=LETTERS["3-grm"]).fit_encode(words[:cut])
    classes = np.array(sorted({label for labels in phonemes[:cut] for label in labels}))
    data = data.with_labels(label_ids(phonemes[:cut], data.offsets, classes))
    layout = FeatureLayout(len(classes), data.unigram.size, data.bigram.size)
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # forgets the peak so far
    before = memory("VmRSS")
    if algorithm == "bcd":
        descent = native.Descent(training_data(layout, data), 0.5, 1e-5, True)
        w = np.full(layout.size, 0.0)  # in memory, not promised only
        tests = np.arange(data.unigram.size, dtype=np.int32)
        for begin in range(0, len(tests), 64):
            descent.sweep(np.stack([tests, tests], axis=1)[begin : begin + 64], w, 2)
    elif algorithm == "sgd":
        training = training_data(layout, data)
        state = OnlineState.fresh(layout, None, True)
        order = np.random.default_rng(0).permutation(data.sequences)
        training.sgd_steps(order, state.w, state.q, state.seen, state.steps, eta0=0.8, alpha=0.85, l1=0.5, l2=0.0)
    else:
        objective = ChainObjective(layout, data, l2=1e-5, n_jobs=2)
        stopping = Stopping(tolerance=0.0, max_iter=12)
        if algorithm == "owlqn":
            minimize_owlqn(objective, np.zeros(layout.size), l1=0.5, stopping=stopping)
        else:
            state_ = WorkingSet.begin(np.empty(0, np.int64), np.empty(0))
            train_working_set(objective, state_, l1=0.5, memory=5, stopping=stopping, watch=lambda done: False)
    print(memory("VmHWM") - before, memory("VmHWM"), layout.size * 8 / 2**20)


if __name__ == "__main__":
    main()
