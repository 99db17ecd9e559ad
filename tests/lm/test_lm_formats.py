from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest

from textmill.corpus import Tokenizer, sample_texts, split_sentences
from textmill.errors import DataError
from textmill.lm import NGramModel, from_arpa, perplexity_report, to_arpa

kenlm = pytest.importorskip("kenlm")


def sentences(first: int, end: int) -> list[list[str]]:
    cut = Tokenizer()
    return [cut(sentence) for text in sample_texts()[first:end] for sentence in split_sentences(text)]


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_kenlm_reads_our_files_to_the_same_probabilities(order: int, tmp_path: Path) -> None:
    model = NGramModel(order=order).fit(sentences(0, 40))
    to_arpa(model, tmp_path / "model.arpa")
    peer = kenlm.Model(str(tmp_path / "model.arpa")) if order > 1 else None  # kenlm wants at least bigrams
    ours = from_arpa(tmp_path / "model.arpa")
    for sentence in sentences(40, 60):
        expected = model.token_scores([sentence])[0]
        assert ours.token_scores([sentence])[0].tolist() == expected.tolist()
        if peer is not None:
            theirs = [score for score, _, _ in peer.full_scores(" ".join(sentence))]
            assert expected == pytest.approx(theirs, abs=1e-5)  # kenlm keeps float32


def test_files_are_written_again_as_they_were_read(tmp_path: Path) -> None:
    to_arpa(NGramModel(order=3).fit(sentences(0, 20)), tmp_path / "one.arpa")
    to_arpa(from_arpa(tmp_path / "one.arpa"), tmp_path / "two.arpa")
    assert (tmp_path / "one.arpa").read_bytes() == (tmp_path / "two.arpa").read_bytes()


PRUNED = re.sub(
    r"(?m)^(-[.0-9]+) (.+?)(?: (-[.0-9]+))?$",
    r"\1\t\2\t\3",
    r"""\data\
ngram 1=6
ngram 2=4
ngram 3=3

\1-grams:
-1.0 b -0.2
-1.2 <s> -0.4
-0.9 a -0.3
-0.8 </s>
-1.1 c -0.25
-2.0 <unk>

\2-grams:
-0.5 <s> a -0.15
-0.4 a b -0.1
-0.6 b a -0.05
-0.7 c b -0.2

\3-grams:
-0.3 <s> a b
-0.2 a b a
-0.25 c b c

\end\
""",
).replace("\t\n", "\n")


def test_pruned_files_with_missing_suffixes_score_as_in_kenlm(tmp_path: Path) -> None:
    (tmp_path / "pruned.arpa").write_text(PRUNED, encoding="utf-8")
    peer, model = kenlm.Model(str(tmp_path / "pruned.arpa")), from_arpa(tmp_path / "pruned.arpa")
    random = np.random.default_rng(0)
    for _ in range(300):
        sentence = [str(word) for word in random.choice(["a", "b", "c", "d"], random.integers(0, 8))]
        theirs = [score for score, _, _ in peer.full_scores(" ".join(sentence))]
        assert model.token_scores([sentence])[0] == pytest.approx(theirs, abs=1e-5)


def test_imported_models_are_sampled_and_saved(tmp_path: Path) -> None:
    to_arpa(NGramModel(order=3).fit(sentences(0, 20)), tmp_path / "one.arpa")
    model = from_arpa(tmp_path / "one.arpa")
    assert model.counts_ is None
    assert model.sample(3, random_state=1) == NGramModel(order=3).fit(sentences(0, 20)).sample(3, random_state=1)
    model.save(tmp_path / "model.mill")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("-0.4\ta b", "-0.4\ta c"), "has no entry for its context"),
        (("-0.6\tb a", "-0.6\ta b"), "is there twice"),
        (("-0.8\t</s>", "0.8\t</s>"), "above 0"),
    ],
)
def test_files_that_contradict_themselves_are_refused(change: tuple[str, str], fault: str) -> None:
    with pytest.raises(DataError, match=fault):
        from_arpa(io.BytesIO(PRUNED.replace(*change).encode()))


def test_a_file_without_an_unknown_word_makes_it_as_unlikely_as_kenlm_does(tmp_path: Path) -> None:
    text = PRUNED.replace("-2.0\t<unk>\n", "").replace("ngram 1=6", "ngram 1=5")
    (tmp_path / "closed.arpa").write_text(text, encoding="utf-8")
    peer, model = kenlm.Model(str(tmp_path / "closed.arpa")), from_arpa(tmp_path / "closed.arpa")
    theirs = [score for score, _, _ in peer.full_scores("a d")]
    assert model.token_scores([["a", "d"]])[0] == pytest.approx(theirs, abs=1e-4)


def test_words_that_cannot_be_are_left_out_of_perplexities_as_in_srilm() -> None:
    text = PRUNED.replace("-1.1\tc", "-inf\tc").replace("-0.25\tc b c", "-99\tc b c")
    model = from_arpa(io.BytesIO(text.encode()))
    report = perplexity_report(model, [[["a", "b", "c"], ["c", "d"]]])
    assert report.impossible.tolist() == [2]
    rows = [row.tolist() for row in model.token_scores([["a", "b", "c"], ["c", "d"]])]
    total = rows[0][0] + rows[0][1] + rows[0][3] + rows[1][2]
    assert report.log_probability.tolist() == pytest.approx([total])
    assert report.ppl == pytest.approx(10 ** (-total / (5 - 1 - 2 + 2)))
    assert report.lines()[1].startswith("2 zeroprobs, ")
