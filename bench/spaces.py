"""PCA, NMF and PLSA against scikit-learn on 20 Newsgroups, one thread, the loss or likelihood of both beside the time.

Iterations are equal where both iterate alike; where the algorithms differ each runs to the loss that its quality
column shows.

TEXTMILL_DATA=... python -m bench spaces
"""

from __future__ import annotations

from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bench.harness import Job, Options
from textmill.corpus import Vocabulary, read_documents
from textmill.topics import NMF, PCA, PLSA, fold_in
from textmill.vectors import Weighting

PACKAGES = ["scikit-learn", "scipy"]
TOPICS = 50


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    from sklearn import decomposition

    source = options.data / "newsgroups" / "20news.jsonl.gz"
    texts = list(read_documents(source).texts())[: 400 if options.quick else 6000]
    counts = Vocabulary(min_df=5, max_df=0.1).fit_transform(texts).astype(np.float64)
    counts = counts[np.diff(counts.indptr) > 0]
    weights = Weighting(scheme="ntc").fit_transform(counts)
    topics = 10 if options.quick else TOPICS

    def ours_nmf(**settings: Any) -> Any:
        with threadpool_limits(1):
            model = NMF(n_topics=topics, tolerance=0.0, random_state=0, n_jobs=1, **settings)
            return model.fit(counts if settings.get("loss") == "kl" else weights)

    def their_nmf(**settings: Any) -> Any:
        data = counts if "beta_loss" in settings else weights
        with threadpool_limits(1):
            model = decomposition.NMF(topics, init="nndsvda", tol=0, random_state=0, **settings).fit(data)
        return model.reconstruction_err_**2 / (2 if "beta_loss" in settings else 1)

    def losses(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
        return f"loss {ours_nmf(**ours).trace_[-1]:.6g}, peer {their_nmf(**theirs):.6g}"

    def online() -> Any:
        with threadpool_limits(1):
            return NMF(n_topics=topics, chunk_size=1000, max_iter=3, random_state=0, n_jobs=1).fit(weights)

    def their_online() -> Any:
        with threadpool_limits(1):
            return decomposition.MiniBatchNMF(
                topics, init="nndsvda", batch_size=1000, max_iter=3, tol=0, max_no_improvement=None, random_state=0
            ).fit(weights)

    def online_quality() -> str:
        found = []
        for W in (online().components_, their_online().components_):
            H = online()  # both judged by the best weights for their topics
            H.components_ = W
            rows = H.transform(weights)
            fit = np.vdot(W @ W.T, rows.T @ rows) - 2 * np.vdot(weights @ W.T, rows)
            found.append(float(np.vdot(weights.data, weights.data) + fit))
        return f"loss {found[0]:.6g}, peer {found[1]:.6g}"

    def plsa() -> Any:
        with threadpool_limits(1):
            model = PLSA(n_topics=topics, max_iter=40, tolerance=0.0, init="nndsvd", random_state=0, n_jobs=1)
            model.fit(counts)
        return model

    def plsa_quality() -> str:
        length = np.asarray(counts.sum(axis=1)).ravel()
        constant = (counts.data * np.log(counts.data)).sum() - (length * np.log(length)).sum()
        theirs = their_nmf(solver="mu", beta_loss="kullback-leibler", max_iter=50)
        return f"KL loss {constant - plsa().trace_[-1]:.6g}, peer {theirs:.6g}"

    phi = np.ascontiguousarray(plsa().components_.T)
    fixed = decomposition.NMF(
        topics, solver="mu", beta_loss="kullback-leibler", init="nndsvda", max_iter=2, random_state=0
    )
    fixed.fit(counts[:200])
    fixed.components_ = phi.T + 1e-12
    fixed.set_params(max_iter=100, tol=1e-4)

    def folded() -> Any:
        return fold_in(counts, phi, tolerance=1e-3, n_jobs=1)

    def folded_quality() -> str:
        with threadpool_limits(1):
            theta = fixed.transform(counts)
        theta /= np.maximum(theta.sum(axis=1, keepdims=True), 1e-300)
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        p = np.einsum("ek,ek->e", theta[rows], phi[counts.indices])
        there = p > 0
        total = counts.data[there].sum()
        ours = folded()
        theirs = counts.data[there] @ np.log(p[there])
        return f"nats per word {ours.log_likelihood.sum() / total:.4f}, peer {theirs / total:.4f}"

    def pca(algorithm: str) -> Any:
        with threadpool_limits(1):
            return PCA(n_topics=topics, method=algorithm, chunk_size=1000, random_state=0, n_jobs=1).fit(weights)

    def sparse_pca() -> Any:
        with threadpool_limits(1):
            return decomposition.PCA(topics, svd_solver="arpack", random_state=0).fit(weights)

    def truncated() -> Any:
        with threadpool_limits(1):
            return decomposition.TruncatedSVD(topics, n_iter=4, random_state=0).fit(weights)

    def incremental() -> Any:
        with threadpool_limits(1):
            return decomposition.IncrementalPCA(topics, batch_size=1000).fit(weights[: 400 if options.quick else 2000])

    def incremental_ours() -> Any:
        with threadpool_limits(1):
            model = PCA(n_topics=topics, method="one_pass", chunk_size=1000, random_state=0, n_jobs=1)
            return model.fit(weights[: 400 if options.quick else 2000])

    def variance(ours: Any, theirs: Any) -> str:
        shares = [model.explained_variance_ratio_.sum() for model in (ours, theirs)]
        return f"variance explained {shares[0]:.5f}, peer {shares[1]:.5f}"

    cd, kl = {"solver": "cd", "max_iter": 30}, {"solver": "mu", "beta_loss": "kullback-leibler", "max_iter": 50}
    kl_ours = {"loss": "kl", "max_iter": 40}
    return [
        Job("NMF, Euclidean", lambda: ours_nmf(max_iter=16), lambda: their_nmf(**cd), "scikit-learn NMF, cd",
            lambda: losses({"max_iter": 16}, cd)),
        Job("NMF, Kullback-Leibler", lambda: ours_nmf(**kl_ours), lambda: their_nmf(**kl), "scikit-learn NMF, mu",
            lambda: losses(kl_ours, kl)),
        Job("NMF, 3 passes of chunks", online, their_online, "scikit-learn MiniBatchNMF", online_quality),
        Job("PLSA", plsa, lambda: their_nmf(**kl), "scikit-learn NMF, mu, Kullback-Leibler", plsa_quality),
        Job("folding in", folded, lambda: fixed.transform(counts), "scikit-learn NMF.transform, mu", folded_quality),
        Job("PCA, exact", lambda: pca("lanczos"), sparse_pca, "scikit-learn PCA, arpack",
            lambda: variance(pca("lanczos"), sparse_pca())),
        Job("PCA, block Krylov", lambda: pca("krylov"), truncated, "scikit-learn TruncatedSVD, 4 iterations",
            lambda: variance(pca("krylov"), truncated())),
        Job("PCA, one pass, 2,000 documents", incremental_ours, incremental, "scikit-learn IncrementalPCA",
            lambda: variance(incremental_ours(), incremental())),
    ]  # fmt: skip
