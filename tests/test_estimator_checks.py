"""scikit-learn's own checks, for every estimator and a spread of losses and regularisers."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from proxsdca import (
    SDCAClassifier,
    SDCAClassifierCV,
    SDCARegressor,
    SDCARegressorCV,
    SDCASequenceTagger,
    SDCASequenceTaggerCV,
)

EXACT = {"tol": 0.0, "max_iter": 20_000}  # weights and repetition agree to 1e-7 only then

ESTIMATORS = [
    *(
        SDCAClassifier(loss, reg, **EXACT)
        for loss, reg in [
            ("hinge", "l2"),
            ("hinge", "l1l2"),
            ("smooth_hinge", "l2"),
            ("logistic", "l2"),
            ("logistic", "l1"),
            ("logistic", "qnorm"),
            ("squared", "l1l2"),
            ("multiclass_hinge", "l2"),
            ("softmax", "l2"),
            ("softmax", "l1l2"),
        ]
    ),
    SDCAClassifier("logistic", multi_class="joint", **EXACT),
    SDCAClassifier("squared_hinge", "l1", tol=0.0, max_iter=60_000),
    *(
        SDCARegressor(loss, reg, **EXACT)
        for loss, reg in [
            ("squared", "l2"),
            ("squared", "l1"),
            ("squared", "l1l2"),
            ("huber", "l2"),
            ("absolute", "l2"),
            ("absolute", "l1l2"),
            ("quantile", "l2"),
            ("epsilon_insensitive", "l2"),
            ("poisson", "l2"),
        ]
    ),
    SDCARegressor(side="columns", **EXACT),
    SDCARegressor("absolute", fit_intercept=False, **EXACT),
    SDCASequenceTagger(),
    SDCASequenceTagger("l1l2"),
    SDCARegressorCV(cv=3, num=3, **EXACT),
    SDCARegressorCV("huber", "l2", lams=[0.1, 1.0], cv=3, **EXACT),
    SDCAClassifierCV(lams=[0.1, 1.0], cv=3, **EXACT),
    SDCAClassifierCV("logistic", "l1", cv=3, num=2, **EXACT),
    SDCASequenceTaggerCV(lams=[0.1, 1.0], cv=3),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
