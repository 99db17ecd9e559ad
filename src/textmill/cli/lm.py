"""N-gram language models: train, score, mix, prune, convert, generate text; learn word classes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from textmill.cli._json import json_line
from textmill.cli._lm_classes import app as classes
from textmill.cli._lm_options import Counting, Cutting, LanguageModel, Sources, save_model
from textmill.cli._lm_tools import app as tools
from textmill.cli._options import Cluster, Jobs, JsonLines, Seed, answers
from textmill.cli._outputs import output_option
from textmill.cli._reading import Reading, with_options
from textmill.cli._tables import Printed

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)
app.add_typer(tools)
app.add_typer(classes)

_Words = Annotated[list[str] | None, typer.Argument(metavar="[WORD]...", help="The words before it.")]


@app.command()
@with_options
def train(
    sources: Sources,
    output: Annotated[Path, output_option("The model to write; .arpa for an ARPA file.")],
    counting: Counting,
    prune: Annotated[float | None, typer.Option(help="Keep only this share of the n-grams, by entropy.")] = None,
    quantize: Annotated[
        int | None, typer.Option(metavar="BITS", help="Store numbers in this many bits, 4 to 16, without counts.")
    ] = None,
    memory: Annotated[
        str | None, typer.Option(help="Count within this much memory, such as 512MB, by way of TMPDIR.")
    ] = None,
    cluster: Cluster = None,
    *,
    cutting: Cutting,
    reading: Reading,
    jobs: Jobs = None,
) -> None:
    """Count n-grams and smooth them.

    Example: textmill lm train articles.jsonl --order 3 --case keep --tokenizer punctuation -o model.mill
    """
    from textmill.lm import prune as pruned
    from textmill.lm import quantize as quantized
    from textmill.readable import counted

    model = counting.model(cutting, memory=memory, jobs=jobs)
    documents = reading.documents(sources, by_line=True)
    if "-" not in sources:
        cutting.question_text(documents)
    model.fit(cutting.sentences(documents, far=cluster is not None), cluster=cluster)
    model = model if prune is None else pruned(model, keep=prune)
    save_model(model if quantize is None else quantized(model, bits=quantize), output)
    sizes = {"sentences": model.sentences_, "words": len(model.words_), "n-grams": len(model.last_words_) - 1}
    typer.echo(", ".join(counted(count, name) for name, count in sizes.items()))
    for line in model.fall_backs_:
        typer.echo(line)


@app.command()
@with_options
def score(
    model: LanguageModel,
    sources: Sources,
    *,
    cutting: Cutting,
    reading: Reading,
    json: JsonLines = False,
) -> None:
    """Print log10 probability, number of words (with the end) and of unknown words per sentence, and the perplexity.

    Example: textmill lm score model.mill - < sentences.txt
    """
    from textmill.lm import read_model

    language = read_model(model, tokenizer=cutting.words())
    scores = language.scores(cutting.sentences(reading.documents(sources, by_line=True), model=language))
    perplexity, without_unknown = scores.perplexity(), scores.perplexity(unknown=False)
    rows = zip(scores.log_probability.tolist(), scores.words.tolist(), scores.unknown.tolist(), strict=True)
    table = Printed({"log10": ".4f", "words": "", "unknown": ""}, json=json)
    for log_probability, words, unknown in rows:
        table.row(log10=log_probability, words=words, unknown=unknown)
    table.header()
    if json:
        typer.echo(json_line({"perplexity": perplexity, "perplexity_without_unknown": without_unknown}))
    else:
        typer.echo(f"# perplexity {perplexity:.2f}, without unknown words {without_unknown:.2f}")


@app.command("next")
def next_words(
    model: LanguageModel,
    words: _Words = None,
    k: Annotated[int, answers("Number of words to show.")] = 10,
    start: Annotated[bool, typer.Option("--start", help="The words begin a sentence.")] = False,
    json: JsonLines = False,
) -> None:
    """Print the most likely next words after some others, with their probabilities.

    Example: textmill lm next model.mill the mill -k 5
    """
    from textmill.lm import next_words as likely
    from textmill.lm import read_model

    continuations = likely(read_model(model), words or [], k=k, start=start)
    table = Printed({"probability": ".6f", "word": ""}, json=json)
    for word, probability in continuations:
        table.row(word=word, probability=probability)


@app.command()
def ngrams(
    model: LanguageModel,
    words: _Words = None,
    k: Annotated[int, answers("Number of n-grams to show.")] = 10,
    order: Annotated[int | None, typer.Option(help="Their length; default: one word more than those given.")] = None,
    json: JsonLines = False,
) -> None:
    """Print the most frequent n-grams that begin with some words: count, probability of the last word, words.

    Example: textmill lm ngrams model.mill the mill -k 5
    """
    from textmill.lm import frequent_ngrams, read_model

    frequent = frequent_ngrams(read_model(model), words or [], k=k, order=order)
    table = Printed({"count": "", "probability": ".6f", "words": ""}, json=json)
    for ngram in frequent:
        table.row(words=ngram.words, count=ngram.count, probability=ngram.probability)


@app.command()
def sample(
    model: LanguageModel,
    k: Annotated[int, answers("Number of sentences.")] = 10,
    longest: Annotated[int, typer.Option(help="Number of words after which a sentence is cut off.")] = 100,
    seed: Seed = 0,
) -> None:
    """Draw random sentences from a model, one per line.

    Example: textmill lm sample model.mill -k 5 --seed 1
    """
    from textmill.lm import read_model

    for words in read_model(model).sample(k, longest=longest, random_state=seed):
        typer.echo(" ".join(words))
