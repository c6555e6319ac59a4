"""What is refused of vector-valued problems: argument, place, value and what is allowed."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from vector_problems import make, make_explicit

import proxsdca
from proxsdca.losses import VECTOR_LOSSES, Hinge, MulticlassHinge, Softmax

X = np.arange(12.0).reshape(6, 2)
Y = np.array([0, 1, 2, 0, 1, 2])


@pytest.mark.parametrize(
    ("cost", "error", "match"),
    [
        ([[0, 1, 1], [1, 0, -2], [1, 1, 0]], ValueError, r"cost\[1, 2\] = -2.*>= 0"),
        ([[0, 1, 1], [1, 3, 1], [1, 1, 0]], ValueError, r"cost\[1, 1\] = 3.*0 on the diagonal"),
        ([[0, 1], [1, 0]], ValueError, r"cost has shape \(2, 2\), \(3, 3\) is needed"),
        ([0, 1, 1], ValueError, r"cost has shape \(3,\), \(3, 3\) is needed"),
        ([[0, 1, np.nan], [1, 0, 1], [1, 1, 0]], ValueError, r"cost\[0, 2\] = nan.*finite"),
        ([[0, np.inf, 1], [1, 0, 1], [1, 1, 0]], ValueError, r"cost\[0, 1\] = inf.*finite"),
        ([["a", 1, 1], [1, 0, 1], [1, 1, 0]], TypeError, "cost has dtype"),
        ([[0, 1j, 1], [1, 0, 1], [1, 1, 0]], TypeError, "cost has dtype complex128"),
    ],
)
def test_bad_costs(cost, error, match):
    with pytest.raises(error, match=match):
        proxsdca.solve(X, Y, loss=MulticlassHinge(cost))


def test_bad_costs_with_offsets():
    offsets, y = [0, 2, 4, 6], [0, 1, 0]
    with pytest.raises(ValueError, match=r"cost\[3\] = 0\.5: 0 is needed for what example 1"):
        proxsdca.solve(X, y, offsets=offsets, loss=MulticlassHinge([0, 1, 1, 0.5, 0, 1]))
    with pytest.raises(ValueError, match=r"cost\[1\] = -1"):
        proxsdca.solve(X, y, offsets=offsets, loss=MulticlassHinge([0, -1, 1, 0, 0, 1]))
    with pytest.raises(ValueError, match=r"cost has shape \(3, 3\), X has 6 rows"):
        proxsdca.solve(X, y, offsets=offsets, loss=MulticlassHinge(np.zeros((3, 3))))
    good = MulticlassHinge([0, 2, 1, 0, 0, 1])
    assert proxsdca.solve(X / 10, y, offsets=offsets, loss=good, tol=0.1).converged


@pytest.mark.parametrize(
    ("offsets", "error", "match"),
    [
        ([0, 3, 2, 6], ValueError, r"offsets\[2\] = 2 after 3: it must increase"),
        ([0, 3, 3, 6], ValueError, r"offsets\[2\] = 3 after 3: example 1 has no row"),
        ([1, 3, 4, 6], ValueError, r"offsets\[0\] = 1: 0 is needed"),
        ([0, 3, 4, 5], ValueError, r"offsets\[3\] = 5: X has 6 rows"),
        ([0, 3, 4, 7], ValueError, r"offsets\[3\] = 7: X has 6 rows"),
        ([0], ValueError, "offsets has shape"),
        ([], ValueError, "offsets has shape"),
        ([[0, 6]], ValueError, "offsets has shape"),
        ([0, 1.5, 6], TypeError, "offsets has dtype float64"),
        ("abc", TypeError, "offsets has dtype"),
        ([0, 2**70], TypeError, "offsets"),
    ],
)
def test_bad_offsets(offsets, error, match):
    with pytest.raises(error, match=match):
        proxsdca.solve(X, [0, 0, 0], loss="softmax", offsets=offsets)


@pytest.mark.parametrize(
    ("y", "error", "match"),
    [
        ([0, 2, 0], ValueError, r"y\[1\] = 2: 0 to 1 is allowed"),
        ([0, -1, 0], ValueError, r"y\[1\] = -1: 0 to 1 is allowed"),
        ([0, 0], ValueError, r"y has shape \(2,\), offsets are for 3 examples"),
        ([0, 0.5, 0], TypeError, "whole numbers"),
        ([0, np.nan, 0], TypeError, "whole numbers"),
        (["a", "b", "a"], TypeError, "whole numbers"),
        ([True, False, True], TypeError, "whole numbers"),
    ],
)
def test_bad_choices(y, error, match):
    with pytest.raises(error, match=match):
        proxsdca.solve(X, y, loss="softmax", offsets=[0, 2, 4, 6])


def test_choices_may_be_whole_floats():
    one, two = (
        proxsdca.solve(X / 10, y, loss="softmax", offsets=[0, 2, 4, 6], tol=0.1)
        for y in ([0, 1, 1], [0.0, 1.0, 1.0])
    )
    np.testing.assert_array_equal(one.w, two.w)


def test_labels():
    for loss in VECTOR_LOSSES:
        with pytest.raises(ValueError, match=f"y holds only the class .*{loss} needs two"):
            proxsdca.solve(X, np.zeros(6), loss=loss)
    with pytest.raises(ValueError, match=r"y\[4\] = .*a label is needed"):
        proxsdca.solve(X, ["a", "b", "a", "b", None, "a"], loss="softmax")
    with pytest.raises(ValueError, match=r"y has shape \(5,\), X has 6 rows"):
        proxsdca.solve(X, Y[:5], loss="softmax")
    for labels in (["ant", "bee", "cow"], [1.5, 2.5, -3.0], [False, True]):
        labels = np.array(labels)
        y = labels[Y % len(labels)]
        r = proxsdca.solve(X / 10, y, loss="softmax", tol=0.1)
        assert list(r.classes) == sorted(labels.tolist())
        assert set(r.predict(X)) <= set(labels.tolist())


def test_classes_that_y_does_not_have():
    r = proxsdca.solve(X / 10, Y, loss=Softmax(classes=[0, 1, 2, 7]), tol=0.1)
    assert r.w.shape == (2, 4)
    assert list(r.classes) == [0, 1, 2, 7]
    with pytest.raises(ValueError, match=r"y\[2\] = .*2.*one of classes 0, 1 is needed"):
        proxsdca.solve(X, Y, loss=Softmax(classes=[0, 1]))
    with pytest.raises(ValueError, match=r"classes\[2\] = 0 stands at 0 already"):
        proxsdca.solve(X, Y, loss=Softmax(classes=[0, 1, 0, 2]))
    with pytest.raises(ValueError, match="classes has shape"):
        proxsdca.solve(X, Y, loss=Softmax(classes=[0]))
    with pytest.raises(ValueError, match="classes: with offsets"):
        proxsdca.solve(X, [0, 0, 0], loss=Softmax(classes=[0, 1]), offsets=[0, 2, 4, 6])
    with pytest.raises(ValueError, match=r"cost has shape \(3, 3\), \(4, 4\)"):
        proxsdca.solve(X, Y, loss=MulticlassHinge(1 - np.eye(3), classes=[0, 1, 2, 3]))


def test_what_does_not_go_together():
    with pytest.raises(ValueError, match="side = 'columns': loss 'softmax' is solved by rows"):
        proxsdca.solve(X, Y, loss="softmax", side="columns")
    with pytest.raises(ValueError, match="reg = 'l1': loss 'softmax' needs a strongly convex"):
        proxsdca.solve(X, Y, loss="softmax", reg="l1")
    with pytest.raises(ValueError, match="offsets: loss 'hinge' is one of a single margin"):
        proxsdca.solve(X, [1, -1, 1], loss="hinge", offsets=[0, 2, 4, 6])
    with pytest.raises(ValueError, match="option = 'V' does not exist for loss 'multiclass_hinge'"):
        proxsdca.solve(X, Y, loss="multiclass_hinge", option="V")
    with pytest.raises(ValueError, match="option = 'I' does not exist for reg = 'qnorm' with"):
        proxsdca.solve(X, [0, 0, 0], loss="softmax", reg="qnorm", offsets=[0, 2, 4, 6], option="I")
    with pytest.raises(ValueError, match=r"y holds 3 classes.*'multiclass_hinge' and 'softmax'"):
        proxsdca.solve(X, Y, loss="hinge")
    with pytest.raises(ValueError, match="reg = 'group' needs groups"):
        proxsdca.solve(X, [0, 0, 0], loss="softmax", reg="group", offsets=[0, 2, 4, 6])
    with pytest.raises(ValueError, match=r"loss = 'softmaxx' is not known; did you mean 'softmax'"):
        proxsdca.solve(X, Y, loss="softmaxx")
    with pytest.raises(ValueError, match=r"sample_weight has shape \(6,\), there are 3 examples"):
        proxsdca.solve(X, [0, 0, 0], loss="softmax", offsets=[0, 2, 4, 6], sample_weight=np.ones(6))


def test_bad_warm_starts():
    case = make("softmax", n=6, d=2, k=3)
    with pytest.raises(ValueError, match=r"warm_start has shape \(6, 2\), at most \(6, 3\)"):
        case.solve(warm_start=np.zeros((6, 2)))
    with pytest.raises(ValueError, match=r"warm_start has shape \(7, 3\), at most"):
        case.solve(warm_start=np.zeros((7, 3)))
    with pytest.raises(ValueError, match=r"warm_start has shape \(6,\), at most"):
        case.solve(warm_start=np.zeros(6))
    with pytest.raises(ValueError, match=r"warm_start\[0, 1\] = nan; warm_start must be finite"):
        case.solve(warm_start=[[0, np.nan, 0]])
    broken = sparse.csr_array(np.eye(3))
    broken.indices[0] = 99
    with pytest.raises(ValueError, match=r"warm_start\.indices\[0\] = 99: 0 to 2 is allowed"):
        case.solve(warm_start=broken)
    with pytest.raises(ValueError, match=r"warm_start\[0, \d\] = .*is needed"):
        case.solve(warm_start=[np.where(np.arange(3) == case.y[0], 1e308, -1.5e308)])
    explicit = make_explicit("softmax", n=4)
    total = explicit.keywords["offsets"][-1]
    with pytest.raises(ValueError, match=rf"warm_start has shape \({total + 1},\)"):
        explicit.solve(warm_start=np.zeros(total + 1))
    with pytest.raises(ValueError, match=r"w has shape \(2,\), shape \(2, 3\) is needed"):
        case.certify(np.zeros(2), np.zeros((6, 3)))
    with pytest.raises(ValueError, match=r"w\[1, 2\] = inf"):
        case.certify([[0, 0, 0], [0, 0, np.inf]], np.zeros((6, 3)))
    with pytest.raises(ValueError, match=r"alpha has shape \(5, 3\), \(6, 3\) is needed"):
        case.certify(np.zeros((2, 3)), np.zeros((5, 3)))


def test_odd_objects_are_refused_by_name():
    with pytest.raises(ValueError, match="cost cannot be read as an array"):
        MulticlassHinge([[0, 1], [1]])
    labels = np.empty(2, object)
    labels[:] = [[1], [2]]
    with pytest.raises(TypeError, match=r"classes\[0\] = \[1\]: a label is needed"):
        proxsdca.solve(X, Y, loss=Softmax(classes=labels))
    r = make_explicit("softmax", n=9).solve(tol=0.1)
    with pytest.raises(ValueError, match=r"X has shape \(\)"):
        r.predict(3, [0, 1])


def test_refusals_change_nothing():
    cost = np.array([[0.0, 1, 1], [1, 0, -2], [1, 1, 0]])
    before = X.copy(), Y.copy(), cost.copy()
    with pytest.raises(ValueError, match="cost"):
        proxsdca.solve(X, Y, loss=MulticlassHinge(cost))
    for old, new in zip(before, (X, Y, cost), strict=True):
        np.testing.assert_array_equal(old, new)


def test_objects_own_what_they_were_given():
    cost = 1 - np.eye(3)
    loss = MulticlassHinge(cost)
    cost[0, 1] = -1
    assert loss.cost[0, 1] == 1
    with pytest.raises(ValueError, match="read-only"):
        loss.cost[0, 1] = -1
    again = pickle.loads(pickle.dumps(loss))
    assert again == loss
    assert hash(again) == hash(loss)
    assert loss != MulticlassHinge()
    assert Softmax() == Softmax()
    assert Softmax() != Softmax(classes=[0, 1])
    assert repr(Softmax()) == "Softmax()"
    assert "cost=" in repr(loss)
    r = make(loss="softmax", n=9, k=3).solve(tol=0.1)
    copy = pickle.loads(pickle.dumps(r))
    np.testing.assert_array_equal(copy.w, r.w)
    assert copy.loss == r.loss
    assert isinstance(Hinge(), proxsdca.losses.Loss)
