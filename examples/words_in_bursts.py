"""Which words of a collection come in bursts, and does a classifier gain from knowing it?

python examples/words_in_bursts.py
"""

from __future__ import annotations

from textmill.corpus import Vocabulary, sample_articles
from textmill.linear import counts_of_texts, find_bursts, vocabulary_curve

articles = [article for article in sample_articles() if not article["id"].endswith("-copy")]
texts, subjects = [a["text"] for a in articles], [a["subject"] for a in articles]

data = counts_of_texts(texts, vocabulary=Vocabulary(min_count=2))
bursts = find_bursts(data.X, data.terms, exposure=data.exposure)
print("word            texts  not on topic  comes again")
for term, documents, z, repeat in list(zip(bursts.terms, bursts.documents, bursts.z, bursts.repeat, strict=True))[:10]:
    print(f"{term:<16}{documents:>5}{z:>14.2f}{repeat:>12.1f}x")

train, test = slice(0, None, 2), slice(1, None, 2)
curve = vocabulary_curve(
    data.X[train],
    subjects[train],
    data.X[test],
    subjects[test],
    sizes=[20, 100, 500, 2000],
    events=("multinomial", "binom", "zibinom"),
    exposure=data.exposure[train],
    exposure_dev=data.exposure[test],
)
print(curve)
