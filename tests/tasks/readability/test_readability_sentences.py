"""Where sentences end for formulas and features: wrapped lines, abbreviations, numbers of lists."""

from __future__ import annotations

import io
import textwrap
from pathlib import Path

import pytest

from textmill.cli.app import main
from textmill.corpus import sample_articles
from textmill.errors import DataError
from textmill.tasks.readability import Annotator, LanguageResources, Layers, count_texts, is_article, read_abbreviations
from textmill.tasks.readability.lines import unwrap_lines


@pytest.mark.parametrize("width", [50, 72, 100])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_wrapped_text_has_the_sentences_of_the_text(width: int, end: str) -> None:
    texts = [article["text"] for article in sample_articles()[:20]]
    wrapped = [
        f"{end}{end}".join(end.join(textwrap.wrap(part, width)) for part in text.split("\n") if part.strip())
        for text in texts
    ]
    plain, again = count_texts(texts), count_texts(wrapped)
    assert again.words.tolist() == plain.words.tolist()
    assert abs(int(again.sentences.sum()) - int(plain.sentences.sum())) <= 0.01 * int(plain.sentences.sum())
    as_layers = [Layers(Annotator().annotate(own)).n_sentences.tolist() for own in (texts, wrapped)]
    assert sum(map(abs, (a - b for a, b in zip(*as_layers, strict=True)))) <= 0.01 * sum(as_layers[0])
    assert all(map(is_article, wrapped)) == all(map(is_article, texts))


@pytest.mark.parametrize(
    "text",
    [
        "Milk\nbread\nthree eggs\nbutter",
        "Tyger Tyger, burning bright,\nIn the forests of the night;\nWhat immortal hand or eye,\nCould frame thy",
        "def f(x):\n    return x + 1\n\nfor i in range(10):\n    print(f(i))",
        "A heading without a stop\n" + "Words in one long line of a paragraph that goes on and on. " * 5,
        "one line",
        "",
    ],
)
def test_what_is_not_wrapped_stays_as_it_is(text: str) -> None:
    assert unwrap_lines(text) == text


def test_characters_keep_their_places() -> None:
    text = "\r\n".join(textwrap.wrap("the mill turns and the miller sleeps all day " * 10, 60))
    joined = unwrap_lines(text)
    assert len(joined) == len(text)
    assert "\n" not in joined
    assert joined.split() == text.split()


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Dr. Smith and Mrs. Jones met John F. Kennedy (see e.g. Fig. 3). They agreed.", 2),
        ("1. Wash your hands.\n2. Cook dinner.\n3. Eat", 3),
        ("It costs 3.50. He paid 4. Nobody knew.", 3),
        ("12 13. 14.", 1),
        ("The U.S. Senate met on Nov. 29. It sat.", 2),
    ],
)
def test_sentences_of_formulas_and_of_features_are_the_same(text: str, sentences: int) -> None:
    assert count_texts([text]).sentences.tolist() == [sentences]
    assert Layers(Annotator().annotate([text])).n_sentences.tolist() == [sentences]


def test_abbreviations_are_a_resource(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "El Sr. Gil come. La Sra. Paz duerme."
    assert count_texts([text]).sentences.tolist() == [4]
    assert count_texts([text], resources=LanguageResources(abbreviations=["Sr.", "Sra."])).sentences.tolist() == [2]
    with pytest.raises(DataError, match="full stop is expected"):
        read_abbreviations(io.BytesIO(b"Sr\n"))
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    (tmp_path / "es.txt").write_text("Sr.\nSra.\n", encoding="utf-8")
    arguments = ["readability", "score", str(tmp_path / "text.txt"), "--formulas", "lix"]
    with pytest.raises(SystemExit) as end:
        main([*arguments, "--abbreviations", str(tmp_path / "es.txt")])
    assert end.value.code == 0
    assert capsys.readouterr().out.splitlines()[1].split("\t")[:2] == ["8", "2"]
