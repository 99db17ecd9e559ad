"""Spellings that mean the same, and phrases that are one term.

Spelling differs where meaning does not: `N8`, `N-8` and `N 8`; `dont` and `don't`; `state of the art` and
`state-of-the-art`. A table of forms maps each variant, a word or a sequence of words, to the token that stands for
it. The longest variant at a position wins; what it covers is not looked at again. A phrase detector can follow: any
function from the tokens of a document to tokens, such as a trained collocation model.

Cost: one look-up per token, and one per longer variant that begins with it. The map works while tokenizing, so a query
that goes through the same vocabulary is rewritten like the documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

from textmill.corpus.tokenize import Tokenizer
from textmill.errors import DataError
from textmill.model import Estimator, Model

__all__ = ["VariantTokenizer"]


class VariantTokenizer(Estimator, Model):
    """Cut texts into words and replace variants by their canonical forms.

    Parameters:
        tokenizer: What cuts the texts and the variants; None for `Tokenizer()`.
        forms: Mapping from variants to canonical tokens; "" drops a variant.
        phrases: Function from a list of tokens to a list of tokens, applied last.

    >>> forms = {"N 8": "n8", "N-8": "n8", "dont": "don't", "state of the art": "state-of-the-art"}
    >>> cutter = VariantTokenizer(forms=forms)
    >>> cutter("The N-8 is state of the art, dont you think? N 8!")
    ['the', 'n8', 'is', 'state-of-the-art', "don't", 'you', 'think', 'n8']
    """

    format_version: ClassVar[int] = 1

    def __init__(
        self,
        *,
        tokenizer: Tokenizer | None = None,
        forms: Mapping[str, str] | None = None,
        phrases: Callable[[list[str]], list[str]] | None = None,
    ) -> None:
        self.tokenizer = tokenizer
        self.forms = forms
        self.phrases = phrases

    def __call__(self, text: str) -> list[str]:
        """Return the tokens of one text."""
        return next(self.tokenize([text], n_jobs=1))

    def tokenize(self, documents: Iterable[str], *, n_jobs: int | None = None) -> Iterator[list[str]]:
        """Yield the tokens of each document.

        >>> list(VariantTokenizer(forms={"grey": "gray"}).tokenize(["grey", "gray area"]))
        [['gray'], ['gray', 'area']]
        """
        tokenizer = Tokenizer() if self.tokenizer is None else self.tokenizer
        table = _table(self.forms or {}, tokenizer)
        for tokens in tokenizer.tokenize(documents, n_jobs=n_jobs):
            rewritten = _rewrite(tokens, table) if table and not table.keys().isdisjoint(tokens) else tokens
            yield rewritten if self.phrases is None else self.phrases(rewritten)


def _table(forms: Mapping[str, str], tokenizer: Tokenizer) -> dict[str, list[tuple[list[str], str]]]:
    """For each first word the variants that begin with it, the longest first, and their forms."""
    table: dict[str, list[tuple[list[str], str]]] = {}
    for variant, form in forms.items():
        if not isinstance(variant, str) or not isinstance(form, str):
            raise DataError(f"forms must map texts to texts, got {variant!r}: {form!r}")
        words = tokenizer(variant)
        if not words:
            raise DataError(f"the variant {variant!r} holds no word for {tokenizer!r}")
        table.setdefault(words[0], []).append((words, form))
    for variants in table.values():
        variants.sort(key=lambda entry: -len(entry[0]))
    return table


def _rewrite(tokens: list[str], table: dict[str, list[tuple[list[str], str]]]) -> list[str]:
    result: list[str] = []
    at = 0
    nothing: list[Any] = []
    while at < len(tokens):
        for words, form in table.get(tokens[at], nothing):
            if tokens[at : at + len(words)] == words:
                if form:
                    result.append(form)
                at += len(words)
                break
        else:
            result.append(tokens[at])
            at += 1
    return result
