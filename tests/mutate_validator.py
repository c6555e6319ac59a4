"""Delete each check of the validator in turn, and see whether the hostile campaign notices.

    python tests/mutate_validator.py [N [SEED]]

A deletion turns a `raise` into `pass`, drops one operand of the `or` in front of a `raise`, or
drops a call of a `_check_...` function. Nothing on disk is changed: a subprocess imports the module
from the changed source. Exit status 1 if a deletion went unnoticed that is not in EQUIVALENT.
"""

import ast
import importlib.abc
import importlib.util
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MODULES = (
    "_validate", "_spec", "_random", "_problem", "_solve", "_loop", "_side", "regularizers",
)  # fmt: skip
# Deletions without an effect, by what they delete, and why.
EQUIVALENT = {
    "raise NumericalError(f'x_i^T w is not": "the certificate is not finite either, and refused",
}


def _raises(node: ast.AST) -> bool:
    """Whether it refuses something."""
    return isinstance(node, ast.Raise) and "Interrupted" not in ast.unparse(node)


def _is_check_call(node: ast.AST) -> bool:
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return False
    called = node.value.func
    name = getattr(called, "attr", getattr(called, "id", ""))
    return name.startswith(("_check_", "check_"))


def deletions(tree: ast.Module):
    """(line, what is deleted, function that deletes it from this tree), one after the other."""
    for parent in ast.walk(tree):
        for block in ("body", "orelse", "finalbody"):
            nodes = getattr(parent, block, None)
            for k, node in enumerate(nodes if isinstance(nodes, list) else ()):
                if _raises(node) or _is_check_call(node):
                    yield node.lineno, ast.unparse(node), _replace(nodes, k)
        if (
            isinstance(parent, ast.If)
            and _raises(parent.body[-1])
            and isinstance(parent.test, ast.BoolOp)
            and isinstance(parent.test.op, ast.Or)
        ):
            for k, operand in enumerate(parent.test.values):
                yield operand.lineno, ast.unparse(operand), _replace(parent.test.values, k)


def _replace(nodes, k):
    def delete():
        old = nodes[k]
        new = ast.Pass() if isinstance(old, ast.stmt) else ast.Constant(False)
        nodes[k] = ast.copy_location(new, old)

    return delete


def source(module: str) -> str:
    return Path(importlib.util.find_spec(f"proxsdca.{module}").origin).read_text()


class Mutant(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module of the package without its k-th check."""

    def __init__(self, module: str, k: int):
        self.name, self.k = f"proxsdca.{module}", k

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)))
        self.origin, spec.loader = spec.origin, self
        return spec

    def exec_module(self, module):
        tree = ast.parse(Path(self.origin).read_text())
        list(deletions(tree))[self.k][2]()
        exec(compile(tree, self.origin, "exec"), vars(module))


def run_mutant(module: str, k: int, count: int, seed: int) -> int:
    if k >= 0:
        sys.meta_path.insert(0, Mutant(module, k))
    import test_hostile

    try:
        test_hostile.run(count, seed)
    except AssertionError as error:
        print(error)
        return 1
    return 0


def noticed(module: str, k: int, count: int, seed: int) -> str | None:
    """How the campaign ends without the k-th check of the module, None if it passes."""
    command = [sys.executable, __file__, "--mutant", module, str(k), str(count), str(seed)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        return "hangs"
    if done.returncode == 0:
        return None
    if done.returncode != 1 or not done.stdout.startswith("input "):
        return f"exit status {done.returncode}: {done.stderr.strip().splitlines()[-1:]}"
    return done.stdout.splitlines()[-2].strip() + " (" + done.stdout.split(" of ")[0] + ")"


def main(count: int = 10_000, seed: int = 0) -> int:
    if (wrong := noticed("", -1, count, seed)) is not None:
        print(f"the campaign fails without any deletion: {wrong}")
        return 1
    jobs = [
        (module, k, line, " ".join(text.split()))
        for module in MODULES
        for k, (line, text, _) in enumerate(deletions(ast.parse(source(module))))
    ]
    missed = []
    with ThreadPoolExecutor(2) as pool:
        ends = pool.map(lambda job: noticed(*job[:2], count, seed), jobs)
        for (module, _, line, text), end in zip(jobs, ends, strict=True):
            known = next((why for what, why in EQUIVALENT.items() if text.startswith(what)), None)
            if end is None and known is None:
                missed.append(text)
            print(
                f"{module}.py:{line}: {text:.70}\n    {end or known or 'NOT NOTICED'}", flush=True
            )
    print(f"{len(jobs) - len(missed)} of {len(jobs)} deletions noticed or without an effect")
    return bool(missed)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments[:1] == ["--mutant"]:
        sys.exit(run_mutant(arguments[1], *map(int, arguments[2:])))
    sys.exit(main(*map(int, arguments)))
