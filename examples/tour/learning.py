"""Stops of the tour that learn to decide: a classifier that can be read, words that burst, a parser, and names."""

from __future__ import annotations

from pathlib import Path

from textmill.corpus import Document, Vocabulary
from textmill.report import Report

__all__ = ["show_bursts", "show_entities", "show_parser", "show_words_that_decide"]


def show_words_that_decide(report: Report, documents: list[Document], folder: Path) -> None:
    """A sparse classifier of subjects: the words it looks at, and how often it is right."""
    from textmill.linear import LogisticRegression
    from textmill.vectors import TextVectorizer

    english = [document for document in documents if document.fields["language"] == "en" and "copy" not in document.id]
    texts, subjects = [d.text for d in english], [str(d.fields["subject"]) for d in english]
    taught, unseen = [i for i in range(len(texts)) if i % 4], list(range(0, len(texts), 4))
    words_of = TextVectorizer(vocabulary=Vocabulary(stop_words="auto", min_df=2))
    model = LogisticRegression(l1=0.05, l2=0.02, vectorizer=words_of)
    model.fit([texts[i] for i in taught], [subjects[i] for i in taught])
    model.save(folder / "subjects.mill")
    labels = model.predict([texts[i] for i in unseen]).tolist()
    hits = sum(label == subjects[i] for label, i in zip(labels, unseen, strict=True))
    used = int((model.coef_ != 0).any(axis=0).sum())
    report.heading("An interpretable classifier")
    report.text(
        f"Three quarters of the English articles teach a logistic regression their {len(model.classes_)} subjects. Its "
        f"penalties leave {used} of {model.coef_.shape[1]} words with a weight; of the other articles it gets {hits} "
        f"of {len(unseen)} right."
    )
    words: dict[str, list[str]] = {}
    weights = model.strongest(3)
    for label, word, weight in zip(weights.labels, weights.features, weights.weights, strict=True):
        words.setdefault(str(label), []).append(f"{word} ({weight:+.1f})")
    report.table(
        ["subject", "strongest words (weight)"],
        [(label, ", ".join(some)) for label, some in words.items()],
        caption="Words that decide",
    )
    report.code(
        "textmill classify train articles.jsonl --label-field subject --l1 0.05 --l2 0.02 -o subjects.mill\n"
        "textmill classify explain subjects.mill -k 3\n"
        "textmill classify predict subjects.mill new.jsonl"
    )


def show_bursts(report: Report, documents: list[Document], folder: Path) -> None:
    """Words that come in bursts, by models of their counts."""
    from textmill.linear import counts_of_texts, find_bursts

    texts = [document.text for document in documents if document.fields["language"] == "en"]
    data = counts_of_texts(texts, vocabulary=Vocabulary(min_count=10))
    bursts = find_bursts(data.X, data.terms, exposure=data.exposure)
    report.heading("Words that come in bursts")
    report.text(
        "Most articles never use a given word, but one that uses it once tends to use it again. A binomial "
        f"distribution with surplus zeros was fitted to each of {len(data.terms)} words; function words need none."
    )
    rows = [bursts.terms.index(word) for word in [*bursts.terms[:6], "the", "and"]]
    report.table(
        ["word", "occurrences", "articles", "surplus of zeros", "times per article that has it"],
        [
            (
                bursts.terms[i],
                int(bursts.occurrences[i]),
                int(bursts.documents[i]),
                f"{bursts.z[i]:.2f}",
                f"{bursts.repeat[i]:.1f}",
            )
            for i in rows
        ],
        caption="The words that burst most, and two that do not",
    )
    report.code("textmill counts compare articles.jsonl -k 6 --plot bursts.svg")


def show_parser(report: Report, documents: list[Document], folder: Path) -> None:
    """A dependency parser that decides by combinations of features, found among all of them."""
    from textmill.tasks.dependency import DependencyParser, sample_sentences

    train, test = sample_sentences(400), sample_sentences(200, random_state=1)
    parser = DependencyParser(l1=1.0).fit(train)
    parser.save(folder / "parser.mill")
    report.heading("Combinations that matter")
    report.text(
        f"{len(train)} generated Japanese sentences teach a parser which phrase depends on which. It searches the "
        "space of all pairs of features, with a proof that none is missed, and keeps those that help. "
        f"On {len(test)} other sentences {parser.score(test):.1%} of the phrases get the right head."
    )
    weights = parser.strongest(8)
    report.table(
        ["features that must come together", "weight"],
        [(name, f"{weight:+.2f}") for name, weight in zip(weights.features, weights.weights, strict=True)],
        caption="The strongest combinations",
    )
    report.code(
        "textmill parse train train.knp -o parser.mill\n"
        "textmill parse explain parser.mill -k 8\n"
        "textmill parse apply parser.mill new.knp -o parsed.knp"
    )


def show_entities(report: Report, documents: list[Document], folder: Path) -> None:
    """Names and their types, found in two phases that only count."""
    from textmill.tasks.entities import EntityRecognizer, evaluate_entities, explain_entities, sample_entities

    parts = [sample_entities(400, random_state=1), sample_entities(200, random_state=2)]
    (X, y), (X_test, y_test) = (
        ([list(one.column("word")) for one in part], [list(one.column("tag")) for one in part]) for part in parts
    )
    model = EntityRecognizer(language="es").fit(X, y)
    model.save(folder / "names-in-text.mill")
    result = evaluate_entities(model, X_test, y_test)
    report.heading("Names in a new language")
    report.text(
        f"{len(X)} made-up Spanish sentences teach where names are, by counts alone, and then what they are. On "
        f"{len(X_test)} others phase 1 finds names with an F of {result.extraction.f1:.1%}, phase 2 gives "
        f"{result.accuracy:.1%} of them their type, and both together reach an F of {result.full.f1:.1%}."
    )
    rows = []
    words = ["Marta", "Gil", ",", "de", "Banco", "Central", ",", "viajó", "a", "Lima", "."]
    for one in explain_entities(model, words, 2):
        if one.chosen:
            best = max(one.types, key=lambda name: one.types[name])
            because = ", ".join(f"{feature} ({weight:+.1f})" for feature, weight in one.features)
            rows.append((one.text, best, f"{one.name * one.types[best]:.2f}", because))
    report.table(["name", "type", "probability", "because"], rows, caption="A sentence, and why its names are names")
    report.code(
        "textmill entities train train.conll -o names-in-text.mill\n"
        'echo "Marta Gil viajó a Lima." | textmill entities label names-in-text.mill --text -\n'
        "textmill entities evaluate names-in-text.mill test.conll --report names.html"
    )
