"""Every verb of `textmill fst` beside the program of OpenFst that takes the same arguments."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from reference.fst_programs import machines, made, ours, theirs

from textmill import fst

needs_programs = pytest.mark.skipif(shutil.which("fstcompile") is None, reason="OpenFst's programs are not installed")


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


# output of the same bytes
SAME_BYTES = """
print t.fst
print --numeric t.fst
print -numeric t.fst
print --acceptor twin.fst
print --isymbols=b.syms --osymbols=a.syms t.fst
print --show_weight_one=true t.fst
print --ssymbols=a.syms t.fst
print --missing_symbol=? --isymbols=some.syms t.fst
print --fst_field_separator=; t.fst
info t.fst
info --info_type=short t.fst
info --info_type=long twin.fst
info --arc_filter=epsilon t.fst
info --arc_filter=iepsilon t.fst
info --arc_filter=oepsilon u.fst
info --fst_verify=false t_log.fst
info --v=0 twin_min.fst
draw t.fst
draw --acceptor --portrait --vertical --title=x --numeric twin.fst
draw --precision=2 --float_format=f --show_weight_one --fontsize=10 --height=5 --width=4 --nodesep=.5 --ranksep=.7 t.fst
shortestdistance t.fst
shortestdistance --reverse t.fst
shortestdistance --nstate=1 t.fst
far info all.far
far info --list_fsts all.far strings.far
far info --begin_key=u --list_fsts all.far
far printstrings --token_type=byte --print_key --print_weight strings.far
far printstrings --token_type=byte --begin_key=strings.txt-2 strings.far
""".strip().splitlines()

# machines with the same states and arcs up to their order, and the same symbols
SAME_MACHINE = """
compile --isymbols=a.syms --osymbols=a.syms t.txt
compile --isymbols=a.syms --osymbols=a.syms --keep_isymbols t.txt
compile --acceptor --isymbols=a.syms --keep_isymbols --keep_osymbols twin.txt
compile -acceptor -isymbols=a.syms --arc_type=log twin.txt
compile --acceptor=true --isymbols=a.syms --arc_type=log64 --fst_type=const twin.txt
compose t_sorted.fst u_sorted.fst
compose --compose_filter=sequence t_sorted.fst u_sorted.fst
compose --compose_filter=alt_sequence t_sorted.fst u_sorted.fst
compose --compose_filter=match t_sorted.fst u_sorted.fst
compose --compose_filter=no_match t_sorted.fst u_sorted.fst
compose --compose_filter=trivial t_sorted.fst u_sorted.fst
compose --compose_filter=null t_sorted.fst u_sorted.fst
compose --connect=false t_sorted.fst u_sorted.fst
intersect twin_sorted.fst plain.fst
intersect --connect=false twin_sorted.fst plain.fst
difference twin_sorted.fst plain_unweighted.fst
difference --connect=false twin_sorted.fst plain_unweighted.fst
concat t.fst u.fst
closure t.fst
closure --closure_plus t.fst
reverse t.fst
reverse --require_superinitial=false t.fst
reverse --require_superinitial=false twin.fst
reverse --require_superinitial=false twin_min.fst
invert t.fst
project t.fst
project --project_type=output t.fst
relabel --relabel_isymbols=b.syms t.fst
relabel --relabel_isymbols=b.syms --relabel_osymbols=b.syms t.fst
relabel --relabel_isymbols=some.syms --unknown_isymbol=a t.fst
relabel --isymbols=b.syms --relabel_isymbols=a.syms t.fst
relabel --relabel_ipairs=pairs --relabel_opairs=pairs t.fst
arcsort t.fst
arcsort --sort_type=olabel t.fst
topsort lattice.fst
topsort twin.fst
connect t.fst
rmepsilon t.fst
rmepsilon --weight=1 t.fst
epsnormalize rule.fst
epsnormalize --eps_norm_output rule.fst
synchronize rule.fst
determinize twin.fst
determinize --weight=1 twin.fst
determinize --det_type=nonfunctional rule.fst
determinize --det_type=disambiguate rule.fst
determinize twin_log.fst
disambiguate twin.fst
disambiguate --weight=1 twin.fst
minimize twin_det.fst
minimize --allow_nondet twin.fst
minimize rule.fst
push --push_weights twin.fst
push --push_weights --to_final twin.fst
push --push_weights --remove_total_weight twin.fst
push --push_labels rule.fst
push --push_weights --push_labels rule.fst
push --push_labels --remove_common_affix rule.fst
push twin.fst
reweight lattice.fst potentials
shortestpath t.fst
prune --weight=1 t.fst
prune --nstate=3 t.fst
prune --weight=0 lattice.fst
prune t.fst
encode --encode_labels t.fst O.codex
encode --encode_weights t.fst O.codex
encode --encode_labels --encode_weights t.fst O.codex
encode --decode t_coded.fst t.codex
map --map_type=arc_sum t.fst
map --map_type=arc_unique t.fst
map --map_type=identity t.fst
map --map_type=input_epsilon t.fst
map --map_type=invert t.fst
map --map_type=output_epsilon t.fst
map --map_type=plus --weight=1 t.fst
map --map_type=plus t.fst
map --map_type=times --weight=1 t.fst
map --map_type=times t.fst
map --map_type=power --power=2 t.fst
map --map_type=quantize --delta=.5 t.fst
map --map_type=rmweight t.fst
map --map_type=superfinal t.fst
map --map_type=to_log t.fst
map --map_type=to_log64 t.fst
map --map_type=to_std t_log.fst
map --map_type=to_standard t_log.fst
replace root.fst 99 rule.fst 100
replace --epsilon_on_replace root.fst 99 rule.fst 100
replace --call_arc_labeling=both --return_arc_labeling=both --return_label=9 root.fst 99 rule.fst 100
replace --call_arc_labeling=output --return_arc_labeling=input --return_label=9 root.fst 99 rule.fst 100
symbols --clear_isymbols t.fst
symbols --isymbols=b.syms --osymbols=b.syms t.fst
symbols --save_isymbols=O.i --save_osymbols=O.o t.fst
convert --fst_type=const t.fst
convert t.fst
""".strip().splitlines()

# machines with the same strings: states differ, or which of equal paths is kept
SAME_STRINGS = """
union t.fst u.fst
rmepsilon --connect=false t.fst
reweight --to_final lattice.fst potentials
shortestpath --nshortest=3 lattice.fst
shortestpath --nshortest=3 --unique lattice.fst
shortestpath --nshortest=3 --weight=1 lattice.fst
shortestpath --nshortest=5 t.fst
""".strip().splitlines()

# the answer is the exit status
SAME_STATUS = """
equal t.fst t.fst
equal t.fst u.fst
equal t.fst nothing.fst
equal --unknown t.fst t.fst
equal t.fst
isomorphic t.fst t.fst
isomorphic t.fst u.fst
equivalent twin_det.fst twin_min.fst
equivalent twin_det.fst plain_unweighted.fst
equivalent twin.fst twin.fst
equivalent --random --npath=20 --max_length=20 --seed=1 twin_det.fst twin.fst
equivalent --random --npath=20 --max_length=20 --seed=1 t.fst u.fst
far equal all.far all.far
far equal all.far strings.far
far isomorphic all.far all.far
arcsort --sort_type=weight t.fst
print t.txt
print nothing.fst
""".strip().splitlines()


def left_behind() -> dict[str, bytes]:
    """Files that a command has written; they are removed."""
    found = {path.name: path.read_bytes() for path in Path().glob("O.*")}
    for name in found:
        Path(name).unlink()
    return found


def tables(machine: fst.Fst) -> list[object]:
    return [table and (table.name, table.items()) for table in (machine.input_symbols, machine.output_symbols)]


@needs_programs
@pytest.mark.parametrize("line", SAME_BYTES)
def test_the_text_is_that_of_the_program(line: str) -> None:
    expected, done = theirs(*line.split()), ours(*line.split())
    assert (done.code, done.err) == (expected.code, expected.err) == (0, "")
    assert done.out.decode() == expected.out.decode()


@needs_programs
@pytest.mark.parametrize("line", SAME_MACHINE)
def test_the_machine_is_that_of_the_program(line: str) -> None:
    expected = theirs(*line.split())
    files = left_behind()
    done = ours(*line.split())
    assert done.code == expected.code == 0, done.err
    a, b = fst.from_bytes(expected.out), fst.from_bytes(done.out)
    assert fst.file_types(done.out) == fst.file_types(expected.out)
    assert tables(a) == tables(b)
    assert fst.isomorphic(a, b)
    assert left_behind() == files


@needs_programs
@pytest.mark.parametrize("line", SAME_STRINGS)
def test_the_strings_are_those_of_the_program(line: str) -> None:
    a, b = fst.from_bytes(theirs(*line.split()).out), fst.from_bytes(ours(*line.split()).out)
    assert fst.rand_equivalent(a, b, npath=50, max_length=20)


@needs_programs
@pytest.mark.parametrize("line", SAME_STATUS)
def test_the_exit_status_is_that_of_the_program(line: str) -> None:
    done = ours(*line.split())
    assert done.code == theirs(*line.split()).code
    assert done.err.count("\n") == (1 if done.code == 1 or (done.code == 2 and line.startswith("far")) else 0)


@needs_programs
def test_the_programs_read_what_textmill_writes() -> None:
    made("encode", "--encode_labels", "--encode_weights", "t.fst", "O.codex", "O.coded")
    assert theirs("encode", "--decode", "O.coded", "O.codex").out == theirs("connect", "t.fst").out
    made("far", "create", "t.fst", "u.fst", "O.far")
    assert theirs("far", "equal", "O.far", "all.far").code == 0
    made("convert", "--fst_type=const", "--fst_align", "t.fst", "O.const")
    assert theirs("equal", "O.const", "t.fst").code == 0
    made("symbols", "--save_isymbols=O.syms", "t.fst", "O.fst")
    assert theirs("print", "--isymbols=O.syms", "t.fst").out == made("print", "t.fst")
    left_behind()


def wrapped(name: str) -> object:
    """A machine of the folder as pywrapfst reads it."""
    return pytest.importorskip("pywrapfst").Fst.read(name)


def same_as(machine: object, *arguments: str) -> bool:
    """Is the machine of the wrapper the one that the command makes?"""
    expected = fst.from_bytes(machine.write_to_string())  # type: ignore[attr-defined]
    return fst.isomorphic(expected, fst.from_bytes(made(*arguments)))


def test_flags_of_later_programs_do_what_the_wrapper_does() -> None:
    library = pytest.importorskip("pywrapfst")
    assert same_as(wrapped("t.fst").closure(closure_type="plus"), "closure", "--closure_type=plus", "t.fst")
    assert same_as(
        library.epsnormalize(wrapped("rule.fst"), eps_norm_type="output"),
        *["epsnormalize", "--eps_norm_type=output", "rule.fst"],
    )
    assert same_as(
        library.push(wrapped("twin.fst"), push_weights=True, reweight_type="to_final"),
        *["push", "--push_weights", "--reweight_type=to_final", "twin.fst"],
    )
    assert same_as(
        library.arcmap(wrapped("t.fst"), map_type="power", power=0.5),
        *["map", "--map_type=float_power", "--power=.5", "t.fst"],
    )
    assert same_as(wrapped("t.fst").project("output"), *["project", "--project_output", "t.fst"])
