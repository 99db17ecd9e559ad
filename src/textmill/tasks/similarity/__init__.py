"""Similar documents: an index in one file, and collections on disk that are written to and asked at the same time.

documents    SimilarDocuments: a model and an index of the vectors of many documents, in one file
collection   Collection: open, ask, write, delete; articles, filters, questions, methods: what is in it, how it is asked
store        the folder of a collection; shards, journal, snapshot, training: its parts; indexed: index files instead
neighbors    NeighborTable: the nearest documents of every document; building, merging: how it is made
fusion       several ranked lists as one
explaining   why two documents are similar
agreement    neighbors and subject classes; classes: schemes of codes
subjects     SubjectClassifier: codes suggested for texts; reviewers: people suggested for them
mixtures     topics as tables and charts
languages    a model for each language, or one space for all; vectors from elsewhere
reading      documents from bags of words, statistics of sources; exports: tables and static pages
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.tasks.similarity.agreement import Agreement, evaluate_classes
    from textmill.tasks.similarity.articles import Article, articles_of
    from textmill.tasks.similarity.classes import ClassScheme, codes_of, guess_scheme
    from textmill.tasks.similarity.collection import Collection, StaleModel
    from textmill.tasks.similarity.diagnostics import Diagnosis, Period, ScoreSample, diagnose, write_diagnosis
    from textmill.tasks.similarity.documents import Matches, SimilarDocuments, query_shards
    from textmill.tasks.similarity.duplicates import NearPair, duplicate_groups, near_duplicates, write_duplicates
    from textmill.tasks.similarity.explaining import SharedPart, explain_similarity
    from textmill.tasks.similarity.exports import NeighborRow, export_neighbors, neighbor_rows, table_rows, write_site
    from textmill.tasks.similarity.filters import parse_filters
    from textmill.tasks.similarity.fusion import fuse_ranks
    from textmill.tasks.similarity.languages import FieldVectors, LanguageModels, fit_joint_space, mate_retrieval
    from textmill.tasks.similarity.methods import Method, make_method, similarities
    from textmill.tasks.similarity.mixtures import MixturePart, TopicRow, draw_mixture, mixture_parts, topic_table
    from textmill.tasks.similarity.neighbors import NeighborTable
    from textmill.tasks.similarity.questions import Question
    from textmill.tasks.similarity.reading import SourceStatistics, bag_articles, source_statistics
    from textmill.tasks.similarity.reviewers import (
        Reviewer,
        ReviewerFigures,
        evaluate_reviewers,
        names_of,
        suggest_reviewers,
    )
    from textmill.tasks.similarity.scoring import pair_scores, score_matrix
    from textmill.tasks.similarity.shards import DocumentShard
    from textmill.tasks.similarity.snapshot import FieldSummary, Snapshot
    from textmill.tasks.similarity.subjects import SubjectClassifier, Suggestion, feature_scores

__all__ = [
    "Agreement",
    "Article",
    "ClassScheme",
    "Collection",
    "Diagnosis",
    "DocumentShard",
    "FieldSummary",
    "FieldVectors",
    "LanguageModels",
    "Matches",
    "Method",
    "MixturePart",
    "NearPair",
    "NeighborRow",
    "NeighborTable",
    "Period",
    "Question",
    "Reviewer",
    "ReviewerFigures",
    "ScoreSample",
    "SharedPart",
    "SimilarDocuments",
    "Snapshot",
    "SourceStatistics",
    "StaleModel",
    "SubjectClassifier",
    "Suggestion",
    "TopicRow",
    "articles_of",
    "bag_articles",
    "codes_of",
    "diagnose",
    "draw_mixture",
    "duplicate_groups",
    "evaluate_classes",
    "evaluate_reviewers",
    "explain_similarity",
    "export_neighbors",
    "feature_scores",
    "fit_joint_space",
    "fuse_ranks",
    "guess_scheme",
    "make_method",
    "mate_retrieval",
    "mixture_parts",
    "names_of",
    "near_duplicates",
    "neighbor_rows",
    "pair_scores",
    "parse_filters",
    "query_shards",
    "score_matrix",
    "similarities",
    "source_statistics",
    "suggest_reviewers",
    "table_rows",
    "topic_table",
    "write_diagnosis",
    "write_duplicates",
    "write_site",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "agreement": "Agreement evaluate_classes",
        "articles": "Article articles_of",
        "classes": "ClassScheme codes_of guess_scheme",
        "collection": "Collection StaleModel",
        "diagnostics": "Diagnosis Period ScoreSample diagnose write_diagnosis",
        "documents": "Matches SimilarDocuments query_shards",
        "duplicates": "NearPair duplicate_groups near_duplicates write_duplicates",
        "explaining": "SharedPart explain_similarity",
        "exports": "NeighborRow export_neighbors neighbor_rows table_rows write_site",
        "filters": "parse_filters",
        "fusion": "fuse_ranks",
        "languages": "FieldVectors LanguageModels fit_joint_space mate_retrieval",
        "methods": "Method make_method similarities",
        "mixtures": "MixturePart TopicRow draw_mixture mixture_parts topic_table",
        "neighbors": "NeighborTable",
        "questions": "Question",
        "reading": "SourceStatistics bag_articles source_statistics",
        "reviewers": "Reviewer ReviewerFigures evaluate_reviewers names_of suggest_reviewers",
        "scoring": "pair_scores score_matrix",
        "shards": "DocumentShard",
        "snapshot": "FieldSummary Snapshot",
        "subjects": "SubjectClassifier Suggestion feature_scores",
    },
)
