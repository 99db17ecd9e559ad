"""Features of a document's own beside its words: names with numbers, as columns that can stand next to a bag.

A document's extra features are a mapping from names to numbers: its length, its year, the stars of a review. They
become a sparse matrix with one column a name, which `sparse.hstack([bags, features])` puts beside the terms. Only
numbers are features; a nominal value (a color, a section) must be made into numbers first, one column a value:

    {"section=sports": 1}      instead of      {"section": "sports"}

Cost: one visit per feature.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill.corpus.bags import check_bags, csr_of
from textmill.errors import DataError
from textmill.model import Model, StringTable, Transformer, check_fitted
from textmill.numeric import sparse

__all__ = ["NamedFeatures"]


class NamedFeatures(Transformer, Model):
    """Turn mappings from names to numbers into rows; names not seen in `fit` are left out.

    Attributes:
        names_: Names of the columns, (F,), sorted.

    >>> features = NamedFeatures()
    >>> features.fit_transform([{"stars": 4, "year": 1998.0}, {"stars": 2}]).toarray().tolist()
    [[4.0, 1998.0], [2.0, 0.0]]
    >>> features.names_.to_list(), features.transform([{"stars": 1, "price": 9}]).toarray().tolist()
    (['stars', 'year'], [[1.0, 0.0]])
    """

    takes: ClassVar[str] = "mappings"
    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {"names_": "feature: str"}

    names_: StringTable

    def __init__(self) -> None:
        pass

    def fit(self, documents: Iterable[Mapping[str, float]], y: object = None) -> NamedFeatures:
        """Collect the names of all features."""
        self.names_ = StringTable(sorted({name for features in _checked(documents) for name in features}))
        return self

    def fit_transform(self, documents: Any, y: object = None, **options: Any) -> sparse.csr_matrix:
        """Collect the names and return the rows; takes a stream that can be read once."""
        held = list(documents)
        return self.fit(held).transform(held)

    def transform(self, documents: Iterable[Mapping[str, float]]) -> sparse.csr_matrix:
        """Return one row a document."""
        check_fitted(self)
        columns = {name: column for column, name in enumerate(self.names_)}
        offsets, ids, values = [0], [], []
        for features in _checked(documents):
            row = sorted((columns[name], value) for name, value in features.items() if name in columns and value != 0)
            ids += [column for column, _ in row]
            values += [float(value) for _, value in row]
            offsets.append(len(ids))
        rows = np.array(offsets, np.int64), np.array(ids, np.int32), np.array(values, np.float64)
        return csr_of(rows, len(columns))

    def inverse_transform(self, X: Any) -> list[dict[str, float]]:
        """Return the features of each row by name; those of value 0 are left out.

        >>> features = NamedFeatures().fit([{"stars": 4, "year": 1998}])
        >>> features.inverse_transform([[3, 0]])
        [{'stars': 3.0}]
        """
        check_fitted(self)
        rows = check_bags(X, negative=True)
        if rows.shape[1] != len(self.names_):
            raise DataError(
                f"X has {rows.shape[1]} columns but there are {len(self.names_)} features; pass rows made here"
            )
        names = self.names_.to_list()
        return [{names[int(c)]: float(v) for c, v in zip(row.indices, row.data, strict=True) if v != 0} for row in rows]

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the names by column."""
        check_fitted(self)
        return np.array(self.names_.to_list(), dtype=object)


def _checked(documents: Iterable[Mapping[str, float]]) -> Iterable[Mapping[str, float]]:
    for number, features in enumerate(documents, start=1):
        if not isinstance(features, Mapping):
            raise DataError(
                f"features must be a mapping, got {type(features).__name__}", source="document", line=number
            )
        for name, value in features.items():
            if not isinstance(name, str):
                raise DataError(f"the feature name {name!r} is no text", source="document", line=number)
            if not isinstance(value, numbers.Real) or not math.isfinite(value):
                raise DataError(
                    f"{value!r} is no finite number; make a nominal feature a column of its own, '{name}={value}': 1",
                    source="document",
                    line=number,
                    column=name,
                )
        yield features
