"""Models that can be saved and loaded: a class declares what it holds, this module does the rest.

    class NaiveBayes(Classifier, Model):
        format_version = 1
        layout = {"word_counts_": "class word", "document_counts_": "class"}

`layout`, `indices` and `offsets` are explained in layout.py. A class that holds more than arrays adds

    records = {"arcs_": Arcs}                       # made of the arrays "arcs_.source", "arcs_.target" of the layout
    state = {"alpha_": float, "documents_": int}    # small values and their types (`float | None` works)
    parts = {"vocabulary_": "corpus.Vocabulary"}    # models inside, or None; "a.B | c.D" for one of several classes

Declarations of base classes are added, so a `Classifier` saves its `classes_` by itself; an array that a class makes
when it is asked for, in a property, is not saved. Constructor parameters of an
`Estimator` are saved without declaration; those that are models become parts, functions are saved by name and passed
again to `load`.

Opening a file maps its arrays, read-only, in O(header). Their values are checked once, by the `check_fitted` with which
every `transform` and `predict` begins; `load(path, verify=True)` does it at once. A `partial_fit` that changes arrays
in place calls `make_writable` first.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from types import UnionType
from typing import Any, ClassVar, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from textmill.errors import ModelFileError, NotFittedError, reason_of
from textmill.model.estimators import Estimator, constructor_parameters
from textmill.model.file import Saved, write
from textmill.model.layout import (
    Field,
    check_flags,
    check_indices,
    check_offsets,
    check_shapes,
    parse_layout,
    stored_fields,
)
from textmill.model.names import class_name
from textmill.model.parameters import DAMAGED, encode
from textmill.model.seeds import is_generator
from textmill.model.strings import StringTable

__all__ = ["Declared", "Model", "check_fitted", "has_type", "set_arrays"]

_verifying = threading.RLock()
_being_verified: set[int] = set()


@dataclass(frozen=True, slots=True)
class Declared:
    """What a class and its bases declare, parsed."""

    fields: dict[str, Field]
    indices: dict[str, str]
    offsets: dict[str, str]
    records: dict[str, Callable[..., Any]]
    state: dict[str, Any]
    parts: dict[str, str]  # of parameters, too: there it only says which class a model must have
    fitted_parts: frozenset[str]
    attributes: frozenset[str]  # that a fitted model has


class Model:
    """Something that can be saved: `save` writes it to one file, `textmill.load` brings it back.

    A subclass sets `format_version`, declares what it holds (see the module) and has a public name. When its arrays
    change, `format_version` goes up by one and `upgrade` turns older files into the new form.

    >>> class Counts(Model):
    ...     format_version = 1
    ...     layout = {"counts": "term: int64"}
    >>> counts = Counts()
    >>> counts.counts = np.array([3, 1])
    >>> counts.verify()
    """

    format_version: ClassVar[int]
    layout: ClassVar[Mapping[str, str]] = {}
    indices: ClassVar[Mapping[str, str]] = {}
    offsets: ClassVar[Mapping[str, str]] = {}
    records: ClassVar[Mapping[str, Callable[..., Any]]] = {}
    state: ClassVar[Mapping[str, Any]] = {}
    parts: ClassVar[Mapping[str, str]] = {}
    declared: ClassVar[Declared]
    _source: str  # the file that the model came from, as long as its values are not verified

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.declared = _declare(cls)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, completely or not at all.

        >>> class Mine(Model):
        ...     format_version = 1
        >>> Mine().save("mine.mill")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        textmill.errors.DataError: ...Mine is no public class of textmill, so a file could not name it; ...
        """
        try:
            if not self.__sklearn_is_fitted__():
                raise ModelFileError(
                    f"not saved: this {type(self).__name__} is not fitted yet; call fit first", reason="not saved"
                )
            write(path, _collect(self))
        except ModelFileError as fault:
            raise ModelFileError(f"{os.fspath(path)}: {fault}", reason=reason_of(fault)) from None

    def fingerprint(self) -> str:
        """Return a hash of all that a file of the model would hold: equal for equal models.

        >>> class Mine(Model):
        ...     format_version = 1
        >>> Mine().fingerprint()  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        textmill.errors.DataError: ...Mine is no public class of textmill, so a file could not name it; ...
        """
        digest = hashlib.sha256()
        _hash(_collect(self), digest)
        return digest.hexdigest()

    def verify(self) -> None:
        """Check every shape, index, offset, flag and string, here and in the models inside; O(size of the model).

        >>> class Links(Model):
        ...     layout = {"target": "page: int32"}
        ...     indices = {"target": "page"}
        >>> links = Links()
        >>> links.target = np.array([1, 2, 0], dtype=np.int32)
        >>> links.verify()
        """
        with _verifying:  # a second thread waits until the values may be used
            if id(self) in _being_verified:
                return  # check_values uses a method of the model that begins with check_fitted
            _being_verified.add(id(self))
            try:
                for part in _inner_models(self).values():
                    if part is not None:
                        part.verify()
                if self.__sklearn_is_fitted__():
                    _verify_values(self)
                vars(self).pop("_source", None)
            finally:
                _being_verified.discard(id(self))

    def check_values(self) -> None:
        """Check what the declarations cannot say; a subclass overrides this and raises ModelFileError."""

    def make_writable(self) -> None:
        """Copy the arrays that are still mapped from a file, so that they may be changed in place; else nothing."""
        arrays = {
            name: array.copy() if name in self.declared.fields and not array.flags.writeable else array
            for name, array in _arrays(self).items()
        }
        set_arrays(self, arrays)

    @classmethod
    def upgrade(cls, saved: Saved) -> Saved:
        """Turn the contents of a file of an older format (`saved.format`) into those of today."""
        raise ModelFileError(
            f"has format {saved.format} of {saved.class_name}, which can no longer be read; train again",
            reason="damaged",
        )

    def __sklearn_is_fitted__(self) -> bool:
        return all(hasattr(self, name) for name in self.declared.attributes)


def check_fitted(model: Any) -> None:
    """Raise NotFittedError unless the model is fitted; one from a file has its values verified the first time.

    Every method that uses what `fit` learned begins with this.

    >>> class Toy(Estimator):
    ...     pass
    >>> check_fitted(Toy())
    Traceback (most recent call last):
    textmill.errors.NotFittedError: this Toy is not fitted yet; call fit, or load a fitted one
    """
    if isinstance(model, Model):
        fitted = model.__sklearn_is_fitted__()
    else:
        fitted = any(name.endswith("_") and not name.startswith("_") for name in vars(model))
    if not fitted:
        raise NotFittedError(f"this {type(model).__name__} is not fitted yet; call fit, or load a fitted one")
    if "_source" in vars(model):
        model.verify()


def _declare(cls: type[Model]) -> Declared:
    """Add up and check what the class and its bases declare; a mistake is a TypeError when the class is defined."""
    merged: dict[str, dict[str, Any]] = {}
    for kind in ("layout", "indices", "offsets", "records", "state", "parts"):
        merged[kind] = {}
        for base in reversed(cls.__mro__):
            merged[kind].update(vars(base).get(kind, {}))
    layout = merged.pop("layout")
    fields = parse_layout(
        {name: axes for name, axes in layout.items() if not isinstance(getattr(cls, name, None), property)}
    )
    axes = {axis.removesuffix("+1") for field in fields.values() for axis in field.axes}
    for name, axis in (merged["indices"] | merged["offsets"]).items():
        if name not in fields or axis not in axes:
            raise TypeError(f"{cls.__name__}: '{name}' or the axis '{axis}' it points along is not in the layout")
    for name in merged["offsets"]:
        if len(fields[name].axes) != 1 or not fields[name].axes[0].endswith("+1"):
            raise TypeError(f"{cls.__name__}: the offsets '{name}' need one axis, 'something+1'")
    parameters = constructor_parameters(cls) if issubclass(cls, Estimator) else {}
    fitted_parts = frozenset(merged["parts"].keys() - parameters.keys())
    attributes = {name.partition(".")[0] for name in fields} | merged["state"].keys() | fitted_parts
    return Declared(fields, **merged, fitted_parts=fitted_parts, attributes=frozenset(attributes))


def _arrays(model: Model) -> dict[str, NDArray[Any]]:
    """The arrays of a fitted model by their names in a file."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, field in model.declared.fields.items():
        value = attrgetter(name)(model)
        if value is None and field.optional:
            continue
        if "label" in field.types:
            value = np.asarray(value)
            value = StringTable(value.tolist()) if value.dtype.kind in "OU" else value
        elif "str" in field.types and not isinstance(value, StringTable):
            value = StringTable(value)
        if isinstance(value, StringTable):
            arrays[f"{name}.bytes"], arrays[f"{name}.offsets"] = value.bytes, value.offsets
        else:
            arrays[name] = np.asarray(value)
    return arrays


def set_arrays(model: Model, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Give a model its attributes from the arrays of a file: tables, labels and records are made of them.

    >>> class Words(Model):
    ...     layout = {"terms": "term: str"}
    >>> words = Words()
    >>> set_arrays(words, {"terms.bytes": np.frombuffer(b"ab", np.uint8), "terms.offsets": np.array([0, 1, 2])})
    >>> words.terms.to_list()
    ['a', 'b']
    """
    records: dict[str, dict[str, Any]] = {name: {} for name in model.declared.records}
    for name, field in model.declared.fields.items():
        value: Any = arrays.get(name)
        if f"{name}.offsets" in arrays:
            value = StringTable.from_arrays(arrays[f"{name}.bytes"], arrays[f"{name}.offsets"])
            value = _labels(value) if "label" in field.types else value
        attribute, dot, record_field = name.partition(".")
        if dot:
            records[attribute][record_field] = value
        else:
            setattr(model, name, value)
    for name, make in model.declared.records.items():
        setattr(model, name, make(**records[name]))


def _labels(table: StringTable) -> NDArray[Any]:
    """Labels as NumPy has them after `np.unique`: fixed width, unless that would waste memory or lose a last NUL."""
    labels = table.to_list()
    width = 4 * max(map(len, labels), default=1)
    compact = len(labels) * width <= 4096 + 16 * (table.bytes.nbytes + table.offsets.nbytes)
    return np.array(labels, dtype=str if compact and not any(label.endswith("\0") for label in labels) else object)


def _check_arrays(model: Model, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Check shapes and all values of a fitted model."""
    declared = model.declared
    sizes = check_shapes(arrays, stored_fields(declared.fields, arrays))
    for name, array in arrays.items():
        if array.dtype == np.bool_:
            check_flags(name, array)
        if name in declared.indices:
            check_indices(name, array, sizes.get(declared.indices[name], 0))
        if name in declared.offsets:
            check_offsets(name, array, sizes.get(declared.offsets[name], 0))
        if name.endswith(".bytes") and name not in declared.fields:
            try:
                StringTable.from_arrays(array, arrays[name.removesuffix("bytes") + "offsets"]).verify()
            except ModelFileError as fault:
                raise ModelFileError(f"'{name.removesuffix('.bytes')}': {fault}", reason=reason_of(fault)) from None
    try:
        model.check_values()
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as fault:  # values nobody thought of
        what = " ".join(f"{type(fault).__name__}: {fault}".split())[:200]
        raise ModelFileError(f"its values do not hold together ({what}); {DAMAGED}", reason="damaged") from None


def _verify_values(model: Model) -> None:
    """Check shapes and values of a fitted model, naming the file it came from."""
    try:
        _check_arrays(model, _arrays(model))
    except ModelFileError as fault:
        source = vars(model).get("_source")
        raise ModelFileError(
            f"{source}: {fault}; {DAMAGED}" if source else str(fault), reason=reason_of(fault)
        ) from None


def _inner_models(model: Model) -> dict[str, Model | None]:
    """Models inside the model: parameters that are models, and declared parts, which may be None."""
    parameters = model.get_params(deep=False) if isinstance(model, Estimator) else {}
    inner: dict[str, Model | None] = {name: value for name, value in parameters.items() if isinstance(value, Model)}
    if model.__sklearn_is_fitted__():
        inner |= {name: getattr(model, name) for name in model.declared.fitted_parts}
    return inner


def _collect(model: Model) -> Saved:
    """Everything a file will hold of the model."""
    inner = _inner_models(model)
    parameters = model.get_params(deep=False) if isinstance(model, Estimator) else {}
    saved = Saved(
        class_name(type(model)),
        model.format_version,
        fitted=model.__sklearn_is_fitted__(),
        parameters={name: _encoded(name, parameters[name]) for name in parameters.keys() - inner.keys()},
        parts={name: None if part is None else _collect(part) for name, part in inner.items()},
    )
    if saved.fitted:
        saved.state = {name: _state(model, name, kind) for name, kind in model.declared.state.items()}
        saved.arrays = _arrays(model)
        try:
            _check_arrays(model, saved.arrays)
        except ModelFileError as fault:
            raise ModelFileError(
                f"not saved: {fault}; {saved.class_name} and its declarations disagree", reason="not saved"
            ) from None
    return saved


def _encoded(name: str, value: Any) -> Any:
    """A parameter as a file holds it; the state of a generator is not held, only what it was used for."""
    return encode(f"parameter '{name}'", None if is_generator(value) else value)


def _hash(saved: Saved, digest: Any) -> None:
    """Add everything of `saved` to a hash, each with its name and size, in sorted order."""
    head = saved.class_name, saved.format, saved.fitted, saved.parameters, saved.state
    digest.update(json.dumps(head, sort_keys=True).encode())
    for name, array in sorted(saved.arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    for name, part in sorted(saved.parts.items()):
        digest.update(f"part {name} {part is not None}".encode())
        if part is not None:
            _hash(part, digest)


def _state(model: Model, name: str, kind: Any) -> Any:
    """One value of the state, encoded, once it has the declared type."""
    value = getattr(model, name)
    value = value.item() if isinstance(value, np.generic) else value
    if type(value) is int and not has_type(value, kind) and has_type(float(value), kind):
        value = float(value)
    if not has_type(value, kind):
        raise TypeError(f"{type(model).__name__}.{name} is {value!r}, but its state declares {kind}")
    return encode(f"'{name}'", value)


def has_type(value: Any, kind: Any) -> bool:
    """Is the type of `value` exactly the declared one, or one of a union?

    >>> has_type(1.5, float | None), has_type(True, int)
    (True, False)
    """
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    return type(value) in [get_origin(one) or one for one in kinds]
