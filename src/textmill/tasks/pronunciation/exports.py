r"""A pronunciation model in other forms: rules, C code, a transducer, and from sounds back to spellings.

The transducer is k-local: it reads a letter and says the sounds of the letter k places before, so its states are the
last 2k letters, and at the end of a word what is still unsaid is said. Letters that the tree never tells apart at a
place, or at any later place of theirs, share states: that is what keeps it small. With context k and L letters there
are up to L^2k states; `max_states` refuses before memory does. References: Sproat & Riley (1996), Compilation of
weighted finite-state transducers from decision trees; Jansche (2001), who warns of the size.

`spellings` goes the other way without the transducer: a beam of partial spellings, each checked with the tree as soon
as the letters at its right are there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from textmill.errors import DataError
from textmill.fst import Fst, SymbolTable
from textmill.model import check_fitted
from textmill.tasks.pronunciation.lexicon import as_phonemes
from textmill.tasks.pronunciation.model import PronunciationModel
from textmill.tasks.pronunciation.windows import EncodedWords
from textmill.trees import tree_code

__all__ = ["model_code", "spellings", "to_transducer"]


def to_transducer(model: PronunciationModel, *, max_states: int = 1_000_000) -> Fst:
    """Return the transducer from letters to sounds that says what the tree says.

    Its input symbols are the letters of the model, its output symbols the sounds; exceptions and attributes are not in
    it. `fst.invert` turns it round: from sounds to every spelling that the model pronounces so.

    >>> model = PronunciationModel(context=0).fit(["ab", "ba"], ["A B", "B A"])
    >>> to_transducer(model).num_states
    1
    """
    check_fitted(model)
    if len(model.attributes_):
        raise DataError("a model with attributes has no transducer: its sounds depend on more than letters")
    size, letters = model.context_, len(model.letters_)
    edge, empty = letters, letters + 1
    texts = [model._class_text(name).split() for name in model.tree_.classes_.tolist()]
    kind = _kinds(model)  # by offset from -size: representative of each letter
    machine = Fst("tropical")
    inputs, outputs = SymbolTable(), SymbolTable()
    inputs.add("<eps>", 0)
    outputs.add("<eps>", 0)
    in_label = [inputs.add(letter) for letter in model.letters_.to_list()]
    out_label = {sound: outputs.add(sound) for sound in sorted({s for text in texts for s in text})}
    walk = _Asker(model, edge, empty)

    def shifted(window: tuple[int, ...]) -> tuple[int, ...]:
        """Each letter as what it can still mean, from its new place on."""
        return tuple(kind[at][code] for at, code in enumerate(window))

    # A state: the last 2 size letters, at offsets -size ... size - 1 from the letter that speaks next, and how many of
    # them are letters of the word still to speak.
    begin = (shifted((edge,) * (2 * size)), 0)
    states = {begin: machine.add_state()}
    machine.start = 0
    queue = [begin]
    for window, waiting in queue:  # grows while it is read
        state = states[window, waiting]
        for code in range(letters):
            full = (*window, code)
            said: list[str] = []
            ready = waiting == size
            if ready:  # the letter at offset 0 has all its neighbors
                said = [*walk.gap(full[:-1], texts), *walk.letter(full, texts)]
            target = (shifted(full[1:]) if size else (), min(waiting + 1, size))
            if target not in states:
                if len(states) >= max_states:
                    raise DataError(
                        f"the transducer would have more than {max_states} states: context {size} is too wide for "
                        f"{letters} letters; train with a smaller context, or raise max_states"
                    )
                states[target] = machine.add_state()
                queue.append(target)
            _add_path(machine, state, in_label[code], [out_label[s] for s in said], states[target])
        last = walk.rest(window, waiting, texts)
        if not last:
            machine.set_final(state)
        else:
            end = machine.add_state()
            machine.set_final(end)
            _add_path(machine, state, 0, [out_label[s] for s in last], end)
    machine.input_symbols, machine.output_symbols = inputs, outputs
    return machine


def _add_path(machine: Fst, state: int, ilabel: int, olabels: list[int], target: int) -> None:
    for i, olabel in enumerate(olabels[:-1]):
        between = machine.add_state()
        machine.add_arc(state, ilabel if i == 0 else 0, olabel, None, between)
        state = between
    machine.add_arc(state, ilabel if len(olabels) <= 1 else 0, olabels[-1] if olabels else 0, None, target)


def _kinds(model: PronunciationModel) -> list[list[int]]:
    """For each place of a state, the first letter that means the same there and at all places it moves to later.

    Place i of a state is offset i - size of a letter's window; a letter moves towards the left. As part of the window
    of a gap it stands one offset further right, so both are looked at.
    """
    tree, size = model.tree_, model.context_
    codes = len(model.letters_) + 2
    begin = np.concatenate([[0], np.cumsum(tree.n_seen_, dtype=np.int64)])
    marks: list[list[list[int]]] = [[[] for _ in range(codes)] for _ in range(2 * size + 1)]
    for node in np.flatnonzero(tree.attribute_ >= 0).tolist():
        column = int(tree.attribute_[node])
        branch = dict(
            zip(
                tree.seen_[begin[node] : begin[node + 1]].tolist(),
                tree.branch_[begin[node] : begin[node + 1]].tolist(),
                strict=True,
            )
        )
        for code in range(codes):
            marks[column][code].append(branch.get(code, -1))
    kinds = []
    for place in range(2 * size):
        columns = list(range(min(place + 2, 2 * size + 1)))  # own offset, that in a gap's window, and all further left
        first: dict[tuple[object, ...], int] = {}
        row = []
        for code in range(codes):
            key = (code == codes - 2, *(tuple(marks[c][code]) for c in columns))
            row.append(first.setdefault(key, code))
        kinds.append(row)
    return kinds


class _Asker:
    """The tree, asked for one window at a time; answers are remembered."""

    def __init__(self, model: PronunciationModel, edge: int, empty: int) -> None:
        self.tree, self.size, self.edge, self.empty = model.tree_, model.context_, edge, empty
        self.known: dict[tuple[int, ...], int] = {}
        self.numbers = np.zeros((1, 0))
        self.node = np.empty(1, np.int32)

    def label(self, window: tuple[int, ...]) -> int:
        answer = self.known.get(window)
        if answer is None:
            codes = np.array([window], np.int32)
            self.tree.walker().walk(codes, self.numbers, self.node, 1)
            answer = self.known[window] = int(self.tree.label_[self.node[0]])
        return answer

    def letter(self, full: tuple[int, ...], texts: list[list[str]]) -> list[str]:
        """Sounds of the letter in the middle of 2 size + 1 letters."""
        return texts[self.label(full)]

    def gap(self, around: tuple[int, ...], texts: list[list[str]]) -> list[str]:
        """Sounds of the gap in the middle of 2 size letters."""
        return texts[self.label((*around[: self.size], self.empty, *around[self.size :]))]

    def rest(self, window: tuple[int, ...], waiting: int, texts: list[list[str]]) -> list[str]:
        """What is still to say at the end of a word: `waiting` letters with their gaps, and the last gap."""
        said: list[str] = []
        padded = (*window, *(self.edge,) * (self.size + 1))
        shift = self.size - waiting
        for i in range(waiting):
            at = shift + i
            said += self.gap(padded[at : at + 2 * self.size], texts)
            said += self.letter(padded[at : at + 2 * self.size + 1], texts)
        at = shift + waiting
        return said + self.gap(padded[at : at + 2 * self.size], texts)


def model_code(model: PronunciationModel, name: str = "pronounce") -> str:
    """Return the model as C: `NAME(const int *letters, int n, int *sounds)` fills 2n + 1 numbers of labels.

    >>> "int speak(" in model_code(PronunciationModel(context=0).fit(["ab", "ba"], ["A B", "B A"]), "speak")
    True
    """
    check_fitted(model)
    if len(model.attributes_):
        raise DataError("a model with attributes is not written as C: its sounds depend on more than letters")
    size, letters = model.context_, len(model.letters_)
    return (
        tree_code(model.tree_, name)
        + f"""
/* Letters are positions in {name}_values_0, -1 for any other letter; sounds are positions in {name}_labels. */
static int {name}(const int *letters, int n, int *sounds) {{
  int s, a;
  for (s = 0; s <= 2 * n; ++s) {{
    int codes[{2 * size + 1}];
    const int letter = s / 2, gap = s % 2 == 0;
    for (a = -{size}; a <= {size}; ++a) {{
      const int at = letter + a - (gap && a > 0 ? 1 : 0);
      codes[a + {size}] = a == 0 && gap ? {letters + 1} : at < 0 || at >= n ? {letters} : letters[at];
    }}
    sounds[s] = {name}_label(codes, 0);
  }}
  return 2 * n + 1;
}}
"""
    )


def spellings(
    model: PronunciationModel, phonemes: Sequence[str] | str, k: int = 5, *, beam: int = 400
) -> list[tuple[str, float]]:
    """Return spellings that the model pronounces so, with log weights of their links, best first.

    Spellings grow letter by letter: a letter goes with the next phoneme or with nothing, an inserted phoneme may follow
    it. Links must have been seen in training; more letters than one and a half times the phonemes, plus two, are not
    tried.
    What is returned has been pronounced by the model and says exactly these phonemes.

    >>> model = PronunciationModel(context=0).fit(["ab", "ba"], ["A B", "B A"])
    >>> spellings(model, "B A A")[0][0]
    'baa'
    """
    check_fitted(model)
    if len(model.attributes_):
        raise DataError("a model with attributes cannot be turned round: its sounds depend on more than letters")
    wanted = as_phonemes(phonemes)
    names = model.sounds_.to_list()
    unknown = sorted(set(wanted) - set(names))
    if unknown or not wanted:
        raise DataError(f"the model has no phonemes {unknown}; it has {' '.join(filter(None, names))}")
    number = [names.index(p) for p in wanted]
    links = np.log(np.maximum(np.asarray(model.links_, float), 1e-300))
    letters, n_letters = model.letters_.to_list(), len(model.letters_)
    goes = [np.flatnonzero(links[:n_letters, s] > np.log(1e-7)) for s in range(len(names))]
    # Hypotheses: log weight, letters, phonemes said.
    active: list[tuple[float, tuple[int, ...], int]] = [(0.0, (), 0)]
    finished: dict[tuple[int, ...], float] = {}
    for _ in range(int(1.5 * len(wanted)) + 2):
        grown: dict[tuple[tuple[int, ...], int], float] = {}

        def add(
            weight: float, spelled: tuple[int, ...], said: int, grown: dict[tuple[tuple[int, ...], int], float]
        ) -> None:
            key = (spelled, said)
            if grown.get(key, -np.inf) < weight:
                grown[key] = weight

        for weight, spelled, said in active:
            for code in goes[0].tolist():
                add(weight + links[code, 0], (*spelled, code), said, grown)
            if said == len(wanted):
                continue
            for code in goes[number[said]].tolist():
                own = weight + links[code, number[said]]
                add(own, (*spelled, code), said + 1, grown)
                if said + 1 < len(wanted) and links[n_letters, number[said + 1]] > np.log(1e-7):
                    add(own + links[n_letters, number[said + 1]], (*spelled, code), said + 2, grown)
        ranked = sorted(((w, s, j) for (s, j), w in grown.items()), key=lambda h: (-(h[0] / (len(h[1]) + h[2])), h[1]))
        active = _consistent(model, ranked[: 20 * beam], wanted)[:beam]
        for weight, spelled, said in active:
            if said == len(wanted):
                finished[spelled] = max(weight, finished.get(spelled, -np.inf))
        if not active:
            break
    words = ["".join(letters[code] for code in spelled) for spelled in finished]
    spoken = model._lines(words, None) if words else []
    right = [
        (word, weight)
        for word, weight, line in zip(words, finished.values(), spoken, strict=True)
        if line == " ".join(wanted)
    ]
    return sorted(right, key=lambda one: (-one[1], one[0]))[:k]


def _consistent(
    model: PronunciationModel, hypotheses: list[tuple[float, tuple[int, ...], int]], wanted: tuple[str, ...]
) -> list[tuple[float, tuple[int, ...], int]]:
    """Hypotheses whose letters with all neighbors already say a beginning of what is wanted."""
    if not hypotheses:
        return []
    size = model.context_
    lengths = [len(spelled) for _, spelled, _ in hypotheses]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    flat = np.array([code for _, spelled, _ in hypotheses for code in spelled], np.int32)
    encoded = EncodedWords(offsets, flat)
    labels = model.tree_.label_[model._positions(encoded, None)].tolist()
    texts = [model._class_text(name).split() for name in model.tree_.classes_.tolist()]
    consistent = []
    for hypothesis, begin, length in zip(hypotheses, encoded.positions.tolist(), lengths, strict=False):
        sure = max(2 * (length - size), 0)  # positions whose windows no further letter can change
        said = [p for s in range(sure) for p in texts[labels[begin + s]]]
        if tuple(said) == wanted[: len(said)]:
            consistent.append(hypothesis)
    return consistent
