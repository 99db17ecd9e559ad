"""Pair n-grams against enumeration: sums over alignments, best outputs, transducers, files."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import textmill
from textmill.errors import DataError
from textmill.fst import Fst, StringAligner, compose, shortest_path
from textmill.lm import NGramModel, OutputAcceptor, PairModel, UnalignedPairs, prune

PAIRS = [("ab", "AB"), ("b", "B"), ("ba", "BA"), ("cab", "AB"), ("acc", "AX"), ("cca", "XA"), ("bc", "BBX"), ("c", "X")]


def toy(**parameters):
    settings_ = {"order": 3, "beam": None, "width": None, "n_jobs": 1, **parameters}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnalignedPairs)
        return PairModel(**settings_).fit(*zip(*PAIRS, strict=True))


def alignments(model, word, output=None):
    """All sequences of pairs that read a word, with ln p each: straight from the definition."""
    backward = model.direction == "backward"
    most = model.max_insertions if model.insertions == "tokens" else 0
    names = dict(zip(model.pairs_, model.ngrams_.words_.to_list()[3:], strict=True))

    def paths(at, row):
        if at == len(word):
            yield ()
        for link in model.pairs_:
            u, _v = link
            if not u and row < most:
                for rest in paths(at, row + 1):
                    yield (link, *rest)
            elif u and tuple(word[at : at + len(u)]) == u:
                for rest in paths(at + len(u), 0):
                    yield (link, *rest)

    for path in paths(0, 0):
        written = "".join(s for _, v in path for s in v)
        if output is None or written == output:
            tokens = [names[link] for link in path]
            log10 = model.ngrams_.scores([tokens[::-1] if backward else tokens]).log_probability[0]
            yield written, float(log10) * math.log(10.0)


MODELS = {
    "1x2": {"max_input": 1},
    "2x2": {"max_input": 2},
    "2x2 backward": {"max_input": 2, "direction": "backward"},
    "insertions": {"max_input": 1, "max_output": 1, "insertions": "tokens", "max_insertions": 2},
    "insertions backward": {
        "max_input": 1, "max_output": 1, "insertions": "tokens", "max_insertions": 1, "direction": "backward",
    },
    "merged": {"max_input": 1, "max_output": 1, "insertions": "merged"},
    "katz": {"max_input": 1, "smoothing": "katz", "order": 2},
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("word", ["a", "cb", "abc", "ccab"])
def test_best_outputs_are_those_of_enumeration(name, word):
    model = toy(**MODELS[name])
    sums, best = {}, {}
    for written, log_p in alignments(model, word):
        sums[written] = np.logaddexp(sums.get(written, -np.inf), log_p)
        best[written] = max(best.get(written, -np.inf), log_p)
    expected = sorted(sums, key=lambda y: -sums[y])[:10]
    total = np.logaddexp.reduce(list(sums.values()))
    row = model.predict_best([word], k=10)[0]
    assert [one.log_probability for one in row] == pytest.approx([sums[y] for y in expected], abs=1e-9)
    for one in row:
        assert one.log_probability == pytest.approx(sums[one.output], abs=1e-9)
        assert one.alignment.log_probability == pytest.approx(best[one.output], abs=1e-9)
        assert "".join(one.alignment.input) == word
        assert "".join(one.alignment.output) == one.output
        assert one.probability == pytest.approx(math.exp(sums[one.output] - total), abs=1e-9)
    viterbi = model.predict_best([word], k=10, summed=False)[0]
    assert [one.log_probability for one in viterbi] == pytest.approx(sorted(best.values(), reverse=True)[:10], abs=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_score_is_the_sum_over_alignments(name):
    model = toy(**MODELS[name])
    pairs = [("ab", "AB"), ("acc", "AX"), ("cc", "X"), ("b", "BB"), ("cab", "")]
    for (word, output), score in zip(pairs, model.score_samples(*zip(*pairs, strict=True)), strict=True):
        values = [log_p for _, log_p in alignments(model, word, output)]
        expected = np.logaddexp.reduce(values) if values else -np.inf
        assert score == pytest.approx(expected, abs=1e-9)


def test_beam_keeps_the_best_output():
    exact, beam = toy(), toy(beam=5, width=6.0)
    words = ["abc", "ccab", "bacb", "acca"]
    assert exact.predict(words) == beam.predict(words)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_transducer_has_the_same_best_output_and_cost(order):
    model = toy(order=order)
    machine = model.to_fst()
    for word in ["a", "cb", "abc", "ccab"]:
        path = shortest_path(compose(_string(word, machine), machine))
        cost = _cost(path)
        best = model.predict_best([word], k=1, summed=False)[0][0]
        assert cost == pytest.approx(-best.log_probability, abs=1e-9)


def _string(word, machine):
    """A machine of one word."""
    labels = [machine.input_symbols.key(letter) for letter in word]
    places = list(range(len(labels)))
    return Fst.from_arrays(
        "tropical64", start=0, sources=places, ilabels=labels, olabels=labels, nextstates=[i + 1 for i in places],
        final_states=[len(labels)],
    )  # fmt: skip


def _cost(path):
    """The weight of a machine of one path."""
    state, cost = path.start, 0.0
    while path.num_arcs_of(state):
        [arc] = path.arcs(state)
        cost, state = cost + float(arc.weight), arc.nextstate
    return cost + float(path.final(state))


def test_memoryless_alignment_has_the_numbers_of_the_paper():
    pairs = [("ab", "AB"), ("b", "B"), ("ba", "BA")]
    first = StringAligner(max_iter=1, tolerance=0).fit(pairs)
    p = dict(zip(first.links_, np.exp(first.log_probabilities_), strict=True))
    assert first.trace_[0] == pytest.approx(-8.950461, abs=1e-6)
    assert float(first.counts_.sum()) == pytest.approx(6.216949, abs=1e-6)
    for link, value in {(("b",), ("B",)): 0.346783, (("a",), ("A",)): 0.218103, (("b",), ()): 0.113959}.items():
        assert p[link] == pytest.approx(value, abs=1e-6)
    third = StringAligner(max_iter=3, tolerance=0).fit(pairs)
    assert third.trace_.tolist() == pytest.approx([-8.950461, -5.873600, -4.031729], abs=1e-6)
    limit = StringAligner(max_iter=200, tolerance=0).fit(pairs)
    assert limit.score_samples(pairs).sum() == pytest.approx(-3.365058, abs=1e-5)


def kneser_ney(counts, discount, lower):
    """p(w | h) of one context by the formula of the paper: counts of words after it, a discount, p(w | h')."""
    total = sum(counts.values())
    free = discount * len(counts) / total
    return {w: max(counts.get(w, 0) - discount, 0) / total + free * p for w, p in lower.items()}


def test_kneser_ney_has_the_numbers_of_the_paper():
    continuations = {"a": 2 / 7, "b": 2 / 7, "c": 1 / 7, "</s>": 2 / 7}
    rows = {"a": {"b": 2, "c": 1}, "b": {"a": 1, "</s>": 2}, "c": {"</s>": 1}, "<s>": {"a": 2, "b": 1}}
    expected = {
        ("a", "b"): 47 / 84, ("a", "c"): 13 / 84, ("a", "a"): 1 / 7, ("a", "</s>"): 1 / 7, ("b", "a"): 19 / 84,
        ("b", "</s>"): 47 / 84, ("b", "c"): 1 / 14, ("c", "</s>"): 13 / 28, ("c", "a"): 3 / 14, ("<s>", "a"): 47 / 84,
    }  # fmt: skip
    for (context, word), p in expected.items():
        assert kneser_ney(rows[context], 3 / 4, continuations)[word] == pytest.approx(p, abs=1e-12)
    # the same formula with the discount that the model works out, and its own single words
    model = NGramModel(order=2, smoothing="kneser-ney").fit([["a", "b"], ["a", "c"], ["b", "a", "b"]])
    words = model.words_.to_list()
    single = dict(zip(words, model.distribution().tolist(), strict=True))
    for context, counts in rows.items():
        after = model.distribution([context]) if context != "<s>" else model.distribution(start=True)
        by_formula = kneser_ney(counts, float(model.discounts_[1][0]), single)
        assert after.sum() == pytest.approx(1.0, abs=1e-9)
        assert after.tolist() == pytest.approx([by_formula[word] for word in words], abs=1e-9)


def test_shrinking_at_zero_is_the_identity_and_falls_with_theta():
    model = toy(order=3).ngrams_
    sizes = [len(prune(model, threshold=t, method="weighted-difference").last_words_) for t in (0.0, 0.05, 0.5, 2.0)]
    assert sizes[0] == len(model.last_words_)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0]


def test_unknown_letters_are_skipped_or_copied():
    assert toy().predict(["azb"]) == ["AB"]
    assert toy(unknown="copy").predict(["azb"]) == ["AzB"]
    assert toy(unknown="copy", direction="backward").predict(["azb"]) == ["AzB"]
    [best] = toy(unknown="copy").best_alignments(["azb"], ["AzB"])
    assert best.alignment.text() == "a:A z:z b:B"


def test_letter_seen_only_in_a_longer_unit_is_still_read():
    model = PairModel(max_input=2, deletions=False, n_jobs=1).fit(["qu", "quu", "u"], ["K", "KU", "U"])
    assert model.predict(["q"])[0] in ("", "K")


def test_acceptor_restricts_outputs_in_both_directions():
    only_x = OutputAcceptor({(0, "X"): 0, (0, "A"): 1}, frozenset({1}))
    for direction in ("forward", "backward"):
        for row in toy(direction=direction).predict_best(["cca", "acc"], k=20, acceptor=only_x):
            assert all(only_x.allows(one.output) for one in row)
        assert toy(direction=direction).predict(["cca"], acceptor=only_x) == ["XA"]


def test_pairs_without_an_alignment_are_listed():
    with pytest.warns(UnalignedPairs, match="1 of 3 pairs"):
        model = PairModel(max_output=1, max_input=1).fit(["ab", "a", "b"], ["AB", "AAA", "B"])
    assert model.unaligned_.tolist() == [1]
    with pytest.raises(DataError, match="no alignment"):
        PairModel(max_output=1, max_input=1).fit(["ab", "a", "b"], ["AB", "AAA", "B"], errors="strict")
    with pytest.warns(UnalignedPairs, match="too long"):
        model = PairModel().fit(["ab", "ab" * 1200], ["AB", "AB" * 1200])
    assert model.unaligned_.tolist() == [1]


def test_symbols_may_hold_anything():
    words, outputs = ["a|b", "}_:", "x y"], [["|", "}"], ["_", ":", "\\"], ["a b", " "]]
    model = PairModel(order=2, max_input=1, n_jobs=1).fit(words, outputs)
    assert model.predict(words) == outputs


def test_saved_model_gives_the_same_answers(tmp_path):
    for direction in ("forward", "backward"):
        model = toy(direction=direction)
        model.save(tmp_path / "m.mill")
        again = textmill.load(tmp_path / "m.mill")
        words = ["abc", "ccab"]
        assert [[one[:3] for one in row] for row in again.predict_best(words)] == [
            [one[:3] for one in row] for row in model.predict_best(words)
        ]


def test_threads_do_not_matter():
    words = ["".join(letters) for letters in itertools.product("abc", repeat=4)]
    answers = [toy(n_jobs=jobs).predict_best(words, k=5) for jobs in (1, 2, 8)]
    assert answers[0] == answers[1] == answers[2]


def test_long_word_takes_the_beam():
    model = toy(beam=20, width=8.0, insertions="tokens", max_input=1, max_output=1)
    assert len(model.predict(["abc" * 3400])[0]) > 5000
    with pytest.raises(DataError, match="too long"):
        model.score_samples(["a" * 10_000], ["A" * 10_000])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"insertions": "some"}, "insertions"), ({"direction": "up"}, "direction"), ({"beam": 0}, "beam")],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(DataError, match=message):
        toy(**parameters)


@settings(max_examples=20, deadline=None)
@given(st.text("abc", min_size=1, max_size=6))
def test_posteriors_of_all_outputs_sum_to_one(word):
    rows = toy(max_input=1).predict_best([word], k=10_000)[0]
    assert sum(one.probability for one in rows) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("unknown", ["skip", "copy"])
@pytest.mark.parametrize("name", MODELS)
def test_arrays_hold_what_lists_of_candidates_hold(name, unknown):
    model = toy(**MODELS[name], unknown=unknown)
    words = ["abc", "", "c?b", "bca"]
    arrays = model.predict_arrays(words, k=6)
    rows = model.predict_best(words, k=6)
    assert np.diff(arrays.begin).tolist() == [len(row) for row in rows]
    for c, one in enumerate(itertools.chain.from_iterable(rows)):
        assert "".join(arrays.output(c)) == one.output
        assert math.exp(arrays.log_probability[c]) == pytest.approx(one.probability)
        assert arrays.alignment(c) == one.alignment


@pytest.mark.parametrize("name", MODELS)
def test_scores_of_lists_equal_those_of_pairs(name):
    model = toy(**MODELS[name])
    symbols = model.output_symbols_
    words = ["cab", "a", "acc", "bcab"]
    every = ["".join(some) for n in range(4) for some in itertools.product("ABX", repeat=n)]
    outputs = [every, [], ["AX", "?", "AB", "A"], [*every, "BBXAB"]]
    begin = np.cumsum([0, *map(len, outputs)])
    flat = [symbols.index(s) if s in symbols else len(symbols) for row in outputs for o in row for s in o]
    output_begin = np.cumsum([0, *(len(o) for row in outputs for o in row)])
    scores = model.score_lists(words, begin, output_begin, np.array(flat, dtype=np.int32))
    pairs = [(word, o) for word, row in zip(words, outputs, strict=True) for o in row]
    expected = model.score_samples(*zip(*pairs, strict=True))
    assert np.isfinite(expected).sum() >= 2
    assert scores.tolist() == pytest.approx(expected.tolist(), abs=1e-12)
    narrow = model.set_params(width=6.0, n_jobs=2).score_lists(words, begin, output_begin, np.array(flat, np.int32))
    assert (narrow <= scores + 1e-12).all()
    some = np.isfinite(scores)
    assert np.abs(narrow[some] - scores[some]).max() < 0.05
