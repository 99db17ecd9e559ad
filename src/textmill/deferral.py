"""The public names of a package, each imported from its module when it is first used.

    __getattr__, __dir__ = deferred(__name__, {"machine": "Arc Fst", "symbols": "SymbolTable"})

A command or a script needs a few modules of a package, not all of them; so `from textmill.fst import Fst` imports
`textmill.fst.machine` and what that imports, and nothing else (PEP 562). The package names its modules and their public
names in one table; type checkers and editors read the imports under `if TYPE_CHECKING:` beside it, and a test compares
the two.

A module may have the name of a function in it (`textmill.fst.strings`): the attribute of the package is the function,
also after the module was imported, as it would be with plain imports.

Cost: one dictionary for each package; a name is looked up once and then stays.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

__all__ = ["deferred"]


def deferred(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose modules have these names, separated by blanks.

    >>> get, listed = deferred("textmill.readable", {"readable": "counted"})
    >>> listed()
    ['counted']
    >>> get("miller")
    Traceback (most recent call last):
    AttributeError: module 'textmill.readable' has no attribute 'miller'
    """
    homes = {name: f"{package}.{module}" for module, names in modules.items() for name in names.split()}
    if not modules.keys().isdisjoint(homes):
        sys.modules[package].__class__ = _NamesBeforeModules

    def find(name: str) -> Any:
        try:
            module = importlib.import_module(homes.get(name, f"{package}.{name}"))
        except ModuleNotFoundError as error:
            if name in homes or error.name != f"{package}.{name}":
                raise
            raise AttributeError(f"module '{package}' has no attribute '{name}'") from None
        value = getattr(module, name) if name in homes else module
        setattr(sys.modules[package], name, value)  # found at once from now on
        return value

    def listed() -> list[str]:
        return sorted(homes)

    return find, listed


class _NamesBeforeModules(ModuleType):
    """A package in which a public name hides the module of the same name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and name in self.__dict__["__all__"]:  # the import system, after an import
            value = getattr(value, name)
        super().__setattr__(name, value)
