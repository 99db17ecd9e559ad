"""Classify texts and table rows with interpretable linear models: train, predict, evaluate, explain, decide."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._classify_data import Data, LabelField, MinDf, ModelFile, load_classifier, make_vectorizer, read_data
from textmill.cli._classify_words import app as word_verbs
from textmill.cli._options import Cluster, Jobs, Json, JsonLines, answers
from textmill.cli._outputs import figure_option, output_option
from textmill.cli._reading import Reading, Terms, with_options
from textmill.cli._tables import Printed

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)
app.add_typer(word_verbs)

_L2 = Annotated[
    float | None,
    typer.Option(help="L2 penalty; default: for logistic without --l1 what predicts left-out rows best, else 0."),
]
_Positive = Annotated[str | None, typer.Option(help="Label to be found; default: 1, or the rarer of two texts.")]
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
_Kind = Annotated[str, typer.Option(help="Kind of model: logistic, combinations, bayes, or categorical for events.")]
_Tolerance = Annotated[float | None, typer.Option(help="Duality gap that ends training, relative to the objective.")]


@app.command()
@with_options
def train(
    data: Data,
    output: Annotated[Path, output_option("The model file to write.")],
    kind: _Kind = "logistic",
    l1: Annotated[float | None, typer.Option(help="L1 penalty; default: 0 for logistic, 1 for combinations.")] = None,
    l2: _L2 = None,
    degree: Annotated[int | None, typer.Option(help="combinations: features in a combination; default: 2.")] = None,
    event: _Event = None,
    smoothing: Annotated[float | None, typer.Option(help="bayes, categorical: what is added to every count.")] = None,
    words: Annotated[int | None, typer.Option(help="bayes: keep this many words, the most informative ones.")] = None,
    utility: Annotated[
        str | None, typer.Option(help="logistic: score to train for, such as f1, f2, mcc or cost:5:1.")
    ] = None,
    positive: _Positive = None,
    label_field: LabelField = "label",
    balanced: _Balanced = False,
    weighting: _Weighting = None,
    min_df: MinDf = 1,
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
    Example: textmill classify train alarms.csv --utility f1 --positive alarm -o alarms.mill
    """
    from textmill.errors import DataError
    from textmill.linear import UtilityLogistic, make_classifier, tuned_logistic
    from textmill.readable import counted

    if positive is not None and utility is None:
        raise DataError("--positive is for models trained with --utility; leave it out, or name a utility")

    labeled = read_data(data, reading, label_field, kind=kind).without_empty_columns()
    options: dict[str, Any] = {"l1": l1, "l2": l2, "degree": degree, "tolerance": tolerance, "max_iter": max_iter}
    options |= {"event": event, "smoothing": smoothing, "n_words": words}
    weighting = weighting or ("nnn" if kind == "bayes" else "ntc")
    options |= {"utility": utility, "positive": positive}
    vectorizer = None if kind == "categorical" else make_vectorizer(labeled, terms, reading, weighting, min_df, jobs)
    model = make_classifier(kind, vectorizer=vectorizer, balanced=balanced, n_jobs=jobs, **options)
    X, y, size, has_rows = labeled.X, labeled.y, len(labeled.ids), labeled.kind == "rows"
    del labeled
    if kind == "logistic" and vectorizer is not None and not has_rows and cluster is None and utility is None:
        X = vectorizer.fit_transform(_pop_all(X))  # the texts need not be held while it trains
    tuned = kind == "logistic" and l1 is None and l2 is None and utility is None and cluster is None
    if tuned:
        model = tuned_logistic(model, X, y)
    else:
        model.fit(X, y, **({} if cluster is None else {"cluster": cluster}))
    model.save(output)
    sizes = f"{counted(size, 'rows')}, {counted(len(model.classes_), 'classes')}"
    if kind == "bayes":
        typer.echo(f"{sizes}; {counted(len(model.words_), 'words')} with a model of kind {model.event}")
        return
    if kind == "categorical":
        typer.echo(f"{sizes}; {counted(len(model.values_), 'values')} of {counted(len(model.templates_), 'templates')}")
        return
    active = int((model.coef_ != 0).any(axis=0).sum())
    if isinstance(model, UtilityLogistic):
        held_out = "" if model.held_out_ is None else f", {model.held_out_:.4f} on held-out rows"
        label = "" if model.positive_ is None else f"; positive label {model.positive_}"
        weights = f"{counted(active, 'features')} with a weight"
        typer.echo(f"{sizes}; {weights}; {utility} {model.objective_:.4f} smoothed{held_out}{label}")
        return
    gap = "" if model.gap_ is None else f" (at most {model.gap_:.2g} above the minimum)"
    ways = ("" if model.intercept else " without intercept") + (" and balanced" if model.class_weight else "")
    chosen = f"; l2 {model.l2:g}{ways}, chosen by left-out rows" if tuned else ""
    weights = f"{counted(active, 'features')} with a weight"
    typer.echo(f"{sizes}; {weights}; objective {model.objective_:.6g}{gap}{chosen}")


@app.command()
@with_options
def predict(
    model: ModelFile,
    data: Data,
    *,
    reading: Reading,
    json: JsonLines = False,
) -> None:
    """Print label, probability and id of each text, row or event.

    Example: textmill classify predict reviews.mill new.jsonl
    """
    from textmill.linear import labels_with_probabilities

    loaded = load_classifier(model)
    read = read_data(data, reading, None, loaded)
    table = Printed({"label": "", "probability": ".4f", "id": ""}, json=json)
    for label, probability, name in zip(*labels_with_probabilities(loaded, read.X), read.ids, strict=True):
        table.row(label=label, probability=probability, id=name)


@app.command()
@with_options
def evaluate(
    model: ModelFile,
    data: Data,
    label_field: LabelField = "label",
    *,
    reading: Reading,
    json: Json = False,
) -> None:
    """Print precision, recall and F of each label, and the accuracy, on labeled data.

    Example: textmill classify evaluate reviews.mill test.jsonl --label-field stars
    """
    from textmill.cli._json import json_line
    from textmill.linear import evaluate_classifier

    loaded = load_classifier(model)
    labeled = read_data(data, reading, label_field, loaded)
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
    model: ModelFile,
    k: Annotated[int, answers("Number of weights to show for each class.")] = 20,
    json: JsonLines = False,
) -> None:
    """Print the strongest weights of a model: the words, or combinations of features, that speak for each label.

    Example: textmill classify explain reviews.mill -k 10
    """
    weights = load_classifier(model).strongest(k)
    table = Printed({"label": "", "feature": "", "weight": ".4f"}, json=json)
    for label, feature, weight in zip(weights.labels, weights.features, weights.weights, strict=True):
        table.row(label=label, feature=feature, weight=weight)


@app.command()
@with_options
def path(
    data: Data,
    dev: Annotated[str | None, typer.Option(metavar="FILE", help="Labeled data to measure accuracy on.")] = None,
    along: Annotated[
        str, typer.Option(help="What changes: penalty, or recall: models trained for F with more and more of it.")
    ] = "penalty",
    steps: Annotated[int | None, typer.Option(help="Number of models; default: 10, along recall 5.")] = None,
    ratio: Annotated[float, typer.Option(help="Smallest penalty as a share of the largest.")] = 0.01,
    kind: Annotated[str, typer.Option(help="Kind of model: logistic or combinations.")] = "logistic",
    l2: Annotated[float | None, typer.Option(help="L2 penalty beside the L1 penalty; default: 0.")] = None,
    degree: Annotated[int | None, typer.Option(help="combinations: features in a combination; default: 2.")] = None,
    positive: _Positive = None,
    plot: Annotated[
        Path | None, figure_option("Draw the strongest weights, along recall precision against recall, to this file.")
    ] = None,
    label_field: LabelField = "label",
    balanced: _Balanced = False,
    weighting: _Weighting = None,
    min_df: MinDf = 1,
    *,
    terms: Terms,
    reading: Reading,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Print models for falling L1 penalties: features with a weight, objective, accuracy on --dev.

    With --along recall models are trained for F with a weight of recall that rises from 0.1 to 0.9; 0.5 is F1. Printed
    is F at that weight, on held-out rows, and recall and precision on --dev. Train the one that suits with
    --utility alpha:WEIGHT.

    Example: textmill classify path train.jsonl --dev dev.jsonl --steps 20 --plot path.svg
    Example: textmill classify path alarms.csv --along recall --positive alarm --dev dev.csv
    """
    from textmill.errors import DataError
    from textmill.linear import draw_path, make_classifier
    from textmill.model import check_choice
    from textmill.plot import save

    check_choice("along", along, ("penalty", "recall"))
    labeled = read_data(data, reading, label_field).without_empty_columns()
    vectorizer = make_vectorizer(labeled, terms, reading, weighting or "ntc", min_df, jobs)
    if along == "recall":
        options: dict[str, Any] = {"l2": l2, "degree": degree, "utility": "f1", "positive": positive}
        model = make_classifier(kind, vectorizer=vectorizer, balanced=balanced, n_jobs=jobs, **options)
        _along_recall(model, labeled, dev, 5 if steps is None else steps, plot, label_field, reading, json)
        return
    if positive is not None:
        raise DataError("--positive is for --along recall; leave it out")
    penalty = (l2 or 0.0) if kind == "logistic" else l2
    model = make_classifier(kind, vectorizer=vectorizer, balanced=balanced, n_jobs=jobs, l2=penalty, degree=degree)
    table = Printed({"l1": ".5g", "features": "", "objective": ".6g", "accuracy": ".4f"}, json=json)
    judged, models = None, []
    for fitted in model.path(labeled.X, labeled.y, steps=10 if steps is None else steps, ratio=ratio):
        if dev is not None and judged is None:
            judged = read_data([dev], reading, label_field, fitted)
        accuracy = None if judged is None else fitted.score(judged.X, judged.y)
        features = int((fitted.coef_ != 0).any(axis=0).sum())
        table.row(l1=fitted.l1, features=features, objective=fitted.objective_, accuracy=accuracy)
        models.append(fitted)
    if plot is not None:
        save(draw_path(models), plot)


@app.command()
@with_options
def curve(
    model: ModelFile,
    data: Data,
    utility: Annotated[str, typer.Option(help="Score of an operating point, such as f1, f2 or mcc.")] = "f1",
    positive: _Positive = None,
    points: Annotated[int, typer.Option(min=3, help="Number of operating points to print at most.")] = 20,
    plot: Annotated[
        Path | None, figure_option("Draw precision against recall to this file (.png, .svg or .pdf).")
    ] = None,
    label_field: LabelField = "label",
    *,
    reading: Reading,
    json: JsonLines = False,
) -> None:
    """Print operating points of a model on labeled data: threshold of the margin, recall, precision, score.

    Rows with a margin at or above the threshold are claimed. The best point has a * behind it.

    Example: textmill classify curve alarms.mill dev.csv --utility f2 --plot curve.svg
    """
    from textmill.linear import OperatingCurve, label_margins
    from textmill.plot import lines, save

    loaded = load_classifier(model)
    labeled = read_data(data, reading, label_field, loaded)
    margins, gold, label = label_margins(loaded, labeled.X, labeled.y, positive)
    operating = OperatingCurve(margins, gold, utility, n_points=points)
    columns = {"threshold": ".4f", "recall": ".4f", "precision": ".4f", utility: ".4f", "claimed": "", "best": ""}
    table = Printed(columns, json=json)
    rows = operating.to_dict()
    for i in range(len(rows["threshold"])):
        best = i == operating.best
        values = {name: rows[name][i] for name in ("recall", "precision", "claimed")}
        limit = rows["threshold"][i] if abs(rows["threshold"][i]) < float("inf") else None
        mark: Any = best if json else "*" if best else ""
        table.row(threshold=limit, **values, **{utility: rows["value"][i]}, best=mark)
    if plot is not None:
        whole = OperatingCurve(margins, gold, utility)
        best_point = {f"best {utility}": ([whole.recall[whole.best]], [whole.precision[whole.best]])}
        drawing = lines(
            {f"{label}": (whole.recall[1:], whole.precision[1:])},
            x_label="recall",
            y_label="precision",
            marks=best_point,
        )
        save(drawing, plot)


@app.command()
def decode(
    probabilities: Annotated[
        str,
        typer.Argument(
            metavar="PROBS", help="Probabilities: a number a line, a table or JSON lines with fields; - for stdin."
        ),
    ],
    beta: Annotated[float | None, typer.Option(help="Beta of F; default: 1.")] = None,
    utility: Annotated[str | None, typer.Option(help="Another score to maximize, such as jaccard or cost:5:1.")] = None,
    micro: Annotated[bool, typer.Option("--micro", help="One score for all sets together, not one for each.")] = False,
    at_most: Annotated[int | None, typer.Option(min=0, help="Claim at most this many items of a set.")] = None,
    probability_field: Annotated[str, typer.Option(help="Field that holds the probability.")] = "probability",
    set_field: Annotated[str | None, typer.Option(help="Field that names the set of an item.")] = None,
    positive: Annotated[
        str | None, typer.Option(help="Probabilities are those of the label in the field label: find this one of two.")
    ] = None,
    json: JsonLines = False,
) -> None:
    """Choose the items whose expected F, or another score, is greatest, given the probability of each.

    Sets end at a blank line, or are named by --set-field. The expected score goes to standard error.

    Example: textmill classify decode predictions.jsonl --positive alarm
    """
    from textmill.errors import DataError
    from textmill.sequence import decode_sets, read_probabilities

    if beta is not None and utility is not None:
        raise DataError("--beta is for F, and --utility names another score; pass one of them")
    sets = read_probabilities(
        probabilities, probability_field=probability_field, set_field=set_field, positive=positive
    )
    if not sets:
        raise DataError(
            "there are no probabilities; give one per line, or JSON lines with a field", source=probabilities
        )
    score = utility or f"f{1.0 if beta is None else beta:g}"
    decoded = decode_sets([one.p for one in sets], score, micro=micro, at_most=at_most)
    columns = {"label": "", "probability": ".4f", "id": ""}
    table = Printed(columns if set_field is None else {**columns, "set": ""}, json=json)
    for one, answer in zip(sets, decoded, strict=True):
        own = {} if set_field is None else {"set": one.name}
        for label, chance, name in zip(answer.labels.tolist(), one.chances, one.ids, strict=True):
            table.row(label=label, probability=chance, id=name, **own)
    values = [answer.value for answer in decoded]
    mean = values[0] if micro else sum(values) / len(values)
    error = max(answer.error for answer in decoded)
    claimed = sum(answer.size for answer in decoded)
    items = sum(len(one.ids) for one in sets)
    whose = "of all" if micro or len(sets) == 1 else f"on average over {len(sets)} sets"
    bound = f" (at most {error:.1g} more)" if error else ""
    typer.echo(f"{claimed} of {items} items; expected {score} {mean:.6f}{bound} {whose}", err=True)


def _along_recall(
    model: Any,
    labeled: Any,
    dev: str | None,
    steps: int,
    plot: Path | None,
    label_field: str,
    reading: Reading,
    json: bool,
) -> None:
    """Print, and draw, models along the weight of recall."""
    import numpy as np

    from textmill.errors import DataError
    from textmill.linear import evaluate_classifier, operating_path
    from textmill.model import check_range
    from textmill.plot import lines, save

    check_range("steps", steps, at_least=2, whole=True)
    if plot is not None and dev is None:
        raise DataError("--plot draws precision against recall of development data; pass them with --dev")
    weights = np.linspace(0.1, 0.9, steps).round(6).tolist()
    columns = {"weight": "g", "held_out": ".4f", "recall": ".4f", "precision": ".4f", "claimed": ""}
    table = Printed(columns, json=json)
    judged, points = None, []
    for weight, fitted in operating_path(model, labeled.X, labeled.y, weights):
        if fitted.positive_ is None:
            raise DataError(f"the data have {len(fitted.classes_)} labels; a path along recall needs two")
        if dev is None:
            table.row(weight=weight, held_out=fitted.held_out_, recall=None, precision=None, claimed=None)
            continue
        if judged is None:
            judged = read_data([dev], reading, label_field, fitted)
        counts = evaluate_classifier(fitted, judged.X, judged.y).per_label()[fitted.positive_]
        recall, precision = counts.recall(), counts.precision()
        claimed = counts.hits + counts.false_alarms
        table.row(weight=weight, held_out=fitted.held_out_, recall=recall, precision=precision, claimed=claimed)
        points.append((recall, precision))
    if plot is not None:
        along = [recall for recall, _ in points], [precision for _, precision in points]
        save(lines({f"{fitted.positive_}": along}, x_label="recall", y_label="precision", marks={"model": along}), plot)


def _pop_all(texts: list[str]) -> Iterator[str]:
    """The texts one by one, each of which is given up before the next."""
    texts.reverse()
    while texts:
        yield texts.pop()
