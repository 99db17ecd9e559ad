"""Pictures: every state and label is there and legible, texts do not lie on lines, DOT is what fstdraw writes."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from textmill import fst as wfst
from textmill.errors import DataError

LETTERS = wfst.SymbolTable(["<eps>", *"abcd"])


def random_machine(seed: int, states: int = 12, arcs: int = 24) -> wfst.Fst:
    random = np.random.default_rng(seed)
    fst = wfst.Fst(input_symbols=LETTERS, output_symbols=LETTERS)
    fst.start = fst.add_states(states)[0]
    for _ in range(arcs):
        source, target = random.integers(0, states, 2).tolist()
        fst.add_arc(source, *random.integers(0, 5, 2).tolist(), float(random.integers(0, 3)), target)
    fst.set_final(states - 1, 0.5)
    return fst


def shapes(svg: str) -> tuple[list[tuple[float, float, str, str]], list[str], list[tuple[float, float, float, float]]]:
    """Texts (x, y, anchor, text), paths of lines, boxes of states of a picture."""
    root = ElementTree.fromstring(svg)
    texts, paths, boxes = [], [], []
    for element in root.iter():
        tag = element.tag.rpartition("}")[2]
        if tag == "text":
            at = element.get("text-anchor", "start")
            texts.append((float(element.attrib["x"]), float(element.attrib["y"]), at, element.text or ""))
        elif tag == "path" and element.get("fill") == "none":
            paths.append(element.attrib["d"])
        elif tag == "rect":
            boxes.append(tuple(float(element.attrib[key]) for key in ("x", "y", "width", "height")))
    return texts, paths, boxes


def points(path: str) -> list[tuple[float, float]]:
    """Points along a path of M, L and C."""
    found: list[tuple[float, float]] = []
    for command, numbers in re.findall(r"([MLC])([-\d. ]+)", path):
        values = [float(number) for number in numbers.split()]
        ends = list(zip(values[::2], values[1::2], strict=True))
        if command == "M":
            found.append(ends[0])
            continue
        control = [found[-1], *ends]
        degree = len(control) - 1
        for step in range(1, 41):
            t = step / 40
            weights = [math.comb(degree, i) * t**i * (1 - t) ** (degree - i) for i in range(degree + 1)]
            found.append(tuple(sum(w * c[k] for w, c in zip(weights, control, strict=True)) for k in (0, 1)))
    return found


def box_of(text: tuple[float, float, str, str]) -> tuple[float, float, float, float]:
    """Left, right, top, bottom of the letters themselves: Helvetica's are about half as wide as the font is high."""
    x, y, anchor, letters = text
    width = 0.5 * 13 * len(letters)
    left = x - width / 2 if anchor == "middle" else x
    return left, left + width, y - 9, y


def inside(x: float, y: float, left: float, top: float, width: float, height: float) -> bool:
    """Does a point lie clearly inside a state, a box with round ends?"""
    radius = height / 2
    nearest = min(max(x, left + radius), left + width - radius)
    return math.hypot(x - nearest, y - top - radius) < radius - 3


MACHINES = {
    "one line": wfst.accep("abc"),
    "parallel": wfst.compile_text("0 1 a a .5\n0 1 b b 1\n0 1 c c\n1 2", input_symbols=LETTERS, output_symbols=LETTERS),
    "back": wfst.compile_text("0 1 1 1\n1 0 2 2\n1 2 1 1\n2 0 3 3\n2 2 1 1\n2"),
    "long": wfst.compile_text("0 1 1 1\n1 2 1 1\n2 3 1 1\n3 4 1 1\n0 4 7 7\n0 3 8 8\n1 4 9 9\n4 0 5 5\n4 2 6 6\n4"),
    "loops": wfst.compile_text("0 0 1 1\n0 0 2 2\n0 1 1 1\n1 1 1 1\n1 1 2 2\n1 1 3 3\n1"),
    "words": wfst.optimize(wfst.union(*map(wfst.accep, ["grey", "gray", "great", "grain", "train", "trail"]))),
    **{f"random {seed}": random_machine(seed) for seed in range(6)},
}


@pytest.mark.parametrize("vertical", [False, True])
@pytest.mark.parametrize("name", MACHINES)
def test_labels_lie_on_no_line_and_on_no_other_label(name: str, vertical: bool) -> None:
    svg = wfst.to_svg(MACHINES[name], vertical=vertical, token_type="utf8")
    texts, paths, boxes = shapes(svg)
    size = [float(value) for value in re.findall(r'viewBox="0 0 (\d+) (\d+)"', svg)[0]]
    labels = [box_of(text) for text in texts]
    for i, (left, right, top, bottom) in enumerate(labels):
        assert min(left, top, size[0] - right, size[1] - bottom) >= 0
        for other in labels[i + 1 :]:
            assert right <= other[0] or other[1] <= left or bottom <= other[2] or other[3] <= top
    for path in paths:
        for x, y in points(path):
            assert not any(left < x < right and top < y < bottom for left, right, top, bottom in labels), path
            assert not any(inside(x, y, *box) for box in boxes), path


@pytest.mark.parametrize("name", MACHINES)
def test_every_state_and_arc_is_drawn(name: str) -> None:
    fst = MACHINES[name]
    svg = wfst.to_svg(fst)
    texts, _, boxes = shapes(svg)
    assert len(boxes) == fst.num_states + sum(fst.is_final(state) for state in fst.states())
    said = " ".join(element.text or "" for element in ElementTree.fromstring(svg).iter() if "title" in element.tag)
    assert sum(said.count(f"{s} → {arc.nextstate}") > 0 for s, arc in fst.iter_arcs()) == fst.num_arcs
    assert {text for *_, text in texts} >= {str(s) for s in fst.states() if not fst.is_final(s)}


def test_layers_make_edges_shortest() -> None:
    from itertools import product

    from textmill.fst.layers import layers_of

    random = np.random.default_rng(3)
    for _ in range(40):
        count = int(random.integers(2, 6))
        edges = [(u, v) for u in range(count) for v in range(u + 1, count) if random.random() < 0.5]
        edges += [(0, v) for v in range(1, count) if not any(v == end for _, end in edges)]
        layer = layers_of(count, edges, 0)
        assert layer[0] == 0
        assert all(layer[v] > layer[u] for u, v in edges)
        best = min(
            sum(other[v] - other[u] for u, v in edges)
            for other in product(range(count), repeat=count)
            if all(other[v] > other[u] for u, v in edges)
        )
        assert sum(layer[v] - layer[u] for u, v in edges) == best


def test_crossings_are_counted() -> None:
    from textmill.fst.layout import crossings

    random = np.random.default_rng(4)
    for _ in range(50):
        lines = [tuple(line) for line in random.integers(0, 6, (int(random.integers(0, 12)), 2)).tolist()]
        slow = sum((a - c) * (b - d) < 0 for i, (a, b) in enumerate(lines) for c, d in lines[i + 1 :])
        assert crossings(lines) == slow


def test_many_arcs_share_a_line() -> None:
    fst = wfst.union(*(wfst.accep(letter) for letter in "ab"))
    fst = wfst.concat(fst, wfst.sigma_star(range(97, 123)))
    svg = wfst.to_svg(fst, token_type="utf8")
    assert ">a, b, c, d, e, f +20<" in svg
    assert "x, y, z</title>" in svg


def test_a_picture_is_the_same_in_every_process() -> None:
    code = "from textmill import fst; print(fst.to_svg(fst.union(*map(fst.accep, ['ab', 'cd', 'ef']))), end='')"
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in "12"
    }
    assert len(runs) == 1


def test_names_are_escaped_and_epsilon_has_its_letter() -> None:
    symbols = wfst.SymbolTable(["<eps>", "a<b", 'say "x"'])
    fst = wfst.compile_text("0 1 1 0 .5\n1 2 0 2\n2 2\n")
    svg = wfst.to_svg(fst, input_symbols=symbols, output_symbols=symbols, title="<machine>")
    assert "a&lt;b:ε/0.5" in svg
    assert "&lt;machine&gt;</title>" in svg
    assert "1:ε/0.5" in wfst.to_svg(fst)
    assert "1:ε/5.0e-01" in wfst.to_svg(fst, float_format="e", precision=1)
    assert '\\"x\\"' in wfst.to_dot(fst, input_symbols=symbols, output_symbols=symbols)
    names = wfst.SymbolTable(["first", "second", "third"])
    assert ">third/2<" in wfst.to_svg(fst, state_symbols=names)


def test_large_machines_have_a_note_instead_of_a_picture() -> None:
    line = wfst.accep("a" * 500)
    with pytest.raises(DataError, match="to_dot"):
        wfst.to_svg(line)
    assert "too large for a picture" in line._repr_svg_()
    assert "0 states" in wfst.Fst()._repr_svg_()
    assert "too tangled" in random_machine(1, states=140, arcs=700)._repr_svg_()
    shown = wfst.accep("ab")._repr_mimebundle_()
    assert shown["text/plain"] == "Fst('tropical', 3 states, 2 arcs)"
    assert ElementTree.fromstring(shown["image/svg+xml"]).tag.endswith("svg")
    assert wfst.accep("ab")._repr_svg_() == wfst.to_svg(wfst.accep("ab"))
    lost = wfst.Fst()
    lost.add_states(2)
    assert shapes(wfst.to_svg(lost))[2]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"portrait": True, "title": "a title", "fontsize": 10},
        {"vertical": True, "width": 4, "height": 5.5, "ranksep": 0.5, "nodesep": 0.1},
        {"precision": 2, "show_weight_one": True},
        {"precision": 3, "float_format": "e"},
        {"float_format": "f", "acceptor": True},
    ],
)
def test_dot_is_what_openfst_draws(options: dict[str, object], tmp_path: Path) -> None:
    pywrapfst = pytest.importorskip("pywrapfst")
    text = "1 2 1 1 .123456789\n2 0 2 2 1234567\n0 1 0 0\n1 1.5\n2\n"
    fst = wfst.compile_text(text, keep_state_numbering=True)
    compiler = pywrapfst.Compiler(keep_state_numbering=True)
    compiler.write(text)
    compiler.compile().draw(str(tmp_path / "peer.dot"), **options)
    assert wfst.to_dot(fst, **options) == (tmp_path / "peer.dot").read_text()


def test_files_are_drawn_by_their_suffix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fst = wfst.accep("ab")
    wfst.draw(fst, tmp_path / "m.svg", token_type="utf8")
    root = ElementTree.parse(tmp_path / "m.svg").getroot()
    assert any("prefers-color-scheme" in (element.text or "") for element in root)
    wfst.draw(fst, tmp_path / "m.gv", vertical=True)
    assert (tmp_path / "m.gv").read_text() == wfst.to_dot(fst, vertical=True)
    with pytest.raises(DataError, match=r"end in \.svg"):
        wfst.draw(fst, tmp_path / "m")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(DataError, match="install Graphviz"):
        wfst.draw(fst, tmp_path / "m.png")
    program = tmp_path / "dot"
    program.write_text('#!/bin/sh\necho "$1"; cat\n')
    program.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(program))
    wfst.draw(fst, tmp_path / "m.png")
    assert (tmp_path / "m.png").read_text() == "-Tpng\n" + wfst.to_dot(fst)
    program.write_text("#!/bin/sh\necho 'format: \"xyz\" not recognized' >&2; exit 1\n")
    with pytest.raises(DataError, match="not recognized"):
        wfst.draw(fst, tmp_path / "m.xyz")
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    monkeypatch.setattr(sys.modules["textmill.fst.draw"], "_DOT_SECONDS", 0.2)
    with pytest.raises(DataError, match=r"m\.pdf: dot has not drawn it in 0 s; draw a smaller machine"):
        wfst.draw(fst, tmp_path / "m.pdf")


def test_bad_options_are_named() -> None:
    with pytest.raises(DataError, match="float_format"):
        wfst.to_svg(wfst.accep("a"), float_format="x")
    with pytest.raises(DataError, match="precision"):
        wfst.to_dot(wfst.accep("a"), precision=-1)
    with pytest.raises(DataError, match="token_type"):
        wfst.to_svg(wfst.accep("a"), token_type="letters")
