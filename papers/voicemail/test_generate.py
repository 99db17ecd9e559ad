"""Made-up messages have the shares and lengths that were published; the recognizer makes the errors it should."""

from __future__ import annotations

import pytest

from papers.voicemail.generate import VoicemailGenerator, spoken_sentences
from papers.voicemail.productions import People, read_productions
from papers.voicemail.recognizer import RecognizerChannel
from papers.voicemail.statistics import describe_messages
from textmill.errors import DataError
from textmill.metrics import EditCounts
from textmill.strings import sound_code
from textmill.tasks.voicemail import Message, NumberGrammar, parse_message

BACKGROUND = [f"sentence {i} is about {word} and the year 1999" for i, word in enumerate(["tea", "trains", "rain"] * 5)]
BACKGROUND += ["nobody knows what that is about", "we saw the film", "it was a long day for everyone"] * 5
WORLDS = {
    "own": VoicemailGenerator(random_state=5),
    "new": VoicemailGenerator(callers="new", random_state=6),
    "background": VoicemailGenerator(background=BACKGROUND, random_state=7),
}
SLIPS = {"uh", "um", "sorry", "no", "wait", "let", "me", "see"}


def rows(messages: list[Message]) -> dict[str, tuple[float, float]]:
    """Precision and recall without learning, by the strict criterion."""
    grammar = NumberGrammar()
    gold = [{span[:2] for span in message.marked("telno")} for message in messages]

    def figures(numbers: object, least: int) -> tuple[float, float]:
        spans = [{n[:2] for n in own if len(n.digits) + len(n.extension) >= least} for own in numbers]  # type: ignore[attr-defined]
        right = sum(len(a & b) for a, b in zip(gold, spans, strict=True))
        return right / sum(map(len, spans)), right / sum(map(len, gold))

    candidates = grammar.find_all(messages)
    plain = grammar.digits_baseline(messages)
    return {"digits": figures(plain, 1), "extract": figures(candidates, 1), "prune": figures(candidates, 4)}


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_made_up_messages_have_the_published_figures(world: VoicemailGenerator) -> None:
    messages = list(world.generate(6000))
    statistics = describe_messages(messages)
    figures = statistics.figures()
    assert figures["share empty"] == pytest.approx(0.053, abs=0.01)
    assert figures["share with caller"] == pytest.approx(0.919, abs=0.015)
    assert figures["share of callers with name"] == pytest.approx(0.953, abs=0.015)
    assert figures["numbers per message"] == pytest.approx(0.69, abs=0.04)
    published = {"caller start": 1.48, "caller length": 3.11, "name start": 2.20, "name length": 1.17}
    for kind, entropy in published.items():
        assert statistics.distribution(kind).entropy == pytest.approx(entropy, abs=0.15), kind
    assert statistics.distribution("caller start").share_up_to(7) > 0.97
    assert 60 < (statistics.distribution("caller start").largest or 0) <= 135
    assert 35 < (statistics.distribution("caller length").largest or 0) <= 47
    assert statistics.distribution("name length").largest == 8
    numbers = [m.tokens[s.start : s.end] for m in messages for s in m.marked("telno")]
    cued = sum(not {"area", "code", "extension"}.isdisjoint(words) for words in numbers) / len(numbers)
    slips = sum(not SLIPS.isdisjoint(words) for words in numbers) / len(numbers)
    assert cued == pytest.approx(0.128, abs=0.02)
    assert slips == pytest.approx(0.029, abs=0.01)
    targets = {"digits": (0.78, 0.70), "extract": (0.30, 0.96), "prune": (0.59, 0.96)}
    for name, (precision, recall) in rows(messages).items():
        assert precision == pytest.approx(targets[name][0], abs=0.04), name
        assert recall == pytest.approx(targets[name][1], abs=0.04), name


def test_a_message_depends_on_seed_and_number_only() -> None:
    world = WORLDS["own"]
    assert list(world.generate(5, first=3)) == [world.message(i) for i in range(3, 8)]
    assert list(VoicemailGenerator(random_state=5).generate(20)) == list(world.generate(20))
    assert list(VoicemailGenerator(random_state=6).generate(20)) != list(world.generate(20))
    assert list(world.generate(0)) == []
    for message in world.generate(50):
        assert parse_message(str(message)) == message


def test_there_is_enough_to_say() -> None:
    assert len(read_productions("background")) >= 300
    assert len(read_productions("forms").texts["caller"]) >= 40
    assert len(read_productions("forms").texts["cue"]) >= 20
    known, new = People("known"), People("new")
    assert len(known.first_names) == 300
    assert len(known.regulars) == 600
    assert set(known.surnames).isdisjoint(new.surnames)


def test_sentences_of_the_user_are_spoken() -> None:
    assert spoken_sentences(["It cost $3.50 (I paid)!", "--", ""]) == ["it cost three dollars and fifty cents I paid"]
    with pytest.raises(DataError, match="no sentence with words"):
        VoicemailGenerator(background=["...", "42 !"[2:]])
    with pytest.raises(DataError, match="'known' or 'new'"):
        VoicemailGenerator(callers="old")
    with pytest.raises(DataError, match="two surnames"):
        VoicemailGenerator(callers="new", surnames=["Smith"])
    own = VoicemailGenerator(surnames=["AAA", "BBB"])
    assert own.people.surnames == ["Aaa"]


@pytest.mark.parametrize("rate", [0.0, 0.23, 0.35])
def test_the_channel_has_the_word_error_rate_it_should(rate: float) -> None:
    clean = list(WORLDS["new"].generate(800))
    noisy = list(RecognizerChannel(rate, random_state=1).garble(clean))
    counts = EditCounts.from_sequences([m.tokens for m in clean], [m.tokens for m in noisy])
    assert counts.error_rate == pytest.approx(rate, abs=0.015)
    if rate == 0:
        assert noisy == clean
        return
    names = [(a, b) for a, b in zip(clean, noisy, strict=True) if a.name and b.name]
    spoken = EditCounts.from_sequences(*zip(*((words(a, a.name), words(b, b.name)) for a, b in names), strict=True))
    assert 2 * rate < spoken.error_rate
    digits = [m.tokens[s.start : s.end] for m in noisy for s in m.marked("telno")]
    before = [m.tokens[s.start : s.end] for m in clean for s in m.marked("telno")]
    assert sum(a == b for a, b in zip(before, digits, strict=False)) / len(before) > 0.9


def words(message: Message, span: object) -> tuple[str, ...]:
    return message.tokens[span.start : span.end]  # type: ignore[attr-defined]


def test_substitutes_sound_alike() -> None:
    assert sound_code("Caller") == sound_code("collar")
    assert sound_code("Smith") == sound_code("smyth")
    assert sound_code("phone") == sound_code("fawn")
    assert sound_code("'s") == "2"
    message = parse_message("<caller> this is Smith </caller>")
    vocabulary = ["smyth was there", "thus is"]
    channels = [RecognizerChannel(0.9, vocabulary=vocabulary, random_state=seed) for seed in range(40)]
    texts = {next(channel.garble([message])).text for channel in channels}
    assert any("Smyth" in text for text in texts)


def test_bad_rates_and_vocabularies_are_refused() -> None:
    with pytest.raises(DataError, match="word_error_rate"):
        RecognizerChannel(1.5)
    with pytest.raises(DataError, match="vocabulary is empty"):
        RecognizerChannel(0.2, vocabulary=["five two"])
    assert list(RecognizerChannel(0.2, vocabulary=["a"]).garble([])) == []
    assert list(RecognizerChannel(0.2, vocabulary=["a"]).garble([Message(())])) == [Message(())]
