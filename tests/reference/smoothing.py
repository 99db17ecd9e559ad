"""N-gram smoothing straight from the definitions: dictionaries and exact fractions, one n-gram at a time.

Good-Turing needs a logarithm; there fractions of floats are exact up to that line.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction

Gram = tuple[str, ...]


class Smoothed:
    """p(word, context) of sentences (lists of words); <s> is never predicted, <unk> has no count unless written."""

    def __init__(
        self,
        sentences: list[list[str]],
        order: int,
        smoothing: str,
        min_counts: tuple[int, ...] | None = None,
        katz_limit: int = 7,
        vocabulary: list[str] | None = None,
    ) -> None:
        self.order, self.smoothing, self.limit = order, smoothing, katz_limit
        self.least = min_counts or (1,) * order
        self.counts: Counter[Gram] = Counter()
        seen: set[str] = set(vocabulary or [])
        for sentence in sentences:
            words = sentence if vocabulary is None else [w if w in seen else "<unk>" for w in sentence]
            padded = ["<s>", *words, "</s>"]
            for n in range(1, order + 1):
                self.counts.update(tuple(padded[i : i + n]) for i in range(len(padded) - n + 1))
        before: defaultdict[Gram, set[str]] = defaultdict(set)
        for gram in self.counts:
            if len(gram) > 1:
                before[gram[1:]].add(gram[0])
        self.a = {
            gram: len(before[gram]) if "kneser-ney" in smoothing and len(gram) < order and gram[0] != "<s>" else count
            for gram, count in self.counts.items()
            if gram != ("<s>",)
        }
        self.words = sorted({g[0] for g in self.counts if len(g) == 1} - {"<s>"} | {"<unk>", "</s>"} | seen)
        self.after: defaultdict[Gram, dict[str, int]] = defaultdict(dict)
        for gram, a in self.a.items():
            self.after[gram[:-1]][gram[-1]] = a
        self.t = [Counter(a for gram, a in self.a.items() if len(gram) == n) for n in range(1, order + 1)]
        self.memory: dict[tuple[str, Gram], Fraction] = {}

    def y(self, n: int) -> Fraction:
        t = self.t[n - 1]
        return Fraction(t[1], t[1] + 2 * t[2]) if t[1] and t[2] else Fraction(1, 2)

    def discount(self, n: int, r: int) -> Fraction:
        t = self.t[n - 1]
        if self.smoothing in ("kneser-ney", "absolute"):
            return self.y(n)
        if self.smoothing == "modified-kneser-ney":
            y = Fraction(t[1], t[1] + 2 * t[2]) if t[1] + t[2] else Fraction(0)
            if all(t[k] for k in (1, 2, 3, 4)):
                d = [k - (k + 1) * y * Fraction(t[k + 1], t[k]) for k in (1, 2, 3)]
                if all(0 < x < k for k, x in enumerate(d, 1)):
                    return d[min(r, 3) - 1]
            return y if 0 < y < 1 else Fraction(min(r, 3), 2)
        if self.smoothing == "katz":
            if self.limit <= 1:
                return Fraction(0)
            if not all(t[k] for k in range(1, self.limit + 1)):
                return self.y(n)
            A = Fraction((self.limit + 1) * t[self.limit + 1], t[1])
            if A >= 1:
                return self.y(n)
            d = [(Fraction((k + 1) * t[k + 1], k * t[k]) - A) / (1 - A) for k in range(1, self.limit + 1)]
            if not all(0 < x <= 1 for x in d):
                return self.y(n)
            return r * (1 - d[r - 1]) if r <= self.limit else Fraction(0)
        if self.smoothing == "good-turing":
            return self.good_turing(n, r)
        return Fraction(0)

    def good_turing(self, n: int, r: int) -> Fraction:
        t = self.t[n - 1]
        seen = sorted(k for k in t if 0 < k <= 64)
        if len(seen) < 2 or not t[1]:
            return self.y(n)
        points = []
        for i, k in enumerate(seen):
            low = seen[i - 1] if i else 0
            high = seen[i + 1] if i + 1 < len(seen) else 2 * k - low
            points.append((math.log(k), math.log(2 * t[k] / (high - low))))
        mean_x = sum(x for x, _ in points) / len(points)
        mean_y = sum(y for _, y in points) / len(points)
        slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)
        if not -8 < slope < -1:
            return self.y(n)
        if r > 7:
            return Fraction(-(1 + slope))
        for k in range(1, r + 1):
            line = k * (1 + 1 / k) ** (slope + 1)
            turing = (k + 1) * t[k + 1] / t[k] if t[k] else 0.0
            spread = (k + 1) * math.sqrt(t[k + 1] / t[k] ** 2 * (1 + t[k + 1] / t[k])) if t[k] else 0.0
            if not (t[k] and t[k + 1] and abs(turing - line) > 1.65 * spread and 0 < turing < k):
                return Fraction(r - r * (1 + 1 / r) ** (slope + 1))
        return Fraction(r - turing)

    def new_word(self, n: int, total: int) -> Fraction:
        """Jelinek-Mercer's weight of the shorter context."""
        tokens = once = 0
        for context, following in self.after.items():
            size = sum(following.values())
            if len(context) == n - 1 and size.bit_length() == total.bit_length():
                tokens += size
                once += sum(a == 1 for a in following.values())
        return Fraction(once + 1, tokens + 2)

    def p(self, word: str, context: Gram) -> Fraction:
        context = context[max(0, len(context) - self.order + 1) :]
        if (word, context) not in self.memory:
            self.memory[word, context] = self.fresh(word, context)
        return self.memory[word, context]

    def fresh(self, word: str, context: Gram) -> Fraction:
        n = len(context) + 1

        def lower(w: str) -> Fraction:
            return self.p(w, context[1:]) if context else Fraction(1, len(self.words))

        following = self.after.get(context, {})
        own = {w: a for w, a in following.items() if self.counts[*context, w] >= self.least[n - 1]}
        total = sum(following.values())
        if not own:
            return lower(word)
        taken = {w: a - self.discount(n, a) for w, a in own.items()}
        if self.smoothing == "witten-bell":
            types = len(following)
            return Fraction(own.get(word, 0), total + types) + (1 - Fraction(sum(own.values()), total + types)) * lower(
                word
            )
        if self.smoothing == "jelinek-mercer":
            scale = 1 - self.new_word(n, total)
            rest = 1 - scale * Fraction(sum(own.values()), total)
            return scale * Fraction(own.get(word, 0), total) + rest * lower(word)
        if self.smoothing not in ("katz", "good-turing"):
            rest = 1 - sum(taken.values()) / total
            return taken.get(word, Fraction(0)) / total + rest * lower(word)
        mass = total - sum(taken.values())
        size = Fraction(total)
        if len(own) == len(self.words):
            return taken[word] / sum(taken.values())
        if mass <= 0:
            mass, size = Fraction(1), Fraction(total + 1)
        if word in own:
            return taken[word] / size
        return mass / size * lower(word) / (1 - sum(lower(w) for w in own))
