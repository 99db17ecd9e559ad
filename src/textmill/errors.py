"""The errors textmill raises, as a tree.

    Exception
      TextmillError          all of them: whoever does not care which catches this one
        DataError            input that cannot be used: names source, line, column, what was wrong, what to do; also a
                             ValueError
          NotFittedError     a model that was asked for what only `fit` learns; also an AttributeError
        ModelFileError       a model file that cannot be used: `reason` is one of REASONS
        ClusterError         a cluster that cannot be reached or gave up

A message names the place, the fault and the remedy, in one line. Places read `source:line:column: ...` so that
editors can jump to them. A warning points to the line outside the package that led to it.
"""

from __future__ import annotations

import sys
import warnings
from functools import cache
from typing import Any, Literal, Self, TypeAlias, get_args

__all__ = [
    "REASONS",
    "ClusterError",
    "DataError",
    "ModelFileError",
    "NotFittedError",
    "Reason",
    "TextmillError",
    "reason_of",
    "warn_caller",
]

Reason: TypeAlias = Literal["damaged", "truncated", "foreign", "other kind", "too new", "unreadable", "not saved"]
REASONS: tuple[Reason, ...] = get_args(Reason)

_NOT_CALLERS = ("textmill", "contextlib")  # packages whose frames a warning passes over


class TextmillError(Exception):
    """What all errors of this package have in common.

    >>> issubclass(DataError, TextmillError), issubclass(DataError, ValueError)
    (True, True)
    """


class DataError(TextmillError, ValueError):
    """Input that cannot be used.

    `source` is a file name or a short description of where the data came from, `line` a 1-based line or record
    number, `column` a 1-based character position or the name of a field. All three may be missing.

    >>> print(DataError("tag 'E-PER' is not IOB2; pass scheme='IOBES'", source="train.conll", line=118, column=4))
    train.conll:118:4: tag 'E-PER' is not IOB2; pass scheme='IOBES'
    """

    def __init__(
        self, message: str, *, source: str | None = None, line: int | None = None, column: int | str | None = None
    ) -> None:
        place = ":".join(str(part) for part in (source, line, column) if part is not None)
        super().__init__(f"{place}: {message}" if place else message)
        self.message = message
        self.source = source
        self.line = line
        self.column = column

    def __reduce__(self) -> tuple[object, ...]:
        return _data_error, (self.message, self.source, self.line, self.column)


def _data_error(message: str, source: str | None, line: int | None, column: int | str | None) -> DataError:
    """Rebuild a DataError that traveled from another process with its place."""
    return DataError(message, source=source, line=line, column=column)


class NotFittedError(DataError, AttributeError):
    """A model was asked for what only a fitted one knows.

    Where scikit-learn has been imported the error is also `sklearn.exceptions.NotFittedError`, so code written for
    either library catches it. It is an AttributeError, as there, so `hasattr` says no to what is not learned yet.

    >>> isinstance(NotFittedError("call fit first"), DataError)
    True
    """

    def __new__(cls, *args: object, **options: object) -> Self:
        """Be scikit-learn's error too, if that can be known at all."""
        kind: Any = cls
        error: Self = super().__new__(_with_scikit_learn(kind) if "sklearn" in sys.modules else kind, *args)
        return error

    def __reduce__(self) -> tuple[object, ...]:
        return NotFittedError, (self.message,)


@cache
def _with_scikit_learn(cls: type[NotFittedError]) -> Any:
    """The class that is scikit-learn's error as well."""
    from sklearn.exceptions import NotFittedError as Theirs

    return type(cls.__name__, (cls, Theirs), {"__doc__": cls.__doc__, "__module__": cls.__module__})


class ModelFileError(TextmillError):
    """A model file that cannot be used, or cannot be written; `reason` says why, one of `REASONS`.

        damaged       what it holds does not hold together
        truncated     it ends too early, or was left by a save that did not end
        foreign       it is no model of ours, nor of another tool that was asked for
        other kind    it holds a model of another class than the one that is needed
        too new       a later release has written it
        unreadable    the system cannot open it or map it into memory
        not saved     it could not be written; what was there is unchanged

    >>> error = ModelFileError("a.mill: ends after 7 bytes", reason="truncated")
    >>> print(error, "/", error.reason)
    a.mill: ends after 7 bytes / truncated
    """

    def __init__(self, message: str, *, reason: Reason) -> None:
        if reason not in REASONS:
            raise ValueError(f"reason must be one of {', '.join(REASONS)}, got {reason!r}")
        super().__init__(message)
        self.reason: Reason = reason

    def __reduce__(self) -> tuple[object, ...]:
        return _model_file_error, (str(self), self.reason)


def _model_file_error(message: str, reason: Reason) -> ModelFileError:
    """Rebuild a ModelFileError that traveled from another process."""
    return ModelFileError(message, reason=reason)


def reason_of(error: BaseException) -> Reason:
    """Return the reason of an error that is told anew with its place: its own, or that the file is damaged.

    >>> reason_of(ModelFileError("", reason="too new")), reason_of(ValueError())
    ('too new', 'damaged')
    """
    return error.reason if isinstance(error, ModelFileError) else "damaged"


class ClusterError(TextmillError):
    """A cluster that cannot be reached, lost its work too often, or was asked for something it cannot do."""


def warn_caller(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points to the code that called textmill, however deep inside it was found.

    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     warn_caller("few documents")
    >>> str(caught[0].message)
    'few documents'
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_globals.get("__name__", "").partition(".")[0] in _NOT_CALLERS and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
