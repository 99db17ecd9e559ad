"""What models of single jobs say of a pasted text, in the form of `analyses`: facts and spans.

entities         names with their types and probabilities                  EntityRecognizer
sentences        those that do not read right, and how sure that is        FluencyModel
reading level    probabilities of levels, and the figures behind them      ReadabilityGrader
sounds           how each word is spoken                                   PronunciationModel
subject codes    codes with the confidence in each                         tasks.similarity.SubjectClassifier
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from textmill.corpus import Tokenizer, sentence_spans
from textmill.sequence import token_spans
from textmill.web.analyses import Fact, TextSpan

__all__ = ["codes", "entities", "reading_level", "sentences", "sounds"]

_CODES = 10
_FEATURES = 30  # figures of a text
_WORDS = 2000  # different words that are spoken


def entities(text: str, model: Any) -> tuple[list[Fact], list[TextSpan]]:
    """Return the names in a text."""
    cuts = [[(begin + a, begin + b) for a, b in token_spans(text[begin:end])] for begin, end in sentence_spans(text)]
    cuts = [tokens for tokens in cuts if tokens]
    names = model.entities([[text[a:b] for a, b in tokens] for tokens in cuts]) if cuts else []
    spans = [
        TextSpan(begin=tokens[one.start][0], end=tokens[one.end - 1][1], label=one.label, confidence=one.probability)
        for tokens, some in zip(cuts, names, strict=True)
        for one in some
    ]
    counts = Counter(span.label for span in spans)
    return [Fact(name=label, value=f"{count:,}") for label, count in sorted(counts.items())], spans


def sentences(text: str, model: Any) -> tuple[list[Fact], list[TextSpan]]:
    """Return the sentences that do not read right."""
    places = [(begin, end) for begin, end in sentence_spans(text) if text[begin:end].strip()]
    if not places:
        return [], []
    scores = model.scores([text[begin:end] for begin, end in places])
    spans = []
    for i, (begin, end) in enumerate(places):
        if not scores.right[i]:
            unknown = f", {scores.unknown[i]} of {scores.words[i]} words unknown" if scores.unknown[i] else ""
            note = f"margin {scores.margin[i]:.2f}{unknown}"
            wrong = 1.0 - float(scores.probability[i])
            spans.append(TextSpan(begin=begin, end=end, label="reads wrong", confidence=wrong, note=note))
    right = len(places) - len(spans)
    return [Fact(name="sentences that read right", value=f"{right} of {len(places)}", share=right / len(places))], spans


def reading_level(text: str, model: Any) -> tuple[list[Fact], list[TextSpan]]:
    """Return the level of a text, and the features it was found by."""
    graded = model.grade([text])
    shares = graded.probabilities[0].tolist()
    facts = [Fact(name="level", value=str(graded.levels[0]))]
    facts += [Fact(name=str(name), value=f"{p:.1%}", share=p) for name, p in zip(graded.order, shares, strict=True)]
    table = model.transform([text])
    figures = zip(table.names, table.values[0].tolist(), strict=True)
    return facts + [Fact(name=name, value=f"{value:.4g}") for name, value in list(figures)[:_FEATURES]], []


def sounds(text: str, model: Any) -> tuple[list[Fact], list[TextSpan]]:
    """Return how each word is spoken."""
    places = Tokenizer().spans(text)
    words = list(dict.fromkeys(text[begin:end].casefold() for begin, end in places))[:_WORDS]
    spoken = dict(zip(words, model.predict_lines(words), strict=True)) if words else {}
    spans = [
        TextSpan(begin=begin, end=end, label=line)
        for begin, end in places
        if (line := spoken.get(text[begin:end].casefold()))
    ]
    return [Fact(name="different words", value=f"{len(words):,}")], spans


def codes(text: str, model: Any) -> tuple[list[Fact], list[TextSpan]]:
    """Return the subject codes that suit a text best."""
    return [
        Fact(name=row.code, value=f"{row.confidence:.1%}", share=min(1.0, max(0.0, row.confidence)))
        for row in model.suggest(text, k=_CODES)
    ], []
