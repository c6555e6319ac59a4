"""The estimators beyond scikit-learn's own checks: what they are used for, and how."""

import itertools
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    Ridge,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import proxsdca
from proxsdca import (
    SDCAClassifier,
    SDCAClassifierCV,
    SDCARegressor,
    SDCARegressorCV,
    SDCASequenceTagger,
    SDCASequenceTaggerCV,
    from_sklearn,
    losses,
)
from proxsdca.estimators import Unscaled


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return StandardScaler().fit_transform(X), y / 100


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


# ------------------------------------------------------------ what a fit says of itself


@pytest.mark.parametrize(
    ("loss", "multi_class"),
    [
        ("hinge", "ovr"),
        ("hinge", "joint"),
        ("logistic", "ovr"),
        ("logistic", "joint"),
        ("softmax", "ovr"),
        ("squared", "ovr"),
    ],
)
def test_a_classifier_of_three_classes(iris, loss, multi_class):
    X, y = iris
    model = SDCAClassifier(loss, multi_class=multi_class).fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert model.intercept_.shape == (3,)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert np.all(np.asarray(model.gap_) <= 1e-4 * np.asarray(model.primal_))
    assert model.score(X, y) > (0.8 if loss == "squared" else 0.9)
    z = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), z)
    assert not np.any(model.dual_coef_.sum(axis=0))
    joint = multi_class == "joint" or loss == "softmax"
    assert type(model.result_) is (proxsdca.Result if joint else proxsdca.OneVsRest)
    if joint:
        assert model.history_["gap"][-1] == model.gap_
    else:
        assert [h["gap"][-1] for h in model.history_] == list(model.gap_)


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_probabilities(iris, loss):
    X, y = iris
    for rows in (slice(None), y != "virginica"):
        model = SDCAClassifier(loss).fit(X[rows], y[rows])
        p = model.predict_proba(X[rows])
        np.testing.assert_allclose(p.sum(axis=1), 1)
        np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X[rows]))
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X[rows])), p)
    theirs = LogisticRegression(tol=1e-8, max_iter=10_000).fit(X, y)
    ours = SDCAClassifier("logistic", multi_class="joint", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-3)


def test_a_hinge_says_nothing_of_probabilities(iris):
    X, y = iris
    model = SDCAClassifier().fit(X, y)
    assert not hasattr(model, "predict_proba")
    calibrated = CalibratedClassifierCV(SDCAClassifier(), cv=3).fit(X, y)
    assert calibrated.score(X, y) > 0.9


def test_two_classes_of_a_joint_loss_have_one_row(iris):
    X, y = iris
    two = y != "setosa"
    model = SDCAClassifier("softmax").fit(X[two], y[two])
    assert model.coef_.shape == (1, 4)
    w = model.result_.w
    np.testing.assert_allclose(model.coef_[0], w[:, 1] - w[:, 0])
    np.testing.assert_array_equal(
        model.predict_proba(X).round(12), model.result_.predict_proba(X).round(12)
    )


def test_costs_of_the_multiclass_hinge(iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica", "unseen"])
    loss = losses.MulticlassHinge(5.0 * (1 - np.eye(4)), classes=names)
    model = SDCAClassifier(loss).fit(X, y)
    assert model.classes_.tolist() == names.tolist()
    assert model.coef_.shape == (4, 4)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("loss", ["squared", "absolute", losses.Quantile(0.9), "huber", "poisson"])
def test_a_regressor(diabetes, loss):
    X, y = diabetes
    model = SDCARegressor(loss).fit(X, y)
    assert model.gap_ <= 1e-4 * model.primal_
    assert model.coef_.shape == (10,)
    assert isinstance(model.intercept_, float)
    z = X @ model.coef_ + model.intercept_
    np.testing.assert_allclose(model.predict(X), np.exp(z) if loss == "poisson" else z)
    if isinstance(loss, losses.Quantile):
        assert abs(np.mean(y <= z) - 0.9) < 0.02


def test_sparsify(diabetes):
    X, y = diabetes
    model = SDCARegressor("squared", "l1", sigma=0.05).fit(X, y)
    before = model.predict(X)
    assert sparse.issparse(model.sparsify().coef_)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(model)).predict(X), before)
    assert model.sparsify().densify().densify().coef_.shape == (10,)
    labels = (y > y.mean()).astype(int)
    assert SDCAClassifier().fit(X, labels).sparsify().densify().coef_.shape == (1, 10)


def test_warm_start(diabetes):
    X, y = diabetes
    model = SDCARegressor("squared", warm_start=True, tol=1e-8).fit(X, y)
    assert model.fit(X, y).n_iter_ == 0
    assert model.set_params(lam=0.01).fit(X, y).gap_ <= 1e-8 * model.primal_
    model.set_params(loss="huber").fit(X, y)  # another problem: from the beginning
    assert model.n_iter_ > 0
    assert model.fit(X[:50, :3], y[:50]).coef_.shape == (3,)
    classes = np.arange(len(y)) % 3
    ovr = SDCAClassifier(warm_start=True).fit(X, classes)
    assert ovr.fit(X, classes).n_iter_ == 0
    assert ovr.fit(X, classes % 2).coef_.shape == (1, 10)
    weight = np.random.default_rng(0).random(len(y))
    for loss, free in itertools.product(("hinge", "softmax"), (True, False)):
        # other targets and weights: what is left of alpha
        model = SDCAClassifier(loss, warm_start=True, fit_intercept=free)
        model.fit(X[:400], classes[:400], weight[:400]).fit(X, classes[::-1])
        cold = SDCAClassifier(loss, fit_intercept=free).fit(X, classes[::-1])
        np.testing.assert_allclose(model.primal_, cold.primal_, rtol=2e-4)


def test_a_start_that_is_worse_than_none_is_dropped():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 1)), rng.normal(size=60)
    model = SDCARegressor("squared", "l1l2", warm_start=True, lam=1e-3, sigma=2.0)
    model.fit(1e-2 * X, 1e3 * y)
    warm, cold = model.fit(X, y), clone(model).fit(X, y)
    assert warm.n_iter_ == cold.n_iter_
    with pytest.raises(ValueError, match="class 'b' has no rows with weight"):
        SDCAClassifier(class_weight={"a": 1.0, "b": 0.0}).fit(X, np.where(y > 0, "a", "b"))


def test_weights_of_classes_multiply_those_of_samples(iris):
    X, y = iris
    keep = np.r_[0:50, 50:60, 100:145]
    X, y = X[keep], y[keep]
    weight = np.random.default_rng(0).integers(1, 3, len(y)).astype(float)
    share = {label: weight[y == label].sum() for label in np.unique(y)}
    balanced = SDCAClassifier("logistic", class_weight="balanced").fit(X, y, weight)
    factors = {label: weight.sum() / (3 * total) for label, total in share.items()}
    named = SDCAClassifier("logistic", class_weight=factors).fit(X, y, weight)
    given = SDCAClassifier("logistic").fit(X, y, weight * [factors[label] for label in y])
    np.testing.assert_allclose(balanced.coef_, named.coef_)
    np.testing.assert_allclose(balanced.coef_, given.coef_)


def test_missed_targets_warn_in_both_ways(diabetes):
    X, y = diabetes
    with pytest.warns(ConvergenceWarning) as caught:
        SDCARegressor("absolute", tol=1e-12, max_iter=2).fit(X, y)
    assert issubclass(caught[0].category, proxsdca.ConvergenceWarning)


# ------------------------------------------------------------ with the rest of scikit-learn


def test_a_grid_search_over_a_text_pipeline():
    rng = np.random.default_rng(0)
    words = np.array(["proof", "gap", "dual", "primal", "cat", "dog", "bird", "fish", "the", "of"])
    topics = rng.integers(0, 3, 120)
    p = np.ones((3, 10)) + 9 * np.stack([np.arange(10) // 3 == k for k in range(3)])
    texts = [" ".join(rng.choice(words, 12, p=p[k] / p[k].sum())) for k in topics]
    labels = np.array(["maths", "pets", "animals"])[topics]
    pipeline = make_pipeline(TfidfVectorizer(), SDCAClassifier())
    grid = {
        "sdcaclassifier__loss": ["hinge", "softmax"],
        "sdcaclassifier__lam": [1e-3, 1e-1],
        "sdcaclassifier__reg": ["l2", "l1l2"],
    }
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(texts, labels)
    assert search.best_score_ > 0.9
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(texts), search.predict(texts))


def test_a_column_transformer_with_pandas():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.normal(50, 10, 200),
            "age": rng.integers(0, 80, 200),
            "town": rng.choice(["A", "B", "C"], 200),
        }
    )
    price = 3 * frame["size"] - frame["age"] + 40 * (frame["town"] == "B") + rng.normal(size=200)
    columns = make_column_transformer(
        (StandardScaler(), ["size", "age"]), (OneHotEncoder(sparse_output=False), ["town"])
    ).set_output(transform="pandas")
    model = make_pipeline(columns, SDCARegressor("huber", lam=1e-4)).fit(frame, price)
    assert model.score(frame, price) > 0.99
    assert "onehotencoder__town_B" in model[-1].feature_names_in_
    with pytest.raises(ValueError, match="feature names should match"):
        model[-1].predict(columns.transform(frame).rename(columns={"standardscaler__age": "old"}))


def test_cross_validated_lasso(diabetes):
    X, y = diabetes
    theirs = LassoCV(cv=5, alphas=50, eps=0.01, tol=1e-8, max_iter=100_000).fit(X, y)
    ours = SDCARegressorCV(cv=5, num=50, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.sigmas_, theirs.alphas_, rtol=1e-9)
    assert ours.sigma_ == pytest.approx(theirs.alpha_)
    np.testing.assert_allclose(-2 * ours.scores_, theirs.mse_path_, rtol=1e-4)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    in_threads = SDCARegressorCV(cv=5, num=50, tol=1e-8, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(in_threads.scores_, ours.scores_)
    drawn = np.random.RandomState(0)
    SDCARegressorCV(cv=5, num=5, n_jobs=2, random_state=drawn).fit(X, y)
    once = np.random.RandomState(0)
    once.randint(2**31 - 1)
    assert drawn.randint(2**31 - 1) == once.randint(2**31 - 1)  # no fold has drawn by itself


@pytest.mark.parametrize(
    ("loss", "reg", "multi_class"),
    [("logistic", "l1", "ovr"), ("hinge", "l2", "ovr"), ("logistic", "l1l2", "joint")],
)
def test_cross_validated_classes(iris, loss, reg, multi_class):
    X, y = iris
    model = SDCAClassifierCV(loss, reg, multi_class=multi_class, num=5, cv=3).fit(X, y)
    assert model.scores_.shape == (5, 3)
    assert model.score(X, y) > 0.9
    best = model.scores_.mean(axis=1).argmax()
    name = "lam" if reg == "l2" else "sigma"
    assert getattr(model, f"{name}_") == getattr(model, f"{name}s_")[best]
    # what the folds scored is what a fit on their rows scores
    again = SDCAClassifier(loss, reg, multi_class=multi_class, **{name: getattr(model, f"{name}_")})
    np.testing.assert_allclose(cross_val_score(again, X, y, cv=3), model.scores_[best], atol=0.03)


def test_scoring_and_fixed_weights(diabetes):
    X, y = diabetes
    model = SDCARegressorCV(
        "squared", "l1l2", lams=[1.0, 0.01, 0.1], sigma=0.01, scoring="r2", cv=3
    ).fit(X, y, sample_weight=np.ones(len(y)))
    assert model.lams_.tolist() == [1.0, 0.1, 0.01]
    assert model.scores_.max() < 1
    assert model.result_.sigma == 0.01
    assert model.result_.lam == model.lam_


def test_frames_and_more_classes_than_there_are_in_folds(iris):
    X, y = iris
    two = y != "setosa"
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = SDCAClassifierCV(lams=[1.0, 0.1], cv=3).fit(frame, y)
    assert named.feature_names_in_.tolist() == list("abcd")
    for kind in (losses.Softmax, losses.MulticlassHinge):
        loss = kind(classes=["setosa", "versicolor", "virginica"])
        model = SDCAClassifierCV(loss, lams=[1.0, 0.1], cv=3, fit_intercept=False)
        assert len(model.fit(X[two], y[two]).classes_) == 3


def test_predictions_are_those_of_the_loss_that_was_fitted(diabetes):
    X, y = diabetes
    model = SDCARegressor("poisson").fit(X, y)
    before = model.predict(X)
    np.testing.assert_array_equal(model.set_params(loss="squared").predict(X), before)


def test_a_fold_without_a_class(iris):
    X, y = iris
    with pytest.raises(ValueError, match=r"a fold has no rows of class 'virginica' to train on"):
        SDCAClassifierCV(cv=[(np.arange(100), np.arange(100, 150))]).fit(X, y)


@pytest.mark.usefixtures("routing")
def test_metadata_is_routed(diabetes):
    X, y = diabetes
    groups, weight = np.arange(len(y)) % 4, np.linspace(1, 2, len(y))
    model = SDCARegressorCV(num=4, cv=GroupKFold(4)).set_fit_request(sample_weight=True)
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
    pipeline.fit(X, y, groups=groups, sample_weight=weight)
    assert pipeline[-1].scores_.shape == (4, 4)
    plain = SDCARegressor().set_fit_request(sample_weight=True)
    plain.set_score_request(sample_weight=False)
    GridSearchCV(plain, {"lam": [0.1, 1.0]}, cv=3).fit(X, y, sample_weight=weight)


def test_groups_without_routing_are_refused(diabetes):
    X, y = diabetes
    with pytest.raises(ValueError, match="groups"):
        SDCARegressorCV(cv=3).fit(X, y, groups=np.ones(len(y)))


def test_several_outputs(diabetes, iris):
    X, y = diabetes
    both = MultiOutputRegressor(SDCARegressor()).fit(X, np.column_stack([y, -y]))
    np.testing.assert_allclose(both.predict(X)[:, 0], -both.predict(X)[:, 1], atol=1e-2)
    X, y = iris
    labels = np.column_stack([y, y == "setosa"])
    assert MultiOutputClassifier(SDCAClassifier()).fit(X, labels).score(X, labels) > 0.9


def test_clones_and_pickles(iris):
    X, y = iris
    for model in (
        SDCAClassifier(losses.SmoothHinge(0.3), proxsdca.regularizers.L1L2(), lam=Unscaled(2.0)),
        SDCAClassifierCV("logistic", lams=[1.0, 0.1], cv=2),
    ):
        copy = clone(model)
        fitted = copy.fit(X, y)
        again = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
        np.testing.assert_array_equal(again.dual_coef_, fitted.dual_coef_)


# ------------------------------------------------------------ sequences


def sequences(n, rng):
    """Chains in which a label is likely to stay, with features that say little of it."""
    lengths = rng.integers(3, 9, n)
    labels, total = [], int(lengths.sum())
    for length in lengths:
        label = rng.integers(0, 3)
        for _ in range(length):
            labels.append(label)
            label = label if rng.random() < 0.9 else rng.integers(0, 3)
    y = np.array(labels)
    return np.eye(3)[y] + rng.normal(size=(total, 3)), np.array(["x", "y", "z"])[y], lengths


@pytest.mark.parametrize("reg", ["l2", "l1l2"])
def test_a_tagger_learns_what_follows_what(reg):
    rng = np.random.default_rng(0)
    X, y, lengths = sequences(80, rng)
    new_X, new_y, new_lengths = sequences(60, rng)
    tagger = SDCASequenceTagger(reg, lam=0.05).fit(X, y, lengths)
    alone = SDCASequenceTagger(reg, lam=0.01).fit(X, y)
    assert tagger.gap_ <= 1e-3 * tagger.primal_
    assert tagger.score(new_X, new_y, new_lengths) > alone.score(new_X, new_y) + 0.03
    assert (np.diag(tagger.transitions_) > 0).all()
    before = tagger.predict(new_X, new_lengths)
    again = pickle.loads(pickle.dumps(tagger.sparsify()))
    np.testing.assert_array_equal(again.predict(new_X, new_lengths), before)
    with pytest.raises(ValueError, match="lengths"):
        tagger.predict(new_X, new_lengths[:-1])


def test_a_cross_validated_tagger():
    X, y, lengths = sequences(60, np.random.default_rng(1))
    model = SDCASequenceTaggerCV(lams=[10.0, 0.05], cv=3).fit(X, y, lengths)
    assert model.scores_.shape == (2, 3)
    assert model.lam_ == 0.05
    assert model.score(X, y, lengths) > 0.6


@pytest.mark.usefixtures("routing")
def test_lengths_are_routed():
    X, y, lengths = sequences(20, np.random.default_rng(1))
    tagger = SDCASequenceTagger(lam=0.05).set_fit_request(lengths=True)
    pipeline = make_pipeline(StandardScaler(), tagger).fit(X, y, lengths=lengths)
    assert pipeline[-1].transitions_.any()


# ------------------------------------------------------------ from scikit-learn


def mean_loss(name, z, y):
    return {
        "hinge": np.maximum(0, 1 - y * z),
        "squared_hinge": np.maximum(0, 1 - y * z) ** 2,
        "logistic": np.logaddexp(0, -y * z),
        "squared": (z - y) ** 2 / 2,
        "huber": np.where(abs(z - y) <= 0.1, (z - y) ** 2 / 2, 0.1 * (abs(z - y) - 0.05)),
        "epsilon_insensitive": np.maximum(0, abs(z - y) - 0.1),
    }[name]


def objective(theirs, model, X, y, weight):
    """What one of scikit-learn's estimators minimises, as its documentation has it."""
    w, z = np.ravel(model.coef_), X @ np.ravel(model.coef_) + np.ravel(model.intercept_)[0]
    square, l1 = w @ w / 2, np.abs(w).sum()
    if isinstance(theirs, LinearSVC):
        penalty = square if theirs.penalty == "l2" else l1
        return penalty + theirs.C * weight @ mean_loss(theirs.loss, z, y)
    if isinstance(theirs, LogisticRegression):
        ratio = theirs.l1_ratio or 0.0
        penalty = ratio * l1 + (1 - ratio) * square
        return penalty + theirs.C * weight @ mean_loss("logistic", z, y)
    if isinstance(theirs, Ridge):
        return weight @ (z - y) ** 2 + theirs.alpha * 2 * square
    if isinstance(theirs, ElasticNet):
        penalty = theirs.alpha * (theirs.l1_ratio * l1 + (1 - theirs.l1_ratio) * square)
        return weight @ (z - y) ** 2 / (2 * weight.sum()) + penalty
    name = {"log_loss": "logistic", "squared_error": "squared"}.get(theirs.loss, theirs.loss)
    ratio = {"l1": 1.0, "l2": 0.0}.get(theirs.penalty, theirs.l1_ratio)
    penalty = theirs.alpha * (ratio * l1 + (1 - ratio) * square)
    return weight @ mean_loss(name, z, y) / len(y) + penalty


EXACT = {"tol": 1e-9, "max_iter": 1_000_000}
# from scikit-learn 1.8 on, l1_ratio alone says what the penalty is
MIXED = (
    {}
    if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)
    else {"penalty": "elasticnet"}
)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "theirs",
    [
        LinearSVC(**EXACT),
        LinearSVC(C=0.3, loss="hinge", **EXACT),
        LinearSVC(C=0.2, penalty="l1", dual=False, **EXACT),
        LogisticRegression(C=3.0, **EXACT),
        LogisticRegression(C=0.3, l1_ratio=1.0, solver="saga", **EXACT, **MIXED),
        LogisticRegression(C=0.3, l1_ratio=0.4, solver="saga", **EXACT, **MIXED),
        Lasso(alpha=0.05, **EXACT),
        ElasticNet(alpha=0.05, l1_ratio=0.3, **EXACT),
        Ridge(alpha=np.int64(20)),
        *(
            SGDClassifier(loss, alpha=0.01, max_iter=3000, tol=None, random_state=0)
            for loss in ("hinge", "squared_hinge", "log_loss", "huber", "epsilon_insensitive")
        ),
        SGDClassifier("squared_error", alpha=0.01, eta0=0.001, learning_rate="adaptive"),
        SGDClassifier("log_loss", penalty="l1", alpha=0.01, tol=None),
        SGDClassifier("log_loss", penalty="elasticnet", alpha=0.01, l1_ratio=0.4, tol=None),
    ],
    ids=lambda e: f"{type(e).__name__}-{getattr(e, 'loss', '')}-{getattr(e, 'penalty', '')}",
)
def test_ours_is_as_good_in_their_objective(theirs, weighted, iris, diabetes):
    X, y = diabetes
    if sklearn.base.is_classifier(theirs):
        X, y = iris[0][50:], np.where(iris[1][50:] == "virginica", 1, -1)
    weight = np.random.default_rng(0).integers(1, 4, len(y)) if weighted else np.ones(len(y))
    ours = from_sklearn(theirs).set_params(tol=1e-6, max_iter=100_000).fit(X, y, weight)
    theirs.fit(X, y, sample_weight=weight)
    scale = 1.0 if isinstance(theirs, (Lasso, ElasticNet)) else weight.sum()
    scale *= theirs.C if hasattr(theirs, "C") else 1.0
    scale *= 2 if isinstance(theirs, Ridge) else 1.0
    scale /= len(y) if isinstance(theirs, SGDClassifier) else 1.0
    gap = scale * (ours.gap_ + ours.rounding_)
    mine, other = (objective(theirs, model, X, y, weight) for model in (ours, theirs))
    assert mine == pytest.approx(scale * ours.primal_, rel=1e-9)  # the same problem
    assert mine <= other + gap + 1e-9 * abs(other)
    if not isinstance(theirs, (SGDClassifier, LinearSVC)):  # which stop early, or penalise beta
        assert other <= mine + 1e-4 * abs(mine)


def test_three_classes_from_scikit_learn(iris):
    X, y = iris
    theirs = LogisticRegression(C=2.0, class_weight="balanced", **EXACT).fit(X, y)
    ours = from_sklearn(theirs).set_params(tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-3)
    joint = from_sklearn(LinearSVC(multi_class="crammer_singer")).fit(X, y)
    assert joint.result_.loss.name == "multiclass_hinge"


def test_what_cannot_be_translated():
    with pytest.raises(TypeError, match="one of LinearSVC, LogisticRegression, Lasso"):
        from_sklearn(LinearRegression())
    for theirs, name in [
        (Lasso(positive=True), "positive = True"),
        (Ridge(alpha=0), "alpha = 0"),
        (SGDClassifier("modified_huber"), "loss = 'modified_huber'"),
        (SGDClassifier(penalty=None), "penalty = None"),
        (LogisticRegression(C=np.inf), "C = inf"),
    ]:
        with pytest.raises(ValueError, match=name):
            from_sklearn(theirs)
    for name in ("C", "alpha"):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            SDCAClassifier(**{name: 1.0})


# ------------------------------------------------------------ bad input


def test_bad_input(iris):
    X, y = iris
    with pytest.raises(NotFittedError):
        SDCAClassifier().predict(X)
    with pytest.raises(ValueError, match="at least 2 classes in the data"):
        SDCAClassifier().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="X has 3 features, but SDCAClassifier is expecting 4"):
        SDCAClassifier().fit(X, y).predict(X[:, :3])
    with pytest.raises(ValueError, match="are not in class_weight"):
        SDCAClassifier(class_weight={"tulip": 2.0}).fit(X, y)
    more = {"setosa": 1, "versicolor": 1, "virginica": 2, "tulip": 3}
    assert SDCAClassifier(class_weight=more).fit(X, y).score(X, y) > 0.9
    with pytest.raises(TypeError, match="a dict, 'balanced' or None"):
        SDCAClassifier(class_weight=[1, 2]).fit(X, y)
    with pytest.raises(ValueError, match=r"class_weight\['setosa'\] = -1"):
        SDCAClassifier(class_weight={"setosa": -1}).fit(X, y)
    with pytest.raises(ValueError, match="SDCARegressor has it"):
        SDCAClassifier("poisson").fit(X, y)
    with pytest.raises(ValueError, match="loss = 'hing'"):
        SDCAClassifier("hing").fit(X, y)
    with pytest.raises(ValueError, match="SDCAClassifier has it"):
        SDCARegressor("hinge").fit(X, np.arange(len(X)))
    with pytest.raises(ValueError, match="multi_class = 'joint'"):
        SDCAClassifier("squared_hinge", multi_class="joint").fit(X, y)
    with pytest.raises(ValueError, match="sigmas and lams"):
        SDCAClassifierCV(sigmas=[1.0], lams=[1.0]).fit(X, y)
    with pytest.raises(ValueError, match="per = 'row'"):
        SDCAClassifier(lam=Unscaled(1.0, "row")).fit(X, y)
    model = SDCAClassifier().fit(X, y)
    with pytest.raises(ValueError, match="Negative values"):
        model.fit(X, y, -np.ones(len(y)))


# ------------------------------------------------------------ imports


def test_the_package_is_imported_without_scikit_learn():
    code = (
        "import sys, proxsdca; print('sklearn' in sys.modules, 'SDCAClassifier' in dir(proxsdca))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]


def test_without_scikit_learn_the_extra_is_named():
    code = (
        "import sys; sys.modules['sklearn'] = None; import proxsdca\n"
        "try:\n    proxsdca.SDCAClassifier\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )
    assert "proxsdca[sklearn]" in done.stdout
