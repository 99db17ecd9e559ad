"""Semi-Markov CRFs against enumeration, finite differences, the numbers of the specification, and themselves."""

from __future__ import annotations

import itertools
import math
import random
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import textmill
from tests.reference.segmentations import log_sum, score, segmentations
from textmill._native import segments as native
from textmill.corpus import TypedSegments
from textmill.errors import DataError
from textmill.sequence import (
    CRF,
    HISTORIES,
    CandidateFilter,
    SemiMarkovCRF,
    all_candidates,
    entity_history,
    evaluate_tags,
    explain_segments,
    gold_spans,
    parse_segment_patterns,
    plain_labels,
    read_labeled,
    segment_patterns,
)
from textmill.sequence.segment_choice import RATIOS, best_ratio
from textmill.sequence.segment_data import SegmentObjective

ROLES = 7


def empty_rows(count):
    return np.zeros(count + 1, np.int64), np.empty(0, np.int32), None


def random_problem(seed, *, n=5, labels=3, longest=3, history="entity", share=0.7, real=False, wide=1.0):
    """A problem with random rows, candidates and weights; two sentences."""
    rng = np.random.default_rng(seed)
    offsets = np.array([0, n, n + 2])
    every = all_candidates(offsets, longest)
    keep = rng.random(len(every.lengths)) < share
    begins = every.begins()[keep]
    starts = np.searchsorted(begins, np.arange(n + 3)).astype(np.int64)
    lengths = every.lengths[keep]
    single = (rng.random(n + 2) < share).astype(np.uint8)

    def rows(count, tests):
        sizes = rng.integers(0, 4, count)
        ids = rng.integers(0, tests, sizes.sum()).astype(np.int32)
        values = rng.normal(1, 1, len(ids)).astype(np.float32) if real else None
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), ids, values

    roles = [rows(n + 2, 9) for _ in range(ROLES)]
    own, before = rows(n + 2 + len(lengths), 9), rows(n + 2, 4)
    problem = native.SegmentProblem(offsets, roles, starts, lengths, single, own, before, labels, 9, 4, history)
    theta = rng.normal(0, wide, problem.features)
    return problem, theta, (offsets, starts, lengths, single)


def enumerated(problem, theta, parts, history, labels, s):
    """Every segmentation of a sentence with its score, by the scores of segments and transitions."""
    offsets, starts, lengths, single = parts
    first, n, tokens = offsets[s], offsets[s + 1] - offsets[s], offsets[-1]
    flat, tr = problem.scores(theta, 1)
    states = 1 if history == "none" else labels
    flat, tr = flat.reshape(-1, labels), tr.reshape(-1, states, labels)

    def row(t, u):
        if u - t == 1:
            return first + t if single[first + t] else None
        for k in range(starts[first + t], starts[first + t + 1]):
            if lengths[k] == u - t:
                return tokens + k
        return None

    def segment(t, u, y):
        return flat[first + t if y == 0 else row(t, u), y]

    return [
        (one, score(one, history, segment, lambda q, y, t: tr[first + t, q, y]))
        for one in segmentations(n, labels, lambda t, u: row(t, u) is not None)
    ]


@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("wide", [1.0, 150.0])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_sums_marginals_and_best_are_those_of_all_segmentations(history, wide, seed):
    rng = np.random.default_rng(seed)
    labels = int(rng.integers(2, 5))
    problem, theta, parts = random_problem(
        seed, n=int(rng.integers(1, 6)), labels=labels, longest=int(rng.integers(1, 5)), history=history, wide=wide
    )
    flat, log_z = problem.marginals(theta, 1)
    bounds, scores, ends, rows = problem.best(theta, 10, 1)
    offsets = parts[0]
    for s in range(2):
        every = enumerated(problem, theta, parts, history, labels, s)
        total = log_sum([value for _, value in every])
        assert log_z[s] == pytest.approx(total, rel=1e-12, abs=1e-9)
        expected: dict[tuple[int, int, int], float] = {}
        for one, value in every:
            for key in one:
                expected[key] = expected.get(key, 0.0) + math.exp(value - total)
        for (t, u, y), probability in expected.items():
            first = offsets[s] + t
            row = first
            if u - t > 1:
                at = parts[1][first] + list(parts[2][parts[1][first] : parts[1][first + 1]]).index(u - t)
                row = offsets[-1] + at
            assert flat.reshape(-1, labels)[row, y] == pytest.approx(probability, abs=1e-9)
        top = sorted((value for _, value in every), reverse=True)[:10]
        assert scores[bounds[s] : bounds[s + 1]] == pytest.approx(top, rel=1e-9, abs=1e-9)
        by_key = dict(every)
        for h in range(bounds[s], bounds[s + 1]):
            spans = {t: (t, t + length, y) for t, length, y in rows.reshape(-1, 3)[ends[h] : ends[h + 1]].tolist()}
            one, at = [], 0
            while at < offsets[s + 1] - offsets[s]:
                one.append(spans.get(at, (at, at + 1, 0)))
                at = one[-1][1]
            assert by_key[tuple(one)] == pytest.approx(scores[h], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_gradient_is_that_of_central_differences(history, real, share):
    problem, theta, parts = random_problem(3, history=history, real=real, share=share)
    gold = [[t, 1, 1] for t in np.flatnonzero(parts[3])[:1]]
    gold += [[t, int(parts[2][k]), 2] for t in range(5) for k in range(parts[1][t], parts[1][t + 1])][-1:]
    gold = np.array(sorted(one for one in gold if one[0] == gold[0][0] or one[0] > gold[0][0]), np.int64).reshape(-1, 3)
    problem.observe(gold)
    for packed in (False, True):
        gradient = np.zeros_like(theta)
        problem.evaluate(theta, gradient, packed, 1)
        for i in range(len(theta)):
            moved = theta.copy()
            moved[i] += 1e-5
            up = problem.evaluate(moved, None, packed, 1)
            moved[i] -= 2e-5
            down = problem.evaluate(moved, None, packed, 1)
            assert gradient[i] == pytest.approx((up - down) / 2e-5, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("history", HISTORIES)
def test_packed_recursion_and_logarithms_agree_with_the_factored_one(history):
    problem, theta, _ = random_problem(7, n=12, labels=4, longest=5, history=history)
    slopes = np.zeros((2, len(theta)))
    values = [problem.evaluate(theta, slopes[packed], bool(packed), 1) for packed in (0, 1)]
    assert values[0] == pytest.approx(values[1], rel=1e-13)
    assert slopes[0] == pytest.approx(slopes[1], abs=1e-11)
    # one weight so large that the sentence is computed in logarithms, with the same answer as moved scores suggest
    wide = theta * 300
    gradient = np.zeros_like(theta)
    value = problem.evaluate(wide, gradient, False, 1)
    assert math.isfinite(value)
    assert np.isfinite(gradient).all()


def test_same_bytes_for_any_number_of_threads():
    problem, theta, _ = random_problem(11, n=40, labels=5, longest=8)
    slopes = []
    for threads in (1, 2, 8):
        gradient = np.zeros_like(theta)
        value = problem.evaluate(theta, gradient, False, threads)
        slopes.append((value, gradient.tobytes()))
    assert len(set(slopes)) == 1


def test_long_sentences_do_not_overflow():
    problem, theta, _ = random_problem(5, n=3000, labels=3, longest=4, share=1.0)
    theta[:] = 0.0
    theta[1::3] = 9.0  # the first entity is far better than O everywhere
    gradient = np.zeros_like(theta)
    assert math.isfinite(problem.evaluate(theta, gradient, False, 1))
    assert np.isfinite(gradient).all()
    assert problem.marginals(theta, 1)[1][0] > 709


def expanded(rows, of, values):
    """Rows of tokens with those of the values that they refer to behind their own."""
    made = [
        (*rows[1][rows[0][t] : rows[0][t + 1]], *(values[1][values[0][v] : values[0][v + 1]] if v >= 0 else ()))
        for t, v in enumerate(of)
    ]
    rest = [rows[1][rows[0][t] : rows[0][t + 1]] for t in range(len(of), len(rows[0]) - 1)]
    sizes = [len(row) for row in (*made, *rest)]
    ids = np.array([i for row in (*made, *rest) for i in row], np.int32)
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), ids, None


@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("seed", range(3))
def test_rows_of_values_count_as_rows_of_their_tokens(seed, history):
    rng = np.random.default_rng(seed)
    every = all_candidates(np.array([0, 5, 8]), 3)

    def rows(count):
        sizes = rng.integers(0, 3, count)
        ids = rng.integers(0, 9, sizes.sum()).astype(np.int32)
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), ids, None

    roles, own, before = [rows(8) for _ in range(ROLES)], rows(8 + len(every.lengths)), rows(8)
    shared = [(role, rng.integers(-1, 4, 8).astype(np.int32), rows(4)) for role in [*range(ROLES + 1), 0, ROLES]]
    plain_roles, plain_own = list(roles), own
    for role, of, values in shared:
        if role == ROLES:
            plain_own = expanded(plain_own, of, values)
        else:
            plain_roles[role] = expanded(plain_roles[role], of, values)
    head = (every.starts, every.lengths, every.single)
    tail = (before, 3, 9, 9, history, None)
    one = native.SegmentProblem(every.offsets, roles, *head, own, *tail, shared)
    other = native.SegmentProblem(every.offsets, plain_roles, *head, plain_own, *tail)
    theta = rng.normal(0, 1, one.features)
    gradients = np.zeros_like(theta), np.zeros_like(theta)
    for problem in (one, other):
        problem.observe(np.array([[1, 2, 1], [5, 1, 2]]))
    values = [p.evaluate(theta, g, False, 2) for p, g in zip((one, other), gradients, strict=True)]
    assert values[0] == pytest.approx(values[1], rel=1e-12)
    np.testing.assert_allclose(*gradients, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(one.marginals(theta, 1)[0], other.marginals(theta, 1)[0], rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(one.frequencies(), other.frequencies())


@pytest.mark.parametrize("preset", ["table3", "rich"])
def test_tests_of_values_and_of_segments_together_are_those_of_the_patterns(preset):
    X = [["The", "Mill", "Hill", "mill"], ["B", "cells", "of", "IL-2", "cells"], ["B"]]
    y = [["O", "B-A", "I-A", "O"], ["B-B", "I-B", "O", "B-A", "I-A"], ["B-B"]]
    tagger = SemiMarkovCRF(patterns=preset, max_length=3, filter_recall=0.9, max_iter=2).fit(X, y)
    data = tagger.segment_data(X)
    cells, candidates = tagger._cells(X), data.candidates
    table = tagger._tables()[0]

    def all_tests(role, begin, length):
        found = cells.rows(role, table, np.array([begin]), np.array([length]))
        return [] if found is None else found[1].tolist()

    singles = [(t, 1, None) for t in range(candidates.tokens)]
    longer = [(int(t), int(n), k) for k, (t, n) in enumerate(zip(candidates.begins(), candidates.lengths, strict=True))]
    assert longer
    for begin, length, candidate in [*singles, *longer]:
        last = begin + length - 1
        places = {"first": [begin], "last": [last], "all": range(begin, last + 1), "rest": range(begin + 1, last + 1)}
        places |= {"inner": range(begin + 1, last)} | ({"first2": [begin], "last2": [last]} if length > 1 else {})
        found = [test for role, at in places.items() for t in at for test, _ in data.rows_at(role, t)]
        found += [test for test, _ in (data.rows_at("single", begin) if length == 1 else data.rows_of(candidate))]
        expected = [test for role, at in places.items() for t in at for test in all_tests(role, t, 1)]
        assert sorted(found) == sorted(expected + all_tests("own", begin, length))


def plain_problem(n, labels, longest, history, own=None, before=None):
    """A problem whose segments have one test of their own each, so that any score can be given."""
    every = all_candidates(np.array([0, n]), longest)
    count = n + len(every.lengths)
    rows = np.arange(count + 1), np.arange(count, dtype=np.int32), None
    tokens = np.arange(n + 1), np.zeros(n, np.int32), None
    return every, native.SegmentProblem(
        every.offsets,
        [None] * ROLES,
        every.starts,
        every.lengths,
        every.single,
        rows,
        tokens,
        labels,
        count,
        1,
        history,
    )


@pytest.mark.parametrize(
    ("entities", "longest", "expected"),
    [(1, 2, [1, 2, 5, 12]), (2, 3, [1, 3, 11, 41]), (5, 5, [1, 6, 41, 281, 1926, 13201])],
)
def test_numbers_of_segmentations(entities, longest, expected):
    for n, count in enumerate(expected):
        if n:
            for history in HISTORIES:
                _, problem = plain_problem(n, entities + 1, longest, history)
                log_z = problem.marginals(np.zeros(problem.features), 1)[1][0]
                assert log_z == pytest.approx(math.log(count), abs=1e-9)


def test_numbers_of_segmentations_of_long_sentences():
    for n, expected in ((10, 19.112284), (25, 47.984994)):
        _, problem = plain_problem(n, 6, 10, "entity")
        assert problem.marginals(np.zeros(problem.features), 1)[1][0] == pytest.approx(expected, abs=1e-6)


def worked_example():
    """The second worked example: N = 4, two classes, L = 3."""
    every, problem = plain_problem(4, 3, 3, "entity")
    theta = np.zeros(problem.features)
    segment = theta[: -3 * 3].reshape(-1, 3)
    begins = np.concatenate([np.arange(4), every.begins()])
    lengths = np.concatenate([np.ones(4, int), every.lengths])
    for r, (t, length) in enumerate(zip(begins, lengths, strict=True)):
        for y in range(3):
            segment[r, y] = (((3 * (t + 1) + 5 * (t + length) + 7 * y) % 11) - 5) / 4
    tr = theta[-3 * 3 :].reshape(3, 3)
    for q, y in itertools.product(range(3), (1, 2)):
        tr[q, y] = (((2 * q + 3 * y) % 5) - 2) / 2
    return (
        every,
        problem,
        theta,
        {(int(t), int(t + n)): r for r, (t, n) in enumerate(zip(begins, lengths, strict=True))},
    )


def test_worked_example_of_the_specification():
    _every, problem, theta, row = worked_example()
    flat, log_z = problem.marginals(theta, 1)
    assert log_z[0] == pytest.approx(6.056325036, abs=1e-9)
    probability = flat.reshape(-1, 3)
    expected = {
        (1, 1, 0): 0.397820, (1, 1, 1): 0.297804, (1, 2, 1): 0.221742, (2, 2, 2): 0.325462, (3, 3, 1): 0.431439,
        (3, 4, 2): 0.133173, (4, 4, 0): 0.600755, (1, 3, 2): 0.024543, (2, 4, 1): 0.002777,
    }  # fmt: skip
    for (t, u, y), value in expected.items():
        assert probability[row[t - 1, u], y] == pytest.approx(value, abs=1e-6)
    bounds, scores, ends, rows = problem.best(theta, 200, 1)
    assert bounds.tolist() == [0, 151]
    assert scores[:2].tolist() == [3.75, 3.50]
    assert rows.reshape(-1, 3)[ends[0] : ends[1]].tolist() == [[0, 1, 1], [1, 1, 2], [2, 1, 1]]
    assert rows.reshape(-1, 3)[ends[1] : ends[2]].tolist() == [[2, 1, 1]]
    assert math.exp(3.75 - log_z[0]) == pytest.approx(0.099627, abs=1e-6)


def test_history_in_the_labels_of_the_figure():
    plain = ["O", "protein", "O", "O", "DNA"]
    assert entity_history(plain) == ["O", "protein", "O-protein", "O-protein", "DNA"]
    assert plain_labels(entity_history(plain)) == plain
    other = ["DNA", "O", "RNA", "O", "O"]
    assert entity_history(other) == ["DNA", "O-DNA", "RNA", "O-RNA", "O-RNA"]
    assert plain_labels(entity_history(other)) == other


X = [
    ["we", "cut", "NF", "kappa", "B", "in", "T", "cells"],
    ["the", "T", "cells", "with", "NF", "kappa", "B", "and", "AP", "1", "grew"],
    ["in", "B", "cells", "AP", "1", "and", "the", "NF", "kappa", "B"],
    ["no", "cells", "here"],
]
Y = [
    ["O", "O", "B-P", "I-P", "I-P", "O", "B-C", "I-C"],
    ["O", "B-C", "I-C", "O", "B-P", "I-P", "I-P", "O", "B-P", "I-P", "O"],
    ["O", "B-C", "I-C", "B-P", "I-P", "O", "O", "B-P", "I-P", "I-P"],
    ["O", "O", "O"],
]


def small(**options):
    return SemiMarkovCRF(**{"max_length": 3, "filter": None, "max_iter": 40, "n_jobs": 1, **options})


@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("patterns", ["table3", "rich"])
def test_learns_its_training_data_and_comes_back_from_a_file(history, patterns, tmp_path):
    model = small(patterns=patterns, history=history).fit(X, Y)
    assert model.predict(X) == Y
    assert model.score(X, Y) == 1.0
    model.save(tmp_path / "a.mill")
    again = textmill.load(tmp_path / "a.mill", verify=True)
    assert again.predict(X) == Y
    again.save(tmp_path / "b.mill")
    assert (tmp_path / "a.mill").read_bytes() == (tmp_path / "b.mill").read_bytes()
    best = again.predict_best(X[:1], 3)[0]
    assert best[0][0] == [(2, 5, "P"), (6, 8, "C")]
    assert best[0][2] > best[1][2] > best[2][2]
    assert again.predict(X, maximize="f1") == again.predict(X, maximize=None) == Y


def test_marginals_and_confidence_agree():
    model = small().fit(X, Y)
    segments = model.segment_marginals(X)
    spans = [[segment[:3] for segment in some] for some in segments]
    confidence = model.span_confidence(X, spans)
    assert confidence == [[segment.probability for segment in some] for some in segments]
    assert model.span_confidence(X[:1], [[(0, 9, "P")]]) == [[0.0]]


def test_one_token_segments_are_a_chain_of_labels():
    """With max_length 1 and the label before as history, the model is a linear chain over one-token labels."""
    words = [list("abcab"), list("bca"), list("ccab")]
    tags = [["B-A", "O", "B-C", "B-A", "O"], ["O", "B-C", "O"], ["B-C", "O", "B-A", "O"]]
    precise = textmill.sequence.LBFGS(gradient_tolerance=1e-10)
    exact = {"l2": 0.5, "max_iter": 500, "tolerance": 0.0, "algorithm": precise}
    crf = CRF(
        patterns=["u:%x[0,0]", "b"], l1=0, start_label=True,
        **exact,
    ).fit(words, tags)  # fmt: skip
    semi = SemiMarkovCRF(
        patterns=["s:%x[b,0]", "p"], history="label", max_length=1, filter=None, compact=False,
        **exact,
    ).fit(words, tags)  # fmt: skip
    assert semi.log_likelihood(words, tags) <= 0
    # the chain has a state of its own for the beginning, so only its other weights are the same model: compare without
    free = CRF(patterns=["u:%x[0,0]"], l1=0, **exact).fit(words, tags)
    alone = SemiMarkovCRF(
        patterns=["s:%x[b,0]"], history="none", max_length=1, filter=None, compact=False,
        **exact,
    ).fit(words, tags)  # fmt: skip
    assert alone.objective_ == pytest.approx(free.objective_, rel=1e-9)
    by_name = {"B-A": 1, "B-C": 2, "O": 0}
    test = {text[-1]: i for i, text in enumerate(alone.tests_.to_list())}
    table = alone.theta_.reshape(-1, 3)
    weights = free.to_weights()
    for i, text in enumerate(free.encoder_.tests_.to_list()):
        for j, name in enumerate(weights.classes):
            assert table[test[text[-1]], by_name[name]] == pytest.approx(weights.unigram[i, j], abs=1e-6)
    assert crf.predict(words) == semi.predict(words, maximize=None)


def test_threshold_zero_is_no_filter():
    free = small().fit(X, Y)
    loose = small(filter=CandidateFilter(max_length=3, threshold=-math.inf)).fit(X, Y)
    assert np.array_equal(free.weights_, loose.weights_)
    assert free.tests_.to_list() == loose.tests_.to_list()
    assert free.predict_best(X, 4) == loose.predict_best(X, 4)


def test_development_data_checkpoints_and_weights(tmp_path):
    model = small(tolerance=0.0).fit(X, Y, checkpoint=tmp_path / "run")
    assert small().fit(X, Y, X, Y).training_log_[-1]["dev_error"] == 0.0
    assert (tmp_path / "run").exists()
    again = small(tolerance=0.0).fit(X, Y, checkpoint=tmp_path / "run")
    assert np.array_equal(model.weights_, again.weights_)
    twice = small(tolerance=0.0, max_iter=300).fit(X, Y, sample_weight=[2, 1, 1, 1])
    doubled = small(tolerance=0.0, max_iter=300).fit([X[0], *X], [Y[0], *Y])
    assert twice.objective_ == pytest.approx(doubled.objective_, rel=1e-6)


def test_l1_leaves_few_weights():
    model = small(algorithm="owlqn", l1=0.3, compact=False).fit(X, Y)
    assert 0 < len(model.weights_) < len(model.theta_) / 4
    assert model.predict(X) == Y


def test_long_segments_are_counted_and_dropped_or_kept():
    with pytest.warns(UserWarning, match="3 segments of more than max_length=2 tokens left out"):
        short = small(max_length=2).fit(X, Y)
    assert short.n_long_ == 3
    assert all(end - begin <= 2 for some in short.predict_segments(X) for begin, end, _ in some)
    with pytest.warns(UserWarning, match="kept as candidates of their own"):
        small(max_length=2, long_segments="keep").fit(X, Y)


def test_functions_and_word_lists_have_values():
    def speak(tokens, begin, end):
        return {"upper": sum(token.isupper() for token in tokens[begin:end]) / (end - begin)}

    model = small(patterns=["s:bias"], segment_function=speak, word_lists={"proteins": ["NF kappa B", "AP 2"]})
    model.fit(X, Y)
    assert {"f:upper", "list:proteins", "in:proteins"} <= {*model.tests_.to_list()}
    objective = model.objective(X, Y)
    theta = np.random.default_rng(0).normal(0, 1, objective.size)
    _, gradient = objective(theta)
    for i in range(objective.size):
        step = np.zeros(objective.size)
        step[i] = 1e-5
        assert gradient[i] == pytest.approx(
            (objective(theta + step)[0] - objective(theta - step)[0]) / 2e-5, rel=1e-6, abs=1e-6
        )
    with pytest.raises(DataError, match="sequence 1, token 1: the segment function gave 'x': nan"):
        small(segment_function=lambda *_: {"x": math.nan}).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"history": "all"}, "history must be one of"),
        ({"max_length": 0}, "max_length"),
        ({"filter": object()}, "has no method fit_candidates"),
        ({"algorithm": "perceptron"}, "does not train segments"),
        ({"l1": 1.0}, "knows no L1 penalty"),
        ({"min_count": 1000}, "no test is true 1000 times"),
        ({"patterns": ["s:%x[b,3]"]}, "asks for column 3"),
        ({"filter": CandidateFilter(max_length=3, threshold=1e9)}, "keeps no candidate at all"),
    ],
)
def test_bad_options(options, fault):
    with pytest.raises(DataError, match=fault):
        small(**options).fit(X, Y)


def test_places_of_faults_in_files(tmp_path):
    (tmp_path / "ill.txt").write_text("a B-X\n\nb O\nc I-X\n")
    data = read_labeled(tmp_path / "ill.txt")
    with pytest.raises(DataError, match=r"ill.txt:4: tag 'I-X' is not IOB2"):
        small().fit(data.X, data.y)
    with pytest.raises(DataError, match=r"ill.txt:4: tag 'I-X' is not IOB2"):
        CandidateFilter().fit(data.X, data.y)


def test_segments_that_are_all_too_long_are_named():
    with pytest.warns(UserWarning, match="kept"), pytest.raises(DataError, match="the shortest has 2: raise max_len"):
        small(max_length=1, filter="bayes", long_segments="keep").fit(X[:1], Y[:1])
    with pytest.raises(DataError, match="filter_recall must be a number above 0 and at most 1"):
        small(filter="bayes", filter_recall=2.0).fit(X, Y)


def test_bad_data():
    with pytest.raises(DataError, match="sequence 1, token 2: tag 'E-P' is not IOB2"):
        small().fit([["a", "b", "c"]], [["B-P", "E-P", "I-P"]])
    with pytest.raises(DataError, match="no labeled segments"):
        small().fit([["a"]], [["O"]])
    with pytest.raises(DataError, match="2 sequences but 1"):
        small().fit([["a"], ["b"]], [["B-P"]])
    with pytest.raises(DataError, match="sample_weight"):
        small().fit(X, Y, sample_weight=[1.0])


def test_too_many_labels_for_histories_are_refused_with_an_estimate():
    words = [[f"w{i}"] for i in range(6000)]
    tags = [[f"B-L{i}"] for i in range(6000)]
    with pytest.raises(DataError, match=r"needs about \d+ GB"):
        small(max_length=1).fit(words, tags)


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        ("x:%x[b,0]", "must begin with s, u or p"),
        ("s:%x[0,0]", "needs a place in the segment"),
        ("s:%x[a,0]/%x[b,0]", "has a test for every token"),
        ("p:%x[e,0]", "looks only at places from the first token on"),
        ("u:%x[b,0]", "is a place in a segment"),
        ("s:%prefix[b,0]", "needs a third argument"),
        ("s:%y[b,0]", "there is no command %y"),
        ("s4-2:%x[b,0]", "lengths go from 1 up"),
        ("s:%x[e:e,0]", "a range goes from"),
        ("u:%length", "stands in patterns of s"),
        ("s:%x[@0,0]", "no position @0"),
    ],
)
def test_bad_patterns(pattern, fault):
    with pytest.raises(DataError, match=fault):
        parse_segment_patterns([pattern])


def found_in(patterns, words, begin, end):
    """The tests of one segment, by a model that has this segment only."""
    tags = ["O"] * begin + ["B-X"] + ["I-X"] * (end - begin - 1) + ["O"] * (len(words) - end)
    model = SemiMarkovCRF(patterns=patterns, max_length=9, filter=None, max_iter=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        objective = model.objective([words], [tags])
    return model.tests_.to_list(), objective


def test_what_patterns_find():
    words = ["the", "NF-kappa", "B", "p50", "of", "NF-kappa", "B", "p50"]
    patterns = [
        "s2:string=%norm[b:e,0]", "s2:around=%x[b-1,0]/%x[e+1,0]", "s2:len=%length[3]", "s2:again=%repeated[0]",
        "s2:pair=%x[e-1,0]/%x[e,0]", "s2:ends=%X[@1,0]/%x[@-1,0]", "s3-3:three=%suffix[b+1,0,2]",
    ]  # fmt: skip
    found, _ = found_in(patterns, words, 1, 4)
    assert sorted(found) == sorted([
        "s2:pair=B/p50", "s2:string=nf-@ b p0", "s2:around=the/of", "s2:len=3+", "s2:again=true", "s2:ends=the/p50",
        "s3-3:three=B",
    ])  # fmt: skip
    found, _ = found_in(["u:w=%x[0,0]", "s:in=%x[i,0]"], words, 1, 5)
    assert [text for text in found if text.startswith("Iu")] == ["Iu:w=B", "Iu:w=p50", "Iu:w=of"]
    assert [text for text in found if text.startswith("s:in")] == ["s:in=B", "s:in=p50"]


def test_presets_take_the_columns_that_there_are():
    one, three = segment_patterns("table3", 1), segment_patterns("table3", 3)
    assert set(one) < set(three)
    assert {"s:pB=%x[b,1]", "s2:cEE=%x[e-1,2]/%x[e,2]"} <= set(three)
    rows = [[(word, "N") for word in words] for words in X]
    assert small(patterns="table3").fit(rows, Y).predict(rows) == Y


def test_rows_of_a_filter_of_ones_own():
    class Every:
        def fit_candidates(self, X, y):
            return self.candidates(X)

        def candidates(self, X):
            return all_candidates(np.concatenate([[0], np.cumsum([len(x) for x in X])]).astype(np.int64), 3)

    own = small(filter=Every()).fit(X, Y)
    assert np.array_equal(own.weights_, small().fit(X, Y).weights_)


def test_f1_of_expected_choice_is_at_least_that_of_any_other():
    model = small(max_iter=3).fit(X, Y)
    assert evaluate_tags(Y, model.predict(X, maximize="f1")).f1 > 0.5
    everything = [segment for some in model.segment_marginals(X, threshold=0.0) for segment in some]
    gold = sum(segment.probability for segment in everything)

    def expected(spans):
        chances = [p for some in model.span_confidence(X, spans) for p in some]
        return 2 * sum(chances) / (len(chances) + gold)

    best = expected(model.predict_segments(X, maximize="f1"))
    assert best >= expected(model.predict_segments(X))
    for answers in itertools.product(*([spans for spans, _, _ in some] for some in model.predict_best(X, 6))):
        assert best >= expected(list(answers)) - 1e-12


@pytest.mark.parametrize("history", HISTORIES)
def test_explanations_add_up_to_the_lead_over_the_best_without(history):
    model = small(history=history, max_iter=6).fit(X, Y)
    short = [["NF", "kappa", "B", "in"], ["T", "cells", "AP", "1"], ["the", "cells", "B"]]
    explained = explain_segments(model, short, k=10**6)
    every = model.predict_best(short, 300)  # all
    assert any(why.other for some in explained for why in some)
    for spans, reasons, ranked in zip(model.predict_segments(short), explained, every, strict=True):
        assert [(why.begin, why.end, why.label) for why in reasons] == spans
        for why in reasons:
            span = (why.begin, why.end, why.label)
            (here, high, _), (there, low, _) = (
                next(row for row in ranked if (span in row[0]) is inside) for inside in (True, False)
            )
            assert why.lead == pytest.approx(high - low, abs=1e-9)
            assert sum(value for _, value in why.tests) == pytest.approx(why.lead, abs=1e-9)
            assert why.other == [one for one in there if one not in here]
    assert explain_segments(model, [["no", "cells", "here"], []])[1] == []
    with pytest.raises(DataError, match="no candidate"):
        model.rivals(X[:1], [(0, 7, "P")])


def test_the_cost_of_a_segment_is_measured_where_segments_are_few():
    X, y = TypedSegments(60, seed=5).labeled()
    X_test, y_test = TypedSegments(200, seed=5, first=300).labeled()
    options = {"max_length": 10, "filter": "bayes", "max_iter": 30}
    model = small(**options).fit(X, y)
    assert 0 < model.cost_ < 0.4  # a weak model must venture more
    measured = model.score(X_test, y_test)
    model.cost_ = 0.4
    assert measured > model.score(X_test, y_test)
    assert small(max_length=10, max_iter=3).fit(X[:2], y[:2]).cost_ == 0.4  # too few to tell
    seen = small(**options).fit(X, y, X, y)
    hits, total = seen._ratio_counts(list(X), y)
    assert seen.cost_ == best_ratio(hits, total) / 2
    right = [set(a) & set(b) for a, b in zip(seen.predict_segments(X), gold_spans(y), strict=True)]
    at = int(np.abs(RATIOS - 2 * seen.cost_).argmin())
    assert hits[at, 0] == sum(map(len, right))
    assert hits[at, 1] == sum(map(len, seen.predict_segments(X)))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("algorithm", ["lbfgs", "owlqn", "rprop"])
def test_an_objective_of_segments_that_is_not_finite_is_no_convergence(algorithm, bad, monkeypatch):
    X = [[("Ann",), ("saw",), ("New",), ("York",)], [("in",), ("Rome",)], [("Bob",), ("Lee",), ("left",)]]
    y = [["B-P", "O", "B-L", "I-L"], ["O", "B-L"], ["B-P", "I-P", "O"]]
    inner, calls = SegmentObjective.into, 0

    def into(self, theta, gradient):
        nonlocal calls
        calls += 1
        value = inner(self, theta, gradient)
        return value if calls <= 4 else bad

    monkeypatch.setattr(SegmentObjective, "into", into)
    model = SemiMarkovCRF(algorithm=algorithm, filter=None, tolerance=1e-2, max_length=2)
    monkeypatch.setattr(model, "_held_out_cost", lambda *arguments: 0.0)  # trains models of its own
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # some find no better point, some must say that they stop
        model.fit(X, y)
    assert model.stop_reason_ in ("no better point found", "diverged: the objective is not finite")
    assert np.isfinite(model.weights_).all()
    assert model.weights_.any()
    assert math.isfinite(model.objective_)


def test_a_compact_model_is_small_and_says_the_same(tmp_path):
    rng = random.Random(4)
    names = [f"n{i}" for i in range(60)]
    words, tags = [], []
    for _ in range(150):
        labels = [rng.randrange(12) for _ in range(rng.randint(1, 3))]
        words.append([w for label in labels for w in (f"in{rng.randrange(40)}", rng.choice(names), f"is{label}")])
        tags.append([t for label in labels for t in ("O", f"B-L{label}", "O")])
    whole, compact = (
        SemiMarkovCRF(max_iter=30, filter=None, compact=some).fit(words[:100], tags[:100]) for some in (False, True)
    )
    for name, model in (("whole", whole), ("compact", compact)):
        model.save(tmp_path / name)
    assert (tmp_path / "compact").stat().st_size < 0.25 * (tmp_path / "whole").stat().st_size
    assert (compact.theta_**2).sum() >= 0.99 * (whole.theta_**2).sum() * (1 - 1e-6)
    assert whole.score(words[100:], tags[100:]) > 0.9
    assert compact.score(words[100:], tags[100:]) == pytest.approx(whole.score(words[100:], tags[100:]), abs=0.01)
    again = textmill.load(tmp_path / "compact")
    assert again.predict(words) == compact.predict(words)
    assert again.predict_best(words[:5], 2) == compact.predict_best(words[:5], 2)
    assert compact.training_summary_["features"] == whole.training_summary_["features"]
    size = len(whole.tests_) * 13
    known = dict(zip(whole.tests_.to_list(), whole.theta_[:size].reshape(-1, 13), strict=True))
    table = compact.theta_[: len(compact.tests_) * 13].reshape(-1, 13)
    for number, test in enumerate(compact.tests_.to_list()):  # what is kept is what it was
        kept = table[number] != 0
        assert np.allclose(table[number][kept], known[test][kept], rtol=1e-6)
