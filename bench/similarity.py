"""Similar articles: lists of all documents, questions, upserts, and how good neighbors and subject codes are.

TEXTMILL_DATA=... python -m bench similarity

Seconds are those of the processor in the thread that had most of them, which is what the clock would show on an idle
machine. gensim answers a part of the questions, and its time is multiplied up to all of them. The appendix has what is
no matter of speed: precision on 20 Newsgroups under noise, classification, several codes on Reuters, pairs of
languages, memory.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from bench.harness import Job, Options, measured
from textmill.corpus import Vocabulary, read_records
from textmill.model import effective_jobs
from textmill.tasks import SimilarDocuments
from textmill.tasks.similarity import NeighborTable, SubjectClassifier, fit_joint_space, mate_retrieval
from textmill.tasks.similarity.building import Building
from textmill.topics import LSA
from textmill.vectors import Index, Searched, Weighting

PACKAGES = ["gensim", "scikit-learn", "scipy"]

_options = Options()


def jobs(options: Options) -> list[Job]:
    """All comparisons of speed."""
    global _options
    _options = options
    return [*_dense(options), *_sparse(options), *_upserts(options), *_newsgroups(options)]


def vectors(rows: int, columns: int = 200) -> Any:
    """Rows like those of LSA: falling columns, around 200 centers."""
    random = np.random.default_rng(0)
    scale = (1.0 / np.sqrt(1.0 + np.arange(columns))).astype(np.float32)
    centers = random.standard_normal((200, columns), dtype=np.float32) * scale
    X = centers[random.integers(200, size=rows)] + random.standard_normal((rows, columns), dtype=np.float32) * scale
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def _shared(work: Callable[[], Any]) -> float:
    """Seconds of work that is shared evenly by threads which end with it."""
    start = time.process_time()
    work()
    return (time.process_time() - start) / effective_jobs(None)


def _dense(options: Options) -> list[Job]:
    from gensim.similarities import MatrixSimilarity

    X = vectors(4000 if options.quick else 65_000)
    index = Index().fit(X)
    table = NeighborTable()
    table.numbers_, table.measure_ = index.ids_, "cosine"
    result: dict[str, Any] = {}

    def ours() -> float:
        def build() -> None:
            work = Building(table, [Searched(index)], 10, None, effective_jobs(None))
            work.by_tiles()
            result["lists"] = work.neighbors

        return _shared(build)

    peer = MatrixSimilarity([], num_features=200, num_best=10)
    peer.index = X
    asked = 512 if options.quick else 2048

    def theirs() -> float:
        def answer() -> None:
            result["theirs"] = [row for begin in range(0, asked, 256) for row in peer[X[begin : begin + 256]]]

        return measured(answer, "busiest") * len(X) / asked

    def quality() -> str:
        theirs = [{i for i, score in row if i != n and score > 0} for n, row in enumerate(result["theirs"])]
        same = sum(len(some & set(result["lists"][n].tolist())) for n, some in enumerate(theirs))
        return f"{same / sum(map(len, theirs)):.4f} of its positive neighbors are in our lists"

    return [Job("top 10 of all 65,000 x 200", ours, theirs, "gensim MatrixSimilarity", quality, "returned", bar=8.0)]


def _postings(rows: int, columns: int) -> sparse.csr_matrix:
    """Unit rows with about 100 terms that fall off as words do, weighted by idf."""
    random = np.random.default_rng(1)
    ranks = np.exp(random.random((rows, 100)) * np.log(columns)).astype(np.int64) - 1
    indptr = np.arange(rows + 1) * 100
    X = sparse.csr_matrix((np.ones(rows * 100), ranks.ravel(), indptr), shape=(rows, columns))
    X.sum_duplicates()
    frequency = np.bincount(X.indices, minlength=columns)
    X.data *= np.log(rows / np.maximum(frequency, 1))[X.indices]
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sparse.csr_matrix(sparse.diags(1 / np.maximum(norms, 1e-12)) @ X).astype(np.float32)


def _sparse(options: Options) -> list[Job]:
    from gensim.similarities import SparseMatrixSimilarity

    X = _postings(3000 if options.quick else 65_000, 5000 if options.quick else 100_000)
    index = Index().fit(X)
    peer = SparseMatrixSimilarity([[]], num_features=X.shape[1], num_best=10)
    peer.index, peer.normalize = X.copy(), False
    Q = X[:: X.shape[0] // 64][:64]
    rows = [Q[i] for i in range(64)]
    lists = [list(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in Q]

    def quality() -> str:
        theirs = [{i for i, _ in peer[one]} for one in lists[:16]]
        mine = index.query(Q[:16], k=10)
        same = sum(len(set(one.ids.tolist()) & other) for one, other in zip(mine, theirs, strict=True))
        return f"{same} of its 160 answers are ours"

    def single() -> None:
        for row in rows:
            index.query(row, k=10)

    def many() -> float:
        return _shared(lambda: index.query(Q, k=10))

    def theirs() -> None:
        for one in lists:
            peer[one]

    name = "gensim SparseMatrixSimilarity"
    return [
        Job("64 questions, one by one, 65,000 x 100,000", single, theirs, name, quality, "processor", bar=20.0),
        Job(
            "64 questions together, 65,000 x 100,000",
            many,
            lambda: measured(theirs, "processor"),
            name,
            quality,
            "returned",
            bar=20.0,
        ),
    ]


def _upserts(options: Options) -> list[Job]:
    X = vectors(4000 if options.quick else 65_000)
    similar = SimilarDocuments()
    similar.index_, similar.fingerprint_, similar.model_ = Index().fit(X[:-400]), "none", None
    table = NeighborTable.build(similar, k=10)
    places = iter(range(len(X) - 400, len(X)))

    def upsert() -> None:
        i = next(places)
        similar.index_.add(X[i : i + 1])
        table.update(similar)

    def ours() -> None:
        for _ in range(20):
            upsert()

    def questions() -> None:
        for i in range(20):
            similar.index_.query(X[i : i + 1], k=10)

    first = 1e3 * measured(upsert, "processor")  # takes room for half as many vectors again, and copies all into it
    quality = f"at most 5 times as long: 0.2x; the first of all copies the index into more room: {first:.0f} ms"
    return [
        Job("20 upserts with their lists", ours, questions, "20 questions", lambda: quality, "processor", bar=0.2),
    ]


@cache
def posts(per_group: int) -> tuple[list[str], list[str]]:
    """The first posts of each of the 20 groups without headers and quotes, and their groups."""
    counts: dict[str, int] = {}
    texts, groups = [], []
    for record in read_records(_options.data / "newsgroups" / "20news.jsonl.gz"):
        group = record.fields["group"]
        counts[group] = counts.get(group, 0) + 1
        if counts[group] <= per_group:
            texts.append(stripped(record.fields["text"]))
            groups.append(group)
    return texts, groups


def stripped(text: str) -> str:
    """A post without header lines at its beginning and without quoted lines."""
    lines = text.split("\n")
    while lines and (not lines[0].strip() or re.match(r"[A-Z][\w-]*: ", lines[0])):
        lines.pop(0)
    quoted = re.compile(r"\s*[>|:]|.*(writes|wrote|says):?\s*$")
    return "\n".join(line for line in lines if not quoted.match(line))


def noisy(text: str, rate: float, random: np.random.Generator) -> str:
    """Letters replaced by others, as by a bad scanner."""
    letters = np.array(list(text))
    if not len(letters):
        return text
    wrong = (random.random(len(letters)) < rate) & np.char.isalpha(letters)
    letters[wrong] = random.choice(list("abcdefghijklmnopqrstuvwxyz"), int(wrong.sum()))
    return "".join(letters.tolist())


def precision(index: Index, groups: list[str], k: int = 10) -> float:
    """Share of the k nearest that are in the same group."""
    similar = SimilarDocuments()
    similar.index_, similar.fingerprint_ = index, "none"
    table = NeighborTable.build(similar, k=k)
    names = np.array(groups)
    there = table.neighbors_ >= 0
    return float(((names[np.maximum(table.neighbors_, 0)] == names[:, None]) & there).mean())


def spaces(texts: list[str]) -> dict[str, Any]:
    """Counts, TF-IDF and LSA(100) of texts."""
    bags = Vocabulary(min_df=5, max_df=0.3).fit_transform(texts)
    ntc = Weighting(scheme="ntc").fit(bags).transform(bags)
    return {
        "counts": bags.astype(np.float64),
        "ntc": ntc,
        "LSA(100)": LSA(n_topics=100, random_state=0).fit(ntc).transform(ntc),
    }


def _newsgroups(options: Options) -> list[Job]:
    texts, groups = posts(20 if options.quick else 250)
    names = np.array(groups)
    made = spaces(texts)
    out = []
    for name, X in made.items():
        index = Index().fit(X)
        result: dict[str, float] = {}

        def ours(index: Index = index, result: dict[str, float] = result) -> None:
            result["ours"] = precision(index, groups)

        def peer(X: Any = X, result: dict[str, float] = result) -> None:
            from sklearn.neighbors import NearestNeighbors

            nearest = NearestNeighbors(n_neighbors=11, metric="cosine", algorithm="brute").fit(X)
            found = nearest.kneighbors(X, return_distance=False)
            lists = [[j for j in row if j != i][:10] for i, row in enumerate(found.tolist())]
            result["peer"] = float(np.mean([names[row] == names[i] for i, row in enumerate(lists)]))

        def quality(result: dict[str, float] = result) -> str:
            return f"precision@10 {result['ours']:.3f}, peer {result['peer']:.3f}"

        out.append(Job(f"neighbors of {len(texts):,} posts, {name}", ours, peer, "scikit-learn", quality, "processor"))
    return out


def appendix() -> str:
    """Quality and memory; nothing where only some jobs were asked for."""
    if _options.only:
        return ""
    return "\n\n".join([_noise(), _subjects(), _reuters(), _languages(), _memory()])


def _noise() -> str:
    texts, groups = posts(20 if _options.quick else 250)
    lines = ["letters replaced   counts    ntc   LSA(100)    precision@10, vocabulary rebuilt"]
    random = np.random.default_rng(0)
    for rate in (0.0, 0.02, 0.05, 0.1):
        made = spaces([noisy(text, rate, random) for text in texts])
        figures = [precision(Index().fit(X), groups) for X in made.values()]
        lines.append(f"{rate:>16.0%} {figures[0]:>8.3f} {figures[1]:>6.3f} {figures[2]:>10.3f}")
    return "\n".join(lines)


def _folds(size: int) -> Any:
    return np.random.default_rng(0).permutation(size) % 3


def _subjects() -> str:
    from sklearn.svm import LinearSVC

    texts, groups = posts(20 if _options.quick else 250)
    fold = _folds(len(texts))
    vocabulary = Vocabulary(min_df=5, max_df=0.3)
    lines = ["features   ours (svm, atc, MI)   LinearSVC, same features   random features     accuracy, 3 folds"]
    for size in (500, 1000, 2000, None):
        rows = []
        for f in range(3):
            inside, outside = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
            X, y = [texts[i] for i in inside], [groups[i] for i in inside]
            test, gold = [texts[i] for i in outside], [groups[i] for i in outside]
            model = SubjectClassifier(n_features=size, vocabulary=vocabulary).fit(X, y)
            right = model.score(test, gold)
            features = [model._inputs(model.vocabulary_.transform(some)) for some in (X, test)]
            peer = LinearSVC(random_state=0).fit(features[0], y).score(features[1], gold)
            chosen = model.features_
            everything = len(model.vocabulary_)
            model.features_ = np.sort(np.random.default_rng(f).choice(everything, len(chosen), replace=False))
            model.frequency_ = model.vocabulary_.document_frequency_[model.features_]
            luck = [model._inputs(model.vocabulary_.transform(some)) for some in (X, test)]
            random = LinearSVC(random_state=0).fit(luck[0], y).score(luck[1], gold)
            rows.append((right, peer, random))
        means = np.mean(rows, axis=0)
        lines.append(f"{size or 'all':>8} {means[0]:>20.3f} {means[1]:>26.3f} {means[2]:>17.3f}")
    return "\n".join(lines)


def _reuters() -> str:
    from sklearn.metrics import f1_score
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    sets: dict[str, tuple[list[str], list[list[str]]]] = {"train": ([], []), "test": ([], [])}
    for record in read_records(_options.data / "reuters" / "reuters21578.jsonl.gz"):
        if record.fields["topics"]:
            side = sets["test" if "test" in str(record.fields["split"]) else "train"]
            side[0].append(record.fields["text"])
            side[1].append(record.fields["topics"])
    if _options.quick:
        sets = {name: (texts[:600], codes[:600]) for name, (texts, codes) in sets.items()}
    (X, y), (test, gold) = sets["train"], sets["test"]
    model = SubjectClassifier(n_features=2000, vocabulary=Vocabulary(min_df=5, max_df=0.3)).fit(X, y)
    names = model.classes_.tolist()
    truth, chosen = (
        np.array([[code in some for code in names] for some in side]) for side in (gold, model.predict(test))
    )
    first = np.mean(
        [names[int(row.argmax())] in some for row, some in zip(model.decision_function(test), gold, strict=True)]
    )
    rows = [model._inputs(model.vocabulary_.transform(some)) for some in (X, test)]
    labels = np.array([[code in some for code in names] for some in y])
    peer = OneVsRestClassifier(LinearSVC(random_state=0)).fit(rows[0], labels).predict(rows[1])
    figures = [f1_score(truth, some, average="micro") for some in (chosen, peer)]
    return (
        f"Reuters, {len(names)} codes, {len(X):,} and {len(test):,} articles, 2,000 features: "
        f"micro F1 {figures[0]:.3f}, "
        f"LinearSVC on the same features {figures[1]:.3f}; first suggestion right {first:.3f}"
    )


def _languages() -> str:
    random = np.random.default_rng(4)
    topics = random.dirichlet(np.full(2000, 0.01), 40)
    pairs = []
    for _ in range(1500):
        mixture = random.dirichlet(np.full(40, 0.1)) @ topics
        pairs.append(tuple(" ".join(f"{tongue}{w}" for w in random.choice(2000, 100, p=mixture)) for tongue in "xy"))
    model = fit_joint_space(pairs[:1000], n_topics=100)
    left, right = zip(*pairs[1000:], strict=True)
    both = mate_retrieval(model, left, right), mate_retrieval(model, right, left)
    return f"pairs of languages, 1,000 to learn from, 500 asked: mates found {both[0]:.3f} and {both[1]:.3f}"


_MEMORY = """
import re, sys
from pathlib import Path
from bench.similarity import vectors
from textmill.model import load
from textmill.tasks import SimilarDocuments
from textmill.tasks.similarity import NeighborTable
similar = SimilarDocuments()
similar.index_, similar.fingerprint_ = load(sys.argv[1]), "none"
table = NeighborTable.build(similar, k=10)
# not ru_maxrss, which begins with what the process had that started this one
print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) >> 10)
"""


def _memory() -> str:
    import os
    import tempfile

    rows = 4000 if _options.quick else 65_000
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/index.mill"
        Index().fit(vectors(rows)).save(path)
        size = os.path.getsize(path) >> 20
        child = subprocess.run([sys.executable, "-c", _MEMORY, path], capture_output=True, text=True, check=True)
    peak = int(child.stdout)
    mine = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    more = f"peak {peak} MB, {peak - size} MB more"
    return f"lists of all {rows:,} x 200 from a mapped index of {size} MB: {more} (this run: {mine} MB)"
