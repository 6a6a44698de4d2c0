"""Run a suite of benchmarks beside its peers: ``./dev bench [SUITE]``.

Each peer runs in a virtual environment of its own, made on first use in ``.bench-venv/<peer>`` from
``peers/<peer>.txt``; relax-mlir runs in the environment of this script.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import subprocess
import sys
from pathlib import Path

from harness import HERE, Worker

OURS = "relax_mlir"
SUITES = tuple(
    sorted(path.stem for path in (HERE / "suites").glob("*.py") if path.stem != "__init__")
)


def environment(peer: str, extra: tuple[str, ...]) -> str:
    """Make the environment of a peer, where it is not there; return its interpreter."""
    if peer == OURS:
        return sys.executable
    folder = HERE.parent / ".bench-venv" / peer
    python = folder / "bin" / "python"
    requirements = HERE / "peers" / f"{peer}.txt"
    wanted = requirements.read_text() + "\n".join(extra)
    stamp = folder / "installed.txt"
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"installing {peer} in {folder}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "-r", str(requirements)]
        subprocess.run([*pip, *extra], check=True)
        stamp.write_text(wanted)
    return str(python)


def show(rows: list[dict[str, object]], peers: tuple[str, ...]) -> None:
    """Print the table."""
    width = max(len(str(row["case"])) for row in rows)
    print(f"{'':{width}}  " + " ".join(f"{peer:>12}" for peer in peers) + "  unit  ratio")
    for row in rows:
        figures = " ".join(f"{row[peer]:12.4g}" for peer in peers)
        note = f"  ({row['disturbed']} rounds disturbed)" if row.get("disturbed") else ""
        print(f"{row['case']:{width}}  {figures}  {row['unit']:4}  {row['ratio']:5.2f}{note}")


def main() -> None:
    """Run the suite, print the table, write it as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", nargs="?", choices=SUITES, default="vm")
    parser.add_argument("--rounds", type=int, default=11, help="interleaved rounds")
    parser.add_argument("--threads", type=int, default=1, help="threads of the kernels")
    parser.add_argument("--torch", action="store_true", help="arguments of PyTorch too")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    options = parser.parse_args()

    suite = importlib.import_module(f"suites.{options.suite}")
    extra = ("torch==2.13.0",) if options.torch else ()
    kinds = ("tvm_ffi", "numpy", "torch") if options.torch else ("tvm_ffi", "numpy")
    workers = {}
    try:
        for peer in suite.PEERS:
            workers[peer] = Worker(peer, environment(peer, extra), options.threads)
        versions = ", ".join(worker.version for worker in workers.values())
        print(f"{versions}; {platform.machine()}, {options.threads} threads")
        rows = suite.run(workers, options.rounds, kinds)
    finally:
        for worker in workers.values():
            worker.close()
    show(rows, suite.PEERS)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
