"""Further verbs of `textmill tag`: explanations, settings by trying, comparison of two taggers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._json import json_line
from textmill.cli._options import ColumnEncoding, DocumentMark, Jobs, Json, JsonLines, Seed
from textmill.cli._outputs import figure_option, further_output, output_option
from textmill.cli._reading import with_options
from textmill.cli._tables import Printed
from textmill.cli._tag_kinds import KINDS, ModelOptions, check_kind_options, states_of
from textmill.cli._tag_labeling import read_tokens
from textmill.cli._tag_options import Tests, Training

app = typer.Typer(add_completion=False)

_Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Tagger: a .mill file, a model of Wapiti or CRFsuite, or a dump.")
]


@app.command()
def explain(
    model: _Model,
    source: Annotated[str, typer.Argument(metavar="[FILE]", help="Columns; - for stdin (default).")] = "-",
    k: Annotated[int, typer.Option("-k", help="Number of tests per token.")] = 5,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Print why each token gets its label: the tests that speak for it and against the next best label.

    A tagger of segments has one line per segment, held against the best segmentation without it.

    Example: textmill tag explain chunks.mill news.txt -k 3
    """
    from textmill.sequence import explain_labels, read_segment_tagger, read_tagger, split_sentence

    by_segments = read_segment_tagger(model)
    if by_segments is not None:
        by_segments.set_params(n_jobs=jobs)
        _explain_segments(by_segments, read_tokens(by_segments, source), k, json)
        return
    tagger: Any = read_tagger(model)
    tagger.set_params(n_jobs=jobs)
    sentences = list(read_tokens(tagger, source))
    answers = explain_labels(tagger, [split_sentence(tagger, sentence, False)[0] for sentence in sentences], k=k)
    columns = {"token": "", "label": "", "probability": ".4f", "other": "", "lead": ".3f", "tests": ""}
    table = Printed(columns, json=json)
    for sentence, row in zip(sentences, answers, strict=True):
        for token, why in zip(sentence.column(0), row, strict=True):
            if json:
                table.row(token=token, **why._asdict())
            else:
                tests = ", ".join(f"{test} {value:+.2f}" for test, value in why.tests)
                facts = {"label": why.label, "probability": why.probability, "other": why.other, "lead": why.lead}
                table.row(token=token, **facts, tests=tests)


def _explain_segments(tagger: Any, sentences: Any, k: int, json: bool) -> None:
    """One line per segment: the tests that speak for it and against what would stand in its place."""
    from textmill.progress import track
    from textmill.sequence import explain_segments, seen_columns

    columns = {"sequence": "", "segment": "", "label": "", "probability": ".4f", "other": "", "lead": ".3f"}
    table = Printed({**columns, "tests": ""}, json=json)
    for number, sentence in enumerate(track(sentences, "explaining", unit="sequences"), 1):
        words = sentence.column(0)
        for why in explain_segments(tagger, [seen_columns(sentence, tagger.width_)], k=k)[0]:
            facts = {"sequence": number, "segment": " ".join(words[why.begin : why.end]), **why._asdict()}
            if json:
                table.row(**facts)
                continue
            facts["other"] = ", ".join(f"{' '.join(words[b:e])} ({label})" for b, e, label in why.other) or "O"
            facts["tests"] = ", ".join(f"{test} {value:+.2f}" for test, value in why.tests)
            table.row(**{name: facts[name] for name in (*columns, "tests")})


@app.command()
@with_options
def tune(
    source: Annotated[str, typer.Argument(metavar="TRAIN", help="Labeled sequences.")],
    tests: Tests,
    training: Training,
    own: ModelOptions,
    dev: Annotated[Path | None, typer.Option(help="Labeled sequences to score on; default: a tenth of TRAIN.")] = None,
    grid: Annotated[
        list[str],
        typer.Option(
            "--grid", metavar="NAME=VALUES", help="Values to try, such as l2=0.1,1,10 or states=2,4; may be repeated."
        ),
    ] = [],  # noqa: B006
    csv: Annotated[Path | None, further_output("Write all combinations to this CSV file.")] = None,
    plot: Annotated[Path | None, figure_option("Draw the scores to this file (.png, .svg or .pdf).")] = None,
    output: Annotated[Path | None, output_option("Write the best tagger to this file.")] = None,
    refit: Annotated[
        bool, typer.Option("--refit", help="Train the best tagger on with the development sequences, too.")
    ] = False,
    jobs: Jobs = None,
    seed: Seed = 0,
    json: JsonLines = False,
) -> None:
    """Try combinations of settings, score each on development sequences, and say which is best.

    The score is F1 of chunks, or token accuracy where labels are no chunks.

    Example: textmill tag tune train.txt --kind latent --grid states=1,2,4 --grid l2=0.3,1,3 --csv cells.csv
    """
    from io import StringIO

    from textmill.corpus import writer
    from textmill.plot import save
    from textmill.sequence import best_cell, draw_tuning, hold_out, refit_tagger, tune_taggers, write_tuning

    if refit and output is None:
        raise typer.BadParameter("--refit trains the tagger that is written; give --output, too")
    values = _grid(grid or ["l2=0.1,0.3,1,3,10"])
    check_kind_options(training.kind, values)
    data = tests.read_training(source)
    if dev is None:
        data, apart = hold_out(data, 0.1, random_state=seed)
    else:
        apart = tests.read(dev)
    algorithm = training.algorithm or ("owlqn" if "l1" in values or training.l1 else KINDS[training.kind].algorithm)
    if training.algorithm is None and "l2" in values and "l1" not in values and training.l1 is None:
        algorithm = "lbfgs"  # the penalty to be tuned is the one that counts

    def make(**settings: Any) -> Any:
        tagger = own.tagger(tests, training, n_jobs=jobs, random_state=seed)
        return tagger.set_params(**{"algorithm": algorithm, **settings})

    table = Printed(
        {**dict.fromkeys(values, ""), "score": ".4f", "token accuracy": ".4f", "objective": ".6g", "seconds": ".1f"},
        json=json,
    )
    cells = []
    for cell in tune_taggers(make, values, data.X, data.y, apart.X, apart.y):
        cells.append(cell)
        figures = {"score": cell.figure, "token accuracy": cell.token_accuracy, "objective": cell.objective}
        table.row(**cell.settings, **figures, seconds=cell.seconds)
    best = best_cell(cells)
    if csv is not None:
        text = StringIO()
        write_tuning(cells, text)
        with writer(str(csv)) as out:
            out.write(text.getvalue())
    if plot is not None:
        save(draw_tuning(cells), plot)
    if output is not None:
        tagger = refit_tagger(best.tagger, [*data.X, *apart.X], [*data.y, *apart.y]) if refit else best.tagger
        tagger.save(output)
    if not json:
        chosen = ", ".join(f"{name} {value}" for name, value in best.settings.items())
        typer.echo(f"best: {chosen}, score {best.figure:.4f}")


@app.command()
def compare(
    first: Annotated[
        str,
        typer.Argument(metavar="A", help="Columns, of which the last two are gold and predicted labels; - for stdin."),
    ],
    second: Annotated[str, typer.Argument(metavar="B", help="The same sequences with the labels of another tagger.")],
    resamples: Annotated[int, typer.Option(help="Number of bootstrap samples.")] = 1000,
    document: DocumentMark = "-DOCSTART-",
    encoding: ColumnEncoding = "utf-8",
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Compare two taggers on the same sequences: McNemar's test by token, paired bootstrap by sequence.

    Example: textmill tag compare latent.tagged crf.tagged
    """
    from textmill.corpus import read_tagged
    from textmill.sequence import check_predicted, compare_columns

    sentences = [
        list(read_tagged(source, labels=True, document=document, encoding=encoding)) for source in (first, second)
    ]
    for some, source in zip(sentences, (first, second), strict=True):
        check_predicted(some, source)
    comparison = compare_columns(*sentences, resamples=resamples, random_state=seed)
    typer.echo(json_line(comparison.to_json()) if json else comparison.report())


def _grid(texts: list[str]) -> dict[str, list[Any]]:
    """Names of settings and the values to try."""
    from textmill.errors import DataError

    values: dict[str, list[Any]] = {}
    for text in texts:
        name, mark, listed = text.partition("=")
        name = name.strip().replace("-", "_")
        if not mark or name not in _READ:
            raise DataError(f"--grid '{text}' is not NAME=VALUES with a name of {', '.join(_READ)}")
        try:
            values[name] = [_READ[name](value.strip()) for value in listed.split(";" if "=" in listed else ",")]
        except ValueError:
            raise DataError(f"--grid '{text}': the values of {name} must be numbers, parted by commas") from None
    return values


_READ: dict[str, Any] = {
    "l1": float,
    "l2": float,
    "states": states_of,
    "order": int,
    "noise": float,
    "restarts": int,
    "max_iter": int,
    "start": str,
    "algorithm": str,
    "features": str,
    "max_length": int,
    "filter_recall": float,
    "history": str,
}
