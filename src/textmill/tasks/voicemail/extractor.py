"""Who called, and which number to call back: trees over the words of a message, trained on marked ones.

    caller, name   a start and a length, by two trees each (callers.py)
    numbers        candidates of the number grammar (numbers.py), judged by a tree (candidates.py)

The model carries its word lists and is small enough to be read: `rules` prints each tree. Nothing depends on capital
letters, which a recognizer does not write. Partial transcripts are messages like others: what was said so far is used.

Cost: linear in the words; native and threaded. Reference: Jansche & Abney (2002), Information extraction from voicemail
transcripts, EMNLP.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar, Self

import numpy as np

from textmill.errors import DataError, ModelFileError, reason_of
from textmill.model import Estimator, Model, check_choice, check_fitted, check_range, effective_jobs
from textmill.tasks.voicemail.answers import CallbackNumber, FoundNumber, FoundSpan, VoicemailAnswer, merge_numbers
from textmill.tasks.voicemail.callers import CallerTrees
from textmill.tasks.voicemail.candidates import FAMILIES, learn_numbers, number_probabilities
from textmill.tasks.voicemail.locale import Locale, read_locale
from textmill.tasks.voicemail.messages import MarkedSpan, Message
from textmill.tasks.voicemail.numbers import FoundNumbers, SpokenNumber, message_texts
from textmill.tasks.voicemail.reasons import NodeReasons
from textmill.trees import CategoricalTree, tree_rules

__all__ = ["TREES", "VoicemailExtractor"]

_DERIVED = ("_locale", "_callers", "_number_probabilities", "_reasons")  # from what is saved
TREES = ("caller start", "caller length", "name start", "name length", "number")


class VoicemailExtractor(Estimator, Model):
    """Learn from marked messages who called and which numbers to call.

    Parameters:
        locale: Words of the locale: "us", "gb", or the path of a TOML file.
        skip_fillers: Whether "uh" and "um" inside of numbers are passed over.
        joint: Whether start and length are chosen together; else the best start, then the best length.
        predicted_starts: Whether lengths are learned at starts that trees of other messages predict, not at gold ones.
        threshold: Least probability of a caller or a name; None to choose the one of the greatest F.
        number_threshold: Least probability of a number; None to choose the one of the greatest F.
        without: Families of features that the tree of numbers must do without, see `FAMILIES`.
        min_cases: See `trees.CategoricalTree`.
        confidence: Confidence of pruning, see `trees.CategoricalTree`; None to choose the one of the greatest F.
        n_jobs: Threads; None for all cores. The model is the same for any number.

    Attributes:
        caller_start_: The tree of starts of callers.
        caller_length_: The tree of their lengths.
        name_start_: The tree of starts of names.
        name_length_: The tree of their lengths.
        number_: The tree of candidates; class 1 is to be called.
        thresholds_: Least probabilities of callers, names and numbers, (3,).

    >>> from textmill.tasks.voicemail import sample_messages
    >>> model = VoicemailExtractor().fit(sample_messages())
    >>> text = "hi Jane this is Pat Caller please call me at three two seven one zero two five thanks bye"
    >>> answer = model.extract([text])[0]
    >>> answer.name.text, [number.written for number in answer.callbacks]
    ('Pat Caller', ['327-1025'])
    """

    takes: ClassVar[str] = "texts"
    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {"thresholds_": "kind"}
    state: ClassVar[dict[str, Any]] = {"locale_text_": str}
    parts: ClassVar[dict[str, str]] = {f"{name.replace(' ', '_')}_": "trees.CategoricalTree" for name in TREES}

    thresholds_: Any
    locale_text_: str
    caller_start_: CategoricalTree
    caller_length_: CategoricalTree
    name_start_: CategoricalTree
    name_length_: CategoricalTree
    number_: CategoricalTree

    def __init__(
        self,
        *,
        locale: str = "us",
        skip_fillers: bool = True,
        joint: bool = True,
        predicted_starts: bool = False,
        threshold: float | None = None,
        number_threshold: float | None = None,
        without: Collection[str] = (),
        min_cases: float = 2,
        confidence: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.locale = locale
        self.skip_fillers = skip_fillers
        self.joint = joint
        self.predicted_starts = predicted_starts
        self.threshold = threshold
        self.number_threshold = number_threshold
        self.without = without
        self.min_cases = min_cases
        self.confidence = confidence
        self.n_jobs = n_jobs

    # ---- learning

    def fit(self, X: Iterable[Message | str], y: Sequence[Iterable[tuple[int, int, str]]] | None = None) -> Self:
        """Learn from marked messages, or from texts and their spans (start, end, label)."""
        for name in ("threshold", "number_threshold"):
            if getattr(self, name) is not None:
                check_range(name, getattr(self, name), at_least=0, at_most=1)
        for family in self.without:
            check_choice("without", family, tuple(FAMILIES))
        messages = _marked(X, y)
        locale = read_locale(self.locale)
        texts = message_texts(messages)
        tree = CategoricalTree(min_cases=self.min_cases, confidence=self.confidence, n_jobs=self.n_jobs)
        learned = {}
        for kind in ("caller", "name"):
            spans = [None if (span := getattr(message, kind)) is None else span[:2] for message in messages]
            learned[kind] = CallerTrees.learn(
                locale,
                texts,
                spans,
                joint=self.joint,
                threshold=self.threshold,
                predicted_starts=self.predicted_starts,
                tree=tree,
            )
        numbers, number_threshold = learn_numbers(
            locale,
            texts,
            [{span[:2] for span in message.marked("telno")} for message in messages],
            mode=self._mode,
            threshold=self.number_threshold,
            without=self.without,
            tree=tree,
        )
        phrases, names = learned["caller"], learned["name"]
        self.caller_start_, self.caller_length_ = phrases.start, phrases.length
        self.name_start_, self.name_length_ = names.start, names.length
        self.number_ = numbers
        self.thresholds_ = np.array([phrases.threshold, names.threshold, number_threshold])
        self.locale_text_ = json.dumps(asdict(locale), sort_keys=True)
        self._forget()
        return self

    # ---- answers

    def extract(self, X: Iterable[Message | str], *, reasons: bool = False) -> list[VoicemailAnswer]:
        """Callers and numbers of messages; with `reasons` the tests of the trees that led to each.

        Marks of messages are not looked at.
        """
        check_fitted(self)
        messages = list(X)
        texts = message_texts(messages)
        phrases, names, candidates, probabilities, nodes, anonymous = self._locale.native.extract(
            texts,
            *self._callers,
            self.number_.walker(),
            self._number_probabilities,
            float(self.thresholds_[2]),
            0,
            self._mode,
            effective_jobs(self.n_jobs),
        )
        numbers = FoundNumbers(candidates)
        callers, owners = _found_spans(phrases), _found_spans(names)
        ends, likely, at = numbers.offsets.tolist(), probabilities.tolist(), nodes.tolist()
        least = float(self.thresholds_[2])
        why = self._reasons if reasons else None
        locale = self._locale
        near = (numbers.n_digits == 3).tolist()  # may be area codes
        answers = []
        for i, secret in enumerate(anonymous.astype(bool).tolist()):
            caller, name = callers[i], owners[i]
            chosen = [k for k in range(ends[i], ends[i + 1]) if likely[k] >= least]
            if caller is None and name is None and not chosen:
                answers.append(_NOTHING[secret])
                continue
            message = messages[i]
            last = max(0 if caller is None else caller[1], 0 if name is None else name[1])
            tokens: Sequence[str] = message.tokens if isinstance(message, Message) else message.split(None, last)
            to_call: tuple[FoundNumber, ...] = ()
            callbacks: tuple[CallbackNumber, ...] = ()
            if chosen:
                to_call = tuple(
                    [
                        FoundNumber(*numbers.one(k), likely[k], () if why is None else why["number"][at[k]])
                        for k in chosen
                    ]
                )
                codes = [k for k in range(ends[i], ends[i + 1]) if near[k] and likely[k] < least]
                others = [SpokenNumber(*numbers.one(k), bool(numbers.cue[k])) for k in codes]
                if others:
                    tokens = message.tokens if isinstance(message, Message) else message.split()
                callbacks = merge_numbers(to_call, locale, others=others, tokens=tokens)
            answers.append(
                VoicemailAnswer(
                    None if caller is None else _span(caller, tokens, why, "caller"),
                    None if name is None else _span(name, tokens, why, "name"),
                    secret,
                    to_call,
                    callbacks,
                )
            )
        return answers

    def extract_stream(
        self, X: Iterable[Message | str], *, reasons: bool = False, chunk_size: int = 1000
    ) -> Iterator[VoicemailAnswer]:
        """Answers to messages as they come, some at a time."""
        check_range("chunk_size", chunk_size, at_least=1, whole=True)
        messages = iter(X)
        while chunk := list(islice(messages, chunk_size)):
            yield from self.extract(chunk, reasons=reasons)

    def predict(self, X: Iterable[Message | str]) -> list[list[MarkedSpan]]:
        """Spans of messages, with the labels caller, name and telno."""
        check_fitted(self)
        return [answer.spans for answer in self.extract(X)]

    # ---- what it is

    def tree(self, name: str) -> CategoricalTree:
        """One of the trees: caller start, caller length, name start, name length, number."""
        check_choice("tree", name, TREES)
        check_fitted(self)
        tree: CategoricalTree = getattr(self, f"{name.replace(' ', '_')}_")
        return tree

    def rules(self, name: str = "number") -> Any:
        """A tree as rules that people can read."""
        return tree_rules(self.tree(name))

    @property
    def locale_(self) -> Locale:
        """The words that the model was trained with."""
        check_fitted(self)
        return self._locale

    @cached_property
    def _locale(self) -> Locale:
        fields: dict[str, Any] = json.loads(self.locale_text_)
        lists = {key: tuple(value) for key, value in fields.items() if isinstance(value, list)}
        spoken = {word: tuple(facts) for word, facts in fields["spoken"].items()}
        return Locale(**fields | lists | {"spoken": spoken})

    @property
    def _mode(self) -> str:
        return "fillers" if self.skip_fillers else "grammar"

    @cached_property
    def _callers(self) -> tuple[Any, Any]:
        """Native trees of callers and of names."""
        pairs = ((self.caller_start_, self.caller_length_), (self.name_start_, self.name_length_))
        trees = [
            CallerTrees(start, length, float(least), self.joint).native()
            for (start, length), least in zip(pairs, self.thresholds_, strict=False)
        ]
        return trees[0], trees[1]

    @cached_property
    def _number_probabilities(self) -> Any:
        return number_probabilities(self.number_)

    @cached_property
    def _reasons(self) -> dict[str, NodeReasons]:
        return {name: NodeReasons(self.tree(name)) for name in TREES}

    def check_values(self) -> None:
        """Check that word lists and thresholds make sense."""
        try:
            words = self._locale.native
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as fault:
            raise ModelFileError(f"the word lists do not hold together: {fault}", reason=reason_of(fault)) from None
        if len(self.thresholds_) != 3 or not ((self.thresholds_ >= 0) & (self.thresholds_ <= 1)).all():
            raise ModelFileError("there must be three thresholds between 0 and 1", reason="damaged")
        try:
            words.extract([""], *self._callers, self.number_.walker(), self._number_probabilities, 0.5, 0, "grammar", 1)
        except (ArithmeticError, LookupError, TypeError, ValueError) as fault:
            raise ModelFileError(
                f"trees and word lists do not fit together: {fault}", reason=reason_of(fault)
            ) from None

    def _forget(self) -> None:
        for name in _DERIVED:
            vars(self).pop(name, None)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _DERIVED}


_NOTHING = {False: VoicemailAnswer(), True: VoicemailAnswer(anonymous=True)}


def _found_spans(arrays: tuple[Any, ...]) -> list[tuple[int, int, float, int, int] | None]:
    begin, end, probability, _, start_node, length_node = (array.tolist() for array in arrays)
    rows = zip(begin, end, probability, start_node, length_node, strict=True)
    return [None if row[0] < 0 else row for row in rows]


def _span(
    row: tuple[int, int, float, int, int], tokens: Sequence[str], why: dict[str, NodeReasons] | None, kind: str
) -> FoundSpan:
    start, end, probability, first, second = row
    reasons = () if why is None else (*why[f"{kind} start"][first], *why[f"{kind} length"][second])
    return FoundSpan(start, end, " ".join(tokens[start:end]), probability, reasons)


def _marked(X: Iterable[Message | str], y: Sequence[Iterable[tuple[int, int, str]]] | None) -> list[Message]:
    messages = list(X)
    if y is not None:
        if len(y) != len(messages):
            raise DataError(f"there are {len(messages)} messages but spans of {len(y)}; give spans of each")
        messages = [
            Message(
                message.tokens if isinstance(message, Message) else tuple(message.split()),
                tuple(MarkedSpan(*span) for span in sorted(spans)),
            )
            for message, spans in zip(messages, y, strict=True)
        ]
    for number, message in enumerate(messages):
        if not isinstance(message, Message):
            raise DataError(f"message {number} has no marks; give messages from read_messages, or texts and spans")
    if not messages:
        raise DataError("there are no messages to learn from; give marked ones")
    return messages  # type: ignore[return-value]
