from __future__ import annotations

from itertools import combinations, product

import pytest

from textmill.errors import DataError
from textmill.strings import best_alignments, parse_measure


def graphs(found):
    return [sorted((edge.left, edge.right) for edge in alignment.edges) for alignment in found]


def in_order(edges):
    return all((a - c) * (b - d) > 0 for (a, b), (c, d) in combinations(edges, 2))


@pytest.mark.parametrize(("a", "b"), [("A B A", "B A B"), ("A A", "A"), ("A B C", "C B A"), ("A B", "C"), ("A", "A")])
def test_ml_gives_every_best_matching_in_order(a, b):
    x, y = a.split(), b.split()
    equal = [(i, j) for i, j in product(range(len(x)), range(len(y))) if x[i] == y[j]]
    all_matchings = [set(c) for r in range(len(equal) + 1) for c in combinations(equal, r) if in_order(c)]
    most = max(map(len, all_matchings))
    expected = sorted(sorted(matching) for matching in all_matchings if len(matching) == most)
    ml = parse_measure("ml(words, weights='uniform')").fit()
    found = best_alignments(ml, a, b)
    assert sorted(graphs(found)) == expected
    assert [alignment.score for alignment in found] == pytest.approx([ml.similarity(a, b)] * len(found))
    assert graphs(found)[0] == graphs([ml.align(a, b)])[0]


def test_edit_measures_give_every_cheapest_alignment():
    found = best_alignments(parse_measure("levenshtein").fit(), "ab", "b")
    assert graphs(found) == [[(1, 0)]]
    assert sorted(graphs(best_alignments(parse_measure("levenshtein").fit(), "aa", "a"))) == [[(0, 0)], [(1, 0)]]
    # two pairs substituted, or one swap
    assert len(best_alignments(parse_measure("osa").fit(), "ab", "ba")) == 1
    assert sorted(graphs(best_alignments(parse_measure("levenshtein").fit(), "ab", "ba"))) == [
        [(0, 0), (1, 1)],
        [(0, 1)],
        [(1, 0)],
    ]


def test_every_edge_adds_what_the_first_alignment_says():
    ml = parse_measure("ml(words, sub=levenshtein, weights='uniform', transpositions='extended')").fit()
    for alignment in best_alignments(ml, "ann bob ann", "bob ann bob"):
        assert sum(edge.weight for edge in alignment.edges) / alignment.normalizer == pytest.approx(alignment.score)


def test_there_are_no_more_than_asked_for():
    levenshtein = parse_measure("levenshtein").fit()
    assert len(best_alignments(levenshtein, "a" * 12, "a" * 6, limit=50)) == 50
    with pytest.raises(DataError, match="limit"):
        best_alignments(levenshtein, "a", "b", limit=0)


def test_a_measure_with_one_graph_gives_that():
    jaccard = parse_measure("jaccard(words)").fit()
    assert graphs(best_alignments(jaccard, "a b", "b a")) == graphs([jaccard.align("a b", "b a")])
