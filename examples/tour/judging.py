"""Stops of the tour that judge: is a sentence all right, how hard is a text, which order has a related language."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from textmill.corpus import Document, parse_tree
from textmill.report import Report

__all__ = ["sentence_judge", "show_levels", "show_related_language"]

SENTENCES = (
    "in the morning the old miller near the river takes the sack and wants breakfast .",
    "in the morning the old miller near the river takes the anvil and wants supper .",
    "in the evening the poor carter from the river likes the whip and wants supper .",
    "in the evening the poor carter from the river likes the needle and wants breakfast .",
)
ORDERS = "C: S v O | S O v | v S O\nS O: a n | n a"


def sentence_judge(chart: Callable[..., None]) -> Callable[[Report, list[Document], Path], None]:
    """The stop that tells right sentences from likely ones; `chart` adds a chart where there are any."""

    def show_sentences(report: Report, documents: list[Document], folder: Path) -> None:
        from textmill.tasks import FluencyModel
        from textmill.tasks.fluency import draw_margins, evaluate_fluency, sample_documents, split_corpus

        split = split_corpus(sample_documents(150))
        judge = FluencyModel(features="word:1", degree=3).fit(split)
        judge.save(folder / "judge.mill")
        result = evaluate_fluency(judge, split.test)
        report.heading("Is this sentence all right?")
        report.text(
            "A trigram model has read made-up sentences in which each trade has its tool. What it draws is likely from "
            "word to word and wrong as a whole, and a kernel learns to tell it from what people wrote: "
            f"{result.accuracy:.0%} of sentences of other documents are judged right."
        )
        margins = judge.decision_function(list(SENTENCES))
        report.table(
            ["sentence", "margin", "verdict"],
            [
                (text, f"{margin:.2f}", "all right" if margin > 0 else "wrong")
                for text, margin in zip(SENTENCES, margins.tolist(), strict=True)
            ],
            caption="Sentences and their margins",
        )
        report.table(
            ["told by", "share judged right"],
            [
                ("the judge", f"{result.accuracy:.2f}"),
                *((f"{leak.name} alone", f"{leak.accuracy:.2f}") for leak in result.leaks),
            ],
            caption="What would give the right ones away",
        )
        chart(report, lambda: draw_margins(result), caption="Margins of right sentences and of samples")
        report.code("textmill fluency train texts.jsonl -o judge.mill\ntextmill fluency score judge.mill sentences.txt")

    return show_sentences


def show_levels(report: Report, documents: list[Document], folder: Path) -> None:
    """How hard texts are: formulas, and a grader that learns from texts with levels."""
    from textmill.tasks import ReadabilityGrader
    from textmill.tasks.readability import count_texts, sample_graded_texts

    graded = sample_graded_texts(40)
    articles = graded.groups or graded.ids
    few = set(sorted(set(articles))[:10])
    apart = [at for at, article in enumerate(articles) if article in few]
    rest = [at for at in range(len(graded.texts)) if at not in set(apart)]

    def of(values: Any, places: list[int]) -> list[Any]:
        return [values[at] for at in places]

    grader = ReadabilityGrader(features=["shallow"])
    grader.fit(of(graded.texts, rest), of(graded.levels, rest), of(articles, rest))
    grader.save(folder / "grader.mill")
    levels = grader.predict(of(graded.texts, apart)).tolist()
    right = sum(a == b for a, b in zip(levels, of(graded.levels, apart), strict=True))
    report.heading("How hard is this text?")
    report.text(
        "Sample articles were simplified by rule to two lower levels, and a grader learned from most of them. Of "
        f"{len(apart)} versions of other articles {right} get their level; formulas need no training."
    )
    counts = count_texts(of(graded.texts, apart[:3]))
    grades, ease = counts.formula("flesch_kincaid"), counts.formula("reading_ease")
    report.table(
        ["level", "says the grader", "Flesch-Kincaid grade", "reading ease", "first words"],
        [
            (
                graded.levels[at],
                levels[number],
                f"{grades[number]:.1f}",
                f"{ease[number]:.0f}",
                " ".join(graded.texts[at].split()[:12]) + " ...",
            )
            for number, at in enumerate(apart[:3])
        ],
        caption="Three versions of an article that was kept apart",
    )
    report.code("textmill readability score letter.txt\ntextmill readability explain grader.mill letter.txt")


def show_related_language(report: Report, documents: list[Document], folder: Path) -> None:
    """Trees for a related language with other orders, from trees and raw text."""
    from textmill.tasks import TreebankTransfer

    source = parse_tree("(C (S (a old) (n men)) (v saw) (O (a red) (n boats)))")
    text = [["v", "n", "a", "n", "a"]] * 80 + [["v", "a", "n", "n", "a"]] * 10 + [["n", "a", "v", "n", "a"]] * 10
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TreebankTransfer(families=ORDERS, max_iter=200, n_chains=2).fit([source] * 20, corpus=text)
    model.save(folder / "transfer.mill")
    report.heading("A treebank for a related language")
    report.text(
        "Trees exist for one language only; the other has raw text, here its tags: the verb comes first, adjectives "
        "follow their nouns. All target trees of a source tree are packed into a forest, intersected with the bigrams "
        f"of the text, and drawn from the posterior. The source tree is {source}."
    )
    report.table(
        ["target tree", "posterior"],
        [(str(tree), f"{100 * math.exp(score):.0f} %") for tree, score in model.best(4)[0]],
        caption="The most probable trees of one sentence",
    )
    report.code(
        "textmill transfer run source.mrg --families orders.txt --text target.tags -o transfer.mill\n"
        "textmill transfer best transfer.mill -o imputed.mrg"
    )
