"""Who of the people one knows was it? Names and numbers of a message, looked up in a list of contacts.

    P(contact) proportional to prior * P(name | contact) P(number | contact) P(other evidence | contact)

A name is compared with those of the list by sound, and by a measure of `strings` that forgives other spellings, a
recognizer's above all; a number counts if its last digits agree. Anything else that names contacts with scores (the
station that the exchange reports, a voice that is recognized) takes part in the same way. What nothing speaks for is
left out.

Cost: one search in the list per message. Reference: Jansche & Abney (2002), outlook; Fellegi & Sunter (1969).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from textmill.corpus import read_records
from textmill.errors import DataError
from textmill.strings import Matcher, sound_code
from textmill.tasks.voicemail.answers import VoicemailAnswer

__all__ = ["Contact", "ContactMatch", "Contacts", "read_contacts"]

_FLOOR = 0.02  # likelihood of evidence that does not fit: everyone may call from a friend's telephone
_MEASURE = "ml(words, sub=jaro)"
_SOUND = 0.9  # score of a name that sounds the same
_DIGITS = 7  # that must agree, or all of a shorter number


class Contact(NamedTuple):
    """A name and the digits of its numbers."""

    name: str
    numbers: tuple[str, ...] = ()


class ContactMatch(NamedTuple):
    """A contact, the share of the probability that it has among all, and what speaks for it."""

    contact: Contact
    probability: float
    evidence: tuple[str, ...]


@dataclass
class Contacts:
    """A list of contacts in which callers are looked up.

    >>> contacts = Contacts([Contact("Pat Caller", ("2125551312",)), Contact("Kim Lee")])
    >>> [match.contact.name for match in contacts.search("Pet Collar")]
    ['Pat Caller']
    >>> [match.evidence for match in contacts.search(None, ["5551312"])]
    [('number 2125551312',)]
    """

    people: Sequence[Contact]
    threshold: float = 0.6

    def __post_init__(self) -> None:
        if not self.people:
            raise DataError("there are no contacts; give one at least")
        self._matcher = Matcher(measure=_MEASURE, threshold=self.threshold).fit(
            [contact.name for contact in self.people]
        )
        self._sounds: dict[str, list[int]] = {}
        for i, contact in enumerate(self.people):
            self._sounds.setdefault(_sounds(contact.name), []).append(i)

    def search(
        self,
        name: str | None,
        numbers: Sequence[str] = (),
        *,
        evidence: Sequence[Mapping[str, float]] = (),
        k: int = 3,
    ) -> list[ContactMatch]:
        """The k most probable contacts; `evidence` has scores from 0 to 1 by name of contact."""
        reasons: dict[int, list[str]] = {}
        weights: dict[int, float] = {}
        sources: list[dict[int, tuple[float, str]]] = []
        if name:
            near = self._matcher.query(name, k=20, threshold=self.threshold)
            scores = {one.position: one.score for one in near}
            for i in self._sounds.get(_sounds(name), ()):
                scores[i] = max(scores.get(i, 0.0), _SOUND)
            sources.append({i: (score, f"name {self.people[i].name}") for i, score in scores.items()})
        for number in numbers:
            own = {}
            for i, contact in enumerate(self.people):
                same = next((listed for listed in contact.numbers if _agree(listed, number)), None)
                if same is not None:
                    own[i] = (1.0, f"number {same}")
            sources.append(own)
        places = {contact.name: i for i, contact in enumerate(self.people)}
        for likely in evidence:
            sources.append({places[who]: (score, "evidence") for who, score in likely.items() if who in places})
        for source in sources:
            for i, (_, reason) in source.items():
                reasons.setdefault(i, []).append(reason)
        for i in reasons:
            weights[i] = 1.0
            for source in sources:
                if source:
                    weights[i] *= max(source.get(i, (0.0, ""))[0], _FLOOR)
        total = sum(weights.values())
        best = sorted(weights, key=lambda i: (-weights[i], i))[:k]
        return [ContactMatch(self.people[i], weights[i] / total, tuple(reasons[i])) for i in best]

    def identify(
        self, answer: VoicemailAnswer, *, evidence: Sequence[Mapping[str, float]] = (), k: int = 3
    ) -> list[ContactMatch]:
        """The contacts that an answer may speak of."""
        name = None if answer.name is None else answer.name.text
        return self.search(name, [number.digits for number in answer.callbacks], evidence=evidence, k=k)


def _sounds(name: str) -> str:
    return " ".join(sound_code(word) for word in name.split())


def _agree(listed: str, number: str) -> bool:
    """Do two numbers end alike? An internal number of four or five digits must be the end of the other."""
    shorter = min(len(listed), len(number))
    if shorter < 4:
        return False
    least = min(_DIGITS, shorter)
    return listed[-least:] == number[-least:]


def read_contacts(
    source: str | os.PathLike[str], *, name_field: str = "name", number_field: str = "number"
) -> Contacts:
    """Contacts of a table (CSV, TSV, JSONL, Parquet): a name, and numbers with semicolons between."""
    people = []
    for record in read_records(os.fspath(source)):
        name = record.fields.get(name_field)
        if not isinstance(name, str) or not name.strip():
            fault = f"there is no name; the field is called {name_field!r}, there are {', '.join(record.fields)}"
            raise DataError(fault, source=record.source, line=record.line)
        numbers = str(record.fields.get(number_field) or "").split(";")
        digits = ("".join(letter for letter in number if letter in "0123456789") for number in numbers)
        people.append(Contact(name.strip(), tuple(number for number in digits if number)))
    return Contacts(people)
