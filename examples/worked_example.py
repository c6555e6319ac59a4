"""A sparse classification problem, solved and proven solved.

Makes 20,000 documents over 50,000 words, trains a sparse linear classifier
with the hinge loss and an l1 + l2 penalty, and checks the certificate a second
time, from w and alpha alone.
"""

from time import perf_counter

import numpy as np
from scipy import sparse

import proxsdca


def documents(n: int, d: int, words: int, seed: int = 0):
    """Rows of about `words` Zipf-distributed columns, and labels a sparse model explains."""
    rng = np.random.default_rng(seed)
    columns = np.minimum(rng.zipf(1.3, size=n * words) - 1, d - 1)
    rows = np.repeat(np.arange(n), words)
    X = sparse.coo_array((np.ones(n * words), (rows, columns)), shape=(n, d)).tocsr()
    X = X.multiply(1 / np.sqrt(X.multiply(X).sum(axis=1))[:, None]).tocsr()
    truth = np.where(rng.random(d) < 0.2, rng.normal(size=d), 0)
    return X, np.where(X @ truth + 0.1 * rng.normal(size=n) > 0, "yes", "no")


def main() -> None:
    X, y = documents(20_000, 50_000, 60)
    print(f"{X.shape[0]:,} rows, {X.shape[1]:,} columns, {X.nnz:,} nonzeros")
    started = perf_counter()
    result = proxsdca.solve(X, y, loss="hinge", reg="l1l2", tol=1e-4)
    seconds = perf_counter() - started

    print(f"solved in {seconds:.2f} s and {result.epochs} epochs: {result.status.value}")
    print(f"  P(w)     = {result.primal:.10f}")
    print(f"  D(alpha) = {result.dual:.10f}")
    print(f"  gap      = {result.gap:.3e} (+- {result.rounding:.0e}), target {result.target:.3e}")
    print(f"  {np.count_nonzero(result.w):,} of {result.w.size:,} weights are not zero")

    again = proxsdca.certify(
        X, y, result.w, result.alpha,
        loss="hinge", reg="l1l2", lam=result.lam, sigma=result.sigma,
    )  # fmt: skip
    print(f"certified again from w and alpha alone: gap = {again.gap:.3e}")
    accuracy = np.mean(result.classes[(X @ result.w > 0).astype(int)] == y)
    print(f"accuracy on the rows it was trained on: {accuracy:.1%}")
    assert result.converged
    assert again.gap == result.gap


if __name__ == "__main__":
    main()
