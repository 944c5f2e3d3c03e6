"""``replay plugins``: what is installed that a scenario can name."""

from __future__ import annotations

from replay.cli.arguments import JsonOption
from replay.cli.output import echo_json, open_console


def plugins(as_json: JsonOption = False) -> None:
    """List the adapters, judges, readers, policies, resolvers, scorers and users that a scenario can name."""
    from replay.core.settings.plugins import KINDS, available

    rows = [
        {
            "kind": kind,
            "name": name,
            "object": entry.value,
            "package": f"{entry.dist.name} {entry.dist.version}" if entry.dist else "",
        }
        for kind in KINDS
        for name, entry in available(kind).items()
    ]
    if as_json:
        echo_json(rows)
        return
    from rich.table import Table

    table = Table(*rows[0], box=None) if rows else Table()
    for row in rows:
        table.add_row(*row.values())
    open_console().print(table)
