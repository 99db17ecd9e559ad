"""Functions with known minima, for the tests of optimizers: value and gradient straight from their definitions."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import rosen, rosen_der


class Counted:
    """An objective that counts how often it is asked."""

    def __init__(self, objective):
        self.objective = objective
        self.calls = 0

    def __call__(self, theta):
        self.calls += 1
        return self.objective(theta)


def rosenbrock(theta):
    return float(rosen(theta)), rosen_der(theta)


def quadratic(condition, size, seed=0):
    """Objective 1/2 t'At - b't with eigenvalues from 1 to `condition`, and its minimum."""
    random = np.random.default_rng(seed)
    basis, _ = np.linalg.qr(random.normal(size=(size, size)))
    matrix = (basis * np.logspace(0, np.log10(condition), size)) @ basis.T
    linear = random.normal(size=size)

    def objective(theta):
        product = matrix @ theta
        return float(theta @ product / 2 - linear @ theta), product - linear

    return objective, np.linalg.solve(matrix, linear)


def classification(examples, size, seed):
    """Feature matrix and labels -1, +1 of a noisy linear rule that uses only some of the features."""
    random = np.random.default_rng(seed)
    features = random.normal(size=(examples, size))
    weights = random.normal(size=size) * (random.random(size) < 0.5)
    return features, np.where(features @ weights + random.normal(size=examples) > 0, 1.0, -1.0)


def logistic(features, labels, l2=0.0):
    """Logistic loss, summed over examples, with an L2 penalty."""

    def objective(theta):
        margin = labels * (features @ theta)
        value = np.logaddexp(0, -margin).sum() + l2 / 2 * theta @ theta
        share = np.exp(-np.logaddexp(0, margin))
        return float(value), l2 * theta - features.T @ (labels * share)

    return objective


def split_l1(objective, size, l1):
    """The smooth problem over theta = u - v with u, v >= 0 that has the same minimum as objective + l1 |theta|."""

    def smooth(both):
        value, gradient = objective(both[:size] - both[size:])
        return value + l1 * both.sum(), np.concatenate([gradient + l1, l1 - gradient])

    return smooth


TOY_SEQUENCES = ("ab/00", "cb/11", "abb/000", "cbb/111", "cab/100", "acbb/0111", "bc/01")


def toy_chain_crf(l2):
    """Negative log-likelihood + l2/2 |theta|^2 of a linear-chain CRF on the toy sequences, by listing all paths.

    The 22 weights: letter x label (a, b, c), label pair, letter x label pair; no pair at the first position.
    """
    problems = []
    for text in TOY_SEQUENCES:
        letters, gold = text.split("/")
        paths = list(itertools.product((0, 1), repeat=len(letters)))
        counts = np.zeros((len(paths), 22))
        for row, path in enumerate(paths):
            for t, label in enumerate(path):
                letter = "abc".index(letters[t])
                counts[row, 2 * letter + label] += 1
                if t > 0:
                    pair = 2 * path[t - 1] + label
                    counts[row, 6 + pair] += 1
                    counts[row, 10 + 4 * letter + pair] += 1
        problems.append((counts, paths.index(tuple(int(digit) for digit in gold))))

    def objective(theta):
        value, gradient = l2 / 2 * theta @ theta, l2 * theta
        for counts, gold in problems:
            score = counts @ theta
            log_z = np.logaddexp.reduce(score)
            value += log_z - score[gold]
            gradient = gradient + np.exp(score - log_z) @ counts - counts[gold]
        return float(value), gradient

    return objective
