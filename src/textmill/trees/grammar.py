"""A grammar from a treebank, and the best trees of sentences by it.

    tree of a sentence = argmax_T  sum over nodes X of T, log p(X -> children | ancestors) + sum_i log p(w_i | t_i, P_i)

rules.py says how rules are markovized and smoothed, lexicon.py what is known of words, native/trees/chart.h how the
tree is found: by CKY, after a coarse grammar has said which labels are worth trying where. No sentence fails: what the
grammar has no tree for is parsed by one that lets every label stand under every other.

Cost: training one visit per node; parsing O(n^3) in the length of a sentence, on all threads. References: Charniak
(1996), Tree-bank grammars; Johnson (1998), PCFG models of linguistic tree representations; Klein & Manning (2003),
Accurate unlexicalized parsing.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from textmill.arrays import Ids
from textmill.corpus import Tree
from textmill.errors import DataError, ModelFileError, reason_of
from textmill.metrics import BracketCounts
from textmill.model import Estimator, Model, StringTable, check_fitted, check_range, effective_jobs
from textmill.trees.lexicon import Lexicon
from textmill.trees.parsing import ChartParser, ScoredTree
from textmill.trees.rules import ROOT, RULE_LAYOUT, CoarseRules, Counts, RuleArrays, build_rules, coarse_rules

__all__ = ["TreebankGrammar", "bare_tree"]

_PARTS = "X"  # label of a sentence that was cut
_CHUNK = 256  # sentences parsed together
_STRENGTH = 1.0  # of smoothing


class TreebankGrammar(Estimator, Model):
    """Parse sentences by the rules of a treebank.

    Parameters:
        vertical: Labels that a rule looks at: its own and those above; 1 is a plain treebank grammar, 2 adds parents.
        horizontal: Children to the left that the next child of a rule depends on.
        bare: Leave out traces and function tags of the treebank (`NP-SBJ-1` becomes `NP`).
        share: Least share of the coarse grammar's trees that a label in a place needs to be tried; smaller is slower.
        max_words: Longer sentences are cut, behind a mark of punctuation if there is one in the second half, and their
            parts are children of an `X`: time grows with the cube of the number of words, and memory with its square.
        n_jobs: Threads; None for all cores. Trees are the same for any number.

    Attributes:
        labels_: Labels of constituents, then tags.
        n_parents_: How many of them are labels of constituents.
        n_trees_: Trees that were learned from.
        n_rules_: Different rules among them, words left out.

    >>> from textmill.corpus import parse_tree
    >>> texts = ["(S (NP (NN dogs)) (VP (VBP bark)))", "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"]
    >>> grammar = TreebankGrammar().fit([parse_tree(text) for text in texts])
    >>> print(grammar.parse([["the", "dogs", "bark"]])[0])
    (S (NP (DT the) (NN dogs)) (VP (VBP bark)))
    """

    takes: ClassVar[str] = "sequences"
    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "labels_": "label: str",
        "words_": "entry: str",
        "word_tag_": "entry: int32",
        "word_parent_": "entry: int32",
        "word_count_": "entry: int32",
        **{f"fine_.{name}": f"fine_{axes}" for name, axes in RULE_LAYOUT.items()},
        **{f"plain_.{name}": f"plain_{axes}" for name, axes in RULE_LAYOUT.items()},
        "coarse_.prior": "label",
        "coarse_.begin": "label parent",
        "coarse_.step": "label parent",
        "coarse_.stop": "parent",
        "coarse_.chain": "label parent",
    }
    records: ClassVar[dict[str, Any]] = {"fine_": RuleArrays, "plain_": RuleArrays, "coarse_": CoarseRules}
    state: ClassVar[dict[str, Any]] = {"n_trees_": int, "n_rules_": int}

    labels_: StringTable
    words_: StringTable
    word_tag_: Ids
    word_parent_: Ids
    word_count_: Ids
    fine_: RuleArrays
    plain_: RuleArrays
    coarse_: CoarseRules
    n_trees_: int
    n_rules_: int
    _parser: ChartParser

    def __init__(
        self,
        *,
        vertical: int = 2,
        horizontal: int = 2,
        bare: bool = True,
        share: float = 5e-4,
        max_words: int = 200,
        n_jobs: int | None = None,
    ) -> None:
        self.vertical = vertical
        self.horizontal = horizontal
        self.bare = bare
        self.share = share
        self.max_words = max_words
        self.n_jobs = n_jobs

    def fit(self, X: Iterable[Tree], y: object = None) -> Self:
        """Learn from trees, each leaf under a tag of its own."""
        check_range("vertical", self.vertical, at_least=1, at_most=4, whole=True)
        check_range("horizontal", self.horizontal, at_least=0, at_most=4, whole=True)
        check_range("share", self.share, above=0, below=1)
        trees = _cleaned(X, self.bare)
        self.n_trees_ = len(trees)
        self.n_rules_ = len({rule for tree in trees for rule in tree.productions() if not rule.lexical})
        counts = Counts.of(trees, vertical=self.vertical, horizontal=self.horizontal)
        flat = Counts.of(trees, vertical=1, horizontal=0)
        self.labels_ = StringTable(counts.labels)
        self.fine_ = build_rules(counts, strength=_STRENGTH)
        self.plain_ = build_rules(flat, strength=_STRENGTH, complete=True)
        self.coarse_ = coarse_rules(flat, strength=_STRENGTH)
        self._count_words(trees, counts.labels)
        vars(self).pop("_parser", None)
        return self

    def parse(self, X: Iterable[Sequence[str]], tags: Iterable[Sequence[str]] | None = None) -> list[Tree]:
        """Return the best tree of each sentence, a list of words; `tags` are those of the words, where they are known.

        >>> from textmill.corpus import parse_tree
        >>> grammar = TreebankGrammar().fit([parse_tree("(S (NP (NN dogs)) (VP (VBP bark)))")])
        >>> print(grammar.parse([["cats", "meow"]], tags=[["NN", "VBP"]])[0])
        (S (NP (NN cats)) (VP (VBP meow)))
        """
        return [trees[0].tree for trees in self._parsed(X, tags, 1)]

    def predict(self, X: Iterable[Sequence[str]]) -> list[Tree]:
        """Return the best tree of each sentence, a list of words."""
        return self.parse(X)

    def k_best(
        self, X: Iterable[Sequence[str]], k: int = 10, tags: Iterable[Sequence[str]] | None = None
    ) -> list[list[ScoredTree]]:
        """Return the k best trees of each sentence, best first, with log probabilities; fewer where there are fewer.

        A sentence of more than `max_words` has one, whose log probability is the sum of those of its parts.

        >>> from textmill.corpus import parse_tree
        >>> grammar = TreebankGrammar().fit([parse_tree("(S (NP (NN dogs)) (VP (VBP bark)))")])
        >>> grammar.k_best([["dogs", "bark"]], k=2)[0][0].tree.label
        'S'
        """
        check_range("k", k, at_least=1, whole=True)
        return list(self._parsed(X, tags, k))

    def stream(self, X: Iterable[Sequence[str]], tags: Iterable[Sequence[str]] | None = None) -> Iterator[Tree]:
        """Yield the best trees in one pass over a stream of sentences."""
        for trees in self._parsed(X, tags, 1):
            yield trees[0].tree

    def score(self, X: Iterable[Tree], y: object = None) -> float:
        """Return the F1 of labeled brackets against right trees, parsed from their words."""
        return self.evaluate(X).f1

    def evaluate(self, X: Iterable[Tree], *, tagged: bool = False) -> BracketCounts:
        """Count labeled brackets against right trees; `tagged` gives the parser their tags.

        >>> from textmill.corpus import parse_tree
        >>> tree = parse_tree("(S (NP (NN dogs)) (VP (VBP bark)))")
        >>> TreebankGrammar().fit([tree]).evaluate([tree]).f1
        1.0
        """
        trees = _cleaned(X, self.bare)
        tags = [tree.tags() for tree in trees] if tagged else None
        return BracketCounts.of_all(trees, self.parse([tree.leaves() for tree in trees], tags))

    def check_values(self) -> None:
        """Check that the arrays are a grammar."""
        labels = len(self.labels_)
        for name in ("word_tag_", "word_parent_"):
            numbers = getattr(self, name)
            if len(numbers) and not 0 <= numbers.min() <= numbers.max() < labels:
                raise ModelFileError(f"'{name}' has numbers outside of {labels} labels", reason="damaged")
        try:
            list(self._build().parse([(self.words_.to_list()[:1], None)], self.share, 1, 1))
        except (ValueError, LookupError) as fault:
            raise ModelFileError(f"the grammar does not hold together: {fault}", reason=reason_of(fault)) from None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_parser"}

    def _count_words(self, trees: Sequence[Tree], labels: list[str]) -> None:
        number = {label: at for at, label in enumerate(labels)}
        entries: Counter[tuple[str, int, int]] = Counter()
        for tree in trees:
            for parent, node in [(ROOT, tree), *_edges(tree)]:
                if node.is_preterminal:
                    entries[str(node.children[0]), number[node.label], number[parent]] += 1
        order = sorted(entries)
        self.words_ = StringTable([word for word, _, _ in order])
        self.word_tag_ = np.array([tag for _, tag, _ in order], np.int32)
        self.word_parent_ = np.array([parent for _, _, parent in order], np.int32)
        self.word_count_ = np.array([entries[key] for key in order], np.int32)

    def _parsed(
        self, X: Iterable[Sequence[str]], tags: Iterable[Sequence[str]] | None, k: int
    ) -> Iterator[list[ScoredTree]]:
        check_fitted(self)
        check_range("share", self.share, above=0, below=1)
        check_range("max_words", self.max_words, at_least=1, whole=True)
        if "_parser" not in vars(self):
            self._parser = self._build()
        sentences = enumerate(X)
        of_tags = None if tags is None else iter(tags)
        while chunk := list(itertools.islice(sentences, _CHUNK)):
            inputs: list[tuple[Sequence[str], Sequence[str] | None]] = []
            parts: list[int] = []
            for number, words in chunk:
                own = None if of_tags is None else next(of_tags, ())
                bounds = _cut(_checked(number, words, own), self.max_words)
                inputs += [(words[a:b], None if own is None else own[a:b]) for a, b in bounds]
                parts.append(len(bounds))
            trees = self._parser.parse(inputs, self.share, k, effective_jobs(self.n_jobs))
            for size in parts:
                several = list(itertools.islice(trees, size))
                yield several[0] if size == 1 else [_joined([best[0] for best in several])]

    def _build(self) -> ChartParser:
        lexicon = Lexicon(self.words_.to_list(), self.word_tag_, self.word_parent_, self.word_count_, len(self.labels_))
        return ChartParser(self.labels_.to_list(), self.fine_, self.plain_, self.coarse_, lexicon)


def _cut(words: Sequence[str], limit: int) -> list[tuple[int, int]]:
    """Stretches of at most `limit` words; behind a mark of punctuation where the second half of one has some."""
    bounds, begin = [], 0
    while len(words) - begin > limit:
        end = begin + limit
        marks = range(end - 1, begin + limit // 2 - 1, -1)
        end = next((at + 1 for at in marks if not any(map(str.isalnum, words[at]))), end)
        bounds.append((begin, end))
        begin = end
    return [*bounds, (begin, len(words))]


def _joined(parts: list[ScoredTree]) -> ScoredTree:
    return ScoredTree(Tree(_PARTS, tuple(part.tree for part in parts)), sum(part.log_probability for part in parts))


def bare_tree(tree: Tree, *, functions: bool = False) -> Tree | None:
    """The tree without traces, function tags (unless `functions`) and labels over themselves; None if nothing is left.

    >>> from textmill.corpus import parse_tree
    >>> print(bare_tree(parse_tree("(S (NP-SBJ (-NONE- *)) (VP (VP (VB go))))")))
    (S (VP (VB go)))
    """
    rest = tree.without_empty()
    if rest is None:
        return None
    if not functions:
        rest = rest.without_functions()
    return _single(rest)


def _single(tree: Tree) -> Tree:
    """The tree without a label directly and alone over itself, which no parser could tell from the label once."""

    def node(own: Tree, below: list[Any]) -> Any:
        if len(below) == 1 and isinstance(below[0], Tree) and below[0].label == own.label:
            return below[0]
        return Tree(own.label, tuple(below))

    single: Tree = tree.fold(node, lambda leaf: leaf)
    return single


def _cleaned(X: Iterable[Tree], bare: bool) -> list[Tree]:
    trees = []
    for number, tree in enumerate(X, 1):
        if not isinstance(tree, Tree):
            raise DataError(
                f"entry {number} is {type(tree).__name__}, not a tree; pass trees, as read_trees gives them"
            )
        clean = bare_tree(tree) if bare else _single(tree)
        if clean is None:
            continue
        try:
            clean.tags()
        except DataError as fault:
            raise DataError(f"tree {number}: {fault}") from None
        trees.append(clean)
    if not trees:
        raise DataError("there is no tree with words; pass a treebank")
    return trees


def _edges(tree: Tree) -> Iterator[tuple[str, Tree]]:
    """Labels with the trees below them."""
    for node in tree.subtrees():
        for child in node.children:
            if isinstance(child, Tree):
                yield node.label, child


def _checked(number: int, words: Sequence[str], tags: Sequence[str] | None) -> Sequence[str]:
    if isinstance(words, str):
        raise DataError(f"sentence {number} is a string; pass lists of words, such as text.split()")
    if not len(words):
        raise DataError(f"sentence {number} has no words; leave empty sentences out")
    if tags is not None and len(tags) != len(words):
        raise DataError(f"sentence {number} has {len(words)} words but {len(tags)} tags; pass one for each word")
    return words
