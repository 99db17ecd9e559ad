"""Estimators, and models that are saved to one file and opened in an instant.

estimators.py   Estimator, Transformer, Classifier, Regressor: scikit-learn's protocol without its import
base.py         Model: what a class declares so that it can be saved
labels.py       labels and weights of rows
layout.py       named axes, types and ranges of arrays
options.py      small frozen dataclasses as values of parameters
parameters.py   parameters as canonical JSON
output.py       rows as data frames: set_output
seeds.py        seeds from numbers and NumPy's generators
names.py        classes by public name
strings.py      StringTable: many strings as two arrays
checksums.py    checksums of the header and of arrays
file.py         the file format: written atomically, checked, mapped
foreign.py      files that are something else
loading.py      load and describe
summary.py      the facts of a file that a person asks for
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.model.base import Model, check_fitted
    from textmill.model.estimators import (
        Classifier,
        Estimator,
        Regressor,
        Transformer,
        check_choice,
        check_owners,
        check_range,
        constructor_parameters,
        effective_jobs,
        given_parameters,
    )
    from textmill.model.file import Saved
    from textmill.model.foreign import kind_of_file
    from textmill.model.labels import checked_weights, label_array, labels_of, require_rows
    from textmill.model.loading import describe, load
    from textmill.model.options import Options
    from textmill.model.seeds import RandomState, is_generator, seed_of
    from textmill.model.strings import StringTable
    from textmill.model.summary import Summary, summarize

__all__ = [
    "Classifier",
    "Estimator",
    "Model",
    "Options",
    "RandomState",
    "Regressor",
    "Saved",
    "StringTable",
    "Summary",
    "Transformer",
    "check_choice",
    "check_fitted",
    "check_owners",
    "check_range",
    "checked_weights",
    "constructor_parameters",
    "describe",
    "effective_jobs",
    "given_parameters",
    "is_generator",
    "kind_of_file",
    "label_array",
    "labels_of",
    "load",
    "require_rows",
    "seed_of",
    "summarize",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "base": "Model check_fitted",
        "estimators": "Classifier Estimator Regressor Transformer check_choice check_owners check_range "
        "constructor_parameters effective_jobs given_parameters",
        "file": "Saved",
        "foreign": "kind_of_file",
        "labels": "checked_weights label_array labels_of require_rows",
        "loading": "describe load",
        "options": "Options",
        "seeds": "RandomState is_generator seed_of",
        "strings": "StringTable",
        "summary": "Summary summarize",
    },
)
