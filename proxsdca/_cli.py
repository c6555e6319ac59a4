"""The command `proxsdca`: one function for each subcommand, its parser beside it."""

from __future__ import annotations

import argparse
import importlib
import math
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from scipy import sparse

from . import theory
from ._core.regs import gradient
from ._plot import SIZE, plot
from ._solve import certify, solve
from .losses import LOSSES
from .regularizers import L1

if TYPE_CHECKING:
    from ._result import Check, Result

Commands = Any  # argparse keeps the type of what add_subparsers returns to itself


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        The exit code: 0 fine, 1 failed, 2 bad usage, 130 interrupted.
    """
    try:
        arguments = _parser().parse_args(argv)
        code: int = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except SystemExit as end:  # argparse has said why
        return end.code if isinstance(end.code, int) else 2
    except KeyboardInterrupt as stop:
        return _say(str(stop) or "interrupted", 130)
    except BrokenPipeError:  # as in `proxsdca demo | head`; nothing is left to flush at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (OSError, MemoryError) as error:
        return _say(str(error), 1)


def _say(problem: str, code: int) -> int:
    print(f"proxsdca: {problem}", file=sys.stderr)
    return code


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="proxsdca",
        description="Linear models, solved fast and proven solved.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"proxsdca {version('proxsdca')}")
    commands = parser.add_subparsers(title="commands", metavar="command", required=True)
    for add in (_add_demo, _add_info):
        add(commands)
    return parser


def _add(commands: Commands, run: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
    """A subcommand by the name of its function, described by its docstring."""
    text = run.__doc__ or ""
    parser: argparse.ArgumentParser = commands.add_parser(
        run.__name__, help=text, description=text, allow_abbrev=False
    )
    parser.set_defaults(run=run)
    return parser


# -------------------------------------------------------------------- demo

TOL = 1e-6
WORDS = 60  # nonzeros a row, about
PROBLEMS = (
    ("hinge", "l2"),
    ("hinge", "l1l2"),
    ("logistic", "l1l2"),
    ("squared", "l1l2"),
    ("huber", "l2"),
    ("squared", "l1"),
)
CHECKED = 1  # whose P and D are recomputed in plain NumPy
PICTURES = (".png", ".pdf", ".svg")
TABLE = "{:<16} {:>9} {:>9} {:>7} {:>8} {:>8} {:>9}  {}"


def _add_demo(commands: Commands) -> None:
    parser = _add(commands, demo)
    parser.add_argument("--rows", type=_count, metavar="N", help="by default 20,000")
    parser.add_argument("--columns", type=_count, metavar="D", help="by default 50,000")
    parser.add_argument("--seed", type=_seed, default=0, metavar="S", help="by default 0")
    parser.add_argument(
        "--output",
        type=_picture,
        default=Path("proxsdca-demo.png"),
        metavar="PATH.png",
        help="where the picture goes; by default %(default)s",
    )
    parser.add_argument("--quick", action="store_true", help="by default only 2,000 x 5,000")


def demo(arguments: argparse.Namespace) -> int:
    """Solve a sparse problem of real size for a few losses and regularisers, with proof."""
    n = arguments.rows or (2_000 if arguments.quick else 20_000)
    d = arguments.columns or (5_000 if arguments.quick else 50_000)
    X, labels, values = _documents(n, d, arguments.seed)
    print(f"{n:,} rows, {d:,} columns, {X.nnz:,} nonzeros; a relative gap of {TOL:g} is wanted\n")

    solved = []
    with _bar(len(PROBLEMS)) as report:
        for loss, reg in PROBLEMS:
            y = labels if LOSSES[loss]().classification else values
            solved.append((y, _solve(X, y, loss, reg, arguments.seed, report)))
    results = [result for _, result in solved]
    names = ("loss + reg", "gap", "relative", "epochs", "promised", "seconds", "nonzeros", "status")
    print(TABLE.format(*names))
    for y, r in solved:
        print(_row(r, _promised(X, y, r)))
    print("promised: epochs after which the theorems have the expected gap down there")

    print(f"\n{_save(results, arguments.output)}")
    return 0 if _certified(X, solved) and _recomputed(X, *solved[CHECKED]) else 1


def _documents(n: int, d: int, seed: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """Rows of weighted words, which follow Zipf's law; labels and values a sparse model explains.

    Parameters
    ----------
    n, d : int
        How many rows and columns.
    seed : int

    Returns
    -------
    X : (n, d) csr_array
        Rows of norm 1.
    labels : (n,) array of -1 and +1
    values : (n,) array
    """
    rng = np.random.default_rng(seed)
    frequency = np.cumsum(1 / np.arange(10.0, d + 10.0))
    lengths = rng.integers(WORDS // 2, 3 * WORDS // 2, size=n, endpoint=True)
    words = np.searchsorted(frequency / frequency[-1], rng.random(lengths.sum()))
    rows = np.repeat(np.arange(n), lengths)
    X = sparse.coo_array((np.ones(len(words)), (rows, words)), shape=(n, d)).tocsr()
    rarity = 1 + np.log(n / np.maximum(1, np.bincount(X.indices, minlength=d)))
    X.data = (1 + np.log(X.data)) * rarity[X.indices]
    X.data /= np.repeat(np.sqrt(X.power(2).sum(axis=1)), np.diff(X.indptr))
    truth = np.where(rng.random(d) < 0.1, rng.normal(size=d), 0)
    signal = X @ truth
    values = signal / (signal.std() or 1) + 0.3 * rng.normal(size=n)
    return X, np.where(values > np.median(values), 1.0, -1.0), values


def _solve(
    X: Any, y: np.ndarray, loss: str, reg: str, seed: int, report: Callable[[str, float], None]
) -> Result:
    """Solve with a certificate an epoch; report which part of the way, in log gap, is done."""
    gaps: list[float] = []

    def callback(check: Check) -> None:
        gaps.append(max(check.gap + check.rounding, check.target))
        way = math.log(gaps[0] / check.target)
        report(f"{loss} + {reg}", math.log(gaps[0] / gaps[-1]) / way if way else 1.0)

    report(f"{loss} + {reg}", 0.0)
    sigma = {"l2": None, "l1": None}.get(reg, 0.5 / len(y))  # lam / 2, or the default
    return solve(
        X, y, loss=loss, reg=reg, sigma=sigma, tol=TOL, seed=seed,
        certify_every=1, callback=callback, max_epochs=100_000,
    )  # fmt: skip


@contextmanager
def _bar(total: int) -> Iterator[Callable[[str, float], None]]:
    """A bar over all solves, by tqdm on a terminal; without, a line for each on stderr."""
    names: list[str] = []
    try:
        tqdm: Any = importlib.import_module("tqdm").tqdm if sys.stderr.isatty() else None
    except ImportError:
        tqdm = None
    bar = tqdm and tqdm(total=total, bar_format="{desc:<18}{percentage:3.0f}% |{bar}| {elapsed}")

    def report(name: str, part: float) -> None:
        if name not in names:
            names.append(name)
            if bar:
                bar.set_description_str(name)
            else:
                print(f"solving {name} ({len(names)} of {total})", file=sys.stderr)
        if bar:
            bar.update(len(names) - 1 + part - bar.n)

    try:
        yield report
    finally:
        if bar:
            bar.close()


def _promised(X: Any, y: np.ndarray, r: Result) -> float:
    """The least number of epochs that the theory promises for the accuracy that was reached."""
    predictions = theory.predict(X, y, r.loss, r.reg, **_weights(r), eps=r.target)
    return min(prediction.epochs for prediction in predictions.values())


def _weights(r: Result) -> dict[str, float]:
    """The lam and sigma of the problem, where it has them."""
    lam = {} if isinstance(r.reg, L1) else {"lam": r.lam}
    return {**lam, "sigma": r.sigma} if r.reg.has_sigma else lam


def _row(r: Result, promised: float) -> str:
    return TABLE.format(
        f"{r.loss.name} + {r.reg.name}",
        f"{r.gap:.2e}",
        f"{r.gap / abs(r.primal):.1e}",
        r.epochs,
        f"{promised:.2g}",
        f"{r.history['seconds'][-1]:.2f}",
        f"{np.count_nonzero(r.w):,}",
        r.status.name.lower(),
    )


def _save(results: Sequence[Result], path: Path) -> str:
    """Draw the picture, without a display; say what became of it."""
    try:
        figure: Any = importlib.import_module("matplotlib.figure").Figure
    except ImportError:
        return "no picture, as matplotlib is missing: pip install 'proxsdca[plot]'"
    picture = figure(figsize=SIZE, layout="constrained")
    plot(results, axes=picture.subplots(1, 2))
    picture.savefig(path, dpi=150)
    return f"convergence drawn in {path}"


def _certified(X: Any, solved: Sequence[tuple[np.ndarray, Result]]) -> bool:
    """Certify every result again, from w and alpha alone."""
    right = 0
    for y, r in solved:
        c = certify(X, y, r.w, r.alpha, loss=r.loss, reg=r.reg, **_weights(r))
        right += c.gap + c.rounding <= r.target
    print(
        "certified again with proxsdca.certify, from w and alpha alone: "
        f"{right} of {len(solved)} gaps within their targets"
    )
    return right == len(solved)


def _recomputed(X: Any, y: np.ndarray, r: Result) -> bool:
    """P(w) and D(alpha) of hinge + l1l2 once more, in plain NumPy."""
    n, w, beta = len(y), r.w, y * r.alpha
    v = X.T @ r.alpha / (r.lam * n)
    shrunk = np.maximum(np.abs(v) - r.sigma / r.lam, 0)
    primal = np.maximum(0, 1 - y * (X @ w)).mean() + r.lam / 2 * w @ w + r.sigma * np.abs(w).sum()
    dual = beta.mean() - r.lam / 2 * shrunk @ shrunk
    feasible = bool(beta.min() >= 0 and beta.max() <= 1)
    right = feasible and np.allclose([primal, dual], [r.primal, r.dual], rtol=1e-10, atol=0)
    print(
        f"recomputed in plain NumPy, {r.loss.name} + {r.reg.name}: P = {primal:.12f}, "
        f"D = {dual:.12f}, gap = {primal - dual:.2e}: {'the same' if right else 'NOT the same'}"
    )
    return right


def _count(text: str) -> int:
    return _integer(text, 2, 10_000_000)


def _seed(text: str) -> int:
    return _integer(text, 0, 2**63 - 1)


def _integer(text: str, least: int, most: int) -> int:
    try:
        value = int(text.replace(",", ""))
    except ValueError:
        value = least - 1
    if not least <= value <= most:
        raise argparse.ArgumentTypeError(f"{text!r}: an integer from {least} to {most} is needed")
    return value


def _picture(text: str) -> Path:
    path = Path(text)
    if path.suffix not in PICTURES:
        raise argparse.ArgumentTypeError(f"{text!r}: a name ending in {', '.join(PICTURES)}")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r}: there is no directory {str(path.parent)!r}")
    return path


# -------------------------------------------------------------------- info

FLAGS = ("buildtype=release", "-ffp-contract=off", "-fno-math-errno")  # of meson.build


def _add_info(commands: Commands) -> None:
    _add(commands, info)


def info(arguments: argparse.Namespace) -> int:
    """Print versions, how the package was built, and what the processor has."""
    facts = {
        "proxsdca": version("proxsdca"),
        "Python": f"{platform.python_version()} ({platform.python_implementation()})",
        "system": f"{platform.system()} {platform.machine()}",
        **{name: _version(name) for name in ("numpy", "scipy", "matplotlib", "tqdm")},
        "Cython": _cython(),
        "compiler": _compiler(),
        "build flags": " ".join(FLAGS),
        "SIMD": "what every processor of this architecture has (no -march)",
        "processor": _features(),
        "threads": "1",
    }
    for name, value in facts.items():
        print(f"{name:<12} {value}")
    return 0


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _cython() -> str:
    """The version that compiled the package, which the type of its functions is named by."""
    found = re.fullmatch(r"_cython_(\w+)", type(gradient).__module__)
    return found[1].replace("_", ".") if found else "unknown"


def _compiler() -> str:
    """What the compiler wrote into the compiled module about itself."""
    compiled = Path(sys.modules[gradient.__module__].__file__ or "").read_bytes()
    found = re.search(rb"GCC: \([^)]*\) [\d.]+|clang version [\d.]+", compiled)
    return found[0].decode().replace("GCC: ", "GCC ") if found else "unknown"


def _features() -> str:
    """The SIMD instruction sets that numpy finds in the processor."""
    try:
        umath: Any = importlib.import_module("numpy._core._multiarray_umath")
        return " ".join(name for name, there in umath.__cpu_features__.items() if there)
    except (ImportError, AttributeError):
        return "unknown"
