"""Good input arrives as it is, bad input is refused with its name and place."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from proxsdca import _validate as validate
from proxsdca._core import checks
from proxsdca._core.rows import csr_rows
from proxsdca._core.transpose import transposed

pytestmark = pytest.mark.filterwarnings("error")

NAN, INF = math.nan, math.inf
DENSE = np.array([[0.5, 0.0, -2.0, 0.0], [0.0, 0.0, 0.0, 0.0], [1.0, 3.0, 0.0, 0.25]])
FORMATS = ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"]


@dataclass(frozen=True)
class Loss:
    name: str = "squared"
    classification: bool = False
    target_min: float = -INF


HINGE = Loss("hinge", classification=True)
POISSON = Loss("poisson", target_min=0.0)


def assert_rows(X, expected):
    """The rows of X are those of the dense matrix expected, entry by entry."""
    rows = validate.rows(X)
    expected = np.asarray(expected, dtype=np.float64)
    assert (rows.n, rows.d) == expected.shape
    arrived = np.column_stack([rows.matvec(unit) for unit in np.eye(rows.d)])
    np.testing.assert_array_equal(arrived, expected)
    return rows


def refused(error, *words):
    """The refusal of a call, whose message must hold each of the words."""
    pattern = "".join(f"(?=.*{word})" for word in map(_escaped, words))
    return pytest.raises(error, match=f"(?s){pattern}")


def _escaped(word):
    return "".join(f"\\{c}" if c in "[](){}.*+?|^$\\" else c for c in word)


def csr(data, indices, indptr, shape=(3, 4), index=np.int32, kind=sparse.csr_array):
    """A matrix of exactly these parts: scipy's own check does not see them."""
    X = kind(shape, dtype=np.asarray(data).dtype)
    X.data = np.asarray(data)
    X.indices = np.asarray(indices, dtype=index)
    X.indptr = np.asarray(indptr, dtype=index)
    return X


def misaligned(array):
    memory = np.zeros(array.nbytes + 1, dtype=np.uint8)
    copy = memory[1:].view(array.dtype).reshape(array.shape)
    copy[...] = array
    assert not copy.flags.aligned
    return copy


# ------------------------------------------------------------------ checks


reals = hnp.arrays(
    st.sampled_from([np.float32, np.float64]),
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=9),
    elements=st.sampled_from([0.0, -1.5, 3e38, 1e-40, NAN, INF, -INF]),
)
steps = st.sampled_from([1, 2, -1, -3])


@given(reals, steps, steps, st.booleans())
def test_first_nonfinite_finds_the_first_by_rows(x, down, right, transpose):
    x = x[::down, ::right]
    x = x.T if transpose else x
    bad = np.argwhere(~np.isfinite(x)).tolist()
    assert checks.first_nonfinite_2d(x) == (tuple(bad[0]) if bad else None)
    for row in x:
        bad = np.flatnonzero(~np.isfinite(row)).tolist()
        assert checks.first_nonfinite(row) == (bad[0] if bad else None)


@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_the_largest_and_smallest_numbers_are_finite(real):
    limits = np.finfo(real)
    x = np.array([limits.max, limits.min, limits.tiny, limits.smallest_subnormal, -0.0])
    assert checks.first_nonfinite(x.astype(real)) is None


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_every_position_of_a_long_vector_is_seen(value):
    x = np.zeros(67)
    for i in range(67):
        x[i] = value
        assert checks.first_nonfinite(x) == i
        x[i] = 0


integers = st.sampled_from([np.int32, np.int64])


@given(st.data(), integers)
def test_first_outside_and_first_descent(data, integer):
    limits = np.iinfo(integer)
    value = st.integers(-3, 12) | st.integers(int(limits.min), int(limits.max))
    x = np.array(data.draw(st.lists(value, max_size=40)), dtype=integer)
    stop = data.draw(st.integers(0, 12) | st.sampled_from([2**31 - 1, 2**31, 2**63 - 1]))
    outside = [k for k, value in enumerate(x.tolist()) if not 0 <= value < stop]
    assert checks.first_outside(x, stop) == (outside[0] if outside else None)
    values = x.tolist()
    descents = [k for k in range(len(values) - 1) if values[k + 1] < values[k]]
    assert checks.first_descent(x) == (descents[0] if descents else None)


@given(st.lists(st.lists(st.integers(0, 5), max_size=4), max_size=8), integers)
def test_strictly_increasing(lists, integer):
    indptr = np.cumsum([0, *map(len, lists)]).astype(integer)
    indices = np.array([j for row in lists for j in row], dtype=integer)
    expected = all(row == sorted(set(row)) for row in lists)
    assert checks.strictly_increasing(indptr, indices) == expected


def test_checks_read_what_may_not_be_written():
    x = np.ones((2, 3))
    x.setflags(write=False)
    assert checks.first_nonfinite_2d(x) is None
    assert checks.first_nonfinite(x[0]) is None


# ---------------------------------------------------------- sparse matrices


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize("layout", FORMATS)
def test_every_sparse_format(layout, real, kind):
    X = getattr(sparse, f"{layout}_{kind}")(DENSE.astype(real))
    before = X.toarray()
    assert_rows(X, DENSE)
    np.testing.assert_array_equal(X.toarray(), before)


@pytest.mark.parametrize("layout", FORMATS)
def test_a_matrix_of_zeros(layout):
    rows = assert_rows(getattr(sparse, f"{layout}_array")((2, 3)), np.zeros((2, 3)))
    assert rows.nnz == 0


@pytest.mark.parametrize("index", [np.int8, np.uint16, np.int32, np.uint32, np.int64, ">i4"])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array])
def test_index_types(kind, index):
    shape, expected = ((3, 4), DENSE) if kind is sparse.csr_array else ((4, 3), DENSE.T)
    X = csr([0.5, -2, 1, 3, 0.25], [0, 2, 0, 1, 3], [0, 2, 2, 5], shape, index, kind)
    assert_rows(X, expected)


@pytest.mark.parametrize(("first", "second"), [(np.int32, np.int64), (np.int64, np.int32)])
def test_different_index_types(first, second):
    X = sparse.csr_array(DENSE)
    X.indices, X.indptr = X.indices.astype(first), X.indptr.astype(second)
    assert_rows(X, DENSE)


@pytest.mark.parametrize("index", [np.uint64, np.float64, np.bool_, object])
@pytest.mark.parametrize("name", ["indices", "indptr"])
def test_index_types_that_are_refused(name, index):
    X = sparse.csr_array(DENSE)
    setattr(X, name, getattr(X, name).astype(index))
    with refused(TypeError, f"X.{name} has dtype {np.dtype(index)}", "int32 or int64"):
        validate.rows(X)


@pytest.mark.parametrize("real", ["?", "i1", "u8", "i8", "f2", "g", ">f8", ">f4"])
@pytest.mark.parametrize("layout", FORMATS)
def test_types_of_sparse_data(layout, real):
    ones = np.array([[1, 0, 1], [0, 1, 0]])
    X = getattr(sparse, f"{layout}_array")(ones)
    if layout not in ("lil", "dok"):
        X.data = X.data.astype(real)
    elif real != "f2":  # which scipy does not support, though it can be put in
        X = X.astype(np.dtype(real).newbyteorder("="))
    assert_rows(X, ones)


def test_strided_and_misaligned_parts():
    X = sparse.csr_array(DENSE)
    X.data = np.repeat(X.data, 2)[::2]
    X.indices = misaligned(X.indices)
    X.indptr = np.repeat(X.indptr, 3)[::3]
    assert_rows(X, DENSE)
    X.data = misaligned(X.data)
    assert_rows(X, DENSE)


def test_read_only_memory_maps_stay_as_they_are(tmp_path):
    X = sparse.csr_array(DENSE)
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / f"{name}.npy", getattr(X, name))
        setattr(X, name, np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    assert_rows(X, DENSE)
    for layout in ("csc", "bsr"):
        Y = getattr(sparse, f"{layout}_array")(DENSE)
        for name in ("data", "indices", "indptr"):
            getattr(Y, name).setflags(write=False)
        assert_rows(Y, DENSE)


@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_what_lies_beyond_the_last_row_is_ignored(layout):
    X = getattr(sparse, f"{layout}_array")(DENSE)
    nnz = X.nnz
    X.data = np.append(X.data, [NAN, 7.0])
    X.indices = np.append(X.indices, np.array([-1, 99, 2**31 - 1], dtype=X.indices.dtype))
    assert assert_rows(X, DENSE).nnz == nnz


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.coo_array])
def test_duplicates_add_up_even_where_small_integers_would_overflow(kind):
    data, expected = np.int8([100, 100, 3]), np.array([[0, 200], [3, 0]])
    if kind is sparse.coo_array:
        X = kind((data, ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    else:
        X = csr(data, [1, 1, 0], [0, 2, 3], (2, 2), kind=kind)
    assert_rows(X, expected.T if kind is sparse.csc_array else expected)


@pytest.mark.parametrize(
    ("indices", "increasing"), [([0, 2, 1, 3], True), ([2, 0, 1, 3], False), ([2, 2, 1, 3], False)]
)
def test_order_within_rows_is_noticed(indices, increasing):
    rows = validate.rows(csr([1.0, 2, 3, 4], indices, [0, 2, 2, 4]))
    assert rows.canonical == increasing


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("indices", "indptr", "words"),
    [
        ([0, 1, 2], [0, 2**31 - 1, -2, 3], ["X.indptr[2] = -2 after 2147483647", "not decrease"]),
        ([], [0, 3_000_000, 0, 0], ["X.indptr[2] = 0 after 3000000"]),
        ([0, 1, 2], [0, 2, 1, 3], ["X.indptr[2] = 1 after 2"]),
        ([0, 1, 2], [1, 2, 2, 3], ["X.indptr[0] = 1: 0 is needed"]),
        ([0, 1, 2], [-1, 2, 2, 3], ["X.indptr[0] = -1: 0 is needed"]),
        ([0, 1, 2], [0, 2, 3], ["X.indptr has length 3: 4 is needed", "(3, 4)"]),
        ([0, 1, 2], [], ["X.indptr has length 0: 4 is needed"]),
        ([0, 1, 2], [0, 2, 3, 4], ["X.indptr[3] = 4: X stores only 3 entries"]),
        ([0, 1], [0, 2, 2, 3], ["X.indptr[3] = 3: X stores only 2 entries"]),
        ([0, 4, 2], [0, 2, 2, 3], ["X.indices[1] = 4: 0 to 3 is allowed"]),
        ([0, 1, -1], [0, 2, 2, 3], ["X.indices[2] = -1: 0 to 3 is allowed"]),
        ([0, 2**31 - 1, -1], [0, 2, 2, 3], ["X.indices[1] = 2147483647"]),
    ],
)
@pytest.mark.parametrize("layout", ["csr", "csc", "bsr"])
def test_corrupt_structures_never_reach_the_loop(layout, indices, indptr, words, index):
    shape = {"csr": (3, 4), "csc": (4, 3), "bsr": (6, 4)}[layout]
    data = np.ones((3, 2, 1) if layout == "bsr" else 3)[: len(indices)]
    kind = getattr(sparse, f"{layout}_array")
    X = kind(shape, blocksize=(2, 1)) if layout == "bsr" else kind(shape)
    X.data = data
    X.indices, X.indptr = np.array(indices, dtype=index), np.array(indptr, dtype=index)
    words = [word.replace("(3, 4)", str(shape)) for word in words]
    with refused(ValueError, *words):
        validate.rows(X)


def test_corrupt_blocks():
    X = sparse.bsr_array(np.ones((4, 4)), blocksize=(2, 2))
    X.data = np.ones((4, 3, 2))
    with refused(ValueError, "X has shape (4, 4)", "blocks of shape (3, 2) do not fit"):
        validate.rows(X)
    X.data = np.ones((4, 0, 2))
    with refused(ValueError, "blocks of shape (0, 2) do not fit"):
        validate.rows(X)
    X.data = np.ones(4)
    with refused(ValueError, "X.data has shape (4,)", "ndim = 3", "bsr"):
        validate.rows(X)


def test_parts_of_more_dimensions():
    X = sparse.csr_array(DENSE)
    X.data = X.data[:, None]
    with refused(ValueError, "X.data has shape (5, 1)", "ndim = 1", "csr"):
        validate.rows(X)
    X = sparse.csr_array(DENSE)
    X.indices = X.indices[:, None]
    with refused(ValueError, "X.indices has shape (5, 1)", "one dimension"):
        validate.rows(X)


@pytest.mark.parametrize(
    ("row", "col", "words"),
    [
        ([0, 3], [1, 1], ["X.row[1] = 3: 0 to 2 is allowed"]),
        ([-1, 3], [1, 1], ["X.row[0] = -1: 0 to 2 is allowed"]),
        ([0, 1], [1, 4], ["X.col[1] = 4: 0 to 3 is allowed"]),
        ([0, 1], [1], ["X.data, X.row and X.col", "(2,), (2,) and (1,)", "equal lengths"]),
    ],
)
def test_corrupt_coordinates(row, col, words):
    X = sparse.coo_array(([1.0, 2.0], ([0, 1], [0, 1])), shape=(3, 4))
    X.row, X.col = np.array(row), np.array(col)
    with refused(ValueError, *words):
        validate.rows(X)


def test_corrupt_lists():
    X = sparse.lil_array(DENSE)
    X.data[2] = [1.0] * 1000
    with refused(ValueError, "X.data[2] has length 1000: 3 is needed", "X.rows[2]"):
        validate.rows(X)
    X = sparse.lil_array(DENSE)
    X.rows[0] = [0, 4]
    with refused(ValueError, "X.col[1] = 4: 0 to 3 is allowed"):
        validate.rows(X)
    X = sparse.lil_array(DENSE)
    X.rows = X.rows[:2]
    with refused(ValueError, "X.rows and X.data have lengths 2 and 3", "(3, 4)"):
        validate.rows(X)


def test_corrupt_dictionary():
    pytest.importorskip("scipy", minversion="1.13")
    X = sparse.dok_array((3, 4))
    X._dict[7, 1] = 1.0
    with refused(ValueError, "X.row[0] = 7: 0 to 2 is allowed"):
        validate.rows(X)


def test_diagonals():
    X = sparse.dia_array((np.arange(1.0, 13.0).reshape(3, 4), [-1, 0, 2]), shape=(3, 4))
    assert_rows(X, X.toarray())
    X.offsets = np.array([-1, 2**63 - 1, -(2**63)])
    assert_rows(X, sparse.dia_array((np.arange(1.0, 5.0)[None], [-1]), shape=(3, 4)).toarray())
    X.offsets = np.array([-1, 2, 2])
    expected = np.zeros((3, 4))
    expected[[1, 2], [0, 1]], expected[[0, 1], [2, 3]] = [1, 2], [7 + 11, 8 + 12]
    assert_rows(X, expected)
    X.offsets = np.array([0, 1, 2, 3])
    with refused(ValueError, "X.data has shape (3, 4)", "4 X.offsets"):
        validate.rows(X)


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_sparse_values_must_be_finite(layout, value):
    dense = DENSE.copy()
    dense[2, 1] = value
    with refused(ValueError, f"X[2, 1] = {value}; X must be finite"):
        validate.rows(getattr(sparse, f"{layout}_array")(dense))


def test_the_place_of_a_bad_value_after_empty_rows():
    with refused(ValueError, "X[3, 2] = nan"):
        validate.rows(csr([NAN], [2], [0, 0, 0, 0, 1, 1], (5, 4)))


def test_sums_of_duplicates_must_be_finite():
    big = np.float32([3e38, 3e38])
    with refused(ValueError, "X[1, 2] = inf; X must be finite"):
        validate.rows(sparse.coo_array((big, ([1, 1], [2, 2])), shape=(3, 4)))


@pytest.mark.parametrize("kind", [np.complex128, object])
@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "dia"])
def test_types_of_sparse_data_that_are_refused(layout, kind):
    X = getattr(sparse, f"{layout}_array")(DENSE)
    X.data = X.data.astype(kind)
    with refused(TypeError, f"X.data has dtype {np.dtype(kind)}", "real numbers are needed"):
        validate.rows(X)


def test_masked_sparse_data():
    X = sparse.csr_array(DENSE)
    X.data = np.ma.masked_equal(X.data, 3.0)
    with refused(TypeError, "X.data is a masked array"):
        validate.rows(X)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
@pytest.mark.parametrize("make", [np.zeros, *(getattr(sparse, f"{f}_array") for f in FORMATS)])
def test_empty_matrices(make, shape):
    X = make(shape)
    with refused(ValueError, f"X has shape {shape}: at least one row and one column are needed"):
        validate.rows(X)


def test_sparse_vectors():
    pytest.importorskip("scipy", minversion="1.13")
    with refused(ValueError, "X has shape (3,): two dimensions"):
        validate.rows(sparse.coo_array(np.ones(3)))


class Fickle(sparse.csr_matrix):
    """A matrix that is fine when first asked, and corrupt from then on."""

    def __getattribute__(self, name):
        parts = {"format": "bsr", "shape": (9, 9), "data": None, "indices": None, "indptr": None}
        if name not in parts:
            return super().__getattribute__(name)
        asked = self.__dict__.setdefault("asked", [])
        asked.append(name)
        if self.__dict__.get("armed") and asked.count(name) > 1:
            return parts[name]
        return super().__getattribute__(name)


def test_attributes_are_read_once():
    X = Fickle(DENSE)
    X.armed, X.asked = True, []
    rows = validate.rows(X)
    assert sorted(X.asked) == ["data", "format", "indices", "indptr", "shape"]
    np.testing.assert_array_equal(rows.matvec(np.ones(4)), DENSE.sum(axis=1))


class Unheard(sparse.csr_array):
    @property
    def format(self):
        return "unheard"


def test_unknown_formats_go_by_their_coordinates():
    X = Unheard(DENSE)
    assert_rows(X, DENSE)


sparse_matrices = hnp.arrays(
    st.sampled_from([np.float32, np.float64, np.int16]),
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=7),
    elements=st.sampled_from([0, 0, 0, 1, -3, 8]),
)


@given(sparse_matrices, st.sampled_from(FORMATS), integers)
def test_any_sparse_matrix_arrives(dense, layout, index):
    X = getattr(sparse, f"{layout}_array")(dense)
    if layout in ("csr", "csc", "bsr"):
        X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    assert_rows(X, dense)


@given(
    st.lists(st.integers(-2, 6), max_size=6),
    st.lists(st.integers(-2, 8), min_size=4, max_size=4),
    st.integers(0, 6),
)
def test_any_structure_is_right_or_refused(indices, indptr, length):
    X = csr(np.ones(length), indices, indptr)
    last = indptr[-1]
    right = (
        indptr == sorted(indptr)
        and indptr[0] == 0
        and last <= min(len(indices), length)
        and all(0 <= j < 4 for j in indices[:last])
    )
    if right:
        expected = np.zeros((3, 4))
        np.add.at(expected, (np.repeat(np.arange(3), np.diff(indptr)), indices[:last]), 1.0)
        assert_rows(X, expected)
    else:
        with refused(ValueError, "X.ind"):
            validate.rows(X)


# ----------------------------------------------------------- dense matrices


DENSE_KINDS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "steps": lambda x: np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3],
    "backwards": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "column of a cube": lambda x: np.stack([x, -x], axis=-1)[..., 0],
    "misaligned": misaligned,
    "swapped": lambda x: x.astype(x.dtype.newbyteorder(">")),
    "list": lambda x: x.tolist(),
    "tuple of arrays": tuple,
    "frame": pd.DataFrame,
}


@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize("kind", DENSE_KINDS)
def test_dense_matrices(kind, real):
    X = DENSE_KINDS[kind](DENSE.astype(real))
    assert assert_rows(X, DENSE).nnz == DENSE.size
    np.testing.assert_array_equal(np.asarray(X), DENSE)


def test_numpy_matrices():
    with pytest.warns(PendingDeprecationWarning):
        X = np.asmatrix(DENSE)
    assert_rows(X, DENSE)


def test_fields_of_records():
    records = np.zeros((3, 4), dtype=np.dtype([("flag", "i1"), ("x", "f8")]))
    records["x"] = DENSE
    assert_rows(records["x"], DENSE)


def test_repeated_and_read_only_memory():
    assert_rows(np.broadcast_to(DENSE[0], (5, 4)), np.tile(DENSE[0], (5, 1)))
    assert_rows(np.broadcast_to(DENSE[:, :1], (3, 2)), np.tile(DENSE[:, :1], 2))


@pytest.mark.parametrize("real", ["?", "i1", "u8", "i8", "f2", "g", ">i4"])
def test_other_real_types(real):
    X = np.array([[0, 1], [1, 0], [1, 1]], dtype=real)
    assert_rows(X, X.astype(np.float64))


@pytest.mark.parametrize("value", [NAN, INF, -INF])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("real", [np.float16, np.float32, np.float64, np.longdouble])
def test_dense_values_must_be_finite(real, order, value):
    X = np.zeros((5, 4), dtype=real, order=order)
    X[4, 0] = X[2, 3] = value
    with refused(ValueError, f"X[2, 3] = {value}; X must be finite"):
        validate.rows(X)


@pytest.mark.skipif(np.finfo(np.longdouble).max <= np.finfo(np.float64).max, reason="no wider type")
def test_numbers_beyond_float64():
    X = np.ones((2, 2), dtype=np.longdouble)
    X[1, 0] = np.longdouble("1e4000")
    with refused(ValueError, "X[1, 0] = inf; X must be finite"):
        validate.rows(X)


@pytest.mark.parametrize(
    "X",
    [
        DENSE + 1j,
        DENSE.astype(object),
        DENSE.astype(str),
        DENSE.astype("M8[s]"),
        DENSE.astype("m8[s]"),
        None,
        "text",
        [["a", "b"]],
        [[1.0, None]],
        pd.DataFrame({"a": [1.0, 2.0], "b": ["1", "2"]}),
        pd.DataFrame({"a": pd.array([1, 2], dtype="Int64"), "b": ["1", "2"]}),
        pd.DataFrame({"a": pd.Series([1, 2], dtype="category"), "b": [1.0, 2.0]}).astype(object),
    ],
)
def test_types_that_are_no_real_numbers(X):
    with refused(TypeError, "X has dtype", "real numbers are needed"):
        validate.rows(X)


def test_masked_arrays():
    with refused(TypeError, "X is a masked array"):
        validate.rows(np.ma.masked_equal(DENSE, 3.0))


@pytest.mark.parametrize("X", [3.0, np.ones(3), [], [1, 2], np.ones((2, 2, 2)), pd.Series([1.0])])
def test_dimensions(X):
    with refused(ValueError, f"X has shape {np.shape(X)}: two dimensions"):
        validate.rows(X)


def test_ragged_lists():
    with refused(ValueError, "X cannot be read as an array"):
        validate.rows([[1.0, 2.0], [3.0]])


def test_frames_of_several_types():
    frame = pd.DataFrame(
        {
            "a": [1.5, 2.5],
            "b": [True, False],
            "c": pd.array([7, 8], dtype="Int64"),
            "d": pd.array([0.5, 1.5], dtype="Float32"),
            "e": pd.array([True, True], dtype="boolean"),
        }
    )
    assert_rows(frame, [[1.5, 1, 7, 0.5, 1], [2.5, 0, 8, 1.5, 1]])


@pytest.mark.parametrize("kind", ["Int64", "Float64", "Float32", "boolean"])
def test_missing_values_of_frames(kind):
    frame = pd.DataFrame({"a": pd.array([1, 1], dtype=kind), "b": pd.array([1, None], dtype=kind)})
    with refused(ValueError, "X[1, 1] = nan; X must be finite"):
        validate.rows(frame)


def test_frames_without_columns():
    with refused(ValueError, "X has shape (3, 0): at least one row"):
        validate.rows(pd.DataFrame(index=range(3)))


# ----------------------------------------------------------------- targets


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([0, 1, 1, 0], [0, 1]),
        ([-1, 1, 1, -1], [-1, 1]),
        ([2.5, 7.0, 7.0, 2.5], [2.5, 7.0]),
        ([False, True, True, False], [False, True]),
        (["no", "yes", "yes", "no"], ["no", "yes"]),
        (np.array(["no", "yes", "yes", "no"], dtype=object), ["no", "yes"]),
        (np.array([b"a", b"b", b"b", b"a"]), [b"a", b"b"]),
        (pd.Series(["no", "yes", "yes", "no"], index=[9, 8, 7, 6]), ["no", "yes"]),
        (pd.Series(["no", "yes", "yes", "no"], dtype="category"), ["no", "yes"]),
        (pd.Series([3, 4, 4, 3], dtype="Int64"), [3, 4]),
        (pd.Series([0, 1, 1, 0], dtype="boolean"), [False, True]),
        (np.array([0, 9, 1, 9, 1, 9, 0, 9], dtype=">i2")[::2], [0, 1]),
        (np.uint8([0, 1, 1, 0]), [0, 1]),
    ],
)
def test_two_classes(y, classes):
    signs, found = validate.targets(y, 4, HINGE)
    assert signs.dtype == np.float64
    np.testing.assert_array_equal(signs, [-1.0, 1.0, 1.0, -1.0])
    assert list(found) == classes


def test_classes_keep_their_type():
    assert validate.targets([1, 2], 2, HINGE)[1].dtype.kind == "i"
    assert validate.targets(["a", "b"], 2, HINGE)[1].dtype.kind == "U"
    assert validate.targets([True, False], 2, HINGE)[1].dtype.kind == "b"


@pytest.mark.parametrize(
    ("y", "place"),
    [
        ([0.0, 1.0, NAN], "y[2] = nan"),
        ([0, None, 1], "y[1] = None"),
        (["a", "b", None], "y[2] = None"),
        (["a", NAN, "b"], "y[1] = nan"),
        (np.array(["a", NAN, "b"], dtype=object), "y[1] = nan"),
        (pd.Series([True, None, False], dtype="boolean"), "y[1] = <NA>"),
        (pd.Series(["a", None, "b"], dtype="category"), "y[1] = nan"),
        (pd.Series([1, None, 0], dtype="Int64"), "y[1] = "),
        (np.array(["2020-01-01", "NaT", "2020-01-02"], dtype="M8[D]"), "y[1] = NaT"),
    ],
)
def test_missing_labels(y, place):
    with refused(ValueError, place, "a label is needed"):
        validate.targets(y, 3, HINGE)


@pytest.mark.parametrize(("label", "shown"), [(1, "1"), ("yes", "'yes'"), (True, "True")])
def test_one_class(label, shown):
    with refused(ValueError, f"y holds only the class {shown}", "hinge needs two"):
        validate.targets([label] * 3, 3, HINGE)


def test_more_classes():
    with refused(ValueError, "y holds 3 classes (0, 1, 2)", "hinge", "exactly two"):
        validate.targets([2, 1, 0], 3, HINGE)
    with refused(ValueError, "y holds 9 classes (0.0, 1.0, 2.0, 3.0, 4.0, ...)"):
        validate.targets(np.arange(9.0), 9, HINGE)


def test_labels_without_an_order():
    with refused(TypeError, "y holds labels that cannot be ordered"):
        validate.targets(np.array([1, "a"], dtype=object), 2, HINGE)
    with refused(TypeError, "y has dtype complex128"):
        validate.targets([1j, 2j], 2, HINGE)


@pytest.mark.parametrize("loss", [HINGE, Loss()])
@pytest.mark.parametrize("shape", [(5,), (3,), (4, 1), (1, 4), (0,), ()])
def test_shapes_of_targets(shape, loss):
    with refused(ValueError, f"y has shape {shape}, X has 4 rows"):
        validate.targets(np.ones(shape), 4, loss)


@pytest.mark.parametrize("loss", [HINGE, Loss()])
def test_sparse_and_masked_targets(loss):
    with refused(TypeError, "y is sparse"):
        validate.targets(sparse.csr_array([[1.0, 0.0]]), 2, loss)
    with refused(TypeError, "y is a masked array"):
        validate.targets(np.ma.masked_equal([1.0, 0.0], 0.0), 2, loss)


@pytest.mark.parametrize(
    "y",
    [
        [1.0, -2.0, 3.0],
        np.float32([1, -2, 3]),
        np.int8([1, -2, 3]),
        np.array([1.0, 0, -2, 0, 3, 0])[::2],
        np.array([1.0, -2, 3], dtype=">f8"),
        pd.Series([1, -2, 3], index=[5, 6, 7]),
        pd.Series([1, -2, 3], dtype="Int64"),
        misaligned(np.array([1.0, -2.0, 3.0])),
    ],
)
def test_regression_targets(y):
    values, classes = validate.targets(y, 3, Loss())
    assert classes is None
    assert values.dtype == np.float64
    assert values.flags.c_contiguous
    np.testing.assert_array_equal(values, [1.0, -2.0, 3.0])


@pytest.mark.parametrize(("y", "loss"), [([1.0, 2.0], Loss()), ([-1.0, 1.0], HINGE)])
def test_targets_are_new_memory(y, loss):
    y = np.array(y)
    assert not np.shares_memory(validate.targets(y, 2, loss)[0], y)


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_regression_targets_must_be_finite(value):
    with refused(ValueError, f"y[1] = {value}: a finite number is needed"):
        validate.targets([0.0, value, value], 3, Loss())
    with refused(ValueError, "y[1] = nan: a finite number is needed"):
        validate.targets(pd.Series([1, None], dtype="Int64"), 2, Loss())


@pytest.mark.parametrize("y", [["1", "2"], [1j, 2], [None, 1.0], np.array([1, 2], dtype=object)])
def test_regression_targets_must_be_real(y):
    with refused(TypeError, "y has dtype", "real numbers are needed"):
        validate.targets(y, 2, Loss())


def test_targets_below_what_the_loss_allows():
    with refused(ValueError, "y[1] = -0.5: a number >= 0 is needed for poisson"):
        validate.targets([0.0, -0.5, -3.0], 3, POISSON)
    assert validate.targets([0.0, 2.0], 2, POISSON)[0].tolist() == [0.0, 2.0]


# ----------------------------------------------------------------- weights


def test_no_weights():
    assert validate.sample_weight(None, 3) == (None, 3.0)


@pytest.mark.parametrize("weight", [1, 0.1, 5e-324, 1e-300, 1.7e308, np.float32(0.3)])
@pytest.mark.parametrize("n", [1, 3, 7, 49, 1000])
def test_equal_weights_are_exactly_one(n, weight):
    scaled, _ = validate.sample_weight(np.full(n, weight), n)
    assert scaled.dtype == np.float64
    assert (scaled == 1.0).all()


@given(
    hnp.arrays(
        np.float64, st.integers(1, 20), elements=st.floats(0, 1.7e308, allow_subnormal=False)
    ).filter(np.any)
)
def test_scaled_weights(weights):
    before = weights.copy()
    positive = weights[weights > 0]
    if positive.min() < 1e-299 * positive.max():
        return  # refused, as the next test but one shows
    scaled, total = validate.sample_weight(weights, len(weights))
    exact = [Fraction(w) for w in weights.tolist()]
    if sum(exact) < 10**307:
        assert total == pytest.approx(float(sum(exact)), rel=1e-14)
    total = sum(exact)
    expected = [float(len(weights) * w / total) for w in exact]
    np.testing.assert_allclose(scaled, expected, rtol=1e-15, atol=1e-300)
    np.testing.assert_array_equal(weights, before)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0, -2.0, -3.0], ["sample_weight[1] = -2.0: a number >= 0 is needed"]),
        ([1.0, 1.0, NAN], ["sample_weight[2] = nan: a finite number is needed"]),
        ([INF, 1.0, NAN], ["sample_weight[0] = inf: a finite number is needed"]),
        ([0.0, 0.0, -0.0], ["sample_weight is 0 everywhere", "> 0"]),
        ([1.0, 0.0, 1e-301], ["sample_weight[2] = 1e-301", "at least 1e-300 of the largest"]),
        ([1.0, 2.0], ["sample_weight has shape (2,), X has 3 rows"]),
        (np.ones((3, 1)), ["sample_weight has shape (3, 1), X has 3 rows"]),
        (2.0, ["sample_weight has shape (), X has 3 rows"]),
    ],
)
def test_bad_sample_weights(weights, words):
    with refused(ValueError, *words):
        validate.sample_weight(weights, 3)


def test_weights_of_a_wrong_type():
    with refused(TypeError, "sample_weight has dtype"):
        validate.sample_weight(["a", "b"], 2)
    with refused(TypeError, "l1_weights has dtype complex128"):
        validate.feature_weights("l1_weights", [1j, 2], 2)


def test_feature_weights():
    weights = validate.feature_weights("l1_weights", [0, 1, 2], 3)
    assert weights.dtype == np.float64
    assert weights.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0, -2.0, 1.0], ["l1_weights[1] = -2.0: a number >= 0 is needed"]),
        ([1.0, 1.0, INF], ["l1_weights[2] = inf: a finite number is needed"]),
        ([1.0, 1.0], ["l1_weights has shape (2,), X has 3 columns"]),
    ],
)
def test_bad_feature_weights(weights, words):
    with refused(ValueError, *words):
        validate.feature_weights("l1_weights", weights, 3)


def test_vectors():
    w = np.array([1.0, 2.0])
    assert np.shares_memory(validate.vector("w", w, 2), w)
    strided = validate.vector("w", np.float32([1, 0, 2, 0])[::2], 2)
    assert strided.dtype == np.float64
    assert strided.flags.c_contiguous
    assert strided.tolist() == [1.0, 2.0]
    with refused(ValueError, "w has shape (2,), shape (3,) is needed"):
        validate.vector("w", w, 3)
    with refused(ValueError, "alpha[1] = nan: a finite number is needed"):
        validate.vector("alpha", [0.0, NAN], 2)
    with refused(TypeError, "alpha has dtype object"):
        validate.vector("alpha", None, 2)


# ----------------------------------------------------------------- options


NUMBERS = [1, 0.5, np.float32(0.5), np.int64(3), np.longdouble(2), Fraction(1, 2), np.array(0.5)]


@pytest.mark.parametrize("check", [validate.positive, validate.nonnegative])
@pytest.mark.parametrize("value", NUMBERS)
def test_numbers(check, value):
    number = check("lam", value)
    assert type(number) is float
    assert number == value


def test_zero():
    assert math.copysign(1, validate.nonnegative("lam", -0.0)) == 1
    with refused(ValueError, "lam = 0.0: a finite number > 0 is needed"):
        validate.positive("lam", 0)


@pytest.mark.parametrize(
    ("check", "needed"), [(validate.positive, "> 0"), (validate.nonnegative, ">= 0")]
)
def test_numbers_out_of_range(check, needed):
    for value, shown in [(-1, "-1.0"), (NAN, "nan"), (INF, "inf"), (np.float32(-INF), "-inf")]:
        with refused(ValueError, f"lam = {shown}: a finite number {needed} is needed"):
            check("lam", value)
    with refused(ValueError, "lam = 1000", f"a finite number {needed} is needed"):
        check("lam", 10**400)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, "bool"),
        (np.True_, "bool"),
        ("1", "str"),
        (None, "NoneType"),
        (1j, "complex"),
        (np.ones(2), "ndarray"),
        (np.ones(0), "ndarray"),
        (np.array(True), "bool"),
        (np.ma.masked, "Masked"),
        ([1.0], "list"),
    ],
)
def test_what_is_no_number(value, kind):
    for check in (validate.positive, validate.nonnegative):
        with refused(TypeError, "lam = ", f"({kind}", "a finite number >"):
            check("lam", value)


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
def test_counts(value):
    number = validate.count("max_epochs", value, 1)
    assert type(number) is int
    assert number == 3


def test_bad_counts():
    with refused(TypeError, "max_epochs = 3.0 (float): an integer >= 1 is needed"):
        validate.count("max_epochs", 3.0, 1)
    for value in (True, np.True_, "3", None, np.array([3])):
        with refused(TypeError, "max_epochs = ", "an integer >= 1 is needed"):
            validate.count("max_epochs", value, 1)
    with refused(ValueError, "max_epochs = 0: an integer >= 1 is needed"):
        validate.count("max_epochs", 0, 1)
    assert validate.count("max_epochs", 0, 0) == 0


LOSSES = ("hinge", "logistic", "squared")


def test_choices():
    assert validate.choice("loss", "hinge", LOSSES) == "hinge"
    assert type(validate.choice("loss", np.str_("hinge"), LOSSES)) is str
    choices = "Choices: 'hinge', 'logistic', 'squared'"
    message = f"loss = 'hinje' is not known; did you mean 'hinge'? {choices}"
    with refused(ValueError, message):
        validate.choice("loss", "hinje", LOSSES)
    with refused(ValueError, f"loss = 'zzz' is not known. {choices}"):
        validate.choice("loss", "zzz", LOSSES)
    with refused(TypeError, f"loss = 3 (int): a string is needed. {choices}"):
        validate.choice("loss", 3, LOSSES)


# ----------------------------------------------------- CSR to CSC and back


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_transposition_is_that_of_scipy(kind, index):
    rng = np.random.default_rng(0)
    for n, d in [(1, 1), (1, 7), (6, 1), (30, 12)]:
        counts = rng.integers(0, 9, n)
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(index)
        indices = rng.integers(0, d, indptr[-1]).astype(index)  # in no order, some of them twice
        data = rng.normal(size=indptr[-1]).astype(kind)
        found = transposed(data, indices, indptr, d)
        expected = sparse.csr_array((data, indices, indptr), shape=(n, d)).tocsc()
        for ours, theirs in zip(
            found, (expected.data, expected.indices, expected.indptr), strict=True
        ):
            np.testing.assert_array_equal(ours, theirs)
        assert [part.dtype for part in found] == [kind, index, index]


@pytest.mark.parametrize(
    ("indices", "indptr"),
    [
        ([0, 3, 1], [0, 2, 3]),
        ([0, -1, 1], [0, 2, 3]),
        ([0, 1, 1], [0, 2, 4]),
        ([0, 1, 1], [0, -5, 3]),
        ([0, 1, 1], [0, 3, 2]),
        ([0, 1, 1], [0, 2, 2]),
        ([0, 1], [0, 2, 3]),
    ],
)
def test_parts_that_do_not_fit_are_not_transposed(indices, indptr):
    """As they may be while another thread writes to them."""
    parts = np.array(indices, np.int32), np.array(indptr, np.int32)
    assert transposed(np.ones(3), *parts, 3) is None


def test_fingerprints_tell_of_any_change():
    rng = np.random.default_rng(1)
    X = sparse.random_array((40, 30), density=0.2, format="csr", rng=rng)
    before = validate.rows(X).fingerprint()
    assert validate.rows(X.copy()).fingerprint() == before
    seen = {before}
    for part in (X.data, X.indices, X.indptr):
        raw = part.view(np.uint8)
        for byte in range(len(raw)):
            raw[byte] ^= 1 << byte % 8
            seen.add(csr_rows(X.data, X.indices, X.indptr, 30, True).fingerprint())
            raw[byte] ^= 1 << byte % 8
    signs = X.data.view(np.uint64)
    for k in range(1, len(signs)):  # two changes at once
        for i in (0, k):
            signs[i] ^= np.uint64(1 << 63)
        seen.add(validate.rows(X).fingerprint())
        for i in (0, k):
            signs[i] ^= np.uint64(1 << 63)
    assert len(seen) == X.data.nbytes + X.indices.nbytes + X.indptr.nbytes + len(signs)
    assert validate.rows(X).fingerprint() == before


@pytest.mark.parametrize("make", [np.array, lambda y: np.repeat(y, 2)[::2], list, np.float32])
def test_two_labels_of_any_kind_of_array(make):
    y = make([3.0, -1.0, 3.0, 3.0])
    signs, classes = validate.targets(y, 4, Loss("hinge", True))
    np.testing.assert_array_equal(signs, [1, -1, 1, 1])
    np.testing.assert_array_equal(classes, [-1, 3])
    assert signs is not y


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1.0, np.nan, -1.0], r"y\[1\] = nan"),
        ([np.nan, np.nan, np.nan], r"y\[0\] = nan"),
        ([1.0, 1.0, 1.0], "only the class 1"),
        ([1.0, 2.0, 3.0], "holds 3 classes"),
        ([1.0, 2.0], r"shape \(2,\)"),
    ],
)
def test_labels_that_are_not_two(y, message):
    with pytest.raises(ValueError, match=message):
        validate.targets(np.array(y), 3, Loss("hinge", True))
