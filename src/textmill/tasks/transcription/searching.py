"""Choosing a transcriber by development words: forms, units, orders, smoothing, directions, fields over letters.

No setting goes by language: each choice is tried on the data and the error on development words decides.

    1. Unicode form of the inputs, and notation of the outputs (as they are, opened by NFD, sounds of their script)
    2. order, then smoothing, of pair models of units 1 x m
    3. the parts: pair models of units 1 x m, 2 x 2 and 1 x 1 with insertions, read from the left and from the right,
       and conditional random fields over letters, of several penalties and windows
    4. the weights of the parts (joining.py); what gets none is left out

m is the smallest number of output symbols for a letter with which most training pairs can be aligned, or nearly all, if
that is another number and makes fewer errors: a few odd pairs must not make the units of all others long. Large sets
get fewer trials: choices hardly move there, and each takes longer. Cost: some fifteen pair models and four fields.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from textmill.errors import DataError
from textmill.fst import Alignment
from textmill.lm import PairModel
from textmill.model import effective_jobs
from textmill.progress import track
from textmill.tasks.transcription.joining import join_weights
from textmill.tasks.transcription.letters import LetterCRF
from textmill.tasks.transcription.parts import Notation, Part, candidates_of, hashable, in_form
from textmill.tasks.transcription.scripts import detect_script

__all__ = ["Choice", "Pairs", "Plan", "fit_parts", "plain_plan", "search_plan"]

_LARGE = 200_000  # letters of training words from which on fewer settings are tried
_HUGE = 5_000_000  # and no field over letters
_MOSTLY, _ALMOST_ALL = 0.95, 0.998  # shares of training pairs that units of one letter must be able to align
_USEFUL = 0.9  # share of them that units which are tried beside others must be able to align
_MOST = 6  # output symbols of a letter
# of the search of models that are joined: others bring what one misses
_NARROW: dict[str, dict[str, Any]] = {"pairs": {"width": 7.0}, "letters": {"beam": 30}}
_ORDERS = (4, 5, 6, 8)
_SMOOTHINGS = ("modified-kneser-ney", "kneser-ney", "witten-bell")


class Choice(NamedTuple):
    """One thing that was chosen: what, which, and the error on development words of all that were tried."""

    what: str
    chosen: str
    errors: dict[str, float]


class Pairs(NamedTuple):
    """Words and outputs, of which several may be right: `references` has all right ones of each word."""

    words: list[Any]
    outputs: list[Any]

    def references(self) -> tuple[list[Any], list[frozenset[Any]]]:
        """Distinct words and their right outputs.

        >>> Pairs(["a", "a", "b"], ["x", "y", "z"]).references()[0]
        ['a', 'b']
        """
        right: dict[Any, set[Any]] = {}
        for word, output in zip(self.words, self.outputs, strict=True):
            right.setdefault(hashable(word), set()).add(hashable(output))
        words = [word if isinstance(word, str) else list(word) for word in right]
        return words, [frozenset(outputs) for outputs in right.values()]


class Plan(NamedTuple):
    """What a transcriber is made of: for each part its name, kind, parameters, form and notation."""

    name: str
    kind: str  # "pairs" or "letters"
    parameters: dict[str, Any]
    form: str
    notation: str


def _single_letters(pairs: Pairs, form: str, notation: str, share: float = _MOSTLY) -> dict[str, Any]:
    """Units 1 x m of the smallest m with which this share of pairs can be aligned."""
    return {"max_input": 1, "max_output": _least_units(pairs, form, Notation(notation), share)}


def _least_units(pairs: Pairs, form: str, notation: Notation, share: float) -> int:
    """The smallest m, from 2 to 6, with which this share of pairs can be aligned by units 1 x m."""
    ratios = []
    for word, output in zip(pairs.words, pairs.outputs, strict=True):
        written = notation.write(output)
        if written is not None:
            ratios.append(-(-len(written) // max(1, len(in_form(word, form)))))
    ratios.sort()
    if not ratios:
        return 2
    return max(2, min(_MOST, ratios[min(len(ratios) - 1, int(share * len(ratios)))]))


class _Views:
    """Training pairs in the forms and notations that parts ask for."""

    def __init__(self, pairs: Pairs, n_jobs: int | None) -> None:
        self.pairs, self.n_jobs = pairs, n_jobs
        self._views: dict[tuple[str, str], _Aligned] = {}

    def __call__(self, form: str, notation: str) -> _Aligned:
        key = (form, notation)
        if key not in self._views:
            self._views[key] = _Aligned(self.pairs, form, Notation(notation), self.n_jobs)
        return self._views[key]


class _Aligned:
    """Training pairs in one form and notation, aligned once for each kind of unit."""

    def __init__(self, pairs: Pairs, form: str, notation: Notation, n_jobs: int | None) -> None:
        written = [notation.write(output) for output in pairs.outputs]
        rows = [i for i, symbols in enumerate(written) if symbols is not None]
        if not rows:
            raise DataError(f"no output can be written as {notation.name}; pass another script")
        self.rows = np.array(rows, dtype=np.int64)
        self.unwritten = np.flatnonzero([symbols is None for symbols in written])
        self.words = [in_form(pairs.words[i], form) for i in rows]
        self.outputs = [written[i] for i in rows]
        self.n_jobs = n_jobs
        self._alignments: dict[tuple[Any, ...], list[Alignment | None]] = {}

    def fit(self, model: PairModel | LetterCRF) -> Any:
        """The model, trained on the alignments that suit its units."""
        if isinstance(model, LetterCRF):
            units: tuple[Any, ...] = (1, model.max_output, "none")
        else:
            units = (model.max_input, model.max_output, "none" if model.insertions == "none" else "tokens")
        if units not in self._alignments:
            aligner = PairModel(max_input=units[0], max_output=units[1], insertions=units[2], n_jobs=self.n_jobs)
            self._alignments[units] = aligner.align(self.words, self.outputs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pairs that units cannot align are those of other parts
            model.fit(self.words, self.outputs, alignments=self._alignments[units])
        model.unaligned_ = np.union1d(self.rows[model.unaligned_], self.unwritten)  # numbers of all pairs
        return model


def search_plan(
    train: Pairs, dev: Pairs, *, script: str | None, form: str | None, k: int, n_jobs: int | None
) -> tuple[list[Part], list[Plan], list[float], list[Choice]]:
    """The parts with their plan and weights, and what was chosen by which errors."""
    words, references = dev.references()
    size = sum(len(word) for word in train.words)
    choices: list[Choice] = []
    view = _Views(train, n_jobs)

    def error(one: Part) -> float:
        wrong = sum(best not in right for best, right in zip(one.best(words), references, strict=True))
        return wrong / max(1, len(words))

    def base(some_form: str, notation: str, **parameters: Any) -> Part:
        settings = {**_single_letters(train, some_form, notation), "order": 6, **parameters}
        model = view(some_form, notation).fit(PairModel(**settings, n_jobs=n_jobs))
        return Part("1xm", model, some_form, Notation(notation))

    def choose(what: str, tried: dict[str, float]) -> str:
        chosen = min(tried, key=lambda name: tried[name])  # the first of equals
        choices.append(Choice(what, chosen, tried))
        return chosen

    forms = [form] if form else _forms(train.words)
    notations = _notations(train.outputs, script)
    tried = {f"{f} / {n}": error(base(f, n)) for f in forms for n in notations}
    chosen = choose("form of inputs / notation of outputs", tried)
    best_form, best_notation = chosen.split(" / ")
    large = size > _LARGE
    single = _single_letters(train, best_form, best_notation)
    longer = _single_letters(train, best_form, best_notation, _ALMOST_ALL)
    if longer != single:  # for the sake of a few pairs
        m, more = single["max_output"], longer["max_output"]
        tried = {str(m): tried[chosen], str(more): error(base(best_form, best_notation, max_output=more))}
        single["max_output"] = int(choose("symbols of a letter at most", tried))
    orders = (6, 8) if large else _ORDERS
    order = int(choose("order", {str(n): error(base(best_form, best_notation, **single, order=n)) for n in orders}))
    smoothing = "modified-kneser-ney"
    if not large:
        tried = {s: error(base(best_form, best_notation, **single, order=order, smoothing=s)) for s in _SMOOTHINGS}
        smoothing = choose("smoothing", tried)

    others = [n for n in notations if n != best_notation]
    plans = _plans(train, best_form, best_notation, others, single, order, smoothing, size)
    parts = _fitted(plans, view, n_jobs)
    table, _ = candidates_of(parts, words, k)
    weights = join_weights(table, references)
    errors = {one.name: error(one) for one in parts}
    used = [i for i, weight in enumerate(weights) if weight > 0]
    together = sum(best not in right for best, right in zip(table.best(weights), references, strict=True))
    joined = ", ".join(f"{parts[i].name} {weights[i]:.2f}" for i in used)
    choices.append(Choice("parts and weights", joined, {**errors, "join": together / max(1, len(words))}))
    return [parts[i] for i in used], [plans[i] for i in used], [float(weights[i]) for i in used], choices


def fit_parts(train: Pairs, plans: Sequence[Plan], *, n_jobs: int | None) -> list[Part]:
    """The parts of a plan, trained on pairs."""
    return _fitted(plans, _Views(train, n_jobs), n_jobs)


def plain_plan(train: Pairs, *, script: str | None, form: str | None, order: int) -> list[Plan]:
    """One pair model of units 1 x m."""
    form, notation = form or "NFC", script or "as it is"
    return [Plan("1xm", "pairs", {**_single_letters(train, form, notation), "order": order}, form, notation)]


def _plans(
    train: Pairs,
    form: str,
    notation: str,
    others: list[str],
    single: dict[str, Any],
    order: int,
    smoothing: str,
    size: int,
) -> list[Plan]:
    m = single["max_output"]
    two = max(m - 1, _least_units(train, form, Notation(notation), _USEFUL))
    plans: list[Plan] = []
    units: dict[str, dict[str, Any]] = {
        f"1x{m}": single,
        "2x2": {"max_input": 2, "max_output": two},
        "1x1+ins": {"max_input": 1, "max_output": 1, "insertions": "tokens"},
    }
    grams = {"order": order, "smoothing": smoothing, **_NARROW["pairs"]}
    for direction in ("forward", "backward"):
        for name, unit in units.items():
            plans.append(
                Plan(f"{name} {direction}", "pairs", {**unit, **grams, "direction": direction}, form, notation)
            )
    for other in others[:1]:  # the same names, written otherwise
        unit = _single_letters(train, form, other)
        plans.append(Plan(f"1x{unit['max_output']} {other}", "pairs", {**unit, **grams}, form, other))
    if size <= _LARGE:
        fields: list[dict[str, Any]] = [
            {"l2": 0.3, "window": 4, "longest": 4},
            {"l2": 1.0, "window": 4, "longest": 4},
            {"l2": 0.5, "window": 3, "longest": 3},
            {"l2": 1.0, "window": 6, "longest": 6},
        ]
    elif size <= _HUGE:
        fields = [{"l2": 0.5, "window": 4, "longest": 5, "min_count": 2, "max_iter": 10}]
    else:
        fields = []
    for field in fields:
        name = f"letters {field['window']}/{field['longest']} l2={field['l2']:g}"
        plans.append(Plan(name, "letters", {"max_output": m, **_NARROW["letters"], **field}, form, notation))
    return plans


def _fitted(plans: Sequence[Plan], view: Any, n_jobs: int | None) -> list[Part]:
    """Pair models one by one, on all threads; fields over letters side by side, as each takes one."""

    def model(plan: Plan) -> PairModel | LetterCRF:
        cls: Any = PairModel if plan.kind == "pairs" else LetterCRF
        return cls(**plan.parameters, n_jobs=n_jobs)  # type: ignore[no-any-return]

    parts: dict[int, Part] = {}
    later: list[int] = []
    for i, plan in enumerate(track(plans, "training parts")):
        if plan.kind == "letters":
            later.append(i)
            continue
        parts[i] = Part(plan.name, view(plan.form, plan.notation).fit(model(plan)), plan.form, Notation(plan.notation))
    if later:
        aligned = [view(plans[i].form, plans[i].notation) for i in later]
        with ThreadPoolExecutor(max_workers=effective_jobs(n_jobs)) as pool:
            first = aligned[0].fit(model(plans[later[0]]))  # finds the alignments that the others share
            rest = list(
                pool.map(lambda pair: pair[0].fit(model(plans[pair[1]])), zip(aligned[1:], later[1:], strict=True))
            )
        for i, field in zip(later, [first, *rest], strict=True):
            parts[i] = Part(plans[i].name, field, plans[i].form, Notation(plans[i].notation))
    return [parts[i] for i in range(len(plans))]


def _forms(words: Sequence[Any]) -> list[str]:
    """The Unicode forms that differ on these words."""
    composed = [in_form(word, "NFC") for word in words]
    opened = [in_form(word, "NFD") for word in words]
    return ["NFC"] if composed == opened else ["NFC", "NFD"]


def _notations(outputs: Sequence[Any], script: str | None) -> list[str]:
    if script is not None:
        return [script]
    if not all(isinstance(output, str) for output in outputs):
        return ["as it is"]
    notations = ["as it is"]
    pack = detect_script([str(output) for output in outputs])
    if pack is not None:
        notations.append(pack)
    elif [in_form(o, "NFC") for o in outputs] != [in_form(o, "NFD") for o in outputs]:
        notations.append("NFD")
    return notations
