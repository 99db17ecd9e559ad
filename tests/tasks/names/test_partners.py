"""Whether records of two lists have one partner or several, told by probabilities alone."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from textmill.cli.app import main
from textmill.strings import Pairs
from textmill.tasks.names.record_matcher import rivals_are_weaker


def drawn(rng: np.random.Generator, copies: int, false: int) -> Pairs:
    """Records with `copies` true partners each, all as probable, and half as many false pairs as `false` says."""
    rows = [
        (i, i * copies + c, 0.9 + 0.1 * rng.beta(8, 1)) for i in range(400) for c in range(1 + (i % 2) * (copies - 1))
    ]
    rows += [(i, (i + 7) * copies, 0.5 + 0.4 * rng.beta(1, 1)) for i in rng.choice(390, false, replace=False).tolist()]
    return Pairs.of(rows)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("copies", [2, 3, 6])
def test_true_partners_are_told_from_false_ones(seed: int, copies: int) -> None:
    rng = np.random.default_rng(seed)
    assert not rivals_are_weaker(drawn(rng, copies, 0))
    assert not rivals_are_weaker(drawn(rng, copies, 40))
    assert rivals_are_weaker(drawn(rng, 1, 150))


def test_nothing_is_decided_without_rivals_or_without_pairs_that_stand_alone() -> None:
    assert not rivals_are_weaker(Pairs.of([]))
    assert not rivals_are_weaker(Pairs.of([(0, 0, 0.9), (1, 1, 0.5)]))
    assert not rivals_are_weaker(Pairs.of([(0, 0, 0.9), (0, 1, 0.5)]))


def test_the_command_says_what_it_leaves_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Firms of one list are firms of the other; branches of a firm differ in the street alone."""
    rng = np.random.default_rng(1)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))

    def word() -> str:
        return "".join(rng.choice(letters, 7))

    names = [f"{word()} {word()}" for _ in range(150)]
    firms = [(names[i if i < 150 else i - 150], f"{word()} street {rng.integers(1, 900)}", word()) for i in range(220)]
    for side in ("a", "b"):
        with open(tmp_path / f"{side}.jsonl", "w", encoding="utf-8") as file:
            for i, (name, street, town) in enumerate(firms):
                changed = street if side == "a" else street.replace("street", "st.")
                row = {"id": f"{side}{i}", "name": name, "street": changed, "town": town}
                file.write(json.dumps(row) + "\n")
    fields = [part for field in ("name", "street", "town") for part in ("--field", field)]
    lists = [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]
    model = str(tmp_path / "m.mill")

    def found(*arguments: str) -> tuple[set[tuple[str, str]], str]:
        with pytest.raises(SystemExit) as left:
            main(["match", *arguments])
        said = capsys.readouterr()
        assert left.value.code == 0, said.err
        return {(row[0], row[1]) for row in (line.split("\t") for line in said.out.splitlines()[1:])}, said.err

    found("train", lists[0], "--other", lists[1], *fields, "-o", model)
    every, _ = found("join", *lists, "--model", model, "--one-to-one", "none")
    once, note = found("join", *lists, "--model", model)
    true = {(f"a{i}", f"b{i}") for i in range(220)}
    assert true <= once <= every
    assert len(once) == len(true)
    assert ("every record is matched once" in note) == (len(every) > len(once))
