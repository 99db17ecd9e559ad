"""Find near-duplicates in a file of documents.

python examples/near_duplicates.py news.jsonl --above 0.8
python examples/near_duplicates.py                       # on the sample articles
"""

from __future__ import annotations

import argparse

import numpy as np

from textmill.corpus import Vocabulary, read_documents, sample_path
from textmill.vectors import TextVectorizer, pairwise

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("source", nargs="?", default=str(sample_path()))
parser.add_argument("--above", type=float, default=0.8, help="least cosine of two TF-IDF vectors")
arguments = parser.parse_args()

documents = read_documents(arguments.source)
names = [document.id for document in documents]
vectors = TextVectorizer(vocabulary=Vocabulary(max_df=0.2)).fit_transform(documents)
for start, block in pairwise(vectors, measure="cosine"):
    for row, column in zip(*np.nonzero(block >= arguments.above), strict=True):
        if start + row < column:
            print(f"{block[row, column]:.3f}\t{names[start + row]}\t{names[column]}")
