"""svmlight text to arrays, and arrays to text, a block at a time.

A `Parser` is fed blocks that may be cut anywhere. It reads whole tokens and carries an unfinished
one over, so that it needs no more memory than a block and what it found, however long a line is.
The loop only finds *that* a token is bad; `refusal` says what is wrong with it.

Numbers are rounded as Python's float() does it. Where 19 digits m times 10^e are not a product or
quotient of two exact doubles, m is multiplied with the 128 leading bits of 10^e. The product is too
small by less than two units of its last bit but 64, so its first 53 bits can be rounded unless
the others lie that close to a half; these, subnormal numbers and longer ones are left to Python.
"""

import re

import numpy as np

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.mem cimport PyMem_Free
from cpython.object cimport PyObject
from libc.math cimport floor, signbit
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memchr, memcpy, strlen

ctypedef unsigned char byte

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    static inline uint64_t proxsdca_times(uint64_t a, uint64_t b, uint64_t* low) {
        unsigned __int128 product = (unsigned __int128)a * b;
        *low = (uint64_t)product;
        return (uint64_t)(product >> 64);
    }
    static inline double proxsdca_from_bits(uint64_t bits) {
        double x;
        memcpy(&x, &bits, sizeof x);
        return x;
    }
    """
    uint64_t multiply_high "proxsdca_times"(uint64_t a, uint64_t b, uint64_t* low) noexcept nogil
    double from_bits "proxsdca_from_bits"(uint64_t bits) noexcept nogil
    int leading_zeros "__builtin_clzll"(unsigned long long x) noexcept nogil

cdef extern from "Python.h":
    double PyOS_string_to_double(const char* text, char** end, PyObject* overflow) except? -1.0
    char* PyOS_double_to_string(double x, char code, int precision, int flags,
                                int* kind) except NULL

cdef enum:
    LEAST = -342            # 19 digits times a lesser power of ten are 0
    LARGEST = 308
    LONGEST = 4096          # bytes of a token
    LABEL = 0               # what the next token of a line is
    FIRST = 1               # qid or a feature
    FEATURE = 2

cdef uint64_t MOST = <uint64_t>1 << 48          # indices lie below it, as in solve
cdef uint64_t EXACT = <uint64_t>1 << 53

cdef uint64_t[651] POWER_HIGH, POWER_LOW        # 10^e = (high, low) 2^scale, truncated
cdef int[651] POWER_SCALE
cdef double[23] TEN
cdef bint[256] ENDS_TOKEN


cdef make_tables():
    cdef object e, power                        # Python's integers
    for e in range(23):
        TEN[e] = float(10**e)
    for e in range(LEAST, LARGEST + 1):
        power = 10 ** abs(e)
        if e >= 0:
            scale = power.bit_length() - 128
            leading = power >> scale if scale > 0 else power << -scale
        else:
            scale = -127 - power.bit_length()
            leading = (1 << -scale) // power
        POWER_HIGH[e - LEAST] = leading >> 64
        POWER_LOW[e - LEAST] = leading & 0xFFFFFFFFFFFFFFFF
        POWER_SCALE[e - LEAST] = scale
    for c in b" \t\r\v\f\n#":
        ENDS_TOKEN[c] = True


make_tables()


# ----------------------------------------------------------------- numbers


cdef inline bint is_digit(byte c) noexcept nogil:
    return <byte>(c - 48) < 10


cdef bint scaled(uint64_t m, Py_ssize_t e, double* value) noexcept nogil:
    """m 10^e for m > 0, unless that is subnormal, infinite or near the middle of two doubles."""
    cdef uint64_t high, low, high_low, low_high, rest, half, bits
    cdef int shift = leading_zeros(m), cut, exponent
    if not LEAST <= e <= LARGEST:
        return False
    m <<= shift
    high = multiply_high(m, POWER_HIGH[e - LEAST], &low)
    low_high = multiply_high(m, POWER_LOW[e - LEAST], &high_low)
    low += low_high
    high += low < low_high
    cut = 11 if high >> 63 else 10              # bits of high beyond the first 53
    rest, half = high & ((<uint64_t>1 << cut) - 1), <uint64_t>1 << (cut - 1)
    bits = high >> cut
    if rest > half or (rest == half and low > 0):
        bits += 1                               # to 2^53 at most, which is exact all the same
    elif rest == half or (rest == half - 1 and low >= <uint64_t>0 - 2):
        return False
    # the value is bits 2^(cut + 128 + scale - shift): the product has 192 bits, high the first 64
    exponent = cut + 128 + POWER_SCALE[e - LEAST] - shift + 1075
    if bits == EXACT:
        bits, exponent = bits >> 1, exponent + 1
    if not 1 <= exponent <= 2046:
        return False
    value[0] = from_bits((<uint64_t>exponent << 52) | (bits & (EXACT // 2 - 1)))
    return True


cdef const byte* number(const byte* p, double* value) except? NULL nogil:
    """Read [+-]digits[.digits][e[+-]digits]; return its end, NULL where there is none."""
    cdef const byte* start = p
    cdef const byte* digits
    cdef const byte* fraction
    cdef uint64_t m = 0
    cdef Py_ssize_t count, exponent = 0, power = 0
    cdef bint negative = p[0] == c"-", below
    if negative or p[0] == c"+":
        p += 1
    digits = p
    while is_digit(p[0]):
        m = m * 10 + (p[0] - 48)
        p += 1
    count = p - digits
    if p[0] == c".":
        p += 1
        fraction = p
        while is_digit(p[0]):
            m = m * 10 + (p[0] - 48)
            p += 1
        exponent = fraction - p
        count -= exponent
    if count == 0:
        return NULL
    if count > 19:                              # zeros in front take nothing of m's 64 bits
        while digits[0] == c"0" or digits[0] == c".":
            count -= digits[0] == c"0"
            digits += 1
    if p[0] == c"e" or p[0] == c"E":
        p += 1
        below = p[0] == c"-"
        if below or p[0] == c"+":
            p += 1
        if not is_digit(p[0]):
            return NULL
        while is_digit(p[0]):
            if power < 100_000:                 # beyond which the value is 0 or infinite
                power = power * 10 + (p[0] - 48)
            p += 1
        exponent += -power if below else power

    if count <= 19 and m == 0:
        value[0] = 0.0
    elif count <= 19 and m <= EXACT and -22 <= exponent <= 22:
        value[0] = m / TEN[-exponent] if exponent < 0 else m * TEN[exponent]
    elif count > 19 or not scaled(m, exponent, value):
        with gil:
            value[0] = PyOS_string_to_double(<const char*>start, <char**>&fraction, NULL)
        return p
    if negative:
        value[0] = -value[0]
    return p


def parse(text):
    """The number that the bytes consist of, None where they are not one; for tests."""
    cdef double value
    cdef bytes line = bytes(text) + b"\n"
    cdef const byte* start = line
    cdef const byte* end = number(start, &value)
    return value if end == start + len(line) - 1 else None


cdef char* put_integer(char* out, uint64_t x, int least) noexcept:
    """At least so many digits."""
    cdef char[20] digits
    cdef int k = 20
    while x or least > 0:
        k -= 1
        least -= 1
        digits[k] = 48 + x % 10
        x //= 10
    memcpy(out, &digits[k], 20 - k)
    return out + 20 - k


cdef char* put_number(char* out, double x) except NULL:
    """The shortest decimal that is read as x: as repr, without a .0 at the end."""
    cdef double m
    cdef int k
    cdef uint64_t whole, ten = 1
    cdef char* text
    if signbit(x):
        out[0] = c"-"
        out, x = out + 1, -x
    if x < 1e15 and x == floor(x):
        return put_integer(out, <uint64_t>x, 1)
    if 1e-4 <= x < 1e15:
        # no two decimals of up to 15 digits are the same double: one that is x is the shortest
        for k in range(1, 20):
            m = floor(x * TEN[k] + 0.5)
            ten *= 10
            if m >= 1e15:
                break
            if m / TEN[k] == x:
                whole = <uint64_t>m
                out = put_integer(out, whole // ten, 1)
                out[0] = c"."
                return put_integer(out + 1, whole % ten, k)
    text = PyOS_double_to_string(x, c"r", 0, 0, NULL)
    memcpy(out, text, strlen(text))
    out += strlen(text)
    PyMem_Free(text)
    return out


def lines(const double[::1] y, const int64_t[::1] qid, const int64_t[::1] indptr,
          const int64_t[::1] indices, const double[::1] data, int64_t base):
    """The text of some rows, as bytes.

    `indptr` counts from anything, `indices` and `data` are the rows' own; `qid` may be None.
    """
    cdef Py_ssize_t i, k, n = y.shape[0], nnz = data.shape[0]
    cdef int64_t first = indptr[0]
    # a number has at most 24 characters, an integer 20
    cdef char* text = <char*>malloc(n * (24 + 25 + 1) + nnz * (1 + 20 + 1 + 24) + 1)
    cdef char* out = text
    if text == NULL:
        raise MemoryError
    try:
        for i in range(n):
            out = put_number(out, y[i])
            if qid is not None:
                memcpy(out, b" qid:", 5)
                out += 5
                if qid[i] < 0:
                    out[0] = c"-"
                    out += 1
                out = put_integer(out, 0 - <uint64_t>qid[i] if qid[i] < 0 else <uint64_t>qid[i], 1)
            for k in range(indptr[i] - first, indptr[i + 1] - first):
                out[0] = c" "
                out = put_integer(out + 1, <uint64_t>(indices[k] + base), 1)
                out[0] = c":"
                out = put_number(out + 1, data[k])
            out[0] = c"\n"
            out += 1
        return text[:out - text]
    finally:
        free(text)


# ----------------------------------------------------------------- reading


@cython.final
cdef class Buffer:
    """Items that realloc makes room for, which moves pages and copies nothing once there are many;
    numpy takes the memory as it stands."""

    cdef char* memory
    cdef Py_ssize_t used, room, size            # items, and the bytes of one
    cdef object dtype

    def __cinit__(self, dtype):
        self.dtype = np.dtype(dtype)
        self.size = self.dtype.itemsize

    def __dealloc__(self):
        free(self.memory)

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self.memory, self.used * self.size, 0, flags)

    cdef int resize(self, Py_ssize_t room, Py_ssize_t size) except -1 nogil:
        cdef char* memory = <char*>realloc(self.memory, max(room, <Py_ssize_t>1) * size)
        if memory == NULL:
            with gil:
                raise MemoryError
        self.memory, self.room, self.size = memory, room, size
        return 0

    cdef int reserve(self, Py_ssize_t more) except -1 nogil:
        if self.used + more > self.room:
            self.resize(self.used + max(more, self.used // 2), self.size)
        return 0

    cdef int widen(self) except -1 nogil:
        """int32 to int64, in place from the end."""
        cdef Py_ssize_t k
        self.resize(self.room, 8)
        for k in range(self.used - 1, -1, -1):
            (<int64_t*>self.memory)[k] = (<int32_t*>self.memory)[k]
        with gil:
            self.dtype = np.dtype(np.int64)
        return 0

    cdef inline int push(self, int64_t x) except -1 nogil:
        """Append an integer, for which there is room."""
        if self.size == 4:
            if x <= INT32_MAX:
                (<int32_t*>self.memory)[self.used] = <int32_t>x
                self.used += 1
                return 0
            self.widen()
        (<int64_t*>self.memory)[self.used] = x
        self.used += 1
        return 0

    cdef object array(self):
        """What there is, as an array on this memory; nothing can be appended from now on."""
        if self.used == 0:
            return np.empty(0, self.dtype)
        self.resize(self.used, self.size)
        return np.frombuffer(self, self.dtype)


@cython.final
cdef class Parser:
    """What the blocks of one text have come to.

    Parameters
    ----------
    name : str
        What the text is called in refusals.
    zero_based : bool
        Whether the first index is 0 instead of 1.
    n_features : int, optional
        How many features there may be.
    dtype : float32 or float64
        Of the values; labels are float64.
    """

    cdef readonly int64_t n, nnz, d             # rows and entries so far, largest index + 1
    cdef readonly int has_qid                   # -1: not known yet
    cdef Buffer data, indices, indptr, y, qid
    cdef object name, dtype
    cdef bytes carry
    cdef int base, place
    cdef bint single, comment, row_has_qid
    cdef int64_t offset, line, line_start, label_at, previous, stop     # bytes from the start

    def __init__(self, name, zero_based=False, n_features=None, dtype=np.float64):
        self.name, self.dtype = name, np.dtype(dtype)
        self.single = self.dtype.itemsize == 4
        self.base = 0 if zero_based else 1
        self.stop = MOST if n_features is None else n_features + self.base
        self.carry, self.line, self.has_qid, self.previous = b"", 1, -1, -1
        self.renew(np.int32, np.int32)
        self.indptr.reserve(1)
        self.indptr.push(0)

    cdef renew(self, indices, indptr):
        self.data, self.y, self.qid = Buffer(self.dtype), Buffer(np.float64), Buffer(np.int64)
        self.indices, self.indptr = Buffer(indices), Buffer(indptr)

    def take(self):
        """Return (data, indices, indptr, y, qid) found since the last call; indptr goes on."""
        indices, indptr = self.indices.array(), self.indptr.array()
        found = self.data.array(), indices, indptr, self.y.array(), self.qid.array()
        self.renew(indices.dtype, indptr.dtype)
        return found

    def feed(self, bytes block not None):
        """Read the next bytes of the text.

        Blocks should be short, as signals are looked at between them.
        """
        cdef bytes text = self.carry + block if self.carry else block
        cdef const byte* start = text
        cdef const byte* bad
        cdef Py_ssize_t size = len(text), whole = size
        while whole and not ENDS_TOKEN[start[whole - 1]]:
            whole -= 1
        self.make_room(whole)
        with nogil:
            bad = self.scan(start, whole)
            if bad == NULL and self.comment:    # which has no tokens
                bad = <const byte*>memchr(start + whole, 0, size - whole)
                whole = size
        if bad == NULL and size - whole > LONGEST:
            bad = start + whole
        if bad != NULL:
            raise self.refused(text, bad - start)
        self.carry = text[whole:]
        self.offset += whole

    def finish(self):
        """Read what is left where the last line has no end; there must have been a row."""
        self.feed(b"\n")
        if self.n == 0:
            raise ValueError(f"{self.name}: no rows")

    cdef int make_room(self, Py_ssize_t size) except -1:
        """A feature takes four bytes at least, a row two."""
        self.data.reserve(size // 4 + 1)
        self.indices.reserve(size // 4 + 1)
        self.indptr.reserve(size // 2 + 1)
        self.y.reserve(size // 2 + 1)
        self.qid.reserve(size // 2 + 1 if self.has_qid else 0)
        return 0

    cdef const byte* scan(self, const byte* start, Py_ssize_t size) except? NULL nogil:
        """Read whole tokens up to the first bad one, which is returned."""
        cdef const byte* p = start
        cdef const byte* end = start + size
        cdef const byte* stop
        cdef const byte* bad
        if self.offset == 0 and size > 3 and p[0] == 0xEF and p[1] == 0xBB and p[2] == 0xBF:
            p += 3                              # a byte order mark
        while p < end:
            if self.comment:
                stop = <const byte*>memchr(p, c"\n", end - p)
                if stop == NULL:
                    stop = end
                bad = <const byte*>memchr(p, 0, stop - p)
                if bad != NULL:
                    return bad
                p = stop
                self.comment = p == end
            elif p[0] == c"\n":
                if self.place != LABEL and not self.end_row():
                    return p
                p += 1
                self.line += 1
                self.line_start = self.offset + (p - start)
            elif p[0] == c"#":
                self.comment = True
                p += 1
            elif ENDS_TOKEN[p[0]]:
                p += 1
            else:
                if self.place == FEATURE:
                    stop = self.feature(p)
                elif self.place == LABEL:
                    self.label_at = self.offset + (p - start)
                    stop = self.label(p)
                elif p[0] == c"q":
                    stop = self.query(p)
                else:
                    self.place = FEATURE
                    continue
                if stop == NULL or stop - p > LONGEST:
                    return p
                p = stop
        return NULL

    cdef inline int end_row(self) except -1 nogil:
        """Whether the row may end here: with a qid where others have one."""
        if self.has_qid == 1 and not self.row_has_qid:
            return False
        self.has_qid = self.row_has_qid
        self.indptr.push(self.nnz)
        self.n += 1
        self.place, self.previous, self.row_has_qid = LABEL, -1, False
        return True

    cdef inline const byte* label(self, const byte* p) except? NULL nogil:
        cdef double value
        p = number(p, &value)
        if p == NULL or not ENDS_TOKEN[p[0]] or value - value != 0:
            return NULL
        (<double*>self.y.memory)[self.y.used] = value
        self.y.used += 1
        self.place = FIRST
        return p

    cdef inline const byte* feature(self, const byte* p) except? NULL nogil:
        cdef uint64_t index = 0
        cdef double value
        cdef float single
        if not is_digit(p[0]):
            return NULL
        while is_digit(p[0]):
            index = index * 10 + (p[0] - 48) if index < MOST else index
            p += 1
        if p[0] != c":" or index >= <uint64_t>self.stop or index < <uint64_t>self.base:
            return NULL
        index -= self.base
        if <int64_t>index <= self.previous:
            return NULL
        p = number(p + 1, &value)
        if p == NULL or not ENDS_TOKEN[p[0]] or value - value != 0:
            return NULL
        if self.single:
            single = <float>value
            if single - single != 0:
                return NULL
            (<float*>self.data.memory)[self.data.used] = single
        else:
            (<double*>self.data.memory)[self.data.used] = value
        self.data.used += 1
        self.indices.push(index)
        self.previous = index
        self.nnz += 1
        if self.d <= <int64_t>index:
            self.d = index + 1
        return p

    cdef const byte* query(self, const byte* p) except? NULL nogil:
        """qid:N, an int64."""
        cdef bint negative
        cdef uint64_t value = 0, most = <uint64_t>1 << 63
        if self.has_qid == 0 or p[1] != c"i" or p[2] != c"d" or p[3] != c":":
            return NULL
        p += 4
        negative = p[0] == c"-"
        if negative or p[0] == c"+":
            p += 1
        if not is_digit(p[0]):
            return NULL
        while is_digit(p[0]):
            if value > (most - (p[0] - 48)) // 10:
                return NULL
            value = value * 10 + (p[0] - 48)
            p += 1
        if not ENDS_TOKEN[p[0]] or (value == most and not negative):
            return NULL
        (<int64_t*>self.qid.memory)[self.qid.used] = <int64_t>(0 - value if negative else value)
        self.qid.used += 1
        self.row_has_qid = True
        self.place = FEATURE
        return p

    cdef object refused(self, bytes text, Py_ssize_t at):
        """The error for what begins at this byte of the text."""
        cdef Py_ssize_t end = at
        cdef int64_t where = self.offset + at
        while end < len(text) and not ENDS_TOKEN[<byte>text[end]]:
            end += 1
        if end == at:                           # the end of a line whose label was fine
            where = self.label_at
            why = "no qid, but the lines before have one: all or none is allowed"
        elif self.comment:
            why = "a NUL byte in a comment: text is needed"
        else:
            why = refusal(text[at:end], self.place, self.base, self.stop,
                          self.previous + self.base, self.has_qid, self.dtype)
        return ValueError(f"{self.name}:{self.line}:{where - self.line_start + 1}: {why}")


# ---------------------------------------------------------------- refusals


def shown(token):
    """A token as a literal of printable characters, shortened."""
    return repr(token[:40])[1:] + ("..." if len(token) > 40 else "")


def refusal(token, place, base, stop, previous, has_qid, dtype):
    """What is wrong with a token that the parser did not take, and what is allowed.

    `stop` is one more than the largest index of the text, `previous` the index before.
    """
    if len(token) > LONGEST:
        return f"{shown(token)} is longer than {LONGEST} bytes"
    if b"\0" in token:
        return f"{shown(token)} has a NUL byte: text is needed"
    if place == LABEL:
        if b":" in token:
            return f"{shown(token)} where the label belongs: 'label index:value ...' is needed"
        if b"," in token:
            return f"label {shown(token)}: several labels; one number is needed"
        return f"label {shown(token)}: {number_refusal(token, np.dtype(np.float64))}"
    if place == FIRST:
        if has_qid == 0 and token.startswith(b"qid:"):
            return f"{shown(token)}, but the lines before have no qid: all or none is allowed"
        return f"{shown(token)}: 'qid:N' with an integer N of 64 bits is needed"
    index, colon, value = token.partition(b":")
    what = f"index {shown(index)} in {shown(token)}"
    if index == b"qid":
        return f"{shown(token)}: qid is allowed right after the label only"
    if not colon:
        return f"{shown(token)} has no colon: 'index:value' is needed"
    if not index:
        return f"{shown(token)} has no index: 'index:value' is needed"
    if not re.fullmatch(rb"[0-9]+", index):
        return f"{what}: digits are needed, without a sign"
    digits = index.lstrip(b"0")
    if not digits and base:
        return f"{what}: {base} to {stop - 1} is allowed, and 0 where zero_based"
    if len(digits) > 15 or int(digits or b"0") >= stop:
        return f"{what}: {base} to {stop - 1} is allowed"
    if int(digits or b"0") <= previous:
        return f"{what} after {previous}: indices must be sorted and unique"
    if not value:
        return f"{shown(token)} has no value: 'index:value' is needed"
    if b":" in value:
        return f"{shown(token)} has a second colon: 'index:value' is needed"
    return f"value {shown(value)} in {shown(token)}: {number_refusal(value, dtype)}"


def number_refusal(text, dtype):
    """What is wrong with a number."""
    if parse(text) is not None:
        return f"overflows {dtype}, whose largest number is {np.finfo(dtype).max}"
    if re.fullmatch(rb"(?i)[+-]?(nan|inf|infinity)", text):
        return "a finite number is needed"
    return "a decimal number like -1.5e-3 is needed"
