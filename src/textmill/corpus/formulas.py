r"""Formulas as terms: TeX and MathML in one canonical spelling between dollar signs.

    $\Gamma$, \(\Gamma\), <math><mi>&Gamma;</mi></math>          $Γ$
    $x_{i}^2$, <msubsup> of x, i and 2                           $x_i^2$
    \frac{a+1}{b}, <mfrac>                                       ${a+1}/b$

What only changes the looks is dropped: fonts, sizes, spacing, `\left` and `\right`, braces around one symbol. Names and
entities become characters in Unicode's compatibility form (NFKC), so that 𝑥, ℝ and \mathbb{R} are x, R and R. Sub- and
superscripts stay. Labels of lists such as (i), (b) and 3. and bare numbers are no formulas, unless asked for.

A vocabulary counts formulas like words, so long and rare ones fall under its limits of frequency.
Cost: one pass of a regular expression over the text, and one of a small parser over each formula.
"""

from __future__ import annotations

import html.entities
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from textmill.corpus.tokenize import Tokenizer
from textmill.model import Estimator, Model

__all__ = ["FormulaTokenizer", "MathElement", "canonical_formula", "formula_of_mathml", "is_formula"]

# Pandoc's rule for single dollars: none of them beside a blank on the inside, no digit after the second.
_MATH = re.compile(
    r"\$\$(?P<a>[^$]+?)\$\$|\\\[(?P<b>.+?)\\\]|\\\((?P<c>.+?)\\\)"
    r"|\\begin\{(?P<name>equation|align|gather|math|displaymath|eqnarray)(?P<star>\*?)\}(?P<d>.+?)\\end\{(?P=name)(?P=star)\}"
    r"|(?<![\\$])\$(?=[^\s$])(?P<e>[^$\n]{0,500}?[^\s$\\])\$(?![\d$])",
    re.DOTALL,
)
_TOKEN = re.compile(r"\\[A-Za-z]+\*?|\\.|[{}^_&']|\s+|.", re.DOTALL)
_ENUMERATOR = re.compile(r"\(?(?:[ivxlcdm]+|[a-z]|\d+)[).]|\((?:[ivxlcdm]+|[a-z]|\d+)\)|[\d.,\-+ ]*", re.IGNORECASE)
_DROPPED = {
    "left", "right", "big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr", "displaystyle", "textstyle",
    "scriptstyle", "limits", "nolimits", "quad", "qquad",
    "nonumber", "notag", "hfill", "noindent", "rm", "bf", "it", "cal", "sf", "tt", "mathstrut", "null",
    "allowbreak", "middle",
}  # fmt: skip
_FONTS = {
    "mathrm", "mathbf", "mathit", "mathsf", "mathtt", "mathbb", "mathcal", "mathfrak", "mathscr", "boldsymbol",
    "bm", "mathop", "mathbin", "mathrel",
    "mathord", "mathopen", "mathclose", "operatorname", "text", "textrm", "textbf", "textit", "mbox", "hbox",
    "ensuremath", "overline", "tag",
}  # fmt: skip
_SKIPPED_ARGUMENTS = {"label", "ref", "eqref", "hspace", "vspace", "color", "cite"}
_NAMES = {
    "infty": "∞", "to": "→", "rightarrow": "→", "ldots": "…", "dots": "…", "cdots": "⋯", "cdot": "⋅", "ast": "*",
    "emptyset": "∅", "varnothing": "∅", "mid": "|", "vert": "|", "Vert": "‖", "lbrace": "{", "rbrace": "}", "{": "{",
    "}": "}", "%": "%", "&": "&", "#": "#", "_": "_", "$": "$", "|": "‖", "prime": "′", "setminus": "∖", "colon": ":",
    "lim": "lim", "sin": "sin", "cos": "cos", "tan": "tan", "log": "log", "ln": "ln", "exp": "exp", "max": "max",
    "min": "min", "sup": "sup", "inf": "inf", "det": "det", "dim": "dim", "ker": "ker", "deg": "deg", "gcd": "gcd",
    "hom": "hom", "arg": "arg", "Pr": "Pr", "varepsilon": "ε", "epsilon": "ε", "varphi": "φ", "phi": "φ", "sum": "∑",
    "prod": "∏", "int": "∫", "langle": "⟨", "rangle": "⟩", "hat": "ˆ", "widehat": "ˆ", "tilde": "~", "widetilde": "~",
    "bar": "¯", "vec": "→", "dot": "˙",
}  # fmt: skip
_ACCENTS = {"hat", "widehat", "tilde", "widetilde", "bar", "vec", "dot"}
_SAME = str.maketrans({"−": "-", "∗": "*", "′": "′", "’": "′", "⁢": "", "⁡": "", "⁣": "", "​": "", "·": "⋅", "\u2223": "|"})


class FormulaTokenizer(Estimator, Model):
    r"""Cut texts into words, and the formulas in them into terms of their own.

    Parameters:
        tokenizer: What cuts the text between formulas; None for `Tokenizer()`.
        enumerators: Whether labels such as $(i)$ and bare numbers count as formulas.

    >>> FormulaTokenizer()(r"Let $\Gamma$ act on \(x_{i}\): $(i)$ for $5 or $10 only.")
    ['let', 'act', 'on', 'for', '5', 'or', '10', 'only', '$Γ$', '$x_i$']
    """

    format_version: ClassVar[int] = 1

    def __init__(self, *, tokenizer: Tokenizer | None = None, enumerators: bool = False) -> None:
        self.tokenizer = tokenizer
        self.enumerators = enumerators

    def __call__(self, text: str) -> list[str]:
        """Return the tokens of one text: words, then formulas."""
        return next(self.tokenize([text], n_jobs=1))

    def tokenize(self, documents: Iterable[str], *, n_jobs: int | None = None) -> Iterator[list[str]]:
        """Yield the tokens of each document.

        >>> list(FormulaTokenizer().tokenize(["a graph $G$", "no formula"]))
        [['a', 'graph', '$G$'], ['no', 'formula']]
        """
        formulas: list[list[str]] = []

        def words() -> Iterator[str]:
            for text in documents:
                terms: list[str] = []
                formulas.append(terms)
                yield self._without_formulas(text, terms)

        tokenizer = Tokenizer() if self.tokenizer is None else self.tokenizer
        for number, tokens in enumerate(tokenizer.tokenize(words(), n_jobs=n_jobs)):
            yield tokens + formulas[number]
            formulas[number] = []  # no longer needed

    def _without_formulas(self, text: str, terms: list[str]) -> str:
        if "$" not in text and "\\" not in text:
            return text

        def replace(match: re.Match[str]) -> str:
            term = canonical_formula(next(part for part in match.group("a", "b", "c", "d", "e") if part is not None))
            if term != "$$" and (self.enumerators or not _ENUMERATOR.fullmatch(term[1:-1])):
                terms.append(term)
            return " "

        return _MATH.sub(replace, text)


def is_formula(term: str) -> bool:
    """Say whether a term is a formula.

    >>> is_formula("$Γ$"), is_formula("gamma")
    (True, False)
    """
    return len(term) > 2 and term[0] == "$" == term[-1]


def canonical_formula(tex: str) -> str:
    r"""Return the term of a formula in TeX.

    >>> canonical_formula(r"\mathbb{R}^{n}"), canonical_formula(r"C^{*}"), canonical_formula(r"\frac{a+1}{b}")
    ('$R^n$', '$C^*$', '${a+1}/b$')
    >>> canonical_formula(r"\left( f'_{i} \right)")
    '$(f_i^′)$'
    """
    tokens = [token for token in _TOKEN.findall(tex) if not token.isspace()]
    return f"${_joined(_Reader(tokens).sequence())}$"


class MathElement:
    """An element of MathML: its name without a prefix, its own text, the elements inside."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = ""
        self.inside: list[MathElement] = []


def formula_of_mathml(element: MathElement) -> str:
    """Return the term of a formula in MathML.

    >>> row = MathElement("math")
    >>> row.inside = [MathElement("msub")]
    >>> row.inside[0].inside = [MathElement("mi"), MathElement("mi")]
    >>> row.inside[0].inside[0].text, row.inside[0].inside[1].text = "x", "i"
    >>> formula_of_mathml(row)
    '$x_i$'
    """
    return f"${_of_element(element)}$"


class _Reader:
    """A parser of TeX by recursive descent; what it does not understand it takes as it stands."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens, self._at = tokens, 0

    def sequence(self, *, until: str | None = None) -> list[str]:
        atoms: list[str] = []
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if token == until:
                self._at += 1
                break
            atom = self._atom()
            if token == "{":  # one that holds more than a symbol still belongs together
                atom = _group(atom) if atom else atom
            if atom:
                atoms.append(self._with_scripts(atom))
        return atoms

    def _with_scripts(self, atom: str) -> str:
        scripts = {"_": "", "^": ""}
        while self._at < len(self._tokens) and self._tokens[self._at] in ("_", "^", "'"):
            mark = self._tokens[self._at]
            self._at += 1
            if mark == "'":
                scripts["^"] += "′"
            else:
                scripts[mark] += self._argument()
        return _scripted(atom, scripts["_"], scripts["^"])

    def _argument(self) -> str:
        return self._atom() if self._at < len(self._tokens) else ""

    def _atom(self) -> str:
        token = self._tokens[self._at]
        self._at += 1
        if token == "{":
            return _joined(self.sequence(until="}"))
        if token in "}&":
            return ""
        if token in ("_", "^", "'"):  # a script of nothing
            return ""
        if token[0] != "\\" or len(token) == 1:
            return _symbol(token)
        name = token[1:].rstrip("*")
        if name in ("frac", "dfrac", "tfrac", "binom"):
            above, below = self._argument(), self._argument()
            return f"{_group(above)}{'/' if name != 'binom' else '¦'}{_group(below)}"
        if name == "sqrt":
            return f"√{_group(self._argument())}"
        if name in _FONTS:
            return self._argument()
        if name in _SKIPPED_ARGUMENTS:
            self._argument()
            return ""
        if name in _ACCENTS:
            return f"{_group(self._argument())}{_NAMES[name]}"
        if name in _DROPPED or not name.strip(",;:!> \\/"):
            return ""
        if name in ("begin", "end"):
            self._argument()
            return ""
        character = _NAMES.get(name) or html.entities.html5.get(name + ";")
        return token if character is None else _symbol(character)


def _of_element(element: MathElement) -> str:
    name = element.name
    if name in ("annotation", "annotation-xml", "mspace", "mphantom", "none", "mprescripts", "malignmark"):
        return ""
    inside = [_of_element(one) for one in element.inside]
    if not element.inside:
        return _joined([_symbol(character) for character in " ".join(element.text.split()) if not character.isspace()])
    first, *others = inside
    if name in ("msub", "munder"):
        return _scripted(first, "".join(others), "")
    if name in ("msup", "mover"):
        return _scripted(first, "", "".join(others))
    if name in ("msubsup", "munderover") and len(others) == 2:
        return _scripted(first, others[0], others[1])
    if name == "mfrac" and len(inside) == 2:
        return f"{_group(first)}/{_group(others[0])}"
    if name in ("msqrt", "mroot"):
        return f"√{_group(_joined(inside) if name == 'msqrt' else first)}"
    if name == "mfenced":
        return f"({','.join(inside)})"
    if name == "semantics":
        return first
    return _joined(inside)


def _scripted(atom: str, below: str, above: str) -> str:
    return atom + (f"_{_group(below)}" if below else "") + (f"^{_group(above)}" if above else "")


def _group(text: str) -> str:
    return text if len(text) == 1 or re.fullmatch(r"\w+|\\\w+", text) else f"{{{text}}}"


def _joined(atoms: Iterable[str]) -> str:
    return "".join(atoms)


def _symbol(text: Any) -> str:
    return unicodedata.normalize("NFKC", text).translate(_SAME)
