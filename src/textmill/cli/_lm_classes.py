"""Classes of words and chunks: learn them, look at them, cut other text with them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from textmill.cli._lm_options import Cutting, RareWords, Sources
from textmill.cli._options import Jobs, JsonLines, MaxIter, Seed, answers
from textmill.cli._outputs import output_option
from textmill.cli._reading import Reading, with_options
from textmill.cli._tables import Printed

app = typer.Typer()


@app.command()
@with_options
def classes(
    sources: Sources,
    output: Annotated[Path | None, output_option("The model file to write.")] = None,
    model: Annotated[
        Path | None, typer.Option(help="Cut the input into chunks with this model instead of learning one.")
    ] = None,
    n_classes: Annotated[int, typer.Option("--classes", help="Number of classes.")] = 100,
    method: Annotated[str, typer.Option(help="exchange, or hierarchical for classes with codes.")] = "exchange",
    max_length: Annotated[int, typer.Option(help="Number of words of the longest chunk; 1 for words alone.")] = 1,
    min_chunk_count: Annotated[int, typer.Option(help="Leave out chunks that occur less often.")] = 5,
    min_count: RareWords = 1,
    max_iter: MaxIter = 20,
    k: Annotated[int, answers("Number of words to show of each class.")] = 10,
    *,
    cutting: Cutting,
    reading: Reading,
    seed: Seed = 0,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Learn classes of words, or of chunks of words, that stand in the same places; print their most frequent members.

    With --model, print for each sentence its chunks and their classes.

    Example: textmill lm classes articles.jsonl --classes 50 --min-count 2 -o classes.mill
    """
    from textmill.lm import WordClasses
    from textmill.model import load

    sentences = cutting.sentences(reading.documents(sources, by_line=True))
    if model is not None:
        learned = load(model, expect=WordClasses)
        texts = list(sentences)
        table = Printed({"classes": "", "chunks": ""}, json=json)
        for numbers, chunks in zip(learned.transform(texts), learned.segment(texts), strict=True):
            table.row(classes=numbers, chunks=chunks if json else " | ".join(chunks))
        return
    learned = WordClasses(
        n_classes=n_classes,
        method=method,
        max_length=max_length,
        min_count=min_count,
        min_chunk_count=min_chunk_count,
        max_iter=max_iter,
        tokenizer=cutting.words(),
        random_state=seed,
        n_jobs=jobs,
    ).fit(sentences)
    if output is not None:
        learned.save(output)
    counts = learned.transitions_.sum(axis=1).tolist()
    codes = learned.codes_.to_list()
    table = Printed({"class": "", **({"code": ""} if any(codes) else {}), "count": "", "members": ""}, json=json)
    for number in range(1, len(codes)):
        members = [member.chunk for member in learned.members(number, k)]
        row = {"class": number, "code": codes[number], "count": counts[number]}
        table.row(**row, members=members if json else ", ".join(members))
