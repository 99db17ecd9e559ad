"""Classify texts with scikit-learn on textmill's vectors, and say how sure the accuracy is.

python examples/subjects_with_scikit_learn.py
"""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

from textmill.corpus import sample_articles
from textmill.metrics import Confusion, bootstrap_interval
from textmill.vectors import TextVectorizer

articles = [article for article in sample_articles() if not article["id"].endswith("-copy")]
texts, subjects = [a["text"] for a in articles], [a["subject"] for a in articles]
predicted = cross_val_predict(make_pipeline(TextVectorizer(), LogisticRegression(C=10)), texts, subjects, cv=8)

table = Confusion.from_labels(subjects, predicted)
print(f"accuracy {table.accuracy():.3f}, macro F1 {table.per_label().f('macro'):.3f}")
right = np.array([[a == b, 1] for a, b in zip(subjects, predicted, strict=True)])
interval = bootstrap_interval(right, lambda sums: sums[..., 0] / sums[..., 1])
print(f"95 % interval of the accuracy: {interval.low:.3f} to {interval.high:.3f}")
