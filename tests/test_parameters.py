"""Parameters that the chosen method does not read are refused, and so are values that it could not use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from textmill.errors import DataError
from textmill.sequence import CRF, LBFGS, OWLQN, ConditionalMarkov
from textmill.topics import CVB0, LDA, LSA, NMF, PCA, PLSA, Batch, Gibbs, Online, make_model
from textmill.vectors import Index

COUNTS = csr_matrix(np.random.default_rng(0).integers(0, 3, (40, 12)))
ROWS = np.random.default_rng(0).normal(size=(30, 8))
SENTENCES = ([[("a",), ("b",)], [("b",), ("a",)]], [["A", "B"], ["B", "A"]])

VARIATIONAL = {"chunk_size": 5, "update_every": 2, "learning_offset": 64.0, "learning_decay": 0.7, "restart": True}
VARIATIONAL |= {"half_life": 10.0, "total_docs": 99, "tolerance": 0.5, "eval_every": 2}
CHAINS = {"burn_in": 2, "n_chains": 2, "collapsed": False}
FADING = {"learning_offset": 64.0, "learning_decay": 0.7, "total_docs": 99}


def lda(**parameters: Any) -> Any:
    """LDA with parameters of its engine among its own."""
    return make_model("lda", **parameters)


SWALLOWED: list[tuple[Any, dict[str, Any], dict[str, Any], Any, str]] = [
    *((lda, {"method": m}, VARIATIONAL, COUNTS, f"no parameter of .* by {m}") for m in ("gibbs", "cvb0")),
    *((lda, {"method": m}, {"thin": 3}, COUNTS, f"no parameter of .* by {m}") for m in ("online", "batch")),
    *((lda, {"method": m}, CHAINS, COUNTS, f"no parameter of .* by {m}") for m in ("online", "batch", "cvb0")),
    (lda, {"method": "cvb0"}, {"weighting": "idf"}, COUNTS, "online, batch and gibbs, not to cvb0"),
    (lda, {"half_life": 5.0}, FADING, COUNTS, "takes the place of"),
    *((LSA, {"method": a}, {"power_iterations": 2}, COUNTS, "'two_pass' or 'refined'") for a in ("one_pass", "hybrid")),
    *((LSA, {"method": a}, {"krylov": True}, COUNTS, "method='two_pass'") for a in ("auto", "one_pass", "hybrid")),
    (LSA, {"method": "two_pass"}, {"chunk_method": "gram"}, COUNTS, "'one_pass' or 'hybrid' or 'refined'"),
    (LSA, {"method": "hybrid", "half_life": 9.0}, {"decay": 0.5}, COUNTS, "takes the place of"),
    *((PCA, {"method": a}, {"power_iterations": 3}, COUNTS, "='krylov'") for a in ("auto", "lanczos", "one_pass")),
    (NMF, {"chunk_size": 9}, {"tolerance": 0.1, "method": "multiplicative"}, COUNTS, "all at once"),
    (PLSA, {"chunk_size": 9}, {"tolerance": 0.1, "accelerate": False}, COUNTS, "all at once"),
    *((Index, {"method": m}, {"prefix": 2}, ROWS, "method='prefix'") for m in ("auto", "scan", "va")),
    *((Index, {"method": m}, {"bits": 4}, ROWS, "method='va'") for m in ("auto", "scan", "prefix")),
]
CASES = [
    pytest.param(kind, settings, name, value, X, message, id=f"{kind.__name__} {settings} {name}")
    for kind, settings, parameters, X, message in SWALLOWED
    for name, value in parameters.items()
]


@pytest.mark.parametrize(("kind", "settings", "name", "value", "X", "message"), CASES)
def test_a_parameter_that_would_be_swallowed_is_refused(
    kind: Any, settings: dict[str, Any], name: str, value: object, X: Any, message: str
) -> None:
    with pytest.raises(DataError, match=message) as raised:
        kind(**settings, **{name: value}).fit(X)
    assert name in str(raised.value)


@pytest.mark.parametrize("kind", [CRF, ConditionalMarkov])
@pytest.mark.parametrize("parameters", [{"l2": 1.0}, {"tolerance": 0.1}])
def test_a_perceptron_refuses_what_belongs_to_an_objective(kind: Any, parameters: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=f"{next(iter(parameters))}=.* has no meaning for perceptron"):
        kind(patterns=["u:%x[0,0]"], algorithm="perceptron", **parameters).fit(*SENTENCES)


def test_fine_tuning_takes_the_memory_of_its_algorithm() -> None:
    assert OWLQN(memory=3, gradient_tolerance=1e-3).tuner() == LBFGS(memory=3, gradient_tolerance=1e-3, window=10)
    crf = CRF(patterns=["u:%x[0,0]"], algorithm="sgd_l1", fine_tune=2, max_iter=2)
    assert crf.fit(*SENTENCES).n_iter_ > 2


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        *((lda, {"method": "gibbs", name: 0}) for name in ("max_iter", "thin", "n_chains")),
        *((lda, {"method": "gibbs", name: -5}) for name in ("max_iter", "thin", "n_chains", "burn_in")),
        *((lda, {"method": "online", name: -5}) for name in ("max_iter", "chunk_size", "update_every", "tolerance")),
        (lda, {"method": "cvb0", "max_iter": 0}),
        (lda, {"method": "cvb0", "thin": 0}),
        (lda, {"method": "gibbs", "max_iter": 5, "burn_in": 5}),
        (LDA, {"method": Gibbs}),
    ],
)
def test_impossible_values_are_refused_before_anything_is_read(kind: Any, parameters: dict[str, Any]) -> None:
    class Unread:
        def __iter__(self) -> Any:
            raise AssertionError("the documents were read")

    name = list(parameters)[-1]
    with pytest.raises(DataError, match=name):
        kind(**parameters).fit(Unread())


@pytest.mark.parametrize(
    "parameters", [{"tolerance": -1.0}, {"fine_tune": -1}, {"max_iter": -1}, {"features": "none"}, {"algorithm": OWLQN}]
)
def test_impossible_values_are_refused_by_taggers(parameters: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=next(iter(parameters))):
        CRF(patterns=["u:%x[0,0]"], **parameters).fit(*SENTENCES)


@pytest.mark.parametrize("engine", [Online(), Batch(), Gibbs(), CVB0()])
def test_a_name_stands_for_an_engine_with_its_defaults(engine: Any) -> None:
    named, explicit = (LDA(n_topics=2, method=m, random_state=0).fit(COUNTS) for m in (engine.name, engine))
    assert explicit.components_.tobytes() == named.components_.tobytes()


def test_parameters_of_an_engine_are_set_from_outside() -> None:
    model = LDA(method=Gibbs(burn_in=3)).set_params(method__thin=2)
    assert model.method == Gibbs(burn_in=3, thin=2)
    with pytest.raises(DataError, match="Gibbs has no option 'chunk_size'"):
        model.set_params(method__chunk_size=5)
