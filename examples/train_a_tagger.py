"""Train a tagger on a column file and show what it gets wrong.

python examples/train_a_tagger.py train.txt test.txt
python examples/train_a_tagger.py                         # on the sample chunks
"""

from __future__ import annotations

import argparse

from textmill.corpus import sample_path
from textmill.sequence import CRF, evaluate_tags, read_labeled

PATTERNS = """
u:w-1=%X[-1,0]
u:w=%X[0,0]
u:w+1=%X[1,0]
u:s3=%suffix[0,0,3]
u:shape=%shape[0,0]
*
"""

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("train", nargs="?", default=str(sample_path("chunks-train.txt")))
parser.add_argument("test", nargs="?", default=str(sample_path("chunks-test.txt")))
arguments = parser.parse_args()

train, test = read_labeled(arguments.train), read_labeled(arguments.test)
tagger = CRF(patterns=PATTERNS, max_iter=60).fit(train.X, train.y)
predicted = tagger.predict(test.X)
print(evaluate_tags(test.y, predicted).report())
for sequence, gold, answer in zip(test.X, test.y, predicted, strict=True):
    for token, right, wrong in zip(sequence, gold, answer, strict=True):
        if right != wrong:
            print(f"{token[0]}\t{right}\tnot {wrong}")
