"""Ours beside other solvers: seconds to a suboptimality, ours certified, and the floor.

`python benchmarks/peers --setup` installs everything into the environment of that Python, and runs.
Data are looked for in the folder that PROXSDCA_DATA names; generated ones stand in for what is
not there.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import warnings
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[1]
TOOLS = ("setuptools", "wheel", "cython", "numpy")
THREADS = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "NUMBA")


def setup() -> None:
    """Install proxsdca and the extra `peers`.

    Some peers need numpy to be built and do not say so: they are built without isolation, what that
    takes coming first. A peer that cannot be installed here is left out.
    """
    pip = [sys.executable, "-m", "pip", "install"]
    subprocess.run([*pip, str(BENCHMARKS.parent), *TOOLS], check=True)
    pip.append("--no-build-isolation")
    for requirement in importlib.metadata.requires("proxsdca") or ():
        peer, _, marker = requirement.partition(";")
        if "peers" in marker and subprocess.run([*pip, peer.strip()]).returncode:
            print(f"{peer} cannot be installed here, and will be missing.", file=sys.stderr)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/peers", description=__doc__, add_help=True,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add = parser.add_argument
    add("--setup", action="store_true", help="first install proxsdca and the peers")
    add("--only", nargs="+", metavar="CASE", help='cases by their beginnings: "reuters lasso" a9a')
    add("--floor", action="store_true", help="without the peers: how far ours is from the floor")
    add("--quick", action="store_true", help="small generated data, two rounds, caps of 5 s")
    add("--rounds", type=int, help="of all contenders in turns (5)")
    add("--cap", type=float, help="seconds for one fit (60)")
    add("--reference", type=float, help="seconds for the reference optimum, at most (60)")
    add("--out", type=Path, default=Path("."), help="folder of peers.json and peers.png")
    arguments = parser.parse_args()
    usual = {"rounds": 2, "cap": 5.0, "reference": 5.0} if arguments.quick else {
        "rounds": 5, "cap": 60.0, "reference": 60.0,
    }  # fmt: skip
    for name, value in usual.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)
    return arguments


def versions(distributions: dict[str, str]) -> dict[str, str]:
    """What is installed of each library, or "missing"."""
    found = {}
    for library, distribution in distributions.items():
        try:
            found[library] = importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            found[library] = "missing"
    return found


def main() -> None:
    arguments = parse()
    if arguments.setup:
        setup()
        rest = [word for word in sys.argv[1:] if word != "--setup"]
        os.execv(sys.executable, [sys.executable, str(Path(__file__).parent), *rest])
    sys.path[0] = str(BENCHMARKS)  # from where `peers` and `suites` are imported
    for library in THREADS:
        os.environ[f"{library}_NUM_THREADS"] = "1"
    warnings.simplefilter("ignore")

    from peers import report
    from peers.cases import CASES
    from peers.floor import LARGE, bandwidth
    from peers.measure import measure
    from peers.solvers import DISTRIBUTIONS

    wanted = arguments.only or [""]
    cases = [case for case in CASES if any(case.name.startswith(part) for part in wanted)]
    if not cases:
        sys.exit("No such case. They are:\n" + "\n".join(f"  {case.name}" for case in CASES))
    missing = sorted({case.data for case in cases if not case.real})
    if arguments.quick:
        print("Small generated data stand in for all data sets.")
    elif missing:
        print(
            f"Not in the folder that PROXSDCA_DATA names: {', '.join(missing)}. "
            "Generated data stand in for them."
        )
    about = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "Python": platform.python_version(),
        "versions": versions({"proxsdca": "proxsdca", **DISTRIBUTIONS}),
        "memory, bytes per second": bandwidth(LARGE),
    }
    print(f"Python {about['Python']}", *map(" ".join, about["versions"].items()), sep=", ")
    print(
        f"{about['machine']}; one thread reads {about['memory, bytes per second'] / 1e9:.1f} GB/s "
        f"from memory; best of {arguments.rounds} rounds, caps of {arguments.cap:g} s\n"
    )
    records = []
    if not arguments.floor:
        print(report.heading(report.RACE))
    arguments.out.mkdir(parents=True, exist_ok=True)
    for case in cases:
        record = measure(
            case, quick=arguments.quick, peers=not arguments.floor, rounds=arguments.rounds,
            cap=arguments.cap, reference=arguments.reference,
        )  # fmt: skip
        records.append(record)
        if not arguments.floor:
            print(report.race(record), flush=True)
        with open(arguments.out / "peers.json", "w") as file:
            json.dump({**about, "cases": records}, file, indent=1)
    if not arguments.floor:
        print("\n" + report.means(records))
        for line in report.doubts(records):
            print(line)
        try:
            report.draw(records, arguments.out / "peers.png")
        except ImportError:
            print("No picture: matplotlib is missing.")
    print("\n" + report.floors(records))


if __name__ == "__main__":
    main()
