"""
A question rewritten so that it can be understood under another history: mentions get the text of what they
refer to.

The embedded reader says itself what to put where, and how probable it is that this makes the question better
(``Reading.put``, ``Reading.worth``); a model words the whole question. For readings without a wording
(F-coref, LingMess) the antecedent takes the mention's place as it stands, with the article, possessive and
capitals that English asks for, and nothing that would need to know more (``in_place``). Outside the mentions
nothing changes; of several mentions of one antecedent the first is replaced, as people do ("When did Ann Lee
meet her husband?").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from replay.core.conversation import CANNOT_ANSWER
from replay.core.drift_evidence import Mention, Reading
from replay.coreference.reading.words import ARTICLES, PRONOUNS, comparable_words, content_words, words

MIN_PROBABILITY = 0.6
"""That an edit makes the question better and names nothing wrong; below it, it is not made. See
docs/drift-measurements.md for what other values cost and bring."""
MIN_PROBABILITY_VALID = 0.85
"""The same, of a question that isn't known to have drifted: as it is, it may well be understood. See
docs/rewriting.md."""
MAX_INSERTED_WORDS = 15
"""A longer antecedent is left out: the mention then stays as it is."""
_MAX_INSERTED_CHARACTERS = 160  # for text that is written without spaces


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionEdit:
    """What one reading changes in its question."""

    start: int
    end: int
    """The place in the question that is replaced; empty for an insertion."""
    put: str
    """What comes there."""
    names: frozenset[str]
    """The words that the question then names."""


def rewrite(question: str, readings: Sequence[Reading], *, min_probability: float = MIN_PROBABILITY) -> str:
    """
    Return *question* with its mentions replaced by their antecedents, where that makes it better.

    Left alone are mentions without an antecedent, antecedents that the question names already or that have
    more than ``MAX_INSERTED_WORDS`` words, a second mention of the same antecedent, any mention that overlaps
    one already replaced, and edits that are less probable than *min_probability* to make the question better,
    where the resolver estimates that. What replaces a mention goes before an insertion of the same. Returns
    *question* itself when nothing applies.
    """
    pieces: list[str] = []
    named: set[str] = set()
    done = 0
    chosen = [edit for reading in readings if (edit := propose_edits(question, reading, min_probability))]
    replaced = [edit.names for edit in chosen if edit.start < edit.end]
    for edit in sorted(chosen, key=lambda edit: (edit.start, -edit.end)):
        is_twice = edit.start == edit.end and any(edit.names <= names for names in replaced)
        if edit.start >= done and not edit.names <= named and not is_twice:
            named |= edit.names
            pieces += [question[done : edit.start], edit.put]
            done = edit.end
    return "".join([*pieces, question[done:]]) if pieces else question


def propose_edits(question: str, reading: Reading, min_probability: float = 0.0) -> QuestionEdit | None:
    """
    Return the edit of *question* that *reading* proposes; None if it is unlikely to improve the question.

    *min_probability* is the least probability, in [0, 1], that the edit makes the question better.
    """
    mention = reading.mention
    if question[mention.start : mention.end] != mention.text or reading.worth < min_probability:
        return None
    antecedent = (
        reading.distribution[0][1] if reading.put and reading.distribution else reading.antecedent or ""
    )
    # A model words the whole question, however much it quotes.
    is_worded = reading.put is not None and not reading.distribution
    if not (is_worded or _is_insertable(antecedent)):
        return None
    put = reading.put if reading.put is not None else in_place(question, mention, antecedent)
    start, end = reading.put_at or (mention.start, mention.end)
    around = f"{question[:start]} {question[end:]}"
    if put is None or not set(comparable_words(put)) - set(content_words(around)):
        return None
    return QuestionEdit(start=start, end=end, put=put, names=frozenset(comparable_words(antecedent)))


def certainty(reading: Reading) -> float:
    """Return the probability of the reading's antecedent, in [0, 1]; 1 where there is no distribution."""
    if not reading.distribution:
        return 1.0
    return sum(probability for probability, text in reading.distribution if text == reading.antecedent)


def _is_insertable(antecedent: str) -> bool:
    short = len(antecedent) <= _MAX_INSERTED_CHARACTERS and len(antecedent.split()) <= MAX_INSERTED_WORDS
    return any(c.isalnum() for c in antecedent) and short and antecedent != CANNOT_ANSWER


_REFLEXIVE = re.compile(r"(?:self|selves)$", re.IGNORECASE)
_OWNERS = re.compile(r"^(?:your|our)\s(?=[a-z])", re.IGNORECASE)
_LEADING_WORDS = frozenset(
    ("the", "a", "an", "this", "that", "these", "those", "my", "his", "her", "its", "their")
)


def in_place(question: str, mention: Mention, antecedent: str) -> str | None:
    """
    Return *antecedent* as it stands in *mention*'s place; None where it can't.

    It can't in place of a reflexive, where something was left out, and in place of a name or noun
    phrase that it isn't a fuller form of ("Zappa" -> "Frank Zappa").
    """
    if not mention.text or _REFLEXIVE.search(mention.text):
        return None
    text = tidy(antecedent)
    if all(word in PRONOUNS for word in words(text)):
        return None
    if mention.kind == "other":
        own = set(content_words(mention.text))
        if not own or not own < set(content_words(text)):
            return None
    # Whose "your plan" and "our shop" are depends on who said it; asked again, it is "the plan".
    text = _OWNERS.sub("the ", text)
    first, _, rest = text.partition(" ")
    if rest and first.lower() in ARTICLES:
        text = f"the {rest}"
    elif first.lower() in _LEADING_WORDS:
        text = text[:1].lower() + text[1:]
    elif first.islower() and not _has_article_before(question[: mention.start]):
        text = f"the {text}"
    if mention.possessive:
        text = with_possessive(text, plural=mention.kind == "they" or is_plural_name(text))
    return capitalize(text) if at_sentence_start(question, mention.start) else text


def tidy(antecedent: str) -> str:
    """Return *antecedent* on one line, without the punctuation around it."""
    text = " ".join(antecedent.split()).strip(' ,;:!?"“”')
    # "Washington D.C." and "Ray Jr." keep their stop, the end of a sentence doesn't.
    return text.rstrip(".") if re.search(r"[^\W\d_]{4,}\.+$|\d\.+$", text) else text


def with_possessive(text: str, *, plural: bool) -> str:
    """Return *text* as an owner: "Ann Lee's", "the Beatles'"; one that is a possessive stays."""
    if re.search(r"(?:['’]s|s['’])$", text, re.IGNORECASE):
        return text
    return f"{text}'" if plural and text[-1:] in "sS" else f"{text}'s"


def at_sentence_start(text: str, position: int) -> bool:
    """Return whether a sentence of *text* begins at *position*."""
    return re.search(r"(?:^|[.?!]['\"”’)]*\s)[\s\"'“‘(\[]*$", text[:position]) is not None


def capitalize(text: str) -> str:
    """Return *text* with a capital first letter."""
    return text[:1].upper() + text[1:]


def is_plural_name(text: str) -> bool:
    """Return whether *text* is a name like "the Beatles", "the United States", and not like "Charles"."""
    return text.lower().startswith("the ") and text[-1:] in "sS" and text[-2:].lower() != "ss"


def _has_article_before(text: str) -> bool:
    said = words(text)
    return bool(said) and said[-1] in _LEADING_WORDS
