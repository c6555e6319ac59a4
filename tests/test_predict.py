"""What solutions say of new data, and one_vs_rest."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC
from vector_problems import make, make_explicit

import proxsdca
from proxsdca.losses import LOSSES


def storages(X):
    return X, sparse.csr_array(X), np.asfortranarray(X), X.astype(np.float32), X.tolist()


@pytest.mark.parametrize("loss", ["multiclass_hinge", "softmax"])
def test_classes_and_probabilities(loss):
    case = make(loss, n=60, d=5, k=4)
    r = case.solve()
    new = np.random.default_rng(1).normal(size=(30, 5))
    for X in storages(new):
        z = r.decision_function(X)
        np.testing.assert_allclose(z, np.asarray(X if not sparse.issparse(X) else new) @ r.w,
                                   atol=1e-6)  # fmt: skip
        np.testing.assert_array_equal(r.predict(X), r.classes[np.argmax(z, axis=1)])
    if loss == "softmax":
        p = r.predict_proba(new)
        np.testing.assert_allclose(p, softmax(new @ r.w, axis=1), atol=1e-12)
        np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
        extreme = r.predict_proba(new * 1e5)
        assert np.isfinite(extreme).all()
    else:
        with pytest.raises(ValueError, match="'multiclass_hinge' says nothing of probabilities"):
            r.predict_proba(new)


def test_choices():
    case = make_explicit("softmax", n=30, d=4)
    r = case.solve()
    offsets = case.keywords["offsets"]
    z = case.X @ r.w
    parts = list(itertools.pairwise(offsets))
    np.testing.assert_allclose(r.decision_function(case.X), z, atol=1e-12)
    expected = [np.argmax(z[a:b]) for a, b in parts]
    np.testing.assert_array_equal(r.predict(case.X, offsets), expected)
    p = r.predict_proba(sparse.csr_array(case.X), offsets)
    np.testing.assert_allclose(p, np.concatenate([softmax(z[a:b]) for a, b in parts]), atol=1e-12)
    with pytest.raises(ValueError, match="offsets is needed"):
        r.predict(case.X)
    with pytest.raises(ValueError, match=r"offsets\[1\] = 0 after 0: example 0 has no row"):
        r.predict(case.X, [0, 0, len(case.X)])


def test_losses_of_one_margin():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    labels = np.where(X[:, 0] + 0.3 * rng.normal(size=80) > 0, "yes", "no")
    hinge = proxsdca.solve(X, labels, loss="hinge")
    np.testing.assert_array_equal(hinge.predict(X), np.where(X @ hinge.w > 0, "yes", "no"))
    logistic = proxsdca.solve(X, labels, loss="logistic")
    p = logistic.predict_proba(X)
    np.testing.assert_allclose(p[:, 1], expit(X @ logistic.w), atol=1e-12)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    squared = proxsdca.solve(X, X[:, 1], loss="squared")
    np.testing.assert_allclose(squared.predict(X), X @ squared.w, atol=1e-12)
    poisson = proxsdca.solve(X, rng.poisson(1.0, 80), loss="poisson")
    np.testing.assert_allclose(poisson.predict(X), np.exp(X @ poisson.w), rtol=1e-12)
    with pytest.raises(ValueError, match="loss 'squared' says nothing of probabilities"):
        squared.predict_proba(X)
    with pytest.raises(ValueError, match="offsets: the model takes a single row"):
        squared.predict(X, offsets=[0, 80])
    with pytest.raises(ValueError, match="X has 3 columns, 4 are needed"):
        hinge.predict(X[:, :3])
    with pytest.raises(ValueError, match=r"X\[0, 0\] = nan"):
        hinge.decision_function(np.full((2, 4), np.nan))


# ------------------------------------------------------------------ one_vs_rest


@pytest.mark.parametrize("loss", [name for name in LOSSES if name != "poisson"])
def test_one_vs_rest_is_a_model_a_class(loss):
    case = make(n=60, d=5, k=4)
    names = np.array(["d", "a", "c", "b"])
    o = proxsdca.one_vs_rest(case.X, names[case.y], loss=loss, tol=1e-4, keep_alpha=True)
    assert list(o.classes) == ["a", "b", "c", "d"]
    assert o.w.shape == (5, 4)
    assert o.alpha.shape == (60, 4)
    assert o.converged.all()
    for c, name in enumerate(o.classes):
        y = np.where(names[case.y] == name, 1.0, -1.0)
        alone = proxsdca.solve(case.X, y, loss=loss, tol=1e-4)
        assert alone.primal == pytest.approx(o.primal[c], abs=alone.gap + o.gap[c] + 1e-13)
        check = proxsdca.certify(case.X, y, o.w[:, c], o.alpha[:, c], loss=loss)
        assert check.gap == pytest.approx(o.gap[c], abs=1e-13)
    np.testing.assert_array_equal(
        o.predict(case.X), o.classes[np.argmax(o.decision_function(case.X), axis=1)]
    )
    if loss == "logistic":
        p = o.predict_proba(case.X)
        np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    else:
        with pytest.raises(ValueError, match="says nothing of probabilities"):
            o.predict_proba(case.X)


def test_one_vs_rest_beside_scikit_learn():
    case = make(n=200, d=6, k=4, seed=3)
    o = proxsdca.one_vs_rest(case.X, case.y, loss="squared_hinge", lam=1e-2, tol=1e-8)
    # C sum_i phi_i + |w|^2 / 2 with phi = max(0, 1 - y z)^2
    svc = LinearSVC(C=1 / (1e-2 * 200), fit_intercept=False, tol=1e-10, max_iter=10**6)
    theirs = OneVsRestClassifier(svc).fit(case.X, case.y)
    w = np.column_stack([e.coef_.ravel() for e in theirs.estimators_])
    np.testing.assert_allclose(o.w, w, atol=2e-3)
    np.testing.assert_array_equal(o.predict(case.X), theirs.predict(case.X))


@pytest.mark.parametrize("reg", ["l2", "l1l2", "l1", "qnorm"])
def test_one_vs_rest_shares_data_and_takes_weights(reg):
    case = make(n=50, d=4, k=3)
    weight = np.random.default_rng(0).random(50)
    o = proxsdca.one_vs_rest(
        sparse.csr_array(case.X), case.y, loss="logistic", reg=reg, sample_weight=weight
    )
    assert o.converged.all()
    assert o.side == ("columns" if reg == "l1" else "rows")
    y = np.where(case.y == 1, 1.0, -1.0)
    alone = proxsdca.solve(case.X, y, loss="logistic", reg=reg, sample_weight=weight)
    assert alone.primal == pytest.approx(o.primal[1], abs=alone.gap + o.gap[1] + 1e-13)


def test_one_vs_rest_refusals_and_callbacks(capsys):
    case = make(n=20, k=3)
    with pytest.raises(ValueError, match="loss = 'softmax' is for all classes together"):
        proxsdca.one_vs_rest(case.X, case.y, loss="softmax")
    with pytest.raises(ValueError, match=r"y holds only the class .*one_vs_rest needs two"):
        proxsdca.one_vs_rest(case.X, np.ones(20))
    with pytest.raises(ValueError, match=r"y has shape \(3,\), X has 20 rows"):
        proxsdca.one_vs_rest(case.X, [0, 1, 2])
    with pytest.raises(ValueError, match=r"X has shape \(20,\)"):
        proxsdca.one_vs_rest(case.y, case.y)
    with pytest.raises(ValueError, match=r"loss = 'poisson': the classes are targets -1 and \+1"):
        proxsdca.one_vs_rest(case.X, case.y, loss="poisson")
    seen = []
    o = proxsdca.one_vs_rest(case.X, case.y, callback=seen.append, verbose=1)
    assert [r.primal for r in seen] == list(o.primal)
    assert capsys.readouterr().err.count("\n") == 3
    assert "3 classes, 3 converged" in repr(o)
    with pytest.warns(proxsdca.ConvergenceWarning, match="3 of 3 classes did not reach"):
        proxsdca.one_vs_rest(case.X, case.y, max_epochs=1, tol=1e-9)
    two = proxsdca.one_vs_rest(case.X, case.y, seed=1)
    again = proxsdca.one_vs_rest(case.X, case.y, seed=1)
    np.testing.assert_array_equal(two.w, again.w)


def test_one_vs_rest_probabilities_far_below_zero():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3)) + 5
    o = proxsdca.one_vs_rest(X, np.arange(30) % 3, loss="logistic")
    new = -40 * np.sign(o.w.sum(axis=1)) * np.array([[1.0, 1, 1]])
    z = o.decision_function(new)
    log_p = -np.logaddexp(0, -z)
    np.testing.assert_allclose(o.predict_proba(new), softmax(log_p, axis=1), rtol=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        o.w[0, 0] = 1
