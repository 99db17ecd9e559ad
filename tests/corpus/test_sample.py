"""The shipped articles keep the promises that the demo, the documentation and other tests rely on."""

from __future__ import annotations

import json
import re
import runpy
import unicodedata
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from textmill.corpus import check_tags
from textmill.corpus.sample import sample_articles, sample_chunks, sample_path, sample_texts
from textmill.errors import DataError

LANGUAGES = {"en", "de", "fr", "es", "it", "pt", "nl", "cs", "ru", "el"}


@pytest.fixture(scope="module")
def articles() -> list[dict[str, str]]:
    return sample_articles(language=None)


def is_copy(article: dict[str, str]) -> bool:
    return article["id"].endswith("-copy")


def words(article: dict[str, str]) -> set[str]:
    return set(re.findall(r"\w+", article["text"].casefold()))


def jaccard(a: set[str], b: set[str]) -> float:
    return len(a & b) / len(a | b)


def test_path_is_a_file_with_one_json_object_a_line(articles):
    path = sample_path()
    assert isinstance(path, Path)
    lines = path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
    assert [json.loads(line) for line in lines] == articles
    assert [json.dumps(article, ensure_ascii=False) for article in articles] == lines


def test_licence_lies_beside_the_articles():
    assert "CC0 1.0" in sample_path().with_name("LICENSE.txt").read_text(encoding="utf-8")


def test_there_are_300_to_320_articles(articles):
    assert 300 <= len(articles) <= 320


def test_every_article_has_the_five_fields_in_order_and_none_is_empty(articles):
    for article in articles:
        assert list(article) == ["id", "subject", "language", "title", "text"]
        assert all(isinstance(value, str) and value and value == value.strip() for value in article.values())


def test_ids_are_unique_and_agree_with_subject_and_language(articles):
    assert len({article["id"] for article in articles}) == len(articles)
    for article in articles:
        language = "" if article["language"] == "en" else f"-{article['language']}"
        copy = "(-copy)?" if article["language"] == "en" else ""
        assert re.fullmatch(rf"{article['subject']}{language}-\d\d{copy}", article["id"])


def test_at_least_ten_subjects_have_at_least_twenty_english_articles_each(articles):
    counts = Counter(a["subject"] for a in articles if a["language"] == "en" and not is_copy(a))
    assert len(counts) >= 10
    assert min(counts.values()) >= 20


def test_nine_other_languages_have_at_least_four_articles_each_on_the_same_subjects(articles):
    counts = Counter(article["language"] for article in articles)
    assert set(counts) == LANGUAGES
    assert min(counts.values()) >= 4
    english = {a["subject"] for a in articles if a["language"] == "en"}
    assert {a["subject"] for a in articles} == english


def test_language_picks_its_articles_in_file_order(articles):
    for language in LANGUAGES:
        assert sample_articles(language=language) == [a for a in articles if a["language"] == language]
    assert sample_articles() == sample_articles(language="en")


def test_texts_are_the_texts_of_the_same_articles(articles):
    assert sample_texts(language=None) == [article["text"] for article in articles]
    assert sample_texts() == [article["text"] for article in sample_articles()]


def test_unknown_language_names_the_known_ones():
    with pytest.raises(DataError, match=r"'xx'; choose one of cs, de, el, en, es, fr, it, nl, pt, ru, or None"):
        sample_articles(language="xx")
    with pytest.raises(DataError, match="'xx'"):
        sample_texts(language="xx")


def test_callers_may_change_what_they_got():
    sample_articles()[0]["text"] = "changed"
    assert sample_articles()[0]["text"] != "changed"


def test_lengths_are_60_to_130_words_in_english_and_40_to_90_elsewhere(articles):
    for article in articles:
        low, high = (60, 130) if article["language"] == "en" else (40, 90)
        assert low <= len(article["text"].split()) <= high, article["id"]


def test_some_articles_have_two_and_some_three_paragraphs(articles):
    paragraphs = Counter(len(article["text"].split("\n\n")) for article in articles)
    assert set(paragraphs) == {1, 2, 3}
    assert paragraphs[2] >= 20
    assert paragraphs[3] >= 5


def test_text_is_nfc_without_control_characters_or_stray_space(articles):
    for article in articles:
        for field, value in article.items():
            assert unicodedata.is_normalized("NFC", value)
            body = value.replace("\n\n", "") if field == "text" else value
            assert not any(unicodedata.category(c) in {"Cc", "Cf", "Co", "Cs", "Cn"} for c in body), article["id"]
            assert not re.search(r"\s{2}", body), article["id"]


def test_letters_belong_to_the_alphabet_of_the_language(articles):
    script = {"ru": "CYRILLIC", "el": "GREEK"}
    for article in articles:
        text = re.sub(r"\b[IVX]+\b", "", article["title"] + " " + article["text"])  # a century in Roman figures
        found = {unicodedata.name(c).split()[0] for c in text if c.isalpha()}
        assert found == {script.get(article["language"], "LATIN")}, article["id"]


def test_eight_copies_are_close_to_their_originals_but_not_equal(articles):
    by_id = {article["id"]: article for article in articles}
    copies = [article for article in articles if is_copy(article)]
    assert len(copies) == 8
    for copy in copies:
        original = by_id[copy["id"].removesuffix("-copy")]
        assert copy["subject"] == original["subject"]
        assert copy["text"] != original["text"]
        assert 0.6 < jaccard(words(copy), words(original)) < 1, copy["id"]


def test_no_two_other_articles_share_half_of_their_words(articles):
    """Real prose on one subject stays far below; texts from one template with swapped slots would not."""
    bags = [(article["id"], words(article)) for article in articles if not is_copy(article)]
    alike = [(a, b) for (a, left), (b, right) in combinations(bags, 2) if jaccard(left, right) > 0.5]
    assert alike == []


def test_no_sentence_occurs_twice_outside_the_copies(articles):
    sentences = Counter(
        sentence
        for article in articles
        if not is_copy(article)
        for sentence in re.split(r"(?<=[.!?])\s+", article["text"])
        if len(sentence.split()) >= 4
    )
    assert [sentence for sentence, count in sentences.items() if count > 1] == []


def test_chunked_sentences_are_what_the_grammar_makes():
    source = Path(__file__).parents[2] / "tools" / "chunk_sample.py"
    grammar = runpy.run_path(str(source), run_name="chunk_sample")
    for name, text in grammar["samples"]().items():
        assert sample_path(name).read_text(encoding="utf-8") == text


def test_chunked_sentences_are_well_formed():
    for part, count in (("train", 700), ("test", 200)):
        sentences = sample_chunks(part)
        assert len(sentences) == count
        for sentence in sentences:
            check_tags(sentence.column("chunk"))
    with pytest.raises(DataError, match=r"no sample 'chunks-dev\.txt'"):
        sample_chunks("dev")
