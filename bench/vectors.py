"""Weights and distances: textmill against scikit-learn and gensim on 20 Newsgroups, one thread unless it says so.

TEXTMILL_DATA=... python -m bench vectors
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.harness import Job, Options
from textmill.corpus import Vocabulary, read_documents
from textmill.vectors import Weighting, pairwise_matrix

PACKAGES = ["gensim", "scikit-learn", "scipy"]


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    from gensim.matutils import Sparse2Corpus
    from gensim.models import TfidfModel
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.metrics.pairwise import cosine_similarity, manhattan_distances

    source = options.data / "newsgroups" / "20news.jsonl.gz"
    texts = list(read_documents(source).texts())[: 500 if options.quick else None]
    X = Vocabulary(min_df=2).fit_transform(texts)
    corpus = list(Sparse2Corpus(X, documents_columns=False))
    some = X[: 200 if options.quick else 2000].astype(float)
    few = some[:1000]

    def ours(**options: Any) -> Any:
        return Weighting(n_jobs=1, **options).fit_transform(X)

    def gensim() -> Any:
        model = TfidfModel(corpus)
        return [model[document] for document in corpus]

    def equal() -> str:
        difference = abs(ours(idf="smooth") - TfidfTransformer().fit_transform(X)).max()
        return f"{X.nnz} non-zeros, largest difference {difference:.1e}"

    def close(measure: str, theirs: Any, rows: Any) -> str:
        return f"largest difference {np.abs(pairwise_matrix(rows, measure=measure) - theirs(rows)).max():.1e}"

    def cosine(threads: int) -> Any:
        return pairwise_matrix(some, measure="cosine", n_jobs=threads)

    return [
        Job("TF-IDF", lambda: ours(idf="smooth"), lambda: TfidfTransformer().fit_transform(X), "scikit-learn", equal),
        Job("TF-IDF", lambda: ours(idf="n/d", log_base=2), gensim, "gensim TfidfModel", lambda: "numbers in the tests"),
        Job("all-pairs cosine, sparse", lambda: cosine(1), lambda: cosine_similarity(some), "scikit-learn",
            lambda: close("cosine", cosine_similarity, some)),
        Job("all-pairs cosine, sparse, 2 threads", lambda: cosine(2), lambda: cosine(1), "textmill, 1 thread"),
        Job("all-pairs Manhattan, sparse", lambda: pairwise_matrix(few, measure="manhattan", n_jobs=1),
            lambda: manhattan_distances(few), "scikit-learn", lambda: close("manhattan", manhattan_distances, few)),
    ]  # fmt: skip
