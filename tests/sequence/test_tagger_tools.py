"""Comparison, tuning, explanation of taggers and analysis of their states."""

from __future__ import annotations

import io

import pytest

from papers.latent_crf.hidden_chains import HiddenChain
from textmill.corpus import Sentence, spans_of
from textmill.errors import DataError
from textmill.metrics import PairedCounts, SpanCounts
from textmill.sequence import (
    CRF,
    ConditionalMarkov,
    LatentCRF,
    best_cell,
    compare_columns,
    compare_tags,
    draw_tuning,
    explain_labels,
    refit_tagger,
    tune_taggers,
    write_training_log,
    write_tuning,
)

PLAIN = ["u:%x[0,0]", "b"]


@pytest.fixture(scope="module")
def chain():
    return HiddenChain({"A": 2, "B": 2}, vocabulary=12, random_state=1).sample(60, 10)


@pytest.fixture(scope="module")
def model(chain):
    return LatentCRF(patterns=PLAIN, states=2, noise=0.5, random_state=0).fit(chain.X, chain.y)


def test_mcnemar_of_the_worked_examples():
    many, few = PairedCounts(only_first=198, only_second=122), PairedCounts(only_first=10, only_second=2)
    assert many.mcnemar_exact() == pytest.approx(2.5413e-5, rel=1e-4)
    assert many.mcnemar(corrected=False).statistic == pytest.approx(18.05)
    assert many.mcnemar(corrected=False).p_value == pytest.approx(2.152e-5, rel=1e-3)
    assert many.mcnemar().statistic == pytest.approx(17.578, abs=1e-3)
    assert many.mcnemar().p_value == pytest.approx(2.757e-5, rel=1e-3)
    assert few.mcnemar_exact() == pytest.approx(0.038574, abs=1e-6)
    assert few.mcnemar().statistic == pytest.approx(4.0833, abs=1e-4)
    assert few.mcnemar().p_value == pytest.approx(0.043308, abs=1e-6)


@pytest.mark.parametrize(
    ("precision", "recall", "f"),
    [(90.33, 88.91, 89.61), (90.26, 88.21, 89.22), (89.83, 89.06, 89.44), (94.65, 94.03, 94.34), (88.12, 88.03, 88.07)],
)
def test_f_of_the_worked_examples(precision, recall, f):
    correct = 10_000_000
    proposed, gold = (round(100 * correct / share) for share in (precision, recall))
    counts = SpanCounts(right=correct, proposed=proposed, matched=correct, gold=gold)
    assert 100 * counts.f1 == pytest.approx(f, abs=0.006)


def test_chunks_of_the_worked_examples():
    assert [(begin + 1, end) for begin, end, _ in spans_of(["B", "O", "B", "I"])] == [(1, 1), (3, 4)]
    assert [(begin + 1, end) for begin, end, _ in spans_of(["B", "O", "B", "B"])] == [(1, 1), (3, 3), (4, 4)]


def test_two_taggers_are_compared_by_token_and_by_sequence():
    gold = [["B-NP", "I-NP", "O"]] * 40
    second = [["B-NP", "O", "O"]] * 20 + [["B-NP", "I-NP", "O"]] * 20
    both = compare_tags(gold, gold, second)
    assert (both.tokens.only_first, both.tokens.only_second) == (20, 0)
    assert (both.sequences.only_first, both.sequences.only_second) == (20, 0)
    assert both.differences["f1"].difference == pytest.approx(0.5)
    assert both.differences["f1"].p_value < 0.01
    assert "McNemar exact p = 1.907e-06" in both.report()
    assert both.to_json()["mcnemar"]["exact"] == pytest.approx(2 * 0.5**20)
    same = compare_tags(gold, gold, gold)
    assert same.tokens.mcnemar_exact() == 1.0
    one = [Sentence((("x",), ("A",), ("A",)))]
    with pytest.raises(DataError, match="gold labels differ"):
        compare_columns(one, [Sentence((("x",), ("B",), ("A",)))])
    with pytest.raises(DataError, match="1 sequences, the other 2"):
        compare_columns(one, one * 2)


def test_every_cell_of_a_grid_is_tried(chain):
    def make(**settings):
        return LatentCRF(patterns=PLAIN, noise=0.5, random_state=0, max_iter=15, **settings)

    grid = {"states": [1, 2], "l2": [0.1, 10.0]}
    cells = list(tune_taggers(make, grid, chain.X[:40], chain.y[:40], chain.X[40:], chain.y[40:]))
    assert [cell.settings for cell in cells] == [{"states": k, "l2": l2} for k in (1, 2) for l2 in (0.1, 10.0)]
    best = best_cell(cells)
    assert best.figure == max(cell.figure for cell in cells)
    assert best.tagger.score(chain.X[40:], chain.y[40:]) == pytest.approx(best.figure)
    again = refit_tagger(best.tagger, chain.X, chain.y)
    assert again.states_.tolist() == best.tagger.states_.tolist()
    assert sum(again.log_probability(chain.X, chain.y)) > sum(best.tagger.log_probability(chain.X, chain.y))
    text = io.StringIO()
    write_tuning(cells, text)
    assert text.getvalue().splitlines()[0] == "states,l2,figure,token_accuracy,objective,iterations,seconds"
    assert len(text.getvalue().splitlines()) == 5
    assert draw_tuning(cells).axes[0].get_ylabel() == "states"
    with pytest.raises(DataError, match="the grid is empty"):
        next(tune_taggers(make, {"l2": []}, chain.X, chain.y, chain.X, chain.y))


def test_explanations_add_up_to_the_change_of_the_score(chain):
    crf = CRF(patterns=PLAIN, algorithm="lbfgs", start_label=False).fit(chain.X, chain.y)
    X = chain.X[:3]
    labels, reasons = crf.predict(X), explain_labels(crf, X, k=50)
    for s, row in enumerate(reasons):
        for t, why in enumerate(row):
            assert why.label == labels[s][t]
            assert sum(value for _, value in why.tests) == pytest.approx(why.lead)
            changed = [*labels[s][:t], why.other, *labels[s][t + 1 :]]
            scores = {tuple(path): score for path, score, _ in crf.predict_best([X[s]], 2 ** len(X[s]))[0]}
            assert why.lead == pytest.approx(scores[tuple(labels[s])] - scores[tuple(changed)], abs=1e-9)


def test_explanations_of_hidden_states_name_the_states(chain, model):
    for why in explain_labels(model, chain.X[:1])[0]:
        assert why.state.startswith(why.label)
        assert why.other_state.startswith(why.other)
        assert why.probability + why.other_probability == pytest.approx(1.0)
    with pytest.raises(DataError, match="explain the labels of a CRF"):
        explain_labels(ConditionalMarkov(patterns=PLAIN, l1=0.1).fit(chain.X, chain.y), chain.X)


def test_the_course_of_a_training_is_written(model, tmp_path):
    write_training_log(model, tmp_path / "log.csv")
    lines = (tmp_path / "log.csv").read_text().splitlines()
    assert lines[0] == "iteration,objective,gradient_norm,active,seconds,cpu_seconds"
    assert len(lines) == 1 + model.n_iter_
    assert float(lines[-1].split(",")[1]) == pytest.approx(model.objective_, rel=1e-9)
