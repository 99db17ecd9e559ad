"""Letters to sounds by trees: textmill, scikit-learn's tree, Weka's J48 and Phonetisaurus.

Word errors of three languages of SIGMORPHON 2020 (3,600 words to learn from) against scikit-learn's tree over the same
windows, one-hot, of letters aligned by EM; CMU's dictionary with context 3 against what is asked; pronouncing against
phonetisaurus-g2pfst with a model of the same words; rules of French as evidence. The test sets of these
three languages were seen while the defaults were chosen, so their figures are not blind.

    TEXTMILL_DATA=... python -m bench pronounce
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import resource
import shutil
import subprocess
import tempfile
import time
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from bench.harness import Job, Options
from textmill import load
from textmill.tasks.pronunciation import (
    Entry,
    PronunciationModel,
    align_lexicon,
    evaluate_pronunciations,
    group_entries,
    model_size,
    read_lexicon,
    read_rules,
    split_lexicon,
)
from textmill.tasks.pronunciation.windows import window_codes
from textmill.trees import CategoricalTree, EncodedRows

PACKAGES = ["scikit-learn", "phonetisaurus"]
LANGUAGES = ("ady", "bul", "fre")


def jobs(options: Options) -> list[Job]:
    """All comparisons."""

    @cache
    def part(language: str, name: str) -> list[Entry]:
        return list(read_lexicon(options.data / "g2p-sigmorphon2020" / f"{language}_{name}.tsv"))

    @cache
    def ours(language: str) -> PronunciationModel:
        dev = part(language, "dev")
        model = PronunciationModel(n_jobs=1)
        return model.fit(*_columns(part(language, "train")), X_dev=_columns(dev)[0], y_dev=_columns(dev)[1])

    @cache
    def theirs(language: str) -> tuple[float, int]:
        return _by_scikit_learn(part(language, "train"), part(language, "test"), context=3)

    def errors(language: str) -> float:
        return 100 * (1 - evaluate_pronunciations(ours(language), part(language, "test")).word_accuracy)

    def nodes(language: str) -> str:
        model = ours(language)
        return (
            f"nodes {model.tree_.n_nodes_} and {theirs(language)[1]}; context {model.context_}; "
            f"{model_size(model) / 1000:.0f} kB"
        )

    @cache
    def cmu() -> tuple[PronunciationModel, float]:
        entries = list(read_lexicon(options.data / "g2p-cmu" / "g014b2b.train"))
        if options.quick:
            entries = entries[::20]
        before = time.process_time()
        model = PronunciationModel(context=3, n_jobs=1).fit(*_columns(entries))
        return model, time.process_time() - before

    @cache
    def cmu_counts() -> Any:
        return evaluate_pronunciations(cmu()[0], list(read_lexicon(options.data / "g2p-cmu" / "g014b2b.ref")))

    def cmu_facts() -> str:
        counts = cmu_counts()
        return (
            f"words {100 * counts.word_accuracy:.1f} %, positions {100 * counts.accuracy:.2f} %, "
            f"{cmu()[0].tree_.n_nodes_} nodes, trained in {cmu()[1]:.1f} s"
        )

    @cache
    def words() -> list[str]:
        listed = [entry.word for name in ("train", "dev", "test") for entry in part("fre", name)]
        return listed[:450] if options.quick else listed

    def letters() -> int:
        return sum(map(len, words()))

    def seconds_of_model() -> float:
        model, times = ours("fre"), 20
        before = time.process_time()
        for _ in range(times):
            model.predict_lines(words())
        return (time.process_time() - before) / times / letters() * 1e6

    def seconds_of_phonetisaurus() -> float:
        return _decoding(_phonetisaurus(part("fre", "train")), words()) / letters() * 1e6

    def million() -> float:
        return letters() / (seconds_of_model() / 1e6 * letters()) / 1e6

    def opening() -> float:
        with tempfile.TemporaryDirectory() as folder:
            ours("fre").save(f"{folder}/m.mill")
            before = time.perf_counter()
            load(f"{folder}/m.mill").predict_lines(["texte"])
            return 1000 * (time.perf_counter() - before)

    @cache
    def french(weighted: bool) -> tuple[float, float, str]:
        """Errors on dev words that took part in no choice but that of the weights, and on test words."""
        rules = read_rules(str(resources.files("textmill.tasks.pronunciation") / "rules" / "french.txt"))
        train, dev = part("fre", "train"), part("fre", "dev")
        model = PronunciationModel(context=3, alignment="bag", n_jobs=1)
        given = {"rules": rules} if weighted else {}
        model.fit(*_columns(train), **given, X_dev=_columns(dev)[0], y_dev=_columns(dev)[1])
        errors = [
            100 * (1 - evaluate_pronunciations(model, entries).word_accuracy) for entries in (dev, part("fre", "test"))
        ]
        return errors[0], errors[1], f"weights {model.weights_.tolist()}, {model.tree_.n_nodes_} nodes"

    def rules_facts() -> str:
        return f"test {french(True)[1]:.2f} and {french(False)[1]:.2f} %; {french(True)[2]}; without {french(False)[2]}"

    listed = [
        Job(f"word errors in %, {language}", lambda name=language: errors(name), lambda name=language: theirs(name)[0],
            "sklearn DecisionTreeClassifier", lambda name=language: nodes(name), figure="returned", label="%", bar=1.0)
        for language in LANGUAGES
    ]  # fmt: skip
    listed += [
        Job("phoneme errors in %, CMU, context 3", lambda: 100 * cmu_counts().phoneme_error_rate, lambda: 10.0,
            "what is asked", cmu_facts, figure="returned", label="%", bar=1.0),
        Job("letters said, millions a second", lambda: 1 / million(), lambda: 1.0, "a million is asked",
            lambda: f"{million():.2f} million letters a second, one thread", figure="returned", label="", bar=1.0),
        Job("saying words, us a letter", seconds_of_model, seconds_of_phonetisaurus, "phonetisaurus-g2pfst",
            figure="returned", label="us", bar=20.0),
        Job("kB of the French model", lambda: model_size(ours("fre")) / 1000, lambda: 100.0, "what is asked",
            figure="returned", label="kB", bar=1.0),
        Job("opening it and the first word, ms", opening, lambda: 10.0, "what is asked", figure="returned",
            label="ms", bar=1.0),
        Job("errors on dev in %, with rules", lambda: french(True)[0], lambda: french(False)[0],
            "the lexicon alone", rules_facts, figure="returned", label="%", bar=1.0),
    ]  # fmt: skip
    if shutil.which("java") and Path("/usr/share/java/weka.jar").exists():
        listed.append(
            Job("errors of positions in %, no groups, fre", lambda: _like_j48(part("fre", "train"))[0],
                lambda: _by_weka(part("fre", "train"))[0], "Weka's J48",
                lambda: f"nodes {_like_j48(part('fre', 'train'))[1]} and {_by_weka(part('fre', 'train'))[1]}",
                figure="returned", label="%", bar=None)
        )  # fmt: skip
    return listed


def _columns(entries: list[Entry]) -> tuple[list[str], list[tuple[str, ...]]]:
    return [entry.word for entry in entries], [entry.phonemes for entry in entries]


def _by_scikit_learn(train: list[Entry], test: list[Entry], *, context: int) -> tuple[float, int]:
    """Word errors and nodes of a tree over one-hot windows of EM-aligned letters."""
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    lexicon = align_lexicon([(list(e.word), e.phonemes) for e in train])
    marks = len(lexicon.letters), len(lexicon.letters) + 1
    aligned = lexicon.aligned
    codes = window_codes(lexicon.words.take(aligned), context, *marks)
    encoder = OneHotEncoder(handle_unknown="ignore")
    tree = DecisionTreeClassifier(random_state=0)
    tree.fit(encoder.fit_transform(codes), lexicon.targets[lexicon.position_rows(aligned)])
    place = {letter: i for i, letter in enumerate(lexicon.letters)}
    of_words = group_entries(test)
    words = type(lexicon.words).encode((list(word) for word in of_words), place)
    labels = tree.predict(encoder.transform(window_codes(words, context, *marks)))
    bounds = words.positions
    wrong = 0
    for i, (word, accepted) in enumerate(of_words.items()):
        del word
        spoken = tuple(lexicon.names[t] for t in labels[bounds[i] : bounds[i + 1]] if t)
        wrong += spoken not in accepted
    return 100 * wrong / len(of_words), int(tree.tree_.node_count)


@cache
def _halves(train: tuple[Entry, ...]) -> tuple[Any, Any, Any, Any, Any]:
    entries, apart = split_lexicon(list(train), 0.2)
    lexicon = align_lexicon([(list(e.word), e.phonemes) for e in [*entries, *apart]])
    marks = len(lexicon.letters), len(lexicon.letters) + 1
    aligned = lexicon.aligned
    codes = window_codes(lexicon.words.take(aligned), 2, *marks)
    labels = lexicon.targets[lexicon.position_rows(aligned)]
    cut = int(lexicon.words.take(aligned[aligned < len(entries)]).positions[-1])
    return lexicon, codes[:cut], labels[:cut], codes[cut:], labels[cut:]


def _like_j48(train: list[Entry]) -> tuple[float, int]:
    lexicon, codes, labels, test_codes, test_labels = _halves(tuple(train))
    values = [[*lexicon.letters, "$", "."]] * codes.shape[1]
    tree = CategoricalTree(subsets=False, n_jobs=1).fit(EncodedRows(codes, values=values), labels)
    wrong = tree.predict(EncodedRows(test_codes)) != test_labels
    return 100 * float(wrong.mean()), tree.n_nodes_


@cache
def _weka_run(train: tuple[Entry, ...]) -> tuple[float, int]:
    lexicon, codes, labels, test_codes, test_labels = _halves(train)
    values = ",".join(f"v{i}" for i in range(len(lexicon.letters) + 2))
    classes = ",".join(f"c{i}" for i in range(len(lexicon.names)))
    head = "@relation windows\n" + "".join(f"@attribute a{i} {{{values}}}\n" for i in range(codes.shape[1]))
    head += f"@attribute class {{{classes}}}\n@data\n"
    with tempfile.TemporaryDirectory() as folder:
        for name, rows, targets in (("train", codes, labels), ("test", test_codes, test_labels)):
            lines = [
                ",".join([*(f"v{v}" for v in row), f"c{t}"]) for row, t in zip(rows.tolist(), targets, strict=True)
            ]
            Path(folder, f"{name}.arff").write_text(head + "\n".join(lines) + "\n")
        command = ["java", "-Xmx2g", "-cp", "/usr/share/java/weka.jar:/usr/share/java/java-cup.jar"]
        command += ["weka.classifiers.trees.J48", "-t", f"{folder}/train.arff", "-T", f"{folder}/test.arff"]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
    size = int(re.search(r"Size of the tree :\s*(\d+)", run.stdout)[1])  # type: ignore[index]
    empty = len(re.findall(r"\(0\.0\)", run.stdout))  # leaves of values that no case has
    tested = run.stdout[run.stdout.rindex("Error on test data") :]
    wrong = float(re.search(r"Incorrectly Classified Instances\s+\d+\s+([\d.]+)", tested)[1])  # type: ignore[index]
    return wrong, size - empty


def _by_weka(train: list[Entry]) -> tuple[float, int]:
    return _weka_run(tuple(train))


def _program(name: str) -> tuple[str, dict[str, str]]:
    spec = importlib.util.find_spec("phonetisaurus")
    if spec is None or spec.origin is None:
        raise SystemExit("this bench needs Phonetisaurus: pip install phonetisaurus")
    folder = Path(spec.origin).parent
    libraries = {"LD_LIBRARY_PATH": str(folder / "lib" / platform.machine())}
    return str(folder / "bin" / platform.machine() / name), os.environ | libraries


def _run(name: str, *arguments: str) -> float:
    """Run a program; returns its processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    program, environment = _program(name)
    subprocess.run([program, *arguments], check=True, capture_output=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


_MODELS: dict[int, str] = {}


def _phonetisaurus(train: list[Entry]) -> str:
    """A model of order 8, by alignment, n-grams and conversion."""
    if id(train) not in _MODELS:
        folder = tempfile.mkdtemp(prefix="textmill-bench-")
        Path(folder, "train.txt").write_text("".join(entry.text() + "\n" for entry in train), encoding="utf-8")
        _run("phonetisaurus-align", f"--input={folder}/train.txt", f"--ofile={folder}/corpus",
             "--seq1_del=true", "--seq2_del=true")  # fmt: skip
        _run("estimate-ngram", "-o", "8", "-t", f"{folder}/corpus", "-wl", f"{folder}/model.arpa")
        _run("phonetisaurus-arpa2wfst", f"--lm={folder}/model.arpa", f"--ofile={folder}/model.fst")
        _MODELS[id(train)] = f"{folder}/model.fst"
    return _MODELS[id(train)]


def _decoding(model: str, words: list[str]) -> float:
    """Processor time of saying the words, that of opening the model taken off."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "one.txt").write_text(words[0] + "\n", encoding="utf-8")
        Path(folder, "all.txt").write_text("".join(word + "\n" for word in words), encoding="utf-8")
        opening = _run("phonetisaurus-g2pfst", f"--model={model}", f"--wordlist={folder}/one.txt")
        return _run("phonetisaurus-g2pfst", f"--model={model}", f"--wordlist={folder}/all.txt") - opening
