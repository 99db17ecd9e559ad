"""Pages for people: an evaluation with its leaks and pictures, sentences with their words colored by share."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from textmill.report import Report
from textmill.tasks.fluency.evaluation import FluencyEvaluation, draw_margins, draw_precision
from textmill.tasks.fluency.explanation import Explanation

__all__ = ["evaluation_page", "explanation_page"]


def evaluation_page(results: dict[str, FluencyEvaluation]) -> Report:
    """A page on how good a judge is; results by name, such as "all" and "matched".

    >>> import numpy as np
    >>> result = FluencyEvaluation(np.array([1.0, -0.5]), np.array([-1.0, -2.0]), 0.5, (), False, 7)
    >>> evaluation_page({"all": result}).title
    'Judged sentences'
    """
    page = Report("Judged sentences", subtitle=next(iter(results.values())).signature)
    page.heading("Figures")
    columns = ["negatives", "accuracy", "low", "high", "precision", "recall", "n-gram model", "sentences"]
    rows = []
    for name, result in results.items():
        counts, interval = result.counts(), result.interval
        rows.append(
            (
                name,
                result.accuracy,
                interval.low,
                interval.high,
                counts.precision(),
                counts.recall(),
                result.lm_accuracy,
                len(result.positive_margins) + len(result.negative_margins),
            )
        )
    page.table(columns, rows, caption="Accuracy with its 95 % interval, beside that of the n-gram model alone.")
    for name, result in results.items():
        page.heading(f"Negatives: {name}")
        leaks = [(leak.name, leak.accuracy, leak.right_if, leak.positive_mean, leak.negative_mean)
                 for leak in result.leaks]  # fmt: skip
        caption = "What one number alone achieves; near 0.5 it gives nothing away."
        page.table(["leak", "accuracy", "right if", "mean of right", "mean of sampled"], leaks, caption=caption)
        page.figure(draw_margins(result), caption="Margins of sentences that are right and of sampled ones.")
    page.heading("Precision and recall")
    page.figure(draw_precision(results), caption="Of sentences that are right, at every threshold.")
    return page


def explanation_page(explanations: Sequence[Explanation]) -> Report:
    """A page of sentences whose words are shaded: red lowers the margin, green raises it.

    >>> from textmill.tables import Rows
    >>> from textmill.tasks.fluency.explanation import FeatureShare, WordShare
    >>> words = Rows([WordShare("mill", "mill", "mill", -0.5)], WordShare)
    >>> one = Explanation(-0.5, 0.4, words, 0.0, 0.0, 0.0, Rows([], FeatureShare))
    >>> "mill" in explanation_page([one]).render()
    True
    """
    page = Report("Sentences explained", subtitle="Red lowers the margin, green raises it.")
    for one in explanations:
        most = max((abs(word.share) for word in one.words), default=0.0) or 1.0
        spans = []
        for word in one.words:
            color = "0, 140, 70" if word.share > 0 else "200, 30, 30"
            strength = abs(word.share) / most
            spans.append(
                Markup('<span style="background: rgba({}, {:.2f})" title="{:+.4f}">{}</span>').format(
                    color, 0.6 * strength, word.share, escape(word.word)
                )
            )
        page.heading(f"margin {one.margin:+.3f}, probability {one.probability:.2f}", level=3)
        page.html(Markup("<p>{}</p>").format(Markup(" ").join(spans)))
    return page
