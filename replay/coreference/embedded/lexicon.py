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
_MEN_NAMES = word_set(
    """
    aaron alex alexander alfred arnold axl ben bernard bill bob brad brandon brett brian bruce bryan carl
    carlos chad charles charlie chris christopher chuck clarence claude clint cole colin corey craig
    curtis dan daniel darren dave dean dennis derek dick dominic don donald doug douglas drew duane dwayne
    earl ed eddie edgar edward elliott elvis enrique eric ernest eugene evan ferdinand floyd francis frank
    frankie franklin fred freddie frederick gabriel gary gene geoff geoffrey gerald gilbert glen glenn
    gordon graham greg gregory gus guy hal harold harry harvey herbert herman howard hugh ian igor isaac
    ivan jack jacob jacques jake jason jay jeff jeffrey jeremy jerome jerry jesse jim jimmy joel johann
    johnny jon jonathan jordan jose joseph josh joshua juan julian julius justin karl keith ken kenneth
    kevin kurt kyle lance larry lawrence lenny leo leon leonard leonardo les lewis lou louis luis luke
    malcolm marc marcus mario mark marshall martin marvin matt matthew maurice max mel mick mickey miguel
    mike milton mitch mohammed morgan muhammad murray nathan ned neil nelson nicholas nick nigel noah noel
    norman oliver oscar otto owen pablo patrick paul pedro perry pete phil philip phillip pierre quentin
    ralph randy ray raymond reggie rex rick ricky rob robbie roberto robin rodney roger roland ron ronald
    ross roy rudolf rupert russell ryan sam samuel scott sean seth shane shawn sid simon spencer stan
    stanley stephen steve steven stuart sylvester ted terrence terry theodore tim timothy toby todd tom
    tommy tony travis trevor tyler vernon victor vincent vladimir wallace walt walter warren wayne wes
    wilhelm willie wolfgang woody zack
    """
)
_WOMEN_NAMES = word_set(
    """
    adrienne aaliyah agatha alanis alexis aretha ashley avril beyonce billie brandy bridget britney
    candice carmen celine cher christina clara claire courtney cynthia dawn deborah debbie debra delia
    diana diane dolly dolores donna doris dorothy edith eileen elaine eleanor elena elisabeth ella ellie
    elsa emma erica erin esther eva eve evelyn fiona florence frances gail georgia gina gladys gloria
    greta gwen gwyneth harriet heather heidi hilary hillary holly ida ingrid irene iris isabel isabella
    ivy jackie jacqueline janet janice janis jean jenny jessica jill joan joanna josephine joyce juanita
    judith judy julia julie juliet june karen kate katherine kathleen kathryn kathy katie katy kay kelly
    kim kimberly kirsten kristen kylie lana lauren leah lena leslie lillian lisa liz liza lois lorraine
    lucille lucy lydia lynn mabel madonna marcia margot marianne marie marilyn marion marlene martha
    melanie melissa mia michelle mildred miley miranda molly monica nadia nancy naomi natalie natasha
    nellie nicole nina nora norma olga olivia pamela patricia patsy patti paula pauline peggy penelope
    phoebe phyllis priscilla rachel rebecca regina renee rihanna rita roberta rosa rose rosemary roxanne
    ruby ruth sally samantha sandra sara selena shakira sharon sheila shelley shirley sofia sonia sophia
    sophie stacy stella stephanie sue suzanne sylvia tammy tanya tara taylor teresa thelma theresa tiffany
    tina toni tracy valerie vanessa vera veronica victoria viola violet virginia vivian wanda wendy
    whitney winifred yoko yvonne zoe
    """
)


@cache
def first_names() -> dict[str, float]:
    """
    First names with how surely they are a man's (1) or a woman's (-1).

    Counted from GAP (see ``first_names.LICENSE.txt``), completed by common names it lacks.
    """
    counted: dict[str, float] = json.loads(
        resources.files(__package__).joinpath("first_names.json").read_text("utf-8")
    )["names"]
    own = {**dict.fromkeys(_MEN_NAMES - _WOMEN_NAMES, 0.8), **dict.fromkeys(_WOMEN_NAMES - _MEN_NAMES, -0.8)}
    return own | counted


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


def singular(word: str) -> str:
    """*word* without a plural's s, for comparing nouns."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word
