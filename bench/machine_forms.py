"""Machines in other forms: bytes of n-gram models and of compressed files, and push-down machines, against OpenFst.

TEXTMILL_DATA=... python -m bench machine_forms

Back-off models of the Brown corpus, of order 2 to 4, as `SuccinctNgrams` and as files of OpenFst's type `ngram` (made
by `fstconvert`, from the machine with epsilon back-off); bytes of arrays on our side, of the file without symbols on
the other. Files of machines (a lexicon, and the trigram model as a plain machine) compressed by us, by gzip and by
`fstcompress`. A grammar whose rules call later ones, joined to a push-down machine, expanded, and searched for its
best path (50 times), by us and by Pynini; times are processor time. The programs of OpenFst come with Debian's package
libfst-tools.
"""

from __future__ import annotations

import atexit
import gzip
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import textmill.fst as wfst
from bench import _fst_machines as made
from bench.harness import Job, Options
from textmill.lm import NGramModel, arpa_of

PACKAGES = ["pynini"]


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    import pynini

    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    place = Path(folder.name)
    sentences = list(made.brown(options.data))[: 2000 if options.quick else None]
    rows = []
    for order in (2, 3, 4):
        arpa = arpa_of(NGramModel(order=order).fit(sentences))
        rows.append(ngrams(wfst.SuccinctNgrams.from_arpa(arpa), order, place))
        if order == 3:
            plain = wfst.ngram_machine(arpa, back_off="epsilon").fst
            plain.input_symbols = plain.output_symbols = None
            rows += compressed("trigram model", plain, place)
    words = sorted({word for sentence in sentences for word in sentence})
    rows += compressed("lexicon", wfst.lexicon(words), place)
    for depth in (6, 10):
        rows += grammar(depth, place, pynini)
    return rows


def ngrams(model: wfst.SuccinctNgrams, order: int, place: Path) -> Job:
    """Bytes of a model."""

    def peer() -> float:
        wfst.write_fst(_without_symbols(model.machine(back_off="epsilon").expand()), place / "epsilon.fst")
        library = "/usr/lib/x86_64-linux-gnu/libfstngram.so.22"
        environment = {**os.environ, "LD_PRELOAD": library if os.path.exists(library) else ""}
        command = [_program("fstconvert"), "--fst_type=ngram", str(place / "epsilon.fst"), str(place / "ngram.fst")]
        subprocess.run(command, check=True, env=environment, capture_output=True)
        return float((place / "ngram.fst").stat().st_size)

    return Job(
        name=f"bytes of a {order}-gram model",
        ours=lambda: float(model.nbytes),
        peer=peer,
        peer_name="OpenFst ngram",
        figure="returned",
        label="B",
        claim="n-grams in bits",
        quality=lambda: (
            f"{model.num_states} states, {model.num_arcs} arcs; a plain machine has "
            f"{20 * model.num_states + 16 * model.num_arcs} B"
        ),
    )


def compressed(name: str, fst: wfst.Fst, place: Path) -> list[Job]:
    """Bytes of a compressed file, beside gzip and OpenFst's program."""
    content, whole = wfst.to_bytes(fst), place / f"{name}.fst"
    whole.write_bytes(content)

    def program() -> float:
        subprocess.run([_program("fstcompress"), whole, place / "packed.fst"], check=True)
        return float((place / "packed.fst").stat().st_size)

    packed = wfst.compress(content)
    assert wfst.decompress(packed) == content
    peers: list[tuple[str, Callable[[], float]]] = [
        ("gzip -9", lambda: float(len(gzip.compress(content)))),
        ("fstcompress", program),
    ]
    return [
        Job(
            name=f"bytes of a compressed {name}",
            ours=lambda: float(len(packed)),
            peer=peer,
            peer_name=peer_name,
            figure="returned",
            label="B",
            claim=f"compressed, {peer_name}",
            quality=lambda: f"of {len(content)} B, same bytes again",
        )
        for peer_name, peer in peers
    ]


def grammar(depth: int, place: Path, pynini: object) -> list[Job]:
    """Rules each of which calls the next one twice: joined, expanded, searched."""
    dice = random.Random(depth)
    texts = {
        1000
        + i: f"0 1 {i + 1} {i + 1} {dice.random():.2f}\n1 2 {1001 + i} {1001 + i} 1\n2 3 {1001 + i} {1001 + i}\n3\n"
        f"0 2 {i + 2} {i + 2} {dice.random():.2f}"
        for i in range(depth)
    }
    texts[1000 + depth] = "0 1 1 1 0.5\n0 1 2 2 0.25\n1"
    rules = {label: wfst.compile_text(text) for label, text in texts.items()}
    theirs = []
    for label, rule in rules.items():
        wfst.write_fst(rule, place / "rule.fst")
        theirs.append((label, pynini.Fst.read(str(place / "rule.fst"))))  # type: ignore[attr-defined]
    ours = wfst.replace_to_pushdown(rules, 1000)
    pdt, pairs = pynini.pdt_replace(theirs)  # type: ignore[attr-defined]

    def agree() -> str:
        a = wfst.total_weight(ours.shortest_path())
        pynini.pdt_shortestpath(pdt, pairs).write(str(place / "best.fst"))  # type: ignore[attr-defined]
        b = wfst.total_weight(wfst.read_fst(place / "best.fst", map_file=False))
        return f"best path {a:.3f}, peer {b:.3f}; {ours.expand().num_states} states expanded"

    pair = {"peer_name": "Pynini", "figure": "processor", "quality": agree}
    return [
        Job(
            name=f"expand a grammar of {depth} rules",
            ours=lambda: ours.expand(),
            peer=lambda: pynini.pdt_expand(pdt, pairs),  # type: ignore[attr-defined]
            claim="push-down expansion",
            **pair,  # type: ignore[arg-type]
        ),
        Job(
            name=f"best path of a grammar of {depth} rules",
            ours=lambda: [ours.shortest_path() for _ in range(50)],
            peer=lambda: [pynini.pdt_shortestpath(pdt, pairs) for _ in range(50)],  # type: ignore[attr-defined]
            claim="push-down best paths",
            **pair,  # type: ignore[arg-type]
        ),
    ]


def _without_symbols(fst: wfst.Fst) -> wfst.Fst:
    fst.input_symbols = fst.output_symbols = None
    return fst


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise SystemExit(f"this bench needs {name}, which comes with Debian's package libfst-tools")
    return path
