"""Rows as data frames: scikit-learn's `set_output` without its import.

    transformer.set_output(transform="pandas")       rows come as pandas.DataFrame, columns by get_feature_names_out
    sklearn.set_config(transform_output="polars")    the same for all transformers

Dense rows become frames of numbers, sparse rows pandas' sparse columns (Polars has none). The rows of a pandas object
keep its index. Only what a caller outside the package asks for is turned into a frame: models use each other's rows as
they are. `Framed` wraps every `transform` and `fit_transform` of its subclasses; without a choice that costs a look
into a dictionary.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, Self

from textmill.errors import DataError
from textmill.tables import import_frames

__all__ = ["FRAMES", "Framed", "as_frame", "framed"]

FRAMES = ("default", "pandas", "polars")
_METHODS = ("transform", "fit_transform")


class Framed:
    """Mixin: `transform` and `fit_transform` give what `set_output` chose."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in _METHODS:
            if name in vars(cls):
                setattr(cls, name, framed(vars(cls)[name]))

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what `transform` returns: "pandas", "polars", "default" (arrays), or None to leave it as it is."""
        if transform is not None:
            if transform not in FRAMES:
                raise DataError(f"transform must be one of {', '.join(map(repr, FRAMES))}, got {transform!r}")
            self._sklearn_output_config = {"transform": transform}  # the name under which `clone` copies it
        return self


def framed(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method with its rows as a frame, where one was chosen and the caller is outside the package."""

    @functools.wraps(method)
    def rows(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        result = method(self, X, *args, **options)
        chosen = _choice(self)
        if chosen == "default" or _is_inside(sys._getframe(1)):
            return result
        return as_frame(result, chosen, lambda: self.get_feature_names_out(), X)

    return rows


def as_frame(rows: Any, library: str, names: Callable[[], Any], X: Any = None) -> Any:
    """Rows of numbers as a frame of "pandas" or "polars" with named columns, and the index of X if that is of pandas.

    What has no two axes, such as lists of tokens, stays as it is.

    >>> import numpy as np
    >>> as_frame(np.eye(2), "pandas", lambda: ["left", "right"]).columns.tolist()
    ['left', 'right']
    """
    if getattr(rows, "ndim", 0) != 2:
        return rows
    sparse = hasattr(rows, "tocsr")
    if library == "polars":
        if sparse:
            raise DataError("Polars has no sparse columns; set_output(transform='pandas') takes these rows")
        return import_frames("polars").DataFrame(rows, schema=list(map(str, names())), orient="row")
    pandas = import_frames("pandas")
    index = X.index if isinstance(X, pandas.DataFrame | pandas.Series) and len(X) == rows.shape[0] else None
    if sparse:
        return pandas.DataFrame.sparse.from_spmatrix(rows, index=index, columns=names())
    return pandas.DataFrame(rows, index=index, columns=names())


def _choice(transformer: Any) -> str:
    """What was chosen for this transformer, or for all in scikit-learn's configuration."""
    own: str | None = vars(transformer).get("_sklearn_output_config", {}).get("transform")
    if own is not None or "sklearn" not in sys.modules:
        return own or "default"
    from sklearn import get_config

    return str(get_config()["transform_output"])


def _is_inside(frame: Any) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] == "textmill"
