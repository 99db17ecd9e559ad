"""Running text to labels: sentences, tokens, labels, and spans with their places in the text.

    sentences     those of UAX #29; the end of a line ends a sentence, too, unless lines are joined
    tokens        words of UAX #29, with hyphens inside and the stops of abbreviations such as U.S.A.; every other mark
                  by itself, a run of the same one together
    spans         of IOB tags what conlleval reads; else one per token

Every place is a number of characters from the beginning of the text, so `text[begin:end]` is the sentence, the token or
the span. Only a tagger whose patterns read nothing but words can be used. Data that were cut in another way (`do n't`)
are labeled worse than they could be; then pass a tokenizer of your own. Cost: linear in the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator
from functools import cache
from typing import NamedTuple

from textmill.corpus import Sentence, Tokenizer, sentence_spans, spans_of
from textmill.errors import DataError
from textmill.sequence.chainmodel import ChainModel
from textmill.sequence.evaluation import are_chunks
from textmill.sequence.patterns import parse_patterns

__all__ = ["LabeledSentence", "LabeledSpan", "check_words_only", "label_text", "token_spans"]

BATCH = 2000  # sentences labeled together

_SINGLE_LINE_END = re.compile(r"(?<![\r\n])(?:\r\n|\n|\r)(?![ \t]*[\r\n])")
_HYPHENS = "-\u2010\u2011"


class LabeledSpan(NamedTuple):
    """A part of a text with its label; `begin` and `end` count characters from the beginning of the text."""

    begin: int
    end: int
    label: str
    text: str


class LabeledSentence(NamedTuple):
    """A sentence of a text: its tokens (begin, end), their labels, and the spans that the labels make."""

    begin: int
    end: int
    text: str
    tokens: list[tuple[int, int]]
    labels: list[str]
    spans: list[LabeledSpan]


def label_text(
    model: ChainModel,
    text: str,
    *,
    tokenizer: Callable[[str], list[tuple[int, int]]] | None = None,
    join_lines: bool = False,
    abbreviations: Collection[str] = (),
    repair: Callable[[list[str]], list[str]] | None = None,
) -> Iterator[LabeledSentence]:
    """Label a text, sentence by sentence.

    `tokenizer` is a function from a sentence to the places of its tokens, `token_spans` by default. `join_lines` takes
    line ends within a paragraph for blanks. A full stop of `abbreviations` ends no sentence. `repair` is as in
    labeling.py.

    >>> from textmill.sequence import CRF
    >>> X, y = [["in", "Brno", "."], ["to", "Ústí", "!"]], [["O", "B-LOC", "O"]] * 2
    >>> tagger = CRF(l1=0.1).fit(X, y)
    >>> for sentence in label_text(tagger, "In Brno. To Praha!"):
    ...     print(sentence.labels, *sentence.spans)
    ['O', 'B-LOC', 'O'] LabeledSpan(begin=3, end=7, label='LOC', text='Brno')
    ['O', 'B-LOC', 'O'] LabeledSpan(begin=12, end=17, label='LOC', text='Praha')
    """
    check_words_only(model)
    cut = token_spans if tokenizer is None else tokenizer
    chunks = are_chunks([model.classes_.tolist()])
    plain = _SINGLE_LINE_END.sub(lambda end: " " * len(end[0]), text) if join_lines else text
    spans = sentence_spans(plain, abbreviations=abbreviations)
    for first in range(0, len(spans), BATCH):
        cuts = [(begin, end, cut(text[begin:end])) for begin, end in spans[first : first + BATCH]]
        cuts = [(begin, end, [(begin + a, begin + b) for a, b in tokens]) for begin, end, tokens in cuts if tokens]
        X = [Sentence((tuple(text[a:b] for a, b in tokens),)) for _, _, tokens in cuts]
        for (begin, end, tokens), predicted in zip(cuts, model.predict(X), strict=True):
            labels = predicted if repair is None else repair(predicted)
            parts = spans_of(labels, lenient=True) if chunks else [(t, t + 1, y) for t, y in enumerate(labels)]
            labeled = [
                LabeledSpan(tokens[a][0], tokens[b - 1][1], label, text[tokens[a][0] : tokens[b - 1][1]])
                for a, b, label in parts
            ]
            yield LabeledSentence(begin, end, text[begin:end], tokens, labels, labeled)


def token_spans(text: str) -> list[tuple[int, int]]:
    """Where the tokens of a text begin and end: words, and what is neither word nor space; see the module.

    >>> text = 'He said: "U.S.A., well-known..."'
    >>> [text[begin:end] for begin, end in token_spans(text)]
    ['He', 'said', ':', '"', 'U.S.A.', ',', 'well-known', '...', '"']
    """
    tokens: list[tuple[int, int]] = []
    at = 0
    for begin, end in [*_words().spans(text), (len(text), len(text))]:
        if (
            begin - at == 1
            and tokens
            and tokens[-1][1] == at
            and text[at] in _HYPHENS
            and end > begin
            and _is_word(text[at - 1])
        ):
            tokens[-1] = (tokens[-1][0], end)
        else:
            tokens += _marks(text, at, begin)
            if end > begin:
                tokens.append((begin, end))
        at = end
    return tokens


def check_words_only(model: ChainModel) -> None:
    """An error unless the tagger can do with words alone.

    >>> from textmill.sequence import CRF
    >>> check_words_only(CRF(l1=0.1).fit([[("in", "IN"), ("Brno", "NP")]] * 3, [["O", "B-LOC"]] * 3))
    Traceback (most recent call last):
    textmill.errors.DataError: the tagger reads columns 0 and 1, but running text has only words, column 0; \
column 1 is missing, first in pattern 'u:c1,-2=%x[-2,1]': label columns instead, or train a tagger on words alone
    """
    encoder = model.encoder_
    if not encoder.patterns_:
        raise DataError("the tagger was trained on attributes of tokens, which running text does not have; label those")
    patterns = parse_patterns(encoder.patterns_, syntax=encoder.syntax)
    columns = sorted(set().union(*(pattern.columns for pattern in patterns)))
    missing = [column for column in columns if column > 0]
    if missing:
        first = next(pattern for pattern in patterns if missing[0] in pattern.columns)
        read, lost = (
            " and ".join(filter(None, [", ".join(map(str, some[:-1])), str(some[-1])])) for some in (columns, missing)
        )
        word, verb = ("column", "is") if len(missing) == 1 else ("columns", "are")
        raise DataError(
            f"the tagger reads {'columns' if len(columns) > 1 else 'column'} {read}, but running text has only words, "
            f"column 0; {word} {lost} {verb} missing, first in pattern {first.text!r}: label columns instead, or train "
            "a tagger on words alone"
        )


@cache
def _words() -> Tokenizer:
    return Tokenizer(case="keep", keep=["abbreviations"])


def _is_word(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character).startswith("M")


def _marks(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Runs of one character that is neither space nor invisible."""
    at = begin
    while at < end:
        behind = at + 1
        if not text[at].isspace() and unicodedata.category(text[at]) not in ("Cc", "Cf"):
            while behind < end and text[behind] == text[at]:
                behind += 1
            yield at, behind
        at = behind
