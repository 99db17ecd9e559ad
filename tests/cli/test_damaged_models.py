"""A damaged model that was not verified may give other numbers; it never gives a bare Python error, in any command."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from forms import make_models, run, write_forms
from reference.model_mutants import mutants

# a model -> how it is used
USES = {
    "v.mill": "vocab report {} line.txt",
    "t.mill": "topics transform {} line.txt -o out.npy",
    "lda.mill": "topics transform {} line.txt -o out.npy",
    "nmf.mill": "topics transform {} line.txt -o out.npy",
    "plsa.mill": "topics transform {} line.txt -o out.npy",
    "i.mill": "similar query {} --text star -k 2",
    "k.mill": "similar classify {} some.txt",
    "l.mill": "lm score {} some.txt",
    "c.mill": "classify predict {} some.txt",
    "bayes.mill": "classify predict {} some.txt",
    "d.mill": "coherence score {} some.txt",
    "correct.mill": "correct apply {} some.txt",
    "e.mill": "entities label {} some.txt --text",
    "f.mill": "fluency score {} some.txt",
    "language.mill": "language detect some.txt --model {}",
    "parser.mill": "parse apply {} few.knp",
    "p.mill": "polarity score {} some.txt",
    "pronounce.mill": "pronounce apply {} words.txt",
    "r.mill": "readability predict {} some.txt",
    "tag.mill": "tag label {} few.conll",
    "words.mill": "tag label {} --text some.txt",
    "segments.mill": "tag label {} few.conll",
    "latent.mill": "tag label {} few.conll",
    "transcribe.mill": "transcribe apply {} words.txt",
    "trees.mill": "trees parse {} words.txt",
    "voicemail.mill": "voicemail extract {} messages.txt",
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models, and a little of what each is used on."""
    folder = tmp_path_factory.mktemp("models")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        paths = write_forms(folder)
        make_models(paths)
        Path("some.txt").write_text("".join(paths["plain"].read_text().splitlines(keepends=True)[:2]))
        Path("few.conll").write_text("\n\n".join(paths["columns"].read_text().split("\n\n")[:2]) + "\n")
        Path("few.knp").write_text("EOS\n".join(Path("right.knp").read_text().split("EOS\n")[:2]) + "EOS\n")
        Path("words.txt").write_text("tan\nkos\nnir\n")
        Path("messages.txt").write_text("".join(Path("messages.txt").read_text().splitlines(keepends=True)[:3]))
    return folder


def use_mutants(name: str, shelf: Path, count: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shelf)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    command = USES[name].format("mutant.mill").split()
    refused = 0
    sources = [Path(name).read_bytes()]
    for number, data in enumerate([*mutants(sources, count, seed), *bodies(sources[0], count, seed)]):
        Path("mutant.mill").write_bytes(data)
        code = run(*command)
        assert code in (0, 1), f"mutant {number}"
        refused += code
    assert 0 < refused < 2 * count, "some damage is found, and some is harmless"


def bodies(data: bytes, count: int, seed: int) -> list[bytes]:
    """Files with some bytes of the arrays changed, which no check of the header finds."""
    rng = random.Random(f"{seed}")
    begin = 8 + int.from_bytes(data[:8], "little")
    changed = []
    for _ in range(count):
        copy = bytearray(data)
        for _ in range(rng.choice([1, 1, 2, 8])):
            copy[rng.randrange(begin, len(copy))] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
        changed.append(bytes(copy))
    return changed


@pytest.mark.parametrize("name", USES)
def test_a_damaged_model_never_gives_a_bare_error(
    name: str, shelf: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    use_mutants(name, shelf, 20, 1, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", USES)
def test_thousands_of_damaged_models_never_give_a_bare_error(
    name: str, shelf: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for seed in range(2, 12):
        use_mutants(name, shelf, 200, seed, monkeypatch)
