"""Model how often words occur: fit distributions to every word, compare them, find words that come in bursts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._options import Jobs, JsonLines, answers
from textmill.cli._outputs import figure_option, further_output, output_option
from textmill.cli._reading import Reading, Terms, with_options
from textmill.cli._tables import Printed
from textmill.cli._topic_options import is_bags

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

_Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT...",
        help="Texts (plain, CSV, JSONL, ...), bags of words (.mm, .svmlight, .ldac, ...), or with --table records "
        "whose fields are words and hold counts; - for stdin.",
    ),
]
_Table = Annotated[bool, typer.Option("--table", help="The fields of records are words, and hold counts.")]
_Exposure = Annotated[
    str | None, typer.Option(help="With --table: field that holds the length of each text, which the binomials need.")
]
_WholeTexts = Annotated[
    bool, typer.Option("--whole-texts", help="With --table: rows count all words, so their sums are the lengths.")
]
_Label = Annotated[str | None, typer.Option(help="Field that holds the class: every class is fitted apart.")]
_Passages = Annotated[int | None, typer.Option(min=1, help="Cut texts into passages of this many words.")]
_MinCount = Annotated[int, typer.Option(help="Leave out words that occur less often.")]


@app.command()
@with_options
def fit(
    sources: _Sources,
    output: Annotated[str, output_option("File to write, tab-separated; default: stdout.")] = "-",
    kind: Annotated[
        str,
        typer.Option(help="poisson, negbinom, binom, bernoulli, betabinom, or one of them with zi in front."),
    ] = "zibinom",
    method: Annotated[
        str, typer.Option(help="newton (maximum likelihood), em, moments, or cells (negbinom alone).")
    ] = "newton",
    per_text: Annotated[
        bool, typer.Option("--per-text", help="poisson, negbinom: mu is a mean per text, whatever its length.")
    ] = False,
    table: _Table = False,
    exposure_field: _Exposure = None,
    whole_texts: _WholeTexts = False,
    label_field: _Label = None,
    passages: _Passages = None,
    min_count: _MinCount = 1,
    *,
    terms: Terms,
    reading: Reading,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Fit a distribution to the counts of every word and print its parameters with standard errors.

    Example: textmill counts fit news.jsonl --kind zibinom --min-count 10 -o fits.tsv
    """
    from textmill.linear import fit_count_table

    rows = _Rows(table, exposure_field, whole_texts, label_field, kinds=(kind,))
    data = _read(sources, rows, passages, min_count, terms, reading, jobs)
    exposure = None if per_text and kind.removeprefix("zi") in ("poisson", "negbinom") else data.exposure
    fits = fit_count_table(data.X, kind, data.labels, exposure=exposure, method=method, terms=data.terms, n_jobs=jobs)
    columns = fits.columns()
    if output == "-":
        printed = Printed({name: _form(name) for name in columns}, json=json)
        for row in zip(*columns.values(), strict=True):
            printed.row(**dict(zip(columns, row, strict=True)))
        return
    _write(output, columns, json=json)
    typer.echo(f"{len(columns['term'])} fits of {kind}")


@app.command()
@with_options
def compare(
    sources: _Sources,
    words: Annotated[
        str | None, typer.Option(help="Words to compare models of, separated by commas; default: which words burst.")
    ] = None,
    k: Annotated[int, answers("Number of words to show.")] = 20,
    kinds: Annotated[
        str | None,
        typer.Option(help="Distributions, separated by commas; default: binomials, without lengths Poissons."),
    ] = None,
    plot: Annotated[
        Path | None, figure_option("Draw observed and fitted counts, or which words burst (.png, .svg or .pdf).")
    ] = None,
    report: Annotated[Path | None, further_output("Write a page with tables and pictures to this file.")] = None,
    table: _Table = False,
    exposure_field: _Exposure = None,
    whole_texts: _WholeTexts = False,
    passages: _Passages = None,
    min_count: _MinCount = 10,
    *,
    terms: Terms,
    reading: Reading,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Print which words come in bursts, or for chosen words which distribution fits them best.

    Example: textmill counts compare federalist.txt --passages 200 --words his,any --plot his.svg
    """
    from textmill.errors import DataError
    from textmill.linear import compare_counts, counts_report, draw_bursts, draw_comparison, find_bursts
    from textmill.plot import save

    chosen = [word.strip() for word in (words or "").split(",") if word.strip()]
    wanted = None if kinds is None else [kind.strip() for kind in kinds.split(",")]
    needed = wanted or (() if table and chosen and exposure_field is None and not whole_texts else ("binom",))
    rows = _Rows(table, exposure_field, whole_texts, words=chosen if report is None else (), kinds=needed)
    data = _read(sources, rows, passages, 1, terms, reading, jobs)
    if report is not None:
        settings: dict[str, Any] = {"exposure": data.exposure, "min_count": min_count, "n_jobs": jobs}
        counts_report(data.X, data.terms, words=chosen, **settings).write(report)
    if not chosen:
        bursts = find_bursts(data.X, data.terms, exposure=data.exposure, min_count=min_count, n_jobs=jobs)
        columns = bursts.columns()
        printed = Printed({name: _form(name) for name in columns}, json=json)
        for row in list(zip(*columns.values(), strict=True))[:k]:
            printed.row(**dict(zip(columns, row, strict=True)))
        if plot is not None:
            save(draw_bursts(bursts, n_words=k), plot)
        return
    places = {term: j for j, term in enumerate(data.terms)}
    by_word = data.X.tocsc()
    models: Printed | None = None
    for number, word in enumerate(chosen):
        if word not in places:
            raise DataError(f"there is no word {word!r} in the input; words are case-folded")
        counts = by_word[:, places[word]].toarray().ravel()
        comparison = compare_counts(counts, wanted, exposure=data.exposure)
        columns = comparison.columns()
        models = models or Printed({"term": "", **{name: _form(name) for name in columns}}, json=json)
        for row in zip(*columns.values(), strict=True):
            models.row(term=word, **dict(zip(columns, row, strict=True)))
        if plot is not None and number == 0:
            save(draw_comparison(counts, comparison, exposure=data.exposure, title=word), plot)


@dataclass(frozen=True)
class _Rows:
    """What the columns of a table are, and the kinds that will be fitted to it."""

    table: bool
    exposure_field: str | None
    whole_texts: bool
    label_field: str | None = None
    words: Sequence[str] = ()
    kinds: Sequence[str] = ()


def _read(
    sources: list[str],
    rows: _Rows,
    passages: int | None,
    min_count: int,
    terms: Terms,
    reading: Reading,
    jobs: int | None,
) -> Any:
    """The counts of the input, whatever it is."""
    from textmill.corpus import split_documents
    from textmill.errors import DataError
    from textmill.linear import counts_of_texts, read_count_bags, read_count_table

    label_field = rows.label_field
    if not rows.table and (rows.exposure_field is not None or rows.whole_texts):
        option = "--exposure-field" if rows.exposure_field is not None else "--whole-texts"
        raise DataError(f"{option} is for --table; texts have their own lengths")
    if rows.table:
        terms.refuse("a table has its words already")
        bounded = [kind for kind in rows.kinds if kind.removeprefix("zi") in ("binom", "betabinom")]
        if bounded and rows.exposure_field is None and not rows.whole_texts:
            remedy = "name the field that holds it with --exposure-field, or say --whole-texts if rows count all words"
            raise DataError(f"'{bounded[0]}' needs the length of each text; {remedy}", source=sources[0])
        return read_count_table(
            sources,
            words=rows.words or None,
            label_field=label_field,
            exposure_field=rows.exposure_field,
            whole_texts=rows.whole_texts,
            bounded=bool(bounded),
            id_field=reading.id_field,
            format=reading.format,
            encoding=reading.encoding,
            delimiter={"tab": "\t", "\\t": "\t"}.get(reading.delimiter, reading.delimiter),
            errors=reading.errors,
        )
    if is_bags(sources):
        terms.refuse("this is a file of bags")
        if label_field is not None or passages is not None:
            raise DataError("--label-field and --passages are for texts, and this is a file of bags")
        return read_count_bags(sources[0])
    documents: Any = reading.documents(sources, again=True)
    if passages is not None:
        documents = split_documents(documents, "passage", chunk_size=passages)
    texts, labels = [], []
    for document in documents:
        texts.append(document.text)
        if label_field is not None:
            if document.fields.get(label_field) is None:
                names = ", ".join(map(str, document.fields)) or "none: this is plain text"
                where = {"source": document.source, "line": document.line}
                raise DataError(f"no field '{label_field}'; the fields are {names}", **where)
            labels.append(str(document.fields[label_field]))
    vocabulary = terms.vocabulary(texts, jobs=jobs, min_count=min_count)
    return counts_of_texts(texts, vocabulary=vocabulary, labels=labels if label_field is not None else None)


def _write(output: str, columns: dict[str, list[Any]], *, json: bool) -> None:
    from textmill.cli._json import json_line
    from textmill.files import replacing

    with replacing(output) as stream:
        if not json:
            stream.write(("\t".join(columns) + "\n").encode())
        for row in zip(*columns.values(), strict=True):
            if json:
                line = json_line(dict(zip(columns, row, strict=True)))
            else:
                line = "\t".join(
                    format(value, _form(name)) if _form(name) and value == value else str(value)
                    for name, value in zip(columns, row, strict=True)
                )
            stream.write((line + "\n").encode())


def _form(name: str) -> str:
    """How the values of a column are written."""
    if name in ("term", "label", "kind", "notes", "best", "parameters", "occurrences", "documents", "df"):
        return ""
    return ".3f" if name in ("log_likelihood", "aic", "delta_aic", "bic", "gain", "chi_square", "repeat") else ".6g"
