"""Further verbs of `textmill classify`, of naive Bayes: accuracy by the number of words, words of each class."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from textmill.cli._classify_data import Data, LabelField, MinDf, ModelFile, make_vectorizer, read_data
from textmill.cli._options import Jobs, JsonLines, Seed, answers
from textmill.cli._outputs import figure_option
from textmill.cli._reading import Reading, Terms, with_options
from textmill.cli._tables import Printed

app = typer.Typer(add_completion=False)


@app.command()
@with_options
def vocabulary(
    data: Data,
    dev: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Labeled data to measure on; default: a fifth of DATA, drawn at random."),
    ] = None,
    sizes: Annotated[str, typer.Option(help="Numbers of words, with commas.")] = "20,50,100,200,500,1000,2000,5000",
    events: Annotated[
        str, typer.Option(help="Models of counts, with commas; the others are tested against the first.")
    ] = "binom,zibinom,bernoulli,multinomial",
    plot: Annotated[Path | None, figure_option("Draw accuracy against the number of words to this file.")] = None,
    label_field: LabelField = "label",
    min_df: MinDf = 1,
    *,
    terms: Terms,
    reading: Reading,
    seed: Seed = 0,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Print how good naive Bayes is with the most informative words, by their number and by the model of counts.

    The p-value is that of McNemar's test against the first model, on the same texts.

    Example: textmill classify vocabulary news.jsonl --label-field group --sizes 100,1000 --plot words.svg
    """
    from textmill.errors import DataError
    from textmill.linear import split_labeled, vocabulary_curve
    from textmill.plot import save

    listed = [size.strip() for size in sizes.split(",")]
    if not all(size.isdecimal() for size in listed):
        raise DataError(f"--sizes must be whole numbers such as 20,100,1000, got {sizes!r}")
    labeled = read_data(data, reading, label_field, kind="bayes")
    if dev is None:
        labeled, judged = split_labeled(labeled, random_state=seed)
    else:
        judged = read_data([dev], reading, label_field, kind="bayes", columns=labeled.names)
    vectorizer = make_vectorizer(labeled, terms, reading, "nnn", min_df, jobs)
    names = [name.strip() for name in events.split(",")]
    curve = vocabulary_curve(
        labeled.X, labeled.y, judged.X, judged.y, sizes=[int(size) for size in listed], events=names,
        vectorizer=vectorizer, n_jobs=jobs,
    )  # fmt: skip
    table = Printed({"words": "", "event": "", "accuracy": ".4f", "p_value": ".4g"}, json=json)
    for i, size in enumerate(curve.sizes):
        for j, name in enumerate(curve.events):
            p = None if j == 0 else curve.paired(names[0], name, size).mcnemar().p_value
            table.row(words=size, event=name, accuracy=float(curve.accuracy[i, j]), p_value=p)
    if plot is not None:
        save(curve.draw(), plot)


@app.command()
def words(
    model: ModelFile,
    label: Annotated[str | None, typer.Option(help="Class to look at; default: all of them.")] = None,
    k: Annotated[int, answers("Number of words of each class.")] = 10,
    json: JsonLines = False,
) -> None:
    """Print what naive Bayes knows of its most informative words in each class: occurrences, p, z, mutual information.

    z is how often a text of the class does not touch on the word at all.

    Example: textmill classify words news.mill --label sci.space -k 20
    """
    from textmill.linear import NaiveBayes
    from textmill.model import load

    loaded = load(model, expect=NaiveBayes)
    classes = {str(one): one for one in loaded.classes_.tolist()}
    chosen = list(classes.values()) if label is None else [classes.get(label, label)]
    table = None
    for one in chosen:
        columns = loaded.topicality(one, k).columns()
        forms = {"feature": "", "documents": "g", "occurrences": "g"}
        table = table or Printed({"label": "", **{name: forms.get(name, ".4g") for name in columns}}, json=json)
        for row in zip(*columns.values(), strict=True):
            table.row(label=one, **dict(zip(columns, row, strict=True)))
