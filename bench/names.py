"""Name matching: textmill against rapidfuzz, jellyfish, py_stringmatching, sparse_dot_topn and scikit-learn.

    TEXTMILL_DATA=... python -m bench names

matrices   all pairs of 5,000 names, 5,000 words and 2,000 sentences by a character measure, one thread and two, float32
           as rapidfuzz gives
per pair   microseconds a pair of words-level measures on one thread, once tables are built; py_stringmatching needs an
           older NumPy: `make .venv-peer-py_stringmatching`, where it times itself
pairs/s    against three million pairs a second on two threads
self-join  100,000 generated names at threshold 0.6 in a process of its own: seconds against 300, MiB against 4,096
top-n      pairs of trigram TF-IDF vectors above 0.6 against sparse_dot_topn
F1         100 less the macro average of the best F1 over six sets; a peer is beaten where the ratio is above 1;
           py_stringmatching is scored, and compared, on the sets of at most 1,000 names
adaptive   100 less the best F1 of the default measure on each set, against the best of ten peers on that very set;
           beside it what the default scores when its three constants are chosen on all other sets
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.harness import Figure, Job, Options
from textmill.corpus import sample_articles
from textmill.strings import Auto, Normalizer, parse_measure
from textmill.strings.adaptive import LEAST_PAIRS, ORDER, RARITY, SPELLING, Evidence
from textmill.strings.pairs import Pairs
from textmill.strings.word_join import WordJoin
from textmill.tasks.names import read_names
from textmill.tasks.names.generate import generate_names

PACKAGES = ["jellyfish", "rapidfuzz", "scikit-learn", "sparse_dot_topn"]

WORDS = "words(split='regex')"
CONTEXT = f"ml({WORDS}, sub=ml(trigrams, sub=context), transpositions='extended')"
SOFT = f"softtfidf({WORDS}, sub=jaro_winkler, theta=0.9)"
OURS = {
    "cosine": f"cosine({WORDS})",
    "tfidf": f"tfidf({WORDS})",
    "soft/3g": f"softtfidf({WORDS}, sub=tfidf(trigrams), symmetry='mean')",
    "ml-ext/ml-context": CONTEXT,
    "ml-ext/levenshtein": f"ml({WORDS}, sub=levenshtein, transpositions='extended')",
    "ml-ext/jaro^3": f"ml({WORDS}, sub=power(jaro, 3), transpositions='extended')",
}
SETS = ("parks", "business", "restaurant", "gameExtracted", "vaUniv", "synthetic")
ALL_SETS = (
    "birdKunkel",
    "business",
    "gameExtracted",
    "parks",
    "restaurant",
    "ucdPeopleCluster",
    "ucdPeopleMatch",
    "vaUniv",
)
PEER = Path(__file__).parents[1] / ".venv-peer-py_stringmatching" / "bin" / "python"

# Reads {"names", "pairs", "all"}; prints seconds for the pairs, or scores of all pairs i < j.
PY_STRINGMATCHING = """
import json, sys, time
import py_stringmatching as sm
given = json.load(open(sys.argv[1]))
words = [name.split() for name in given["names"]]
measure = sm.SoftTfIdf(words, sim_func=sm.JaroWinkler().get_raw_score, threshold=0.9)
def score(x, y):
    try:
        return measure.get_raw_score(x, y)
    except ZeroDivisionError:
        return 0.0
start = time.perf_counter()
scores = [score(words[i], words[j]) for i, j in given["pairs"]]
print(json.dumps({"seconds": time.perf_counter() - start, "scores": scores if given["scores"] else []}))
"""

SELF_JOIN = """
import sys, time
from textmill.strings import Matcher
from textmill.tasks.names.generate import generate_names
names = generate_names(int(sys.argv[1]), random_state=1).names[: int(sys.argv[2])]
start = time.perf_counter()
pairs = Matcher(measure=sys.argv[3], threshold=0.6, n_jobs=2).fit(names).pairs()
seconds = time.perf_counter() - start
memory = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
print(seconds, memory, len(pairs.score))
"""


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    names = generate_names(300 if options.quick else 2_700, random_state=1).names[: 300 if options.quick else 5_000]
    quality = [*_quality(options), *_adaptive(options)]
    return [*_matrices(names, options), *_per_pair(names), *_self_join(options, names), *_top_n(options), *quality]


def _matrices(names: list[str], options: Options) -> list[Job]:
    texts = [article["text"] for article in sample_articles()]
    words = sorted({word for text in texts for word in text.split()})
    sentences = sorted({sentence.strip() for text in texts for sentence in text.split(". ")})
    few = options.quick
    lists = {"names": names, "words": words[: 300 if few else 5_000], "sentences": sentences[: 100 if few else 2_000]}
    return [*(job for kind, some in lists.items() for job in matrix_jobs(kind, some)), _one_by_one(names)]


def matrix_jobs(kind: str, names: list[str]) -> list[Job]:
    from rapidfuzz import process
    from rapidfuzz.distance import OSA, Jaro, JaroWinkler, Levenshtein

    peers = {"levenshtein": Levenshtein, "osa": OSA, "jaro": Jaro, "jaro_winkler": JaroWinkler}
    made = []
    for name, peer in peers.items():
        winkler = "(window='winkler', half_transpositions='floor')" if name.startswith("jaro") else ""
        fitted = parse_measure(name + winkler).fit(names)
        for threads in (1, 2):
            ours = partial(fitted.matrix, names, n_jobs=threads, dtype=np.float32)
            scorer = peer.normalized_similarity
            theirs = partial(process.cdist, names, names, scorer=scorer, workers=threads, dtype=np.float32)
            quality = partial(_difference, ours, theirs)
            size = f"{threads} thread{'s' * (threads > 1)}"
            title = f"{name}, {len(names)} x {len(names)} {kind}, {size}"
            figure: Figure = "processor" if threads == 1 else "clock"
            made.append(
                Job(title, ours, theirs, "rapidfuzz cdist", quality, figure=figure, bar=1.0, claim=f"{name}, {size}")
            )
    return made


def _difference(ours: Callable[[], Any], theirs: Callable[[], Any]) -> str:
    return f"largest difference {np.abs(ours() - theirs()).max():.1e}"


def _one_by_one(names: list[str]) -> Job:
    import jellyfish

    some = names[:300]
    fitted = parse_measure("jaro(window='winkler', half_transpositions='floor')").fit(some)
    theirs = partial(_each, jellyfish.jaro_similarity, some)
    ours = partial(fitted.matrix, some, n_jobs=1)
    return Job(f"jaro, {len(some)} x {len(some)}", ours, theirs, "jellyfish", partial(_difference, ours, theirs))


def _each(score: Callable[[str, str], float], names: list[str]) -> Any:
    return np.array([[score(a, b) for b in names] for a in names])


def _per_pair(names: list[str]) -> list[Job]:
    random = np.random.default_rng(1)
    pairs = random.integers(0, len(names), (20_000, 2)).tolist()

    def theirs() -> float:
        return _py_stringmatching(names, pairs, scores=False)["seconds"] / len(pairs) * 1e6

    def ours(join: WordJoin, threads: int) -> float:
        start = time.perf_counter()
        join.matrix(threads)
        return (time.perf_counter() - start) / len(names) ** 2 * 1e6

    made = []
    for title, text in (("Soft-TFIDF/Jaro-Winkler", SOFT), ("ML-ext/ML-context", CONTEXT)):
        join = parse_measure(text).fit(names).join(names, n_jobs=2)
        assert isinstance(join, WordJoin)
        filled = f"{join.table.nnz / max(1, join.table.shape[0]):.0f} neighbors per word"
        if PEER.exists():
            made.append(
                Job(
                    f"{title}, us a pair, 1 thread",
                    partial(ours, join, 1),
                    theirs,
                    "py_stringmatching SoftTfIdf",
                    partial(str, filled),
                    figure="returned",
                    label="µs",
                    bar=100.0,
                )
            )
        made.append(
            Job(
                f"{title}, us a pair, 2 threads",
                partial(ours, join, 2),
                lambda: 1 / 3,
                "3 million a second",
                partial(str, filled),
                figure="returned",
                label="µs",
                bar=1.0,
            )
        )
    return made  # fmt: skip


def _py_stringmatching(names: list[str], pairs: list[list[int]], *, scores: bool) -> dict[str, Any]:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"names": names, "pairs": pairs, "scores": scores}, file)
        file.flush()
        done = subprocess.run([PEER, "-c", PY_STRINGMATCHING, file.name], check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _self_join(options: Options, names: list[str]) -> list[Job]:
    size = 2_000 if options.quick else 100_000
    made = []
    for title, text in (("ML-ext/Jaro^3", OURS["ml-ext/jaro^3"]), ("ML-ext/ML-context", CONTEXT)):
        run = cache(partial(_joined, size, text))
        equal = partial(_equal_to_brute_force, names, text)
        made.append(
            Job(
                f"self-join of {size}, {title}, seconds",
                lambda run=run: run()[0],
                lambda: 300.0,
                "5 minutes",
                equal,
                figure="returned",
                bar=1.0,
            )
        )
        made.append(
            Job(
                f"self-join of {size}, {title}, MiB",
                lambda run=run: run()[1],
                lambda: 4096.0,
                "4 GiB",
                lambda run=run: f"{run()[2]:.0f} pairs",
                figure="returned",
                label="MiB",
                bar=1.0,
            )
        )
    return made  # fmt: skip


def _joined(size: int, measure: str) -> list[float]:
    """Seconds, MiB and pairs of a self-join in a process of its own."""
    command = [sys.executable, "-c", SELF_JOIN, str(size * 51 // 100), str(size), measure]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float(field) for field in done.stdout.split()]


def _equal_to_brute_force(names: list[str], measure: str) -> str:
    fitted = parse_measure(measure).fit(names)
    found = fitted.join(names, min_word_similarity=0.3, n_jobs=2).among(0, len(names), 0.6, 0, 2)
    scores = np.triu(fitted.matrix(names, n_jobs=2), 1)
    rounding = 1e-6  # tables of words are float32
    wanted = {*zip(*np.nonzero(scores >= 0.6 + rounding), strict=True)}
    missed = len(wanted - {*zip(found.left, found.right, strict=True)})
    wrong = int((np.abs(found.score - scores[found.left, found.right]) > rounding).sum())
    return f"{missed} pairs missed, {wrong} scores differ from brute force on {len(names)} names"


def _top_n(options: Options) -> list[Job]:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sparse_dot_topn import sp_matmul_topn

    names = generate_names(500 if options.quick else 10_000, random_state=2).names

    def theirs() -> Any:
        X = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), lowercase=False).fit_transform(names)
        return sp_matmul_topn(X, X.T.tocsr(), top_n=100, threshold=0.6, n_threads=2)

    def ours(text: str) -> Pairs:
        return (
            parse_measure(text)
            .fit(names)
            .join(names, min_word_similarity=0.3, n_jobs=2)
            .among(0, len(names), 0.6, 100, 2)
        )

    def quality(text: str) -> str:
        return f"{len(ours(text).score)} pairs, {theirs().nnz - len(names)} there, where n-grams do not cross words"

    return [
        Job(f"{len(names)} names above 0.6, {text.split('(')[0]}", partial(ours, text), theirs, "sparse_dot_topn",
            partial(quality, text), bar=bar)
        for text, bar in (("tfidf(trigrams)", 1.0), (OURS["ml-ext/levenshtein"], None))
    ]  # fmt: skip


def _quality(options: Options) -> list[Job]:
    folder = options.data / "names"
    sets = SETS[:1] if options.quick else SETS
    ours = {name: _figures(folder, sets, partial(_our_scores, text)) for name, text in OURS.items()}
    best = max(ours, key=lambda name: _macro(ours[name]))
    peers = {name: partial(_rapidfuzz_scores, name) for name in _rapidfuzz_scorers()}
    peers["char-trigram TF-IDF cosine"] = _trigram_scores
    made = [_against(best, ours[best], name, _figures(folder, sets, scores)) for name, scores in peers.items()]
    if PEER.exists():  # some 10,000 pairs a second: minutes for the larger sets
        small = tuple(name for name in sets if len(_labeled(folder, name)[0]) <= 1_000)
        same = {name: ours[best][name] for name in small}
        made.append(_against(best, same, "py_stringmatching SoftTfIdf", _figures(folder, small, _soft_scores)))
    return made + [_against(name, figures, best, ours[best], bar=None) for name, figures in ours.items()]


def _adaptive(options: Options) -> list[Job]:
    """The default measure against the best of ten peers of each set, and with constants chosen without the set."""
    sets = ("parks", "vaUniv", "ucdPeopleMatch") if options.quick else ALL_SETS
    rows = {name: _adapted(options.data / "names", name) for name in sets}
    made = []
    shortfalls, left_out = [], []
    for name, row in rows.items():
        constants = _constants([other for key, other in rows.items() if key != name])
        ours, without = row.figure(SPELLING, ORDER, RARITY), row.figure(*constants)
        shortfalls.append(row.peer - ours)
        left_out.append(row.peer - without)
        quality = f"{row.best_peer}; left out {without:.1f} by {constants}; {row.evidence}"
        lacks = partial(float, 100 - ours), partial(float, 100 - row.peer)
        title = f"100 - F1, default, {name}"
        made.append(Job(title, *lacks, "best of ten peers", partial(str, quality), figure="returned", label="points"))
    shown = [max(shortfalls), min(shortfalls), float(np.mean(left_out)), max(left_out)]
    each = "worst {:.2f}, best {:.2f}; left out {:.2f}, worst {:.2f}".format(*shown)
    mean = partial(float, np.mean([100 - row.figure(SPELLING, ORDER, RARITY) for row in rows.values()]))
    theirs = partial(float, np.mean([100 - row.peer for row in rows.values()]))
    title = f"100 - F1, default, mean of {len(rows)} sets"
    quality = f"mean shortfall {np.mean(shortfalls):.2f}, {each}"
    peer, options_of = "best of ten peers of each set", {"figure": "returned", "label": "points", "bar": 1.0}
    return [*made, Job(title, mean, theirs, peer, partial(str, quality), **options_of)]


class _Adapted(NamedTuple):
    """What a list tells, the figures of all that the default may become on it, and the best of ten peers."""

    evidence: Evidence
    figures: dict[tuple[bool, bool, bool], float]  # by whether spelling, order and rare words vary
    best_peer: str
    peer: float

    def figure(self, spelling: float, order: float, rarity: float) -> float:
        seen = self.evidence
        varies = seen.spelling >= spelling, seen.order >= order, seen.rarity >= rarity
        return self.figures[varies if seen.pairs >= LEAST_PAIRS else (False, False, False)]


def _constants(rows: list[_Adapted]) -> tuple[float, float, float]:
    """The least spelling, order and rarity that are best on average; of equals those nearest to the middle."""
    grid = product(
        (0.01, 0.005, 0.015, 0.02, 1.0), (0.1, 0.2, 0.05, 0.5, 2.0), (0.0, 0.05, -0.05, 0.1, -0.1, 1.0, -1.0)
    )
    return max(grid, key=lambda bounds: round(float(np.mean([row.figure(*bounds) for row in rows])), 6))


def _adapted(folder: Path, name: str) -> _Adapted:
    names, truth, counted = _labeled(folder, name)
    names = [Normalizer(case=True, accents=True)(text) for text in names]
    fitted = Auto().fit(names)
    assert fitted.evidence is not None
    figures = {}
    for spelled, sub in ((True, "tfidf(trigrams)"), (False, "power(jaro, 6)")):
        for turned, text in (
            (True, "assignment({}, sub={}, weights='{}')"),
            (False, "ml({}, sub={}, weights='{}', transpositions='extended')"),
        ):
            for damped, weights in ((True, "damped"), (False, "idf")):
                scores = _our_scores(text.format(WORDS, sub, weights), names)
                figures[spelled, turned, damped] = 100 * best_f1(scores[counted], truth[counted])
    chosen = figures[_choice(fitted.evidence)]
    assert abs(chosen - 100 * best_f1(fitted.matrix(names, n_jobs=2)[counted], truth[counted])) < 1e-9
    peers: dict[str, float] = {}
    for peer, scores_of in _ten_peers().items():
        peers[peer] = 100 * best_f1(np.asarray(scores_of(names))[counted], truth[counted])
    best = max(peers, key=lambda peer: peers[peer])
    return _Adapted(fitted.evidence, figures, best, peers[best])


def _choice(evidence: Evidence) -> tuple[bool, bool, bool]:
    return evidence.spelling_varies, evidence.order_varies, evidence.rare_words_vary


def _ten_peers() -> dict[str, Callable[[list[str]], Any]]:
    fuzzy = ["ratio", "partial_ratio", "token_sort_ratio", "token_set_ratio", "WRatio", "QRatio", "JaroWinkler"]
    peers: dict[str, Callable[[list[str]], Any]] = {
        name: partial(_rapidfuzz_scores, f"rapidfuzz {name}") for name in fuzzy
    }
    return peers | {"trigrams": _trigram_scores, "words": _word_scores, "soft": partial(_our_scores, SOFT)}


def _word_scores(names: list[str]) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    X = TfidfVectorizer(token_pattern=r"(?u)\w+").fit_transform(names)
    return (X @ X.T).toarray()


def _against(name: str, figures: dict[str, float], peer: str, theirs: dict[str, float], bar: float | None = 1.0) -> Job:
    """A line of the table: what both lack to 100, and the figures of all sets of the peer, or of ours without a bar."""
    each = ", ".join(f"{key} {figure:.1f}" for key, figure in (figures if bar is None else theirs).items())
    of = "" if len(figures) == len(SETS) else f", {len(figures)} sets"
    lacks = partial(float, 100 - _macro(figures)), partial(float, 100 - _macro(theirs))
    return Job(f"100 - F1{of}, {name}", *lacks, peer, partial(str, each), figure="returned", label="points", bar=bar)


def _macro(figures: dict[str, float]) -> float:
    return float(np.mean(list(figures.values())))


def _figures(folder: Path, sets: tuple[str, ...], scores: Callable[[list[str]], Any]) -> dict[str, float]:
    """The best F1 of each set, in percent."""
    figures = {}
    for name in sets:
        names, truth, counted = _labeled(folder, name)
        matrix = np.asarray(scores(names))
        figures[name] = 100 * best_f1(matrix[counted], truth[counted])
    return figures


@cache
def _labeled(folder: Path, name: str) -> tuple[list[str], Any, Any]:
    """Names, whether two are the same entity, and which pairs count: those of two relations where there are two."""
    if name == "synthetic":
        made = generate_names(random_state=0)
        names, keys, relations = made.names, made.clusters, None
    else:
        encoding = "latin-1" if name == "ucdPeopleCluster" else "utf-8"
        made = read_names(folder / f"{name}.txt", format="secondstring", encoding=encoding)
        once = dict(zip(zip(made.relations, made.names, strict=True), made.clusters, strict=True))  # each name once
        relations, names = zip(*once, strict=True)
        keys = list(once.values())
    truth = np.equal.outer(np.array(keys), np.array(keys))
    counted = np.triu(np.ones_like(truth), 1)
    if relations is not None and len(set(relations)) == 2:
        counted &= np.not_equal.outer(np.array(relations), np.array(relations))
    return [text.lower() for text in names], truth, counted


def best_f1(scores: Any, truth: Any) -> float:
    """The largest F1 of any cut between distinct scores."""
    order = np.argsort(-scores, kind="stable")
    scores, truth = scores[order], truth[order]
    ends = np.r_[np.flatnonzero(np.diff(scores)), len(scores) - 1]
    hits = np.cumsum(truth)[ends]
    return float((2 * hits / (ends + 1 + truth.sum())).max())


def _our_scores(measure: str, names: list[str]) -> Any:
    return parse_measure(measure).fit(names).matrix(names, n_jobs=2)


def _rapidfuzz_scorers() -> dict[str, Any]:
    from rapidfuzz import distance, fuzz

    fuzzy = ["ratio", "partial_ratio", "token_sort_ratio", "token_set_ratio", "token_ratio", "partial_token_sort_ratio",
             "partial_token_set_ratio", "partial_token_ratio", "WRatio", "QRatio"]  # fmt: skip
    classes = ["Levenshtein", "OSA", "DamerauLevenshtein", "Indel", "LCSseq", "Jaro", "JaroWinkler"]
    found = {f"rapidfuzz {name}": getattr(fuzz, name) for name in fuzzy}
    return found | {f"rapidfuzz {name}": getattr(distance, name).normalized_similarity for name in classes}


def _rapidfuzz_scores(name: str, names: list[str]) -> Any:
    from rapidfuzz import process

    names = [" ".join(re.findall(r"\w+", name)) for name in names]  # as the measures of words see them
    return process.cdist(names, names, scorer=_rapidfuzz_scorers()[name], workers=2, dtype=np.float64)


def _trigram_scores(names: list[str]) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    X = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3)).fit_transform(names)
    return (X @ X.T).toarray()


def _soft_scores(names: list[str]) -> Any:
    names = [" ".join(re.findall(r"\w+", name)) for name in names]
    pairs = [[i, j] for i in range(len(names)) for j in range(i + 1, len(names))]
    matrix = np.zeros((len(names), len(names)))
    matrix[tuple(np.array(pairs).T)] = _py_stringmatching(names, pairs, scores=True)["scores"]
    return matrix
