"""Pronounce words (grapheme-to-phoneme): learn a small model from a word list, apply it, look inside.

`textmill transcribe` trains longer and makes fewer errors in most languages.
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

_LEXICON = "Word, tab, phonemes separated by blanks; or CMUdict's format. - for stdin."
_Lexicon = Annotated[str, typer.Argument(metavar="LEXICON", help=_LEXICON)]
_Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model made by `textmill pronounce train`.")]
_Format = Annotated[str, typer.Option("--format", help="Format of lexicons: auto, tsv or cmudict.")]
_Stress = Annotated[bool, typer.Option("--stress/--no-stress", help="Keep or drop the stress marks of CMUdict.")]
_Rules = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Rules 'letters -> phonemes / left _ right', or pairs in two columns."),
]
_Context = Annotated[int | None, typer.Option(help="Letters at each side of a letter; default: chosen from 1 to 5.")]
_Alignment = Annotated[str, typer.Option(help="How letters and phonemes are aligned: bag, em, bigram or trigram.")]
_Weights = Annotated[
    str | None,
    typer.Option(metavar="R,L,U", help="Weights of rules, lexicon and uniform distribution; default: chosen."),
]


@app.command()
def train(
    lexicon: _Lexicon,
    output: Annotated[Path, output_option("The model file to write.")],
    dev: Annotated[
        str | None, typer.Option(metavar="LEXICON", help="Further words to make choices on, besides cross-validation.")
    ] = None,
    rules: _Rules = None,
    context: _Context = None,
    alignment: _Alignment = "em",
    weights: _Weights = None,
    rounds: Annotated[int, typer.Option(help="Rounds of re-alignment by trees at most.")] = 0,
    exceptions: Annotated[
        bool, typer.Option("--exceptions", help="Keep words that the tree gets wrong, with their pronunciations.")
    ] = False,
    insertions: Annotated[int, typer.Option(min=0, help="Phonemes between two letters at most; 0 for any number.")] = 1,
    units: Annotated[str, typer.Option(help="Letters are codepoints or clusters.")] = "codepoints",
    form: Annotated[str, typer.Option(help="Unicode form: auto, NFC, NFD, NFKC, NFKD or none.")] = "auto",
    fold: Annotated[bool, typer.Option("--fold", help="Ignore case.")] = False,
    min_cases: Annotated[float, typer.Option(help="Cases that two branches of a split need.")] = 2,
    confidence: Annotated[float, typer.Option(help="Confidence of pruning; smaller prunes more, 1 not at all.")] = 0.25,
    subsets: Annotated[
        bool, typer.Option("--subsets/--no-subsets", help="Split letters in groups, or one by one.")
    ] = True,
    format: _Format = "auto",  # noqa: A002
    stress: _Stress = True,
    errors: Errors = "strict",
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Train a model on words with pronunciations.

    Example: textmill pronounce train french.tsv -o french.mill
    """
    from textmill.errors import DataError
    from textmill.readable import counted
    from textmill.tasks.pronunciation import PronunciationModel, find_overlap, group_entries, model_size, read_rules

    entries = _read(lexicon, format, stress, errors)
    if len(entries) == 1:
        raise DataError(f"{entries[0].word!r} is the only word; a model learns from many, one per line", source=lexicon)
    apart = None if dev is None else _read(dev, format, stress, errors)
    if apart is not None:
        both = find_overlap(entries, apart)
        if both:
            typer.echo(f"{dev}: {counted(len(both), 'words')} are in {lexicon}, too, such as {both[0]}", err=True)
    model = PronunciationModel(
        context=context,
        alignment=alignment,
        weights=_weights(weights),
        max_insertions_per_gap=insertions or None,
        rounds=rounds,
        exceptions=exceptions,
        units=units,
        form=form,
        fold=fold,
        min_cases=min_cases,
        confidence=None if confidence >= 1 else confidence,
        subsets=subsets,
        n_jobs=jobs,
    )
    model.fit(
        [entry.word for entry in entries],
        [entry.phonemes for entry in entries],
        rules=[] if rules is None else read_rules(rules),
        X_dev=None if apart is None else [entry.word for entry in apart],
        y_dev=None if apart is None else [entry.phonemes for entry in apart],
    )
    model.save(output)
    of_words = group_entries(entries)
    facts: dict[str, Any] = {
        "entries": len(entries),
        "repeated": len(entries) - sum(map(len, of_words.values())),
        "several": sum(len(own) > 1 for own in of_words.values()),
        "unaligned": model.unaligned_.to_list(),
        "letters": len(model.letters_),
        "sounds": len(model.sounds_) - 1,
        "context": model.context_,
        "weights": model.weights_.tolist(),
        "form": model.form_,
        "nodes": model.tree_.n_nodes_,
        "exceptions": len(model.exception_words_),
        "errors_by_round": model.trace_.tolist(),
        "bytes": model_size(model),
    }
    if json:
        typer.echo(json_line(facts))
        return
    sizes = f"{counted(facts['entries'], 'entries')}, {facts['letters']} letters, {facts['sounds']} phonemes"
    chosen = f"context {model.context_}, weights {','.join(f'{w:g}' for w in facts['weights'])}"
    typer.echo(f"{output}: {sizes}; {chosen}; {facts['nodes']} nodes, {facts['bytes'] / 1000:.1f} kB")
    if facts["repeated"] or facts["several"]:
        typer.echo(f"{facts['repeated']} entries are repeated; {facts['several']} words have several pronunciations")
    if len(model.exception_words_):
        typer.echo(f"{counted(len(model.exception_words_), 'exceptions')} kept")
    for step, share in enumerate(facts["errors_by_round"]):
        typer.echo(f"round {step}: {100 * share:.2f} % of words wrong out of fold")


@app.command()
def apply(
    model: _Model,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[WORDS]...", help="Files with one word per line; - for stdin.")
    ] = None,
    k: Annotated[int, answers("Number of pronunciations of each word.")] = 1,
    scores: Annotated[bool, typer.Option("--scores", help="Add probabilities.")] = False,
    alignment: Annotated[bool, typer.Option("--alignment", help="Show which letter gave which phoneme.")] = False,
    output: Annotated[str, output_option("The file to write; - for stdout.")] = "-",
    text_field: TextField = None,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Pronounce words, one per line: word, tab, phonemes.

    The text of a record of JSONL, CSV or Parquet is one word; the record is written as a line of JSON with phonemes.

    Example: echo texte | textmill pronounce apply french.mill -
    """
    from textmill.corpus import writer

    pronouncer = _load(model, jobs)
    with writer(output) as file:
        for source in words or ["-"]:
            batch: list[Any] = []
            for document in check_words(read_lines(source, text_field), pronouncer.letters_.to_list()):
                batch.append(document)
                if len(batch) == _BATCH:
                    _say(pronouncer, batch, k, scores, alignment, json, file)
                    batch = []
            _say(pronouncer, batch, k, scores, alignment, json, file)


@app.command()
def evaluate(
    model: _Model,
    lexicon: _Lexicon,
    intervals: Annotated[bool, typer.Option("--intervals", help="Add a 95 % bootstrap interval over words.")] = False,
    show_errors: Annotated[bool, typer.Option("--show-errors", help="Add errors by letter and its neighbors.")] = False,
    neighbors: Annotated[int, typer.Option(min=0, help="Letters at each side in --show-errors and --plot.")] = 1,
    k: Annotated[int, answers("Number of rows of --show-errors.")] = 10,
    plot: Annotated[Path | None, figure_option("Draw the letters, with neighbors, that have most errors.")] = None,
    format: _Format = "auto",  # noqa: A002
    stress: _Stress = True,
    errors: Errors = "strict",
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Compare a model with a lexicon: words, phonemes, positions. Of several pronunciations of a word any counts.

    Example: textmill pronounce evaluate french.mill test.tsv --show-errors
    """
    from textmill.errors import DataError
    from textmill.plot import save
    from textmill.tasks.pronunciation import context_errors, evaluate_pronunciations, model_size, word_interval

    pronouncer = _load(model, jobs)
    entries = _read(lexicon, format, stress, errors)
    sounds = set(pronouncer.sounds_.to_list())
    said = [phoneme for entry in entries for phoneme in entry.phonemes]
    if 2 * sum(phoneme in sounds for phoneme in said) < len(said):
        fault = "fewer than half of the phonemes are of the model; are words and phonemes in the right columns?"
        raise DataError(fault, source=lexicon, line=entries[0].line)
    counts = evaluate_pronunciations(pronouncer, entries)
    facts = counts.to_dict() | {"nodes": pronouncer.tree_.n_nodes_, "bytes": model_size(pronouncer)}
    if intervals:
        facts["word_interval"] = word_interval(pronouncer, entries)
    table = context_errors(pronouncer, entries, neighbors=neighbors) if show_errors or plot else None
    if table is not None and plot is not None:
        save(table.draw(title="errors by letter and its neighbors"), plot)
    if json:
        if table is not None and show_errors:
            facts["errors"] = [
                dict(zip(table.columns(), row, strict=True)) for row in zip(*table.columns().values(), strict=True)
            ][:k]
        typer.echo(json_line(facts))
        return
    typer.echo(f"word accuracy {counts.word_accuracy:.4f} of {counts.words} words")
    if intervals:
        low, high = facts["word_interval"]
        typer.echo(f"word accuracy lies in [{low:.4f}, {high:.4f}]")
    typer.echo(f"phoneme error rate {counts.phoneme_error_rate:.4f} of {counts.phonemes} phonemes")
    typer.echo(
        f"positions: accuracy {counts.accuracy:.4f}, precision {counts.precision:.4f}, recall {counts.recall:.4f}"
    )
    typer.echo(f"words with all positions right {counts.aligned_word_accuracy:.4f} of {counts.aligned_words}")
    typer.echo(f"{facts['nodes']} nodes, {facts['bytes'] / 1000:.1f} kB")
    if table is not None and show_errors:
        _print_table(table, k, json)


@app.command()
def show(
    model: _Model,
    form: Annotated[str, typer.Option("--as", help="tree, rules, links, unaligned or exceptions.")] = "tree",
    letter: Annotated[str | None, typer.Option(help="Show only what concerns this letter.")] = None,
    depth: Annotated[int | None, typer.Option(min=1, help="Levels of the tree to show.")] = None,
    worst: Annotated[
        str | None, typer.Option(metavar="LEXICON", help="Show entries of a lexicon with the worst alignments.")
    ] = None,
    k: Annotated[int, answers("Number of lines; of --worst 20.")] = 1_000_000,
    plot: Annotated[Path | None, figure_option("Draw the tree, or with --as links letters by phonemes.")] = None,
    format: _Format = "auto",  # noqa: A002
    stress: _Stress = True,
    errors: Errors = "strict",
    json: JsonLines = False,
) -> None:
    """Show a model: its tree as text, as rules, the links of letters and phonemes, or entries that look wrong.

    Example: textmill pronounce show french.mill --as rules --letter c
    """
    from textmill.model import check_choice
    from textmill.plot import save
    from textmill.tasks import pronunciation as task
    from textmill.trees import draw_tree, tree_rules

    check_choice("--as", form, ("tree", "rules", "links", "unaligned", "exceptions"))
    pronouncer = _load(model, None)
    if worst is not None:
        entries = _read(worst, format, stress, errors)
        _print_table(task.worst_entries(pronouncer, entries, min(k, 20) if k == 1_000_000 else k), k, json)
        return
    node = 0 if letter is None else task.letter_node(pronouncer, letter)
    if plot is not None:
        figure = (
            task.draw_links(pronouncer)
            if form == "links"
            else draw_tree(pronouncer.tree_, node=node, max_depth=depth or 3)
        )
        save(figure, plot)
        return
    if form == "tree":
        lines = pronouncer.tree_.text(node, max_depth=depth).split("\n")
    elif form == "rules":
        rules = tree_rules(pronouncer.tree_, node)
        if json:
            _print_table(rules, k, json)
            return
        lines = rules.text().split("\n")
    elif form == "links":
        _print_table(task.link_table(pronouncer, letter), k, json)
        return
    elif form == "unaligned":
        lines = pronouncer.unaligned_.to_list()
    else:
        spoken = pronouncer.exception_sounds_.to_list()
        lines = [f"{w}\t{p}" for w, p in zip(pronouncer.exception_words_.to_list(), spoken, strict=True)]
    for line in lines[:k]:
        typer.echo(json_line(line) if json else line)


@app.command()
def export(
    model: _Model,
    output: Annotated[str, output_option("The file to write; - for stdout.")] = "-",
    to: Annotated[
        str, typer.Option("--to", help="c, rules, tree, fst (OpenFst text) or lexicon (of exceptions).")
    ] = "c",
    symbols: Annotated[
        Path | None, further_output("With --to fst: also write the symbols, to FILE.in and FILE.out.")
    ] = None,
    max_states: Annotated[int, typer.Option(help="Refuse a transducer with more states.")] = 1_000_000,
    name: Annotated[str, typer.Option(help="With --to c: what names in the code begin with.")] = "pronounce",
) -> None:
    """Write a model in another form: C code, rules, or a transducer for OpenFst.

    Example: textmill pronounce export french.mill --to c -o french.c
    """
    from textmill.corpus import writer
    from textmill.fst import print_text
    from textmill.model import check_choice
    from textmill.tasks.pronunciation import model_code, to_transducer
    from textmill.trees import tree_rules

    check_choice("--to", to, ("c", "rules", "tree", "fst", "lexicon"))
    pronouncer = _load(model, None)
    if to == "c":
        text = model_code(pronouncer, name)
    elif to == "rules":
        text = tree_rules(pronouncer.tree_).text() + "\n"
    elif to == "tree":
        text = pronouncer.tree_.text() + "\n"
    elif to == "lexicon":
        rows = zip(pronouncer.exception_words_.to_list(), pronouncer.exception_sounds_.to_list(), strict=True)
        text = "".join(f"{word}\t{sounds}\n" for word, sounds in rows)
    else:
        machine = to_transducer(pronouncer, max_states=max_states)
        text = print_text(machine)
        if symbols is not None:
            for table, suffix in ((machine.input_symbols, ".in"), (machine.output_symbols, ".out")):
                if table is not None:
                    table.write(f"{symbols}{suffix}")
    with writer(output) as file:
        file.write(text)


@app.command()
def invert(
    model: _Model,
    phonemes: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PHONEMES]...", help="Phonemes of one word; - or none: lines of stdin."),
    ] = None,
    k: Annotated[int, answers("Number of spellings.")] = 5,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Find spellings that the model pronounces in a given way.

    Example: textmill pronounce invert french.mill t a k s
    """
    from textmill.corpus import open_lines
    from textmill.tasks.pronunciation import spellings

    pronouncer = _load(model, jobs)
    lines = [" ".join(phonemes)] if phonemes and phonemes != ["-"] else [line for _, line in open_lines("-")]
    table = Printed({"phonemes": "", "spelling": "", "weight": ".4f"}, json=json)
    for line in lines:
        for spelling, weight in spellings(pronouncer, line, k):
            table.row(phonemes=line, spelling=spelling, weight=weight)


@app.command()
def sample(
    output: Annotated[str, output_option("The lexicon to write; - for stdout.")] = "-",
    k: Annotated[int, answers("Number of words.")] = 2000,
    seed: Seed = 0,
) -> None:
    """Write made-up words with pronunciations by regular rules, to try the other commands with.

    Example: textmill pronounce sample -k 2000 -o words.tsv
    """
    from textmill.tasks.pronunciation import sample_lexicon, write_lexicon

    write_lexicon(sample_lexicon(k, random_state=seed), output)


_BATCH = 1 << 16  # words pronounced together


def _say(pronouncer: Any, documents: list[Any], k: int, scores: bool, alignment: bool, json: bool, file: Any) -> None:
    """Write the pronunciations of a batch of words."""
    if not documents:
        return
    words = [document.text.strip() for document in documents]
    links = [a.text() for a in pronouncer.targets(words)] if alignment else None
    if k == 1 and not scores:
        rows = [[(line, None)] for line in pronouncer.predict_lines(words)]
    else:
        rows = [[(" ".join(s.phonemes), s.probability) for s in own] for own in pronouncer.nbest(words, k)]
    for i, (word, document, soundings) in enumerate(zip(words, documents, rows, strict=True)):
        fields = {"word": word} if document.plain else record_fields(document)
        for rank, (phonemes, probability) in enumerate(soundings):
            own = links[i] if links is not None and rank == 0 else None
            if json or not document.plain:
                facts: dict[str, Any] = {**fields, "phonemes": phonemes}
                facts |= {"probability": probability} if scores else {}
                facts |= {"alignment": own} if own is not None else {}
                file.write(json_line(facts) + "\n")
            else:
                cells = [word, phonemes]
                cells += [f"{probability:.4f}"] if scores else []
                cells += [own] if own is not None else []
                file.write("\t".join(cells) + "\n")


def _load(path: Path, jobs: int | None) -> Any:
    from textmill.model import load
    from textmill.tasks.pronunciation import PronunciationModel

    return load(path, expect=PronunciationModel).set_params(n_jobs=jobs)


def _read(source: str, format: str, stress: bool, errors: str) -> list[Any]:  # noqa: A002
    from textmill.tasks.pronunciation import read_lexicon

    return list(read_lexicon(source, format=format, stress=stress, errors=errors))


def _weights(text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not three numbers separated by commas, such as 0,0.9,0.1") from None


def _print_table(table: Any, k: int, json: bool) -> None:
    columns = {name: list(values)[:k] for name, values in table.columns().items()}
    forms = {name: ".4f" if values and isinstance(values[0], float) else "" for name, values in columns.items()}
    printed = Printed(forms, json=json)
    for row in zip(*columns.values(), strict=True):
        printed.row(**dict(zip(columns, row, strict=True)))
