"""Tables of models in Markdown: times by case and size, what compiling takes, memory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

Row = dict[str, Any]
NAMES = {
    "relax_mlir": "relax-mlir",
    "openvino": "OpenVINO",
    "pytorch": "PyTorch",
    "pytorch_compile": "torch.compile",
    "jax": "JAX",
    "iree": "IREE",
    "tvm": "TVM",
}


def write_tables(rows: list[Row], peers: tuple[str, ...], path: Path) -> None:
    """Write tables of times for each number of threads, then those of costs on the first one.

    Parameters
    ----------
    rows : list of dict
        As `suites.models.run` returns them.
    peers : tuple of str
        Ours first.
    path : Path
        A Markdown file.
    """
    threads = [row["threads"] for row in rows if row["case"] == "machine"]
    parts = [_times([row for row in rows if row["threads"] == t], peers) for t in threads]
    first = [row for row in rows if row["threads"] == threads[0]]
    ours = NAMES[peers[0]]
    parts.append(_costs(first, peers, "compile", "compile, seconds", {"cached": f"{ours}, cached"}))
    parts.append(_costs(first, peers, "memory", "memory, MiB, the most of the process", {}))
    path.write_text("\n\n".join(parts) + "\n")


def _times(rows: list[Row], peers: tuple[str, ...]) -> str:
    """Return a section: what the machine reaches, microseconds, and the mean."""
    machine = next(row for row in rows if row["case"] == "machine")
    threads = machine["threads"]
    lines = [
        f"### {threads} thread{'s' if threads > 1 else ''}",
        "",
        f"The machine reaches {machine['gflops']:.0f} GFLOP/s of fused products, reads "
        f"{machine['read_gb']:.1f} GB/s from memory and copies {machine['copy_gb']:.1f} GB/s then.",
        "",
        *_head("case", [*_named(peers), "ratio", "% of peak", "% of memory"]),
    ]
    for row in rows:
        if "size" in row:
            ratio = f"{row['ratio']:.2f}" if "ratio" in row else "-"
            shares = [_percent(row.get(key, 0)) for key in ("peak_share", "memory_share")]
            lines.append(
                _line(row["title"].removesuffix(" 0"), _figures(row, peers), ratio, *shares)
            )
    for row in rows:
        if row["case"] == "mean":
            lines += ["", f"The {row['title']} is {row['ratio']:.2f}."]
    return "\n".join(lines)


def _costs(
    rows: list[Row], peers: tuple[str, ...], what: str, title: str, more: dict[str, str]
) -> str:
    """Return a table of what the cases cost; `more` are further columns by their keys."""
    lines = _head(title, [*_named(peers), *more.values()])
    for row in rows:
        if row.get("title", "").endswith(f": {what}"):
            case = row["title"].removesuffix(f": {what}")
            lines.append(_line(case, _figures(row, (*peers, *more))))
    return "\n".join(lines)


def _named(peers: tuple[str, ...]) -> list[str]:
    return [NAMES.get(peer, peer) for peer in peers]


def _head(first: str, titles: list[str]) -> list[str]:
    return [_line(first, titles), "|" + "---|" * (len(titles) + 1)]


def _line(first: str, figures: Iterable[str], *rest: str) -> str:
    return f"| {' | '.join([first, *figures, *rest])} |"


def _figures(row: Row, keys: tuple[str, ...]) -> list[str]:
    return [_number(row.get(key)) for key in keys]


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}" if value >= 1 else f"{value:.3g}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}" if share > 0.005 else ""
