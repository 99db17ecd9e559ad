"""A page on a recognizer: both phases, the whole, and its errors by kind with their context."""

from __future__ import annotations

from textmill.report import Report
from textmill.tasks.entities.evaluation import ERROR_KINDS, EntityEvaluation

__all__ = ["entity_report"]

_SHOWN = 15  # errors of each kind

_MEANING = {
    "missing": "Names where nothing was found.",
    "spurious": "Found where there is no name.",
    "edges": "Right type, wrong beginning or end.",
    "type": "Right words, wrong type.",
    "edges and type": "Neither edges nor type are right, but the words overlap.",
}


def entity_report(result: EntityEvaluation, title: str = "Names and their types") -> Report:
    """Return the page.

    >>> from textmill.tasks.entities import EntityRecognizer, evaluate_entities
    >>> X, y = [["Ana", "ve", "Lima"]] * 5, [["B-PER", "O", "B-LOC"]] * 5
    >>> entity_report(evaluate_entities(EntityRecognizer().fit(X, y), X, y)).title
    'Names and their types'
    """
    page = Report(title, subtitle=f"{result.gold} names in {len(result.full.counts)} sentences")
    page.heading("Two phases")
    page.text(
        "Phase 1 finds phrases, phase 2 gives types to whole phrases. If they erred independently, F would be the "
        "product of extraction and classification; what is observed may be higher, since phrases that are hard to find "
        "are hard to classify, and since phase 2 may turn phrases down."
    )
    names = {
        "extraction f1": "extraction, F of phase 1 alone",
        "classification accuracy": "classification, accuracy of phase 2 on gold phrases",
        "product": "their product",
        "f1": "observed F of spans and types",
        "types of exact phrases": "types of exactly found phrases",
    }
    figures = result.figures()
    page.table(
        ["figure", "value"], [(text, f"{100 * figures[name]:.2f}") for name, text in names.items()], caption="Per cent."
    )
    page.heading("By type")
    chunks = result.full.chunks
    assert chunks is not None
    rows = []
    for label in sorted(map(str, chunks.labels)):
        counts = chunks[label]
        figures_of = (counts.precision(), counts.recall(), counts.f(zero_division=0.0))
        rows.append((label, *(f"{100 * figure:.2f}" for figure in figures_of), int(counts.hits + counts.misses)))
    whole = (result.full.precision, result.full.recall, result.full.f1)
    rows.append(("all", *(f"{100 * figure:.2f}" for figure in whole), result.gold))
    page.table(["type", "precision", "recall", "F", "gold"], rows, caption="Exact spans and types, as conlleval.")
    page.heading("Errors by kind")
    page.table(
        ["kind", "errors", "what it is"],
        [(k, n, _MEANING[k]) for k, n in result.kinds().items()],
        caption="All errors.",
    )
    for kind in ERROR_KINDS:
        some = [error for error in result.errors if error.kind == kind]
        if some:
            page.heading(f"{kind.capitalize()}: {len(some)}", level=3)
            shown = [(error.sentence, error.gold, error.predicted, error.context) for error in some[:_SHOWN]]
            page.table(["sentence", "gold", "predicted", "context"], shown, caption=f"The first {len(shown)}.")
    return page
