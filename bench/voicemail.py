"""Voicemail: spoken numbers and whole messages against text2num, trees against taggers and rules without learning.

TEXTMILL_DATA=... python -m bench voicemail [--repeats 5] [--quick] [--only TEXT]

    100,000 spoken numbers    4 to 11 random digits, spoken by `bench/_speech.py`, which shares no code with the
                              grammar; quality is the share that comes back right
    number grammar            2,000 messages, words to digits, one thread
    whole extraction          the same messages: callers, names, numbers with confidence, one thread

Processor seconds. Figures of quality stand behind the table: 8,000 messages to train (background: UD English, dev),
2,000 to test of known and of new callers (background: UD English, test; new callers have other surnames), each also
through the recognizer channel with 23 and 35 % word errors. Generator and channel were fixed before any model was
measured.
`--quick` trains on 1,000 and tests on 300.
"""

from __future__ import annotations

import random
import re
import time
from functools import cache
from typing import Any

from text_to_num import alpha2digit

from bench._speech import speak
from bench.harness import Job, Options
from papers.voicemail.generate import VoicemailGenerator
from papers.voicemail.grammar_figures import grammar_figures
from papers.voicemail.recognizer import RecognizerChannel
from papers.voicemail.taggers import SpanTagger
from textmill.corpus import open_lines
from textmill.tasks.voicemail import (
    Message,
    NumberGrammar,
    SpanFigures,
    VoicemailExtractor,
    evaluate_spans,
    plain_rules,
)

PACKAGES = ["text2num"]
_ASKED: list[Options] = []


def jobs(options: Options) -> list[Job]:
    _ASKED[:] = [options]
    return [
        Job(
            "100,000 spoken numbers",
            lambda: list(NumberGrammar(n_jobs=1).find_all(_numbers(options)[1])),
            lambda: _converted(_numbers(options)[1]),
            "text2num",
            lambda: _right(options),
            figure="processor",
        ),
        Job(
            "number grammar",
            lambda: list(NumberGrammar(n_jobs=1).find_all(_texts(options))),
            lambda: _converted(_texts(options)),
            "text2num",
            lambda: _words_per_second(options, lambda: list(NumberGrammar(n_jobs=1).find_all(_texts(options)))),
            figure="processor",
            bar=3.0,
        ),
        Job(
            "whole extraction",
            lambda: _model(options).extract(_texts(options)),
            lambda: _converted(_texts(options)),
            "text2num",
            lambda: _words_per_second(options, lambda: _model(options).extract(_texts(options))),
            figure="processor",
            bar=1.0,
        ),
    ]


@cache
def _numbers(options: Options) -> tuple[list[str], list[str]]:
    generator = random.Random(11)
    count = 2_000 if options.quick else 100_000
    digits = ["".join(generator.choices("0123456789", k=generator.randint(4, 11))) for _ in range(count)]
    return digits, [" ".join(speak(one, generator)) for one in digits]


def _converted(texts: list[str]) -> list[str]:
    return [alpha2digit(text, "en") for text in texts]


def _right(options: Options) -> str:
    digits, texts = _numbers(options)
    ours = NumberGrammar().find_all(texts)
    own = sum([n.digits for n in numbers] == [one] for one, numbers in zip(digits, ours, strict=True))
    peer = sum(re.sub(r"\D", "", text) == one for one, text in zip(digits, _converted(texts), strict=True))
    return f"right {100 * own / len(digits):.2f} %, {100 * peer / len(digits):.2f} %"


def _words_per_second(options: Options, work: Any) -> str:
    words = sum(len(text.split()) for text in _texts(options))
    start = time.process_time()
    work()
    seconds = time.process_time() - start
    return f"{words / seconds / 1e6:.1f} million words/s, {len(_texts(options)) / seconds:,.0f} messages/s"


# ---- messages


def _sentences(options: Options, part: str) -> list[str]:
    (path,) = (options.data / "pos-ud").glob(f"*{part}*.conllu")
    return [line[9:] for _, line in open_lines(path) if line.startswith("# text = ")]


@cache
def _train(options: Options) -> list[Message]:
    world = VoicemailGenerator(background=_sentences(options, "dev"), random_state=1)
    return list(world.generate(1000 if options.quick else 8000))


@cache
def _sets(options: Options) -> dict[str, list[Message]]:
    sets = {}
    for callers in ("known", "new"):
        world = VoicemailGenerator(background=_sentences(options, "test"), callers=callers, random_state=2)
        clean = list(world.generate(300 if options.quick else 2000))
        sets[f"{callers} callers"] = clean
        for rate in (0.23, 0.35):
            channel = RecognizerChannel(rate, random_state=3)
            sets[f"{callers} callers, {100 * rate:.0f} % errors"] = list(channel.garble(clean))
    return sets


@cache
def _texts(options: Options) -> list[str]:
    return [message.text for message in _sets(options)["new callers"]]


@cache
def _model(options: Options, *without: str) -> VoicemailExtractor:
    return VoicemailExtractor(without=without, n_jobs=1).fit(_train(options))


# ---- quality


def appendix() -> str:
    options = _ASKED[0]
    if options.only:
        return ""
    start = time.process_time()
    trees = VoicemailExtractor(n_jobs=1).fit(_train(options))
    lines = [f"training of five trees: {time.process_time() - start:.1f} s; thresholds {trees.thresholds_.round(2)}"]
    taggers = {label: SpanTagger(label, n_jobs=1).fit(_train(options)) for label in ("caller", "name", "telno")}
    collapsed = SpanTagger("telno", collapse=True, n_jobs=1).fit(_train(options))
    others = {
        "trees, without digits": _model(options, "digits"),
        "trees, without digits and words": _model(options, "digits", "words"),
    }
    lines.append("\n| set | span | system | criterion | P | R | F | 95 % |\n|---|---|---|---|---|---|---|---|")
    for name, messages in _sets(options).items():
        systems: dict[str, Any] = dict(plain_rules(messages))
        systems["tagger"] = taggers["telno"].predict(messages)
        systems["tagger, numbers collapsed"] = collapsed.predict(messages)
        systems["trees"] = trees.predict(messages)
        if name == "new callers":
            systems |= {other: model.predict(messages) for other, model in others.items()}
        for system, spans in systems.items():
            lines.append(_line(name, system, evaluate_spans(messages, spans, "telno")))
        lines.append(_line(name, "trees", evaluate_spans(messages, systems["trees"], "telno", "containment")))
        for label in ("caller", "name"):
            for system, spans in (("tagger", taggers[label].predict(messages)), ("trees", systems["trees"])):
                lines.append(_line(name, system, evaluate_spans(messages, spans, label)))
                if label == "caller":
                    lines.append(_line(name, system, evaluate_spans(messages, spans, label, "containment")))
                    lines.append(_line(name, system, evaluate_spans(messages, spans, label, "name containment")))
    figures = grammar_figures(_sets(options)["new callers"])
    lines.append(f"\ngrammar: recall {figures['recall']:.3f}, {figures['ratio']:.2f} candidates for each number")
    return "\n".join(lines)


def _line(name: str, system: str, row: SpanFigures) -> str:
    figures = f"{row.precision:.3f} | {row.recall:.3f} | {row.f1:.3f} | {row.low:.3f} to {row.high:.3f}"
    return f"| {name} | {row.label} | {system} | {row.criterion} | {figures} |"
