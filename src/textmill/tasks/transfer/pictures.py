"""Traces of chains: have they come together?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from textmill.errors import DataError
from textmill.model import check_fitted
from textmill.plot import lines
from textmill.trees import OrderModel, parse_families

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from textmill.tasks.transfer.sampler import TreebankTransfer

__all__ = ["draw_traces"]


def draw_traces(model: TreebankTransfer, parameter: str | None = None) -> Figure:
    """Draw the log likelihood of each chain by iteration, or the draws of one parameter, named as in `summary()`."""
    check_fitted(model)
    series: dict[str, Any] = {}
    if parameter is None:
        for chain, values in enumerate(model.trace_, 1):
            series[f"chain {chain}"] = (np.arange(1, len(values) + 1), values)
        return lines(series, x_label="iteration", y_label="log likelihood")
    names = OrderModel(parse_families(model.families)).names
    if parameter not in names:
        raise DataError(f"there is no parameter {parameter!r}; summary() has their names, such as {names[0]!r}")
    for chain, draws in enumerate(model.draws_, 1):
        series[f"chain {chain}"] = (np.arange(1, len(draws) + 1), draws[:, names.index(parameter)])
    return lines(series, x_label="draw", y_label=parameter)
