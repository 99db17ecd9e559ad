"""Alignment of string pairs by a memoryless transducer, trained by EM.

    p(x, y) = sum over alignments of prod over links u:v of d(u:v)          links: chunks of x and y, one may be empty
    E step   c(u:v) = sum over pairs and places of alpha(before) d(u:v) beta(after) / Z
    M step   d(u:v) = c'(u:v) / sum c'                    over all links, or "conditional": over those with the same u
             c' = c + smoothing + prior(u:v)

The log-likelihood, plus smoothing and prior times ln d, never falls. The start is uniform over the links that some
alignment of some pair uses, or what `fit` is given: weights, links that are allowed, another aligner. "viterbi"
counts best alignments instead of all; "em+viterbi" does that in one last step, which leaves the links that best
alignments use. Ties between alignments are broken from the left by kinds of links. With deletions only, links 1 x 1
and a uniform start, the first step is the epsilon scattering of Black, Lenzo & Pagel (1998).

Cost: O(n m max_input max_output) a pair and iteration, native and threaded (native/fst/align.h); memory: the symbols
of all pairs (8 bytes each) and the lattice of the pair at work. References: Ristad & Yianilos (1998), Learning
string-edit distance; Jiampojamarn, Kondrak & Sherif (2007), Applying many-to-many alignments and hidden Markov models
to letter-to-phoneme conversion; Jansche & Sproat (2009), Named entity transcription with pair n-gram models.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from textmill._native import fst as native
from textmill.arrays import Floats, Ids, Ints
from textmill.errors import DataError, ModelFileError
from textmill.fst.alignment import Alignment, Link
from textmill.fst.links import (
    Inventory,
    Limits,
    best_links,
    expected_links,
    link_weights,
    loop_machine,
    path_sums,
    select_links,
    spell_links,
    tabulate_links,
)
from textmill.fst.linktraining import METHODS, Trainer, Training
from textmill.fst.machine import Fst
from textmill.fst.stringpairs import EncodedPairs, Numbers, encode_pairs
from textmill.fst.symbols import SymbolTable
from textmill.model import (
    Estimator,
    Model,
    RandomState,
    Saved,
    StringTable,
    check_choice,
    check_fitted,
    check_range,
    effective_jobs,
    seed_of,
)

__all__ = ["EncodedAlignments", "LinkPosterior", "StringAligner"]


KINDS = ("substitution", "deletion", "insertion")
NORMALIZATIONS = ("joint", "conditional")


class EncodedAlignments(NamedTuple):
    """Best alignments of pairs as numbers: those of pair k are links[begin[k]:begin[k + 1]], see `links_`.

    A pair without an alignment has no links and the log probability -inf.
    """

    begin: Ints
    links: Ids
    log_probabilities: Floats


class LinkPosterior(NamedTuple):
    """A link at a place of a pair, and the probability that it is part of the alignment."""

    input: int
    output: int
    link: Link
    probability: float


class StringAligner(Estimator, Model):
    """Learn which symbols of one string go with which of another; align pairs of strings.

    A pair is (input, output), each a string, whose symbols are its characters, or a list of symbols.

    Parameters:
        max_input: Largest number of input symbols that a link may join.
        max_output: Largest number of output symbols that a link may join.
        deletions: Whether an input symbol may go with nothing.
        insertions: Whether an output symbol may go with nothing.
        many_to_many: Whether links may have several symbols on both sides.
        max_insertions_per_gap: Largest number of insertions in a row; None for any number.
        normalization: What the probabilities sum to 1 over: "joint" (all links) or "conditional" (given the input
            side).
        method: "em", "viterbi" or "em+viterbi".
        smoothing: Number added to the count of every link.
        max_iter: Largest number of iterations; 0 leaves the start as it is.
        tolerance: Relative gain of the likelihood below which training ends.
        restarts: Number of further runs from random starts, of which the best is kept.
        ties: Kinds of links in the order in which equally good alignments prefer them where they first differ.
        random_state: Seed of the random starts.
        n_jobs: Number of threads; None for all cores.

    Attributes:
        input_symbols_: Symbols of the input side.
        output_symbols_: Symbols of the output side.
        links_: Links, a list.
        log_probabilities_: Log probability of each link, (links,).
        counts_: Expected count of each link in the last step, (links,).
        trace_: Log-likelihood before each iteration.
        n_iter_: Number of iterations.
        converged_: Whether training ended because of `tolerance`.
        unaligned_: Numbers of the pairs that have no alignment.

    >>> aligner = StringAligner(insertions=False, max_output=2).fit([("tax", "taks"), ("at", "at"), ("axe", "aks")])
    >>> print(aligner.align([("axe", "aks")])[0])
    a  x   e
    a  ks  ·
    """

    takes: ClassVar[str] = "sequences"
    format_version: ClassVar[int] = 2
    layout: ClassVar[dict[str, str]] = {
        "input_symbols_": "input_symbol: str",
        "output_symbols_": "output_symbol: str",
        "input_begin_": "link+1: int64",
        "inputs_": "input: int32",
        "output_begin_": "link+1: int64",
        "outputs_": "output: int32",
        "log_probabilities_": "link",
        "counts_": "link",
        "trace_": "iteration",
        "unaligned_": "unaligned: int64",
    }
    indices: ClassVar[dict[str, str]] = {"inputs_": "input_symbol", "outputs_": "output_symbol"}
    offsets: ClassVar[dict[str, str]] = {"input_begin_": "input", "output_begin_": "output"}
    state: ClassVar[dict[str, type]] = {"n_iter_": int, "converged_": bool}

    input_symbols_: StringTable
    output_symbols_: StringTable
    input_begin_: Ints
    inputs_: Ids
    output_begin_: Ints
    outputs_: Ids
    log_probabilities_: Floats
    counts_: Floats
    trace_: Floats
    unaligned_: Ints
    n_iter_: int
    converged_: bool
    _numbered: tuple[native.Links, Numbers, Numbers]

    def __init__(
        self,
        *,
        max_input: int = 1,
        max_output: int = 1,
        deletions: bool = True,
        insertions: bool = True,
        many_to_many: bool = False,
        max_insertions_per_gap: int | None = None,
        normalization: str = "joint",
        method: str = "em",
        smoothing: float = 0.0,
        max_iter: int = 20,
        tolerance: float = 1e-5,
        restarts: int = 0,
        ties: tuple[str, str, str] = KINDS,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.max_input = max_input
        self.max_output = max_output
        self.deletions = deletions
        self.insertions = insertions
        self.many_to_many = many_to_many
        self.max_insertions_per_gap = max_insertions_per_gap
        self.normalization = normalization
        self.method = method
        self.smoothing = smoothing
        self.max_iter = max_iter
        self.tolerance = tolerance
        self.restarts = restarts
        self.ties = ties
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        pairs: Iterable[Any],
        y: object = None,
        *,
        start: StringAligner | Mapping[Link, float] | Iterable[Link] | None = None,
        prior: Mapping[Link, float] | None = None,
        sample_weight: ArrayLike | None = None,
        errors: str = "strict",
    ) -> StringAligner:
        """Learn the probabilities of links from pairs, which are read once.

        `start`: weights to begin with, used as they are, or links that are allowed, or an aligner; no other links
        are used. `prior`: counts that are added in every step, links of their own included. `sample_weight`: how
        often each pair counts. A pair without an alignment is a DataError, or with errors="skip" left out, counted
        and listed in `unaligned_`.
        """
        self._check()
        inputs, outputs = Numbers(), Numbers()
        encoded = encode_pairs(pairs, inputs, outputs)
        if not len(encoded):
            raise DataError("there are no pairs to learn from; pass at least one")
        weight = _weights(sample_weight, len(encoded))
        weights_at_start = None if start is None else self._within(start)
        extra = {} if prior is None else self._within(prior)
        encoded, inputs, outputs = _sorted(encoded, inputs, outputs, [*(weights_at_start or ()), *extra])
        threads = effective_jobs(self.n_jobs)
        unaligned, begin = None, None
        if weights_at_start is None:
            *arrays, unaligned = native.discover_links(*self._limits(), *encoded.arrays(), threads)
            inventory = Inventory(*arrays)
            _report(unaligned, encoded, errors)
            if extra:
                all_links = dict.fromkeys(spell_links(inventory, inputs, outputs), 0.0) | extra
                inventory = tabulate_links(all_links, inputs, outputs)[0]
        else:
            inventory, begin = tabulate_links(dict.fromkeys(extra, 0.0) | weights_at_start, inputs, outputs)
        pseudo = np.full(inventory.size, float(self.smoothing))
        if extra:
            pseudo += [extra.get(link, 0.0) for link in spell_links(inventory, inputs, outputs)]
        trainer = Trainer(
            links=native.Links(*self._limits(), *inventory),
            pairs=encoded,
            weight=weight,
            pseudo=pseudo,
            groups=inventory.groups() if self.normalization == "conditional" else None,
            order=self._order(),
            method=self.method,
            max_iter=self.max_iter,
            tolerance=self.tolerance,
            threads=threads,
        )
        if begin is None:
            begin = trainer.normalize(np.ones(inventory.size))
        if unaligned is None:
            unaligned = np.flatnonzero(np.isneginf(trainer.expect(begin)[0]))
            _report(unaligned, encoded, errors)
        run = trainer.run(begin, self.restarts, seed_of(self.random_state))
        self.unaligned_ = np.asarray(unaligned, dtype=np.int64)
        self._keep(inventory, inputs, outputs, run)
        return self

    @classmethod
    def from_weights(cls, weights: Mapping[Link, float], **parameters: Any) -> StringAligner:
        """An aligner whose links have these weights, as they are; those the limits do not allow are left out.

        >>> table = {(("a",), ("b",)): 0.5, (("a",), ()): 0.25, ((), ("b",)): 0.25}
        >>> StringAligner.from_weights(table).align([("aa", "b")])[0].text()
        'a:b a:_'
        """
        aligner = cls(**parameters)
        aligner._check()
        links = aligner._within(weights)
        inputs, outputs = (Numbers(sorted({s for link in links for s in link[side]})) for side in (0, 1))
        inventory, values = tabulate_links(links, inputs, outputs)
        aligner.unaligned_ = np.zeros(0, dtype=np.int64)
        aligner._keep(
            inventory, inputs, outputs, Training(values, np.zeros(len(values)), np.zeros(0), -math.inf, False)
        )
        return aligner

    # ---- what it is

    @property
    def links_(self) -> list[Link]:
        """All links, in the order of `log_probabilities_`."""
        return spell_links(self._inventory(), self.input_symbols_, self.output_symbols_)

    def to_fst(self, semiring_name: str = "tropical64") -> Fst:
        """The transducer: one state with one loop per link, -ln d its weight.

        There are further states within links that join several symbols, and for counting insertions.

        >>> aligner = StringAligner(max_iter=5).fit([("ab", "AB"), ("b", "B")])
        >>> aligner.to_fst()
        Fst('tropical64', 1 states, 8 arcs)
        """
        check_fitted(self)
        gap = self.max_insertions_per_gap if self.insertions else None
        machine = loop_machine(self._inventory(), -self.log_probabilities_, gap, semiring_name)
        machine.input_symbols = _symbol_table(self.input_symbols_.to_list())
        machine.output_symbols = _symbol_table(self.output_symbols_.to_list())
        return machine

    # ---- what it does

    def align(self, pairs: Iterable[Any]) -> list[Alignment | None]:
        """The best alignment of each pair; None where there is none.

        >>> aligner = StringAligner().fit([("ab", "AB"), ("b", "B")])
        >>> [None if best is None else best.text() for best in aligner.align([("ba", "BA"), ("c", "C")])]
        ['b:B a:A', None]
        """
        return [best[0] if best else None for best in self.nbest(pairs, 1)]

    def nbest(self, pairs: Iterable[Any], k: int) -> list[list[Alignment]]:
        """The k best alignments of each pair, best first; fewer where there are fewer.

        >>> aligner = StringAligner(max_iter=1).fit([("ab", "AB"), ("b", "B")])
        >>> [alignment.text() for alignment in aligner.nbest([("ab", "B")], 2)[0]]
        ['a:_ b:B', 'a:B b:_']
        """
        check_range("k", k, at_least=1, whole=True)
        check_fitted(self)
        named = self.links_
        of_pairs: list[list[Alignment]] = []
        for paths, begin, ids in self._best(pairs, k):
            scores = path_sums(self.log_probabilities_[ids], begin).tolist()
            numbers = ids.tolist()
            bounds = list(itertools.pairwise(begin.tolist()))
            alignments = [
                Alignment(tuple([named[e] for e in numbers[first:end]]), score)
                for (first, end), score in zip(bounds, scores, strict=True)
            ]
            of_pairs += [alignments[first:end] for first, end in itertools.pairwise(paths.tolist())]
        return of_pairs

    def encode(self, pairs: Iterable[Any]) -> EncodedAlignments:
        """The best alignments as numbers of links, for models of sequences of links.

        >>> aligner = StringAligner().fit([("ab", "AB"), ("b", "B")])
        >>> encoded = aligner.encode([("bb", "BB")])
        >>> [aligner.links_[link] for link in encoded.links]
        [(('b',), ('B',)), (('b',), ('B',))]
        """
        parts = []
        for paths, begin, ids in self._best(pairs, 1):
            scores = np.full(len(paths) - 1, -np.inf)
            scores[np.diff(paths) > 0] = path_sums(self.log_probabilities_[ids], begin)
            parts.append((np.diff(begin[paths]), ids, scores))
        if not parts:
            return EncodedAlignments(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0))
        lengths, ids, scores = (np.concatenate(part) for part in zip(*parts, strict=True))
        return EncodedAlignments(np.concatenate([[0], np.cumsum(lengths)]), ids, scores)

    def posterior_counts(self, pairs: Iterable[Any], *, sample_weight: ArrayLike | None = None) -> Floats:
        """The expected counts of all links in pairs, in the order of `links_`; pairs without an alignment add nothing.

        >>> aligner = StringAligner(max_iter=1).fit([("ab", "AB"), ("b", "B")])
        >>> round(float(aligner.posterior_counts([("b", "B")]).sum()), 3)
        1.07
        """
        encoded = self._encoded(pairs)
        return self._expected(encoded, _weights(sample_weight, len(encoded)), counted=True)[1]

    def posteriors(self, pair: Any) -> list[LinkPosterior]:
        """The links of all alignments of one pair with their probabilities, in order of their places.

        >>> aligner = StringAligner(max_iter=2).fit([("ab", "AB"), ("b", "B")])
        >>> best = max(aligner.posteriors(("b", "B")), key=lambda link: link.probability)
        >>> best.link, round(best.probability, 3)
        ((('b',), ('B',)), 0.993)
        """
        encoded = self._encoded([pair])
        named = self.links_
        columns = self._links()[0].posteriors(np.exp(self.log_probabilities_), encoded.x, encoded.y)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return [LinkPosterior(i, j, named[link], share) for i, j, link, share in rows]

    def score_samples(self, pairs: Iterable[Any]) -> Floats:
        """ln p(x, y) of each pair, over all its alignments; -inf where there is none.

        >>> aligner = StringAligner().fit([("ab", "AB"), ("b", "B")])
        >>> np.isneginf(aligner.score_samples([("ab", "AB"), ("a", "C")])).tolist()
        [False, True]
        """
        return self._expected(self._encoded(pairs), None, counted=False)[0]

    def score(self, pairs: Iterable[Any], y: object = None) -> float:
        """The mean of `score_samples`.

        >>> aligner = StringAligner().fit([("ab", "AB"), ("b", "B")])
        >>> aligner.score([("ab", "AB")]) > aligner.score([("ab", "BA")])
        True
        """
        scores = self.score_samples(pairs)
        if not len(scores):
            raise DataError("nothing to score: there are no pairs; pass at least one")
        return float(scores.mean())

    # ---- inside

    def check_values(self) -> None:
        """Check what the declarations cannot say."""
        if not (self.log_probabilities_ < np.inf).all():
            raise ModelFileError("a probability is not a number", reason="damaged")
        try:
            self._check()
            links = native.Links(*self._limits(), *self._inventory())
        except DataError as fault:
            raise ModelFileError(fault.message, reason="damaged") from None
        self._numbered = links, *(Numbers(table, closed=True) for table in (self.input_symbols_, self.output_symbols_))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_numbered"}  # built again on use

    @classmethod
    def upgrade(cls, saved: Saved) -> Saved:
        """Rename what format 1 called `tol`, `training` and `log_likelihoods_`."""
        names = {"tol": "tolerance", "training": "method"}
        saved.parameters = {names.get(name, name): value for name, value in saved.parameters.items()}
        if "log_likelihoods_" in saved.arrays:
            saved.arrays["trace_"] = saved.arrays.pop("log_likelihoods_")
        return saved

    def _check(self) -> None:
        for name in ("max_input", "max_output"):
            check_range(name, getattr(self, name), at_least=1, at_most=255, whole=True)
        if self.max_insertions_per_gap is not None:
            check_range("max_insertions_per_gap", self.max_insertions_per_gap, at_least=1, at_most=255, whole=True)
        check_choice("normalization", self.normalization, NORMALIZATIONS)
        check_choice("method", self.method, METHODS)
        check_range("smoothing", self.smoothing, at_least=0, below=math.inf)
        check_range("max_iter", self.max_iter, at_least=0, whole=True)
        check_range("tolerance", self.tolerance, at_least=0)
        check_range("restarts", self.restarts, at_least=0, whole=True)
        self._order()

    def _order(self) -> list[int]:
        """The kinds of links by number, in the order of `ties`."""
        if sorted(self.ties) != sorted(KINDS):
            raise DataError(f"ties must name {', '.join(KINDS)} once each, best first, got {self.ties!r}")
        return [KINDS.index(kind) for kind in self.ties]

    def _limits(self) -> Limits:
        return Limits(
            self.max_input,
            self.max_output,
            bool(self.deletions),
            bool(self.insertions),
            bool(self.many_to_many),
            self.max_insertions_per_gap or 0,
        )

    def _within(self, links: StringAligner | Mapping[Link, float] | Iterable[Link]) -> dict[Link, float]:
        """Weights of links, those beyond the limits left out."""
        if isinstance(links, StringAligner):
            links = dict(zip(links.links_, np.exp(links.log_probabilities_).tolist(), strict=True))
        return link_weights(links, self._limits())

    def _inventory(self) -> Inventory:
        return Inventory(self.input_begin_, self.inputs_, self.output_begin_, self.outputs_)

    def _keep(self, inventory: Inventory, inputs: Numbers, outputs: Numbers, run: Training) -> None:
        """Store what was learned, without links of probability 0."""
        some = run.probability > 0
        self.input_symbols_, self.output_symbols_ = StringTable(inputs), StringTable(outputs)
        self.input_begin_, self.inputs_, self.output_begin_, self.outputs_ = select_links(inventory, some)
        self.log_probabilities_, self.counts_ = np.log(run.probability[some]), run.counts[some]
        self.trace_ = run.trace
        self.n_iter_, self.converged_ = len(run.trace), bool(run.converged)
        vars(self).pop("_numbered", None)

    def _links(self) -> tuple[native.Links, Numbers, Numbers]:
        """The native links, and numbers of input and output symbols."""
        check_fitted(self)
        if "_numbered" not in vars(self):
            self.check_values()
        return self._numbered

    def _encoded(self, pairs: Iterable[Any]) -> EncodedPairs:
        return encode_pairs(pairs, *self._links()[1:])

    def _expected(self, pairs: EncodedPairs, weight: Floats | None, counted: bool) -> tuple[Floats, Floats]:
        probability, threads = np.exp(self.log_probabilities_), effective_jobs(self.n_jobs)
        return expected_links(self._links()[0], probability, pairs, weight, threads, counted=counted)

    def _best(self, pairs: Iterable[Any], k: int) -> Iterator[tuple[Ints, Ints, Ids]]:
        """Batches of best alignments: where those of a pair begin, where the links of each begin, links."""
        links, threads = self._links()[0], effective_jobs(self.n_jobs)
        return best_links(links, self.log_probabilities_, self._encoded(pairs), self._order(), k, threads)


def _weights(values: ArrayLike | None, pairs: int) -> Floats | None:
    if values is None:
        return None
    weight = np.ascontiguousarray(values, dtype=np.float64)
    if weight.shape != (pairs,) or not (np.isfinite(weight) & (weight >= 0)).all():
        raise DataError(f"sample_weight must be {pairs} numbers of 0 or more, one for each pair")
    return weight


def _sorted(
    encoded: EncodedPairs, inputs: Numbers, outputs: Numbers, links: list[Link]
) -> tuple[EncodedPairs, Numbers, Numbers]:
    """Symbols of pairs and links in alphabetical order, so that the order of pairs does not matter."""
    sides = []
    for symbols, numbers, side in ((encoded.x, inputs, 0), (encoded.y, outputs, 1)):
        ordered = Numbers(sorted({*numbers, *(symbol for link in links for symbol in link[side])}))
        rank = np.fromiter((ordered[symbol] for symbol in numbers), np.int32, len(numbers))
        sides.append((rank[symbols] if len(symbols) else symbols, ordered))
    (x, inputs), (y, outputs) = sides
    return EncodedPairs(encoded.x_begin, x, encoded.y_begin, y), inputs, outputs


def _report(unaligned: Ints, encoded: EncodedPairs, errors: str) -> None:
    """Raise, or count and warn, for pairs without an alignment."""
    if errors == "skip" and len(unaligned) == len(encoded):
        raise DataError("no pair has an alignment within the limits; allow deletions, insertions or longer links")
    from textmill.corpus.streams import BadRecords  # here: whoever uses machines only need not wait for it

    with BadRecords(errors, "pairs") as bad:
        for k in unaligned.tolist():
            n, m = (int(begin[k + 1] - begin[k]) for begin in (encoded.x_begin, encoded.y_begin))
            bad(
                DataError(
                    f"pair {k + 1} of {n} x {m} symbols has no alignment within the limits; raise max_input or "
                    "max_output, allow deletions or insertions, or pass errors='skip'"
                )
            )


def _symbol_table(symbols: list[str]) -> SymbolTable:
    epsilon = "<eps>"
    while epsilon in symbols:
        epsilon = f"<{epsilon}>"
    return SymbolTable([epsilon, *symbols])
