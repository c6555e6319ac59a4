"""A page of words as a chain reads them, wrong letters marked, as a picture.

    python ocr_words.py [page.png]

Needs matplotlib. The words are those of the data set `ocr-letters`, 16 x 8 pixels a letter, where
the environment variable PROXSDCA_DATA names a folder with it; otherwise they are made up. Nine
tenths of them are unseen by the model, and the page shows some of these.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from proxsdca import oracles, structured

ROWS, COLUMNS = 14, 4  # words of the page
LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))
TEXT = """the quick brown fox jumps over lazy dogs while seven wizards brew mixed potions and pack
my box with five dozen liquor jugs how vexingly daft zebras jump sphinx of black quartz judge vow
bright ideas flow from every quiet corner where people work and think about letters"""


def words() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Pixels and labels of all letters, the lengths of words, and their folds."""
    folder = os.environ.get("PROXSDCA_DATA")
    file = Path(folder or "") / "ocr-letters.npz"
    if folder and file.is_file():
        with np.load(file) as z:
            parts = (z["data"], z["indices"], z["indptr"])
            X = sp.csr_matrix(parts, tuple(z["shape"])).toarray().astype(float)
            return X, z["y"].astype(int), z["lengths"].astype(int), z["folds"].astype(int)
    print("No ocr-letters.npz in the folder PROXSDCA_DATA: made-up words instead.")
    rng = np.random.default_rng(0)
    glyphs = rng.random((26, 16, 8)) < 0.35
    glyphs &= np.roll(glyphs, 1, axis=1) | (rng.random((26, 16, 8)) < 0.6)
    lexicon = TEXT.split()
    chosen = [lexicon[k] for k in rng.integers(0, len(lexicon), 600)]
    y = np.array([ord(letter) - ord("a") for word in chosen for letter in word])
    X = glyphs[y].reshape(len(y), 128) ^ (rng.random((len(y), 128)) < 0.22)
    return X.astype(float), y, np.array([len(word) for word in chosen]), np.arange(600) % 10


def draw(
    X: np.ndarray, y: np.ndarray, found: np.ndarray, lengths: np.ndarray, title: str
) -> plt.Figure:
    """The words side by side, each with what was read below it."""
    figure, axes = plt.subplots(ROWS, COLUMNS, figsize=(11, 14))
    figure.suptitle(title)
    begin = 0
    for axis, length in zip(axes.ravel(), lengths, strict=False):
        letters = slice(begin, begin + length)
        begin += length
        pixels = X[letters].reshape(length, 16, 8).transpose(1, 0, 2).reshape(16, 8 * length)
        axis.imshow(1 - pixels, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        axis.set_xlim(-0.5, 8 * 14 - 0.5)  # the longest word of the data
        axis.set_ylim(26, -0.5)
        axis.axis("off")
        for t, (true, read) in enumerate(zip(y[letters], found[letters], strict=True)):
            right = true == read
            axis.text(
                8 * t + 3.5, 22, LETTERS[read], ha="center", va="center", fontsize=9,
                color="black" if right else "white", weight="normal" if right else "bold",
                bbox=None if right else {"facecolor": "firebrick", "edgecolor": "none", "pad": 1.2},
            )  # fmt: skip
            if not right:
                axis.add_patch(
                    plt.Rectangle((8 * t - 0.5, -0.5), 8, 16, fill=False, edgecolor="firebrick")
                )
    for axis in axes.ravel()[len(lengths) :]:
        axis.axis("off")
    figure.tight_layout(rect=(0, 0, 1, 0.98))
    return figure


def main() -> None:
    to = sys.argv[1] if len(sys.argv) > 1 else "ocr_words.png"
    X, y, lengths, folds = words()
    fold = np.repeat(folds, lengths)
    train = fold == 0
    oracle = oracles.Chain(X[train], y[train], lengths[folds == 0], classes=np.arange(26))
    result = structured.solve(oracle, lam=10 / oracle.n, tol=1e-2, verbose=1)
    print(result.summary())
    unseen, sizes = ~train, lengths[folds != 0]
    found = oracle.decode(result.w, X[unseen], sizes).labels
    wrong = 100 * np.mean(found != y[unseen])
    print(f"{wrong:.1f} % of the letters of {len(sizes):,} unseen words are wrong")
    rng = np.random.default_rng(1)
    page = np.sort(rng.permutation(len(sizes))[: ROWS * COLUMNS])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    rows = np.concatenate([np.arange(starts[i], starts[i + 1]) for i in page])
    figure = draw(
        X[unseen][rows], y[unseen][rows], found[rows], sizes[page],
        f"{len(page)} of {len(sizes):,} unseen words; {wrong:.1f} % of all letters are wrong",
    )  # fmt: skip
    figure.savefig(to, dpi=110)
    print(f"The page is in {to}")


if __name__ == "__main__":
    main()
