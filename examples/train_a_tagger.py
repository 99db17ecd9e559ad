"""Train a tagger on a column file and show what it gets wrong.

python examples/train_a_tagger.py train.txt test.txt
python examples/train_a_tagger.py                         # on the sample chunks
"""

from __future__ import annotations

import argparse

from textmill.corpus import sample_path
from textmill.sequence import CRF, errors_by_kind, evaluate_tags, read_labeled, tag_errors, top_features

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("train", nargs="?", default=str(sample_path("chunks-train.txt")))
parser.add_argument("test", nargs="?", default=str(sample_path("chunks-test.txt")))
arguments = parser.parse_args()

train, test = read_labeled(arguments.train), read_labeled(arguments.test)
tagger = CRF(max_iter=60).fit(train.X, train.y)  # default patterns for the columns there are
predicted = tagger.predict(test.X)
print(evaluate_tags(test.y, predicted).report())
for kind, errors in errors_by_kind(tag_errors(test.X, test.y, predicted)).items():
    print(f"{kind}, {len(errors)}, such as: {errors[0].sentence}")
print(top_features(tagger, transitions=True, k=5))
