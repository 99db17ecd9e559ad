"""Terms and their frequencies: which words there are, in how many documents, how often.

    d_t   document frequency: number of documents that hold term t
    c_t   collection frequency: number of occurrences of t
    n     number of documents

One pass over a stream of any length counts all three, in parallel and exactly; ids follow the first appearance of a
term (or the alphabet), whatever the number of threads. Rules then remove terms, in this order, and what each removed
is recorded:

    stop_words   terms of a list, or those that the corpus shows to be function words ("auto"); n-grams with one in them
    max_df       d_t > max_df (a data-driven stop list; a float is a share of n)
    min_df       d_t < min_df (typing errors, hapaxes; a float is a share of n)
    min_count    c_t < min_count
    keep         all but the `keep` most frequent of the rest, ties going to the smaller id

Terms are words, or with `ngrams` all runs of that many words, a blank between them, as they follow each other in a
document: nothing is bridged, so an n-gram with a stop word in it is removed, not shortened.

Frequencies add, so vocabularies of parts of a corpus merge exactly, as long as nothing was removed yet.

Reference: Rehurek (2011), Scalability of Semantic Analysis in Natural Language Processing, chapter 2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice, pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill._native import base
from textmill._native import corpus as native
from textmill.cluster import connect
from textmill.corpus.bags import check_bags, remap
from textmill.corpus.chains import require_passes
from textmill.corpus.counting import (
    Cutter,
    TermCounter,
    TokenizerLike,
    add_counts,
    check_ngrams,
    count_piece,
    single_words,
    texts_of,
)
from textmill.corpus.function_words import FUNCTION_WORDS
from textmill.corpus.phrases import Phrases
from textmill.corpus.readers import Documents
from textmill.corpus.stop_words import LEAST_DOCUMENTS, function_words_of
from textmill.corpus.tokenize import CharacterNgrams, normalizer, text_batches
from textmill.errors import DataError, ModelFileError, reason_of
from textmill.model import Model, StringTable, Transformer, check_choice, check_fitted, check_range, effective_jobs
from textmill.model.file import Saved
from textmill.numeric import SparseRows, sparse
from textmill.progress import track
from textmill.readable import counted

__all__ = ["Bags", "Vocabulary"]

PIECE = 25_000  # documents that a worker counts at a time: enough that counting outweighs the adding of results
_NO_DOCUMENTS = "there are no documents to count; pass at least one"
_RULES = ("stop_words", "max_df", "min_df", "min_count", "keep")


class Vocabulary(Transformer, Model):
    """Number the terms of a corpus and count documents by them.

    Documents are texts, cut by `tokenizer`, or lists of tokens, taken as they are.

    Parameters:
        tokenizer: A `Tokenizer`, a `CharacterNgrams`, fitted `Phrases` or any function from a text to tokens; None for
            `Tokenizer()`.
        ngrams: The shortest and the longest run of words that is a term.
        min_df: Smallest document frequency of a term; a float is a share of all documents.
        max_df: Largest document frequency of a term; a float is a share of all documents.
        min_count: Smallest number of occurrences of a term.
        keep: Number of terms to keep, the most frequent ones; None for all.
        rank_by: Frequency by which `keep` chooses: "documents" or "occurrences".
        stop_words: Words to remove, or "auto" for those that the corpus shows to be function words.
        order: How ids are given: by "appearance" or "sorted".
        memory: Limit of memory in bytes or as "512MB", beyond which counts are spilled to temporary files; None for no
            limit. The counts are the same.
        fixed: Whether the terms stay those of `read_terms`, in their order: `fit` counts them and learns no others.
        n_jobs: Number of threads; None for all cores.

    Attributes:
        terms_: Terms by id, (V,).
        document_frequency_: Number of documents with each term, (V,).
        collection_frequency_: Number of occurrences of each term, (V,).
        documents_: Number of documents.
        tokens_: Number of tokens, before anything was removed.
        nonzeros_: Sum of all document frequencies, before anything was removed.
        removed_: Numbers of types and tokens that each rule removed, by rule.
        stop_words_: Words that "auto" recognized, the most frequent first.

    >>> vocabulary = Vocabulary().fit(["to be or not to be", "to do"])
    >>> vocabulary.terms_.to_list(), vocabulary.document_frequency_.tolist()
    (['to', 'be', 'or', 'not', 'do'], [2, 1, 1, 1, 1])
    >>> vocabulary.transform(["do be do be do"]).toarray().tolist()
    [[0, 2, 0, 0, 3]]
    >>> vocabulary["not"], "question" in vocabulary
    (3, False)
    >>> Vocabulary(ngrams=(1, 2)).fit(["to be or"]).terms_.to_list()
    ['to', 'to be', 'be', 'be or', 'or']
    """

    takes: ClassVar[str] = "texts"
    format_version: ClassVar[int] = 2
    layout: ClassVar[dict[str, str]] = {
        "terms_": "term: str",
        "document_frequency_": "term: int64",
        "collection_frequency_": "term: int64",
    }
    state: ClassVar[dict[str, type]] = {
        "documents_": int,
        "tokens_": int,
        "nonzeros_": int,
        "removed_": dict,
        "stop_words_": list,
    }

    terms_: StringTable
    document_frequency_: NDArray[np.int64]
    collection_frequency_: NDArray[np.int64]
    documents_: int
    tokens_: int
    nonzeros_: int
    removed_: dict[str, dict[str, int]]
    stop_words_: list[str]

    def __init__(
        self,
        *,
        tokenizer: TokenizerLike = None,
        ngrams: tuple[int, int] = (1, 1),
        min_df: float = 1,
        max_df: float = 1.0,
        min_count: int = 1,
        keep: int | None = None,
        rank_by: str = "documents",
        stop_words: Collection[str] | str = (),
        order: str = "appearance",
        memory: int | str | None = None,
        fixed: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.tokenizer = tokenizer
        self.ngrams = ngrams
        self.min_df = min_df
        self.max_df = max_df
        self.min_count = min_count
        self.keep = keep
        self.rank_by = rank_by
        self.stop_words = stop_words
        self.order = order
        self.memory = memory
        self.fixed = fixed
        self.n_jobs = n_jobs

    def fit(self, documents: Iterable[Any], y: object = None, *, cluster: Any = None) -> Vocabulary:
        """Count the terms of a stream of documents in one pass.

        `cluster`, the address of a Dask scheduler or a client, lets its workers count pieces of the corpus, which they
        read themselves when the documents are from `read_documents`; the result has the same bytes.
        """
        self._check()
        if cluster is not None:
            return self._fit_on(cluster, documents)
        with TermCounter(self._cutter(), memory=self.memory) as counter:
            for batch in text_batches(track(texts_of(documents), "counting terms", unit="documents")):
                counter.add(batch)
            self._finish(counter)
        return self

    def _fit_on(self, cluster: Any, documents: Iterable[Any]) -> Vocabulary:
        texts = documents if isinstance(documents, Documents) else texts_of(documents)
        pieces = texts.chunks(PIECE) if isinstance(texts, Documents) else _lists(texts, PIECE)
        first = next(pieces, None)
        if first is None:
            raise DataError(_NO_DOCUMENTS)
        with connect(cluster) as workers:
            todo = track(chain([first], pieces), "counting terms", unit="pieces")
            jobs = workers.worker_jobs(self.n_jobs)
            counts = workers.map_reduce(count_piece, todo, add_counts, self.tokenizer, jobs, self.ngrams)
        if counts.documents == 0:
            raise DataError(_NO_DOCUMENTS)
        terms = self.terms_ if self.fixed else None
        self._take_terms(*counts.terms)
        self.documents_ = counts.documents
        self.tokens_ = int(self.collection_frequency_.sum())
        self.nonzeros_ = int(self.document_frequency_.sum())
        self.removed_ = {}
        self.stop_words_ = self._recognize(self._word_tokens()) if self.stop_words == "auto" else []
        self._apply_rules(terms)
        return self

    def fit_transform(self, documents: Iterable[Any], y: object = None, **options: Any) -> sparse.csr_matrix:
        """Count the terms and return the bags of the same documents; in one pass, with `memory` in two.

        >>> Vocabulary(min_df=2).fit_transform(iter(["a b", "b c c", "c"])).toarray().tolist()
        [[1, 0], [1, 2], [0, 1]]
        """
        if self.memory is not None:
            require_passes(documents, 2, "counting within `memory`")
            return self.fit(documents).transform(documents)
        self._check()
        with TermCounter(self._cutter()) as counter:
            batches = text_batches(track(texts_of(documents), "counting terms", unit="documents"))
            parts = [counter.add_rows(batch) for batch in batches]
            new_ids = self._finish(counter)
        del counter
        X = _stack(parts, len(new_ids)).csr()
        base.release_memory()  # that of many pieces, which the system has not got back
        unchanged = len(new_ids) == len(self) and np.array_equal(new_ids, np.arange(len(self)))
        return X if unchanged else remap(X, new_ids, len(self), n_jobs=self.n_jobs)

    def transform(self, documents: Iterable[Any]) -> sparse.csr_matrix:
        """Return the bags of documents; tokens that are no terms are left out (`bags` counts them)."""
        return self.rows(documents).csr()

    def rows(self, documents: Iterable[Any]) -> SparseRows:
        """Return the bags of documents as plain arrays, for small jobs that need no SciPy.

        >>> Vocabulary().fit(["to be"]).rows(["be or not to be"]).data.tolist()
        [1, 2]
        """
        check_fitted(self)
        return _stack(list(Bags(self, documents).rows()), len(self))

    def inverse_transform(self, X: Any) -> list[list[str]]:
        """Return the terms of each row of bags, in the order of their columns, each once.

        >>> Vocabulary().fit(["to be or not"]).inverse_transform([[2, 0, 0, 1]])
        [['to', 'not']]
        """
        X = check_bags(X, negative=True)
        if X.shape[1] != len(self):
            raise DataError(f"X has {X.shape[1]} columns but there are {len(self)} terms; pass bags made here")
        present = X.data != 0
        rows = [X.indices[begin:end][present[begin:end]] for begin, end in pairwise(X.indptr)]
        return [self.terms_.take(row).to_list() for row in rows]

    def bags(self, documents: Iterable[Any]) -> Bags:
        """Return the bags as a stream of CSR chunks that is made as it is read, with totals of what was read.

        >>> bags = Vocabulary().fit(["to be"]).bags(["to be", "not to be", ""])
        >>> sum(int(chunk.sum()) for chunk in bags), bags.unknown, bags.empty
        (4, 1, 1)
        """
        check_fitted(self)
        return Bags(self, documents)

    def merge(self, other: Vocabulary) -> Vocabulary:
        """Return the vocabulary of both corpora together; exact, and refused when either was pruned.

        Own terms keep their ids, new ones follow in the other's order (all are sorted again for order="sorted").

        >>> both = Vocabulary().fit(["to be"]).merge(Vocabulary().fit(["be good"]))
        >>> both.terms_.to_list(), both.collection_frequency_.tolist(), both.documents_
        (['to', 'be', 'good'], [1, 2, 1], 2)
        """
        for part in (self, other):
            check_fitted(part)
            if part.removed_:
                rules = ", ".join(part.removed_)
                raise DataError(f"counts removed by {rules} are lost and cannot be merged; merge first, then prune")
        if check_ngrams(self.ngrams) != check_ngrams(other.ngrams):
            raise DataError(f"terms are n-grams of {self.ngrams} words here and of {other.ngrams} there; use one range")
        if _settings(self.tokenizer) != _settings(other.tokenizer):
            raise DataError(
                f"tokens were made by {self.tokenizer!r} here and by {other.tokenizer!r} there; use one tokenizer"
            )
        table = native.TermTable()
        for part in (self, other):
            terms = part.terms_
            table.absorb(terms.bytes, terms.offsets, part.document_frequency_, part.collection_frequency_)
        merged = self._copy()
        merged.fixed = False
        merged._take_terms(*table.terms_from(0))
        merged.documents_ = self.documents_ + other.documents_
        merged.tokens_ = self.tokens_ + other.tokens_
        merged.nonzeros_ = self.nonzeros_ + other.nonzeros_
        merged.removed_, merged.stop_words_ = {}, []
        if merged._reordered():
            merged._select(_alphabetical(merged.terms_, np.arange(len(merged))))
        return merged

    def prune(self, **rules: Any) -> Vocabulary:
        """Return a smaller vocabulary by the rules given (min_df, max_df, min_count, keep, rank_by, stop_words).

        >>> vocabulary = Vocabulary().fit(["a b", "b c c", "c"])
        >>> small = vocabulary.prune(min_df=2)
        >>> small.terms_.to_list(), small.removed_
        (['b', 'c'], {'min_df': {'types': 1, 'tokens': 1}})
        >>> vocabulary.mapping_to(small).tolist()
        [-1, 0, 1]
        """
        check_fitted(self)
        if rules.get("stop_words") == "auto" and self.removed_:
            raise DataError("stop_words='auto' needs all counts, but some were removed; recognize first, then prune")
        unknown = sorted(set(rules) - {*_RULES, "rank_by"})
        if unknown:
            raise DataError(f"{unknown[0]} is no rule; there are {', '.join((*_RULES, 'rank_by'))}")
        smaller = self._copy()
        smaller.fixed = False
        defaults = Vocabulary()
        smaller.set_params(**{name: rules.get(name, getattr(defaults, name)) for name in (*_RULES, "rank_by")})
        smaller._check()
        if smaller.stop_words == "auto":
            smaller.stop_words_ = smaller._recognize(smaller._word_tokens())
        smaller._apply_rules()
        return smaller

    def mapping_to(self, other: Vocabulary) -> NDArray[np.int32]:
        """Return for each own id the id of that term in another vocabulary, -1 if it is not there; for `remap`."""
        check_fitted(self)
        find = other._lexicon().find
        return np.fromiter((find(term) for term in self.terms_), np.int32, len(self))

    def summary(self) -> str:
        """Return one line on the corpus and what the rules left of it.

        >>> Vocabulary(min_df=2).fit(["to be", "to do"]).summary()
        '1 term (of 3), 2 documents, 4 tokens; removed by min_df: 2 types, 2 tokens'
        """
        gone = sum(counts["types"] for counts in self.removed_.values())
        terms = f"{counted(len(self), 'terms')} (of {len(self) + gone})"
        text = f"{terms}, {counted(self.documents_, 'documents')}, {counted(self.tokens_, 'tokens')}"
        for rule, counts in self.removed_.items():
            text += f"; removed by {rule}: {counted(counts['types'], 'types')}, {counted(counts['tokens'], 'tokens')}"
        return text

    @classmethod
    def upgrade(cls, saved: Saved) -> Saved:
        """Format 1 knew no words that were recognized."""
        if saved.fitted:
            saved.state["stop_words_"] = []
        saved.format = 2
        return saved

    def check_values(self) -> None:
        """Check what the layout cannot say of a vocabulary from a file."""
        d, c = self.document_frequency_, self.collection_frequency_
        if len(d) and (d.min() < 0 or d.max() > self.documents_ or (c < d).any()):
            raise ModelFileError("frequencies of the terms contradict each other", reason="damaged")
        for counts in self.removed_.values():
            named = isinstance(counts, dict) and counts.keys() == {"types", "tokens"}
            if not named or {*map(type, counts.values())} != {int}:
                raise ModelFileError("the record of removed terms is not one", reason="damaged")
        if not all(isinstance(word, str) for word in self.stop_words_):
            raise ModelFileError("the list of recognized words holds something else", reason="damaged")
        try:
            self._table = native.TermTable(self.terms_.bytes, self.terms_.offsets, effective_jobs(None))
        except ValueError as error:
            raise ModelFileError(str(error), reason=reason_of(error)) from None

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the terms by column, as scikit-learn asks for them."""
        check_fitted(self)
        return np.array(self.terms_.to_list(), dtype=object)

    def __len__(self) -> int:
        check_fitted(self)
        return len(self.terms_)

    def __contains__(self, term: object) -> bool:
        return isinstance(term, str) and self._find(term) >= 0

    def __getitem__(self, term: str) -> int:
        number = self._find(term)
        if number < 0:
            raise KeyError(term)
        return number

    def __sklearn_clone__(self) -> Vocabulary:
        """A copy for scikit-learn: unfitted, but with the terms if they are fixed.

        >>> from textmill.corpus import read_terms
        >>> import io
        >>> read_terms(io.BytesIO(b"sea\\nmill\\n")).__sklearn_clone__().fit(["the mill"]).terms_.to_list()
        ['sea', 'mill']
        """
        copy = self._copy() if self.fixed else Vocabulary(**self.get_params(deep=False))
        vars(copy).update({name: value for name, value in vars(self).items() if name.startswith("_sklearn")})
        return copy

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_table"}  # the table is made again on use

    def _find(self, term: str) -> int:
        try:
            term.encode()
        except UnicodeEncodeError:  # a lone surrogate: no term has one
            return -1
        number: int = self._lexicon().find(term)
        return number

    def _lexicon(self) -> native.TermTable:
        """The hash table of the terms, made when it is first needed."""
        check_fitted(self)
        if getattr(self, "_table", None) is None:
            self._table = native.TermTable(self.terms_.bytes, self.terms_.offsets, effective_jobs(self.n_jobs))
        return self._table

    def _check(self) -> None:
        for name in ("min_df", "max_df"):
            value = getattr(self, name)
            check_range(name, value, at_least=0, at_most=1 if isinstance(value, float) else None)
        check_range("min_count", self.min_count, at_least=1, whole=True)
        if self.keep is not None:
            check_range("keep", self.keep, at_least=1, whole=True)
        check_choice("rank_by", self.rank_by, ["documents", "occurrences"])
        check_choice("order", self.order, ["appearance", "sorted"])
        check_ngrams(self.ngrams)
        if self.fixed:
            self._check_fixed()
        if isinstance(self.stop_words, str) and self.stop_words != "auto":
            raise DataError(f"stop_words must be a list of words or 'auto', got the text {self.stop_words!r}")
        if self.stop_words == "auto" and (self.ngrams[0] > 1 or isinstance(self.tokenizer, CharacterNgrams)):
            raise DataError(
                "stop_words='auto' needs single words among the terms; let ngrams begin with 1, or pass a list"
            )

    def _check_fixed(self) -> None:
        """Terms that are fixed must be there, and no rule may remove any."""
        if not self.__sklearn_is_fitted__():
            raise DataError("there are no terms to keep; pass fixed=False, or take the vocabulary of read_terms")
        defaults = Vocabulary()
        for rule in _RULES:
            if getattr(self, rule) != getattr(defaults, rule):
                raise DataError(f"the terms are fixed, so {rule} has none to remove; leave it out")

    def _reordered(self) -> bool:
        return self.order == "sorted"

    def _copy(self) -> Vocabulary:
        copy = Vocabulary(**self.get_params(deep=False))
        for name in (*self.layout, *self.state):
            setattr(copy, name, getattr(self, name))
        return copy

    def _finish(self, counter: TermCounter) -> NDArray[np.int32]:
        """Take over all counts, apply the rules and the order; returns the new id of every counted term."""
        if counter.documents == 0:
            raise DataError(_NO_DOCUMENTS)
        terms = self.terms_ if self.fixed else None
        self.documents_ = counter.documents
        self.stop_words_ = []
        if counter.runs and self.stop_words == "auto":  # known before the runs are merged: memory is short
            frequent = counter.result(least_documents=LEAST_DOCUMENTS)
            self._take_terms(*frequent.terms)
            self.stop_words_ = self._recognize(frequent.words)
        counted = counter.result(
            self._stop_list(), self._most(counter.documents), self._least(counter.documents), self.min_count
        )
        self._take_terms(*counted.terms)
        self.tokens_, self.nonzeros_ = counted.tokens, counted.nonzeros
        self.removed_ = counted.removed
        if not counter.runs and self.stop_words == "auto":
            self.stop_words_ = self._recognize(counted.words)
        return self._apply_rules(terms)

    def _stop_list(self) -> Collection[str]:
        """The stop words as terms: also their stems, and phrases of stop words only."""
        if isinstance(self.stop_words, str):
            words = set(self.stop_words_)
        else:
            words = {form for word in self.stop_words for form in (word, self._form(word)) if form}
        if isinstance(self.tokenizer, Phrases):
            words |= {phrase for phrase in self.tokenizer.phrases_ if words.issuperset(phrase.split("_"))}
        return words

    def _form(self, word: str) -> str | None:
        """What the tokenizer makes of a word as it stands in a list."""
        tokenizer = self.tokenizer.tokenizer if isinstance(self.tokenizer, Phrases) else self.tokenizer
        normalize = normalizer(tokenizer)
        return word if normalize is None else normalize(word)

    def _recognize(self, words: int) -> list[str]:
        """The function words among the terms, whose occurrences, n-grams apart, are `words`."""
        single = np.ones(len(self.terms_), dtype=bool)
        if self.ngrams[1] > 1:
            single = single_words(self.terms_.bytes, self.terms_.offsets)
        ids = np.flatnonzero(single & (self.document_frequency_ >= LEAST_DOCUMENTS))
        d, c = self.document_frequency_[ids], self.collection_frequency_[ids]
        listed = {form for word in FUNCTION_WORDS if (form := self._form(word))}
        return function_words_of(self.terms_.take(ids).to_list(), d, c, self.documents_, words, listed)

    def _word_tokens(self) -> int:
        """The occurrences of terms that are single words."""
        single = single_words(self.terms_.bytes, self.terms_.offsets) if self.ngrams[1] > 1 else slice(None)
        return int(self.collection_frequency_[single].sum())

    def _take_terms(
        self,
        names: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        documents: NDArray[np.int64],
        occurrences: NDArray[np.int64],
    ) -> None:
        self.terms_ = StringTable.from_arrays(names, offsets)
        self.document_frequency_, self.collection_frequency_ = documents, occurrences
        self._table = None

    def _most(self, documents: int) -> float:
        return self.max_df * documents if isinstance(self.max_df, float) else self.max_df

    def _least(self, documents: int) -> float:
        return self.min_df * documents if isinstance(self.min_df, float) else self.min_df

    def _cutter(self) -> Cutter:
        return Cutter(self.tokenizer, self.n_jobs, ngrams=self.ngrams)

    def _keep(self, terms: StringTable) -> NDArray[np.int32]:
        """Keep these terms alone, in their order, whether they occur or not; returns the new id of every other one."""
        ids = np.fromiter((self._find(term) for term in terms), np.int64, len(terms))
        places = np.flatnonzero(ids >= 0)
        new_ids = np.full(len(self), -1, dtype=np.int32)
        new_ids[ids[places]] = places
        others = int(self.collection_frequency_[new_ids < 0].sum())
        if len(places) < len(self):
            self.removed_ = {**self.removed_, "fixed": {"types": len(self) - len(places), "tokens": others}}
        documents, occurrences = np.zeros(len(terms), np.int64), np.zeros(len(terms), np.int64)
        documents[places] = self.document_frequency_[ids[places]]
        occurrences[places] = self.collection_frequency_[ids[places]]
        self.terms_, self.document_frequency_, self.collection_frequency_ = terms, documents, occurrences
        self._table = None
        return new_ids

    def _apply_rules(self, terms: StringTable | None = None) -> NDArray[np.int32]:
        """Remove terms by the rules and put the rest in order; returns the new id of every term there was.

        `terms` are those to keep, where they are fixed.
        """
        if terms is not None:
            return self._keep(terms)
        stays = np.ones(len(self), dtype=bool)
        removed = dict(self.removed_)
        for rule, wrong in self._rules(stays):
            out = stays & wrong
            if out.any():
                before = removed.get(rule, {"types": 0, "tokens": 0})
                tokens = int(self.collection_frequency_[out].sum())
                removed[rule] = {"types": before["types"] + int(out.sum()), "tokens": before["tokens"] + tokens}
                stays &= ~out
        ids = np.flatnonzero(stays)
        if self._reordered():
            ids = _alphabetical(self.terms_, ids)
        new_ids = np.full(len(self), -1, dtype=np.int32)
        new_ids[ids] = np.arange(len(ids), dtype=np.int32)
        if len(ids) < len(self) or self._reordered():
            self._select(ids)
        self.removed_ = removed
        return new_ids

    def _rules(self, stays: NDArray[np.bool_]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """Each rule in use with the terms it objects to; `kept` holds those that are still there."""
        d, c = self.document_frequency_, self.collection_frequency_
        if stop_words := self._stop_list():
            listed = np.zeros(len(self), dtype=bool)
            if self.ngrams[1] > 1:
                table = native.TermTable()
                table.insert(list(stop_words))
                terms, threads = self.terms_, effective_jobs(self.n_jobs)
                listed = native.holding_words(table, terms.bytes, terms.offsets, threads=threads).astype(bool)
            else:
                listed[[self[word] for word in stop_words if word in self]] = True
            yield "stop_words", listed
        yield "max_df", d > self._most(self.documents_)
        yield "min_df", d < self._least(self.documents_)
        yield "min_count", c < self.min_count
        if self.keep is not None:
            left = np.flatnonzero(stays)
            rank = (d if self.rank_by == "documents" else c)[left]
            beyond = np.zeros(len(self), dtype=bool)
            beyond[left[np.argsort(-rank, kind="stable")[self.keep :]]] = True  # stable: ties go to the smaller id
            yield "keep", beyond

    def _select(self, ids: NDArray[np.intp]) -> None:
        """Keep only the terms with these ids, in this order."""
        self.terms_ = self.terms_.take(ids)
        self.document_frequency_ = self.document_frequency_[ids]
        self.collection_frequency_ = self.collection_frequency_[ids]
        self._table = None


class Bags:
    """The bags of a stream of documents, chunk by chunk; can be read again when the documents can.

    Attributes, of the last or running pass: documents, tokens (known ones), unknown (tokens that are no terms), empty
    (documents without a known token). `source` are the documents.
    """

    def __init__(self, vocabulary: Vocabulary, documents: Iterable[Any]) -> None:
        self.vocabulary = vocabulary
        self.source = texts_of(documents)
        self.documents = self.tokens = self.unknown = self.empty = 0

    def __iter__(self) -> Iterator[sparse.csr_matrix]:
        return (rows.csr() for rows in self.rows())

    def rows(self) -> Iterator[SparseRows]:
        """Yield the chunks as plain arrays."""
        self.documents = self.tokens = self.unknown = self.empty = 0
        table = self.vocabulary._lexicon()
        cutter = self.vocabulary._cutter()
        for batch in text_batches(track(self.source, "making bags", unit="documents")):
            if cutter.normalizes(batch):
                rows, unknown = cutter.count_forms(batch, self.documents, table, grow=False)
            else:
                cut, rules = cutter.cut(batch)
                rows, unknown = table.count_known(cut, rules, threads=cutter.threads, first=self.documents)
            offsets, terms, counts = rows
            X = SparseRows(counts, terms, offsets, (len(offsets) - 1, len(self.vocabulary)))
            self.documents += X.shape[0]
            self.tokens += int(X.data.sum(dtype=np.int64))
            self.unknown += unknown
            self.empty += int(np.count_nonzero(np.diff(X.indptr) == 0))
            yield X


def _lists(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Consecutive lists of at most `size` items."""
    rest = iter(items)
    while piece := list(islice(rest, size)):
        yield piece


def _settings(tokenizer: Any) -> str:
    """All that a tokenizer was told, in full."""
    parameters = tokenizer.get_params() if hasattr(tokenizer, "get_params") else {}
    return f"{tokenizer!r} {parameters!r}"


def _stack(parts: list[SparseRows], columns: int) -> SparseRows:
    """Rows one below the other; earlier ones may have fewer columns. The list is emptied, to hold them only once."""
    if len(parts) == 1 and parts[0].shape[1] == columns:
        return parts[0]
    lengths = [np.diff(part.indptr) for part in parts]
    counts_of_parts, terms_of_parts = [part.data for part in parts], [part.indices for part in parts]
    parts.clear()
    counts = np.concatenate(counts_of_parts) if counts_of_parts else np.zeros(0, np.int32)
    del counts_of_parts
    terms = np.concatenate(terms_of_parts) if terms_of_parts else np.zeros(0, np.int32)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate([np.zeros(0, np.int64), *lengths]))])
    return SparseRows(counts, terms, offsets.astype(np.int64), (len(offsets) - 1, columns))


def _alphabetical(terms: StringTable, ids: NDArray[np.intp]) -> NDArray[np.intp]:
    """The ids in the order of their terms' code points."""
    chosen = terms.take(ids)
    order: NDArray[np.int64] = native.sort_strings(chosen.bytes, chosen.offsets)
    return np.asarray(ids[order])
