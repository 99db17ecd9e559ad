"""What a person asks of a model file: what it is, what it was trained on, its size, its labels, its options.

    trained on    the state that counts what training saw: documents_, sentences_, tokens_, ...
    size          the extents of the axes that its class declares for its arrays (layout.py): topics, terms, ...
    labels        classes_
    options       the parameters that are not the default of the constructor

All of it comes from the header and the declarations of the class, so a new model needs nothing here unless it names an
axis or a count that no other has. Of the arrays only the labels are read. Cost: O(header), O(labels), and the import of
the class; of a class that this textmill does not have, the header alone is shown.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from textmill.errors import DataError, ModelFileError, reason_of
from textmill.model.base import Model
from textmill.model.estimators import Estimator, constructor_parameters
from textmill.model.file import Saved, read
from textmill.model.layout import check_shapes, stored_fields
from textmill.model.names import find_class
from textmill.model.parameters import encode, readable
from textmill.model.strings import StringTable
from textmill.readable import one_line

__all__ = ["Summary", "summarize"]

# counts of what training saw, and axes of arrays, with the words for them; what is not here is of no interest
_TRAINED_ON = {
    "documents_": "documents",
    "sequences_": "sequences",
    "sentences_": "sentences",
    "pairs_": "pairs",
    "words_": "words",
    "tokens_": "tokens",
}
_NODES = "node"  # of a tree of n-grams; the first is the root, which is none
_AXES = {
    "class": "labels",
    "topic": "topics",
    "term": "terms",
    "feature": "features",
    "test": "tests",
    "word": "words",
    "phrase": "phrases",
    "name": "names",
    "document": "documents",
    _NODES: "n-grams",
    "row": "rows",
    "column": "columns",
    "link": "links",
    "input_symbol": "input symbols",
    "output_symbol": "output symbols",
}
_LABELS = 12  # shown of many
_LONGEST = 60  # characters of one option


@dataclass(frozen=True, slots=True)
class Summary:
    """The facts of one model, and of the models inside it; `purpose` is the first line of the class's documentation."""

    kind: str
    purpose: str = ""
    fitted: bool = True
    trained_on: dict[str, int] = field(default_factory=dict)
    size: dict[str, int] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, Summary] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """The facts as text, those of models inside indented.

        >>> list(Summary("topics.LDA", trained_on={"documents": 1200}, options={"n_topics": 20}).lines())
        ['kind: topics.LDA', 'trained on: 1,200 documents', 'options: n_topics=20']
        """
        yield f"kind: {self.kind}" + ("" if self.fitted else ", not fitted")
        if self.purpose:
            yield f"purpose: {self.purpose}"
        yield from self._details()

    def _details(self) -> Iterator[str]:
        for name, counts in (("trained on", self.trained_on), ("size", self.size)):
            if counts:
                yield f"{name}: " + ", ".join(_counted(count, noun) for noun, count in counts.items())
        if self.labels:
            more = len(self.labels) - _LABELS
            yield "labels: " + ", ".join(self.labels[:_LABELS]) + (f" and {more:,} more" if more > 0 else "")
        if self.options:
            yield "options: " + ", ".join(f"{name}={_short(value)}" for name, value in self.options.items())
        for name, part in self.parts.items():
            yield f"{name.removesuffix('_')}: {part.kind}"
            yield from (f"  {line}" for line in part._details())


def summarize(path: str | os.PathLike[str]) -> Summary:
    """Sum up a model file.

    >>> import tempfile
    >>> import numpy as np
    >>> from textmill.model.file import write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(f"{folder}/v.mill", Saved("model.Unknown", 1, parameters={"min_df": 2}, state={"documents_": 9}))
    ...     print(*summarize(f"{folder}/v.mill").lines(), sep="\\n")
    kind: model.Unknown
    trained on: 9 documents
    options: min_df=2
    """
    try:
        return _summary(read(path))
    except ModelFileError as fault:
        raise ModelFileError(f"{os.fspath(path)}: {fault}", reason=reason_of(fault)) from None


def _summary(saved: Saved) -> Summary:
    try:
        kind: type | None = find_class(saved.class_name)
    except ModelFileError:
        kind = None
    cls = kind if kind is not None and issubclass(kind, Model) else None
    own = _own_parts(saved)
    state = saved.state | {f"{name}_": value for part in own.values() for name, value in part.state.items()}
    counts = {name: readable(value) for name, value in state.items() if name in _TRAINED_ON}
    counts = {name: value for name, value in counts.items() if isinstance(value, int | float)}
    return Summary(
        saved.class_name,
        "" if cls is None else (cls.__doc__ or "").strip().splitlines()[0],
        saved.fitted,
        {noun: round(counts[name]) for name, noun in _TRAINED_ON.items() if name in counts},
        {} if cls is None else _sizes(cls, saved) | _sizes_of_parts(own),
        _labels(saved),
        _options(cls, saved),
        {
            name: _summary(part)
            for name, part in saved.parts.items()
            if part is not None
            and name not in own
            and saved.parts.get(f"{name}_") is None  # a model as it was passed, and as it was fitted
        },
    )


def _own_parts(saved: Saved) -> dict[str, Saved]:
    """Models inside that hold what this one has learned and are no estimators themselves: their facts are its own."""
    own = {}
    for name, part in saved.parts.items():
        try:
            if part is not None and not issubclass(find_class(part.class_name), Estimator):
                own[name] = part
        except ModelFileError:
            continue
    return own


def _sizes_of_parts(parts: dict[str, Saved]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for part in parts.values():
        sizes |= _sizes(find_class(part.class_name), part)
    return sizes


def _sizes(cls: type[Model], saved: Saved) -> dict[str, int]:
    """Extents of the axes that have a word, in the order of that list; none for arrays of an older layout."""
    try:
        extents = check_shapes(saved.arrays, stored_fields(cls.declared.fields, saved.arrays))
    except ModelFileError:
        return {}
    return {noun: extents[axis] - (axis == _NODES) for axis, noun in _AXES.items() if axis in extents}


def _labels(saved: Saved) -> list[str]:
    if "classes_.bytes" in saved.arrays and "classes_.offsets" in saved.arrays:
        table = StringTable.from_arrays(saved.arrays["classes_.bytes"], saved.arrays["classes_.offsets"])
        return [one_line(label) for label in table]
    return [str(label) for label in saved.arrays["classes_"].flat] if "classes_" in saved.arrays else []


def _options(cls: type[Model] | None, saved: Saved) -> dict[str, Any]:
    """Parameters that differ from the constructor's default; all of them when the class is unknown."""
    declared = {} if cls is None else constructor_parameters(cls)
    defaults = {}
    for name, parameter in declared.items():
        try:
            defaults[name] = readable(encode(name, parameter.default))
        except (DataError, ModelFileError):  # a default that no file can hold is never the one in the file
            continue
    options = {name: readable(saved.parameters[name]) for name in sorted(saved.parameters)}
    order = [*(name for name in declared if name in options), *(name for name in options if name not in declared)]
    return {name: options[name] for name in order if name not in defaults or options[name] != defaults[name]}


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun.removesuffix('s') if count == 1 else noun}"


def _short(value: Any) -> str:
    text = one_line(value) if isinstance(value, str) else one_line(repr(value))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
