"""Merging of decompositions: from those of A1 and A2 to that of [g A1, A2].

    direct     (eq. 3.2)        SVD_k of [g U1 S1, U2 S2]
    eigen      (eq. 3.1)        eigenvectors of [g U1 S1, U2 S2] [g U1 S1, U2 S2]^T; m x m, for checks only
    merge_qr   (algorithm 3.1)  Q, R = QR([g U1 S1, U2 S2]); SVD_k of R; U = Q U_R
    merge      (algorithm 3.2)  only what is new in U2 is orthonormalized:

        Z      = U1^T U2
        U2     = U1 Z + U' R                 U' orthonormal, orthogonal to U1
        K S _  = SVD_k of [g S1, Z S2; 0, R S2]
        U      = U1 K1 + U' K2

Written that way, 3.2 has a trap: where U2 lies almost in the span of U1, U2 - U1 Z is rounding noise, and normalized
noise is not orthogonal to U1. `merge` goes by the principal angles between the two spaces instead. With
I - Z^T Z = W diag(sin^2 t) W^T, a direction of U2 whose angle t is not small gives a column of U' by scaling,

    U' W' = (U2 - U1 Z) W' / sin t

which is never formed: U = U1 (K1 - Z T K2) + U2 T K2 with T = W' / sin t. A direction of small angle is formed,
projected away from all others twice ("twice is enough"), and dropped if less than 1e-10 of it is left; so the rank
cannot grow by noise. Probes of U^T U - I watch over the whole stream; beyond 2e-13 U is orthonormalized again.

Where singular values are equal on both sides of the cut, what the first model holds stays.

The factor g (decay) forgets: after t merges chunk i weighs g^(t - i) in A, its square in A A^T.

Cost: 2 m k1 k2 + 2 m (k1 + k2) k for `merge`, 2 m (k1 + k2)^2 + 2 m (k1 + k2) k for `merge_qr`.
Reference: Rehurek (2011), Scalability of Semantic Analysis in Natural Language Processing, section 3.3.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from textmill.arrays import Floats
from textmill.numeric import linalg
from textmill.topics.decomposition import EPS, Decomposition, blas_threads, cut, factored, orthonormal, with_signs

__all__ = ["direct", "eigen", "merge", "merge_qr"]


SMALL_ANGLE = 0.005  # sin^2 t below which a direction is orthogonalized with care: scaling costs 1/sin^2 of precision
NOTHING_LEFT = 1e-10  # length below which what is left of a direction is rounding noise
DRIFT = 2e-13  # of U^T U - I, beyond which U is orthonormalized again
TIE = 1e-13  # of s_1: difference of singular values that are equal but for rounding
TILE = 4096  # rows of U rotated at a time


def merge(
    first: Decomposition,
    second: Decomposition,
    rank: int | None = None,
    *,
    decay: float = 1.0,
    overwrite: bool = False,
) -> Decomposition:
    """Merge by algorithm 3.2; `overwrite` lets the arrays of `first` hold the result.

    >>> first = Decomposition(np.array([[1.0], [0.0], [0.0]]), np.array([2.0]), 1, 4.0)
    >>> second = Decomposition(np.array([[0.5], [0.75**0.5], [0.0]]), np.array([1.0]), 1, 1.0)
    >>> (merge(first, second).s ** 2).round(6).tolist(), merge(first, second, decay=0.5).s.round(6).tolist()
    ([4.302776, 0.697224], [1.224745, 0.707107])
    """
    a, b, s1, s2 = _prepared(first, second, decay)
    if not len(s1) or not len(s2):
        U = (a.U if overwrite else a.U.copy()) if len(s1) else b.U.copy()
        return _finished(U, s1 if len(s1) else s2, rank, a, b, decay)
    k1, k2 = len(s1), len(s2)
    Z = a.U.T @ b.U
    with blas_threads(1):
        squares, W = linalg.eigh(np.eye(k2) - Z.T @ Z, check_finite=False)
    far = squares >= SMALL_ANGLE
    T = W[:, far] / np.sqrt(squares[far])
    near, R = _near_directions(a.U, b.U, Z, T, W[:, ~far])
    f = T.shape[1]
    small = np.zeros((k1 + f + near.shape[1], k1 + k2))
    small[:k1, :k1] = np.diag(s1)
    small[:k1, k1:] = Z * s2
    small[k1 : k1 + f, k1:] = (W[:, far] * np.sqrt(squares[far])).T * s2
    small[k1 + f :, k1:] = (R @ W[:, ~far].T) * s2
    K, s = factored(small)
    r = cut(s, rank, max(a.U.shape[0], k1 + k2))
    _settle_tie(K, s, r, k1)
    K2 = T @ K[k1 : k1 + f, :r]
    K1 = K[:k1, :r] - Z @ K2
    U = _rotated([a.U, b.U, near], [K1, K2, K[k1 + f :, :r]], overwrite)
    return _watched(_finished(U, s, rank, a, b, decay))


def merge_qr(
    first: Decomposition,
    second: Decomposition,
    rank: int | None = None,
    *,
    decay: float = 1.0,
    overwrite: bool = False,
) -> Decomposition:
    """Merge by algorithm 3.1: QR of both side by side; `overwrite` is for exchange with `merge` and does nothing.

    >>> one, two = Decomposition(np.eye(2)[:, :1], np.array([3.0])), Decomposition(np.eye(2)[:, 1:], np.array([4.0]))
    >>> merge_qr(one, two).s.round(9).tolist()
    [4.0, 3.0]
    """
    a, b, s1, s2 = _prepared(first, second, decay)
    with blas_threads(1):
        Q, R = linalg.qr(np.hstack([a.U * s1, b.U * s2]), mode="economic", overwrite_a=True, check_finite=False)
    K, s = factored(R) if R.size else (R, np.zeros(0))
    return _finished(Q @ K[:, : cut(s, rank, Q.shape[0])], s, rank, a, b, decay)


def direct(
    first: Decomposition, second: Decomposition, rank: int | None = None, *, decay: float = 1.0
) -> Decomposition:
    """Merge by equation 3.2: a singular value decomposition of m x (k1 + k2) numbers; for checks.

    >>> one, two = Decomposition(np.eye(2)[:, :1], np.array([3.0])), Decomposition(np.eye(2)[:, 1:], np.array([4.0]))
    >>> direct(one, two).s.round(9).tolist()
    [4.0, 3.0]
    """
    a, b, s1, s2 = _prepared(first, second, decay)
    U, s = factored(np.hstack([a.U * s1, b.U * s2]))
    return _finished(U[:, : cut(s, rank, U.shape[0])], s, rank, a, b, decay)


def eigen(first: Decomposition, second: Decomposition, rank: int | None = None, *, decay: float = 1.0) -> Decomposition:
    """Merge by equation 3.1: eigenvectors of an m x m matrix, whose condition is squared; for checks.

    >>> one, two = Decomposition(np.eye(2)[:, :1], np.array([3.0])), Decomposition(np.eye(2)[:, 1:], np.array([4.0]))
    >>> eigen(one, two).s.round(9).tolist()
    [4.0, 3.0]
    """
    a, b, s1, s2 = _prepared(first, second, decay)
    B = np.hstack([a.U * s1, b.U * s2])
    with blas_threads(1):
        squares, U = linalg.eigh(B @ B.T, check_finite=False)
    s = np.sqrt(np.maximum(squares[::-1], 0.0))
    s[s < np.sqrt(EPS) * s[:1].sum()] = 0.0
    return _finished(U[:, ::-1][:, : cut(s, rank, U.shape[0])], s, rank, a, b, decay)


def _prepared(
    first: Decomposition, second: Decomposition, decay: float
) -> tuple[Decomposition, Decomposition, Floats, Floats]:
    """Both in one vocabulary, and their weighted singular values; none of `first` when all of it is forgotten.

    An array that came from another process may begin at any byte. BLAS does not take those, and NumPy's own products
    are slower and round differently: they are copied first, so that a cluster gives the bytes of one process.
    """
    first, second = (replace(one, U=np.require(one.U, requirements="A")) for one in (first, second))
    terms = max(first.U.shape[0], second.U.shape[0])
    s1 = first.s * decay if decay else first.s[:0]
    first = first if decay else Decomposition(first.U[:, :0], s1, first.documents)
    return first.widened(terms), second.widened(terms), s1, second.s


def _near_directions(U1: Floats, U2: Floats, Z: Floats, T: Floats, W: Floats) -> tuple[Floats, Floats]:
    """N, R with U2 W = (what U1 and U2 T span) + N R, N orthonormal to all that; rank-revealing."""
    if not W.shape[1]:
        return np.zeros((U1.shape[0], 0)), np.zeros((0, 0))
    E = U2 @ W
    E -= U1 @ (Z @ W)
    for _ in range(2):
        in_1 = U1.T @ E
        in_far = T.T @ (U2.T @ E - Z.T @ in_1)
        E -= U1 @ (in_1 - Z @ (T @ in_far))
        E -= U2 @ (T @ in_far)
    with blas_threads(1):
        N, R, order = linalg.qr(E, mode="economic", pivoting=True, overwrite_a=True, check_finite=False)
    left = int(np.count_nonzero(np.abs(np.diag(R)) > NOTHING_LEFT))
    unpermuted = np.empty_like(R[:left])
    unpermuted[:, order] = R[:left]
    N = N[:, :left]
    if left:  # what QR normalized most may lean on U1 again
        in_1 = U1.T @ N
        in_far = T.T @ (U2.T @ N - Z.T @ in_1)
        N = orthonormal(N - U1 @ (in_1 - Z @ (T @ in_far)) - U2 @ (T @ in_far))
    return N, unpermuted


def _settle_tie(K: Floats, s: Floats, r: int, k1: int) -> None:
    """Turn, in place, what has equal singular values on both sides of the cut: what the first model holds stays."""
    if 0 < r < len(s) and s[r - 1] - s[r] <= TIE * s[0]:
        equal = np.abs(s - s[r]) <= TIE * s[0]
        K[:, equal] = K[:, equal] @ np.linalg.svd(K[:k1, equal])[2].T


def _rotated(bases: list[Floats], turns: list[Floats], overwrite: bool) -> Floats:
    """The sum of the products of bases with turns, tile by tile; in the place of the first where that has room."""
    rows, r = bases[0].shape[0], turns[0].shape[1]
    parts = [(basis, turn) for basis, turn in zip(bases, turns, strict=True) if turn.shape[0]]
    out = bases[0] if overwrite and bases[0].shape[1] == r else np.empty((rows, r))
    for start in range(0, rows, TILE):
        tile = slice(start, start + TILE)
        total = parts[0][0][tile] @ parts[0][1]
        for basis, turn in parts[1:]:
            total += basis[tile] @ turn
        out[tile] = total
    return out


def _finished(
    U: Floats, s: Floats, rank: int | None, a: Decomposition, b: Decomposition, decay: float
) -> Decomposition:
    """Cut to the rank, signs fixed, with the account of both and of the cut itself."""
    r = cut(s, rank, max(U.shape[0], len(s)))
    lost = float(s[r]) ** 2 if r < len(s) else 0.0
    weight = decay**2
    return Decomposition(
        with_signs(np.ascontiguousarray(U[:, :r]) if U.shape[1] != r or not U.flags.c_contiguous else U),
        s[:r].copy(),
        a.documents + b.documents,
        weight * a.energy + b.energy,
        weight * a.bound + b.bound + lost,
    )


def _watched(decomposition: Decomposition) -> Decomposition:
    """The same, orthonormalized again if probes show that U has drifted."""
    probes = _probes(decomposition.rank)
    if not decomposition.rank or np.abs(decomposition.U.T @ (decomposition.U @ probes) - probes).max() <= DRIFT:
        return decomposition
    with blas_threads(1):
        Q, R = linalg.qr(decomposition.U, mode="economic", check_finite=False)
    K, s = factored(R * decomposition.s)
    return Decomposition(with_signs(Q @ K), s, decomposition.documents, decomposition.energy, decomposition.bound)


@cache
def _probes(rank: int) -> Floats:
    return np.random.default_rng(0).choice([-1.0, 1.0], size=(rank, 3))
