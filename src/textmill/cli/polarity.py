"""Predict the star ratings of reviews: train, score, explain, evaluate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._options import Jobs, Json, JsonLines, Seed, answers
from textmill.cli._outputs import figure_option, further_output, output_option
from textmill.cli._reading import Reading, with_options
from textmill.cli._tables import Printed

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

_Data = Annotated[
    list[str],
    typer.Argument(
        metavar="REVIEWS...",
        help="Reviews with scores: CSV, TSV, JSONL, Parquet or star reviews (.review), - for stdin.",
    ),
]
_Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model made by `textmill polarity train`.")]
_ScoreField = Annotated[
    str | None,
    typer.Option(help="Field that holds the score; default: score, stars, rating, label or target."),
]
_Scale = Annotated[
    str | None,
    typer.Option(help="Scale of the scores, such as 1-5, or their names in rising order, such as bad,fair,good."),
]
_Balanced = Annotated[
    bool, typer.Option("--balanced", help="Take the same number of reviews of each score, at random.")
]


@dataclass(frozen=True)
class Learning:
    """How reviews become vectors and what learns from them."""

    kind: Annotated[
        str,
        typer.Option(
            help="Kind of scorer: ordinal, svr, pairwise, pairwise-mean or least-squares; auto "
            "is ordinal where scores are few and whole, else svr."
        ),
    ] = "auto"
    features: Annotated[
        str,
        typer.Option(help="Families of features, with commas: unigram, bigram, trigram, inbook, aroundbook, negated."),
    ] = "unigram"
    weighting: Annotated[str, typer.Option(help="Weights of features: tf-idf, tf or binary.")] = "tf-idf"
    normalize: Annotated[
        str, typer.Option(help="What gets length 1 first: the union of all families, or each family apart.")
    ] = "union"
    min_df: Annotated[int, typer.Option(min=1, help="Leave out features that occur in fewer reviews.")] = 1
    targets: Annotated[str, typer.Option(help="Words that inbook and aroundbook look for, with commas.")] = "book"
    window: Annotated[int, typer.Option(min=1, help="Distance of aroundbook from a target word.")] = 2
    stem: Annotated[str, typer.Option(help="Stemmer: porter, a language of Snowball such as german, or none.")] = (
        "porter"
    )
    keep_marks: Annotated[str, typer.Option(help="Marks of punctuation that count as words; '' for none.")] = "!"
    kernel: Annotated[
        str | None, typer.Option(help="Kernel of svr and pairwise: linear, polynomial or rbf; default: polynomial.")
    ] = None
    degree: Annotated[int, typer.Option(min=1, help="Degree of the polynomial kernel.")] = 2
    cost: Annotated[float, typer.Option(help="Price of an error, of svr and pairwise.")] = 100.0
    tube: Annotated[float, typer.Option(help="Error up to which svr does not care.")] = 0.1
    l2: Annotated[float | None, typer.Option(help="Penalty of ordinal; default: by cross-validation.")] = None

    def scorer(
        self, scale: Any, seed: int, jobs: int | None, *, balanced: bool = False, coverage: float | None = None
    ) -> Any:
        """The scorer that is asked for, not trained."""
        from textmill.tasks import PolarityScorer, ReviewFeatures

        features = ReviewFeatures(
            families=_listed(self.features),
            targets=_listed(self.targets),
            window=self.window,
            stem=None if self.stem == "none" else self.stem,
            keep=self.keep_marks,
        )
        return PolarityScorer(
            kind=self.kind,
            features=features,
            weighting=self.weighting,
            normalize=self.normalize,
            min_df=self.min_df,
            kernel=self.kernel,
            degree=self.degree,
            cost=self.cost,
            tube=self.tube,
            l2=self.l2,
            scale=(scale.low, scale.high),
            score_names=scale.names,
            coverage=coverage,
            balanced=balanced,
            random_state=seed,
            n_jobs=jobs,
        )


@app.command()
@with_options
def train(
    data: _Data,
    output: Annotated[Path, output_option("The model file to write.")],
    score_field: _ScoreField = None,
    scale: _Scale = None,
    balanced: _Balanced = False,
    coverage: Annotated[
        float | None,
        typer.Option(help="Give every score an interval that holds this share of right scores, such as 0.9."),
    ] = None,
    *,
    learning: Learning,
    reading: Reading,
    seed: Seed = 0,
    jobs: Jobs = None,
) -> None:
    """Train a scorer on reviews with scores; the model file holds everything needed to score further text.

    Example: textmill polarity train reviews.csv --score-field stars -o reviews.mill
    """
    from textmill.readable import counted

    reviews = _read(data, reading, score_field, scale)
    model = learning.scorer(reviews.scale, seed, jobs, balanced=balanced, coverage=coverage)
    model.fit(reviews.texts, reviews.scores)
    model.save(output)
    features = counted(len(model.vectorizer_.terms_), "features")
    width = "" if coverage is None else f"; {100 * coverage:g} % within {model.half_width_:.2f} of their score"
    typer.echo(f"{counted(model.reviews_, 'reviews')} on a scale from {model.scale_}, {features}; {model.kind_}{width}")


@app.command()
@with_options
def score(
    model: _Model,
    data: Annotated[
        list[str],
        typer.Argument(metavar="INPUT...", help="Files or folders of reviews, - for one on each line of stdin."),
    ],
    *,
    reading: Reading,
    json: JsonLines = False,
) -> None:
    """Print score, whole stars, number of known features and id of each review; ordinal adds its probabilities.

    A model trained with --coverage also prints the ends of the interval, low and high.

    Example: textmill polarity score reviews.mill new.jsonl
    """
    from itertools import islice

    loaded = _load(model)
    documents = iter(reading.documents(data))
    steps = [f"{score:g}" for score in loaded.scale_.scores()] if loaded.kind_ == "ordinal" else []
    table = None
    while chunk := list(islice(documents, 20_000)):
        scores = loaded.scored([document.text for document in chunk])
        columns = scores.columns()
        table = table or Printed(
            {
                "score": ".3f",
                **({} if scores.intervals is None else {"low": ".3f", "high": ".3f"}),
                "stars": "g",
                "features": "",
                **dict.fromkeys((f"p({s})" for s in steps), ".3f"),
                "id": "",
            },
            json=json,
        )
        for row, document in enumerate(chunk):
            odds = {} if scores.probabilities is None else dict(zip(steps, scores.probabilities[row], strict=True))
            table.row(
                score=float(columns["score"][row]),
                **{end: float(columns[end][row]) for end in ("low", "high") if end in columns},
                stars=float(columns["stars"][row]),
                features=int(columns["features"][row]),
                **{f"p({step})": float(p) for step, p in odds.items()},
                id=document.id,
            )


@app.command()
@with_options
def explain(
    model: _Model,
    data: Annotated[
        list[str] | None,
        typer.Argument(metavar="[INPUT...]", help="Reviews to explain; without any the model is explained."),
    ] = None,
    k: Annotated[int, answers("Number of phrases to show, of a model at each end.")] = 10,
    family: Annotated[str | None, typer.Option(help="Only features of this family, such as bigram.")] = None,
    at_least: Annotated[int, typer.Option(min=1, help="Only features of at least this many training reviews.")] = 1,
    errors_from: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="The training reviews: standard errors by drawing them anew 50 times."),
    ] = None,
    score_field: _ScoreField = None,
    *,
    reading: Reading,
    seed: Seed = 0,
    json: JsonLines = False,
) -> None:
    """Print the phrases that move the score most: of a model, best and worst; of reviews, those they have.

    Columns for a model: phrase, family, shift of the score by a review of this phrase alone, that score, and number of
    training reviews with it. With --errors-from also the standard error of the shift; below twice that a phrase is
    noise. For reviews: id, score, phrase, family, and its part in the score.

    Example: textmill polarity explain reviews.mill -k 15 --family bigram --at-least 3
    """
    from textmill.tasks.polarity import explain_review, feature_polarities

    loaded = _load(model)
    if not data:
        training = {}
        if errors_from:
            reviews = _read(errors_from, reading, score_field, loaded.scale_)
            training = {"texts": reviews.texts, "scores": reviews.scores, "random_state": seed}
        rows = feature_polarities(loaded, k=k, family=family, min_df=at_least, **training)
        errors = {"error": ".3f"} if errors_from else {}
        columns = {"phrase": "", "family": "", "polarity": "+.3f", **errors, "score": ".3f", "reviews": ""}
        table = Printed(columns, json=json)
        for row in rows:
            own = {"error": row.error} if errors_from else {}
            table.row(
                phrase=row.feature, family=row.family, polarity=row.polarity, score=row.score, reviews=row.df, **own
            )
        return
    table = Printed({"id": "", "score": ".3f", "phrase": "", "family": "", "part": "+.3f"}, json=json)
    for document in reading.documents(data):
        raw = float(loaded.predict([document.text])[0])
        for part in explain_review(loaded, document.text, k=k):
            if family is None or part.family == family:
                table.row(id=document.id, score=raw, phrase=part.feature, family=part.family, part=part.part)


@app.command()
@with_options
def evaluate(
    model: _Model,
    data: _Data,
    score_field: _ScoreField = None,
    balanced: _Balanced = False,
    plot: Annotated[Path | None, figure_option("Draw where predictions lie to this file (.png, .svg or .pdf).")] = None,
    report: Annotated[Path | None, further_output("Write a page with tables and pictures to this file.")] = None,
    *,
    reading: Reading,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Print squared and absolute errors, accuracy, agreement and correlations of a model on reviews with scores.

    Columns: the model, and the neutral score for every review (constant). A table of gold and assigned scores follows.

    Example: textmill polarity evaluate reviews.mill test.csv --plot density.svg
    """
    from textmill.cli._json import json_line
    from textmill.plot import save
    from textmill.tasks.polarity import balance, draw_density, evaluation_report, named_evaluations

    loaded = _load(model)
    reviews = _read(data, reading, score_field, loaded.scale_)
    if balanced:
        reviews = reviews.take(balance(reviews.scores, random_state=seed))
    scores = loaded.scored(reviews.texts)
    figures = named_evaluations(reviews.scores, scores)
    if plot is not None:
        save(draw_density(reviews.scores, scores.raw, loaded.scale_), plot)
    if report is not None:
        evaluation_report(figures, reviews.scores, scores).write(report)
    if json:
        typer.echo(json_line({name: one.figures() | {"confusion": one.table()} for name, one in figures.items()}))
        return
    table = Printed({"figure": "", **dict.fromkeys(figures, ".4f")})
    for name in figures["model"].figures():
        table.row(figure=name, **{column: _float(one.figures()[name]) for column, one in figures.items()})
    for line in figures["model"].table_lines():
        typer.echo(line)


def _load(path: Path) -> Any:
    from textmill.model import load
    from textmill.tasks import PolarityScorer

    return load(path, expect=PolarityScorer)


def _read(data: list[str], reading: Reading, score_field: str | None, scale: Any) -> Any:
    """Reviews with scores."""
    from textmill.tasks.polarity import read_reviews

    return read_reviews(
        data,
        score_field=score_field,
        scale=scale,
        errors=reading.errors,
        format=reading.format,
        encoding=reading.encoding,
        text_field=reading.text_field,
        id_field=reading.id_field,
        delimiter={"tab": "\t", "\\t": "\t"}.get(reading.delimiter, reading.delimiter),
        unit="line" if reading.lines else None,
    )


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _float(value: Any) -> float | None:
    return None if value is None else float(value)
