"""Words of a text coloured by topic: places, probabilities, markup that cannot be broken."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pytest

from textmill.corpus import CharacterNgrams, PatternTokenizer, Tokenizer, Vocabulary
from textmill.errors import DataError
from textmill.topics import LSA, PLSA
from textmill.topics.explain import explain_text
from textmill.topics.formats import from_matrix
from textmill.vectors import TextVectorizer, Weighting

LDA = from_matrix([[3, 2, 0, 1], [0, 1, 2, 1]], alpha=0.5, terms=["sea", "ship", "sky", "bird"])
TEXT = "The Ship left <b>the sea</b>.\nA bird; the SKY & more!"


def test_words_have_their_places_and_the_topic_of_largest_product() -> None:
    found = explain_text(LDA, TEXT)
    assert [(TEXT[word.begin : word.end], word.term) for word in found.words] == [
        ("Ship", "ship"), ("sea", "sea"), ("bird", "bird"), ("SKY", "sky")
    ]  # fmt: skip
    theta = LDA.transform([TEXT])[0]
    assert found.mixture == pytest.approx(theta)
    for word in found.words:
        column = ["sea", "ship", "sky", "bird"].index(word.term)
        joint = theta * LDA.components_[:, column]
        assert word.topic == joint.argmax()
        bags, topics = LDA.word_topics([TEXT])
        assert word.probability == pytest.approx(topics[bags.indices.tolist().index(column)].max())


def test_the_terminal_shows_the_text_and_a_legend_in_colours() -> None:
    console_module = pytest.importorskip("rich.console")
    out = StringIO()
    console = console_module.Console(file=out, force_terminal=True, color_system="truecolor", width=200)
    found = explain_text(LDA, TEXT)
    console.print(found.terminal())
    assert "\x1b[1;38;2;0;114;178m" in out.getvalue()
    assert found.terminal().plain.startswith(TEXT)
    assert "topic 1 (" in found.terminal().plain


def test_markup_holds_the_text_escaped_and_whole() -> None:
    from markupsafe import Markup

    page = explain_text(LDA, TEXT).html()
    assert "<b>" not in page
    assert Markup(page.split("</p>")[0]).striptags() == " ".join(TEXT.split())
    assert 'title="topic 1: ' in page
    rendered = explain_text(LDA, TEXT).report().render()
    assert str(page) in rendered
    assert "first words" in rendered


def test_topics_are_ordered_by_their_number_of_words() -> None:
    found = explain_text(LDA, "sky sky sky bird sea")
    assert found.topics() == [1, 0]
    assert explain_text(LDA, "nothing known").topics() == []
    assert explain_text(LDA, "").words == []


def test_stems_and_other_tokenizers_find_their_words() -> None:
    for tokenizer in (Tokenizer(stem="english"), PatternTokenizer(), str.split):
        vectorizer = TextVectorizer(vocabulary=Vocabulary(tokenizer=tokenizer), weighting=Weighting(scheme="nnn"))
        model = PLSA(n_topics=2, random_state=0, vectorizer=vectorizer).fit(["ships sail", "birds fly", "ships ships"])
        found = explain_text(model, "many ships and birds")
        assert [found.text[word.begin : word.end] for word in found.words] == ["ships", "birds"]


def test_tokens_that_are_not_in_the_text_are_left_out() -> None:
    tokenizer = CharacterNgrams(lengths=(2, 2))
    vectorizer = TextVectorizer(vocabulary=Vocabulary(tokenizer=tokenizer), weighting=Weighting(scheme="nnn"))
    model = PLSA(n_topics=2, random_state=0, vectorizer=vectorizer).fit(["abab", "cdcd"])
    assert all(0 <= word.begin < word.end <= 4 for word in explain_text(model, "abcd").words)


def test_models_without_words_or_distributions_are_told() -> None:
    with pytest.raises(DataError, match="no vectorizer"):
        explain_text(from_matrix([[1, 1]]), "text")
    with pytest.raises(DataError, match="one text, got list"):
        explain_text(LDA, ["text"])  # type: ignore[arg-type]
    with pytest.raises(DataError, match="directions"):
        explain_text(LSA(n_topics=2, vectorizer=TextVectorizer()).fit(["a b a b", "b c", "c d d", "a d"]), "a")
    with pytest.raises(DataError, match="not fitted"):
        explain_text(PLSA(), "text")
    assert np.isfinite(explain_text(LDA, "sea").mixture).all()
