"""The figures of a run as a picture: the cost of a call by size, a line for each engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from bethink import MissingExtraError
from bethink.bench.report import duration, engines_of, own_versions, peer_version, where_and_when

PANELS: Final = {
    "recall": "recall",
    "store + recall": "store, then recall",
    "open and first recall": "open, then first recall",
}
"""The measures to draw, with the titles in the picture."""

# Okabe and Ito's colours differ for every eye; the marks differ even without colours. Dashed are
# the engines that compare nothing but vectors.
_LOOKS: Final[Mapping[str, Mapping[str, Any]]] = {
    "bethink": {"color": "#0072B2", "marker": "o", "linewidth": 2.6, "markersize": 7, "zorder": 9},
    "remembrane": {"color": "#D55E00", "marker": "s"},
    "sqlite-vec": {"color": "#000000", "marker": "^", "linestyle": "--"},
    "chromadb": {"color": "#009E73", "marker": "D", "linestyle": "--"},
    "lancedb": {"color": "#CC79A7", "marker": "v", "linestyle": "--"},
    "langgraph": {"color": "#E69F00", "marker": "P", "markersize": 7.5, "linestyle": "--"},
}
_STYLE: Final = {"font.size": 10, "font.family": "DejaVu Sans", "svg.hashsalt": "bethink"}
_FAINT: Final = "#d9d9d9"
_QUIET: Final = "#555555"


def draw(document: Mapping[str, Any], path: Path) -> None:
    """Write the picture of *document* to *path*, a PNG or SVG by its suffix.

    Raises ``MissingExtraError`` without matplotlib.
    """
    about = {"Title": "bethink beside its peers", "Description": where_and_when(document)}
    undated = {"Date": None} if path.suffix == ".svg" else {}
    with _matplotlib("matplotlib").rc_context(_STYLE):
        as_figure(document).savefig(path, dpi=160, metadata={**about, **undated})


def as_figure(document: Mapping[str, Any]) -> Any:
    """Return the picture of *document* as a figure of matplotlib."""
    figure = _matplotlib("matplotlib.figure").Figure(figsize=(9.5, 5.1))
    axes = figure.subplots(1, len(PANELS), sharey=True)
    for panel, measure in zip(axes, PANELS, strict=True):
        _draw_panel(panel, measure, list(lines(document, measure)))
    _frame(figure, axes, document)
    return figure


def _matplotlib(module: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise MissingExtraError("matplotlib", "bench") from None


def lines(
    document: Mapping[str, Any], measure: str
) -> Iterator[tuple[str, list[int], list[float]]]:
    """Yield each engine with figures of *measure*, the sizes, and the times in seconds."""
    for engine in _LOOKS:
        points = sorted(
            (row["size"], row["cpu_us"] / 1e6)
            for row in document["figures"]
            if (row["engine"], row["measure"], row["embedder"]) == (engine, measure, "shared")
        )
        if points:
            yield engine, [size for size, _ in points], [seconds for _, seconds in points]


def _draw_panel(
    panel: Any, measure: str, drawn: Sequence[tuple[str, list[int], list[float]]]
) -> None:
    for engine, sizes, seconds in drawn:
        look = {"linewidth": 1.5, "markersize": 6.5, "markeredgecolor": "white", **_LOOKS[engine]}
        panel.plot(sizes, seconds, label=engine, **look)
    panel.set_title(PANELS[measure], fontsize=11, loc="left")
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlabel("memories", color=_QUIET)
    sizes = sorted({size for _, sizes, _ in drawn for size in sizes})
    panel.set_xticks(sizes, [_count(size) for size in sizes])
    panel.set_xlim(sizes[0] / 1.6, sizes[-1] * 1.6)
    panel.minorticks_off()
    panel.grid(color=_FAINT, linewidth=0.7)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(color=_FAINT, labelcolor=_QUIET)
    panel.yaxis.set_major_formatter(lambda seconds, _: duration(seconds).replace(".0 ", " "))


def _frame(figure: Any, axes: Sequence[Any], document: Mapping[str, Any]) -> None:
    """Put the title and the legend above the panels, and the caption below."""
    handles, labels = axes[0].get_legend_handles_labels()
    figure.subplots_adjust(left=0.075, right=0.985, top=0.79, bottom=0.225, wspace=0.08)
    title = "Processor time of one call, median (both axes logarithmic)"
    figure.text(0.015, 0.945, title, fontsize=13, weight="bold")
    figure.legend(
        handles,
        labels,
        loc="upper left",
        bbox_to_anchor=(0.008, 0.925),
        ncols=len(labels),
        frameon=False,
        handlelength=2.4,
        columnspacing=1.4,
    )
    figure.text(0.015, 0.03, _caption(document), fontsize=8.5, color=_QUIET, linespacing=1.5)


def _caption(document: Mapping[str, Any]) -> str:
    settings = document["settings"]
    how = f"the same {settings['dimension']}-dimensional vectors for all; dashed: vectors only"
    peers = ", ".join(peer_version(document, engine) for engine in engines_of(document)[1:])
    return "\n".join([where_and_when(document), own_versions(document) + "; " + how, peers])


def _count(size: int) -> str:
    for unit, name in ((1_000_000, " M"), (1_000, " k")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{name}"
    return f"{size:,}"
