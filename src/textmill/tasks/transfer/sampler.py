"""A treebank for a related language, from a treebank and raw text.

    p(S, T, Xi, Lam) = p(Lam) p(Xi) prod_i p(T_i | Lam) p(S_i | T_i, Xi)

S_i: source trees; T_i: target trees; Lam: n-grams of the target language; Xi: p(source order | target order) of each
family. Forests of all T_i are intersected with the n-grams once; then parameters are drawn or climbed to (chains.py).
The reduced model keeps Lam fixed. Chains differ in their first draws; whether they came together, and which rows the
data say little about, is reported and warned of.

Cost: one visit per choice of the forests in every iteration, on all threads. Reference: Jansche (2005), Treebank
transfer.
"""

from __future__ import annotations

import os
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from textmill.arrays import Floats
from textmill.corpus import Tree, parse_tree
from textmill.errors import DataError, ModelFileError
from textmill.model import (
    Estimator,
    Model,
    Saved,
    StringTable,
    check_choice,
    check_fitted,
    check_range,
    seed_of,
)
from textmill.tables import Table
from textmill.tasks.transfer.chains import Checkpoint, Schedule, ascend, run_chains
from textmill.tasks.transfer.diagnostics import effective_size, split_r_hat
from textmill.tasks.transfer.fringes import FringeCounts, model_weights
from textmill.tasks.transfer.rows import Rows
from textmill.trees import Acceptor, ForestRule, OrderModel, WovenForests, parse_families, weave

__all__ = ["TransferSummary", "TreebankTransfer", "WeakIdentification", "forest_rules"]

METHODS = ("gibbs", "collapsed", "em", "variational")
_WEAK = 0.5  # share of its prior deviation that the deviation of a well identified parameter stays below
_APART = 1.1  # R-hat of chains that have not come together


class WeakIdentification(UserWarning):
    """The data say little about some rows, or chains have not come together."""


class TransferSummary(Table):
    """Parameters with mean, 95 % interval, R-hat, effective sample size, and whether the data say little about them."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self._columns = columns

    def columns(self) -> dict[str, Any]:
        """Return the columns by name."""
        return self._columns


class TreebankTransfer(Estimator, Model):
    """Impute trees of a related language.

    Parameters:
        families: Orders of children that may change, one family per line: `NP: JJ NN | NN JJ`.
        fringe: What n-grams are made of, `tags` or `words`.
        order: Length of the n-grams.
        full: Draw the n-grams along with the trees; else they stay fixed.
        method: `gibbs`, `collapsed`, `em` or `variational`.
        prior: Prior count of each entry of a row; 1 is uniform.
        sticks: Rows are broken from sticks, each uniform if prior is 1, instead of a Dirichlet.
        constant: Added to every count of raw text.
        n_chains: Chains of the samplers.
        max_iter: Iterations, those of burn_in included.
        burn_in: First iterations of the samplers that are dropped; None for a quarter.
        thin: Iterations of which one draw of the parameters is kept; None keeps 100 draws of a chain at most. Means
            are over all iterations.
        tolerance: Change of the objective, relative, at which em and variational stop.
        random_state: Where random numbers begin.
        n_jobs: Threads; None for all cores. Results are the same for any number.

    Attributes:
        sources_: The source trees, as text.
        parameters_: Posterior means of the parameters; by method em the maximum.
        weights_: The same for n-gram events.
        draws_: Draws of the parameters, (chain, draw, parameter), for the samplers.
        row_counts_: Mean number of nodes that each row was used for.
        trace_: Log likelihood of the source trees (em, variational: the objective) by chain and iteration.
        n_iter_: Iterations done.
        acceptor_: Start, arcs and final states of the acceptor, empty without one.
        converged_: Whether R-hat of all well identified parameters is below 1.1, or the tolerance was reached.
    """

    takes: ClassVar[str] = "sequences"
    format_version: ClassVar[int] = 2
    layout: ClassVar[dict[str, str]] = {
        "sources_": "sentence: str",
        "histories_": "event: str",
        "words_": "event: str",
        "parameters_": "parameter",
        "weights_": "event",
        "draws_": "chain draw parameter",
        "event_draws_": "chain event_draw event",
        "row_counts_": "row",
        "trace_": "chain iteration",
    }
    state: ClassVar[dict[str, Any]] = {"n_iter_": int, "converged_": bool, "acceptor_": list}

    sources_: StringTable
    histories_: StringTable
    words_: StringTable
    parameters_: Floats
    weights_: Floats
    draws_: Floats
    event_draws_: Floats
    row_counts_: Floats
    trace_: Floats
    n_iter_: int
    converged_: bool
    acceptor_: list[Any]
    _woven: WovenForests

    def __init__(
        self,
        *,
        families: str = "",
        fringe: str = "tags",
        order: int = 2,
        full: bool = False,
        method: str = "gibbs",
        prior: float = 1.0,
        sticks: bool = False,
        constant: float = 0.1,
        n_chains: int = 4,
        max_iter: int = 2000,
        burn_in: int | None = None,
        thin: int | None = None,
        tolerance: float = 1e-6,
        random_state: int | None = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.families = families
        self.fringe = fringe
        self.order = order
        self.full = full
        self.method = method
        self.prior = prior
        self.sticks = sticks
        self.constant = constant
        self.n_chains = n_chains
        self.max_iter = max_iter
        self.burn_in = burn_in
        self.thin = thin
        self.tolerance = tolerance
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Iterable[Tree],
        y: object = None,
        *,
        corpus: Iterable[Sequence[str]] | None = None,
        language_model: Any = None,
        acceptor: Acceptor | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from source trees and one of: raw text of the target language, an n-gram model of it, an acceptor.

        Raw text is a stream of lists of tags or words, as `fringe` says. The state of Gibbs chains is written to
        `checkpoint` ten times in a run, and read from it if the file is there.
        """
        self._check()
        if sum(source is not None for source in (corpus, language_model, acceptor)) != 1:
            raise DataError("pass one of corpus, language_model and acceptor: what the target language looks like")
        if self.full and corpus is None:
            raise DataError("the full model learns n-grams from raw text; pass corpus")
        sources = list(X)
        if not sources:
            raise DataError("there is no source tree; pass a treebank")
        self.sources_ = StringTable(str(tree) for tree in sources)
        model = OrderModel(parse_families(self.families))
        self._woven = woven = self._weave(model, sources, acceptor)
        self.acceptor_ = [] if acceptor is None else acceptor.to_list()
        _check_families(model, woven)
        rows = Rows.even(model.row, self.prior, sticks=self.sticks)
        events = self._events(woven, corpus, language_model, acceptor)
        self.histories_ = StringTable(" ".join(history) for history, _ in woven.events)
        self.words_ = StringTable(word for _, word in woven.events)
        if not woven.events:  # of an acceptor
            self.histories_ = self.words_ = StringTable([""] * woven.n_events)
        plan = Schedule(
            self.method,
            self.n_chains,
            self.max_iter,
            self.max_iter // 4 if self.burn_in is None else self.burn_in,
            self.thin,
            self.tolerance,
            seed_of(self.random_state, 0),
            self.n_jobs,
        )
        saved, sampled = Checkpoint(checkpoint, self, woven), self.method in ("gibbs", "collapsed")
        learned = run_chains(woven, rows, events, plan, saved) if sampled else ascend(woven, rows, events, plan)
        self.parameters_, self.weights_ = learned.parameters, learned.weights
        self.draws_, self.event_draws_ = learned.draws, learned.event_draws
        self.row_counts_, self.trace_ = learned.row_counts, learned.trace
        self.n_iter_, self.converged_ = learned.trace.shape[1], learned.converged
        if sampled:
            self._judge(model)
        return self

    # ---- what it gives

    def best(
        self, k: int = 1, *, language_model: Any = None, order: int | None = None, beam: float = 10.0
    ) -> list[list[tuple[Tree, float]]]:
        """Return the k most probable target trees of each source tree, with log posterior probabilities.

        With a `language_model`, an n-gram model of `textmill.lm`, trees are judged by it instead: forests are first cut
        to the trees near the best ones by the present model (`beam`: log of how much less probable they may be), then
        intersected with n-grams of `order`, by default that of the language model. Log posteriors are then those among
        the trees that are left.
        """
        woven, weights = self._restored(), self.weights_
        if language_model is not None:
            length = int(language_model.order) if order is None else order
            woven = weave(woven.pruned(self.parameters_, weights, beam=beam, n_jobs=self.n_jobs), order=length)
            weights = model_weights(language_model, woven.events, length)
        log_z = woven.expect(self.parameters_, weights, self.n_jobs)[0]
        trees = woven.best(self.parameters_, weights, k, self.n_jobs)
        return [
            [(woven.forests[s].tree(derivation), score - float(log_z[s])) for score, derivation in best]
            for s, best in enumerate(trees)
        ]

    def sample(self, k: int = 1, random_state: int | None = None, *, by: str = "intersection") -> list[list[Tree]]:
        """Return k treebanks drawn from the posterior: each by another draw of the parameters.

        by="rejection" draws from the forest alone until the n-grams take a tree: the same distribution, more slowly.
        by="forest" leaves the n-grams out.
        """
        check_choice("by", by, ("intersection", "rejection", "forest"))
        woven, seed = self._restored(), seed_of(self.random_state if random_state is None else random_state, 0)
        draws = self.draws_.reshape(-1, self.draws_.shape[2])
        events = self.event_draws_.reshape(-1, self.event_draws_.shape[2])
        out = []
        for number in range(k):
            at = number * len(draws) // k if k <= len(draws) else number % max(len(draws), 1)
            xi = draws[at] if len(draws) else self.parameters_
            lam = events[at] if len(events) else self.weights_
            if by == "rejection":
                derivations = woven.reject(xi, lam, random_state=seed + number, n_jobs=self.n_jobs)[1]
            else:
                derivations = woven.sample(
                    xi,
                    np.ones(len(lam)) if by == "forest" else lam,
                    random_state=seed,
                    iteration=(1 << 40) // max(len(woven.forests), 1) + number,
                    n_jobs=self.n_jobs,
                ).derivations
            out.append([f.tree(choices) for f, choices in zip(woven.forests, derivations, strict=True)])
        return out

    def consensus(self, k: int = 100, random_state: int | None = None) -> list[tuple[Tree, dict[Any, float]]]:
        """Return for each sentence the tree, of k samples, with most brackets in common with all of them.

        With it comes the share of samples that have each bracket, (words of it, label).
        """
        out = []
        for trees in zip(*self.sample(k, random_state), strict=True):
            distinct = Counter(trees)
            votes: Counter[tuple[tuple[str, ...], str]] = Counter()
            brackets = {tree: _brackets(tree) for tree in distinct}
            for tree, count in distinct.items():
                for bracket in brackets[tree]:
                    votes[bracket] += count
            best = max(distinct, key=lambda tree: (sum(votes[b] for b in brackets[tree]), distinct[tree], str(tree)))
            out.append((best, {bracket: votes[bracket] / k for bracket in brackets[best]}))
        return out

    def log_likelihood(self) -> float:
        """Return log p(source trees) under the parameters."""
        return float(self._restored().expect(self.parameters_, self.weights_, self.n_jobs)[0].sum())

    def summary(self, of: str = "parameters") -> TransferSummary:
        """Return each parameter with mean, 95 % interval, R-hat, effective sample size and row count.

        of="sticks" gives each parameter as a share of what those before it in its row have left, whatever the prior
        was; of="events" gives the n-grams, which have intervals in the full model.
        """
        check_fitted(self)
        check_choice("of", of, ("parameters", "sticks", "events"))
        if of == "events":
            if not any(self.words_):
                raise DataError("a model with an acceptor has no n-grams")
            names = [f"{h or '#'} -> {w}" for h, w in zip(self.histories_, self.words_, strict=True)]
            return TransferSummary({"event": names} | _moments(self.weights_, self.event_draws_))
        model = OrderModel(parse_families(self.families))
        means, draws = self.parameters_, self.draws_
        if of == "sticks":
            rows = Rows.even(model.row, self.prior)
            draws = rows.stick_shares(draws)
            means = draws.mean(axis=(0, 1)) if draws.shape[1] else rows.stick_shares(means)
        columns: dict[str, Any] = {"parameter": model.names} | _moments(means, draws)
        if draws.shape[1] and of == "parameters":
            columns["weak"] = self._weak(model).tolist()
        columns["nodes"] = self.row_counts_[model.row].tolist()
        return TransferSummary(columns)

    # ---- how

    def _check(self) -> None:
        check_choice("method", self.method, METHODS)
        check_choice("fringe", self.fringe, ("tags", "words"))
        check_range("order", self.order, at_least=1, at_most=9, whole=True)
        check_range("prior", self.prior, above=0)
        check_range("constant", self.constant, above=0)
        check_range("n_chains", self.n_chains, at_least=1, whole=True)
        check_range("max_iter", self.max_iter, at_least=1, whole=True)
        if self.burn_in is not None:
            check_range("burn_in", self.burn_in, at_least=0, below=self.max_iter, whole=True)
        if self.thin is not None:
            check_range("thin", self.thin, at_least=1, whole=True)
        check_range("tolerance", self.tolerance, at_least=0)
        if self.sticks and self.method == "collapsed":
            raise DataError("method 'collapsed' has no sticks; take another method, or leave sticks out")

    def _weave(self, model: OrderModel, sources: Sequence[Tree], acceptor: Acceptor | None) -> WovenForests:
        forests = []
        for number, tree in enumerate(sources, 1):
            try:
                forests.append(model.forest(tree, fringe=self.fringe))
            except DataError as fault:
                raise DataError(f"tree {number}: {fault}") from None
        return weave(forests, order=self.order, acceptor=acceptor)

    def _events(
        self, woven: WovenForests, corpus: Any, language_model: Any, acceptor: Acceptor | None
    ) -> Rows | Floats:
        """Prior counts of n-grams, or weights that stay as they are."""
        if acceptor is not None:
            return woven.start_weights
        if language_model is not None:
            return model_weights(language_model, woven.events, self.order)
        counts = FringeCounts(corpus, order=self.order, constant=self.constant)
        row, alpha, total = counts.prior(woven.events)
        rows = Rows(row, alpha, np.zeros(len(total)))
        rows = Rows(row, alpha, np.maximum(total - rows.totals(alpha), 0.0))
        return rows if self.full else rows.mean(np.zeros(len(alpha)))

    def _weak(self, model: OrderModel) -> Any:
        """Parameters that are about as uncertain as before."""
        prior = Rows.even(model.row, self.prior, sticks=self.sticks).prior_deviation()
        return self.draws_.std(axis=(0, 1)) > _WEAK * prior

    def _judge(self, model: OrderModel) -> None:
        weak = self._weak(model)
        r_hat = split_r_hat(self.draws_)
        apart = (r_hat > _APART) & ~weak
        self.converged_ = not bool(apart.any())
        rows = sorted({model.row_names[row] for row in model.row[weak]})
        if rows:
            shown = ", ".join(repr(row) for row in rows[:3]) + (", ..." if len(rows) > 3 else "")
            warnings.warn(
                f"the data say little about {len(rows)} of {len(model.row_names)} rows ({shown}): their intervals are "
                "nearly those of the prior",
                WeakIdentification,
                stacklevel=3,
            )
        if apart.any():
            warnings.warn(
                f"chains have not come together: R-hat is up to {r_hat[~weak].max():.2f}; raise max_iter",
                WeakIdentification,
                stacklevel=3,
            )

    def _restored(self) -> WovenForests:
        """The forests, which a file does not hold: they are made again from the source trees."""
        check_fitted(self)
        if "_woven" not in vars(self):
            model = OrderModel(parse_families(self.families))
            acceptor = Acceptor.from_list(self.acceptor_) if self.acceptor_ else None
            if acceptor is not None and len(acceptor.arcs) + acceptor.n_states != len(self.weights_):
                raise ModelFileError(
                    "arcs and states of the acceptor are not as many as their weights", reason="damaged"
                )
            woven = self._weave(model, [parse_tree(text) for text in self.sources_], acceptor)
            if acceptor is not None:
                self._woven = woven
                return woven
            number = {(h, w): at for at, (h, w) in enumerate(zip(self.histories_, self.words_, strict=True))}
            if len(woven.events) != len(number):
                raise DataError(
                    "the model was made with an acceptor, which files of its time did not hold; fit it again"
                )
            order = [number[" ".join(history), word] for history, word in woven.events]
            self.weights_, self.event_draws_ = self.weights_[order], self.event_draws_[:, :, order]
            self.histories_ = StringTable(" ".join(history) for history, _ in woven.events)
            self.words_ = StringTable(word for _, word in woven.events)
            self._woven = woven
        return self._woven

    @classmethod
    def upgrade(cls, saved: Saved) -> Saved:
        """Format 1 did not hold acceptors."""
        if saved.fitted:
            saved.state["acceptor_"] = []
        saved.format = 2
        return saved

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_woven"}


def forest_rules(model: TreebankTransfer, tree: Tree) -> list[ForestRule]:
    """The forest of a source tree, without n-grams, as rules with probabilities by the parameters of a model.

    Probabilities sum to 1 at each node: it is a grammar of the target trees that proposes without a language model.
    """
    check_fitted(model)
    forest = OrderModel(parse_families(model.families)).forest(tree, fringe=model.fringe)
    alone = weave([forest], order=1)
    return alone.grammar(model.parameters_, np.ones(alone.n_events))


def _check_families(model: OrderModel, woven: WovenForests) -> None:
    """Complain of families that no node of the trees belongs to."""
    parameters = {choice.parameter for forest in woven.forests for own in forest.choices for choice in own} - {-1}
    used = {bisect_right(model.first, parameter) - 1 for parameter in parameters}
    idle = [str(family) for number, family in enumerate(model.families) if number not in used]
    if not used:
        raise DataError(
            f"no node of the trees has the label and the children of a family, such as '{idle[0]}'; look at the labels "
            "of the trees"
        )
    if idle:
        shown = ", ".join(repr(family) for family in idle[:3]) + (", ..." if len(idle) > 3 else "")
        warnings.warn(
            f"no node of the trees belongs to {len(idle)} of {len(model.families)} families ({shown}); look at their "
            "labels and children",
            WeakIdentification,
            stacklevel=3,
        )


def _brackets(tree: Tree) -> list[tuple[tuple[str, ...], str]]:
    leaves = tree.leaves()
    return [(tuple(leaves[start:end]), label) for start, end, label in tree.spans()]


def _moments(means: Floats, draws: Floats) -> dict[str, Any]:
    """Columns of means and, of draws (chain, draw, quantity), intervals and how far they can be trusted."""
    columns: dict[str, Any] = {"mean": means.tolist()}
    if draws.shape[1]:
        low, high = np.quantile(draws.reshape(-1, draws.shape[2]), [0.025, 0.975], axis=0)
        columns |= {"low": low.tolist(), "high": high.tolist()}
        columns |= {"r_hat": split_r_hat(draws).tolist(), "ess": effective_size(draws).tolist()}
    return columns
