"""
What all pictures share: sizes, fonts, colours, and files that are the same for the same numbers.

matplotlib is used without its global state, so that nothing of the caller's changes. The colours are
those of Okabe & Ito (*Color Universal Design*, 2008), which colour-blind people tell apart, without the
yellow that hardly shows on white; lines differ in dashes and markers as well, for prints without colour.
"""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from replay.core.errors import InputError, PluginError, writing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Width = Literal["column", "page"]
WIDTHS_IN: dict[Width, float] = {"column": 3.3, "page": 7.0}
"""A column of a two-column paper, and both."""
FORMATS = ("pdf", "svg", "png")
COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#999999"

_STYLE: Any = {
    "font.family": ["DejaVu Sans"],
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e0e0e0",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.4,
    # Type 42 embeds the fonts themselves; many journals refuse the default, type 3.
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "convreplay",
}


def check_can_draw() -> None:
    """
    Raises:
        PluginError: matplotlib is not installed.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise PluginError(
            'plots need matplotlib, which is not installed; try pip install "convreplay[plots]"'
        ) from error


def style() -> AbstractContextManager[None]:
    """Within it, figures are made in our style."""
    import matplotlib

    return matplotlib.rc_context(_STYLE)


def new_figure(width_in: float, height_in: float) -> Figure:
    """An empty figure, without matplotlib's global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width_in, height_in), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def format_of(path: Path) -> str:
    """
    What kind of file *path* is to be.

    Raises:
        InputError: one that is not drawn.
    """
    kind = path.suffix[1:].lower()
    if kind not in FORMATS:
        raise InputError(f'"{path}" should end in .{", .".join(FORMATS[:-1])} or .{FORMATS[-1]}')
    return kind


def save(figure: Figure, path: Path) -> list[str]:
    """
    Write *figure* to *path*; returns what a reader should be told, such as characters that have no glyph.

    The same figure gives the same bytes: no time, no random id.

    Raises:
        InputError: *path* can't be written.
    """
    kind = format_of(path)
    metadata: dict[str, dict[str, Any]] = {
        "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
        "svg": {"Date": None, "Creator": None},
        "png": {"Software": None},
    }
    with warnings.catch_warnings(record=True) as caught, style(), writing(path):
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", ResourceWarning)  # of whatever is collected meanwhile
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format=kind, dpi=300, metadata=metadata[kind])
    said = dict.fromkeys(str(one.message) for one in caught)
    if any("missing from" in text for text in said):
        return ["some characters of the names have no glyph in DejaVu Sans and are drawn as boxes"]
    return list(said)


def plain(text: str) -> str:
    """*text* as it is: a dollar sign would begin a formula, and a leading ``_`` hides it from a legend."""
    shown = text.replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown
