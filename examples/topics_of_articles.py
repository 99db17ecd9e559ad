"""Find the topics of a file of documents, print them, and draw terms and documents on one map.

Of documents with a field `language` only the English ones are taken: topics of a mixture are its languages.

python examples/topics_of_articles.py news.jsonl --topics 20 --model nmf
python examples/topics_of_articles.py                       # on the sample articles
"""

from __future__ import annotations

import argparse

from textmill import plot, topics
from textmill.corpus import Tokenizer, Vocabulary, read_documents, sample_path
from textmill.vectors import TextVectorizer, Weighting

MODELS = {"lsa": topics.LSA, "nmf": topics.NMF, "pca": topics.PCA, "plsa": topics.PLSA}

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("source", nargs="?", default=str(sample_path()))
parser.add_argument("--model", choices=MODELS, default="lsa")
parser.add_argument("--topics", type=int, default=8)
arguments = parser.parse_args()

documents = [one.text for one in read_documents(arguments.source) if one.fields.get("language", "en") == "en"]
weighting = Weighting(scheme="nnn" if arguments.model == "plsa" else "ntc")
terms = Vocabulary(tokenizer=Tokenizer(digits="drop"), stop_words="auto", min_df=3, max_df=0.2)
vectorizer = TextVectorizer(vocabulary=terms, weighting=weighting)
model = MODELS[arguments.model](n_topics=arguments.topics, vectorizer=vectorizer, random_state=0).fit(documents)
print(model.describe_topics(8))
plot.save(topics.draw_map(model, documents), "topics.svg")
model.save("topics.mill")
print("wrote topics.mill and topics.svg")
