"""A treebank for a related language, from a treebank and raw text.

    p(S, T, Xi, Lam) = p(Lam) p(Xi) prod_i p(T_i | Lam) p(S_i | T_i, Xi)

S_i: source trees; T_i: target trees; Lam: n-grams of the target language; Xi: p(source order | target order) of each
family. Forests of all T_i are intersected with the n-grams once; then

    gibbs         T ~ p(T | S, Xi, Lam), exactly;  Xi ~ Dirichlet(prior + counts);  in the full model Lam likewise
    collapsed     Xi and Lam integrated out, one sentence after the other
    em            Xi from expected counts, to a maximum of the posterior
    variational   the same with exp E log, to a maximum of a lower bound

The reduced model keeps Lam fixed. Chains differ in their first draws; whether they came together, and which rows the
data say little about, is reported and warned of.

Cost: one visit per choice of the forests in every iteration, on all threads. References: Jansche (2005), Treebank
transfer; Tanner & Wong (1987), The calculation of posterior distributions by data augmentation.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from textmill._native import trees as native
from textmill.arrays import Floats
from textmill.corpus import Tree, parse_tree
from textmill.errors import DataError
from textmill.model import (
    Estimator,
    Model,
    StringTable,
    check_choice,
    check_fitted,
    check_range,
    effective_jobs,
    seed_of,
)
from textmill.progress import track
from textmill.tables import Table
from textmill.tasks.transfer.diagnostics import effective_size, split_r_hat
from textmill.tasks.transfer.fringes import FringeCounts, model_weights
from textmill.tasks.transfer.rows import Rows, generator_of
from textmill.trees import Acceptor, OrderModel, WovenForests, parse_families, weave

__all__ = ["TransferSummary", "TreebankTransfer", "WeakIdentification"]

METHODS = ("gibbs", "collapsed", "em", "variational")
_KEPT = 100  # draws of a chain that are kept at most
_WEAK = 0.5  # share of its prior deviation that the deviation of a well identified parameter stays below
_APART = 1.1  # R-hat of chains that have not come together
_SHARE = 1 << 20


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
        burn_in: First iterations of the samplers that are dropped.
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
        converged_: Whether R-hat of all well identified parameters is below 1.1, or the tolerance was reached.
    """

    takes: ClassVar[str] = "sequences"
    format_version: ClassVar[int] = 1
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
    state: ClassVar[dict[str, Any]] = {"n_iter_": int, "converged_": bool}

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
        max_iter: int = 300,
        burn_in: int = 100,
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
        rows = Rows.even(model.row, self.prior, sticks=self.sticks)
        events = self._events(woven, corpus, language_model, acceptor)
        self.histories_ = StringTable(" ".join(history) for history, _ in woven.events)
        self.words_ = StringTable(word for _, word in woven.events)
        if not woven.events:  # of an acceptor
            self.histories_ = self.words_ = StringTable([""] * woven.n_events)
        if self.method in ("gibbs", "collapsed"):
            self._sample_chains(woven, rows, events, model, checkpoint)
        else:
            self._ascend(woven, rows, events)
        return self

    # ---- what it gives

    def best(self, k: int = 1) -> list[list[tuple[Tree, float]]]:
        """Return the k most probable target trees of each source tree, with log posterior probabilities."""
        woven = self._restored()
        log_z = woven.expect(self.parameters_, self.weights_, self.n_jobs)[0]
        trees = woven.best(self.parameters_, self.weights_, k, self.n_jobs)
        return [
            [(woven.forests[s].tree(derivation), score - float(log_z[s])) for score, derivation in best]
            for s, best in enumerate(trees)
        ]

    def sample(self, k: int = 1, random_state: int | None = None) -> list[list[Tree]]:
        """Return k treebanks drawn from the posterior: each by another draw of the parameters."""
        woven, seed = self._restored(), seed_of(self.random_state if random_state is None else random_state, 0)
        draws = self.draws_.reshape(-1, self.draws_.shape[2])
        events = self.event_draws_.reshape(-1, self.event_draws_.shape[2])
        out = []
        for number in range(k):
            at = number * len(draws) // k if k <= len(draws) else number % max(len(draws), 1)
            drawn = woven.sample(
                draws[at] if len(draws) else self.parameters_,
                events[at] if len(events) else self.weights_,
                random_state=seed,
                iteration=(1 << 40) // max(len(woven.forests), 1) + number,
                n_jobs=self.n_jobs,
            )
            out.append([f.tree(choices) for f, choices in zip(woven.forests, drawn.derivations, strict=True)])
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

    def summary(self) -> TransferSummary:
        """Return each parameter with mean, interval, R-hat, effective sample size and row count."""
        check_fitted(self)
        model = OrderModel(parse_families(self.families))
        columns: dict[str, Any] = {"parameter": model.names, "mean": self.parameters_.tolist()}
        if self.draws_.shape[1]:
            flat = self.draws_.reshape(-1, self.draws_.shape[2])
            low, high = np.quantile(flat, [0.025, 0.975], axis=0)
            columns |= {"low": low.tolist(), "high": high.tolist()}
            columns |= {"r_hat": split_r_hat(self.draws_).tolist(), "ess": effective_size(self.draws_).tolist()}
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
        check_range("burn_in", self.burn_in, at_least=0, below=self.max_iter, whole=True)
        check_range("tolerance", self.tolerance, at_least=0)
        if self.sticks and self.method != "gibbs":
            raise DataError("sticks are drawn by method 'gibbs' only; leave sticks out for the others")

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

    def _sample_chains(
        self, woven: WovenForests, rows: Rows, events: Rows | Floats, model: OrderModel, checkpoint: Any
    ) -> None:
        seed, n = seed_of(self.random_state, 0), self.max_iter
        every = -(-(n - self.burn_in) // _KEPT)
        selected = range(self.burn_in, n, every)
        shape = (self.n_chains, len(selected))
        draws = np.zeros((*shape, model.n_parameters))
        event_draws = (
            np.zeros((*shape, woven.n_events))
            if isinstance(events, Rows)
            else np.zeros((self.n_chains, 0, woven.n_events))
        )
        trace, counts = np.zeros((self.n_chains, n)), np.zeros(model.n_parameters)
        means, event_means = np.zeros(model.n_parameters), np.zeros(woven.n_events)
        saved = _Checkpoint(checkpoint, self, woven)
        xi = np.zeros((self.n_chains, model.n_parameters))
        lam = np.zeros((self.n_chains, woven.n_events))
        arrays = {"draws": draws, "event_draws": event_draws, "trace": trace, "counts": counts, "xi": xi, "lam": lam}
        arrays |= {"means": means, "event_means": event_means}
        first = saved.restore(arrays)
        chains: list[Any] = []
        if first == 0 or self.method == "collapsed":
            first = 0
            for c in range(self.n_chains):
                rng = generator_of(seed, c, 0)
                xi[c] = rows.draw(np.zeros(model.n_parameters), rng)
                lam[c] = events.draw(np.zeros(woven.n_events), rng) if isinstance(events, Rows) else events
                if self.method == "collapsed":
                    chains.append(_collapsed(woven, rows, events))
        for iteration in track(range(first, n), "sampling", unit="iterations"):
            for c in range(self.n_chains):
                rng = generator_of(seed, c, iteration + 1)
                if self.method == "collapsed":
                    chains[c].scan(seed + c * _SHARE, iteration)
                    used, seen = chains[c].counts()
                else:
                    drawn = woven.sample(
                        xi[c],
                        lam[c],
                        random_state=seed + c * _SHARE,
                        iteration=iteration,
                        trees=False,
                        n_jobs=self.n_jobs,
                    )
                    used, seen = drawn.parameter_counts, drawn.event_counts
                    trace[c, iteration] = drawn.log_z.sum()
                xi[c] = rows.draw(used, rng)
                if isinstance(events, Rows):
                    lam[c] = events.draw(seen, rng)
                if self.method == "collapsed":
                    trace[c, iteration] = woven.native.expect(xi[c], lam[c], effective_jobs(self.n_jobs))[0].sum()
                if iteration >= self.burn_in:
                    counts += used
                    means += rows.mean(used)  # means given the trees vary less than draws
                    event_means += events.mean(seen) if isinstance(events, Rows) else events
                    if (iteration - self.burn_in) % every == 0:
                        draws[c, (iteration - self.burn_in) // every] = xi[c]
                        if isinstance(events, Rows):
                            event_draws[c, (iteration - self.burn_in) // every] = lam[c]
            saved.write(arrays, iteration + 1)
        size = self.n_chains * (n - self.burn_in)
        self.parameters_, self.weights_ = means / size, event_means / size
        self.draws_, self.event_draws_, self.trace_, self.n_iter_ = draws, event_draws, trace, n
        self.row_counts_ = rows.totals(counts / size)
        self._judge(model)

    def _ascend(self, woven: WovenForests, rows: Rows, events: Rows | Floats) -> None:
        """EM or variational inference."""
        variational = self.method == "variational"
        used = generator_of(seed_of(self.random_state, 0), 0, 0).random(len(rows.row))  # even rows would stay even
        seen = np.zeros(woven.n_events)
        trace: list[float] = []
        self.converged_ = False
        for _ in track(range(self.max_iter), "iterations", unit="iterations"):
            if variational:
                xi, lam = rows.geometric(used), events.geometric(seen) if isinstance(events, Rows) else events
            else:
                xi, lam = _maximum(rows, used), events.mean(seen) if isinstance(events, Rows) else events
            log_z, next_used, next_seen = woven.expect(xi, lam, self.n_jobs)
            value = float(log_z.sum())
            if variational:
                value -= rows.divergence(used) + (events.divergence(seen) if isinstance(events, Rows) else 0.0)
            else:
                with np.errstate(divide="ignore"):
                    value += float((np.log(np.maximum(xi, 1e-300)) * (rows.alpha - 1.0)).sum())
            used, seen = next_used, next_seen
            trace.append(value)
            if len(trace) > 2 and abs(trace[-1] - trace[-2]) <= self.tolerance * abs(trace[-1]):
                self.converged_ = True
                break
        self.parameters_ = rows.mean(used) if variational else _maximum(rows, used)
        self.weights_ = events.mean(seen) if isinstance(events, Rows) else np.asarray(events)
        self.draws_, self.event_draws_ = np.zeros((1, 0, len(used))), np.zeros((1, 0, woven.n_events))
        self.trace_, self.n_iter_ = np.array([trace]), len(trace)
        self.row_counts_ = rows.totals(used)

    def _weak(self, model: OrderModel) -> Any:
        """Parameters that are about as uncertain as before."""
        prior = Rows.even(model.row, self.prior).prior_deviation()
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
                f"chains have not come together: R-hat is up to {r_hat[~weak].max():.2f}; raise max_iter and burn_in",
                WeakIdentification,
                stacklevel=3,
            )

    def _restored(self) -> WovenForests:
        """The forests, which a file does not hold: they are made again from the source trees."""
        check_fitted(self)
        if "_woven" not in vars(self):
            model = OrderModel(parse_families(self.families))
            woven = self._weave(model, [parse_tree(text) for text in self.sources_], None)
            number = {(h, w): at for at, (h, w) in enumerate(zip(self.histories_, self.words_, strict=True))}
            if len(woven.events) != len(number):
                raise DataError("the model was made with an acceptor, which a file does not hold; fit it again")
            order = [number[" ".join(history), word] for history, word in woven.events]
            self.weights_, self.event_draws_ = self.weights_[order], self.event_draws_[:, :, order]
            self.histories_ = StringTable(" ".join(history) for history, _ in woven.events)
            self.words_ = StringTable(word for _, word in woven.events)
            self._woven = woven
        return self._woven

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_woven"}


class _Checkpoint:
    """The state of Gibbs chains in a file, written ten times in a run."""

    def __init__(self, path: Any, model: TreebankTransfer, woven: WovenForests) -> None:
        self._path = None if path is None else Path(path)
        facts = (model.get_params(deep=False) | {"n_jobs": None}, len(woven.forests), woven.n_events)
        self._facts = np.frombuffer(repr(facts).encode(), np.uint8)
        self._every = max(model.max_iter // 10, 1)
        if self._path is not None and model.method != "gibbs":
            raise DataError("only chains of method 'gibbs' have checkpoints; leave checkpoint out")

    def restore(self, arrays: dict[str, Floats]) -> int:
        if self._path is None or not self._path.exists():
            return 0
        with np.load(self._path, allow_pickle=False) as stored:
            if not np.array_equal(stored["facts"], self._facts):
                raise DataError(f"{self._path}: a checkpoint of another run; remove the file, or name another")
            for name, array in arrays.items():
                array[...] = stored[name]
            return int(stored["iteration"])

    def write(self, arrays: dict[str, Floats], iteration: int) -> None:
        if self._path is None or iteration % self._every:
            return
        part = self._path.with_name(self._path.name + ".part")
        with part.open("wb") as out:
            np.savez(out, facts=self._facts, iteration=np.array(iteration), **arrays)  # type: ignore[arg-type]
        part.replace(self._path)


def _collapsed(woven: WovenForests, rows: Rows, events: Rows | Floats) -> Any:
    totals = rows.totals(rows.alpha) + rows.rest
    if isinstance(events, Rows):
        event_totals = events.totals(events.alpha) + events.rest
        return native.CollapsedChain(woven.native, rows.row, rows.alpha, totals, events.row, events.alpha, event_totals)
    fixed = np.full(woven.n_events, -1, np.int32)
    return native.CollapsedChain(woven.native, rows.row, rows.alpha, totals, fixed, np.asarray(events), np.zeros(0))


def _maximum(rows: Rows, counts: Floats) -> Floats:
    """The most probable rows given counts; a row without counts is even."""
    own = np.maximum(counts + rows.alpha - 1.0, 0.0)
    total = rows.totals(own)
    even = 1.0 / np.bincount(rows.row, minlength=rows.n_rows)
    safe = np.where(total > 0, total, 1.0)
    return np.asarray(np.where(total[rows.row] > 0, own / safe[rows.row], even[rows.row]))


def _brackets(tree: Tree) -> list[tuple[tuple[str, ...], str]]:
    leaves = tree.leaves()
    return [(tuple(leaves[start:end]), label) for start, end, label in tree.spans()]
