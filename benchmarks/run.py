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
from typing import Any

from cases import CASES
from harness import HERE, Worker
from table import write_tables

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


def show(rows: list[dict[str, Any]], peers: tuple[str, ...]) -> None:
    """Print the table."""
    rows = [row for row in rows if "title" in row]
    width = max(len(row["title"]) for row in rows)
    print(f"{'':{width}}  threads " + " ".join(f"{peer:>15}" for peer in peers) + "  unit  ratio")
    for row in rows:
        figures = " ".join(f"{row[p]:15.4g}" if p in row else f"{'-':>15}" for p in peers)
        ratio = f"{row['ratio']:6.2f}" if "ratio" in row else ""
        note = f"  ({row['disturbed']} rounds disturbed)" if row.get("disturbed") else ""
        threads = row.get("threads", 1)
        print(f"{row['title']:{width}}  {threads:7} {figures}  {row['unit']:4} {ratio}{note}")


def main() -> None:
    """Run the suite, print the table, write it as JSON, Markdown and a plot where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", nargs="?", choices=SUITES, default="vm")
    parser.add_argument("--rounds", type=int, default=11, help="interleaved rounds")
    parser.add_argument(
        "--threads", type=int, nargs="+", default=[1], help="threads of the kernels"
    )
    parser.add_argument("--torch", action="store_true", help="vm: arguments of PyTorch too")
    parser.add_argument("--cases", nargs="+", choices=CASES, help="models: these only")
    parser.add_argument("--peers", nargs="+", help="models, files: these only")
    parser.add_argument("--operators", nargs="+", help="operators: parts of their names")
    parser.add_argument("--files", nargs="+", type=Path, help="files: models of ONNX")
    parser.add_argument(
        "--precision", choices=("f32", "bf16"), default="f32", help="files: of products"
    )
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--tables", type=Path, help="models: write Markdown tables to this file")
    parser.add_argument("--plot", type=Path, help="models: plot the ratios to this file")
    options = parser.parse_args()

    suite = importlib.import_module(f"suites.{options.suite}")
    extra = ("torch==2.13.0",) if options.torch else ()
    versions: dict[str, str] = {}

    def start(peer: str, threads: int) -> Worker:
        python = environment(suite.SHARED.get(peer, peer), suite.NEEDS.get(peer, extra))
        worker = Worker(peer, python, threads)
        if peer not in versions:
            versions[peer] = worker.version
            print(f"{worker.version}, {platform.machine()}", file=sys.stderr)
        return worker

    rows = suite.run(start, options)
    show(rows, suite.PEERS)
    if options.json:
        content = {"versions": versions, "rows": rows}
        options.json.write_text(json.dumps(content, indent=2) + "\n")
    if options.tables:
        write_tables(rows, suite.PEERS, options.tables)
    if options.plot:
        from plot import plot

        plot(rows, suite.PEERS, options.plot)


if __name__ == "__main__":
    main()
