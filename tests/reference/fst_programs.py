"""`textmill fst` and OpenFst's own programs on the same arguments."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from textmill.cli.app import main

TEXTMILL = [sys.executable, "-m", "textmill.cli.app", "-q", "fst"]

TABLE = "<eps> 0\na 1\nb 2\nc 3\nd 4\nx 5\ny 6\nz 7\n100 100\n"
REVERSED = "<eps> 0\nz 1\ny 2\nx 3\nd 4\nc 5\nb 6\na 7\nunk 8\n"
TRANSDUCERS = {
    # with epsilons on both sides, a cycle, and final states in the middle
    "t": "0 1 a x .5\n0 1 b y 1.5\n0 2 b <eps> 1\n1 2 c z 2.5\n2 2 <eps> y .25\n1 3 <eps> <eps> .5\n"
    "3 2 a a\n2 3.5\n1 1\n",
    "u": "0 1 x a 1\n0 0 y <eps> .5\n1 2 z b 2\n1 1 y c\n0 2 <eps> <eps> .25\n2 .5\n",
    "root": "0 1 a a\n1 2 100 100 .5\n2 3 b b\n3\n",
    "rule": "0 1 c x 1\n1 .5\n0 2 a y 2\n2\n",
}
ACCEPTORS = {
    "twin": "0 1 a 1\n0 2 a 2\n1 1 b 3\n1 3 c 5\n2 2 b 3\n2 3 d 6\n3\n",
    "plain": "0 1 a\n1 1 b\n1 2 c\n2 2 b\n2\n",
    "lattice": "0 1 a 1\n0 2 b 2\n1 3 c 4\n2 3 c 1\n1 2 d .5\n3\n",
}


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: bytes
    err: str


def ours(*arguments: str, given: bytes = b"") -> Done:
    """Run `textmill fst` in this process."""
    out, err = io.BytesIO(), io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        patch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="utf-8", write_through=True))
        patch.setattr(sys, "stderr", io.TextIOWrapper(err, encoding="utf-8", write_through=True))
        with pytest.raises(SystemExit) as left:
            main(["-q", "fst", *arguments])
        content, messages = out.getvalue(), err.getvalue().decode()
    assert isinstance(left.value.code, int)
    return Done(left.value.code, content, messages)


def made(*arguments: str, given: bytes = b"") -> bytes:
    """The output of a run that succeeds."""
    done = ours(*arguments, given=given)
    assert done.code == 0, (arguments, done.err)
    return done.out


def theirs(verb: str, *arguments: str, given: bytes = b"") -> Done:
    """Run the program of OpenFst; `far info` is farinfo, everything else begins with fst."""
    words = ["far" + arguments[0], *arguments[1:]] if verb == "far" else ["fst" + verb, *arguments]
    done = subprocess.run(words, input=given, capture_output=True, check=False, timeout=20)
    return Done(done.returncode, done.stdout, done.stderr.decode())


def machines(folder: Path) -> None:
    """Write the machines that the tests share into a folder, which is the working folder."""
    (folder / "a.syms").write_text(TABLE)
    (folder / "b.syms").write_text(REVERSED)
    (folder / "some.syms").write_text("<eps> 0\na 5\nb 6\n")
    (folder / "pairs").write_text("1 4\n2 7\n")
    (folder / "keys").write_text("1 20\n2 21\n")
    (folder / "potentials").write_text("0 1\n1 2\n2 .5\n3 0\n")
    (folder / "strings.txt").write_text("abc\n\nde\n")
    tables = ["--isymbols=a.syms", "--osymbols=a.syms"]
    for name, text in {**TRANSDUCERS, **ACCEPTORS}.items():
        (folder / f"{name}.txt").write_text(text)
        kept = [] if name in ("root", "rule") else ["--keep_isymbols", "--keep_osymbols"]
        made("compile", *tables, *kept, *(["--acceptor"] if name in ACCEPTORS else []), f"{name}.txt", f"{name}.fst")
    for words in (
        "arcsort --sort_type=olabel t.fst t_sorted.fst",
        "arcsort u.fst u_sorted.fst",
        "arcsort twin.fst twin_sorted.fst",
        "map --map_type=rmweight plain.fst plain_unweighted.fst",
        "map --map_type=to_log t.fst t_log.fst",
        "map --map_type=to_log twin.fst twin_log.fst",
        "determinize twin.fst twin_det.fst",
        "minimize twin_det.fst twin_min.fst",
        "encode --encode_labels t.fst t.codex t_coded.fst",
        "far create t.fst u.fst all.far",
        "far compilestrings --token_type=byte strings.txt strings.far",
    ):
        made(*words.split())
