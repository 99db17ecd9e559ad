"""Ask a collection of documents in plain words.

python examples/similar_documents.py news.jsonl "storm over the coast"
python examples/similar_documents.py                                      # on the sample articles
"""

from __future__ import annotations

import argparse

from textmill.corpus import Vocabulary, read_documents, sample_path
from textmill.tasks import SimilarDocuments
from textmill.vectors import TextVectorizer

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("source", nargs="?", default=str(sample_path()))
parser.add_argument("question", nargs="?", default="tides raised by the gravity of the Moon")
arguments = parser.parse_args()

documents = read_documents(arguments.source)
model = TextVectorizer(vocabulary=Vocabulary(max_df=0.2)).fit(documents.texts())
similar = SimilarDocuments(model=model).fit(documents)
(found,) = similar.query([arguments.question], k=5)
for name, score in zip(found.ids, found.scores, strict=True):
    print(f"{score:.3f}\t{name}")
if found.reason:
    print(f"nothing found: {found.reason}")
