"""``replay study status``: where a study stands."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from replay.cli.arguments import JsonOption
from replay.cli.output import echo_json, open_console
from replay.cli.study_arguments import DbOption, StudyArgument

if TYPE_CHECKING:
    from replay.study.conduct.overview import Overview
    from replay.study.conduct.shown_value import Ago


def status(path: StudyArgument = Path(), db: DbOption = None, as_json: JsonOption = False) -> None:
    """
    Say where a study stands: who is where, what is done, how far raters agree, what was too fast.

    It may be served meanwhile. Nothing of what people wrote is printed.
    """
    from replay.study.conduct.beginning import open_study
    from replay.study.conduct.finding import find_study
    from replay.study.conduct.overview import overview_of
    from replay.study.conduct.shown_value import Ago

    file, store = open_study(find_study(path, db).database)
    with closing(store):
        state, seen, now = store.state(), store.seen(), store.now()
    overview = overview_of(file, state, seen)
    if as_json:
        echo_json({"study": file.study.name, "at": now, **overview.to_json()})
    else:
        _print(file.study.name, overview, Ago(now), file.study.limits.too_fast_s)


def _print(name: str, overview: Overview, ago: Ago, too_fast_s: float) -> None:
    from replay.report.columns import column
    from replay.report.printing import heading, put_lines, put_table
    from replay.study.conduct.shown_value import shown

    console, raters, balance = open_console(), overview.raters, overview.balance
    heading(console, name)
    put_table(
        console,
        [
            column("rater", [one.rater.name for one in raters], left=True),
            column("where", [one.standing for one in raters], left=True),
            column("done", [str(one.done) for one in raters]),
            column("last seen", [ago(one.seen_at) for one in raters], left=True),
            column("s/screen", ["-" if one.median_s is None else f"{one.median_s:.1f}" for one in raters]),
            column("too fast", [f"{one.too_fast} of {one.screens}" for one in raters]),
        ],
    )
    put_table(
        console,
        [
            column("round", [str(one.round) for one in balance]),
            column("work", [one.kind for one in balance], left=True),
            column("system", [one.system or "" for one in balance], left=True),
            column("tasks", [str(one.tasks) for one in balance]),
            column("wanted", [str(one.wanted) for one in balance]),
            column("done", [str(one.done) for one in balance]),
            column("open", [str(one.open) for one in balance]),
            column("set aside", [str(one.set_aside) for one in balance]),
        ],
    )
    if found := overview.agreement:
        heading(console, "Agreement, on screens that two or more have answered")
        put_table(
            console,
            [
                column("question", [one.label for one in found], left=True),
                column("screens", [str(one.items) for one in found]),
                column("equal", [shown(one.equal) for one in found], left=True),
                column("Cohen's kappa", [shown(one.cohen) for one in found], left=True),
                column("Fleiss' kappa", [shown(one.fleiss) for one in found], left=True),
                column("alpha", [shown(one.alpha) for one in found], left=True),
            ],
        )
    said = [f"{len(overview.partings)} screens on which raters part."]
    if overview.fast:
        said.append(f"{len(overview.fast)} screens were answered in less than {too_fast_s:g} s.")
    if overview.set_aside:
        said.append(f"{len(overview.set_aside)} tasks were set aside.")
    if overview.withdrawn:
        said.append(f"{overview.withdrawn} withdrew; what they did is erased.")
    put_lines(console, said)
