"""Grammars of treebanks: their rules sum to 1, their best trees are those of enumeration, no sentence fails."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tests.reference.grammar import derivations
from textmill import load
from textmill.corpus import Tree, parse_tree, read_trees
from textmill.errors import DataError, ModelFileError
from textmill.metrics import BracketCounts
from textmill.trees import ScoredTree, TreebankGrammar, bare_tree, parsing
from textmill.trees.lexicon import Lexicon, shapes_of
from textmill.trees.rules import ROOT, Counts, build_rules, coarse_rules

TOY = [
    "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))))",
    "(S (NP (DT a) (NN man)) (VP (VBZ sees) (NP (NP (DT the) (NN dog)) (PP (IN with) (NP (DT a) (NN hat))))))",
    "(S (NP (NN man)) (VP (VBZ sleeps) (PP (IN with) (NP (NN cat)))))",
    "(S (NP (PRP he)) (VP (VBZ sleeps)))",
    "(S (NP (PRP she)) (VP (VP (VBZ sees) (NP (PRP he))) (CC and) (VP (VBZ sleeps))))",
]


def toy() -> list[Tree]:
    return [parse_tree(text) for text in TOY]


@pytest.mark.parametrize(("vertical", "horizontal"), [(1, 0), (1, 2), (2, 1), (2, 2), (3, 2)])
def test_rules_of_a_symbol_sum_to_one(vertical: int, horizontal: int) -> None:
    counts = Counts.of(toy(), vertical=vertical, horizontal=horizontal)
    rules = build_rules(counts, strength=0.5)
    begun = np.zeros(len(rules.label))
    np.add.at(begun, rules.state_symbol[rules.begin_state], np.exp(rules.begin))
    single = np.zeros(len(rules.label))
    for below in range(len(rules.label)):
        for c in range(rules.chain_at[below], rules.chain_at[below + 1]):
            if rules.chain_label_at[c + 1] - rules.chain_label_at[c] == 1:
                single[rules.chain_top[c]] += np.exp(rules.chain[c])
    parents = np.unique(rules.state_symbol)
    np.testing.assert_allclose((begun + single)[parents], 1.0, rtol=1e-9)
    for state in range(len(rules.stop)):
        steps = np.exp(rules.step[rules.step_at[state] : rules.step_at[state + 1]]).sum()
        assert steps + np.exp(rules.stop[state]) == pytest.approx(1.0, abs=1e-3)  # faint ones are left out


def test_without_smoothing_rules_are_relative_frequencies() -> None:
    counts = Counts.of(toy(), vertical=1, horizontal=1)
    rules = build_rules(counts, strength=1e-12)
    names = counts.labels
    (np_first,) = (
        np.exp(rules.begin[b])
        for b in range(rules.begin_at[names.index("DT")], rules.begin_at[names.index("DT") + 1])
        if names[rules.label[rules.state_symbol[rules.begin_state[b]]]] == "NP"
    )
    assert np_first == pytest.approx(5 / 11)  # of eleven NPs five begin with DT, five are single, one begins with NP


def test_the_coarse_grammar_lets_any_label_stand_under_any_other() -> None:
    coarse = coarse_rules(Counts.of(toy(), vertical=1, horizontal=0), strength=1.0)
    root = 0
    assert (np.delete(np.delete(coarse.step, root, 0), root, 1) > 0).all()
    assert coarse.chain[:, root].min() >= 0
    assert (coarse.chain[1:, root] > 0).all()


@pytest.mark.parametrize(("vertical", "horizontal"), [(1, 0), (1, 1), (2, 2), (3, 1)])
def test_k_best_trees_are_those_of_enumeration(vertical: int, horizontal: int) -> None:
    grammar = TreebankGrammar(vertical=vertical, horizontal=horizontal, share=1e-9).fit(toy())
    words = ["the", "man", "sees", "she"]
    best = grammar.k_best([words], k=40)[0]
    lexicon = Lexicon(
        grammar.words_.to_list(), grammar.word_tag_, grammar.word_parent_, grammar.word_count_, len(grammar.labels_)
    )
    rules = grammar.fine_
    symbols = []
    for word in words:
        entries = []
        for label, weight in zip(*lexicon.weights(word, None), strict=True):
            for symbol in np.flatnonzero(rules.label == label):
                above = lexicon.above(word, label, int(rules.above[rules.group[symbol]]))
                entries.append((int(symbol), float(np.log(weight)) + above))
        symbols.append(entries)
    expected = derivations(rules, symbols)
    # the beam may drop what is far below the best; what is left must be exact and in order
    near = [score for score, _ in expected if score > expected[0][0] - 3.0]
    assert best[0].log_probability == pytest.approx(expected[0][0], rel=1e-12)
    assert [tree.log_probability for tree in best][: len(near)] == pytest.approx(near[:40], rel=1e-12)
    assert all(tree.tree.leaves() == words for tree in best)
    assert len({str(tree.tree) for tree in best[: len(near)]}) == len(best[: len(near)])


def test_one_best_is_the_first_of_k_best() -> None:
    grammar = TreebankGrammar().fit(toy())
    sentences = [text.split() for text in ("the cat sees he", "he and she", "with with with", "dog")]
    assert grammar.parse(sentences) == [best[0].tree for best in grammar.k_best(sentences, k=3)]


def test_trees_are_the_same_for_any_number_of_threads() -> None:
    grammar = TreebankGrammar().fit(toy())
    sentences = [tree.leaves() for tree in toy()] * 20
    expected = grammar.set_params(n_jobs=1).k_best(sentences, k=2)
    for n_jobs in (2, 5):
        assert grammar.set_params(n_jobs=n_jobs).k_best(sentences, k=2) == expected


def test_no_sentence_fails() -> None:
    grammar = TreebankGrammar().fit(toy())
    sentences = [["and"] * 7, ["zzz", "QQQ", "1999"], ["with"], ["he"] * 30]
    tags = [["CC"] * 7, ["XX", "YY", "CD"], ["IN"], ["PRP"] * 30]
    for trees in (grammar.parse(sentences), grammar.parse(sentences, tags)):
        assert [tree.leaves() for tree in trees] == sentences
    assert [tree.tags() for tree in grammar.parse(sentences, tags)] == tags


def random_treebank(labels: int, tags: int) -> list[Tree]:
    """Trees of made-up rules, four for each label."""
    rng = np.random.default_rng(0)

    def part(label: int) -> str:
        return f"X{label}" if rng.random() < 0.45 else f"t{rng.integers(tags)}"

    rules = [
        [[part(c) for c in rng.integers(labels, size=rng.integers(2, 4))] for _ in range(4)] for _ in range(labels)
    ]

    def grow(label: str, depth: int) -> Tree:
        if label[0] == "t":
            return Tree(label, (f"w{label}{rng.integers(9)}",))
        below = rules[int(label[1:])][rng.integers(4)]
        return Tree(label, tuple(grow(one if depth < 5 else f"t{rng.integers(tags)}", depth + 1) for one in below))

    return [grow("X0", 0) for _ in range(80)]


def test_a_run_of_150_words_is_parsed_by_the_first_search_that_is_wide_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first search finds no tree, the second does; the widest would find another tree, with more work."""
    trees = random_treebank(10, 12)
    words = [word for tree in trees for word in tree.leaves()][100:250]
    grammar = TreebankGrammar(n_jobs=1).fit(trees)

    def parsed() -> ScoredTree:
        (found,) = grammar.k_best([words], k=1)[0]
        return found

    found, beam, share = parsed(), parsing._BEAM, grammar.share
    assert found.tree.leaves() == words

    def search_from(number: int) -> ScoredTree:
        """What is found when the first search is as wide as the one of that number."""
        wider = (1.0, 1.3, 1.7)[number]
        monkeypatch.setattr(parsing, "_BEAM", wider * beam)
        grammar.share = share * 1e-3 ** ((wider - 1.0) / 2.0)
        return parsed()

    assert search_from(1) == found
    assert search_from(2).log_probability > found.log_probability


def test_a_grammar_learns_its_own_treebank_and_is_saved(tmp_path: Path) -> None:
    grammar = TreebankGrammar().fit(toy())
    counts = grammar.evaluate(toy(), tagged=True)
    assert counts.f1 > 0.9
    assert grammar.score(toy()) > 0.9
    grammar.save(tmp_path / "grammar.mill")
    again = load(tmp_path / "grammar.mill", expect=TreebankGrammar)
    assert again.k_best([["the", "cat", "sleeps"]], k=3) == grammar.k_best([["the", "cat", "sleeps"]], k=3)
    again.save(tmp_path / "again.mill")
    assert (tmp_path / "again.mill").read_bytes() == (tmp_path / "grammar.mill").read_bytes()


def test_a_grammar_that_does_not_hold_together_is_not_saved(tmp_path: Path) -> None:
    grammar = TreebankGrammar().fit(toy())
    grammar.fine_ = grammar.fine_._replace(state_symbol=grammar.fine_.state_symbol + 1000)
    with pytest.raises(ModelFileError, match="does not hold together"):
        grammar.save(tmp_path / "grammar.mill")


def test_parents_and_siblings_matter() -> None:
    trees = [parse_tree("(S (A (X (a a) (b b))) (B (X (b b) (a a))))")] * 3
    grammar = TreebankGrammar().fit(trees)
    assert grammar.evaluate(trees, tagged=True).exact_match == 1.0
    plain = Counts.of(trees, vertical=1, horizontal=0)
    assert len(build_rules(plain, strength=1.0).label) < len(grammar.fine_.label)


def test_bare_trees_have_no_traces_functions_and_doubled_labels() -> None:
    tree = parse_tree("(S (NP-SBJ (-NONE- *)) (VP (VP (VB go))))")
    assert str(bare_tree(tree)) == "(S (VP (VB go)))"
    assert bare_tree(parse_tree("(S (-NONE- *))")) is None
    assert ROOT not in str(TreebankGrammar().fit([tree]).parse([["go"]])[0])


@pytest.mark.parametrize(
    ("sentences", "tags", "message"),
    [
        (["the dog"], None, "sentence 0 is a string; pass lists of words"),
        ([["a"], []], None, "sentence 1 has no words"),
        ([["a", "dog"]], [["DT"]], "has 2 words but 1 tags"),
        ([["a", "dog"]], [], "has 2 words but 0 tags"),
    ],
)
def test_bad_sentences_are_named(sentences: list[list[str]], tags: list[list[str]] | None, message: str) -> None:
    with pytest.raises(DataError, match=message):
        TreebankGrammar().fit(toy()).parse(sentences, tags)


def test_bad_treebanks_are_named() -> None:
    with pytest.raises(DataError, match="no tree with words; pass a treebank"):
        TreebankGrammar().fit([])
    with pytest.raises(DataError, match="entry 1 is str, not a tree"):
        TreebankGrammar().fit(["(S (NN a))"])  # type: ignore[list-item]
    with pytest.raises(DataError, match="tree 1: leaf 'the' stands directly under 'NP'"):
        TreebankGrammar().fit([parse_tree("(NP the (NN dog))")])
    with pytest.raises(DataError, match="vertical"):
        TreebankGrammar(vertical=0).fit(toy())


def test_unknown_words_have_tags_by_their_shape() -> None:
    words = ["walking", "talking", "Berlin", "Paris", "1990", "1985", "dog"]
    tags = np.array([0, 0, 1, 1, 2, 2, 3], np.int32)
    lexicon = Lexicon(words, tags, np.zeros(7, np.int32), np.ones(7, np.int32), 4)
    assert [int(lexicon.tags_of(word).argmax()) for word in ("barking", "Rome", "2001")] == [0, 1, 2]
    for word in ("barking", "dog", "?"):
        assert lexicon.tags_of(word).sum() == pytest.approx(1.0)
    assert shapes_of("IBM")[1] == "AA"


def test_brackets_are_counted_with_multiplicity() -> None:
    counts = BracketCounts.of([(0, 2, "NP"), (0, 2, "NP")], [(0, 2, "NP")])
    assert (counts.correct, counts.gold, counts.predicted, counts.exact) == (1, 2, 1, 0)
    assert BracketCounts.of([(0, 2, "NP")], [(0, 2, "VP")], labeled=False).f1 == 1.0
    both = counts + BracketCounts.of([(0, 1, "S")], [(0, 1, "S")])
    assert both.trees == 2
    assert both.exact_match == 0.5
    assert both.f1 == pytest.approx(4 / 5)
    assert 0 <= both.interval().low <= both.interval().high <= 1
    with pytest.raises(DataError, match="2 trees cannot be compared with 1"):
        BracketCounts.of_all(toy()[:1], toy()[:2])
    with pytest.raises(DataError, match="tree 1 has 8 words and the right one 5"):
        BracketCounts.of_all(toy()[:1], toy()[1:2])
    with pytest.raises(DataError, match="exact match of no trees"):
        BracketCounts().exact_match  # noqa: B018


@pytest.mark.data
@pytest.mark.slow
def test_bracket_f1_of_the_wall_street_journal_sample() -> None:
    folder = Path(os.environ["TEXTMILL_DATA"]) / "treebank" / "combined"
    trees = [tree for file in sorted(folder.glob("*.mrg")) for tree in read_trees(file)]
    test = [tree for tree in map(bare_tree, trees[-414:]) if tree is not None and len(tree.leaves()) <= 40]
    grammar = TreebankGrammar().fit(trees[:-414])
    assert grammar.evaluate(test, tagged=True).f1 >= 0.75
    assert grammar.evaluate(test).f1 >= 0.70


def test_sentences_of_too_many_words_are_cut_and_joined() -> None:
    grammar = TreebankGrammar(max_words=6).fit(
        [
            parse_tree("(S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .))"),
            parse_tree("(S (NP (NN rain)) (VP (VBZ falls)))"),
        ]
    )
    words = ["the", "dog", "barks", ".", "rain", "falls", "the", "dog", "barks", ".", "the", "dog", "barks", "."]
    (tree,) = grammar.parse([words])
    assert tree.leaves() == words
    assert tree.label == "X"
    assert [len(part.leaves()) for part in tree.children] == [4, 6, 4]  # behind a full stop in the second half
    assert str(tree.children[0]) == str(grammar.parse([words[:4]])[0])
    tags = ["DT", "NN", "VBZ", ".", "NN", "VBZ"] + 2 * ["DT", "NN", "VBZ", "."]
    assert grammar.parse([words], [tags])[0].tags() == tags
    short, long = grammar.k_best([words[:4], words], 3)
    assert len(short) >= 1
    assert [one.tree for one in long] == [tree]
    parts = [grammar.k_best([words[a:b]], 1)[0][0].log_probability for a, b in ((0, 4), (4, 10), (10, 14))]
    assert long[0].log_probability == pytest.approx(sum(parts))
    without = ["dog"] * 13
    assert [len(part.leaves()) for part in grammar.parse([without])[0].children] == [6, 6, 1]
    with pytest.raises(ValueError, match="max_words"):
        TreebankGrammar(max_words=0).fit([parse_tree("(S (NN a))")]).parse([["a"]])
