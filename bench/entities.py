"""Names and their types: two phases by counting against a single CRF of python-crfsuite, Spanish of CoNLL-2002.

Both sides get words alone, as lists of texts, and their times have the making of features in them. The peer has the
features of its own tutorial on these data, without parts of speech, and runs L-BFGS to its default stop. Its training
takes minutes and is run once, whatever --repeats says. Settings were chosen on testa; testb is looked at for the table.
`quality()` prints the figures of both phases, of the single phase and of the strong preset.
"""

from __future__ import annotations

import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

from bench.harness import Job, Options
from textmill.corpus import read_columns
from textmill.sequence import CRF, CountedMarkov, default_chain, evaluate_tags
from textmill.tasks.entities import EntityRecognizer, evaluate_entities

PACKAGES = ["python-crfsuite"]
QUICK = 800  # sentences of a quick look

Sentences = list[list[str]]


def jobs(options: Options) -> list[Job]:
    """Training of both phases, labeling on one thread, labeling on two."""
    some = QUICK if options.quick else None
    X, y = _read(options.data, "train", some)
    X_test, y_test = _read(options.data, "testb", some)
    model = EntityRecognizer(language="es", n_jobs=1).fit(X, y)
    tokens = sum(map(len, X_test))

    @cache
    def peer_model() -> tuple[str, float]:
        return _train_peer(X, y, str(Path(tempfile.mkdtemp()) / "peer.crfsuite"))

    def train() -> float:
        start = time.process_time()
        EntityRecognizer(language="es", n_jobs=1).fit(X, y)
        return time.process_time() - start

    def label(threads: int) -> list[list[str]]:
        return model.set_params(n_jobs=threads).predict(X_test)

    def peer_label() -> list[list[str]]:
        import pycrfsuite

        tagger = pycrfsuite.Tagger()
        tagger.open(peer_model()[0])
        return [tagger.tag(_features(words)) for words in X_test]

    def quality() -> str:
        return f"F {_f1(y_test, label(1))} and {_f1(y_test, peer_label())}"

    return [
        Job("train", train, lambda: peer_model()[1], "python-crfsuite", quality, figure="returned", bar=100),
        Job(f"label {tokens:,} tokens", lambda: label(1), peer_label, "python-crfsuite", figure="processor", bar=10),
        Job("label on two threads", lambda: label(2), lambda: label(1), "one thread", figure="busiest", bar=1.6),
    ]


def quality(data: Path, test: bool = False, strong: bool = True) -> None:
    """Print figures on testa, and on testb if asked to: extraction, types of gold phrases, all, a single phase."""
    X, y = _read(data, "train", None)
    models: dict[str, Any] = {
        "counted": EntityRecognizer(language="es").fit(X, y),
        "counted, gold phrases": EntityRecognizer(language="es", phrases="gold").fit(X, y),
        "single phase, counted": CountedMarkov().fit(X, y),
    }
    if strong:
        models["strong"] = EntityRecognizer(preset="strong", language="es").fit(X, y)
        models["single phase, CRF with the same tests"] = CRF().fit(X, y)
    for part in ("testa", "testb") if test else ("testa",):
        X_part, y_part = _read(data, part, None)
        for name, model in models.items():
            if isinstance(model, EntityRecognizer):
                figures = evaluate_entities(model, X_part, y_part).figures()
                print(part, name, {key: round(100 * value, 2) for key, value in figures.items()}, flush=True)
            else:
                print(part, name, {"f1": _f1(y_part, model.predict(X_part))}, flush=True)


def chains(data: Path) -> None:
    """Print F of extraction on testa by kind of chain: orders, smoothing, joint, and without the label before."""
    X, y = _read(data, "train", None)
    X_dev, y_dev = _read(data, "testa", None)
    bare, gold = ([[tag[:1] for tag in tags] for tags in part] for part in (y, y_dev))
    second = ["t:%x[0,0]/%x[-1,0]", "t:%x[0,0]", *default_chain()]
    for name, model in {
        "order 1": CountedMarkov(),
        "order 2": CountedMarkov(patterns=second),
        "joint": CountedMarkov(joint=True),
        "absolute": CountedMarkov(smoothing="absolute"),
        "jelinek-mercer": CountedMarkov(smoothing="jelinek-mercer"),
        "hard": CountedMarkov(smoothing="hard"),
    }.items():
        print(name, _f1(_named(gold), _named(model.fit(X, bare).predict(X_dev))), flush=True)
    # each token a sequence of its own, the word before in a second column: no label is ever before
    chain = [pattern.replace("[-1,0", "[0,1") for pattern in default_chain()]
    alone = CountedMarkov(patterns=chain, scheme=None).fit(_alone(X), [[tag] for tags in bare for tag in tags])
    tags = iter(tag for (tag,) in alone.predict(_alone(X_dev)))
    predicted = [[next(tags) for _ in words] for words in X_dev]
    print("without the label before", _f1(_named(gold), _named(predicted)), flush=True)


def _alone(X: Sentences) -> list[list[tuple[str, str]]]:
    return [[pair] for words in X for pair in zip(words, ["_", *words[:-1]], strict=True)]


def _named(y: Sentences) -> Sentences:
    return [[tag if tag == "O" else f"{tag}-X" for tag in tags] for tags in y]


def _read(data: Path, part: str, some: int | None) -> tuple[Sentences, Sentences]:
    sentences = list(read_columns(data / "conll2002" / f"esp.{part}"))[:some]
    return [list(one.column(0)) for one in sentences], [list(one.column(-1)) for one in sentences]


def _f1(gold: Sentences, predicted: Sentences) -> float:
    return round(100 * evaluate_tags(gold, predicted, chunks=True).f1, 2)


def _train_peer(X: Sentences, y: Sentences, path: str) -> tuple[str, float]:
    """Path of the trained model, and the processor seconds it took."""
    import pycrfsuite

    start = time.process_time()
    trainer = pycrfsuite.Trainer(verbose=False)
    for words, tags in zip(X, y, strict=True):
        trainer.append(_features(words), tags)
    trainer.train(path)
    return path, time.process_time() - start


def _features(words: list[str]) -> list[list[str]]:
    """The features of python-crfsuite's tutorial for these data, but for parts of speech."""
    rows = []
    for i, word in enumerate(words):
        row = [
            "bias",
            "word.lower=" + word.lower(),
            "word[-3:]=" + word[-3:],
            "word[-2:]=" + word[-2:],
            f"word.isupper={word.isupper()}",
            f"word.istitle={word.istitle()}",
            f"word.isdigit={word.isdigit()}",
        ]
        for at, name in ((i - 1, "-1"), (i + 1, "+1")):
            if 0 <= at < len(words):
                other = words[at]
                row += [
                    f"{name}:word.lower={other.lower()}",
                    f"{name}:word.istitle={other.istitle()}",
                    f"{name}:word.isupper={other.isupper()}",
                ]
            else:
                row.append("BOS" if at < 0 else "EOS")
        rows.append(row)
    return rows
