"""A small fitted model of every public kind, for what must hold for all files."""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from collections.abc import Callable

import numpy as np

import textmill
from papers.voicemail.generate import VoicemailGenerator
from textmill import corpus, fst, linear, lm, sequence, strings, tasks, topics, trees, vectors
from textmill.model import Model
from textmill.model.names import class_name

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.normal(size=(40, 6))
BAGS = RANDOM.integers(0, 4, size=(12, 8))
SENTENCES = [[("the",), ("dog",), ("barks",)], [("a",), ("cat",), ("sleeps",)]]
LABELS = [["D", "N", "V"], ["D", "N", "V"]]
PATTERNS = ["u:%x[0,0]", "b"]
SUBJECTS = ["land", "sea", "land", "sea", "land", "sea"]
TEXTS = [
    "the old mill grinds the corn of the village",
    "a storm at sea broke the mast of the ship",
    "corn and rye for the mill by the river",
    "the crew of the ship feared the storm and the sea",
    "rye bread of the village baker",
    "a calm sea and a ship in the harbour",
]


def public_models() -> set[str]:
    """Names of all classes that a file may hold: those that packages list."""
    names = set()
    for module in pkgutil.iter_modules(textmill.__path__, "textmill."):
        if module.ispkg and module.name not in ("textmill.cli", "textmill._native"):
            package = importlib.import_module(module.name)
            listed = [getattr(package, name) for name in package.__all__]
            kinds = [item for item in listed if isinstance(item, type) and issubclass(item, Model)]
            names |= {class_name(kind) for kind in kinds if hasattr(kind, "format_version")}
    return names


def text_vectors() -> vectors.TextVectorizer:
    vocabulary = corpus.Vocabulary(min_df=2)
    return vectors.TextVectorizer(vocabulary=vocabulary, weighting=vectors.Weighting(idf="smooth")).fit(TEXTS)


def counts() -> vectors.TextVectorizer:
    return vectors.TextVectorizer(weighting=vectors.Weighting(scheme="nnn"))


def level_models() -> tasks.LevelModels:
    layers = tasks.readability.Layers(tasks.readability.Annotator().annotate(TEXTS))
    models = tasks.LevelModels(order=2, representations=("words",), common=(2,))
    return models.fit(layers, SUBJECTS, range(len(TEXTS)), ["land", "sea"])


def grammar() -> trees.TreebankGrammar:
    texts = ["(S (NP (NN dogs)) (VP (VBP bark)))", "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"]
    return trees.TreebankGrammar().fit([corpus.parse_tree(text) for text in texts])


def transfer() -> tasks.TreebankTransfer:
    sources = [corpus.parse_tree("(S (NP (JJ old) (NN mill)) (VP (VBZ turns)))")] * 4
    model = tasks.TreebankTransfer(families="NP: JJ NN | NN JJ", n_chains=2, max_iter=6, burn_in=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # too short to converge
        return model.fit(sources, corpus=[["NN", "JJ", "VBZ"], ["JJ", "NN", "VBZ"]])


# What a model contains, such as the ways in which an index searches, is one of its parts.
SEGMENTS = ([["the", "Mill", "Hill"], ["in", "Mill"]] * 3, [["O", "B-X", "I-X"], ["O", "B-Y"]] * 3)

EXAMPLES: dict[str, Callable[[], Model]] = {
    "tokenizer": lambda: corpus.Tokenizer(keep=["ranges"], stem="english"),
    "character-ngrams": lambda: corpus.CharacterNgrams(lengths=(2, 3)),
    "pattern-tokenizer": lambda: corpus.PatternTokenizer(pattern="[a-z]+"),
    "variants": lambda: corpus.VariantTokenizer(forms={"grey": "gray"}),
    "formulas": lambda: corpus.FormulaTokenizer(),
    "hashed": lambda: corpus.HashedBags(columns=16, tokenizer=str.split),
    "features": lambda: corpus.NamedFeatures().fit([{"stars": 4, "year": 1998.0}, {"stars": 2}]),
    "vocabulary": lambda: corpus.Vocabulary(min_df=2).fit(TEXTS),
    "phrases": lambda: corpus.Phrases(min_count=2, threshold=-1.0).fit(TEXTS),
    "weighting": lambda: vectors.Weighting().fit(BAGS),
    "vectorizer": text_vectors,
    "aligner": lambda: fst.StringAligner(max_iter=3).fit([("tax", "taks"), ("at", "at"), ("axe", "aks")]),
    "succinct-ngrams": lambda: fst.SuccinctNgrams.from_arpa(lm.arpa_of(lm.NGramModel(order=2).fit(TEXTS))),
    "linear-tagger": lambda: fst.LinearTagger.from_features([fst.LinearFeature("X", 1.0, {0: "a"})], ["a"]),
    "linear-classifier": lambda: fst.LinearClassifier.from_features([fst.LinearFeature("c", 1.0, {0: "a"})], ["a"]),
    "pairs": lambda: lm.PairModel(order=2).fit(["tax", "at", "axe"], ["taks", "at", "aks"]),
    "ngrams": lambda: lm.NGramModel(order=2).fit(TEXTS),
    "classes": lambda: lm.WordClasses(n_classes=3).fit(TEXTS),
    "margins": lambda: lm.PassiveAggressive(kernel="polynomial").fit(np.minimum(BAGS, 1), np.arange(12) % 2),
    "logistic": lambda: linear.LogisticRegression(vectorizer=counts()).fit(TEXTS, SUBJECTS),
    "combinations": lambda: linear.CombinationLogistic(l1=0.5).fit(np.minimum(BAGS, 1), BAGS[:, :2].all(axis=1)),
    "bayes": lambda: linear.NaiveBayes(event="zibinom").fit(BAGS, np.arange(12) % 3),
    "categorical": lambda: linear.CategoricalBayes().fit([{"word": w} for w in SUBJECTS], SUBJECTS),
    "utility": lambda: linear.UtilityLogistic(l2=0.1).fit(ROWS, ROWS[:, 0] > 0.5),
    "svr": lambda: linear.SupportVectorRegression(kernel="polynomial").fit(ROWS, ROWS[:, 0]),
    "pairwise": lambda: linear.PairwiseSVM().fit(BAGS, np.arange(12) % 3),
    "least-squares": lambda: linear.LeastSquares().fit(ROWS, ROWS[:, 0]),
    "crf": lambda: sequence.CRF(patterns=PATTERNS, max_iter=5).fit(SENTENCES, LABELS),
    "markov": lambda: sequence.ConditionalMarkov(patterns=PATTERNS, max_iter=5).fit(SENTENCES, LABELS),
    "counted": lambda: sequence.CountedMarkov().fit(SENTENCES, LABELS),
    "latent": lambda: sequence.LatentCRF(patterns=PATTERNS, states=2, max_iter=5).fit(SENTENCES, LABELS),
    "semimarkov": lambda: sequence.SemiMarkovCRF(max_length=2, max_iter=5, filter_recall=1.0).fit(*SEGMENTS),
    "candidates": lambda: sequence.CandidateFilter(max_length=2, recall=1.0).fit(*SEGMENTS),
    "encoder": lambda: sequence.Encoder(patterns=PATTERNS).fit(SENTENCES),
    "matcher": lambda: strings.Matcher().fit(["Ann Smith", "Anne Smith", "Tom Jones"]),
    "entities": lambda: tasks.EntityRecognizer().fit(*SEGMENTS),
    "parser": lambda: tasks.DependencyParser(l1=1.0).fit(tasks.dependency.sample_sentences(20)),
    "corrector": lambda: tasks.SpellingCorrector(min_count=1).fit(TEXTS),
    "similar": lambda: tasks.SimilarDocuments(model=text_vectors()).fit(TEXTS),
    "coherence": lambda: tasks.CoherenceDetector(n_topics=3, max_iter=5).fit(tasks.coherence.sample_pages(110)),
    "review-features": lambda: tasks.ReviewFeatures(families=["unigram", "bigram"]),
    "pronunciation": lambda: tasks.PronunciationModel(context=1).fit(["tax", "axe", "at"], ["t a k s", "a k s", "a t"]),
    "polarity": lambda: tasks.PolarityScorer().fit(TEXTS, [1, 5, 1, 5, 1, 5]),
    "resources": lambda: tasks.LanguageResources(exceptions={"brno": 2}),
    "level-learner": lambda: tasks.LevelLearner(kind="ordinal").fit(ROWS, np.arange(40) % 3),
    "level-models": level_models,
    "grader": lambda: tasks.ReadabilityGrader(features=["shallow", "oov"]).fit(TEXTS, ["1", "2"] * 3),
    "fluency": lambda: tasks.FluencyModel(n_classes=4, order=2, min_count=1).fit(tasks.fluency.sample_documents(40)),
    "voicemail": lambda: tasks.VoicemailExtractor().fit(VoicemailGenerator().generate(300)),
    "transfer": transfer,
    "letters": lambda: tasks.LetterCRF(max_iter=3).fit(["tax", "at", "axe"], ["taks", "at", "aks"]),
    "transcriber": lambda: tasks.Transcriber(search=False).fit(["tax", "at", "axe"], ["taks", "at", "aks"]),
    "kanji": lambda: tasks.KanjiRestorer().fit(["tanaka", "nakata"], ["田中", "中田"]),
    "language-counts": lambda: tasks.LanguageCounts.from_texts(TEXTS, ["en"] * len(TEXTS)),
    "language": lambda: tasks.LanguageIdentifier(min_count=1).fit(TEXTS, ["en", "sc", "en", "sc", "en", "sc"]),
    "lda": lambda: topics.LDA(n_topics=2, vectorizer=counts(), random_state=0).fit(TEXTS),
    "lsa": lambda: topics.LSA(n_topics=2).fit(BAGS),
    "mixture": lambda: topics.MultinomialMixture(n_topics=2, random_state=0).fit(BAGS),
    "nmf": lambda: topics.NMF(n_topics=2, random_state=0).fit(BAGS),
    "pca": lambda: topics.PCA(n_topics=2).fit(BAGS),
    "plsa": lambda: topics.PLSA(n_topics=2, random_state=0).fit(BAGS),
    "grammar": grammar,
    "tree": lambda: trees.CategoricalTree().fit(ROWS.round(1), ROWS[:, 0] > 0.5),
    "index-scan": lambda: vectors.Index(method="scan").fit(ROWS),
    "index-coarse": lambda: vectors.Index(method="coarse").fit(ROWS),
    "index-prefix": lambda: vectors.Index(method="prefix", prefix=2).fit(ROWS),
    "index-va": lambda: vectors.Index(method="va").fit(ROWS),
    "index-inverted": lambda: vectors.Index(method="inverted").fit(text_vectors().transform(TEXTS)),
}
