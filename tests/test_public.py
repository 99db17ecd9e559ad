"""What is public: listed, sorted, complete; light to import; estimators that scikit-learn accepts."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys
import types

import pytest

import textmill

PACKAGES = [name for name in textmill.__all__ if name not in ("__version__", "load")]


def modules() -> list[str]:
    """Names of all modules of the package but those of the command line and the compiled ones."""
    found = [module.name for module in pkgutil.walk_packages(textmill.__path__, "textmill.")]
    return [name for name in found if not name.startswith(("textmill.cli", "textmill._native", "textmill._testing"))]


@pytest.mark.parametrize("name", ["textmill", *modules()])
def test_public_names_are_listed_once_and_there(name: str) -> None:
    module = importlib.import_module(name)
    if name == "textmill.corpus.samples":
        return
    assert len(set(module.__all__)) == len(module.__all__)  # their order is checked by ruff
    for public in module.__all__:
        assert getattr(module, public) is not None


@pytest.mark.parametrize("name", modules())
def test_nothing_public_is_defined_and_not_listed(name: str) -> None:
    module = importlib.import_module(name)
    own = {
        key
        for key, value in vars(module).items()
        if not key.startswith("_")
        and getattr(value, "__module__", None) == name
        and isinstance(value, types.FunctionType | type)
    }
    assert own <= set(getattr(module, "__all__", [])), sorted(own - set(module.__all__))


def test_importing_textmill_loads_only_the_standard_library() -> None:
    code = (
        "import sys; before = set(sys.modules); import textmill; "
        "print(*sorted({m.split('.')[0] for m in set(sys.modules) - before} - set(sys.stdlib_module_names)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["textmill"]


def test_every_package_of_the_house_is_reached_from_textmill() -> None:
    for name in PACKAGES:
        assert getattr(textmill, name).__name__ == f"textmill.{name}"
    with pytest.raises(AttributeError, match="no attribute 'mill'"):
        textmill.mill  # noqa: B018


def estimators() -> list[type]:
    """All public estimator classes, found through __all__."""
    from textmill.model import Estimator

    found = []
    for name in PACKAGES:
        package = importlib.import_module(f"textmill.{name}")
        if name == "model":  # the bases themselves
            continue
        found += [
            value
            for value in (getattr(package, public) for public in package.__all__)
            if isinstance(value, type) and issubclass(value, Estimator)
        ]
    return found


@pytest.mark.parametrize("estimator", estimators())
def test_estimators_store_their_parameters_and_can_be_cloned(estimator: type) -> None:
    from sklearn.base import clone

    signature = inspect.signature(estimator)
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in signature.parameters.values())
    made = estimator()
    for name, parameter in signature.parameters.items():
        assert getattr(made, name) is parameter.default
    assert clone(made).get_params() == made.get_params()
    assert repr(made) == f"{estimator.__name__}()"
