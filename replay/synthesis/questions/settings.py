"""What a page tells and a question on it does not: taken from the headings that it stands under."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from pathlib import PurePath

from replay.coreference.reading.words import content_words, word_set
from replay.synthesis.questions.fact import DocumentFact, QuestionSetting
from replay.synthesis.questions.verbs import gerund, verb
from replay.synthesis.questions.words import in_first_person, points

LONGEST_HEADING = 7
"""Words."""
_SAYS_NOTHING = word_set(
    """
    overview syntax introduction notes note usage options option description example examples parameters
    parameter summary background details general other misc prerequisites requirements reference
    references about more faq questions answers synopsis output input result results see also features
    limitations known issues troubleshooting configuration settings setup getting started basics basic
    advanced guide documentation docs tips steps step what why how response request responses requests
    fields field default defaults directions ingredients instructions method recipe conclusion additional
    resources commands index home readme welcome changes frequently asked guidelines handbook manual first
    contents table of the and to a for additions changelog news other further reading start get
    quick quickstart src source pages page en english docs doc data main site text web www public content
    """
)
_ACTS = word_set(
    """
    install configure set create add remove update upgrade enable disable use run build deploy connect
    delete start stop restart change manage write test make reload migrate install
    publish choose get send receive move rename restore join
    """
)
"""Verbs that open a heading and hardly ever are nouns or adjectives there."""
_NUMBERED = re.compile(r"(?:section|chapter|part|step|appendix|figure|table) \w{1,2}\b", re.IGNORECASE)
_HOW_TO = re.compile(r"^(?:how (?:to|do i|do you|can i|can you)) ", re.IGNORECASE)


def settings_of(
    bare: DocumentFact, title: str, path: str, *, is_shared: bool = False
) -> tuple[QuestionSetting, ...]:
    """
    Return what tells where *bare* belongs, outermost first: its document, then the heading it stands under.

    A document whose title says nothing ("Overview") is told by its folder, and one whose title is shared with
    documents elsewhere ("Implementation") by both. Headings that say nothing are left
    out, and so are both where it asks of something with a name.
    """
    if _names_its_topic(bare):
        return ()
    asked = _stems(bare.question)
    below = [one for one in bare.section.headings if one != title]
    folder = re.sub(r"[_-]", " ", PurePath(path).parent.name)
    if not _setting(title):
        title = folder
    elif is_shared and _setting(folder) and not _stems(folder) <= _stems(title):
        title = f"{folder} {title}"
    page = _setting(title)
    found = [QuestionSetting(text=page, key=path, is_told=_tells(asked, title))] if page else []
    heading = next((one for one in reversed(below) if _setting(one)), "")
    if heading and not _stems(heading) <= _stems(title):
        told = any(_tells(asked, one) for one in below)
        found.append(QuestionSetting(text=_setting(heading), key=f"{path}#{heading}", is_told=told))
    return tuple(found)


def _names_its_topic(bare: DocumentFact) -> bool:
    """Return whether *bare* asks of one thing with a name, and of nothing else that its page must tell."""
    if bare.topic is None or bare.kind in ("item", "cell", "condition", "procedure", "reason"):
        return False
    name = re.sub(r"^(?:a|an) ", "", bare.topic.text)
    is_name = name[:1].isupper() and not name.isupper() and name.replace(" ", "").isalpha()
    rest = bare.question[: bare.topic.start] + bare.question[bare.topic.start + len(bare.topic.text) :]
    return is_name and not re.search(r"\b(?:the|I|my)\b", rest)


def _tells(asked: AbstractSet[str], heading: str) -> bool:
    """Return whether *asked* holds more than half of what *heading* says."""
    said = _stems(heading)
    return 2 * len(asked & said) > len(said)


def _setting(heading: str) -> str:
    """Return *heading* as it is said before a question ("when joining a node"); empty if it says nothing."""
    said = heading.strip(" .:?!`")
    words = said.split()
    if (
        not words
        or len(words) > LONGEST_HEADING
        or points(said)
        or not re.match(r"[A-Za-z]", said)
        or _NUMBERED.match(said)
    ):
        return ""
    if all(word.lower().strip(",()") in _SAYS_NOTHING for word in words) or heading.strip().endswith("?"):
        return ""
    how_to = _HOW_TO.sub("", said)
    first, _, thing = how_to.partition(" ")
    base = verb(first.lower(), "gerund") or verb(first.lower(), "base")
    if thing.startswith(("and ", "of ")):
        return said
    if base is not None and thing and (base in _ACTS or how_to != said):
        return f"when {gerund(base)} {in_first_person(thing)}"
    return "" if how_to != said else said


def _stems(text: str) -> set[str]:
    said = [word for word in content_words(text) if word not in _SAYS_NOTHING]
    return {re.sub(r"(?:ies|es|s|ing|ed)$", "", word) for word in said}
