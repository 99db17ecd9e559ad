"""Treebank transfer: recovery of a known language, agreement of methods, what models give, bad input."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta

from tests.reference.transfer import FAMILIES, SOURCE, source_tree, target_tree
from textmill import load
from textmill.corpus import Tree, parse_tree, read_conllu
from textmill.errors import DataError
from textmill.lm import NGramModel
from textmill.tasks.transfer import (
    FringeCounts,
    Rows,
    TreebankTransfer,
    WeakIdentification,
    conllu_of,
    draw_traces,
    effective_size,
    evaluate,
    forest_rules,
    fringe_perplexity,
    split_r_hat,
    tree_of,
)
from textmill.trees import Acceptor, weave


@pytest.fixture(scope="module")
def language() -> tuple[list[Tree], list[Tree], list[list[str]]]:
    rng = np.random.default_rng(0)
    corpus = [target_tree(rng).tags() for _ in range(20_000)]
    gold = [target_tree(rng) for _ in range(2000)]
    return gold, [source_tree(tree, rng) for tree in gold], corpus


def fitted(sources: list[Tree], corpus: list[list[str]], **settings: object) -> TreebankTransfer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakIdentification)
        return TreebankTransfer(families=FAMILIES, **settings).fit(sources, corpus=corpus)  # type: ignore[arg-type]


def matches(model: TreebankTransfer, gold: list[Tree], k: int = 10) -> float:
    return float(np.mean([evaluate(gold, trees).exact_match for trees in model.sample(k)]))


@pytest.mark.parametrize(
    "settings", [{}, {"method": "collapsed", "max_iter": 120, "burn_in": 40}], ids=["gibbs", "collapsed"]
)
def test_a_known_language_is_recovered(
    language: tuple[list[Tree], list[Tree], list[list[str]]], settings: dict[str, object]
) -> None:
    gold, sources, corpus = language
    model = fitted(sources, corpus, **settings)
    share = matches(model, gold)
    truth = np.array([0.90, 0.05, 0.05, 0.85, 0.10, 0.05, 0.80, 0.05, 0.15, 0.95, 0.05, 0.90, 0.10])
    np.testing.assert_allclose(model.parameters_[6:9], truth[6:9], atol=0.05)
    if not settings:  # as it comes
        assert model.converged_
        assert max(model.summary().to_dict()["r_hat"]) < 1.1
    weak = dict(zip(model.summary().to_dict()["parameter"], model.summary().to_dict()["weak"], strict=True))
    assert weak["C: S O v -> S v O"]
    assert not weak["C: v S O -> S v O"]
    model.parameters_, model.draws_ = truth, truth.reshape(1, 1, -1)
    ceiling = matches(model, gold)
    assert abs(share - ceiling) < 0.01
    assert evaluate(gold, sources).exact_match < 0.03 < 0.45 < share


def test_weak_rows_are_warned_of(language: tuple[list[Tree], list[Tree], list[list[str]]]) -> None:
    _, sources, corpus = language
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", WeakIdentification)
        TreebankTransfer(families=FAMILIES, max_iter=40, burn_in=20).fit(sources[:300], corpus=corpus[:2000])
    assert any("the data say little about" in str(warning.message) for warning in caught)


def test_em_and_variational_rise_to_parameters_like_those_of_the_samplers(
    language: tuple[list[Tree], list[Tree], list[list[str]]],
) -> None:
    gold, sources, corpus = language
    gibbs = fitted(sources, corpus, max_iter=300)
    for method in ("em", "variational"):
        model = fitted(sources, corpus, method=method, max_iter=2000)
        assert model.converged_
        assert (np.diff(model.trace_[0]) > -1e-6 * abs(model.trace_[0, -1])).all()
        np.testing.assert_allclose(model.parameters_[6:9], gibbs.parameters_[6:9], atol=0.05)
        assert matches(model, gold) > 0.45


def test_the_full_model_with_much_text_is_the_reduced_one(
    language: tuple[list[Tree], list[Tree], list[list[str]]],
) -> None:
    _, sources, corpus = language
    settings = {"max_iter": 120, "burn_in": 40}
    reduced = fitted(sources[:300], corpus, **settings)
    full = fitted(sources[:300], corpus, full=True, **settings)
    np.testing.assert_allclose(full.parameters_[6:9], reduced.parameters_[6:9], atol=0.04)
    np.testing.assert_allclose(full.weights_, reduced.weights_, atol=0.02)


def test_conjugate_updates_are_those_of_the_worked_example() -> None:
    rows = Rows(np.zeros(3, np.int32), np.array([2.0, 6.0, 1.0]), np.zeros(1))
    counts = np.array([1.0, 3.0, 0.0])
    assert rows.mean(counts)[1] == pytest.approx(9 / 13)
    rng = np.random.default_rng(0)
    draws = np.array([rows.draw(counts, rng) for _ in range(4000)])
    np.testing.assert_allclose(draws.mean(axis=0), np.array([3, 9, 1]) / 13, atol=0.01)
    assert draws.sum(axis=1) == pytest.approx(np.ones(4000))


def test_sticks_have_their_expected_logarithms_divergence_and_maximum() -> None:
    rows = Rows.even(np.array([0, 0, 0, 1, 1], np.int32), 1.5, sticks=True)
    counts, rng = np.array([4.0, 0.5, 2.0, 1.0, 3.0]), np.random.default_rng(0)
    draws = np.array([rows.draw(counts, rng) for _ in range(8000)])
    np.testing.assert_allclose(rows.geometric(counts), np.exp(np.log(draws).mean(axis=0)), rtol=0.05)
    prior = np.array([rows.draw(np.zeros(5), rng) for _ in range(6000)])
    np.testing.assert_allclose(rows.prior_deviation(), prior.std(axis=0), rtol=0.05)
    inner = [0, 1, 3]
    shares = rows.stick_shares(draws)[:, inner]
    first, later = np.array([5.5, 2.0, 2.5]), np.array([4.0, 3.5, 4.5])
    ratio = beta.logpdf(shares, first, later) - beta.logpdf(shares, 1.5, 1.5)
    assert rows.divergence(counts) == pytest.approx(float(ratio.sum(axis=1).mean()), rel=0.05)
    best = rows.maximum(counts)
    np.testing.assert_allclose(rows.stick_shares(best)[inner], (first - 1) / (first + later - 2), rtol=1e-12)

    def objective(x: np.ndarray) -> float:
        return rows.log_prior(x) + float((counts * np.log(x)).sum())

    for _ in range(50):  # no neighbor is better
        other = best * np.exp(rng.normal(0, 0.05, 5))
        other[:3] /= other[:3].sum()
        other[3:] /= other[3:].sum()
        assert objective(other) <= objective(best) + 1e-9


def test_sticks_are_not_a_uniform_dirichlet() -> None:
    row, rng = np.zeros(3, np.int32), np.random.default_rng(0)
    sticks, even = Rows.even(row, 1.0, sticks=True), Rows.even(row, 1.0)
    zero = np.zeros(3)
    assert sticks.mean(zero).tolist() == [0.5, 0.25, 0.25]
    assert even.mean(zero) == pytest.approx([1 / 3] * 3)
    for rows in (sticks, even):
        draws = np.array([rows.draw(np.array([4.0, 0.0, 2.0]), rng) for _ in range(4000)])
        np.testing.assert_allclose(draws.mean(axis=0), rows.mean(np.array([4.0, 0.0, 2.0])), atol=0.012)


@pytest.mark.parametrize("method", ["em", "variational"])
def test_sticks_can_be_climbed_to(language: tuple[list[Tree], list[Tree], list[list[str]]], method: str) -> None:
    _, sources, corpus = language
    model = fitted(sources[:400], corpus, method=method, sticks=True, max_iter=300)
    assert (np.diff(model.trace_[0]) > -1e-6 * abs(model.trace_[0, -1])).all()
    assert model.parameters_[6:9].sum() == pytest.approx(1.0)
    shares = model.summary("sticks").to_dict()["mean"]
    x = model.parameters_[6:9]
    assert shares[6:9] == pytest.approx([x[0], x[1] / (1 - x[0]), 1.0])


def test_tiny_prior_counts_give_finite_draws() -> None:
    rows = Rows.even(np.zeros(4, np.int32), 1e-4)
    draw = rows.draw(np.zeros(4), np.random.default_rng(0))
    assert np.isfinite(draw).all()
    assert draw.sum() == pytest.approx(1.0)


def test_n_grams_of_the_full_model_have_intervals(
    language: tuple[list[Tree], list[Tree], list[list[str]]],
) -> None:
    _, sources, corpus = language
    model = fitted(sources[:50], corpus[:200], full=True, max_iter=60, burn_in=20)
    columns = model.summary("events").to_dict()
    at = columns["event"].index("# -> v")
    assert columns["low"][at] < columns["mean"][at] < columns["high"][at]
    assert set(columns) == {"event", "mean", "low", "high", "r_hat", "ess"}
    assert set(fitted(sources[:50], corpus[:200], max_iter=20, burn_in=5).summary("events").to_dict()) == {
        "event",
        "mean",
    }


def test_one_draw_of_several_iterations_is_kept(
    language: tuple[list[Tree], list[Tree], list[list[str]]],
) -> None:
    _, sources, corpus = language
    every = fitted(sources[:20], corpus[:200], max_iter=40, burn_in=10, thin=1)
    some = fitted(sources[:20], corpus[:200], max_iter=40, burn_in=10, thin=7)
    assert every.draws_.shape[1] == 30
    assert np.array_equal(some.draws_, every.draws_[:, ::7])
    assert np.array_equal(some.parameters_, every.parameters_)  # means are over all iterations
    with pytest.raises(ValueError, match="thin"):
        TreebankTransfer(families=FAMILIES, thin=0).fit(sources[:5], corpus=corpus[:20])


def test_a_larger_language_model_judges_what_a_small_one_leaves(
    language: tuple[list[Tree], list[Tree], list[list[str]]],
) -> None:
    gold, sources, corpus = language
    model = fitted(sources[:200], corpus, max_iter=40, burn_in=10)
    lm = NGramModel(order=4).fit(corpus)
    wide = model.best(3, language_model=lm, beam=1000.0)
    whole = weave(model._restored().forests, order=4)
    weights = np.zeros(whole.n_events)
    for at, (history, word) in enumerate(whole.events):
        distribution = lm.distribution(history, start=len(history) < 3)
        weights[at] = distribution[lm.id_of("</s>" if word == "$" else word)]
    log_z = whole.expect(model.parameters_, weights)[0]
    for s, (own, exact) in enumerate(zip(wide, whole.best(model.parameters_, weights, 3), strict=True)):
        assert [score for _, score in own] == pytest.approx([score - log_z[s] for score, _ in exact], abs=1e-9)
    narrow = [trees[0][0] for trees in model.best(language_model=lm, beam=4.0)]
    assert np.mean([a == b[0][0] for a, b in zip(narrow, wide, strict=True)]) > 0.95
    assert evaluate(gold[:200], narrow).exact_match > 0.4


def test_proposals_without_n_grams_and_by_rejection(
    language: tuple[list[Tree], list[Tree], list[list[str]]],
) -> None:
    gold, sources, corpus = language
    model = fitted(sources, corpus, max_iter=40, burn_in=10)
    rejected = evaluate(gold, model.sample(1, by="rejection")[0]).exact_match
    assert rejected == pytest.approx(evaluate(gold, model.sample(1)[0]).exact_match, abs=0.05)
    assert evaluate(gold, model.sample(1, by="forest")[0]).exact_match < rejected - 0.1
    rules = forest_rules(model, SOURCE)
    totals: dict[str, float] = {}
    for rule in rules:
        totals[rule.node] = totals.get(rule.node, 0.0) + rule.probability
    assert list(totals.values()) == pytest.approx([1.0] * len(totals))


def test_families_without_a_node_are_named() -> None:
    with pytest.raises(DataError, match="no node of the trees has the label and the children of a family, such as 'X"):
        TreebankTransfer(families="X: a b | b a").fit([SOURCE], corpus=[["a"]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", WeakIdentification)
        TreebankTransfer(families=f"{FAMILIES}\nX: a b | b a", max_iter=3, burn_in=1).fit([SOURCE], corpus=[["a"]])
    assert "no node of the trees belongs to 1 of 3 families ('X: a b | b a')" in str(caught[0].message)


def test_runs_are_the_same_for_any_number_of_threads_and_are_saved(
    language: tuple[list[Tree], list[Tree], list[list[str]]], tmp_path: Path
) -> None:
    _, sources, corpus = language
    settings = {"max_iter": 20, "burn_in": 10, "n_chains": 2}
    one = fitted(sources[:100], corpus[:500], n_jobs=1, **settings)
    eight = fitted(sources[:100], corpus[:500], n_jobs=8, **settings)
    assert one.draws_.tolist() == eight.draws_.tolist()
    assert one.sample(2) == eight.sample(2)
    one.save(tmp_path / "model.mill")
    again = load(tmp_path / "model.mill", expect=TreebankTransfer)
    assert again.sample(2) == one.sample(2)
    assert [trees[0][0] for trees in again.best()] == [trees[0][0] for trees in one.best()]
    assert again.log_likelihood() == pytest.approx(one.log_likelihood(), rel=1e-12)


def test_interrupted_chains_go_on_from_their_checkpoint(
    language: tuple[list[Tree], list[Tree], list[list[str]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, sources, corpus = language
    settings = {"families": FAMILIES, "max_iter": 30, "burn_in": 10, "n_chains": 2}
    whole = fitted(sources[:50], corpus[:500], **{key: settings[key] for key in ("max_iter", "burn_in", "n_chains")})
    calls = 0
    draw = Rows.draw

    def interrupted(self: Rows, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls == 41:
            raise KeyboardInterrupt
        return draw(self, counts, rng)

    file = tmp_path / "state.npz"
    monkeypatch.setattr(Rows, "draw", interrupted)
    with pytest.raises(KeyboardInterrupt):
        TreebankTransfer(**settings).fit(sources[:50], corpus=corpus[:500], checkpoint=file)  # type: ignore[arg-type]
    monkeypatch.setattr(Rows, "draw", draw)
    assert file.exists()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakIdentification)
        again = TreebankTransfer(**settings).fit(sources[:50], corpus=corpus[:500], checkpoint=file)  # type: ignore[arg-type]
    assert again.draws_.tolist() == whole.draws_.tolist()
    with pytest.raises(DataError, match="a checkpoint of another run"):
        TreebankTransfer(**(settings | {"prior": 2.0})).fit(sources[:50], corpus=corpus[:500], checkpoint=file)  # type: ignore[arg-type]


def test_language_models_and_acceptors_take_the_place_of_raw_text(
    language: tuple[list[Tree], list[Tree], list[list[str]]],
) -> None:
    gold, sources, corpus = language
    settings = {"families": FAMILIES, "max_iter": 60, "burn_in": 20, "n_chains": 2}
    lm = NGramModel(order=3).fit(corpus[:5000])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakIdentification)
        model = TreebankTransfer(order=3, **settings).fit(sources[:500], language_model=lm)  # type: ignore[arg-type]
        arcs = [(p, w, q, 0.25) for p, q in ((0, 0), (0, 1), (1, 1)) for w in "anv"]
        other = TreebankTransfer(**settings).fit(sources[:50], acceptor=Acceptor.of(0, arcs, {1: 0.25}))  # type: ignore[arg-type]
    assert matches(model, gold[:500], 3) > 0.4
    assert len(other.best()[0]) == 1
    assert fringe_perplexity(gold[:200], lm) < fringe_perplexity(sources[:200], lm)


def test_consensus_trees_have_the_brackets_of_most_samples(
    language: tuple[list[Tree], list[Tree], list[list[str]]],
) -> None:
    gold, sources, corpus = language
    model = fitted(sources[:300], corpus, max_iter=60, burn_in=20, n_chains=2)
    consensus = model.consensus(30)
    sampled = evaluate(gold[:300], model.sample(1)[0]).brackets.f1
    assert evaluate(gold[:300], [tree for tree, _ in consensus]).brackets.f1 > sampled
    assert all(0 < share <= 1 for _, shares in consensus for share in shares.values())
    assert draw_traces(model).axes[0].get_ylabel() == "log likelihood"
    assert draw_traces(model, "C: v S O -> S v O").axes
    with pytest.raises(DataError, match="there is no parameter 'x'"):
        draw_traces(model, "x")


def test_diagnostics_know_mixed_and_unmixed_chains() -> None:
    rng = np.random.default_rng(0)
    good = rng.normal(size=(4, 400, 1))
    assert split_r_hat(good)[0] < 1.02
    assert 1200 < effective_size(good)[0] < 2500
    apart = good + np.arange(4).reshape(4, 1, 1)
    assert split_r_hat(apart)[0] > 1.4
    slow = np.cumsum(rng.normal(size=(4, 400, 1)), axis=1)
    assert effective_size(slow)[0] < 100
    assert split_r_hat(np.ones((2, 10, 1)))[0] == 1.0
    assert np.isinf(split_r_hat(np.ones((2, 2, 1)))[0])


def test_dependency_trees_go_in_and_out() -> None:
    rows = ["1 old old ADJ _ _ 2 amod _ _", "2 men men NOUN _ _ 3 nsubj _ _", "3 sleep sleep VERB _ _ 0 root _ _"]
    (sentence,) = read_conllu(io.BytesIO("\n".join(rows).replace(" ", "\t").encode()))
    tree = tree_of(sentence)
    assert str(tree) == "(root (nsubj (amod (ADJ old)) (NOUN men)) (VERB sleep))"
    assert [row[6:8] for row in conllu_of(tree)] == [("2", "amod"), ("3", "nsubj"), ("0", "root")]
    crossing = ["1 a a X _ _ 3 x _ _", "2 b b X _ _ 4 x _ _", "3 c c X _ _ 4 x _ _", "4 d d X _ _ 0 root _ _"]
    crossing[0] = "1 a a X _ _ 3 x _ _"
    crossing[1] = "2 b b X _ _ 4 x _ _"
    (bad,) = read_conllu(io.BytesIO("\n".join(crossing).replace(" ", "\t").encode()))
    with pytest.raises(DataError, match="not one stretch of words"):
        tree_of(bad)
    with pytest.raises(DataError, match="has two words of its own"):
        conllu_of(parse_tree("(NP (DT the) (NN dog))"))


@pytest.mark.parametrize(
    ("settings", "arguments", "message"),
    [
        ({}, {}, "pass one of corpus, language_model and acceptor"),
        ({"full": True}, {"acceptor": Acceptor.of(0, [(0, "a", 0, 1.0)], {0: 1.0})}, "the full model learns n-grams"),
        ({"method": "guess"}, {"corpus": [["a"]]}, "method"),
        ({"families": ""}, {"corpus": [["a"]]}, "no family is declared"),
        ({"sticks": True, "method": "collapsed"}, {"corpus": [["a"]]}, "method 'collapsed' has no sticks"),
        ({}, {"corpus": []}, "there is no raw text"),
        ({}, {"corpus": ["a n v"]}, "text 1 is a string"),
        ({"burn_in": 2000}, {"corpus": [["a"]]}, "burn_in"),
    ],
)
def test_bad_input_is_named(settings: dict[str, object], arguments: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        TreebankTransfer(**({"families": FAMILIES} | settings)).fit([SOURCE], **arguments)  # type: ignore[arg-type]


def test_bad_trees_are_named() -> None:
    with pytest.raises(DataError, match="there is no source tree"):
        TreebankTransfer(families=FAMILIES).fit([], corpus=[["a"]])
    with pytest.raises(DataError, match="tree 2: children 'O S v' of 'C' stand in an order"):
        TreebankTransfer(families=FAMILIES).fit([SOURCE, parse_tree("(C (O (n 1)) (S (n 2)) (v 3))")], corpus=[["a"]])
    with pytest.raises(DataError, match="1 trees cannot be compared with 2"):
        evaluate([SOURCE, SOURCE], [SOURCE])
    with pytest.raises(DataError, match="tree 1 has other words"):
        evaluate([SOURCE], [parse_tree("(S (a x))")])
    assert FringeCounts([["a"]], order=3, constant=1.0).prior([(("a",), "$")])[1].tolist() == [2.0]


def test_a_model_of_the_format_before_still_gives_its_trees() -> None:
    old = load(Path(__file__).parents[2] / "files" / "tasks" / "transfer-1.mill", expect=TreebankTransfer)
    assert str(old.best()[0][0][0]) == "(S (NP (NN mill) (JJ old)) (VP (VBZ turns)))"


def test_an_acceptor_of_a_file_is_checked() -> None:
    for values in ([0], [0, [[0, "a"]], []], [-1, [], []]):
        with pytest.raises(DataError, match="acceptor"):
            Acceptor.from_list(values)
