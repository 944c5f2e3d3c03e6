"""Word lists of the embedded resolver: kinds of things, and which first names are a man's or a woman's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib import resources

from replay.coreference.words import word_set

MONTHS = word_set(
    """
    january february march april may june july august september october november december monday tuesday
    wednesday thursday friday saturday sunday
    """
)

WORKS = word_set(
    """
    album song single film movie book novel play record show series video track ep game musical opera
    symphony poem painting soundtrack comic comics magazine manga anime documentary episode
    """
)
GROUPS = word_set(
    """
    band group team company label duo trio quartet family party organization organisation crew club couple
    orchestra university college school church army government league association agency corporation
    movement tribe people publisher network channel
    """
)
TIMES = word_set("time year period era season date decade day month week point moment")
EVENTS = word_set(
    """
    event fight match war battle trial incident accident election campaign tour attack race feud
    tournament performance concert festival marriage murder death award case
    """
)
RELATIVES = word_set(
    """
    wife husband son daughter father mother brother sister parents children child girlfriend boyfriend
    uncle aunt nephew niece cousin grandfather grandmother friend partner manager
    """
)
PEOPLE_NOUNS = word_set("man woman guy person boy girl actor actress singer player character artist")
NOUN_CLASSES = (WORKS, GROUPS, TIMES, EVENTS, RELATIVES, PEOPLE_NOUNS)
"""Kinds of things that nouns name, in a fixed order."""
PLURAL_PEOPLE = word_set(
    "parents children sons daughters brothers sisters members fans critics people men women kids twins"
)

ORGANIZED_TITLES = GROUPS | WORKS | frozenset({"tv", "season", "software", "brand", "ship", "festival"})
"""Words in a title's parentheses that say its subject is no person."""

PLAIN_SECTIONS = word_set(
    """
    early life career personal biography legacy history background death later years style influence
    reception works awards honors music success beginnings formation overview introduction other solo work
    film themes marriage professional playing musical image return retirement commercial breakthrough
    childhood education family politics views philosophy criticism controversy television acting writing
    touring break breakup reunion hiatus recent present first second third final critical health private
    youth origins development production recording release composition plot character description
    fictional further changes sound era coaching college school military service recognition achievements
    influences artistry
    """
)
"""Words of section titles that name nothing."""

_MEN = word_set(
    """
    mr sir king prince father brother son husband uncle boy man lord emperor boyfriend duke nephew
    grandfather count baron pope actor policeman businessman stepfather
    """
)
_WOMEN = word_set(
    """
    mrs ms miss queen princess mother sister daughter wife aunt girl woman lady empress girlfriend duchess
    niece grandmother countess actress stepmother
    """
)


@cache
def first_names() -> dict[str, float]:
    """
    First names with how surely they are a man's (1) or a woman's (-1).

    Counted from GAP (see ``first_names.LICENSE.txt``), completed by common names it lacks.
    """
    stored = json.loads(resources.files(__package__).joinpath("first_names.json").read_text("utf-8"))
    completed: dict[str, float] = stored["common"] | stored["names"]
    return completed


def gender(key: Sequence[str]) -> float:
    """How surely the person named by the words *key* is a man (1) or a woman (-1); 0 when unknown."""
    if not key:
        return 0.0
    for word in (key[0], key[-1]):  # "Mrs Lee", "his wife"
        if word in _MEN:
            return 1.0
        if word in _WOMEN:
            return -1.0
    return first_names().get(key[0], 0.0)
