"""What the models that are served say of a pasted text, all in one form: facts, and spans of the text with labels.

    tokens         words of the text                                        (always)
    boundaries     where its topic changes, with the words of each part     (always)
    languages      spans of one language, with confidence                   LanguageIdentifier, or the bundled one
    labels         spans or tokens with labels and confidence               taggers whose patterns read words alone
    class          probabilities of labels                                  classifiers of texts
    score          a score and the features that move it                    PolarityScorer
    topics         the mixture, and the topic of each word                  topic models with a vectorizer
    coherence      verdict, and the sentences that do not fit               CoherenceDetector
    and what models of single jobs say: names, sentences that read wrong, levels, sounds, subject codes (`verdicts`)

Places count characters (code points) from the beginning of the text, so `text[begin:end]` is the span. Cost: that of
the models.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from pydantic import BaseModel

from textmill.errors import DataError
from textmill.web.library import Entry

__all__ = ["Analysis", "Fact", "TextSpan", "analyses_of", "bundled_identifier", "mixture_of"]

_CLEAR = 0.05  # share of a topic that is shown; the rest is summed
_DIRECTIONS = 8  # shown of a model whose topics are directions
_FEATURES = 20  # of a score
_CLASSES = 10


class TextSpan(BaseModel):
    """A part of the text: characters, its label, how sure that is, and a remark."""

    begin: int
    end: int
    label: str
    confidence: float | None = None
    note: str | None = None


class Fact(BaseModel):
    """Something that holds of the whole text; `share` from 0 to 1 where it is one."""

    name: str
    value: str
    share: float | None = None


class Analysis(BaseModel):
    """What one model says of a text, or why it says nothing."""

    file: str
    kind: str
    title: str
    facts: list[Fact] = []
    spans: list[TextSpan] = []
    fault: str | None = None


def analyses_of(text: str, entries: Sequence[Entry], identifier: Any = None) -> list[Analysis]:
    """What each of the files says of a text; `identifier` serves where no file knows languages.

    >>> [analysis.title for analysis in analyses_of("The mill grinds. A storm at sea.", [])]
    ['Tokens', 'Topic boundaries']
    """
    analyses = [_tokens(text), _safe("built in", "tasks.TopicSegmenter", "Topic boundaries", _boundaries, text, None)]
    if identifier is not None and not any(entry.kind == "tasks.LanguageIdentifier" for entry in entries):
        analyses.append(_safe("built in", "tasks.LanguageIdentifier", "Languages", _languages, text, identifier))
    for entry in entries:
        title, function = _function_for(entry.value)
        analyses.append(_safe(entry.name, entry.kind, title, function, text, entry.value))
    return analyses


@cache
def bundled_identifier() -> Any:
    """The identifier of languages that comes with the package, opened once, or None where it was not installed."""
    from textmill.tasks.language import LanguageIdentifier

    try:
        return LanguageIdentifier.bundled()
    except OSError:
        return None


def _function_for(model: Any) -> tuple[str, Callable[[str, Any], tuple[list[Fact], list[TextSpan]]]]:
    from textmill.sequence import ChainModel, SemiMarkovCRF
    from textmill.tasks.coherence import CoherenceDetector
    from textmill.tasks.entities import EntityRecognizer
    from textmill.tasks.fluency import FluencyModel
    from textmill.tasks.language import LanguageIdentifier
    from textmill.tasks.polarity import PolarityScorer
    from textmill.tasks.pronunciation import PronunciationModel
    from textmill.tasks.readability import ReadabilityGrader
    from textmill.tasks.similarity import SubjectClassifier
    from textmill.topics import TopicModel
    from textmill.web import verdicts

    kinds: list[tuple[type, str, Callable[[str, Any], tuple[list[Fact], list[TextSpan]]]]] = [
        (LanguageIdentifier, "Languages", _languages),
        (ChainModel, "Labels", _labels),
        (SemiMarkovCRF, "Labels", _segments),
        (CoherenceDetector, "Coherence", _coherence),
        (PolarityScorer, "Score", _score),
        (TopicModel, "Topics", _topics),
        (EntityRecognizer, "Names", verdicts.entities),
        (FluencyModel, "Sentences", verdicts.sentences),
        (ReadabilityGrader, "Reading level", verdicts.reading_level),
        (PronunciationModel, "Sounds", verdicts.sounds),
        (SubjectClassifier, "Subject codes", verdicts.codes),
    ]
    return next(((title, analyze) for kind, title, analyze in kinds if isinstance(model, kind)), ("Class", _classes))


def _safe(file: str, kind: str, title: str, function: Callable[[str, Any], Any], text: str, model: Any) -> Analysis:
    """One analysis; what a model cannot do is said beside what the others say."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            facts, spans = function(text, model)
    except DataError as fault:
        return Analysis(file=file, kind=kind, title=title, fault=fault.message)
    spans = [span for span in spans if span.begin < span.end]
    return Analysis(file=file, kind=kind, title=title, facts=facts, spans=spans)


def _tokens(text: str) -> Analysis:
    from textmill.corpus import Tokenizer, sentence_spans

    tokenizer = Tokenizer()
    spans = tokenizer.spans(text)
    words = {text[begin:end].casefold() for begin, end in spans}
    counts = {"characters": len(text), "sentences": len(sentence_spans(text)), "tokens": len(spans)}
    facts = [Fact(name=name, value=f"{count:,}") for name, count in (counts | {"distinct": len(words)}).items()]
    shown = [TextSpan(begin=begin, end=end, label="") for begin, end in spans]
    return Analysis(file="built in", kind="corpus.Tokenizer", title="Tokens", facts=facts, spans=shown)


def _boundaries(text: str, _: Any) -> tuple[list[Fact], list[TextSpan]]:
    from textmill.tasks.segmentation import TopicSegmenter

    cut = TopicSegmenter().segment(text)
    words = cut.words(4) if len(cut) > 1 else [[] for _ in range(len(cut))]
    spans = [
        TextSpan(begin=begin, end=end, label=f"part {number}", note=", ".join(words[number - 1]) or None)
        for number, (begin, end) in enumerate(cut.spans, 1)
    ]
    return [Fact(name="parts", value=str(len(cut)))], spans


def _languages(text: str, identifier: Any) -> tuple[list[Fact], list[TextSpan]]:
    from textmill.tasks.language import LanguageSegmenter, language_shares

    pieces = LanguageSegmenter(identifier=identifier).segments(text)
    spans = [
        TextSpan(begin=one.begin, end=one.end, label=one.language or "unknown", confidence=_finite(one.confidence))
        for one in pieces
    ]
    shares = sorted(language_shares(pieces).items(), key=lambda pair: -pair[1])
    return [Fact(name=name or "unknown", value=f"{share:.1%}", share=share) for name, share in shares], spans


def _labels(text: str, model: Any) -> tuple[list[Fact], list[TextSpan]]:
    from textmill.corpus import Sentence
    from textmill.sequence import label_text

    spans: list[TextSpan] = []
    sentences = list(label_text(model, text))
    X = [Sentence((tuple(text[a:b] for a, b in one.tokens),)) for one in sentences]
    places = [{begin: t for t, (begin, _) in enumerate(one.tokens)} for one in sentences]
    ends = [{end: t + 1 for t, (_, end) in enumerate(one.tokens)} for one in sentences]
    stretches = [[(places[s][span.begin], ends[s][span.end]) for span in one.spans] for s, one in enumerate(sentences)]
    sure = model.span_confidence(X, [one.labels for one in sentences], stretches) if sentences else []
    for one, values in zip(sentences, sure, strict=True):
        for span, value in zip(one.spans, values, strict=True):
            spans.append(TextSpan(begin=span.begin, end=span.end, label=span.label, confidence=_finite(value)))
    return _counts(spans), spans


def _segments(text: str, model: Any) -> tuple[list[Fact], list[TextSpan]]:
    from textmill.corpus import sentence_spans
    from textmill.sequence import token_spans

    cuts = [[(begin + a, begin + b) for a, b in token_spans(text[begin:end])] for begin, end in sentence_spans(text)]
    cuts = [tokens for tokens in cuts if tokens]
    X = [[text[a:b] for a, b in tokens] for tokens in cuts]
    segments = model.predict_segments(X) if X else []
    sure = model.span_confidence(X, segments) if X else []
    spans = []
    for tokens, some, values in zip(cuts, segments, sure, strict=True):
        for (first, last, label), value in zip(some, values, strict=True):
            begin, end = tokens[first][0], tokens[last - 1][1]
            spans.append(TextSpan(begin=begin, end=end, label=str(label), confidence=_finite(value)))
    return _counts(spans), spans


def _coherence(text: str, model: Any) -> tuple[list[Fact], list[TextSpan]]:
    explained = model.explain(text)
    score = explained.score
    facts = [
        Fact(name="verdict", value=score.verdict + (", unfamiliar words" if score.unfamiliar else "")),
        Fact(name="probability of being forged", value=f"{score.probability:.1%}", share=_finite(score.probability)),
        Fact(name="entropy of topics, bits", value=f"{score.entropy:.2f}"),
        Fact(name="content words", value=f"{score.words:,}"),
    ]
    facts += [Fact(name=f"topic {t + 1}", value=", ".join(words), share=part) for t, part, words in score.topics]
    spans, at = [], 0
    for sentence in explained.sentences:
        # the detector joins lines, so blanks of the sentence stand for any in the text
        place = re.compile(r"\s+".join(map(re.escape, sentence.text.split()))).search(text, at)
        if place is None:
            continue
        at = place.end()
        if sentence.offending:
            note = f"{sentence.surprise:.2f} bits per word worse explained by the rest"
            spans.append(TextSpan(begin=place.start(), end=place.end(), label="does not fit", note=note))
    return facts, spans


def _score(text: str, model: Any) -> tuple[list[Fact], list[TextSpan]]:
    from textmill.tasks.polarity import explain_review

    scores = model.scored([text])
    row = {name: float(values[0]) for name, values in scores.columns().items()}
    facts = [Fact(name=name, value=f"{value:.2f}") for name, value in row.items()]
    try:
        parts = explain_review(model, text, k=_FEATURES)
    except DataError:
        return facts, []  # a kernel that has no parts
    return facts + [Fact(name=part.feature, value=f"{part.part:+.3f}") for part in parts], []


def _topics(text: str, model: Any) -> tuple[list[Fact], list[TextSpan]]:
    from textmill.topics import explain_text

    if model.vectorizer_ is None:
        raise DataError("the model has no vectorizer, so it reads no texts; train it with one")
    if model.components_.min(initial=0) < 0:  # directions: words have weights in all of them
        weights = model.transform([text])[0]
        words = model.topics(5)
        order = sorted(range(len(weights)), key=lambda t: -abs(weights[t]))[:_DIRECTIONS]
        return [
            Fact(name=f"direction {t + 1}", value=f"{weights[t]:+.3f} " + ", ".join(word for word, _ in words[t]))
            for t in order
        ], []
    explained = explain_text(model, text)
    facts = _mixture(explained.mixture.tolist(), explained.labels)
    spans = [
        TextSpan(begin=one.begin, end=one.end, label=f"topic {one.topic + 1}", confidence=_finite(one.probability))
        for one in explained.words
    ]
    return facts, spans


def mixture_of(model: Any, text: str) -> list[Fact]:
    """The topics of a text with at least 5 % of it, the largest first, and the rest together.

    >>> from textmill.topics import LDA
    >>> from textmill.vectors import TextVectorizer, Weighting
    >>> counts = TextVectorizer(weighting=Weighting(scheme="nnn"))
    >>> model = LDA(n_topics=2, vectorizer=counts, random_state=0).fit(["a mill", "the sea", "a sea"])
    >>> round(sum(fact.share or 0 for fact in mixture_of(model, "a mill")), 6)
    1.0
    """
    labels = [" ".join(word for word, _ in words) for words in model.topics(6)]
    weights = model.transform([text])[0]
    total = float(weights.sum())
    return _mixture((weights / total).tolist(), labels) if total > 0 else []


def _mixture(mixture: list[float], labels: Sequence[str]) -> list[Fact]:
    clear = sorted((t for t in range(len(mixture)) if mixture[t] >= _CLEAR), key=lambda t: -mixture[t])
    facts = [Fact(name=f"topic {t + 1}", value=labels[t], share=mixture[t]) for t in clear]
    if len(clear) < len(mixture):
        facts.append(Fact(name="other", value="all other topics", share=max(0.0, 1.0 - sum(mixture[t] for t in clear))))
    return facts


def _classes(text: str, model: Any) -> tuple[list[Fact], list[TextSpan]]:
    if getattr(model, "vectorizer_", None) is None:
        raise DataError("the model has no vectorizer, so it reads no texts; train it on texts")
    shares = model.predict_proba([text])[0]
    order = sorted(range(len(shares)), key=lambda c: -shares[c])[:_CLASSES]
    return [Fact(name=str(model.classes_[c]), value=f"{shares[c]:.1%}", share=_finite(shares[c])) for c in order], []


def _counts(spans: Sequence[TextSpan]) -> list[Fact]:
    counts: dict[str, int] = {}
    for span in spans:
        counts[span.label] = counts.get(span.label, 0) + 1
    return [
        Fact(name=label, value=f"{count:,}") for label, count in sorted(counts.items(), key=lambda x: (-x[1], x[0]))
    ]


def _finite(value: Any) -> float | None:
    number = float(value)
    return number if number - number == 0.0 else None
