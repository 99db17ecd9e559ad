"""Running text to labels: sentences, tokens, labels, and spans with their places in the text.

    sentences     those of UAX #29; the end of a line ends a sentence, too, unless lines are joined
    tokens        words of UAX #29, with hyphens inside and the stops of abbreviations such as U.S.A.; every other mark
                  by itself, a run of the same one together
    spans         of IOB tags what conlleval reads; else one per token

Treebanks cut words otherwise: `do n't`, `Mary 's`. A tokenizer is a function, or one of these names:

    words         the above
    penn          and the clitics of English apart: do n't, Mary 's, can not
    ud            and hyphens, slashes and the elided words of French and Italian apart: well - known, l' homme
    plain         what stands between blanks

Every place is a number of characters from the beginning of the text, so `text[begin:end]` is the sentence, the token or
the span. Only a tagger whose patterns read nothing but words can be used. Where a text can be cut in several ways, the
words that the tagger knows from training tell which one it learned from; a warning names it if it is another. Cost:
linear in the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator
from functools import cache
from typing import NamedTuple

from textmill.corpus import Sentence, Tokenizer, sentence_spans, spans_of
from textmill.errors import DataError, warn_caller
from textmill.model import check_choice
from textmill.sequence.chainmodel import ChainModel
from textmill.sequence.evaluation import are_chunks
from textmill.sequence.patterns import parse_patterns

__all__ = ["LabeledSentence", "LabeledSpan", "check_words_only", "label_text", "token_spans"]

BATCH = 2000  # sentences labeled together

_SINGLE_LINE_END = re.compile(r"(?<![\r\n])(?:\r\n|\n|\r)(?![ \t]*[\r\n])")
_CLITIC = re.compile(r"(?i)(n['\u2019]t|['\u2019](?:s|m|d|ll|re|ve)|(?<=^can)not)$")
_ELIDED = re.compile(
    r"(?i)^(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu|un|(?:d?e|a|da|ne|su)ll|quest|quell|dev|cos)['\u2019](?=(\w))"
)
_COMPOUND = re.compile(r"[^-/\u2010\u2011]+|[-/\u2010\u2011]+")
_WORD_TEST = re.compile(r"([^%]*)%[xX]\[0,0\]")  # a pattern for the word itself
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
    tokenizer: str | Callable[[str], list[tuple[int, int]]] = "words",
    join_lines: bool = False,
    abbreviations: Collection[str] = (),
    repair: Callable[[list[str]], list[str]] | None = None,
) -> Iterator[LabeledSentence]:
    """Label a text, sentence by sentence.

    `tokenizer` is one of TOKENIZERS, or a function from a sentence to the places of its tokens. `join_lines` takes line
    ends within a paragraph for blanks. A full stop of `abbreviations` ends no sentence. `repair` is as in
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
    if isinstance(tokenizer, str):
        check_choice("tokenizer", tokenizer, TOKENIZERS)
    cut = TOKENIZERS[tokenizer] if isinstance(tokenizer, str) else tokenizer
    others = _OtherCuts(model, tokenizer) if isinstance(tokenizer, str) else None
    chunks = are_chunks([model.classes_.tolist()])
    plain = _SINGLE_LINE_END.sub(lambda end: " " * len(end[0]), text) if join_lines else text
    spans = sentence_spans(plain, abbreviations=abbreviations)
    for first in range(0, len(spans), BATCH):
        cuts = [(begin, end, cut(text[begin:end])) for begin, end in spans[first : first + BATCH]]
        cuts = [(begin, end, [(begin + a, begin + b) for a, b in tokens]) for begin, end, tokens in cuts if tokens]
        if others is not None and first == 0:
            others.count(text, cuts)
        X = [Sentence((tuple(text[a:b] for a, b in tokens),)) for _, _, tokens in cuts]
        for (begin, end, tokens), predicted in zip(cuts, model.predict(X), strict=True):
            labels = predicted if repair is None else repair(predicted)
            parts = spans_of(labels, lenient=True) if chunks else [(t, t + 1, y) for t, y in enumerate(labels)]
            labeled = [
                LabeledSpan(tokens[a][0], tokens[b - 1][1], label, text[tokens[a][0] : tokens[b - 1][1]])
                for a, b, label in parts
            ]
            yield LabeledSentence(begin, end, text[begin:end], tokens, labels, labeled)
    if others is not None:
        others.warn()


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


def _treebank_spans(text: str) -> list[tuple[int, int]]:
    """Tokens with the clitics of English apart."""
    return [part for token in token_spans(text) for part in _divided(text, token, _CLITIC)]


def _universal_spans(text: str) -> list[tuple[int, int]]:
    """The same with hyphens and slashes, and elided words, apart."""
    parts = [part for token in _treebank_spans(text) for part in _divided(text, token, _ELIDED)]
    out: list[tuple[int, int]] = []
    for begin, end in parts:
        pieces = [(begin + m.start(), begin + m.end()) for m in _COMPOUND.finditer(text[begin:end])]
        out += pieces or [(begin, end)]
    return out


def _plain_spans(text: str) -> list[tuple[int, int]]:
    """What stands between blanks."""
    return [match.span() for match in re.finditer(r"\S+", text)]


def _divided(text: str, token: tuple[int, int], border: re.Pattern[str]) -> list[tuple[int, int]]:
    """A token in two parts where the border lies inside of it."""
    begin, end = token
    match = border.search(text[begin:end])
    if match is None or not 0 < (at := match.start(1)) < end - begin:
        return [token]
    return [(begin, begin + at), (begin + at, end)]


TOKENIZERS: dict[str, Callable[[str], list[tuple[int, int]]]] = {
    "words": token_spans,
    "penn": _treebank_spans,
    "ud": _universal_spans,
    "plain": _plain_spans,
}


class _OtherCuts:
    """Counts for every tokenizer the words that the tagger knows, among those that are cut otherwise than now."""

    def __init__(self, model: ChainModel, now: str) -> None:
        self.known = _known_words(model)
        self.now = now
        self.lead = dict.fromkeys(TOKENIZERS, 0)  # known words, less those of the cut of now
        self.example: dict[str, tuple[str, str]] = {}

    def count(self, text: str, cuts: list[tuple[int, int, list[tuple[int, int]]]]) -> None:
        """Count the sentences of one batch, which have tokens at these places of the text."""
        if not self.known:
            return
        for begin, end, tokens in cuts:
            own = {*tokens}
            for name, cut in TOKENIZERS.items():
                other = {(begin + a, begin + b) for a, b in cut(text[begin:end])} if name != self.now else own
                if other == own:
                    continue
                ours, theirs = (sorted(one - two) for one, two in ((own, other), (other, own)))
                gain = self._number(text, theirs) - self._number(text, ours)
                self.lead[name] += gain
                if gain > 0 and name not in self.example:
                    first = next(span for span in theirs if self._number(text, [span]))
                    a, b = next((span for span in ours if span[0] < first[1] and first[0] < span[1]), first)
                    inner = [text[c:d] for c, d in theirs if a <= c and d <= b] or [text[slice(*first)]]
                    self.example[name] = text[a:b], " ".join(inner)

    def warn(self) -> None:
        """Warn if another tokenizer finds more words that the tagger knows."""
        name = max(self.lead, key=self.lead.__getitem__)
        if self.lead[name] > 0:
            word, cut = self.example[name]
            warn_caller(
                f"the tagger learned from words that were cut otherwise, such as {cut!r} where {word!r} stands here; "
                f"pass tokenizer={name!r}"
            )

    def _number(self, text: str, spans: list[tuple[int, int]]) -> int:
        return sum(text[a:b] in self.known or text[a:b].lower() in self.known for a, b in spans)


def _known_words(model: ChainModel) -> set[str]:
    """The words that tests of a tagger name, as they are or in lower case; none if its tests are hashed."""
    encoder = model.encoder_
    heads = [match[1] for text in encoder.patterns_ if (match := _WORD_TEST.fullmatch(text))]
    if not heads or encoder.hash_bits is not None or encoder.syntax != "textmill":
        return set()
    return {test[len(head) :] for test in encoder.tests_.to_list() for head in heads if test.startswith(head)}


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
