"""The six rows of the front page: what people do first, ours beside the tool they use, one of them where we lose.

TEXTMILL_DATA=... python -m bench front --publish

Five rows are measured by other subjects, with the settings that make both sides do the same work; the sixth, sentences
scored by a trigram model, stands here. One thread, processor time. `--publish` writes `bench/published/front.json` and
draws `docs/images/speed-light.svg` and `docs/images/speed-dark.svg` from it; `python -m bench --pages` only draws.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from bench import grammar, language, optimizers
from bench._corpora import texts, topical
from bench._front_chart import draw
from bench.harness import Job, Options
from bench.lda import races
from bench.names import matrix_jobs
from textmill.tasks.names.generate import generate_names

__all__ = ["PACKAGES", "draw", "jobs"]

PACKAGES = ["gensim", "python-crfsuite", "rapidfuzz", "lingua-language-detector", "pynini", "kenlm"]


class Pick(NamedTuple):
    """A job of another subject, and what it and its peer are called here."""

    jobs: Callable[[Options], list[Job]]
    job: str
    peer: str
    title: str
    peer_title: str


def _names(options: Options) -> list[Job]:
    names = generate_names(300 if options.quick else 2_700, random_state=1).names
    return matrix_jobs("names", names[: 300 if options.quick else 5_000])


PICKS = (
    Pick(lambda options: races("20 News", *topical(options, "20 News")), "online VB", "gensim LdaModel",
         "50 topics of 10,000 posts (LDA)", "gensim"),
    Pick(optimizers.jobs, "conll2000, L-BFGS", "CRFsuite", "Train a phrase chunker (CRF)", "CRFsuite"),
    Pick(_names, "levenshtein, 5000 x 5000 names, 1 thread", "rapidfuzz cdist", "Compare 25 million pairs of names",
         "RapidFuzz"),
    Pick(language.jobs, "sentences, seconds", "lingua", "Detect the language of sentences", "lingua"),
    Pick(grammar.jobs, "compile 20 rewrite rules, 200 symbols", "Pynini cdrewrite", "Compile 20 rewrite rules",
         "Pynini"),
)  # fmt: skip


def jobs(options: Options) -> list[Job]:
    """The five rows of other subjects under their names of the front page, and the one of this module."""
    return [*(_picked(pick, options) for pick in PICKS), _score_sentences(options)]


def _picked(pick: Pick, options: Options) -> Job:
    found = [job for job in pick.jobs(options) if pick.job in job.name and pick.peer == job.peer_name]
    if not found:
        raise SystemExit(f"front: no job is called '{pick.job}' against {pick.peer}; see PICKS")
    return replace(found[0], name=pick.title, peer_name=pick.peer_title, bar=None, claim="")


def _score_sentences(options: Options) -> Job:
    """Sentences as strings through one ARPA file."""

    @cache
    def sides() -> tuple[Any, Any, list[str]]:
        import kenlm

        from textmill.corpus import Tokenizer, split_sentences
        from textmill.lm import NGramModel, to_arpa

        tokenizer = Tokenizer()
        sentences = [
            " ".join(tokenizer(sentence)) for text in texts(options, "Reuters") for sentence in split_sentences(text)
        ]
        held_out = sentences[::5]
        model = NGramModel(order=3, n_jobs=1).fit([s for i, s in enumerate(sentences) if i % 5])
        with tempfile.TemporaryDirectory() as folder:
            to_arpa(model, f"{folder}/model.arpa")
            return model, kenlm.Model(f"{folder}/model.arpa"), held_out

    def ours() -> float:
        model, _, held_out = sides()
        return float(model.scores(held_out).log_probability.sum())

    def theirs() -> float:
        _, peer, held_out = sides()
        return float(sum(peer.score(sentence) for sentence in held_out))

    def quality() -> str:
        return f"{len(sides()[2])} sentences; log10 probability {ours():.1f}, peer {theirs():.1f}"

    return Job(
        "Score sentences with a trigram model", ours, theirs, "KenLM", quality, figure="processor", prepare=sides
    )
