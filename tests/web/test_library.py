"""Files that change while they are served, and files that cannot be."""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from waiting import wait_until

from textmill.errors import DataError, ModelFileError
from textmill.tasks import SimilarDocuments
from textmill.web.answers import Refusal
from textmill.web.library import Library


@pytest.fixture
def copy(shelf: Path, tmp_path: Path) -> Path:
    """A copy of an index that may be changed."""
    return Path(shutil.copy(shelf / "words.mill", tmp_path / "words.mill"))


def test_a_replaced_file_is_taken_over_and_the_old_one_stays_usable(copy: Path) -> None:
    library = Library([str(copy)])
    old = library.get("words", "articles").value
    assert library.refresh() == []
    SimilarDocuments().fit(["a new mill", "a new sea"]).save(copy)
    assert library.refresh() == [("words", "taken over")]
    assert len(library.get("words", "articles").value) == 2
    assert len(old.query(["moon"], k=3)[0]) == 3  # mapped from a file that has no name any more


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x10" * 5000])
def test_a_newer_file_that_is_no_model_is_not_taken_over(content: bytes, copy: Path) -> None:
    library = Library([str(copy)])
    other = copy.with_name("other.mill")
    other.write_bytes(content)
    os.replace(other, copy)
    assert library.refresh() == [("words", "newer file refused")]
    assert library.refresh() == []  # said once
    assert len(library.get("words", "articles").value.query(["moon"], k=3)[0]) == 3


def test_a_file_that_was_cut_in_place_is_given_up_until_it_is_whole_again(copy: Path, shelf: Path) -> None:
    library = Library([str(copy)])
    with copy.open("r+b") as file:
        file.truncate(1000)
    assert library.refresh() == [("words", "cut")]
    with pytest.raises(Refusal) as refused:
        library.get("words", "articles")
    assert refused.value.code == 503
    assert library.of("articles") == []
    other = Path(shutil.copy(shelf / "words.mill", copy.with_name("other.mill")))
    os.replace(other, copy)
    assert library.refresh() == [("words", "taken over")]
    assert library.get("words", "articles").fault is None


def test_a_file_that_is_gone_goes_on_being_served(copy: Path) -> None:
    library = Library([str(copy)])
    copy.unlink()
    assert library.refresh() == []
    assert len(library.get("words", "articles").value.query(["moon"], k=1)[0]) == 1


def test_files_that_cannot_be_opened_are_errors_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "bad.mill").write_text("nonsense")
    (tmp_path / "bad.tsv").write_text("a\tb\n1\t2\n")
    (tmp_path / "bad.fst").write_bytes(b"no machine")
    for name, fault in (("bad.mill", ModelFileError), ("bad.tsv", DataError), ("bad.fst", DataError)):
        with pytest.raises(fault):
            Library([str(tmp_path / name)])
    with pytest.raises(OSError, match="none"):
        Library([str(tmp_path / "none.mill")])


def test_a_server_tells_of_a_cut_file_and_takes_over_a_new_one(
    copy: Path, shelf: Path, server_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from textmill.web import application

    monkeypatch.setattr(application, "_WATCH", 0.02)
    log = io.StringIO()
    with httpx.Client(base_url=server_of((str(copy),), log=log).address, timeout=30) as client:
        assert client.get("/health/ready").status_code == 200
        before = client.get("/api/v1/article?id=astronomy-01").json()
        SimilarDocuments().fit(["a new mill", "a new sea"]).save(copy)
        wait_until(lambda: client.get("/api/v1/article?id=0").status_code == 200)
        wait_until(lambda: client.get("/api/v1/article?id=astronomy-01").status_code == 404)  # nothing old is kept
        with copy.open("r+b") as file:
            file.truncate(100)
        wait_until(lambda: client.get("/health/ready").status_code == 503)
        assert client.get("/api/v1").json()["faults"]["words"].startswith("the file was cut")
        wait_until(lambda: client.get("/api/v1/article?id=0").status_code == 404)
        os.replace(shutil.copy(shelf / "words.mill", copy.with_name("other.mill")), copy)
        wait_until(lambda: client.get("/api/v1/article?id=astronomy-01").status_code == 200)
        assert client.get("/api/v1/article?id=astronomy-01").json() == before
        assert client.get("/health/ready").status_code == 200
    events = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [one["what"] for one in events if one["event"] == "file"] == ["taken over", "cut", "taken over"]
