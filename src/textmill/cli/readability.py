"""Measure reading levels: formulas, features, graders trained on graded texts, explanations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._options import Jobs, JsonLines, Seed, answers
from textmill.cli._outputs import figure_option, output_option
from textmill.cli._readability_options import (
    Annotating,
    Folding,
    Learning,
    Levels,
    Orders,
    Smoothing,
    annotated,
    graded,
    prepared_texts,
    resources_of,
)
from textmill.cli._reading import Reading, at_least_one, with_options
from textmill.cli._tables import Printed

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

_Texts = Annotated[
    list[str],
    typer.Argument(metavar="INPUT...", help="Files or folders of texts, - for one on each line of stdin."),
]
_Graded = Annotated[
    list[str],
    typer.Argument(metavar="TEXTS...", help="Texts with levels: CSV, TSV, JSONL or Parquet, - for stdin."),
]
_Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model made by `textmill readability train`.")]


@app.command()
@with_options
def score(
    data: _Texts,
    formulas: Annotated[
        str, typer.Option(help="Formulas to print, with commas; all for all eleven.")
    ] = "flesch_kincaid,reading_ease,fog,smog,dale_chall",
    syllables: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Rules of syllables; default: English.")
    ] = None,
    familiar: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Familiar words, one on each line; default: English.")
    ] = None,
    abbreviations: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Abbreviations that end no sentence, one on each line; default: English."),
    ] = None,
    *,
    reading: Reading,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Print classic formulas of each text, its words and sentences: school grades, but reading ease, LIX and RIX.

    Formulas: flesch_kincaid, reading_ease, fog, smog, dale_chall, coleman_liau, ari, spache, linsear_write, lix, rix.

    Example: textmill readability score letter.txt --formulas all
    """
    from itertools import islice

    from textmill.model import check_choice
    from textmill.tasks.readability import FORMULAS, count_texts

    names = list(FORMULAS) if formulas == "all" else _listed(formulas)
    for name in names:
        check_choice("--formulas", name, FORMULAS)
    resources = resources_of(syllables, familiar, abbreviations)
    table = Printed({"words": "", "sentences": "", **dict.fromkeys(names, ".2f"), "id": ""}, json=json)
    documents = at_least_one(reading.documents(data), "texts", data)
    while chunk := list(islice(documents, 20_000)):
        counts = count_texts([document.text for document in chunk], resources=resources, n_jobs=jobs)
        scores = counts.formulas()
        for row, document in enumerate(chunk):
            values = {name: _number(scores[name][row]) for name in names}
            table.row(words=int(counts.words[row]), sentences=int(counts.sentences[row]), **values, id=document.id)


@app.command()
@with_options
def extract(
    data: _Texts,
    features: Annotated[
        str, typer.Option(help="Groups or names of features, with commas; all for all that there are.")
    ] = "all",
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A grader, whose n-gram models add perplexities and unknown words."),
    ] = None,
    with_levels: Annotated[
        bool,
        typer.Option(
            "--graded", help="Texts have levels, as for train: adds perplexities by models without the own article."
        ),
    ] = False,
    orders: Orders = 5,
    smoothing: Smoothing = "witten-bell",
    *,
    levels: Levels,
    annotating: Annotating,
    reading: Reading,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Print the features of each text; a feature whose annotations are missing is printed as missing, never as 0.

    Perplexities, relative ones and unknown words (lm, relative, oov) need texts of each level: those that a grader was
    trained on (--model), or the texts themselves (--graded), each by models that have not read its article.

    Example: textmill readability extract letter.txt --features shallow,formulas
    """
    from textmill.tasks.readability import chosen_features

    if model is not None and (with_levels or annotating != Annotating(annotations=annotating.annotations)):
        raise typer.BadParameter("a --model has its own levels, tagger and resources; leave out --graded and the like")
    names: list[str] | None = None
    if with_levels:
        texts = graded(data, reading, levels)
        ids, names = texts.ids, texts.levels
        grader = Learning("all", orders=orders, smoothing=smoothing).grader(annotating, texts.order, 0, jobs)
        prepared = grader.prepare(annotated(texts.texts, ids, annotating), names, texts.groups, ids=ids)
        whole = grader.training_table(prepared)[0]
    else:
        documents = list(at_least_one(reading.documents(data), "texts", data))
        ids = [document.id for document in documents]
        own = annotated([document.text for document in documents], ids, annotating)
        whole = _static(own, ids, annotating, jobs) if model is None else _load(model, jobs).extract(own, ids=ids)
    wanted = _listed(features)
    learned = [name for name in wanted if name.partition(".")[0] in ("lm", "relative", "oov")]
    if learned and not any(name.startswith(("lm.", "oov.")) for name in whole.names):
        raise typer.BadParameter(
            f"{learned[0]} needs n-gram models of levels; pass a --model that has them, or --graded"
        )
    chosen = whole.choose(chosen_features(whole.names, wanted))
    level = {} if names is None else {"level": ""}
    table = Printed({"id": "", **level, **dict.fromkeys(chosen.names, ".5g")}, json=json)
    for row, values in enumerate(chosen.values):
        level = {} if names is None else {"level": names[row]}
        own_values = {name: _number(value) for name, value in zip(chosen.names, values, strict=True)}
        table.row(id=ids[row], **level, **own_values)


@app.command()
@with_options
def train(
    data: _Graded,
    output: Annotated[Path, output_option("The model file to write.")],
    *,
    levels: Levels,
    learning: Learning,
    annotating: Annotating,
    reading: Reading,
    seed: Seed = 0,
    jobs: Jobs = None,
) -> None:
    """Train a grader on texts with levels; the model file holds everything needed to grade further texts.

    Versions of one article must share a group (--group-field), or the grader learns to know articles.

    Example: textmill readability train texts.jsonl --features shallow,lm.words -o grader.mill
    """
    from textmill.readable import counted

    texts = graded(data, reading, levels)
    model = learning.grader(annotating, texts.order, seed, jobs)
    model.fit(annotated(texts.texts, texts.ids, annotating), texts.levels, texts.groups)
    model.save(output)
    names = ", ".join(model.classes_.tolist())
    typer.echo(f"{counted(len(texts), 'texts')}, levels {names}; {counted(len(model.feature_names_), 'features')}")


@app.command()
@with_options
def predict(
    model: _Model,
    data: _Texts,
    annotations: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Annotations of each text, by its id, as in training.")
    ] = None,
    *,
    reading: Reading,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Print level, expected number of the level (0 for the easiest), probability of each level and id of each text.

    Example: textmill readability predict grader.mill letter.txt
    """
    loaded = _load(model, jobs)
    documents = list(at_least_one(reading.documents(data), "texts", data))
    texts = [document.text for document in documents]
    ids = [document.id for document in documents]
    result = loaded.grade(annotated(texts, ids, Annotating(annotations=annotations)), ids=ids)
    odds = [f"p({name})" for name in result.order]
    table = Printed({"level": "", "expected": ".3f", **dict.fromkeys(odds, ".3f"), "id": ""}, json=json)
    for row, name in enumerate(ids):
        p = {key: float(value) for key, value in zip(odds, result.probabilities[row], strict=True)}
        table.row(level=str(result.levels[row]), expected=float(result.expected[row]), **p, id=name)
    if not json:
        typer.echo(
            f"# level is the one chosen; expected is the mean of the numbers of the levels, {result.order[0]} being 0, "
            "by their probabilities, so the two can differ"
        )


@app.command()
@with_options
def evaluate(
    data: _Graded,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Score this model on the texts, in place of training in folds.")
    ] = None,
    plot: Annotated[Path | None, figure_option("Draw how levels are answered to this file (.png, .svg, .pdf).")] = None,
    *,
    folding: Folding,
    levels: Levels,
    learning: Learning,
    annotating: Annotating,
    reading: Reading,
    seed: Seed = 0,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Print accuracy, squared error, agreement and F of each level, of a grader trained in folds over articles.

    Example: textmill readability evaluate texts.jsonl --features shallow --folds 5
    """
    import numpy as np

    from textmill.errors import DataError
    from textmill.plot import save
    from textmill.tasks.readability import CrossValidated, FeatureSet, cross_validate, draw_levels

    if model is not None:
        texts = graded(data, reading, levels)
        loaded = _load(model, jobs)
        order = loaded.classes_.tolist()
        grades = loaded.grade(annotated(texts.texts, texts.ids, annotating), ids=texts.ids)
        if strange := sorted(set(texts.levels) - set(order)):
            raise DataError(
                f"level {strange[0]!r} is not one of those of the model: {', '.join(order)}", source=data[0]
            )
        gold = np.array([order.index(level) for level in texts.levels])
        answers = {"grader": np.array([[order.index(level) for level in grades.levels]])}
        expected = {"grader": grades.expected[None, :]}
        result = CrossValidated(order, gold, answers, expected, {"grader": len(loaded.feature_names_)})
    else:
        grader, prepared = prepared_texts(data, reading, levels, learning, annotating, seed, jobs)
        one = FeatureSet(grader.features, grader.learner(), grader.length)
        models = {"models": grader.new_models(), "external": grader.external}
        result = cross_validate(prepared, {"grader": one}, **models, **folding.settings(seed))
    if plot is not None:
        save(draw_levels(result, "grader"), plot)
    table = Printed({"figure": "", "value": ".4f"}, json=json)
    for name, value in result.rows()[0]._asdict().items():
        if name not in ("name", "p_value"):
            table.row(figure=name, value=float(value))
    for name, f in zip(result.order, result.confusion("grader").per_label().columns()["f1"], strict=True):
        table.row(figure=f"f({name})", value=float(f))


@app.command()
@with_options
def explain(
    model: _Model,
    data: _Texts,
    k: Annotated[int, answers("Number of sentences to show.")] = 3,
    annotations: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Annotations of each text, by its id, as in training.")
    ] = None,
    *,
    reading: Reading,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Print what each group of features adds to the level of each text, and the sentences that make it hard.

    Columns: id, what (group or sentence), part in the expected level, and the feature that adds most, or the sentence.
    A text of one sentence has no rows of sentences.

    Example: textmill readability explain grader.mill letter.txt -k 5
    """
    from textmill.tasks.readability import explain_groups, hardest_sentences

    loaded = _load(model, jobs)
    table = Printed({"id": "", "what": "", "part": "+.3f", "detail": ""}, json=json)
    for document in at_least_one(reading.documents(data), "texts", data):
        (text,) = annotated([document.text], [document.id], Annotating(annotations=annotations))
        (text,) = loaded.annotate([text], ids=[document.id])
        for row in explain_groups(loaded, text):
            detail = f"{row.feature} {row.value:.4g}, mean {row.mean:.4g}"
            table.row(id=document.id, what=row.group, part=row.share, detail=detail)
        for hard in hardest_sentences(loaded, text, k=k) if len(text.sentences) > 1 else ():
            table.row(id=document.id, what=f"sentence {hard.sentence}", part=hard.difficulty, detail=hard.text)


def _load(path: Path, jobs: int | None) -> Any:
    from textmill.model import load
    from textmill.tasks import ReadabilityGrader

    return load(path, expect=ReadabilityGrader).with_jobs(jobs)


def _static(texts: list[Any], ids: list[str], annotating: Annotating, jobs: int | None) -> Any:
    """Features that need no learning."""
    from textmill.tasks.readability import Annotator, Layers, WordNet, reduce_text, static_features

    tools = annotating.tools(jobs)
    plain = [reduce_text(text) if annotating.reduce and isinstance(text, str) else text for text in texts]
    annotator = Annotator(tagger=tools["tagger"], parser=tools["parser"], resources=tools["resources"])
    layers = Layers(annotator.annotate(plain, ids=ids), tools["resources"], jobs)
    wordnet = None if tools["wordnet"] is None else WordNet(tools["wordnet"])
    return static_features(layers, wordnet=wordnet, salience=annotating.salience)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _number(value: Any) -> float | None:
    return None if value != value else float(value)
