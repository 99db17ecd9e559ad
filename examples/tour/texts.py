"""Stops of the tour on running text: where topics change, numbers as words, words as sounds, callers of voicemail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from textmill.corpus import Document
from textmill.report import Report

__all__ = ["show_callers", "show_numbers_as_words", "show_sounds", "topic_boundaries"]

SPOKEN = (
    "Dr. Hill paid $3.50 for 2 kg of flour at 3:30 p.m.",
    "On 12 April 2010 the 3rd mill ran 45 km from the sea.",
    "Call 555-0123 before the XIX century ends.",
)


def topic_boundaries(chart: Callable[..., None]) -> Callable[[Report, list[Document], Path], None]:
    """The stop that cuts a volume of articles where the topic changes; `chart` adds a chart where there are any."""

    def show_boundaries(report: Report, documents: list[Document], folder: Path) -> None:
        from textmill.tasks.segmentation import TopicSegmenter, draw_segments, reference_of

        subjects = ("astronomy", "cooking", "football", "finance", "gardening", "music")
        chosen = {name: next(d for d in documents if d.id.startswith(f"{name}-0")) for name in subjects}
        parts = [" ".join(document.text.split()) for document in chosen.values()]
        reference = reference_of(parts)
        cut = TopicSegmenter().segment(reference.text)
        right = len(set(cut.boundaries.tolist()) & set(reference.boundaries.tolist()))
        (folder / "volume.txt").write_text(reference.text.text, encoding="utf-8")
        report.heading("Where the topic changes")
        report.text(
            f"{len(parts)} articles were put one after the other, {len(reference.text)} words without a mark between "
            f"them. Nothing was learned beforehand; {right} of {len(reference.boundaries)} boundaries are found to the "
            f"word, in {len(cut)} segments."
        )
        report.table(
            ["segment", "words", "what it is about"],
            [
                (i, int(mass), ", ".join(words))
                for i, (mass, words) in enumerate(zip(cut.masses, cut.words(), strict=True), 1)
            ],
            caption="Segments and the words that set them off",
        )

        def draw() -> Any:
            return draw_segments(cut, reference)

        chart(report, draw, caption="Similarity across the gaps; true boundaries are lines, proposed ones dots")
        report.code(
            "textmill segment text volume.txt\ntextmill segment chunks articles.jsonl --max-tokens 200 -o chunks.jsonl"
        )

    return show_boundaries


def show_numbers_as_words(report: Report, documents: list[Document], folder: Path) -> None:
    """Numbers, dates and money as they are spoken, by a grammar that can be read."""
    from textmill.tasks import Normalizer

    normalizer, inverse = Normalizer(), Normalizer(inverse=True)
    spoken = [normalizer.normalize(text) for text in SPOKEN]
    report.heading("Numbers as words, and back")
    report.text(
        "A grammar of weighted transducers says how numbers, dates, times, money and abbreviations are spoken. It is a "
        "text file; you can write one of your own, with its tests beside the rules."
    )
    report.table(
        ["written", "spoken", "written again"],
        [(text, words, inverse.normalize(words)) for text, words in zip(SPOKEN, spoken, strict=True)],
        caption="Both ways",
    )
    report.code('echo "at 3:30 p.m. on May 5" | textmill normalize -\ntextmill fst grammar test rules.grammar')


def show_sounds(report: Report, documents: list[Document], folder: Path) -> None:
    """A pronunciation model from a word list: a decision tree over letters."""
    from textmill.tasks import PronunciationModel
    from textmill.tasks.pronunciation import evaluate_pronunciations, sample_lexicon

    train, test = sample_lexicon(1500), sample_lexicon(300, random_state=1)
    model = PronunciationModel(context=2)
    model.fit([entry.word for entry in train], [" ".join(entry.phonemes) for entry in train])
    model.save(folder / "sounds.mill")
    counts = evaluate_pronunciations(model, test)
    report.heading("From letters to sounds")
    report.text(
        f"{len(train)} made-up words with their sounds teach a decision tree which sound each letter has between its "
        f"neighbors. Of {len(test)} other words {counts.word_accuracy:.1%} are pronounced right."
    )
    words = [entry.word for entry in test[:6]]
    report.table(
        ["word", "sounds", "right"],
        [
            (entry.word, " ".join(sounds), " ".join(entry.phonemes))
            for entry, sounds in zip(test, model.predict(words), strict=False)
        ],
        caption="Words that were not in the list",
    )
    report.code("textmill pronounce train words.tsv -o sounds.mill\necho chou | textmill pronounce apply sounds.mill -")


def show_callers(report: Report, documents: list[Document], folder: Path) -> None:
    """Who called and which number to call back, from made-up voicemail."""
    from textmill.tasks import VoicemailExtractor
    from textmill.tasks.voicemail import evaluate_answers, sample_messages, write_messages

    model = VoicemailExtractor(confidence=0.1).fit(sample_messages())
    messages = sample_messages("test")
    write_messages(folder / "voicemail.txt", messages)
    model.save(folder / "calls.mill")
    answers = model.extract(messages)
    result = evaluate_answers(messages, answers)
    report.heading("Who called?")
    report.text(
        f"Decision trees trained on 1,000 synthetic messages read {len(messages)} more, of other callers: "
        f"F is {result.figures('name').f1:.2f} for names and {result.figures('telno').f1:.2f} for numbers to call. "
        "The numbers are spoken; times, prices and rooms must be told from them."
    )
    shown = [(m, a) for m, a in zip(messages, answers, strict=True) if a.name is not None and a.callbacks][:6]
    report.table(
        ["message", "sender", "call"],
        [
            (" ".join(m.tokens[:16]) + " ...", a.name.text if a.name else "", ", ".join(n.written for n in a.callbacks))
            for m, a in shown
        ],
        caption="Messages, and whom to call back",
    )
    report.code("textmill voicemail train train.txt -o calls.mill\ntextmill voicemail extract calls.mill voicemail.txt")
