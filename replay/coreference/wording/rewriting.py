"""
A question rewritten so that it can be understood under another history: mentions get the text of what they
refer to.

The embedded reader says itself what to put where, and how probable it is that this makes the question better
(``Reading.put``, ``Reading.worth``); a model words the whole question. For readings without a wording
(F-coref, LingMess) the antecedent takes the mention's place as it stands, with the article, possessive and
capitals that English asks for (``reading.substitution``). Outside the mentions nothing changes; of
several mentions of one antecedent the first is replaced, as people do ("When did Ann Lee meet her husband?").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replay.core.conversation import CANNOT_ANSWER
from replay.core.drift_evidence import Reading
from replay.coreference.reading.substitution import in_place
from replay.coreference.reading.words import comparable_words, content_words

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
