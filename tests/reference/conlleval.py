"""The CoNLL-2000 scorer restated: two tables say between which neighboring tags a chunk ends or begins."""

from __future__ import annotations

from collections import Counter


def ends(before: str, kind_before: str, now: str, kind: str) -> bool:
    if before == "O":
        return False
    return now in "BSUO" or before in "ESLU" or kind_before != kind


def begins(before: str, kind_before: str, now: str, kind: str) -> bool:
    if now == "O":
        return False
    return now in "BSU" or before in "OESLU" or kind_before != kind


def score(gold: list[list[str]], predicted: list[list[str]]) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Chunks right, gold and found, by label, counted while walking over both sides at once."""
    right, there, found = Counter[str](), Counter[str](), Counter[str]()
    for truth, answer in zip(gold, predicted, strict=True):
        inside = False
        last = ("O", "", "O", "")
        for g, p in zip([*truth, "O"], [*answer, "O"], strict=True):
            g_tag, _, g_kind = g.partition("-")
            p_tag, _, p_kind = p.partition("-")
            g_ends, p_ends = ends(last[0], last[1], g_tag, g_kind), ends(last[2], last[3], p_tag, p_kind)
            if inside and (g_ends or p_ends):
                if g_ends and p_ends and last[1] == last[3]:
                    right[last[1]] += 1
                inside = False
            g_begins, p_begins = begins(last[0], last[1], g_tag, g_kind), begins(last[2], last[3], p_tag, p_kind)
            inside = inside or (g_begins and p_begins and g_kind == p_kind)
            there.update([g_kind] * g_begins)
            found.update([p_kind] * p_begins)
            last = (g_tag, g_kind, p_tag, p_kind)
    return right, there, found
