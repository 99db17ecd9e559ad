"""Chains by counting: the worked example, sums over all labelings, smoothing, merging, EM, bad input."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import textmill
from textmill.errors import DataError, ModelFileError
from textmill.linear import CategoricalBayes
from textmill.sequence import ClassifierMarkov, CountedMarkov, default_chain

SMOOTHINGS = ["witten-bell", "absolute", "jelinek-mercer", "hard"]


def random_data(seed, sentences=40, labels="BIO", words="abcdeFGH", longest=7):
    draw = np.random.default_rng(seed)
    lengths = draw.integers(1, longest + 1, sentences)
    X = [list(draw.choice(list(words), n)) for n in lengths]
    y = []
    for n in lengths:
        tags, before = [], "O"
        for _ in range(n):
            before = str(draw.choice([t for t in labels if not (t == "I" and before == "O")]))
            tags.append(before)
        y.append(tags)
    return X, y


def test_the_worked_example_to_six_decimals():
    # after O with a capital: B 6, O 2; after O at all: B 10, O 90
    sequences = [(["1"], ["B"])] * 5 + [(["1", "x"], ["B", "I"])] + [(["1"], ["O"])] * 2
    sequences += [(["0"], ["B"])] * 4 + [(["0"], ["O"])] * 88
    X, y = [x for x, _ in sequences], [labels for _, labels in sequences]
    chain = ["b:%x[0,0]", "b"]
    free = CountedMarkov(patterns=chain, scheme=None).fit(X, y)
    assert free.classes_.tolist() == ["B", "I", "O"]
    after_o = 2
    assert free.next_labels([["1"]])[0][0, after_o].round(6).tolist() == [0.620915, 0.001307, 0.377778]
    assert free.next_labels([["?"]])[0][0, after_o].round(6).tolist() == [0.104575, 0.006536, 0.888889]
    held = CountedMarkov(patterns=chain).fit(X, y)
    assert held.next_labels([["1"]])[0][0, after_o].round(6).tolist() == [0.621728, 0.0, 0.378272]


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize("order", [1, 2])
def test_every_distribution_sums_to_one(smoothing, order):
    X, y = random_data(1, 200)
    chain = default_chain() if order == 1 else ["t:%x[0,0]/%x[-1,0]", "t:%x[0,0]", "b:%x[0,0]", "b"]
    model = CountedMarkov(patterns=chain, smoothing=smoothing).fit(X, y)
    fresh, _ = random_data(2, 400, words="abcdeFGHxyZ")
    steps = np.concatenate(model.next_labels(fresh))
    assert steps.shape[1] == 3**order
    assert steps.shape[0] * steps.shape[1] >= (10_000 if order == 2 else 4_000)
    np.testing.assert_allclose(steps.sum(axis=2), 1.0, rtol=1e-12)
    assert (steps >= 0).all()


def path_probability(steps, path, base, order, start):
    history, p = 0, 1.0
    for _ in range(order):
        history = history * base + start
    for t, label in enumerate(path):
        p *= steps[t, history, label]
        history = (history * base + label) % base**order
    return p


CHAINS = {1: ["b:%x[0,0]/%x[-1,0]", "b:%x[0,0]", "b"], 2: ["t:%x[0,0]", "b:%x[0,0]", "b"], 3: ["3:%x[0,0]", "t", "b"]}


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("labels", ["BIO", "XYZ"])  # with O before the first token, and with a label of its own
def test_decoders_agree_with_all_labelings(order, labels):
    X, y = random_data(3, 60, labels)
    model = CountedMarkov(patterns=CHAINS[order]).fit(X, y)
    start = model.classes_.tolist().index("O") if "O" in labels else 3
    base = max(3, start + 1)
    for sentence in random_data(4, 12, longest=5)[0]:
        steps = model.next_labels([sentence])[0]
        paths = list(itertools.product(range(3), repeat=len(sentence)))
        weights = np.array([path_probability(steps, path, base, order, start) for path in paths])
        assert weights.sum() == pytest.approx(1.0, rel=1e-12)
        names = model.classes_.tolist()
        best = model.predict([sentence])[0]
        assert weights.max() == pytest.approx(weights[paths.index(tuple(map(names.index, best)))], rel=1e-12)
        marginals = model.predict_marginals([sentence])[0]
        for t, label in itertools.product(range(len(sentence)), range(3)):
            share = sum(w for w, path in zip(weights, paths, strict=True) if path[t] == label)
            assert marginals[t, label] == pytest.approx(share, rel=1e-9, abs=1e-12)
        ranked = model.predict_best([sentence], k=4)[0]
        found = [p for _, p in ranked]
        assert found == pytest.approx(sorted(weights[weights > 0], reverse=True)[: len(found)], rel=1e-9)
        for tags, p in ranked:
            assert weights[paths.index(tuple(map(names.index, tags)))] == pytest.approx(p, rel=1e-9)
        assert model.predict([sentence], beam=base**order) == [best]
        assert len(model.predict([sentence], beam=1)[0]) == len(sentence)


def smoothed(model, X, y, sentence, t, before, smoothing):
    """T of one token from the definition, for patterns of order 1: shares of labels after equal histories."""
    names = model.classes_.tolist()

    def tests(words, at):
        word, left = words[at], words[at - 1] if at else "_x-1"
        return [f"{word}/{left}", word, ""]

    p = np.full(len(names), 1 / len(names))
    counts = []
    for level in range(3):
        counts.append(np.zeros(len(names)))
        for words, tags in zip(X, y, strict=True):
            for at, tag in enumerate(tags):
                same = tests(words, at)[level] == tests(sentence, t)[level]
                if same and (tags[at - 1] if at else "O") == before:
                    counts[level][names.index(tag)] += 1
    if smoothing == "hard":
        for c in counts:
            if c.sum() >= 2:
                return c / c.sum()
        return p
    for level in (2, 1, 0):
        c = counts[level]
        n, r = c.sum(), (c > 0).sum()
        if not n:
            continue
        if smoothing == "witten-bell":
            p = (c + 0.5 * r * p) / (n + 0.5 * r)
        else:
            d = model.weights_[level, 0]
            taken = np.minimum(c, d).sum()
            p = np.maximum(c - d, 0) / n + taken / n * p
    return p


@pytest.mark.parametrize("smoothing", ["witten-bell", "absolute", "hard"])
def test_smoothing_follows_its_definition(smoothing):
    X, y = random_data(5, 50)
    model = CountedMarkov(patterns=CHAINS[1], smoothing=smoothing, strength=0.5, min_count=2, scheme=None).fit(X, y)
    names = model.classes_.tolist()
    for sentence in random_data(6, 15, words="abcdeFGHz")[0]:
        steps = model.next_labels([sentence])[0]
        for t in range(len(sentence)):
            for before in ["O"] if t == 0 else names:
                expected = smoothed(model, X, y, sentence, t, before, smoothing)
                np.testing.assert_allclose(steps[t, names.index(before)], expected, rtol=1e-12, atol=1e-15)


def test_weights_of_levels_predict_left_out_labels_better_than_even_ones():
    X, y = random_data(7, 300)
    model = CountedMarkov(patterns=CHAINS[1], smoothing="jelinek-mercer").fit(X, y)
    assert ((model.weights_ >= 0) & (model.weights_ < 1)).all()
    fresh, gold = random_data(8, 100)

    def likelihood(weights):
        model.weights_ = weights
        vars(model).pop("_model", None)
        names, total = model.classes_.tolist(), 0.0
        for steps, tags in zip(model.next_labels(fresh), gold, strict=True):
            for t, tag in enumerate(tags):
                before = names.index(tags[t - 1] if t else "O")
                total += math.log(max(steps[t, before, names.index(tag)], 1e-300))
        return total

    learned = model.weights_
    assert likelihood(learned) > likelihood(np.full_like(learned, 0.5))


@pytest.mark.parametrize("smoothing", ["witten-bell", "absolute", "hard"])
def test_halves_merge_to_the_whole_bit_for_bit(smoothing):
    X, y = random_data(9, 80)
    y[60] = ["B-X"] * len(y[60])  # a label that the first half does not have
    whole = CountedMarkov(smoothing=smoothing).fit(X, y)
    halves = [CountedMarkov(smoothing=smoothing).fit(X[a:b], y[a:b]) for a, b in ((0, 37), (37, 80))]
    assert halves[0].merge(halves[1]).fingerprint() == whole.fingerprint()
    steps = CountedMarkov(smoothing=smoothing)
    for a, b in ((0, 10), (10, 50), (50, 80)):
        steps.partial_fit(X[a:b], y[a:b])
    assert steps.fingerprint() == whole.fingerprint()


def test_joint_models_merge_to_the_whole_bit_for_bit():
    X, y = random_data(9, 80)
    y[60] = ["B-X"] * len(y[60])
    X[70] = [word.lower() * 2 for word in X[70]]  # words that the first half does not have
    for patterns in (None, ["b:%x[0,0]/%x[-1,0]", "b:%x[0,0]", "b"]):
        options = {"joint": True, "patterns": patterns}
        whole = CountedMarkov(**options).fit(X, y)
        halves = [CountedMarkov(**options).fit(X[a:b], y[a:b]) for a, b in ((0, 37), (37, 80))]
        both = halves[0].merge(halves[1])
        assert both.fingerprint() == whole.fingerprint()
        assert both.predict(X) == whole.predict(X)
        assert halves[0].fingerprint() != whole.fingerprint()


def test_the_model_is_the_same_for_any_number_of_threads():
    X, y = random_data(10, 2500)
    models = [CountedMarkov(n_jobs=n).fit(X, y) for n in (1, 2, 5)]
    for model in models[1:]:
        for name in ("rows_", "history_", "entries_", "label_", "counts_", "level_"):
            assert getattr(model, name).tobytes() == getattr(models[0], name).tobytes()
        assert model.encoder_.tests_ == models[0].encoder_.tests_
        assert model.predict(X) == models[0].predict(X)
        assert model.predict_marginals(X[:9])[3].tobytes() == models[0].predict_marginals(X[:9])[3].tobytes()


def test_a_saved_model_answers_alike(tmp_path):
    X, y = random_data(11)
    for options in ({}, {"joint": True}, {"patterns": CHAINS[2]}):
        model = CountedMarkov(**options).fit(X, y)
        model.save(tmp_path / "m.mill")
        again = textmill.load(tmp_path / "m.mill")
        assert again.predict(X) == model.predict(X)
        again.save(tmp_path / "n.mill")
        assert (tmp_path / "m.mill").read_bytes() == (tmp_path / "n.mill").read_bytes()


def test_a_damaged_table_is_refused(tmp_path):
    X, y = random_data(12)
    model = CountedMarkov().fit(X, y)
    model.label_ = model.label_.copy()
    model.label_[0] = 99
    vars(model).pop("_model", None)
    with pytest.raises(ModelFileError, match="labels of row"):
        model.save(tmp_path / "m.mill")


def test_a_joint_model_gives_words_and_labels_a_distribution():
    X, y = random_data(13, 60)
    model = CountedMarkov(patterns=["b:%x[0,0]/%x[-1,0]", "b:%x[0,0]", "b"], joint=True, scheme=None).fit(X, y)
    known = sorted({word for words in X for word in words})
    # after the same word before, all known words and one more share the mass 1
    steps = [model.next_labels([["a", word]])[0][1] for word in [*known, "unseen"]]
    np.testing.assert_allclose(np.sum(steps, axis=0).sum(axis=1), 1.0, rtol=1e-12)


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_em_raises_the_likelihood_of_what_is_known(seed):
    X, y = random_data(seed, 30, longest=5)
    hidden = [[None if (i + t) % 3 == 0 else tag for t, tag in enumerate(tags)] for i, tags in enumerate(y)]
    model = CountedMarkov(patterns=["b:%x[0,0]"], strength=1e-9, max_iter=8, tolerance=0, scheme=None)
    trace = model.fit(X, hidden).trace_
    assert len(trace) == 8
    assert (np.diff(trace[1:]) >= -1e-3 * abs(trace[1])).all()  # what is below 1e-4 is left out
    assert model.counts_.sum() == pytest.approx(sum(map(len, X)), rel=1e-2)


def test_known_labels_alone_are_counted_without_em():
    X, y = [["a", "b", "a"]], [["O", None, "O"]]
    model = CountedMarkov(patterns=["b:%x[0,0]", "b"], max_iter=1).fit(X, y)
    assert model.classes_.tolist() == ["O"]
    assert len(model.trace_) == 1


@pytest.mark.parametrize("pattern", ["u:%x[0,0]", "*:%x[0,0]", "u"])
def test_a_chain_without_the_label_before_is_refused(pattern):
    with pytest.raises(DataError, match="does not look at the label before"):
        CountedMarkov(patterns=["b:%x[0,0]", pattern]).fit([["a"]], [["O"]])


def test_bad_input_gives_one_clear_error():
    for parameters, message in [
        ({"patterns": []}, "no patterns"),
        ({"smoothing": "none"}, "smoothing"),
        ({"strength": 0}, "strength"),
        ({"scheme": "IOBES"}, "scheme"),
        ({"joint": True, "smoothing": "hard"}, "joint"),
        ({"start_label": "Q"}, "start_label"),
    ]:
        with pytest.raises(DataError, match=message):
            CountedMarkov(**parameters).fit([["a"]], [["O"]])
    with pytest.raises(DataError, match="no token has a label"):
        CountedMarkov().fit([["a"]], [[None]])
    with pytest.raises(DataError, match="1 tokens but 2 labels"):
        CountedMarkov().fit([["a"]], [["O", "O"]])
    with pytest.raises(DataError, match="IOB2"):
        CountedMarkov(scheme="IOB2").fit([["a"]], [["NN"]])
    with pytest.raises(DataError, match="histories, more than"):
        CountedMarkov(patterns=["9:%x[0,0]"]).fit([["a"] * 6], [list("ABCDEF")])
    model = CountedMarkov().fit([["a"]], [["O"]])
    for call, message in [
        (lambda: model.merge(CountedMarkov(strength=2.0).fit([["a"]], [["O"]])), "parameters"),
        (lambda: model.predict([["a"]], method="best"), "method"),
        (lambda: model.predict([["a"]], method="posterior", beam=2), "beam"),
        (lambda: model.predict([["a"]], beam=0), "beam"),
        (lambda: model.evidence(["a"], 1), "no token 1"),
        (lambda: model.evidence(["a"], 0, ["Q"]), "no label"),
    ]:
        with pytest.raises(DataError, match=message):
            call()


def test_strange_sentences_are_labeled():
    X, y = random_data(14)
    model = CountedMarkov().fit(X, y)
    odd = [[], ["a"], ["\U0001f600", "\x00", ""], ["a", "F"] * 5000]
    answers = model.predict(odd)
    assert [len(tags) for tags in answers] == [0, 1, 3, 10_000]
    assert model.predict([]) == []
    assert model.predict_best([[]], k=2) == [[([], 1.0)]]


def test_evidence_ends_with_the_distribution_of_the_model():
    X, y = random_data(15)
    model = CountedMarkov().fit(X, y)
    levels = model.evidence(X[0], 0)
    last = model.next_labels([X[0]])[0][0, 2]
    assert list(levels[-1].probability.values()) == pytest.approx(last.tolist())
    assert sum(levels[0].counts.values()) > sum(levels[-1].counts.values())


@pytest.mark.parametrize("order", [1, 2])
def test_any_classifier_can_be_the_distribution(order):
    X, y = random_data(16, 80)
    model = ClassifierMarkov(classifier=CategoricalBayes(), order=order).fit(X, y)
    steps = np.concatenate(model.next_labels(X[:20]))
    np.testing.assert_allclose(steps.sum(axis=2), 1.0, rtol=1e-12)
    answers = model.predict(X[:20])
    assert [len(tags) for tags in answers] == [len(words) for words in X[:20]]
    assert all("O I" not in " ".join(["O", *tags]) for tags in answers)


def test_a_classifier_without_probabilities_is_refused():
    with pytest.raises(DataError, match="predict_proba"):
        ClassifierMarkov(classifier=object()).fit([["a"]], [["O"]])
    with pytest.raises(DataError, match="every token needs a label"):
        ClassifierMarkov(classifier=CategoricalBayes()).fit([["a", "b"]], [["O", None]])
