"""Files: what is read is what Python and scikit-learn read, what is refused is refused by place.

As a script, a stage of the memory tests: python tests/test_io.py STAGE ARGUMENTS
"""

import bz2
import contextlib
import gzip
import io as streams
import itertools
import json
import lzma
import math
import os
import random
import re
import resource
import struct
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse

import proxsdca
from proxsdca import _random, _resident
from proxsdca._core.svmlight import Parser, lines, parse
from proxsdca._files import atomic
from proxsdca.io import _convert, _source, convert, read, write

MB = 1 << 20
SUFFIXES = ("svm", "svm.gz", "svm.bz2", "svm.xz", "npz")
try:
    import zstandard
except ImportError:
    zstandard = None
else:
    SUFFIXES = (*SUFFIXES, "svm.zst")


def parsed(text, block=None, name="f", **keywords):
    """(data, indices, indptr, y, qid), fed in blocks of the given size."""
    parser = Parser(name, **keywords)
    for at in range(0, len(text), block or max(1, len(text))):
        parser.feed(text[at : at + (block or len(text))])
    parser.finish()
    return parser.take()


def same(a, b):
    """Equal arrays: types, shapes and bits."""
    return all(
        u.dtype == v.dtype and u.shape == v.shape and u.tobytes() == v.tobytes()
        for u, v in zip(a, b, strict=True)
    )


def same_data(a, b):
    parts = [[d.X.data, d.X.indices, d.X.indptr, d.y] for d in (a, b)]
    queries = a.qid is b.qid is None or same([a.qid], [b.qid])
    return queries and a.X.shape == b.X.shape and same(*parts)


@st.composite
def data_sets(draw):
    """X, y, qid: any finite numbers, explicit zeros, empty rows."""
    n, d = draw(st.integers(1, 6)), draw(st.integers(1, 7))
    number = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-50, 50).map(float)
    kind = draw(st.sampled_from([np.float64, np.float32]))
    if kind == np.float32:
        number = st.floats(allow_nan=False, allow_infinity=False, width=32)
    dense = [[draw(st.none() | number) for _ in range(d)] for _ in range(n)]
    entries = [(i, j, x) for i, row in enumerate(dense) for j, x in enumerate(row) if x is not None]
    indptr = np.cumsum([0] + [sum(i == r for i, _, _ in entries) for r in range(n)])
    X = sparse.csr_array(
        (
            np.array([x for _, _, x in entries], kind),
            np.array([j for _, j, _ in entries], np.int32),
            indptr.astype(np.int32),
        ),
        shape=(n, d),
    )
    y = np.array(draw(st.lists(number, min_size=n, max_size=n)), np.float64)
    word = st.integers(-(2**63), 2**63 - 1)
    qid = draw(st.none() | st.lists(word, min_size=n, max_size=n))
    return proxsdca.io.Data(X, y, None if qid is None else np.array(qid, np.int64))


# ----------------------------------------------------------------- numbers


DECIMALS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(allow_nan=False, allow_infinity=False).map("{:.17g}".format),
    st.floats(0, 1e-300).map(repr),
    st.from_regex(r"[+-]?([0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,30})([eE][+-]?[0-9]{1,3})?",
                  fullmatch=True),
    st.builds("{}e{}".format, st.integers(0, 10**19), st.integers(-345, 310)),
    # halfway between two doubles, and a little off
    st.builds(lambda m, e, tail: f"{(2 * m + 1) << e}{tail}",
              st.integers(2**52, 2**53 - 1), st.integers(0, 40),
              st.sampled_from(["", ".0", ".000000000000000000001", "e0"])),
    st.builds(lambda m, e: f"{((2 * m + 1) * 5**e)}e-{e}",
              st.integers(2**52, 2**53 - 1), st.integers(1, 30)),
)  # fmt: skip


@given(DECIMALS)
@example("1e400")
@example("-1e-400")
@example("0" * 50 + ".1")
@example("0." + "0" * 400 + "1e400")
@example("9007199254740993")
@example("1" * 400)
@example("2.4703282292062327e-324")
@example("2.4703282292062328e-324")
@example("2.2250738585072011e-308")
@example("1.7976931348623158e308")
@example("1.7976931348623159e308")
@example("18446744073709551615e-17")
def test_numbers_are_what_float_says(text):
    assert struct.pack("d", parse(text.encode())) == struct.pack("d", float(text))


def test_many_numbers_are_what_float_says(campaign):
    rng = random.Random(1)
    for _ in range(campaign(10_000_000)):
        m, e = rng.getrandbits(rng.randint(1, 63)), rng.randint(-345, 310)
        text = f"{m}e{e}" if rng.random() < 0.5 else repr(m * 10.0 ** (e % 40 - 30))
        assert struct.pack("d", parse(text.encode())) == struct.pack("d", float(text)), text


NO_NUMBERS = (
    "", "+", "-", ".", "e5", "1e", "1e+", "+-1", "1.2.3", "0x1p3", "1_0", "nan", "inf", "1 ", "1f",
    "\u0661", "1,5", "1e5.0", "--1",
)  # fmt: skip


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_no_number(text):
    assert parse(text.encode()) is None


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**9), 10**9).flatmap(
    lambda m: st.integers(0, 12).map(lambda e: m / 10**e)))  # fmt: skip
@example(-0.0)
@example(1e15)
@example(1e16)
@example(999999999999999.9)
@example(0.0001)
@example(9.999e-5)
def test_numbers_are_written_as_repr_has_them(x):
    none = np.zeros(0, np.int64)
    text = lines(np.array([x]), None, np.zeros(2, np.int64), none, np.zeros(0), 0)
    assert text.decode() == repr(x).removesuffix(".0") + "\n"


# -------------------------------------------------------------- round trips


@given(data_sets(), st.sampled_from(SUFFIXES), st.booleans(), st.sampled_from(["", "a\nb # c"]))
def test_what_was_written_is_read(tmp_path_factory, data, suffix, zero_based, comment):
    path = tmp_path_factory.getbasetemp() / f"round.{suffix}"
    write(path, *data[:2], qid=data.qid, zero_based=zero_based, comment=comment)
    back = read(path, zero_based=zero_based, n_features=data.X.shape[1], dtype=data.X.dtype)
    assert same_data(back, data)


@given(data_sets())
def test_what_was_converted_is_read(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "converted.svm"
    write(path, *data[:2], qid=data.qid)
    keywords = {"n_features": data.X.shape[1], "dtype": data.X.dtype}
    found = convert(path, path.with_suffix(".folder"), overwrite=True, **keywords)
    assert same_data(found, data)
    assert same_data(read(path.with_suffix(".folder"), **keywords), data)
    assert not found.X.data.flags.writeable


TEXT = (
    b"\xef\xbb\xbf# head\r\n\n1 qid:3 1:2.5 7:1e-320\t9:0\r\n  # alone\n-1.5e3 qid:-4 # x\0y"[:-2]
    + b"\n+.5 qid:+0 2:123456789012345678901234567890 3:5.\v4:-0#end"
)


@pytest.mark.parametrize("block", range(1, len(TEXT) + 1))
def test_blocks_may_be_cut_anywhere(block):
    assert same(parsed(TEXT, block), parsed(TEXT))


@given(data_sets(), st.integers(1, 40))
def test_blocks_of_any_size(data, block):
    indptr, indices = data.X.indptr.astype(np.int64), data.X.indices.astype(np.int64)
    text = lines(data.y, data.qid, indptr, indices, data.X.data.astype(float), 1)
    assert same(parsed(text, block), parsed(text))


def test_every_part_of_the_grammar():
    data, indices, indptr, y, qid = parsed(TEXT)
    assert data.tolist() == [2.5, 1e-320, 0, 1.2345678901234568e29, 5, -0.0]
    assert indices.tolist() == [0, 6, 8, 1, 2, 3]
    assert indptr.tolist() == [0, 3, 3, 6]
    assert y.tolist() == [1, -1500, 0.5]
    assert qid.tolist() == [3, -4, 0]
    assert indices.dtype == indptr.dtype == np.int32
    data, indices, *_ = parsed(b"1 0:1 5:0.1\n", zero_based=True, dtype=np.float32)
    assert indices.tolist() == [0, 5]
    assert same([data], [np.array([1, 0.1], np.float32)])


def test_a_line_of_any_length_is_read_in_little_memory(tmp_path):
    count = 300_000
    text = b"1 " + b" ".join(b"%d:1" % j for j in range(1, count + 1)) + b" # " + b"c" * 9000
    assert parsed(text, 1000)[2].tolist() == [0, count]
    parser = Parser("f")
    parser.feed(text[:MB])
    assert len(parser.take()[0]) > 100_000  # although the line goes on


# ---------------------------------------------------------------- refusals


REFUSED = [
    (b"1 1:nan", "1:3: value 'nan' in '1:nan': a finite number is needed"),
    (b"1 1:-inf", "1:3: value '-inf' in '1:-inf': a finite number is needed"),
    (b"inf 1:1", "1:1: label 'inf': a finite number is needed"),
    (b"1\n1 1:1e400", "2:3: value '1e400' in '1:1e400': overflows float64"),
    (b"1e999", "1:1: label '1e999': overflows float64"),
    (b"1 1:1_0", "1:3: value '1_0' in '1:1_0': a decimal number like"),
    (b"1 1:0x10", "1:3: value '0x10' in '1:0x10': a decimal"),
    (b"1 1:2:3", "1:3: '1:2:3' has a second colon"),
    (b"1 1:", "1:3: '1:' has no value"),
    (b"1 :1", "1:3: ':1' has no index"),
    (b"1 1", "1:3: '1' has no colon"),
    (b"1 -1:1", "1:3: index '-1' in '-1:1': digits are needed, without a sign"),
    (b"1 +1:1", "1:3: index '+1' in '+1:1': digits are needed, without a sign"),
    (b"1 1.0:1", "1:3: index '1.0' in '1.0:1': digits"),
    (b"1 1_0:1", "1:3: index '1_0' in '1_0:1': digits"),
    (b"1 0:1", "1:3: index '0' in '0:1': 1 to 281474976710655 is allowed, and 0 where zero_based"),
    (b"1 281474976710656:1", "1:3: index '281474976710656' in '281474976710656:1': 1 to"),
    (b"1 " + b"9" * 60 + b":1", "1:3: index '" + "9" * 40 + "'... in '" + "9" * 40 + "'...: 1 to"),
    (b"1 2:1 2:1", "1:7: index '2' in '2:1' after 2: indices must be sorted and unique"),
    (b"1 3:1   2:1", "1:9: index '2' in '2:1' after 3: indices must be sorted and unique"),
    (b"1 1:1\0", "1:3: '1:1\\x00' has a NUL byte"),
    (b"1 1:1 # a\0", "1:10: a NUL byte in a comment"),
    (b"#" + b"x" * 5000 + b"\0", "1:5002: a NUL byte in a comment"),
    (b"\0", "1:1: '\\x00' has a NUL byte"),
    (b"1,2 1:1", "1:1: label '1,2': several labels; one number is needed"),
    (b"\n \n1:1", "3:1: '1:1' where the label belongs"),
    (b"x 1:1", "1:1: label 'x': a decimal number"),
    (b"1 qid:x 1:1", "1:3: 'qid:x': 'qid:N' with an integer N of 64 bits"),
    (b"1 qid:1.5", "1:3: 'qid:1.5': 'qid:N' with an integer"),
    (b"1 qid: 1:1", "1:3: 'qid:': 'qid:N' with an integer"),
    (b"1 qid5:1", "1:3: 'qid5:1': 'qid:N' with an integer"),
    (b"1 q", "1:3: 'q': 'qid:N' with an integer"),
    (b"1 qid:9223372036854775808", "1:3: 'qid:9223372036854775808': 'qid:N'"),
    (b"1 qid:-9223372036854775809", "1:3: 'qid:-9223372036854775809': 'qid:N'"),
    (b"1 1:1 qid:3", "1:7: 'qid:3': qid is allowed right after the label only"),
    (b"1 qid:1 1:1\n 2 1:1", "2:2: no qid, but the lines before have one"),
    (b"1 1:1\n2 qid:1 1:1", "2:3: 'qid:1', but the lines before have no qid"),
    (b"1 qid:1 qid:2", "1:9: 'qid:2': qid is allowed right after the label only"),
    (b"1 1:" + b"0" * 4094 + b"1", "1:3: '1:" + "0" * 38 + "'... is longer than 4096 bytes"),
    (b"9" * 5000, "1:1: '" + "9" * 40 + "'... is longer than 4096 bytes"),
    (b"\xff\xfe1 1:1", "1:1: label '\\xff\\xfe1': a decimal"),
    (b"1 1:1\n\xef\xbb\xbf1 1:1", "2:1: label '\\xef\\xbb\\xbf1': a decimal"),
]


@pytest.mark.parametrize("block", [1, 7, MB])
@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refusals_say_where_and_why(text, message, block):
    for end in (b"", b"\n", b"\r\n1 1:1\n"):
        with pytest.raises(ValueError, match="^" + re.escape(f"a/b.svm:{message}")):
            parsed(text + end, block, name="a/b.svm")


def test_refusals_that_depend_on_what_is_asked_for(tmp_path):
    def refused(text, message, **keywords):
        with pytest.raises(ValueError, match=re.escape(message)):
            read(streams.BytesIO(text), **keywords)

    refused(b"1 4:1", "<stream>:1:3: index '4' in '4:1': 1 to 3 is allowed", n_features=3)
    refused(b"1 3:1", ":1:3: index '3' in '3:1': 0 to 2 is allowed", n_features=3, zero_based=True)
    refused(b"1 3:1e39", ":1:3: value '1e39' in '3:1e39': overflows float32", dtype=np.float32)
    refused(b"", "<stream>: no rows")
    refused(b"# only\n\n", "<stream>: no rows")
    refused(b"1 1:1", "n_features = 0: 1 to 2**48 - 1", n_features=0)
    refused(b"1 1:1", "dtype = int64: float32 or float64", dtype=np.int64)
    assert read(streams.BytesIO(b"1 3:1e-50"), dtype=np.float32).X.data.tolist() == [0]
    assert read(streams.BytesIO(b"1 2:1"), n_features=9).X.shape == (1, 9)
    with pytest.raises(TypeError, match=r"n_features = 1\.5"):
        read(streams.BytesIO(b"1 1:1"), n_features=1.5)
    with pytest.raises(TypeError, match="open it in binary mode"):
        read(streams.StringIO("1 1:1"))
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read(tmp_path / "nowhere")


# ------------------------------------------------- mutants, beside sklearn


NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
INTERESTING = [
    b"#", b":", b"::", b" ", b"\t", b"\r", b"\v", b"\f", b"\n", b"\0", b"qid:1", b" qid:2 ", b"qid",
    b"q", b"nan", b"inf", b"-", b"+", b".", b"e", b"E5", b"e-320", b"1e400", b"1e308", b"0x1", b"_",
    b",", b"0", b"00", b"1", b"9", b"0:1", b" 1:1", b" 2:2", b"1:", b":1", b" 7:1e5", b"\x85",
    b"\xa0", b"\xef\xbb\xbf", b"\xff", b"\x1c", b"\x1f", b"4294967297", b"2147483648", b"5e-324",
    b"9007199254740993", b"0.30000000000000004", b"1" * 25, b"i", b"d", b"l", b"j", b"\x1a",
]  # fmt: skip


def plain_lines(rng):
    """Lines as they should be."""
    found = []
    for _ in range(2000):
        tokens = [rng.choice([b"1", b"-1", b"+1", b"0.5", b"3e2", b"7."])]
        if rng.random() < 0.2:
            tokens.append(b"qid:%d" % rng.randint(-3, 9))
        index = 0
        for _ in range(rng.randint(0, 4)):
            index += rng.randint(1, 12)
            value = rng.choice([b"1", b"%d" % rng.randint(-99, 99), repr(rng.random()).encode()])
            tokens.append(b"%d:%s" % (index, value))
        found.append(b" ".join(tokens) + rng.choice([b"", b"", b" # c", b"\r"]))
    return found


def mutated(rng, pool):
    line = rng.choice(pool)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randint(0, len(line))
        kind = rng.random()
        if kind < 0.45:
            line = line[:at] + rng.choice(INTERESTING) + line[at:]
        elif kind < 0.6:
            line = line[:at] + bytes((rng.getrandbits(8),)) + line[at + 1 :]
        elif kind < 0.75:
            line = line[:at] + line[at + rng.randint(1, 3) :]
        elif kind < 0.9:
            other = rng.choice(pool)
            line = line[:at] + other[rng.randint(0, len(other)) :]
        else:
            line = line[:at] + rng.choice(INTERESTING) + line[at + 1 :]
    return line


def allowed(text, base):
    """The grammar once more, written apart from the parser."""
    has_qid = None
    if b"\0" in text:
        return False
    for line in text.split(b"\n"):
        tokens = line.partition(b"#")[0].split()
        if not tokens:
            continue
        if not NUMBER.fullmatch(tokens[0]) or abs(float(tokens[0])) == float("inf"):
            return False
        features = tokens[1:]
        query = bool(features) and features[0].startswith(b"q")
        if has_qid not in (None, query):
            return False
        has_qid = query
        if query:
            number = features.pop(0)
            if not re.fullmatch(rb"qid:[+-]?[0-9]+", number) or abs(int(number[4:])) >= 2**63:
                return False
        previous = base - 1
        for feature in features:
            index, _, value = feature.partition(b":")
            if not re.fullmatch(rb"[0-9]+", index) or not previous < int(index) < 2**48:
                return False
            if not NUMBER.fullmatch(value) or abs(float(value)) == float("inf"):
                return False
            previous = int(index)
    return True


def beside_sklearn(batch, zero_based):
    """Compare what we read of these texts with what scikit-learn reads of all of them at once."""
    from sklearn.datasets import load_svmlight_file

    text = b"".join(text for text, _ in batch)
    try:
        X, y, qid = load_svmlight_file(streams.BytesIO(text), zero_based=zero_based, query_id=True)
    except Exception:
        if len(batch) == 1:
            raise AssertionError(f"scikit-learn refuses {text!r}") from None
        for one in batch:
            beside_sklearn([one], zero_based)
        raise
    data, indices, labels, queries = (
        np.concatenate([found[k] for _, found in batch]) for k in (0, 1, 3, 4)
    )
    lengths = np.concatenate([np.diff(found[2]) for _, found in batch])
    ok = (
        X.data.tobytes() == data.tobytes()
        and np.array_equal(X.indices, indices)
        and np.array_equal(np.diff(X.indptr), lengths)
        and y.tobytes() == labels.tobytes()
        and np.array_equal(qid, queries)
    )
    if not ok and len(batch) > 1:
        for one in batch:
            beside_sklearn([one], zero_based)
    assert ok, (batch[0], X, y, qid)


def mutants(count, seed=0):
    """How many of so many mutated lines were read, and refused; each as it should be."""
    rng = random.Random(seed)
    pool = plain_lines(rng)
    place = re.compile(r"f:(\d+):(\d+): .", re.S)
    read_, refused = 0, 0
    for begin in range(0, count, 1000):
        zero_based, batch = bool(begin // 1000 % 2), []
        for _ in range(min(1000, count - begin)):
            text = mutated(rng, pool) + b"\n"
            parser, refusal = Parser("f", zero_based), None
            try:
                parser.feed(b"#\n")  # so that a byte order mark is not at the start
                parser.feed(text)
            except ValueError as error:
                refusal = str(error)
            assert (refusal is None) == allowed(text, 1 - zero_based), (text, refusal)
            if refusal is not None:
                line, column = map(int, place.match(refusal).groups())
                assert 1 <= column <= len(text.split(b"\n")[line - 2]), (text, refusal)
                refused += 1
            elif parser.d < 2**31:  # more than scikit-learn's indices can be
                batch.append((text, parser.take()))
        beside_sklearn(batch, zero_based)
        read_ += len(batch)
    return read_, refused


def test_mutated_lines_are_refused_or_read_as_sklearn_reads_them(campaign):
    count = campaign(10_000_000)
    read_, refused = mutants(count)
    print(f"{count} mutated lines: {read_} read, {refused} refused")
    assert min(read_, refused) > count / 10


# ------------------------------------------------------------ kinds of files


def test_compression_is_recognised_by_its_first_bytes(tmp_path):
    text = b"1 1:1\n" * 300_000
    kinds = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}
    if zstandard:
        kinds["zstd"] = lambda data: zstandard.ZstdCompressor(write_checksum=True).compress(data)
    for kind, compress in kinds.items():
        whole = compress(text)
        path = tmp_path / "plain"
        path.write_bytes(whole)
        assert read(path).X.shape == (300_000, 1)
        path.write_bytes(whole + compress(text))  # several streams
        assert read(path).X.shape == (600_000, 1)
        bad = [whole[:-1], whole[: len(whole) // 2], whole[:-5], whole + b"rest", whole[:20]]
        if kind != "zstd":
            bad.append(whole[:40] + bytes(b ^ 255 for b in whole[40:60]) + whole[60:])
        for damaged in bad:
            path.write_bytes(damaged)
            with pytest.raises(ValueError, match=re.escape(f"{path}: ") + ".*" + kind):
                read(path)
        path.write_bytes(compress(b"1 1:1\n1 x:1\n"))
        with pytest.raises(ValueError, match="plain:2:3: index 'x'"):
            read(path)


def test_a_bomb_is_taken_in_small_pieces(tmp_path):
    bomb = lzma.compress(b" " * 40 * MB)
    with _source.Source(streams.BytesIO(bomb)) as source:
        assert max(map(len, source.blocks())) <= _source.BLOCK


def test_without_zstd_an_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    path = tmp_path / "a.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfdxxxxxxxxx")
    with pytest.raises(ImportError, match=r"pip install 'proxsdca\[zstd\]'"):
        read(path)
    with pytest.raises(ImportError, match=r"pip install 'proxsdca\[zstd\]'"):
        write(path, [[1.0]], [1])
    assert path.read_bytes().endswith(b"x")


def test_standard_input_and_open_files(tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes(b"1 1:1\n-1 2:1\n")
    code = "import proxsdca; d = proxsdca.io.read('-'); print(d.X.shape, d.y)"
    with open(path, "rb") as file:
        out = subprocess.run([sys.executable, "-c", code], stdin=file, capture_output=True,
                             text=True, check=True, cwd=tmp_path)  # fmt: skip
        assert out.stdout == "(2, 2) [ 1. -1.]\n"
        file.seek(6)
        assert read(file).y.tolist() == [-1]
        assert not file.closed
    path.write_bytes(b"1 1:x")
    with open(path, "rb") as file, pytest.raises(ValueError, match=r"a\.svm:1:3: "):
        read(file)


def test_npz_of_scipy_and_bare_parts(tmp_path):
    X = sparse.random_array((5, 4), density=0.5, rng=np.random.default_rng(0)).tocsr()
    path = tmp_path / "a.npz"
    for matrix in (X, sparse.csr_matrix(X), X.tocsc(), X.tocoo()):
        sparse.save_npz(path, matrix)
        data = read(path)
        assert data.y is None
        assert (data.X != X).nnz == 0
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
    np.savez(path, **parts, y=np.arange(5))
    assert read(path, n_features=4).y.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match=re.escape(f"{path}: 4 columns, n_features = 5")):
        read(path, n_features=5)
    write(path, X, np.arange(5))
    assert (sparse.load_npz(path) != X).nnz == 0
    for bad in (
        {"y": np.arange(4)}, {"indices": X.indices + 4}, {"indptr": X.indptr[:-1]}, {"shape": 3},
        {"data": np.array(["a"] * X.nnz)}, {"y": np.array([None] * 5)}, {"format": b"xyz"},
    ):  # fmt: skip
        np.savez(path, **{**parts, **bad})
        with pytest.raises(ValueError, match=re.escape(f"{path}: ")):
            read(path)
    np.savez(path, data=X.data)
    with pytest.raises(ValueError, match="no indices, indptr, shape in it"):
        read(path)
    whole = path.read_bytes()
    for damaged in (b"", b"nothing", whole[:-30], whole[:60] + b"?" * 20 + whole[80:]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=re.escape(f"{path}: ")):
            read(path)


def test_dense_npy_is_mapped(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.eye(3))
    data = read(path)
    assert data.X.tolist() == np.eye(3).tolist()
    assert data.y is None
    assert isinstance(data.X.base, np.memmap)
    for bad in (np.ones(3), np.array([[None]]), np.array([["a"]])):
        np.save(path, bad)
        with pytest.raises(ValueError, match=re.escape(f"{path}: ")):
            read(path)


# ----------------------------------------------------------------- writing


def test_a_failure_leaves_what_was_there(tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes(b"before")
    with contextlib.suppress(RuntimeError), atomic(path) as file:
        file.write(b"half")
        raise RuntimeError
    assert path.read_bytes() == b"before"
    with atomic(path) as file:
        file.write(b"after")
        assert path.read_bytes() == b"before"
    assert path.read_bytes() == b"after"
    assert os.listdir(tmp_path) == ["a.svm"]
    with pytest.raises(FileNotFoundError, match="nowhere"):
        write(tmp_path / "nowhere" / "a.svm", [[1.0]], [1])
    with pytest.raises(OSError, match="directory"):
        write(tmp_path, [[1.0]], [1])


def test_modes_and_links_are_kept(tmp_path):
    path, link = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"")
    path.chmod(0o640)
    link.symlink_to(path)
    write(link, [[1.0]], [1])
    assert link.is_symlink()
    assert path.read_bytes() == b"1 1:1\n"
    assert path.stat().st_mode & 0o777 == 0o640


def test_write_judges_and_changes_nothing(tmp_path):
    path = tmp_path / "a.svm"
    X = sparse.csr_array((np.array([1.0, 2, 4]), [1, 0, 1], [0, 3]), shape=(1, 2))
    write(path, X, [7])
    assert path.read_bytes() == b"7 1:2 2:5\n"
    assert X.indices.tolist() == [1, 0, 1]
    write(path, np.array([[0, 3], [0, 0]]), [True, False], qid=[1, -2])
    assert path.read_bytes() == b"1 qid:1 2:3\n0 qid:-2\n"
    for arguments, message in [
        (([[np.nan]], [1]), "X[0, 0] = nan"),
        (([[1]], [np.inf]), "y[0] = inf"),
        (([[1]], [1, 2]), "y has shape (2,), (1,) is needed"),
        (([[1]], ["a"]), "y is of <U1"),
        (([[1j]], [1]), "X is of complex128"),
        (([1], [1]), "X has shape (1,)"),
        ((np.ones((0, 3)), []), "X has shape (0, 3)"),
    ]:
        with pytest.raises(ValueError, match=re.escape(message)):
            write(path, *arguments)
    with pytest.raises(ValueError, match=r"qid has shape \(2,\)"):
        write(path, [[1]], [1], qid=[1, 2])
    with pytest.raises(ValueError, match="qid is of float64"):
        write(path, [[1]], [1], qid=[1.0])
    with pytest.raises(ValueError, match="NUL"):
        write(path, [[1]], [1], comment="a\0b")


def test_long_rows_and_many_rows_are_written_in_pieces(tmp_path):
    rng = np.random.default_rng(0)
    long = sparse.csr_array(rng.random((2, 150_000)))
    write(tmp_path / "a", long, [1, 2])
    assert (long != read(tmp_path / "a").X).nnz == 0
    many = sparse.csr_array(rng.integers(0, 2, (50_000, 3)).astype(float))
    write(tmp_path / "a", many, np.arange(50_000))
    found = read(tmp_path / "a")
    assert (many != found.X).nnz == 0
    assert found.y.tolist() == list(range(50_000))


# -------------------------------------------------------------- conversion


def test_wide_indices(tmp_path):
    text = b"1 1:1 2:2\n" * 30 + b"-1 2:5 3000000000:7\n" + b"1 1:4\n"
    data = read(streams.BytesIO(text))
    assert data.X.shape == (32, 3_000_000_000)
    assert data.X.indices.dtype == data.X.indptr.dtype == np.int64
    assert data.X.indices[-3:].tolist() == [1, 2_999_999_999, 0]
    (tmp_path / "a").write_bytes(text)
    original = _source.Source
    with pytest.MonkeyPatch.context() as patch:  # so that it is found out late
        patch.setattr(_convert, "Source", lambda path: original(path, 16))
        found = convert(tmp_path / "a", tmp_path / "folder")
    assert same_data(found, data)
    few = convert(streams.BytesIO(b"1 1:1\n"), tmp_path / "few", n_features=2**40)
    assert few.X.shape == (1, 2**40)
    assert few.X.indices.dtype == few.X.indptr.dtype == np.int64
    assert same_data(few, read(streams.BytesIO(b"1 1:1\n"), n_features=2**40))


def test_convert_leaves_nothing_behind_and_deletes_nothing_else(tmp_path):
    folder = tmp_path / "folder"
    with pytest.raises(ValueError, match="<stream>:1:3: "):
        convert(streams.BytesIO(b"1 x:1"), folder)
    assert os.listdir(tmp_path) == []
    convert(streams.BytesIO(b"1 1:1"), folder)
    with pytest.raises(FileExistsError, match="folder: exists already"):
        convert(streams.BytesIO(b"2 1:1"), folder)
    with pytest.raises(ValueError, match="<stream>: no rows"):
        convert(streams.BytesIO(b""), folder, overwrite=True)
    assert read(folder).y.tolist() == [1]
    assert convert(streams.BytesIO(b"2 1:1"), folder, overwrite=True).y.tolist() == [2]
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine").write_text("mine")
    with pytest.raises(ValueError, match=r"other: a folder without meta\.json"):
        convert(streams.BytesIO(b"2 1:1"), other, overwrite=True)
    assert sorted(os.listdir(tmp_path)) == ["folder", "other"]
    with pytest.raises(FileNotFoundError, match="nowhere"):
        convert(streams.BytesIO(b"2 1:1"), tmp_path / "nowhere" / "folder")


def test_convert_tells_its_progress(tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes(b"1 1:1\n" * 500_000)
    told = []
    convert(path, tmp_path / "folder", progress=lambda *where: told.append(where))
    assert told == [(MB, 3_000_000), (2 * MB, 3_000_000), (3_000_000, 3_000_000)]
    told.clear()
    convert(streams.BytesIO(b"1 1:1\n"), tmp_path / "b", progress=lambda *at: told.append(at))
    assert told == [(6, None)]


def test_a_folder_that_was_changed_is_refused(tmp_path):
    folder = tmp_path / "folder"

    def fresh():
        convert(streams.BytesIO(b"1 qid:1 1:1 2:2\n2 qid:1 1:3\n"), folder, overwrite=True)

    def refused(name):
        with pytest.raises(ValueError, match=re.escape(str(folder / name))):
            read(folder)
        meta.write_text(before)

    meta = folder / "meta.json"
    fresh()
    before = meta.read_text()
    for name in ("data", "indices", "indptr", "y", "qid"):
        path = folder / f"{name}.npy"
        whole = path.read_bytes()
        for damaged in (whole[:-1], whole + b"x", whole[:100], b"", whole.replace(b"<", b">")):
            path.write_bytes(damaged)
            refused(f"{name}.npy")
        path.unlink()
        with pytest.raises((OSError, ValueError), match=re.escape(str(path))):
            read(folder)
        path.write_bytes(whole)
    for name, value in itertools.product(("n", "nnz", "d", "version", "format", "dtypes"),
                                         (0.5, -1, "1", None, 2**61, True)):  # fmt: skip
        meta.write_text(json.dumps({**json.loads(before), name: value}))
        refused("meta.json")
    for text in ("", "[]", "{", "\xff"):
        meta.write_text(text)
        refused("meta.json")
    meta.write_text(json.dumps({**json.loads(before), "nnz": 4}))
    refused("data.npy")
    meta.unlink()
    with pytest.raises(ValueError, match=r"folder: a folder without meta\.json"):
        read(folder)


# ----------------------------------------------------- solving on what is mapped


def problem(n=300, d=40, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, d), density=0.2, rng=rng).tocsr()
    return X, np.where(X @ rng.standard_normal(d) > 0, 1.0, -1.0)


def test_mapped_data_give_the_same_bits(tmp_path, monkeypatch):
    X, y = problem()
    write(tmp_path / "a.svm", X, y)
    data = convert(tmp_path / "a.svm", tmp_path / "folder")
    monkeypatch.setattr(_resident.Keeper, "VISITS", 7)
    with _resident.bounded((data.X,), 0):
        for order in _random.ORDERS:
            a, b = (proxsdca.solve(M, y, order=order) for M in (X, data.X))
            assert a.w.tobytes() == b.w.tobytes()
    assert proxsdca.certify(data.X, y, b.w, b.alpha) == proxsdca.certify(X, y, b.w, b.alpha)


def test_resident_pages_are_given_back(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.ones((64, MB // 8)))
    X = read(path).X
    status = Path("/proc/self/statm")
    if not status.exists():
        pytest.skip("nobody tells how much is resident")

    def shared():
        return int(status.read_text().split()[2]) * os.sysconf("SC_PAGESIZE")

    before = shared()
    with _resident.bounded((X,), 8 * MB):
        for _ in range(5):
            assert X.sum() == X.size
        threading.Event().wait(0.1)
        assert shared() - before < 16 * MB
    assert "proxsdca-resident" not in [thread.name for thread in threading.enumerate()]


def test_nothing_is_done_for_ordinary_arrays():
    X, _ = problem()
    for thing in (X, X.toarray(), X.tocsc(), [[1]], None, object()):
        assert isinstance(_resident.bounded((thing,)), contextlib.nullcontext)


# ------------------------------------------------------------------- blocks


@pytest.mark.parametrize("m", [0, 1, 2, 3, 10, 16, 17, 1000, 10_007])
def test_blocks_are_neighbours_in_random_order(m):
    rows = 3 * np.arange(m) + 1 if m else np.arange(0)
    order = _random.Order("blocks", rows.copy(), _random.stream(5))
    again = _random.Order("blocks", rows.copy(), _random.stream(5))
    size = math.isqrt(m)
    seen = []
    for _ in range(3):
        visits = order.next().copy()
        assert np.array_equal(visits, again.next())
        assert np.array_equal(np.sort(visits), rows)
        # fourteen full blocks and two that may be cut short are shuffled together at the least
        together = visits[: 14 * size] // 3
        blocks = [len(np.unique((together - cut) // size)) for cut in range(size)]
        assert min(blocks, default=0) <= 16
        seen.append(tuple(visits.tolist()))
    assert m < 10 or len(set(seen)) == 3


def test_blocks_are_worth_about_as_much_as_a_permutation():
    X, y = problem()
    X, y = X[np.argsort(y, kind="stable")], np.sort(y)  # the worst order on a disk
    epochs = {
        order: np.mean(
            [
                proxsdca.solve(X, y, order=order, seed=s, tol=1e-4, solver="plain").epochs
                for s in range(5)
            ]
        )
        for order in ("permutation", "blocks")
    }
    assert epochs["blocks"] < 1.5 * epochs["permutation"]


def test_blocks_begin_and_go_on_at_random():
    stream, m, rounds = _random.stream(1), 12, 12_000
    order = _random.Order("blocks", np.arange(m), stream)
    first = np.zeros(m)
    for _ in range(rounds):
        first[order.next()[0]] += 1
    expected = rounds / m
    assert np.sum((first - expected) ** 2 / expected) < 37.4  # chi^2 with 11 degrees, 1e-4


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_blocks_converge_with_a_true_certificate(loss):
    X, y = problem()
    a, b = (proxsdca.solve(M, y, loss=loss, order="blocks", seed=3) for M in (X, X.toarray()))
    assert a.converged
    assert np.allclose(a.w, b.w, rtol=1e-9, atol=1e-12)
    best = proxsdca.solve(X, y, loss=loss, tol=1e-9)
    assert a.dual <= best.primal + best.gap
    assert a.primal - best.primal <= a.gap + a.rounding
    assert a.w.tobytes() == proxsdca.solve(X, y, loss=loss, order="blocks", seed=3).w.tobytes()


# ------------------------------------------------------------------- memory


def peak():
    """The most that was resident at any time, in bytes."""
    return resident("VmHWM")


def resident(field):
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(rf"{field}:\s+(\d+) kB", status)[1])


def generate(path, size):
    """A text of about so many bytes, with rows of 100 entries."""
    rng = np.random.default_rng(0)
    rows = 7000
    columns = np.sort(rng.integers(0, 20_000, (rows, 100)), axis=1) + np.arange(1, 101)
    values = np.round(rng.standard_normal((rows, 100)), 5)
    y = np.where(values[:, :10].sum(axis=1) > 0, 1.0, -1.0)
    indptr = np.arange(0, rows * 100 + 1, 100)
    text = lines(y, None, indptr, columns.ravel(), values.ravel(), 0)
    with open(path, "wb") as file:
        for _ in range(max(1, size // len(text))):
            file.write(text)


def measure(stage, path, folder, limit):
    """One stage in a process of its own; prints what it took."""
    if limit != "-":
        Path(limit, "cgroup.procs").write_text(str(os.getpid()))
    before = resident("VmRSS")
    if stage == "read":
        X, y, _ = read(path)
        held = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes + y.nbytes
        return {"held": held, "growth": peak() - before}
    resource.setrlimit(resource.RLIMIT_DATA, (500 * 10**6, 500 * 10**6))
    if stage == "convert":
        X, _, _ = convert(path, folder)
        return {"held": X.data.nbytes + X.indices.nbytes, "growth": peak() - before, "peak": peak()}
    data = read(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", proxsdca.ConvergenceWarning)
        # at random, an epoch on data that do not fit takes minutes: the disk is read over and over
        r = proxsdca.solve(data.X, data.y, order=stage, tol=0.05, max_epochs=5, max_seconds=60)
    held = data.X.data.nbytes + data.X.indices.nbytes
    return {"held": held, "peak": peak(), "epochs": r.epochs, "gap": r.gap / r.primal}


@contextlib.contextmanager
def memory_group(limit):
    """A control group with so many bytes; None where one cannot be made."""
    for root, name in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                       ("/sys/fs/cgroup", "memory.max")):  # fmt: skip
        group = Path(root, f"proxsdca-{os.getpid()}")
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / name).write_text(str(limit))
        except OSError:
            group.rmdir()
            continue
        yield str(group)
        group.rmdir()
        return
    yield None


def forget(folder):
    """Drop the files of a folder from the cache, so that who reads them next is charged."""
    for path in Path(folder).iterdir():
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_memory(tmp_path, pytestconfig):
    long = pytestconfig.getoption("--long")
    text, folder = tmp_path / "a.svm", tmp_path / "folder"
    generate(text, 10**9 if long else 60 * 10**6)

    def stage(name, limit="-"):
        command = [sys.executable, __file__, name, str(text), str(folder), limit]
        out = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert out.returncode == 0, out.stderr
        print(name, "limited" if limit != "-" else "", out.stdout.strip())
        return json.loads(out.stdout)

    took = stage("read")
    assert took["growth"] < 1.5 * took["held"]
    took = stage("convert")
    assert took["peak"] < 300 * 10**6
    assert took["growth"] < 100 * 10**6
    for order in ("blocks", "permutation"):
        took = stage(order)
        assert took["peak"] < 500 * 10**6
        assert not long or took["held"] > 500 * 10**6
        with memory_group(500 * 10**6) as group:
            if group is not None:
                forget(folder)
                stage(order, group)


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:])))
