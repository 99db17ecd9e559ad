"""Detect generated, shuffled or stitched-together documents: train a detector, score, forge, evaluate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._json import json_line
from textmill.cli._options import Jobs, Json, Seed, answers
from textmill.cli._outputs import figure_option, output_option
from textmill.cli._reading import Reading, with_options
from textmill.cli._tables import Printed

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

_Detector = Annotated[Path, typer.Argument(metavar="DETECTOR", help="Detector made by `textmill coherence train`.")]


@app.command()
@with_options
def train(
    sources: Annotated[list[str], typer.Argument(metavar="GOOD...", help="Files or folders of good documents.")],
    output: Annotated[Path, output_option("The detector to write.")],
    topics: Annotated[int, typer.Option(help="Number of topics.")] = 50,
    max_iter: Annotated[int, typer.Option(help="Number of sweeps of the Gibbs sampler.")] = 300,
    model: Annotated[
        Path | None,
        typer.Option(
            help="Use the topics of this model, which must have a vectorizer; then all documents serve to calibrate."
        ),
    ] = None,
    false_alarms: Annotated[float, typer.Option(help="Share of good documents that may be called incoherent.")] = 0.05,
    held_out: Annotated[float, typer.Option(help="Share of the documents that serve only to calibrate.")] = 0.2,
    *,
    reading: Reading,
    seed: Seed = 0,
    jobs: Jobs = None,
) -> None:
    """Learn topics from good documents and calibrate the decision on forgeries of held-out ones.

    Example: textmill coherence train good/ -o detector.mill
    """
    from textmill.model import load
    from textmill.readable import counted
    from textmill.tasks import CoherenceDetector

    detector = CoherenceDetector(
        n_topics=topics, max_iter=max_iter, held_out=held_out, false_alarms=false_alarms, random_state=seed, n_jobs=jobs
    )
    documents = reading.documents(sources)
    detector.fit(documents, topics=None if model is None else load(model))
    detector.save(output)
    rates = ", ".join(f"{kind} {100 * rate:.1f} %" for kind, rate in detector.equal_errors_.items())
    sizes = f"{counted(len(detector.vocabulary_), 'terms')}, {counted(len(detector.components_), 'topics')}"
    typer.echo(f"{sizes}; equal error, held out: {rates}")


@app.command()
@with_options
def score(
    detector: _Detector,
    sources: Annotated[list[str], typer.Argument(metavar="INPUT...", help="Files or folders, - for stdin.")],
    explain: Annotated[bool, typer.Option(help="List the sentences that do not fit.")] = False,
    *,
    reading: Reading,
    json: Json = False,
) -> None:
    """Print verdict, probability of being forged, score, threshold, entropy and id of each document.

    Example: textmill coherence score detector.mill pages.jsonl --json
    """
    from textmill.model import load
    from textmill.tasks import CoherenceDetector

    judge = load(detector, expect=CoherenceDetector)
    documents = reading.documents(sources)
    forms = dict.fromkeys(("probability", "score", "threshold", "entropy"), ".3f")
    table = None if json else Printed({"verdict": "", **forms, "id": ""})
    if not explain:
        for judged in judge.scores(documents):
            _show(judged, [], table)
        return
    for document in documents:
        explained = judge.explain(document)
        _show(explained.score, [one for one in explained.sentences if one.offending], table)


@app.command()
@with_options
def fake(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="INPUT...", help="Files or folders of true documents to forge from; - for stdin."),
    ],
    output: Annotated[str, output_option("File for the documents, JSON lines with id and text; - for stdout.")] = "-",
    kind: Annotated[
        str,
        typer.Option(
            help="Kind: sentence-salad, word-salad, markov, word-noise, word-stuffing or chunk-blend; the beginning of "
            "a name will do."
        ),
    ] = "sentence-salad",
    k: Annotated[int | None, answers("Number of false documents; default: as many as there are documents.")] = None,
    length: Annotated[
        int | None, typer.Option(help="Number of content words in each; default: the lengths of the documents.")
    ] = None,
    order: Annotated[int, typer.Option(help="Order of the Markov model.")] = 3,
    level: Annotated[float, typer.Option(help="Share of words to replace, for word-noise and word-stuffing.")] = 0.5,
    words: Annotated[
        str | None, typer.Option(help="Words to stuff with, separated by commas; default: rare words.")
    ] = None,
    *,
    reading: Reading,
    seed: Seed = 0,
) -> None:
    """Make false documents of one kind and of given lengths; the same seed gives the same documents.

    Example: textmill coherence fake news.jsonl --kind markov -k 500 --seed 1 -o fake.jsonl
    """
    import numpy as np

    from textmill.corpus import writer
    from textmill.model import check_range
    from textmill.tasks.coherence import Forger, kind_of

    kind = kind_of(kind)
    if length is not None:
        check_range("--length", length, at_least=1, whole=True)
    texts = reading.documents(sources).texts()
    forger = Forger.of(list(texts), order=order, random_state=seed)
    lengths = np.resize(forger.lengths if length is None else [length], len(forger.pool) if k is None else k)
    forgeries = forger.make(kind, lengths, level=level, words=None if words is None else words.split(","))
    with writer(output) as out:
        for i, text in enumerate(forgeries):
            out.write(json_line({"id": f"{kind}-{i}", "text": text}) + "\n")


@app.command()
@with_options
def evaluate(
    detector: _Detector,
    true: Annotated[list[str], typer.Option("--true", help="File of true documents; repeat the option for more.")],
    false: Annotated[
        list[str], typer.Option("--false", help="File of false documents of one kind; repeat the option for more.")
    ],
    plot: Annotated[Path | None, figure_option("Draw the ROC curves to this file (.png, .svg or .pdf).")] = None,
    det: Annotated[bool, typer.Option(help="Draw DET curves instead.")] = False,
    histogram: Annotated[
        Path | None, figure_option("Draw histograms of the entropies to this file (.png, .svg or .pdf).")
    ] = None,
    *,
    reading: Reading,
    json: Json = False,
) -> None:
    """Print the equal error rates of a detector on true and false documents, and draw them.

    Columns: kind of false documents; equal error rate by score, entropy and likelihood per word (llpw); share of the
    false documents called incoherent (caught) and of the true ones (alarms); number of empty documents.

    Example: textmill coherence evaluate detector.mill --true news.jsonl --false fake.jsonl --plot roc.png
    """
    from dataclasses import asdict

    from textmill.model import load
    from textmill.plot import save
    from textmill.tasks import CoherenceDetector
    from textmill.tasks import coherence as task

    judge = load(detector, expect=CoherenceDetector)

    def read(source: str | list[str]) -> Any:
        return list(judge.scores(reading.documents(source)))

    good, bad = read(true), {Path(source).name: read(source) for source in false}
    rows = task.evaluate(good, bad)
    if plot is not None:
        save(task.draw_roc([d.score for d in good], {k: [d.score for d in v] for k, v in bad.items()}, det=det), plot)
    if histogram is not None:
        sides = {"true": good, **bad}
        save(task.draw_histograms({k: [d.entropy for d in v] for k, v in sides.items()}), histogram)
    rates = dict.fromkeys(("score", "entropy", "llpw", "caught", "alarms"), ".3f")
    table = Printed({"kind": "", **rates, "empty": ""}, json=json)
    for row in rows:
        table.row(**asdict(row))
    if not json:
        typer.echo(
            "# score, entropy and llpw are equal error rates, at the threshold that is best for these documents; "
            "caught and alarms are at the detector's own thresholds"
        )


def _show(document: Any, offending: list[Any], table: Printed | None) -> None:
    """Print what was found in one document: a row of a table, or a line of JSON."""
    from dataclasses import asdict
    from math import isnan

    if table is None:
        record = {k: None if isinstance(v, float) and isnan(v) else v for k, v in asdict(document).items()}
        record["topics"] = [{"topic": t, "share": share, "words": words} for t, share, words in document.topics]
        record["empty"] = document.verdict == "empty"
        if offending:
            record["offending"] = [{"text": one.text, "surprise": one.surprise} for one in offending]
        typer.echo(json_line(record))
        return
    table.row(**asdict(document))
    for one in offending:
        typer.echo(f"  {one.surprise:+.2f}\t{one.text}")
