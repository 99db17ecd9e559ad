"""Texts to tokens: words by UAX #29 or character n-grams, with folding, compounds, stemming.

Words are the segments between the word boundaries of Unicode Standard Annex #29 that hold a letter or a number, after
full case folding; a vowel sign that stands on a blank is none. That leaves `don't`, `3.14` and `12.4.2010` whole and
splits `state-of-the-art`. Compounds that the annex splits can be kept whole, and those it keeps can be split, by name:

    numbers         -3.5e-10   1,000.50   50%
    dates           12.4.2010  2010-04-12  4/12/10
    addresses       147.251.48.1  fe80::1
    ranges          10–55  1990-1995
    abbreviations   U.S.A.  e.g.  and the list given as `abbreviations`
    emoticons       :-)  <3  ^_^  and emoji

The text is scanned once, in C++, straight from Python's own strings; stemmers and other Python functions are called
once for each distinct token, not once for each occurrence. Languages written without spaces need a tokenizer of their
own: any callable from a text to tokens can stand where a `Tokenizer` can.

References: Unicode Standard Annex #29, Unicode Text Segmentation; Porter (2001), Snowball.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from textmill._native import corpus as native
from textmill.arrays import Ids, Ints
from textmill.errors import DataError
from textmill.model import Estimator, Model, check_choice, check_range, effective_jobs

if TYPE_CHECKING:
    from typing import TypeAlias

__all__ = [
    "COMPOUNDS",
    "CharacterNgrams",
    "PatternTokenizer",
    "Tokenizer",
    "normalizer",
    "sentence_spans",
    "snowball",
    "split_sentences",
    "text_batches",
]

# Names of compound tokens, and their bits in the kernel.
COMPOUNDS = {"numbers": 1, "dates": 2, "addresses": 4, "ranges": 8, "abbreviations": 16, "emoticons": 32}

Rules: TypeAlias = "native.WordRules | native.NgramRules"

BATCH = 1 << 22  # characters handed to the kernel together: enough for many threads, little enough to stay in memory


class Tokenizer(Estimator, Model):
    """Cut texts into words.

    Parameters:
        case: "fold" for full case folding, or "keep".
        digits: What becomes of tokens without letters: "keep", "drop" or "mask" (each digit becomes 0).
        keep: Names of compounds (see the module) that are kept whole.
        split: Names of compounds that are split.
        abbreviations: Further abbreviations with their full stops, for `keep=["abbreviations"]`.
        shortest: Smallest number of characters of a token.
        longest: Largest number of characters of a token.
        stem: Language of the Snowball stemmer, such as "english"; None for no stemming.
        normalize: Function from a token to its canonical form, "" or None to drop it. It is called before the stemmer,
            once for each distinct token.

    >>> Tokenizer()("The U.S.A. don't pay 10–55 % :-)")
    ['the', 'u.s.a', "don't", 'pay', '10', '55']
    >>> Tokenizer(keep=["ranges", "emoticons"], split=["abbreviations"])("The U.S.A. don't pay 10–55 % :-)")
    ['the', 'u', 's', 'a', "don't", 'pay', '10–55', ':-)']
    >>> Tokenizer(stem="english")("Relational databases, indexed")
    ['relat', 'databas', 'index']
    """

    format_version: ClassVar[int] = 1

    def __init__(
        self,
        *,
        case: str = "fold",
        digits: str = "keep",
        keep: Collection[str] = (),
        split: Collection[str] = (),
        abbreviations: Collection[str] = (),
        shortest: int = 1,
        longest: int | None = None,
        stem: str | None = None,
        normalize: Callable[[str], str | None] | None = None,
    ) -> None:
        self.case = case
        self.digits = digits
        self.keep = keep
        self.split = split
        self.abbreviations = abbreviations
        self.shortest = shortest
        self.longest = longest
        self.stem = stem
        self.normalize = normalize

    def __call__(self, text: str) -> list[str]:
        """Return the tokens of one text."""
        return next(self.tokenize([text], n_jobs=1))

    def tokenize(self, documents: Iterable[str], *, n_jobs: int | None = None) -> Iterator[list[str]]:
        """Yield the tokens of each document.

        >>> list(Tokenizer().tokenize(["To be", "or not to be"]))
        [['to', 'be'], ['or', 'not', 'to', 'be']]
        """
        return _tokenize(documents, self.rules(), normalizer(self), n_jobs)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return where each token begins and ends in the text, before folding, stemming and normalizing.

        >>> Tokenizer().spans("To be!")
        [(0, 2), (3, 5)]
        """
        spans: list[tuple[int, int]] = native.word_spans(text, self.rules())
        return spans

    def number(self, text: str) -> tuple[list[str], Ids, Ints, Ints]:
        """Return the distinct tokens in the order in which they first appear, the number of each token, and where each
        begins and ends in the text; without lists of Python objects, for long texts.

        >>> terms, ids, begins, ends = Tokenizer().number("To be or not to be")
        >>> terms, ids.tolist(), begins.tolist()
        (['to', 'be', 'or', 'not'], [0, 1, 2, 3, 0, 1], [0, 3, 6, 9, 13, 16])
        """
        terms, ids, begins, ends = native.numbered_words([text], self.rules())
        normalize = normalizer(self)
        if normalize is None and len(ids) == len(begins):
            return terms, ids, begins, ends
        tokens = ["".join(self(text[a:b])) for a, b in zip(begins.tolist(), ends.tolist(), strict=True)]
        there = np.fromiter(map(bool, tokens), bool, len(tokens))
        numbers: dict[str, int] = {}
        ids = np.fromiter((numbers.setdefault(token, len(numbers)) for token in tokens if token), np.int32)
        return list(numbers), ids, begins[there], ends[there]

    def rules(self) -> native.WordRules:
        """Check the parameters and return them as the kernels want them."""
        check_choice("case", self.case, ["fold", "keep"])
        check_choice("digits", self.digits, ["keep", "drop", "mask"])
        check_range("shortest", self.shortest, at_least=1, whole=True)
        if self.longest is not None:
            check_range("longest", self.longest, at_least=self.shortest, whole=True)
        both = sorted(set(self.keep) & set(self.split))
        if both:
            raise DataError(f"{both[0]} cannot be both kept and split; name it once")
        for abbreviation in self.abbreviations:
            if not abbreviation.endswith("."):
                raise DataError(f"abbreviations must end with a full stop, got {abbreviation!r}")
        return native.WordRules(
            fold=self.case == "fold",
            digits=self.digits,
            keep=_bits("keep", self.keep),
            split=_bits("split", self.split),
            shortest=self.shortest,
            longest=self.longest,
            abbreviations=list(self.abbreviations),
        )


class CharacterNgrams(Estimator, Model):
    """Cut texts into overlapping sequences of characters.

    Parameters:
        lengths: The shortest and the longest n.
        case: "fold" for full case folding, or "keep".
        within: "text" for sequences across words, where each run of white space counts as one blank; "word" for
            sequences inside each word, with a blank on either side, where a word shorter than n gives itself.

    >>> CharacterNgrams(lengths=(2, 3))("Tea set")
    ['te', 'ea', 'a ', ' s', 'se', 'et', 'tea', 'ea ', 'a s', ' se', 'set']
    >>> CharacterNgrams(lengths=(3, 3), within="word")("Tea set")
    [' te', 'tea', 'ea ', ' se', 'set', 'et ']
    """

    format_version: ClassVar[int] = 1

    def __init__(self, *, lengths: tuple[int, int] = (3, 3), case: str = "fold", within: str = "text") -> None:
        self.lengths = lengths
        self.case = case
        self.within = within

    def __call__(self, text: str) -> list[str]:
        """Return the n-grams of one text."""
        return next(self.tokenize([text], n_jobs=1))

    def tokenize(self, documents: Iterable[str], *, n_jobs: int | None = None) -> Iterator[list[str]]:
        """Yield the n-grams of each document.

        >>> list(CharacterNgrams(lengths=(2, 2)).tokenize(["to", "be"]))
        [['to'], ['be']]
        """
        return _tokenize(documents, self.rules(), None, n_jobs)

    def rules(self) -> native.NgramRules:
        """Check the parameters and return them as the kernels want them."""
        check_choice("case", self.case, ["fold", "keep"])
        check_choice("within", self.within, ["text", "word"])
        shortest, longest = self.lengths
        check_range("lengths[0]", shortest, at_least=1, whole=True)
        check_range("lengths[1]", longest, at_least=shortest, at_most=1000, whole=True)
        return native.NgramRules(
            fold=self.case == "fold", shortest=shortest, longest=longest, within_words=self.within == "word"
        )


class PatternTokenizer(Estimator, Model):
    """Cut texts into the matches of a regular expression, for recipes that define words that way.

    Slower than a `Tokenizer`: the expression runs in Python's world.

    Parameters:
        pattern: Regular expression, in the syntax of the `regex` package.
        case: What is done to a text first: "lower", "fold" or "keep".

    >>> PatternTokenizer(pattern="[a-z]{2,}")("A B-52 bomber")
    ['bomber']
    """

    format_version: ClassVar[int] = 1

    def __init__(self, *, pattern: str = r"\w+", case: str = "lower") -> None:
        self.pattern = pattern
        self.case = case

    def __call__(self, text: str) -> list[str]:
        """Return the tokens of one text."""
        return next(self.tokenize([text]))

    def tokenize(self, documents: Iterable[str], *, n_jobs: int | None = None) -> Iterator[list[str]]:
        """Yield the tokens of each document.

        >>> list(PatternTokenizer(case="keep").tokenize(["To be", "or not"]))
        [['To', 'be'], ['or', 'not']]
        """
        import regex

        check_choice("case", self.case, ["lower", "fold", "keep"])
        try:
            find = regex.compile(self.pattern).findall
        except regex.error as error:
            raise DataError(f"pattern {self.pattern!r} is no regular expression: {error}") from None
        change: Any = {"lower": str.lower, "fold": str.casefold, "keep": str}[self.case]
        return (find(change(document)) for document in documents)


def split_sentences(text: str, *, abbreviations: Collection[str] = ()) -> list[str]:
    """Split a text at the sentence boundaries of UAX #29; white space at the ends of sentences is removed.

    A full stop that ends one of `abbreviations` (compared after case folding) ends no sentence, unless a line ends
    there.

    >>> split_sentences("He paid 3.50 to Mr. Hill. Then he left! Why?")
    ['He paid 3.50 to Mr.', 'Hill.', 'Then he left!', 'Why?']
    >>> split_sentences("He paid 3.50 to Mr. Hill. Then he left! Why?", abbreviations=["Mr."])
    ['He paid 3.50 to Mr. Hill.', 'Then he left!', 'Why?']
    """
    return [text[begin:end] for begin, end in sentence_spans(text, abbreviations=abbreviations)]


def sentence_spans(text: str, *, abbreviations: Collection[str] = ()) -> list[tuple[int, int]]:
    """Return where each sentence of `split_sentences` begins and ends in the text.

    >>> sentence_spans("To be. Or not?")
    [(0, 6), (7, 14)]
    """
    for abbreviation in abbreviations:
        if not abbreviation.endswith("."):
            raise DataError(f"abbreviations must end with a full stop, got {abbreviation!r}")
    spans = []
    for begin, end in native.sentence_spans(text, list(abbreviations)):
        sentence = text[begin:end]
        stripped = sentence.strip()
        if stripped:
            first = begin + sentence.index(stripped[0])
            spans.append((first, first + len(stripped)))
    return spans


def normalizer(tokenizer: object) -> Callable[[str], str | None] | None:
    """Return the function that a tokenizer wants applied once to each distinct token, None if there is none.

    >>> normalizer(Tokenizer(stem="english"))("mills")
    'mill'
    """
    if not isinstance(tokenizer, Tokenizer) or (tokenizer.stem is None and tokenizer.normalize is None):
        return None
    normalize = tokenizer.normalize
    if tokenizer.stem is None:
        return normalize
    stem = snowball(tokenizer.stem)
    if normalize is None:
        return stem
    return lambda token: stem(form) if (form := normalize(token)) else None


@cache
def snowball(language: str) -> Callable[[str], str]:
    """Return Snowball's stemmer of words in small letters; `porter` is the one of Porter (1980) as they have it.

    >>> snowball("german")("mühlen")
    'muhl'
    """
    import Stemmer

    if language not in Stemmer.algorithms():
        raise DataError(f"no stemmer for {language!r}; there are {', '.join(Stemmer.algorithms())}")
    stem: Callable[[str], str] = Stemmer.Stemmer(language).stemWord
    return stem


def text_batches(documents: Iterable[Any], *, characters: int | None = None) -> Iterator[list[Any]]:
    """Group documents, texts or token lists, into lists that together are large enough to share between threads.

    `characters`: about how many together, BATCH by default and at most.

    >>> [len(batch) for batch in text_batches(["word " * 500_000] * 3)]
    [2, 1]
    """
    batch: list[Any] = []
    most = BATCH if characters is None else min(characters, BATCH)
    taken = 0
    for document in documents:
        batch.append(document)
        taken += 64  # a bound for streams of empty documents
        if isinstance(document, str):
            taken += len(document)
        elif isinstance(document, list) or hasattr(document, "__len__"):  # faster than Sized
            taken += 8 * len(document)  # about eight characters a token
        if taken >= most:
            yield batch
            batch, taken = [], 0
    if batch:
        yield batch


def _tokenize(
    documents: Iterable[str], rules: Rules, normalize: Callable[[str], str | None] | None, n_jobs: int | None
) -> Iterator[list[str]]:
    """Tokens of each document, batch by batch."""
    threads = effective_jobs(n_jobs)
    forms: dict[str, str | None] = {}
    first = 0
    for batch in text_batches(documents):
        for tokens in native.tokenize(batch, rules, threads=threads, first=first):
            if normalize is None:
                yield tokens
                continue
            for token in tokens:
                if token not in forms:
                    forms[token] = normalize(token)
            yield [form for token in tokens if (form := forms[token])]
        first += len(batch)


def _bits(parameter: str, names: Collection[str]) -> int:
    """The kernel's bits of compound names."""
    if isinstance(names, str):
        raise DataError(f"{parameter} must be a list of names, got the text {names!r}; pass [{names!r}]")
    for name in names:
        check_choice(parameter, name, list(COMPOUNDS))
    return sum(COMPOUNDS[name] for name in set(names))
