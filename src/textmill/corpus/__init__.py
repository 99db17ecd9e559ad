"""Documents, tokens, vocabularies, bags of words, columns and trees: text on its way in.

readers, streams, writers   files, folders and pipes, plain or compressed, into records and documents
tokenize                    words, sentences, character n-grams
vocabulary, bags            terms with their frequencies, and sparse rows of counts
products                    products of bags with dense matrices
columns, iob                CoNLL columns, CoNLL-U, and the tag schemes IOB1, IOB2, IOBES, BILOU
trees                       bracketed trees
synthetic                   seeded streams of any length
sample                      the articles that come with the package
"""

from textmill.corpus.bags import check_bags, load_npz, remap, save_npz
from textmill.corpus.readers import (
    Document,
    Documents,
    Record,
    SkippedRecords,
    open_bytes,
    open_lines,
    read_documents,
    read_records,
    writer,
)
from textmill.corpus.sample import sample_articles, sample_path, sample_texts
from textmill.corpus.tokenize import CharacterNgrams, Tokenizer, split_sentences
from textmill.corpus.vocabulary import Bags, Vocabulary

__all__ = [
    "Bags",
    "CharacterNgrams",
    "Document",
    "Documents",
    "Record",
    "SkippedRecords",
    "Tokenizer",
    "Vocabulary",
    "check_bags",
    "load_npz",
    "open_bytes",
    "open_lines",
    "read_documents",
    "read_records",
    "remap",
    "sample_articles",
    "sample_path",
    "sample_texts",
    "save_npz",
    "split_sentences",
    "writer",
]
