"""The classifier: any loss for two classes, one-vs-rest, or all classes together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from .. import _spec
from .._one_vs_rest import one_vs_rest
from .._solve import solve
from .._validate import choice, nonnegative, weighted_classes
from ..losses import Hinge, Logistic, MulticlassHinge, Softmax, VectorLoss
from ._base import SDCABase, sklearn_warnings

JOINT = {Hinge: MulticlassHinge, Logistic: Softmax}  # what a loss is for all classes together


def _has_probabilities(estimator: SDCAClassifier) -> bool:
    loss = _spec.loss(estimator.loss)
    if not isinstance(loss, (Logistic, Softmax)):
        raise AttributeError(
            f"loss {loss.name!r} says nothing of probabilities: 'logistic' and 'softmax' do"
        )
    return True


class SDCAClassifier(ClassifierMixin, SDCABase):
    """A linear classifier, fitted by Prox-SDCA: fast, and with a proof of how good the fit is.

    It minimises, over w and an intercept beta that is not penalised,

        1 / sum_i s_i  sum_i s_i phi(x_i^T w + beta; y_i) + lam g(w),

    s_i being the product of sample and class weights. `gap_` bounds how far that is from its least
    value.

    Parameters
    ----------
    loss : str or Loss
        "hinge", "smooth_hinge", "squared_hinge", "logistic", or a loss for regression, which sees
        the targets -1 and +1; "multiclass_hinge" and "softmax" are for all classes together.
    reg : str or Regularizer
        "l2", "l1l2", "l1", "qnorm" or "group".
    lam, sigma : float or Unscaled, optional
        The weights of the regulariser, as in `proxsdca.solve`. By default lam is 1 /
        sum(sample_weight), like C = 1 elsewhere; `proxsdca.from_sklearn` translates other
        conventions.
    multi_class : {"ovr", "joint"}
        With more than two classes, one model for each against the rest, or the joint form of the
        loss: "multiclass_hinge" for "hinge", "softmax" for "logistic".
    fit_intercept : bool
    class_weight : dict or "balanced", optional
        A factor for the weights of each class; "balanced" gives every class the same sum.
    tol, eps : float
        Stop when the certified gap is at most tol times the objective, or eps.
    max_iter : int
        The most epochs, for each class where there is a model for each.
    solver, side, order
        As in `proxsdca.solve`.
    random_state : int, RandomState or None
    warm_start : bool
        Whether to start from the last fit, if it was one of a problem like this.
    verbose : int

    Attributes
    ----------
    classes_ : (k,) array
    coef_ : (1, d) or (k, d) array
    intercept_ : (1,) or (k,) array
    dual_coef_ : (n,) or (n, k) array or csr_array
        alpha; it adds up to 0 over the rows where there is an intercept.
    primal_, dual_, gap_, rounding_ : float, or (k,) arrays where there is a model for each class
        The certificate: primal_ is at most gap_ + rounding_ above the least value.
    n_iter_ : int
        The epochs, of the class that took the most.
    history_ : structured array, or a tuple of them
        One record a certificate.
    loss_ : Loss
        The loss that was fitted.
    result_ : Result or OneVsRest
    n_features_in_ : int
    feature_names_in_ : (d,) array
    """

    def __init__(
        self,
        loss: Any = "hinge",
        reg: Any = "l2",
        *,
        lam: Any = None,
        sigma: Any = None,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        class_weight: Any = None,
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
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.eps = eps
        self.max_iter = max_iter
        self.solver = solver
        self.side = side
        self.order = order
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SDCAClassifier:
        """Fit the model.

        Parameters
        ----------
        X : (n, d) array_like or sparse
        y : (n,) array_like
            Labels of at least two kinds.
        sample_weight : (n,) array_like, optional

        Returns
        -------
        self
        """
        X, y = self._validated(X, y)
        target = self._encoded(y)
        weight = self._class_weights(target, self._weights(sample_weight, X))
        self._fit(X, target, weight)
        return self

    def _class_weights(self, target: np.ndarray, weight: np.ndarray | None) -> np.ndarray | None:
        """sample_weight times class_weight."""
        if self.class_weight is None:
            return weight
        k = len(self.classes_)
        if isinstance(self.class_weight, str):
            choice("class_weight", self.class_weight, ("balanced",))
            share = np.bincount(target, weight, k)
            factors = share.sum() / (k * np.where(share > 0, share, 1.0))
        else:
            factors = self._named_weights()
        found: np.ndarray = factors[target]
        return found if weight is None else found * weight

    def _named_weights(self) -> np.ndarray:
        """The weight of each class by its name, 1 where it is not named."""
        given, labels = self.class_weight, self.classes_.tolist()
        if not isinstance(given, Mapping):
            raise TypeError(f"class_weight = {given!r}: a dict, 'balanced' or None is needed")
        missing = [label for label in labels if label not in given]
        if missing and len(labels) - len(missing) != len(given):
            raise ValueError(f"The classes, {missing}, are not in class_weight")
        return np.array([nonnegative(f"class_weight[{c!r}]", given.get(c, 1.0)) for c in labels])

    def _loss(self) -> Any:
        """The loss for as many classes as there are."""
        loss = _spec.loss(self.loss)
        if not isinstance(loss, VectorLoss) and loss.target_min > -1:
            raise ValueError(f"loss = {loss.name!r} is for numbers: SDCARegressor has it")
        multi_class = choice("multi_class", self.multi_class, ("ovr", "joint"))
        if multi_class == "ovr" or len(self.classes_) == 2 or isinstance(loss, VectorLoss):
            return loss
        if type(loss) not in JOINT:
            raise ValueError(
                f"multi_class = 'joint': loss {loss.name!r} has no form for all classes together; "
                "'hinge' and 'logistic' have"
            )
        return JOINT[type(loss)]()

    def _fit(self, X: Any, target: np.ndarray, weight: np.ndarray | None, **other: Any) -> None:
        """Fit the classes' numbers, with these arguments of `solve` instead of the parameters'."""
        loss = self._loss()
        if self.fit_intercept and (
            isinstance(loss, Softmax) or getattr(loss, "classification", False)
        ):
            weighted_classes(loss, target, weight, self.classes_)
        start = self._previous(loss, target, weight)
        arguments = self._arguments(len(target), weight, loss=loss, warm_start=start, **other)
        with sklearn_warnings():
            if isinstance(loss, VectorLoss) or len(self.classes_) == 2:
                found: Any = solve(X, self._targets(loss, target), **arguments)
            else:
                found = one_vs_rest(X, target, keep_alpha=True, **arguments)
        self._keep(found)
        if getattr(loss, "classes", None) is not None:  # which may be more than y has
            self.classes_ = found.classes
        self._take(found.w, found.intercept)

    def _targets(self, loss: Any, target: np.ndarray) -> np.ndarray:
        """What the loss wants for the classes' numbers: labels, those numbers, or -1 and +1."""
        if getattr(loss, "classes", None) is not None:
            labels: np.ndarray = self.classes_[target]
            return labels
        if isinstance(loss, VectorLoss) or loss.classification:
            return target
        return 2.0 * target - 1

    def _take(self, w: np.ndarray, intercept: Any) -> None:
        """coef_ and intercept_ of w; two columns for two classes become one."""
        w, intercept = np.atleast_2d(w.T), np.atleast_1d(np.asarray(intercept, float))
        if len(w) == 2 == len(self.classes_):
            w = w[1:] - w[:1]
            intercept = intercept[1:] - intercept[:1] if len(intercept) == 2 else np.zeros(1)
        self.coef_ = np.array(w)
        self.intercept_ = np.array(np.broadcast_to(intercept, len(w)))

    def decision_function(self, X: Any) -> np.ndarray:
        """The margins: (n,) for two classes, (n, k) for more.

        Parameters
        ----------
        X : (n, d) array_like or sparse
        """
        z = self._margins(X)
        return z[:, 0] if z.shape[1] == 1 else z

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row of X.

        Parameters
        ----------
        X : (n, d) array_like or sparse
        """
        z = self.decision_function(X)
        found: np.ndarray = self.classes_[z.argmax(axis=1) if z.ndim == 2 else (z > 0).astype(int)]
        return found

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, (n, k), for the losses "logistic" and "softmax".

        Parameters
        ----------
        X : (n, d) array_like or sparse
        """
        z = self.decision_function(X)
        if z.ndim == 1:
            return np.column_stack([expit(-z), expit(z)])
        if not isinstance(self.loss_, Softmax):  # each class by itself, scaled to add up to 1
            z = log_expit(z)
        p: np.ndarray = softmax(z, axis=1)
        return p

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of `predict_proba`.

        Parameters
        ----------
        X : (n, d) array_like or sparse
        """
        with np.errstate(divide="ignore"):
            logs: np.ndarray = np.log(self.predict_proba(X))
        return logs
