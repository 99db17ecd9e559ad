"""How hard texts are: formulas against textstat, models without a group against training them anew, levels of texts.

    formulas              processor seconds of eleven formulas over all texts of OneStopEnglish, one thread; textstat
                          counts syllables by a dictionary made of the training part of g2p-cmu
    syllables             the same for syllables of the test words of g2p-cmu; quality: share of words that are right,
                          which for textstat are not in its dictionary either
    without a group       processor seconds of perplexities, words, orders 1 to 3, each text without its article, by
                          subtraction; the peer trains models without the article anew, measured on ten articles

Behind the table: accuracy of levels with folds over articles, everything on reduced texts. Tags are by a CRF trained on
the treebank, entities and coreference by rules, chains by WordNet if the folder named by WORDNET, or that of Debian's
wordnet-base, is there.
"""

from __future__ import annotations

import os
import re
import resource
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from bench.harness import Job, Options
from papers.readability.selection import select_nested
from papers.readability.sets import standard_sets
from textmill.corpus import read_trees
from textmill.lm import NGramModel
from textmill.sequence import CRF
from textmill.tasks.readability import (
    Annotator,
    FeatureSet,
    FeatureTable,
    GradedTexts,
    LanguageResources,
    Layers,
    LevelLearner,
    LevelModels,
    PreparedTexts,
    WordNet,
    count_texts,
    cross_validate,
    find_leaks,
    hold_out_leak,
    prepare_graded,
    read_graded_texts,
    static_features,
)

PACKAGES = ["textstat", "nltk"]
VOWELS = re.compile(r"^(AA|AE|AH|AO|AW|AY|EH|ER|EY|IH|IY|OW|OY|UH|UW)$")
FUNCTIONS = (
    "flesch_kincaid_grade",
    "flesch_reading_ease",
    "gunning_fog",
    "smog_index",
    "dale_chall_readability_score",
    "coleman_liau_index",
    "automated_readability_index",
    "spache_readability",
    "linsear_write_formula",
    "lix",
    "rix",
)
_options: list[Options] = []


def jobs(options: Options) -> list[Job]:
    _options[:] = [options]
    texts = _graded(options, raw=True).texts
    words = list(_lexicon(options, "g014b2b.ref"))[: 500 if options.quick else None]
    return [
        Job(
            "formulas, one thread",
            lambda: count_texts(texts, n_jobs=1).formulas(),
            lambda: [[getattr(_textstat(options), name)(text) for name in FUNCTIONS] for text in texts],
            "textstat",
            lambda: _formula_quality(options),
            figure="processor",
            bar=10.0,
        ),
        Job(
            "syllables of 12,000 words",
            lambda: LanguageResources().syllables(words),
            lambda: [_textstat(options).syllable_count(word) for word in words],
            "textstat",
            lambda: _syllable_quality(options),
            figure="processor",
        ),
        Job(
            "perplexities without a group",
            lambda: _subtracted(options),
            lambda: _trained_anew(options),
            "training anew",
            lambda: _difference(options),
            figure="returned",
            bar=10.0,
        ),
    ]


def appendix() -> str:
    """Accuracies, leaks, selection, time and memory; `--only` takes a part of their names."""
    options = _options[0]
    parts: dict[str, Callable[[], list[str]]] = {
        "time of features": lambda: _times(options),
        "mode paper": lambda: _accuracies(options, "paper", 1 if options.quick else 10),
        "mode nested": lambda: _accuracies(options, "nested", 1),
        "shuffled levels, paper": lambda: _accuracies(options, "paper", 1, shuffled=True),
        "shuffled levels, nested": lambda: _accuracies(options, "nested", 1, shuffled=True),
        "learners": lambda: _learners(options),
        "leaks": lambda: _leaks(options),
        "selection": lambda: _selection(options),
    }
    lines = [line for name, make in parts.items() if options.wants(name) for line in ["", *make()]]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    return "\n".join([*lines, "", f"memory of all this at most: {memory:.0f} MiB"])


def _times(options: Options) -> list[str]:
    prepared, wordnet = _prepared(options), _wordnet()
    start = time.process_time()
    static_features(Layers(prepared.documents, n_jobs=1), wordnet=wordnet)
    middle = time.process_time()
    names = _learned.__wrapped__(options).names
    return [
        f"features that need no learning, from annotations, one thread: {middle - start:.2f} s",
        f"perplexities and unknown words, {len(names)} features, one thread: {time.process_time() - middle:.1f} s",
    ]


@cache
def _learned(options: Options) -> FeatureTable:
    graded = _graded(options)
    return (
        _models(options).fit(_prepared(options).tokens, graded.levels, graded.groups, graded.order).training_features()
    )


@cache
def _graded(options: Options, raw: bool = False) -> GradedTexts:
    graded = read_graded_texts(options.data / "readability-onestop" / "onestop.jsonl")
    if options.quick:
        names = list(dict.fromkeys(graded.groups or []))[:24]
        graded = graded.take([i for i, group in enumerate(graded.groups or []) if group in names])
    return graded if raw else graded.reduced()


def _wordnet() -> WordNet | None:
    folder = os.environ.get("WORDNET", "/usr/share/wordnet")
    return WordNet(folder) if Path(folder, "data.noun").exists() else None


@cache
def _tagger(options: Options) -> CRF:
    trees = [
        tree
        for path in sorted((options.data / "treebank" / "combined").glob("*.mrg"))[: 20 if options.quick else None]
        for tree in (whole.without_empty() for whole in read_trees(path))
        if tree is not None
    ]
    return CRF(algorithm="perceptron", max_iter=8).fit(
        [tree.words() for tree in trees], [tree.tags() for tree in trees]
    )


@cache
def _prepared(options: Options) -> PreparedTexts:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two articles of the folder have two names: see the table of leaks
        return prepare_graded(
            _graded(options), annotator=Annotator(tagger=_tagger(options)), wordnet=_wordnet(), n_jobs=1
        )


def _models(options: Options) -> LevelModels:
    return LevelModels(order=2 if options.quick else 5, n_jobs=1)


def _accuracies(options: Options, mode: str, repetitions: int, *, shuffled: bool = False) -> list[str]:
    """Accuracies of groups of features; with levels shuffled within articles, chance is all there is."""
    prepared = _shuffled(_prepared(options)) if shuffled else _prepared(options)
    names = [name for name in prepared.static.names if name not in set(prepared.static.missing())]
    for kind in ("words", "tags", "pairs", "mixed"):
        names += [f"lm.{kind}.x.1", f"relative.{kind}.x.1"]
    names.append("oov.tokens.100")
    learner = LevelLearner(n_jobs=1)
    sets = standard_sets(names, learner)
    if "entity density" in sets:  # what the group began with
        first = standard_sets(names, learner, detailed=True)
        sets = {"entity density, first four": first["entity density, first four"]} | sets
    if shuffled:
        sets = {name: one for name, one in sets.items() if name.startswith(("shallow", "LM all", "everything"))}
    short = {f"{name}, no length": FeatureSet(one.features, learner, False) for name, one in sets.items()}
    both = sets | {name: one for name, one in short.items() if not name.startswith("LM") and not shuffled}
    folds = 4 if options.quick else 10
    start = time.process_time()
    result = cross_validate(prepared, both, models=_models(options), mode=mode, n_folds=folds, repetitions=repetitions)
    rows = {row.name: row for row in result.rows()}
    title = (
        f"{'levels shuffled within articles, ' if shuffled else ''}{mode}, {repetitions} x {folds} folds over articles"
    )
    lines = [
        f"{title}: accuracy +- deviation (squared error, within one, kappa); {time.process_time() - start:.0f} s",
        "features | number | accuracy | without length",
    ]
    for name in sets:
        row, bare = rows[name], rows.get(f"{name}, no length")
        other = "-" if bare is None else f"{100 * bare.accuracy:.1f} +- {100 * bare.deviation:.1f}"
        figures = f"({row.mse:.3f}, {100 * row.adjacent:.1f}, {row.kappa:.3f})"
        lines.append(
            f"{name} | {row.features} | {100 * row.accuracy:.1f} +- {100 * row.deviation:.1f} {figures} | {other}"
        )
    return lines if shuffled else [*lines, *_ordering({name: rows[name].accuracy for name in sets})]


def _ordering(accuracy: dict[str, float]) -> list[str]:
    """The orders that are claimed, and whether they hold."""
    single = max((name for name in accuracy if name != "everything"), key=lambda name: accuracy[name])
    claims = [
        ("words per sentence", "Flesch-Kincaid", ">"),
        ("Flesch-Kincaid", "syllables per word", ">"),
        ("entity density", "entity density, first four", ">="),
        ("parse", "parse, first four", ">="),
        ("everything", single, ">"),
    ]
    lines = []
    for high, low, sign in claims:
        if high not in accuracy or low not in accuracy:
            continue
        holds = accuracy[high] > accuracy[low] or (sign == ">=" and accuracy[high] == accuracy[low])
        figures = f"{100 * accuracy[high]:.1f} and {100 * accuracy[low]:.1f}"
        lines.append(f"{high} {sign} {low}: {figures}, {'holds' if holds else 'does not hold'}")
    return lines


def _shuffled(prepared: PreparedTexts) -> PreparedTexts:
    """The same texts with the levels of each article dealt out anew."""
    random, level = np.random.default_rng(0), np.array(prepared.level)
    for group in dict.fromkeys(prepared.groups):
        rows = [i for i, own in enumerate(prepared.groups) if own == group]
        level[rows] = random.permutation(level[rows])
    return replace(prepared, level=level)


def _everything(prepared: PreparedTexts, learned: FeatureTable) -> FeatureTable:
    table = prepared.static.joined(learned)
    missing = set(table.missing())
    return table.choose([name for name in table.names if name not in missing and not name.startswith("formulas.")])


def _learners(options: Options) -> list[str]:
    prepared = _prepared(options)
    table = _everything(prepared, _learned(options))
    fixed = PreparedTexts(prepared.documents, prepared.level, prepared.order, prepared.groups, prepared.tokens, table)
    kinds = ("logistic", "ordinal", "svm", "ordinal-svm", "regression", "majority")
    sets = {kind: FeatureSet(["all"], LevelLearner(kind=kind, cost=1.0, gamma=1.0, n_jobs=1)) for kind in kinds}
    result = cross_validate(fixed, sets, n_folds=4 if options.quick else 10)
    cells = [f"{row.name} {100 * row.accuracy:.1f} (squared error {row.mse:.3f})" for row in result.rows()]
    return [f"learners over everything, 1 x 10 folds: {', '.join(cells)}"]


def _leaks(options: Options) -> list[str]:
    raw, prepared = _graded(options, raw=True), _prepared(options)
    lines = [
        "leaks of the raw texts: " + "; ".join(str(leak) for leak in find_leaks(raw.texts, raw.levels, raw.groups)),
    ]
    words = LevelModels(order=3, representations=("words",), common=(), n_jobs=1)
    alone = words.fit(prepared.tokens, raw.levels, range(len(raw)), raw.order).training_features()
    lines.append(f"hold-out by document: {hold_out_leak(alone, raw.levels, raw.order)}")
    for name, table in (("reduced, by document", alone), ("raw, by article", _raw_table(raw, words))):
        one = PreparedTexts(prepared.documents, prepared.level, prepared.order, prepared.groups, prepared.tokens, table)
        result = cross_validate(
            one, {"lm": FeatureSet(["lm"], LevelLearner(n_jobs=1))}, n_folds=4 if options.quick else 10
        )
        lines.append(f"LM words of orders 1 to 3, {name}: {100 * result.rows()[0].accuracy:.1f}")
    return lines


def _raw_table(raw: GradedTexts, words: LevelModels) -> FeatureTable:
    layers = Layers(Annotator().annotate(raw.texts), n_jobs=1)
    return words.fit(layers, raw.levels, raw.groups or [], raw.order).training_features()


def _selection(options: Options) -> list[str]:
    prepared = _prepared(options)
    table = _everything(prepared, _learned(options))
    lines = []
    for name, l2, methods in (("l2 = 1", 1.0, ("none", "filter")), ("l2 = 0.001", 0.001, ("none", "groups"))):
        for method in methods:
            one = select_nested(
                table, prepared.level, prepared.groups, LevelLearner(l2=l2, n_jobs=1), method=method, n_folds=3
            )
            figures = f"{100 * one.accuracy:.1f}, optimistic {100 * one.optimistic:.1f}"
            lines.append(f"selection by {method}, {name}, 3 folds: {one.n_features:.0f} features, {figures}")
    return lines


@cache
def _lexicon(options: Options, name: str) -> dict[str, set[int]]:
    """Words and their numbers of syllables, in any pronunciation."""
    words: dict[str, set[int]] = {}
    for line in (options.data / "g2p-cmu" / name).read_text(encoding="utf-8").splitlines():
        word, *spoken = line.split("\t")
        words.setdefault(word.lower(), set()).update(
            sum(VOWELS.match(sound) is not None for sound in one.split()) for one in spoken
        )
    return words


@cache
def _textstat(options: Options) -> Any:
    """The peer with a dictionary of the training words, in the format of NLTK."""
    import nltk

    folder = Path(tempfile.mkdtemp(prefix="nltk-"))
    (folder / "corpora" / "cmudict").mkdir(parents=True)
    lines = []
    for line in (options.data / "g2p-cmu" / "g014b2b.train").read_text(encoding="utf-8").splitlines():
        word, *spoken = line.split("\t")
        sounds = [f"{sound}1" if VOWELS.match(sound) else sound for sound in spoken[0].split()]
        lines.append(f"{word} 1 {' '.join(sounds)}")
    (folder / "corpora" / "cmudict" / "cmudict").write_text("\n".join(lines) + "\n", encoding="utf-8")
    nltk.data.path.insert(0, str(folder))
    import textstat

    return textstat


def _formula_quality(options: Options) -> str:
    graded = _graded(options, raw=True)
    ours = count_texts(graded.texts).formula("flesch_kincaid")
    theirs = np.array([_textstat(options).flesch_kincaid_grade(text) for text in graded.texts])
    correlation = np.corrcoef(ours, theirs)[0, 1]
    return f"Flesch-Kincaid, mean {ours.mean():.2f} and {theirs.mean():.2f}, correlation {correlation:.3f}"


def _syllable_quality(options: Options) -> str:
    words = _lexicon(options, "g014b2b.ref")
    ours = LanguageResources().syllables(list(words))
    right = np.mean([int(n) in counts for n, counts in zip(ours, words.values(), strict=True)])
    theirs = np.mean([_textstat(options).syllable_count(word) in counts for word, counts in words.items()])
    return f"words that are right: {100 * right:.2f} % and {100 * theirs:.2f} %"


def _subtracted(options: Options) -> float:
    prepared, graded = _prepared(options), _graded(options)
    words = LevelModels(order=3, representations=("words",), common=(), n_jobs=1)
    start = time.process_time()
    words.fit(prepared.tokens, graded.levels, graded.groups or [], graded.order).training_features()
    return time.process_time() - start


def _trained_anew(options: Options) -> float:
    start = time.process_time()
    groups = list(dict.fromkeys(_graded(options).groups or []))
    for group in groups[:10]:
        _perplexities(options, group)
    return (time.process_time() - start) * len(groups) / 10


def _perplexities(options: Options, group: str) -> dict[tuple[int, str, int], float]:
    """Perplexities of the texts of an article by models that are trained without it."""
    prepared, graded = _prepared(options), _graded(options)
    sentences, bounds = _sentences(options), prepared.tokens.documents
    texts = [sentences[a:b] for a, b in pairwise(bounds.tolist())]
    own = [i for i, name in enumerate(graded.groups or []) if name == group]
    values = {}
    for level in graded.order:
        rest = [s for i, text in enumerate(texts) if graded.levels[i] == level and i not in own for s in text]
        for order in (1, 2, 3):
            model = NGramModel(order=order, smoothing="witten-bell", n_jobs=1).fit(rest)
            for i in own:
                values[i, level, order] = model.scores(texts[i]).perplexity()
    return values


@cache
def _sentences(options: Options) -> list[list[str]]:
    return _prepared(options).tokens.represented("words")


def _difference(options: Options) -> str:
    prepared, graded = _prepared(options), _graded(options)
    words = LevelModels(order=3, representations=("words",), common=(), n_jobs=1)
    table = words.fit(prepared.tokens, graded.levels, graded.groups or [], graded.order).training_features()
    anew = _perplexities(options, (graded.groups or [])[0])
    largest = max(
        abs(float(table.choose([f"lm.words.{level}.{n}"]).values[i, 0]) / value - 1)
        for (i, level, n), value in anew.items()
    )
    return f"largest relative difference {largest:.1e}"
