"""Similar documents: an index in one file, and collections on disk that are written to and asked at the same time.

documents    SimilarDocuments: a model and an index of the vectors of many documents, in one file
articles     documents of a collection: id, title, text, fields, source
building     the making of all lists of neighbors
collection   Collection: open, ask, write, delete
filters      which documents may be found
fusion       several ranked lists as one
journal      what was written last, safe at any moment
merging      several indexes that answer as one
methods      models and measures by which documents are compared
neighbors    NeighborTable: the nearest documents of every document
questions    a document, a text, a vector, judged documents, and their answers
shards       documents in files that are mapped
snapshot     what a collection holds at one moment
store        the folder of a collection
training     models trained on a collection
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.tasks.similarity.articles import Article, articles_of
    from textmill.tasks.similarity.collection import Collection, StaleModel
    from textmill.tasks.similarity.documents import Matches, SimilarDocuments, query_shards
    from textmill.tasks.similarity.filters import parse_filters
    from textmill.tasks.similarity.fusion import fuse_ranks
    from textmill.tasks.similarity.methods import Method, make_method
    from textmill.tasks.similarity.neighbors import NeighborTable
    from textmill.tasks.similarity.questions import Question
    from textmill.tasks.similarity.shards import DocumentShard
    from textmill.tasks.similarity.snapshot import FieldSummary, Snapshot

__all__ = [
    "Article",
    "Collection",
    "DocumentShard",
    "FieldSummary",
    "Matches",
    "Method",
    "NeighborTable",
    "Question",
    "SimilarDocuments",
    "Snapshot",
    "StaleModel",
    "articles_of",
    "fuse_ranks",
    "make_method",
    "parse_filters",
    "query_shards",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "articles": "Article articles_of",
        "collection": "Collection StaleModel",
        "documents": "Matches SimilarDocuments query_shards",
        "filters": "parse_filters",
        "fusion": "fuse_ranks",
        "methods": "Method make_method",
        "neighbors": "NeighborTable",
        "questions": "Question",
        "shards": "DocumentShard",
        "snapshot": "FieldSummary Snapshot",
    },
)
