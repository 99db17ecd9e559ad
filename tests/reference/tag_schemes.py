"""Tag schemes by their definitions: which tag may stand beside which, and conlleval's tables of chunk edges."""

from __future__ import annotations

from itertools import pairwise


def is_well_formed(tags, scheme):
    """Every tag is one of the scheme and may stand between its neighbors; O stands outside both ends."""
    return all(_may_follow(scheme, left, right) for left, right in pairwise(["O", *tags, "O"]))


def _may_follow(scheme, left, right):
    (a, x), (b, y) = _split(left), _split(right)
    same = x == y
    if scheme == "IOB1":  # B only to part two neighbors with the same label
        return b in "OI" or (b == "B" and a in "BI" and same)
    if scheme == "IOB2":  # I only inside a span that B began
        return b in "OB" or (b == "I" and a in "BI" and same)
    if scheme == "IOE1":
        return a in "OI" or (a == "E" and b in "IE" and same)
    if scheme == "IOE2":
        return a in "OE" or (a == "I" and b in "IE" and same)
    begin, end, single = {"IOBES": "BES", "BILOU": "BLU"}[scheme]
    if a in ("O", end, single):
        return b in ("O", begin, single)
    return a in (begin, "I") and b in ("I", end) and same


def _split(tag):
    letter, _, label = tag.partition("-")
    return letter, label


def conlleval_spans(tags):
    """Chunks as the conlleval script marks them: for B, I, E and O, by its tables of chunk starts and chunk ends."""
    spans, start = [], None
    for i, (left, right) in enumerate(pairwise(["O", *tags, "O"])):
        (a, x), (b, y) = _split(left), _split(right)
        if a + b in ("BB", "BO", "IB", "IO", "EE", "EI", "EO") or (a != "O" and x != y):
            spans.append((start, i, x))
        if a + b in ("BB", "IB", "OB", "OI", "EE", "EI", "OE") or (b != "O" and x != y):
            start = i
    return spans
