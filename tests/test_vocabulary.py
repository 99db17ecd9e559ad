"""One word for one idea: the tables of docs/conventions.md against every public signature, attribute and option."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import test_outputs

import textmill

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "conventions.md").read_text(encoding="utf-8")
SOURCES = ROOT / "src" / "textmill"
PACKAGES = [
    *(name for name in textmill.__all__ if name not in ("__version__", "load")),
    *(f"tasks.{path.stem}" for path in (SOURCES / "tasks").iterdir() if not path.name.startswith("_")),
]

# "package.name: parameter" and why the word is right there
_STEP = "a step of learning, whose caller has resolved random_state and n_jobs"
EXEMPT_PARAMETERS = {
    "corpus.Phrases.__init__: passes": "each pass joins longer phrases: a part of the model, not a limit",
    "corpus.SkippedRecords.__init__: count": "how many records were bad",
    "optimize.History.__init__: size": "the length of the vectors",
    "strings.Prepared.part: begin": "where a range of names begins",
    "topics.Statistics.begin: seed": _STEP,
    "topics.Statistics.begin: threads": _STEP,
    "topics.Statistics.blend: seed": _STEP,
    "topics.Statistics.blend: size": "the number of documents that were seen",
    "topics.Statistics.blend: threads": _STEP,
}
EXEMPT_ATTRIBUTES: dict[str, str] = {}
EXEMPT_OPTIONS = {
    "tag show: --test": "an observation test of the model, no data",
}

# programs of OpenFst, whose flags are OpenFst's
OPENFST = """
    arcsort closure compile compose concat connect convert determinize difference disambiguate draw encode epsnormalize
    equal equivalent info intersect invert isomorphic map minimize print project prune push randgen relabel replace
    reverse reweight rmepsilon shortestdistance shortestpath symbols synchronize topsort union
"""
BRITISH = {
    "normalize": "normalis",
    "color": "colour",
    "neighbor": "neighbour",
    "labeled": "labell",
    "optimize": "optimis",
    "tokenizer": "tokenis",
    "center": "centre",
}


class Rule(NamedTuple):
    """A word that is not used, the one to use instead, and the values to which the rule is limited, if it is."""

    wrong: str
    right: str
    only: str


@cache
def rules(heading: str) -> list[Rule]:
    """The rules of one table of the page: the words of its last column against the first of the second."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return [
        Rule(word, re.findall(r"`([^` ]+)", row[1])[0], only)
        for row in rows[2:]
        for word, only in re.findall(r"`([^`]+)` ?([^`,]*)", row[2])
    ]


LIMITS: dict[str, Callable[[str], bool]] = {  # what a limited rule is about, by the annotation of a parameter
    "": lambda annotation: True,
    "as a number": lambda annotation: annotation in ("int", "int | None"),
    "for data": lambda annotation: "float" not in annotation,
    "as a kind": lambda annotation: "Path" not in annotation and "FILE" not in annotation,
    "for files": lambda annotation: "Path" in annotation or "FILE" in annotation,
    "outside of streams": lambda annotation: True,
}


def members(package: str) -> Iterator[tuple[str, Any]]:
    """Public functions of a package, the constructors of its classes, and their methods that are written here."""
    module = importlib.import_module(f"textmill.{package}")
    for public in getattr(module, "__all__", []):
        value = getattr(module, public)
        if inspect.isfunction(value):
            yield public, value
        if not inspect.isclass(value):
            continue
        for cls in value.__mro__:
            for name, method in vars(cls).items() if cls.__module__.startswith("textmill") else ():
                written = inspect.unwrap(getattr(method, "__func__", method))
                made_by_hand = inspect.isfunction(written) and written.__code__.co_filename.startswith(str(SOURCES))
                if made_by_hand and (name == "__init__" or not name.startswith("_")):
                    yield f"{public}.{name}", written


@pytest.mark.parametrize("package", PACKAGES)
def test_parameters_have_the_words_of_the_page(package: str) -> None:
    wrong = set()
    for name, function in members(package):
        for parameter in inspect.signature(function).parameters.values():
            place = f"{package}.{name}: {parameter.name}"
            for rule in rules("Parameters"):
                in_stream = rule.only == "outside of streams" and function.__module__ == "textmill.corpus.synthetic"
                if (
                    not re.search("Callable|Cluster|Iterable", str(parameter.annotation))  # not the idea of the row
                    and parameter.name == rule.wrong
                    and LIMITS[rule.only](str(parameter.annotation))
                    and not in_stream
                    and place not in EXEMPT_PARAMETERS
                ):
                    wrong.add(f"{place} -> {rule.right}")
    assert not wrong, "\n".join(["", *sorted(wrong)])


def attributes(package: str) -> Iterator[tuple[str, str]]:
    """Class and name of every attribute with an underscore behind it that the sources of a package set."""
    folder = SOURCES / package.replace(".", "/")
    files = folder.rglob("*.py") if folder.is_dir() else [folder.with_suffix(".py")]
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                for inner in ast.walk(node):
                    stored = isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store)
                    name = inner.attr if stored else inner.id if isinstance(inner, ast.Name) else ""
                    if name.endswith("_") and not name.startswith("_"):
                        yield node.name, name


@pytest.mark.parametrize("package", PACKAGES)
def test_fitted_attributes_have_the_words_of_the_page(package: str) -> None:
    known = {rule.wrong: rule.right for rule in rules("Fitted attributes")}
    wrong = {
        f"{package}.{cls}: {name} -> {known[name]}"
        for cls, name in attributes(package)
        if name in known and f"{package}.{cls}: {name}" not in EXEMPT_ATTRIBUTES
    }
    assert not wrong, "\n".join(["", *sorted(wrong)])


@cache
def commands() -> list[tuple[str, Any]]:
    """Every command of `textmill`, by its words."""
    return test_outputs.leaves()


def test_commands_and_options_have_the_words_of_the_page() -> None:
    wrong = set()
    for words, command in commands():
        group, *verbs = words.split()
        if group == "fst" and verbs[0] in {*OPENFST.split(), "far", "grammar"}:
            continue
        for rule in rules("Options of commands"):
            if rule.wrong in verbs:
                wrong.add(f"{words} -> {rule.right}")
            for parameter in command.params:
                annotation = str(getattr(parameter, "type_descriptor", None) or parameter.type)
                place = f"{words}: {rule.wrong}"
                if rule.wrong in parameter.opts and LIMITS[rule.only](annotation) and place not in EXEMPT_OPTIONS:
                    wrong.add(f"{place} -> {rule.right}")
    assert not wrong, "\n".join(["", *sorted(wrong)])


def test_names_are_spelled_as_the_page_says() -> None:
    american = re.findall(r"`(\w+)`", PAGE.split("## Spelling\n")[1].split("\n## ")[0])
    assert set(american) == set(BRITISH)
    british = re.compile("|".join(BRITISH.values()), re.IGNORECASE)
    wrong = {str(path.relative_to(SOURCES)) for path in SOURCES.rglob("*.py") if british.search(path.stem)}
    for package in PACKAGES:
        module = importlib.import_module(f"textmill.{package}")
        wrong |= {f"{package}.{name}" for name in getattr(module, "__all__", []) if british.search(name)}
        for name, function in members(package):
            wrong |= {f"{package}.{name}: {p}" for p in inspect.signature(function).parameters if british.search(p)}
            wrong |= {f"{package}.{name}"} if british.search(name) else set()
    for words, command in commands():
        names = [words, *(option for parameter in command.params for option in parameter.opts)]
        wrong |= {f"{words}: {name}" for name in names if british.search(name)}
    assert not wrong, "\n".join(["", *sorted(wrong)])


def test_exemptions_are_still_needed() -> None:
    parameters = {
        f"{package}.{name}: {parameter}"
        for package in PACKAGES
        for name, function in members(package)
        for parameter in inspect.signature(function).parameters
    }
    options = {f"{words}: {option}" for words, command in commands() for p in command.params for option in p.opts}
    held = {f"{package}.{cls}: {name}" for package in PACKAGES for cls, name in attributes(package)}
    assert set(EXEMPT_PARAMETERS) <= parameters, sorted(set(EXEMPT_PARAMETERS) - parameters)
    assert set(EXEMPT_ATTRIBUTES) <= held, sorted(set(EXEMPT_ATTRIBUTES) - held)
    assert set(EXEMPT_OPTIONS) <= options, sorted(set(EXEMPT_OPTIONS) - options)


def test_values_are_named_by_what_they_are() -> None:
    names = PAGE.split("## Names in the code\n")[1]
    words = set(re.findall(r"`(\w+)`", names.split("Not ")[1].split(", which")[0]))
    assert {"made", "found"} <= words
    wrong = []
    for path in sorted(SOURCES.rglob("*.py")):
        place = path.relative_to(SOURCES).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            name = node.id if stored else node.arg if isinstance(node, ast.arg) else getattr(node, "name", None)
            if isinstance(name, str) and name.strip("_") in words:
                wrong.append(f"{place}:{node.lineno}: {name}")
    assert not wrong, "\n".join(["", *wrong])
