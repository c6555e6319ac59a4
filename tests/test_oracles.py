"""The ready oracles: what they find, and what they decode, against searches of everything."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from structured_twin import table

from proxsdca import oracles, structured
from proxsdca.oracles._multilabel import chow_liu


def chain_scores(parts, X, y, costs):
    """The terms of a chain's score: (T, k) for positions, (k, k) for transitions."""
    z = X @ parts.unary
    z[0] += parts.start
    z[-1] += parts.end
    if costs is not None:
        z += costs * (np.arange(z.shape[1]) != np.asarray(y)[:, None])
    return z, parts.transitions


def brute_force(z, transitions):
    """The best of all sequences; of several, the one with the least label at the end, and so on."""
    T, k = z.shape
    every = np.array(list(itertools.product(range(k), repeat=T)))
    every = every[:, ::-1]  # in the order of their last labels
    scores = z[np.arange(T), every].sum(axis=1) + transitions[every[:, :-1], every[:, 1:]].sum(
        axis=1
    )
    best = int(np.argmax(scores))
    return every[best], scores[best]


def viterbi(z, transitions):
    """The same by dynamic programming in NumPy."""
    best, places = z[0], []
    for row in z[1:]:
        through = best[:, None] + transitions
        places.append(through.argmax(axis=0))
        best = through.max(axis=0) + row
    label = [int(best.argmax())]
    for place in reversed(places):
        label.append(int(place[label[-1]]))
    return np.array(label[::-1]), best.max()


def chains(seed, count, longest, whole):
    """An oracle with so many chains, and w; whole numbers have many ties, and no roundings."""
    rng = np.random.default_rng(seed)
    k, p = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    lengths = rng.integers(1, longest + 1, count)
    shape = (int(lengths.sum()), p)
    X = rng.integers(-2, 3, shape).astype(float) if whole else rng.normal(size=shape)
    y = rng.integers(0, k, len(X))
    y[:k] = np.arange(k)[: len(y)]
    oracle = oracles.Chain(X, y, lengths, classes=np.arange(k))
    w = rng.integers(-2, 3, oracle.d).astype(float) if whole else rng.normal(size=oracle.d)
    return oracle, X, y, lengths, w


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("longest", [4, 60])
def test_ten_thousand_chains_are_decoded_as_by_search(whole, longest):
    """2,500 for each of four kinds; short ones by brute force, long ones by NumPy's Viterbi."""
    search = brute_force if longest == 4 else viterbi
    for seed in range(25):
        oracle, X, y, lengths, w = chains(seed, 100, longest, whole)
        parts = oracle.parts(w)
        labels, scores = oracle.decode(w)
        again = oracle.decode(w, sparse.csr_array(X), lengths)
        assert (again.labels == labels).all()
        begin = 0
        for i, length in enumerate(lengths):
            part = slice(begin, begin + length)
            found, score = search(*chain_scores(parts, X[part], y[part], None))
            assert (labels[part] == found).all()
            assert scores[i] == pytest.approx(score, rel=1e-12, abs=1e-12)
            begin += length


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("whole", [True, False])
def test_the_worst_label_of_a_chain_is_that_of_brute_force(whole, normalize):
    for seed in range(10):
        _, X, y, lengths, w = chains(100 + seed, 30, 4, whole)
        oracle = oracles.Chain(X, y, lengths, normalize=normalize)
        w = w[: oracle.d] if len(w) >= oracle.d else np.resize(w, oracle.d)
        parts, begin = oracle.parts(w), 0
        for i, length in enumerate(lengths):
            part = slice(begin, begin + length)
            cost = 1 / length if normalize else 1.0
            z, transitions = chain_scores(parts, X[part], y[part], cost)
            (indices, values), delta, label = oracle.argmax(i, w)
            best, score = brute_force(z, transitions)
            own = z[np.arange(length), y[part]].sum() + transitions[y[part][:-1], y[part][1:]].sum()
            assert delta == pytest.approx(cost * (label != y[part]).sum())
            margin = delta - values @ w[indices]
            assert margin == pytest.approx(score - own, rel=1e-10, abs=1e-10)
            assert margin >= -1e-12
            if whole and not normalize:
                assert (label == best).all()
            begin += length


def psi_of_chain(X, y, k):
    """psi(x, y), counted one by one."""
    T, p = X.shape
    unary, transitions = np.zeros((p, k)), np.zeros((k, k))
    start, end = np.zeros(k), np.zeros(k)
    for t in range(T):
        unary[:, y[t]] += X[t]
        if t:
            transitions[y[t - 1], y[t]] += 1
    start[y[0]] += 1
    end[y[-1]] += 1
    return np.concatenate([unary.ravel(), transitions.ravel(), start, end])


@given(seed=st.integers(0, 10_000))
@settings(max_examples=50, deadline=None)
def test_features_of_a_chain_are_differences_of_psi(seed):
    oracle, X, y, lengths, _ = chains(seed, 4, 6, False)
    rng = np.random.default_rng(seed)
    k, begin = len(oracle.classes), 0
    for i, length in enumerate(lengths):
        part = slice(begin, begin + length)
        label = rng.integers(0, k, length)
        (indices, values), delta = oracle.features(i, label)
        xi = np.bincount(indices, values, oracle.d) if len(indices) else np.zeros(oracle.d)
        first, second = psi_of_chain(X[part], y[part], k), psi_of_chain(X[part], label, k)
        assert xi == pytest.approx(first - second, abs=1e-12)
        assert delta == (label != y[part]).sum()
        assert oracle.radius(i) >= np.linalg.norm(second) * (1 - 1e-12)
        begin += length


def test_chains_as_lists_and_labels_of_any_kind():
    rng = np.random.default_rng(1)
    lengths = [3, 1, 4]
    X = [rng.normal(size=(length, 2)) for length in lengths]
    y = [["b", "a", "c"], ["a"], ["c", "c", "b", "a"]]
    listed = oracles.Chain(X, y)
    flat = oracles.Chain(np.vstack(X), [label for part in y for label in part], lengths)
    assert listed.classes.tolist() == ["a", "b", "c"]
    w = rng.normal(size=flat.d)
    assert (listed.decode(w).labels == flat.decode(w).labels).all()
    as_list = listed.decode(w, X).labels
    assert [len(part) for part in as_list] == lengths
    assert (np.concatenate(as_list) == flat.decode(w).labels).all()
    sparse_parts = oracles.Chain([sparse.csr_array(part) for part in X], y)
    assert sparse_parts.decode(w).scores == pytest.approx(flat.decode(w).scores)
    (_, _), delta, label = listed.argmax(0, np.zeros(listed.d))
    assert delta == 3
    assert set(label) <= {"a", "b", "c"}
    assert listed.features(0, label)[1] == 3


@pytest.mark.parametrize(
    ("change", "kind", "match"),
    [
        ({"lengths": [3, 0, 5]}, ValueError, r"lengths\[1\] = 0: a sequence has at least one"),
        ({"lengths": [3, -1, 6]}, ValueError, r"lengths\[1\] = -1"),
        ({"lengths": [3, 1, 3]}, ValueError, "lengths adds up to 7, X has 8 rows"),
        ({"lengths": []}, ValueError, "at least one sequence"),
        ({"lengths": [2.5, 5.5]}, TypeError, "lengths has dtype float64"),
        ({"lengths": [[8]]}, ValueError, "one dimension"),
        ({"lengths": None}, ValueError, "lengths is needed, or X as a list"),
        ({"y": [0] * 8}, ValueError, "only the class"),
        ({"y": [0, 1]}, ValueError, r"y has shape \(2,\), X has 8 rows"),
        ({"y": [0, 1, 2, np.nan, 0, 1, 0, 1]}, ValueError, r"y\[3\] = nan"),
        ({"classes": [0, 1]}, ValueError, r"y\[2\] = 2: one of classes 0, 1"),
        ({"X": np.full((8, 2), np.inf)}, ValueError, r"X\[0, 0\] = inf"),
        ({"normalize": 1}, TypeError, "normalize = 1"),
    ],
)
def test_bad_chains_are_refused(change, kind, match):
    arguments = {
        "X": np.ones((8, 2)),
        "y": [0, 1, 2, 0, 1, 2, 0, 1],
        "lengths": [3, 1, 4],
        **change,
    }
    with pytest.raises(kind, match=match):
        oracles.Chain(**arguments)


def test_bad_lists_of_chains_are_refused():
    ones = np.ones((2, 3))
    with pytest.raises(ValueError, match=r"X\[1\] has 2 columns, X\[0\] has 3"):
        oracles.Chain([ones, np.ones((2, 2))], [[0, 1], [0, 1]])
    with pytest.raises(ValueError, match=r"X\[1\] has shape \(3,\)"):
        oracles.Chain([ones, np.ones(3)], [[0, 1], [0, 1]])
    with pytest.raises(ValueError, match=r"y\[1\] has shape \(3,\), X\[1\] has 2 rows"):
        oracles.Chain([ones, ones], [[0, 1], [0, 1, 0]])
    with pytest.raises(ValueError, match="labels of each of the 2 sequences"):
        oracles.Chain([ones, ones], [[0, 1]])
    with pytest.raises(ValueError, match=r"lengths\[1\] = 0"):
        oracles.Chain([ones, ones[:0]], [[0, 1], []])


def test_decoding_judges_what_it_is_given():
    oracle = oracles.Chain(np.ones((4, 2)), [0, 1, 0, 1], [2, 2])
    with pytest.raises(ValueError, match=r"w has shape \(3,\)"):
        oracle.decode(np.ones(3))
    with pytest.raises(ValueError, match=r"w\[1\] = nan"):
        oracle.decode(np.where(np.arange(oracle.d) == 1, np.nan, 0.0))
    with pytest.raises(ValueError, match="X has 3 columns, 2 are needed"):
        oracle.decode(np.ones(oracle.d), np.ones((2, 3)), [2])
    with pytest.raises(ValueError, match="lengths is given without X"):
        oracle.decode(np.ones(oracle.d), lengths=[2])
    with pytest.raises(IndexError, match="i = 2: 0 to 1"):
        oracle.argmax(2, np.ones(oracle.d))
    with pytest.raises(ValueError, match=r"label\[1\] = 5 is not one of the classes"):
        oracle.features(0, [0, 5])
    with pytest.raises(ValueError, match=r"label has shape \(3,\), \(2,\) is needed"):
        oracle.features(0, [0, 1, 0])


# ------------------------------------------------------------------- multilabel


def forest(rng, k):
    """Random edges without a cycle."""
    edges = [(int(rng.integers(node)), node) for node in range(1, k) if rng.random() < 0.8]
    flip = rng.random(len(edges)) < 0.5
    names = rng.permutation(k)
    return [
        (int(names[b]), int(names[a])) if f else (int(names[a]), int(names[b]))
        for (a, b), f in zip(edges, flip, strict=True)
    ]


def psi_of_labels(x, y, edges):
    pairs = np.zeros((len(edges), 2, 2))
    for e, (a, b) in enumerate(edges):
        pairs[e, y[a], y[b]] = 1
    return np.concatenate([np.outer(x, y).ravel(), pairs.ravel()])


@pytest.mark.parametrize("whole", [True, False])
def test_labels_on_a_tree_are_found_as_by_search(whole):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        k, n = int(rng.integers(1, 7)), 5
        edges = forest(rng, k)
        X = rng.integers(-2, 3, (n, 3)).astype(float) if whole else rng.normal(size=(n, 3))
        Y = rng.integers(0, 2, (n, k))
        oracle = oracles.Multilabel(X, Y, edges)
        w = rng.integers(-2, 3, oracle.d).astype(float) if whole else rng.normal(size=oracle.d)
        labels, scores = oracle.decode(w)
        assert (oracle.decode(w, sparse.csr_array(X)).labels == labels).all()
        every = list(itertools.product((0, 1), repeat=k))
        for i in range(n):
            values = [w @ psi_of_labels(X[i], np.array(y), edges) for y in every]
            assert scores[i] == pytest.approx(max(values), abs=1e-12)
            assert w @ psi_of_labels(X[i], labels[i], edges) == pytest.approx(scores[i], abs=1e-12)
            (indices, entries), delta, label = oracle.argmax(i, w)
            own = w @ psi_of_labels(X[i], Y[i], edges)
            margins = [
                np.sum(np.array(y) != Y[i]) + v - own for y, v in zip(every, values, strict=True)
            ]
            assert delta == np.sum(label != Y[i])
            assert delta - entries @ w[indices] == pytest.approx(max(margins), abs=1e-11)
            other = psi_of_labels(X[i], label, edges)
            xi = np.bincount(indices, entries, oracle.d) if len(indices) else 0.0
            assert xi + np.zeros(oracle.d) == pytest.approx(
                psi_of_labels(X[i], Y[i], edges) - other, abs=1e-12
            )
            assert oracle.radius(i) >= np.linalg.norm(other) * (1 - 1e-12)
            assert oracle.features(i, label)[1] == delta


def test_the_default_tree_joins_labels_that_go_together():
    rng = np.random.default_rng(2)
    first, second = rng.integers(0, 2, (2, 400))
    Y = np.column_stack([first, second, first, second ^ (rng.random(400) < 0.1), 1 - first])
    edges = {
        frozenset(edge) for edge in oracles.Multilabel(rng.normal(size=(400, 2)), Y).edges.tolist()
    }
    assert len(edges) == 4
    assert frozenset((1, 3)) in edges
    assert sum(edge <= {0, 2, 4} for edge in edges) == 2
    assert chow_liu(np.ones((5, 1), np.int32)).shape == (0, 2)
    assert len(chow_liu(np.ones((5, 3), np.int32))) == 2


def test_a_model_of_several_labels_learns_their_pairs():
    rng = np.random.default_rng(3)
    on = rng.integers(0, 2, 300)
    Y = np.column_stack([on, on, 1 - on])
    X = np.column_stack([on + rng.normal(size=300), np.ones(300)])
    oracle = oracles.Multilabel(X, Y, [(0, 1), (1, 2)])
    r = structured.solve(oracle, 0.01)
    labels = r.decode().labels
    assert (labels[:, 0] == labels[:, 1]).all()
    assert (labels[:, 0] != labels[:, 2]).all()
    pairs = oracle.parts(r.w).pairs
    assert pairs[0, 0, 0] + pairs[0, 1, 1] > pairs[0, 0, 1] + pairs[0, 1, 0]


@pytest.mark.parametrize(
    ("Y", "edges", "kind", "match"),
    [
        ([[0, 2], [1, 0]], [], ValueError, r"Y\[0, 1\] = 2: 0 or 1"),
        ([[0, np.nan], [1, 0]], [], ValueError, r"Y\[0, 1\] = nan"),
        ([[0, 1]], [], ValueError, r"Y has shape \(1, 2\): \(2, k\)"),
        ([["a", "b"], ["a", "b"]], [], TypeError, "Y has dtype"),
        ([[0, 1], [1, 0]], [(0, 2)], ValueError, r"edges\[0\] = \(0, 2\): 0 to 1 is allowed"),
        ([[0, 1], [1, 0]], [(0, 0)], ValueError, r"edges\[0\] = \(0, 0\) closes a cycle"),
        ([[0, 1], [1, 0]], [(0, 1), (1, 0)], ValueError, r"edges\[1\] = \(1, 0\) closes a cycle"),
        ([[0, 1], [1, 0]], [(0, 1, 2)], ValueError, r"edges has shape \(1, 3\)"),
        ([[0, 1], [1, 0]], [(0.5, 1.0)], TypeError, "edges has dtype float64"),
    ],
)
def test_bad_labels_and_trees_are_refused(Y, edges, kind, match):
    with pytest.raises(kind, match=match):
        oracles.Multilabel(np.eye(2), Y, edges)


# ------------------------------------------------------------------- multiclass


def test_the_worst_class_is_that_of_all_classes():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(40, 3)), np.array(list("abcd"))[rng.integers(0, 4, 40)]
    cost = rng.random((4, 4)) * (1 - np.eye(4))
    oracle = oracles.Multiclass(X, y, cost)
    w = rng.normal(size=oracle.d)
    z = X @ oracle.matrix(w)
    labels, scores = oracle.decode(w)
    assert (labels == oracle.classes[z.argmax(axis=1)]).all()
    assert scores == pytest.approx(z.max(axis=1))
    for i in range(40):
        target = int(np.searchsorted(oracle.classes, y[i]))
        margins = cost[:, target] + z[i] - z[i, target]
        (indices, values), delta, label = oracle.argmax(i, w)
        j = int(margins.argmax())
        assert label == oracle.classes[j]
        assert delta == cost[j, target]
        assert delta - values @ w[indices] == pytest.approx(margins[j])
        assert oracle.features(i, label)[1] == delta
        assert oracle.radius(i) == pytest.approx(np.linalg.norm(X[i]))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_storages_do_not_matter(kind):
    rng = np.random.default_rng(5)
    X = (rng.normal(size=(60, 6)) * (rng.random((60, 6)) < 0.5)).astype(kind)
    y = rng.integers(0, 3, 60)
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    results = [
        structured.solve(oracles.Chain(form, y, np.full(12, 5)), 0.05, tol=1e-4).w
        for form in (X, np.asfortranarray(X), sparse.csr_array(X), wide, sparse.csc_array(X))
    ]
    for w in results[1:]:
        assert w == pytest.approx(results[0], abs=1e-10)
    assert results[2].tobytes() == results[3].tobytes() == results[4].tobytes()


def test_order_of_examples_and_doubling_do_not_change_the_problem():
    oracle = table(6, n=10)
    r = structured.solve(oracle, 0.1, tol=1e-7)
    twice = type(oracle)(oracle.psi * 2, oracle.delta * 2, oracle.d)
    assert structured.solve(twice, 0.1, tol=1e-7).w == pytest.approx(r.w, abs=1e-3)
    backwards = type(oracle)(oracle.psi[::-1], oracle.delta[::-1], oracle.d)
    again = structured.solve(backwards, 0.1, tol=1e-7)
    assert abs(again.primal - r.primal) <= r.gap + again.gap
    # psi times c with lam times c^2 is the same problem in w / c
    scaled = type(oracle)([4 * psi for psi in oracle.psi], oracle.delta, oracle.d)
    other = structured.solve(scaled, 1.6, tol=1e-7)
    assert other.primal == pytest.approx(r.primal, rel=1e-12)
    assert 4 * other.w == pytest.approx(r.w, rel=1e-12)
