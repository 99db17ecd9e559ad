"""Classes by public name: what a file may name, and what it may not."""

import subprocess
import sys

import pytest

from textmill.errors import DataError, ModelFileError
from textmill.model.names import class_name, find_class


def test_public_models_are_found_by_the_name_they_are_saved_under(toys):
    assert class_name(toys.Bayes) == "toys.Bayes"
    assert find_class("toys.Bayes") is toys.Bayes


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Bayes",
        ".Bayes",
        "toys.",
        "toys.Shy",  # not in __all__
        "toys.bayes",
        "toys.Bayes.fit",
        "toys.Bayes\n",
        "toys..Bayes",
        "toys.__class__",
        "toys.__all__",
        "_native.Thing",
        "no_such_module.Thing",
        "os.Popen",
        "subprocess.Popen",
        "../toys.Bayes",
        "textmill.toys.Bayes",
        "model.base.os.Thing",
        "töys.Bayes",
        "x" * 1_000_000 + ".Y",
    ],
)
def test_other_names_are_refused_on_one_short_line(name):
    with pytest.raises(ModelFileError, match=r"which this textmill does not have; upgrade textmill") as fault:
        find_class(name)
    assert len(str(fault.value)) < 200
    assert "\n" not in str(fault.value)


def test_the_shortest_public_name_is_used(toys, monkeypatch):
    inner = type(toys)("textmill.toys.deep")
    inner.__all__ = ["Bayes"]
    inner.Bayes = toys.Bayes
    monkeypatch.setitem(sys.modules, "textmill.toys.deep", inner)
    monkeypatch.setattr(toys.Bayes, "__module__", "textmill.toys.deep")
    assert class_name(toys.Bayes) == "toys.Bayes"
    toys.__all__.remove("Bayes")
    assert class_name(toys.Bayes) == "toys.deep.Bayes"


def test_classes_outside_textmill_have_no_name(toys):
    for cls in (toys.Shy, type("Mine", (toys.Bayes,), {"__module__": __name__}), dict):
        with pytest.raises(DataError, match="no public class of textmill"):
            class_name(cls)


def test_a_class_of_the_same_name_is_not_taken_for_the_public_one(toys):
    with pytest.raises(DataError, match="no public class"):
        class_name(type("Bayes", (toys.Words,), {"__module__": "textmill.toys"}))


def test_a_hostile_name_imports_nothing_outside_textmill():
    code = (
        "import sys\n"
        "from textmill.model.names import find_class\n"
        "before = set(sys.modules)\n"
        "for name in ['antigravity.A', 'this.Zen', 'os.path.A', '__main__.A', 'sqlite3.Connection', 'turtle.Pen']:\n"
        "    try: find_class(name)\n"
        "    except Exception as fault: assert type(fault).__name__ == 'ModelFileError'\n"
        "print(sorted(set(sys.modules) - before))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
