"""Variants, phrases, recipes and figures of a corpus."""

from __future__ import annotations

from pathlib import Path

import pytest

import textmill
from papers._shared.presets import PRESETS, preset
from textmill.corpus import PatternTokenizer, Tokenizer, VariantTokenizer, Vocabulary, corpus_report, sample_texts
from textmill.errors import DataError

FORMS = {
    "N 8": "n8",
    "N-8": "n8",
    "dont": "don't",
    "state of the art": "state-of-the-art",
    "state": "country",
    "eh": "",
}


def test_the_longest_variant_wins_and_is_not_looked_at_again() -> None:
    cutter = VariantTokenizer(forms=FORMS)
    assert cutter("N8 N-8 n 8, a state of the art state, eh?") == ["n8", "n8", "n8", "a", "state-of-the-art", "country"]
    assert cutter("state of the state of the art") == ["country", "of", "the", "state-of-the-art"]
    assert VariantTokenizer()("To be") == ["to", "be"]


def test_queries_are_rewritten_like_documents_also_after_loading(tmp_path: Path) -> None:
    vocabulary = Vocabulary(tokenizer=VariantTokenizer(forms=FORMS, tokenizer=Tokenizer(digits="keep")))
    vocabulary.fit(["the N-8", "an N 8 phone"])
    assert vocabulary.document_frequency_[vocabulary["n8"]] == 2
    vocabulary.save(tmp_path / "v.mill")
    assert textmill.load(tmp_path / "v.mill").transform(["my n 8"]).sum() == 1


def test_a_phrase_detector_can_follow() -> None:
    def join(tokens: list[str]) -> list[str]:
        return " ".join(tokens).replace("new york", "new_york").split()

    assert VariantTokenizer(phrases=join, forms={"NY": "new york"})("New York") == ["new_york"]
    counted = Vocabulary(tokenizer=VariantTokenizer(phrases=join)).fit(["New York is new"])
    assert counted.terms_.to_list() == ["new_york", "is", "new"]


def test_wrong_forms_are_named() -> None:
    with pytest.raises(DataError, match="the variant '---' holds no word"):
        VariantTokenizer(forms={"---": "dash"})("text")
    with pytest.raises(DataError, match="forms must map texts to texts"):
        VariantTokenizer(forms={"a": 3})("text")  # type: ignore[dict-item]


def test_patterns() -> None:
    assert PatternTokenizer(pattern="[a-z]{2,}")("A B-52 Bomber") == ["bomber"]
    assert PatternTokenizer(case="fold")("STRASSE Straße") == ["strasse", "strasse"]
    with pytest.raises(DataError, match="is no regular expression"):
        PatternTokenizer(pattern="(")("text")


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_recipe_can_be_fitted_and_saved(name: str, tmp_path: Path) -> None:
    vocabulary = preset(name, min_df=1).fit(sample_texts())
    assert len(vocabulary) > 100
    vocabulary.save(tmp_path / "v.mill")
    assert textmill.load(tmp_path / "v.mill").terms_ == vocabulary.terms_


def test_recipes_say_what_they_say() -> None:
    assert preset("letters").fit(["It's 2 o'clock, naïve"]).terms_.to_list() == ["it", "s", "o", "clock", "naïve"]
    assert preset("tiling").fit(["Table 3b: x_1"]).terms_.to_list() == ["table", "3b", "x", "1"]
    with pytest.raises(DataError, match="name must be one of"):
        preset("gigaword")


@pytest.mark.data
def test_the_reuters_recipe_gives_the_published_matrix(data: Path) -> None:
    from textmill.corpus import read_documents

    X = preset("reuters").fit_transform(read_documents(next((data / "reuters").glob("*.jsonl*"))))
    assert X.shape[0] == 10_788
    assert X.shape[1] == pytest.approx(8490, rel=0.01)
    assert X.nnz == pytest.approx(459_190, rel=0.01)


def test_the_report_adds_up() -> None:
    texts = sample_texts()
    vocabulary = Vocabulary(min_df=3, max_df=0.2).fit(texts)
    report = corpus_report([*texts, "", "qwertz"], vocabulary)
    X = vocabulary.transform(texts)
    assert (report.documents, report.terms, report.nonzeros) == (len(texts) + 2, len(vocabulary), X.nnz)
    assert report.tokens == X.sum()
    assert report.empty == 2
    assert report.unknown == vocabulary.tokens_ - X.sum() + 1
    removed = sum(counts["tokens"] for counts in vocabulary.removed_.values())
    assert sum(report.removed.values()) == pytest.approx(removed / vocabulary.tokens_)
    assert report.peak_memory > 10**7
    assert str(report).count("\n") == 7
    assert report.as_dict()["passes"] == 1
