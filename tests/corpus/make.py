"""Writes the corpus: small models of this version of the format, and what they must be when read.

    python tests/corpus/make.py v1

Every later version must read these files, so a folder that is there is never written again: a new
version of the format, or a new kind of model, gets a folder of its own. `values_of` says what is
compared; it must go on to say the same of what old folders hold.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

import proxsdca
from proxsdca import structured
from proxsdca.losses import MulticlassHinge, Quantile
from proxsdca.oracles import Chain
from proxsdca.regularizers import L1, L1L2, Group, QNorm

LARGEST = 6_000  # bytes of a file


def new_rows(d):
    """Rows to predict for, the same in every version: halves and thirds without a pattern."""
    k = np.arange(7 * d).reshape(7, d)
    return ((k * k * 31 + k * 17) % 23 - 11) / np.array([2.0, 3.0, 1.0])[k % 3]


def exact(value):
    """A value as JSON has it, every bit of it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, (list, tuple)):
        return [exact(item) for item in value]
    if isinstance(value, np.ndarray):
        if value.dtype.names:
            return {name: exact(value[name]) for name in value.dtype.names}
        listed = value.astype(str) if value.dtype.kind in "Mm" else value
        return {"dtype": value.dtype.str, "values": exact(listed.tolist())}
    if sparse.issparse(value):
        return [list(value.shape), *map(exact, (value.data, value.indices, value.indptr))]
    if isinstance(value, dict):
        return {str(key): exact(item) for key, item in value.items()}
    if hasattr(value, "parameters"):  # a loss or a regulariser
        return {"name": value.name, **{key: exact(getattr(value, key)) for key in value.parameters}}
    return value if isinstance(value, (str, int, type(None))) else repr(value)


def values_of(model):
    """What a model in the corpus must be."""
    found = {"class": type(model).__name__}
    names = (
        "w", "coef", "coef_", "intercept", "intercept_", "alpha", "dual_coef_", "transitions_",
        "start_", "end_", "classes", "classes_", "primal", "dual", "gap", "gap_", "rounding",
        "target", "converged", "epochs", "n_iter_", "history", "history_", "lam", "sigma", "sigma_",
        "lams", "sigmas", "sigmas_", "sigma_max", "scores_", "side", "option", "order", "output",
        "recomputed", "certified", "touched", "touched_certifying", "feature_names_in_",
        "n_features_in_", "nonzeros",
    )  # fmt: skip
    found |= {name: exact(getattr(model, name)) for name in names if hasattr(model, name)}
    found |= {f"{name} of it": exact(value) for name, value in parts(model)}
    if isinstance(model, (structured.StructuredResult, proxsdca.Path)):
        return found
    named = getattr(model, "feature_names_in_", None)
    X = new_rows(len(model.w) if hasattr(model, "w") else model.n_features_in_)
    X = X if named is None else pd.DataFrame(X, columns=named)
    predicted = model.predict(X)
    if predicted.dtype.kind != "f":
        found["predicted"] = exact(predicted)
    if hasattr(model, "decision_function"):
        predicted = model.decision_function(X)
    if predicted.dtype.kind == "f":  # whose last bits may be others on another machine
        found["margins"] = exact(predicted.ravel().tolist())
    return found


def parts(model):
    """The parameters of an estimator, or what a result is one of."""
    if hasattr(model, "get_params"):
        yield from model.get_params(deep=False).items()
    else:
        yield from ((name, getattr(model, name)) for name in ("loss", "reg"))
    if hasattr(model, "status"):
        yield "status", model.status.name


def models():
    """Of all kinds; what they are fitted to does not matter."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 4))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=12) > 0, "yes", "no")
    k = np.arange(12) % 3
    names = np.array(["red", "green", "blü"])
    lasting = np.array(["2001-01-01", "2002-02-02", "2003-03-03"], "M8[D]")
    costs = MulticlassHinge([[0, 1, 2.5], [1, 0, 1], [3, 1, 0]], classes=names)
    numbers = X @ [1.0, -2, 0, 0.5]
    yield "hinge_l2", proxsdca.solve(X, y)
    yield (
        "logistic_l1l2_intercept",
        proxsdca.solve(
            X, y == "no", loss="logistic", reg=L1L2([1, 2, 0.5, 0]), sigma=0.01, fit_intercept=True
        ),
    )
    yield "softmax_dates", proxsdca.solve(X, lasting[k], loss="softmax", fit_intercept=True)
    yield "multiclass_hinge_costs", proxsdca.solve(X, names[k], loss=costs, reg="l1l2")
    yield (
        "quantile_group",
        proxsdca.solve(
            X,
            numbers,
            loss=Quantile(0.25),
            reg=Group([range(2), [2, 3]], weights=(1, 2)),
            sigma=0.05,
        ),
    )
    yield "squared_l1", proxsdca.solve(X, numbers, loss="squared", reg=L1(l1_weights=np.ones(4)))
    yield "huber_qnorm", proxsdca.solve(X, numbers, loss="huber", reg=QNorm(p=4))
    yield "one_vs_rest", proxsdca.one_vs_rest(X, k, loss="logistic", keep_alpha=True, tol=0.1)
    yield "path", proxsdca.path(X, numbers, num=4, keep_alpha=True)
    yield "path_classes", proxsdca.path(X, k, loss="softmax", reg="l1l2", num=3)
    yield "structured", structured.solve(Chain(X, k, [4, 4, 4]), lam=0.1)
    yield (
        "classifier",
        proxsdca.SDCAClassifier(
            "logistic", multi_class="joint", class_weight={"red": 2, "green": 1.0, "blü": 0.5}
        ).fit(X, names[k].astype(object)),
    )
    yield "classifier_of_two", proxsdca.SDCAClassifier(warm_start=True).fit(X, k > 0).sparsify()
    frame = pd.DataFrame(X, columns=["one", "two", "three", "four"])
    yield "regressor_cv", proxsdca.SDCARegressorCV(num=3, cv=2).fit(frame, numbers)
    yield (
        "tagger",
        proxsdca.SDCASequenceTagger(lam=proxsdca.estimators.Unscaled(0.5, per="rows")).fit(
            X, names[k], [6, 6]
        ),
    )


def main(version):
    folder = Path(__file__).parent / version
    folder.mkdir()
    expected = {}
    for name, model in models():
        path = folder / f"{name}.model"
        model.save(path)
        expected[name] = values_of(proxsdca.load(path))
        assert path.stat().st_size <= LARGEST, (name, path.stat().st_size)
    text = json.dumps(expected, indent=1, ensure_ascii=True)
    (folder / "expected.json").write_text(text + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
