r"""One alignment of two strings: its links, as text, as a table, in other forms.

    t:t e:E x:k _:s t:t e:_        one link per word, input:output, _ for nothing
    p|h:F i:IH s|h:SH              several symbols of one side joined by |

In this notation a symbol may hold anything: separators, blanks and backslashes in it are written \: \| \s \t \n \r \\,
and a symbol that is itself the sign for nothing as \_. So every alignment can be written and read back.
Cost: O(symbols).
"""

from __future__ import annotations

import html
import itertools
import math
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from textmill.errors import DataError
from textmill.readable import printable

__all__ = ["Alignment", "Link", "parse_alignment"]

Link = tuple[tuple[str, ...], tuple[str, ...]]  # input and output symbols; one side may be empty, ()

_BLANKS = {" ": "s", "\t": "t", "\n": "n", "\r": "r"}
_LETTERS = {letter: blank for blank, letter in _BLANKS.items()}


@dataclass(frozen=True, slots=True)
class Alignment:
    """Links in order, and the logarithm of the probability of all of them.

    >>> alignment = parse_alignment("t:t e:E x:k _:s t:t e:_")
    >>> print(alignment)
    t  e  x  ·  t  e
    t  E  k  s  t  ·
    >>> "".join(alignment.output)
    'tEkst'
    """

    links: tuple[Link, ...]
    log_probability: float = math.nan

    @property
    def input(self) -> tuple[str, ...]:
        """The symbols of the input."""
        return tuple(symbol for link in self.links for symbol in link[0])

    @property
    def output(self) -> tuple[str, ...]:
        """The symbols of the output."""
        return tuple(symbol for link in self.links for symbol in link[1])

    def text(self, *, between: str = ":", within: str = "|", empty: str = "_") -> str:
        r"""One line: links divided by blanks, their sides by `between`, symbols of a side by `within`.

        `between="}"` gives the form of Phonetisaurus.

        >>> Alignment(((("p", "h"), ("F",)), (("o",), ()), (("|",), ("a b",)))).text()
        'p|h:F o:_ \\|:a\\sb'
        """
        _check_signs(between, within, empty)
        special = {"\\": "\\\\", between: f"\\{between}", within: f"\\{within}"}
        special |= {blank: f"\\{letter}" for blank, letter in _BLANKS.items()}
        table = str.maketrans(special)

        def side(symbols: tuple[str, ...]) -> str:
            written = (f"\\{empty}" if symbol == empty else symbol.translate(table) for symbol in symbols)
            return within.join(written) if symbols else empty

        return " ".join(f"{side(inputs)}{between}{side(outputs)}" for inputs, outputs in self.links)

    def merged(self) -> Alignment:
        """With every insertion made part of the link before it, at the beginning of the one after it.

        >>> parse_alignment("_:y u:UW x:k _:s").merged().text()
        'u:y|UW x:k|s'
        """
        links: list[Link] = []
        for inputs, outputs in self.links:
            if links and (not inputs or not links[-1][0]):
                links[-1] = (links[-1][0] + inputs, links[-1][1] + outputs)
            else:
                links.append((inputs, outputs))
        return Alignment(tuple(links), self.log_probability)

    def padded(self, *, empty: str = ".") -> tuple[list[str], list[str]]:
        """Inputs and outputs at the 2n + 1 places of n inputs: a gap, an input, a gap, ..., a gap.

        >>> [" ".join(side) for side in parse_alignment("t:t e:E x:k _:s t:t e:_").padded()]
        ['. t . e . x . t . e .', '. t . E . k s t . . .']
        """
        inputs, outputs = [empty], [empty]
        for u, v in self.links:
            if len(u) > 1 or len(v) > 1:
                raise DataError(f"link {u!r}:{v!r} joins several symbols, which places cannot hold; use max 1 x 1")
            if u:
                inputs += [u[0], empty]
                outputs += [v[0] if v else empty, empty]
            elif outputs[-1] == empty:
                outputs[-1] = v[0]
            else:
                raise DataError(f"two outputs, {outputs[-1]!r} and {v[0]!r}, in one gap; pass max_insertions_per_gap=1")
        return inputs, outputs

    def __str__(self) -> str:
        columns = [("".join(u) or "·", "".join(v) or "·") for u, v in self._shown()]
        widths = [max(map(_width, column)) for column in columns]
        rows = (
            "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in zip(*columns, strict=True)
        )
        return "\n".join(rows)

    def _repr_html_(self) -> str:
        rows = (
            "".join(f"<td>{html.escape(' '.join(side)) or '&middot;'}</td>" for side in row)
            for row in zip(*self._shown(), strict=True)
        )
        return "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"

    def _shown(self) -> Iterable[Link]:
        """The links with symbols that can be shown."""
        return [(tuple(map(printable, u)), tuple(map(printable, v))) for u, v in self.links]


def parse_alignment(
    text: str, *, between: str = ":", within: str = "|", empty: str = "_", log_probability: float = math.nan
) -> Alignment:
    """Read what `Alignment.text` has written with the same signs.

    >>> parse_alignment("p|h:F o:_").links
    ((('p', 'h'), ('F',)), (('o',), ()))
    """
    _check_signs(between, within, empty)
    links: list[Link] = []
    for word in text.split(" ") if text else []:
        sides = [side if side != [None] else [] for side in _sides(word, between, within, empty)]
        symbols = list(itertools.chain.from_iterable(sides))
        if len(sides) != 2 or not symbols or "" in symbols or None in symbols:
            raise DataError(f"link {word!r} of {text[:60]!r} is not input{between}output; write {empty} for no symbol")
        links.append((tuple(map(str, sides[0])), tuple(map(str, sides[1]))))
    return Alignment(tuple(links), log_probability)


def _sides(word: str, between: str, within: str, empty: str) -> list[list[str | None]]:
    """The symbols of the sides of a link; None is the sign for nothing."""
    sides: list[list[str | None]] = [[]]
    symbol, escaped = "", False  # of the symbol at work

    def end() -> None:
        sides[-1].append(None if symbol == empty and not escaped else symbol)

    letters = iter(word)
    for letter in letters:
        if letter == "\\":
            after = next(letters, "")
            symbol, escaped = symbol + _LETTERS.get(after, after), True
        elif letter in (between, within):
            end()
            symbol, escaped = "", False
            if letter == between:
                sides.append([])
        else:
            symbol += letter
    end()
    return sides


def _check_signs(*signs: str) -> None:
    if len({*signs, "\\", " "}) != 5 or any(len(sign) != 1 or sign.isspace() for sign in signs):
        raise DataError(
            f"between, within and empty are three different characters, no blank, no backslash, not {signs}"
        )
    if any(sign in _LETTERS for sign in signs):
        raise DataError("between, within and empty cannot be the letters s, t, n, r, which follow backslashes")


def _width(text: str) -> int:
    """Columns of a terminal."""
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text
    )
