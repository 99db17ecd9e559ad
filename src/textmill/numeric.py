"""SciPy's sub-packages, each imported when it is first used.

`import scipy.sparse` alone costs more than a whole small command (it brings linear algebra, graphs and f2py along), and
most commands never make a matrix. Modules therefore take the sub-packages from here:

    from textmill.numeric import sparse

and `sparse.csr_matrix(...)` imports SciPy the first time it is reached. An annotation does not reach it.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

__all__ = ["csgraph", "linalg", "sparse", "special"]


class _Deferred(ModuleType):
    """A module whose import waits until one of its names is asked for."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, value)  # found at once from now on
        return value


csgraph: Any = _Deferred("scipy.sparse.csgraph")
linalg: Any = _Deferred("scipy.linalg")
sparse: Any = _Deferred("scipy.sparse")
special: Any = _Deferred("scipy.special")
