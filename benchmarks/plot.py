"""A plot of a table of models: times of the peers over ours, by case and size."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

from table import NAMES

# Ratios beyond are drawn at the edge: a few peers are a thousand times slower in a few cases.
_MOST = 20
_MARKERS = "osD^vPX"


def plot(rows: list[dict[str, Any]], peers: tuple[str, ...], path: Path) -> None:
    """Write the ratios of all peers to ours in a logarithmic scale, a panel by number of threads.

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

    # Texts of SVG stay texts, and files do not change without a cause.
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "plot", "font.size": 10})
    ours, *others = peers
    timed = [row for row in rows if "size" in row and ours in row]
    threads = list(dict.fromkeys(row["threads"] for row in timed))
    places, labels, headings = _places([row for row in timed if row["threads"] == threads[0]])
    figure, panels = pyplot.subplots(
        1, len(threads), sharey=True, squeeze=False, figsize=(9, 0.21 * max(places.values()) + 1.5)
    )
    for axes, count in zip(panels[0], threads, strict=True):
        here = [row for row in timed if row["threads"] == count and row["title"] in places]
        for peer, marker in zip(others, _MARKERS, strict=False):
            ratios = [(row[peer] / row[ours], places[row["title"]]) for row in here if peer in row]
            axes.plot(
                [min(ratio, _MOST) for ratio, _ in ratios],
                [place for _, place in ratios],
                marker,
                markersize=5,
                alpha=0.8,
                clip_on=False,
                label=NAMES.get(peer, peer),
            )
        axes.axvline(1, color="black", linewidth=1)
        axes.set_xscale("log")
        axes.set_xlim(0.7, _MOST)
        axes.set_xticks([1, 2, 5, 10, _MOST], ["1", "2", "5", "10", f"≥ {_MOST}"])
        axes.minorticks_off()
        axes.set_title(f"{count} thread{'s' if count > 1 else ''}", fontsize=11)
        axes.set_xlabel("times the time of relax-mlir")
        axes.grid(alpha=0.3)
        axes.tick_params(axis="y", length=0)
    first = panels[0][0]
    first.set_yticks([*labels, *headings], [*labels.values(), *headings.values()])
    for label in first.get_yticklabels()[len(labels) :]:
        label.set_fontweight("bold")
    first.set_ylim(max(places.values()) + 0.8, -0.8)
    handles, names = first.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(others), frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.35 / figure.get_figheight()))
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _places(
    rows: list[dict[str, Any]],
) -> tuple[dict[str, float], dict[float, str], dict[float, str]]:
    """Return the place of each row by its title, and the labels of rows and of cases by place."""
    places: dict[str, float] = {}
    labels: dict[float, str] = {}
    headings: dict[float, str] = {}
    place = 0.0
    for _, group in groupby(rows, lambda row: row["case"]):
        cases = list(group)
        case, comma, _ = cases[0]["title"].rpartition(", ")
        if len(cases) > 1:
            headings[place] = case
            place += 1
        for row in cases:
            title = row["title"].removesuffix(" 0")
            places[row["title"]] = place
            labels[place] = title.removeprefix(case + comma) if len(cases) > 1 else title
            place += 1
        place += 0.4
    return places, labels, headings
