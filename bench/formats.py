"""Reading files of bags: textmill against gensim's readers and scikit-learn's, on three corpora.

TEXTMILL_DATA=... python -m bench formats
"""

from __future__ import annotations

import atexit
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench._corpora import texts
from bench.harness import Job, Options
from textmill.corpus import Vocabulary, read_bags, write_bags

PACKAGES = ["gensim", "scikit-learn", "scipy"]


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    return [
        job
        for name in ("20 News", "Reuters", "Sentences")
        for job in jobs_of(name, texts(options, name), Path(folder.name, name))
    ]


def jobs_of(name: str, documents: list[str], folder: Path) -> list[Job]:
    """The comparisons with one corpus; the files are written first."""
    from gensim.corpora import BleiCorpus, MmCorpus, UciCorpus
    from sklearn.datasets import load_svmlight_file

    folder.mkdir()
    vocabulary = Vocabulary()
    X = vocabulary.fit_transform(documents)
    paths = {kind: str(folder / f"bags.{kind}") for kind in ("mm", "svmlight", "ldac", "uci")}
    for path in paths.values():
        write_bags(path, X)
    for kind in ("ldac", "uci"):  # gensim wants the words beside these
        Path(f"{paths[kind]}.vocab").write_text("\n".join(vocabulary.terms_) + "\n", encoding="utf-8")

    def stream(kind: str) -> float:
        return sum(float(chunk.sum()) for chunk in read_bags(paths[kind], columns=X.shape[1]))

    def total(corpus: Iterable[Any]) -> float:
        return sum(value for document in corpus for _, value in document)

    def same_matrix() -> str:
        ours, theirs = read_bags(paths["svmlight"]).load(), load_svmlight_file(paths["svmlight"])[0]
        return f"{X.nnz} entries, equal matrices: {(ours != theirs).nnz == 0}"

    table = [
        Job(f"{name}: SVMlight, loaded", lambda: read_bags(paths["svmlight"]).load(),
            lambda: load_svmlight_file(paths["svmlight"]), "scikit-learn loader", same_matrix,
            figure="processor", bar=2.0,
            claim="reading SVMlight")
    ]  # fmt: skip
    for kind, title, peer, bar in (
        ("mm", "Matrix Market", MmCorpus, 5.0),
        ("ldac", "LDA-C", BleiCorpus, None),
        ("uci", "UCI", UciCorpus, None),
    ):

        def theirs(kind: str = kind, peer: Any = peer) -> float:
            return total(peer(paths[kind]))

        def quality(kind: str = kind, theirs: Any = theirs) -> str:
            return f"{X.nnz} entries, sums equal: {stream(kind) == float(theirs()) == float(X.sum())}"

        table.append(
            Job(f"{name}: {title}, streamed", lambda kind=kind: stream(kind), theirs, f"gensim {peer.__name__}",
                quality, figure="processor", bar=bar, claim=f"reading {title}")
        )  # fmt: skip
    return table
