"""An oracle of one's own: bipartite matching, through scipy's assignment solver.

Each example has m items on the left and m on the right, and p features x[a, b] for every pair. A
label is a permutation: item a goes with item label[a]. psi(x, label) is the sum of the features of
the pairs, the cost of a label is how many pairs are wrong, and as both add up over pairs, the worst
label is an assignment problem.

    python matching.py
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from proxsdca import structured


class Matching:
    """x[i] is (m_i, m_i, p), y[i] a permutation of 0 ... m_i - 1."""

    def __init__(self, x: list[np.ndarray], y: list[np.ndarray]) -> None:
        self.x, self.y = x, y
        self.n, self.d = len(x), x[0].shape[2]

    def argmax(self, i, w):
        """The permutation with the largest cost plus score."""
        wrong = np.ones(self.x[i].shape[:2])
        wrong[np.arange(len(wrong)), self.y[i]] = 0
        _, label = linear_sum_assignment(wrong + self.x[i] @ w, maximize=True)
        return (*self.features(i, label), label)

    def features(self, i, label):
        """psi(x_i, y_i) - psi(x_i, label), dense here, and the cost."""
        xi = self.psi(i, self.y[i]) - self.psi(i, label)
        return (np.arange(self.d), xi), float(np.sum(label != self.y[i]))

    def radius(self, i):
        """A bound on |psi(x_i, label)|_2: the longest pair, m times."""
        return len(self.y[i]) * float(np.linalg.norm(self.x[i], axis=2).max())

    def psi(self, i, label):
        return self.x[i][np.arange(len(label)), label].sum(axis=0)

    def decode(self, w, x):
        """The permutation with the largest score, for each of new examples."""
        return [linear_sum_assignment(pairs @ w, maximize=True)[1] for pairs in x]


def made_up(n: int, seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Points on the left are moved and shuffled to the right; pairs say how far they are apart."""
    rng = np.random.default_rng(seed)
    x, y = [], []
    for _ in range(n):
        m = int(rng.integers(4, 9))
        left, label = rng.normal(size=(m, 3)), rng.permutation(m)
        right = np.empty_like(left)
        # the third coordinate is noise: the model has to learn not to look at it
        right[label] = left + rng.normal(size=(m, 3)) * [0.3, 0.3, 2.0]
        x.append(-((left[:, None] - right[None]) ** 2))
        y.append(label)
    return x, y


def main() -> None:
    oracle = Matching(*made_up(200, seed=0))
    result = structured.solve(oracle, lam=1e-3, verbose=1)
    print(result.summary())
    x, y = made_up(200, seed=1)
    for name, w in (("plain distance", np.ones(oracle.d)), ("learnt", result.w)):
        found = oracle.decode(w, x)
        wrong = np.mean(np.concatenate(found) != np.concatenate(y))
        print(f"{name:15s} w = {np.round(w, 2)}: {100 * wrong:.1f} % of new pairs are wrong")


if __name__ == "__main__":
    main()
