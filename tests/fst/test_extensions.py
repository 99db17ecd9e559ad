"""N-grams in bits, machines with edits, compressed machines, linear models: each against what it stands for."""

from __future__ import annotations

import gzip
import itertools
import math
import random
from pathlib import Path

import numpy as np
import pytest
from reference.fst import arpa_score, random_fst, relation, same

import textmill
import textmill.fst as wfst
from textmill.corpus import Arpa
from textmill.errors import DataError, ModelFileError
from textmill.fst import (
    EditedFst,
    Fst,
    LinearClassifier,
    LinearFeature,
    LinearTagger,
    SuccinctNgrams,
    compress,
    compress_fst,
    decompress,
    decompress_fst,
    lazy,
    read_features,
)
from textmill.lm import NGramModel, arpa_of

WORDS = [f"w{i}" for i in range(30)]


def backed_off(order: int, seed: int = 1) -> tuple[Arpa, list[list[str]]]:
    dice = random.Random(seed)
    sentences = [[WORDS[min(29, int(dice.expovariate(0.15)))] for _ in range(dice.randint(1, 9))] for _ in range(300)]
    return arpa_of(NGramModel(order=order).fit(sentences)), sentences


# ---- n-grams in bits


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_ngrams_in_bits_are_the_plain_machine(order: int) -> None:
    arpa, _ = backed_off(order)
    plain = wfst.ngram_machine(arpa, semiring_name="tropical")
    whole = SuccinctNgrams.from_arpa(arpa, drop_idle=False)
    assert whole.phi == plain.phi
    assert (whole.num_states, whole.num_arcs) == (plain.fst.num_states, plain.fst.num_arcs)
    machine = whole.machine(cache=500)
    for state in range(plain.fst.num_states):  # the same numbers, arc for arc
        assert machine.arcs(state) == plain.fst.arcs(state)
        assert machine.final(state) == plain.fst.final(state)
    assert machine.start == plain.fst.start


@pytest.mark.parametrize("back_off", ["phi", "epsilon"])
def test_idle_histories_change_nothing(back_off: str) -> None:
    arpa, sentences = backed_off(3)
    small = SuccinctNgrams.from_arpa(arpa)
    assert small.num_states < SuccinctNgrams.from_arpa(arpa, drop_idle=False).num_states
    names = arpa.words.to_list()
    machine = small.machine(back_off=back_off, semiring_name="log64")
    plain = wfst.ngram_machine(arpa, back_off=back_off, semiring_name="log64").fst
    phi = small.phi if back_off == "phi" else None
    for sentence in sentences[:60]:
        labels = [names.index(word) for word in sentence]
        text = chain([label + 1 for label in labels], "log64")
        found = wfst.total_weight(wfst.compose(text, machine.expand(), phi=phi))
        assert found == pytest.approx(wfst.total_weight(wfst.compose(text, plain, phi=phi)), abs=1e-4)
        if phi:
            exact = -arpa_score(arpa, labels, names.index("<s>"), names.index("</s>"))
            assert found == pytest.approx(exact, abs=1e-4)


def chain(labels: list[int], name: str = "tropical") -> Fst:
    fst = Fst(name)
    fst.start = fst.add_state()
    for label in labels:
        fst.add_arc(fst.num_states - 1, label, label, None, fst.add_state())
    fst.set_final(fst.num_states - 1)
    return fst


def test_lazy_composition_looks_at_few_states() -> None:
    arpa, sentences = backed_off(3)
    model = SuccinctNgrams.from_arpa(arpa)
    names = arpa.words.to_list()
    machine = model.machine(semiring_name="log64")
    text = chain([names.index(word) + 1 for word in sentences[0]], "log64")
    found = lazy.compose(text, machine, right=lazy.Matcher(phi=model.phi)).expand()
    exact = -arpa_score(arpa, [names.index(w) for w in sentences[0]], names.index("<s>"), names.index("</s>"))
    assert wfst.total_weight(wfst.connect(found)) == pytest.approx(exact, abs=1e-5)
    assert machine.statistics().computed < model.num_states / 2


def test_rounded_costs_are_near_and_small() -> None:
    arpa, _ = backed_off(3)
    exact, small = SuccinctNgrams.from_arpa(arpa), SuccinctNgrams.from_arpa(arpa, cost_bits=6)
    assert small.nbytes < 0.7 * exact.nbytes < 0.7 * exact.openfst_nbytes
    errors = []
    for state in range(0, exact.num_states, 7):
        for a, b in zip(exact.machine().arcs(state), small.machine().arcs(state), strict=True):
            assert (a.ilabel, a.nextstate) == (b.ilabel, b.nextstate)
            errors.append(abs(a.weight - b.weight))
    assert 0 < sum(errors) / len(errors) < 0.05


def test_saved_ngrams_are_mapped_and_checked(tmp_path: Path) -> None:
    arpa, _ = backed_off(3)
    model = SuccinctNgrams.from_arpa(arpa)
    model.save(tmp_path / "g.mill")
    loaded = textmill.load(tmp_path / "g.mill")
    assert isinstance(loaded, SuccinctNgrams)
    assert wfst.equal(loaded.machine().expand(), model.machine().expand())
    assert loaded.nbytes == model.nbytes
    content = bytearray((tmp_path / "g.mill").read_bytes())
    dice, refused = random.Random(1), 0
    for _ in range(150):
        damaged = content.copy()
        for _ in range(dice.randint(1, 3)):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        (tmp_path / "d.mill").write_bytes(damaged[: dice.randrange(len(damaged))] if dice.random() < 0.2 else damaged)
        try:
            machine = textmill.load(tmp_path / "d.mill", verify=True).machine()
            machine.expand(max_states=100_000)
        except (ModelFileError, DataError):
            refused += 1
    assert refused > 60


# ---- edits


@pytest.mark.parametrize("name", ["tropical", "log64", "boolean", "left_string"])
def test_edits_are_what_changes_would_be(name: str, tmp_path: Path) -> None:
    dice = random.Random(2)
    for _ in range(60):
        base = random_fst(dice, name, states=6, arcs=10)
        before = wfst.print_text(base)
        plain, edited = base.copy(), EditedFst(base)
        for _ in range(dice.randint(0, 8)):
            state, other = dice.randrange(plain.num_states), dice.randrange(plain.num_states)
            match dice.randrange(6):
                case 0:
                    assert edited.add_state() == plain.add_state()
                case 1:
                    plain.add_arc(state, 3, 4, None, other)
                    edited.add_arc(state, 3, 4, None, other)
                case 2:
                    plain.set_final(state)
                    edited.set_final(state)
                case 3:
                    kept = min(1, len(plain.arcs(state)))
                    plain.delete_arcs(state, keep=kept)
                    edited.delete_arcs(state, keep=kept)
                case 4 if plain.arcs(state):
                    plain.set_arc(state, 0, (5, 5, None, other))
                    edited.set_arc(state, 0, (5, 5, None, other))
                case _:
                    plain.start = edited.start = state
        assert (edited.num_states, edited.num_arcs, edited.start) == (plain.num_states, plain.num_arcs, plain.start)
        assert wfst.equal(edited.merge(), plain)
        assert wfst.equal(edited.lazy().expand(), lazy.as_lazy(plain).expand())
        assert wfst.print_text(base) == before
        assert edited.num_changed <= plain.num_states


def test_edits_of_a_mapped_file_leave_it_alone(tmp_path: Path) -> None:
    path = tmp_path / "m.fst"
    wfst.write_fst(random_fst(random.Random(1), states=50, arcs=300), path, fst_type="const", align=True)
    content, base = path.read_bytes(), wfst.read_fst(path)
    edited = EditedFst(base)
    edited.add_arc(0, 9, 9, 0.5, edited.add_state())
    edited.set_final(edited.num_states - 1)
    assert base.is_mapped
    assert path.read_bytes() == content
    assert edited.nbytes < 5000
    early = edited.lazy()
    edited.delete_arcs(0)
    assert len(early.arcs(0)) > 0  # as it was when it was asked for
    assert edited.lazy().arcs(0) == []
    edited.save(tmp_path / "n.fst")
    assert wfst.equal(wfst.read_fst(tmp_path / "n.fst"), edited.merge())
    composed = lazy.compose(chain([9]), early).expand(connect=True)
    assert wfst.total_weight(composed) == 0.5


def test_impossible_edits_are_refused() -> None:
    edited = EditedFst(wfst.compile_text("0 1 1 1\n1"))
    for change in (
        lambda: edited.add_arc(0, 1, 1, None, 7),
        lambda: edited.add_arc(7, 1, 1, None, 0),
        lambda: edited.add_arc(0, -1, 1, None, 0),
        lambda: edited.set_arc(0, 1, (1, 1, None, 0)),
        lambda: edited.set_final(2),
        lambda: edited.delete_arcs(0, keep=-1),
        lambda: edited.delete_arcs(0, keep=2),
        lambda: setattr(edited, "start", 9),
        lambda: edited.arcs(-1),
    ):
        with pytest.raises(DataError):
            change()
    assert edited.num_arcs == 1
    with pytest.raises(DataError, match="expand"):
        EditedFst(lazy.as_lazy(edited.base))  # type: ignore[arg-type]


# ---- compressed machines


@pytest.mark.parametrize("fst_type", ["vector", "const", "compact_unweighted", "compact_acceptor"])
def test_compression_is_exact(fst_type: str) -> None:
    dice = random.Random(3)
    for _ in range(60):
        name = dice.choice(["tropical", "log64", "log", "real"] if fst_type in ("vector", "const") else ["tropical"])
        fst = random_fst(dice, name, states=dice.randint(1, 8), arcs=dice.randint(0, 20), acceptor=True)
        if fst_type == "compact_unweighted":
            fst = wfst.arcmap(fst, "rmweight")
        if dice.random() < 0.3:
            fst.input_symbols = fst.output_symbols = wfst.SymbolTable(["<eps>", "a", "b"])
        for align in (False, True) if fst_type == "const" else (False,):
            content = wfst.to_bytes(fst, fst_type=fst_type, align=align)
            assert decompress(compress(content)) == content
        assert wfst.equal(decompress_fst(compress_fst(fst)), fst)
    empty = wfst.to_bytes(Fst())
    assert decompress(compress(empty)) == empty


def test_compressed_lexicons_are_smaller_than_packed_files() -> None:
    dice = random.Random(4)
    words = {"".join(dice.choice("aeinrst") for _ in range(dice.randint(3, 9))) for _ in range(4000)}
    content = wfst.to_bytes(wfst.lexicon(sorted(words)), fst_type="const")
    assert len(compress(content)) < 0.6 * len(gzip.compress(content)) < 0.6 * len(content)


def test_damaged_compressed_files_are_refused() -> None:
    packed = bytearray(compress_fst(random_fst(random.Random(5), states=40, arcs=300)))
    dice, refused = random.Random(6), 0
    for _ in range(400):
        damaged = packed.copy()
        for _ in range(dice.randint(1, 3)):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        if dice.random() < 0.3:
            damaged = damaged[: dice.randrange(len(damaged))]
        try:
            decompress(bytes(damaged))
        except DataError:
            refused += 1
    assert refused > 380
    for content in (b"", b"x", bytes(packed[:20]), wfst.to_bytes(Fst())):
        with pytest.raises(DataError):
            decompress(content)
    with pytest.raises(DataError):
        compress(b"not a machine")


# ---- linear models


def random_features(dice: random.Random, tags: list[str], words: list[str]) -> list[LinearFeature]:
    found = []
    for _ in range(40):
        offsets = dice.sample([-2, -1, 0, 1, 2], dice.randint(0, 2))
        values = {offset: dice.choice([*words, "<s>" if offset < 0 else "</s>"]) for offset in offsets}
        before = tuple(dice.choice(tags) for _ in range(dice.randint(0, 2)))
        found.append(LinearFeature(dice.choice(tags), dice.randint(-8, 8) / 4, values, before))
    return found


def tagging_score(features: list[LinearFeature], words: list[str], tags: tuple[str, ...]) -> float:
    def value(at: int) -> str:
        return "<s>" if at < 0 else "</s>" if at >= len(words) else words[at]

    return sum(
        feature.weight
        for i, tag in enumerate(tags)
        for feature in features
        if feature.tag == tag
        and all(value(i + offset) == wanted for offset, wanted in feature.values.items())
        and feature.before == tuple(reversed(tags[:i]))[: len(feature.before)]
    )


def test_taggers_have_the_cost_of_every_tagging() -> None:
    dice = random.Random(7)
    for _ in range(25):
        tags, words = ["X", "Y", "Z"], ["a", "b", "c"]
        features = random_features(dice, tags, words)
        tagger = LinearTagger.from_features(features, words, tags=tags)
        text = [dice.choice([*words, "unknown"]) for _ in range(dice.randint(0, 4))]
        machine = tagger.machine(text, semiring_name="tropical64", cache=dice.choice([0, 1000, None])).expand()
        found = {
            tuple(tags[label - 1] for label in outputs): weight
            for (_, outputs), weight in relation(machine, 30).items()
        }
        wanted = {c: -tagging_score(features, text, c) for c in itertools.product(tags, repeat=len(text))}
        assert found == pytest.approx(wanted)
        assert tagger.best_outputs(text, 1)[0][0] == pytest.approx(min(wanted.values()))


def test_taggers_read_any_words_or_a_lattice() -> None:
    features = [LinearFeature("X", 1.0, {0: "a", 1: "b"}), LinearFeature("Y", 0.5, {0: "b"}, ("X",))]
    tagger = LinearTagger.from_features(features, ["a", "b"])
    lattice = wfst.compile_text("0 1 1 1 0.25\n0 1 2 2\n1 2 2 2\n2", semiring_name="tropical")
    along = tagger.machine(lattice).expand()
    composed = lazy.compose(lattice, tagger.machine()).expand(connect=True)
    assert same(relation(along), relation(composed), along.semiring)
    assert wfst.total_weight(along) == pytest.approx(0.25 - 1.5)


def test_classifiers_have_the_cost_of_every_class() -> None:
    dice = random.Random(8)
    words, classes = ["a", "b", "c"], ["p", "q", "r"]
    for _ in range(25):
        features = [
            LinearFeature(dice.choice(classes), dice.randint(-8, 8) / 4, {-i: dice.choice(words) for i in range(n)})
            for n in (1, 1, 1, 2, 2, 2, 3, 3)
        ]
        bias = {name: dice.randint(-4, 4) / 4 for name in classes}
        model = LinearClassifier.from_features(features, words, bias=bias)
        text = [dice.choice(words) for _ in range(dice.randint(0, 5))]
        costs = {
            name: -bias[name]
            - sum(
                f.weight
                for f in features
                if f.tag == name
                for i in range(len(text))
                if all(i + k >= 0 and text[i + k] == value for k, value in f.values.items())
            )
            for name in classes
        }
        found = {name: cost for cost, (name,) in model.best_outputs(text, 3)}
        assert found == pytest.approx(costs)
        machine = model.machine(semiring_name="log64")
        both = lazy.compose(chain([words.index(word) + 1 for word in text], "log64"), machine).expand(connect=True)
        assert wfst.total_weight(both) == pytest.approx(-math.log(sum(math.exp(-cost) for cost in costs.values())))


def test_linear_models_are_saved(tmp_path: Path) -> None:
    features = random_features(random.Random(9), ["X", "Y"], ["a", "b"])
    tagger = LinearTagger.from_features(features, ["a", "b"], tags=["X", "Y"])
    tagger.save(tmp_path / "t.mill")
    loaded = textmill.load(tmp_path / "t.mill")
    assert loaded.best_outputs(["a", "b", "a"], 4) == tagger.best_outputs(["a", "b", "a"], 4)
    content = bytearray((tmp_path / "t.mill").read_bytes())
    dice, refused = random.Random(1), 0
    for _ in range(100):
        damaged = content.copy()
        for _ in range(dice.randint(1, 3)):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        (tmp_path / "d.mill").write_bytes(damaged)
        try:
            textmill.load(tmp_path / "d.mill", verify=True).machine(["a"]).expand(max_states=10_000)
        except (ModelFileError, DataError):
            refused += 1
    assert refused > 40


def test_wrong_features_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="column 1"):
        LinearTagger.from_features([LinearFeature("X", 1.0, {(0, 1): "a"})], ["a"])
    with pytest.raises(DataError, match="not at later ones"):
        LinearClassifier.from_features([LinearFeature("c", 1.0, {1: "a"})], ["a"]).machine()
    with pytest.raises(DataError, match="no tags"):
        LinearTagger.from_features([], ["a"])
    with pytest.raises(DataError, match="another number of columns"):
        LinearTagger.from_features([LinearFeature("X", 1.0)], {"a": ("a",), "b": ("b", "c")})
    with pytest.raises(DataError, match="has costs"):
        LinearTagger.from_features([LinearFeature("X", 1.0)], ["a"]).machine(semiring_name="real")
    path = tmp_path / "f.txt"
    for text in ("X\t1\n", "X\tone\t-\n", "X\t1\t-\tword\n", "X\t1\t-\tx=word\n"):
        path.write_text("# comment\n" + text)
        with pytest.raises(DataError, match=r"f\.txt:2: a feature"):
            read_features(path)


def test_packed_numbers_of_every_width() -> None:
    from textmill.fst.succinct import _packed

    for width in range(1, 32):
        values = np.random.default_rng(width).integers(0, 1 << width, 200)
        cells = _packed(values, width)
        whole = int.from_bytes(cells.tobytes(), "little")
        assert [(whole >> (i * width)) & ((1 << width) - 1) for i in range(200)] == values.tolist()
