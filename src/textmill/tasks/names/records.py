r"""Records with several fields: what is compared, how, and where the records come from.

    NAME[:MEASURE[:WEIGHT]]      name      phone:exact      address:tfidf(trigrams):0.5      name::2

A field names a column, a measure for it (see `strings.parse_measure`; by default the measure of names, and several
measures where weights are learned) and its weight in the mean of measures. A value that is None, empty or blank is
missing, and so is one without a letter or a digit: "-", "n/a" is not.

Values are compared in a plain form: NFKC, Latin letters for those of other scripts, case folded, without accents,
everything that is no letter or digit a blank.
Cost: one pass.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from textmill.arrays import Ints
from textmill.corpus import read_records
from textmill.corpus.readers import BadRecords
from textmill.errors import DataError
from textmill.model import check_range
from textmill.strings import Normalizer, latin_letters, parse_measure
from textmill.tasks.names.collection import NameList, read_names

if TYPE_CHECKING:
    from textmill.tasks.names.aliases import Aliases

__all__ = ["Field", "RecordList", "numbered_values", "parse_field", "plain_form", "read_record_list"]

_WORDS = re.compile(r"[^\W_]+")
_PLAIN = Normalizer(form="NFKC", transliterate=latin_letters, case=True, accents=True)


@dataclass(frozen=True, slots=True)
class Field:
    """A column to compare, its measure and its weight.

    >>> str(Field("phone", "exact", 0.5)), str(Field("name"))
    ('phone:exact:0.5', 'name')
    """

    name: str
    measure: str | None = None
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise DataError(f"a field needs the name of a column, got {self.name!r}; write for example phone:exact:0.5")
        check_range(f"the weight of field {self.name!r}", self.weight, above=0.0, at_most=1e6)
        if self.measure is not None:
            parse_measure(self.measure)

    def __str__(self) -> str:
        weight = f":{self.weight:g}" if self.weight != 1.0 else ""
        measure = f":{self.measure or ''}" if self.measure or weight else ""
        return f"{self.name}{measure}{weight}"


def parse_field(text: str | Field) -> Field:
    """Return the field that a text describes; a `Field` is returned as it is.

    >>> parse_field("address:tfidf(trigrams):0.5")
    Field(name='address', measure='tfidf(trigrams)', weight=0.5)
    """
    if isinstance(text, Field):
        return text
    if not isinstance(text, str):
        raise DataError(f"a field is a text or a Field, got {text!r}; write for example 'phone:exact:0.5'")
    parts = [part.strip() for part in text.split(":")]
    if len(parts) > 3:
        raise DataError(f"the field {text!r} has {len(parts)} parts; write NAME, NAME:MEASURE or NAME:MEASURE:WEIGHT")
    try:
        weight = float(parts[2]) if len(parts) == 3 else 1.0
    except ValueError:
        raise DataError(f"the weight {parts[2]!r} of field {parts[0]!r} is not a number") from None
    return Field(parts[0], (parts[1] if len(parts) > 1 else "") or None, weight)


def plain_form(value: str) -> str:
    """A value as it is compared.

    >>> plain_form("Dr. Jean-Luc MÜLLER, 310/475-9807")
    'dr jean luc muller 310 475 9807'
    >>> plain_form("Юрий Гагарин")
    'yuriy gagarin'
    """
    return " ".join(_WORDS.findall(_PLAIN(value)))


def numbered_values(columns: Sequence[Sequence[str]]) -> tuple[list[str], list[Ints]]:
    """The distinct values of columns in their plain form, sorted, and the number of each value, -1 for a missing one.

    Numbers do not depend on the order of the records.

    >>> texts, (one, two) = numbered_values([["Tom", "ANN", ""], ["Ann", "-"]])
    >>> texts, one.tolist(), two.tolist()
    (['ann', 'tom'], [1, 0, -1], [0, -1])
    """
    plain = {value: plain_form(value) for value in set().union(*columns)}
    texts = sorted(set(plain.values()) - {""})
    numbers = {text: number for number, text in enumerate(texts)} | {"": -1}
    places = {value: numbers[form] for value, form in plain.items()}
    return texts, [np.fromiter((places[value] for value in column), np.int64, len(column)) for column in columns]


@dataclass(frozen=True, slots=True, eq=False)
class RecordList:
    """Records by column, with unique ids.

    >>> people = RecordList.of({"name": ["Ann Lee", "Tom"], "phone": ["1-2", None]})
    >>> len(people), people.ids, people.shown(0)
    (2, ['1', '2'], 'Ann Lee | 1-2')
    """

    ids: list[str]
    columns: dict[str, list[str]]
    aliases: Aliases | None = None  # by which values are compared

    @classmethod
    def of(
        cls,
        columns: Mapping[str, Iterable[object]],
        *,
        ids: Iterable[object] | None = None,
        aliases: Aliases | None = None,
    ) -> RecordList:
        """Records from columns: lists, arrays, series, or a data frame; None and NaN are missing values."""
        table = {str(name): [_text(value) for value in columns[name]] for name in columns}
        if not table:
            raise DataError("the records have no column; pass at least one")
        sizes = {name: len(values) for name, values in table.items()}
        size = next(iter(sizes.values()))
        for name, length in sizes.items():
            if length != size:
                raise DataError(f"column {name!r} has {length} values where the first has {size}; pass as many")
        keys = [str(key).strip() for key in (range(1, size + 1) if ids is None else ids)]
        if len(keys) != size:
            raise DataError(f"{len(keys)} ids for {size} records; pass one a record")
        first: dict[str, int] = {}
        for number, key in enumerate(keys, 1):
            if first.setdefault(key, number) != number:
                raise DataError(f"id {key!r} of record {number} is also that of record {first[key]}; ids must differ")
        return cls(keys, table, aliases)

    @classmethod
    def of_names(cls, names: NameList, *, aliases: Aliases | None = None) -> RecordList:
        """Records with the one field "name"."""
        return cls(list(names.ids), {"name": list(names.names)}, aliases)

    def __len__(self) -> int:
        return len(self.ids)

    def column(self, name: str) -> list[str]:
        """The values of a field as they are compared: with the first name of its group for each alias."""
        if name not in self.columns:
            names = ", ".join(map(repr, self.columns))
            raise DataError(f"the records have no field {name!r}; their fields are {names}")
        if self.aliases is None:
            return self.columns[name]
        shown = {value: self.aliases(value) for value in set(self.columns[name])}
        return [shown[value] for value in self.columns[name]]

    def shown(self, position: int) -> str:
        """The values of a record in one line."""
        return " | ".join(values[position] for values in self.columns.values() if values[position].strip())

    def names(self) -> NameList:
        """The records as names, for files of pairs and for labels: a name is all values in one line."""
        return NameList(self.ids, [self.shown(i) for i in range(len(self.ids))])


def read_record_list(
    source: str | os.PathLike[str],
    fields: Sequence[str],
    *,
    format: str | None = None,  # noqa: A002
    id_field: str = "id",
    delimiter: str = ",",
    encoding: str = "utf-8",
    errors: str = "strict",
    aliases: Aliases | None = None,
) -> RecordList:
    r"""Read these columns of CSV, TSV, JSONL or Parquet; lists of names (`read_names`) if the only field is "name".

    Without a column for the id a record's id is its line. A column that the first record lacks is an error; one that a
    later JSON object lacks is a missing value.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "people.csv")
    ...     _ = path.write_text("id,name,phone\na,Ann Lee,12\nb,Tom,\n")
    ...     people = read_record_list(path, ["name", "phone"])
    >>> people.ids, people.columns
    (['a', 'b'], {'name': ['Ann Lee', 'Tom'], 'phone': ['12', '']})
    """
    if list(fields) == ["name"]:
        options: dict[str, Any] = {"id_field": id_field, "delimiter": delimiter, "encoding": encoding}
        return RecordList.of_names(read_names(source, format=format, errors=errors, **options), aliases=aliases)
    if len(set(fields)) != len(fields):
        raise DataError(f"a field is there twice in {', '.join(fields)}; name each once")
    name = os.fspath(source)
    ids: dict[str, int] = {}
    columns: dict[str, list[str]] = {field: [] for field in fields}
    header: Mapping[str, Any] | None = None
    with BadRecords(errors, "stdin" if name == "-" else name) as bad:
        records = read_records(name, format=format, delimiter=delimiter, encoding=encoding, errors=errors)
        for record in records:
            if header is None:
                header = record.fields
                for field in fields:
                    if field not in header:
                        there = ", ".join(map(repr, list(header)[:20]))
                        lack = f"no field {field!r}; the fields are {there}; name another with --field"
                        raise DataError(lack, source=record.source, line=record.line)
            value = record.fields.get(id_field)
            key = str(record.line if value is None else value).strip()
            fault = None if key else f"the id is empty; give every record its own, or leave out the column {id_field!r}"
            if fault is None and key in ids:
                fault = f"id {key!r} is also that of line {ids[key]}; ids must be unique"
            if fault is not None:
                bad(DataError(fault, source=record.source, line=record.line, column=id_field))
                continue
            ids[key] = record.line or 0
            for field, column in columns.items():
                column.append(_text(record.fields.get(field)))
    return RecordList(list(ids), columns, aliases)


def _text(value: object) -> str:
    """A value as text; what is missing is empty."""
    if value is None or value != value:  # NaN
        return ""
    return value if isinstance(value, str) else str(value)
