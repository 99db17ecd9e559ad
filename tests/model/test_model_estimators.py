"""Estimators: the protocol of scikit-learn, judged by scikit-learn itself."""

import os
import subprocess
import sys
from fractions import Fraction

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.validation import check_is_fitted

from textmill.errors import DataError, NotFittedError
from textmill.model import (
    Classifier,
    Estimator,
    Regressor,
    Transformer,
    check_choice,
    check_fitted,
    check_owners,
    check_range,
    cores,
    effective_jobs,
)
from textmill.sequence import OWLQN, SGDL1


class Inner(Estimator):
    def __init__(self, *, depth=1, name="a"):
        self.depth = depth
        self.name = name


class Outer(Transformer):
    def __init__(self, *, first=None, second=None, scale=1.0, table=None):
        self.first = first
        self.second = second
        self.scale = scale
        self.table = table

    def fit(self, X, y=None, shift=0.0):
        self.shift_ = shift
        return self

    def transform(self, X):
        return np.asarray(X, float) * self.scale + self.shift_


class Peer(BaseEstimator):
    """The same parameters on scikit-learn's own base."""

    def __init__(self, *, first=None, second=None, scale=1.0, table=None):
        self.first = first
        self.second = second
        self.scale = scale
        self.table = table


def test_parameters_are_those_of_scikit_learn_nested_and_flat():
    ours, peer = (kind(first=Inner(depth=3), second=Inner, scale=2.0) for kind in (Outer, Peer))
    assert ours.get_params(deep=False).keys() == peer.get_params(deep=False).keys()
    deep, expected = ours.get_params(), peer.get_params()
    assert deep.keys() == expected.keys()
    assert deep["first__depth"] == 3
    assert "second__depth" not in deep  # a class is not an estimator


def test_nested_parameters_are_set_in_an_estimator_given_in_the_same_call():
    outer = Outer()
    assert outer.set_params(first__depth=5, first=Inner(), scale=3.0) is outer
    assert (outer.first.depth, outer.scale) == (5, 3.0)
    assert outer.set_params() is outer


@pytest.mark.parametrize("wrong", [{"sclae": 1}, {"first__dpeth": 1}, {"scale__depth": 1}, {"second__depth": 1}])
def test_unknown_parameters_are_named(wrong):
    with pytest.raises(DataError, match=next(iter(wrong)).rpartition("__")[2]):
        Outer(first=Inner()).set_params(**wrong)


def test_repr_shows_what_is_not_default_and_can_be_evaluated():
    outer = Outer(first=Inner(name="b"), scale=0.5, table=np.arange(3))
    assert repr(outer) == "Outer(first=Inner(name='b'), scale=0.5, table=array([0, 1, 2]))"
    assert repr(Outer()) == "Outer()"
    assert repr(eval(repr(Outer(scale=2.0)))) == "Outer(scale=2.0)"


def test_clone_keeps_parameters_and_forgets_what_was_learned():
    table = np.arange(3)
    outer = Outer(first=Inner(depth=4), table=table).fit([[1.0]])
    copy = clone(outer)
    assert copy.first is not outer.first
    assert copy.first.depth == 4
    assert np.array_equal(copy.table, table)
    assert not hasattr(copy, "shift_")


def test_scikit_learn_s_own_checks_of_parameters_and_tags_pass(toys):
    for estimator in (Inner(), Outer(), toys.Bayes(), toys.Line(), toys.Everything()):
        name = type(estimator).__name__
        for check in (
            estimator_checks.check_get_params_invariance,
            estimator_checks.check_set_params,
            estimator_checks.check_estimator_cloneable,
            estimator_checks.check_estimator_repr,
            estimator_checks.check_no_attributes_set_in_init,
            estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
            estimator_checks.check_estimator_tags_renamed,
            estimator_checks.check_valid_tag_types,
        ):
            check(name, clone(estimator))


def test_tags_say_what_kind_of_estimator_it_is(toys):
    assert is_classifier(toys.Bayes())
    assert not is_regressor(toys.Bayes())
    assert is_regressor(toys.Line())
    assert not is_classifier(toys.Line())
    tags = get_tags(Outer())
    assert tags.transformer_tags is not None
    assert tags.estimator_type is None
    assert tags.input_tags.sparse
    assert not tags.target_tags.required
    assert get_tags(toys.Bayes()).target_tags.required


def blobs(rows=60):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, rows)
    return rng.poisson(np.where(y[:, None] == 0, [6.0, 1.0, 1.0], [1.0, 6.0, 1.0])).astype(float), np.array(
        ["en", "cs"]
    )[y]


def test_pipeline_grid_search_and_cross_validation_work(toys):
    X, y = blobs()
    pipeline = Pipeline([("scale", Outer()), ("bayes", toys.Bayes())])
    search = GridSearchCV(pipeline, {"scale__scale": [1.0, 2.0], "bayes__smoothing": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    assert set(search.predict(X)) == {"en", "cs"}
    assert cross_val_score(toys.Bayes(), X, y, cv=3).min() > 0.8
    numbers = X @ [1.0, 2.0, 3.0]
    assert cross_val_score(toys.Line(), X, numbers, cv=3) == pytest.approx([1.0] * 3)


def test_scikit_learn_knows_whether_a_model_is_fitted(toys):
    X, y = blobs()
    with pytest.raises(ValueError, match="not fitted"):
        check_is_fitted(toys.Bayes())
    check_is_fitted(toys.Bayes().fit(X, y))
    with pytest.raises(ValueError, match="not fitted"):
        check_is_fitted(Outer())
    check_is_fitted(Outer().fit(X))
    check_fitted(Outer().fit(X))


def test_fit_transform_passes_options_to_fit():
    assert Outer(scale=2.0).fit_transform([[1.0]], shift=1.0).tolist() == [[3.0]]


class Fixed:
    def __init__(self, answers):
        self.answers = answers

    def predict(self, X):
        return self.answers


class FixedClassifier(Fixed, Classifier):
    pass


class FixedRegressor(Fixed, Regressor):
    pass


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1))
def test_accuracy_is_that_of_scikit_learn(pairs):
    right, answers = zip(*pairs, strict=True)
    assert FixedClassifier(list(answers)).score(None, list(right)) == accuracy_score(right, answers)


values = st.floats(-1e3, 1e3).map(lambda x: round(x, 3))


@given(st.lists(st.tuples(values, values), min_size=2))
def test_r_squared_is_that_of_scikit_learn(pairs):
    right, answers = zip(*pairs, strict=True)
    assert FixedRegressor(list(answers)).score(None, list(right)) == pytest.approx(r2_score(right, answers), rel=1e-9)


def test_scores_of_other_lengths_or_of_nothing_are_refused():
    for kind in (FixedClassifier, FixedRegressor):
        with pytest.raises(DataError, match="one y a row"):
            kind([1, 2]).score(None, [1])
        with pytest.raises(DataError, match="no rows"):
            kind([]).score(None, [])


@pytest.mark.parametrize(
    ("value", "bounds"),
    [
        (1, {"at_least": 1, "whole": True}),
        (np.int32(5), {"at_least": 1, "at_most": 5, "whole": True}),
        (0.5, {"above": 0, "below": 1}),
        (np.float32(1), {"at_most": 1}),
        (Fraction(1, 2), {"above": 0}),
        (float("inf"), {"above": 0}),
        (-7, {}),
    ],
)
def test_values_within_bounds_pass(value, bounds):
    check_range("x", value, **bounds)


@pytest.mark.parametrize(
    ("value", "bounds", "message"),
    [
        (0, {"at_least": 1, "whole": True}, "topics must be a whole number at least 1, got 0"),
        (2.5, {"at_least": 1, "whole": True}, "topics must be a whole number at least 1, got 2.5"),
        (0, {"above": 0, "at_most": 1}, "topics must be a number above 0 and at most 1, got 0"),
        (1, {"below": 1}, "topics must be a number below 1, got 1"),
        (float("nan"), {}, "topics must be a number, got nan"),
        (True, {"at_least": 0}, "topics must be a number at least 0, got True"),
        ("3", {"at_least": 0}, "topics must be a number at least 0, got '3'"),
        (None, {"at_least": 0}, "topics must be a number at least 0, got None"),
        (1j, {}, "topics must be a number, got 1j"),
    ],
)
def test_values_outside_bounds_are_named_with_the_bounds(value, bounds, message):
    with pytest.raises(DataError) as fault:
        check_range("topics", value, **bounds)
    assert str(fault.value) == message


def test_choices_are_compared_with_their_type():
    check_choice("n", 1, [1, 2])
    for wrong in (True, 1.0, "1", np.arange(2), []):
        with pytest.raises(DataError, match="n must be one of 1, 2, got"):
            check_choice("n", wrong, [1, 2])


@given(st.one_of(st.integers(-40, -1), st.integers(1, 40)))
def test_jobs_are_counted_as_joblib_counts_them(n_jobs):
    assert effective_jobs(n_jobs) == joblib.effective_n_jobs(n_jobs)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity on this system")
def test_jobs_respect_the_cores_given_to_the_process():
    code = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); import textmill.model as m; "
    code += "print(m.effective_jobs(None), m.effective_jobs(-1), m.effective_jobs(-2), m.effective_jobs(4))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == ["1", "1", "1", "4"]


@pytest.mark.parametrize("wrong", [0, True, False, 1.0, "2", float("nan")])
def test_nonsense_jobs_are_refused(wrong):
    with pytest.raises(DataError, match="n_jobs must be"):
        effective_jobs(wrong)


def test_the_module_does_not_import_scikit_learn():
    code = "import sys, textmill.model; print([m for m in ('sklearn', 'safetensors', 'scipy') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_a_parameter_does_not_make_an_estimator_fitted():
    with pytest.raises(NotFittedError):
        check_fitted(Inner(depth=2))
    inner = Inner()
    inner.weights_ = [1.0]
    check_fitted(inner)


def test_options_of_several_parameters_are_set_in_one_call():
    outer = Outer(first=OWLQN(), second=SGDL1())
    outer.set_params(first__memory=3, second__window=7)
    assert (outer.first, outer.second) == (OWLQN(memory=3), SGDL1(window=7))


def test_the_choice_in_force_says_which_parameters_are_read():
    outer = Outer(first="auto", scale=2.0)
    check_owners(outer, "first", {"scale": ("some",)}, chosen="some")
    with pytest.raises(DataError, match=r"scale=2.0 belongs to first='some', not to 'few'"):
        check_owners(outer, "first", {"scale": ("some",)}, chosen="few")


def test_regressors_need_targets():
    assert get_tags(FixedRegressor([])).target_tags.required


def test_workers_of_joblib_use_the_threads_that_joblib_leaves_them():
    cores = len(os.sched_getaffinity(0))
    with joblib.parallel_config("loky", n_jobs=cores, inner_max_num_threads=1):
        assert joblib.Parallel()(joblib.delayed(effective_jobs)(None) for _ in range(cores)) == [1] * cores


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, 3), ({"OMP_NUM_THREADS": "2"}, 2), ({"OMP_NUM_THREADS": "2,1"}, 2), ({"OMP_NUM_THREADS": "64"}, 3),
        ({"OMP_NUM_THREADS": "many"}, 3), ({"OMP_NUM_THREADS": "0"}, 3), ({"LOKY_MAX_CPU_COUNT": "1"}, 1),
    ],
)  # fmt: skip
def test_jobs_respect_limits_of_the_environment(limits, expected):
    code = "import os; os.sched_getaffinity = lambda pid: range(3); import textmill.model as m; "
    code += "os.environ['OMP_NUM_THREADS'] = '1'; print(m.effective_jobs(None), m.effective_jobs(5))"
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"} | limits
    said = subprocess.check_output([sys.executable, "-c", code], text=True, env=environment)
    assert said.split() == [str(expected), "5"]


@pytest.mark.parametrize(
    ("entries", "files", "expected"),
    [
        ("0::/", {"cpu.max": "150000 100000"}, 2),
        ("0::/", {"cpu.max": "max 100000"}, 6),
        ("0::/", {"cpu.max": "20000 100000"}, 1),
        ("0::/a/b", {"cpu.max": "max 100000", "a/cpu.max": "300000 100000", "a/b/cpu.max": "max 100000"}, 3),
        ("3:cpu,cpuacct:/c\n1:name=x:/", {"cpu,cpuacct/c/cpu.cfs_quota_us": "250000"}, 3),
        ("3:cpu,cpuacct:/c", {"cpu,cpuacct/c/cpu.cfs_quota_us": "-1"}, 6),
        ("0::/../other", {"cpu.max": "broken"}, 6),
    ],
)
def test_jobs_respect_the_quota_of_a_container(monkeypatch, tmp_path, entries, files, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(6))
    monkeypatch.setattr(cores, "_OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(cores, "_GROUPS", tmp_path)
    (tmp_path / "own").write_text(entries)
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content + "\n")
        if name.endswith("quota_us"):
            (tmp_path / name).with_name("cpu.cfs_period_us").write_text("100000\n")
    cores._quota.cache_clear()
    try:
        assert effective_jobs(None) == expected
    finally:
        cores._quota.cache_clear()


def test_jobs_are_the_cores_of_this_process(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(3) if pid == 0 else range(64))
    assert (effective_jobs(None), effective_jobs(-2)) == (3, 2)


class Holder(Estimator):
    """A parameter of any kind."""

    def __init__(self, *, by: object = 0.5, inner: object = None) -> None:
        self.by = by
        self.inner = inner


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (list(range(30)), "[0, 1, 2, 3, 4, ... 30 in all]"),
        (tuple(range(30)), "(0, 1, 2, 3, 4, ... 30 in all)"),
        ({f"w{i:02}" for i in range(30)}, "{'w00', 'w01', 'w02', 'w03', 'w04', ... 30 in all}"),
        (dict.fromkeys(range(30), "x"), "{0: 'x', 1: 'x', 2: 'x', 3: 'x', 4: 'x', ... 30 in all}"),
    ],
)
def test_long_parameters_are_shown_by_their_beginning(value, text):
    assert repr(Holder(inner=value)) == f"Holder(inner={text})"


def test_a_number_equal_to_the_default_is_not_shown():
    assert repr(Holder(by=float("0.50"))) == "Holder()"
    assert repr(Holder(by=Holder())) == "Holder(by=Holder())"
