"""`textmill fst` in pipes, with its own verbs and flags, and with input that is wrong."""

from __future__ import annotations

import json
import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from reference.fst_programs import TEXTMILL, machines, made, ours
from typer.testing import CliRunner

from textmill import fst
from textmill.cli.app import app
from textmill.cli.fst import Verbs
from textmill.vectors import Weighting


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made_in = tmp_path_factory.mktemp("machines")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made_in)
        machines(made_in)
    return made_in


@pytest.fixture(autouse=True)
def _there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def shell(line: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of a shell in which `fst` is `textmill fst`."""
    command = shlex.join(TEXTMILL)
    return subprocess.run(
        ["bash", "-c", f'set -o pipefail; fst() {{ {command} "$@"; }}; {line}'], capture_output=True, check=False
    )


# ---- help


def test_every_verb_has_help_with_an_example() -> None:
    group = Verbs(name="fst")
    for verb in group.list_commands(None):
        command = group.get_command(None, verb)
        inner = command.list_commands(None) if hasattr(command, "list_commands") else []
        for words in [[verb, name] for name in inner] if inner else [[verb]]:
            page = made(*words, "--help").decode()
            assert f"textmill fst {' '.join(words)}" in " ".join(page.split("Example:")[1].split())


def test_the_verbs_are_those_of_openfst() -> None:
    verbs = (
        "compile print info draw compose intersect difference union concat closure reverse invert project relabel "
        "arcsort topsort connect rmepsilon epsnormalize synchronize determinize disambiguate minimize push reweight "
        "shortestdistance shortestpath prune encode decode map replace equal isomorphic equivalent randgen symbols "
        "apply convert far"
    )
    assert set(verbs.split()) <= set(Verbs(name="fst").list_commands(None))


def test_a_verb_loads_little() -> None:
    code = (
        "import sys; from textmill.cli.app import main\n"
        "try: main(['-q', 'fst', 'arcsort', 't.fst', 'loaded.fst'])\n"
        "except SystemExit: pass\n"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'scipy', 'rich', 'safetensors', 'pyarrow', 'regex'}))\n"
        "print(sorted(m for m in sys.modules if m.startswith('textmill.cli._fst')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "[]",
        "['textmill.cli._fst_files', 'textmill.cli._fst_operations', 'textmill.cli._fst_program']",
    ]


# ---- pipes of real processes


def test_a_chain_of_processes_finds_the_best_path() -> None:
    line = (
        "fst compile --isymbols=a.syms --osymbols=a.syms t.txt | fst arcsort --sort_type=olabel | "
        "fst compose - u_sorted.fst | fst shortestpath | fst rmepsilon | fst topsort | fst print"
    )
    done = shell(line)
    assert (done.returncode, done.stderr) == (0, b"")
    best = fst.shortest_path(fst.compose(fst.read_fst("t.fst"), fst.read_fst("u.fst")))
    expected = fst.topsort(fst.rmepsilon(best))
    found = fst.compile_text(done.stdout, output_symbols=expected.output_symbols)
    assert fst.total_weight(found) == fst.total_weight(expected)


def test_a_reader_that_leaves_early_is_no_error() -> None:
    lines = "".join(f"{i} {i + 1} 1 1\n" for i in range(100_000)) + "100000\n"
    Path("long.txt").write_text(lines)
    done = shell("fst compile long.txt long.fst && fst print long.fst | head -n 1")
    assert done.stdout == b"0\t1\t1\t1\n"
    assert done.stderr == b""


def test_a_broken_pipe_of_machines_is_one_line() -> None:
    done = shell("fst compile t.txt 2> /dev/null | fst arcsort | fst print")
    assert done.returncode == 1
    assert done.stdout == b""
    assert b"Traceback" not in done.stderr


def test_binary_is_not_written_to_a_terminal() -> None:
    ours_end, theirs_end = pty.openpty()
    try:
        done = subprocess.run([*TEXTMILL, "arcsort", "t.fst"], stdout=theirs_end, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(theirs_end)
        os.close(ours_end)
    assert done.returncode == 1
    assert done.stderr.decode().startswith("textmill: a binary machine is not for the terminal")


# ---- forms of flags


@pytest.mark.parametrize(
    "flags",
    ["--sort_type=olabel", "--sort_type olabel", "-sort_type=olabel", "-sort_type olabel", "--sort-type=olabel"],
)
def test_values_of_flags_in_every_form(flags: str) -> None:
    assert made("arcsort", *flags.split(), "t.fst") == Path("t_sorted.fst").read_bytes()
    assert made("arcsort", "t.fst", *flags.split()) == Path("t_sorted.fst").read_bytes()


@pytest.mark.parametrize(
    ("on", "off"),
    [
        ("--connect", "--noconnect"),
        ("--connect=true", "--connect=false"),
        ("-connect=1", "-connect=0"),
        ("--connect=True", "--no_connect"),
        ("-connect", "--no-connect"),
    ],
)
def test_switches_in_every_form(on: str, off: str) -> None:
    files = ["twin_sorted.fst", "plain.fst"]
    assert fst.from_bytes(made("intersect", on, *files)).has("coaccessible")
    assert not fst.from_bytes(made("intersect", off, *files)).has("coaccessible")


def test_switches_that_are_off_can_be_put_off() -> None:
    for off in ("--numeric=false", "--nonumeric", "--no_numeric", "-numeric=0"):
        assert made("print", off, "t.fst") == made("print", "t.fst")


def test_a_dash_and_an_empty_name_are_standard_input_and_output() -> None:
    given, expected = Path("t.fst").read_bytes(), made("invert", "t.fst")
    assert made("invert", given=given) == made("invert", "-", "-", given=given) == expected
    assert made("invert", "", "", given=given) == made("invert", "--", "-", given=given) == expected
    assert made("union", "-", "u.fst", given=given) == made("union", "t.fst", "u.fst")


def test_flags_of_all_programs() -> None:
    plain = made("invert", "t.fst")
    for flag in ("--v=3", "--fst_read_mode=map", "--fst_read_mode=read", "--fst_default_cache_gc=false", "--tmpdir=/x"):
        assert made("invert", flag, "t.fst") == plain
    aligned = made("convert", "--fst_type=const", "--fst_align", "t.fst")
    assert len(aligned) > len(made("convert", "--fst_type=const", "t.fst"))
    assert made("print", "--fst_field_separator= ", "t.fst") == made("print", "t.fst").replace(b"\t", b" ")
    assert made("print", "--fst_weight_separator=,", "t.fst") == made("print", "t.fst")


def test_symbols_may_have_blanks_if_fields_are_separated_by_tabs() -> None:
    Path("blank.syms").write_text("<eps>\t0\nNew York\t1\nthe big apple\t2\n")
    Path("blank.txt").write_text("0\t1\tNew York\tthe big apple\t.5\n1\n")
    words = ["--fst_field_separator=\t", "--isymbols=blank.syms", "--osymbols=blank.syms"]
    machine = made("compile", *words, "blank.txt")
    assert made("print", given=machine) == b"0\t1\t1\t2\t0.5\n1\n"
    assert made("print", *words, given=machine) == b"0\t1\tNew York\tthe big apple\t0.5\n1\n"
    done = ours("compile", *words, given=b"0\t1\tNew York\tParis\n")
    assert done.code == 1
    assert done.err.startswith("textmill: standard input:1:field 4: symbol 'Paris' is not in the table")


def test_minimize_may_write_strings_apart() -> None:
    fst.write_fst(fst.string_map([("a", "one"), ("b", "two")]), "pairs.fst")
    made("minimize", "pairs.fst", "numbers.min", "strings.min")
    numbers, strings = fst.read_fst("numbers.min"), fst.read_fst("strings.min")
    assert sorted({arc.olabel for _, arc in numbers.iter_arcs()}) == [0, 1, 2]
    assert sorted(pair[:2] for pair in fst.strings(fst.compose(numbers, strings))) == [("a", "one"), ("b", "two")]


@pytest.mark.parametrize("queue_type", ["auto", "fifo", "lifo", "shortest", "state"])
def test_every_queue_gives_the_same_result(queue_type: str) -> None:
    flag = f"--queue_type={queue_type}"
    assert made("shortestdistance", flag, "t.fst") == made("shortestdistance", "t.fst")
    assert fst.isomorphic(fst.from_bytes(made("rmepsilon", flag, "t.fst")), fst.from_bytes(made("rmepsilon", "t.fst")))
    best = fst.from_bytes(made("shortestpath", flag, "t.fst"))
    assert fst.total_weight(best) == fst.total_weight(fst.read_fst("t.fst"))
    assert ours("shortestpath", "--queue_type=stack", "t.fst").code == 1


@pytest.mark.parametrize("fst_type", ["compact_acceptor", "compact16_acceptor", "const8", "const64"])
def test_machines_are_written_in_every_type(fst_type: str) -> None:
    content = made("convert", f"--fst_type={fst_type}", "twin.fst")
    assert fst.file_types(content)[0] == fst_type
    assert fst.equal(fst.from_bytes(content), fst.read_fst("twin.fst"))
    assert made("info", given=content).decode().splitlines()[0].split() == ["fst", "type", fst_type]


def test_tables_need_not_agree_if_that_is_said() -> None:
    made("symbols", "--isymbols=b.syms", "u_sorted.fst", "other.fst")
    done = ours("compose", "t_sorted.fst", "other.fst")
    assert done.code == 1
    assert "differ" in done.err
    assert made("compose", "--fst_compat_symbols=false", "t_sorted.fst", "other.fst") == made(
        "compose", "t_sorted.fst", "u_sorted.fst"
    )
    assert ours("union", "t.fst", "other.fst").code == 1
    assert made("union", "--fst_compat_symbols=false", "t.fst", "other.fst") == made("union", "t.fst", "u_sorted.fst")


def test_a_machine_may_replace_its_own_file() -> None:
    made("convert", "--fst_type=const", "--fst_align", "t.fst", "own.fst")
    made("arcsort", "own.fst", "own.fst")
    assert fst.equal(fst.read_fst("own.fst"), fst.arcsort(fst.read_fst("t.fst")))


# ---- verbs without a program of the same name, and results for machines


def test_apply_prints_the_best_outputs_of_each_line() -> None:
    speller = fst.string_map([("cat", "Katze", 1.0), ("cat", "Kater", 2.0), ("dog", "", 0.5)])
    fst.write_fst(speller, "animals.fst")
    assert made("apply", "animals.fst", given=b"cat\nbird\ndog\n") == b"cat\tKatze\nbird\ndog\t\n"
    assert made("apply", "-k", "2", "--show_weight", "animals.fst", "-", given=b"cat\n") == (
        b"cat\tKatze\t1\ncat\tKater\t2\n"
    )
    Path("words.txt").write_text("cat\nbird\n")
    made("apply", "--json", "-k", "5", "animals.fst", "words.txt", "found.jsonl")
    rows = [json.loads(line) for line in Path("found.jsonl").read_text().splitlines()]
    assert rows == [
        {"input": "cat", "outputs": [{"output": "Katze", "weight": "1"}, {"output": "Kater", "weight": "2"}]},
        {"input": "bird", "outputs": []},
    ]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_apply_streams_any_number_of_lines(jobs: str) -> None:
    fst.write_fst(fst.string_map([("eins", "one"), ("zwei", "two")]), "numbers.fst")
    given = b"eins\nzwei\ndrei\n" * 30_000
    out = made("apply", f"--jobs={jobs}", "numbers.fst", given=given)
    assert out == b"eins\tone\nzwei\ttwo\ndrei\n" * 30_000


@pytest.mark.parametrize("token_type", ["byte", "utf8", "symbol"])
def test_apply_with_every_kind_of_token(token_type: str) -> None:
    text = {"byte": "né", "utf8": "né", "symbol": "a b"}[token_type]
    table = fst.SymbolTable.read("a.syms") if token_type == "symbol" else None
    fst.write_fst(fst.accep(text, 0.5, token_type=token_type, symbols=table), "one.fst")
    words = ["apply", f"--token_type={token_type}", "--show_weight", "one.fst"]
    assert made(*words, given=f"{text}\n".encode()) == f"{text}\t{text}\t0.5\n".encode()
    if table is not None:
        made("symbols", "--clear_isymbols", "--clear_osymbols", "one.fst", "bare.fst")
        words[-1:] = ["--isymbols=a.syms", "--osymbols=a.syms", "bare.fst"]
        assert made(*words, given=b"a b\n") == b"a b\ta b\t0.5\n"


def test_apply_answers_an_unknown_symbol_with_nothing_and_goes_on() -> None:
    known = made("apply", "--token_type=symbol", "t.fst", given=b"a c\n")
    assert made("apply", "--token_type=symbol", "t.fst", given=b"a c\nq\na c\n") == known + b"q\n" + known


def test_apply_names_the_line_that_is_wrong() -> None:
    done = ours("apply", "t.fst", given=b"a\n\xff\n")
    assert done.code == 1
    assert ":2:" in done.err


def test_decode_undoes_encode_and_codes_are_reused() -> None:
    made("encode", "--encode_labels", "--encode_weights", "t.fst", "codes", "coded.fst")
    assert fst.from_bytes(made("info", "coded.fst") and Path("coded.fst").read_bytes()).has("acceptor")
    decoded = fst.from_bytes(made("decode", "coded.fst", "codes"))
    assert fst.equal(decoded, fst.read_fst("t.fst"))
    assert decoded.input_symbols is not None
    before = len(fst.Encoder.read("codes"))
    made("encode", "--encode_labels", "--encode_weights", "--encode_reuse", "u.fst", "codes", "coded.fst")
    assert len(fst.Encoder.read("codes")) > before
    assert fst.equal(fst.from_bytes(made("decode", "coded.fst", "codes")), fst.read_fst("u.fst"))


def test_json_for_machines() -> None:
    facts = json.loads(made("info", "--json", "t.fst"))
    assert facts["# of states"] == 4
    assert facts["acceptor"] is False
    assert json.loads(made("shortestdistance", "--json", "lattice.fst"))[3] == {"state": 3, "distance": "2.5"}
    assert json.loads(made("far", "info", "--json", "all.far"))["# of FSTs"] == 2


def test_a_machine_is_drawn_without_graphviz() -> None:
    assert made("draw", "--svg", "t.fst").startswith(b"<svg")


def test_random_paths_are_paths_and_seeds_repeat_them() -> None:
    words = ["randgen", "--npath=20", "--max_length=30", "twin_min.fst"]
    assert made(*words, "--seed=7") == made(*words, "--seed=7")
    drawn = {made(*words) for _ in range(4)}
    assert len(drawn) > 1
    for content in drawn:
        paths = fst.project(fst.from_bytes(content), "input")
        assert (
            fst.difference(fst.rmepsilon(paths), fst.arcmap(fst.read_fst("twin_min.fst"), "rmweight")).num_states == 0
        )
    counted = fst.from_bytes(made(*words, "--weighted", "--select=log_prob", "--seed=1"))
    shares = fst.from_bytes(made(*words, "--weighted", "--select=fast_log_prob", "--remove_total_weight", "--seed=1"))
    total = [fst.total_weight(fst.convert(machine, "real")) for machine in (counted, shares)]
    assert total == pytest.approx([20.0, 1.0], rel=1e-5)


def test_archives_are_made_from_strings_and_taken_apart() -> None:
    made("far", "create", "--generate_keys=2", "--key_prefix=k", "t.fst", "u.fst", "two.far")
    made("far", "extract", "--filename_prefix=out-", "--filename_suffix=.fst", "--keys=k01,k02-k09", "two.far")
    assert Path("out-k01.fst").read_bytes() == Path("t.fst").read_bytes()
    assert Path("out-k02.fst").read_bytes() == Path("u.fst").read_bytes()
    Path("list").write_text("t.fst\nu.fst\n")
    listed = made("far", "create", "--file_list_input", "list")
    assert listed == made("far", "create", "--far_type=stlist", "t.fst", "u.fst", "-")
    words = ["far", "compilestrings", "--generate_keys=1", "--symbols=a.syms"]
    archive = made(*words, "--keep_symbols", given=b"a b\nc\n")
    assert made("far", "printstrings", given=archive) == b"a b\nc\n"
    assert made("far", "printstrings", "--symbols=b.syms", "--print_weight", given=archive) == b"z y\t0\nx\t0\n"
    archive = made(*words, "--unknown_symbol=d", given=b"q\n")
    assert made("far", "printstrings", given=archive) == b"4\n"
    made("far", "printstrings", "--entry_type=file", "--token_type=byte", "--filename_suffix=.out", "strings.far")
    assert Path("strings.txt-1.out").read_text() == "abc"
    whole = made("far", "compilestrings", "--entry_type=file", "--token_type=utf8", "--generate_keys=1", "strings.txt")
    assert made("far", "printstrings", "--token_type=utf8", given=whole) == b"abc\n\nde\n\n"


# ---- input that is wrong: one line, exit code 1, or 2 for wrong usage


BAD = {
    "print nothing.fst": (1, "nothing.fst: No such file or directory"),
    "print t.txt": (1, "t.txt: not a binary machine but text; read it with read_text or 'textmill fst compile'"),
    "print damaged.fst": (1, "damaged.fst: "),
    "info words.list": (1, "words.list: not a binary machine but text; compile arcs with 'textmill fst compile'"),
    "info model.mill": (1, "model.mill: not a binary machine but a model file of textmill; 'textmill info FILE'"),
    "info many.far": (1, "many.far: not a binary machine but an archive of machines (FAR); see 'textmill fst far"),
    "info noise.bin": (1, "noise.bin: not a binary machine but an unknown or damaged file; name a machine"),
    "far info words.list": (1, "words.list: not an archive of machines (FAR) but text"),
    "union t.fst": (2, "Missing argument"),
    "union - -": (1, "only one of the machines can come from standard input"),
    "arcsort --sort_by=ilabel t.fst": (2, "No such option"),
    "arcsort t.fst out.fst more.fst": (2, "unexpected extra argument"),
    "arcsort --sort_type": (2, "--sort_type needs a value"),
    "closure --closure_type=question t.fst": (1, "closure_type"),
    "prune --weight=heavy t.fst": (1, "--weight=heavy: 'heavy' is not a weight"),
    "shortestpath --nshortest=many t.fst": (2, "--nshortest"),
    "shortestpath --nshortest=0 t.fst": (2, "--nshortest"),
    "prune --nstate=-2 t.fst": (2, "--nstate"),
    "randgen --seed=-1 t.fst": (2, "--seed"),
    "randgen --npath=99999999999 t.fst": (2, "--npath"),
    "determinize --subsequential_label=99999999999 t.fst": (2, "--subsequential_label"),
    "replace --return_label=-5 root.fst 99 rule.fst 100": (2, "--return_label"),
    "replace root.fst 99999999999": (2, "'99999999999' stands where the label of a machine"),
    "relabel --relabel_ipairs=pairs.big t.fst": (1, "pairs.big:1: "),
    "shortestdistance --nstate=99 t.fst": (1, "state 99 is not one of the 4 states"),
    "equivalent --random --npath=0 t.fst t.fst": (1, "--npath"),
    "far info /": (1, "Is a directory"),
    "print --acceptor=maybe t.fst": (2, "--acceptor is true or false, not 'maybe'"),
    "print --isymbols=some.syms t.fst": (1, "input label 1 is not in the table of symbols"),
    "relabel --relabel_isymbols=some.syms t.fst": (1, "symbol 'c' is not in the table"),
    "relabel t.fst": (1, "nothing to relabel by"),
    "relabel --relabel_ipairs=t.txt t.fst": (1, "t.txt:1: a line of label pairs has an old and a new label"),
    "reweight t.fst pairs.bad": (1, "pairs.bad:1: a line has a state and its potential"),
    "reweight lattice.fst potentials.bad": (1, "potentials.bad:2: the machine has 4 states"),
    "replace root.fst": (2, "every machine is followed by its label"),
    "replace root.fst rule.fst": (2, "'rule.fst' stands where the label of a machine"),
    "replace root.fst 99 rule.fst 99": (1, "a label of its own"),
    "map --map_type=twist t.fst": (1, "no map is called 'twist'"),
    "encode t.fst codes.new": (1, "encode labels, weights or both"),
    "decode t.fst t.txt": (1, "t.txt: not a table of codes"),
    "convert --fst_type=cloud t.fst": (1, "cloud"),
    "compile --arc_type=cloud t.txt": (1, "cloud"),
    "symbols --save_isymbols=x rule.fst": (1, "no table of input symbols"),
    "invert --fst_error_fatal=false t.fst": (2, "an error always ends the command"),
    "invert --fst_weight_separator=; t.fst": (2, "separated by commas"),
    "compile --allow_negative_labels t.txt": (2, "labels are 0 to 2,147,483,647"),
    "equivalent t.fst u.fst": (1, "acceptors"),
    "equal t.fst": (1, "Missing argument"),
    "far info t.txt": (1, "t.txt: not an archive"),
    "far create t.fst t.fst x.far": (1, "two machines have the same key"),
    "far printstrings all.far": (1, "machine 't.fst': it holds more than one string"),
    "far extract evil.far": (1, "the key '../up' is no file name"),
    "unknown t.fst": (2, "No such command 'unknown'"),
}  # fmt: skip


@pytest.mark.parametrize("line", BAD)
def test_wrong_input_is_one_line_and_an_exit_code(line: str) -> None:
    Path("damaged.fst").write_bytes(Path("t.fst").read_bytes()[:-5])
    Path("pairs.bad").write_text("0 1 2\n")
    Path("pairs.big").write_text("1 99999999999\n")
    Path("potentials.bad").write_text("0 1\n9 1\n")
    fst.write_archive("evil.far", {"../up": fst.read_fst("t.fst")})
    fst.write_archive("many.far", {"one": fst.read_fst("t.fst")})
    Path("words.list").write_text("mill\nMühle\n")
    Path("noise.bin").write_bytes(bytes(range(255, 0, -1)))
    Weighting().fit(np.eye(2)).save("model.mill")
    code, message = BAD[line]
    done = ours(*line.split())
    assert (done.code, done.out) == (code, b"")
    assert message in done.err
    assert done.err.count("\n") == 1


TEXTS = {
    b"0 1 a b\n": "standard input:1:field 3: label 'a' is not a whole number",
    b"0 1 1 1 heavy\n": "standard input:1:field 5: 'heavy' is not a weight",
    b"0 1 1 1\n0 1 1 1 1 1 1\n": "standard input:2:",
    b"0 1 1\n": "standard input:1:",
}


@pytest.mark.parametrize("text", TEXTS)
def test_wrong_text_is_named_by_line_and_field(text: bytes) -> None:
    done = ours("compile", given=text)
    assert done.code == 1
    assert TEXTS[text] in done.err
    assert done.err.count("\n") == 1


def test_an_empty_pipe_says_what_to_do() -> None:
    done = ours("print")
    assert done.code == 1
    assert "standard input: is empty; name a file" in done.err


def test_a_fault_leaves_the_old_file() -> None:
    Path("old.fst").write_bytes(b"old")
    assert ours("compile", "-", "old.fst", given=b"0 1 a\n").code == 1
    assert Path("old.fst").read_bytes() == b"old"


def test_weights_are_learned_from_pairs_and_measured(tmp_path):
    machine = tmp_path / "edits.fst"
    fst.write_fst(fst.compile_text("0 0 97 97 .5\n0 0 97 98 1\n0 0 98 98 .5\n0 1", semiring_name="log64"), machine)
    (tmp_path / "pairs.tsv").write_text("aab\tabb\nab\tab\nb\tb\n")
    learned = tmp_path / "learned.fst"
    answer = CliRunner().invoke(app, ["fst", "learn", str(machine), str(tmp_path / "pairs.tsv"), "-o", str(learned)])
    assert answer.exit_code == 0
    assert "3 pairs; log-likelihood" in answer.stderr
    # 3 strings with 3 a (one changed) and 3 b: 6 letters and 3 ends
    weights = fst.read_fst(learned).arrays()[1]["weight"]
    assert np.exp(-weights) == pytest.approx([2 / 9, 1 / 9, 3 / 9])
    counts = CliRunner().invoke(app, ["fst", "counts", "--json", str(learned)])
    rows = [json.loads(line) for line in counts.stdout.splitlines()]
    assert [round(row["count"], 6) for row in rows] == [0.666667, 0.333333, 1.0, 1.0]
    entropy = CliRunner().invoke(app, ["fst", "entropy", str(learned)])
    assert float(entropy.stdout) == pytest.approx(fst.entropy(fst.read_fst(learned)), abs=1e-6)
    sides = [tmp_path / "left.fst", tmp_path / "right.fst"]
    for side, path in zip(("input", "output"), sides, strict=True):
        fst.write_fst(fst.project(fst.read_fst(learned), side), path)
    distance = CliRunner().invoke(app, ["fst", "divergence", "--kind=l2", *map(str, sides)])
    assert 0 < float(distance.stdout) < 1


def test_a_pair_that_no_path_fits_ends_learning_with_its_number(tmp_path):
    machine = tmp_path / "edits.fst"
    fst.write_fst(fst.compile_text("0 0 97 97 .5\n0 1", semiring_name="log64"), machine)
    answer = shell(rf"printf 'a\ta\nx\ta\n' | fst learn {machine} -o {tmp_path / 'o.fst'}")
    assert answer.returncode == 1
    assert b"the first is pair 2" in answer.stderr
