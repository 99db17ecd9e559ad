"""textmill: the classical language-technology toolbox at native speed.

Importing this package loads nothing but the standard library; each sub-package is imported when it is first used.

>>> import textmill
>>> textmill.__version__.count(".")
2
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # typing's own would be the only thing imported, and half of what importing this costs
# Limits of threads as they are set when textmill is imported: Dask changes them where it starts its workers.
_THREAD_LIMITS = tuple(os.environ.get(name, "") for name in ("OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT"))

if TYPE_CHECKING:
    from typing import Any

    from textmill.model import load as load

__all__ = [
    "__version__",
    "cluster",
    "corpus",
    "errors",
    "files",
    "fst",
    "linear",
    "lm",
    "load",
    "metrics",
    "model",
    "optimize",
    "plot",
    "progress",
    "report",
    "selection",
    "sequence",
    "strings",
    "tasks",
    "topics",
    "trees",
    "vectors",
    "web",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("textmill")
    if name == "load":
        from textmill.model import load

        return load
    if name in __all__:
        import importlib

        return importlib.import_module(f"textmill.{name}")
    raise AttributeError(f"module 'textmill' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
