"""What the commands of `textmill lm` share: models, texts, how they are cut and counted.

A command that takes `cutting: Cutting` gets the options of cutting in its place, one that takes `counting: Counting`
those of counting (see `_reading.with_options`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = [
    "Case",
    "Counting",
    "Cutting",
    "LanguageModel",
    "RareWords",
    "Smoothing",
    "Sources",
    "Split",
    "TokenizerName",
    "save_model",
    "tokenizer_of",
]

LanguageModel = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model made by `textmill lm train`, or an ARPA file.")
]
Sources = Annotated[list[str], typer.Argument(metavar="INPUT...", help="Files or folders, - for stdin.")]
Case = Annotated[str | None, typer.Option(help="Upper and lower case: fold (default) or keep.")]
TokenizerName = Annotated[
    str | None,
    typer.Option("--tokenizer", help="words (default), punctuation (its marks are words too) or whitespace."),
]
Split = Annotated[
    str | None,
    typer.Option(help="sentences, or lines (one sentence per line; default with --tokenizer whitespace)."),
]
_Order = Annotated[int, typer.Option(help="Length of the longest n-gram.")]
Smoothing = Annotated[
    str,
    typer.Option(help="modified-kneser-ney, kneser-ney, katz, good-turing, witten-bell, absolute or jelinek-mercer."),
]
RareWords = Annotated[int, typer.Option(help="Treat words that occur less often as unknown.")]
_MinCounts = Annotated[
    str, typer.Option(help="Drop n-grams that occur less often: a number for each order, such as 1,1,2.")
]

_UNKNOWN = re.compile(r"(?:^|\s)<(?:unk|UNK)>(?=\s|$)")
_CLITICS = re.compile(r"\s(?:n't|'s|'ll|'re|'ve)(?=\s)")
_MARKS = re.compile(r"[\w\s][.,;:?!](?=\s|$)")
_SOME = 3  # signs that are no accident
_TEXTS_LOOKED_AT, _LOOKED_AT = 200, 10_000  # texts, and characters of each


def tokenizer_of(name: str | None, case: str | None) -> Any:
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


def _sign_of_tokens(text: str) -> str | None:
    """What shows that words of a text were cut apart before; None if nothing does.

    That is an unknown word by its usual name, a clitic apart, or most marks with a blank before them.
    """
    if match := _UNKNOWN.search(text):
        return match[0].strip()
    if len(clitics := _CLITICS.findall(text)) >= _SOME:
        return str(clitics[0].strip())
    marks = _MARKS.findall(text)
    apart = [mark for mark in marks if mark[0].isspace()]
    return apart[0].strip() if len(marks) >= _SOME and len(apart) > 0.9 * len(marks) else None


@dataclass(frozen=True)
class Cutting:
    """How texts become sentences, and these words."""

    case: Case = None
    tokenizer: TokenizerName = None
    split: Split = None

    def words(self) -> Any:
        """What cuts sentences into words, None for the default."""
        return tokenizer_of(self.tokenizer, self.case)

    def sentences(self, documents: Iterable[Any], *, far: bool = False, model: Any = None) -> Iterable[Any]:
        """The sentences of documents, cut as those of a model were if no option says how.

        `far`: they are read on other machines, which take documents and not texts.
        """
        from textmill.corpus import Sentences, texts_of

        texts = documents if far else texts_of(documents)
        return texts if self._by_line(model) else Sentences(texts)

    def sentences_in(self, text: str, model: Any = None) -> list[str]:
        """The sentences of one document."""
        return list(self.sentences(text.splitlines() if self._by_line(model) else [text], model=model))

    def question_text(self, documents: Iterable[Any]) -> None:
        """Warn of text that was cut into words before, if no option says how words and sentences are cut."""
        import itertools
        import warnings

        from textmill.corpus import texts_of

        if self.tokenizer is not None or self.split is not None:
            return
        beginning = " ".join(text[:_LOOKED_AT] for text in itertools.islice(texts_of(documents), _TEXTS_LOOKED_AT))
        if (sign := _sign_of_tokens(beginning[: 10 * _LOOKED_AT])) is not None:
            warnings.warn(
                f"the text looks cut into words already, as by {sign!r}; pass --tokenizer whitespace, which takes "
                "every line for a sentence, too, or --tokenizer words to cut it again",
                stacklevel=1,
            )

    def _by_line(self, model: Any = None) -> bool:
        """Text that is cut at blanks is taken to have one sentence per line."""
        from textmill.model import check_choice

        lines = self.tokenizer == "whitespace" or (self.tokenizer is None and model is not None and model.by_line_)
        split = self.split or ("lines" if lines else "sentences")
        check_choice("split", split, ["sentences", "lines"])
        return split == "lines"


@dataclass(frozen=True)
class Counting:
    """How n-grams are counted and smoothed."""

    order: _Order = 3
    smoothing: Smoothing = "modified-kneser-ney"
    min_count: RareWords = 1
    min_counts: _MinCounts = "1"

    def model(self, cutting: Cutting, *, memory: str | None = None, jobs: int | None) -> Any:
        """The model, not yet fitted."""
        from textmill.errors import DataError
        from textmill.lm import NGramModel

        try:
            least = [int(part) for part in self.min_counts.split(",")]
        except ValueError:
            raise DataError(f"--min-counts must be whole numbers such as 1,1,2, got {self.min_counts!r}") from None
        return NGramModel(
            order=self.order,
            smoothing=self.smoothing,
            min_count=self.min_count,
            min_counts=least,
            tokenizer=cutting.words(),
            memory=memory,
            n_jobs=jobs,
        )


def save_model(model: Any, output: Path) -> None:
    """Write a model of our own format, or an ARPA file where the name ends in .arpa."""
    from textmill.lm import to_arpa

    if output.suffix == ".arpa":
        to_arpa(model, output)
    else:
        model.save(output)
