"""
Sentences taken apart, where their grammar is plain: who does what, in which tense, and the question about it.

Without a tagger: the subject is a noun phrase with at most two "of" phrases, the verb an auxiliary or a word
that a list has. A sentence that could be read in two ways is not taken apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from replay.coreference.reading.words import word_set
from replay.synthesis.questions.phrases import OBJECT_STARTS, hides_a_verb, noun_phrase, rest_of, subject_end
from replay.synthesis.questions.words import (
    AUXILIARIES,
    DETERMINERS,
    MODALS,
    PREPOSITIONS,
    Vocabulary,
    Word,
    in_first_person,
    looks_plural,
    verb,
)

LONGEST_SUBJECT = 9
_OF_SEVERAL = word_set("some many most several both all")
_NEGATIONS = word_set("not never")
_ONLY_PERHAPS = word_set("need want have find notice see encounter experience get wish")
"""Verbs that "may" does not allow."""
_NOT_ASKED = word_set(
    """
    also never now already currently still then therefore just probably often usually typically actually
    really
    """
)
"""Adverbs that a question about the clause leaves out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A subject and what is said of it."""

    subject: str
    """As it stands inside a sentence, "your" turned to "my": "the cache"."""
    is_plural: bool
    auxiliary: str
    """What opens a question about it: "is", "can", "does" ..."""
    verb: str
    """Its base form after "do" or a modal, with adverbs before it; empty after a form of "be"."""
    rest: str
    """What follows, up to the end of the clause."""
    is_negated: bool = False
    is_cut: bool = False
    second: int = -1
    """Offset of the "and" that joins a second verb to the same subject; -1 without one."""
    """Whether the sentence says more of it than *rest* does."""

    @property
    def is_mine(self) -> bool:
        """Return whether it is about the reader, who is "you" in the document and "I" in a question."""
        return self.subject == "I"

    @property
    def predicate(self) -> str:
        """Return verb and rest."""
        return f"{self.verb} {self.rest}".strip()

    def question(self, word: str = "", predicate: str | None = None) -> str:
        """Return the question that begins with *word* ("why"), about *predicate* instead of the whole one."""
        said = self.predicate if predicate is None else predicate
        parts = (word, self.auxiliary, self.subject, said)
        line = " ".join(part for part in parts if part)
        return line[:1].upper() + line[1:] + "?"


def clause(text: str, words: Sequence[Word], known: Vocabulary, start: int = 0) -> Clause | None:
    """Return the clause of *text* that begins with the word at *start*, or None where it isn't plain."""
    if start >= len(words):
        return None
    if words[start].low == "you":
        return _clause_of_you(text, words, start)
    end = subject_end(words, start)
    if end == start or end - start > LONGEST_SUBJECT or not _opens_plainly(words, start, end):
        return None
    found = _with_auxiliary(text, words, start, end) or _with_verb(text, words, start, end)
    if found is None or hides_a_verb(words[start : start + len(found.subject.split())]):
        return None
    return replace(found, subject=known.lower(found.subject))


def _opens_plainly(words: Sequence[Word], start: int, end: int) -> bool:
    """Return whether the words from *start* to *end* are a subject, and no imperative or fragment."""
    first = words[start]
    if first.is_adverb or first.low in ("no", "both") or first.text.endswith("ing"):
        return False
    if first.is_literal or first.low in DETERMINERS:
        return True
    if verb(first.low, "base") is not None and end > start + 1:
        return False  # an imperative, perhaps
    if verb(first.low, "participle") and not verb(first.low, "base"):
        return False  # "Highlighted changes"
    return verb(first.low, "third") is None or end == start + 1 or (first.text[:1].islower())


def _clause_of_you(text: str, words: Sequence[Word], start: int) -> Clause | None:
    said = [word.low for word in words[start + 1 : start + 5]]
    if not said:
        return None
    auxiliary, skipped, negated = said[0], 2, False
    if said[0] in ("need", "have") and said[1:2] == ["to"]:
        auxiliary, skipped = "do", 1
    elif said[0] in ("don't", "do") and ("need" in said[1:3] or "have" in said[1:3]) and "to" in said[2:4]:
        auxiliary, negated, skipped = "do", True, 2 if said[0] == "don't" else 3
    elif said[0] == "must":
        auxiliary = "do"
    elif said[0] in ("cannot", "can't"):
        auxiliary, negated = "can", True
    elif said[0] not in ("can", "should", "may"):
        return None
    at = start + skipped
    if at < len(words) and words[at].low in _NEGATIONS:
        negated, at = True, at + 1
    if said[0] == "must" and negated:
        if at < len(words) and words[at].low == "be":
            return None
        auxiliary = "can"
    lead = "have to " if auxiliary == "do" and said[0] == "must" else ""
    auxiliary = "can" if auxiliary == "may" else auxiliary
    while at < len(words) and words[at].low in ("also", "then", "still", "only", "just"):
        at += 1
    if at >= len(words) or words[at].low == "now":
        return None  # a step of what went before
    ahead = at
    while ahead < len(words) and words[ahead].is_adverb:
        ahead += 1
    does = words[ahead].low if ahead < len(words) else ""
    if (
        does == "want"
        or (said[0] == "may" and does in _ONLY_PERHAPS)
        or (verb(does, "base") is None and does != "be")
    ):
        return None
    rest, is_cut, second = rest_of(text, words, at)
    if rest is None:
        return None
    return Clause(
        subject="I", is_plural=False, auxiliary=auxiliary, verb=lead.strip(), rest=in_first_person(rest),
        is_negated=negated, is_cut=is_cut, second=second,
    )  # fmt: skip


def _with_auxiliary(text: str, words: Sequence[Word], start: int, end: int) -> Clause | None:
    at = end
    adverbs, at = _adverbs(words, at)
    if at >= len(words):
        return None
    auxiliary = words[at].low
    negated = auxiliary in ("cannot",) or auxiliary.endswith("n't")
    auxiliary = {"cannot": "can", "can't": "can", "won't": "will"}.get(
        auxiliary, auxiliary.removesuffix("n't")
    )
    if auxiliary not in AUXILIARIES or auxiliary == "had":
        return None
    plural = (
        _is_plural(words, start, end)
        if auxiliary in MODALS | {"did"}
        else auxiliary in ("are", "were", "have", "do")
    )
    at += 1
    if at < len(words) and words[at].low in _NEGATIONS:
        if words[at + 1 : at + 2] and words[at + 1].low in ("only", "just", "necessarily"):
            return None
        negated, at = True, at + 1
    more, at = _adverbs(words, at)
    adverbs += more
    if at >= len(words):
        return None
    if auxiliary in ("do", "does", "did") and verb(words[at].low, "base") is None:
        return None  # "does two things"
    if auxiliary == "may" and (negated or "only" in adverbs or not _may_do(words, at)):
        return None
    if auxiliary == "must" and negated:
        # What must not be is not asked with "have to", which would deny that it must be.
        auxiliary = "can"
    base = ""
    if auxiliary in ("has", "have"):
        is_done = verb(words[at].low, "participle") is not None or words[at].low.endswith("ed")
        if not is_done or words[at].low in ("read", "set", "put", "run"):
            base = "have"
            auxiliary = {"has": "does", "have": "do"}[auxiliary]
    elif auxiliary in ("must", "may"):
        base = "have to" if auxiliary == "must" else ""
        auxiliary = ("do" if plural else "does") if auxiliary == "must" else "can"
    rest, is_cut, second = rest_of(text, words, at)
    if rest is None:
        return None
    kept = " ".join(adverb for adverb in adverbs if adverb not in _NOT_ASKED)
    return Clause(
        subject=in_first_person(text[words[start].start : words[end - 1].end]),
        is_plural=plural, auxiliary=auxiliary, verb=f"{kept} {base}".strip(),
        rest=in_first_person(rest), is_negated=negated or "never" in adverbs, is_cut=is_cut, second=second,
    )  # fmt: skip


def _may_do(words: Sequence[Word], at: int) -> bool:
    """Return whether "may" allows what stands at *at*, and doesn't say that it perhaps is so."""
    if words[at].low == "be":
        after = next((word for word in words[at + 1 :] if not word.is_adverb), None)
        return after is not None and verb(after.low, "participle") is not None
    return words[at].low not in _ONLY_PERHAPS


def _adverbs(words: Sequence[Word], at: int) -> tuple[list[str], int]:
    """Return the adverbs that stand at *at*, and where they end."""
    start = at
    while at < len(words) and (words[at].is_adverb or words[at].low in ("also", "then", "therefore")):
        at += 1
    return [word.low for word in words[start:at]], at


def _with_verb(text: str, words: Sequence[Word], start: int, end: int) -> Clause | None:
    """Return the clause whose verb could stand in its subject too, as told by what follows it."""
    for at in range(start + 1, min(end + 2, len(words))):
        subject_to = at
        while subject_to > start + 1 and words[subject_to - 1].is_adverb:
            subject_to -= 1
        if subject_end(words, start) < subject_to or words[subject_to - 1].low in DETERMINERS | PREPOSITIONS:
            continue
        if not _ends_a_subject(words[start:subject_to]):
            continue
        plural = _is_plural(words, start, subject_to)
        found = _verb_at(words, at, is_plural=plural, opening=words[start].low)
        if found is None or (at + 1 < len(words) and words[at + 1].low == "by"):
            continue  # "guides by their authors"
        base, auxiliary = found
        if at + 1 >= len(words) or words[at + 1].text == ".":
            rest, is_cut, second = "", False, -1
        else:
            said, is_cut, second = rest_of(text, words, at + 1)
            if said is None:
                return None
            rest = said
        adverbs = [one.low for one in words[subject_to:at]]
        return Clause(
            subject=in_first_person(text[words[start].start : words[subject_to - 1].end]),
            is_plural=plural, auxiliary=auxiliary,
            verb=" ".join([*(one for one in adverbs if one not in _NOT_ASKED), base]),
            rest=in_first_person(f"{words[at].low} {rest}")[len(words[at].low) + 1 :],
            is_cut=is_cut, second=second, is_negated="never" in adverbs,
        )  # fmt: skip
    return None


def _ends_a_subject(words: Sequence[Word]) -> bool:
    """Return whether the last of *words* is surely part of the noun phrase that they are."""
    last = words[-1]
    if len(words) > 2 and last.text[:1].isupper() and not last.text.isupper() and words[-2].text.islower():
        return False  # "the behavior Redis follows"
    # "the server uses port"
    return len(words) == 1 or last.is_literal or verb(last.low, "third") is None


def _verb_at(words: Sequence[Word], at: int, *, is_plural: bool, opening: str) -> tuple[str, str] | None:
    """Return the verb at *at*, its base form, and what asks about it ("does"); None if it need be none."""
    word = words[at]
    if word.is_literal or not word.text.islower() or word.low in AUXILIARIES:
        return None
    after = words[at + 1] if at + 1 < len(words) else None
    third, base, past = (verb(word.low, form) for form in ("third", "base", "past"))
    if after is None or after.text == ".":
        return (
            (third, "does") if third is not None and opening in ("a", "an", "the", "your", "each") else None
        )
    opens_object = (
        after.is_literal or after.low in OBJECT_STARTS or after.text[:1].isupper() or after.text[:1].isdigit()
    )
    if _verb_follows(words, at + 1):
        return None
    if third is not None and not is_plural and opening not in _OF_SEVERAL:
        return (third, "does") if opens_object or _is_bare_object(words, at + 1) else None
    if is_plural and base is not None and after.low not in PREPOSITIONS - {"to"}:
        return (base, "do") if opens_object else None
    if past is not None and after.low in DETERMINERS and word.low != past:
        return past, "did"
    return None


def _is_bare_object(words: Sequence[Word], start: int) -> bool:
    """Return whether a plural noun phrase without article stands at *start*, and no verb after it."""
    end = noun_phrase(words, start)
    return end > start and looks_plural(words[end - 1]) and not words[start].low.endswith("ed")


def _verb_follows(words: Sequence[Word], start: int) -> bool:
    """Return whether the noun phrase at *start* is followed by a verb: then the word before it was a noun."""
    end = subject_end(words, start)
    while end < len(words) and words[end].is_adverb:
        end += 1
    return end < len(words) and end > start and words[end].low in AUXILIARIES


def _is_plural(words: Sequence[Word], start: int, end: int) -> bool:
    if words[start].low in ("a", "an", "each", "every"):
        return False
    head = noun_phrase(words[:end], start) - 1
    return looks_plural(words[max(head, start)])
