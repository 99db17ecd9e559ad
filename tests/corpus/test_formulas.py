"""Formulas in one spelling, from TeX, MathML, HTML and XML; what is no formula; and how they are weighed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import textmill
from textmill.corpus import (
    FormulaTokenizer,
    SkippedRecords,
    Vocabulary,
    canonical_formula,
    is_formula,
    read_documents,
)
from textmill.errors import DataError
from textmill.vectors import TextVectorizer, Weighting


@pytest.mark.parametrize(
    ("tex", "term"),
    [
        (r"\Gamma", "$Γ$"),
        (r"\phi", "$φ$"),
        (r"\varphi", "$φ$"),
        ("C*", "$C*$"),
        ("C^{*}", "$C^*$"),
        (r"x_{i}^{2}", "$x_i^2$"),
        (r"x^2_i", "$x_i^2$"),
        (r"\mathbb{R}^n", "$R^n$"),
        (r"\left( a \, , b \right)", "$(a,b)$"),
        (r"\frac{a+1}{b}", "${a+1}/b$"),
        (r"\sqrt{2}", "$√2$"),
        (r"f'", "$f^′$"),
        (r"f^{\prime}", "$f^′$"),
        (r"a \leq b \to \infty", "$a≤b→∞$"),
        (r"\unknowncommand x", r"$\unknowncommandx$"),
        (r"{", "$$"),
        (r"x_", "$x$"),
        ("", "$$"),
    ],
)
def test_tex_has_one_spelling(tex: str, term: str) -> None:
    assert canonical_formula(tex) == term


MATH = """<math xmlns="http://www.w3.org/1998/Math/MathML"><mrow><msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>
<mo>&#8804;</mo><mfrac><mrow><mi>a</mi><mo>+</mo><mn>1</mn></mrow><mi>b</mi></mfrac></mrow></math>"""


def test_mathml_in_pages_is_the_same_term_as_tex(tmp_path: Path) -> None:
    head = "<title>Rings &amp; ideals</title><meta name='author' content='A. B.'><style>p {}</style>"
    body = f"<h2>One</h2><p>Let {MATH} hold, <script>alert(1)</script>or &Gamma;.</p>"
    page = f"<html lang='en'><head>{head}</head><body>{body}</body></html>"
    (tmp_path / "a.html").write_text(page)
    front = '<?xml version="1.0"?><article xml:lang="en"><article-title>Rings</article-title>'
    (tmp_path / "b.xml").write_text(f"{front}<p>Let {MATH} hold&nbsp;&gt;.</p></article>")
    html, xml = read_documents(tmp_path)
    assert html.fields["title"] == "Rings & ideals"
    assert (html.fields["author"], html.fields["language"]) == ("A. B.", "en")
    term = canonical_formula(r"x_i^2 \leq \frac{a+1}{b}")
    assert html.text == f"One\nLet {term} hold, or Γ."
    assert xml.text == f"Let {term} hold\u00a0>.".replace("\u00a0", " ")
    assert FormulaTokenizer()(html.text)[-1] == term
    assert "alert" not in html.text


def test_text_between_formulas_is_cut_as_ever_and_prices_are_no_formulas() -> None:
    text = r"It costs $5 and $10. Let $G$ be a graph, \[E = mc^2\] and \begin{equation}x\end{equation}"
    assert FormulaTokenizer()(text) == [
        "it",
        "costs",
        "5",
        "and",
        "10",
        "let",
        "be",
        "a",
        "graph",
        "and",
        "$G$",
        "$E=mc^2$",
        "$x$",
    ]


def test_enumerators_and_bare_numbers_are_left_out_unless_asked_for() -> None:
    text = "$(i)$ $(ii)$ $(iii)$ $12$ $(a)$ $3.$ $v$ $i$"
    assert FormulaTokenizer()(text) == ["$v$", "$i$"]
    assert FormulaTokenizer(enumerators=True)(text)[:4] == ["$(i)$", "$(ii)$", "$(iii)$", "$12$"]


def test_formulas_are_terms_with_a_weight_of_their_own(tmp_path: Path) -> None:
    texts = [r"ring $\Gamma$", "ring ideal", r"graph $\Gamma$ $\Gamma$"]
    rows = {}
    for weight in (1.0, 0.5, 0.0):
        vectorizer = TextVectorizer(
            vocabulary=Vocabulary(tokenizer=FormulaTokenizer()),
            weighting=Weighting(scheme="nnn"),
            formula_weight=weight,
        ).fit(texts)
        rows[weight] = vectorizer.transform(texts).toarray()
        vectorizer.save(tmp_path / "v.mill")
        assert np.array_equal(textmill.load(tmp_path / "v.mill").transform(texts).toarray(), rows[weight])
    column = [is_formula(term) for term in vectorizer.terms_].index(True)
    assert [rows[weight][2, column] for weight in (1.0, 0.5, 0.0)] == [2.0, 1.0, 0.0]
    with pytest.raises(DataError, match="formula_weight"):
        TextVectorizer(formula_weight=-1).fit(texts)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xml", b"<a><b></a>", "not well-formed XML: mismatched tag"),
        ("a.xml", b'<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', "it declares entities"),
        ("a.html", b'<meta charset="utf-8"><p>\xff', "not utf-8 at byte 25"),
        ("a.html", b'<meta charset="nonsense"><p>', "which is none"),
    ],
)
def test_bad_markup_is_told_in_one_line(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        list(read_documents(tmp_path / name))
    (tmp_path / "ok.txt").write_text("fine")
    with pytest.warns(SkippedRecords, match="a bad record|bad record"):
        assert [one.text for one in read_documents(tmp_path, errors="skip")] == ["fine"]


def test_other_encodings_and_dumps_are_read(tmp_path: Path) -> None:
    (tmp_path / "l.html").write_bytes('<meta charset="iso-8859-2"><title>Řád</title><p>příklad'.encode("iso-8859-2"))
    (tmp_path / "m.html").write_bytes("<p>příklad".encode("utf-16"))
    texts = [one.text for one in read_documents(tmp_path)]
    assert texts == ["příklad", "příklad"]
    (tmp_path / "page").write_text("<!DOCTYPE html><p>sniffed")
    assert [one.text for one in read_documents(tmp_path / "page")] == ["sniffed"]
