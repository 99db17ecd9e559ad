"""Reading files of bags: textmill against gensim's readers and scikit-learn's, on 20 Newsgroups.

TEXTMILL_DATA=... python -m bench formats
"""

from __future__ import annotations

import atexit
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bench.harness import Job, Options
from textmill.corpus import Vocabulary, read_bags, read_documents, write_bags

PACKAGES = ["gensim", "scikit-learn", "scipy"]


def jobs(options: Options) -> list[Job]:
    """All comparisons; the files are written first."""
    from gensim.corpora import BleiCorpus, MmCorpus, UciCorpus
    from sklearn.datasets import load_svmlight_file

    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    texts = list(read_documents(options.data / "newsgroups" / "20news.jsonl.gz").texts())[
        : 500 if options.quick else None
    ]
    vocabulary = Vocabulary()
    X = vocabulary.fit_transform(texts)
    paths = {kind: str(Path(folder.name, f"news.{kind}")) for kind in ("mm", "svmlight", "ldac", "uci")}
    for path in paths.values():
        write_bags(path, X)
    for kind in ("ldac", "uci"):  # gensim wants the words beside these
        Path(f"{paths[kind]}.vocab").write_text("\n".join(vocabulary.terms_) + "\n", encoding="utf-8")

    def stream(kind: str) -> float:
        return sum(float(chunk.sum()) for chunk in read_bags(paths[kind], columns=X.shape[1]))

    def documents(corpus: Iterable[Any]) -> float:
        return sum(value for document in corpus for _, value in document)

    def equal(kind: str, theirs: Callable[[], float]) -> Callable[[], str]:
        return lambda: f"{X.nnz} entries, sums equal: {stream(kind) == float(theirs()) == float(X.sum())}"

    def mm() -> float:
        return documents(MmCorpus(paths["mm"]))

    def svmlight() -> float:
        return float(load_svmlight_file(paths["svmlight"])[0].sum())

    def ldac() -> float:
        return documents(BleiCorpus(paths["ldac"]))

    def uci() -> float:
        return documents(UciCorpus(paths["uci"]))

    ours = read_bags(paths["svmlight"]).load()
    same = (ours != load_svmlight_file(paths["svmlight"])[0]).nnz == 0
    return [
        Job("Matrix Market, streamed", lambda: stream("mm"), mm, "gensim MmCorpus", equal("mm", mm), bar=5.0),
        Job("SVMlight, loaded", lambda: read_bags(paths["svmlight"]).load(), svmlight, "scikit-learn loader",
            lambda: f"{X.nnz} entries, equal matrices: {same}", bar=2.0),
        Job("LDA-C, streamed", lambda: stream("ldac"), ldac, "gensim BleiCorpus", equal("ldac", ldac)),
        Job("UCI, streamed", lambda: stream("uci"), uci, "gensim UciCorpus", equal("uci", uci)),
    ]  # fmt: skip
