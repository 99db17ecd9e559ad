"""The matcher: what it returns, adds, saves; the same on a cluster whose worker dies."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import textmill
from textmill import load
from textmill.errors import DataError
from textmill.strings import Ml, Pairs, matcher
from textmill.strings.matcher import Matcher
from textmill.tasks.names.generate import generate_names

MEASURE = "ml(words, sub=tfidf(trigrams), transpositions='extended')"


def equal(one: Pairs, other: Pairs) -> bool:
    return all(a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True))


def test_blocks_of_a_stream_are_the_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    names = generate_names(60, random_state=1).names
    model = Matcher(measure=MEASURE, threshold=0.4).fit(names)
    pairs, joined = model.pairs(), model.join(names[:50])
    monkeypatch.setattr(matcher, "_BLOCK", 7)
    blocks = list(model.stream())
    assert len(blocks) == -(-len(names) // 7)
    assert equal(Pairs.concatenate(blocks), pairs)
    assert equal(model.join(names[:50]), joined)
    assert len(pairs.score) > 20
    assert np.all(pairs.left < pairs.right)
    assert pairs.score.min() >= 0.4


def test_a_query_finds_the_nearest_names_best_first() -> None:
    model = Matcher(measure=MEASURE).fit(["Ann Smith", "Anne Smith", "Tom Jones"], ids=["a", "b", "c"])
    found = model.query("Smith Ann", 5)
    assert [one.id for one in found] == ["a", "b"]
    assert found[0].score == pytest.approx(1.0)
    assert found[1].score == model.join(["Smith Ann"], threshold=0.0).score[1]
    assert model.query("Zzz", 3) == []


def test_added_names_match_and_weights_stay(tmp_path: Path) -> None:
    names = generate_names(20, random_state=2).names
    model = Matcher(measure=MEASURE, threshold=0.5).fit(names[:20], counts=range(1, 21))
    before = model.pairs()
    model.add(names[20:], ids=[f"new {i}" for i in range(len(names) - 20)], counts=[1] * (len(names) - 20))
    after = model.pairs()
    old = after.right < 20
    assert equal(Pairs(after.left[old], after.right[old], after.score[old]), before)
    model.save(tmp_path / "names.mill")
    loaded = textmill.load(tmp_path / "names.mill", expect=Matcher)
    assert equal(loaded.pairs(), after)
    assert loaded.ids_[20] == "new 0"
    loaded.save(tmp_path / "again.mill")
    assert (tmp_path / "again.mill").read_bytes() == (tmp_path / "names.mill").read_bytes()


def test_a_measure_may_be_an_object_or_a_text() -> None:
    names = ["Ann Smith", "Ann B Smith", "Tom Jones"]
    assert equal(Matcher(measure=Ml()).fit(names).pairs(), Matcher(measure="ml(words)").fit(names).pairs())


@pytest.mark.parametrize("names", [[], [""], ["", ""], ["..."], ["a"], ["x" * 10_000, "x " * 5_000, "y"]])
def test_odd_lists_are_no_trouble(names: list[str]) -> None:
    for measure in (MEASURE, "levenshtein"):
        model = Matcher(measure=measure).fit(names)
        assert len(model.pairs().score) == (1 if names == ["", ""] else 0)
        assert model.clusters().groups.tolist() == ([0, 0] if names == ["", ""] else list(range(len(names))))
        assert len(model.join(["", "b"]).score) == names.count("")
        model.query("a", 2)


def test_bad_input_is_one_clear_error() -> None:
    fitted = Matcher().fit(["Ann", "Bob"])
    cases: list[tuple[Any, str]] = [
        (lambda: Matcher(threshold=1.5).fit(["a"]), "threshold must be"),
        (lambda: Matcher(min_word_similarity=-0.1).fit(["a"]), "min_word_similarity must be"),
        (lambda: Matcher(measure="sounds_like").fit(["a"]), "sounds_like"),
        (lambda: Matcher().fit(["a", None]), "None at position 1"),  # type: ignore[list-item]
        (lambda: Matcher().fit("Ann"), "pass a list"),
        (lambda: Matcher().fit(["a", "b"], ids=["1", "1"]), "'1' at position 1 is there twice"),
        (lambda: Matcher().fit(["a", "b"], ids=["1"]), "1 ids for 2 names"),
        (lambda: Matcher().fit(["a", "b"], counts=[1]), "1 counts for 2 names"),
        (lambda: fitted.pairs(threshold=2), "threshold must be"),
        (lambda: fitted.pairs(k=0), "k must be"),
        (lambda: fitted.query("Ann", 0), "k must be"),
        (lambda: fitted.add(["Eve"], ids=["0"]), "'0' at position 0 is there twice"),
        (lambda: fitted.add(["Eve"], counts=[1]), "without counts"),
        (lambda: Matcher().pairs(), "not fitted"),
    ]
    for call, message in cases:
        with pytest.raises(DataError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)


class DiesOnce:
    """The search of a block that brings its worker down the first time the block in the middle is searched."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.search = folder, matcher._block

    def __call__(self, block: tuple[int, int], *arguments: Any, **options: Any) -> Pairs:
        if block[0] == 192 and not (self.folder / "died").exists():
            (self.folder / "died").write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return self.search(block, *arguments, **options)


def test_a_cluster_gives_the_same_bytes_even_when_a_worker_dies(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = generate_names(400, random_state=3).names
    monkeypatch.setattr(matcher, "_BLOCK", 16)
    model = Matcher(measure=MEASURE, threshold=0.4).fit(names)
    here, joined = model.pairs(), model.join(names[:300], k=2)
    workers = client.run(os.getpid).values()
    monkeypatch.setattr(matcher, "_block", DiesOnce(tmp_path))
    assert equal(model.pairs(cluster=client), here)
    assert int((tmp_path / "died").read_text()) in workers
    assert equal(model.join(names[:300], k=2, cluster=client), joined)


def test_a_matcher_of_an_older_file_compares_names_as_it_did() -> None:
    old = load(Path(__file__).parents[1] / "files" / "names" / "matcher-1.mill", expect=Matcher)
    assert (old.min_word_similarity, old.normalize, old.threshold) == (0.25, None, 0.7)
    assert old.pairs().right.tolist() == [4, 1]
    assert old.pairs().score == pytest.approx([0.8383, 0.8162], abs=1e-4)


def test_case_accents_and_blanks_are_ignored_and_shown() -> None:
    names = ["JOSÉ  RAMÍREZ", "Jose Ramirez", "Tom Jones"]
    matcher = Matcher(threshold=0.9).fit(names)
    assert matcher.pairs().to_dict()["left_name"] == ["JOSÉ  RAMÍREZ"]
    assert matcher.query("josé ramirez", 1)[0] == (0, "0", "JOSÉ  RAMÍREZ", pytest.approx(1.0))
    assert matcher.join(["jose ramírez"]).right.tolist() == [0, 1]
    assert matcher.add(["TOM JONES"]).pairs().right.tolist() == [1, 3]
    assert not len(Matcher(threshold=0.9, normalize=None).fit(names).pairs().score)
    assert len(Matcher(threshold=0.9, normalize=str.upper).fit(names).pairs().score) == 0
    with pytest.raises(DataError, match="normalize must be of accents, case"):
        Matcher(normalize=["kase"]).fit(names)
