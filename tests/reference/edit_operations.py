"""Edit operations and common subsequences by plain recursion over the definition."""

from __future__ import annotations

from functools import cache


def fewest_edits(x, y):
    """(S, I, D) with the fewest edits, then the fewest insertions and deletions."""

    @cache
    def best(i, j):  # cost of x[i:] against y[j:]: (edits, insertions + deletions, S, I, D)
        if i == len(x):
            rest = len(y) - j
            return rest, rest, 0, rest, 0
        if j == len(y):
            rest = len(x) - i
            return rest, rest, 0, 0, rest
        wrong = int(x[i] != y[j])
        e, t, s, a, d = best(i + 1, j + 1)
        options = [(e + wrong, t, s + wrong, a, d)]
        e, t, s, a, d = best(i, j + 1)
        options.append((e + 1, t + 1, s, a + 1, d))
        e, t, s, a, d = best(i + 1, j)
        options.append((e + 1, t + 1, s, a, d + 1))
        return min(options, key=lambda option: option[:2])

    return best(0, 0)[2:]


def longest_common(x, y):
    @cache
    def best(i, j):
        if i == len(x) or j == len(y):
            return 0
        return best(i + 1, j + 1) + 1 if x[i] == y[j] else max(best(i + 1, j), best(i, j + 1))

    return best(0, 0)
