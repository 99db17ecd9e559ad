"""From a file to a model: find its class, make it from its parameters, give it its arrays.

Nothing of the file is believed: the class must be a public model of textmill, parameters must be those of its
constructor, arrays those of its layout with fitting shapes, state of the declared types, and models inside of the
declared classes. Every disagreement is a ModelFileError. Cost: O(header), plus the labels of a classifier.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar, overload

from textmill.errors import DataError, ModelFileError, reason_of
from textmill.model.base import Model, has_type, set_arrays
from textmill.model.estimators import Estimator, constructor_parameters
from textmill.model.file import Saved, is_unfinished, read
from textmill.model.layout import check_shapes, stored_fields
from textmill.model.names import find_class
from textmill.model.parameters import DAMAGED, callable_name, decode, readable

__all__ = ["describe", "load"]

M = TypeVar("M")


@overload
def load(
    path: str | os.PathLike[str], *, expect: type[M], verify: bool = False, **callables: Callable[..., Any]
) -> M: ...
@overload
def load(
    path: str | os.PathLike[str], *, expect: None = None, verify: bool = False, **callables: Callable[..., Any]
) -> Any: ...
def load(
    path: str | os.PathLike[str], *, expect: type | None = None, verify: bool = False, **callables: Callable[..., Any]
) -> Any:
    """Open a model file; O(header), the arrays are mapped, so the file must not be changed in place while it is used.

    `expect` is the class (or a base of it) that the file must hold. `verify` compares every array with its checksum and
    checks all values, now instead of before their first use. A parameter that was a function is passed again:
    `load(path, tokenizer=my_function)`, that of a model inside as `vectorizer__tokenizer`.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".mill") as file:
    ...     _ = file.write(b"#mdl#2#99")
    ...     file.flush()
    ...     load(file.name)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    textmill.errors.ModelFileError: ...mill: not a textmill model but a Wapiti model ('#mdl#' header); ...
    """
    place, passed = os.fspath(path), dict(callables)
    try:
        if is_unfinished(path):
            raise ModelFileError(
                "was left by a save that was killed and may be unfinished; save the model again", reason="truncated"
            )
        saved = read(path, verify=verify)
        if expect is not None and not issubclass(find_class(saved.class_name), expect):
            wanted = expect.__name__
            article = "an" if wanted.startswith(("A", "E", "I", "O", "LDA", "LSA", "NG", "NMF")) else "a"
            raise ModelFileError(
                f"holds a {saved.class_name}, not {article} {wanted}; pass another file", reason="other kind"
            )
        model = _restore(saved, place, passed)
    except ModelFileError as fault:
        raise ModelFileError(f"{place}: {fault}", reason=reason_of(fault)) from None
    if passed:
        raise DataError(f"the model has no callable parameter '{min(passed)}'; do not pass it", source=place)
    if verify:
        model.verify()
    return model


def describe(path: str | os.PathLike[str], *, verify: bool = False) -> dict[str, Any]:
    """What a model file holds, from its header alone, ready for JSON; the class is not imported.

    With `verify` every array must have its checksum. "checksums" says whether the file has any; "crc32" of an array is
    None where it has none.

    >>> import tempfile
    >>> import numpy as np
    >>> from textmill.model.file import write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     saved = Saved("topics.LDA", 1, parameters={"topics": 2}, arrays={"topics_": np.ones((2, 3))})
    ...     write(f"{folder}/toy.mill", saved)
    ...     found = describe(f"{folder}/toy.mill")
    >>> found["class"], found["parameters"], found["arrays"]
    ('topics.LDA', {'topics': 2}, {'topics_': {'dtype': 'float64', 'shape': [2, 3], 'bytes': 48, 'crc32': '1466da09'}})
    """
    try:
        saved = read(path, verify=verify)
        return _description(saved) | {"checksums": saved.checksums is not None}
    except ModelFileError as fault:
        raise ModelFileError(f"{os.fspath(path)}: {fault}", reason=reason_of(fault)) from None


def _description(saved: Saved) -> dict[str, Any]:
    return {
        "class": saved.class_name,
        "format": saved.format,
        "fitted": saved.fitted,
        "parameters": {name: readable(value) for name, value in saved.parameters.items()},
        "state": {name: readable(value) for name, value in saved.state.items()},
        "arrays": {
            name: {
                "dtype": array.dtype.name,
                "shape": list(array.shape),
                "bytes": array.nbytes,
                "crc32": None if saved.checksums is None else saved.checksums[name],
            }
            for name, array in sorted(saved.arrays.items())
        },
        "parts": {name: None if part is None else _description(part) for name, part in saved.parts.items()},
    }


def _restore(saved: Saved, place: str, passed: dict[str, Callable[..., Any]], prefix: str = "") -> Model:
    """Make the model that a file holds; takes from `passed` the functions it needs."""
    cls = find_class(saved.class_name)
    if not issubclass(cls, Model) or not hasattr(cls, "format_version"):
        raise ModelFileError(f"holds a {saved.class_name}, which is no model; {DAMAGED}", reason="damaged")
    if saved.format > cls.format_version:
        raise ModelFileError(
            f"has format {saved.format} of {saved.class_name}, newer than this textmill; upgrade textmill",
            reason="too new",
        )
    if saved.format < cls.format_version:
        try:
            saved = cls.upgrade(saved)
        except (LookupError, TypeError, ValueError) as fault:
            raise ModelFileError(
                f"does not hold what format {saved.format} should ({fault}); {DAMAGED}", reason=reason_of(fault)
            ) from None
    _check_parameters(cls, saved)
    fitted_parts = cls.declared.fitted_parts
    parts: dict[str, Model | None] = {}
    for name, part in sorted(saved.parts.items()):  # a parameter before what was fitted by it
        if part is None and name not in fitted_parts:
            raise ModelFileError(f"'{name}' of {saved.class_name} must not be missing; {DAMAGED}", reason="damaged")
        if part is not None and part.class_name not in cls.declared.parts.get(name, part.class_name).split(" | "):
            raise ModelFileError(
                f"'{name}' of {saved.class_name} cannot be a {part.class_name[:80]!r}; {DAMAGED}", reason="damaged"
            )
        inner = f"{prefix}{name}__"
        functions = _functions(parts.get(name.removesuffix("_")) if name in fitted_parts else None, inner)
        passed.update({key: function for key, function in functions.items() if key not in passed})
        parts[name] = None if part is None else _restore(part, place, passed, inner)
        for key in functions:
            passed.pop(key, None)
    parameters: dict[str, Any] = {name: part for name, part in parts.items() if name not in fitted_parts}
    for name, value in saved.parameters.items():
        function = callable_name(value)
        parameters[name] = (
            _passed(prefix + name, function, passed) if function else decode(f"parameter '{name}'", value)
        )
    model = cls(**parameters) if issubclass(cls, Estimator) else cls.__new__(cls)
    if saved.fitted:
        _restore_fitted(model, saved, parts)
    elif saved.arrays or saved.state or fitted_parts & parts.keys():
        raise ModelFileError(
            f"the {saved.class_name} is not fitted but has arrays or values; {DAMAGED}", reason="damaged"
        )
    model._source = place
    return model


def _functions(parameter: Model | None, prefix: str) -> dict[str, Callable[..., Any]]:
    """The functions among the parameters of a model inside, for the one that was fitted by it."""
    if not isinstance(parameter, Estimator):
        return {}
    return {prefix + name: value for name, value in parameter.get_params().items() if callable(value)}


def _check_parameters(cls: type[Model], saved: Saved) -> None:
    """Check that parameters and models in their place are those of the constructor; missing ones take their default."""
    expected = constructor_parameters(cls) if issubclass(cls, Estimator) else {}
    parts = saved.parts.keys() - cls.declared.fitted_parts
    unknown = (saved.parameters.keys() | parts) - expected.keys()
    if unknown:
        raise ModelFileError(
            f"has a parameter {min(unknown)[:80]!r} that this {cls.__name__} does not have; upgrade textmill",
            reason="too new",
        )
    required = {name for name, parameter in expected.items() if parameter.default is parameter.empty}
    wrong = (required - parts - saved.parameters.keys()) | (saved.parameters.keys() & parts)
    if wrong:
        raise ModelFileError(f"parameter '{min(wrong)}' must be there once; {DAMAGED}", reason="damaged")


def _passed(name: str, function: str, passed: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    """The function that the caller passes for a parameter, since the file has only its name."""
    if name not in passed:
        raise ModelFileError(
            f"parameter '{name}' was the function {function[:80]!r}, which a file cannot hold; "
            f"pass it again: load(path, {name}=...)",
            reason="damaged",
        )
    if not callable(passed[name]):
        raise DataError(f"{name} must be a function like {function[:80]!r}, got {passed[name]!r}")
    return passed.pop(name)


def _restore_fitted(model: Model, saved: Saved, parts: dict[str, Model | None]) -> None:
    """Give the model what it had learned."""
    declared = model.declared
    if saved.state.keys() != declared.state.keys() or not declared.fitted_parts <= parts.keys():
        raise ModelFileError(
            f"a value or part of the {saved.class_name} is missing or unknown; {DAMAGED}", reason="damaged"
        )
    for name in declared.fitted_parts:
        setattr(model, name, parts[name])
    for name, kind in declared.state.items():
        value = decode(f"'{name}'", saved.state[name])
        if not has_type(value, kind):
            raise ModelFileError(
                f"'{name}' is a {type(value).__name__}, which it cannot be; {DAMAGED}", reason="damaged"
            )
        setattr(model, name, value)
    fields = stored_fields(declared.fields, saved.arrays)
    if saved.arrays.keys() - fields.keys():
        raise ModelFileError(
            f"array '{min(saved.arrays.keys() - fields.keys())}' is unknown; {DAMAGED}", reason="damaged"
        )
    try:
        check_shapes(saved.arrays, fields)
        set_arrays(model, saved.arrays)
    except ModelFileError as fault:
        raise ModelFileError(f"{fault}; {DAMAGED}", reason=reason_of(fault)) from None
