"""Correct spelling with a lexicon and a language model of your own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from textmill.cli._json import json_line
from textmill.cli._lines import read_lines, record_line
from textmill.cli._lm_options import Sources
from textmill.cli._options import Jobs, JsonLines, Seed, TextField, answers
from textmill.cli._outputs import output_option
from textmill.cli._reading import Reading, with_options
from textmill.cli._tables import warn_of_nothing

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)


@app.command()
@with_options
def train(
    sources: Sources,
    output: Annotated[Path, output_option("The model to write.")],
    max_edits: Annotated[int, typer.Option(min=1, max=4, help="Edits between a word and its correction.")] = 2,
    min_count: Annotated[int, typer.Option(min=1, help="Words that occur less often may be wrong.")] = 3,
    order: Annotated[int, typer.Option(min=1, help="Length of the longest n-gram.")] = 3,
    capitalized: Annotated[bool, typer.Option("--capitalized", help="Correct words with capitals as well.")] = False,
    seed: Seed = 0,
    *,
    reading: Reading,
    jobs: Jobs = None,
) -> None:
    """Learn the words of a corpus and what stands around them.

    Example: textmill correct train articles.jsonl -o corrector.mill
    """
    from textmill.tasks import SpellingCorrector

    corrector = SpellingCorrector(
        max_edits=max_edits,
        min_count=min_count,
        order=order,
        capitalized=capitalized,
        random_state=seed,
        n_jobs=jobs,
    )
    corrector.fit(reading.documents(sources))
    corrector.save(output)
    share = corrector.specificity_
    alone = "no rare word to leave alone" if share is None else f"{100 * share:.1f} % of rare words left alone"
    typer.echo(
        f"{len(corrector.words_)} words, an edit costs {corrector.edit_cost_:g}, "
        f"{100 * corrector.accuracy_:.1f} % of misspelled words restored, "
        f"{alone}"
    )


@app.command("apply")
def apply_model(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Written by `textmill correct train`.")],
    source: Annotated[str, typer.Argument(metavar="[TEXT]", help="The text, a file or - for stdin.")] = "-",
    output: Annotated[str, output_option("File to write; - for stdout.")] = "-",
    text_field: TextField = None,
    json: JsonLines = False,
    jobs: Jobs = None,
) -> None:
    """Replace the misspelled words of a text, line by line.

    Of JSONL, CSV and Parquet the text of each record is corrected, and a line of JSON written with all its fields.

    Example: echo "the wether was diffrent" | textmill correct apply corrector.mill
    """
    from itertools import islice

    from textmill.corpus import writer
    from textmill.model import load
    from textmill.progress import track
    from textmill.tasks import SpellingCorrector

    corrector = load(model, expect=SpellingCorrector).set_params(n_jobs=jobs)
    lines = track(read_lines(source, text_field), "correcting", unit="lines")
    changed = False
    with writer(output) as out:
        while documents := list(islice(lines, 2000)):
            texts = [document.text for document in documents]
            if not json:
                for document, text in zip(documents, corrector.predict(texts), strict=True):
                    changed = changed or text != document.text
                    out.write(f"{text}\n" if document.plain else record_line(document, **{text_field or "text": text}))
                continue
            for document, changes in zip(documents, corrector.corrections(texts), strict=True):
                changed = changed or bool(changes)
                rows = [
                    {
                        "start": change.start,
                        "end": change.end,
                        "word": change.word,
                        "correction": change.correction,
                        "edits": change.edits,
                    }
                    for change in changes
                ]
                out.write(record_line(document, corrections=rows))
    if not changed:
        warn_of_nothing("no word was changed; `textmill correct suggest MODEL WORD` shows what a word might be")


@app.command()
def suggest(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Written by `textmill correct train`.")],
    words: Annotated[list[str], typer.Argument(metavar="WORD...", help="Words to look up.")],
    k: Annotated[int, answers("Number of suggestions per word.")] = 5,
    json: JsonLines = False,
) -> None:
    """Show the words nearest to others, the likeliest first.

    Example: textmill correct suggest corrector.mill recieve wether
    """
    from textmill.model import load
    from textmill.tasks import SpellingCorrector

    corrector = load(model, expect=SpellingCorrector)
    for word, neighbors in zip(words, corrector.suggest(words, k=k), strict=True):
        if json:
            rows = [{"word": n.word, "edits": n.edits, "cost": n.cost} for n in neighbors]
            typer.echo(json_line({"word": word, "suggestions": rows}))
        else:
            typer.echo(f"{word}\t{' '.join(n.word for n in neighbors)}")
