"""Classify texts, rows and events by models that can be read: train, predict, evaluate, explain, follow a path."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._options import Cluster, Jobs, Json, JsonLines, answers
from textmill.cli._outputs import output_option
from textmill.cli._reading import Reading, Terms, with_options
from textmill.cli._tables import Printed

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

_Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        help="Labeled records (CSV, TSV, JSONL, Parquet), SVMlight rows (.svmlight) or events (.events), - for stdin.",
    ),
]
_Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model made by `textmill classify train`.")]
_Label = Annotated[str, typer.Option(help="Field that holds the label, for JSONL and CSV.")]
_L2 = Annotated[float | None, typer.Option(help="L2 penalty; default: 1 for logistic without --l1, else 0.")]
_Balanced = Annotated[bool, typer.Option("--balanced", help="Give every class the same weight, whatever its size.")]
_Weighting = Annotated[
    str | None,
    typer.Option(help="Weights of terms in SMART letters, such as bnc; default: ntc, for bayes nnn, plain counts."),
]
_Event = Annotated[
    str | None,
    typer.Option(
        help="bayes: model of counts: zibinom (default), binom, bernoulli, betabinom, negbinom, multinomial, ..."
    ),
]
_MinDf = Annotated[int, typer.Option(help="Leave out terms that occur in fewer documents.")]
_Tolerance = Annotated[float | None, typer.Option(help="Duality gap that ends training, relative to the objective.")]


@app.command()
@with_options
def train(
    data: _Data,
    output: Annotated[Path, output_option("The model file to write.")],
    kind: Annotated[str, typer.Option(help="Kind of model: logistic, combinations or bayes.")] = "logistic",
    l1: Annotated[float | None, typer.Option(help="L1 penalty; default: 0 for logistic, 1 for combinations.")] = None,
    l2: _L2 = None,
    degree: Annotated[int | None, typer.Option(help="combinations: features in a combination; default: 2.")] = None,
    event: _Event = None,
    smoothing: Annotated[float | None, typer.Option(help="bayes: what is added to every count.")] = None,
    words: Annotated[int | None, typer.Option(help="bayes: keep this many words, the most informative ones.")] = None,
    label_field: _Label = "label",
    balanced: _Balanced = False,
    weighting: _Weighting = None,
    min_df: _MinDf = 1,
    tolerance: _Tolerance = None,
    max_iter: Annotated[int | None, typer.Option(help="Maximum number of iterations.")] = None,
    cluster: Cluster = None,
    *,
    terms: Terms,
    reading: Reading,
    jobs: Jobs = None,
) -> None:
    """Train a classifier on labeled data; the model file holds everything needed to read further text.

    Example: textmill classify train reviews.jsonl --l1 1 --label-field stars -o reviews.mill
    """
    from textmill.linear import make_classifier
    from textmill.readable import counted

    labeled = _read(data, reading, label_field)
    options: dict[str, Any] = {"l1": l1, "l2": l2, "degree": degree, "tolerance": tolerance, "max_iter": max_iter}
    options |= {"event": event, "smoothing": smoothing, "n_words": words}
    weighting = weighting or ("nnn" if kind == "bayes" else "ntc")
    vectorizer = _vectorizer(labeled, terms, reading, weighting, min_df, jobs)
    model = make_classifier(kind, vectorizer=vectorizer, balanced=balanced, n_jobs=jobs, **options)
    model.fit(labeled.X, labeled.y, **({} if cluster is None else {"cluster": cluster}))
    model.save(output)
    sizes = f"{counted(len(labeled.ids), 'rows')}, {counted(len(model.classes_), 'classes')}"
    if kind == "bayes":
        typer.echo(f"{sizes}; {counted(len(model.words_), 'words')} with a model of kind {model.event}")
        return
    active = int((model.coef_ != 0).any(axis=0).sum())
    gap = "" if model.gap_ is None else f" (at most {model.gap_:.2g} above the minimum)"
    typer.echo(f"{sizes}; {counted(active, 'features')} with a weight; objective {model.objective_:.6g}{gap}")


@app.command()
@with_options
def predict(
    model: _Model,
    data: _Data,
    *,
    reading: Reading,
    json: JsonLines = False,
) -> None:
    """Print label, probability and id of each text, row or event.

    Example: textmill classify predict reviews.mill new.jsonl
    """
    loaded = _load(model)
    read = _read(data, reading, None, loaded)
    probabilities = loaded.predict_proba(read.X)
    table = Printed({"label": "", "probability": ".4f", "id": ""}, json=json)
    for row, name in zip(probabilities, read.ids, strict=True):
        table.row(label=loaded.classes_[row.argmax()].item(), probability=float(row.max()), id=name)


@app.command()
@with_options
def evaluate(
    model: _Model,
    data: _Data,
    label_field: _Label = "label",
    *,
    reading: Reading,
    json: Json = False,
) -> None:
    """Print precision, recall and F of each label, and the accuracy, on labeled data.

    Example: textmill classify evaluate reviews.mill test.jsonl --label-field stars
    """
    from textmill.cli._json import json_line
    from textmill.linear import evaluate_classifier

    loaded = _load(model)
    labeled = _read(data, reading, label_field, loaded)
    confusion = evaluate_classifier(loaded, labeled.X, labeled.y)
    counts = confusion.per_label()
    figures = [(str(name), counts[name].precision(), counts[name].recall(), counts[name].f()) for name in counts.labels]
    if json:
        labels = [dict(zip(("label", "precision", "recall", "f1"), row, strict=True)) for row in figures]
        typer.echo(json_line({"accuracy": confusion.accuracy(), "rows": len(labeled.ids), "labels": labels}))
        return
    table = Printed({"label": "", "precision": ".4f", "recall": ".4f", "f1": ".4f"})
    for label, precision, recall, f1 in figures:
        table.row(label=label, precision=precision, recall=recall, f1=f1)
    typer.echo(f"accuracy {confusion.accuracy():.4f} of {len(labeled.ids)} rows")


@app.command()
def explain(
    model: _Model,
    k: Annotated[int, answers("Number of weights to show for each class.")] = 20,
    json: JsonLines = False,
) -> None:
    """Print the strongest weights of a model: the words, or combinations of features, that speak for each label.

    Example: textmill classify explain reviews.mill -k 10
    """
    weights = _load(model).strongest(k)
    table = Printed({"label": "", "feature": "", "weight": ".4f"}, json=json)
    for label, feature, weight in zip(weights.labels, weights.features, weights.weights, strict=True):
        table.row(label=label, feature=feature, weight=weight)


@app.command()
@with_options
def path(
    data: _Data,
    dev: Annotated[str | None, typer.Option(metavar="FILE", help="Labeled data to measure accuracy on.")] = None,
    steps: Annotated[int, typer.Option(help="Number of penalties.")] = 10,
    ratio: Annotated[float, typer.Option(help="Smallest penalty as a share of the largest.")] = 0.01,
    l2: Annotated[float, typer.Option(help="L2 penalty beside the L1 penalty.")] = 0.0,
    label_field: _Label = "label",
    balanced: _Balanced = False,
    weighting: _Weighting = None,
    min_df: _MinDf = 1,
    *,
    terms: Terms,
    reading: Reading,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Print a logistic regression for falling L1 penalties: features with a weight, objective, accuracy on --dev.

    Example: textmill classify path train.jsonl --dev dev.jsonl --steps 20
    """
    from textmill.linear import make_classifier

    labeled = _read(data, reading, label_field)
    vectorizer = _vectorizer(labeled, terms, reading, weighting or "ntc", min_df, jobs)
    model = make_classifier("logistic", vectorizer=vectorizer, balanced=balanced, n_jobs=jobs, l2=l2)
    table = Printed({"l1": ".5g", "features": "", "objective": ".6g", "accuracy": ".4f"}, json=json)
    judged = None
    for fitted in model.path(labeled.X, labeled.y, steps=steps, ratio=ratio):
        if dev is not None and judged is None:
            judged = _read([dev], reading, label_field, fitted)
        accuracy = None if judged is None else fitted.score(judged.X, judged.y)
        features = int((fitted.coef_ != 0).any(axis=0).sum())
        table.row(l1=fitted.l1, features=features, objective=fitted.objective_, accuracy=accuracy)


def _load(path: Path) -> Any:
    from textmill.model import Classifier, load

    return load(path, expect=Classifier)


def _read(data: list[str], reading: Reading, label_field: str | None, model: Any = None) -> Any:
    """The data as the model takes them."""
    from textmill.linear import read_labeled

    return read_labeled(
        data,
        label_field=label_field,
        columns=None if model is None else model.n_features_in_,
        format=reading.format,
        encoding=reading.encoding,
        text_field=reading.text_field,
        id_field=reading.id_field,
        unit="line" if reading.lines else None,
        errors=reading.errors,
    )


def _vectorizer(labeled: Any, terms: Terms, reading: Reading, weighting: str, min_df: int, jobs: int | None) -> Any:
    """What turns texts or events into rows; None for rows."""
    from textmill.corpus import NamedFeatures
    from textmill.vectors import TextVectorizer, Weighting

    if labeled.kind != "texts":
        terms.refuse("the data have features already")
        return NamedFeatures() if labeled.kind == "events" else None
    vocabulary = terms.vocabulary(labeled.X, jobs=jobs, min_df=min_df)
    return TextVectorizer(vocabulary=vocabulary, weighting=Weighting(scheme=weighting))
