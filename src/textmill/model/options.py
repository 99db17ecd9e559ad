"""Options: small frozen dataclasses that are values of parameters, such as a training algorithm with its settings.

    @dataclass(frozen=True)
    class OWLQN(Options):
        memory: int = 5

    CRF(algorithm=OWLQN(memory=10))          CRF(...).set_params(algorithm__memory=10)

They check themselves when they are made, compare by their fields, and are saved in model files by public name and
fields (parameters.py). To scikit-learn they look like estimators inside an estimator, so `clone` copies them and a grid
search varies their fields as `parameter__field`.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Self

from textmill.errors import DataError

__all__ = ["Options"]


class Options:
    """Base of frozen dataclasses that are values of parameters.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Search(Options):
    ...     memory: int = 5
    >>> Search().replace(memory=9)
    Search(memory=9)
    >>> Search().replace(size=9)
    Traceback (most recent call last):
    textmill.errors.DataError: Search has no option 'size'; it has ['memory']
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The fields by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def replace(self, **values: Any) -> Self:
        """The same with other values for some fields."""
        unknown = values.keys() - self.get_params().keys()
        if unknown:
            raise DataError(f"{type(self).__name__} has no option '{min(unknown)}'; it has {sorted(self.get_params())}")
        return replace(self, **values)  # type: ignore[type-var]
