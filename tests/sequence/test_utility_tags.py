"""Tags of greatest expected F against all tag sequences of a small chain model."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from textmill.corpus import spans_of
from textmill.errors import DataError
from textmill.sequence import CRF, ConditionalMarkov, decode_chain_f, markov_steps

WORDS = ["anna", "meets", "bert", "in", "rome", "and", "new", "york"]
TAGS = {"anna": "B-PER", "bert": "B-PER", "rome": "B-LOC", "new": "B-LOC", "york": "I-LOC"}


def corpus(seed: int, count: int = 30) -> tuple[list[Any], list[list[str]]]:
    """Sentences with tags, some of them wrong: probabilities that are not 0 or 1."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(count):
        words = rng.choice(WORDS, int(rng.integers(2, 7))).tolist()
        tags = [TAGS.get(word, "O") if rng.random() < 0.75 else "O" for word in words]
        tags = [
            tag.replace("I-", "B-") if tag[0] == "I" and (k == 0 or tags[k - 1] == "O") else tag
            for k, tag in enumerate(tags)
        ]
        X.append([(word,) for word in words])
        y.append(tags)
    return X, y


def model(kind: Any = CRF) -> Any:
    X, y = corpus(1)
    return kind(patterns=["b", "u:%x[0,0]"], l1=0.3, n_jobs=1).fit(X, y)


def sequences_of(crf: Any, sentence: Any) -> dict[tuple[str, ...], float]:
    """The probability of every tag sequence, by the scores of the n best paths."""
    best = crf.predict_best([sentence], k=len(crf.classes_) ** len(sentence))[0]
    return {tuple(tags): probability for tags, _, probability in best}


def score(unit: str, z: Any, y: Any, b: float) -> float:
    if unit == "span":
        ours, gold = set(spans_of(z, lenient=True)), set(spans_of(y, lenient=True))
        hits, claimed, truths = len(ours & gold), len(ours), len(gold)
    else:
        hits = sum(i == j != "O" for i, j in zip(z, y, strict=True))
        claimed, truths = sum(tag != "O" for tag in z), sum(tag != "O" for tag in y)
    return (1 + b) * hits / (claimed + b * truths) if claimed + truths else 1.0


def test_steps_multiply_to_the_probabilities_of_sequences() -> None:
    crf = model()
    sentence = [("anna",), ("in",), ("york",)]
    steps = markov_steps(crf._scorer(), crf._encoded([sentence]))
    number = {label: k for k, label in enumerate(crf.classes_.tolist())}
    for tags, probability in sequences_of(crf, sentence).items():
        ids = [number[tag] for tag in tags]
        product = steps[0, 0, ids[0]] * math.prod(steps[t, ids[t - 1], ids[t]] for t in range(1, 3))
        assert product == pytest.approx(probability, abs=1e-12)


@pytest.mark.parametrize("kind", [CRF, ConditionalMarkov])
@pytest.mark.parametrize("name", ["span-f1", "token-f1", "span-f2", "token-f0.5"])
def test_each_sequence_gets_the_best_of_all_answers(kind: Any, name: str) -> None:
    tagger = model(kind)
    unit, beta = name.split("-f")
    b = float(beta) ** 2
    sentences = [[("anna",), ("new",), ("york",)], [("york",), ("bert",)], [("in",)], [("new",), ("in",), ("rome",)]]
    sentences += [[("anna",), ("bert",)], [("rome",), ("new",), ("york",)], [("bert",), ("anna",), ("in",)]]
    answers = tagger.predict(sentences, maximize=name, micro=False)
    for sentence, answer in zip(sentences, answers, strict=True):
        truths = sequences_of(tagger, sentence)
        assert sum(truths.values()) == pytest.approx(1.0)
        values = {
            z: sum(score(unit, z, y, b) * chance for y, chance in truths.items())
            for z in itertools.product(tagger.classes_.tolist(), repeat=len(sentence))
        }
        assert values[tuple(answer)] == pytest.approx(max(values.values()), abs=1e-9)


def test_all_sequences_together_reach_the_greatest_f_of_expected_counts() -> None:
    crf = model()
    sentences = [[("anna",), ("new",)], [("york",), ("bert",)], [("rome",)]]
    truths = [sequences_of(crf, sentence) for sentence in sentences]
    mean = sum(p * len(spans_of(y, lenient=True)) for table in truths for y, p in table.items())

    def value(answers: Any) -> float:
        hits = claimed = 0.0
        for z, table in zip(answers, truths, strict=True):
            spans = set(spans_of(z, lenient=True))
            claimed += len(spans)
            hits += sum(p * len(spans & set(spans_of(y, lenient=True))) for y, p in table.items())
        return 2 * hits / (claimed + mean)

    per_sentence = [list(itertools.product(crf.classes_.tolist(), repeat=len(sentence))) for sentence in sentences]
    best = max(value(answers) for answers in itertools.product(*per_sentence))
    assert value(crf.predict(sentences, maximize="f1")) == pytest.approx(best, abs=1e-5)


def test_recall_claims_more_than_precision() -> None:
    crf = model()
    X, _ = corpus(2, 60)
    claimed = [sum(len(spans_of(tags)) for tags in crf.predict(X, maximize=name)) for name in ("f0.5", "f1", "f2")]
    assert claimed[0] < claimed[1] < claimed[2]


def test_constraints_hold_and_empty_sequences_stay_empty() -> None:
    crf = model()
    for micro in (True, False):
        tags = crf.predict([[("anna",)], [], [("rome",)]], maximize="f1", micro=micro)
        assert [len(row) for row in tags] == [1, 0, 1]
        forced = crf.predict([[("anna",)]], maximize="token-f1", micro=micro, constraints=[["O"]])
        assert forced == [["O"]]


def test_threads_and_rounds_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    crf = model()
    X, _ = corpus(5, 400)
    whole = crf.predict(X, maximize="f1")
    monkeypatch.setattr("textmill.sequence.utility_tags.MOST_CELLS", 1)
    crf.n_jobs = 3
    assert crf.predict(X, maximize="f1") == whole


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"maximize": "accuracy"}, "no objective"),
        ({"maximize": "f1", "posterior": True}, "one of them"),
    ],
)
def test_bad_requests_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        model().predict([[("anna",)]], **arguments)


def test_labels_without_outside_have_no_f() -> None:
    crf = CRF(patterns=["u:%x[0,0]"], l1=0.1).fit([[("a",), ("b",)]], [["X", "Y"]])
    with pytest.raises(DataError, match="no label 'O'"):
        crf.predict([[("a",)]], maximize="f1")
    words = CRF(patterns=["u:%x[0,0]"], l1=0.1).fit([[("a",), ("b",)]], [["X", "O"]])
    assert words.predict([[("a",), ("b",)]], maximize="f1") == [["X", "O"]]
    with pytest.raises(DataError, match="token-f1"):
        words.predict([[("a",)]], maximize="span-f1")


def test_chains_of_a_model_have_its_marginals() -> None:
    crf = model()
    sentences = [[("anna",), ("new",), ("york",)], [("in",)]]
    chains = crf.label_chains(sentences)
    place = crf.classes_.tolist().index("O")
    for chain, marginals in zip(chains, crf.predict_marginals(sentences), strict=True):
        np.testing.assert_allclose(chain.positives(), 1 - marginals[:, place], atol=1e-12)
    people = crf.label_chains(sentences, positive=["B-PER"])[0]
    column = crf.classes_.tolist().index("B-PER")
    np.testing.assert_allclose(people.positives(), crf.predict_marginals(sentences)[0][:, column], atol=1e-12)
    assert decode_chain_f(chains[0]).value <= 1.0
    with pytest.raises(DataError, match="no label of the model"):
        crf.label_chains(sentences, positive=["X"])
    with pytest.raises(DataError, match="no tokens"):
        crf.label_chains([[]])
