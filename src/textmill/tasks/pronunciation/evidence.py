r"""Which letter goes with which phoneme: evidence from bags of symbols, from rules, and from neither.

    C(x, y)  = sum over entries of A(x) B(y)      A: letters of the word and m times nothing,
                                                  B: its m phonemes and as many times nothing as it has n letters
    P(x, y)  = l1 P_R(x, y) + l2 P_L(x, y) + l3 P_U          P_R, P_L: C / sum C of the rules' pairs and of the lexicon
    P_U      = 1 / (letters+1 * phonemes+1 - 1)              without the cell (nothing, nothing)

The cell (nothing, nothing) is not counted unless asked for: no alignment can use it. Within one entry the counts are a
product, so all alignments with as many substitutions score the same; only contrasts between entries tell letters apart.

Rules are lines `phi -> psi / lambda _ rho`, of which only phi and psi are kept, or pairs in two columns; # begins a
comment, psi may be empty. Cost: O(n m) an entry. Reference: Jansche (2001), Re-engineering letter-to-sound rules.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from textmill.corpus import Source, open_lines, source_name
from textmill.errors import DataError
from textmill.fst import Link, StringAligner

__all__ = [
    "PairCounts",
    "RulePair",
    "bag_counts",
    "check_weights",
    "foreign_phonemes",
    "make_aligner",
    "pair_weights",
    "read_rules",
]

PairCounts = dict[tuple[str, str], int]  # letter and phoneme; "" for nothing
_ARROW = re.compile(r"\s*(?:->|→)\s*")
_TIES = ("substitution", "insertion", "deletion")


@dataclass(frozen=True, slots=True)
class RulePair:
    """What a rule rewrites, and into what; contexts are not kept."""

    letters: tuple[str, ...]
    phonemes: tuple[str, ...]


def read_rules(source: Source) -> list[RulePair]:
    """Read rules `phi -> psi / lambda _ rho`, or pairs in two columns parted by a tab.

    phi is cut into its characters unless it has blanks; psi is parted at blanks, and without any is one phoneme.

    >>> import io
    >>> read_rules(io.BytesIO(b"x -> k s / _ e  # comment\\nh\\t\\n"))
    [RulePair(letters=('x',), phonemes=('k', 's')), RulePair(letters=('h',), phonemes=())]
    """
    pairs = []
    for number, line in open_lines(source):
        text = re.sub(r"(^|\s)#.*", "", line).rstrip("\r\n")
        if not text.strip():
            continue
        arrow = _ARROW.search(text)
        if arrow:
            left, right = text[: arrow.start()], re.split(r"(?:^|\s)/(?:\s|$)", text[arrow.end() :])[0]
        elif "\t" in text:
            left, right = text.split("\t")[:2]
        else:
            fault = "expected 'letters -> phonemes / left _ right' or two columns parted by a tab"
            raise DataError(fault, source=source_name(source), line=number)
        letters = tuple(left.split()) if " " in left.strip() else tuple(left.strip())
        if not letters:
            raise DataError("a rule needs letters on its left side", source=source_name(source), line=number)
        phonemes = tuple(p for p in right.split() if p not in ("∅", "0", "[]", '""'))
        pairs.append(RulePair(letters, phonemes))
    return pairs


def foreign_phonemes(rules: Iterable[RulePair], pronunciations: Iterable[Sequence[str]]) -> list[str]:
    """Return the phonemes that rules use and the lexicon lacks: rules in another notation do more harm than good.

    >>> foreign_phonemes([RulePair(("x",), ("ks",))], [("k", "s")])
    ['ks']
    """
    inventory = {phoneme for own in pronunciations for phoneme in own}
    return sorted({phoneme for rule in rules for phoneme in rule.phonemes} - inventory)


def bag_counts(pairs: Iterable[tuple[Sequence[str], Sequence[str]]], *, both_empty: bool = False) -> PairCounts:
    """Count pairs of symbols by bags: every letter of an entry with each of its phonemes, and with nothing.

    >>> counts = bag_counts([(tuple("texte"), tuple("tEkst"))])
    >>> counts["t", ""], counts["t", "t"], counts["t", "k"], counts["", "t"], sum(counts.values())
    (10, 4, 2, 10, 75)
    """
    counts: PairCounts = {}
    for letters, phonemes in pairs:
        xs, ys = Counter(letters), Counter(phonemes)
        xs[""], ys[""] = len(phonemes), len(letters)
        for x, a in xs.items():
            for y, b in ys.items():
                if a and b and (x or y or both_empty):
                    counts[x, y] = counts.get((x, y), 0) + a * b
    return counts


def check_weights(weights: Sequence[float]) -> tuple[float, float, float]:
    """Return the weights of rules, lexicon and uniform distribution if they are three, >= 0, and sum to 1.

    >>> check_weights([0, 0.9, 0.1])
    (0.0, 0.9, 0.1)
    """
    values = tuple(float(weight) for weight in weights)
    if len(values) != 3 or min(values) < 0 or abs(sum(values) - 1.0) > 1e-9:
        raise DataError(f"weights must be three numbers >= 0 that sum to 1 (rules, lexicon, uniform), got {weights}")
    return values[0], values[1], values[2]


def pair_weights(
    lexicon: PairCounts,
    rules: PairCounts,
    weights: Sequence[float],
    *,
    both_empty: bool = False,
) -> dict[Link, float]:
    """Interpolate rules, lexicon and uniform distribution into weights of links.

    >>> links = pair_weights(bag_counts([("ab", "AB")]), {}, (0.0, 0.9, 0.1))
    >>> round(links[("a",), ("A",)], 4), round(sum(links.values()), 6)
    (0.0875, 1.0)
    """
    l1, l2, l3 = check_weights(weights)
    if l1 > 0 and not rules:
        raise DataError(f"the weight of rules is {l1}, but there are no rules; pass rules, or give them the weight 0")
    letters = sorted({x for x, _ in (*lexicon, *rules) if x})
    phonemes = sorted({y for _, y in (*lexicon, *rules) if y})
    uniform = 1.0 / ((len(letters) + 1) * (len(phonemes) + 1) - (0 if both_empty else 1))
    of_lexicon, of_rules = sum(lexicon.values()) or 1, sum(rules.values()) or 1
    links: dict[Link, float] = {}
    for x in ["", *letters]:
        for y in ["", *phonemes]:
            if x or y:
                weight = l1 * rules.get((x, y), 0) / of_rules + l2 * lexicon.get((x, y), 0) / of_lexicon + l3 * uniform
                if weight > 0:
                    links[(x,) if x else (), (y,) if y else ()] = weight
    return links


def make_aligner(
    links: Mapping[Link, float], *, max_insertions_per_gap: int | None = 1, n_jobs: int | None = None
) -> StringAligner:
    """Return the aligner of these weights; on ties a substitution, then an insertion, then a deletion is preferred.

    >>> links = pair_weights(bag_counts([("ab", "AB"), ("b", "B"), ("a", "A")]), {}, (0.0, 0.9, 0.1))
    >>> make_aligner(links).align([("ab", "AB")])[0].text()
    'a:A b:B'
    """
    return StringAligner.from_weights(links, max_insertions_per_gap=max_insertions_per_gap, ties=_TIES, n_jobs=n_jobs)
