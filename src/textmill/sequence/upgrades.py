"""Taggers of older files in today's form.

format 1   the constructor had the parameters of `Encoder` and of all algorithms; `stopped_` named a rule
format 2   `encoder` and `algorithm` are objects; `stop_reason_` in words, `converged_`, `trace_`
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from textmill.model import Saved
from textmill.optimize import REASONS
from textmill.sequence.encoder import Encoder

__all__ = ["upgrade_tagger"]

_ENCODER = {"syntax": "textmill", "function": None, "min_count": 1, "hash_bits": None}  # of format 1, with defaults
_EARLY_STOPPING = ("stop_window", "stop_tolerance")  # now an argument of fit
_ALGORITHMS = {  # name: class, and for its fields the parameter of format 1 and the default
    "owlqn": ("sequence.OWLQN", ("memory", "gradient_tolerance", "window")),
    "lbfgs": ("sequence.LBFGS", ("memory", "gradient_tolerance", "window")),
    "rprop": ("sequence.RPROP", ("variant", "gradient_tolerance", "window")),
    "sgd_l1": ("sequence.SGDL1", ("eta0", "alpha", "window")),
    "sgd_l2": ("sequence.SGDL2", ("eta0", "window")),
    "bcd": ("sequence.BlockDescent", ("window",)),
    "perceptron": ("sequence.Perceptron", ()),
}
_FIELDS: dict[str, tuple[str, Any]] = {
    "memory": ("memory", 5),
    "gradient_tolerance": ("epsilon", 1e-5),
    "window": ("period", 5),
    "variant": ("variant", "+"),
    "eta0": ("eta0", None),
    "alpha": ("alpha", 0.9),
}


def upgrade_tagger(saved: Saved) -> Saved:
    """A CRF or a conditional Markov model of format 1 in the form of format 2.

    >>> old = Saved("sequence.CRF", 1, fitted=False, parameters={"algorithm": "owlqn", "memory": 9, "tol": 1e-4})
    >>> upgrade_tagger(old).parameters
    {'algorithm': {'options': ['sequence.OWLQN', {'memory': 9, 'gradient_tolerance': 1e-05, 'window': 5}]}}
    """
    parameters, parts, state, arrays = dict(saved.parameters), dict(saved.parts), dict(saved.state), dict(saved.arrays)
    for name in _EARLY_STOPPING:
        parameters.pop(name, None)
    encoder = {name: parameters.pop(name, default) for name, default in _ENCODER.items()}
    if encoder != _ENCODER:
        encoder["patterns"] = parameters.pop("patterns", None)
        parts["encoder"] = Saved("sequence.Encoder", Encoder.format_version, fitted=False, parameters=encoder)
    settings = {field: parameters.pop(old, default) for field, (old, default) in _FIELDS.items()}
    cls, fields = _ALGORITHMS[parameters.get("algorithm", "owlqn")]
    if any(settings[field] != _FIELDS[field][1] for field in fields):
        parameters["algorithm"] = {"options": [cls, {field: settings[field] for field in fields}]}
    tolerance = parameters.pop("tol", 1e-4)
    if tolerance != 1e-4:
        parameters["tolerance"] = tolerance
    if saved.fitted:
        reason = state.pop("stopped_")
        state["converged_"] = reason in ("gradient", "value")
        state["stop_reason_"] = REASONS.get(reason, "read from another tool's file")
        arrays["trace_"] = np.empty(0)
    return replace(saved, format=2, parameters=parameters, parts=parts, state=state, arrays=arrays)
