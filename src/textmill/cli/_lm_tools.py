"""Change and compare language models: mix, prune, convert, perplexity, leave-one-out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from textmill.cli._json import json_line
from textmill.cli._lm_options import (
    Case,
    Counting,
    Cutting,
    LanguageModel,
    Sources,
    TokenizerName,
    save_model,
    tokenizer_of,
)
from textmill.cli._options import Jobs, Json, JsonLines, MaxIter
from textmill.cli._outputs import further_output, output_option
from textmill.cli._reading import Reading, with_options
from textmill.cli._tables import Printed

app = typer.Typer()

_Output = Annotated[Path, output_option("The model to write; .arpa for an ARPA file.")]
_Quantize = Annotated[int | None, typer.Option(metavar="BITS", help="Store numbers in this many bits, 4 to 16.")]


@app.command()
@with_options
def mix(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="At least two models, ARPA files or ours.")],
    output: Annotated[Path | None, output_option("The merged model to write; .arpa for an ARPA file.")] = None,
    dev: Annotated[Path | None, typer.Option(help="Text that the weights are to suit, chosen by EM.")] = None,
    weight: Annotated[list[float] | None, typer.Option(help="Weight of each model in turn, instead of --dev.")] = None,
    max_iter: MaxIter = 100,
    *,
    cutting: Cutting,
    reading: Reading,
    json: JsonLines = False,
) -> None:
    """Mix models: find their weights, merge them into one.

    Example: textmill lm mix news.mill novels.mill --dev letters.txt -o letters.mill
    """
    from textmill.errors import DataError
    from textmill.lm import Mixture, read_model

    if (dev is None) == (weight is None):
        raise DataError("pass either --dev, a text that the weights are to suit, or --weight for each model")
    cut = cutting.words()
    languages = [read_model(path, tokenizer=cut if ".arpa" in path.name.lower() else None) for path in models]
    mixture = Mixture(languages, weights=weight)
    if dev is not None:
        texts = list(cutting.sentences(reading.documents([str(dev)], by_line=True), model=languages[0]))
        mixture.fit(texts, max_iter=max_iter)
    table = Printed({"weight": ".4f", "perplexity": ".2f", "model": ""}, json=json)
    for path, language, share in zip(models, languages, mixture.weights_.tolist(), strict=True):
        table.row(weight=share, perplexity=None if dev is None else language.perplexity(texts), model=str(path))
    if dev is not None:
        table.row(weight=1.0, perplexity=mixture.perplexity(texts), model="mixture")
    if output is not None:
        merged = mixture.merged()
        save_model(merged, output)
        if dev is not None:
            table.row(weight=1.0, perplexity=merged.perplexity(texts), model=str(output))


@app.command()
def prune(
    model: LanguageModel,
    output: _Output,
    keep: Annotated[float | None, typer.Option(help="Share of the n-grams to keep, such as 0.5.")] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Or: smallest score that stays; entropy: growth of perplexity, such as 1e-8.")
    ] = None,
    method: Annotated[str, typer.Option(help="entropy or weighted-difference.")] = "entropy",
) -> None:
    """Leave out the n-grams that say least.

    Example: textmill lm prune model.mill --keep 0.5 -o half.mill
    """
    from textmill.lm import prune as smaller
    from textmill.lm import read_model

    whole = read_model(model)
    pruned = smaller(whole, keep=keep, threshold=threshold, method=method)
    save_model(pruned, output)
    typer.echo(f"{len(pruned.last_words_) - 1} of {len(whole.last_words_) - 1} n-grams")


@app.command()
def convert(
    model: LanguageModel,
    output: _Output,
    quantize: _Quantize = None,
    case: Case = None,
    tokenizer: TokenizerName = None,
) -> None:
    """Write a model in another format: an ARPA file as a model, a model as an ARPA file, or with fewer bits.

    Example: textmill lm convert srilm.arpa.gz --quantize 8 -o small.mill
    """
    from textmill.lm import quantize as coded
    from textmill.lm import read_model

    language = read_model(model, tokenizer=tokenizer_of(tokenizer, case))
    save_model(language if quantize is None else coded(language, bits=quantize), output)


@app.command()
@with_options
def perplexity(
    model: LanguageModel,
    sources: Sources,
    report: Annotated[Path | None, further_output("Also write a page with pictures.")] = None,
    by_document: Annotated[bool, typer.Option("--by-document", help="Print a line for each document, too.")] = False,
    open_vocabulary: Annotated[
        bool, typer.Option("--open-vocabulary", help="Count unknown words like others.")
    ] = False,
    *,
    cutting: Cutting,
    reading: Reading,
    json: Json = False,
) -> None:
    """Print SRILM's ppl and ppl1, unknown words and hits by order, for all documents and for each.

    Example: textmill lm perplexity model.mill news/ --report news.html
    """
    from textmill.lm import perplexity_report, read_model

    language = read_model(model, tokenizer=cutting.words())
    names, documents = [], []
    for document in reading.documents(sources):
        names.append(document.id)
        documents.append(cutting.sentences_in(document.text, language))
    result = perplexity_report(language, documents, names=names, open_vocabulary=open_vocabulary)
    if report is not None:
        result.report(f"Perplexity of {model.name}").write(report)
    figures = {"ppl": result.ppl, "ppl1": result.ppl1, "hits": result.hits.sum(axis=0).tolist()}
    totals = {name: int(getattr(result, name).sum()) for name in ("sentences", "words", "unknown")}
    columns = result.columns()
    rows = [{name: _plain(values[i]) for name, values in columns.items()} for i in range(len(names))]
    if json:
        typer.echo(json_line({"documents": rows, **totals, **figures}))
        return
    if by_document:
        formats = {"ppl": ".2f", "ppl1": ".2f", "words": "", "unknown": "", "document": ""}
        table = Printed(formats)
        for row in rows:
            table.row(**{name: row[name] for name in formats})
        table.header()
    for line in result.lines():
        typer.echo(f"# {line}" if by_document else line)


@app.command("leave-one-out")
@with_options
def leave_one_out(
    sources: Sources,
    counting: Counting,
    group_field: Annotated[
        str | None, typer.Option(help="Field whose value says which documents are taken out together.")
    ] = None,
    *,
    cutting: Cutting,
    reading: Reading,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Print the perplexity of each document under a model of all the others.

    Example: textmill lm leave-one-out essays.jsonl --smoothing katz --group-field author
    """
    from textmill.errors import DataError
    from textmill.lm import LeaveOneOut, SentenceScores

    documents = list(reading.documents(sources))
    groups = None
    if group_field is not None:
        missing = next((document for document in documents if group_field not in document.fields), None)
        if missing is not None:
            raise DataError(f"document '{missing.id}' has no field '{group_field}'", source=sources[0])
        groups = [str(document.fields[group_field]) for document in documents]
    texts = [cutting.sentences_in(document.text) for document in documents]
    model = counting.model(cutting, jobs=jobs)
    held_out = LeaveOneOut(model).fit(sentence for text in texts for sentence in text)
    scores = held_out.scores(texts, groups=groups)
    formats = {"perplexity": ".2f", "known": ".2f", "words": "", "unknown": "", "document": ""}
    table = Printed(formats, json=json)
    for document, row in zip(documents, scores, strict=True):
        if len(row.words):
            figures = {"perplexity": row.perplexity(), "known": row.perplexity(unknown=False)}
            table.row(**figures, words=int(row.words.sum()), unknown=int(row.unknown.sum()), document=document.id)
    table.header()
    whole = SentenceScores.joined(scores)
    if not json:
        typer.echo(
            f"# perplexity {whole.perplexity():.2f}, without unknown words {whole.perplexity(unknown=False):.2f}"
        )


def _plain(value: object) -> object:
    return value.item() if hasattr(value, "item") else value
