"""
Agreement in tables and in four pictures: score by score, system by system, and among the raters.

The pictures are a scatter, absolute differences, both distributions and correlations. matplotlib is loaded
for them only, and used without its global state, so that nothing of the caller's changes. The same study
gives the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from replay.core.errors import InputError, writing
from replay.report.document import PlainLines, ReportDocument, ReportSection, Table, notes_section
from replay.report.drawing import COLOURS, check_can_draw, new_figure, plain
from replay.report.numbers import count_text
from replay.report.printing import NONE, TextColumn, column
from replay.statistics.estimate import NumberWithInterval
from replay.statistics.interval import METHOD_NAMES, Interval, UndefinedNumber
from replay.statistics.model_agreement import COEFFICIENTS, CorrelationName, PairwiseAgreement
from replay.statistics.rater_table import RaterAgreement
from replay.tables.agreement_study import AgreementStudy, ScoreAgreement

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ARE = ("is", "are")
LONGEST_ORDER = 30
"""Characters of systems in order; beyond that they are numbered."""
MOST_PAIRS = 6
"""Pairs of systems that get a row each, those of four systems; more are only counted together."""


def study_document(study: AgreementStudy) -> ReportDocument:
    """Return *study* as a document."""
    title = f"{study.scores.source} against {study.human.source}"
    sections = [_table("agreement", title, _agreement_columns(study.agreements))]
    if ranked := [one for one in study.agreements if one.ranking]:
        names = sorted({name for one in ranked if one.ranking for name in chain(*one.ranking.by_humans)})
        short = {name: f"S{place}" for place, name in enumerate(names, 1)}
        if len(" > ".join(names)) <= LONGEST_ORDER:
            short = {name: name for name in names}
        ranking = _table("ranking", "Systems, best first", _ranking_columns(ranked, short))
        legend = [f"{shown}: {name}" for name, shown in short.items() if shown != name]
        sections.append(replace(ranking, blocks=[*ranking.blocks, *([PlainLines(legend)] if legend else [])]))
    if paired := [one for one in study.agreements if 0 < len(one.pairwise) <= MOST_PAIRS]:
        pairs = "Pairs of systems: share of passages with the same better one"
        sections.append(_table("pairs", pairs, _pairwise_columns(paired)))
    if study.raters:
        sections.append(_table("raters", "Agreement among raters", _rater_columns(study.raters)))
    return ReportDocument(title=title, sections=[*sections, notes_section(notes(study))])


def _table(name: str, title: str, columns: Sequence[TextColumn]) -> ReportSection:
    return ReportSection(name=name, title=title, blocks=[Table(columns=lambda _: columns)])


def notes(study: AgreementStudy) -> list[str]:
    """Return sentences on how the numbers came about and what they leave out."""
    settings, matched = study.settings, study.matched
    said = [f"{count_text(len(matched.pairs), 'item')} joined by {matched.joined_by}."]
    for count, source in ((matched.only_scores, study.scores), (matched.only_human, study.human)):
        if count:
            said.append(f"{count_text(count, 'item', ARE)} only in {source.source}; left out.")
    other = sum(item.level != settings.level for item in study.human.items)
    if other:
        said.append(
            f"{count_text(other, 'item')} of another level than {settings.level} {ARE[other != 1]} left out."
        )
    for one in study.agreements:
        if missing := len(matched.pairs) - len(one.scores):
            said.append(f"{one.label}: {count_text(missing, 'item')} without a score or a rating; left out.")
        said += [f"{one.label}: {text}" for text in _undefined_reasons(one.correlations)]
        if one.lower_is_better and one.ranking:
            said.append(f"{one.label}: less is better, so the system with the least comes first.")
    if settings.resamples:
        clusters = max((c.clusters for a in study.agreements for c in a.correlations.values()), default=0)
        said.append(
            f"in brackets: {100 * settings.confidence:g} % interval, {METHOD_NAMES[settings.method]} over up "
            f"to {clusters} independent items or groups, {settings.resamples:,} resamples, "
            f"seed {settings.seed}."
        )
    mapped = settings.score_range is not None and settings.human_range is not None
    how = "scores mapped onto the people's range" if mapped else "means something only on a common scale"
    said.append(f"|difference|: mean absolute difference of score and mean rating; {how}.")
    if any(one.pairwise for one in study.agreements):
        said.append(
            "passages: for each pair of systems, those on which score and people name the same better one; "
            "passages on which people name none are left out, and a tie of the score alone counts as not "
            "agreeing. --json has each pair with Wilson's interval."
        )
    if study.raters:
        said.append(
            "equal: the mean share of pairs of ratings of one item that are equal; "
            f"alpha is Krippendorff's for an {settings.scale} scale; kappa Fleiss'."
        )
    return [*said, *study.scores.notes, *study.human.notes]


def _undefined_reasons(found: Mapping[CorrelationName, NumberWithInterval]) -> list[str]:
    reasons: dict[str, None] = {}
    for name, one in found.items():
        if isinstance(one.value, UndefinedNumber):
            reasons[f"no correlation: {one.value.reason}."] = None
        elif isinstance(one.interval, UndefinedNumber) and one.interval.reason != "no resamples":
            reasons[f"no interval for {name}: {one.interval.reason}."] = None
    return list(reasons)


def _agreement_columns(agreements: Sequence[ScoreAgreement]) -> list[TextColumn]:
    differences = (f"{mean(one.differences):.3g}" if one.scores else NONE for one in agreements)
    return [
        column("score / people", (one.label for one in agreements), left=True),
        column("items", (str(len(one.scores)) for one in agreements)),
        *(
            column(name, [_with_ends(one.correlations[name]) for one in agreements], left=True)
            for name in COEFFICIENTS
        ),
        column("|difference|", differences),
    ]


def _with_ends(one: NumberWithInterval) -> str:
    if isinstance(one.value, UndefinedNumber):
        return NONE
    if isinstance(one.interval, Interval):
        return f"{one.value:+.3f} [{one.interval.low:+.2f}, {one.interval.high:+.2f}]"
    return f"{one.value:+.3f}"


def _ranking_columns(agreements: Sequence[ScoreAgreement], short: Mapping[str, str]) -> list[TextColumn]:
    ranked = [(one, one.ranking) for one in agreements if one.ranking]

    def order(places: Sequence[Sequence[str]]) -> str:
        return " > ".join(" = ".join(short[name] for name in place) for place in places)

    passages = any(one.pairwise for one, _ in ranked)
    return [
        column("score / people", (one.label for one, _ in ranked), left=True),
        column("same", ("yes" if r.same else "no" for _, r in ranked), left=True),
        column("pairs", (f"{r.agreeing}/{r.pairs}" for _, r in ranked)),
        column("kendall", (_number(r.kendall) for _, r in ranked)),
        *([column("passages", (_pooled_share(one) for one, _ in ranked), left=True)] if passages else []),
        column("by score", (order(r.by_metric) for _, r in ranked), left=True),
        column("by people", (order(r.by_humans) for _, r in ranked), left=True),
    ]


def _pooled_share(one: ScoreAgreement) -> str:
    """
    Return the share of passages over all pairs; without an interval, since the pairs share their systems.
    """
    discriminated = sum(pair.passages - pair.human_ties for pair in one.pairwise)
    agreeing = sum(pair.agreeing for pair in one.pairwise)
    return f"{100 * agreeing / discriminated:.1f} % of {discriminated}" if discriminated else NONE


def _pairwise_columns(agreements: Sequence[ScoreAgreement]) -> list[TextColumn]:
    rows = list(dict.fromkeys((pair.first, pair.second) for one in agreements for pair in one.pairwise))
    columns = [column("systems", (f"{a}, {b}" for a, b in rows), left=True)]
    for one in agreements:
        by_pair = {(pair.first, pair.second): _share(pair) for pair in one.pairwise}
        columns.append(column(one.label, (by_pair.get(row, NONE) for row in rows), left=True))
    return columns


def _share(pair: PairwiseAgreement) -> str:
    share = _percent(pair.share, pair.interval)
    return share if share == NONE else f"{share} of {pair.passages - pair.human_ties}"


def _rater_columns(raters: Mapping[str, RaterAgreement]) -> list[TextColumn]:
    totals = [one.total for one in raters.values()]
    columns = [
        column("criterion", raters, left=True),
        column("items", (str(one.shared) for one in totals)),
        column("equal", (_percent(one.agreement.value, one.agreement.interval) for one in totals), left=True),
        column("alpha", (_with_ends(one.alpha) for one in totals), left=True),
        column("kappa", (_with_ends(one.fleiss) for one in totals), left=True),
        column("kappa over", (str(one.complete) for one in totals)),
    ]
    if any(one.pairs for one in raters.values()):
        columns.append(column("Cohen's kappa", (_with_ends(one.cohen) for one in totals), left=True))
    return columns


def _percent(share: float | UndefinedNumber, ends: Interval | UndefinedNumber) -> str:
    if isinstance(share, UndefinedNumber):
        return NONE
    between = f" [{100 * ends.low:.0f}, {100 * ends.high:.0f}]" if isinstance(ends, Interval) else ""
    return f"{100 * share:.0f} %{between}"


def _number(value: float | UndefinedNumber) -> str:
    return NONE if isinstance(value, UndefinedNumber) else f"{value:+.3f}"


FORMATS = ("png", "svg")
ACROSS = 3
"""Panels side by side."""
_COLOURS = (COLOURS[1], COLOURS[5], COLOURS[3])


def draw_plots(study: AgreementStudy, folder: Path) -> list[Path]:
    """
    Draw the four plots into *folder*, each as PNG and SVG, a panel for each score; returns the files.

    Raises:
        PluginError: matplotlib is not installed.
        InputError: the folder can't be written.
    """
    check_can_draw()
    shown = [one for one in study.agreements if one.scores]
    if not shown:
        raise InputError("there is nothing to draw: no item has both a score and a rating")
    figures = {
        "scatter": _panels(shown, _scatter),
        "differences": _panels(shown, _differences),
        "distributions": _panels(shown, _distributions),
        "correlations": _correlation_bars(shown),
    }
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        return [
            _save(figure, folder / f"{name}.{kind}") for name, figure in figures.items() for kind in FORMATS
        ]


def _save(figure: Figure, path: Path) -> Path:
    import matplotlib

    # Without these an SVG holds random ids and the time of day.
    metadata: dict[str, Any] = {"Date": None} if path.suffix == ".svg" else {"Software": None}
    with matplotlib.rc_context({"svg.hashsalt": "convreplay", "svg.fonttype": "path"}):
        figure.savefig(path, format=path.suffix[1:], dpi=120, metadata=metadata)
    return path


def _panels(agreements: Sequence[ScoreAgreement], draw: Callable[[Axes, ScoreAgreement], None]) -> Figure:
    across = min(ACROSS, len(agreements))
    down = math.ceil(len(agreements) / across)
    figure = new_figure(4.2 * across, 3.6 * down)
    panels = figure.subplots(down, across, squeeze=False).flatten().tolist()
    for panel, one in zip(panels, agreements, strict=False):
        draw(panel, one)
        panel.set_title(plain(one.label), fontsize=10)
    for panel in panels[len(agreements) :]:
        panel.set_axis_off()
    return figure


def _scatter(panel: Axes, one: ScoreAgreement) -> None:
    panel.scatter(one.ratings, one.scores, s=14, alpha=0.4, color=_COLOURS[0], edgecolors="none")
    pearson = one.correlations["pearson"].value
    # Beside the axis, since points can lie anywhere within.
    shown = "" if isinstance(pearson, UndefinedNumber) else f" (r = {pearson:.3f})"
    panel.set_xlabel(f"people{shown}")
    panel.set_ylabel("score")


def _differences(panel: Axes, one: ScoreAgreement) -> None:
    panel.hist(one.differences, bins=20, color=_COLOURS[0])
    middle = sum(one.differences) / len(one.differences)
    panel.axvline(middle, color="black", linestyle="--", linewidth=1)
    panel.set_xlabel(f"|score - people|, mean {middle:.3g}")
    panel.set_ylabel("items")


def _distributions(panel: Axes, one: ScoreAgreement) -> None:
    ends = min(*one.scores, *one.ratings), max(*one.scores, *one.ratings)
    if ends[0] == ends[1]:
        ends = ends[0] - 0.5, ends[1] + 0.5
    for values, name, colour in ((one.scores, "score", _COLOURS[0]), (one.ratings, "people", _COLOURS[1])):
        panel.hist(values, bins=20, range=ends, alpha=0.55, color=colour, label=name)
    panel.set_ylabel("items")
    panel.legend(fontsize=8)


def _correlation_bars(agreements: Sequence[ScoreAgreement]) -> Figure:
    figure = new_figure(max(5.0, 1.6 * len(agreements) + 2), 4.0)
    panel = figure.subplots()
    width = 0.8 / len(COEFFICIENTS)
    for place, (name, colour) in enumerate(zip(COEFFICIENTS, _COLOURS, strict=True)):
        for position, one in enumerate(agreements):
            found = one.correlations[name]
            if isinstance(found.value, UndefinedNumber):
                continue
            at = position + (place - 1) * width
            label = name if not any(name == text.get_label() for text in panel.containers) else None
            panel.bar(at, found.value, width, color=colour, label=label)
            if isinstance(found.interval, Interval):
                panel.vlines(at, found.interval.low, found.interval.high, color="black", linewidth=1)
    panel.axhline(0, color="black", linewidth=0.8)
    panel.set_xticks(
        range(len(agreements)), [plain(one.label) for one in agreements], rotation=20, fontsize=8
    )
    panel.set_ylabel("correlation with people")
    if panel.containers:
        panel.legend(fontsize=8)
    return figure
