"""Rewrite rules by their definition, on strings: slow and obvious."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

__all__ = ["rewritten"]


def rewritten(
    text: str,
    rule: Mapping[str, Iterable[str]],
    left: Iterable[str],
    right: Iterable[str],
    direction: str = "left-to-right",
    optional: bool = False,
) -> set[str]:
    """All outputs of a rule for a text; in contexts ^ is the start of the text and $ its end."""
    if direction == "right-to-left":
        turn = str.maketrans("^$", "$^")
        backwards = rewritten(
            text[::-1],
            {phi[::-1]: [psi[::-1] for psi in outputs] for phi, outputs in rule.items()},
            [context[::-1].translate(turn) for context in right],
            [context[::-1].translate(turn) for context in left],
            "left-to-right",
            optional,
        )
        return {output[::-1] for output in backwards}
    lefts, rights = tuple(left), tuple(right)

    def ends(i: int, written: str) -> bool:
        before = "^" + (text[:i] if direction == "simultaneous" else written)
        return before.endswith(lefts)

    def matches(i: int) -> list[str]:
        return [phi for phi in rule if text.startswith(phi, i) and (text[i + len(phi) :] + "$").startswith(rights)]

    def outputs(i: int, written: str, inserted: bool) -> set[str]:
        results: set[str] = set()
        if not inserted and ends(i, written) and matches(i):
            for phi in matches(i):
                for psi in rule[phi]:
                    results |= outputs(i + len(phi), written + psi, phi == "")
            if not optional:
                return results
        if i == len(text):
            return results | {written}
        return results | outputs(i + 1, written + text[i], False)

    return outputs(0, "", False)
