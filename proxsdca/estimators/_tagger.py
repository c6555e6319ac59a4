"""The sequence tagger: linear chains by the structured hinge."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from .. import _validate, structured
from ..oracles import Chain
from ..oracles._chain import best_labels
from ._base import SDCABase, scaled, sklearn_warnings


def _positions(lengths: np.ndarray, sequences: np.ndarray) -> np.ndarray:
    """The rows of the given sequences."""
    ends = np.cumsum(lengths)
    parts = [np.arange(ends[i] - lengths[i], ends[i]) for i in sequences]
    return np.concatenate(parts) if parts else np.empty(0, np.intp)


class SDCASequenceTagger(ClassifierMixin, SDCABase):
    """A tagger of sequences, a chain fitted by Prox-SDCA with the structured hinge.

    A sequence of T positions is scored by sum_t x_t^T w_{y_t}, the weights of the transitions from
    y_t to y_{t+1}, and those of the first and of the last label.

    Parameters
    ----------
    reg : str or Regularizer
        "l2" or "l1l2".
    lam, sigma : float or Unscaled, optional
        As in `proxsdca.structured.solve`; by default lam is 1 over the number of sequences.
    normalize : bool
        Whether the cost of a labelling is the share of wrong positions, not their number.
    tol, eps, max_iter, order, random_state, verbose
        As in `SDCAClassifier`; an epoch has a call of Viterbi's algorithm for each sequence.

    Attributes
    ----------
    classes_ : (k,) array
    coef_ : (k, p) array
    transitions_ : (k, k) array
        From the label of a position, by rows, to that of the next one.
    start_, end_ : (k,) array
    primal_, dual_, gap_, rounding_, n_iter_, history_, n_features_in_, feature_names_in_
        As in `SDCAClassifier`.
    """

    def __init__(
        self,
        reg: Any = "l2",
        *,
        lam: Any = None,
        sigma: Any = None,
        normalize: bool = False,
        tol: float = 1e-3,
        eps: float | None = None,
        max_iter: int = 10_000,
        order: str = "permutation",
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.reg = reg
        self.lam = lam
        self.sigma = sigma
        self.normalize = normalize
        self.tol = tol
        self.eps = eps
        self.max_iter = max_iter
        self.order = order
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, lengths: Any = None) -> SDCASequenceTagger:
        """Fit the model.

        Parameters
        ----------
        X : (positions, p) array_like or sparse
            The features of all positions, sequence after sequence.
        y : (positions,) array_like
            Their labels.
        lengths : (n,) array_like of int, optional
            The length of each sequence; by default each position is one by itself.

        Returns
        -------
        self
        """
        X, y, lengths = self._sequences(X, y, lengths)
        self._fit(X, y, lengths)
        return self

    def _sequences(self, X: Any, y: Any, lengths: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        X, y = self._validated(X, y)
        self._encoded(y)
        return X, y, self._lengths(lengths, len(y))

    def _lengths(self, lengths: Any, n: int) -> np.ndarray:
        if lengths is None:
            return np.ones(n, np.intp)
        return _validate.lengths("lengths", lengths, n)

    def _solve(self, oracle: Chain, lam: Any, start: Any = None) -> structured.StructuredResult:
        n = len(oracle.lengths)
        with sklearn_warnings():
            return structured.solve(
                oracle, scaled(lam, n, n), self.reg, sigma=scaled(self.sigma, n, n), tol=self.tol,
                eps=self.eps, max_epochs=self.max_iter, order=self.order, seed=self._seed(),
                warm_start=start, verbose=self.verbose,
            )  # fmt: skip

    def _chain(self, X: Any, y: np.ndarray, lengths: np.ndarray) -> Chain:
        return Chain(X, y, lengths, classes=self.classes_, normalize=self.normalize)

    def _fit(self, X: Any, y: np.ndarray, lengths: np.ndarray) -> None:
        oracle = self._chain(X, y, lengths)
        found = self._solve(oracle, self._lam())
        self._keep_certificate(found)
        self._take(oracle, found.w)

    def _lam(self) -> Any:
        return self.lam

    def _take(self, oracle: Chain, w: np.ndarray) -> None:
        parts = oracle.parts(w)
        self.coef_ = np.array(parts.unary.T)
        self.transitions_, self.start_, self.end_ = (
            np.array(part) for part in (parts.transitions, parts.start, parts.end)
        )

    def predict(self, X: Any, lengths: Any = None) -> np.ndarray:
        """The label of each position: those of a sequence have the largest score together.

        Parameters
        ----------
        X : (positions, p) array_like or sparse
        lengths : (n,) array_like of int, optional
            As in `fit`.
        """
        check_is_fitted(self)
        X = self._features(X)
        coef = self.coef_.toarray() if hasattr(self.coef_, "toarray") else self.coef_
        w = np.concatenate([coef.T.ravel(), self.transitions_.ravel(), self.start_, self.end_])
        sizes = self._lengths(lengths, X.shape[0])
        labels, _ = best_labels(w, X, sizes, len(self.classes_))
        found: np.ndarray = self.classes_[labels]
        return found

    def score(self, X: Any, y: Any, lengths: Any = None) -> float:
        """The share of positions whose label is right.

        Parameters
        ----------
        X, y, lengths
            As in `fit`.
        """
        return float(np.mean(self.predict(X, lengths) == np.asarray(y)))


class SDCASequenceTaggerCV(SDCASequenceTagger):
    """`SDCASequenceTagger` with lam chosen by cross-validation along a path.

    Parameters
    ----------
    reg, sigma, normalize, tol, eps, max_iter, order, random_state, verbose
        As in `SDCASequenceTagger`.
    lams : array_like, optional
        The lams to choose from; by default `num` of them from 100 to 0.1, divided by the number of
        sequences.
    num : int
    cv : int, splitter or iterable, optional
        The folds, over sequences.
    n_jobs : int, optional
        How many folds are solved at a time, in threads.

    Attributes
    ----------
    lam_, lams_
        The value that was chosen, and those that there were.
    scores_ : (m, folds) array
        The share of positions that are right, for each value on each fold.
    """

    def __init__(
        self,
        reg: Any = "l2",
        *,
        lams: Any = None,
        num: int = 5,
        sigma: Any = None,
        normalize: bool = False,
        cv: Any = None,
        n_jobs: int | None = None,
        tol: float = 1e-3,
        eps: float | None = None,
        max_iter: int = 10_000,
        order: str = "permutation",
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            reg, sigma=sigma, normalize=normalize, tol=tol, eps=eps, max_iter=max_iter,
            order=order, random_state=random_state, verbose=verbose,
        )  # fmt: skip
        del self.lam
        self.lams = lams
        self.num = num
        self.cv = cv
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, lengths: Any = None) -> SDCASequenceTaggerCV:
        """Choose lam, and fit with it.

        Parameters
        ----------
        X, y, lengths
            As in `SDCASequenceTagger.fit`.

        Returns
        -------
        self
        """
        X, y, sizes = self._sequences(X, y, lengths)
        if hasattr(X, "tocsr"):
            X = X.tocsr()
        if self.lams is None:
            self.lams_ = np.geomspace(100.0, 0.1, _validate.count("num", self.num, 1)) / len(sizes)
        else:
            self.lams_ = np.sort(_validate.positives("lams", self.lams))[::-1]
        folds = check_cv(self.cv).split(sizes)
        scores = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._fold)(X, y, sizes, train, test) for train, test in folds
        )
        self.scores_ = np.column_stack(scores)
        self.lam_ = float(self.lams_[int(self.scores_.mean(axis=1).argmax())])
        self._fit(X, y, sizes)
        return self

    def _lam(self) -> Any:
        return self.lam_

    def _fold(self, X: Any, y: Any, sizes: np.ndarray, train: Any, test: Any) -> list[float]:
        """The score of each lam on the sequences that were left out."""
        rows, left_out = _positions(sizes, train), _positions(sizes, test)
        oracle = self._chain(X[rows], y[rows], sizes[train])
        found, scores = None, []
        for lam in self.lams_.tolist():
            found = self._solve(oracle, lam, found)
            labels, _ = best_labels(found.w, X[left_out], sizes[test], len(self.classes_))
            scores.append(float(np.mean(self.classes_[labels] == y[left_out])))
        return scores
