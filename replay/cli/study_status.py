"""``replay study status``: where a study stands."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from replay.cli.arguments import JsonOption
from replay.cli.output import echo_json, open_console
from replay.cli.study_arguments import DbOption, StudyArgument

WERE = ("was", "were")

if TYPE_CHECKING:
    from replay.study.running.overview import RelativeTime, StudyOverview


def status(path: StudyArgument = Path(), db: DbOption = None, as_json: JsonOption = False) -> None:
    """
    Say where a study stands: who is where, what is done, how far raters agree, what was too fast.

    It may be served meanwhile. Nothing of what people wrote is printed.
    """
    from replay.study.running.overview import RelativeTime, overview_of
    from replay.study.running.participation import is_pilot, phase_of
    from replay.study.running.start import find_study, open_study

    file, store = open_study(find_study(path, db).database)
    with closing(store):
        state, seen, now = store.state(), store.seen(), store.now()
        phase = "pilot, " * is_pilot(file, store) + phase_of(store)
    overview = overview_of(file, state, seen)
    if as_json:
        echo_json({"study": file.study.name, "at": now, "phase": phase, **overview.to_json()})
    else:
        _print(f"{file.study.name} ({phase})", overview, RelativeTime(now), file.study.limits.too_fast_s)


def _print(name: str, overview: StudyOverview, ago: RelativeTime, too_fast_s: float) -> None:
    from replay.report.columns import column
    from replay.report.document import PlainLines, ReportDocument, ReportSection, Table
    from replay.report.numbers import count_text
    from replay.report.text import print_document
    from replay.study.running.overview import display_value

    raters, balance = overview.raters, overview.balance
    tables = {
        name: [
            column("rater", [one.rater.name for one in raters], left=True),
            column("where", [one.standing for one in raters], left=True),
            column("done", [str(one.done) for one in raters]),
            column("last seen", [ago(one.seen_at) for one in raters], left=True),
            column("s/screen", ["-" if one.median_s is None else f"{one.median_s:.1f}" for one in raters]),
            column("too fast", [f"{one.too_fast} of {one.screens}" for one in raters]),
        ],
        "": [
            column("round", [str(one.round) for one in balance]),
            column("work", [one.kind for one in balance], left=True),
            column("system", [one.system or "" for one in balance], left=True),
            column("tasks", [str(one.tasks) for one in balance]),
            column("wanted", [str(one.wanted) for one in balance]),
            column("done", [str(one.done) for one in balance]),
            column("open", [str(one.open) for one in balance]),
            column("set aside", [str(one.set_aside) for one in balance]),
        ],
    }
    if found := overview.agreement:
        tables["Agreement, on screens that two or more have answered"] = [
            column("question", [one.label for one in found], left=True),
            column("screens", [str(one.items) for one in found]),
            column("equal", [display_value(one.equal) for one in found], left=True),
            column("Cohen's kappa", [display_value(one.cohen) for one in found], left=True),
            column("Fleiss' kappa", [display_value(one.fleiss) for one in found], left=True),
            column("alpha", [display_value(one.alpha) for one in found], left=True),
        ]
    said = [f"{count_text(len(overview.partings), 'screen')} on which raters part."]
    if overview.fast:
        said.append(
            f"{count_text(len(overview.fast), 'screen', WERE)} answered in less than {too_fast_s:g} s."
        )
    if overview.set_aside:
        said.append(f"{count_text(len(overview.set_aside), 'task', WERE)} set aside.")
    if overview.withdrawn:
        said.append(f"{overview.withdrawn} withdrew; what they did is erased.")
    sections = [
        ReportSection(name=title, title=title, blocks=[Table(columns=lambda _, of=columns: of)])  # type: ignore[misc]
        for title, columns in tables.items()
    ]
    print_document(
        ReportDocument(
            title=name, sections=[*sections, ReportSection(name="notes", blocks=[PlainLines(said)])]
        ),
        open_console(),
    )
