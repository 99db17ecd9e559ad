"""Count the terms of a corpus of any size within a limit of memory, and write it out as TF-IDF vectors.

python examples/count_a_large_corpus.py FOLDER vectors.mm.gz --memory 512MB
python examples/count_a_large_corpus.py                  # a generated stream of 20,000 documents
"""

from __future__ import annotations

import argparse
from typing import Any

from textmill import progress
from textmill.corpus import Vocabulary, ZipfStream, corpus_report, read_documents, write_bags
from textmill.vectors import Weighting

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("source", nargs="?")
parser.add_argument("output", nargs="?", default="vectors.mm.gz")
parser.add_argument("--memory", default="512MB")
arguments = parser.parse_args()

with progress.shown():
    documents: Any = read_documents(arguments.source) if arguments.source else ZipfStream(20_000, length=50).texts()
    vocabulary = Vocabulary(min_df=2, memory=arguments.memory).fit(documents)
    weighting = Weighting.of(vocabulary)
    write_bags(arguments.output, weighting.vectors(vocabulary.bags(documents)))
    print(corpus_report(documents, vocabulary))
