"""What the verbs of `textmill classify` share: labeled data, what turns them into rows, models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._reading import Reading, Terms

Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        help="Labeled records (CSV, TSV, JSONL, Parquet), a folder of texts for each label, SVMlight or Vowpal Wabbit "
        "files (--format svmlight, vw), or events (.events); - for stdin.",
    ),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="Model made by `textmill classify train`.")]
LabelField = Annotated[str, typer.Option(help="Field that holds the label, for JSONL and CSV.")]
MinDf = Annotated[int, typer.Option(help="Leave out terms that occur in fewer documents.")]


def load_classifier(path: Path) -> Any:
    """A model that `classify train` has made."""
    from textmill.model import Classifier, load

    return load(path, expect=Classifier)


def read_data(
    data: list[str],
    reading: Reading,
    label_field: str | None,
    model: Any = None,
    *,
    kind: str | None = None,
    columns: Any = None,
) -> Any:
    """The data as the model takes them, or over the same columns as other data."""
    from textmill.corpus import NamedFeatures
    from textmill.errors import DataError
    from textmill.linear import CategoricalBayes, NaiveBayes, read_labeled

    categorical = kind == "categorical" or isinstance(model, CategoricalBayes)
    if model is not None and not categorical:
        columns = model.vectorizer_ if isinstance(model.vectorizer_, NamedFeatures) else model.n_features_in_
    read = read_labeled(
        data,
        label_field=label_field,
        columns=columns,
        format=reading.format,
        categorical=categorical,
        counts=kind == "bayes" or isinstance(model, NaiveBayes),
        encoding=reading.encoding,
        text_field=reading.text_field,
        id_field=reading.id_field,
        unit="line" if reading.lines else None,
        delimiter={"tab": "\t", "\\t": "\t"}.get(reading.delimiter, reading.delimiter),
        errors=reading.errors,
    )
    if read.kind == "texts" and columns is not None and (model.vectorizer_ is None or columns is model.vectorizer_):
        raise DataError("the model takes rows of numbers or events, and this is text", source=data[0])
    return read


def make_vectorizer(labeled: Any, terms: Terms, reading: Reading, weighting: str, min_df: int, jobs: int | None) -> Any:
    """What turns texts or events into rows; for rows the names of their columns."""
    from textmill.corpus import NamedFeatures
    from textmill.vectors import TextVectorizer, Weighting

    if labeled.kind != "texts":
        terms.refuse("the data have features already")
        return labeled.names or NamedFeatures()
    vocabulary = terms.vocabulary(labeled.X, jobs=jobs, min_df=min_df)
    return TextVectorizer(vocabulary=vocabulary, weighting=Weighting(scheme=weighting))
