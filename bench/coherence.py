"""Detection of false documents on Reuters-21578: our equal error rates beside those of peers' topics, means of 3 seeds.

Protocol: ApteMod split; content words are all training words but function words and numbers; true documents are the
test documents of 80 content words or more; forgeries have the same lengths, pair by pair, sentences come from all test
documents, language models from the training documents; 50 topics, alpha = 1, eta = 0.1, 300 sweeps, EM to 1e-5.

`false alarms` are those of a detector learned from one half of a corpus, on the other half, on four corpora.

The columns are error rates in per cent, lower is better; the peer is a fold-in of its own with the same priors and
sweeps, another score of ours, or the bar of the row.

TEXTMILL_DATA=... python -m bench coherence
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from bench._corpora import texts
from bench.harness import Job, Options
from papers.incoherent_documents.experiments import by_length, by_noise, make_sets
from textmill.corpus import FUNCTION_WORDS, Tokenizer, Vocabulary, read_documents
from textmill.lm import NGramModel, to_arpa
from textmill.tasks.coherence import (
    CoherenceDetector,
    CoherenceScores,
    Content,
    ContentReader,
    Forger,
    MixtureScorer,
    TopicScorer,
    combine,
    entropy,
    equal_error,
    tune_weight,
)
from textmill.tasks.coherence.content import sentences_of
from textmill.topics import LDA, MultinomialMixture

PACKAGES = ["tomotopy", "scikit-learn", "kenlm"]
SEEDS = (0, 1, 2)
Figure = Callable[[], float]
BARS = {"sentence-salad": 13.0, "word-salad": 1.0, "markov": 6.5}


class Setting:
    """Data of the protocol, and models and forgeries of each seed, made when they are first asked for."""

    def __init__(self, options: Options) -> None:
        documents = list(read_documents(options.data / "reuters" / "reuters21578.jsonl.gz"))
        self.topics, self.sweeps = (10, 20) if options.quick else (50, 300)
        self.seeds = SEEDS[:1] if options.quick else SEEDS
        step = 10 if options.quick else 1
        self.train = [one.text for one in documents if one.fields["split"] == "training"][::step]
        self.test = [one.text for one in documents if one.fields["split"] == "test"]
        vocabulary = Vocabulary(tokenizer=Tokenizer(digits="drop"), stop_words=FUNCTION_WORDS).fit(self.train)
        self.reader = ContentReader(vocabulary, FUNCTION_WORDS)
        self.terms = self.reader.terms
        content = self.reader.read(self.test)
        self.true = content.take(content.lengths >= 80)
        self.long = self.true.lengths >= 150
        self.abstracts = abstracts(options.data / "jnlpba" / "train.iob2")

    @cached_property
    def X(self) -> Any:  # noqa: N802
        return self.reader.read(self.train).bags(self.terms)

    @cache  # noqa: B019
    def sets(self, seed: int) -> dict[str, Content]:
        forger = Forger(self.test, self.reader, background=self.train, random_state=seed)
        return make_sets(forger, lengths=self.true.lengths)

    @cache  # noqa: B019
    def scorer(self, model: str, seed: int) -> Any:
        if model == "mixture":
            return MixtureScorer(MultinomialMixture(n_topics=self.topics, random_state=seed).fit(self.X))
        if model == "tomotopy":
            return Tomotopy(self, seed)
        if model == "scikit-learn":
            return Variational(self, seed)
        lda = LDA(
            n_topics=self.topics, method="gibbs", alpha=1.0, eta=0.1, max_iter=self.sweeps, random_state=seed, n_jobs=1
        )
        return TopicScorer(lda.fit(self.X).components_)

    @cache  # noqa: B019
    def scores(self, model: str, seed: int, kind: str) -> CoherenceScores:
        content = self.true if kind == "true" else self.sets(seed)[kind]
        return self.scorer(model, seed).score(content.bags(self.terms))

    def error(self, model: str, kind: str, score: str = "entropy", *, long: bool = False) -> float:
        """Mean equal error rate over the seeds, in per cent."""
        found = []
        for seed in self.seeds:
            true, false = (getattr(self.scores(model, seed, one), score) for one in ("true", kind))
            if long:
                true, false = true[self.long], false[self.long]
            found.append(equal_error(true, false, accept="above" if score == "llpw" else "below").figure)
        return 100 * float(np.mean(found))

    def combined(self, kind: str) -> tuple[float, float, list[float]]:
        """Errors on one half of the documents of the combined score, its weight tuned on the other, and of entropy."""
        found, weights = [], []
        for seed in self.seeds:
            half = np.random.default_rng(seed).random(len(self.true.lengths)) < 0.5
            scores = {one: self.scores("ours", seed, one) for one in ("true", *BARS)}
            weight, _ = tune_weight(part(scores["true"], half), {one: part(scores[one], half) for one in BARS})
            weights.append(weight)
            for w in (weight, 0.0):
                true, false = (combine(scores[one].entropy, scores[one].llpw, w)[~half] for one in ("true", kind))
                found.append(equal_error(true, false).figure)
        return 100 * float(np.mean(found[::2])), 100 * float(np.mean(found[1::2])), weights

    def domains(self, score: str) -> float:
        """True Reuters documents against abstracts of biology."""
        found = []
        for seed in self.seeds:
            theirs = self.scorer("ours", seed).score(self.reader.read(self.abstracts[:500]).bags(self.terms))
            ours = self.scores("ours", seed, "true")
            accept = "above" if score == "llpw" else "below"
            found.append(equal_error(getattr(ours, score), getattr(theirs, score), accept=accept).figure)
        return 100 * float(np.mean(found))

    def foreign(self, kind: str, score: str) -> float:
        """Abstracts against forgeries of abstracts, by the topics of Reuters."""
        found = []
        for seed in self.seeds:
            forger = Forger(self.abstracts[500:], self.reader, background=self.abstracts[500:], random_state=seed)
            true = self.reader.read(self.abstracts[:500])
            false = make_sets(forger, [kind], true.lengths)[kind]
            sides = [self.scorer("ours", seed).score(one.bags(self.terms)) for one in (true, false)]
            accept = "above" if score == "llpw" else "below"
            found.append(equal_error(*(getattr(one, score) for one in sides), accept=accept).figure)
        return 100 * float(np.mean(found))


class Tomotopy:
    """Topics and mixtures of tomotopy: collapsed Gibbs with the same priors, then its own fold-in."""

    def __init__(self, setting: Setting, seed: int) -> None:
        import tomotopy

        self.terms = setting.reader.vocabulary.terms_.to_list()
        self.model = tomotopy.LDAModel(k=setting.topics, alpha=1.0, eta=0.1, seed=seed + 1)
        self.model.optim_interval = 0  # alpha stays, as ours does
        content = setting.reader.read(setting.train)
        for begin, end in pairwise(content.offsets):
            if end > begin:
                self.model.add_doc([self.terms[i] for i in content.ids[begin:end]])
        self.model.train(setting.sweeps, workers=1)

    def score(self, X: Any) -> CoherenceScores:
        documents = []
        for begin, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
            words = [
                self.terms[i]
                for i, n in zip(X.indices[begin:end], X.data[begin:end], strict=True)
                for _ in range(int(n))
            ]
            documents.append(self.model.make_doc(words))
        theta, likelihood = self.model.infer(documents, iterations=100, workers=1)
        words = np.asarray(X.sum(axis=1)).ravel()
        return CoherenceScores(np.array(theta), entropy(theta), np.array(likelihood) / np.log(2) / words, words)


class Variational:
    """Topics and mixtures of scikit-learn: online variational Bayes, 10 passes."""

    def __init__(self, setting: Setting, seed: int) -> None:
        from sklearn.decomposition import LatentDirichletAllocation

        self.model = LatentDirichletAllocation(
            setting.topics, learning_method="online", max_iter=10, batch_size=256, total_samples=len(setting.train),
            random_state=seed,
        ).fit(setting.X)  # fmt: skip

    def score(self, X: Any) -> CoherenceScores:
        theta = self.model.transform(X)
        words = np.asarray(X.sum(axis=1)).ravel()
        return CoherenceScores(theta, entropy(theta), np.zeros(len(words)), words)


def abstracts(path: Path) -> list[str]:
    """The texts of the abstracts of JNLPBA, which begin with a line ###MEDLINE:number."""
    made: list[list[str]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("###MEDLINE"):
            made.append([])
        elif line.strip():
            made[-1].append(line.split("\t")[0])
    return [" ".join(words) for words in made]


def part(scores: CoherenceScores, chosen: Any) -> CoherenceScores:
    return CoherenceScores(scores.theta[chosen], scores.entropy[chosen], scores.llpw[chosen], scores.words[chosen])


def curve(rows: list[Any], kind: str, score: str) -> str:
    return ", ".join(f"{row.case:g}: {100 * row.error:.1f}" for row in rows if (row.kind, row.score) == (kind, score))


@cache
def false_alarms(options: Options, name: str) -> float:
    """Per cent of new documents of a corpus that a detector with its defaults calls incoherent; 5 are asked for."""
    documents = texts(options, name)
    order = np.random.default_rng(0).permutation(len(documents))[:2400]
    learned, new = ([documents[i] for i in part] for part in np.array_split(order, 2))
    verdicts = CoherenceDetector(n_topics=30, max_iter=100).fit(learned).predict(new)
    return 100 * float(np.mean(verdicts[verdicts != "empty"] == "incoherent"))


def jobs(options: Options) -> list[Job]:
    """All rows."""
    setting = Setting(options)

    def rate(
        name: str, ours: Figure, peer: Figure, peer_name: str, quality: Any = None, *, bar: float | None = None
    ) -> Job:
        least = 0.01  # stands for no error at all: ratios need a number
        return Job(
            name,
            lambda: max(ours(), least),
            peer,
            peer_name,
            quality or (lambda: "-"),
            figure="returned",
            label="%",
            bar=bar,
        )

    def apart(kind: str) -> str:
        return f"{setting.error('ours', kind, 'llpw') - setting.error('ours', kind):.1f} points apart, 20 asked"

    made = [
        rate(f"false alarms, {name}", lambda name=name: false_alarms(options, name), lambda: 5.0, "asked for",
             lambda: "half of the documents new")
        for name in ("Reuters", "20 News", "Reviews", "Brown")
    ]  # fmt: skip
    for kind, bar in BARS.items():
        made.append(rate(f"{kind}: entropy", lambda k=kind: setting.error("ours", k), lambda b=bar: b, "bar", bar=1.0))
        for peer in ("tomotopy", "scikit-learn"):
            made.append(
                rate(f"{kind}: entropy", lambda k=kind: setting.error("ours", k),
                     lambda k=kind, p=peer: setting.error(p, k), f"{peer}, its own mixtures", bar=1.0)
            )  # fmt: skip
        made.append(
            rate(f"{kind}: entropy, 150 words or more", lambda k=kind: setting.error("ours", k, long=True),
                 lambda k=kind: 6.0 if k == "sentence-salad" else BARS[k], "bar", bar=1.0)
        )  # fmt: skip
        made.append(
            rate(f"{kind}: entropy against LLPW", lambda k=kind: setting.error("ours", k),
                 lambda k=kind: setting.error("ours", k, "llpw"), "our LLPW",
                 lambda k=kind: apart(k))
        )  # fmt: skip
        made.append(
            rate(f"{kind}: multinomial mixture, entropy", lambda k=kind: setting.error("mixture", k), lambda: 15.0,
                 "at least this", lambda k=kind: f"its LLPW {setting.error('mixture', k, 'llpw'):.1f} %")
        )  # fmt: skip
        made.append(
            rate(f"{kind}: combined score, held-out half", lambda k=kind: setting.combined(k)[0],
                 lambda k=kind: setting.combined(k)[1], "entropy alone",
                 lambda k=kind: f"tuned weights {setting.combined(k)[2]}")
        )  # fmt: skip
        made.append(
            rate(f"{kind}: abstracts, topics of Reuters", lambda k=kind: setting.foreign(k, "entropy"),
                 lambda k=kind: setting.foreign(k, "llpw"), "our LLPW")
        )  # fmt: skip
    made.append(rate("Reuters against abstracts, LLPW", lambda: setting.domains("llpw"), lambda: 1.0, "bar", bar=1.0))

    scorer = setting.scorer("ours", setting.seeds[0])
    sets = setting.sets(setting.seeds[0])
    lengths = by_length(scorer, setting.true, sets, setting.terms, (20, 50, 100, 150, 200))
    noise = by_noise(scorer, setting.true, setting.terms, (0.1, 0.2, 0.3, 0.5, 0.7, 1.0))
    for kind in BARS:
        ends = [row.error * 100 for row in lengths if (row.kind, row.score) == (kind, "entropy")]
        made.append(
            rate(f"{kind}: 200 words against 20", lambda e=ends: e[-1], lambda e=ends: e[0], "20 words",
                 lambda k=kind: f"entropy by words {curve(lengths, k, 'entropy')}")
        )  # fmt: skip
    at_half = {row.score: 100 * row.error for row in noise if row.case == 0.5}
    made.append(
        rate("half of the words noise: LLPW", lambda: at_half["llpw"], lambda: at_half["entropy"], "our entropy",
             lambda: f"LLPW {curve(noise, 'word-noise', 'llpw')}; entropy {curve(noise, 'word-noise', 'entropy')}")
    )  # fmt: skip
    return made + language_models(setting)


def language_models(setting: Setting) -> list[Job]:
    """Scoring sentences by a trigram model: ours and kenlm, from one ARPA file, one thread."""
    import tempfile

    import kenlm

    sentences = [" ".join(Tokenizer()(s)) for text in setting.train for s in sentences_of(text)]
    held_out = [" ".join(Tokenizer()(s)) for text in setting.test for s in sentences_of(text)]
    model = NGramModel(order=3, n_jobs=1).fit(sentences)
    with tempfile.TemporaryDirectory() as folder:
        to_arpa(model, f"{folder}/model.arpa")
        peer = kenlm.Model(f"{folder}/model.arpa")

    def theirs() -> float:
        return sum(peer.score(sentence) for sentence in held_out)

    def ours() -> float:
        return float(model.scores(held_out).log_probability.sum())

    return [Job("score sentences by trigrams", ours, theirs, "kenlm, from Python",
                lambda: f"log10 probability {ours():.1f}, peer {theirs():.1f}")]  # fmt: skip
