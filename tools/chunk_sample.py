"""Write the samples of chunked sentences: `python tools/chunk_sample.py src/textmill/corpus/samples`.

A small grammar of English makes sentences of chunks in the manner of CoNLL-2000: noun, verb, prepositional, adverb and
adjective phrases, particles and subordinators. Many words belong to several classes ("plans", "back", "that"), and
four in a hundred part-of-speech tags are wrong, as those of a real tagger are, so that a labeller has something to
learn beyond the tag. The same seed gives the same bytes.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

SEED = 2010
PARTS = {"chunks-train.txt": 700, "chunks-test.txt": 200}  # sentences
WRONG_TAGS = 0.04

LEXICON = """
DT    the the the a a this that every each some any no
PRP$  its their his her our
PRP   it they he she we you
JJ    new old small large local public open wide cold warm early late heavy light wooden narrow annual former
JJ    major minor quiet busy clear steady sharp modest strong weak dry wet distant northern
JJR   older smaller larger warmer lower higher stronger
NN    mill river plan report price road harvest market bridge wheel grain bread water stone storm winter season
NN    owner board council sale trade share cost offer back turn cut rise fall change charge visit record study
NNS   mills rivers plans reports prices roads farmers workers visitors owners wheels stones shares costs offers
NNS   turns cuts changes charges records studies bakers traders engineers villages bridges
NNP   Hill Alder Marsh Rowan Brook Linden Holm Vale Thorn Weir Ash Corwin
CD    two three 12 40 1,500 1987 3.5 seven ten
VBD   opened closed sold bought built turned cut rose fell changed visited carried found held set broke
VBZ   opens plans reports offers turns cuts changes charges records studies carries holds sets sells
VBP   open plan report offer turn cut change charge record study carry hold set sell
VB    open plan report offer turn cut change charge record visit build sell carry hold set find
VBG   opening building selling turning cutting changing carrying holding planning
VBN   opened closed sold built turned cut changed carried found held set broken planned
MD    will would can could may must should
IN    of of of in in on at by for with from under near after before over
SUB   that because while if although since
RB    also soon often slowly again never still now early late back well quickly there
RP    up down out off back over
CC    and and or but
WDT   that which
"""
WORDS: dict[str, list[str]] = {}
for line in LEXICON.strip().splitlines():
    WORDS.setdefault(line.split()[0], []).extend(line.split()[1:])

CONFUSED = {"NN": "VB", "VB": "NN", "NNS": "VBZ", "VBZ": "NNS", "VBD": "VBN", "VBN": "VBD", "RP": "IN", "IN": "RP"}
CONFUSED |= {"RB": "JJ", "JJ": "NN", "VBP": "NN", "NNP": "NN", "VBG": "NN", "WDT": "IN", "JJR": "RB"}

Token = tuple[str, str, str]  # word, tag, chunk


class Grammar:
    """Sentences, one rule a method; each returns tokens."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.random.random() < probability

    def word(self, tag: str) -> tuple[str, str]:
        """A word of a class, and its tag."""
        return self.random.choice(WORDS[tag]), "IN" if tag == "SUB" else tag

    def chunk(self, label: str, tags: list[str]) -> list[Token]:
        """Words of these classes as one chunk."""
        made = [self.word(tag) for tag in tags]
        return [(word, tag, f"{'I' if i else 'B'}-{label}") for i, (word, tag) in enumerate(made)]

    def noun_phrase(self) -> list[Token]:
        """A pronoun, a name, or a noun with what stands before it."""
        kind = self.random.random()
        if kind < 0.15:
            return self.chunk("NP", ["PRP"])
        if kind < 0.3:
            return self.chunk("NP", ["NNP"] * self.random.choice([1, 2, 2, 3]))
        tags = [self.random.choice(["DT", "DT", "DT", "PRP$"])] if self.chance(0.7) else []
        if self.chance(0.15):
            tags.append("CD")
        if self.chance(0.1):
            tags += ["RB", "JJ"]
        elif self.chance(0.4):
            tags += [self.random.choice(["JJ", "JJ", "JJR", "VBN", "VBG"])]
        if self.chance(0.25):
            tags.append("NN")
        phrase = self.chunk("NP", [*tags, self.random.choice(["NN", "NNS"])])
        if self.chance(0.12):
            conjunction = self.word("CC")
            phrase += [(*conjunction, "I-NP"), (*self.word("NNS"), "I-NP")]
        return phrase

    def prepositional_phrase(self) -> list[Token]:
        """A preposition and a noun phrase."""
        return self.chunk("PP", ["IN"]) + self.noun_phrase()

    def verb_phrase(self) -> list[Token]:
        """Verbs, and perhaps a particle."""
        shapes = [["VBD"]] * 5 + [["VBZ"], ["VBP"], ["MD", "VB"], ["MD", "RB", "VB"], ["MD", "VB", "VBN"]]
        tags = self.random.choice(shapes)
        tokens = self.chunk("VP", tags)
        if self.chance(0.12):
            tokens += [("to", "TO", "I-VP"), (*self.word("VB"), "I-VP")]
        if self.chance(0.15):
            tokens += self.chunk("PRT", ["RP"])
        return tokens

    def predicate(self) -> list[Token]:
        """What the subject does or is."""
        if self.chance(0.15):
            verb = [("was", "VBD", "B-VP")] if self.chance(0.5) else [("is", "VBZ", "B-VP")]
            tags = ["RB", "JJ"] if self.chance(0.4) else [self.random.choice(["JJ", "JJR"])]
            return verb + self.chunk("ADJP", tags)
        tokens = self.verb_phrase()
        if self.chance(0.75):
            tokens += self.noun_phrase()
        while self.chance(0.4):
            tokens += self.prepositional_phrase()
        if self.chance(0.2):
            tokens += self.chunk("ADVP", ["RB"])
        return tokens

    def clause(self) -> list[Token]:
        """A subject and a predicate."""
        tokens = self.noun_phrase()
        if self.chance(0.3):
            tokens += self.prepositional_phrase()
        if self.chance(0.12):
            tokens += [(self.random.choice(WORDS["WDT"]), "WDT", "B-NP"), *self.verb_phrase(), *self.noun_phrase()]
        if self.chance(0.12):
            tokens += self.chunk("ADVP", ["RB"])
        return tokens + self.predicate()

    def sentence(self) -> list[Token]:
        """One or two clauses."""
        tokens: list[Token] = []
        if self.chance(0.15):
            tokens += [*self.prepositional_phrase(), (",", ",", "O")]
        tokens += self.clause()
        if self.chance(0.25):
            tokens += self.chunk("SBAR", ["SUB"]) + self.clause()
        elif self.chance(0.15):
            tokens += [(self.random.choice(["and", "but"]), "CC", "O"), *self.clause()]
        tokens.append((".", ".", "O"))
        word, tag, chunk = tokens[0]
        tokens[0] = (word[0].upper() + word[1:], tag, chunk)
        return [(word, self.observed(tag), chunk) for word, tag, chunk in tokens]

    def observed(self, tag: str) -> str:
        """The tag as a tagger gives it."""
        return CONFUSED[tag] if tag in CONFUSED and self.chance(WRONG_TAGS) else tag


def samples() -> dict[str, str]:
    """The texts of the files."""
    grammar = Grammar(SEED)
    return {
        name: "".join("".join(" ".join(token) + "\n" for token in grammar.sentence()) + "\n" for _ in range(count))
        for name, count in PARTS.items()
    }


if __name__ == "__main__":
    for name, text in samples().items():
        Path(sys.argv[1], name).write_text(text, encoding="utf-8")
