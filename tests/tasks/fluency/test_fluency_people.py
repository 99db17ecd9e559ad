from __future__ import annotations

from textmill.tasks import FluencyModel
from textmill.tasks.fluency import (
    draw_margins,
    draw_precision,
    evaluate_fluency,
    evaluation_page,
    explain_sentence,
    explanation_page,
    sample_documents,
    split_corpus,
)

PARTS = split_corpus(sample_documents(60))
MODEL = FluencyModel(features="word:1").fit(PARTS)


def test_pictures_and_pages_hold_what_was_measured() -> None:
    results = {"all": evaluate_fluency(MODEL, PARTS.test), "matched": evaluate_fluency(MODEL, PARTS.test, matched=True)}
    assert draw_margins(results["all"]).axes[0].get_xlabel() == "margin"
    assert len(draw_precision(results).axes[0].lines) >= 2
    page = evaluation_page(results).render()
    assert "unknown words" in page
    assert f"{results['all'].accuracy:.3f}"[:4] in page
    shaded = explanation_page([explain_sentence(MODEL, "the <old> miller takes the anvil .")]).render()
    assert "rgba(" in shaded
    assert "&lt;" in shaded
