"""LatentCRF: objective and gradient against enumeration and differences, starts, restarts, files, labeling."""

from __future__ import annotations

import math

import numpy as np
import pytest

import textmill
from papers.latent_crf.hidden_chains import HiddenChain
from tests.reference.latent_chain import EnumeratedChain
from textmill.errors import DataError
from textmill.optimize import check_gradient, minimize_lbfgs
from textmill.sequence import CG, CRF, LBFGS, Active, Encoded, Encoder, FeatureLayout, LatentCRF, SearchLimits
from textmill.sequence.hidden_states import expand_weights, merge_plan, merge_weights
from textmill.sequence.training.latent import LatentObjective, SecondOrderObjective
from textmill.sequence.training.objective import ChainObjective
from textmill.sequence.training.online import OnlineState, training_data

TOY_X = [["He", "is", "her", "friends"], ["He", "gave", "her", "friends"]]
TOY_Y = [["B", "O", "B", "I"], ["B", "O", "B", "B"]]
PLAIN = ["u:%x[0,0]", "b"]


def random_data(
    seed, *, labels=3, sequences=6, longest=6, unigrams=7, bigrams=3, plain=False, values=False, unknown=0.0
):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, sequences)
    lengths[0] = 0
    tokens = int(lengths.sum())

    def rows(size, single):
        counts = np.ones(tokens, int) if single else rng.integers(0, 4, tokens)
        ids = np.zeros(tokens, np.int32) if single else rng.integers(0, size, counts.sum()).astype(np.int32)
        real = rng.normal(1, 0.3, len(ids)).astype(np.float32) if values else None
        return Active(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), ids, real, size)

    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    gold = rng.integers(0, labels, tokens).astype(np.int32)
    gold[rng.random(tokens) < unknown] = -1
    weights = rng.uniform(0.5, 2.0, sequences)
    return Encoded(offsets, rows(unigrams, False), rows(1 if plain else bigrams, plain), gold, weights)


def some_coordinates(seed, theta):
    return np.random.default_rng(seed).permutation(len(theta))[:60].tolist()


def enumerated_value(data, layout, owner, theta, triples=None):
    """The objective by enumeration of hidden paths."""
    states = layout.labels
    unigram = theta[: layout.unigrams * states].reshape(-1, states)
    pair = theta[layout.unigrams * states : layout.size].reshape(-1, states, states)
    triple = None if triples is None else theta[layout.size :].reshape(-1, states, states, states)
    value = 0.0
    for s in range(data.sequences):
        begin, end = data.offsets[s], data.offsets[s + 1]
        if begin == end:
            continue

        def sums(active, tables, shape, begin=begin, end=end):
            out = np.zeros((end - begin, *shape))
            for t in range(begin, end):
                for e in range(active.indptr[t], active.indptr[t + 1]):
                    if 0 <= active.ids[e] < len(tables):
                        out[t - begin] += tables[active.ids[e]] * (1.0 if active.values is None else active.values[e])
            return out

        arcs = data.bigram
        three = None
        if triple is not None:
            three = sums(arcs._replace(ids=arcs.ids - layout.bigrams), triple, (states,) * 3)
        chain = EnumeratedChain(
            sums(data.unigram, unigram, (states,)), sums(arcs, pair, (states, states)), three, owner.tolist()
        )
        gold = data.labels[begin:end].tolist()
        mass = math.fsum(
            p for labels, p in chain.labelings.items() if all(y in (-1, z) for y, z in zip(gold, labels, strict=True))
        )
        value -= data.weights[s] * math.log(mass)
    return value


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("unknown", [0.0, 0.4])
def test_objective_agrees_with_enumeration_and_differences(plain, unknown):
    for seed in range(4):
        data = random_data(seed, plain=plain, values=seed % 2 == 1, unknown=unknown, longest=4)
        owner = np.array([0, 0, 1, 2, 2], np.int32)
        layout = FeatureLayout(5, 7, data.bigram.size)
        theta = np.random.default_rng(seed).normal(0, 0.7, layout.size)
        objective = LatentObjective(layout, data, owner, l2=0.3)
        value, _gradient = objective(theta)
        truth = enumerated_value(data, layout, owner, theta) + 0.15 * theta @ theta
        assert value == pytest.approx(truth, rel=1e-10)
        assert check_gradient(objective, theta, coordinates=some_coordinates(seed, theta)).max_error < 1e-6
        chosen = np.sort(np.random.default_rng(seed).permutation(layout.size)[: layout.size // 2])
        objective.restrict(chosen)
        sparse = np.zeros(layout.size)
        sparse[chosen] = theta[chosen]
        some, slopes = objective(theta[chosen])
        objective.restrict(None)
        all_value, all_slopes = objective(sparse)
        assert some == pytest.approx(all_value, rel=1e-10)
        np.testing.assert_allclose(slopes, all_slopes[chosen], rtol=1e-8, atol=1e-9)
        objective.restrict(chosen)
        _, inside, outside, outer = objective.violations(theta[chosen], 0.05)
        np.testing.assert_allclose(inside, slopes, rtol=1e-8, atol=1e-9)
        expected = np.setdiff1d(np.flatnonzero(np.abs(all_slopes) > 0.05), chosen)
        assert outside.tolist() == expected.tolist()
        np.testing.assert_allclose(outer, all_slopes[expected], rtol=1e-8, atol=1e-9)


def test_second_order_agrees_with_enumeration_and_differences():
    for seed in range(6):
        data = random_data(seed, bigrams=4, unknown=0.2 * (seed % 2), values=seed % 3 == 1, longest=4)
        owner, layout = np.array([0, 0, 1, 2], np.int32), FeatureLayout(4, 7, 2)
        late = np.ones(data.tokens, bool)
        for begin, end in zip(data.offsets[:-1], data.offsets[1:], strict=True):
            late[begin : min(begin + 2, end)] = False
        arcs = data.bigram  # tests 2 and 3 are of three states: not in first and second tokens
        keep = (arcs.ids < 2) | np.repeat(late, np.diff(arcs.indptr))
        counts = np.bincount(np.repeat(np.arange(data.tokens), np.diff(arcs.indptr))[keep], minlength=data.tokens)
        values = None if arcs.values is None else arcs.values[keep]
        arcs = Active(np.concatenate([[0], np.cumsum(counts)]), arcs.ids[keep], values, 4)
        data = Encoded(data.offsets, data.unigram, arcs, data.labels, data.weights)
        objective = SecondOrderObjective(layout, data, owner, l2=0.3)
        for scale in (0.7, 60.0):  # the second needs logarithms
            theta = np.random.default_rng(seed).normal(0, 0.7, objective.size)
            theta[:28] *= scale / 0.7
            value, _ = objective(theta)
            truth = enumerated_value(data, layout, owner, theta, True) + 0.15 * theta @ theta
            assert value == pytest.approx(truth, rel=1e-9)
        theta = np.random.default_rng(seed).normal(0, 0.7, objective.size)
        assert check_gradient(objective, theta, coordinates=some_coordinates(seed, theta)).max_error < 1e-6


def test_wide_scores_are_summed_in_logarithms():
    for plain in (True, False):
        data = random_data(3, plain=plain, longest=4)
        owner, layout = np.array([0, 0, 1, 2, 2], np.int32), FeatureLayout(5, 7, data.bigram.size)
        theta = np.random.default_rng(0).normal(0, 0.7, layout.size)
        theta[:35] *= 200
        value, gradient = LatentObjective(layout, data, owner)(theta)
        assert value == pytest.approx(enumerated_value(data, layout, owner, theta), rel=1e-9)
        assert np.isfinite(gradient).all()


def test_one_state_a_label_is_the_objective_of_a_crf():
    for plain in (True, False):
        data = random_data(5, plain=plain, sequences=30)
        layout = FeatureLayout(3, 7, data.bigram.size)
        theta = np.random.default_rng(1).normal(0, 1, layout.size)
        value, gradient = ChainObjective(layout, data, l2=0.1)(theta)
        same, slopes = LatentObjective(layout, data, np.arange(3, dtype=np.int32), l2=0.1)(theta)
        assert same == pytest.approx(value, rel=1e-10)
        np.testing.assert_allclose(slopes, gradient, rtol=1e-10, atol=1e-10)
    settings = {"patterns": PLAIN, "l2": 0.5, "algorithm": "lbfgs"}
    crf, latent = CRF(**settings).fit(TOY_X, TOY_Y), LatentCRF(states=1, **settings).fit(TOY_X, TOY_Y)
    assert latent.weights_.tolist() == crf.weights_.tolist()
    assert latent.predict(TOY_X) == crf.predict(TOY_X) == latent.predict(TOY_X, search="viterbi")
    np.testing.assert_allclose(latent.predict_marginals(TOY_X)[0], crf.predict_marginals(TOY_X)[0], rtol=1e-10)


def test_results_do_not_depend_on_threads():
    data = random_data(7, sequences=400, longest=30, plain=True)
    second = random_data(7, sequences=400, longest=12, bigrams=2, plain=True)
    layout, owner = FeatureLayout(6, 7, 1), np.array([0, 0, 1, 1, 2, 2], np.int32)
    theta = np.random.default_rng(1).normal(0, 1, layout.size)
    results = [LatentObjective(layout, data, owner, n_jobs=jobs)(theta) for jobs in (1, 2, 8)]
    assert all(value == results[0][0] and (slopes == results[0][1]).all() for value, slopes in results)
    results = [SecondOrderObjective(layout, second, owner, n_jobs=jobs)(theta) for jobs in (1, 2, 8)]
    assert all(value == results[0][0] and (slopes == results[0][1]).all() for value, slopes in results)


def test_equal_weights_give_uniform_labelings():
    data = random_data(2, plain=True)
    value, gradient = LatentObjective(FeatureLayout(6, 7, 1), data, np.repeat([0, 1, 2], 2).astype(np.int32))(
        np.zeros(78)
    )
    lengths = np.diff(data.offsets)
    assert value == pytest.approx((data.weights * lengths).sum() * math.log(3), rel=1e-12)
    by_state = gradient[:42].reshape(7, 3, 2)
    np.testing.assert_allclose(by_state[:, :, 0], by_state[:, :, 1], atol=1e-12)
    owner = np.array([0, 1, 1, 2, 2, 2], np.int32)  # unequal numbers: prod K_y / H
    value, _ = LatentObjective(FeatureLayout(6, 7, 1), data, owner)(np.zeros(78))
    tokens = np.repeat(data.weights, lengths)
    assert value == pytest.approx(-(tokens * np.log(np.array([1, 2, 3])[data.labels] / 6)).sum(), rel=1e-12)


def test_a_start_at_zero_is_refused_because_states_stay_alike():
    with pytest.raises(DataError, match="stay alike for ever"):
        LatentCRF(patterns=PLAIN, states=3, noise=0).fit(TOY_X, TOY_Y)
    data = Encoder(patterns=PLAIN).fit_encode(TOY_X)
    labels = np.array([0, 2, 0, 1, 0, 2, 0, 0], np.int32)
    objective = LatentObjective(
        FeatureLayout(9, 4, 1), data.with_labels(labels), np.repeat([0, 1, 2], 3).astype(np.int32), l2=0.01
    )

    theta = minimize_lbfgs(objective, np.zeros(5 * 9 + 81)).theta[:45].reshape(5, 3, 3)
    np.testing.assert_allclose(theta, theta[:, :, :1].repeat(3, axis=2), atol=1e-6)
    noisy = LatentCRF(patterns=PLAIN, states=3, l2=0.001, noise=4.0, random_state=0).fit(TOY_X, TOY_Y)
    scorer = noisy._scorer()
    assert np.ptp(scorer.weights[:3]) > 1e-3


def test_the_toy_needs_two_states_and_restarts():
    one = LatentCRF(patterns=PLAIN, states=1, l2=1e-3, tolerance=0.0, algorithm=LBFGS(gradient_tolerance=1e-9))
    assert one.fit(TOY_X, TOY_Y).objective_ == pytest.approx(1.4393, abs=1e-4)
    assert -sum(one.log_probability(TOY_X, TOY_Y)) > 2 * math.log(2)
    exact = {"tolerance": 0.0, "algorithm": LBFGS(gradient_tolerance=1e-8), "max_iter": 2000}
    two = LatentCRF(patterns=PLAIN, states=2, l2=1e-3, noise=4.0, restarts=20, random_state=0, **exact).fit(
        TOY_X, TOY_Y
    )
    assert two.objective_ == pytest.approx(0.1192, abs=1e-3)
    assert two.predict(TOY_X) == TOY_Y
    reached = sum(entry["objective"] < 0.3 for entry in two.restarts_)
    assert 1 <= reached < 20
    assert len(two.restarts_) == 20


def test_random_weights_follow_the_names_of_features():
    one = LatentCRF(patterns=PLAIN, states=2, max_iter=0, random_state=3).fit(TOY_X, TOY_Y)
    other = LatentCRF(patterns=["b", "u:%x[0,0]"], states=2, max_iter=0, random_state=3).fit(TOY_X[::-1], TOY_Y[::-1])
    one_weights, other_weights = one.to_weights(), other.to_weights()
    assert one_weights.encoder.tests_.to_list() != other_weights.encoder.tests_.to_list()

    def by_test(weights):
        unigram = [name for name in weights.encoder.tests_.to_list() if name != "b"]
        return {name: row.tolist() for name, row in zip(unigram, weights.unigram.toarray(), strict=True)}

    assert by_test(one_weights) == by_test(other_weights)
    again = LatentCRF(patterns=PLAIN, states=2, max_iter=0, random_state=4).fit(TOY_X, TOY_Y)
    assert again.weights_[0] != one.weights_[0]


@pytest.mark.parametrize("start", ["crf", "split"])
def test_other_starts_find_states_that_help(start):
    chain = HiddenChain({"A": 2, "B": 2}, vocabulary=12, random_state=2)
    X, y, _ = chain.sample(300, 12)
    X_dev, y_dev, _ = chain.sample(100, 12, first=1000)
    model = LatentCRF(patterns=PLAIN, states=3, start=start, noise=0.3, restarts=2, random_state=0)
    model.fit(X, y, X_dev, y_dev)
    crf = LatentCRF(patterns=PLAIN, states=1).fit(X, y)
    assert sum(model.log_probability(X_dev, y_dev)) > sum(crf.log_probability(X_dev, y_dev))
    assert (model.states_ <= 3).all()
    if start == "split":
        assert (model.states_ > 1).any()


def test_states_by_label_and_bad_parameters():
    model = LatentCRF(patterns=PLAIN, states={"B": 3, "I": 1, "O": 2}, random_state=0).fit(TOY_X, TOY_Y)
    assert model.states_.tolist() == [3, 1, 2]
    assert model.state_names_ == ["B/1", "B/2", "B/3", "I/1", "O/1", "O/2"]
    for states, message in [
        ({"B": 3, "I": 1}, "no number for the label 'O'"),
        ({"B": 1, "I": 1, "O": 1, "X": 1}, "'X'"),
        (0, "states of B must be"),
        (400, "more than 1024"),
    ]:
        with pytest.raises(DataError, match=message):
            LatentCRF(patterns=PLAIN, states=states).fit(TOY_X, TOY_Y)
    for parameters, message in [
        ({"start": "warm"}, "start must be one of"),
        ({"order": 3}, "order must be"),
        ({"restarts": 0}, "restarts must be"),
        ({"noise": -1.0}, "noise must be"),
        ({"algorithm": "perceptron"}, "does not train hidden states"),
        ({"algorithm": "sgd_l2", "order": 2}, "does not train order 2"),
        ({"patterns": ["u:%x[0,0]", "t"]}, "use order=2"),
    ]:
        with pytest.raises(DataError, match=message):
            LatentCRF(**{"patterns": PLAIN, **parameters}).fit(TOY_X, TOY_Y)
    with pytest.raises(DataError, match="no label of the model"):
        model.log_probability([["He"]], [["X"]])
    with pytest.raises(DataError, match="need a model without hidden states"):
        model.predict(TOY_X, maximize="f1")


@pytest.mark.parametrize(
    ("algorithm", "more"),
    [
        ("lbfgs", {}),
        (CG(), {}),
        ("owlqn", {"l1": 0.01}),
        ("sgd_l2", {"l2": 0.01}),
        ("sgd_l1", {"l1": 0.001}),
        ("rprop", {}),
    ],
)
def test_every_algorithm_lowers_the_objective(algorithm, more):
    chain = HiddenChain({"A": 2, "B": 2}, vocabulary=12, random_state=1)
    X, y, _ = chain.sample(40, 8)
    settings = {"patterns": PLAIN, "states": 2, "noise": 0.3, "random_state": 0, "max_iter": 40, **more}
    model = LatentCRF(algorithm=algorithm, **settings).fit(X, y)
    tokens = sum(map(len, y))
    assert -sum(model.log_probability(X, y)) < 0.95 * tokens * math.log(2)
    assert model.trace_[-1] <= model.trace_[0]


def test_sgd_follows_the_gradient():
    data = random_data(4, plain=True, sequences=3)
    data = Encoded(data.offsets, data.unigram, data.bigram, data.labels)
    layout, owner = FeatureLayout(5, 7, 1), np.array([0, 0, 1, 2, 2], np.int32)
    theta = np.random.default_rng(0).normal(0, 0.5, layout.size)
    objective = LatentObjective(layout, data, owner)
    _, gradient = objective(theta)
    total = np.zeros(layout.size)
    for s in range(3):
        state = OnlineState.fresh(layout, theta.copy(), second=False)
        training = training_data(layout, data, owner)
        training.sgd_steps(
            np.array([s]), state.w, state.q, state.seen, state.steps, eta0=1e-6, alpha=0.0, l1=0.0, l2=0.0
        )
        total += (theta - state.w) / 1e-6
    np.testing.assert_allclose(total, gradient, rtol=1e-5, atol=1e-7)


def test_seen_features_are_those_of_the_states_of_labels_met():
    model = LatentCRF(patterns=PLAIN, states=2, features="seen", random_state=0).fit(TOY_X, TOY_Y)
    weights = model.to_weights()
    tests = weights.encoder.tests_.to_list()
    rows = dict(zip([name for name in tests if name != "b"], weights.unigram.toarray(), strict=True))
    assert np.flatnonzero(rows["u:friends"]).tolist() == [0, 1, 2, 3]
    assert np.flatnonzero(rows["u:is"]).tolist() == [4, 5]


def test_order_two_learns_what_order_one_cannot(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = [[*a] for a in ("abcd", "abcd", "xbcd", "xbcd", "abcx", "xbcx")]
    y = [
        ["O", "O", "O", "P"],
        ["O", "O", "O", "P"],
        ["Q", "O", "O", "R"],
        ["Q", "O", "O", "R"],
        ["O"] * 4,
        ["Q", "O", "O", "O"],
    ]
    settings = {"patterns": ["u:%x[0,0]", "b"], "states": 2, "l2": 0.01, "noise": 1.0, "restarts": 3, "random_state": 0}
    model = LatentCRF(order=2, **settings).fit(X, y)
    assert model.predict(X) == y
    assert len(model.trigram_features_)
    marginals = model.predict_marginals(X)
    np.testing.assert_allclose([part.sum(axis=1) for part in marginals], 1.0, rtol=1e-9)
    words = LatentCRF(order=2, **{**settings, "patterns": ["u:%x[0,0]", "b", "t", "t:w=%x[0,0]"]}).fit(X, y)
    assert words.trigram_encoder_ is not None
    assert words.predict(X) == y
    for fitted in (model, words):
        fitted.save("second.mill")
        again = textmill.load("second.mill")
        assert [again.predict(X), again.predict_best(X, 2)] == [fitted.predict(X), fitted.predict_best(X, 2)]
    seen = LatentCRF(order=2, features="seen", **settings).fit(X, y)
    assert len(seen.trigram_features_) < len(model.trigram_features_)
    owlqn = LatentCRF(order=2, **settings, algorithm="owlqn", l1=0.01).fit(X, y)
    assert 0 < len(owlqn.trigram_features_) < len(model.trigram_features_)


def test_partial_labels_weights_and_development_sequences():
    chain = HiddenChain({"A": 2, "B": 1}, vocabulary=10, random_state=2)
    X, y, _ = chain.sample(30, 8)
    hidden = [[None if (t + s) % 3 == 0 else label for t, label in enumerate(row)] for s, row in enumerate(y)]
    model = LatentCRF(patterns=PLAIN, states=2, random_state=0, max_iter=30)
    partial = model.fit(X, hidden, sample_weight=[1.0] * 15 + [0.0] * 15)
    half = LatentCRF(patterns=PLAIN, states=2, random_state=0, max_iter=30, compact=False).fit(X[:15], hidden[:15])
    assert partial.objective_ == pytest.approx(half.objective_, rel=1e-6)
    tuned = LatentCRF(patterns=PLAIN, states=2, random_state=0, restarts=2).fit(X[:20], y[:20], X[20:], y[20:])
    assert [entry["number"] for entry in tuned.restarts_] == [1, 2]
    best = max(entry["dev"] for entry in tuned.restarts_)
    assert tuned.score(X[20:], y[20:]) == pytest.approx(best)


def test_files_hold_the_whole_model_and_checkpoints_go_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chain = HiddenChain({"A": 2, "B": 2}, vocabulary=10, random_state=3)
    X, y, _ = chain.sample(30, 8)
    model = LatentCRF(patterns=PLAIN, states=2, random_state=0, restarts=2).fit(X, y)
    model.save("latent.mill")
    again = textmill.load("latent.mill", verify=True)
    assert again.predict_certified(X, 2) == model.predict_certified(X, 2)
    again.save("again.mill")
    with open("latent.mill", "rb") as one, open("again.mill", "rb") as two:
        assert one.read() == two.read()
    same = LatentCRF(patterns=PLAIN, states=2, random_state=0, restarts=2).fit(X, y)
    assert same.weights_.tolist() == model.weights_.tolist()
    short = LatentCRF(patterns=PLAIN, states=2, random_state=0)
    whole = LatentCRF(patterns=PLAIN, states=2, random_state=0).fit(X, y, checkpoint="run.npz")
    resumed = short.fit(X, y, checkpoint="run.npz")
    np.testing.assert_allclose(resumed.weights_, whole.weights_, rtol=1e-12)


def test_certified_answers_and_probabilities():
    chain = HiddenChain({"A": 2, "B": 2}, vocabulary=10, random_state=4)
    X, y, _ = chain.sample(20, 7)
    model = LatentCRF(patterns=PLAIN, states=2, random_state=0).fit(X, y)
    plain, viterbi, marginal = model.predict(X), model.predict(X, search="viterbi"), model.predict(X, posterior=True)
    certified = model.predict_certified(X, 3)
    for labels, (paths, certificate) in zip(plain, certified, strict=True):
        assert paths[0][0] == labels
        assert certificate.exact
        assert certificate.runner_up is not None
        assert certificate.runner_up_bound <= paths[-1][1]
    best, hidden, points = (model.log_probability(X, answer) for answer in (plain, viterbi, marginal))
    assert all(a >= b - 1e-9 and a >= c - 1e-9 for a, b, c in zip(best, hidden, points, strict=True))
    marginals = model.predict_marginals(X)
    number = {"A": 0, "B": 1}

    def expected(answer):
        return sum(
            part[t, number[label]] for part, row in zip(marginals, answer, strict=True) for t, label in enumerate(row)
        )

    assert expected(marginal) >= expected(plain)
    states = model.predict_states(X)
    for part, sums in zip(states, marginals, strict=True):
        np.testing.assert_allclose(part.sum(axis=1), 1.0, rtol=1e-9)
        np.testing.assert_allclose(part.reshape(len(part), 2, 2).sum(axis=2), sums, rtol=1e-12)
    limited = model.predict_certified(X, limits=SearchLimits(expansions=1))
    assert any(not certificate.exact for _, certificate in limited)
    fixed = model.predict(X, constraints=[[label if t % 2 else None for t, label in enumerate(row)] for row in y])
    assert all(
        label == gold for a, b in zip(fixed, y, strict=True) for label, gold in list(zip(a, b, strict=True))[1::2]
    )
    paths = model.hidden_paths(X[0])
    (first, p), (_, q) = next(paths), next(paths)
    assert p >= q
    assert [state[0] for state in first] == viterbi[0]
    confidence = model.span_confidence(X[:1], y[:1], [[(0, len(y[0])), (1, 2)]])[0]
    assert math.log(confidence[0]) == pytest.approx(model.log_probability(X[:1], y[:1])[0])
    with pytest.raises(DataError, match="forbidden"):
        model.predict(X[:1], constraints=[[[] for _ in X[0]]])


def test_expanding_and_merging_are_inverse():
    old, new = FeatureLayout(2, 3, 1), FeatureLayout(5, 3, 1)
    counts = np.array([2, 3])
    weights = np.random.default_rng(0).normal(size=old.size)
    features, values = expand_weights(np.arange(old.size), weights, old, new, counts)
    assert features.tolist() == list(range(new.size))
    target, share = merge_plan(np.array([1.0, 2.0, 1.0, 1.0, 2.0]), {0, 2, 3})
    back, means = merge_weights(features, values, new, old, target, share)
    assert back.tolist() == list(range(old.size))
    np.testing.assert_allclose(means, weights, rtol=1e-12)


def test_true_states_raise_the_likelihood_of_held_out_data():
    for seed in range(5):
        chain = HiddenChain({"A": 2, "B": 2}, vocabulary=12, random_state=seed)
        X, y, _ = chain.sample(400, 12)
        X_test, y_test, _ = chain.sample(200, 12, first=1000)
        settings = {"patterns": PLAIN, "l2": 1.0, "noise": 0.5, "random_state": seed}
        plain = LatentCRF(states=1, **settings).fit(X, y)
        latent = LatentCRF(states=2, restarts=3, **settings).fit(X, y)
        assert sum(latent.log_probability(X_test, y_test)) > sum(plain.log_probability(X_test, y_test))
