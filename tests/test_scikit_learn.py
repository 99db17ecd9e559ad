"""scikit-learn's manners: its own checks of estimators, data frames in and out, generators, errors, drawings."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError as TheirNotFittedError
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import estimator_checks
from test_public import estimators

from textmill.corpus import FUNCTION_WORDS, HashedBags, NamedFeatures, Phrases, Vocabulary
from textmill.errors import DataError, NotFittedError
from textmill.linear import (
    CombinationLogistic,
    LeastSquares,
    LogisticRegression,
    PairwiseSVM,
    SupportVectorRegression,
    UtilityLogistic,
)
from textmill.model import Estimator, load, seed_of
from textmill.tasks import CoherenceDetector
from textmill.topics import LDA, LSA, NMF, PCA, PLSA, MultinomialMixture
from textmill.trees import CategoricalTree
from textmill.vectors import ApproximateIndex, Index, TextVectorizer, Weighting

TEXTS = ["the mill grinds corn", "a storm at sea", "corn for the old mill", "the sea is rough", "old corn, old sea"]
COUNTS = np.random.default_rng(0).integers(0, 5, (30, 8))
TOPICS = (LDA, LSA, NMF, PCA, PLSA, MultinomialMixture)
LINEAR = (LogisticRegression, CombinationLogistic)
KERNELS = (SupportVectorRegression, PairwiseSVM, LeastSquares)
ROWS = (*TOPICS, Weighting, Index, *LINEAR, UtilityLogistic, *KERNELS, CategoricalTree)

# Checks of scikit-learn that an estimator fails, and why it does so; docs/scikit-learn.md tells the same.
STRANGE_OBJECTS = "what is no number is a DataError, which is a ValueError and no TypeError"
NEW_TERMS = "partial_fit takes rows with other numbers of columns: vocabularies of streams grow"
CACHED = "transform keeps what it derived from the model for the next time; it is no part of its state"
EMPTY = "a matrix without rows or columns has a meaning: nothing was counted or indexed yet"
HALVES = "score holds back half of the occurrences of each word, and fractions below 1 have no half"
EXPECTED: dict[type, dict[str, str]] = {kind: {"check_dtype_object": STRANGE_OBJECTS} for kind in ROWS}
del EXPECTED[CategoricalTree]["check_dtype_object"]  # takes what is no number
for _kind in TOPICS:
    EXPECTED[_kind]["check_n_features_in_after_fitting"] = NEW_TERMS
EXPECTED[PLSA]["check_dict_unchanged"] = CACHED
EXPECTED[Weighting] |= {"check_dict_unchanged": CACHED, "check_estimators_empty_data_messages": EMPTY}
EXPECTED[Index]["check_estimators_empty_data_messages"] = EMPTY
EXPECTED[LDA]["check_fit_score_takes_y"] = HALVES


def small(kind: type) -> Any:
    """An estimator that learns within milliseconds."""
    if kind is UtilityLogistic:
        return kind(l2=0.01, n_folds=0)  # without folds to choose the penalty by
    if kind is SupportVectorRegression:
        return kind(tolerance=1e-12)  # as for those below
    if kind in LINEAR:
        return kind(tolerance=1e-14)  # rows of weight 2 and rows that come twice give the same to 7 digits
    return kind(n_topics=2) if kind in TOPICS else kind()


def checks() -> list[Any]:
    """All checks of scikit-learn for estimators that take rows of numbers."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*does not inherit from `sklearn.base.BaseEstimator`")
        return [
            pytest.param(estimator, check, id=f"{type(estimator).__name__}-{check.func.__name__}")
            for kind in ROWS
            for estimator, check in estimator_checks.estimator_checks_generator(small(kind))
        ]


@pytest.mark.filterwarnings("ignore")  # of few topics and negative weights: the data of the checks are tiny
@pytest.mark.parametrize(("estimator", "check"), checks())
def test_estimators_of_rows_pass_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    reason = EXPECTED[type(estimator)].get(check.func.__name__)
    if reason is None:
        try:
            check(estimator)
        except estimator_checks.SkipTest as skipped:
            pytest.skip(str(skipped))
        return
    with pytest.raises((AssertionError, ValueError)):  # a reason that no longer holds must go
        check(estimator)


@pytest.mark.parametrize("kind", estimators())
def test_every_estimator_passes_the_checks_of_parameters_tags_and_texts(kind: type) -> None:
    for check in (
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
        estimator_checks.check_estimator_tags_renamed,
        estimator_checks.check_valid_tag_types,
        estimator_checks.check_parameters_default_constructible,
    ):
        check(kind.__name__, kind())


@pytest.mark.parametrize("kind", [kind for kind in estimators() if hasattr(kind, "predict")])
def test_predicting_before_fitting_says_so(kind: type) -> None:
    with pytest.raises(NotFittedError):
        kind().predict([[1, 2]])


TRANSFORMERS = [(small(kind), COUNTS) for kind in (*TOPICS, Weighting)]
TRANSFORMERS += [
    (Vocabulary(), TEXTS),
    (TextVectorizer(weighting=Weighting(idf="smooth")), TEXTS),
    (HashedBags(columns=16), TEXTS),
    (NamedFeatures(), [{"stars": 3, "year": 1998}, {"stars": 2}]),
]
NAMES = [type(estimator).__name__ for estimator, _ in TRANSFORMERS]


@pytest.mark.parametrize(("estimator", "X"), TRANSFORMERS, ids=NAMES)
def test_rows_come_as_pandas_frames_with_named_columns(estimator: Any, X: Any) -> None:
    plain = clone(estimator).set_params(**_seeded(estimator)).fit(X)
    framed = clone(estimator).set_params(**_seeded(estimator)).set_output(transform="pandas")
    for frame in (framed.fit_transform(X), framed.transform(X), clone(framed).fit(X).transform(X)):
        assert isinstance(frame, pd.DataFrame)
        assert frame.columns.tolist() == plain.get_feature_names_out().tolist()
        rows = plain.transform(X)
        assert np.allclose(frame.to_numpy(), rows.toarray() if sparse.issparse(rows) else rows)
    assert not isinstance(framed.set_output(transform="default").transform(X), pd.DataFrame)


def _seeded(estimator: Any) -> dict[str, Any]:
    return {"random_state": 0} if "random_state" in estimator.get_params() else {}


def test_the_index_of_a_frame_or_column_is_kept() -> None:
    column = pd.Series(TEXTS, index=[f"d{i}" for i in range(len(TEXTS))], name="text")
    rows = TextVectorizer().set_output(transform="pandas").fit_transform(column)
    assert rows.index.tolist() == column.index.tolist()
    counts = pd.DataFrame(COUNTS, index=range(100, 130))
    assert LSA(n_topics=2).fit(counts).set_output(transform="pandas").transform(counts).index.tolist() == list(
        range(100, 130)
    )


def test_output_is_chosen_for_all_by_scikit_learn_s_configuration() -> None:
    model = LSA(n_topics=2, vectorizer=TextVectorizer(weighting=Weighting(idf="smooth")))
    with sklearn.config_context(transform_output="pandas"):
        frame = model.fit_transform(TEXTS)  # inside, the rows of the vectorizer stay sparse
    assert frame.columns.tolist() == ["lsa0", "lsa1"]
    assert isinstance(model.transform(TEXTS), np.ndarray)


def test_polars_has_no_sparse_columns_and_an_unknown_library_is_refused() -> None:
    pytest.importorskip("polars")
    assert LSA(n_topics=2).fit(COUNTS).set_output(transform="polars").transform(COUNTS).columns == ["lsa0", "lsa1"]
    with pytest.raises(DataError, match="Polars has no sparse columns"):
        Vocabulary().fit(TEXTS).set_output(transform="polars").transform(TEXTS)


def test_an_unknown_output_is_refused_and_lists_of_tokens_stay_lists() -> None:
    with pytest.raises(DataError, match="transform must be one of 'default', 'pandas', 'polars', got 'frame'"):
        LSA().set_output(transform="frame")
    assert Phrases(min_count=1).set_output(transform="pandas").fit(TEXTS).transform(["the sea"]) == [["the", "sea"]]
    assert LSA().set_output(transform=None).set_output()._repr_html_()


def test_transformers_of_a_union_and_of_columns_name_their_features() -> None:
    frame = pd.DataFrame({"text": TEXTS, "year": [1, 2, 3, 4, 5]})
    columns = ColumnTransformer([("text", Vocabulary(), "text")], remainder="passthrough", sparse_threshold=0)
    assert columns.set_output(transform="pandas").fit_transform(frame)["text__corn"].tolist() == [1, 0, 1, 0, 1]
    union = FeatureUnion([("words", Vocabulary()), ("pairs", Vocabulary(ngrams=(2, 2)))]).fit(TEXTS)
    assert "pairs__old mill" in union.get_feature_names_out()


@pytest.mark.parametrize("as_column", [pd.Series, np.array, lambda texts: np.array(texts, dtype=object), tuple])
def test_columns_of_texts_are_documents(as_column: Any) -> None:
    vectorizer = TextVectorizer(weighting=Weighting(scheme="nnn"))
    expected = NMF(n_topics=2, vectorizer=vectorizer, random_state=0).fit_transform(TEXTS)
    assert np.array_equal(
        NMF(n_topics=2, vectorizer=vectorizer, random_state=0).fit_transform(as_column(TEXTS)), expected
    )


def test_a_table_in_place_of_a_column_of_texts_is_refused() -> None:
    with pytest.raises(DataError, match="pass the column that holds them"):
        Vocabulary().fit(pd.DataFrame({"text": TEXTS}))


def test_lists_of_numbers_are_a_matrix() -> None:
    assert LSA(n_topics=2).fit(COUNTS.tolist()).transform(COUNTS.tolist()).shape == (30, 2)
    assert Weighting().fit(COUNTS.tolist()).n_features_in_ == 8


@pytest.mark.parametrize("kind", TOPICS)
def test_inverse_transform_is_the_product_with_the_topics(kind: type) -> None:
    model = kind(n_topics=3, random_state=0).fit(COUNTS)
    weights = model.transform(COUNTS)
    mean = model.mean_ if kind is PCA else 0.0
    assert np.allclose(model.inverse_transform(weights), weights @ model.components_ + mean)
    assert np.allclose(model.inverse_transform(pd.DataFrame(weights)), model.inverse_transform(weights))
    with pytest.raises(DataError, match=r"shape \(30, 2\), but the model has 3 topics"):
        model.inverse_transform(weights[:, :2])


@pytest.mark.parametrize("kind", [LSA, PCA])
def test_as_many_topics_as_dimensions_lose_nothing(kind: type) -> None:
    model = kind(n_topics=8, random_state=0).fit(COUNTS)
    assert np.allclose(model.inverse_transform(model.transform(COUNTS)), COUNTS)
    if kind is LSA:
        assert np.allclose(model.inverse_transform(model.transform(COUNTS, scaled=True), scaled=True), COUNTS)


def test_bags_give_their_terms_back() -> None:
    vocabulary = Vocabulary().fit(TEXTS)
    bags = sparse.csr_matrix(vocabulary.transform(["corn, old corn", ""]))
    bags.data[0] = 0  # an entry that says nothing
    before = bags.copy()
    assert [sorted(terms) for terms in vocabulary.inverse_transform(bags)] == [["old"], []]
    assert (bags != before).nnz == 0
    assert bags.nnz == before.nnz  # the caller's matrix is not touched
    with pytest.raises(DataError, match="X has 3 columns but there are"):
        vocabulary.inverse_transform(np.ones((1, 3)))
    features = NamedFeatures().fit([{"stars": 3, "year": 1998}])
    assert features.inverse_transform(features.transform([{"year": -2}])) == [{"year": -2.0}]


def test_asking_what_is_not_learned_is_the_error_of_both_libraries() -> None:
    for kind in (*TOPICS, Vocabulary, TextVectorizer, Weighting, Index):
        method = "query" if kind is Index else "transform"
        for error in (NotFittedError, DataError, TheirNotFittedError, AttributeError):
            with pytest.raises(error, match=f"this {kind.__name__} is not fitted yet") as raised:
                getattr(kind(), method)([[1]])
        again = pickle.loads(pickle.dumps(raised.value))  # noqa: S301
        assert isinstance(again, TheirNotFittedError)
        assert str(again) == str(raised.value)
    assert not hasattr(TextVectorizer(), "vocabulary_")
    assert not hasattr(LSA(), "n_features_in_")


def test_the_error_of_a_model_that_is_not_fitted_needs_no_scikit_learn() -> None:
    code = "import sys\nfrom textmill.corpus import Vocabulary\nfrom textmill.errors import NotFittedError\n"
    code += "try: Vocabulary().transform(['a'])\nexcept NotFittedError as error: print(error, 'sklearn' in sys.modules)"
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert printed == "this Vocabulary is not fitted yet; call fit, or load a fitted one False\n"


GENERATORS = [lambda: np.random.default_rng(3), lambda: np.random.RandomState(3)]


@pytest.mark.parametrize("kind", TOPICS)
@pytest.mark.parametrize("generator", GENERATORS, ids=["Generator", "RandomState"])
def test_generators_give_the_same_sequence_of_models(kind: Any, generator: Any, tmp_path: Any) -> None:
    def two() -> list[Any]:
        state = generator()
        return [kind(n_topics=3, random_state=state).fit(COUNTS) for _ in range(2)]

    first, second = two(), two()
    for one, other in zip(first, second, strict=True):
        assert one.components_.tobytes() == other.components_.tobytes()
    first[0].save(tmp_path / "model.mill")
    again = load(tmp_path / "model.mill")
    assert again.random_state is None
    assert np.array_equal(again.components_, first[0].components_)


def test_a_generator_moves_on_from_fit_to_fit() -> None:
    state = np.random.default_rng(0)
    seeds = [seed_of(state) for _ in range(3)]
    assert len(set(seeds)) == 3
    assert all(0 <= seed < 2**63 for seed in seeds)
    one, other = (LDA(n_topics=3, random_state=state).fit(COUNTS).components_ for _ in range(2))
    assert not np.allclose(one, other)


@pytest.mark.parametrize("wrong", [-1, 1.5, "7", True, [1]])
def test_other_random_states_are_refused(wrong: Any) -> None:
    for model in (LSA(n_topics=2, random_state=wrong), NMF(n_topics=2, random_state=wrong)):
        with pytest.raises(DataError, match="random_state must be a whole number of at least 0, a generator of NumPy"):
            model.fit(COUNTS)
    with pytest.raises(DataError, match="random_state must be"):
        CoherenceDetector(random_state=wrong).fit(TEXTS)


def test_generators_reach_what_is_no_topic_model() -> None:
    pytest.importorskip("usearch")
    index = Index().fit(np.random.default_rng(0).normal(size=(50, 4)))
    for generator in GENERATORS:
        assert ApproximateIndex(random_state=generator(), n_jobs=1).fit(index).recall_ > 0.9


def test_the_text_of_an_estimator_is_short_and_says_how_much_there_is() -> None:
    text = repr(Vocabulary(stop_words=FUNCTION_WORDS))
    assert (
        text == f"Vocabulary(stop_words=('a', 'able', 'about', 'above', 'according', ... {len(FUNCTION_WORDS)} in all))"
    )
    assert len(repr(TextVectorizer(vocabulary=Vocabulary(stop_words=set(FUNCTION_WORDS))))) < 150
    assert repr(Vocabulary(stop_words=["to", "be"])) == "Vocabulary(stop_words=['to', 'be'])"


def test_vocabularies_are_merged_only_if_long_parameters_are_the_same_to_the_end() -> None:
    words = [f"w{i}" for i in range(20)]

    def counted(connectors: list[str]) -> Vocabulary:
        phrases = Phrases(min_count=1, connectors=connectors).fit(TEXTS)
        return Vocabulary(tokenizer=phrases).fit(TEXTS)

    assert len(counted(words).merge(counted(list(words)))) > 0
    with pytest.raises(DataError, match="use one tokenizer"):
        counted(words).merge(counted([*words[:-1], "other"]))


def test_estimators_are_drawn_in_notebooks() -> None:
    drawn = LSA(n_topics=7, vectorizer=TextVectorizer(vocabulary=Vocabulary(stop_words=FUNCTION_WORDS)))._repr_html_()
    assert "n_topics=7" in drawn
    assert "689 in all" in drawn
    assert "according" in drawn
    assert "yourselves" not in drawn  # the last of the stop words
    pipeline = Pipeline([("words", Vocabulary()), ("topics", LSA(n_topics=2))])._repr_html_()
    assert "LSA(n_topics=2)" in pipeline
    fitted = Vocabulary().fit(TEXTS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "Fitted" in fitted._repr_html_()


def test_parameters_that_are_given_are_told_from_defaults_without_comparing_arrays() -> None:
    class Holder(Estimator):
        def __init__(self, *, table: Any = None, words: Any = ()) -> None:
            self.table = table
            self.words = words

    assert repr(Holder(table=np.zeros(2))) == "Holder(table=array([0., 0.]))"
    assert repr(Holder(words=())) == "Holder()"
    assert repr(Holder(words=[])) == "Holder(words=[])"
