"""Parameters that the chosen method does not read are refused, and so are values that it could not use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from textmill.errors import DataError
from textmill.sequence import CRF, LBFGS, OWLQN, ConditionalMarkov
from textmill.topics import LDA, LSA, NMF, PCA, PLSA
from textmill.vectors import Index

COUNTS = csr_matrix(np.random.default_rng(0).integers(0, 3, (40, 12)))
ROWS = np.random.default_rng(0).normal(size=(30, 8))
SENTENCES = ([[("a",), ("b",)], [("b",), ("a",)]], [["A", "B"], ["B", "A"]])

VARIATIONAL = {"chunk_size": 5, "update_every": 2, "passes": 3, "offset": 64.0, "decay": 0.7, "restart": True}
VARIATIONAL |= {"half_life": 10.0, "total_docs": 99, "tolerance": 0.5, "eval_every": 2}
SAMPLED = {"sweeps": 7, "thin": 3}
CHAINS = {"burn_in": 2, "n_chains": 2, "collapsed": False}

SWALLOWED: list[tuple[type, dict[str, Any], dict[str, Any], Any, str]] = [
    *((LDA, {"method": m}, VARIATIONAL, COUNTS, "method='online' or 'batch'") for m in ("gibbs", "cvb0")),
    *((LDA, {"method": m}, SAMPLED, COUNTS, "method='gibbs' or 'cvb0'") for m in ("online", "batch")),
    *((LDA, {"method": m}, CHAINS, COUNTS, "method='gibbs', not") for m in ("online", "batch", "cvb0")),
    (LDA, {"method": "cvb0"}, {"weighting": "idf"}, COUNTS, "'online' or 'batch' or 'gibbs'"),
    (LDA, {"half_life": 5.0}, {"offset": 64.0, "decay": 0.7, "total_docs": 99}, COUNTS, "takes the place of"),
    *(
        (LSA, {"algorithm": a}, {"power_iterations": 2}, COUNTS, "'two_pass' or 'refined'")
        for a in ("one_pass", "hybrid")
    ),
    *(
        (LSA, {"algorithm": a}, {"krylov": True}, COUNTS, "algorithm='two_pass'")
        for a in ("auto", "one_pass", "hybrid")
    ),
    (LSA, {"algorithm": "two_pass"}, {"solver": "gram"}, COUNTS, "'one_pass' or 'hybrid' or 'refined'"),
    (LSA, {"algorithm": "hybrid", "half_life": 9.0}, {"decay": 0.5}, COUNTS, "takes the place of"),
    *((PCA, {"algorithm": a}, {"power_iterations": 3}, COUNTS, "='krylov'") for a in ("auto", "lanczos", "one_pass")),
    *((model, {}, {"passes": 2}, COUNTS, "chunk by chunk") for model in (NMF, PLSA)),
    (NMF, {"chunk_size": 9}, {"iterations": 9, "tolerance": 0.1, "solver": "multiplicative"}, COUNTS, "all at once"),
    (PLSA, {"chunk_size": 9}, {"iterations": 9, "tolerance": 0.1, "accelerate": False}, COUNTS, "all at once"),
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
        *((LDA, {"method": "gibbs", name: 0}) for name in ("sweeps", "thin", "n_chains")),
        *((LDA, {"method": "gibbs", name: -5}) for name in ("sweeps", "thin", "n_chains", "burn_in")),
        *((LDA, {"method": "online", name: -5}) for name in ("sweeps", "thin", "n_chains", "burn_in")),
        (LDA, {"method": "cvb0", "sweeps": 0}),
        (LDA, {"method": "cvb0", "thin": 0}),
        (LDA, {"method": "gibbs", "sweeps": 5, "burn_in": 5}),
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


@pytest.mark.parametrize("method", ["online", "batch", "gibbs", "cvb0"])
def test_defaults_may_be_written_out(method: str) -> None:
    defaults = {"chunk_size": 1000, "update_every": 1, "passes": None, "sweeps": 300, "burn_in": None, "thin": 10}
    explicit = LDA(n_topics=2, method=method, **defaults, random_state=0).fit(COUNTS)
    assert (
        explicit.components_.tobytes()
        == LDA(n_topics=2, method=method, random_state=0).fit(COUNTS).components_.tobytes()
    )
