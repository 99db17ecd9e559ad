"""Latent-dynamic conditional random fields: every label has hidden states of its own.

    P(y | x) = sum over h with h_t in H_{y_t} of P(h | x),      P(h | x) = exp(score(x, h)) / Z(x)
    minimize  sum_i w_i (-log P(y^i | x^i)) + l1 ||theta||_1 + l2 / 2 ||theta||^2

The states of a label are learned from its labels alone and split it where it is too coarse: after "he is her" a noun
goes on, after "he gave her" another begins, though the labels before are the same. With one state a label the model is
a `CRF`, by the same objective. With more the objective is not convex, so it matters where training begins
(hidden_states.py):

    start="random"   small random weights
    start="crf"      the weights of a trained CRF for every state of a label, and noise to tell them apart
    start="split"    from one state a label: split every state in two, train, merge the splits that help least, again;
                     `states` are then the most that a label may have, and `states_` what was found

Several restarts share one index of tests; the best on development sequences is kept. The best labeling is no Viterbi
path and is searched for, with a proof (labelpaths.py). Cost of an iteration: that of a CRF with as many labels as there
are states, H^2 a token, or H^3 with order 2, whose scores look at three states.
References: Morency, Quattoni & Darrell (2007); Sun, Morency, Okanohara & Tsujii (2008); Petrov & Klein (2008).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats, Ids, Ints
from textmill.cluster import Cluster
from textmill.errors import DataError, ModelFileError
from textmill.model import RandomState, check_choice, check_fitted, check_range, seed_of
from textmill.optimize import Plateau
from textmill.sequence.chainmodel import DENSE_SHARE, ChainModel, Constraints
from textmill.sequence.encoder import Encoder
from textmill.sequence.encoding import Encoded, label_ids
from textmill.sequence.evaluation import evaluate_tags
from textmill.sequence.features import FeatureLayout
from textmill.sequence.formats import ChainWeights
from textmill.sequence.hidden_states import (
    expand_weights,
    merge_plan,
    merge_weights,
    owners_of,
    state_counts,
    state_names,
    state_noise,
)
from textmill.sequence.labelpaths import (
    Certificate,
    HiddenScorer,
    SearchLimits,
    best_label_paths,
    best_labels_flat,
    hidden_paths,
    label_log_probabilities,
    most_probable_states,
    state_probabilities,
)
from textmill.sequence.trainable import Course, Labels, TrainableChain, _answer_crfsuite
from textmill.sequence.training.algorithms import Algorithm, SparseWeights
from textmill.sequence.training.batch import Result, Snapshot
from textmill.sequence.training.latent import LatentObjective, SecondOrderObjective
from textmill.sequence.training.objective import ChainObjective, seen_features
from textmill.sequence.trigrams import seen_triples, split_patterns, trigram_tests, with_trigrams, without_trigrams

__all__ = ["LatentCRF"]

STARTS = ("random", "crf", "split")
MERGED = 0.5  # share of the splits that are taken back
ROUND_SHARE = 4  # a round of splitting gets this part of the iterations


class LatentCRF(TrainableChain):
    """A CRF whose labels have hidden states.

    Parameters:
        patterns: Text of a pattern file or list of patterns; None for tokens with attributes of their own. With
            order 2, patterns that begin with t make tests of three states; "t" alone is added if there is none.
        encoder: `Encoder` instead, for another syntax, rare tests or hashing: `Encoder(patterns=..., min_count=2)`.
        states: Number of states of every label, or a mapping from label to number; with start="split" the most.
        order: 1, or 2 for scores of three states.
        start: "random", "crf" or "split".
        noise: Standard deviation of random weights to begin with.
        restarts: Number of trainings from different random weights; the best is kept, by F1 of chunks (token accuracy
            where labels are no chunks) on development sequences or, without any, by the objective.
        start_label: Whether bigram tests are true at first tokens, after a label of their own.
        features: "all" (every test with every state) or "seen" (only with states of labels that it has in the training
            data; owlqn, lbfgs, cg, rprop).
        algorithm: "lbfgs", "cg", "owlqn", "sgd_l1", "sgd_l2", "rprop", or an object with settings of its own.
        l1: L1 penalty; None for 0.5, or for 0 where the algorithm has no L1 penalty.
        l2: L2 penalty; None for 1e-5, or for 1 where there is no L1 penalty.
        max_iter: Largest number of iterations; None for 200, or for 30 epochs.
        tolerance: Relative change of the objective that ends a run; None for 1e-4.
        fine_tune: Number of iterations of L-BFGS on the weights that are not zero, with L2 in the place of L1.
        compact: Whether to drop tests without weights.
        dtype: Type of the weights, "float64" or "float32".
        n_jobs: Number of threads; None for all cores.
        random_state: Seed of the random numbers.

    Attributes:
        classes_: Labels, (Y,).
        states_: Number of states of every label, (Y,).
        encoder_: Fitted encoder.
        features_: Numbers of the weights that are not zero; labels of the feature layout are states.
        weights_: These weights.
        trigram_encoder_: Fitted encoder of the tests of three states, None where "t" is the only one or order is 1.
        trigram_features_, trigram_weights_: Numbers and values of their weights.
        restarts_: Mapping for every restart: number, objective, dev (figure on development sequences), iterations.
        n_iter_, converged_, stop_reason_, objective_, trace_, training_log_, pattern_counts_: As in `CRF`.

    >>> X = [["he", "is", "her", "friends"], ["he", "gave", "her", "friends"]]
    >>> y = [["B", "O", "B", "I"], ["B", "O", "B", "B"]]
    >>> model = LatentCRF(patterns=["u:%x[0,0]", "b"], states=2, noise=4.0, restarts=8, l2=0.001, random_state=0)
    >>> model.fit(X, y).predict(X) == y
    True
    """

    takes: ClassVar[str] = "sequences"
    kind: ClassVar[str] = "latent"
    normalized: ClassVar[bool] = False
    patience: ClassVar[Plateau] = Plateau(window=50)  # states part from each other late
    format_version: ClassVar[int] = 2
    layout: ClassVar[dict[str, str]] = {
        "states_": "class: int64",
        "trigram_features_": "triple: int64",
        "trigram_weights_": "triple: float64 | float32",
    }
    parts: ClassVar[dict[str, str]] = {"trigram_encoder_": "sequence.Encoder"}
    state: ClassVar[dict[str, Any]] = {"restarts_": list}

    states_: Ints
    trigram_encoder_: Encoder | None
    trigram_features_: Ints
    trigram_weights_: Floats
    restarts_: list[dict[str, Any]]

    @_answer_crfsuite
    def __init__(
        self,
        *,
        patterns: str | Sequence[str] | None = None,
        encoder: Encoder | None = None,
        states: int | Mapping[str, int] = 4,
        order: int = 1,
        start: str = "random",
        noise: float = 0.05,
        restarts: int = 1,
        start_label: bool = False,
        features: str = "all",
        algorithm: str | Algorithm = "lbfgs",
        l1: float | None = None,
        l2: float | None = None,
        max_iter: int | None = None,
        tolerance: float | None = None,
        fine_tune: int = 0,
        compact: bool = True,
        dtype: str = "float64",
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(
            patterns=patterns, encoder=encoder, start_label=start_label, features=features, algorithm=algorithm, l1=l1,
            l2=l2, max_iter=max_iter, tolerance=tolerance, fine_tune=fine_tune, compact=compact, dtype=dtype,
            n_jobs=n_jobs, random_state=random_state,
        )  # fmt: skip
        self.states = states
        self.order = order
        self.start = start
        self.noise = noise
        self.restarts = restarts

    # training

    def objective(self, data: Encoded, *, cluster: Cluster | None = None) -> ChainObjective:
        """Minus the log-likelihood of labels, their states summed over, with penalties: what `fit` minimizes."""
        settings = self._settings()
        layout, owner = self._layout(), self.owner_
        terms: dict[str, Any] = {"l1": settings.l1, "l2": settings.l2, "n_jobs": self.n_jobs, "cluster": cluster}
        terms["candidates"] = self._candidates(data) if self.features == "seen" else None
        if self.order == 2:
            return SecondOrderObjective(layout, data, owner, **terms)
        if len(owner) == len(self.classes_):
            return ChainObjective(layout, data, **terms)
        return LatentObjective(layout, data, owner, **terms)

    @property
    def owner_(self) -> Ids:
        """The number of the label of every state."""
        return owners_of(self.states_)

    @property
    def state_names_(self) -> list[str]:
        """Names of the states: LABEL/1, LABEL/2 and so on."""
        return state_names([str(label) for label in self.classes_.tolist()], self.states_)

    def _settings(self) -> Any:
        check_choice("start", self.start, STARTS)
        check_range("noise", self.noise, at_least=0)
        check_range("restarts", self.restarts, at_least=1, whole=True)
        check_range("order", self.order, at_least=1, at_most=2, whole=True)
        settings = super()._settings()
        if settings.algorithm.name in ("bcd", "perceptron"):
            raise DataError(f"{settings.algorithm.name} does not train hidden states; use lbfgs, cg, owlqn or sgd_l2")
        if self.order == 2 and not settings.algorithm.gradients:
            raise DataError(f"{settings.algorithm.name} does not train order 2; use lbfgs, cg or owlqn")
        if self.order == 2 and self.start_label:
            raise DataError(
                "start_label is for order 1; with order 2 use patterns that look at the place, such as %x[-1,0]"
            )
        return settings

    def _encoder(self, start: ChainModel | None = None) -> Encoder:
        encoder = super()._encoder(start)
        self._triples: list[str] = []
        if start is None and encoder.patterns is not None:
            plain, self._triples = split_patterns(encoder.patterns)
            if self._triples and self.order != 2:
                raise DataError(f"pattern {self._triples[0]!r} is for three states; use order=2")
            if self._triples:
                encoder.set_params(patterns=plain)
        return encoder

    def _layout(self) -> FeatureLayout:
        counts = self.encoder_.feature_counts(int(self.states_.sum()))
        return FeatureLayout(int(self.states_.sum()), counts.unigrams, counts.bigrams, self.start_label)

    def _candidates(self, data: Encoded) -> Ints:
        """Features whose label, or labels, occurred with their test; those of all its states."""
        layout, labels = self._layout(), len(self.classes_)
        of_labels = FeatureLayout(labels, layout.unigrams, layout.bigrams, layout.start)
        plain = data if self.order == 1 else without_trigrams(data, layout.bigrams)
        seen = seen_features(of_labels, plain)
        features, _ = expand_weights(seen, np.ones(len(seen)), of_labels, layout, self.states_)
        if self.order == 1:
            return features
        return np.concatenate([features, layout.size + seen_triples(data, layout.bigrams, self.states_)])

    def _train(self, course: Course, data: Encoded, start: ChainModel | None) -> Result:
        """Find the weights: from a model, or by the start that was chosen, as often as restarts say."""
        classes = self.classes_
        self.states_ = state_counts(self.states, classes)
        self.trigram_encoder_, self.trigram_features_, self.trigram_weights_ = None, np.empty(0, np.int64), np.empty(0)
        if self.order == 2:
            if start is not None:
                raise DataError("training of order 2 cannot begin with a model; leave out start")
            self.trigram_encoder_, triples = trigram_tests(self.encoder, self._triples, course.X, n_jobs=self.n_jobs)
            data = with_trigrams(data, triples, self._layout().bigrams)
        several = bool((self.states_ > 1).any())
        if several and self.noise == 0 and not isinstance(start, LatentCRF):
            raise DataError(
                "with noise=0 all states of a label begin alike, get the same gradient and stay alike for ever: the "
                "model would be a CRF; pass a noise above 0, such as 0.05"
            )
        best: tuple[float, Ints, Result, Any] | None = None
        self.restarts_, log = [], self.training_log_
        for number in range(self.restarts if several else 1):
            self.training_log_ = []
            self.states_ = state_counts(self.states, classes)
            runs = number * 1000  # every restart has checkpoints of its own
            if not several or self.start == "random" or start is not None:
                result = self._one_run(course, data, self._start_weights(start, number), number=runs)
            elif self.start == "crf":
                result = self._from_crf(course, data, number)
            else:
                result = self._by_splitting(course, data, number)
            figure, rank = self._figure(course, result)
            entry: dict[str, Any] = {"number": number + 1, "objective": float(result.objectives[-1]), "dev": figure}
            entry |= {"iterations": len(self.training_log_), "states": self.states_.tolist()}
            self.restarts_.append(entry)
            log = [*log, *self.training_log_]
            if best is None or rank > best[0]:
                best = (rank, self.states_, result, self.training_log_)
            if result.reason == "interrupted":
                break
        assert best is not None
        _, self.states_, result, self.training_log_ = best
        return self._without_trigrams(result)

    def _one_run(self, course: Course, data: Encoded, weights: SparseWeights, *, number: int, share: int = 1) -> Result:
        max_iter = max(1, course.settings.max_iter // share)
        return self._run(course, data, weights, max_iter=max_iter, number=number)

    def _start_weights(self, start: ChainModel | None, number: int) -> SparseWeights:
        """Random weights, or those of a model to begin with, of a CRF for every state and with noise."""
        if start is None:
            return self._noisy(SparseWeights(np.empty(0, np.int64), np.empty(0)), number, everywhere=True)
        if isinstance(start, LatentCRF):
            if start.states_.tolist() != self.states_.tolist():
                raise DataError("the model to begin with has other numbers of states; use the same")
            return self._beginning(start)
        counts, self.states_ = self.states_, np.ones(len(self.classes_), np.int64)
        old, begun = self._layout(), self._beginning(start)
        self.states_ = counts
        return self._noisy(SparseWeights(*expand_weights(*begun, old, self._layout(), counts)), number)

    def _noisy(self, weights: SparseWeights, number: int, *, everywhere: bool = False) -> SparseWeights:
        """Weights with noise; `everywhere`: of all features, else of those that have a weight."""
        if not (self.states_ > 1).any():
            return weights
        layout = self._layout()
        features = np.arange(layout.size) if everywhere else weights.features
        seed = [seed_of(self.random_state, 0), number]
        drawn = self.noise * state_noise(self.encoder_, layout, features, self.state_names_, seed=seed)
        return SparseWeights(features, drawn if everywhere else weights.weights + drawn)

    def _from_crf(self, course: Course, data: Encoded, number: int) -> Result:
        """A CRF first, then its weights for all states of a label, with noise."""
        counts, self.states_ = self.states_, np.ones(len(self.classes_), np.int64)
        begun: SparseWeights | None = getattr(self, "_crf", None) if number else None
        if begun is None:
            first = self._one_run(course, data, SparseWeights(np.empty(0, np.int64), np.empty(0)), number=0)
            begun = self._crf = self._plain(first, self._layout())
        old, self.states_ = self._layout(), counts
        weights = SparseWeights(*expand_weights(begun.features, begun.weights, old, self._layout(), counts))
        return self._one_run(course, data, self._noisy(weights, number), number=number * 1000 + 1)

    def _by_splitting(self, course: Course, data: Encoded, number: int) -> Result:
        """Split all states in two, train, take back the splits that help least; again, until labels have enough."""
        most = self.states_
        self.states_ = np.ones(len(most), np.int64)
        run = number * 1000
        begin = SparseWeights(np.empty(0, np.int64), np.empty(0))
        result = self._one_run(course, data, begin, number=run, share=ROUND_SHARE)
        rounds = 2 * math.ceil(math.log2(int(most.max())))
        for turn in range(rounds):
            counts = self.states_
            owner = self.owner_
            # a state is split while its label may have one more
            room = most - counts
            rank = np.concatenate([np.arange(count) for count in counts.tolist()])
            split = np.where(rank < room[owner], 2, 1)
            if not (split > 1).any():
                break
            old = self._layout()
            begun = self._plain(result, old)
            self.states_ = np.bincount(owner, weights=split, minlength=len(counts)).astype(np.int64)
            weights = SparseWeights(*expand_weights(*begun, old, self._layout(), split.astype(np.int64)))
            run += 1
            result = self._one_run(
                course, data, self._noisy(weights, number * 100 + turn), number=run, share=ROUND_SHARE
            )
            if result.reason == "interrupted":
                return result
            merged = self._merged(data, self._plain(result, self._layout()), split.astype(np.int64))
            result = replace(result, features=merged.features, weights=merged.weights)
        return self._one_run(course, data, SparseWeights(*self._plain(result, self._layout())), number=run + 1)

    def _merged(self, data: Encoded, weights: SparseWeights, split: Ints) -> SparseWeights:
        """Take back the half of the splits whose loss raises the objective least."""
        objective, layout = self.objective(data), self._layout()
        pairs = (np.cumsum(split) - split)[split == 2].tolist()  # the first state of each
        use = self._state_use(data, weights)
        smaller = replace(layout, labels=layout.labels - 1)
        losses = []
        for at in pairs:  # both states with the mean of their weights
            mean = merge_weights(*weights, layout, smaller, *merge_plan(use, {at}))
            again = np.ones(smaller.labels, np.int64)
            again[at] = 2
            losses.append(objective(objective.spread(*expand_weights(*mean, smaller, layout, again)))[0])
        back = {pairs[i] for i in np.argsort(losses, kind="stable")[: math.floor(MERGED * len(pairs))].tolist()}
        stays = np.array([state - 1 not in back for state in range(layout.labels)])
        plan = merge_plan(use, back)
        self.states_ = np.bincount(self.owner_[stays], minlength=len(self.classes_)).astype(np.int64)
        return SparseWeights(*merge_weights(*weights, layout, self._layout(), *plan))

    def _state_use(self, data: Encoded, weights: SparseWeights) -> Floats:
        """How many tokens each state is expected to stand for."""
        scorer = HiddenScorer(self._layout(), weights.weights, self.owner_, weights.features)
        allowed = None
        if data.labels is not None:
            labels = data.labels[:, None]
            allowed = ((labels == np.arange(len(self.classes_))) | (labels < 0)).astype(np.uint8)
        probabilities, _ = state_probabilities(scorer, data, allowed=allowed, n_jobs=self.n_jobs)
        return np.asarray(probabilities.sum(axis=0), np.float64)

    def _plain(self, result: Result, layout: FeatureLayout) -> SparseWeights:
        """The weights of a result without those of three states, which splitting forgets."""
        inside = result.features < layout.size
        return SparseWeights(result.features[inside], result.weights[inside])

    def _without_trigrams(self, result: Result) -> Result:
        size = self._layout().size
        triple = result.features >= size
        self.trigram_features_ = result.features[triple] - size
        self.trigram_weights_ = result.weights[triple].astype(self.dtype)
        return replace(result, features=result.features[~triple], weights=result.weights[~triple])

    def _figure(self, course: Course, result: Result) -> tuple[float | None, float]:
        """How good a restart is on development sequences, and by what restarts are ranked."""
        if course.X_dev is None or course.y_dev is None:
            return None, -float(result.objectives[-1])
        data = self._coded(course.X_dev)
        labels = best_labels_flat(self._scorer_of(result.features, result.weights), data, n_jobs=self.n_jobs)
        scores = evaluate_tags([list(map(str, row)) for row in course.y_dev], self._names(labels, data))
        figure = scores.f1 if scores.chunks is not None else 1.0 - scores.token_error
        return figure, figure

    def _development_error(self, X: Iterable[Any] | None, y: Labels | None) -> Callable[[Snapshot], float] | None:
        if X is None:
            return None
        if y is None:
            raise DataError("X_dev needs y_dev; pass both")
        data = self._coded(X)
        gold = label_ids(y, data.offsets, self.classes_)

        def error(done: Snapshot) -> float:
            labels = best_labels_flat(self._scorer_of(*done.nonzero()), data, n_jobs=self.n_jobs)
            return 100.0 * float(np.mean(labels != gold)) if data.tokens else 0.0

        return error

    def path(self, X: Iterable[Any], y: Labels, *, steps: int = 10, ratio: float = 0.01) -> Iterator[Self]:
        """Nothing: a path begins at weights of zero, where the states of a label are alike."""
        raise DataError("a path of penalties begins at zero, where hidden states are alike; fit with each l1 instead")

    def l1_max(self, X: Iterable[Any], y: Labels) -> float:
        """Nothing: at weights of zero the states of a label are alike."""
        raise DataError("weights of zero are no model of hidden states, whatever the penalty; use l1_max of a CRF")

    # labeling

    def predict(
        self,
        X: Iterable[Any],
        *,
        search: str = "label",
        posterior: bool = False,
        constraints: Constraints | None = None,
        transitions: NDArray[Any] | None = None,
        limits: SearchLimits | None = None,
        maximize: str | None = None,
        micro: bool = True,
    ) -> list[list[str]]:
        """The labels of every sequence.

        `search` is how the most probable labeling is found: "label", "hidden" or "hidden-exact"; "viterbi" takes the
        labels of the best hidden path instead, `posterior` the most probable label of each token. `limits` end a search
        with its best answer so far; `predict_certified` says which answers are proved. `constraints`, `transitions` and
        `maximize` as in `CRF.predict`.
        """
        data = self._encoded(X)
        allowed = None if constraints is None else self._allowed(constraints, data)
        if maximize is not None:
            raise DataError("labels of greatest expected F need a model without hidden states; use posterior or a CRF")
        restrictions: dict[str, Any] = {"allowed": allowed, "transitions": transitions, "n_jobs": self.n_jobs}
        if posterior:
            probabilities = self._label_sums(state_probabilities(self._scorer(), data, **restrictions)[0])
            labels = np.where(probabilities.any(axis=1), probabilities.argmax(axis=1), -1).astype(np.int32)
        elif search == "viterbi":
            path, _ = most_probable_states(self._scorer(), data, **restrictions)
            labels = np.where(path < 0, -1, self.owner_[path]).astype(np.int32)
        else:
            labels = best_labels_flat(self._scorer(), data, search=search, limits=limits, **restrictions)
        if (labels < 0).any():
            s = int(np.searchsorted(data.offsets, int(np.argmax(labels < 0)), side="right"))
            raise DataError(f"every labeling of sequence {s} is forbidden; relax constraints or transitions")
        return self._names(labels, data)

    def predict_certified(
        self,
        X: Iterable[Any],
        k: int = 1,
        *,
        search: str = "label",
        limits: SearchLimits | None = None,
        runner_up: bool = True,
        constraints: Constraints | None = None,
        transitions: NDArray[Any] | None = None,
    ) -> list[tuple[list[tuple[list[str], float]], Certificate]]:
        """The k best labelings of every sequence with their probabilities, and the proof that none is missing.

        `runner_up` asks for the labeling after them, too; without it the search ends sooner, with a bound on it.

        >>> model = LatentCRF(patterns=["u:%x[0,0]"], states=2, random_state=0).fit(["ab"] * 3, [["A", "B"]] * 3)
        >>> [(paths, certificate)] = model.predict_certified(["ab"], k=2)
        >>> paths[0][0], certificate.exact
        (['A', 'B'], True)
        """
        data = self._encoded(X)
        allowed = None if constraints is None else self._allowed(constraints, data)
        answers = best_label_paths(
            self._scorer(),
            data,
            k,
            search=search,
            limits=limits,
            runner_up=runner_up,
            allowed=allowed,
            transitions=transitions,
            n_jobs=self.n_jobs,
        )
        names = self.classes_.tolist()
        certified = []
        for s, (paths, certificate) in enumerate(answers, 1):
            if not paths:
                raise DataError(f"every labeling of sequence {s} is forbidden; relax constraints or transitions")
            second = None if certificate.runner_up is None else [names[y] for y in certificate.runner_up]
            named = [([names[y] for y in labels], probability) for labels, probability in paths]
            certified.append((named, certificate._replace(runner_up=second)))
        return certified

    def predict_best(
        self, X: Iterable[Any], k: int = 5, *, constraints: Constraints | None = None
    ) -> list[list[tuple[list[str], float, float]]]:
        """The k best labelings of every sequence with the logs of their probabilities and these, best first."""
        answers = self.predict_certified(X, k, constraints=constraints)
        return [
            [
                (labels, math.log(probability) if probability > 0 else -math.inf, probability)
                for labels, probability in paths
            ]
            for paths, _ in answers
        ]

    def predict_marginals(
        self, X: Iterable[Any], *, constraints: Constraints | None = None
    ) -> list[NDArray[np.float64]]:
        """The probabilities of all labels at every token, one array [tokens, classes] a sequence."""
        return [self._label_sums(part) for part in self.predict_states(X, constraints=constraints)]

    def predict_states(self, X: Iterable[Any], *, constraints: Constraints | None = None) -> list[NDArray[np.float64]]:
        """The probabilities of all states at every token, one array [tokens, states] a sequence."""
        data = self._encoded(X)
        allowed = None if constraints is None else self._allowed(constraints, data)
        probabilities, _ = state_probabilities(self._scorer(), data, allowed=allowed, n_jobs=self.n_jobs)
        return np.split(probabilities, data.offsets[1:-1].tolist()) if data.sequences else []

    def log_probability(self, X: Iterable[Any], y: Labels) -> list[float]:
        """log P(y | x) of given labelings, exactly; a label that is None is summed over.

        >>> model = LatentCRF(patterns=["u:%x[0,0]"], states=2, random_state=0).fit(["ab"] * 3, [["A", "B"]] * 3)
        >>> total = sum(np.exp(model.log_probability(["a"] * 2, [["A"], ["B"]])))
        >>> round(float(total), 9)
        1.0
        """
        data = self._encoded(X)
        labels = label_ids(y, data.offsets, self.classes_)
        names = [label for row in y for label in row]
        for label, number in zip(names, labels.tolist(), strict=True):
            if number < 0 and label is not None:
                raise DataError(f"label '{label}' is no label of the model; it has {', '.join(self.classes_.tolist())}")
        return [float(p) for p in label_log_probabilities(self._scorer(), data, labels, n_jobs=self.n_jobs)]

    def hidden_paths(
        self, tokens: Any, *, constraints: Sequence[Any] | None = None
    ) -> Iterator[tuple[list[str], float]]:
        """Hidden paths of one sequence with their probabilities, best first, found as they are asked for.

        >>> model = LatentCRF(patterns=["u:%x[0,0]"], states=2, random_state=0).fit(["ab"] * 3, [["A", "B"]] * 3)
        >>> states, probability = next(model.hidden_paths("ab"))
        >>> [state[0] for state in states]
        ['A', 'B']
        """
        data = self._encoded([tokens])
        allowed = None if constraints is None else self._allowed([constraints], data)
        names = self.state_names_
        for path, probability in hidden_paths(self._scorer(), data, allowed=allowed):
            yield [names[state] for state in path], probability

    def span_confidence(
        self, X: Iterable[Any], y: Sequence[Sequence[str]], spans: Sequence[Sequence[tuple[int, int]]]
    ) -> list[list[float]]:
        """How probable it is that all tokens of a span have the labels of y; spans as in `CRF.span_confidence`."""
        X = list(X)
        if len(spans) != len(X):
            raise DataError(f"spans must be {len(X)} lists of (first, behind the last), counted from 0")
        tokens, labels = [], []
        for one, row, some in zip(X, y, spans, strict=True):
            for first, last in some:
                if not 0 <= first < last <= len(row):
                    raise DataError(
                        f"span ({first}, {last}) does not lie within its sequence; give first and behind last"
                    )
                tokens.append(one)
                labels.append([label if first <= t < last else None for t, label in enumerate(row)])
        values = iter(np.exp(self.log_probability(tokens, labels)).tolist()) if tokens else iter(())
        return [[next(values) for _ in some] for some in spans]

    def to_weights(self) -> ChainWeights:
        """The chain of hidden states as a CRF whose labels are states, for other formats and for inspection."""
        check_fitted(self)
        if self.order == 2:
            raise DataError("weights of three states have no place in other formats; train with order=1")
        return super().to_weights()

    @classmethod
    def from_weights(cls, weights: ChainWeights) -> Self:
        """Nothing: other formats know no hidden states."""
        raise DataError("a model with hidden states cannot be made of another tool's weights; train it")

    def _written_as(self) -> tuple[str, list[str]]:
        return "crf", self.state_names_

    def check_values(self) -> None:
        """Check what the layout cannot say of a model from a file."""
        if not len(self.states_) or (self.states_ < 1).any():
            raise ModelFileError("a label has no states", reason="damaged")
        super().check_values()
        triples = self.trigram_features_
        if self.order == 1 and len(triples):
            raise ModelFileError("a model of order 1 has weights of three states", reason="damaged")
        if len(triples) and not (np.diff(triples) > 0).all():
            raise ModelFileError("the features of three states do not rise", reason="damaged")
        if len(triples) and not 0 <= triples[0] <= triples[-1] < self._trigrams() * int(self.states_.sum()) ** 3:
            raise ModelFileError("a feature of three states belongs to no test", reason="damaged")
        if not np.isfinite(self.trigram_weights_).all():
            raise ModelFileError("a weight is not finite", reason="damaged")

    def _trigrams(self) -> int:
        """Number of tests of three states."""
        if self.order == 1:
            return 0
        return 1 if self.trigram_encoder_ is None else self.trigram_encoder_.feature_counts(1).bigrams

    def _coded(self, X: Iterable[Any]) -> Encoded:
        """Sequences by the tests that are known, tests of three states with those of two."""
        X = list(X)
        data = self.encoder_.encode(X)
        if self.order == 1:
            return data
        triples = None if self.trigram_encoder_ is None else self.trigram_encoder_.encode(X).bigram
        return with_trigrams(data, triples, self._layout().bigrams)

    def _encoded(self, X: Iterable[Any]) -> Encoded:
        check_fitted(self)
        self.encoder_.n_jobs = self.n_jobs
        return self._coded(X)

    def _scorer(self) -> Any:
        check_fitted(self)
        weights = self.weights_.astype(np.float64, copy=False)
        if self.order == 1:
            return self._scorer_of(self.features_, weights)
        size = self._layout().size
        features = np.concatenate([self.features_, size + self.trigram_features_])
        return self._scorer_of(features, np.concatenate([weights, self.trigram_weights_.astype(np.float64)]))

    def _scorer_of(self, features: Ints, weights: Floats) -> HiddenScorer:
        layout = self._layout()
        size = layout.size + self._trigrams() * layout.labels**3
        if self.order == 2 or len(weights) * DENSE_SHARE >= size:
            full = np.zeros(size)
            full[features] = weights
            return HiddenScorer(layout, full, self.owner_, None, self.order)
        return HiddenScorer(layout, weights, self.owner_, features, self.order)

    def _label_sums(self, states: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of states added up to those of labels."""
        first = np.concatenate([[0], np.cumsum(self.states_)[:-1]])
        return np.add.reduceat(states, first, axis=1) if len(states) else np.zeros((0, len(self.classes_)))
