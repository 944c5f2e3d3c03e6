"""``replay judge-file``: have judges judge responses that are recorded in a file, without a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from replay.cli import arguments
from replay.cli.output import echo, echo_json, open_console


def judge_file(
    responses: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="FED, Topical-Chat, or a table with response and context."),
    ],
    judge: arguments.WrittenJudgeOption,
    out: arguments.TableOption = None,
    format: Annotated[
        Literal["fed", "usr", "unieval", "table"] | None,
        typer.Option("--format", help="Of FILE; found out from it if left out."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Only the first so many items of each level.")
    ] = None,
    repeats: Annotated[
        int | None, typer.Option("--repeats", min=1, max=100, help="Ask each judge so often.")
    ] = None,
    prices: arguments.PricesOption = None,
    no_cache: arguments.FreshOption = False,
    dry_run: arguments.PlanOption = False,
    as_json: arguments.JsonOption = False,
) -> None:
    """
    Have judges judge recorded responses; write a table that `replay agree` holds against FILE's ratings.

    The table has a row for each response, or each dialogue, and a column for each of a judge's numbers.
    """

    from replay.cli.judging import ask_judges, show_estimates, written_panels
    from replay.core.errors import InputError
    from replay.datasets.tables import check_can_write, write_table
    from replay.report.text import print_document
    from replay.tables.evaluation import judged_document
    from replay.tables.responses import cases_for, estimate_cases, judged_rows, read_responses

    panels = written_panels(judge, prices=prices, repeats=repeats, cache=not no_cache)
    found = read_responses(responses, format)
    cases = {panel.name: cases_for(panel, found)[:limit] for panel in panels}
    if dry_run:
        show_estimates([estimate_cases(panel, cases[panel.name]) for panel in panels], as_json=as_json)
        return
    if out is None:
        raise InputError("--out FILE is missing: where the table goes; --dry-run asks nothing and needs none")
    check_can_write(out)
    judged = ask_judges(panels, cases)
    write_table(out, *judged_rows(found, judged))
    if as_json:
        echo_json({"out": str(out), "judges": {one.panel.name: one.panel.signature for one in judged}})
    else:
        print_document(judged_document(judged), open_console())
        echo(f"wrote {out}; hold it against people with: replay agree {out} {responses}")
    if all(one.tally.unscored == one.tally.verdicts for one in judged):
        echo("no judge gave a number; the notes and the file say why", err=True)
        raise typer.Exit(1)
