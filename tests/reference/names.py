"""Measures of similarity of names straight from their definitions: slow, obvious, over sequences of anything hashable.

`sim` is a function of two features, `idf` a function of one. Alignments are found by trying all of them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import Any

Items = Sequence[Any]
Sim = Callable[[Any, Any], float]
Idf = Callable[[Any], float]


def equal(a: Hashable, b: Hashable) -> float:
    return float(a == b)


def levenshtein(x: Items, y: Items, transpositions: str = "none") -> int:
    """Fewest insertions, deletions, substitutions, and swaps: "osa" edits no part twice, "damerau" may."""
    last: dict[Any, int] = {}
    n, m = len(x), len(y)
    d = {(i, j): i + j for i in range(n + 1) for j in range(m + 1) if i * j == 0}
    for i in range(1, n + 1):
        in_row = 0
        for j in range(1, m + 1):
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + (x[i - 1] != y[j - 1]))
            if transpositions == "osa" and i > 1 and j > 1 and x[i - 1] == y[j - 2] and x[i - 2] == y[j - 1]:
                d[i, j] = min(d[i, j], d[i - 2, j - 2] + 1)
            k, h = last.get(y[j - 1], 0), in_row
            if transpositions == "damerau" and k and h:
                d[i, j] = min(d[i, j], d[k - 1, h - 1] + (i - k - 1) + 1 + (j - h - 1))
            if x[i - 1] == y[j - 1]:
                in_row = j
        last[x[i - 1]] = i
    return d[n, m]


def edit_similarity(x: Items, y: Items, transpositions: str = "none") -> float:
    return 1 - levenshtein(x, y, transpositions) / max(len(x), len(y)) if x or y else 1.0


def needleman_wunsch(x: Items, y: Items, gap: float, cost: Sim) -> float:
    """Lowest cost of an alignment."""

    @cache
    def best(i: int, j: int) -> float:
        if i == 0 or j == 0:
            return (i + j) * gap
        return min(best(i - 1, j) + gap, best(i, j - 1) + gap, best(i - 1, j - 1) + cost(x[i - 1], y[j - 1]))

    return best(len(x), len(y))


def jaro_window(n: int, m: int, window: str) -> int:
    if window == "paper":
        return min(n, m) // 2
    return min(n, m) // 2 + 1 if window == "secondstring" else max(max(n, m) // 2 - 1, 0)


def jaro(x: Items, y: Items, window: str = "paper", half_transpositions: str = "exact") -> float:
    if not x and not y:
        return 1.0
    limit = jaro_window(len(x), len(y), window)
    used: list[int] = []
    common = []
    for i, a in enumerate(x):
        for j, b in enumerate(y):
            if a == b and abs(i - j) <= limit and j not in used:
                used.append(j)
                common.append(a)
                break
    if not common:
        return 0.0
    t = sum(a != y[j] for a, j in zip(common, sorted(used), strict=True)) / 2
    if half_transpositions == "floor":
        t = math.floor(t)
    k = len(common)
    return (k / len(x) + k / len(y) + (k - t) / k) / 3


def jaro_winkler(x: Items, y: Items, prefix: float = 0.1, boost: float = 0.7, **options: str) -> float:
    score = jaro(x, y, **options)
    same = 0
    while same < min(4, len(x), len(y)) and x[same] == y[same]:
        same += 1
    return min(1.0, score + same * prefix * (1 - score)) if score > boost else score


def overlap(x: Items, y: Items) -> float:
    return len(set(x) & set(y)) / min(len(set(x)), len(set(y)))


def jaccard(x: Items, y: Items) -> float:
    return len(set(x) & set(y)) / len(set(x) | set(y))


def dice(x: Items, y: Items) -> float:
    return 2 * len(set(x) & set(y)) / (len(set(x)) + len(set(y)))


def cosine(x: Items, y: Items, idf: Idf = lambda w: 1.0) -> float:
    """Of type vectors with weights n_w idf(w)."""
    a, b = ({w: n * idf(w) for w, n in Counter(s).items()} for s in (x, y))
    norm = math.sqrt(sum(v * v for v in a.values()) * sum(v * v for v in b.values()))
    return sum(a[w] * b.get(w, 0.0) for w in a) / norm if norm else float(x == y)


def monge_elkan(x: Items, y: Items, sim: Sim) -> float:
    return sum(max(sim(a, b) for b in y) for a in x) / len(x)


def closest(w: Any, others: Items, sim: Sim, theta: float) -> Any:
    """The position of the element nearest to w, above theta: an equal one before others, the first before the rest."""
    best = max(range(len(others)), key=lambda j: (sim(w, others[j]), others[j] == w, -j), default=None)
    return best if best is not None and sim(w, others[best]) > theta else None


def softtfidf(x: Items, y: Items, sim: Sim, idf: Idf, theta: float = 0.0, multiplicity: str = "types") -> float:
    if multiplicity == "types":
        a, b = ({w: n * idf(w) for w, n in Counter(s).items()} for s in (x, y))
        left, right = list(a.items()), list(b.items())
    else:
        left, right = [(w, idf(w)) for w in x], [(w, idf(w)) for w in y]
    total = 0.0
    others = [w for w, _ in right]
    for w, weight in left:
        j = closest(w, others, sim, theta)
        if j is not None:  # an edge to every place of the closest word
            total += sum(weight * other * sim(w, v) for v, other in right if v == others[j])
    return total / math.sqrt(sum(v * v for _, v in left) * sum(v * v for _, v in right))


def original_softtfidf(x: Items, y: Items, sim: Sim, idf: Idf, theta: float) -> float:
    """As printed by Cohen et al. (2003): sum over w in CLOSE of weight(w, X) weight(w, Y) N(w, Y).

    weight(w, Y) is 0 where w is not in Y, and N(w, Y) = 1 where it is: nothing but the cosine.
    """
    a, b = ({w: n * idf(w) for w, n in Counter(s).items()} for s in (x, y))
    norms = math.sqrt(sum(v * v for v in a.values()) * sum(v * v for v in b.values()))
    near = [w for w in a if any(sim(w, v) > theta for v in b)]
    return sum(a[w] * b.get(w, 0.0) * max(sim(w, v) for v in b) for w in near) / norms


Matching = tuple[tuple[int, int], ...]


def matchings(n: int, m: int) -> Iterator[Matching]:
    """All sets of edges in which no vertex has two."""

    def extend(i: int, free: frozenset[int]) -> Iterator[Matching]:
        if i == n:
            yield ()
            return
        for rest in extend(i + 1, free):
            yield rest
        for j in free:
            for rest in extend(i + 1, free - {j}):
                yield ((i, j), *rest)

    return extend(0, frozenset(range(m)))


def allowed(matching: Matching, gap: int | None) -> bool:
    """May a Meta-Levenshtein alignment be this? gap None: no crossing; g: pairs may cross with g elements inside.

    Each edge crosses at most one other, at most g elements lie between the ends of a crossing on each side, and
    nothing that lies there is matched.
    """
    crossings = Counter()
    for (i, j), (k, h) in combinations(matching, 2):
        if (i - k) * (j - h) > 0:
            continue
        if gap is None:
            return False
        crossings[i, j] += 1
        crossings[k, h] += 1
        if abs(i - k) - 1 > gap or abs(j - h) - 1 > gap:
            return False
        if any(min(i, k) < a < max(i, k) or min(j, h) < b < max(j, h) for a, b in matching):
            return False
    return all(times < 2 for times in crossings.values())


def best_matching(weights: Sequence[Sequence[float]], gap: int | str | None) -> float:
    """Largest sum of weights over all allowed matchings; gap "free": any matching (assignment)."""
    n, m = len(weights), len(weights[0]) if weights else 0
    return max(
        sum(weights[i][j] for i, j in matching)
        for matching in matchings(n, m)
        if gap == "free" or allowed(matching, gap)  # type: ignore[arg-type]
    )


def meta_levenshtein(x: Items, y: Items, sim: Sim, idf: Idf, gap: int | str | None = None) -> float:
    """gap None: plain; 0: adjacent transpositions; g: extended; "free": assignment. The recurrence of the paper."""
    w = [[sim(a, b) * idf(a) * idf(b) for b in y] for a in x]
    norm = math.sqrt(sum(idf(a) ** 2 for a in x) * sum(idf(b) ** 2 for b in y))
    if not norm:
        return float(list(x) == list(y))
    if gap == "free":
        return best_matching(w, "free") / norm
    limit = -1 if gap is None else int(gap)
    d = [[0.0] * (len(y) + 1) for _ in range(len(x) + 1)]
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            best = max(d[i - 1][j], d[i][j - 1], d[i - 1][j - 1] + w[i - 1][j - 1])
            for p in range(min(limit, i - 2) + 1):
                for q in range(min(limit, j - 2) + 1):
                    best = max(best, d[i - 2 - p][j - 2 - q] + w[i - 2 - p][j - 1] + w[i - 1][j - 2 - q])
            d[i][j] = best
    return d[-1][-1] / norm


def greedy(x: Items, y: Items, sim: Sim, idf: Idf, theta: float = 0.0) -> float:
    """One-to-one by falling weighted similarity, as today's SecondString does."""
    edges = sorted(
        (-sim(a, b) * idf(a) * idf(b), i, j) for i, a in enumerate(x) for j, b in enumerate(y) if sim(a, b) > theta
    )
    left, right, total = set(), set(), 0.0
    for weight, i, j in edges:
        if i not in left and j not in right:
            left.add(i)
            right.add(j)
            total -= weight
    return total / math.sqrt(sum(idf(a) ** 2 for a in x) * sum(idf(b) ** 2 for b in y))


def ngrams(word: str, n: int = 3, pad: bool = True) -> list[str]:
    text = f"^{word}$" if pad and word else word
    return [text[i : i + n] for i in range(len(text) - n + 1)] or ([text] if text else [])


def learned_idf(documents: Sequence[Items]) -> Idf:
    """log(documents / documents with w), with df 1 for what was never seen."""
    df = Counter(w for document in documents for w in set(document))
    return lambda w: math.log(len(documents) / max(df[w], 1))


def context_similarity(sequences: Sequence[Items], window: int = 4) -> Sim:
    """Cosine of TF-IDF weighted bags of neighbors, over the sequences as often as they are given."""
    bags: dict[Any, Counter[Any]] = {}
    for s in sequences:
        for at, g in enumerate(s):
            bag = bags.setdefault(g, Counter())
            bag.update(s[max(0, at - window // 2) : at])
            bag.update(s[at + 1 : at + 1 + window // 2])
    df = Counter(h for bag in bags.values() for h in bag)
    vectors: Mapping[Any, dict[Any, float]] = {
        g: {h: n * math.log(len(bags) / df[h]) for h, n in bag.items()} for g, bag in bags.items()
    }

    def sim(a: Any, b: Any) -> float:
        if a == b:
            return 1.0
        u, v = vectors.get(a, {}), vectors.get(b, {})
        norm = math.sqrt(sum(t * t for t in u.values()) * sum(t * t for t in v.values()))
        return min(1.0, sum(t * v.get(h, 0.0) for h, t in u.items()) / norm) if norm else 0.0

    return sim
