"""Views of words, features of phrases, candidates and their choice: each against its definition."""

import itertools

import numpy as np
import pytest

from textmill._native import entities as native
from textmill.errors import DataError, ModelFileError
from textmill.sequence import CountedMarkov, Encoder
from textmill.tasks.entities import PhraseFeatures, Phrases, strip_accents
from textmill.tasks.entities.rescoring import Documents, Judges, Mixing, choose_spans, learn_mixing, score_types
from textmill.tasks.entities.spans import bare_tags, document_starts, read_tags, tags_from_spans
from textmill.tasks.entities.words import describe_words


def test_accents_go_unless_they_are_kept():
    assert strip_accents("Ñandú Übermut Åse") == "Nandu Ubermut Ase"
    assert strip_accents("Ñandú", keep="Ññ") == "Ñandu"
    assert strip_accents("n\u0303a", keep="ñ") == "ña"  # composed first
    assert strip_accents("東京 plain") == "東京 plain"


@pytest.mark.parametrize(
    ("word", "initial", "letters", "shape"),
    [
        ("Lima", "upper", "upper", "Xx"),
        ("lima", "lower", "lower", "x"),
        ("iPod", "lower", "upper", "xXx"),
        ("25", "neither", "neither", "d"),
        ("1ª", "neither", "lower", "dx"),
        ("", "neither", "neither", ""),
        ("Álvarez-2", "upper", "upper", "Xx-d"),
        ("東京", "neither", "neither", "x"),
    ],
)
def test_properties_of_words(word, initial, letters, shape):
    assert describe_words(["initial", "letters", "shape"])([word]) == [(initial, letters, shape, False)]


def features_by_definition(words, begin, end, options):
    """Names and values of the features of one phrase, from the words of the documentation."""
    views = list(options["views"])
    described = describe_words(views, keywords=options["keywords"])(words)
    rows = [("length", str(min(end - begin, options["max_length"])))]
    rows.append(("distance", str(min(begin, options["max_distance"]))))
    rows += [("words", value) for value in {described[t][0] for t in range(begin, end)}]
    rows.append(("phrase", " ".join(described[t][0] for t in range(begin, end))))
    rows.append(("keyword", "yes" if any(one[-1] for one in described) else "no"))
    for position in ("first", "last", "before", "after"):
        for place in range(1, options[position] + 1):
            at = {"first": begin + place - 1, "last": end - place, "before": begin - place, "after": end + place - 1}
            inside = begin <= at[position] < end
            if position in ("first", "last") and not inside:
                continue
            for number, view in enumerate(views):
                name = f"{position}{place}" + (f".{view}" if number else "")
                there = 0 <= at[position] < len(words)
                rows.append((name, described[at[position]][number] if there else "_"))
    return sorted(f"{name}={value}" for name, value in rows)


def test_features_are_those_of_the_definition():
    draw = np.random.default_rng(0)
    sentences = [list(draw.choice(["Ana", "ana", "Peña", "25", "gol", ","], draw.integers(1, 9))) for _ in range(60)]
    options = {"first": 3, "last": 2, "before": 2, "after": 1, "max_length": 4, "max_distance": 3}
    options |= {"views": ("lower", "shape", "suffix"), "keywords": ("gol",)}
    spans = []
    for words in sentences:
        pairs = list(itertools.combinations(range(len(words) + 1), 2))
        spans.append([pairs[i] for i in sorted(draw.choice(len(pairs), min(3, len(pairs)), replace=False))])
    flat = [pair for some in spans for pair in some]
    phrases = Phrases(
        np.cumsum([0, *map(len, spans)]),
        np.array([a for a, _ in flat], np.int32),
        np.array([b for _, b in flat], np.int32),
    )
    cells = Encoder(patterns=["u:%x[0,0]"]).cells(sentences)
    features = PhraseFeatures(whole=True, **options)
    fitted = features.fit_rows(cells, phrases)
    again = features.rows(cells, phrases)
    np.testing.assert_array_equal(fitted.ids, again.ids)
    i = 0
    for words, some in zip(sentences, spans, strict=True):
        for begin, end in some:
            ids = again.ids[again.offsets[i] : again.offsets[i + 1]]
            assert sorted(map(features.feature, ids.tolist())) == features_by_definition(words, begin, end, options)
            i += 1
    named = [(int(t), v) for t, v in zip(features.template_of_, features.values_, strict=True)]
    assert named == sorted(named)


def test_features_from_a_damaged_file_are_refused():
    cells = Encoder(patterns=["u:%x[0,0]"]).cells([["a", "b"]])
    features = PhraseFeatures()
    features.fit_rows(cells, Phrases(np.array([0, 1]), np.array([0], np.int32), np.array([1], np.int32)))
    broken = PhraseFeatures()
    broken.template_of_, broken.values_ = features.template_of_ + 99, features.values_
    with pytest.raises(ModelFileError, match="no template"):
        broken.verify()
    with pytest.raises(ValueError, match="not in its sentence"):
        features.rows(cells, Phrases(np.array([0, 1]), np.array([0], np.int32), np.array([3], np.int32)))
    with pytest.raises(DataError, match="views"):
        PhraseFeatures(views=["colour"]).fit_rows(cells, Phrases(np.zeros(2, int), *(np.empty(0, np.int32),) * 2))


def test_probabilities_of_spans_are_sums_over_all_labelings():
    draw = np.random.default_rng(1)
    X = [list(draw.choice(list("abC"), 5)) for _ in range(30)]
    y = []
    for words in X:
        tags, before = [], "O"
        for _ in words:
            before = str(draw.choice(["B", "O"] if before == "O" else ["B", "I", "O"]))
            tags.append(before)
        y.append(tags)
    for chain in (["b:%x[0,0]", "b"], ["t:%x[0,0]", "b"]):
        model = CountedMarkov(patterns=chain).fit(X, y)
        names = model.classes_.tolist()
        for sentence in X[:6]:
            source, _ = model.steps([sentence])
            offsets, begin, end, p = native.find_candidates(source, names.index("B"), names.index("I"), 1e-12, 1)
            found = {(int(a), int(b)): float(q) for a, b, q in zip(begin, end, p, strict=True)}
            expected = {}
            for tags, q in model.predict_best([sentence], k=3**5)[0]:
                spans = read_tags([tags]).phrases
                for a, b in zip(spans.begin.tolist(), spans.end.tolist(), strict=True):
                    expected[a, b] = expected.get((a, b), 0.0) + q
            assert offsets.tolist() == [0, len(found)]
            for span, q in expected.items():
                assert found.get(span, 0.0) == pytest.approx(q, abs=1e-11)
            assert sum(found.values()) == pytest.approx(sum(expected.values()))


def test_a_jackknife_by_subtraction_is_one_by_training_anew():
    draw = np.random.default_rng(2)
    X = [list(draw.choice(list("abCDe"), draw.integers(1, 7))) for _ in range(40)]
    y = [["B" if word.isupper() and draw.random() < 0.8 else "O" for word in words] for words in X]
    y[0][0] = "B"
    X.append(["C", "D"])
    y.append(["B", "I"])
    X.insert(0, ["C", "D"])
    y.insert(0, ["B", "I"])
    model = CountedMarkov()
    data = model.fit_encode(model.cells(X), y)
    names, folds = model.classes_.tolist(), np.array([0, 14, 28, len(X)])
    letters = names.index("B"), names.index("I")
    tests = data.offsets, data.bigram.indptr, data.bigram.ids
    got = native.jackknife_candidates(model.table(), tests, data.labels, folds, *letters, 0.01, 2)
    parts = []
    for a, b in itertools.pairwise(folds.tolist()):
        rest = CountedMarkov().fit(X[:a] + X[b:], y[:a] + y[b:])
        parts.append(native.find_candidates(rest.steps(X[a:b])[0], *letters, 0.01, 1))
    for i in (1, 2, 3):
        np.testing.assert_allclose(got[i], np.concatenate([part[i] for part in parts]), rtol=1e-12)


def test_the_chosen_set_is_the_best_of_all():
    draw = np.random.default_rng(3)
    for _ in range(60):
        spans = sorted({tuple(sorted(draw.choice(8, 2, replace=False).tolist())) for _ in range(7)},
                       key=lambda span: (span[1], -span[0]))  # fmt: skip
        scores = draw.random(len(spans))
        phrases = Phrases(np.array([0, len(spans)]), *(np.array([s[i] for s in spans], np.int32) for i in (0, 1)))
        chosen = choose_spans(phrases, scores, 0.3, 1)
        best = 0.0
        for size in range(len(spans) + 1):
            for some in itertools.combinations(range(len(spans)), size):
                if all(
                    spans[i][1] <= spans[j][0] or spans[j][1] <= spans[i][0] for i, j in itertools.combinations(some, 2)
                ):
                    best = max(best, sum(scores[i] - 0.3 for i in some))
        assert (scores[chosen] - 0.3).sum() == pytest.approx(best)


def test_mixing_finds_the_weights_that_made_the_data():
    draw = np.random.default_rng(4)
    n = 20_000
    scores = [draw.normal(size=(n, 3)) * 4, draw.normal(size=(n, 3)) * 2]  # O and two types
    span, chain = draw.random(n) * 0.98 + 0.01, draw.random((n, 2)) * 0.49 + 0.001
    judges = Judges(scores, 0, span, chain)
    made = Mixing((0.3, 0.1, 0.8, 0.5, -0.4), (0.2, 0.6, 1.1), (1.0, 0.0, 0.0), 0.5)
    phrases = Phrases(np.arange(n + 1), np.zeros(n, np.int32), np.ones(n, np.int32))
    truth = score_types(judges, phrases, None, made)
    is_name = draw.random(n) < truth.name
    second = draw.random(n) < np.exp(truth.types[:, 1])
    gold = np.where(is_name, 1 + second, 0).astype(np.int32)
    learned = learn_mixing(judges, phrases, gold, int(is_name.sum()), None)
    assert learned.name == pytest.approx(made.name, abs=0.07)
    assert learned.types == pytest.approx(made.types, abs=0.07)
    assert learned.sharing == made.sharing
    assert Mixing.from_array(learned.to_array(), 2, True) == learned
    # the threshold is half of the F that it gives
    best = truth.name * np.exp(truth.types.max(axis=1))
    right = (1 + truth.types.argmax(axis=1)) == gold
    chosen = best > learned.threshold
    assert learned.threshold == pytest.approx((chosen & right).sum() / (chosen.sum() + is_name.sum()), abs=0.01)


def test_documents_say_of_phrases_what_the_definition_says():
    draw = np.random.default_rng(5)
    sentences = [list(draw.choice(["ana", "luis", "paz", "rey"], draw.integers(1, 6))) for _ in range(30)]
    documents = np.sort(draw.integers(0, 5, len(sentences)))
    spans = []
    for s, words in enumerate(sentences):
        some = {tuple(sorted(draw.choice(len(words) + 1, 2, replace=False).tolist())) for _ in range(3)}
        spans += [(s, a, b) for a, b in sorted(some, key=lambda span: (span[1], -span[0]))]
    name, types = draw.random(len(spans)), np.log(draw.dirichlet(np.ones(3), len(spans)))
    number = {word: i + 1 for i, word in enumerate(["ana", "luis", "paz", "rey"])}
    flat = np.array([number[word] for words in sentences for word in words], np.uint64)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(flat ** np.uint64(20))])
    tokens = np.cumsum([0, *map(len, sentences)])
    offsets = np.searchsorted([s for s, _, _ in spans], np.arange(len(sentences) + 1))
    begin, end = (np.array([span[i] for span in spans], np.int32) for i in (1, 2))
    got = np.empty_like(types), np.empty_like(types)
    native.share_types((tokens, sums, documents), offsets, begin, end, name, types, *got)
    for i, (s, a, b) in enumerate(spans):  # sums stand for bags of words
        of = sorted(sentences[s][a:b])
        totals = [0.0, 0.0]
        sums_of = [np.zeros(3), np.zeros(3)]
        for j, (t, c, d) in enumerate(spans):
            if documents[s] != documents[t]:
                continue
            if i != j and sorted(sentences[t][c:d]) == of:
                totals[0] += name[j]
                sums_of[0] += name[j] * types[j]
            if name[j] >= 0.05 and d - c <= 6:
                for e in range(c, d):
                    for f in range(e + 1, d + 1):
                        if f - e < d - c and sorted(sentences[t][e:f]) == of:
                            totals[1] += name[j]
                            sums_of[1] += name[j] * types[j]
        for out, total, sum_of in zip(got, totals, sums_of, strict=True):
            np.testing.assert_allclose(out[i], sum_of / (1 + total), atol=1e-12)
    with pytest.raises(ValueError, match="not in its sentence"):
        native.share_types((tokens, sums, documents), offsets, begin, end + np.int32(9), name, types, *got)


def test_equal_words_and_longer_names_in_a_document_share_their_types():
    scores = [np.array([[-9.0, 4.0, 0.0], [-9.0, 0.0, 0.5], [-9.0, 0.0, 0.5], [-9.0, 0.0, 0.5]])]
    judges = Judges(scores, 0, np.full(4, 0.9), None)
    # Ana Paz | Paz | Ana Paz || Paz: the first is a person, and tells its document
    phrases = Phrases(np.array([0, 1, 2, 3, 4]), np.zeros(4, np.int32), np.array([2, 1, 2, 1], np.int32))
    words = np.array([3, 5, 5, 3, 5, 5], np.uint64)
    documents = Documents(
        np.array([0, 2, 3, 5, 6]), np.concatenate([np.zeros(1, np.uint64), np.cumsum(words)]), np.array([0, 0, 0, 1])
    )
    for sharing, expected in (
        ((1.0, 0.0, 0.0), [0, 1, 1, 1]),
        ((1.0, 1.0, 0.0), [0, 1, 0, 1]),
        ((1.0, 0.0, 1.0), [0, 0, 1, 1]),
    ):
        mixing = Mixing((1.0, 1.0, 0.0), (1.0,), sharing, 0.4)
        assert score_types(judges, phrases, documents, mixing).types.argmax(axis=1).tolist() == expected
        alone = score_types(judges, phrases, None, mixing).types.argmax(axis=1)
        assert alone.tolist() == [0, 1, 1, 1]


def test_tags_are_read_as_conlleval_reads_them():
    from textmill.corpus import spans_of, tags_of

    draw = np.random.default_rng(5)
    tags = ["O", "B-X", "I-X", "E-X", "S-X", "B-Y", "I-Y", "L-Y", "U-Y", "B", "I"]
    y = [list(map(str, draw.choice(tags, draw.integers(0, 9)))) for _ in range(400)]
    spans = read_tags(y)
    for s, row in enumerate(y):
        some = range(*spans.phrases.offsets[s : s + 2])
        read = [(int(spans.phrases.begin[i]), int(spans.phrases.end[i]), spans.labels[spans.label[i]]) for i in some]
        assert read == spans_of(row, lenient=True)
    lengths = np.array([len(row) for row in y])
    written = tags_from_spans(spans.phrases, spans.label, spans.labels, lengths)
    assert written == [tags_of(spans_of(row, lenient=True), len(row)) for row in y]
    assert bare_tags(read_tags([["B-X", "B-X", "O"]]).phrases, np.array([3])) == [["B", "B", "O"]]


def test_documents_begin_at_marks_or_date_lines():
    from textmill.corpus import Sentence

    def starts(X):
        found = document_starts(X, CountedMarkov().cells(X))
        return None if found is None else found.tolist()

    assert starts([["Hoy", "llueve"]]) is None
    line = ["Mérida", ",", "25", "may", "(", "EFE", ")", "."]
    assert starts([["Hoy"], line, ["fin", "(", "x", ")"]]) == [False, True, False]
    marked = [Sentence((("a",),), document="-DOCSTART-"), Sentence((tuple(line),))]
    assert starts(marked) == [True, False]
