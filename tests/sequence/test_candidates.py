"""The filter of candidates against counts by enumeration; curves, audits, word lists."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

import textmill
from textmill.errors import DataError, ModelFileError
from textmill.sequence import CandidateFilter, all_candidates, gold_spans, read_labeled

X = [
    ["we", "cut", "NF", "kappa", "B", "in", "T", "cells"],
    ["the", "T", "cells", "with", "NF", "kappa", "B", "and", "AP", "1"],
    ["in", "B", "cells"],
    ["AP"],
]
Y = [
    ["O", "O", "B-P", "I-P", "I-P", "O", "B-C", "I-C"],
    ["O", "B-C", "I-C", "O", "B-P", "I-P", "I-P", "O", "B-P", "I-P"],
    ["O", "B-C", "I-C"],
    ["O"],
]


def by_enumeration(X, Y, longest, smoothing, left_out=None):
    """Logits of all candidates of X, from counts of all candidates one by one; words only."""
    counts = {kind: [Counter() for _ in range(5)] for kind in ("entity", "other")}
    totals = Counter()
    values = set()

    def tests(words, s, e):
        before = words[s - 1] if s else "<"
        behind = words[e] if e < len(words) else ">"
        return [[words[s]], [words[e - 1]], words[s:e], [before], [behind]]

    for number, (words, spans) in enumerate(zip(X, gold_spans(Y), strict=True)):
        values |= {*words, "<", ">"}
        gold = {(begin, end) for begin, end, _ in spans}
        for s in range(len(words)):
            for e in range(s + 1, min(len(words), s + longest) + 1):
                if number == left_out:
                    continue
                kind = "entity" if (s, e) in gold else "other"
                totals[kind] += 1
                for sort, some in enumerate(tests(words, s, e)):
                    counts[kind][sort].update(some)

    def logit(words, s, e):
        total = math.log(totals["entity"]) - math.log(totals["other"])
        for sort, some in enumerate(tests(words, s, e)):
            for value in some:
                for kind, sign in (("entity", 1), ("other", -1)):
                    table = counts[kind][sort]
                    total += sign * math.log((table[value] + smoothing) / (table.total() + smoothing * len(values)))
        return total

    return logit


def test_logits_are_those_of_enumerated_counts():
    chosen = CandidateFilter(max_length=3, spelling=False, smoothing=0.5, recall=1.0).fit(X, Y)
    logit = by_enumeration(X, Y, 3, 0.5)
    for words, found in zip(X, chosen.logits(X), strict=True):
        for (s, e), value in found.items():
            assert value == pytest.approx(logit(words, s, e), abs=1e-9)


def test_training_sentences_are_scored_without_their_own_counts():
    chosen = CandidateFilter(max_length=3, spelling=False, smoothing=0.5, recall=1.0)
    kept = chosen.fit_candidates(X, Y)
    lowest = []
    for number, (words, spans) in enumerate(zip(X, gold_spans(Y), strict=True)):
        logit = by_enumeration(X, Y, 3, 0.5, left_out=number)
        lowest += [logit(words, begin, end) for begin, end, _ in spans]
    assert chosen.threshold_ == pytest.approx(min(lowest), abs=1e-9)
    for number, words in enumerate(X):
        logit = by_enumeration(X, Y, 3, 0.5, left_out=number)
        spans = [(s, e) for s in range(len(words)) for e in range(s + 1, min(len(words), s + 3) + 1)]
        expected = [span for span in spans if logit(words, *span) >= chosen.threshold_ - 1e-12]
        assert kept.spans(number) == sorted(expected)


def test_numbers_of_candidates():
    assert all_candidates(np.array([0, 25]), 10).count == 205
    assert all_candidates(np.array([0, 5]), 10).count == 15
    assert all_candidates(np.array([0, 5, 5, 30]), 10).count == 220


def test_thresholds_of_the_specification():
    """A threshold on the posterior is one on the logit."""
    for tau, expected in ((1e-12, -27.631), (1e-15, -34.539), (1e-3, -6.906755)):
        assert math.log(tau / (1 - tau)) == pytest.approx(expected, abs=1e-3)


def test_audit_names_what_is_lost():
    chosen = CandidateFilter(max_length=2, recall=0.5).fit(X, Y)
    audit = chosen.audit(X, Y)
    assert audit.spans == 6
    assert audit.spans_kept + len(audit.lost) == 6
    long = [span for span in audit.lost if math.isnan(span.logit)]
    assert {span.text for span in long} == {"NF kappa B"}
    assert audit.candidates == all_candidates(np.array([0, 8, 18, 21, 22]), 2).count
    assert 0 < audit.possible_f1 < 1
    curve = chosen.curve(X, Y, points=5)
    assert (np.diff(curve[:, 0]) >= 0).all()
    assert (np.diff(curve[:, 1]) <= 0).all()
    assert curve[0, 2] == 1.0


def test_word_lists_are_kept_whatever_their_logit():
    nothing = CandidateFilter(max_length=3, threshold=1e9).fit(X, Y)
    assert nothing.candidates(X).count == 0
    listed = CandidateFilter(max_length=3, threshold=1e9, word_list=["t CELLS", "we"]).fit(X, Y)
    assert listed.candidates(X).spans(0) == [(0, 1), (6, 8)]


def test_columns_take_part(tmp_path):
    rows = [[(word, "NP" if word[0].isupper() else "O") for word in words] for words in X]
    chosen = CandidateFilter(max_length=3).fit(rows, Y)
    chosen.save(tmp_path / "f.mill")
    again = textmill.load(tmp_path / "f.mill", verify=True)
    assert again.candidates(rows).spans(0) == chosen.candidates(rows).spans(0)
    again.counts_ = -np.asarray(again.counts_)
    with pytest.raises(ModelFileError, match="negative"):
        again.check_values()


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"max_length": 0}, "max_length"),
        ({"recall": 0}, "recall"),
        ({"smoothing": 0}, "smoothing"),
        ({"columns": [3]}, "columns has 3"),
    ],
)
def test_bad_options(options, fault):
    with pytest.raises(DataError, match=fault):
        CandidateFilter(**options).fit(X, Y)


def test_no_spans_are_refused():
    with pytest.raises(DataError, match="no labeled spans"):
        CandidateFilter().fit([["a"]], [["O"]])
    with pytest.raises(DataError, match="1 sequences but 2"):
        CandidateFilter().fit([["a"]], [["O"], ["O"]])


def test_a_filter_can_be_fitted_again_to_other_sequences():
    once = CandidateFilter(max_length=2)
    once.fit([["a", "B"]] * 3, [["O", "B-X"]] * 3).candidates([["a", "B"]])
    X, y = [["c", "D", "D"], ["c", "c", "D"]] * 2, [["O", "B-X", "I-X"], ["O", "O", "B-X"]] * 2
    again = once.fit(X, y).logits(X)
    assert again == CandidateFilter(max_length=2).fit(X, y).logits(X)


@pytest.mark.data
def test_few_candidates_of_jnlpba_hold_nearly_all_segments(data):
    train = read_labeled(data / "jnlpba" / "train.iob2", document="###MEDLINE:")
    cut = len(train.X) * 9 // 10
    X, y = train.X[cut:], train.y[cut:]
    chosen = CandidateFilter(recall=0.995).fit(train.X[:cut], train.y[:cut])
    kept = chosen.candidates(X).count
    audit = chosen.audit(X, y)
    assert audit.n_kept == kept
    assert audit.candidates > 350_000
    assert audit.kept_share <= 0.15
    long = sum(math.isnan(span.logit) for span in audit.lost)
    assert audit.spans_kept / (audit.spans - long) >= 0.99  # of those of at most ten tokens
