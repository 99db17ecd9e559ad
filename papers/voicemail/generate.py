"""Made-up voicemail with gold mark-up, for those who have none: seeded, of any length.

    message = [greeting] [caller] body [number] body [number again] closing

Shares and lengths are those that were published of ten thousand real messages: 5.3 % of the messages are empty, 91.9 %
of the others have a caller, 95.3 % of those a name; 0.69 numbers in a message, 12.8 % of them with area, code or
extension and 2.9 % with a slip of the tongue. What follows a name (from the lab, calling back) is marked by some
annotators and not by others. Words with numbers that nobody should call are put in so often that the number grammar is
right in 0.30 of its proposals, and in 0.59 of those with four digits or more; what the background sentences have of
their own is counted and left out of that.

Message i of a seed is the same whatever stands before it. Cost: some ten thousand messages per second.
Reference: Jansche & Abney (2002), Information extraction from voicemail transcripts.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from papers.voicemail.productions import People, read_productions
from papers.voicemail.speaking import number_to_call, readings, speak_digits, speak_mixed
from textmill.errors import DataError
from textmill.model import check_range
from textmill.tasks.voicemail.locale import read_locale
from textmill.tasks.voicemail.messages import MarkedSpan, Message
from textmill.tasks.voicemail.numbers import NumberGrammar

__all__ = ["VoicemailGenerator", "spoken_sentences"]

EMPTY, CALLER, NAMED = 0.053, 0.919, 0.953
NUMBERS = 0.69  # per message that is not empty
REPEATED, SECOND, CUED = 1 / 3, 0.08, 0.85
CUE_WORDS, DISFLUENT = 0.128, 0.029
LONG, SHORT = 0.42, 1.06  # numbers not to call, per message: of four digits or more, of fewer
STARTS = (0.012, 0.63, 0.27, 0.05, 0.014, 0.007, 0.005)  # words before the caller; the rest: sentences
HABITS = (0.95, 0.8, 0.6, 0.4, 0.2)  # how often each annotator marks what follows a name
_SENTENCES = (2, 3, 3, 4, 4, 5, 5, 6, 7, 9)  # of a message
_TRIAL = 2000  # messages from which the numbers of the background are counted
_PUNCTUATION = re.compile(r"[^\w' ]|_")


def spoken_sentences(texts: Iterable[str]) -> list[str]:
    """Sentences as a transcript has them: numerals as words, in lower case, without punctuation; I stays I.

    >>> spoken_sentences(["We met at 3:30, didn't we? I'd say so.", "..."])
    ["we met at three thirty didn't we I'd say so"]
    """
    from textmill.tasks.normalization import Normalizer

    normalizer = None
    sentences = []
    for text in texts:
        if any(letter.isdecimal() for letter in text):
            normalizer = normalizer or Normalizer()
            text = normalizer.normalize(text)
        words = _PUNCTUATION.sub(" ", text.replace("\u2019", "'")).lower().split()
        words = [word for word in words if any(letter.isalpha() for letter in word)]
        words = ["I" + word[1:] if word in ("i", "i'm", "i've", "i'd", "i'll") else word for word in words]
        if words:
            sentences.append(" ".join(words))
    return sentences


class VoicemailGenerator:
    """Makes messages.

    `background`: sentences to fill messages with; None for productions of our own. `callers`: "known" or "new", two
    worlds of people with different surnames. `surnames`: a list of your own, the commonest first.

    >>> generator = VoicemailGenerator(random_state=3)
    >>> messages = list(generator.generate(3))
    >>> messages == [generator.message(i) for i in range(3)]
    True
    """

    def __init__(
        self,
        *,
        background: Iterable[str] | None = None,
        callers: str = "known",
        surnames: Iterable[str] | None = None,
        random_state: int = 0,
    ) -> None:
        self.callers = callers
        self.random_state = random_state
        self.people = People(callers, surnames=surnames)
        self.spoken = frozenset(read_locale("us").spoken)
        self._forms = read_productions("forms")
        self._own = read_productions("background")
        self._sentences = None if background is None else spoken_sentences(background)
        if self._sentences is not None and not self._sentences:
            raise DataError("the background has no sentence with words; give more text, or none for our own sentences")
        self._long, self._short = self._balance()

    def generate(self, n_messages: int, *, first: int = 0) -> Iterator[Message]:
        """Messages `first`, `first` + 1, ..."""
        check_range("n_messages", n_messages, at_least=0, whole=True)
        return (self.message(i) for i in range(first, first + n_messages))

    def message(self, number: int) -> Message:
        """One message by its number."""
        generator = random.Random(f"{self.random_state} {self.callers} {number}")
        if generator.random() < EMPTY:
            return Message(())
        return _Composition(self, generator).message()

    def _balance(self) -> tuple[float, float]:
        """How many numbers not to call are put in: what is wanted, less what the background has of its own.

        Sentences with numbers are thinned out until the background has a third of what is wanted at most.
        """
        if self._sentences is not None:
            grammar = NumberGrammar(n_jobs=1)
            sizes = [[len(n.digits) + len(n.extension) for n in own] for own in grammar.find_all(self._sentences)]
            mean = sum(_SENTENCES) / len(_SENTENCES) / len(sizes)  # sentences in a message, per sentence there is
            for least, most, wanted in ((4, 10**9, LONG), (1, 3, SHORT)):
                there = mean * sum(least <= size <= most for own in sizes for size in own)
                keep = min(1.0, wanted / 3 / there) if there else 1.0
                generator = random.Random("background")
                pairs = [
                    (text, own)
                    for text, own in zip(self._sentences, sizes, strict=True)
                    if not any(least <= size <= most for size in own) or generator.random() < keep
                ]
                self._sentences, sizes = [text for text, _ in pairs], [own for _, own in pairs]
        generator = random.Random("trial")
        long = short = 0
        for numbers in NumberGrammar(n_jobs=1).find_all([s for _ in range(_TRIAL) for s in self.sentences(generator)]):
            for number in numbers:
                if len(number.digits) + len(number.extension) >= 4:
                    long += 1
                else:
                    short += 1
        return max(0.0, LONG - long / _TRIAL), max(0.0, SHORT - short / _TRIAL)

    def sentences(self, generator: random.Random) -> list[str]:
        """The background of one message."""
        return [self.sentence(generator) for _ in range(generator.choice(_SENTENCES))]

    def sentence(self, generator: random.Random) -> str:
        """One sentence, a long one cut to 30 words."""
        if self._sentences is None:
            return self._own.expand("sentence", generator, {})
        return " ".join(generator.choice(self._sentences).split()[:30])


class _Composition:
    """The parts of one message."""

    def __init__(self, world: VoicemailGenerator, generator: random.Random) -> None:
        self.world = world
        self.generator = generator
        self.tokens: list[str] = []
        self.spans: list[MarkedSpan] = []
        self.fill: dict[str, Callable[[], str]] = {
            "friend": lambda: world.people.first_name(generator),
            **readings(generator),
        }

    def message(self) -> Message:
        generator, world = self.generator, self.world
        named = self._opening()
        count = 0
        chance = NUMBERS / (1 + REPEATED + SECOND)
        if named == "number":
            count = int(generator.random() < SECOND)
        elif generator.random() < chance:
            count = 1 + (generator.random() < SECOND)
        pieces: list[Callable[[], None]] = [partial(self._say, text) for text in world.sentences(generator)]
        for kind, rate in (("long distractor", world._long), ("short distractor", world._short)):
            for _ in range(_poisson(rate, generator)):
                pieces.insert(generator.randint(0, len(pieces)), partial(self._say_form, kind))
        again: list[Callable[[], None]] = []
        for _ in range(count):
            digits = number_to_call(generator)
            place = generator.randint((len(pieces) + 1) // 2, len(pieces))
            pieces.insert(place, partial(self._give, digits))
            if generator.random() < REPEATED:
                again.append(partial(self._give, digits, again=True))
                if generator.random() < 0.6:
                    pieces.insert(place + 1, again.pop())
        for piece in [*pieces, *again]:
            piece()
        if generator.random() < 0.8:
            self._say(self._form("closing"), "closing")
        return Message(tuple(self.tokens), tuple(self.spans))

    def _opening(self) -> str:
        """Greeting and caller; returns "number" if the caller has given one already."""
        generator = self.generator
        words = generator.choices(range(len(STARTS) + 1), [*STARTS, 1 - sum(STARTS)])[0]
        if words == len(STARTS):
            self._preamble()
        elif words:
            self._say(self._form(f"greeting {words}"), "greeting")
        if generator.random() >= CALLER:
            return ""
        if generator.random() >= NAMED:
            self._say(self._form("anonymous caller"), "caller")
            return ""
        person = self.world.people.caller(generator)
        name = self.world.people.spoken_name(person, generator)
        phrase = self._forms("caller", {"name": lambda: name})
        return self._with_tail(phrase)

    def _preamble(self) -> None:
        """Sentences before the caller: a few words at least, sometimes very many."""
        length = min(135, 7 + int(self.generator.expovariate(1 / 12)))
        if self.generator.random() < 0.05:
            length = self.generator.randint(60, 135)
        words: list[str] = []
        while len(words) < length:
            words += self.world.sentence(self.generator).split()
        self._say(" ".join(words[:length]))

    def _with_tail(self, phrase: str) -> str:
        generator = self.generator
        chance = generator.random()
        marked = generator.random() < generator.choice(HABITS)
        if chance < 0.02:  # at this number
            tail = generator.choice(("at", "calling from", "on"))
            self._say(f"{phrase} {tail}" if marked else phrase, "caller")
            if not marked:
                self._say(tail)
            self._say_number(number_to_call(generator))
            return "number"
        if chance < 0.52:
            tail = self._form("tail")
        elif chance < 0.59:
            tail = self._form("long tail")
            while generator.random() < 0.3:
                tail += " and " + self.world.sentence(generator)
        else:
            self._say(phrase, "caller")
            return ""
        if marked:
            room = 47 - len(phrase.split())
            words = tail.split()
            self._say(f"{phrase} {' '.join(words[:room])}", "caller")
            self._say(" ".join(words[room:]))
        else:
            self._say(phrase, "caller")
            self._say(tail)
        return ""

    def _give(self, digits: str, *, again: bool = False) -> None:
        """A number with its cue, or without one."""
        generator = self.generator
        if again:
            form = self._forms("repeat", {"number": lambda: "<number>"})
        elif len(digits) == 7 and generator.random() < 0.05:
            form = self._forms("area", {"number": lambda: "<number>"})
        elif generator.random() < CUED:
            form = self._forms("cue", {"number": lambda: "<number>"})
        else:
            form = "<number>"
        before, _, after = form.partition("<number>")
        if not before and self.tokens and self.tokens[-1] in self.world.spoken:
            before = "and"  # or two numbers would run into one
        self._say(before)
        self._say_number(digits)
        self._say(after)
        chance = generator.random()
        if chance < 0.008:
            self._say(self._form("number word after"))
        elif chance < 0.35:
            self._say(self._form("after"))

    def _say_number(self, digits: str) -> None:
        generator = self.generator
        chance, style = generator.random(), generator.random()
        if style < 0.92:
            words = speak_digits(digits)
        elif style < 0.96:
            words = speak_digits(digits, "oh")
        else:
            words = speak_mixed(digits, generator)
        if len(digits) == 11 and digits.startswith("1800"):
            words = f"one eight hundred {speak_digits(digits[4:])}"
        if chance < CUE_WORDS:
            extension = speak_digits("".join(generator.choices("123456789", k=generator.choice((2, 3, 4)))))
            if len(digits) <= 5:
                words = f"extension {words}"
            elif len(digits) == 10 and generator.random() < 0.8:
                words = f"area code {words}"
            else:
                words = f"{words} extension {extension}"
        elif chance < CUE_WORDS + DISFLUENT:
            spoken = words.split()
            at = generator.randint(2, max(2, len(spoken) - 1))
            slip = generator.choice(("uh", "um", "uh", "sorry", "no wait", "let me see"))
            repeated = spoken[at - 1 : at] if generator.random() < 0.4 else []
            words = " ".join([*spoken[:at], *slip.split(), *repeated, *spoken[at:]])
        self._say(words, "telno")

    def _say_form(self, symbol: str) -> None:
        self._say(self._form(symbol))

    def _form(self, symbol: str) -> str:
        return self._forms(symbol, {})

    def _forms(self, symbol: str, more: dict[str, Callable[[], str]]) -> str:
        return self.world._forms.expand(symbol, self.generator, self.fill | more)

    def _say(self, text: str, label: str | None = None) -> None:
        words = text.split()
        start = len(self.tokens)
        self.tokens += words
        if label is not None and words:
            self.spans.append(MarkedSpan(start, len(self.tokens), label))


def _poisson(rate: float, generator: random.Random) -> int:
    """A number of events of this rate, by waiting times."""
    count, time = 0, generator.expovariate(1.0)
    while time < rate:
        count += 1
        time += generator.expovariate(1.0)
    return count
