"""The tour of `make demo`: one function for each stop, which adds its part to the report.

Charts need Matplotlib, which is an extra. Without it every stop runs all the same, its charts are left out, and the
report says what draws them.
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import textmill
from examples.tour.judging import sentence_judge, show_levels, show_related_language
from examples.tour.learning import show_bursts, show_entities, show_parser, show_words_that_decide
from examples.tour.speed import Timing
from examples.tour.texts import show_callers, show_numbers_as_words, show_sounds, topic_boundaries
from examples.tour.web import show_workbench
from textmill import plot
from textmill.cli._demo import NO_CHARTS, SUMMARY, add_chart, has_charts, show_opening, topic_model, write_files
from textmill.corpus import (
    Document,
    Tokenizer,
    Vocabulary,
    read_documents,
    sample_chunks,
    sample_path,
    save_npz,
    split_sentences,
)
from textmill.metrics import Confusion
from textmill.model import describe
from textmill.numeric import sparse
from textmill.progress import track
from textmill.report import Report
from textmill.sequence import CRF, evaluate_tags, split_labels
from textmill.tasks import SimilarDocuments
from textmill.topics import LSA, NMF, draw_map, draw_topics, explain_text, topic_coherence
from textmill.vectors import Index, TextVectorizer

__all__ = ["tour"]

SENTENCE = "On 12.4.2010 Dr. Hill's mills (147.251.48.1) were running 10–55 % faster. State-of-the-art? Don't ask :-)"
TAG_PATTERNS = """
u:w-1=%X[-1,0]
u:w=%X[0,0]
u:w+1=%X[1,0]
u:s3=%suffix[0,0,3]
u:p-1=%x[-1,1]
u:p=%x[0,1]
u:p+1=%x[1,1]
u:pp=%x[-1,1]/%x[0,1]
*
"""


def tour(folder: Path) -> Path:
    """Run all stops and return the path of the report."""
    from examples.tour.speed import timings

    folder.mkdir(parents=True, exist_ok=True)
    write_files(folder)
    report = Report(
        "A tour of textmill",
        subtitle=SUMMARY,
    )
    documents = list(read_documents(sample_path()))
    measured = timings(documents)
    stops = [
        show_corpus,
        show_tokens,
        show_terms,
        show_subjects,
        show_topics,
        show_map,
        show_copies,
        show_similar,
        show_workbench,
        show_coherence,
        topic_boundaries(add_chart),
        show_names,
        show_tagger,
        show_transducers,
        show_numbers_as_words,
        show_sounds,
        show_callers,
        sentence_judge(add_chart),
        show_levels,
        show_words_that_decide,
        show_bursts,
        show_parser,
        show_related_language,
        show_entities,
        show_classification,
        show_exactness,
        show_files,
    ]
    show_opening(report, [document.text for document in documents if document.fields["language"] == "en"])
    report.contents()
    report.facts(
        [
            (str(len(stops)), "jobs, each from raw text to a result you can check"),
            *(
                (f"{one.theirs / one.ours:.1f}×", f"the speed of {one.peer}: {one.job}")
                for one in measured
                if one.theirs > one.ours  # the table has all of them
            ),
        ]
    )
    if not has_charts():
        report.text(NO_CHARTS)
    show_speed(report, measured)
    began = time.process_time()
    for stop in track(stops, "tour", unit="stops"):
        stop(report, documents, folder)
    report.text(f"All of this took {time.process_time() - began:.1f} seconds of CPU time, drawing included.")
    report.write(folder / "report.html")
    return folder / "report.html"


def show_speed(report: Report, measured: list[Timing]) -> None:
    """The small measurements of this run."""
    report.heading("Speed of this run")
    report.text(
        "Measured a moment ago on this computer: textmill and another library in turn, one thread each, CPU time, the "
        "median of three. These jobs are small; python -m bench in the source tree measures large ones."
    )
    report.table(
        ["job", "ours, ms", "theirs, ms", "ratio", "result, ours and theirs"],
        [
            (
                f"{t.job} ({t.peer})",
                round(1000 * t.ours, 1),
                round(1000 * t.theirs, 1),
                f"{t.theirs / t.ours:.1f}×",
                t.our_result if t.our_result == t.their_result else f"{t.our_result}, {t.their_result}",
            )
            for t in measured
        ],
        caption="CPU time of small jobs",
    )


def show_corpus(report: Report, documents: list[Document], folder: Path) -> None:
    """Which articles there are."""
    languages = Counter(document.fields["language"] for document in documents)
    subjects = Counter(document.fields["subject"] for document in documents if document.fields["language"] == "en")
    report.heading("The corpus")
    report.text(
        f"{len(documents)} short articles in {len(languages)} languages, {languages['en']} of them English, "
        "read from one JSON-lines file. Your own can be text, JSONL, CSV or TSV, compressed or not, or whole folders."
    )
    report.table(["subject", "articles"], sorted(subjects.items()), caption="English articles by subject")


def show_tokens(report: Report, documents: list[Document], folder: Path) -> None:
    """What a sentence becomes under various options."""
    every = ["numbers", "dates", "addresses", "ranges", "abbreviations", "emoticons"]
    tokenizers = {
        "as UAX #29 says": Tokenizer(),
        "compounds kept whole": Tokenizer(keep=every, abbreviations=["Dr."]),
        "compounds split": Tokenizer(split=every),
        "stemmed": Tokenizer(stem="english"),
        "digits masked": Tokenizer(digits="mask"),
    }
    report.heading("Words")
    report.code(SENTENCE)
    report.table(
        ["tokenizer", "tokens"],
        [(name, " · ".join(tokenizer(SENTENCE))) for name, tokenizer in tokenizers.items()],
        caption="One sentence, cut five ways",
    )
    sentences = [len(split_sentences(document.text)) for document in documents]
    report.text(f"The articles have {sum(sentences)} sentences, {np.mean(sentences):.1f} each.")


def show_terms(report: Report, documents: list[Document], folder: Path) -> None:
    """The vocabulary, its Zipf curve, and what pruning removes."""
    vocabulary = Vocabulary().fit(document.text for document in documents)
    pruned = vocabulary.prune(min_df=3, max_df=0.2)
    report.heading("Terms")
    report.text(f"Counted in one pass on all cores: {vocabulary.summary()}.")
    ranks = np.arange(1, len(vocabulary) + 1)
    counts = np.sort(vocabulary.collection_frequency_)[::-1]
    curves = {"articles": (ranks, counts), "1 / rank": (ranks, counts[0] / ranks)}
    add_chart(
        report,
        lambda: plot.lines(curves, x_label="rank", y_label="occurrences", x_scale="log", y_scale="log"),
        caption="Zipf's law: occurrences of a term by its rank",
    )
    report.table(
        ["rule", "types removed", "tokens removed"],
        [(rule, removed["types"], removed["tokens"]) for rule, removed in pruned.removed_.items()],
        caption=f"Pruning leaves {len(pruned)} terms",
    )


def show_subjects(report: Report, documents: list[Document], folder: Path) -> None:
    """The terms that mark each subject."""
    english = [document for document in documents if document.fields["language"] == "en"]
    vocabulary = Vocabulary(min_df=3)
    X = vocabulary.fit_transform(document.text for document in english)
    subjects = sorted({str(document.fields["subject"]) for document in english})
    rows = []
    for subject in subjects:
        inside = np.array([document.fields["subject"] == subject for document in english])
        best = np.argsort(-_signed_likelihood_ratio(X, inside), kind="stable")[:8]
        rows.append((subject, ", ".join(vocabulary.terms_[int(term)] for term in best)))
    report.heading("What marks a subject")
    report.table(
        ["subject", "terms"], rows, caption="Terms that are more frequent inside than outside, by likelihood ratio"
    )


def show_topics(report: Report, documents: list[Document], folder: Path) -> None:
    """Topics of the English articles, how good they are, whose they are, and why a text has its own."""
    english = [document for document in documents if document.fields["language"] == "en" and "copy" not in document.id]
    texts = [document.text for document in english]
    subjects = np.array([str(document.fields["subject"]) for document in english])
    model = topic_model(texts)
    model.save(folder / "topics.mill")
    coherence = topic_coherence(model, texts, window=0)
    mixtures = np.asarray(model.transform(texts))
    strongest = mixtures.argmax(axis=1)
    shares = np.sort(mixtures / np.maximum(mixtures.sum(axis=1, keepdims=True), 1e-300), axis=1)
    mixed = int(shares[:, -2].argmax())  # the article with the largest second topic
    assert model.vectorizer_ is not None
    words = model.vectorizer_.vocabulary_
    report.heading("Topics")
    report.text(
        f"Non-negative factors of the {len(texts)} English articles. {words.removed_['stop_words']['types']} function "
        f"words, such as {', '.join(words.stop_words_[:6])}, were recognized from the articles themselves and left "
        "out. The subjects of the articles are not shown to the model. Coherence (C_v) says how much more often the "
        "words of a topic meet than chance would have it."
    )
    rows = []
    for number, (topic, score) in enumerate(zip(model.topics(7), coherence, strict=True)):
        most = Counter(subjects[strongest == number].tolist()).most_common(2)
        whose = ", ".join(f"{subject} {count}" for subject, count in most)
        rows.append((number + 1, ", ".join(term for term, _ in topic), whose, float(score)))
    report.table(
        ["topic", "strongest words", "articles by subject", "coherence"], rows, caption="Topics that nobody has named"
    )
    add_chart(report, lambda: draw_topics(model), caption="Topics by the distance of their words; areas are shares")
    report.text(
        f"Every known word of a text stands for a topic, here in the article “{english[mixed].fields['title']}”; rest "
        "the pointer on a word to see which:"
    )
    report.html(explain_text(model, texts[mixed]).html())
    report.code(
        "textmill topics train articles.jsonl --kind nmf --topics 11 --digits drop --max-df 0.15 -o topics.mill\n"
        "textmill topics show topics.mill\n"
        'textmill topics explain topics.mill --text "The Moon raises the tides." --report why.html'
    )


def show_map(report: Report, documents: list[Document], folder: Path) -> None:
    """The map of terms and articles by latent semantic analysis, coloured by subject."""
    english = [document for document in documents if document.fields["language"] == "en"]
    texts = [document.text for document in english]
    lsa = LSA(n_topics=8, vectorizer=TextVectorizer(vocabulary=_content_words()), random_state=0).fit(texts)
    lsa.save(folder / "lsa.mill")
    report.heading("A map of articles and words")
    report.text(
        "Latent semantic analysis puts articles and words into one space. This is the plane of its second and third "
        "direction; the colours are the subjects, which it has not seen. Rest the pointer on a point to see its title."
    )
    add_chart(
        report,
        lambda: draw_map(
            lsa,
            texts,
            n_terms=60,
            topics=(1, 2),
            groups=[str(document.fields["subject"]) for document in english],
            names=[f"{document.fields['title']} ({document.fields['subject']})" for document in english],
        ),
        caption="Articles by subject, and the words that are farthest from the middle",
    )
    report.code(
        "textmill topics train articles.jsonl --kind lsa --topics 8 -o lsa.mill\n"
        "textmill topics show lsa.mill articles.jsonl --picture terms --color-field subject --plot map.svg"
    )


def _content_words() -> Vocabulary:
    """Words of subjects: without numbers and what the corpus shows to be function words."""
    return Vocabulary(tokenizer=Tokenizer(digits="drop"), stop_words="auto", min_df=3, max_df=0.15)


def show_copies(report: Report, documents: list[Document], folder: Path) -> None:
    """Articles that are nearly the same, by the cosine of their counts."""
    X = Vocabulary(max_df=0.2).fit_transform(document.text for document in documents).astype(float)
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X = sparse.diags_array(1 / np.maximum(lengths, 1e-300)) @ X
    similar = sparse.triu(X @ X.T, k=1).tocoo()
    order = np.argsort(-similar.data)[:10]
    report.heading("Near-duplicates")
    report.table(
        ["article", "article", "cosine"],
        [
            (documents[similar.row[k]].id, documents[similar.col[k]].id, f"{similar.data[k]:.3f}")
            for k in order.tolist()
        ],
        caption="The ten most similar pairs; eight articles are edited copies of others",
    )


def show_similar(report: Report, documents: list[Document], folder: Path) -> None:
    """An index of the articles, asked in plain words."""
    texts = TextVectorizer(vocabulary=Vocabulary(max_df=0.2)).fit(document.text for document in documents)
    similar = SimilarDocuments(model=texts).fit(documents)
    similar.save(folder / "similar.mill")
    titles = {document.id: str(document.fields["title"]) for document in documents}
    report.heading("Similar documents")
    report.text("An index holds the vectors of all articles and the model that made them, in one file.")
    for question in ("tides raised by the gravity of the Moon", "bread with a good crust"):
        (answers,) = similar.query([question], k=5)
        rows = [(titles[name], name, f"{score:.3f}") for name, score in zip(answers.ids, answers.scores, strict=True)]
        report.table(["title", "article", "cosine"], rows, caption=f"“{question}”")
    report.code(
        "textmill similar index articles.jsonl -o similar.mill\n"
        'textmill similar query similar.mill --text "tides raised by the gravity of the Moon" -k 5'
    )


def show_coherence(report: Report, documents: list[Document], folder: Path) -> None:
    """Pages told from forgeries of them by the entropy of their topics."""
    from textmill.tasks.coherence import CoherenceDetector, Forger, draw_histograms, evaluate, sample_pages

    detector = CoherenceDetector(n_topics=12, max_iter=80).fit(sample_pages(250))
    detector.save(folder / "coherence.mill")
    pages = [page.text for page in sample_pages(80, random_state=1)]
    forger = Forger.of(pages, random_state=1)
    good = list(detector.scores(pages))
    kinds = ("sentence-salad", "markov", "chunk-blend", "word-stuffing")
    false = {kind: list(detector.scores(forger.make(kind))) for kind in kinds}
    report.heading("Incoherent pages")
    report.text(
        "Blended, shuffled, generated and stuffed pages are about too many things. A detector that has seen only good "
        "pages looks at the entropy of the topics of new ones, and knows how much of it a page of that length may have."
    )
    report.table(
        ["forgery", "equal error", "called incoherent", "good pages called so"],
        [(row.kind, f"{row.score:.1%}", f"{row.caught:.1%}", f"{row.alarms:.1%}") for row in evaluate(good, false)],
        caption="80 new pages against 80 forgeries of each kind, of the same lengths",
    )
    entropies = {"good pages": [one.entropy for one in good]}
    entropies |= {kind: [one.entropy for one in false[kind]] for kind in kinds[:3]}
    add_chart(report, lambda: draw_histograms(entropies), caption="Entropy of the topics of good and of forged pages")
    explained = detector.explain(pages[0] + " " + "The casino paid the poker bonus after the comet.")
    rows = [(one.text, f"{one.surprise:+.2f}") for one in explained.sentences if one.offending]
    report.table(
        ["sentence", "surprise, bits per word"], rows, caption="Sentences that the rest of a page does not expect"
    )
    report.code(
        "textmill coherence train good.jsonl --topics 12 -o coherence.mill\n"
        "textmill coherence score coherence.mill new.jsonl --explain\n"
        "textmill coherence fake new.jsonl --kind markov -k 80 --seed 1 -o fake.jsonl\n"
        "textmill coherence evaluate coherence.mill --true new.jsonl --false fake.jsonl --plot roc.png"
    )


def show_classification(report: Report, documents: list[Document], folder: Path) -> None:
    """How well scikit-learn tells subjects apart on our bags, scored with our metrics."""
    from sklearn.model_selection import cross_val_predict
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    english = [document for document in documents if document.fields["language"] == "en" and "copy" not in document.id]
    subjects = [str(document.fields["subject"]) for document in english]
    texts = [document.text for document in english]
    pipeline = make_pipeline(Vocabulary(min_df=2, max_df=0.2), MultinomialNB())
    predicted = cross_val_predict(pipeline, texts, subjects, cv=8)
    table = Confusion.from_labels(subjects, predicted.tolist())
    report.heading("Together with scikit-learn")
    report.text(
        "A vocabulary is a scikit-learn transformer. In a pipeline with naive Bayes, in eight-fold cross-validation, "
        f"it gets {table.accuracy():.1%} of the subjects right."
    )
    names = [str(label) for label in table.labels]
    add_chart(
        report,
        lambda: plot.heat_map(table.table, x_label="predicted", y_label="subject", columns=names, rows=names),
        caption="Which subjects are taken for which",
    )


def show_tagger(report: Report, documents: list[Document], folder: Path) -> None:
    """A tagger, trained on the chunked sample sentences."""
    train, test = split_labels(sample_chunks()), split_labels(sample_chunks("test"))
    tagger = CRF(patterns=TAG_PATTERNS, max_iter=40).fit(train.X, train.y, test.X, test.y)
    tagger.save(folder / "chunks.mill")
    predicted = tagger.predict(test.X)
    scores = evaluate_tags(test.y, predicted)
    interval = scores.interval("f1")
    size = tagger.encoder_.feature_counts(len(tagger.classes_))
    report.heading("A tagger")
    report.text(
        f"{len(train.X)} sentences with their chunks teach a conditional random field to find noun phrases, verb "
        f"phrases and the rest. The L1 penalty leaves {len(tagger.features_)} weights for {size.tests} tests. On "
        f"{len(test.X)} other sentences it finds chunks with F1 {scores.f1:.1%} "
        f"({interval.low:.1%} to {interval.high:.1%})."
    )
    words = [f"{row[0]}/{label}" for row, label in zip(test.X[0], predicted[0], strict=True)]
    report.code(" ".join(words))
    iterations = [entry["iteration"] for entry in tagger.training_log_]
    curves = {"test error, %": (iterations, [entry["dev_error"] for entry in tagger.training_log_])}
    add_chart(
        report,
        lambda: plot.lines(curves, x_label="iteration", y_label="wrong labels, %", y_scale="log"),
        caption="Wrong labels among the test sentences while it learns",
    )
    report.code(
        "textmill tag train chunks-train.txt -p patterns.txt --dev chunks-test.txt -o chunks.mill\n"
        "textmill tag label chunks.mill chunks-test.txt -o tagged.txt\n"
        "textmill tag evaluate tagged.txt"
    )


def show_transducers(report: Report, documents: list[Document], folder: Path) -> None:
    """A lexicon as a graph, and misspelled words corrected by composing it with what goes wrong in typing."""
    from math import log

    from textmill import fst

    english = [document.text for document in documents if document.fields["language"] == "en"]
    vocabulary = Vocabulary(min_df=2).fit(english)
    counts = zip(vocabulary.terms_, vocabulary.collection_frequency_.tolist(), strict=True)
    words = {word: count for word, count in counts if word.isalpha()}
    total = sum(words.values())
    pairs = [(word, word, -log(count / total)) for word, count in words.items()]
    lexicon = fst.optimize(fst.string_map(pairs))
    letters = [ord(letter) for letter in sorted(set("".join(words)))]
    edit = fst.Fst()
    right, wrong = edit.add_states(2)
    edit.start = right
    for state in (right, wrong):
        edit.set_final(state)
        for x in letters:
            edit.add_arc(state, x, x, 0.0, state)
    for x in letters:
        edit.add_arc(right, x, fst.EPSILON, 8.0, wrong)
        edit.add_arc(right, fst.EPSILON, x, 8.0, wrong)
        for y in letters:
            if x != y:
                edit.add_arc(right, x, y, 8.0, wrong)
    corrector = fst.compose(edit, lexicon)
    fst.write_fst(corrector, folder / "corrector.fst")
    typed = ["temperatre", "becouse", "diferent", "wether"]
    report.heading("Transducers")
    report.text(
        f"The {len(words)} words of the English articles, with their frequencies as costs, become a machine of "
        f"{lexicon.num_states} states. Composed with one that makes a typing error it corrects words: all answers for "
        "all words come from one call."
    )
    answers = [
        (word, ", ".join(f"{answer} ({cost:.1f})" for answer, cost in answers))
        for word, answers in zip(typed, fst.apply(corrector, typed, k=3), strict=True)
    ]
    report.table(["typed", "meant (cost)"], answers, caption="Misspelled words and the words that were meant")
    some = [pair for pair in pairs if pair[0].startswith(("weat", "whe"))]
    figure = fst.to_svg(fst.optimize(fst.string_map(some)), token_type="utf8", precision=2)
    report.figure(figure, caption=f"Part of the lexicon: {', '.join(word for word, _, _ in some)}")
    report.code(
        "textmill fst apply -k 3 --show_weight corrector.fst words.txt\n"
        "textmill fst info corrector.fst\n"
        "textmill fst shortestpath corrector.fst | textmill fst draw --portrait - best.dot"
    )


def show_names(report: Report, documents: list[Document], folder: Path) -> None:
    """Customers that stand several times in a list, how well measures find them, and a page to judge them."""
    from textmill.tasks.names import MEASURES_TO_COMPARE, Gold, choose, curves, dedupe, evaluate, sample_names

    names = sample_names()
    gold = Gold.from_clusters(names)
    evaluations = [evaluate(names, gold, measure) for measure in MEASURES_TO_COMPARE]
    choice = choose(evaluations)
    report.heading("Duplicates in a list of names")
    report.text(
        f"A list of {len(names)} customers, many of them several times: misspelled, abbreviated, turned around, "
        "without their accents. Each measure ranks all pairs and learns from the list how much each word counts."
    )
    report.table(
        ["measure", "F1", "precision", "recall", "F1 held out"],
        [(e.measure, (cut := e.curve.best()).f, cut.precision, cut.recall, e.held_out()) for e in evaluations],
        caption="Measures at their best cut",
    )
    add_chart(report, lambda: curves(evaluations), caption="F1 by the number of best pairs taken as matches")
    pairs = folder / "customers-pairs.tsv"
    done = dedupe(
        names,
        pairs,
        measure=choice.measure,
        threshold=max(0.0, min(1.0, choice.threshold)),
        clusters=folder / "customers-groups.tsv",
        report=folder / "customers.html",
    )
    report.text(
        f"The best on pairs that were held out is {choice.measure} with the threshold {choice.threshold:.3f}. It finds "
        f"{done.pairs} pairs in {done.clusters} groups."
    )
    report.links(
        [
            ("customers.html", "a page to accept or reject the pairs, by mouse or keyboard"),
            ("customers-pairs.tsv", "the pairs with their scores"),
            ("customers-groups.tsv", "the groups"),
        ]
    )
    report.code("textmill match dedupe customers.tsv -o pairs.tsv --clusters groups.tsv --report customers.html")


def show_exactness(report: Report, documents: list[Document], folder: Path) -> None:
    """What is exact, checked again in this run by doing the same the long way."""
    from textmill.lm import NGramModel

    texts = [document.text for document in documents]
    vectorizer = TextVectorizer(vocabulary=Vocabulary(max_df=0.2)).fit(texts)
    X = vectorizer.transform(texts)
    dense = X.toarray()
    lengths = np.linalg.norm(dense, axis=1, keepdims=True)
    cosines = (dense / np.where(lengths, lengths, 1.0)) @ (dense / np.where(lengths, lengths, 1.0)).T
    best = np.sort(cosines, axis=1)[:, :-11:-1]
    answers = Index().fit(X).query(X, k=10)
    scores = np.array([answer.scores for answer in answers])
    language = NGramModel(order=3).fit(texts)
    sums = [float(language.distribution([word]).sum()) for word in ("the", "mill", "star")]
    one, two = (NMF(n_topics=5, random_state=0, n_jobs=n).fit(X) for n in (1, 2))
    one.save(folder / "exact.mill")
    loaded = textmill.load(folder / "exact.mill")
    report.heading("Exact, and checked here")
    report.table(
        ["claim", "checked against", "largest difference"],
        [
            (
                "the index finds the nearest articles",
                "all cosines, computed one by one",
                f"{abs(scores - best).max():.1e}",
            ),
            (
                "probabilities of the next word sum to 1",
                "the sum over all words",
                f"{max(abs(s - 1) for s in sums):.1e}",
            ),
            (
                "one thread and two give the same model",
                "every weight",
                f"{abs(one.components_ - two.components_).max():.1e}",
            ),
            (
                "a saved model gives the same answers",
                "the topics of all articles",
                f"{abs(np.asarray(loaded.transform(X)) - np.asarray(one.transform(X))).max():.1e}",
            ),
        ],
        caption="Claims of the documentation, tested a moment ago",
    )


def show_files(report: Report, documents: list[Document], folder: Path) -> None:
    """A model file and a matrix, as the command line makes them."""
    vocabulary = Vocabulary(min_df=2).fit(document.text for document in documents)
    vocabulary.save(folder / "articles.mill")
    save_npz(folder / "articles.npz", vocabulary.bags(document.text for document in documents), columns=len(vocabulary))
    loaded = textmill.load(folder / "articles.mill", verify=True)
    facts = describe(folder / "articles.mill")
    report.heading("Files")
    report.text(
        "A model is one file: opened without reading it through, checked before use, no pickle inside. "
        f"This one has {(folder / 'articles.mill').stat().st_size} bytes and {len(loaded)} terms."
    )
    report.table(
        ["array", "type", "shape", "bytes"],
        [(name, array["dtype"], str(tuple(array["shape"])), array["bytes"]) for name, array in facts["arrays"].items()],
        caption="articles.mill",
    )
    report.code(
        "textmill vocab build articles.jsonl --min-df 2 -o articles.mill\n"
        "textmill bags make articles.jsonl --vocab articles.mill -o articles.npz\n"
        "textmill info articles.mill"
    )


def _signed_likelihood_ratio(X: sparse.csr_matrix, inside: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Log-likelihood ratio of each term's frequency inside and outside a group, negative for terms rarer inside.

    G^2 = 2 sum_k o_k log(o_k / e_k) over the four cells of term x group. Reference: Dunning (1993).
    """
    a = np.asarray(X[inside].sum(axis=0), dtype=float).ravel()
    b = np.asarray(X[~inside].sum(axis=0), dtype=float).ravel()
    observed = np.array([a, b, a.sum() - a, b.sum() - b])
    total = observed.sum(axis=0)
    rows, columns = (a + b, total - a - b), (a.sum(), b.sum())
    expected = np.array([rows[k // 2] * columns[k % 2] / total for k in range(4)])
    with np.errstate(divide="ignore", invalid="ignore"):
        cells = np.where(observed > 0, observed * np.log(observed / expected), 0.0)
    ratio: NDArray[np.float64] = np.where(a / a.sum() > b / b.sum(), 2.0, -2.0) * cells.sum(axis=0)
    return ratio
