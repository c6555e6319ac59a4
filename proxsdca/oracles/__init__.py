"""Argmax oracles for `proxsdca.structured.solve`, compiled, each with a decoder.

`Multiclass`, `Chain` and `Multilabel` say for each example which wrong label is the most tempting,
and what it costs. An oracle of your own is any object with `n`, `d` and `argmax`: see
`proxsdca.structured`.
"""

from ._chain import Chain, ChainWeights
from ._multiclass import Multiclass
from ._multilabel import Multilabel, MultilabelWeights
from ._ready import Decoded, Ready

__all__ = [
    "Chain",
    "ChainWeights",
    "Decoded",
    "Multiclass",
    "Multilabel",
    "MultilabelWeights",
    "Ready",
]
