"""Latent-dynamic CRFs on noun phrases: training against CRFsuite, the search for labels against Viterbi, quality.

TEXTMILL_DATA=... python -m bench latent [--quick]

CoNLL-2000 with the chunks of noun phrases alone, word tests that occur more than ten times, pairs of states. No other
tool that can be installed trains hidden states: CRFsuite is given one label per state, which costs it one sum where we
have two. Its seconds per evaluation are the difference of two runs. The search is held against Viterbi over the same
states, two threads against one (processor time of the busiest). Rows of quality train on the first nine tenths, choose
restarts on the last tenth, and are scored on the test part; their times are those of labeling the test part.

`quality` has both sets of tests of the paper: settings are tried on the last tenth, the best is trained on with all
sequences and scored on the test part; it takes minutes.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from bench._crf_peers import crfsuite_evaluation
from bench._crf_problems import attributes, columns
from bench.harness import Job, Options, measured
from textmill.sequence import (
    ChainScorer,
    Encoder,
    LatentCRF,
    best_label_paths,
    compare_tags,
    evaluate_tags,
    refit_tagger,
    viterbi,
)
from textmill.sequence.labelpaths import best_labels_flat
from textmill.sequence.training.latent import LatentObjective

PACKAGES = ["python-crfsuite"]
STATES = 4
WORDS = [*(f"u:w{i}=%x[{i},0]" for i in range(-2, 3)), "u:w-10=%x[-1,0]/%x[0,0]", "u:w01=%x[0,0]/%x[1,0]", "b"]
RARE = 11  # occurrences of a test
TAGS = [(-1,), (0,), (1,), (-2, -1), (-1, 0), (0, 1), (1, 2), (-2, -1, 0), (-1, 0, 1), (0, 1, 2)]  # parts of speech
ALL = [*(f"u:p{','.join(map(str, at))}={'/'.join(f'%x[{i},1]' for i in at)}" for at in TAGS), *WORDS]
CHAIN: dict[str, Any] = {"states": 1}
TRIED: dict[str, tuple[Encoder, dict[str, dict[str, Any]]]] = {  # by name the tests, and settings of taggers
    "words": (
        Encoder(patterns=WORDS, min_count=RARE),
        {"CRF": {**CHAIN, "l2": 1.0}, "4 states": {"states": 4, "l2": 1.0, "restarts": 3}},
    ),
    "words and parts of speech": (
        Encoder(patterns=ALL),
        {
            **{f"CRF, l2 = {l2}": {**CHAIN, "l2": l2} for l2 in (0.3, 1.0, 3.0)},
            **{f"2 states from a CRF, l2 = {l2}": {"states": 2, "start": "crf", "l2": l2} for l2 in (0.3, 1.0)},
        },
    ),
}
EVALUATIONS = 10


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    bench = _Latent(options)
    returned: dict[str, Any] = {"figure": "returned", "label": "s"}
    return [
        Job("gradient, 1 state a label", lambda: bench.evaluation(1), lambda: bench.crfsuite(1), "CRFsuite",
            lambda: "3 labels", bar=1.5, **returned),
        Job("gradient, 4 states a label", lambda: bench.evaluation(STATES), lambda: bench.crfsuite(STATES), "CRFsuite",
            lambda: "12 labels", bar=1.5, **returned),
        Job("gradient, 4 states, 2 threads", lambda: bench.evaluate(STATES, 2), lambda: bench.evaluate(STATES, 1),
            "1 thread", lambda: "same bytes", figure="busiest", bar=1.6, prepare=lambda: bench.objective(STATES)),
        Job("search of label paths", bench.search, bench.viterbi, "Viterbi over states", bench.certified,
            figure="processor", bar=0.25, prepare=lambda: bench.model),
        Job("labeling columns", lambda: bench.label("label"), lambda: bench.label("viterbi"), "best hidden path",
            bench.quality, figure="processor", bar=1 / 1.5, prepare=lambda: bench.model),
    ]  # fmt: skip


class _Latent:
    """The data, and models that are trained when first asked for."""

    def __init__(self, options: Options) -> None:
        self.options = options

    @functools.cached_property
    def data(self) -> dict[str, tuple[list[Any], list[list[str]]]]:
        parts = {}
        for name in ("train", "test"):
            X, y = columns(self.options.data / "conll2000" / f"{name}.txt")
            size = max(10, len(X) // 10) if self.options.quick else len(X)
            tags = [[tag if tag.endswith("-NP") else "O" for tag in row] for row in y[:size]]
            parts[name] = (X[:size], tags)
        return parts

    @functools.cached_property
    def encoded(self) -> tuple[Encoder, Any]:
        encoder = Encoder(patterns=WORDS, min_count=RARE, n_jobs=1)
        return encoder, encoder.fit_encode(self.data["train"][0])

    @functools.cache  # noqa: B019
    def objective(self, states: int) -> tuple[LatentObjective | Any, Any]:
        y = self.data["train"][1]
        model = LatentCRF(states=states, features="seen", l2=1.0, n_jobs=1)
        model.encoder_, data = self.encoded
        model.classes_ = np.array(sorted({tag for row in y for tag in row}))
        model.states_ = np.full(len(model.classes_), states)
        number = {tag: i for i, tag in enumerate(model.classes_.tolist())}
        labels = np.fromiter((number[tag] for row in y for tag in row), np.int32)
        objective = model.objective(data.with_labels(labels))
        theta = np.random.default_rng(0).normal(0, 0.1, len(objective.features))
        objective(theta)  # what is prepared once
        return objective, theta

    def evaluate(self, states: int, threads: int) -> None:
        """Some evaluations."""
        objective, theta = self.objective(states)
        objective.n_jobs = threads
        for _ in range(EVALUATIONS):
            objective(theta)

    def evaluation(self, states: int) -> float:
        """Processor seconds of one evaluation by one thread."""
        self.objective(states)
        return measured(lambda: self.evaluate(states, 1), "processor") / EVALUATIONS

    def crfsuite(self, states: int) -> float:
        """Its seconds for one evaluation with as many labels as there are states, given in turn."""
        X, y = self.data["train"]
        encoder = Encoder(patterns=[p for p in WORDS if p.startswith("u")], min_count=RARE, n_jobs=1).fit(X)
        tags = [[f"{tag}/{(s + t) % states}" for t, tag in enumerate(row)] for s, row in enumerate(y)]
        return crfsuite_evaluation(lambda: attributes(encoder, X), tags)

    @functools.cached_property
    def models(self) -> dict[int, LatentCRF]:
        X, y = self.data["train"]
        cut = len(X) * 9 // 10
        settings: dict[str, Any] = {"l2": 1.0, "n_jobs": 1, "random_state": 0}
        fitted = {}
        for states, restarts in ((1, 1), (STATES, 3)):
            model = LatentCRF(
                encoder=Encoder(patterns=WORDS, min_count=RARE), states=states, restarts=restarts, **settings
            )
            fitted[states] = model.fit(X[:cut], y[:cut], X[cut:], y[cut:])
        return fitted

    @property
    def model(self) -> LatentCRF:
        """The one with hidden states."""
        return self.models[STATES]

    @functools.cached_property
    def test(self) -> Any:
        return self.model._encoded(self.data["test"][0])

    def search(self) -> Any:
        """The best label paths of the test part, from its tests."""
        return best_labels_flat(self.model._scorer(), self.test)

    def viterbi(self) -> Any:
        """The best hidden paths of the same."""
        scorer = self.model._scorer()
        return viterbi(ChainScorer(scorer.layout, scorer.weights, scorer.features), self.test)

    def certified(self) -> str:
        answers = best_label_paths(self.model._scorer(), self.test)
        exact = sum(answer.certificate.exact for answer in answers) / len(answers)
        work = sum(answer.certificate.expansions for answer in answers) / self.test.tokens
        return f"{exact:.1%} certified, {work:.2f} expansions a token"

    def label(self, search: str) -> list[list[str]]:
        """Labels of the test part, from its columns."""
        return self.model.predict(self.data["test"][0], search=search)

    def quality(self) -> str:
        X, y = self.data["test"]
        crf = self.models[1].predict(X)
        answers = {name: self.label(name) for name in ("label", "viterbi")}
        answers["marginal"] = self.model.predict(X, posterior=True)
        scores = {name: evaluate_tags(y, labels) for name, labels in {**answers, "CRF": crf}.items()}
        listed = ", ".join(
            f"{name} {100 * one.f1:.2f} ({100 - 100 * one.token_error:.2f})" for name, one in scores.items()
        )
        gap = compare_tags(y, answers["label"], crf)
        return f"F1 (accuracy): {listed}; McNemar against the CRF p = {gap.tokens.mcnemar_exact():.2g}"


def quality(name: str = "words") -> None:
    """Print how the taggers of a row of TRIED do; the best chain and the best with states are trained on with all."""
    latent = _Latent(Options())
    (X, y), (X_test, y_test) = latent.data["train"], latent.data["test"]
    cut = len(X) * 9 // 10
    encoder, settings = TRIED[name]
    best: dict[bool, tuple[float, str, LatentCRF]] = {}
    for title, chosen in settings.items():
        model = LatentCRF(encoder=encoder, n_jobs=1, random_state=0, **chosen)
        model.fit(X[:cut], y[:cut], X[cut:], y[cut:])
        figure = evaluate_tags(y[cut:], model.predict(X[cut:])).f1
        print(f"{title}: development F1 {100 * figure:.2f}", flush=True)
        hidden = chosen["states"] > 1
        if hidden not in best or figure > best[hidden][0]:
            best[hidden] = (figure, title, model)
    answers = {}
    for hidden, (_, title, model) in best.items():
        for size, tagger in (("nine tenths", model), ("all", refit_tagger(model, X, y))):
            labels = answers[hidden, size] = tagger.predict(X_test)
            scores = evaluate_tags(y_test, labels)
            print(
                f"{title}, trained on {size}: P {100 * scores.precision:.2f} R {100 * scores.recall:.2f} "
                f"F1 {100 * scores.f1:.2f} accuracy {100 - 100 * scores.token_error:.2f} objective "
                f"{tagger.objective_:.0f}",
                flush=True,
            )
    for size in ("nine tenths", "all"):
        gap = compare_tags(y_test, answers[True, size], answers[False, size])
        print(f"trained on {size}: McNemar p = {gap.tokens.mcnemar_exact():.2g}")
