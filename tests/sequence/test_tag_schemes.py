"""Tags count for the spans they stand for, whatever scheme they are written in."""

import random
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from textmill.cli.app import app
from textmill.corpus import SCHEMES, tags_of
from textmill.sequence import SemiMarkovCRF, compare_tags, evaluate_tags
from textmill.tasks.entities import EntityRecognizer, evaluate_entities

run = CliRunner().invoke


def random_spans(rng, length):
    """Spans of one to three tokens, often side by side and of one label."""
    spans, at = [], 0
    while at < length:
        end = min(length, at + rng.randint(1, 3))
        if rng.random() < 0.6:
            spans.append((at, end, rng.choice(["PER", "LOC"])))
        at = end
    return spans


def random_data(seed):
    rng = random.Random(seed)
    lengths = [rng.randint(4, 12) for _ in range(60)]
    gold = [random_spans(rng, n) for n in lengths]
    answers = [random_spans(rng, n) if rng.random() < 0.3 else spans for n, spans in zip(lengths, gold, strict=True)]
    return lengths, gold, answers


def written(spans, lengths, scheme):
    return [tags_of(some, n, scheme) for some, n in zip(spans, lengths, strict=True)]


@pytest.mark.parametrize("gold_scheme", SCHEMES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_figures_do_not_depend_on_the_scheme_of_the_answers(gold_scheme, scheme):
    lengths, gold, answers = random_data(7)
    truth = written(gold, lengths, gold_scheme)
    same, other = (evaluate_tags(truth, written(answers, lengths, name)) for name in (gold_scheme, scheme))
    assert np.array_equal(same.counts, other.counts)
    assert 0 < same.token_error < 1
    both = compare_tags(truth, written(answers, lengths, scheme), written(answers, lengths, gold_scheme), resamples=10)
    assert (both.tokens.only_first, both.tokens.only_second) == (0, 0)


def test_right_answers_have_no_wrong_token_in_any_scheme():
    lengths, gold, _ = random_data(8)
    for gold_scheme in SCHEMES:
        for scheme in SCHEMES:
            scores = evaluate_tags(written(gold, lengths, gold_scheme), written(gold, lengths, scheme))
            assert scores.token_error == scores.sequence_error == 0


def test_ill_formed_answers_are_compared_as_they_are():
    gold, answer = [["B-PER", "O"], ["O", "B-PER"]], [["B-PER", "O"], ["O", "I-PER"]]
    scores = evaluate_tags(gold, answer)
    assert scores.f1 == 1
    assert scores.token_error == 0.25


def test_names_of_a_file_are_counted_in_every_scheme(tmp_path):
    rng = random.Random(3)
    words, spans = [], []
    for _ in range(40):
        names = [rng.choice(["Ana", "Luis", "Eva"]) for _ in range(rng.randint(1, 2))]
        words.append([*names, "vive", "en", "Lima"])
        spans.append([*((i, i + 1, "PER") for i in range(len(names))), (len(names) + 2, len(names) + 3, "LOC")])
    counts, accuracies = set(), set()
    for scheme in SCHEMES:
        tags = [tags_of(some, len(x), scheme) for some, x in zip(spans, words, strict=True)]
        path = tmp_path / f"{scheme}.txt"
        sentences = ("\n".join(map(" ".join, zip(x, y, strict=True))) for x, y in zip(words, tags, strict=True))
        path.write_text("-DOCSTART- O\n\n" + "\n\n".join(sentences) + "\n")
        trained = run(app, ["entities", "train", str(path), "-o", str(tmp_path / "m.mill")])
        assert trained.exit_code == 0, trained.output
        counts.add(trained.output.strip())
        model = EntityRecognizer().fit(words, tags)
        accuracies.add(evaluate_entities(model, words, tags).full.token_error)
    names = sum(map(len, spans))
    assert counts == {f"40 sentences, {names} names of the types LOC, PER"}
    assert len(accuracies) == 1


def test_segments_are_learned_from_tags_of_any_scheme():
    lengths, gold, _ = random_data(9)
    words = [[f"w{i % 5}" for i in range(n)] for n in lengths]
    weights = [
        SemiMarkovCRF(filter=None, max_length=3, max_iter=5).fit(words, written(gold, lengths, scheme)).weights_
        for scheme in ("IOB2", "IOB1", "BILOU")
    ]
    assert all(np.array_equal(weights[0], other) for other in weights[1:])


def test_lines_between_documents_are_no_tokens_and_are_kept(tmp_path):
    data = tmp_path / "c.txt"
    data.write_bytes("-DOCSTART- O\n\nAna B-PER\nva O\n\n-DOCSTART- O\n\nÉva B-PER\nva O\n".encode("latin-1") * 4)
    model, labeled = str(tmp_path / "m.mill"), str(tmp_path / "l.txt")
    coded = ["--encoding", "latin-1"]
    trained = run(app, ["tag", "train", str(data), *coded, "-o", model])
    assert "sequences 8," in trained.output
    done = run(app, ["tag", "label", model, str(data), *coded, "-o", labeled])
    assert done.exit_code == 0, done.output
    assert Path(labeled).read_text().startswith("-DOCSTART- O\n\nAna B-PER B-PER\n")
    assert "processed 16 tokens" in run(app, ["tag", "evaluate", labeled]).output
    repaired = run(app, ["tag", "repair", str(data), *coded])
    assert repaired.output.count("-DOCSTART- O\n\n") == 8
