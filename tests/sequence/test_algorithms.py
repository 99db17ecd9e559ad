"""Training algorithms as values of a parameter: names and objects, files, grids, clones, refusals."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import textmill
from textmill.errors import DataError, ModelFileError
from textmill.model.parameters import decode, encode, readable
from textmill.sequence import (
    ALGORITHMS,
    CG,
    CRF,
    LBFGS,
    OWLQN,
    RPROP,
    SGDL1,
    SGDL2,
    Algorithm,
    BlockDescent,
    ConditionalMarkov,
    LatentCRF,
    Perceptron,
)
from textmill.sequence.training import ChainObjective
from textmill.sequence.training.online import training_data as real_training_data

X = [[(letter,) for letter in word] for word in ("abab", "ba", "abba", "b", "baab", "aab")]
Y = [[("V" if letter == "a" else "C") + ("1" if i == 0 else "") for i, (letter,) in enumerate(word)] for word in X]
PATTERNS = ["*", "u:%x[0,0]", "u:%x[-1,0]%x[0,0]"]
OTHERS: list[Algorithm] = [
    OWLQN(memory=2, gradient_tolerance=1e-3, window=3),
    LBFGS(memory=1),
    RPROP(variant="-"),
    SGDL1(eta0=0.3, alpha=0.5),
    SGDL2(eta0=0.25),
    BlockDescent(window=2),
    CG(window=3),
    Perceptron(),
]


def test_every_name_has_its_class() -> None:
    assert {type(algorithm) for algorithm in OTHERS} == set(ALGORITHMS.values())
    assert set(ALGORITHMS) == {"owlqn", "lbfgs", "sgd_l1", "sgd_l2", "bcd", "rprop", "cg", "perceptron"}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_name_means_the_usual_settings(name: str) -> None:
    by_name = CRF(patterns=PATTERNS, algorithm=name, max_iter=5).fit(X, Y)
    by_object = CRF(patterns=PATTERNS, algorithm=ALGORITHMS[name](), max_iter=5).fit(X, Y)
    assert by_name.weights_.tobytes() == by_object.weights_.tobytes()


@pytest.mark.parametrize(
    ("usual", "other"),
    [
        (OWLQN(), OWLQN(memory=1)),
        (OWLQN(), OWLQN(gradient_tolerance=0.5)),
        (LBFGS(), LBFGS(memory=1)),
        (RPROP(), RPROP(variant="-")),
        (SGDL1(eta0=0.3), SGDL1(eta0=0.1)),
        (SGDL1(eta0=0.3), SGDL1(eta0=0.3, alpha=0.5)),
        (SGDL2(eta0=0.3), SGDL2(eta0=0.1)),
        (BlockDescent(window=1), BlockDescent(window=40)),
    ],
)
def test_settings_matter(usual: Algorithm, other: Algorithm) -> None:
    one, two = (
        CRF(patterns=PATTERNS, algorithm=algorithm, max_iter=30, tolerance=1e-2).fit(X, Y)
        for algorithm in (usual, other)
    )
    assert one.weights_.tobytes() != two.weights_.tobytes()


@pytest.mark.parametrize("algorithm", OTHERS, ids=lambda algorithm: algorithm.name)
@pytest.mark.parametrize("kind", [CRF, ConditionalMarkov])
def test_a_file_keeps_the_algorithm(kind: Any, algorithm: Algorithm, tmp_path: Any) -> None:
    if kind is ConditionalMarkov and algorithm.name == "bcd":
        with pytest.raises(DataError, match="bcd is for CRFs only"):
            kind(patterns=PATTERNS, algorithm=algorithm).fit(X, Y)
        return
    kind(patterns=PATTERNS, algorithm=algorithm, max_iter=3).fit(X, Y).save(tmp_path / "a.mill")
    loaded = textmill.load(tmp_path / "a.mill")
    assert loaded.algorithm == algorithm
    loaded.save(tmp_path / "b.mill")
    assert (tmp_path / "a.mill").read_bytes() == (tmp_path / "b.mill").read_bytes()
    name = f"sequence.{type(algorithm).__name__}"
    assert textmill.model.describe(tmp_path / "a.mill")["parameters"]["algorithm"] == {name: algorithm.get_params()}


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (["sequence.OWLQN", {"memory": 0}], "memory must be a whole number at least 1"),
        (["sequence.OWLQN", {"pace": 3}], "unexpected keyword argument 'pace'"),
        (["sequence.CRF", {}], "is no class of options"),
        (["os.Popen", {}], "which this textmill does not have"),
        (["sequence.OWLQN"], "has a value of no known form"),
        ("sequence.OWLQN", "has a value of no known form"),
    ],
)
def test_damaged_options_of_a_file_are_refused(content: Any, fault: str) -> None:
    with pytest.raises(ModelFileError, match=fault):
        decode("parameter 'algorithm'", {"options": content})
    if fault.startswith("has a value"):
        with pytest.raises(ModelFileError, match=fault):
            readable({"options": content})


def test_options_are_encoded_by_name_and_fields() -> None:
    encoded = encode("algorithm", SGDL1(eta0=0.3))
    assert encoded == {"options": ["sequence.SGDL1", {"eta0": 0.3, "alpha": None, "window": 5}]}
    assert decode("algorithm", encoded) == SGDL1(eta0=0.3)


def test_algorithms_are_set_cloned_and_searched_as_parameters() -> None:
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV

    crf = CRF(patterns=PATTERNS, algorithm=OWLQN(memory=3), max_iter=4)
    assert crf.get_params()["algorithm__memory"] == 3
    assert clone(crf).algorithm == OWLQN(memory=3)
    shared = crf.algorithm
    assert crf.set_params(algorithm__memory=9).algorithm == OWLQN(memory=9)
    assert shared == OWLQN(memory=3), "the object itself does not change"
    assert crf.set_params(algorithm=SGDL1(), algorithm__eta0=0.2).algorithm == SGDL1(eta0=0.2)
    with pytest.raises(DataError, match=r"SGDL1 has no option 'memory'; it has \['alpha', 'eta0', 'window'\]"):
        crf.set_params(algorithm__memory=9)
    with pytest.raises(DataError, match="parameter 'algorithm' is no estimator but 'owlqn'"):
        CRF().set_params(algorithm__memory=9)
    search = GridSearchCV(crf, {"algorithm": ["owlqn", SGDL1(eta0=1e-9)], "l1": [0.05]}, cv=2).fit(X, Y)
    assert search.best_params_["algorithm"] == "owlqn"
    nested = GridSearchCV(CRF(patterns=PATTERNS, algorithm=SGDL1(), l1=0.05), {"algorithm__eta0": [1e-9, 0.3]}, cv=2)
    assert nested.fit(X, Y).best_estimator_.algorithm == SGDL1(eta0=0.3)


@pytest.mark.parametrize("kind", [OWLQN, LBFGS, RPROP, SGDL1, SGDL2, BlockDescent])
def test_a_window_may_be_as_short_as_one_iteration(kind: Any) -> None:
    assert CRF(patterns=PATTERNS, algorithm=kind(window=1), max_iter=3).fit(X, Y).n_iter_ <= 3
    with pytest.raises(DataError, match="window must be a whole number at least 1, got 0"):
        kind(window=0)


def test_algorithms_do_not_change_and_show_themselves() -> None:
    with pytest.raises(FrozenInstanceError):
        OWLQN().memory = 3  # type: ignore[misc]
    assert repr(CRF(algorithm=SGDL2(eta0=0.5))) == "CRF(algorithm=SGDL2(eta0=0.5, window=5))"


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda: OWLQN(memory=1.5), "memory must be a whole number"),  # type: ignore[arg-type]
        (lambda: LBFGS(gradient_tolerance=-1.0), "gradient_tolerance must be a number at least 0"),
        (lambda: SGDL1(alpha=0.0), "alpha must be a number above 0 and at most 1"),
        (lambda: SGDL1(eta0=0.0), "eta0 must be a number above 0"),
        (lambda: BlockDescent(window=0), "window must be a whole number at least 1"),
        (lambda: CRF(algorithm=OWLQN).fit(X, Y), r"algorithm is the class OWLQN; pass an object, OWLQN\(\)"),
        (lambda: CRF(algorithm="newton").fit(X, Y), "algorithm must be one of 'lbfgs', 'owlqn'"),
        (
            lambda: CRF(algorithm="bcd", features="seen").fit(X, Y),
            "only features='all'; for 'seen' use cg, lbfgs",
        ),
    ],
)
def test_wrong_values_are_refused_by_name(make: Any, fault: str) -> None:
    with pytest.raises(DataError, match=fault):
        make()


class Spoiled:
    """A part of the training code that gives values that are not finite from its n-th call on."""

    def __init__(self, inner: Any, calls: int, spoil: Any) -> None:
        self.inner, self.calls, self.spoil = inner, calls, spoil

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        self.calls -= 1
        answer = self.inner(*arguments, **options)
        return answer if self.calls >= 0 else self.spoil(answer)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("kind", [CRF, ConditionalMarkov, LatentCRF])
@pytest.mark.parametrize("name", ["owlqn", "lbfgs", "cg", "rprop"])
def test_an_objective_that_is_not_finite_is_no_convergence(
    name: str, kind: Any, bad: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The weights are the last for which it was finite."""
    model = kind(patterns=PATTERNS, algorithm=name, max_iter=50, tolerance=1e-2, random_state=0)
    inner, calls = ChainObjective.into, 0

    def into(self: Any, theta: Any, gradient: Any) -> float:
        nonlocal calls
        calls += 1
        value = inner(self, theta, gradient)
        return value if calls <= 4 else bad

    monkeypatch.setattr(ChainObjective, "into", into)
    model.fit(X, Y)
    assert not model.converged_
    assert len(model.weights_) > 0
    assert np.isfinite(model.weights_).all()
    assert math.isfinite(model.objective_)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("name", ["sgd_l1", "sgd_l2", "bcd"])
def test_training_in_steps_ends_where_the_objective_is_not_finite(
    name: str, bad: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    from textmill.sequence.training import blocks, online

    algorithm = "bcd" if name == "bcd" else {"sgd_l1": SGDL1, "sgd_l2": SGDL2}[name](eta0=0.2)
    make = blocks.native.Descent if name == "bcd" else online.native.make_training

    class Steps:
        def __init__(self, *arguments: Any, **options: Any) -> None:
            self.inner = make(*arguments, **options)
            self.sweep = Spoiled(getattr(self.inner, "sweep", None), 3, lambda answer: (bad, *answer[1:]))
            self.sgd_steps = Spoiled(getattr(self.inner, "sgd_steps", None), 3, lambda answer: (bad, *answer[1:]))

        def __getattr__(self, name: str) -> Any:
            return getattr(self.inner, name)

    if name == "bcd":
        monkeypatch.setattr(blocks, "native", SimpleNamespace(Descent=lambda data, **o: Steps(data, **o)))
    else:
        monkeypatch.setattr(online, "training_data", lambda *a: Steps(*training_arguments(*a)))
        make = lambda training: training  # noqa: E731
    with pytest.warns(RuntimeWarning, match=f"{name.split('_')[0]}.*iteration 4 is not finite; the weights are those"):
        model = CRF(patterns=PATTERNS, algorithm=algorithm, tolerance=0.0, random_state=0).fit(X, Y)
    assert (model.converged_, model.stop_reason_) == (False, "diverged: the objective is not finite")
    assert len(model.training_log_) == 3
    assert math.isfinite(model.objective_)
    assert np.isfinite(model.weights_).all()
    assert len(model.weights_) > 0


def training_arguments(*arguments: Any) -> tuple[Any]:
    return (real_training_data(*arguments),)


def test_weights_too_large_for_the_recursions_of_blocks_end_the_run() -> None:
    """A model to begin with whose weights are beyond all bounds: the sums of its paths are no numbers."""
    start = CRF(patterns=PATTERNS, max_iter=5).fit(X, Y)
    start.weights_ = start.weights_ * 1e306
    with pytest.raises(DataError, match="not finite"):
        CRF(patterns=PATTERNS, algorithm="bcd").fit(X, Y, start=start)
    with pytest.raises(DataError, match="not finite"):
        CRF(patterns=PATTERNS).fit(X, Y, start=start)


@pytest.mark.parametrize("name", ["owlqn", "bcd", "sgd_l1", "rprop"])
def test_without_an_l1_penalty_the_l2_penalty_is_one(name: str) -> None:
    """As with algorithms that have no L1 penalty: without any, weights of separable data grow without limit."""
    options = {"patterns": PATTERNS, "algorithm": name, "l1": 0.0, "max_iter": 4, "random_state": 0}
    usual, given = CRF(**options).fit(X, Y), CRF(**options, l2=1.0).fit(X, Y)
    assert usual.weights_.tobytes() == given.weights_.tobytes()
    other = CRF(**options, l2=1e-5).fit(X, Y)
    assert other.weights_.tobytes() != given.weights_.tobytes()
