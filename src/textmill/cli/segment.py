"""Cut texts where the topic changes: segments, chunks for retrieval, evaluation."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._json import json_line
from textmill.cli._options import Jobs, JsonLines
from textmill.cli._outputs import figure_option, further_output, output_option
from textmill.cli._reading import Reading, with_options
from textmill.cli._tables import Printed, warn_of_nothing

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

_CHOICES = ("segments", "auto", "clusters")
_OR = "segments, auto or clusters"
_HEADERS = {
    "table": "id\tsegment\ttokens\tbegin\tend\twords",
    "tree": "id\tsegments\ttoken\tbegin\tdissimilarity\tending\tbeginning",
}

_METHODS = "auto, lsitiling, optimal, texttiling, hearst, c99, c99-latent or probability"
_Method = Annotated[str, typer.Option(help=f"How to cut: {_METHODS}.")]
_MinTokens = Annotated[int, typer.Option(help="Smallest number of tokens of a segment.")]
_MaxTokens = Annotated[int | None, typer.Option(help="Largest number of tokens of a segment.")]
_Snap = Annotated[str, typer.Option(help="Where segments begin: sentence, paragraph, line or anywhere.")]
_ByLanguage = Annotated[bool, typer.Option("--by-language", help="Cut wherever the language changes, too.")]
_Dimensions = Annotated[
    str | None,
    typer.Option(
        help="Dimensions of the latent space of lsitiling, optimal and c99-latent: a number; for the first two also "
        "segments (as many), auto (largest gap of singular values) or clusters (as many as clusters of contexts).",
        show_default="5, segments, 20",
    ),
]
_Background = Annotated[
    Path | None,
    typer.Option(
        metavar="MODEL", help="With lsitiling: a topic model made by `textmill topics train`, for short texts."
    ),
]
_BackgroundWeight = Annotated[float, typer.Option(help="Share of the background model in the similarities, 0 to 1.")]
_References = Annotated[
    list[str], typer.Argument(metavar="REF...", help="Texts with known segments, in Choi's format: files or folders.")
]


@app.command()
@with_options
def text(
    sources: Annotated[list[str], typer.Argument(metavar="FILE...", help="Texts: files or folders, - for stdin.")],
    output: Annotated[str, output_option("The file to write; - for stdout.")] = "-",
    method: _Method = "auto",
    segments: Annotated[int | None, typer.Option(help="Number of segments; default: the method decides.")] = None,
    min_tokens: _MinTokens = 0,
    max_tokens: _MaxTokens = None,
    snap: _Snap = "sentence",
    by_language: _ByLanguage = False,
    dimensions: _Dimensions = None,
    background: _Background = None,
    background_weight: _BackgroundWeight = 0.5,
    to: Annotated[
        str,
        typer.Option(
            help="What to write: table, tree (boundaries from the weakest to the strongest), json, strings, choi, "
            "masses or marks (0 and 1 for each gap)."
        ),
    ] = "table",
    gaps: Annotated[
        bool, typer.Option("--gaps", help="With --to json: add similarity and depth of every gap.")
    ] = False,
    plot: Annotated[Path | None, figure_option("Draw the similarity across gaps, for the first text.")] = None,
    report: Annotated[Path | None, further_output("Write a page about the first text.")] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Read one text of any length in bounded memory; write its segments.")
    ] = False,
    jobs: Jobs = None,
    *,
    reading: Reading,
) -> None:
    """Print the segments of each text: where they begin and end, in characters, and the words that set them off.

    Example: textmill segment text book.txt --method lsitiling --plot book.svg
    """
    from textmill.corpus import writer
    from textmill.model import check_choice
    from textmill.progress import track
    from textmill.tasks import segmentation as task

    check_choice("to", to, [*_HEADERS, "json", "strings", "choi", "masses", "marks"])
    segmenter = _segmenter(method, dimensions, background, background_weight)
    limits: dict[str, Any] = {"min_tokens": min_tokens, "max_tokens": max_tokens}
    limits["snap"] = None if snap == "anywhere" else snap
    limits["cuts"] = _language_segmenter(by_language) or ()
    if stream:
        wished = {"--segments": segments, "--to": to != "table", "--gaps": gaps, "--plot": plot, "--report": report}
        _check_stream(wished)
    with writer(output) as out:
        if stream:
            pieces = _pieces(sources, reading)
            for string in task.segment_stream(segmenter, track(pieces, "segmenting", unit="lines"), **limits):
                out.write(json_line({"text": string}) + "\n")
            return
        whole = number = 0  # texts without a boundary, and all
        names, strings = _apart(track(_texts(sources, reading), "segmenting", unit="texts"))
        for i, cut in enumerate(segmenter.iterate(strings, n_jobs=jobs, n_segments=segments, **limits)):
            name = names.popleft()
            if i == 0:
                _draw(task, cut, name, plot, report)
                if to in _HEADERS:  # not before the first text could be read
                    out.write(_HEADERS[to] + "\n")
            out.writelines(_forms(cut, name, to, gaps))
            number, whole = i + 1, whole + (len(cut) == 1)
    if whole:
        texts = "the text" if number == 1 else f"{whole} of {number} texts"
        warn_of_nothing(f"no change of topic found in {texts}; pass --segments N, or --method probability")


@app.command()
@with_options
def chunks(
    sources: Annotated[list[str], typer.Argument(metavar="INPUT...", help="Documents: files or folders, - for stdin.")],
    output: Annotated[str, output_option("The JSONL file to write; - for stdout.")] = "-",
    max_tokens: Annotated[int, typer.Option(help="Largest number of tokens of a chunk.")] = 256,
    min_tokens: _MinTokens = 0,
    overlap: Annotated[int, typer.Option(help="Number of tokens that a chunk shares with the one before.")] = 0,
    snap: _Snap = "sentence",
    method: _Method = "auto",
    by_language: _ByLanguage = False,
    *,
    reading: Reading,
) -> None:
    """Cut documents into chunks at topic boundaries; the chunks of document x have the ids x#1, x#2, ...

    What is written can be indexed: an answer of `textmill similar query` then names the passage.

    Example: textmill segment chunks manuals/ -o chunks.jsonl --max-tokens 200
    """
    from textmill.corpus import writer
    from textmill.progress import track
    from textmill.tasks import segmentation as task

    chunker = task.Chunker(
        max_tokens=max_tokens,
        min_tokens=min_tokens,
        overlap=overlap,
        snap=None if snap == "anywhere" else snap,
        segmenter=task.segmenter_of(method),
        cuts=_language_segmenter(by_language),
    )
    documents = track(reading.documents(sources), "cutting", unit="documents")
    with writer(output) as out:
        for chunk in chunker.documents(documents):
            fields = {key: value for key, value in (chunk.fields or {}).items() if key not in ("id", "text")}
            out.write(json_line({"id": chunk.id, "text": chunk.text} | fields) + "\n")


@app.command()
def evaluate(
    references: _References,
    methods: Annotated[
        str, typer.Option("--method", metavar="NAMES", help=f"Methods, separated by commas: {_METHODS}.")
    ] = "auto,probability,c99,lsitiling,texttiling,hearst",
    number_given: Annotated[
        bool, typer.Option("--number-given", help="Tell the methods how many segments each text has.")
    ] = False,
    dimensions: _Dimensions = None,
    background: _Background = None,
    background_weight: _BackgroundWeight = 0.5,
    near: Annotated[
        int, typer.Option(help="Number of tokens by which a boundary may be off, for precision, recall and F1.")
    ] = 0,
    plot: Annotated[Path | None, figure_option("Draw the scores of all texts, best first.")] = None,
    report: Annotated[Path | None, further_output("Write a page with figures and curves.")] = None,
    encoding: Annotated[str, typer.Option(help="Encoding of the texts.")] = "utf-8",
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Print WindowDiff, P_k and precision, recall and F1 of boundaries, for methods on texts with known segments.

    Lower is better for WindowDiff and P_k; their standard deviations over texts stand beside them.

    Example: textmill segment evaluate choi/ --method c99,probability --number-given
    """
    from textmill.progress import track
    from textmill.tasks import segmentation as task

    names = [name for name in (part.strip() for part in methods.split(",")) if name]
    segmenters = {name: _segmenter(name, dimensions, background, background_weight) for name in names}
    texts = list(_references(references, encoding))
    scores = [
        task.evaluate_segmenters(
            {name: segmenters[name]}, texts, number_given=number_given, tolerance=near, n_jobs=jobs
        )[0]
        for name in track(segmenters, "scoring", unit="methods")
    ]
    if plot is not None:
        from textmill.plot import save

        save(task.draw_scores(scores), plot)
    if report is not None:
        task.scores_page(scores).write(report)
    rates = ["window_diff", "window_diff_sd", "pk", "pk_sd", "precision", "recall", "f1"]
    forms = dict.fromkeys(rates, ".3f") | {"segments": ".1f", "true_segments": ".1f"}
    table = Printed({"method": "", "texts": "", **forms}, json=json)
    for one in scores:
        table.row(**one.to_json())


def _segmenter(method: str, dimensions: str | None, background: Path | None, weight: float) -> Any:
    """The segmenter of a name, with the options that it has."""
    from textmill.cli._topic_options import load_model
    from textmill.errors import DataError
    from textmill.tasks import segmentation as task

    options: dict[str, Any] = {}
    if dimensions is not None:
        if method not in ("lsitiling", "optimal", "c99-latent"):
            raise DataError(f"--dimensions needs a latent space, which {method} has not; use lsitiling, for one")
        if not dimensions.isdecimal() and (method == "c99-latent" or dimensions not in _CHOICES):
            raise DataError(
                f"--dimensions must be a number{', ' + _OR if method != 'c99-latent' else ''}, got {dimensions!r}"
            )
        options["n_dimensions"] = int(dimensions) if dimensions.isdecimal() else dimensions
    if background is not None:
        if method != "lsitiling":
            raise DataError(f"--background is an option of lsitiling, not of {method}; add --method lsitiling")
        options |= {"background": load_model(background), "background_weight": weight}
    return task.segmenter_of(method, **options)


def _check_stream(options: dict[str, Any]) -> None:
    """Refuse what needs the whole text."""
    from textmill.errors import DataError

    for name, value in options.items():
        if value:
            raise DataError(f"{name} needs the whole text; leave it out, or --stream")


def _language_segmenter(wanted: bool) -> Any:
    """What cuts a text where its language changes, if that is wanted."""
    if not wanted:
        return None
    from textmill.tasks.language import LanguageSegmenter

    return LanguageSegmenter()


def _texts(sources: list[str], reading: Any) -> Iterator[tuple[str, str]]:
    """Names and texts; plain text on standard input is one text."""
    from textmill.corpus import read_text

    for source in sources:
        if source == "-" and reading.format is None and not reading.lines:
            yield "-", read_text("-", encoding=reading.encoding)
        else:
            for document in reading.documents([source]):
                yield document.id, document.text


def _apart(pairs: Iterable[tuple[str, str]]) -> tuple[deque[str], Iterator[str]]:
    """Names of the texts that were read so far, and the texts."""
    names: deque[str] = deque()

    def texts() -> Iterator[str]:
        for name, text in pairs:
            names.append(name)
            yield text

    return names, texts()


def _pieces(sources: list[str], reading: Any) -> Iterator[str]:
    """The lines of plain texts, one after the other, as they are; a text begins a line."""
    from textmill.corpus import open_lines

    line = ""
    for source in sources:
        if line and not line.endswith("\n"):
            yield "\n"
        for _, line in open_lines(source, encoding=reading.encoding, errors=reading.errors, keep_ends=True):
            yield line


def _draw(task: Any, cut: Any, name: str, plot: Path | None, report: Path | None) -> None:
    if plot is not None:
        from textmill.plot import save

        save(task.draw_segments(cut), plot)
    if report is not None:
        task.segments_page(cut, title=f"Segments of {name}").write(report)


def _forms(cut: Any, name: str, to: str, gaps: bool) -> Iterator[str]:
    if to == "json":
        yield json_line({"id": name} | cut.to_json(texts=True, gaps=gaps)) + "\n"
    elif to == "strings":
        yield json_line(list(cut)) + "\n"
    elif to == "choi":
        yield cut.to_choi()
    elif to == "masses":
        yield " ".join(map(str, cut.masses.tolist())) + "\n"
    elif to == "marks":
        yield cut.to_string() + "\n"
    elif to == "tree":
        label = " ".join(name.split())
        words = {token: f"{' '.join(ending)}\t{' '.join(beginning)}" for token, ending, beginning in cut.explain()}
        for i, (token, away) in enumerate(cut.tree()):
            yield f"{label}\t{len(cut) - i}\t{token}\t{cut.text.starts[token]}\t{away:.4f}\t{words[token]}\n"
    else:
        rows = zip(cut.masses.tolist(), cut.spans, cut.words() if len(cut) else [], strict=True)
        for i, (tokens, (begin, end), words) in enumerate(rows, 1):
            label = " ".join(name.split())
            yield f"{label}\t{i}\t{tokens}\t{begin}\t{end}\t{' '.join(words)}\n"


def _references(sources: list[str], encoding: str) -> Iterator[Any]:
    """Texts with known segments, from files and folders."""
    from textmill.corpus import read_choi
    from textmill.errors import DataError
    from textmill.tasks import segmentation as task

    for source in sources:
        paths = [source]
        if Path(source).is_dir():
            paths = [str(path) for path in sorted(Path(source).rglob("*")) if path.is_file()]
            if not paths:
                raise DataError(f"{source}: the folder has no files; pass files in Choi's format")
        for path in paths:
            segments = read_choi(path, encoding=encoding)
            yield task.reference_of(["\n".join(sentences) for sentences in segments])
