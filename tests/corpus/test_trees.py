"""Bracketed trees against recursive definitions, at great depth, with every fault, and on the Penn Treebank sample."""

from __future__ import annotations

import copy
import io
import pickle
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import bracketed_trees as reference

from textmill.corpus.streams import SkippedRecords
from textmill.corpus.trees import Production, Tree, parse_tree, read_trees
from textmill.errors import DataError

DEPTH = 100_000

texts = st.text(st.characters(codec="utf-8", exclude_characters=" \t\r\n\f\v\0()\ufeff"), min_size=1, max_size=4)
trees = st.recursive(
    st.builds(Tree, texts, st.tuples(texts)),
    lambda below: st.builds(Tree, texts, st.lists(st.one_of(below, texts), min_size=1, max_size=4).map(tuple)),
    max_leaves=12,
)


def read(text, **options):
    return list(read_trees(io.BytesIO(text.encode() if isinstance(text, str) else text), **options))


# ---- properties


@settings(max_examples=100)
@given(tree=trees, width=st.integers(1, 60))
def test_trees_are_read_as_they_are_written(tree, width):
    assert str(tree) == reference.written(tree)
    assert parse_tree(str(tree)) == tree
    assert parse_tree(tree.pretty(width)) == tree
    assert read(f"( {tree} )\n{tree.pretty(width)}\n") == [tree, tree]


@settings(max_examples=100)
@given(tree=trees)
def test_traversals_agree_with_recursive_definitions(tree):
    assert tree.leaves() == reference.leaves(tree)
    assert list(tree.subtrees()) == reference.subtrees(tree)
    assert tree.spans() == reference.spans(tree)[0]
    assert tree.fold(lambda node, below: 1 + sum(below), lambda leaf: 1) == 1 + reference.size(tree)
    assert tree.fold(lambda node, below: Tree(node.label, tuple(below)), lambda leaf: leaf) == tree


@settings(max_examples=100)
@given(left=trees, right=trees)
def test_equality_is_that_of_the_written_form(left, right):
    assert (left == right) == (str(left) == str(right))
    copied = copy.deepcopy(left)
    assert copied == left == pickle.loads(pickle.dumps(left))  # noqa: S301
    assert hash(copied) == hash(left)


@settings(max_examples=50)
@given(tree=trees)
def test_removing_empty_elements_agrees_with_the_recursive_definition(tree):
    label = tree.leaves()[0]
    marked = parse_tree(str(tree).replace(f" {label})", " x)"))
    for name in {node.label for node in marked.subtrees()}:
        assert marked.without_empty(name) == reference.without(marked, name)


def test_pretty_lines_stay_within_the_width():
    words = " ".join(f"(NN word{number})" for number in range(30))
    tree = parse_tree(f"(S (NP {words}) (VP (VB go) (NP {words})))")
    for width in (30, 60, 100):
        assert max(map(len, tree.pretty(width).splitlines())) <= width
    assert "\n" not in tree.pretty(1000)


# ---- depth


def test_very_deep_trees_pass_through_everything():
    text = "(X-1 " * DEPTH + "(Y word) (-NONE- *)" + ")" * DEPTH
    deep = parse_tree(text)
    assert str(deep) == text
    assert repr(deep) == f"parse_tree({text!r})"
    assert pickle.loads(pickle.dumps(deep)) == deep  # noqa: S301
    assert isinstance(hash(deep), int)
    assert deep.leaves() == ["word", "*"]
    assert deep.tags() == ["Y", "-NONE-"]
    assert len(deep.spans()) == DEPTH
    assert len(deep.productions()) == DEPTH + 2
    assert str(deep.without_empty().without_functions()) == "(X " * DEPTH + "(Y word)" + ")" * DEPTH
    assert deep.pretty().count("\n") == DEPTH - 5  # the innermost five share a line
    with pytest.raises(DataError, match="100000 closing brackets are missing"):
        parse_tree("(X " * DEPTH)


# ---- meaning


def test_outer_bracket_without_a_label_is_dropped_around_one_tree_and_kept_around_several():
    assert parse_tree("((S (UH Yes)))") == parse_tree("( (S (UH Yes)) )") == parse_tree("(\nS (UH Yes))")
    several = parse_tree("( (S (UH Yes)) (. .))")
    assert several.label == ""
    assert [child.label for child in several.children] == ["S", "."]
    assert parse_tree(str(several)) == several


def test_escapes_are_kept_in_leaves_undone_in_words_and_made_when_needed():
    tree = parse_tree(r"(NP (-LRB- -LRB-) (CD 1\/2) (SYM \*) (X [-RCB-) (-RRB- -RRB-))")
    assert tree.leaves() == ["-LRB-", r"1\/2", r"\*", "[-RCB-", "-RRB-"]
    assert tree.words() == ["(", "1/2", "*", "[}", ")"]
    assert tree.tags()[0] == "-LRB-"
    assert str(Tree("X", (":-)",))) == "(X :--RRB-)"
    assert parse_tree(str(Tree("X", (":-)",)))).words() == [":-)"]


def test_function_tags_are_cut_and_labels_that_begin_with_a_hyphen_stay():
    tree = parse_tree("(S-TPC-1=2 (NP=1 (PRP$ its)) (-NONE- *T*-1) (-LRB- x-y) (ADVP|PRT-X (RB up)))")
    assert str(tree.without_functions()) == "(S (NP (PRP$ its)) (-NONE- *T*-1) (-LRB- x-y) (ADVP|PRT (RB up)))"


def test_empty_elements_go_with_all_that_only_they_filled():
    tree = parse_tree("(S (NP (NP (-NONE- *)) (PP (-NONE- *))) (VP (VB go) (-NONE- *)))")
    assert str(tree.without_empty()) == "(S (VP (VB go)))"
    assert parse_tree("(S (NP (-NONE- *)))").without_empty() is None


def test_productions_tell_words_from_labels():
    assert parse_tree("(NP (NN NN) (NN dog))").productions() == [
        Production("NP", ("NN", "NN"), lexical=False),
        Production("NN", ("NN",), lexical=True),
        Production("NN", ("dog",), lexical=True),
    ]
    with pytest.raises(DataError, match=r"'NP' has both words \('the'\) and constituents \('NN'\)"):
        parse_tree("(NP the (NN dog))").productions()
    with pytest.raises(DataError, match="leaf 'the' stands directly under 'NP'"):
        parse_tree("(NP the (NN dog))").tags()


def test_trees_are_immutable_and_have_children():
    tree = Tree("NP", ["the", "dog"])
    assert tree.children == ("the", "dog")
    with pytest.raises(AttributeError):
        tree.label = "VP"
    with pytest.raises(DataError, match="tree 'NP' has no children"):
        Tree("NP", ())
    assert tree != "(NP the dog)"
    assert len({tree, Tree("NP", ("the", "dog")), Tree("NP", ("the", "cat"))}) == 2
    assert Tree("a", ("b", "c")) != Tree("a", (Tree("b", ("c",)),))
    assert repr(tree) == "parse_tree('(NP the dog)')"


@pytest.mark.parametrize(
    "tree", [Tree("NP", ("New York",)), Tree("N P", ("x",)), Tree("NP", ("",)), Tree("NP", ("a\n",))]
)
def test_what_cannot_be_read_again_is_not_written(tree):
    for write in (str, Tree.pretty):
        with pytest.raises(DataError, match="cannot be written in a bracketed tree"):
            write(tree)


# ---- files


def test_layout_line_ends_marks_and_encodings_make_no_difference():
    expected = [parse_tree("(S (NP (NN é)) (VP (VBP b)))"), parse_tree("(X y)")]
    for text in (
        "(S (NP (NN é)) (VP (VBP b))) (X y)",
        "\ufeff\n\n( (S\n  (NP (NN é) )\n  (VP (VBP b)) ) )\n\n(X\ty)\n",
        "( (S\r\n(NP\r\n(NN é))\r\n(VP (VBP b))))\r\n(X y)",
        "(S (NP (NN é)) (VP (VBP b)))\r(X y)\r",
    ):
        assert read(text) == expected
    assert read("(X é)\n".encode("latin-1"), encoding="latin-1") == [Tree("X", ("é",))]
    assert read("(X a\u00a0b)") == [Tree("X", ("a\u00a0b",))]
    assert read("") == read("\n \n") == []


def test_files_can_be_read_again_and_streams_once(tmp_path):
    path = tmp_path / "a.mrg"
    path.write_text("(X y)\n(X z)\n")
    once = read_trees(io.BytesIO(b"(X y)"))
    assert iter(once) is once
    again = read_trees(path)
    assert list(again) == list(again) == [Tree("X", ("y",)), Tree("X", ("z",))]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("(S (NN dog)\n", r"^stream:1: the tree that begins here does not end, 1 closing bracket is missing$"),
        (
            "(X y)\n(S (NP\n (NN dog)\n(S (NN cat))\n",
            r"^stream:2: .* 2 closing brackets are missing; line 4 looks like the beginning of the next$",
        ),
        ("(S (NN dog)))\n", r"^stream:1:13: '\)' without an opening bracket$"),
        ("(X y)\n )\n", r"^stream:2:2: '\)' without an opening bracket$"),
        ("(X y) z\n", r"^stream:1:7: 'z' stands outside of a labeled bracket$"),
        ("word\n", r"^stream:1:1: 'word' stands outside"),
        ("( (X y) z)\n", r"^stream:1:9: 'z' stands outside of a labeled bracket$"),
        ("(S ((NN dog)))\n", r"^stream:1:5: a label is expected, found '\('$"),
        ("(((S x)))\n", r"^stream:1:3: a label is expected, found '\('$"),
        ("()\n", r"^stream:1:2: nothing stands between the brackets$"),
        ("(S\n ())\n", r"^stream:2:3: nothing stands between the brackets$"),
        ("(S (NP))\n", r"^stream:1:7: nothing stands under 'NP'$"),
        ("(", r"^stream:1: the tree that begins here does not end"),
        ("(X y)\n(X \0)\n", r"^stream:2:4: NUL"),
        (b"(X y)\n(X \xff)\n", r"^stream:2:4: byte 0xff is not UTF-8"),
    ],
)
def test_faults_are_named_with_their_place(text, fault):
    with pytest.raises(DataError, match=fault):
        read(text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "one tree was expected, the text holds none"),
        ("(X y) (X z)", "one tree was expected, the text holds 2; read_trees reads many"),
        ("(X y) z", r"^1:7: 'z' stands outside"),
        ("(X\n (Y z)))", r"^2:8: '\)' without"),
    ],
)
def test_parse_tree_takes_exactly_one(text, fault):
    with pytest.raises(DataError, match=fault):
        parse_tree(text)


def test_skipping_goes_on_at_the_next_line_that_starts_with_a_bracket():
    text = b"(X 1)\n(X (Y 2)\n  (Y 2)\n(X 3)\n(X 4))\n  (Y 4)\n(X\n 5)\n(X (\xff 6))\n  (Y 6)\n(X 7)\nx\n(X 8) (X"
    with pytest.warns(SkippedRecords) as caught:
        trees = read(text, errors="skip")
    assert [tree.leaves() for tree in trees] == [["1"], ["3"], ["4"], ["5"], ["7"], ["8"]]
    [warning] = caught
    assert warning.message.count == 5
    assert str(warning.message.first).startswith("stream:2: the tree that begins here does not end")


# ---- the Penn Treebank sample


@pytest.mark.data
def test_penn_treebank_sample_has_its_counts_and_makes_the_round_trip(data, tmp_path):
    files = sorted((data / "treebank" / "combined").glob("*.mrg"))
    corpus = [tree for path in files for tree in read_trees(path)]
    assert (len(files), len(corpus)) == (199, 3914)
    assert sum(len(tree.leaves()) for tree in corpus) == 100_676
    for write in (str, Tree.pretty):
        path = tmp_path / "copy.mrg"
        path.write_text("".join(f"( {write(tree)} )\n" for tree in corpus[::3]), encoding="utf-8")
        assert list(read_trees(path)) == corpus[::3]
    assert {len(tree.tags()) - len(tree.leaves()) for tree in corpus} == {0}
    full = [tree.without_empty() for tree in corpus]
    assert all(full)
    words = Counter(word for tree in full for word in tree.words())
    assert sum(words.values()) == 94_084
    assert words["("] == words["-LRB-"] + sum(tree.leaves().count("-LRB-") for tree in full)
    bare = {node.label for tree in full for node in tree.without_functions().subtrees()}
    assert not [label for label in bare if "=" in label or "-" in label.strip("-")]
    assert {"S", "NP", "VP", "-LRB-", "PRP$", "ADVP|PRT"} <= bare
