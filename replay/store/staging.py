"""
Scores, verdicts and checks that are made again stay beside the earlier ones until they are complete, then
take their place in one transaction: a program that is killed, or a disk that is full, half-way leaves the
earlier ones.

They wait in temporary tables of the writer's connection, which go with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from replay.store.writer import Statement

BEGIN = tuple(
    Statement(sql, ())
    for table in ("score", "verdict", "checked")
    for sql in (
        f"DROP TABLE IF EXISTS temp.new_{table}",
        f"CREATE TEMP TABLE new_{table} AS SELECT * FROM {table} WHERE 0",
    )
)


def publish_staged(scorers: Iterable[str], judge: str | None, *, checks: bool) -> Iterator[Statement]:
    """Yield statements that replace the results of *scorers*, *judge* and *checks* by the staged ones."""
    for scorer in scorers:
        yield Statement("DELETE FROM score WHERE scorer = ?", [scorer])
    yield Statement("DELETE FROM verdict WHERE judge = ?", [judge])
    if checks:
        yield Statement("DELETE FROM checked", ())
    for table in ("score", "verdict", "checked"):
        yield Statement(f"INSERT OR REPLACE INTO main.{table} SELECT * FROM temp.new_{table}", ())
        yield Statement(f"DROP TABLE temp.new_{table}", ())
