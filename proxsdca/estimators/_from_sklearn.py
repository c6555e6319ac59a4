"""Estimators of scikit-learn -> ours, with the same objective."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression, Ridge, SGDClassifier
from sklearn.svm import LinearSVC

from .. import losses
from ._base import Unscaled
from ._classifier import SDCAClassifier
from ._regressor import SDCARegressor


def from_sklearn(estimator: Any) -> SDCAClassifier | SDCARegressor:
    """One of our estimators, unfitted, that minimises what one of scikit-learn's does.

    Where n is the number of rows and s_i are the weights, lam and sigma stand beside the weighted
    mean of the losses, so that

    - `C` of LinearSVC and LogisticRegression becomes 1 / (C sum_i s_i),
    - `alpha` of Ridge becomes alpha / sum_i s_i,
    - `alpha` of Lasso and ElasticNet stays as it is,
    - `alpha` of SGDClassifier becomes n alpha / sum_i s_i,

    and `l1_ratio` says which part of it is sigma. Tolerances, numbers of iterations and the like
    are not translated: ours mean something else.

    Parameters
    ----------
    estimator : LinearSVC, LogisticRegression, Lasso, ElasticNet, Ridge or SGDClassifier

    Returns
    -------
    SDCAClassifier or SDCARegressor

    Notes
    -----
    Our intercept is free. LinearSVC, and LogisticRegression with solver="liblinear", penalise
    theirs, as if X had another column; `intercept_scaling` is how they make that matter less. A
    LogisticRegression with l1_ratio = 1 becomes one of two classes: "softmax" goes with "l1l2", not
    with "l1".
    """
    for kind, translate in TRANSLATIONS.items():
        if type(estimator) is kind:
            return translate(estimator)
    names = ", ".join(kind.__name__ for kind in TRANSLATIONS)
    raise TypeError(f"estimator = {estimator!r}: one of {names} is needed")


def _penalty(weight: Callable[[float], Any], l1_ratio: float) -> dict[str, Any]:
    """reg, lam and sigma of weight (l1_ratio |w|_1 + (1 - l1_ratio) |w|^2 / 2)."""
    if l1_ratio == 1:
        return {"reg": "l1", "sigma": weight(1.0)}
    if l1_ratio == 0:
        return {"reg": "l2", "lam": weight(1.0)}
    return {"reg": "l1l2", "lam": weight(1.0 - l1_ratio), "sigma": weight(l1_ratio)}


def _refuse(estimator: Any, name: str, value: Any, reason: str) -> None:
    raise ValueError(f"{name} = {value!r} of {type(estimator).__name__}: {reason}")


def _positive(estimator: Any, name: str) -> float:
    value = getattr(estimator, name)
    if not isinstance(value, Real) or not 0 < float(value) < float("inf"):
        _refuse(
            estimator, name, value, "a finite number > 0 is needed for a strongly convex problem"
        )
    return float(value)


def _over_C(estimator: Any) -> Callable[[float], Unscaled]:
    C = _positive(estimator, "C")
    return lambda part: Unscaled(part / C)


def _linear_svc(estimator: LinearSVC) -> SDCAClassifier:
    joint = estimator.multi_class == "crammer_singer"
    loss = "multiclass_hinge" if joint else estimator.loss
    penalty = "l2" if joint else estimator.penalty
    return SDCAClassifier(
        loss=loss,
        fit_intercept=bool(estimator.fit_intercept),
        class_weight=estimator.class_weight,
        **_penalty(_over_C(estimator), 1.0 if penalty == "l1" else 0.0),
    )


def _logistic_regression(estimator: LogisticRegression) -> SDCAClassifier:
    ratio = 0.0 if estimator.l1_ratio is None else float(estimator.l1_ratio)
    given = estimator.penalty
    if given is None:
        _refuse(estimator, "penalty", given, "lam > 0 is needed")
    if given in ("l1", "l2"):
        ratio = 1.0 if given == "l1" else 0.0
    return SDCAClassifier(
        loss="logistic",
        multi_class="ovr" if estimator.solver == "liblinear" else "joint",
        fit_intercept=bool(estimator.fit_intercept),
        class_weight=estimator.class_weight,
        **_penalty(_over_C(estimator), ratio),
    )


def _elastic_net(estimator: ElasticNet) -> SDCARegressor:
    if estimator.positive:
        _refuse(estimator, "positive", True, "coefficients of either sign are all that there is")
    alpha = _positive(estimator, "alpha")
    return SDCARegressor(
        fit_intercept=bool(estimator.fit_intercept),
        **_penalty(lambda part: part * alpha, float(estimator.l1_ratio)),
    )


def _ridge(estimator: Ridge) -> SDCARegressor:
    if estimator.positive:
        _refuse(estimator, "positive", True, "coefficients of either sign are all that there is")
    alpha = _positive(estimator, "alpha")
    return SDCARegressor(lam=Unscaled(alpha), fit_intercept=bool(estimator.fit_intercept))


def _sgd_classifier(estimator: SGDClassifier) -> SDCAClassifier:
    kinds = {
        "hinge": "hinge",
        "squared_hinge": "squared_hinge",
        "log_loss": "logistic",
        "squared_error": "squared",
        "huber": losses.Huber(float(estimator.epsilon)),
        "epsilon_insensitive": losses.EpsilonInsensitive(float(estimator.epsilon)),
    }
    if estimator.loss not in kinds:
        _refuse(estimator, "loss", estimator.loss, f"one of {', '.join(kinds)} is needed")
    if estimator.penalty is None:
        _refuse(estimator, "penalty", None, "lam > 0 is needed")
    ratio = {"l1": 1.0, "l2": 0.0}.get(estimator.penalty, float(estimator.l1_ratio or 0.0))
    alpha = _positive(estimator, "alpha")
    return SDCAClassifier(
        loss=kinds[estimator.loss],
        fit_intercept=bool(estimator.fit_intercept),
        class_weight=estimator.class_weight,
        **_penalty(lambda part: Unscaled(part * alpha, "rows"), ratio),
    )


TRANSLATIONS: dict[type, Callable[[Any], SDCAClassifier | SDCARegressor]] = {
    LinearSVC: _linear_svc,
    LogisticRegression: _logistic_regression,
    Lasso: _elastic_net,  # whose l1_ratio is 1
    ElasticNet: _elastic_net,
    Ridge: _ridge,
    SGDClassifier: _sgd_classifier,
}
