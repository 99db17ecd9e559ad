"""What `textmill demo` shows, and how the tour of the source tree begins: three results with pictures.

Charts need Matplotlib, which is an extra; without it they are left out, and the report says what draws them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import util
from pathlib import Path
from typing import Any

from textmill import plot
from textmill.corpus import Tokenizer, Vocabulary, sample_articles
from textmill.report import Report
from textmill.strings import Matcher, parse_measure
from textmill.topics import NMF, draw_topics, explain_text
from textmill.vectors import TextVectorizer

__all__ = [
    "NO_CHARTS",
    "SUMMARY",
    "add_chart",
    "has_charts",
    "show_opening",
    "topic_model",
    "write_demo",
    "write_files",
]

SUMMARY = (
    "Fast, explainable text processing on an ordinary CPU: topics, search, deduplication, tagging, transducers and 19 "
    "more, trained on your own data."
)
NO_CHARTS = "Charts are left out, because Matplotlib is not installed; pip install 'textmill[plot]' draws them."

SENTENCE = "The Moon raises the tides, the pan needs butter and salt, and the goal counted: the ball was over the line."

COMPANIES = """Northwind Traders Ltd.
Müller & Söhne GmbH
Pacific Rim Shipping Co
Acme Tool and Die Company
Hudson Bay Insurance
NORTHWIND TRADERS LIMITED
Riverside Housing
Acme Tool & Die Co.
Traders of Northfield
Pacific Shipping Company
Hudson Valley Insurance Group
Shipping Co., Pacific Rim
Muller Sohne GmbH
Baltic Timber Export
Acme Tyre and Dye
Southern Steel Works
Riverside Insurance Group
Stel Works Southern
"""


def write_files(folder: Path) -> None:
    """Write the files of the README's examples: a folder of articles, and a list of companies."""
    articles = folder / "articles"
    articles.mkdir(parents=True, exist_ok=True)
    for article in sample_articles():
        (articles / f"{article['id']}.txt").write_text(f"{article['title']}\n\n{article['text']}\n", encoding="utf-8")
    (folder / "companies.txt").write_text(COMPANIES, encoding="utf-8")


def topic_model(texts: list[str]) -> NMF:
    """Topics of the English articles, without numbers and function words."""
    words = Vocabulary(tokenizer=Tokenizer(digits="drop"), stop_words="auto", min_df=3, max_df=0.15)
    return NMF(n_topics=11, vectorizer=TextVectorizer(vocabulary=words), random_state=0).fit(texts)


def has_charts() -> bool:
    """Whether charts can be drawn."""
    return util.find_spec("matplotlib") is not None


def add_chart(report: Report, draw: Callable[[], Any], *, caption: str) -> None:
    """Add a chart, where charts can be drawn."""
    if has_charts():
        report.figure(plot.to_svg(draw()), caption=caption)


def write_demo(folder: Path) -> Path:
    """Write the files of the examples and a report of three results; its path."""
    write_files(folder)
    report = Report("textmill", subtitle=SUMMARY)
    show_opening(report, [str(article["text"]) for article in sample_articles()])
    if not has_charts():
        report.text(NO_CHARTS)
    report.write(folder / "report.html")
    return folder / "report.html"


def show_opening(report: Report, texts: list[str]) -> None:
    """Topics as a picture, duplicates with the alignment of a pair, and a text with the words that explain it."""
    model = topic_model(texts)
    report.text(f"Topics of {len(texts)} short articles, found without a label and without a list of stop words:")
    add_chart(report, lambda: draw_topics(model), caption="Topics; areas are shares of the articles")
    names = COMPANIES.splitlines()
    matcher = Matcher(threshold=0.55).fit(names)
    pairs = matcher.pairs()
    rows = zip(pairs.left.tolist(), pairs.right.tolist(), pairs.score.tolist(), strict=True)
    report.text(f"Duplicates in a list of {len(names)} companies, and why a pair is one:")
    report.table(
        ["company", "is also written", "score"],
        [(names[left], names[right], f"{score:.2f}") for left, right, score in rows],
        caption="Misspelled, abbreviated and turned around",
    )
    measure = parse_measure("ml(words, sub=power(jaro, 3), transpositions='extended')").fit(names)
    alignment = measure.align("Acme Tool and Die Company", "Acme Tool & Die Co.")
    report.figure(alignment.html(), caption="Why two of them are one: words that are aligned, and what they add")
    report.text("Why a sentence is about what it is about; rest the pointer on a word to see its topic:")
    report.html(explain_text(model, SENTENCE).html())
