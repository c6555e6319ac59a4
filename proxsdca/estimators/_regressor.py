"""The regressor."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from .. import _spec
from .._solve import solve
from ..losses import Poisson, VectorLoss
from ._base import SDCABase, sklearn_warnings


class SDCARegressor(RegressorMixin, SDCABase):
    """A linear regression, fitted by Prox-SDCA: fast, and with a proof of how good the fit is.

    It minimises, over w and an intercept beta that is not penalised,

        1 / sum_i s_i  sum_i s_i phi(x_i^T w + beta; y_i) + lam g(w).

    Parameters
    ----------
    loss : str or Loss
        "squared", "huber", "absolute", "quantile", "epsilon_insensitive", "poisson", or an object
        of `proxsdca.losses` with parameters of its own.
    reg : str or Regularizer
        "l2", "l1l2", "l1", "qnorm" or "group".
    lam, sigma : float or Unscaled, optional
        The weights of the regulariser, as in `proxsdca.solve`.
    fit_intercept, tol, eps, max_iter, solver, side, order, random_state, warm_start, verbose
        As in `SDCAClassifier`.

    Attributes
    ----------
    coef_ : (d,) array
    intercept_ : float
    dual_coef_ : (n,) array
        alpha; it adds up to 0 where there is an intercept.
    primal_, dual_, gap_, rounding_ : float
        The certificate: primal_ is at most gap_ + rounding_ above the least value.
    n_iter_ : int
        The epochs.
    history_ : structured array
        One record a certificate.
    loss_ : Loss
        The loss that was fitted.
    result_ : Result
    n_features_in_ : int
    feature_names_in_ : (d,) array
    """

    def __init__(
        self,
        loss: Any = "squared",
        reg: Any = "l2",
        *,
        lam: Any = None,
        sigma: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-4,
        eps: float | None = None,
        max_iter: int = 10_000,
        solver: Any = "auto",
        side: str = "auto",
        order: str = "permutation",
        random_state: Any = 0,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.reg = reg
        self.lam = lam
        self.sigma = sigma
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.eps = eps
        self.max_iter = max_iter
        self.solver = solver
        self.side = side
        self.order = order
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SDCARegressor:
        """Fit the model.

        Parameters
        ----------
        X : (n, d) array_like or sparse
        y : (n,) array_like
        sample_weight : (n,) array_like, optional

        Returns
        -------
        self
        """
        X, y = self._validated(X, y, y_numeric=True)
        self._fit(X, y, self._weights(sample_weight, X))
        return self

    def _loss(self) -> Any:
        loss = _spec.loss(self.loss)
        if isinstance(loss, VectorLoss) or loss.classification:
            raise ValueError(f"loss = {loss.name!r} is for classes: SDCAClassifier has it")
        return loss

    def _fit(self, X: Any, y: np.ndarray, weight: np.ndarray | None, **other: Any) -> None:
        """Fit, with these arguments of `solve` instead of the parameters'."""
        loss = self._loss()
        start = self._previous(loss, y, weight)
        arguments = self._arguments(len(y), weight, loss=loss, warm_start=start, **other)
        with sklearn_warnings():
            found = solve(X, y, **arguments)
        self._keep(found)
        self._take(found.w, found.intercept)

    def _take(self, w: np.ndarray, intercept: Any) -> None:
        self.coef_, self.intercept_ = np.array(w), float(intercept)

    def predict(self, X: Any) -> np.ndarray:
        """X coef_ + intercept_, or exp of it for "poisson".

        Parameters
        ----------
        X : (n, d) array_like or sparse
        """
        z = self._margins(X)
        z = z[:, 0] if z.ndim == 2 else z  # coef_ has a row once it is sparse
        with np.errstate(over="ignore"):
            return np.exp(z) if isinstance(self.loss_, Poisson) else z

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        loss = self.loss
        tags.target_tags.positive_only = loss == "poisson" or isinstance(loss, Poisson)
        return tags
