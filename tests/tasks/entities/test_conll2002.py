"""Spanish names of CoNLL-2002: what the reader finds, and how good the counted preset is on the development part."""

import os
from pathlib import Path

import pytest

from textmill.sequence import CountedMarkov, evaluate_tags
from textmill.tasks import EntityRecognizer
from textmill.tasks.entities import evaluate_entities, read_entities
from textmill.tasks.entities.spans import read_tags

pytestmark = pytest.mark.data

SIZES = {"train": (8323, 264715, 18798), "testa": (1915, 52923, 4352), "testb": (1517, 51533, 3559)}


def read(part):
    return read_entities(Path(os.environ["TEXTMILL_DATA"]) / "conll2002" / f"esp.{part}")


@pytest.fixture(scope="module")
def train():
    return read("train")


@pytest.fixture(scope="module")
def dev():
    return read("testa")


@pytest.mark.parametrize("part", SIZES)
def test_the_reader_finds_what_was_published(part):
    X, y = read(part)
    assert (len(X), sum(map(len, y)), len(read_tags(y).label)) == SIZES[part]


def test_counted_recognizer_on_the_development_part(train, dev):
    model = EntityRecognizer(language="es").fit(*train)
    result = evaluate_entities(model, *dev)
    assert result.extraction.f1 > 0.883
    assert result.accuracy > 0.804
    assert result.full.f1 > 0.75
    words = [list(sentence.column(0)) for sentence in train.X]
    single = CountedMarkov().fit(words, train.y)
    answers = single.predict([list(sentence.column(0)) for sentence in dev.X])
    assert result.full.f1 > evaluate_tags(dev.y, answers, chunks=True).f1 + 0.005


def test_the_plain_two_phases_come_to_the_product_of_both(train, dev):
    model = EntityRecognizer(language="es", phrases="gold").fit(*train)
    result = evaluate_entities(model, *dev)
    assert result.full.f1 > 0.722
    assert abs(result.full.f1 - result.product) < 0.02
