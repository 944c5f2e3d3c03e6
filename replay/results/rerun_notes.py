"""What a report says of turns that were asked again."""

from __future__ import annotations


def rerun_notes(turns: int, attempts: int) -> list[str]:
    """What to say of *turns* that were asked again, with *attempts* kept from before; nothing for none."""
    if not turns:
        return []
    were = "turn was" if turns == 1 else "turns were"
    kept = f"{attempts:,} attempt{'' if attempts == 1 else 's'} kept"
    return [f"{turns:,} {were} asked again ({kept})."]
