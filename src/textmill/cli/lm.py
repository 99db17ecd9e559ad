"""Language models of words: train an n-gram model, score sentences, draw new ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from textmill.cli._options import Jobs, JsonLines, Seed
from textmill.cli._outputs import output_option

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

_Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model made by `textmill lm train`, or an ARPA file.")]
_Sources = Annotated[
    list[str], typer.Argument(metavar="INPUT...", help="Files or folders, one sentence per line; - for stdin.")
]


@app.command()
def train(
    sources: _Sources,
    output: Annotated[Path, output_option("The model to write; .arpa for an ARPA file.")],
    order: Annotated[int, typer.Option(help="Length of the longest n-gram.")] = 3,
    min_count: Annotated[int, typer.Option(help="Treat words that occur less often as unknown.")] = 1,
    jobs: Jobs = None,
) -> None:
    """Count n-grams and smooth them by modified Kneser-Ney.

    Example: textmill lm train sentences.txt --order 3 -o model.mill
    """
    from textmill.corpus import read_documents
    from textmill.lm import NGramModel, to_arpa
    from textmill.readable import counted

    model = NGramModel(order=order, min_count=min_count, n_jobs=jobs).fit(read_documents(sources, unit="line"))
    if output.suffix == ".arpa":
        to_arpa(model, output)
    else:
        model.save(output)
    sizes = {"sentences": model.sentences_, "words": len(model.words_), "n-grams": len(model.last_words_) - 1}
    typer.echo(", ".join(counted(count, name) for name, count in sizes.items()))


@app.command()
def score(
    model: _Model,
    sources: _Sources,
    json: JsonLines = False,
) -> None:
    """Print log10 probability, number of words (with the end) and of unknown words per sentence, and the perplexity.

    Example: textmill lm score model.mill - < sentences.txt
    """
    from json import dumps

    from textmill.corpus import read_documents
    from textmill.lm import read_model

    found = read_model(model).scores(read_documents(sources, unit="line"))
    rows = zip(found.log_probability.tolist(), found.words.tolist(), found.unknown.tolist(), strict=True)
    for log_probability, words, unknown in rows:
        if json:
            typer.echo(dumps({"log10": log_probability, "words": words, "unknown": unknown}))
        else:
            typer.echo(f"{log_probability:.4f}\t{words}\t{unknown}")
    typer.echo(
        f"perplexity {found.perplexity():.2f}, without unknown words {found.perplexity(unknown=False):.2f}", err=True
    )


@app.command()
def sample(
    model: _Model,
    count: Annotated[int, typer.Option("--count", "-n", help="Number of sentences.")] = 10,
    longest: Annotated[int, typer.Option(help="Number of words after which a sentence is cut off.")] = 100,
    seed: Seed = 0,
) -> None:
    """Draw random sentences from a model, one per line.

    Example: textmill lm sample model.mill -n 5 --seed 1
    """
    from textmill.lm import read_model

    for words in read_model(model).sample(count, longest=longest, random_state=seed):
        typer.echo(" ".join(words))
