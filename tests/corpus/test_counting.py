"""Counting within a limit of memory: spilled runs give exactly what memory gives."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.corpus import Tokenizer, Vocabulary, read_documents, sample_path, sample_texts
from textmill.corpus.counting import byte_count
from textmill.errors import DataError

TOKENS = st.lists(st.lists(st.text(alphabet="abc\0é", max_size=3), max_size=6), min_size=1, max_size=30)
STATE = ("terms_", "documents_", "tokens_", "nonzeros_", "removed_")


def same(left: Vocabulary, right: Vocabulary) -> bool:
    return (
        all(getattr(left, name) == getattr(right, name) for name in STATE)
        and np.array_equal(left.document_frequency_, right.document_frequency_)
        and np.array_equal(left.collection_frequency_, right.collection_frequency_)
    )


@given(
    TOKENS,
    st.sampled_from(
        [
            {},
            {"min_df": 2, "stop_words": ["a", "é"]},
            {"max_df": 0.5, "keep": 3},
            {"order": "sorted", "min_count": 2},
            {"keep": 2, "rank_by": "occurrences"},
        ]
    ),
)
@settings(max_examples=60)
def test_spilling_after_every_batch_changes_nothing(documents: list[list[str]], rules: dict[str, Any]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("textmill.corpus.tokenize.BATCH", 100)
        assert same(Vocabulary(memory=1, **rules).fit(documents), Vocabulary(**rules).fit(documents))


@pytest.mark.parametrize("tokenizer", [None, Tokenizer(stem="english"), str.split])
def test_spilled_counts_of_texts_are_the_same_for_any_number_of_threads(
    tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("textmill.corpus.tokenize.BATCH", 20_000)
    texts = sample_texts(language=None)
    plain = Vocabulary(tokenizer=tokenizer, min_df=2).fit(texts)
    for jobs in (1, 2, 8):
        limited = Vocabulary(tokenizer=tokenizer, min_df=2, memory="100kB", n_jobs=jobs)
        X = limited.fit_transform(texts)
        assert same(limited, plain)
        assert (plain.transform(texts) != X).nnz == 0


def test_temporary_files_are_removed_also_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("textmill.corpus.tokenize.BATCH", 100)
    seen: list[int] = []

    def documents() -> Any:
        for i in range(20):
            seen.append(len(os.listdir(tmp_path)))
            yield f"word{i} " * 50
        yield "bad \ud800"

    with pytest.raises(DataError, match="lone surrogate"):
        Vocabulary(memory=1).fit(documents())
    assert max(seen) == 1
    assert os.listdir(tmp_path) == []


def test_a_generator_cannot_be_counted_and_bagged_within_a_limit() -> None:
    with pytest.raises(DataError, match="needs 2 passes"):
        Vocabulary(memory="1MB").fit_transform(iter(["a"]))


def test_a_full_folder_is_one_clear_error(tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "from textmill.corpus import Vocabulary\n"
        "from textmill.errors import DataError\n"
        "try: Vocabulary(memory=1).fit([f'word{i}' for i in range(1000)] * 300)\n"
        "except DataError as error: print(error)\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"no room for terms in {tmp_path}")
    assert "set TMPDIR" in done.stdout
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("memory", ["", "lots", "-1", "1 QB", -5, 1.5j, "1e9"])
def test_wrong_amounts_of_memory_are_named(memory: Any) -> None:
    with pytest.raises(DataError, match="memory must be"):
        byte_count(memory)


@pytest.mark.parametrize("options", [{}, {"order": "sorted", "min_df": 2}, {"tokenizer": Tokenizer(stem="english")}])
def test_a_cluster_counts_what_one_process_counts(
    client: Any, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("textmill.corpus.vocabulary.PIECE", 50)
    plain = Vocabulary(**options).fit(read_documents(sample_path()))
    assert same(Vocabulary(**options).fit(read_documents(sample_path()), cluster=client), plain)
    assert same(Vocabulary(**options).fit(sample_texts(language=None), cluster=client), plain)
    if not options:
        with pytest.raises(DataError, match="there are no documents to count"):
            Vocabulary().fit([], cluster=client)
