"""errors.py: warnings that point to whoever called textmill."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from textmill.corpus import read_documents
from textmill.errors import warn_caller
from textmill.progress import report_interrupt
from textmill.topics import LDA


def warned_line(caught: list[warnings.WarningMessage]) -> str:
    """The line of code that all warnings point to."""
    ((file, number),) = {(one.filename, one.lineno) for one in caught}
    assert file == __file__
    return Path(file).read_text(encoding="utf-8").splitlines()[number - 1].strip()


def test_a_warning_points_to_the_caller_however_deep_it_was_issued(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"text": "fine"}\nnot JSON\n', encoding="utf-8")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        list(read_documents(tmp_path / "bad.jsonl", errors="skip"))
    assert warned_line(caught) == 'list(read_documents(tmp_path / "bad.jsonl", errors="skip"))'
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LDA(n_topics=2, random_state=0).fit(np.full((3, 3), 0.5))
    assert warned_line(caught) == "LDA(n_topics=2, random_state=0).fit(np.full((3, 3), 0.5))"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report_interrupt(2)
    assert warned_line(caught) == "report_interrupt(2)"


def test_a_warning_of_ones_own_points_to_its_line_and_can_be_an_error() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_caller("few documents")
    assert warned_line(caught) == 'warn_caller("few documents")'
    with pytest.raises(FutureWarning, match="old name"):
        warn_caller("old name", FutureWarning)
