"""Grammars of Thrax: strings as they are, bytes, files, places, assertions; pynini says what strings mean."""

from functools import reduce
from pathlib import Path

import pynini
import pytest
from typer.testing import CliRunner

from textmill.cli.app import app
from textmill.errors import DataError
from textmill.fst import SymbolTable, labels_of, read_thrax, strings, text_of

run = CliRunner().invoke


def grammar(folder: Path, text: str, name: str = "a.grm") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "pieces",
    [["a", " ", "b"], [" "], ["a", " "], [" ", "\\t", " "], ["a b", "c"], ["#", ";"], ["\\[", "x", "\\]"], ["é"]],
)
def test_a_sequence_of_strings_accepts_what_pynini_accepts(pieces, tmp_path):
    quoted = " ".join(f'"{piece}"' for piece in pieces)
    path = grammar(tmp_path, f"export X = {quoted};")
    [(text, _, _)] = strings(read_thrax(path)["X"], token_type="byte")
    expected = reduce(pynini.concat, [pynini.accep(piece.replace("\\t", "\t")) for piece in pieces])
    assert text == next(iter(expected.paths().istrings()))


def test_a_loop_over_words_and_blanks_needs_the_blanks(tmp_path):
    made = read_thrax(grammar(tmp_path, 'export X = ("one" " ")* "two";'))
    assert made.apply("X", ["one two", "onetwo", "one one two", "two"]) == [
        [("one two", 0.0)], [], [("one one two", 0.0)], [("two", 0.0)]
    ]  # fmt: skip


def test_a_blank_can_be_deleted_and_written(tmp_path):
    made = read_thrax(grammar(tmp_path, 'D = " " : "";\nexport X = "a" D "b";\nexport Y = "x" : " ";'))
    assert made.apply("X", ["a b", "ab"]) == [[("ab", 0.0)], []]
    assert made.apply("Y", ["x"]) == [[(" ", 0.0)]]


def test_every_byte_is_a_label(tmp_path):
    every = " | ".join(f'"[{code}]"' for code in range(1, 256))
    path = grammar(tmp_path, f'export kBytes = Optimize[{every}];\nexport R = CDRewrite["é" : "e", "", "", kBytes*];')
    made = read_thrax(path)
    labels = set(made["kBytes"].arrays()[1]["ilabel"].tolist())
    assert labels == set(range(1, 256))
    assert made.apply("R", ["née ß 日本"]) == [[("nee ß 日本", 0.0)]]
    with pytest.raises(DataError, match=r"a.grm:1:12: the label \[256\] is no byte"):
        read_thrax(grammar(tmp_path, 'export X = "[256]";'))


def test_rules_apply_over_the_alphabet_that_they_name(tmp_path):
    made = read_thrax(grammar(tmp_path, 'export R = CDRewrite["a" : "b", "", "", ("a" | "b" | "c")*];'))
    assert made.apply("R", ["cac", "cad"]) == [[("cbc", 0.0)], []]


def test_files_are_looked_for_beside_in_the_working_folder_and_where_one_says(tmp_path, monkeypatch):
    grammar(tmp_path, 'export U = "u";', "util/u.grm")
    grammar(tmp_path, "x\ty\n", "util/words.tsv")
    path = grammar(tmp_path, "import 'util/u.grm' as u;\nexport X = u.U StringFile['util/words.tsv'];", "en/x.grm")
    with pytest.raises(DataError, match=r"x\.grm:1:8: .*u\.grm: No such file"):
        read_thrax(path)
    assert read_thrax(path, folder=tmp_path).apply("X", ["ux"]) == [[("uy", 0.0)]]
    monkeypatch.chdir(tmp_path)
    assert read_thrax("en/x.grm").apply("X", ["ux"]) == [[("uy", 0.0)]]
    monkeypatch.chdir(tmp_path / "en")
    done = run(app, ["fst", "grammar", "compile", "x.grm", "--folder", "..", "-o", "x.fst"])
    assert done.exit_code == 0, done.output


def test_the_name_of_a_file_may_be_a_variable(tmp_path):
    grammar(tmp_path, "x\ty\n", "words.tsv")
    made = read_thrax(grammar(tmp_path, "words = 'words.tsv';\nexport X = StringFile[words];"))
    assert made.apply("X", ["x"]) == [[("y", 0.0)]]


def test_faults_have_the_places_of_the_file(tmp_path):
    text = '# a licence\n\n\n# more\nA = "a"\n  "b";\n\nexport B = A\n   missing;\n'
    with pytest.raises(DataError, match=r"a\.grm:9:4: there is no rule 'missing'"):
        read_thrax(grammar(tmp_path, text)).machines()
    with pytest.raises(DataError, match=r"a\.grm:3:13: LoadFst cannot be translated"):
        read_thrax(grammar(tmp_path, "\n\nexport A = (LoadFst['x.fst']);"))


def test_local_names_of_functions_leave_strings_alone(tmp_path):
    text = 'func F[x] { y = x "y"; return "y" y x; }\nexport A = F["z"];'
    assert read_thrax(grammar(tmp_path, text)).apply("A", ["yzyz"]) == [[("yzyz", 0.0)]]


def test_assertions_are_tests(tmp_path):
    text = """
RULE = ("1" : "one") | ("2" : "two" <1>) | ("2" : "zwei" <2>);
right = AssertEqual["1" @ RULE, "one"];
best = AssertEqual["2" @ RULE, "two"];
wrong = AssertEqual["1" @ RULE, "two"];
none = AssertNull["3" @ RULE];
empty = AssertEmpty["" : "" ];
export A = RULE;
"""
    path = grammar(tmp_path, text)
    done = run(app, ["fst", "grammar", "test", str(path)])
    assert done.exit_code == 1
    assert done.output.endswith(f"{path}:5:9: wrong: both sides\n- two\n+ one\n4 of 5 cases passed\n")
    assert set(read_thrax(path).machines()) == {"A"}


def test_brackets_in_the_name_of_a_symbol_are_escaped():
    table = SymbolTable(["<eps>"])
    labels = labels_of(r"x[\[Camembert\] is a]", generated=table)
    assert len(labels) == 4
    assert table.symbol(labels[1]) == "[Camembert]"
    assert labels_of(text_of(labels, generated=table), generated=table) == labels
