"""The estimator: every way of training, files, resuming, stages, paths, restrictions, bad input."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import textmill
from textmill.errors import DataError
from textmill.optimize import Plateau
from textmill.sequence import (
    ALGORITHMS,
    CRF,
    OWLQN,
    SGDL1,
    SGDL2,
    ChainModel,
    ConditionalMarkov,
    Encoder,
    FeatureLayout,
    NoWeights,
    label_ids,
)
from textmill.sequence.training.objective import ChainObjective

WORDS = (
    "the dog barks|a cat sleeps|the cat barks|dogs bark|a dog sleeps|the small dog barks|cats sleep|a small cat runs"
)
LABELS = "D N V|D N V|D N V|N V|D N V|D A N V|N V|D A N V"
X = [[(word, word[-1:]) for word in line.split()] for line in WORDS.split("|")]
Y = [line.split() for line in LABELS.split("|")]
PATTERNS = ["*", "*:s=%x[0,1]", "u:w=%x[0,0]", "u:p=%x[-1,0]"]
PATIENT = Plateau(window=100)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_learns_the_sentences(algorithm):
    l1 = 0.05 if algorithm in ("owlqn", "bcd", "rprop", "sgd_l1") else None
    l2 = None if algorithm == "perceptron" else 0.01
    crf = CRF(patterns=PATTERNS, algorithm=algorithm, l1=l1, l2=l2, max_iter=60, random_state=0).fit(X, Y)
    assert crf.score(X, Y) >= (0.95 if algorithm == "perceptron" else 1.0)
    assert crf.classes_.tolist() == ["A", "D", "N", "V"]
    assert crf.n_iter_ == len(crf.training_log_) > 0
    assert crf.training_log_[-1].keys() >= {"iteration", "objective", "active", "seconds", "cpu_seconds"}


@pytest.mark.parametrize("algorithm", ["owlqn", "sgd_l1", "lbfgs"])
def test_a_conditional_markov_model_learns_them_too(algorithm, tmp_path):
    model = ConditionalMarkov(
        patterns=PATTERNS, algorithm=algorithm, l2=0.01, l1=0.05 if algorithm != "lbfgs" else None
    )
    model.fit(X, Y)
    assert model.score(X, Y) == 1.0
    for marginals in model.predict_marginals(X):
        np.testing.assert_allclose(marginals.sum(axis=1), 1)
    model.save(tmp_path / "m.mill")
    assert textmill.load(tmp_path / "m.mill").predict(X) == model.predict(X)


@pytest.mark.parametrize("start_label", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_saving_and_loading_keeps_predictions_and_bytes(tmp_path, start_label, dtype):
    crf = CRF(patterns=PATTERNS, l1=0.1, start_label=start_label, dtype=dtype).fit(X, Y)
    crf.save(tmp_path / "a.mill")
    loaded = textmill.load(tmp_path / "a.mill", verify=True)
    loaded.save(tmp_path / "b.mill")
    assert (tmp_path / "a.mill").read_bytes() == (tmp_path / "b.mill").read_bytes()
    assert loaded.predict(X) == crf.predict(X)
    assert crf.weights_.dtype == dtype


def test_dropping_tests_without_weights_changes_no_prediction():
    whole = CRF(patterns=PATTERNS, l1=0.2, compact=False).fit(X, Y)
    small = CRF(patterns=PATTERNS, l1=0.2).fit(X, Y)
    assert len(small.encoder_.tests_) < len(whole.encoder_.tests_)
    assert (
        small.weights_.tobytes()
        == whole.weights_[np.argsort(_names(whole))][np.argsort(np.argsort(_names(small)))].tobytes()
    )
    for a, b in zip(small.predict_marginals(X), whole.predict_marginals(X), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def _names(model):
    """A name for every weight, whatever its number."""
    parts = model.feature_layout_.split(model.features_)
    unigram, bigram = model.encoder_.numbers()
    tests = model.encoder_.tests_.to_list()
    of = {("u", int(n)): tests[i] for i, n in enumerate(unigram) if n >= 0} | {
        ("b", int(n)): tests[i] for i, n in enumerate(bigram) if n >= 0
    }
    return np.array(
        [
            f"{of['b' if b else 'u', int(t)]}|{s}|{y}"
            for b, t, s, y in zip(parts.bigram, parts.test, parts.source, parts.label, strict=True)
        ]
    )


def test_weights_pass_through_other_formats_and_back():
    crf = CRF(patterns=PATTERNS, l1=0.1).fit(X, Y)
    again = CRF.from_weights(crf.to_weights())
    assert again.predict(X) == crf.predict(X)
    assert again.weights_.tobytes() == crf.weights_.tobytes()
    with pytest.raises(DataError, match="start label"):
        CRF(patterns=PATTERNS, start_label=True).fit(X, Y).to_weights()


@pytest.mark.parametrize("features", ["all", "seen"])
@pytest.mark.parametrize("kind", [CRF, ConditionalMarkov])
def test_the_optimality_report_judges_what_was_trained(kind, features):
    arguments = {"patterns": PATTERNS, "l1": 0.3, "l2": 0.01, "features": features, "compact": False}
    weight = [1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 1.0, 0.25]
    model = kind(**arguments, tolerance=0.0, algorithm=OWLQN(gradient_tolerance=1e-8), max_iter=1000).fit(
        X, Y, sample_weight=weight
    )
    assert model.kkt_report(X, Y, sample_weight=weight, tolerance=1e-5).optimal
    assert not model.kkt_report(X, Y, tolerance=1e-5).optimal
    early = kind(**arguments, max_iter=1).fit(X, Y, sample_weight=weight)
    assert not early.kkt_report(X, Y, sample_weight=weight, tolerance=1e-5).optimal


@pytest.mark.parametrize("features", ["all", "seen"])
@pytest.mark.parametrize("kind", [CRF, ConditionalMarkov])
def test_the_largest_penalty_is_the_least_that_leaves_no_weight(kind, features):
    arguments = {"patterns": PATTERNS, "l2": 0.0, "features": features}
    highest = kind(**arguments).l1_max(X, Y)
    with pytest.warns(NoWeights, match="pass a smaller l1"):
        assert len(kind(**arguments, l1=highest * 1.001).fit(X, Y).features_) == 0
    assert len(kind(**arguments, l1=highest * 0.999).fit(X, Y).features_) > 0


def test_the_largest_penalty_looks_only_at_features_that_the_model_has():
    sentences, labels = [[("a",)]] * 6 + [[("c",)]], [["A"], ["B"]] * 3 + [["C"]]
    assert CRF(patterns=["u:%x[0,0]"]).l1_max(sentences, labels) == pytest.approx(2)  # a with C, six times a third
    assert CRF(patterns=["u:%x[0,0]"], features="seen").l1_max(sentences, labels) == pytest.approx(1)  # three less two


def test_the_largest_penalty_for_other_sentences_leaves_a_fitted_model_alone():
    crf = CRF(patterns=PATTERNS, l1=0.05).fit(X, Y)
    crf.l1_max([[("x", "x")]], [["Q"]])
    assert crf.predict(X) == Y


@pytest.mark.parametrize("kind", [CRF, ConditionalMarkov])
def test_the_zero_rate_counts_pairs_of_labels_without_a_score(kind):
    model = kind(patterns=PATTERNS, l1=0.2, compact=False).fit(X, Y)
    parts = model.feature_layout_.split(model.features_)
    bigram = model.encoder_.numbers()[1]
    names = model.encoder_.tests_.to_list()
    pairs = {}  # of every bigram test, the pairs of labels with a weight
    for test, source, label in zip(parts.test, parts.source, parts.label, strict=True):
        if source >= 0:
            name = names[int(np.flatnonzero(bigram == test)[0])]
            pairs.setdefault(name, set()).add((source, label))
    rates = []
    for sentence in X:
        for _, ending in sentence[1:]:
            rates.append(1 - len(pairs.get("*", set()) | pairs.get(f"*:s={ending}", set())) / 16)
    assert 0 < np.mean(rates) < 1
    assert model.zero_rate(X) == pytest.approx(np.mean(rates))


def test_development_sequences_stop_the_run_and_the_best_weights_are_kept():
    crf = CRF(patterns=PATTERNS, l1=0.01, max_iter=50)
    crf.fit(X[:4], Y[:4], X[4:], Y[4:], early_stopping=Plateau(window=3))
    errors = [entry["dev_error"] for entry in crf.training_log_]
    assert crf.stop_reason_.startswith("early stopping")
    assert 100 * (1 - crf.score(X[4:], Y[4:])) == pytest.approx(min(errors))


def test_fine_tuning_keeps_the_support_and_lowers_the_loss():
    before = CRF(patterns=PATTERNS, algorithm="sgd_l1", l1=0.3, max_iter=5, random_state=1).fit(X, Y)
    after = CRF(patterns=PATTERNS, algorithm="sgd_l1", l1=0.3, max_iter=5, fine_tune=10, random_state=1).fit(X, Y)
    assert set(_names(after)) <= set(_names(before))
    probability = [min(m.max(axis=1).min() for m in model.predict_marginals(X)) for model in (before, after)]
    assert probability[1] > probability[0]


CHECKPOINTED = [algorithm for algorithm in ALGORITHMS if algorithm not in ("rprop", "cg")]
CLOCKS = ("seconds", "cpu_seconds")


class Decoder:
    """In the place of the decoder of development sequences: right at one iteration only; may die at another.

    Iterations are told apart by their weights, so a run that does not repeat the first one to the bit is seen.
    """

    def __init__(self, right_at: int) -> None:
        self.right_at, self.dies_at = right_at, 0
        self.iterations: dict[bytes, int] = {}

    def __call__(self, scorer, data, **_):
        number = self.iterations.setdefault(scorer.weights.tobytes(), len(self.iterations) + 1)
        if number == self.dies_at:
            raise RuntimeError("the machine went down")
        return (data.labels if number == self.right_at else (data.labels + 1) % scorer.layout.labels), None


def log_of(model):
    """The log without what the clocks said."""
    return [{key: value for key, value in entry.items() if key not in CLOCKS} for entry in model.training_log_]


@pytest.mark.parametrize(("right_at", "iterations", "kept"), [(13, 23, 13), (100, 30, 30)])
def test_an_error_that_has_not_moved_yet_does_not_stop_the_run(right_at, iterations, kept, monkeypatch):
    decoder = Decoder(right_at=right_at)
    monkeypatch.setattr("textmill.sequence.trainable.viterbi", decoder)
    model = CRF(patterns=PATTERNS, algorithm=SGDL2(eta0=0.3), l2=0.1, max_iter=30, tolerance=0.0, compact=False)
    model.fit(X, Y, X[:3], Y[:3])
    assert len({entry["dev_error"] for entry in model.training_log_[:12]}) == 1  # more than the window of the rule
    assert model.n_iter_ == iterations
    sums = [np.abs(np.frombuffer(weights)).sum() for weights in decoder.iterations]
    assert np.abs(model.weights_).sum() == pytest.approx(sums[kept - 1], abs=1e-12)
    assert len({round(total, 9) for total in sums}) == iterations


@pytest.mark.parametrize(("right_at", "begun", "kept"), [(8, 5, 8), (2, 2, 6)])  # iterations 6 to 11 are fine-tuning
def test_fine_tuning_begins_with_the_best_weights_and_keeps_the_best_of_its_own(right_at, begun, kept, monkeypatch):
    arguments = {"patterns": PATTERNS, "algorithm": SGDL1(eta0=0.3), "l1": 0.05, "l2": 0.1, "compact": False}
    decoder = Decoder(right_at=right_at)
    monkeypatch.setattr("textmill.sequence.trainable.viterbi", decoder)
    model = CRF(**arguments, max_iter=5, fine_tune=6, tolerance=0.0)
    model.fit(X, Y, X[:3], Y[:3], early_stopping=PATIENT)
    assert decoder.iterations[model.weights_.tobytes()] == kept
    assert (model.n_iter_, model.stop_reason_) == (11, "iteration limit")
    assert [entry["iteration"] for entry in model.training_log_] == list(range(1, 12))
    assert {entry["active"] for entry in model.training_log_[5:]} == {model.training_log_[begun - 1]["active"]}
    tuned = [entry["objective"] for entry in model.training_log_[5:]]
    assert tuned == sorted(tuned, reverse=True)
    assert tuned[0] < model.training_log_[begun - 1]["objective"]  # which has an L1 penalty


def test_fine_tuning_pulls_the_weights_towards_zero_as_strongly_as_the_penalties_before():
    arguments = {"patterns": PATTERNS, "l1": 0.05, "l2": 0.02, "compact": False}
    quick = CRF(**arguments).fit(X, Y)
    tuned = CRF(**arguments, max_iter=0, fine_tune=100).fit(X, Y, start=quick)
    penalty = 0.02 + 0.05 * np.abs(quick.weights_).sum() / (quick.weights_ @ quick.weights_)
    data = tuned.encoder_.encode(X)
    data = data.with_labels(label_ids(Y, data.offsets, tuned.classes_))
    layout = FeatureLayout(len(tuned.classes_), data.unigram.size, data.bigram.size)
    objective = ChainObjective(layout, data, l2=penalty)
    objective.restrict(tuned.features_)
    value, gradient = objective(tuned.weights_)
    assert tuned.objective_ == pytest.approx(value, rel=1e-9)
    assert np.abs(gradient).max() < 1e-3
    assert tuned.features_.tolist() == quick.features_.tolist()


@pytest.mark.parametrize("lost", [3, 11])
@pytest.mark.parametrize("algorithm", CHECKPOINTED)
def test_a_run_that_died_at_its_best_iteration_resumes_to_the_same_model(tmp_path, algorithm, lost, monkeypatch):
    chosen = ALGORITHMS[algorithm](eta0=0.3) if algorithm.startswith("sgd") else algorithm
    arguments = {"patterns": PATTERNS, "algorithm": chosen, "max_iter": 14, "random_state": 3}
    arguments |= {} if algorithm == "perceptron" else {"tolerance": 0.0}
    rule = {"early_stopping": PATIENT}
    train = (X + X[:3], Y + [["V", "D", "N"]] * 3, X[:3], Y[:3])  # labels that contradict: no run ends early
    decoder = Decoder(right_at=lost)
    monkeypatch.setattr("textmill.sequence.trainable.viterbi", decoder)
    whole = CRF(**arguments).fit(*train, **rule, checkpoint=tmp_path / "whole")
    assert [entry["dev_error"] for entry in whole.training_log_] == [0.0 if i == lost else 100.0 for i in range(1, 15)]
    assert len(whole.weights_) == whole.training_log_[lost - 1]["active"] > 0

    decoder.dies_at = lost
    with pytest.raises(RuntimeError, match="went down"):
        CRF(**arguments).fit(*train, **rule, checkpoint=tmp_path / "part")
    decoder.dies_at = 0
    resumed = CRF(**arguments).fit(*train, **rule, checkpoint=tmp_path / "part")
    assert log_of(resumed) == log_of(whole)
    assert len(decoder.iterations) == 14
    assert resumed.features_.tobytes() == whole.features_.tobytes()
    assert resumed.weights_.tobytes() == whole.weights_.tobytes()
    assert (resumed.n_iter_, resumed.objective_, resumed.stop_reason_) == (14, whole.objective_, whole.stop_reason_)


@pytest.mark.parametrize("algorithm", CHECKPOINTED)
def test_the_checkpoint_of_a_finished_run_gives_its_model_again(tmp_path, algorithm):
    arguments = {"patterns": PATTERNS, "algorithm": algorithm, "max_iter": 30, "random_state": 3, "fine_tune": 2}
    plain = CRF(**arguments).fit(X, Y)
    for _ in range(2):
        model = CRF(**arguments).fit(X, Y, checkpoint=tmp_path / "run")
        assert log_of(model) == log_of(plain)
        assert model.weights_.tobytes() == plain.weights_.tobytes()
        assert (model.n_iter_, model.stop_reason_) == (plain.n_iter_, plain.stop_reason_)
    assert (tmp_path / "run").exists()


def test_a_perceptron_that_used_up_its_epochs_gives_its_average_again(tmp_path):
    arguments = {"patterns": PATTERNS, "algorithm": "perceptron", "max_iter": 2, "random_state": 3}
    first = CRF(**arguments).fit(X[:2] * 2, Y[:2] + [["V", "N", "D"]] * 2, checkpoint=tmp_path / "run")
    again = CRF(**arguments).fit(X[:2] * 2, Y[:2] + [["V", "N", "D"]] * 2, checkpoint=tmp_path / "run")
    assert first.stop_reason_ == again.stop_reason_ == "iteration limit"
    assert again.weights_.tobytes() == first.weights_.tobytes()


def test_a_foreign_checkpoint_is_refused(tmp_path):
    CRF(patterns=PATTERNS, max_iter=9, tolerance=0.0).fit(X, Y, checkpoint=tmp_path / "run")
    with pytest.raises(DataError, match="other parameters or data"):
        CRF(patterns=PATTERNS, max_iter=9, tolerance=0.0, l2=7.0).fit(X, Y, checkpoint=tmp_path / "run")
    (tmp_path / "bad").write_bytes(b"nonsense")
    with pytest.raises(DataError, match="no checkpoint"):
        CRF(patterns=PATTERNS).fit(X, Y, checkpoint=tmp_path / "bad")
    with pytest.raises(DataError, match="rprop keeps no checkpoint"):
        CRF(patterns=PATTERNS, algorithm="rprop").fit(X, Y, checkpoint=tmp_path / "rprop")


def test_a_run_in_stages_resumes_to_the_same_model(tmp_path, monkeypatch):
    arguments = {"patterns": ["b", "u:1=%x[0,0]"], "stages": [(9, ["u:2=%x[-1,0]/%x[0,0]"], [1])]}
    arguments |= {"max_iter": 30, "l1": 0.02, "tolerance": 0.0}
    train = {"X_dev": X[:3], "y_dev": Y[:3], "early_stopping": PATIENT}
    decoder = Decoder(right_at=25)
    monkeypatch.setattr("textmill.sequence.trainable.viterbi", decoder)
    whole = CRF(**arguments).fit(X, Y, **train)
    decoder.dies_at = 25
    with pytest.raises(RuntimeError, match="went down"):
        CRF(**arguments).fit(X, Y, **train, checkpoint=tmp_path / "run")
    decoder.dies_at = 0
    assert {path.name for path in tmp_path.iterdir()} == {"run", "run.2"}
    resumed = CRF(**arguments).fit(X, Y, **train, checkpoint=tmp_path / "run")
    assert resumed.weights_.tobytes() == whole.weights_.tobytes()
    assert log_of(resumed) == log_of(whole)


def test_a_run_begun_with_a_model_takes_fewer_iterations():
    arguments = {"patterns": PATTERNS, "l1": 0.1, "l2": 0.01, "tolerance": 1e-7, "max_iter": 500}
    first = CRF(**arguments).fit(X, Y)
    second = CRF(**arguments).fit(X, Y, start=first)
    assert second.n_iter_ < first.n_iter_
    assert second.objective_ == pytest.approx(first.objective_, rel=1e-4)
    other = CRF(**{**arguments, "algorithm": "sgd_l1", "max_iter": 3}).fit(X, Y, start=first)
    assert other.score(X, Y) == 1.0
    with pytest.raises(DataError, match="'X' is not one of the model's"):
        CRF(**arguments).fit(X, [["X"] * len(y) for y in Y], start=first)


def test_the_path_of_penalties_begins_empty_and_grows():
    models = list(CRF(patterns=PATTERNS, max_iter=300).path(X, Y, steps=5, ratio=0.05))
    active = [len(model.features_) for model in models]
    assert active[0] == 0
    assert active[-1] > active[1] > 0
    assert models[0].l1 == pytest.approx(CRF(patterns=PATTERNS).l1_max(X, Y))


def test_stages_add_tests_only_under_active_parents():
    staged = CRF(
        patterns=["*", "u:1=%x[0,0]"], stages=[(15, ["u:2=%x[-1,0]/%x[0,0]"], [1])], l1=0.4, max_iter=60, compact=False
    )
    staged.fit(X, Y)
    tests = staged.encoder_.tests_.to_list()
    singles = CRF(patterns=["*", "u:1=%x[0,0]"], l1=0.4, max_iter=15, tolerance=0.0, compact=False).fit(X, Y)
    active = {name.split("|")[0].removeprefix("u:1=") for name in _names(singles)}
    pairs = [test.removeprefix("u:2=") for test in tests if test.startswith("u:2=")]
    assert pairs
    assert all(pair.split("/")[1] in active for pair in pairs)
    full = CRF(patterns=["*", "u:1=%x[0,0]", "u:2=%x[-1,0]/%x[0,0]"], l1=0.4, compact=False).fit(X, Y)
    assert len(tests) < len(full.encoder_.tests_)
    with pytest.raises(DataError, match="let them rise"):
        CRF(patterns=["*"], stages=[(500, ["u:%x[0,0]"], [None])]).fit(X, Y)


def test_labels_that_are_not_known_are_learned_around():
    partial = [[None if i % 3 == 1 else label for i, label in enumerate(labels)] for labels in Y]
    crf = CRF(patterns=PATTERNS, l1=0.05, l2=0.01).fit(X, partial)
    assert crf.score(X, Y) > 0.8
    with pytest.raises(DataError, match="not known"):
        CRF(patterns=PATTERNS, algorithm="sgd_l1").fit(X, partial)


def test_constraints_posteriors_and_best_labelings():
    crf = CRF(patterns=PATTERNS, l1=0.05).fit(X, Y)
    known = [[None] * len(labels) for labels in Y]
    known[0][1] = "V"
    assert crf.predict(X, constraints=known)[0][1] == "V"
    assert crf.predict(X, posterior=True) == Y
    best = crf.predict_best(X, 3)
    assert [hypotheses[0][0] for hypotheses in best] == Y
    assert all(a[1] >= b[1] for hypotheses in best for a, b in pairwise(hypotheses))
    transitions = np.ones((4, 4))
    transitions[:, 3] = 0
    assert "V" not in crf.predict(X[:1], transitions=transitions)[0][1:]
    with pytest.raises(DataError, match="is no label of the model"):
        crf.predict(X, constraints=[["Q"] * len(labels) for labels in Y])
    with pytest.raises(DataError, match="is forbidden"):
        crf.predict(X, transitions=np.zeros((4, 4)))


def test_a_token_may_be_given_several_labels_and_spans_have_a_confidence():
    crf = CRF(patterns=PATTERNS, l1=0.05).fit(X, Y)
    free = crf.predict(X[:1])[0]
    others = [label for label in crf.classes_.tolist() if label != free[0]]
    given = [[others, *[None] * (len(free) - 1)]]
    found = crf.predict(X[:1], constraints=given)[0]
    assert found[0] in others
    listed = {tuple(labels): p for labels, _, p in crf.predict_best(X[:1], 3 ** len(free))[0]}
    allowed = {labels: p for labels, p in listed.items() if labels[0] in others}
    assert tuple(found) == max(allowed, key=allowed.get)
    for posterior in (False, True):
        with pytest.raises(DataError, match="every labeling of sequence 1 is forbidden"):
            crf.predict(X[:1], posterior=posterior, transitions=np.zeros((len(crf.classes_),) * 2))
    with pytest.raises(DataError, match=r"'what' of sequence 1 is no label"):
        crf.predict(X[:1], constraints=[[["what"], *[None] * (len(free) - 1)]])
    (confidence,) = crf.span_confidence(X[:1], [free], [[(0, len(free)), (0, 1)]])
    assert confidence[0] == pytest.approx(listed[tuple(free)])
    assert confidence[1] == pytest.approx(sum(p for labels, p in listed.items() if labels[0] == free[0]))
    for spans in ([[(-1, 1)]], [[(0, 99)]], []):
        with pytest.raises(DataError, match="span"):
            crf.span_confidence(X[:1], [free], spans)


def test_weighted_sequences_and_real_values():
    rows = [[{"a": 1.0}, {"b": 2.5}], [{"a": 0.5}, {"b": 1.0}]]
    crf = CRF(l1=0.01).fit(rows, [["A", "B"], ["A", "B"]], sample_weight=[1.0, 3.0])
    assert crf.predict(rows) == [["A", "B"], ["A", "B"]]
    with pytest.raises(DataError, match="sample_weight"):
        CRF().fit(rows, [["A", "B"], ["A", "B"]], sample_weight=[1.0])


def test_the_same_model_for_any_number_of_threads():
    weights = {CRF(patterns=PATTERNS, l1=0.1, n_jobs=jobs).fit(X, Y).weights_.tobytes() for jobs in (1, 2, 8)}
    assert len(weights) == 1


def test_numbers_of_features_are_wide_enough():
    layout = FeatureLayout(114, 200_000, 200_000)
    assert layout.size > 2**31
    number = layout.number(np.array([199_999]), np.array([113]), np.array([113]))
    assert number[0] == layout.size - 1
    assert layout.split(number).test.tolist() == [199_999]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"algorithm": "newton"}, "algorithm must be one of"),
        ({"l1": -1.0}, "l1 must be"),
        ({"algorithm": "lbfgs", "l1": 0.5}, "knows no L1 penalty"),
        ({"dtype": "float16"}, "dtype must be"),
        ({"tolerance": -1.0}, "tolerance must be"),
        ({"max_iter": -1}, "max_iter must be"),
    ],
)
def test_bad_parameters_are_told(arguments, message):
    with pytest.raises(DataError, match=message):
        CRF(patterns=PATTERNS, **arguments).fit(X, Y)


def test_bad_input_is_told():
    with pytest.raises(DataError, match="one label per token"):
        CRF(patterns=PATTERNS).fit(X, [labels[:-1] for labels in Y])
    with pytest.raises(DataError, match="no labels to learn"):
        CRF(patterns=PATTERNS).fit(X, [[None] * len(labels) for labels in Y])
    with pytest.raises(DataError, match="y_dev"):
        CRF(patterns=PATTERNS).fit(X, Y, X)
    with pytest.raises(DataError, match="smaller eta0"):
        CRF(patterns=PATTERNS, algorithm=SGDL1(eta0=1e200), max_iter=50).fit(X, Y)
    with pytest.raises(DataError, match="does not run on a cluster"):
        CRF(patterns=PATTERNS, algorithm="bcd").fit(X, Y, cluster="tcp://127.0.0.1:1")


def test_labels_unseen_in_training_count_as_errors():
    crf = CRF(patterns=PATTERNS, l1=0.05).fit(X, Y)
    assert crf.score(X[:1], [["D", "N", "new"]]) == pytest.approx(2 / 3)
    assert crf.predict([[], X[0]]) == [[], Y[0]]


def test_partitions_on_a_cluster_give_the_objective_of_one_process(client, monkeypatch):
    from textmill.cluster import connect
    from textmill.sequence.training import objective as module

    data = CRF(patterns=PATTERNS)
    encoder_data = data._encoder().fit_encode(X)
    data.classes_ = np.array(["A", "D", "N", "V"])
    labeled = data._labeled(encoder_data, Y, None)
    layout = FeatureLayout(4, encoder_data.unigram.size, encoder_data.bigram.size)
    theta = np.random.default_rng(0).normal(size=layout.size)
    here = module.ChainObjective(layout, labeled)(theta)
    monkeypatch.setattr(module, "PART_CELLS", 40)
    with connect(client) as cluster:
        there = module.ChainObjective(layout, labeled, cluster=cluster)(theta)
    assert there[0] == pytest.approx(here[0], rel=1e-10)
    np.testing.assert_allclose(there[1], here[1], atol=1e-10)


@pytest.mark.parametrize("kind", [CRF, ConditionalMarkov])
def test_scikit_learn_validates_and_searches_over_sequences_of_unequal_lengths(kind):
    from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

    tagger = kind(patterns=PATTERNS, max_iter=20)
    scores = cross_val_score(tagger, X, Y, cv=4)
    expected = []
    for train, test in KFold(4).split(X):
        model = kind(patterns=PATTERNS, max_iter=20).fit([X[i] for i in train], [Y[i] for i in train])
        expected.append(model.score([X[i] for i in test], [Y[i] for i in test]))
    assert scores.tolist() == expected
    search = GridSearchCV(tagger, {"l1": [0.05, 100.0]}, cv=2)
    with pytest.warns(NoWeights):
        search.fit(X, Y)
    assert search.best_params_ == {"l1": 0.05}
    assert search.predict(X) == Y


@pytest.mark.parametrize("kind", [CRF, ConditionalMarkov])
def test_a_model_without_weights_is_warned_of(kind):
    with pytest.warns(NoWeights, match="l1=0.5 is too much for one sequence; pass a smaller l1") as told:
        model = kind(patterns=["u:%x[0,0]"]).fit([[("a",), ("b",)]], [["A", "B"]])
    assert told[0].filename == __file__
    assert len(model.weights_) == 0
    kind(patterns=["u:%x[0,0]"], l1=0.1).fit([[("a",), ("b",)]], [["A", "B"]])
    kind(patterns=["u:%x[0,0]"]).fit([[("a",)]], [["A"]])  # one label: there is nothing to learn


@pytest.mark.parametrize(
    ("batch", "online", "penalties"),
    [
        ("lbfgs", "sgd_l2", {"l2": 0.7}),
        ("owlqn", "sgd_l1", {"l1": 0.2, "l2": 0.3}),
        ("owlqn", "bcd", {"l1": 0.2, "l2": 0.3}),
    ],
)
def test_epochs_report_the_objective_of_the_whole_gradient(batch, online, penalties):
    first = CRF(patterns=PATTERNS, algorithm=batch, **penalties, tolerance=1e-9, max_iter=300).fit(X, Y)
    resting = {"sgd_l1": SGDL1(eta0=1e-9), "sgd_l2": SGDL2(eta0=1e-9)}  # weights that hardly move
    second = CRF(patterns=PATTERNS, algorithm=resting.get(online, online), **penalties, max_iter=1)
    second.fit(X, Y, start=first)
    assert second.training_log_[0]["objective"] == pytest.approx(first.objective_, rel=1e-5)


def test_crfs_and_conditional_markov_models_are_siblings():
    assert not issubclass(ConditionalMarkov, CRF)
    assert not issubclass(CRF, ConditionalMarkov)
    assert issubclass(CRF, ChainModel)
    assert issubclass(ConditionalMarkov, ChainModel)
    assert len(CRF().get_params(deep=False)) == 15


@pytest.mark.parametrize("kind", [CRF, ConditionalMarkov])
def test_a_model_minimizes_minus_the_logarithm_of_its_own_probabilities(kind):
    model = kind(patterns=PATTERNS, l1=0.3, l2=0.01, compact=False).fit(X, Y)
    objective = model.objective(model._labeled(model.encoder_.encode(X), Y, None))
    theta = objective.spread(model.features_, model.weights_)
    probability = model.span_confidence(X, Y, [[(0, len(labels))] for labels in Y])
    expected = -np.log(np.array(probability)).sum() + 0.01 / 2 * theta @ theta
    assert objective(theta)[0] == pytest.approx(expected, rel=1e-9)
    assert (objective.l1, objective.l2) == (0.3, 0.01)


@pytest.mark.parametrize("kind", [CRF, ConditionalMarkov])
def test_the_trace_has_the_objective_of_every_iteration_and_is_saved(kind, tmp_path):
    model = kind(patterns=PATTERNS, l1=0.1, max_iter=300).fit(X, Y)
    assert model.converged_
    assert model.stop_reason_.startswith("converged: ")
    assert model.trace_.tolist() == [entry["objective"] for entry in model.training_log_]
    assert model.trace_[-1] == model.objective_
    model.save(tmp_path / "m.mill")
    again = textmill.load(tmp_path / "m.mill")
    assert (again.converged_, again.stop_reason_) == (True, model.stop_reason_)
    assert again.trace_.tolist() == model.trace_.tolist()
    assert not kind(patterns=PATTERNS, l1=0.1, max_iter=2).fit(X, Y).converged_


def test_an_encoder_takes_the_place_of_patterns(tmp_path):
    plain = CRF(patterns=PATTERNS, l1=0.1).fit(X, Y)
    encoder = Encoder(patterns=PATTERNS, n_jobs=7)
    composed = CRF(encoder=encoder, l1=0.1).fit(X, Y)
    assert composed.weights_.tobytes() == plain.weights_.tobytes()
    assert not hasattr(encoder, "tests_"), "the parameter itself is not fitted"
    composed.save(tmp_path / "m.mill")
    assert textmill.load(tmp_path / "m.mill").encoder.patterns == PATTERNS
    whole = CRF(encoder=Encoder(patterns=PATTERNS), l1=0.1, compact=False).fit(X, Y)
    frequent = CRF(encoder=Encoder(patterns=PATTERNS), l1=0.1, compact=False).set_params(encoder__min_count=3).fit(X, Y)
    assert len(frequent.encoder_.tests_) < len(whole.encoder_.tests_)
    with pytest.raises(DataError, match="patterns are given twice"):
        CRF(patterns=PATTERNS, encoder=encoder).fit(X, Y)
    with pytest.raises(DataError, match="encoder must be an Encoder, got 'b'"):
        CRF(encoder="b").fit(X, Y)


def test_blocks_of_hashed_tests_are_visited():
    hashed = CRF(encoder=Encoder(patterns=PATTERNS, hash_bits=10), algorithm="bcd", l1=0.05, l2=0.01).fit(X, Y)
    assert hashed.score(X, Y) == 1.0


def test_a_path_chooses_its_penalties_itself():
    with pytest.raises(DataError, match=r"l1=0\.3 has no meaning for a path"):
        next(CRF(patterns=PATTERNS, l1=0.3).path(X, Y))


@pytest.mark.parametrize("algorithm", ["owlqn", "lbfgs", "cg", "rprop", "sgd_l1", "sgd_l2", "bcd", "perceptron"])
def test_training_ends_when_the_lowest_development_error_is_ten_iterations_old(algorithm, monkeypatch):
    """An error that goes up and down, or falls and rises, never levels off; every algorithm stops all the same."""
    errors = iter([50.0, 40.0, 30.0, 31.0, 29.99, *[30.5, 29.99, 33.0] * 100])
    monkeypatch.setattr(CRF, "_development_error", lambda *arguments: lambda done: next(errors))
    usual = {} if algorithm == "perceptron" else {"tolerance": 0.0}
    chosen = OWLQN(gradient_tolerance=0.0) if algorithm == "owlqn" else algorithm
    first, second = ([[label] * len(row) for row in X] for label in "AB")  # nobody gets both right
    model = CRF(patterns=PATTERNS, algorithm=chosen, max_iter=100, random_state=0, **usual)
    model.fit([*X, *X, *X], [*Y, *first, *second], X[:2], Y[:2])
    assert (model.n_iter_, model.stop_reason_[:14]) == (15, "early stopping")
    assert min(model.training_log_, key=lambda entry: entry["dev_error"])["iteration"] == 5
