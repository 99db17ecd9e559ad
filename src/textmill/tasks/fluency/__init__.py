"""Is this sentence all right? Judges of single sentences, learned from raw text and sampled negatives.

documents     documents as sentences, and their split into parts
encoded       sentences as ids of words
negatives     sampled sentences, matched pairs
features      n-grams of words, classes and tags
model         FluencyModel: the judge
diagnostics   what gives negatives away without any judgment
evaluation    accuracy beside its diagnostics, curves, pictures
explanation   words and chunks that lower a margin
pages         an evaluation as a page
sample        made-up documents
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.tasks.fluency.diagnostics import Leak, leaks_of
    from textmill.tasks.fluency.documents import (
        PARTS,
        SHARES,
        WORDS,
        CorpusSplit,
        SentenceDocument,
        read_sentences,
        split_corpus,
    )
    from textmill.tasks.fluency.encoded import Encoded
    from textmill.tasks.fluency.evaluation import FluencyEvaluation, draw_margins, draw_precision, evaluate_fluency
    from textmill.tasks.fluency.explanation import Explanation, FeatureShare, WordShare, explain_sentence
    from textmill.tasks.fluency.model import FluencyModel, SentenceScores, UnknownWords
    from textmill.tasks.fluency.negatives import NegativeSource, Pairs, draw_negatives, match_pairs
    from textmill.tasks.fluency.pages import evaluation_page, explanation_page
    from textmill.tasks.fluency.sample import sample_documents

__all__ = [
    "PARTS",
    "SHARES",
    "WORDS",
    "CorpusSplit",
    "Encoded",
    "Explanation",
    "FeatureShare",
    "FluencyEvaluation",
    "FluencyModel",
    "Leak",
    "NegativeSource",
    "Pairs",
    "SentenceDocument",
    "SentenceScores",
    "UnknownWords",
    "WordShare",
    "draw_margins",
    "draw_negatives",
    "draw_precision",
    "evaluate_fluency",
    "evaluation_page",
    "explain_sentence",
    "explanation_page",
    "leaks_of",
    "match_pairs",
    "read_sentences",
    "sample_documents",
    "split_corpus",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "diagnostics": "Leak leaks_of",
        "documents": "PARTS SHARES WORDS CorpusSplit SentenceDocument read_sentences split_corpus",
        "encoded": "Encoded",
        "evaluation": "FluencyEvaluation draw_margins draw_precision evaluate_fluency",
        "explanation": "Explanation FeatureShare WordShare explain_sentence",
        "model": "FluencyModel SentenceScores UnknownWords",
        "negatives": "NegativeSource Pairs draw_negatives match_pairs",
        "pages": "evaluation_page explanation_page",
        "sample": "sample_documents",
    },
)
