"""How the package is put together."""

import ast
import re
import subprocess
import sys
from importlib.metadata import metadata, requires, version
from pathlib import Path

import pytest

import proxsdca

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "proxsdca"


def imports(path: Path) -> set[str]:
    text = path.read_text()
    found = set(re.findall(r"^\s*from\s+(\.+\w*|\w[\w.]*)\s+c?import", text, re.MULTILINE))
    return found | set(re.findall(r"^\s*c?import\s+([\w.]+)", text, re.MULTILINE))


def test_the_core_imports_nothing_above_itself():
    files = [p for p in (SOURCE / "_core").iterdir() if p.suffix in (".py", ".pyx", ".pxd")]
    assert len(files) > 10
    for path in files:
        for name in imports(path):
            assert not name.startswith(".."), f"{path.name} imports {name}"
            assert not name.startswith("proxsdca"), f"{path.name} imports {name}"


def test_the_loop_holds_no_loss_maths():
    names = {kind.__name__ for kind in proxsdca.losses.LOSSES.values()}
    for path in ("_loop.py", "_solve.py"):
        used = {
            n.id
            for n in ast.walk(ast.parse((SOURCE / path).read_text()))
            if isinstance(n, ast.Name)
        }
        assert not used & names


def test_one_version_string():
    assert proxsdca.__version__ == version("proxsdca")
    declared = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())
    assert declared
    assert declared[1] == proxsdca.__version__
    assert f"## {proxsdca.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_runtime_dependencies():
    needed = [r for r in requires("proxsdca") if "extra ==" not in r]
    assert sorted(re.split(r"[^\w-]", r)[0] for r in needed) == ["numpy", "scipy"]
    extras = set(metadata("proxsdca").get_all("Provides-Extra"))
    assert {"cli", "plot", "sklearn", "test", "docs"} <= extras
    assert metadata("proxsdca")["License-Expression"] == "BSD-3-Clause"


def test_every_compiled_module_has_a_stub_and_is_built():
    for source in (SOURCE / "_core").glob("*.pyx"):
        assert source.with_suffix(".pyi").exists(), source.name
    installed = Path(proxsdca.__file__).parent
    assert (installed / "py.typed").exists()


def test_stubs_name_what_the_modules_have():
    for source in (SOURCE / "_core").glob("*.pyi"):
        module = __import__(f"proxsdca._core.{source.stem}", fromlist=["*"])
        for node in ast.parse(source.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                assert hasattr(module, node.name), f"{source.name}: {node.name}"
                for part in getattr(node, "body", []):
                    if isinstance(node, ast.ClassDef) and isinstance(part, ast.FunctionDef):
                        assert hasattr(getattr(module, node.name), part.name), part.name


@pytest.mark.parametrize("module", ["sklearn", "matplotlib", "pandas", "scipy.optimize"])
def test_import_is_light(module):
    code = f"import sys, proxsdca; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd="/", check=False).returncode == 0


def test_floating_point_mode_is_left_alone():
    code = (
        "import numpy as np; tiny = np.float64(5e-324);"
        "import proxsdca; assert tiny * 1.0 > 0 and np.float64(1e-310) / 2 > 0;"
        "proxsdca.solve(np.eye(3), [1., 2., 3.], loss='squared'); assert tiny * 1.0 > 0"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd="/", check=False).returncode == 0
