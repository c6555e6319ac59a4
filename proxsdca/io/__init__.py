"""Data sets in files: svmlight text and arrays, also those that are larger than memory.

X, y, qid = proxsdca.io.read("train.svm.gz")
X, y, qid = proxsdca.io.convert("huge.svm.zst", "huge")   # memory-mapped; read("huge") later
"""

from ._convert import convert
from ._data import Data
from ._read import read
from ._write import write

__all__ = ["Data", "convert", "read", "write"]
