"""Counting n-grams on real worker processes, one of which is killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textmill.corpus import sample_texts
from textmill.lm import NGramModel, counting

TEXTS = sample_texts()[:40]


class DiesOnce:
    """A tokenizer at blanks that kills its process once, unless that is the one it was made in."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, os.getpid()

    def __call__(self, text: str) -> list[str]:
        if os.getpid() != self.home and text == TEXTS[20]:
            try:
                (self.folder / "died").touch(exist_ok=False)
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return text.split()


def test_a_worker_killed_while_counting_changes_nothing(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "_PIECE", 5)
    tokenizer = DiesOnce(tmp_path)
    here = NGramModel(order=3, tokenizer=tokenizer).fit(TEXTS)
    assert not (tmp_path / "died").exists()
    there = NGramModel(order=3, tokenizer=tokenizer).fit(TEXTS, cluster=client)
    assert (tmp_path / "died").exists()
    assert here.words_ == there.words_
    for name in ("last_words_", "children_", "log_probability_", "log_back_off_", "counts_"):
        assert np.asarray(getattr(here, name)).tobytes() == np.asarray(getattr(there, name)).tobytes(), name
