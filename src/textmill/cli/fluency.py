"""Judge whether single sentences are acceptable: train a judge on a corpus, score, evaluate, explain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._json import json_line
from textmill.cli._lm_options import Case, Smoothing, Split, TokenizerName, tokenizer_of
from textmill.cli._options import Jobs, Json, JsonLines, Seed, answers
from textmill.cli._outputs import figure_option, folder_option, further_output, output_option
from textmill.cli._reading import Reading, at_least_one, with_options
from textmill.cli._tables import Printed

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

_Documents = Annotated[
    list[str], typer.Argument(metavar="DOCUMENTS...", help="Files or folders of documents, - for stdin.")
]
_Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Judge made by `textmill fluency train`.")]
_Sentences = Annotated[
    list[str], typer.Argument(metavar="INPUT...", help="Files or folders, one sentence per line; - for stdin.")
]
_Matched = Annotated[
    bool,
    typer.Option("--matched", help="Pair each sentence with a sample as long, as strange and as probable."),
]
_FEW = 50  # development sentences below which accuracy says little
_MinWords = Annotated[int, typer.Option(min=1, help="Leave out sentences with fewer words.")]
_MaxWords = Annotated[int, typer.Option(min=1, help="Leave out sentences with more words.")]


@dataclass(frozen=True)
class Judge:
    """What the judge looks at and how it learns."""

    features: Annotated[
        str, typer.Option(help="What to look at, with commas: class:2, fine:1, word:3, pos:3, code4:2 and the like.")
    ] = "class:2,fine:1"
    classes: Annotated[int, typer.Option(help="Number of word classes; for fine four times as many.")] = 50
    max_length: Annotated[int, typer.Option(help="Number of words of the longest chunk that has a class.")] = 1
    kernel: Annotated[str, typer.Option(help="Kernel: polynomial, rbf or linear.")] = "polynomial"
    degree: Annotated[int, typer.Option(min=1, max=4, help="Degree of the polynomial kernel.")] = 2
    gamma: Annotated[float, typer.Option(help="Factor of the distance in rbf.")] = 0.02
    rule: Annotated[str, typer.Option(help="How far a round goes: pa, pa1 or pa2.")] = "pa2"
    cost: Annotated[
        float | None, typer.Option(help="Price of a margin that is missed. Default: by the size of the features.")
    ] = None
    max_iter: Annotated[int, typer.Option(help="Number of passes, each with fresh negatives.")] = 2
    averaged: Annotated[bool, typer.Option(help="Take the mean of the models after all rounds.")] = True
    order: Annotated[int, typer.Option(help="Length of the longest n-gram of the sampler.")] = 3
    smoothing: Smoothing = "modified-kneser-ney"
    min_count: Annotated[int, typer.Option(help="Treat words that occur less often as unknown.")] = 2
    vocabulary: Annotated[
        str, typer.Option(help="Where known words come from: documents kept apart, or lm, which leaks.")
    ] = "apart"
    tagger: Annotated[Path | None, typer.Option(help="Tagger for features pos, made by `textmill tag train`.")] = None
    min_words: _MinWords = 5
    max_words: _MaxWords = 200

    def model(self, split_by: str, tokenizer: Any, seed: int, jobs: int | None) -> Any:
        """The judge that is asked for, not trained."""
        from textmill.model import load
        from textmill.tasks import FluencyModel

        return FluencyModel(
            features=self.features,
            n_classes=self.classes,
            max_length=self.max_length,
            kernel=self.kernel,
            degree=self.degree,
            gamma=self.gamma,
            rule=self.rule,
            cost=self.cost,
            max_iter=self.max_iter,
            averaged=self.averaged,
            order=self.order,
            smoothing=self.smoothing,
            min_count=self.min_count,
            vocabulary=self.vocabulary,
            split=split_by,
            min_words=self.min_words,
            max_words=self.max_words,
            tagger=None if self.tagger is None else load(self.tagger),
            tokenizer=tokenizer,
            random_state=seed,
            n_jobs=jobs,
        )


@app.command()
@with_options
def split(
    documents: _Documents,
    output: Annotated[Path, folder_option("Folder for vocabulary, lm, train, dev and test (.jsonl).")],
    method: Annotated[str, typer.Option(help="What is shared out: document or sentence.")] = "document",
    shares: Annotated[
        str, typer.Option(help="Share of each part, with commas: vocabulary, lm, train, dev, test.")
    ] = "0.15,0.5,0.25,0.04,0.06",
    min_words: _MinWords = 5,
    max_words: _MaxWords = 200,
    case: Case = None,
    tokenizer: TokenizerName = None,
    split: Split = None,
    *,
    reading: Reading,
    seed: Seed = 0,
    json: JsonLines = False,
) -> None:
    """Share out documents: no document serves for two things.

    Example: textmill fluency split articles.jsonl -o parts
    """
    from textmill.errors import DataError
    from textmill.tasks.fluency import PARTS, split_corpus

    try:
        numbers = [float(part) for part in shares.split(",")]
        wanted = dict(zip(PARTS, numbers, strict=True))
    except ValueError:
        raise DataError(f"--shares must be five numbers such as 0.15,0.5,0.25,0.04,0.06, got {shares!r}") from None
    parts = split_corpus(
        reading.documents(documents),
        shares=wanted,
        method=method,
        min_words=min_words,
        max_words=max_words,
        tokenizer=_tokenizer(tokenizer, case),
        split=split or ("lines" if tokenizer == "whitespace" else "sentences"),
        random_state=seed,
    )
    output.mkdir(parents=True, exist_ok=True)
    table = Printed({"part": "", "documents": "", "sentences": ""}, json=json)
    for part in PARTS:
        own = getattr(parts, part)
        with (output / f"{part}.jsonl").open("w", encoding="utf-8") as out:
            for document in own:
                text = "\n".join(" ".join(words) for words in document.sentences)
                out.write(json_line({"id": document.id, "text": text}) + "\n")
        table.row(part=part, documents=len(own), sentences=sum(len(document.sentences) for document in own))


@app.command()
@with_options
def train(
    documents: Annotated[
        list[str],
        typer.Argument(metavar="DOCUMENTS...", help="Files or folders of documents, or the folder of a split."),
    ],
    output: Annotated[Path, output_option("The judge to write.")],
    method: Annotated[str, typer.Option(help="What is shared out: document or sentence.")] = "document",
    case: Case = None,
    tokenizer: TokenizerName = None,
    *,
    judge: Judge,
    reading: Reading,
    seed: Seed = 0,
    jobs: Jobs = None,
) -> None:
    """Learn a judge from raw text; wrong sentences are sampled from an n-gram model of a part of it.

    A folder that `textmill fluency split` wrote is used as it was split; other documents are split here.

    Example: textmill fluency train parts -o judge.mill
    """
    from textmill.readable import counted

    model = judge.model(method, _tokenizer(tokenizer, case), seed, jobs)
    folder = _split_folder(documents)
    model.fit(reading.documents(documents) if folder is None else _parts(folder))
    model.save(output)
    sizes = ", ".join(f"{part} {count}" for part, count in model.sizes_.items() if count)
    trace = ", ".join(f"{100 * value:.1f}" for value in model.trace_)
    learner = model.learner_
    typer.echo(f"sentences: {sizes}; {len(learner.keys_)} features, {learner.n_active_} active sentences")
    few = f"; {counted(dev, 'sentences')} cannot tell much" if (dev := model.sizes_["dev"]) < _FEW else ""
    typer.echo(f"accuracy on development sentences after each pass: {trace} %{few}")


@app.command()
@with_options
def score(
    model: _Model,
    sentences: _Sentences,
    threshold: Annotated[float, typer.Option(help="Margin above which a sentence is right.")] = 0.0,
    *,
    reading: Reading,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Print verdict, margin, probability of being right, log10 per word by the n-gram model and numbers of words.

    Example: textmill fluency score judge.mill - < sentences.txt
    """
    from itertools import islice

    judge = _load(model, jobs)
    texts = _sentence_texts(reading, sentences)
    forms = {"right": "", "margin": ".3f", "probability": ".3f", "log10": ".3f", "words": "", "unknown": ""}
    table = Printed({**forms, "sentence": ""}, json=json)
    while chunk := list(islice(texts, 10_000)):
        columns = judge.scores(chunk, threshold=threshold).to_dict()
        for i, text in enumerate(chunk):
            row = {name: values[i] for name, values in columns.items()}
            row["right"] = row["right"] if json else ("yes" if row["right"] else "no")
            table.row(**row, sentence=text)


@app.command()
@with_options
def evaluate(
    model: _Model,
    documents: _Documents,
    matched: _Matched = False,
    negatives: Annotated[
        Path | None, typer.Option(help="Wrong sentences, one per line, instead of fresh samples.")
    ] = None,
    report: Annotated[Path | None, further_output("Write a page with tables and pictures to this file.")] = None,
    plot: Annotated[Path | None, figure_option("Draw the margins to this file (.png, .svg or .pdf).")] = None,
    precision: Annotated[
        Path | None, figure_option("Draw precision over recall to this file (.png, .svg or .pdf).")
    ] = None,
    *,
    reading: Reading,
    seed: Seed = 0,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Judge sentences of new documents and as many fresh samples; print accuracy beside what leaks.

    Of the folder that `textmill fluency split` wrote, the test part is judged. Each leak is a number that is known of a
    sentence without judging it, and the accuracy of it alone: near 50 % it gives nothing away.

    Example: textmill fluency evaluate judge.mill parts --matched
    """
    from dataclasses import asdict

    from textmill.corpus import open_lines
    from textmill.plot import save
    from textmill.tasks.fluency import draw_margins, draw_precision, evaluate_fluency, evaluation_page

    judge = _load(model, jobs)
    wrong = None if negatives is None else [line.strip() for _, line in open_lines(negatives) if line.strip()]
    texts = _test_documents(documents, reading)
    result = evaluate_fluency(judge, texts, matched=matched, negatives=wrong, random_state=seed)
    name = "matched" if matched else "all"
    if report is not None:
        evaluation_page({name: result}).write(report)
    if plot is not None:
        save(draw_margins(result), plot)
    if precision is not None:
        save(draw_precision({name: result}), precision)
    counts, interval = result.counts(), result.interval
    figures = {
        "accuracy": result.accuracy,
        "low": interval.low,
        "high": interval.high,
        "precision": counts.precision(),
        "recall": counts.recall(),
        "lm_accuracy": result.lm_accuracy,
    }
    if json:
        alone = [asdict(leak) for leak in result.leaks]
        typer.echo(json_line({**figures, "leaks": alone, "signature": result.signature}))
        return
    table = Printed({"figure": "", "value": ".4f"})
    for figure, value in figures.items():
        table.row(figure=figure, value=value)
    typer.echo(f"# {result.signature}")
    typer.echo(
        "# accuracy, precision and recall are of the judge, with right where its probability is above 0.5; lm_accuracy "
        "is of the n-gram model alone, with its own threshold"
    )
    leaks = Printed({"leak": "", "accuracy": ".4f", "right if": "", "mean of right": ".3f", "of sampled": ".3f"})
    for leak in result.leaks:
        row = {"accuracy": leak.accuracy, "right if": leak.right_if, "mean of right": leak.positive_mean}
        leaks.row(leak=leak.name, **row, **{"of sampled": leak.negative_mean})


@app.command()
@with_options
def explain(
    model: _Model,
    sentences: _Sentences,
    k: Annotated[int, answers("Number of n-grams to show at each end.")] = 5,
    report: Annotated[Path | None, further_output("Write a page with shaded words to this file.")] = None,
    *,
    reading: Reading,
    json: JsonLines = False,
) -> None:
    """Show which words and n-grams lower or raise the margin of sentences.

    Example: textmill fluency explain judge.mill - < sentences.txt
    """
    from dataclasses import asdict

    from textmill.tasks.fluency import explain_sentence, explanation_page

    judge = _load(model)
    texts = [text for text in _sentence_texts(reading, sentences) if text.strip()]
    explanations = [explain_sentence(judge, text, k) for text in at_least_one(iter(texts), "sentences", sentences)]
    if report is not None:
        explanation_page(explanations).write(report)
    for one in explanations:
        if json:
            figures = {name: getattr(one, name) for name in ("margin", "probability", "start", "end", "rest")}
            rows = {name: [asdict(row) for row in getattr(one, name)] for name in ("words", "features")}
            typer.echo(json_line({**figures, **rows}))
            continue
        typer.echo(f"# margin {one.margin:+.3f}, probability {one.probability:.3f}")
        table = Printed({"share": "+.4f", "word": "", "chunk": ""})
        for word in one.words:
            table.row(share=word.share, word=word.word, chunk=word.chunk)
        table = Printed({"share": "+.4f", "kind": "", "n-gram": "", "words": ""})
        for feature in one.features:
            table.row(share=feature.share, kind=feature.kind, words=feature.words, **{"n-gram": feature.feature})


def _tokenizer(name: str | None, case: str | None) -> Any:
    """The tokenizer that is asked for; without options words keep their case and marks are words."""
    if name in (None, "punctuation"):
        from textmill.corpus import PatternTokenizer
        from textmill.tasks.fluency import WORDS

        return None if case is None else PatternTokenizer(pattern=WORDS, case=case)
    return tokenizer_of(name, case or "keep")


def _load(path: Path, jobs: int | None = None) -> Any:
    """The judge, which works with so many threads."""
    from textmill.model import load
    from textmill.tasks import FluencyModel

    judge = load(path, expect=FluencyModel)
    for part in (judge, judge.lm_, judge.learner_, judge.word_classes_, judge.fine_classes_):
        if part is not None:
            part.set_params(n_jobs=jobs)
    return judge


def _sentence_texts(reading: Reading, sentences: list[str]) -> Iterator[str]:
    """One sentence on each line, and some of them."""
    return at_least_one(reading.documents(sentences, by_line=True).texts(), "sentences", sentences)


def _split_folder(documents: list[str]) -> Path | None:
    """The folder, if it is one that `textmill fluency split` wrote."""
    folder = Path(documents[0])
    return folder if len(documents) == 1 and (folder / "lm.jsonl").is_file() else None


def _test_documents(documents: list[str], reading: Reading) -> Any:
    """The test part of a split, parts of splits as they were cut, or other documents, which the judge cuts."""
    from textmill.errors import DataError

    folder = _split_folder(documents)
    if folder is not None:
        texts = _parts(folder).test
        if not texts:
            raise DataError(
                "the test part has no sentences; give it a share, or pass other documents", source=str(folder)
            )
        return texts
    if all(name != "-" and _split_folder([str(Path(name).parent)]) for name in documents):
        return _sentence_documents(reading.documents(documents))
    return reading.documents(documents)


def _parts(folder: Path) -> Any:
    """The parts of a split, as they were written."""
    from textmill.corpus import read_documents
    from textmill.tasks.fluency import PARTS, CorpusSplit

    parts = {part: folder / f"{part}.jsonl" for part in PARTS}
    filled = {part: path for part, path in parts.items() if path.is_file() and path.stat().st_size}
    return CorpusSplit(
        **{part: _sentence_documents(read_documents(path)) if (path := filled.get(part)) else [] for part in PARTS}
    )


def _sentence_documents(documents: Any) -> list[Any]:
    """Documents whose lines are sentences, and words stand between blanks, as `textmill fluency split` writes them."""
    from textmill.tasks.fluency import SentenceDocument

    return [
        SentenceDocument(document.id, [words for line in document.text.splitlines() if (words := line.split())])
        for document in documents
    ]
