"""Systems of segments on JNLPBA: what filter, history, whole-segment tests, length and columns of other taggers change.

TEXTMILL_DATA=... python -m bench._segment_quality MODELS [--columns] [--train-on-all] [--iterations N] [NAME ...]

All systems learn from the same documents, drawn once: nine tenths of the training part, judged on the last tenth and on
the official test part, or all of it. Models are kept in the folder MODELS, so a run can be cut into parts: what is
there is not trained again. At the end, each system is held against the first by tokens of the test part (McNemar).

`--columns` gives every token a part of speech and a chunk tag first, by taggers trained on CoNLL-2000; systems with
these columns have a name of their own.
"""

from __future__ import annotations

import argparse
import functools
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import textmill
from textmill.corpus import Sentence, read_columns
from textmill.sequence import (
    CRF,
    SemiMarkovCRF,
    compare_tags,
    default_patterns,
    evaluate_boundaries,
    evaluate_tags,
    read_labeled,
    segment_patterns,
)

MARK = "###MEDLINE:"
SYSTEMS: dict[str, dict[str, Any]] = {
    "table3": {"patterns": "table3"},
    "table3, no chunk tests": {"patterns": "table3", "groups": ["tokens", "history"]},
    "table3, no history": {"patterns": "table3", "history": "none"},
    "table3, L = 4": {"patterns": "table3", "max_length": 4},
    "table3, recall 0.9995": {"patterns": "table3", "filter_recall": 0.9995},
    "table3, no filter": {"patterns": "table3", "filter": None},
    "rich": {"patterns": "rich"},
    "rich, no history": {"patterns": "rich", "history": "none"},
    "crf": {},
}

Pairs = tuple[list[Any], list[list[str]]]


def documents(path: Path) -> list[list[Sentence]]:
    """The sentences of a file, by document."""
    found: list[list[Sentence]] = []
    for sentence in read_columns(path, document=MARK):
        if sentence.document is not None or not found:
            found.append([])
        found[-1].append(sentence)
    return found


def parts(data: Path, everything: bool) -> dict[str, Pairs]:
    """Sequences and tags to train on, to develop on, and to test on."""
    train = documents(data / "jnlpba" / "train.iob2")
    order = np.random.default_rng(0).permutation(len(train)).tolist()
    cut = len(train) // 10
    chosen = {
        "train": sorted(order if everything else order[cut:]),
        "dev": sorted(order[:cut]),
    }
    read = {name: [sentence for i in some for sentence in train[i]] for name, some in chosen.items()}
    read["test"] = [sentence for some in documents(data / "jnlpba" / "test.iob2") for sentence in some]
    return {
        name: ([Sentence(one.columns[:-1]) for one in some], [list(one.column(-1)) for one in some])
        for name, some in read.items()
    }


def taggers(data: Path, models: Path) -> tuple[CRF, CRF]:
    """Taggers of parts of speech, by words alone, and of chunks, by words and the tags of the first."""
    X, y = (lambda read: (read.X, read.y))(read_labeled(data / "conll2000" / "train.txt"))
    words = [Sentence(x.columns[:1]) for x in X]
    tags = [list(x.columns[1]) for x in X]
    found = []
    for name, rows, labels, columns in (("pos", words, tags, 1), ("chunk", X, y, 2)):
        path = models / f"{name}.mill"
        if not path.exists():
            begin = time.process_time()
            CRF(patterns=default_patterns(columns), max_iter=60).fit(rows, labels).save(path)
            print(f"{name}: {time.process_time() - begin:.0f} s of processor", flush=True)
        found.append(textmill.load(path, expect=CRF))
    return found[0], found[1]


def with_columns(X: list[Sentence], pos: CRF, chunk: CRF) -> list[Sentence]:
    """Sentences with the parts of speech and the chunk tags that taggers give them."""
    tagged = [Sentence((*x.columns, tuple(t))) for x, t in zip(X, pos.predict(X), strict=True)]
    return [Sentence((*x.columns, tuple(t))) for x, t in zip(tagged, chunk.predict(tagged), strict=True)]


def tagger(name: str, columns: int, iterations: int) -> Any:
    """A system, not yet trained."""
    if name == "crf":
        return CRF(patterns=default_patterns(columns), algorithm="lbfgs", l2=5.0, max_iter=iterations)
    chosen = dict(SYSTEMS[name])
    if (groups := chosen.pop("groups", None)) is not None:
        chosen["patterns"] = segment_patterns(chosen["patterns"], columns, groups=groups)
    return SemiMarkovCRF(**chosen, max_iter=iterations)


def main() -> None:
    """Train, score and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, help="Folder of the models; those that are there are not trained again.")
    parser.add_argument("names", nargs="*", default=["table3"], help=f"Systems: {', '.join(SYSTEMS)}.")
    parser.add_argument("--columns", action="store_true", help="With parts of speech and chunk tags.")
    parser.add_argument("--train-on-all", action="store_true", help="Train on the part kept for development, too.")
    parser.add_argument("--iterations", type=int, default=400, help="At most; 400 is enough for all to converge.")
    given = parser.parse_intermixed_args()
    warnings.simplefilter("ignore")
    data = Path(os.environ["TEXTMILL_DATA"])
    given.models.mkdir(parents=True, exist_ok=True)
    read = parts(data, given.train_on_all)
    if given.columns:
        add = functools.partial(with_columns, **dict(zip(("pos", "chunk"), taggers(data, given.models), strict=True)))
        read = {name: (add(X), y) for name, (X, y) in read.items()}
    answers = {}
    X_test, y_test = read["test"]
    for name in given.names:
        title = name + (", columns" if given.columns else "") + (", all" if given.train_on_all else "")
        path = given.models / f"{title}.mill"
        begin = time.process_time()
        if not path.exists():
            tagger(name, 3 if given.columns else 1, given.iterations).fit(*read["train"]).save(path)
        spent = time.process_time() - begin
        model: Any = textmill.load(path)
        answers[title] = tags = model.predict(X_test)
        scores, edges = evaluate_tags(y_test, tags), evaluate_boundaries(y_test, tags)
        dev = evaluate_tags(read["dev"][1], model.predict(read["dev"][0])).f1
        print(
            f"{title:<34} dev F {100 * dev:.2f} test R {100 * scores.recall:.2f} P {100 * scores.precision:.2f} "
            f"F {100 * scores.f1:.2f} left {100 * edges.f1('left'):.2f} right {100 * edges.f1('right'):.2f}; objective "
            f"{model.objective_:.0f} after {model.n_iter_} iterations ({model.stop_reason_}), {spent:.0f} s",
            flush=True,
        )
    first, *others = answers
    for name in others:
        gap = compare_tags(y_test, answers[first], answers[name])
        print(
            f"{first} against {name}: {gap.tokens.only_first} tokens only by the first, {gap.tokens.only_second} only "
            f"by the second, McNemar p = {gap.tokens.mcnemar_exact():.2g}; F1 by sentence p = "
            f"{gap.differences['f1'].p_value:.3f}"
        )


if __name__ == "__main__":
    main()
