"""A plot of a table of models: times of the peers over ours, by case and size."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def plot(rows: list[dict[str, Any]], peers: tuple[str, ...], path: Path) -> None:
    """Write the ratios of all peers to ours, in a logarithmic scale.

    Parameters
    ----------
    rows : list of dict
        As `suites.models.run` returns them.
    peers : tuple of str
        Ours first.
    path : Path
        The suffix says the format: ``.svg``, ``.png``, ...
    """
    import matplotlib as mpl  # an own requirement: pip install matplotlib

    mpl.use("agg")
    from matplotlib import pyplot

    ours, *others = peers
    timed = [row for row in rows if "size" in row and ours in row]
    figure, axes = pyplot.subplots(figsize=(10, 0.3 * len(timed) + 1.5))
    for peer in others:
        points = [(row[peer] / row[ours], i) for i, row in enumerate(timed) if peer in row]
        axes.plot(*zip(*points, strict=True), "o", label=peer) if points else None
    axes.axvline(1, color="black")
    axes.set_xscale("log")
    axes.set_xlabel("time over that of relax-mlir (right of the line: slower than we are)")
    axes.set_yticks(range(len(timed)), [f"{r['title']}, {r['threads']} threads" for r in timed])
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.1), ncols=len(others))
    figure.savefig(path, bbox_inches="tight")
