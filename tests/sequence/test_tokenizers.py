"""Running text is cut as the tagger's training data were, or a warning says how they were cut."""

import itertools
import re
import warnings

import pytest

from textmill.cli.app import main
from textmill.errors import DataError
from textmill.sequence import CRF, label_text
from textmill.sequence.runningtext import TOKENIZERS

PENN = [
    ("I do n't think it 's Mary 's .", "PRP VB RB VB PRP VB NNP POS ."),
    ("He does n't like it .", "PRP VB RB VB PRP ."),
    ("Mary 's dog ca n't see well-known cats .", "NNP POS NN VB RB VB JJ NN ."),
]
TEXT = "I don't think it's Mary's. He doesn't like it."


def trained(data):
    X, y = [a.split() for a, _ in data] * 3, [b.split() for _, b in data] * 3
    return CRF(l1=0.1).fit(X, y)


@pytest.mark.parametrize(
    ("name", "text", "tokens"),
    [
        ("words", "I don't see Mary's well-known U.S.A.", "I don't see Mary's well-known U.S.A."),
        (
            "penn",
            "I don't see; we'll sell Mary’s dog, can't we?",
            "I do n't see ; we 'll sell Mary ’s dog , ca n't we ?",
        ),
        ("penn", "He cannot 'go' on a well-known way", "He can not ' go ' on a well-known way"),
        ("ud", "a well-known and/or l'homme aujourd'hui", "a well - known and / or l' homme aujourd'hui"),
        ("ud", "it's O'Neil's", "it 's O'Neil 's"),
        ("plain", "I don't, see  Mary's.", "I don't, see Mary's."),
    ],
)
def test_words_are_cut_as_the_tokenizer_says(name, text, tokens):
    spans = TOKENIZERS[name](text)
    assert [text[a:b] for a, b in spans] == tokens.split()


@pytest.mark.parametrize("name", TOKENIZERS)
def test_tokens_cover_everything_but_blanks_once(name):
    text = "“Don't” -- it's 5%/year; l'eau, n'est-ce pas? (U.S.A.'s) 'tis"
    spans = TOKENIZERS[name](text)
    assert "".join(text[a:b] for a, b in spans) == re.sub(r"\s", "", text)
    assert all(one[1] <= two[0] for one, two in itertools.pairwise(spans))


def test_text_that_is_cut_otherwise_is_warned_of_and_cut_right_when_asked():
    tagger = trained(PENN)
    with pytest.warns(UserWarning, match=r"such as \"do n't\" where \"don't\" stands here; pass tokenizer='penn'"):
        list(label_text(tagger, TEXT))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = label_text(tagger, TEXT, tokenizer="penn")
    assert [first.labels, second.labels] == [data[1].split() for data in PENN[:2]]


@pytest.mark.parametrize("name", TOKENIZERS)
def test_data_cut_by_a_tokenizer_ask_for_it_only(name):
    text = "I don't see Mary's well-known dog.\nHe can't see it; she's at l'Opéra."
    lines = [[line[a:b] for a, b in TOKENIZERS[name](line)] for line in text.split("\n")]
    tagger = CRF(l1=0.01).fit(lines * 3, [[f"L{len(word) % 3}" for word in line] for line in lines] * 3)
    for other in TOKENIZERS:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            list(label_text(tagger, text, tokenizer=other))
        said = [str(one.message) for one in caught]
        assert (said == []) if other == name else f"tokenizer='{name}'" in said[0]


def test_the_command_names_its_option(tmp_path, capsys):
    trained(PENN).save(tmp_path / "m.mill")
    (tmp_path / "t.txt").write_text(TEXT)
    base = ["tag", "label", str(tmp_path / "m.mill"), "--text", str(tmp_path / "t.txt")]

    def said(*more):
        with pytest.raises(SystemExit):
            main([*base, *more])
        return capsys.readouterr()

    assert "pass --tokenizer penn" in said().err
    out, err = said("--tokenizer", "penn")
    assert err == ""
    assert "n't\tRB" in out
    assert "--tokenizer must be one of" in said("--tokenizer", "x").err


def test_other_names_are_refused():
    with pytest.raises(DataError, match="tokenizer must be one of"):
        list(label_text(trained(PENN), TEXT, tokenizer="moses"))
