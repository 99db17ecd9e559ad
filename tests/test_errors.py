"""errors.py: warnings that point to whoever called textmill."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

import numpy as np
import pytest

from textmill import errors
from textmill.corpus import read_documents
from textmill.errors import REASONS, ModelFileError, TextmillError, reason_of, warn_caller
from textmill.model import load
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


SOURCES = Path(errors.__file__).parent


def test_every_error_of_the_package_has_one_base_class() -> None:
    kinds = [getattr(errors, name) for name in errors.__all__]
    kinds = [kind for kind in kinds if isinstance(kind, type)]
    assert len(kinds) == 5
    assert all(issubclass(kind, TextmillError) for kind in kinds)
    assert issubclass(errors.DataError, ValueError)


def test_every_fault_of_a_model_file_has_a_reason_of_the_list() -> None:
    reasons: list[str] = []
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ModelFileError":
                (given,) = [keyword.value for keyword in node.keywords if keyword.arg == "reason"]
                if isinstance(given, ast.Constant):
                    assert given.value in REASONS, f"{path}:{node.lineno}"
                    reasons.append(str(given.value))
    assert len(reasons) > 180
    assert set(reasons) == set(REASONS)
    with pytest.raises(ValueError, match="reason must be one of damaged, truncated"):
        ModelFileError("bad", reason="broken")  # type: ignore[arg-type]


def test_a_caller_can_tell_why_a_file_cannot_be_used(tmp_path: Path) -> None:
    path = tmp_path / "lda.mill"
    LDA(n_topics=2, random_state=0, max_iter=2).fit(np.eye(3)).save(path)
    data = path.read_bytes()

    def reason(content: bytes, **options: object) -> str:
        path.write_bytes(content)
        with pytest.raises(ModelFileError) as caught:
            load(path, **options)  # type: ignore[arg-type]
        rebuilt, arguments = caught.value.__reduce__()[:2]
        assert (str(rebuilt(*arguments)), rebuilt(*arguments).reason) == (str(caught.value), caught.value.reason)  # type: ignore[operator,misc]
        assert reason_of(caught.value) == caught.value.reason
        return caught.value.reason

    assert reason(data[: len(data) // 2]) == "truncated"
    assert reason(b"PK\x03\x04 a zip archive") == "foreign"
    assert reason(data[:-1] + bytes([data[-1] ^ 255]), verify=True) == "damaged"
    assert reason(data.replace(b"topics.LDA", b"topics.LDX")) in ("too new", "damaged")
    from textmill.corpus import Vocabulary

    assert reason(data, expect=Vocabulary) == "other kind"
    with pytest.raises(ModelFileError) as caught:
        LDA(n_topics=2).save(path)
    assert caught.value.reason == "not saved"
