from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.corpus.wikitext import plain_text, rough_text
from textmill.errors import DataError

CASES = {
    "''i'' '''b''' '''''bi'''''": "i b bi",
    "L'''Iliade'' d'Homère": "L'Iliade d'Homère",
    "[[a]] [[a|b]] [[a|''b'' c]]s [[:a]] [[a#x|y]]": "a b b cs :a y",
    "[http://a.b c d] [http://a.b] http://a.b/c": "c d  http://a.b/c",
    "== H ==\ntext\n=== '''I''' ===": "H\ntext\nI",
    "* one\n** two\n# three\n; four\n: five": "one\ntwo\nthree\nfour\nfive",
    "a &amp; b &lt;i&gt; &eacute;&nbsp;&#65;": "a & b <i> é\xa0A",
    "a&#xD800;&#128;b &unknown; &": "a\ufffd€b &unknown; &",
    "a{{b|{{c}}|d={{{e|}}}}}f": "af",
    "a {{{b|c}}} d": "a  d",
    "a<ref name=x>[[b]] {{c}}</ref> d<ref name=x /> e<REF>f</Ref>": "a d e",
    "a\n{| class=x\n|-\n| b\n{|\n| c\n|}\n| d\n|}\ne": "a\n\ne",
    "{{Infobox\n|a=1\n|}}b": "b",
    "{{x|\n{|\n| a\n|}}}b": "b",
    "a<table><tr><td>b</td></tr></table>c": "ac",
    "a<br>b<br />c": "a\nb\nc",
    "<div class='x'>a <small>b</small> <span>c</div>": "a b c",
    "a<!-- b {{ -->c{{d <!-- }} --> e}}f": "acf",
    "<math>\\frac{{a}}{b}}}</math>x <nowiki>''[[a]]'' {{b}}</nowiki> y": "x ''[[a]]'' {{b}} y",
    "<gallery>\na.jpg|b\n</gallery>x<syntaxhighlight lang=c>{{</syntaxhighlight>y": "xy",
    "[[File:a.jpg|thumb|left|x [[y]] {{z}}]]a [[Image:b]]c": "a c",
    "a\n[[File:b|thumb|c\n\n{{d}}\n\n]]\ne": "a\n\ne",
    "[[a {{b]] c}} d": "[[a  d",
    "{{a [[b}} c]] d": "c]] d",
    "[[File_talk:a]] [[Talk:b]]": "File_talk:a Talk:b",
    "a __NOTOC__ b": "a  b",
    "a\n\n\n\n\nb  \n c": "a\n\nb\nc",
    # malformed
    "a {{b c": "a b c",
    "a }} b |} c": "a  b  c",
    "a <ref>b {{c</ref> d": "a  d",
    "a <ref>b": "a b",
    "{{a </ref> b}} c <ref>d }} e</ref> f": "c  f",
    "<ref>a <ref>b</ref> c": "a  c",
    "{{a <ref> }} b </ref> c": "b  c",
    "a <!-- b": "a  b",
    "a <nowiki> {{b}}": "a",
    "a < b > c <3": "a < b > c <3",
    "": "",
}


@pytest.mark.parametrize("markup", CASES)
def test_markup_becomes_the_text_a_reader_sees(markup):
    assert plain_text(markup) == CASES[markup]


MARKS = (
    "{{ }} {| |} [[ ]] | <ref> </ref> <!-- --> <nowiki> </nowiki> <math> </math> <br> ''' == * ] &amp; { } File: a é \n"
)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from([*re.findall(r"\S+|\n", MARKS), " b ", "[http://x "]),
        max_size=40,
    ).map("".join)
)
def test_any_markup_gives_a_text(markup):
    assert isinstance(plain_text(markup), str)
    assert isinstance(rough_text(markup), str)


def test_links_of_the_namespaces_named_are_dropped():
    assert plain_text("a [[Soubor:x|y]] [[File:z]]", hidden={"soubor"}) == "a  File:z"


def test_a_line_too_long_to_parse_is_refused():
    assert plain_text("ab " * 6_000 + "\n" + "cd " * 6_000).endswith("cd")
    with pytest.raises(DataError, match="a line has more than 20,000 characters"):
        plain_text("ab " * 7_000)
