"""Language models of words: train an n-gram model, score sentences, ask what comes next, draw new ones."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._json import json_line
from textmill.cli._options import Jobs, JsonLines, Seed, answers
from textmill.cli._outputs import output_option
from textmill.cli._reading import Reading, with_options
from textmill.cli._tables import Printed

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

_Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model made by `textmill lm train`, or an ARPA file.")]
_Sources = Annotated[list[str], typer.Argument(metavar="INPUT...", help="Files or folders, - for stdin.")]
_Case = Annotated[str | None, typer.Option(help="Upper and lower case: fold (default) or keep.")]
_TokenizerName = Annotated[
    str | None,
    typer.Option("--tokenizer", help="words (default), punctuation (its marks are words too) or whitespace."),
]
_Split = Annotated[
    str | None,
    typer.Option(help="sentences, or lines (one sentence per line; default with --tokenizer whitespace)."),
]
_Words = Annotated[list[str] | None, typer.Argument(metavar="[WORD]...", help="The words before it.")]


@app.command()
@with_options
def train(
    sources: _Sources,
    output: Annotated[Path, output_option("The model to write; .arpa for an ARPA file.")],
    order: Annotated[int, typer.Option(help="Length of the longest n-gram.")] = 3,
    min_count: Annotated[int, typer.Option(help="Treat words that occur less often as unknown.")] = 1,
    case: _Case = None,
    tokenizer: _TokenizerName = None,
    split: _Split = None,
    *,
    reading: Reading,
    jobs: Jobs = None,
) -> None:
    """Count n-grams and smooth them by modified Kneser-Ney.

    Example: textmill lm train articles.jsonl --order 3 --case keep --tokenizer punctuation -o model.mill
    """
    from textmill.lm import NGramModel, to_arpa
    from textmill.readable import counted

    model = NGramModel(order=order, min_count=min_count, tokenizer=_tokenizer(tokenizer, case), n_jobs=jobs)
    model.fit(_sentences(reading.documents(sources, by_line=True), split, tokenizer))
    if output.suffix == ".arpa":
        to_arpa(model, output)
    else:
        model.save(output)
    sizes = {"sentences": model.sentences_, "words": len(model.words_), "n-grams": len(model.last_words_) - 1}
    typer.echo(", ".join(counted(count, name) for name, count in sizes.items()))


@app.command()
@with_options
def score(
    model: _Model,
    sources: _Sources,
    case: _Case = None,
    tokenizer: _TokenizerName = None,
    split: _Split = None,
    *,
    reading: Reading,
    json: JsonLines = False,
) -> None:
    """Print log10 probability, number of words (with the end) and of unknown words per sentence, and the perplexity.

    Example: textmill lm score model.mill - < sentences.txt
    """
    from textmill.lm import read_model

    language = read_model(model, tokenizer=_tokenizer(tokenizer, case))
    scores = language.scores(_sentences(reading.documents(sources, by_line=True), split, tokenizer))
    rows = zip(scores.log_probability.tolist(), scores.words.tolist(), scores.unknown.tolist(), strict=True)
    table = Printed({"log10": ".4f", "words": "", "unknown": ""}, json=json)
    for log_probability, words, unknown in rows:
        table.row(log10=log_probability, words=words, unknown=unknown)
    perplexity, without_unknown = scores.perplexity(), scores.perplexity(unknown=False)
    if json:
        typer.echo(json_line({"perplexity": perplexity, "perplexity_without_unknown": without_unknown}))
    else:
        typer.echo(f"# perplexity {perplexity:.2f}, without unknown words {without_unknown:.2f}")


@app.command("next")
def next_words(
    model: _Model,
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
    model: _Model,
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
    model: _Model,
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


def _tokenizer(name: str | None, case: str | None) -> Any:
    """The tokenizer that two options name, None if neither is given."""
    from textmill.corpus import PatternTokenizer, Tokenizer
    from textmill.model import check_choice

    if name is None and case is None:
        return None
    check_choice("tokenizer", name or "words", ["words", "punctuation", "whitespace"])
    patterns = {"punctuation": r"\w+(?:[.'\u2019-]\w+)*|[^\w\s]", "whitespace": r"\S+"}
    if name in patterns:
        return PatternTokenizer(pattern=patterns[name], case=case or "fold")
    return Tokenizer(case=case or "fold")


def _sentences(documents: Iterable[Any], split: str | None, tokenizer: str | None) -> Iterable[str]:
    """The sentences of documents; text that is cut at blanks is taken to have one sentence per line."""
    from textmill.corpus import Sentences, texts_of
    from textmill.model import check_choice

    split = split or ("lines" if tokenizer == "whitespace" else "sentences")
    check_choice("split", split, ["sentences", "lines"])
    texts = texts_of(documents)
    return texts if split == "lines" else Sentences(texts)
