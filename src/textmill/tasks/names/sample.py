"""The sample of names that ships with the package: a customer list in which the same customers stand several times.

Persons and organisations, with slips of the pen, titles, initials, other transliterations, lost and broken accents,
turned and missing words, short forms and acronyms, and with names that look alike but are not the same. One name a
line: id, name, type, count, cluster; same cluster, same entity. Written for textmill, with invented customers, and
dedicated to the public domain (CC0 1.0).
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from textmill.tasks.names.collection import NameList, read_names

__all__ = ["sample_names", "sample_names_path"]


def sample_names_path() -> Path:
    """Where the list lies.

    >>> sample_names_path().name
    'customers.tsv'
    """
    return Path(str(files("textmill.tasks.names") / "samples" / "customers.tsv"))


def sample_names() -> NameList:
    """The names of the list.

    >>> names = sample_names()
    >>> len(names), len(set(names.clusters)), names.names[0]
    (331, 104, 'Douglas Rutherford')
    """
    return read_names(sample_names_path())
