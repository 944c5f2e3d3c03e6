"""What a user did in a run's turns, as columns of cells for a terminal and for Markdown alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console

from replay.report.columns import TextColumn, column, depth_column
from replay.report.printing import heading, print_table
from replay.statistics.interventions import OCCASIONS, GroupInterventions

NOTE = (
    "a user words a turn where the recorded question does not do; depth counts intents, exchanges "
    "stand beside it. "
    "Nobody says how much a person's words would have changed: scores under different users can't be "
    "compared, and "
    "on recorded answers (adapter scripted) each intervention is an error of the user's own."
)


def intervention_columns(found: GroupInterventions) -> list[TextColumn]:
    """A row for each depth, a column for each occasion that there was."""
    rows, total = found.rows, found.total
    return [
        depth_column(row.depth for row in rows),
        column("intents", (str(row.intents) for row in rows)),
        column("exchanges", (str(row.exchanges) for row in rows)),
        *(
            column(name, (str(row.occasions.get(name, 0)) for row in rows))
            for name in OCCASIONS
            if name in total.occasions
        ),
        column("nothing said", (str(row.unsaid) for row in rows)),
        column("rejected", (str(row.rejected) for row in rows)),
    ]


def intervention_notes(found: Sequence[GroupInterventions]) -> Iterator[str]:
    """Yield how the tables are to be read, and what the users did in all."""
    if found:
        yield NOTE
    for one in found:
        total = one.total
        share = 100 * total.touched / total.intents
        turns = f"{total.touched:,} of {total.intents:,} turns ({share:.1f} %)"
        said = f"{one.group}: a user did something in {turns}"
        cost = "" if not total.asks else f"; {total.asks:,} asks of its model"
        cost += "" if not total.asks or total.cost_usd is None else f", {total.cost_usd:.4g} USD"
        yield f"{said}{cost}."


def print_interventions(found: Sequence[GroupInterventions], console: Console) -> None:
    """Print a table for each system under each policy with a user."""
    for one in found:
        heading(console, f"{one.group}: interventions")
        print_table(console, intervention_columns(one), total=True)
