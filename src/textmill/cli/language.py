"""Identify languages: detect, segment mixed texts, train, evaluate, explain, edit models by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._json import json_page
from textmill.cli._options import Cluster, Jobs, Json, JsonLines, Seed, answers
from textmill.cli._outputs import further_output, output_option
from textmill.cli._reading import Reading, with_options
from textmill.cli._tables import Printed

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

_Input = Annotated[
    list[str] | None,
    typer.Argument(metavar="INPUT...", help="Files or folders; - or nothing for one text on each line of stdin."),
]
_Model = Annotated[
    Path | None,
    typer.Option("--model", metavar="FILE", help="Model to use; default: the one that comes with textmill."),
]
_ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="Model made by `textmill language train`.")]
_Languages = Annotated[
    str | None,
    typer.Option("--languages", metavar="CODES", help="Languages to choose from, such as cs,sk; default: all."),
]
_Labeled = Annotated[
    list[str],
    typer.Argument(
        metavar="TEXTS...",
        help="Texts by language: files named by their language (cs.txt), or tables with a language field.",
    ),
]
_WithoutAccents = Annotated[
    bool, typer.Option("--without-accents", help="Do not look at accents: for text that lost them.")
]
_Penalty = Annotated[float | None, typer.Option(help="Price of a change of language, of viterbi and letters.")]
_LanguageField = Annotated[str, typer.Option(help="Field that holds the language, for JSONL, CSV and TSV.")]


@app.command()
@with_options
def detect(
    data: _Input = None,
    model: _Model = None,
    languages: _Languages = None,
    without_accents: _WithoutAccents = False,
    pages: Annotated[
        bool,
        typer.Option("--pages", help="Take the text of HTML pages, each line once; a lang attribute counts as a word."),
    ] = False,
    k: Annotated[int, answers("Number of languages in the ranking of --json.")] = 5,
    *,
    reading: Reading,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Print the best language of each text, how sure that is, the languages asserted (- for unknown) and its id.

    Example: echo "Kde bydlíš?" | textmill language detect
    """
    identifier = _open(model, without_accents, jobs)
    table = Printed({"language": "", "confidence": ".3f", "languages": "", "id": ""}, json=json)
    chosen = _codes(languages)
    for chunk in _chunks(reading.documents(data or ["-"])):
        texts, hints = _texts(chunk, pages)
        said = identifier.detect_many(texts, languages=chosen, k=k, hints=hints)
        for document, answer in zip(chunk, said, strict=True):
            row: dict[str, Any] = {"language": answer.language or "und", "confidence": answer.confidence}
            row |= {"languages": ",".join(answer.languages) or "-", "id": document.id}
            if json:
                row["languages"] = list(answer.languages)
                ranked = [{"language": code, "score": s, "probability": p} for code, s, p in answer.ranking]
                row |= {"ranking": ranked, "words": answer.words, "dictionary_words": answer.dictionary_words}
            table.row(**row)


@app.command()
@with_options
def segment(
    data: _Input = None,
    model: _Model = None,
    languages: _Languages = None,
    without_accents: _WithoutAccents = False,
    method: Annotated[str, typer.Option(help="How to cut: viterbi, smoothing or letters.")] = "viterbi",
    penalty: _Penalty = None,
    only: Annotated[
        str | None, typer.Option(metavar="CODES", help="Print only the parts in these languages, as text.")
    ] = None,
    shares: Annotated[
        bool, typer.Option("--shares", help="Print the share of words in each language, the main one first.")
    ] = False,
    pages: Annotated[bool, typer.Option("--pages", help="Take the text of HTML pages, each line once.")] = False,
    report: Annotated[Path | None, further_output("Write a page with the first text in colors.")] = None,
    *,
    reading: Reading,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Print the pieces of each text: id, begin, end, language, confidence and the piece itself.

    Example: textmill language segment page.txt --only en
    """
    from textmill.tasks.language import LanguageSegmenter, language_shares, languages_page

    settings: dict[str, Any] = {} if penalty is None else {"penalty": penalty}
    identifier = _open(model, without_accents, jobs)
    wanted = identifier.check_languages(_codes(only) or [])
    segmenter = LanguageSegmenter(
        identifier=identifier, method=method, languages=_codes(languages), n_jobs=jobs, **settings
    )
    columns = {"id": "", "begin": "d", "end": "d", "language": "", "confidence": ".3f", "text": ""}
    if shares:
        if only:
            raise typer.BadParameter("prints shares, not text: leave out --only", param_hint="--shares")
        columns = {"id": "", "language": "", "share": ".4f"}
    table = None if only else Printed(columns, json=json)
    for chunk in _chunks(reading.documents(data or ["-"])):
        texts, _ = _texts(chunk, pages)
        for document, text, pieces in zip(chunk, texts, segmenter.segments_many(texts), strict=True):
            if report is not None:
                languages_page(text, pieces, f"Languages of {document.id}").write(report)
                report = None
            if table is None:
                typer.echo(
                    "".join(text[piece.begin : piece.end] for piece in pieces if piece.language in wanted).strip()
                )
                continue
            if shares:
                for code, share in language_shares(pieces).items():
                    table.row(id=document.id, language=code or "und", share=share)
                continue
            for piece in pieces:
                row = {"id": document.id, "begin": piece.begin, "end": piece.end, "confidence": piece.confidence}
                named: Any = list(piece.languages) if json else ",".join(piece.languages) or "und"
                table.row(**row, language=named, text=text[piece.begin : piece.end])


@app.command()
@with_options
def train(
    data: _Labeled,
    output: Annotated[Path, output_option("The model file to write.")],
    counts: Annotated[
        Path | None, further_output("Write the counts, too: they add, and can be taken away again.")
    ] = None,
    add: Annotated[
        list[Path] | None, typer.Option(metavar="COUNTS", help="Counts of an earlier run to add; may be repeated.")
    ] = None,
    subtract: Annotated[
        list[Path] | None, typer.Option(metavar="COUNTS", help="Counts to take away; may be repeated.")
    ] = None,
    word_lists: Annotated[
        list[Path] | None,
        typer.Option(
            "--word-list", metavar="FILE", help="Words and counts, in files named by language; may be repeated."
        ),
    ] = None,
    others: Annotated[
        list[str] | None,
        typer.Option("--others", metavar="TEXTS", help="Texts by language that are to be refused; may be repeated."),
    ] = None,
    language_field: _LanguageField = "language",
    alpha: Annotated[float, typer.Option(help="Share of the background in each language.")] = 0.1,
    background: Annotated[
        str, typer.Option(help="Background: balanced, union of all texts, or a file of counts.")
    ] = "balanced",
    evidence: Annotated[str, typer.Option(help="Evidence that counts: positive or all.")] = "positive",
    min_count: Annotated[
        int | None,
        typer.Option(min=0, help="Leave out words that occur less often; default: one more with each million words."),
    ] = None,
    min_relevance: Annotated[float, typer.Option(help="Leave out relevances below this.")] = 0.0,
    order: Annotated[int, typer.Option(min=0, help="Letters of n-grams for unknown words; 0: none.")] = 4,
    without_accents: Annotated[bool, typer.Option("--without-accents", help="Learn words without accents.")] = False,
    beta: Annotated[float, typer.Option(help="Weight of recall in F, by which thresholds are tuned.")] = 1.0,
    held_out: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the texts kept apart to tune thresholds by.")
    ] = 0.1,
    decoys: Annotated[
        str | None, typer.Option(metavar="CODES", help="Languages to know but never to answer, such as pt,nl.")
    ] = None,
    compact: Annotated[bool, typer.Option("--compact", help="Write relevances as bytes: a smaller file.")] = False,
    *,
    reading: Reading,
    cluster: Cluster = None,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Train a model on texts by language.

    Example: textmill language train cs.txt sk.txt en.txt -o mine.mill
    """
    from textmill.readable import counted
    from textmill.tasks.language import LanguageIdentifier, read_word_lists, train_identifier

    identifier = LanguageIdentifier(
        alpha=alpha,
        background=_background(background),
        evidence=evidence,
        min_count=min_count,
        min_relevance=min_relevance,
        order=order,
        accents="strip" if without_accents else "keep",
        beta=beta,
        held_out=held_out,
        decoys=_codes(decoys) or (),
        compact=compact,
        n_jobs=jobs,
    )
    texts, labels = _labeled(data, reading, language_field)
    listed = read_word_lists(word_lists or (), accents=identifier.accents, encoding=reading.encoding)
    total = train_identifier(
        identifier, texts, labels, add=add or (), subtract=subtract or (), more=listed,
        others=_labeled(others, reading, language_field) if others else ((), ()), cluster=cluster,
    )  # fmt: skip
    identifier.save(output)
    if counts is not None:
        total.save(counts)
    facts = {
        "languages": identifier.classes_.tolist(),
        "texts": len(texts),
        "words": len(identifier.words()),
        "thresholds": dict(zip(identifier.classes_.tolist(), identifier.thresholds_.tolist(), strict=True)),
    }
    if json:
        typer.echo(json_page(facts))
    else:
        size = counted(len(facts["words"]) if isinstance(facts["words"], list) else facts["words"], "words")
        typer.echo(f"{counted(len(texts), 'texts')} in {counted(len(identifier.classes_), 'languages')}, {size}")


@app.command()
@with_options
def evaluate(
    data: _Labeled,
    model: _Model = None,
    languages: _Languages = None,
    without_accents: _WithoutAccents = False,
    language_field: _LanguageField = "language",
    tokens: Annotated[
        bool, typer.Option("--segments", help="Cut documents put together from the texts, and count words.")
    ] = False,
    documents: Annotated[int, typer.Option(min=1, help="Number of documents of --segments.")] = 1000,
    method: Annotated[str, typer.Option(help="How to cut: viterbi, smoothing or letters.")] = "viterbi",
    penalty: _Penalty = None,
    beta: Annotated[float, typer.Option(help="Weight of recall in F.")] = 1.0,
    confusion: Annotated[
        bool, typer.Option("--confusion", help="Print how often each language was taken for each other.")
    ] = False,
    *,
    reading: Reading,
    seed: Seed = 0,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Compare answers with the languages of texts: accuracy, precision and recall by language and length.

    Example: textmill language evaluate cs.txt sk.txt --languages cs,sk
    """
    from textmill.tasks.language import (
        LanguageSegmenter,
        build_documents,
        describe_evaluation,
        evaluate_languages,
        evaluate_segments,
    )  # fmt: skip

    identifier = _open(model, without_accents, jobs)
    texts, labels = _labeled(data, reading, language_field)
    chosen = _codes(languages)
    if tokens:
        by_language: dict[str, list[str]] = {}
        for text, label in zip(texts, labels, strict=True):
            by_language.setdefault(label, []).append(text)
        settings: dict[str, Any] = {} if penalty is None else {"penalty": penalty}
        cut = LanguageSegmenter(identifier=identifier, method=method, languages=chosen, n_jobs=jobs, **settings)
        counts = evaluate_segments(cut, build_documents(by_language, k=documents, random_state=seed))
        whole = counts.single_whole / counts.single if counts.single else 0.0
        figures = {"words": counts.words, "accuracy": counts.accuracy, "accuracy_inside": counts.accuracy_inside}
        figures |= {"off_by_one": counts.off_by_one, "single_whole": whole}
        typer.echo(json_page(figures) if json else "\n".join(f"{name}\t{value:.6g}" for name, value in figures.items()))
        return
    result = evaluate_languages(identifier, texts, labels, only=chosen)
    facts = describe_evaluation(identifier, result, beta=beta)
    if json:
        typer.echo(json_page(facts))
        return
    typer.echo(f"accuracy of the best language {result.accuracy:.4f}, {len(texts)} texts, "
               f"{facts['megabytes_per_second']:.1f} MB/s, {facts['texts_per_second']:.0f} texts/s, "
               f"model of {facts['model_megabytes']:.1f} MB")  # fmt: skip
    table = Printed({"texts": "", "language": "", "precision": ".4f", "recall": ".4f", f"f{beta:g}": ".4f"})
    for name, part in facts["sets"].items():
        rows = {**part["languages"], "macro": part["macro"], "micro": part["micro"]}
        for code, own in rows.items():
            if name == "all" or code in ("macro", "micro"):
                table.row(texts=name, language=code, precision=own["precision"], recall=own["recall"],
                          **{f"f{beta:g}": own["f"]})  # fmt: skip
    typer.echo("# accuracy is of the best language of each text; precision and recall count the languages asserted, "
               "of which a text may have none or several")  # fmt: skip
    if confusion:
        pairs = Printed({"language": "", "answer": "", "texts": "d"})
        for language, answers_to in facts["confusion"].items():
            for code, number in answers_to.items():
                pairs.row(language=language, answer=code, texts=number)


@app.command()
def explain(
    text: Annotated[str, typer.Argument(help="Text to explain, - for stdin.")],
    model: _Model = None,
    languages: _Languages = None,
    without_accents: _WithoutAccents = False,
    k: Annotated[int, answers("Number of languages shown for each word.")] = 3,
    json: Json = False,
) -> None:
    """Print what each word of a text says, and the words without which the answer would change.

    Example: textmill language explain "Kde bydlíš, když jsi doma?" --languages cs,sk
    """
    import sys

    identifier = _open(model, without_accents, None)
    content = sys.stdin.read() if text == "-" else text
    chosen = _codes(languages)
    evidence = identifier.explain(content, languages=chosen)
    answer = identifier.detect(content, languages=chosen)
    leading = identifier.flipping_words(content, languages=chosen)
    if json:
        words = [
            {"word": e.word, "begin": e.begin, "end": e.end, "source": e.source, "relevance": e.relevance}
            for e in evidence
        ]
        lead = [{"word": word, "lead": value} for word, value in leading]
        typer.echo(json_page({"language": answer.language, "languages": list(answer.languages), "words": words,
                              "leading": lead}))  # fmt: skip
        return
    table = Printed({"word": "", "source": "", "relevance": ""})
    for word in evidence:
        shown = " ".join(f"{code}:{value:+.2f}" for code, value in list(word.relevance.items())[:k])
        table.row(word=word.word, source=word.source, relevance=shown or "-")
    table.header()
    typer.echo(
        f"best {answer.language or 'und'} ({answer.confidence:.3f}); asserted {','.join(answer.languages) or '-'}"
    )
    if leading:
        typer.echo("leading words: " + ", ".join(f"{word} {value:+.2f}" for word, value in leading))


@app.command()
def edit(
    model: _ModelFile,
    output: Annotated[Path, output_option("The model file to write.")],
    patch: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Changes, one on each line: word, language, relevance, with tabs."),
    ] = None,
    change: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="WORD:LANGUAGE=RELEVANCE", help="One change; - for the relevance takes it away."),
    ] = None,
    black_list: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Words that speak for no language, one on each line.")
    ] = None,
    white_list: Annotated[
        list[str] | None,
        typer.Option(metavar="LANGUAGE=FILE", help="Words that speak for this language alone; may be repeated."),
    ] = None,
    languages: Annotated[
        str | None, typer.Option(metavar="CODES", help="Keep only these languages: a smaller model.")
    ] = None,
) -> None:
    """Change words of a model by hand.

    Example: textmill language edit mine.mill --set ahoj:cs=2.0 -o edited.mill
    """
    from textmill.corpus import open_lines
    from textmill.readable import counted
    from textmill.tasks.language import apply_patch, diff_models, with_lists

    before = _open(model, False, None)
    after = before
    if patch is not None:
        after = apply_patch(after, (line for _, line in open_lines(patch)), source=str(patch))
    if change:
        after = apply_patch(after, [_change(text) for text in change], source="--set")
    if black_list is not None or white_list:
        white = {code: _lines(Path(file)) for code, _, file in (text.partition("=") for text in white_list or [])}
        after = with_lists(after, white=white, black=_lines(black_list) if black_list is not None else ())
    if languages is not None:
        after = after.select(_codes(languages) or [])
    after.save(output)
    typer.echo(f"{counted(sum(1 for _ in diff_models(before, after)), 'relevances')} changed")


@app.command()
def diff(
    before: Annotated[Path, typer.Argument(help="The one model.")],
    after: Annotated[Path, typer.Argument(help="The other model.")],
    patch: Annotated[
        bool, typer.Option("--patch", help="Print a patch for `edit` that turns the one into the other.")
    ] = False,
    json: JsonLines = False,
) -> None:
    """Print words whose relevance differs between two models.

    Example: textmill language diff mine.mill edited.mill --patch
    """
    from textmill.tasks.language import diff_models, patch_lines

    left = _open(before, False, None)
    changes = diff_models(left, _open(after, False, None))
    if patch:
        for line in patch_lines(changes, left):
            typer.echo(line)
        return
    table = Printed({"word": "", "language": "", "before": ".4f", "after": ".4f"}, json=json)
    for change in changes:
        table.row(word=change.word, language=change.language, before=change.before, after=change.after)


@app.command()
def dump(
    model: _Model = None,
    language: Annotated[str | None, typer.Option(help="Words of this language only.")] = None,
) -> None:
    """Print the dictionary of a model: word, language, relevance.

    Example: textmill language dump --language gd
    """
    from textmill.tasks.language import dump_lines

    for line in dump_lines(_open(model, False, None), language=language):
        typer.echo(line)


@app.command("list")
def list_languages(model: _Model = None, json: Json = False) -> None:
    """Print the languages of a model with their thresholds, scripts and whether they are decoys.

    Example: textmill language list
    """
    from textmill.tasks.language import describe_languages

    rows = describe_languages(_open(model, False, None))
    table = Printed({"language": "", "threshold": ".3f", "scripts": "", "words": "d", "decoy": ""}, json=json)
    for row in rows:
        table.row(**row)
    if not json:
        identifier = _open(model, False, None)
        for source in identifier.sources_:
            typer.echo(f"# {source}")


def _open(model: Path | None, without_accents: bool, jobs: int | None) -> Any:
    from textmill.model import load
    from textmill.tasks.language import LanguageIdentifier

    identifier = LanguageIdentifier.bundled() if model is None else load(model, expect=LanguageIdentifier)
    identifier.n_jobs = jobs
    return identifier.without_accents() if without_accents else identifier


def _codes(text: str | None) -> list[str] | None:
    return None if text is None else [code.strip() for code in text.split(",") if code.strip()]


def _texts(documents: list[Any], pages: bool) -> tuple[list[str], list[str | None]]:
    """Texts, and the languages that pages say they are in."""
    if not pages:
        return [document.text for document in documents], [None] * len(documents)
    from textmill.tasks.language import page_text

    texts: list[str] = []
    hints: list[str | None] = []
    for document in documents:
        text, code = page_text(document.text)
        if code is None and document.line is None:  # a file of HTML, whose reader keeps the attribute
            code = str(document.fields.get("language", "")).split("-")[0].lower() or None
        texts.append(text)
        hints.append(code)
    return texts, hints


def _chunks(documents: Any) -> Any:
    from itertools import islice

    stream = iter(documents)
    while chunk := list(islice(stream, 2_000)):
        yield chunk


def _labeled(data: list[str], reading: Reading, language_field: str) -> tuple[list[str], list[str]]:
    from textmill.tasks.language import read_labeled

    return read_labeled(
        data, language_field=language_field, text_field=reading.text_field, format=reading.format,
        delimiter={"tab": "\t", "\\t": "\t"}.get(reading.delimiter, reading.delimiter), encoding=reading.encoding,
        errors=reading.errors,
    )  # fmt: skip


def _background(text: str) -> Any:
    if text in ("balanced", "union"):
        return text
    from textmill.model import load
    from textmill.tasks.language import LanguageCounts

    return load(text, expect=LanguageCounts)


def _change(text: str) -> str:
    from textmill.errors import DataError

    word, colon, rest = text.rpartition(":")
    language, equals, relevance = rest.partition("=")
    if not colon or not equals:
        raise DataError(f"--set must be WORD:LANGUAGE=RELEVANCE, got {text!r}")
    return f"{word}\t{language}\t{relevance}"


def _lines(path: Path) -> list[str]:
    from textmill.corpus import open_lines

    return [line.strip() for _, line in open_lines(path) if line.strip()]
