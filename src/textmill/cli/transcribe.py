"""Transliterate names into another script, and transcribe letters into sounds or readings into kanji.

Fewer errors than `textmill pronounce` in most languages; that trains in seconds, and its models are small.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._json import json_line
from textmill.cli._lines import check_words, read_lines, record_fields
from textmill.cli._options import Errors, Jobs, Json, JsonLines, Seed, TextField, answers
from textmill.cli._outputs import figure_option, further_output, output_option
from textmill.cli._tables import Printed

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

_PAIRS = "Words and outputs, one pair per line: word, tab, output, or XML of the shared tasks (.xml); - for stdin."
_PairFile = Annotated[str, typer.Argument(metavar="PAIRS", help=_PAIRS)]
_Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model made by `textmill transcribe train`.")]
_Outputs = Annotated[
    str | None, typer.Option(help="Symbols of outputs: characters or words; default: words where there are blanks.")
]


@app.command()
def train(
    pairs: _PairFile,
    output: Annotated[Path, output_option("The model file to write.")],
    dev: Annotated[str | None, typer.Option(metavar="FILE", help="Pairs to choose settings by.")] = None,
    search: Annotated[
        bool,
        typer.Option(
            "--search/--no-search",
            help="Choose and join models by --dev, or by words kept apart; without, training is much faster.",
        ),
    ] = True,
    script: Annotated[
        str | None,
        typer.Option(help="Script of the outputs: hangul, devanagari, tamil, kannada, katakana; default: try."),
    ] = None,
    form: Annotated[str | None, typer.Option(help="Unicode form of the words: NFC or NFD; default: try both.")] = None,
    order: Annotated[int, typer.Option(help="Longest n-gram, with --no-search.")] = 6,
    extra: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Further pairs to train on; may be repeated.")
    ] = None,
    dictionary: Annotated[
        str | None, typer.Option(metavar="FILE", help="Pairs to look words up in before the model is asked.")
    ] = None,
    promote: Annotated[
        str | None, typer.Option(metavar="FILE", help="Pairs whose outputs go to the top of the ten best.")
    ] = None,
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Answer training words from memory.")] = True,
    held_out: Annotated[
        float, typer.Option(metavar="SHARE", help="Share kept apart to choose by, without --dev.")
    ] = 0.1,
    refit: Annotated[bool, typer.Option("--refit", help="At the end train on --dev, too.")] = False,
    outputs: _Outputs = None,
    errors: Errors = "strict",
    seed: Seed = 0,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Train on pairs of words and outputs; print what was chosen and why.

    Example: textmill transcribe train names.tsv --dev dev.tsv -o names.mill
    """
    from textmill.errors import DataError
    from textmill.tasks.transcription import Transcriber

    if dictionary is not None and promote is not None:
        raise DataError("--dictionary answers words and --promote only ranks their outputs; pass one of them")
    own = _read(pairs, outputs, errors)
    symbols = outputs or ("characters" if all(isinstance(one, str) for one in own.outputs) else "words")
    apart = None if dev is None else _read(dev, symbols, errors)
    added = [pair for path in extra or [] for pair in _rows(_read(path, symbols, errors))]
    looked_up = dictionary or promote
    model = Transcriber(
        search=search,
        script=script,
        form=form,
        order=order,
        cache=cache,
        dictionary_use="promote" if promote is not None else "look-up",
        held_out=held_out,
        refit=True if refit else None,
        random_state=seed,
        n_jobs=jobs,
    )
    model.fit(
        own.words,
        own.outputs,
        None if apart is None else apart.words,
        None if apart is None else apart.outputs,
        extra=added,
        dictionary=[] if looked_up is None else _rows(_read(looked_up, symbols, errors)),
    )
    model.save(output)
    kind = model.run_kind
    if json:
        facts = {"pairs": len(own.words), "extra": len(added), "run": kind, "overlap": model.overlap_}
        typer.echo(json_line({**facts, "unaligned": model.unaligned_, "choices": model.choices_, "parts": model.plan_}))
        return
    _print_choices(model)
    if model.unaligned_:
        typer.echo(f"{len(model.unaligned_)} pairs have no alignment: {_some(model.unaligned_)}", err=True)
    typer.echo(f"{output}: {len(own.words)} pairs, {len(added)} extra, {kind} run, {len(model.plan_)} parts")


@app.command("apply")
def apply_model(
    model: _Model,
    words: Annotated[str, typer.Argument(metavar="WORDS", help="Words, one per line; - for stdin.")] = "-",
    output: Annotated[
        str, output_option("The file to write; - for stdout; .xml for results of the shared tasks.")
    ] = "-",
    k: Annotated[int, answers("Number of outputs per word.")] = 1,
    scores: Annotated[bool, typer.Option("--scores", help="Add probability and source of each output.")] = False,
    alignment: Annotated[bool, typer.Option("--alignment", help="Add the best alignment.")] = False,
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Answer training words from memory.")] = True,
    source_language: Annotated[str, typer.Option(help="For XML.")] = "Source",
    target_language: Annotated[str, typer.Option(help="For XML.")] = "Target",
    text_field: TextField = None,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Transcribe words, one line per output: word, tab, output.

    The text of a record of JSONL, CSV or Parquet is one word; the record is written as a line of JSON with its outputs.

    Example: textmill transcribe apply names.mill words.txt -k 3 --scores
    """
    from textmill.corpus import writer
    from textmill.tasks.transcription import write_results

    transcriber = _load(model, jobs)
    documents = [document for document in read_lines(words, text_field) if _word_of(document)]
    for _ in check_words(documents, transcriber.letters_.to_list()):
        pass
    inputs = [_word_of(document) for document in documents]
    best = transcriber.predict_best(inputs, k, cached=cache)
    if output.endswith(".xml"):
        rows = [[one.output for one in row] for row in best]
        write_results(
            inputs,
            rows,
            output,
            source_language=source_language,
            target_language=target_language,
            kind=transcriber.run_kind,
        )
        return
    with writer(output) as out:
        for document, word, row in zip(documents, inputs, best, strict=True):
            if json or not document.plain:
                entries = [
                    {
                        "output": one.output,
                        "probability": one.probability,
                        "source": one.source,
                        "alignment": None if one.alignment is None else one.alignment.text(),
                    }
                    for one in row
                ]
                facts = {"word": word} if document.plain else record_fields(document)
                out.write(json_line({**facts, "outputs": entries}) + "\n")
                continue
            for one in row:
                fields = [word, _text(one.output)]
                if scores:
                    fields += [f"{one.probability:.6f}", one.source]
                if alignment:
                    fields.append("-" if one.alignment is None else one.alignment.text())
                out.write("\t".join(fields) + "\n")
            if not row:
                out.write(f"{word}\t\n")


@app.command()
def evaluate(
    model: _Model,
    pairs: _PairFile,
    k: Annotated[int, answers("Number of outputs per word that are looked at.")] = 10,
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Answer training words from memory.")] = False,
    report: Annotated[str | None, further_output("Also write a line for each word: rank, outputs, right ones.")] = None,
    outputs: _Outputs = None,
    errors: Errors = "strict",
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Score a model on pairs: accuracy, F, MRR, MAP, word and symbol error, and what of the test it had seen.

    Example: textmill transcribe evaluate names.mill test.tsv --report words.tsv
    """
    from textmill.corpus import writer
    from textmill.tasks.transcription import evaluate_transcriptions

    transcriber = _load(model, jobs)
    words, references = _read(pairs, outputs, errors, like=transcriber).references()
    best = transcriber.predict_best(words, k, cached=cache)
    candidates = [[one.output for one in row] for row in best]
    scores = evaluate_transcriptions(candidates, [list(right) for right in references])
    leaks = transcriber.cached_in(words)
    interval = scores.interval()
    if report is not None:
        with writer(report) as out:
            out.write("word\trank\tright\toutputs\n")
            for word, row, right, rank in zip(words, candidates, references, scores.rank.tolist(), strict=True):
                good = " | ".join(sorted(_text(one) for one in right))
                out.write(f"{word}\t{rank or '-'}\t{good}\t{' | '.join(map(_text, row))}\n")
    facts = {**scores.to_json(), "interval": [interval.low, interval.high], "in_cache": leaks, "cache": cache}
    if json:
        typer.echo(json_line(facts))
        return
    table = Printed({"figure": "", "value": ".4f"})
    for name, value in scores.to_json().items():
        table.row(figure=name, value=value)
    typer.echo(f"# accuracy lies in [{interval.low:.4f}, {interval.high:.4f}]  {interval.signature}")
    seen = ", ".join(f"{source} {count}" for source, count in leaks.items())
    typer.echo(f"# of {len(words)} words the model remembers: {seen}; they were answered {_from(cache)}")


@app.command()
def kanji(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model of kanji; with --train, the file to write.")],
    readings: Annotated[
        str | None,
        typer.Argument(metavar="[READINGS]", help="Romanized names, one per line, with a tab and right kanji or not."),
    ] = None,
    train_on: Annotated[
        str | None, typer.Option("--train", metavar="FILE", help="Readings and names in kanji to train on.")
    ] = None,
    names: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Further names in kanji, one per line, to train on.")
    ] = None,
    promote: Annotated[
        str | None, typer.Option(metavar="FILE", help="Readings and names; these go to the top of the ten best.")
    ] = None,
    k: Annotated[int, answers("Number of names per reading.")] = 1,
    scores: Annotated[bool, typer.Option("--scores", help="Add the probability of each name.")] = False,
    alignment: Annotated[bool, typer.Option("--alignment", help="Add which kanji is read as what.")] = False,
    errors: Errors = "strict",
    jobs: Jobs = None,
) -> None:
    """Write romanized Japanese names in kanji; with --train, learn it first.

    Example: textmill transcribe kanji kanji.mill readings.txt --train names.tsv -k 3
    """
    from textmill.corpus import open_lines
    from textmill.model import load
    from textmill.tasks.transcription import KanjiRestorer

    if train_on is not None:
        pairs = _read(train_on, "characters", errors)
        more = [] if names is None else [line.strip() for _, line in open_lines(names) if line.strip()]
        restorer = KanjiRestorer(n_jobs=jobs).fit(pairs.words, pairs.outputs, names=more)
        restorer.save(model)
        typer.echo(f"{model}: {len(pairs.words)} pairs, {restorer.skipped_} of them skipped", err=True)
    if readings is None:
        return
    restorer = load(model, expect=KanjiRestorer).set_params(n_jobs=jobs)
    rows = [line.rstrip().split("\t") for _, line in open_lines(readings) if line.strip()]
    dictionary: dict[str, list[str]] = {}
    for reading, name in [] if promote is None else _rows(_read(promote, "characters", errors)):
        dictionary.setdefault(reading, []).append(name)
    best = restorer.predict_best([row[0] for row in rows], k, dictionary=dictionary)
    for row, candidates in zip(rows, best, strict=True):
        for one in candidates:
            fields = [row[0], str(one.output)]
            fields += [f"{one.probability:.6f}"] if scores else []
            fields += [one.alignment.text()] if alignment else []
            typer.echo("\t".join(fields))
        if not candidates:
            typer.echo(f"{row[0]}\t")
    right = [(row[1], list(some)) for row, some in zip(rows, best, strict=True) if len(row) > 1]
    if right:
        hits = sum(bool(some) and some[0].output == name for name, some in right)
        typer.echo(f"accuracy {hits / len(right):.4f} of {len(right)} names", err=True)


@app.command()
def show(
    model: _Model,
    word: Annotated[
        str | None, typer.Argument(metavar="[WORD]", help="Word to explain; without it, the model.")
    ] = None,
    k: Annotated[int, answers("Number of outputs to show.")] = 5,
    plot: Annotated[Path | None, figure_option("Draw which letters are written as which symbols.")] = None,
    json: Json = False,
) -> None:
    """Show what a model was chosen by and is made of, or the best outputs of one word with alignments.

    Example: textmill transcribe show names.mill phoenix -k 3
    """
    transcriber = _load(model, None)
    if plot is not None:
        from textmill.plot import save
        from textmill.tasks.transcription import letter_table

        save(letter_table(transcriber).plot(), plot)
    if word is None:
        if json:
            typer.echo(json_line({"choices": transcriber.choices_, "parts": transcriber.plan_}))
        else:
            _print_choices(transcriber)
        return
    best = transcriber.predict_best([word], k, cached=False)[0]
    for number, one in enumerate(best):
        text = None if one.alignment is None else one.alignment.text()
        if json:
            typer.echo(json_line({"output": one.output, "probability": one.probability, "alignment": text}))
        else:
            typer.echo(("\n" if number else "") + f"{_text(one.output)}\tp {one.probability:.4f}")
            typer.echo(f"{one.alignment}")


@app.command()
def sample(
    output: Annotated[str, output_option("The file to write; - for stdout.")] = "-",
    in_kanji: Annotated[bool, typer.Option("--kanji", help="Write names in kanji; default: in katakana.")] = False,
) -> None:
    """Write Japanese names in letters and in katakana, to try the other commands with.

    Example: textmill transcribe sample -o names.tsv
    """
    from textmill.corpus import writer
    from textmill.tasks.transcription import sample_kanji, sample_names

    with writer(output) as out:
        for word, name in zip(*(sample_kanji() if in_kanji else sample_names()), strict=True):
            out.write(f"{word}\t{name}\n")


def _print_choices(model: Any) -> None:
    for choice in model.choices_:
        typer.echo(f"{choice['what']}: {choice['chosen']}")
        for name, value in sorted(choice["errors"].items(), key=lambda item: item[1]):
            typer.echo(f"  {100 * value:6.2f} % word error  {name}")
    for part in model.plan_:
        typer.echo(
            f"part {part['name']}: weight {part['weight']:.3f}, words in {part['form']}, outputs {part['notation']}"
        )


def _read(source: str, outputs: str | None, errors: str, *, like: Any = None) -> Any:
    from textmill.tasks.transcription import Pairs, read_transcriptions

    pairs = read_transcriptions(source, outputs=outputs, errors=errors)
    if like is None or like.text_output_ == all(isinstance(one, str) for one in pairs.outputs):
        return pairs
    if like.text_output_:
        return Pairs(pairs.words, ["".join(one) for one in pairs.outputs])
    return Pairs(pairs.words, [[one] if isinstance(one, str) else one for one in pairs.outputs])


def _word_of(document: Any) -> str:
    """The word of a line, before a tab, or of a record."""
    text: str = document.text
    return text.split("\t")[0].strip()


def _rows(pairs: Any) -> list[tuple[Any, Any]]:
    return list(zip(pairs.words, pairs.outputs, strict=True))


def _text(output: Any) -> str:
    return output if isinstance(output, str) else " ".join(output)


def _some(numbers: list[int]) -> str:
    shown = ", ".join(str(number + 1) for number in numbers[:10])
    return f"pairs {shown}" + (", ..." if len(numbers) > 10 else "")


def _from(cache: bool) -> str:
    return "from there" if cache else "by the model all the same"


def _load(path: Path, jobs: int | None) -> Any:
    from textmill.model import load
    from textmill.tasks.transcription import Transcriber

    return load(path, expect=Transcriber).set_params(n_jobs=jobs)
