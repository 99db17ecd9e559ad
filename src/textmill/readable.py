"""Numbers and text for readers: columns of numbers with the same decimals, counted nouns, text that can be shown, JSON.

    decimals = those that give the greatest number `digits` digits and the least two, less the zeros all of them end in

Numbers so different that the least would take more than three decimals beyond those of the greatest, or so large or
small that most of it would be zeros, are written one by one, `digits` digits each. From five digits before the point
on, digits are grouped by commas; so years have none. Cost: O(n).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

__all__ = ["MISSING", "as_json", "counted", "noun", "numerals", "one_line", "printable", "spelled"]

MISSING = "–"  # stands for NaN
_SINGULARS = {"ies": "y", "sses": "ss", "ches": "ch", "shes": "sh", "xes": "x", "s": ""}  # by the end of the plural
_FINAL_SIGMA = re.compile(r"(?<=[^\W\d_])σ(?![^\W\d_])")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def numerals(values: Sequence[float], *, digits: int = 4) -> list[str]:
    """Numbers as a reader expects them under each other.

    >>> numerals([93.71, 94.2, 8]), numerals([1234567, 5, 0]), numerals([2024, 1999])
    (['93.71', '94.20', '8.00'], ['1,234,567', '5', '0'], ['2024', '1999'])
    >>> numerals([0.31, float("nan"), -0.0004]), numerals([3e12, 0.25, 1e-9])
    (['0.3100', '–', '-0.0004'], ['3e+12', '0.25', '1e-09'])
    """
    finite = [value for value in values if math.isfinite(value)]
    sizes = [math.floor(math.log10(abs(value))) for value in finite if value]
    comma = "," if max(sizes, default=0) > 3 else ""
    if all(value == int(value) for value in finite) and max(sizes, default=0) < 16:
        return [_numeral(value, f"{comma}d") for value in values]
    wanted, least = max(0, digits - 1 - max(sizes)), max(0, 1 - min(sizes))
    if least > wanted + 3 or not -5 < max(sizes) < 10:
        return [_numeral(value, f".{digits}g") for value in values]
    decimals = max(wanted, least)
    written = [f"{value:.{decimals}f}" for value in finite]
    while decimals and all(text.endswith("0") for text in written):
        decimals, written = decimals - 1, [text[:-1] for text in written]
    return [_numeral(value, f"{comma}.{decimals}f") for value in values]


def _numeral(value: float, form: str) -> str:
    if math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return format(int(value) if form.endswith("d") else value, form)


def noun(count: float, plural: str) -> str:
    """The noun that goes with a count, given in the plural; what follows its first word stays.

    >>> noun(1, "documents"), noun(2, "documents"), noun(1, "batches of pairs"), noun(1, "entries")
    ('document', 'documents', 'batch of pairs', 'entry')
    """
    if count != 1:
        return plural
    first, space, rest = plural.partition(" ")
    for ending, singular in _SINGULARS.items():
        if first.endswith(ending):
            first = first.removesuffix(ending) + singular
            break
    return first + space + rest


def counted(count: int, plural: str) -> str:
    """A count with its noun, given in the plural.

    >>> counted(1, "documents"), counted(0, "documents"), counted(2, "passes")
    ('1 document', '0 documents', '2 passes')
    """
    return f"{count} {noun(count, plural)}"


def printable(text: object) -> str:
    r"""Text that fonts, XML and HTML can hold: controls and halves of characters become U+FFFD.

    >>> printable("a tab\t, a bell\a, half a character \ud83d")
    'a tab\t, a bell�, half a character �'
    """
    return _UNPRINTABLE.sub("\ufffd", str(text))


def one_line(text: object) -> str:
    r"""The same without line breaks and double spaces, for names, titles and messages.

    >>> one_line("two\nlines  and half a \ud83d")
    'two lines and half a �'
    """
    return " ".join(printable(text).split())


def spelled(term: str) -> str:
    """A term as it is written: case folding makes every sigma σ, but the last of a word is written ς.

    >>> spelled("τησ οδού"), spelled("σ"), spelled("mill")
    ('της οδού', 'σ', 'mill')
    """
    return _FINAL_SIGMA.sub("ς", term) if "σ" in term else term


def as_json(value: Any, **options: Any) -> str:
    """A value as JSON, in which letters stand for themselves; NaN and infinity, which JSON does not have, become null.

    `options` are those of `json.dumps`.

    >>> as_json({"score": float("nan"), "name": "Ä"})
    '{"score": null, "name": "Ä"}'
    """
    from json import dumps  # which most runs of a command do not need

    try:
        return dumps(value, ensure_ascii=False, allow_nan=False, **options)
    except ValueError:
        return dumps(_finite(value), ensure_ascii=False, allow_nan=False, **options)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
