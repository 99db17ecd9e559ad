"""Interpolated modified Kneser-Ney straight from its definition: dictionaries, one n-gram at a time."""

from __future__ import annotations

from collections import Counter, defaultdict


class KneserNey:
    """p(word, context) of sentences (lists of words); <s> is never predicted, <unk> has no count."""

    def __init__(self, sentences: list[list[str]], order: int) -> None:
        self.order = order
        counts: Counter[tuple[str, ...]] = Counter()
        for sentence in sentences:
            padded = ["<s>", *sentence, "</s>"]
            for n in range(1, order + 1):
                counts.update(tuple(padded[i : i + n]) for i in range(len(padded) - n + 1))
        before: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
        for gram in counts:
            if len(gram) > 1:
                before[gram[1:]].add(gram[0])
        self.adjusted = {
            gram: count if len(gram) == order or gram[0] == "<s>" else len(before[gram])
            for gram, count in counts.items()
            if gram != ("<s>",)
        }
        self.words = sorted({gram[0] for gram in counts if len(gram) == 1} - {"<s>"} | {"<unk>"})
        self.discounts = [self._discounts(n) for n in range(1, order + 1)]
        self.following: defaultdict[tuple[str, ...], dict[str, int]] = defaultdict(dict)
        for gram, a in self.adjusted.items():
            self.following[gram[:-1]][gram[-1]] = a

    def _discounts(self, n: int) -> tuple[float, float, float]:
        t = Counter(a for gram, a in self.adjusted.items() if len(gram) == n)
        if not t[1] + t[2]:
            return 0.5, 1.0, 1.5
        y = t[1] / (t[1] + 2 * t[2])
        if all(t[k] for k in (1, 2, 3, 4)):
            made = tuple(k - (k + 1) * y * t[k + 1] / t[k] for k in (1, 2, 3))
            if all(0 < d < k for k, d in enumerate(made, start=1)):
                return made
        return (y, y, y) if 0 < y < 1 else (0.5, 1.0, 1.5)

    def discount(self, n: int, a: int) -> float:
        return self.discounts[n - 1][min(a, 3) - 1] if a else 0.0

    def p(self, word: str, context: tuple[str, ...]) -> float:
        context = context[max(0, len(context) - self.order + 1) :]
        lower = 1 / len(self.words) if not context else self.p(word, context[1:])
        following = self.following.get(context)
        if not following:
            return lower
        n = len(context) + 1
        total = sum(following.values())
        saved = sum(self.discount(n, a) for a in following.values()) / total
        a = following.get(word, 0)
        return (a - self.discount(n, a)) / total + saved * lower
