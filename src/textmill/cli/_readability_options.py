"""Options of `textmill readability`: which texts, which annotations, which features and what learns from them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._reading import Reading

__all__ = [
    "Annotating",
    "Folding",
    "Folds",
    "Learning",
    "Levels",
    "Orders",
    "Smoothing",
    "annotated",
    "graded",
    "prepared_texts",
    "resources_of",
]

Orders = Annotated[int, typer.Option("--orders", min=1, max=9, help="Longest n-grams of language models.")]
Smoothing = Annotated[str, typer.Option(help="Smoothing: witten-bell, katz, good-turing, absolute or jelinek-mercer.")]
Folds = Annotated[int, typer.Option(min=2, help="Number of folds; texts of an article are in one fold.")]

_Tagger = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Tagger of parts of speech, made by `textmill tag train`.")
]
_Parser = Annotated[Path | None, typer.Option(metavar="FILE", help="Parser, made by `textmill trees train`.")]
_Annotations = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Annotations of each text, by its id: ID.conllu, ID.xml (CoreNLP) or ID.mrg (bracketed trees).",
    ),
]
_WordNet = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Folder of WordNet for lexical chains, as Debian's wordnet-base.")
]
_Salience = Annotated[int, typer.Option(min=1, help="Mentions that an entity of the grid needs in a text.")]
_Reduce = Annotated[
    bool,
    typer.Option("--reduce", help="Leave only letters, digits and plain punctuation of ASCII, in all texts alike."),
]
_Syllables = Annotated[Path | None, typer.Option(metavar="FILE", help="Rules of syllables; default: English.")]
_Familiar = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Familiar words, one on each line; default: English.")
]
_Abbreviations = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Abbreviations that end no sentence, one on each line; default: English."),
]


@dataclass(frozen=True)
class Annotating:
    """What annotates texts."""

    tagger: _Tagger = None
    parser: _Parser = None
    annotations: _Annotations = None
    wordnet: _WordNet = None
    salience: _Salience = 1
    reduce: _Reduce = False
    syllables: _Syllables = None
    familiar: _Familiar = None
    abbreviations: _Abbreviations = None

    def tools(self, jobs: int | None) -> dict[str, Any]:
        """Tagger, parser, folder of WordNet and resources, as `ReadabilityGrader` takes them."""
        from textmill.model import load

        def loaded(path: Path | None) -> Any:
            model: Any = None if path is None else load(path)
            if hasattr(model, "n_jobs"):
                model.n_jobs = jobs
            return model

        return {
            "tagger": loaded(self.tagger),
            "parser": loaded(self.parser),
            "wordnet": None if self.wordnet is None else str(self.wordnet),
            "salience": self.salience,
            "resources": resources_of(self.syllables, self.familiar, self.abbreviations),
            "reduce": self.reduce,
        }


@dataclass(frozen=True)
class Levels:
    """Where levels and groups of texts stand."""

    level_field: Annotated[
        str | None, typer.Option(help="Field that holds the level; default: level, grade or label.")
    ] = None
    group_field: Annotated[
        str | None,
        typer.Option(help="Field that holds the article of which a text is a version; default: group or article."),
    ] = None
    order: Annotated[
        str | None,
        typer.Option(help="Levels, the easiest first, with commas; default: by number, or by Flesch-Kincaid grade."),
    ] = None
    articles_only: Annotated[bool, typer.Option("--articles-only", help="Leave out quizzes, puzzles and lists.")] = (
        False
    )


@dataclass(frozen=True)
class Folding:
    """How texts are kept apart from what is learned."""

    folds: Folds = 10
    repetitions: Annotated[int, typer.Option(min=1, help="Number of times that the folds are dealt anew.")] = 1
    mode: Annotated[
        str,
        typer.Option(help="nested: models of n-grams from the training fold alone; paper: one pass over all texts."),
    ] = "nested"

    def settings(self, seed: int) -> dict[str, Any]:
        """The same, as `cross_validate` takes it."""
        return {"mode": self.mode, "n_folds": self.folds, "repetitions": self.repetitions, "random_state": seed}


@dataclass(frozen=True)
class Learning:
    """Features and learner."""

    features: Annotated[
        str,
        typer.Option(
            help="Groups or names of features, with commas: shallow, formulas, pos, entity, chains, coreference, grid, "
            "parse, lm, relative, oov, external; a - in front leaves out."
        ),
    ] = "shallow,pos,entity,chains,coreference,grid,parse,lm,relative,oov"
    without_length: Annotated[
        bool, typer.Option("--without-length", help="Leave out features that grow with the length of a text.")
    ] = False
    kind: Annotated[
        str,
        typer.Option(help="What learns: logistic, ordinal, svm, ordinal-svm, regression or majority."),
    ] = "logistic"
    l2: Annotated[str, typer.Option(help="L2 penalty of logistic and ordinal; auto: by cross-validation.")] = "auto"
    kernel: Annotated[str, typer.Option(help="Kernel of svm: rbf or linear.")] = "rbf"
    orders: Orders = 5
    smoothing: Smoothing = "witten-bell"
    external: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Texts of other corpora, the name of the corpus as level: adds perplexities by their models.",
        ),
    ] = None

    def grader(self, annotating: Annotating, order: Any, seed: int, jobs: int | None) -> Any:
        """The grader that is asked for, not trained."""
        from textmill.errors import DataError
        from textmill.tasks import LevelModels, ReadabilityGrader
        from textmill.tasks.readability import Annotator, external_models, read_graded_texts

        try:
            l2 = None if self.l2 == "auto" else float(self.l2)
        except ValueError:
            raise DataError(f"--l2 must be a number or auto, got {self.l2!r}") from None
        features = [name.strip() for name in self.features.split(",") if name.strip()]
        tools, external = annotating.tools(jobs), None
        if self.external is not None:
            annotator = Annotator(tagger=tools["tagger"], resources=tools["resources"])
            external = external_models(
                read_graded_texts(self.external),
                annotator=annotator,
                reduce=annotating.reduce,
                smoothing=self.smoothing,
                n_jobs=jobs,
            )
            features += [] if any(name.startswith("external") for name in features) else ["external"]
        return ReadabilityGrader(
            features=features,
            external=external,
            length=not self.without_length,
            kind=self.kind,
            l2=l2,
            kernel=self.kernel,
            models=LevelModels(order=self.orders, smoothing=self.smoothing, n_jobs=jobs),
            order=order,
            random_state=seed,
            n_jobs=jobs,
            **tools,
        )


def graded(data: list[str], reading: Reading, levels: Levels) -> Any:
    """Texts with levels."""
    from textmill.tasks.readability import read_graded_texts

    return read_graded_texts(
        data,
        level_field=levels.level_field,
        group_field=levels.group_field,
        order=None if levels.order is None else [name.strip() for name in levels.order.split(",")],
        articles_only=levels.articles_only,
        errors=reading.errors,
        format=reading.format,
        encoding=reading.encoding,
        text_field=reading.text_field,
        id_field=reading.id_field,
        delimiter={"tab": "\t", "\\t": "\t"}.get(reading.delimiter, reading.delimiter),
        unit="line" if reading.lines else None,
    )


def prepared_texts(
    data: list[str],
    reading: Reading,
    levels: Levels,
    learning: Learning,
    annotating: Annotating,
    seed: int,
    jobs: int | None,
) -> tuple[Any, Any]:
    """The grader that is asked for, not trained, and texts with levels as it prepares them."""
    texts = graded(data, reading, levels)
    grader = learning.grader(annotating, texts.order, seed, jobs)
    return grader, grader.prepare(annotated(texts.texts, texts.ids, annotating), texts.levels, texts.groups)


def annotated(texts: list[str], ids: list[str], annotating: Annotating) -> list[Any]:
    """Texts, or their annotations where a folder has them."""
    if annotating.annotations is None:
        return list(texts)
    from textmill.errors import DataError
    from textmill.tasks.readability import read_annotated

    documents: list[Any] = []
    for name in ids:
        paths = [
            path
            for suffix in (".conllu", ".xml", ".mrg")
            if (path := annotating.annotations / f"{name}{suffix}").exists()
        ]
        if not paths:
            raise DataError(
                f"there is no {name}.conllu, {name}.xml or {name}.mrg; annotate every text",
                source=str(annotating.annotations),
            )
        documents.append(read_annotated(paths[0], name=name))
    return documents


def resources_of(syllables: Path | None, familiar: Path | None, abbreviations: Path | None = None) -> Any:
    """Resources from files; None where English will do."""
    if syllables is None and familiar is None and abbreviations is None:
        return None
    from textmill.tasks.readability import (
        LanguageResources,
        read_abbreviations,
        read_familiar_words,
        read_syllable_rules,
    )

    vowels, patterns = (None, None) if syllables is None else read_syllable_rules(syllables)
    words = None if familiar is None else read_familiar_words(familiar)
    return LanguageResources(
        vowels=vowels,
        patterns=patterns,
        familiar=words,
        endings=None if familiar is None else (),
        abbreviations=None if abbreviations is None else read_abbreviations(abbreviations),
    )
