"""Parse sentences into phrase structure with a treebank grammar: train, parse, evaluate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._json import json_line
from textmill.cli._lines import read_lines, record_line
from textmill.cli._options import Errors, Jobs, Json, TextField, answers
from textmill.cli._outputs import output_option
from textmill.cli._reading import at_least_one
from textmill.cli._tables import Printed

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

_Treebank = Annotated[
    list[str], typer.Argument(metavar="TREES...", help="Bracketed trees: files, folders with .mrg files, - for stdin.")
]
_Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Grammar made by `textmill trees train`.")]
_MaxLength = Annotated[
    int | None, typer.Option(min=1, metavar="WORDS", help="Leave out sentences of more words; default: none.")
]


@app.command()
def train(
    trees: _Treebank,
    output: Annotated[Path, output_option("The model file to write.")],
    vertical: Annotated[int, typer.Option(help="Labels a rule looks at: its own and those above.")] = 2,
    horizontal: Annotated[int, typer.Option(help="Children to the left that the next child depends on.")] = 2,
    functions: Annotated[bool, typer.Option("--functions", help="Keep traces and function tags.")] = False,
    errors: Errors = "strict",
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Learn a grammar from a treebank.

    Example: textmill trees train wsj/ -o grammar.mill
    """
    from textmill.readable import counted
    from textmill.trees import TreebankGrammar

    grammar = TreebankGrammar(vertical=vertical, horizontal=horizontal, bare=not functions, n_jobs=jobs)
    grammar.fit(_read(trees, errors))
    grammar.save(output)
    facts = {"trees": grammar.n_trees_, "rules": grammar.n_rules_, "labels": len(grammar.labels_) - 1}
    facts |= {"words": len(set(grammar.words_))}
    if json:
        typer.echo(json_line(facts))
    else:
        typer.echo(f"{output}: " + ", ".join(counted(value, name) for name, value in facts.items()))


@app.command()
def parse(
    model: _Model,
    sentences: Annotated[
        str, typer.Argument(metavar="SENTENCES", help="One sentence per line, words between blanks; - for stdin.")
    ] = "-",
    output: Annotated[str, output_option("The file to write; - for stdout.")] = "-",
    text_field: TextField = None,
    tagged: Annotated[bool, typer.Option("--tagged", help="Words have their tags: dogs/NNS bark/VBP.")] = False,
    k: Annotated[int, answers("Number of trees of each sentence; more than 1 adds numbers and scores.")] = 1,
    max_words: Annotated[
        int | None,
        typer.Option(min=1, help="Cut longer sentences, and join the trees of their parts in an X; default: 200."),
    ] = None,
    jobs: Jobs = None,
) -> None:
    """Write the best tree of each sentence, one per line.

    The text of a record of JSONL, CSV or Parquet is one sentence; the record is written as JSON, with its tree.

    Example: echo "the dogs bark" | textmill trees parse grammar.mill -
    """
    from textmill.corpus import writer
    from textmill.progress import track

    grammar = _load(model, jobs)
    if max_words is not None:
        grammar.set_params(max_words=max_words)
    lines = list(at_least_one(_sentences(sentences, text_field, tagged), "sentences", [sentences]))
    words, tags = [line[1] for line in lines], [line[2] for line in lines] if tagged else None
    with writer(output) as out:
        if k == 1:
            trees = track(grammar.stream(words, tags), "parsing", total=len(words), unit="sentences")
            for (document, *_), tree in zip(lines, trees, strict=True):
                out.write(f"{tree}\n" if document.plain else record_line(document, tree=str(tree)))
            return
        for number, ((document, *_), best) in enumerate(zip(lines, grammar.k_best(words, k, tags), strict=True), 1):
            for tree, score in best:
                row = f"{number}\t{score:.4f}\t{tree}\n"
                out.write(row if document.plain else record_line(document, tree=str(tree), score=score))


@app.command()
def evaluate(
    model: _Model,
    trees: _Treebank,
    tagged: Annotated[bool, typer.Option("--tagged", help="Give the parser the right tags.")] = False,
    max_length: _MaxLength = None,
    intervals: Annotated[bool, typer.Option("--intervals", help="Add a 95 % bootstrap interval of F1.")] = False,
    errors: Errors = "strict",
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Score a grammar on right trees: precision, recall and F1 of labeled brackets, and trees without an error.

    Example: textmill trees evaluate grammar.mill test.mrg --max-length 40
    """
    grammar = _load(model, jobs)
    right = [tree for tree in _read(trees, errors) if max_length is None or _length(tree) <= max_length]
    counts = grammar.evaluate(right, tagged=tagged)
    facts: dict[str, Any] = {name: getattr(counts, name) for name in ("trees", "precision", "recall", "f1")}
    facts["exact_match"] = counts.exact_match
    if intervals:
        interval = counts.interval()
        facts |= {"low": interval.low, "high": interval.high}
    if json:
        typer.echo(json_line(facts | {"signature": counts.signature}))
        return
    table = Printed({name: "" if name == "trees" else ".4f" for name in facts})
    table.row(**facts)


def _load(path: Path, jobs: int | None) -> Any:
    from textmill.model import load
    from textmill.trees import TreebankGrammar

    return load(path, expect=TreebankGrammar).set_params(n_jobs=jobs)


def _read(sources: list[str], errors: str) -> Iterator[Any]:
    """The trees of all files, and of those in folders."""
    from textmill.corpus import read_trees
    from textmill.errors import DataError

    for source in sources:
        if source != "-" and Path(source).is_dir():
            files = sorted(path for path in Path(source).rglob("*") if path.suffix in (".mrg", ".trees"))
            if not files:
                raise DataError(f"{source}: no file in this folder ends in .mrg or .trees; name the files")
            for file in files:
                yield from read_trees(file, errors=errors)
        else:
            yield from read_trees(source, errors=errors)


def _length(tree: Any) -> int:
    rest = tree.without_empty()
    return 0 if rest is None else len(rest.leaves())


def _sentences(source: str, text_field: str | None, tagged: bool) -> Iterator[tuple[Any, list[str], list[str]]]:
    """Each line or record with its words and tags; empty ones are left out."""
    from textmill.errors import DataError

    for document in read_lines(source, text_field):
        words = document.text.split()
        if not tagged:
            pairs = [(word, "") for word in words]
        else:
            pairs = [(word, tag) for word, slash, tag in (token.rpartition("/") for token in words) if slash and word]
            if len(pairs) < len(words):
                raise DataError("a word has no tag; write word/tag", source=document.source, line=document.line)
        if pairs:
            yield document, [word for word, _ in pairs], [tag for _, tag in pairs]
