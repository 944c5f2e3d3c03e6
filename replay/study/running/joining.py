"""
How people of a platform come in: by one link for all, which holds each one's id there.

Whoever has the link and somebody's id is that person; a study that needs more has no platform and gives each
rater a link of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from replay.study.running.phase import phase_of
from replay.study.running.study_sections import PlatformSection
from replay.study.store import StudyStore
from replay.study.tasks import Rater

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,99}", re.ASCII)


def platform_id(platform: PlatformSection, address: Mapping[str, str]) -> str | None:
    """Return the id in an *address*; None where there is none, or a placeholder that the platform left."""
    given = address.get(platform.id, "").strip()
    return given if _ID.fullmatch(given) else None


def join(store: StudyStore, platform: PlatformSection, id: str) -> Rater | str:
    """
    Let in whoever is called *id* on the platform, as the one they were if they come again.

    Returns:
        The rater; or, in words for people, why there is none.
    """
    with store.writing():
        known = next((one for one in store.raters() if one.name == id), None)
        if known is not None:
            # The owner's own raters have links of their own; nobody becomes one of them by a name.
            return known if known.joined_at else "This id can't be used in this study."
        if (phase := phase_of(store)) != "open":
            return "This study is over." if phase == "closed" else "This study is paused. Come back later."
        taken = sum(one.joined_at is not None and one.takes_part for one in store.raters())
        if taken >= platform.places:
            return "All places in this study are taken."
        return store.add_rater(id, joined_at=store.now())
