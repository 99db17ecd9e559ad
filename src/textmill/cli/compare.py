"""Compare the words of two corpora: which ones each of them has more often, by log-likelihood and effect size."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from textmill.cli._options import Jobs, JsonLines, answers
from textmill.cli._reading import Reading, Terms, with_options
from textmill.cli._tables import Printed

app = typer.Typer(add_completion=False, help=__doc__)

_FORMS = {"term": "", "first": "", "second": "", "first_documents": "", "second_documents": "", "log_ratio": ".2f"}


@app.command()
@with_options
def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="Texts of the first corpus: a file or a folder.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Texts of the second corpus: a file or a folder.")],
    k: Annotated[int, answers("Number of words to show of each corpus.")] = 20,
    min_count: Annotated[int, typer.Option(help="Leave out words that occur less often in both together.")] = 5,
    *,
    terms: Terms,
    reading: Reading,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Print the words that A has more often than B, then those that B has more often.

    The log-likelihood G2 ranks them: it is large where the counts leave no doubt of a difference, so rare words are not
    on top. log_ratio says how large the difference is: 1 is twice as often, 2 four times. A word with many occurrences
    in few documents belongs to those, not to the corpus.

    Example: textmill compare trump/ others/ -k 10
    """
    from itertools import chain

    from textmill.linear import compare_words

    corpora = [reading.documents([source], again=True, by_line=source.endswith(".txt")) for source in (first, second)]
    vocabulary = terms.vocabulary(list(chain(*corpora)) if terms.phrases else (), jobs=jobs)
    words = compare_words(*corpora, vocabulary=vocabulary, min_count=min_count)
    table: Any = None
    for name, part in ((first, words.of_first(k)), (second, words.of_second(k))):
        columns = part.columns()
        table = table or Printed({"corpus": "", **{c: _FORMS.get(c, ".1f") for c in columns}}, json=json)
        for row in zip(*columns.values(), strict=True):
            table.row(corpus=name, **dict(zip(columns, row, strict=True)))
