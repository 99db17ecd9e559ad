"""Annotated texts: read from trees, CoNLL-U and CoreNLP, made by rules; what does not fit is an error."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from textmill.corpus import parse_tree
from textmill.tasks.readability import (
    AnnotatedText,
    Annotator,
    Layers,
    Mention,
    WordNet,
    is_article,
    order_levels,
    read_annotated,
    read_annotated_conllu,
    read_annotated_trees,
    read_corenlp,
    read_endings,
    read_familiar_words,
    read_graded_texts,
    read_syllable_rules,
    reduce_text,
    static_features,
)
from textmill.trees import TreebankGrammar

XML = """<?xml version="1.0"?><root><document><sentences>
<sentence id="1"><tokens>
<token id="1"><word>Anna</word><lemma>Anna</lemma><POS>NNP</POS><NER>PERSON</NER></token>
<token id="2"><word>Bell</word><lemma>Bell</lemma><POS>NNP</POS><NER>PERSON</NER></token>
<token id="3"><word>left</word><lemma>leave</lemma><POS>VBD</POS><NER>O</NER></token>
</tokens><parse>(ROOT (S (NP (NNP Anna) (NNP Bell)) (VP (VBD left)))) </parse>
<dependencies type="basic-dependencies"><dep type="nsubj"><governor idx="3">left</governor>
<dependent idx="2">Bell</dependent></dep></dependencies></sentence>
<sentence id="2"><tokens>
<token id="1"><word>She</word><lemma>she</lemma><POS>PRP</POS><NER>O</NER></token>
<token id="2"><word>sang</word><lemma>sing</lemma><POS>VBD</POS><NER>O</NER></token>
</tokens><parse>(ROOT (S (NP (PRP She)) (VP (VBD sang)))) </parse></sentence></sentences>
<coreference><coreference>
<mention representative="true"><sentence>1</sentence><start>1</start><end>3</end><head>2</head></mention>
<mention><sentence>2</sentence><start>1</start><end>2</end><head>1</head></mention>
</coreference></coreference></document></root>"""


class Tagger:
    """Tags from a list of words."""

    TAGS = {"Anna": "NNP", "Bell": "NNP", "mill": "NN", "mills": "NNS", "She": "PRP", "They": "PRP", "It": "PRP"}

    def predict(self, sentences: Any) -> list[list[str]]:
        return [[self.TAGS.get(word, "X") for word in words] for words in sentences]


def test_corenlp_gives_all_layers() -> None:
    text = read_corenlp(io.BytesIO(XML.encode()))
    assert text.sentences == [["Anna", "Bell", "left"], ["She", "sang"]]
    assert text.entities == [Mention(0, 0, 2)]
    assert text.chains == [[Mention(0, 0, 2), Mention(1, 0, 1, pronoun=True)]]
    assert text.roles is not None
    assert text.roles[0] == ["", "S", ""]
    assert text.layers() == ["tags", "lemmas", "trees", "entities", "chains", "roles"]


def test_what_is_not_from_corenlp_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no XML"):
        read_corenlp(io.BytesIO(b"<root>"))
    (tmp_path / "a.xml").write_text("<root/>")
    with pytest.raises(ValueError, match="a: there is no <sentence>"):
        read_annotated(tmp_path / "a.xml")


def test_trees_and_columns_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.mrg").write_text("( (S (NP-SBJ (-NONE- *)) (VP (VB Go)) (. !)) )\n")
    text = read_annotated(tmp_path / "a.mrg")
    assert (text.id, text.sentences, text.tags) == ("a", [["Go", "!"]], [["VB", "."]])
    lines = (
        "# newpar\n1\tAnna\tAnna\tPROPN\t_\t_\t2\tnsubj:pass\t_\tNE=B-PER\n"
        "2\tleft\tleave\tVERB\tVBD\t_\t0\troot\t_\tNE=O\n\n"
        "# newpar\n1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n2\tmill\tmill\tNOUN\tNN\t_\t1\tobj\t_\t_\n\n"
    )
    columns = read_annotated_conllu(io.BytesIO(lines.encode()))
    assert columns.tags == [["PROPN", "VBD"], ["VB", "NN"]]
    assert columns.roles == [["S", "X"], ["X", "O"]]
    assert columns.entities == [Mention(0, 0, 1)]
    assert columns.paragraphs == [0, 1]
    with pytest.raises(ValueError, match="no tree"):
        read_annotated_trees(io.BytesIO(b""))
    with pytest.raises(ValueError, match="no sentence"):
        read_annotated_conllu(io.BytesIO(b""))


def test_layers_that_do_not_fit_the_tokens_are_errors_with_their_place() -> None:
    rows = [["A", "mill"], ["It", "turns"]]
    with pytest.raises(ValueError, match="one: sentence 2 has 2 tokens but its tree has 1 leaves"):
        AnnotatedText(rows, trees=[parse_tree("(NP (DT A) (NN mill))"), parse_tree("(S (VBZ turns))")], id="one")
    with pytest.raises(ValueError, match="sentence 2 has 2 tokens but 1 tags"):
        AnnotatedText(rows, tags=[["DT", "NN"], ["PRP"]])
    with pytest.raises(ValueError, match="2 sentences but tags of 1"):
        AnnotatedText(rows, tags=[["DT", "NN"]])
    with pytest.raises(ValueError, match="outside of the text"):
        AnnotatedText(rows, entities=[Mention(2, 0, 1)])
    with pytest.raises(ValueError, match="at least one token"):
        AnnotatedText([[]])


def test_rules_make_entities_and_chains() -> None:
    annotator = Annotator(tagger=Tagger())
    text = annotator.annotate(["Anna Bell has two mills. They turn. She is glad. Bell sings."])[0]
    assert text.entities == [Mention(0, 0, 2), Mention(3, 0, 1)]
    assert text.chains is not None
    assert [[(m.sentence, m.pronoun) for m in chain] for chain in text.chains] == [
        [(0, False), (2, True), (3, False)],
        [(0, False), (1, True)],
    ]
    far = annotator.annotate(["A mill. Oh. Oh. Oh. It turns."])[0]
    assert far.chains == []  # more than two sentences before


def test_a_parser_is_an_object_that_is_passed_in() -> None:
    def parse(sentences: list[list[str]], tags: list[list[str]]) -> list[Any]:
        rows = [" ".join(f"({t} {w})" for w, t in zip(*row, strict=True)) for row in zip(sentences, tags, strict=True)]
        return [parse_tree(f"(S {leaves})") for leaves in rows]

    text = Annotator(tagger=Tagger(), parser=parse).annotate(["A mill turns"])[0]
    assert text.trees == [parse_tree("(S (X A) (NN mill) (X turns))")]
    long = Annotator(tagger=Tagger(), parser=parse).annotate(["A mill. It " + "and " * 120])[0]
    assert long.trees is not None
    assert [tree is None for tree in long.trees] == [False, True]
    with pytest.raises(ValueError, match="made 1 leaves of 3 words"):
        Annotator(tagger=Tagger(), parser=lambda words, tags: [parse_tree("(S (X A))")]).annotate(["A mill turns"])


def test_the_grammar_of_a_treebank_parses() -> None:
    texts = ["(S (NP (NNP Anna)) (VP (VBZ sleeps)))", "(S (NP (DT the) (NN mill)) (VP (VBZ turns)))"]
    grammar = TreebankGrammar().fit([parse_tree(text) for text in texts])
    text = Annotator(tagger=Tagger(), parser=grammar).annotate(["Anna turns"])[0]
    table = static_features(Layers([text]), groups=["parse"])
    assert table.choose(["parse.NP.number", "parse.tree.clauses"]).values.tolist() == [[1.0, 1.0]]


def test_without_a_tagger_there_are_only_tokens() -> None:
    text = Annotator().annotate(["It doesn't turn.\n\nThe mill's old."])[0]
    assert text.sentences == [["It", "does", "n't", "turn", "."], ["The", "mill", "'s", "old", "."]]
    assert text.layers() == ["paragraphs"]
    with pytest.raises(ValueError, match="text 2: the text has no words"):
        Annotator().annotate(["A mill.", "  "])


def test_texts_with_levels_are_read(tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_text("grade,article,text\n10,a,A mill.\n2,a,An old mill.\n")
    graded = read_graded_texts(path)
    assert graded.order == ["2", "10"]
    assert graded.groups == ["a", "a"]
    with pytest.raises(ValueError, match=r"texts.csv:2.*no level"):
        read_graded_texts(path, level_field="level")
    with pytest.raises(ValueError, match="level '10' is not one of"):
        read_graded_texts(path, order=["1", "2"])
    path.write_text("grade,text\n1,...\n")
    with pytest.raises(ValueError, match="no words"):
        read_graded_texts(path)


def test_texts_are_reduced_and_articles_told_from_quizzes() -> None:
    assert reduce_text("“It’s\ta mill” \r\n –\x19 caf\u00e9_ £5") == "Its a mill\n caf 5".replace("\n ", "\n")
    assert order_levels(["A dog ran.", "Considerable deliberation accompanies negotiations."], ["b", "a"]) == ["b", "a"]
    story = "The old mill turns its wheel all day. " * 8
    assert is_article(story)
    assert not is_article("Why does the old mill turn its wheel all day? " * 8)
    assert not is_article("the mill\nthe wheel\nthe miller and his cat\n" * 8)


def test_files_of_resources_name_their_faults(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no vowels"):
        read_syllable_rules(io.BytesIO(b"e$ -1\n"))
    with pytest.raises(ValueError, match="2: a pattern and its value"):
        read_syllable_rules(io.BytesIO(b"vowels ae\ne$ minus\n"))
    assert read_familiar_words(io.BytesIO(b"# note\nMill\n\n")) == ["mill"]
    with pytest.raises(ValueError, match="1: an ending"):
        read_endings(io.BytesIO(b"s es e\n"))
    with pytest.raises(ValueError, match="install Debian's wordnet-base"):
        WordNet(tmp_path)
    (tmp_path / "data.noun").write_text("what is this\n")
    with pytest.raises(ValueError, match=r"data\.noun:1: this is no line of WordNet"):
        WordNet(tmp_path)
