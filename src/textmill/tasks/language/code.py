"""Is a text source code? Its words may be English, but it is in no language that people speak.

Code has marks that prose has not: a letter before a bracket, letters joined by a dot or an underscore, a dollar before
a letter, an ampersand behind one, braces, equals signs, arrows, lines that end with a semicolon or begin with `import`
or `for (`. A text is taken for code when there are `least` of them for each word. Elements of HTML do not count: the
text between them may be prose; a type between < and >, as in `list<int>` and `template <class T>`, is none of these.
Cost: O(characters), at most the first 20,000.
"""

from __future__ import annotations

import re

__all__ = ["code_share", "is_code"]

_LEAST = 0.2  # of lines of programs 0.8 to 1 have as many, of sentences 0.001 to 0.003
_LONGEST = 20_000
_TYPES = "auto|bool|char|class|const|double|float|int|long|short|std|string|struct|typename|unsigned|void|[A-Z]"
_ELEMENT = re.compile(
    rf"</?(?!(?:{_TYPES})\b(?!-)|[^<>]*\b(?:class|typename) [A-Z])[A-Za-z][^<>]*>|(?:(?<!\w)<|</)[ABIPQSU]\b[^<>]*>"
)
_LETTER = r"[^\W\d_]"
_WORD = re.compile(f"{_LETTER}+")
_MARK = re.compile(
    rf"{_LETTER}[(\[]|{_LETTER}\.(?={_LETTER})|{_LETTER}_+(?={_LETTER})|\$\{{?(?={_LETTER})|[{{}}=<>]|->|::|//|/\*|\*/|&&"
    r"|[^\W\d]&(?=[\s,)])|\|\||;[^\S\n]*\\?$"
    r"|^[^\S\n]*(?:import |from \S+ import |def |elif |else:|try:|#include|(?:for|if|while|switch) \()",
    re.MULTILINE,
)


def code_share(text: str | bytes) -> float:
    """Marks of source code for each word of a text.

    >>> code_share("if (x.size() > most) { return cut_off(x); }") > 0.5, code_share("See section 3 (or the index).")
    (True, 0.0)
    """
    part = text[:_LONGEST]
    string = _ELEMENT.sub(" ", part if isinstance(part, str) else part.decode("utf-8", "replace"))
    return len(_MARK.findall(string)) / max(1, len(_WORD.findall(string)))


def is_code(text: str | bytes, least: float = _LEAST) -> bool:
    """Whether a text is taken for source code."""
    return code_share(text) >= least
