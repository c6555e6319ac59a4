"""The loop: against the NumPy twin, and unchanged by what must not matter."""

import hashlib
import threading

import numpy as np
import pytest
from numpy_twin import objectives, prox_sdca
from problems import LOSS_NAMES, REG_NAMES, Case, all_losses, loss_options, make
from scipy import sparse

import proxsdca
from proxsdca import _random
from proxsdca._problem import Problem
from proxsdca._side import RowSide


def fingerprint(result) -> str:
    return hashlib.sha256(result.alpha.tobytes() + result.w.tobytes()).hexdigest()


def run_core(case, option, epochs, order="permutation", virtual=False, seed=0):
    """Epochs of the compiled loop, and the visits they made."""
    problem = Problem.from_arguments(
        case.X, case.y, **{"lam": None, "sigma": None, "sample_weight": None, **case.keywords}
    )
    side = RowSide(problem)
    alpha, v = np.zeros(problem.n), np.zeros(problem.d)
    core = side.epoch(side.curvature(), alpha, v, option, virtual)
    orders = _random.Order(order, np.arange(problem.n), _random.stream(seed))
    visits = []
    for _ in range(epochs):
        rows = orders.next()
        visits.extend(rows.tolist())
        core.run(rows)
    return alpha, v, visits, problem


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reg", REG_NAMES)
@pytest.mark.parametrize(("loss", "option"), loss_options())
def test_the_kernel_is_the_twin(loss, option, reg, weighted):
    case = make(loss, reg, n=12, d=11, seed=2)  # from d = 10 on the q-norm is none with p = 2
    if weighted:
        case.keywords["sample_weight"] = np.array([1, 0, 2, 3, 1, 0, 1, 2, 0, 1, 1, 5])
    alpha, v, visits, problem = run_core(case, option, 4, order="uniform")
    weight = np.ones(12) if problem.weight is None else problem.weight
    kappa = problem.sigma / problem.lam
    twin_alpha, twin_v, _ = prox_sdca(
        case.X, problem.target, problem.loss, reg, problem.lam, kappa, weight, visits, option
    )
    np.testing.assert_allclose(alpha, twin_alpha, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(v, twin_v, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("storage", ["csr", "csr32", "dense", "fortran"])
@pytest.mark.parametrize("reg", REG_NAMES)
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_static_and_virtual_calls_give_the_same_bits(loss, reg, storage):
    case = make(loss, reg, n=40, d=11)
    case.X = {
        "csr": sparse.csr_array(case.X),
        "csr32": sparse.csr_array(case.X.astype(np.float32)),
        "dense": case.X,
        "fortran": np.asfortranarray(case.X),
    }[storage]
    for option in ("I", "III"):
        one, two = (run_core(case, option, 5, virtual=virtual) for virtual in (False, True))
        np.testing.assert_array_equal(one[0], two[0])
        np.testing.assert_array_equal(one[1], two[1])


def storages(X):
    """The same numbers in every storage that is used without a copy."""
    csr = sparse.csr_array(X)
    wide = csr.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    frozen = csr.copy()
    for part in (frozen.data, frozen.indices, frozen.indptr):
        part.flags.writeable = False
    spread = np.zeros((2 * X.shape[0], 3 * X.shape[1]))
    spread[::2, ::3] = X
    sparse_ones = {"csr": csr, "int64": wide, "read-only": frozen, "matrix": sparse.csr_matrix(X)}
    dense_ones = {
        "C": np.ascontiguousarray(X),
        "F": np.asfortranarray(X),
        "strided": spread[::2, ::3],
        "reversed": np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
        "list": X.tolist(),
    }
    return sparse_ones, dense_ones


@pytest.mark.parametrize("reg", REG_NAMES)
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared", "poisson"])
def test_same_seed_same_bits_in_every_storage(loss, reg, tmp_path):
    case = make(loss, reg, n=60, d=11, seed=5)
    sparse_ones, dense_ones = storages(case.X)
    np.save(tmp_path / "dense.npy", case.X)
    dense_ones["memmap"] = np.load(tmp_path / "dense.npy", mmap_mode="r")
    csr = sparse_ones["csr"]
    parts = ("data", "indices", "indptr")
    for part in parts:
        np.save(tmp_path / f"csr_{part}.npy", getattr(csr, part))
    sparse_ones["memmap"] = sparse.csr_array(
        tuple(np.load(tmp_path / f"csr_{p}.npy", mmap_mode="r") for p in parts),
        shape=csr.shape,
        copy=False,
    )
    results = []
    for group in (sparse_ones, dense_ones):
        found = {}
        for name, X in group.items():
            before = X.copy() if hasattr(X, "copy") else None
            found[name] = Case(X, case.y, case.keywords).solve(tol=1e-6, seed=3)
            if sparse.issparse(before):
                assert (before != X).nnz == 0
            elif isinstance(before, np.ndarray):
                np.testing.assert_array_equal(before, X)
        assert len({fingerprint(r) for r in found.values()}) == 1, list(found)
        results.append(next(iter(found.values())))
    np.testing.assert_allclose(results[0].w, results[1].w, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(results[0].alpha, results[1].alpha, rtol=1e-10, atol=1e-10)


def test_runs_repeat_and_seeds_differ():
    case = make("logistic", "l1l2", n=50, d=6)
    first = case.solve(seed=7)
    assert fingerprint(first) == fingerprint(case.solve(seed=7))
    assert fingerprint(first) == fingerprint(case.solve(seed=np.random.SeedSequence(7)))
    assert fingerprint(first) == fingerprint(case.solve(seed=np.int64(7)))
    assert fingerprint(first) != fingerprint(case.solve(seed=8))
    generator = np.random.default_rng(7)
    one, two = case.solve(seed=generator), case.solve(seed=generator)
    assert fingerprint(one) != fingerprint(two)
    assert fingerprint(one) == fingerprint(case.solve(seed=np.random.default_rng(7)))
    assert case.solve(seed=None).converged


def test_two_threads_on_one_X_give_the_same_bits():
    case = make("hinge", "l1l2", n=400, d=50, seed=1).csr()
    alone = fingerprint(case.solve(tol=1e-6, seed=2))
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(fingerprint(case.solve(tol=1e-6, seed=2))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [alone] * 4


def test_global_random_state_is_left_alone():
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()  # noqa: NPY002
    make().solve()
    after = np.random.get_state()  # noqa: NPY002
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_float32_data_is_read_as_it_is():
    case = make("squared", n=50, d=6)
    single = case.X.astype(np.float32)
    one = Case(single, case.y, case.keywords).solve(tol=1e-9)
    two = Case(single.astype(float), case.y, case.keywords).solve(tol=1e-9)
    assert fingerprint(one) == fingerprint(two)


@pytest.mark.parametrize("loss", all_losses(), ids=repr)
def test_duplicates_and_unsorted_indices_are_right(loss):
    """Non-canonical CSR: entries of one place add up, in any order."""
    case = make(loss, "l1l2", n=20, d=6, seed=9)
    canonical = sparse.csr_array(case.X)
    rng = np.random.default_rng(0)
    data, indices, indptr = [], [], [0]
    for i in range(20):
        row = canonical[[i]]
        split = rng.random(row.nnz)
        values = np.concatenate([row.data * split, row.data * (1 - split)])
        order = rng.permutation(2 * row.nnz)
        data.append(values[order])
        indices.append(np.tile(row.indices, 2)[order])
        indptr.append(indptr[-1] + 2 * row.nnz)
    messy = sparse.csr_array(
        (np.concatenate(data), np.concatenate(indices), indptr), shape=canonical.shape
    )
    before = messy.indices.copy(), messy.data.copy()
    one = case.solve(tol=1e-7, max_epochs=5000)
    two = Case(messy, case.y, case.keywords).solve(tol=1e-7, max_epochs=5000)
    np.testing.assert_array_equal(before[0], messy.indices)
    np.testing.assert_array_equal(before[1], messy.data)
    assert one.epochs == pytest.approx(two.epochs, abs=2)
    assert one.primal == pytest.approx(two.primal, abs=one.gap + two.gap + 1e-13)
    check = Case(canonical, case.y, case.keywords).certify(two.w, two.alpha)
    assert check.gap == pytest.approx(two.gap, abs=1e-12)


@pytest.mark.parametrize("reg", REG_NAMES)
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_weights_mean_repetition(loss, reg):
    case = make(loss, reg, n=15, d=4, seed=6)
    times = np.array([0, 1, 2, 3, 1] * 3)
    if proxsdca.losses.LOSSES[loss]().classification:
        case.y[1:3] = -1, 1  # both classes stay where row 0 is dropped
    tol = 1e-6 if proxsdca.losses.LOSSES[loss]().gamma == 0 else 1e-9
    weighted = case.solve(sample_weight=times, tol=tol, max_epochs=20000)
    repeated = Case(
        np.repeat(case.X, times, axis=0), np.repeat(case.y, times), case.keywords
    ).solve(tol=tol, max_epochs=20000)
    assert (weighted.lam, weighted.sigma) == (repeated.lam, repeated.sigma)
    assert weighted.primal == pytest.approx(
        repeated.primal, abs=weighted.gap + repeated.gap + 1e-13
    )
    assert not weighted.alpha[times == 0].any()
    # the same point certified both ways: alpha_i / s_i is what each copy has
    s = times * 15 / times.sum()
    b = np.divide(weighted.alpha, s, out=np.zeros(15), where=s > 0)
    copy = Case(np.repeat(case.X, times, axis=0), np.repeat(case.y, times), case.keywords)
    check = copy.certify(weighted.w, np.repeat(b, times))
    assert check.primal == pytest.approx(weighted.primal, rel=1e-12)
    assert check.dual == pytest.approx(weighted.dual, rel=1e-10, abs=1e-13)


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared"])
def test_row_order_column_order_and_signs_do_not_matter(loss):
    case = make(loss, "l1l2", n=30, d=7, seed=8, lam=0.05, sigma=0.01)
    base = case.solve(tol=1e-7, max_epochs=5000)
    rng = np.random.default_rng(0)
    rows, columns, signs = rng.permutation(30), rng.permutation(7), rng.choice([-1.0, 1.0], 7)
    moved = Case(case.X[rows][:, columns] * signs, case.y[rows], case.keywords)
    other = moved.solve(tol=1e-7, max_epochs=5000)
    assert other.primal == pytest.approx(base.primal, abs=base.gap + other.gap)
    alpha, w = base.alpha[rows], base.w[columns] * signs
    assert moved.certify(w, alpha).gap == pytest.approx(base.gap, abs=1e-13)


@pytest.mark.parametrize("reg", REG_NAMES)
def test_scaling_of_the_data(reg):
    """X -> c X, w -> w / c, lam -> c^2 lam, sigma -> c sigma is the same problem."""
    case = make("hinge", reg, n=30, d=6, lam=0.03)
    sigma = {} if reg == "l2" else {"sigma": 0.02}
    base = case.solve(**sigma, tol=1e-6, max_epochs=5000)
    c = 4.0  # a power of two: not even the rounding changes
    moved = Case(case.X * c, case.y, case.keywords)
    sigma = {} if reg == "l2" else {"sigma": 0.02 * c}
    other = moved.solve(lam=0.03 * c**2, **sigma, tol=1e-6, max_epochs=5000)
    np.testing.assert_array_equal(other.alpha, base.alpha)
    np.testing.assert_array_equal(other.w * c, base.w)


def test_labels_of_any_two_values():
    case = make("hinge", n=40, d=5)
    base = case.solve()
    for labels in ([0, 1], ["ham", "spam"], [False, True], [-3.5, 2.0]):
        y = np.array(labels)[(case.y > 0).astype(int)]
        other = Case(case.X, y, case.keywords).solve()
        assert fingerprint(other) == fingerprint(base)
        assert list(other.classes) == labels


@pytest.mark.parametrize("reg", REG_NAMES)
@pytest.mark.parametrize(("loss", "option"), loss_options())
def test_the_dual_never_falls(loss, option, reg):
    case = make(loss, reg, n=12, d=11, seed=3)
    problem = Problem.from_arguments(case.X, case.y, loss, case.keywords["reg"], None, None, None)
    alpha, v = np.zeros(12), np.zeros(11)
    side = RowSide(problem)
    core = side.epoch(side.curvature(), alpha, v, option)
    kappa, last, ones = problem.sigma / problem.lam, None, np.ones(12)
    for i in np.random.default_rng(0).integers(0, 12, 150):
        core.run(np.array([i]))
        _, dual = objectives(
            case.X, problem.target, problem.loss, reg, problem.lam, kappa, ones, np.zeros(11), alpha
        )
        assert last is None or dual >= last - 1e-14 * (1 + abs(dual))
        last = dual


def test_permutations_and_draws_are_uniform():
    stream = _random.stream(0)
    order = np.arange(5)
    seen = {}
    for _ in range(24000):
        stream.shuffle(order)
        seen[tuple(order)] = seen.get(tuple(order), 0) + 1
    counts = np.array(list(seen.values()))
    assert len(counts) == 120
    assert np.sum((counts - 200) ** 2 / 200) < 187  # chi^2 with 119 degrees, 1e-4
    draws = np.empty(70000, dtype=np.intp)[:7]
    totals = np.zeros(7)
    for _ in range(10000):
        stream.draw(draws)
        totals += np.bincount(draws, minlength=7)
    assert np.sum((totals - 10000) ** 2 / 10000) < 28  # 6 degrees, 1e-4


def test_order_next_visits():
    n = 20
    orders = {
        name: _random.Order(name, np.arange(n), _random.stream(1), np.ones(n))
        for name in _random.ORDERS
    }
    assert list(orders["cyclic"].next()) == list(range(n))
    first = orders["permutation"].next().tolist()
    assert sorted(first) == list(range(n))
    assert first != orders["permutation"].next().tolist()
    drawn = orders["uniform"].next()
    assert drawn.min() >= 0
    assert drawn.max() < n
    assert len(set(drawn.tolist())) < n
