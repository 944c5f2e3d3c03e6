"""
Whether two answers to a question say the same, told without a model.

What speaks against it is looked for first: a refusal or a question back, yes against no, figures with their
units, names and list items that one answer lacks, things that have changed places, directions, denial. Only
then words are compared, without those of the question, which both may repeat. So a list in another order,
"3 euros" for "three euros" and other words around the same facts are the same. The rules were written looking
at pairs that were labelled by hand; ``benchmarks/same_answers.py`` measures on others. Synonyms are out of
reach: "not the same" means that nobody has shown it, no more. Yes, no, denial, refusals and questions back
are known in English alone.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from replay.coreference.reading.words import FUNCTION_WORDS, word_set
from replay.scenario.sections import SAME_FROM
from replay.scorers.answer_text import DECLINING_PATTERNS, declines, normalize, words
from replay.scorers.checks.english import refusal_in
from replay.scorers.figures import figures
from replay.scorers.fuzzy import denials, difference
from replay.users.rules import unexpected_in

LONGEST, MOST_CLAUSES = 8_000, 250
"""Characters and clauses beyond which answers are compared word for word alone: each clause is matched with
each, and each name with each word."""
MOST_NAMED = 5
"""Figures and names that are named as missing."""
MISSPELT = 80.0
"""Likeness in per cent from which on two words may be one name."""

LEAST_STEM = 3
"""Letters that are left of a word without its ending."""
_ENDINGS = (
    ("ies", "y"),
    ("ied", "y"),
    ("ing", ""),
    ("ed", ""),
    ("es", ""),
    ("ss", "ss"),
    ("s", ""),
    ("ly", ""),
)

_NAME = re.compile(
    r"(?:(?<=\b(?:Mr|Ms|Dr)\. )|(?<=\bMrs\. )|(?<=\bProf\. )|(?<![.!?:*|\n\d] ))(?<!^)(?<![\w\"'`(\n])"
    r"[A-Z][\w'’-]*[^\W_]|`[^`\n]+`"
)
_CAPITALIZED = re.compile(r"\b[A-Z][\w'’-]*\w")
_NO_NAMES = ("I'm", "OK")
_ITEM = re.compile(r"^\s*(?:[-*•]|\d+[.)]|\|)\s*(?=\S)(.*)$", re.MULTILINE)
_ENDS_CLAUSE = re.compile(r"(?<=[.!?;,])\s+|\n+|\s(?=(?:and|but|whereas|while)\s)")
_FIRST_WORD = re.compile(r"\W*([^\W\d_]+)(?=['’]s\b|,| \w)")
_YES = re.compile(
    r"(?:oh |well,? )?(?:yes|yep|yeah|sure|certainly|of course|absolutely|it (?:is|does|was|did)\b(?= *[,.])"
    r"|they (?:do|are)\b(?= *[,.])|(?:he|she) (?:is|does)\b(?= *[,.]))",
    re.IGNORECASE,
)
_NO = re.compile(
    r"(?:oh |well,? )?(?:no|nope|i'm afraid not|unfortunately not|not really|hardly|never)\b", re.IGNORECASE
)
_LEADING_NO = re.compile(r"^(?:no|nope)\b,?", re.IGNORECASE)
_SHORT_FORMS = ((re.compile(r"\bcan['’]t\b", re.I), "can not"), (re.compile(r"n['’]t\b", re.I), " not"))
_NUMBERING = re.compile(r"^(\s*)\d+[.)]\s", re.MULTILINE)
_TIME = re.compile(r"\b(\d{1,2})(?:[:.](\d\d))?(?: ?([ap])\.?m\b\.?)|\b(\d{1,2}):(\d\d)\b", re.IGNORECASE)
_IN_ORDER = re.compile(r"\b(?:first|then|next|afterwards|finally|lastly)\b", re.IGNORECASE)
_LEFT_OUT = FUNCTION_WORDS | word_set(
    """
    able afraid possible unable unfortunately sorry use with
    about around approximately roughly nearly almost circa some usually normally mostly typically please sure
    certainly course yes no ok okay alright right gladly well now just
    """
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerComparison:
    """How two answers to one question compare."""

    same: bool
    reason: str
    """What shows that they are the same, or what speaks against it, in words."""


def compare_answers(
    question: str, recorded: str, now: str, *, same_from: float = SAME_FROM
) -> AnswerComparison:
    """
    Return whether *now* says what *recorded* says in answer to *question*.

    ``compare_answers("How much?", "It costs 3 euros.", "Three euros, and it costs no more.")`` is the same.

    Args:
        question: The question as it was recorded.
        recorded: The recorded answer.
        now: The answer that is held against it.
        same_from: From which ``word_likeness`` on they are the same where nothing speaks against it.
    """
    if normalize(recorded) == normalize(now):
        return AnswerComparison(same=True, reason="word for word the same")
    if declines(recorded, DECLINING_PATTERNS) and refusal_in(now):
        return AnswerComparison(same=True, reason="both say that there is no answer")
    texts = (recorded, now)
    if max(map(len, texts)) > LONGEST or max(len(_clauses(text)) for text in texts) > MOST_CLAUSES:
        return AnswerComparison(same=False, reason="too long to be compared otherwise than word for word")
    question, recorded, now = map(_plain, (question, recorded, now))
    if against := _against(question, recorded, now):
        return AnswerComparison(same=False, reason=against)
    likeness = word_likeness(question, recorded, now)
    same = likeness >= same_from
    share = f"{100 * likeness:.0f} % of the words in common"
    return AnswerComparison(same=same, reason=share if same else f"only {share}")


def _plain(text: str) -> str:
    """Return *text* with times of 24 hours, without numbers of list items and short forms of "not"."""
    for short, long in _SHORT_FORMS:
        text = short.sub(long, text)
    return _TIME.sub(_as_24_hours, _NUMBERING.sub(r"\1- ", text))


def _as_24_hours(time: re.Match[str]) -> str:
    hour, minutes = int(time[1] or time[4]), time[2] or time[5] or "00"
    half = (time[3] or "").lower()
    hour = hour % 12 + 12 * (half == "p") if half else hour
    return str(hour) if minutes == "00" else f"{hour}:{minutes}"


def word_likeness(question: str, recorded: str, now: str) -> float:
    """
    Return the F1 of content words' stems and figures beside the words of *question*, in [0, 1]; 1 if none are
    left.
    """
    asked = set(_stems(question))
    one, other = ([stem for stem in _stems(text) if stem not in asked] for text in (recorded, now))
    if not one or not other:
        return float(not one and not other)
    return 2 * (Counter(one) & Counter(other)).total() / (len(one) + len(other))


@lru_cache(maxsize=4096)
def _stems(text: str) -> tuple[str, ...]:
    """Return the stems of the words that say something, in order; then the figures, however written."""
    plain = [word for word in words(text, "plain") if word not in _LEFT_OUT and not _is_figure(word)]
    return (*map(_stem, plain), *(f"{abs(figure.value).normalize():f}" for figure in figures(text)))


def _stem(word: str) -> str:
    """
    Return *word* without the endings of plurals and verbs.

    Porter's stemmer, which other scores use, would bring 200 MB of libraries into every run.
    """
    for ending, rest in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= LEAST_STEM:
            word = word[: -len(ending)] + rest
            break
    return word[:-1] if len(word) > LEAST_STEM and (word[-1] == "e" or word[-1] == word[-2]) else word


@lru_cache(maxsize=4096)
def _is_figure(word: str) -> bool:
    """Return whether *word* is part of a figure: a number, or a unit behind one."""
    return bool(figures(word)) or any(figure.unit for figure in figures(f"1 {word}"))


def _against(question: str, recorded: str, now: str) -> str | None:
    """Return what speaks against *recorded* and *now* being the same; None if nothing does."""
    both_ways = ((recorded, now, "now"), (now, recorded, "recorded"))
    for one, other, whose in ((now, recorded, "now"), (recorded, now, "recorded")):
        if found := unexpected_in(one, [other]):
            return f'{found[0].replace("-", " ")} {whose}: "{found[1]}"'
    # Yes against no, then what only one of the two states.
    then, today = _polarity(recorded), _polarity(now)
    if then is not None and today is not None and then != today:
        return f"{'yes' if then else 'no'} recorded, {'yes' if today else 'no'} now"
    for one, other, whose in both_ways:
        if missing := _missing_figures(one, other, question):
            return f"not in the {'answer now' if whose == 'now' else 'recorded answer'}: {', '.join(missing)}"
    for one, other, whose in both_ways:
        if item := _missing_item(one, other):
            return f'not in the {"answer now" if whose == "now" else "recorded answer"}: "{item}"'
    # The same things, said of each other's.
    if exchanged := _find_exchange(recorded, now):
        return f'"{exchanged[0]}" and "{exchanged[1]}" have changed places'
    if all(map(_IN_ORDER.search, (recorded, now))) and not _in_order(recorded, now):
        return "in another order"
    if _begins_otherwise(recorded, now) and _begins_otherwise(now, recorded):
        return "they begin with other words"
    aligned = _align(recorded, now)
    for one, other in ((recorded, aligned), (aligned, recorded)):
        kind = difference(one, other)
        if kind == "figures":  # unless it repeats the question's
            kind = difference(one, f"{question} {other}")
        if kind:
            return f"other {kind}"
    if _paired_otherwise(recorded, aligned):
        return "names and figures go together otherwise"
    if None in (then, today) and _denies(recorded) != _denies(now):
        return "one denies what the other doesn't"
    return _name_against(question, recorded, now)


def _polarity(answer: str) -> bool | None:
    """Return whether *answer* begins with a yes (True) or a no; None if with neither."""
    if _NO.match(answer):
        return False
    return True if _YES.match(answer) else None


def _denies(answer: str) -> bool:
    """Return whether *answer* denies an odd number of times; a "no" that it begins with doesn't count."""
    return denials(_LEADING_NO.sub("", answer)) % 2 == 1


def _missing_figures(one: str, other: str, question: str) -> list[str]:
    """Return the figures of *one* that *other* lacks and *question* hasn't given."""
    given = [*figures(other), *figures(question)]
    missing = [f for f in figures(one) if f.needed and not any(f.same(g) for g in given)]
    return [f"{f.value:f} {f.unit}" if f.unit else f"{f.value:f}" for f in missing[:MOST_NAMED]]


def _missing_item(one: str, other: str) -> str | None:
    """Return the first item of the list in *one* that none in *other*'s is like; None without two lists."""
    items, others = (_ITEM.findall(text) for text in (one, other))
    if len(items) < 2 or len(others) < 2:
        return None
    there = [set(_stems(item)) for item in others]
    for item in items:
        stems = set(_stems(item))
        if stems and not any(2 * len(stems & found) >= min(len(stems), len(found)) for found in there):
            return str(item)
    return None


def _name_against(question: str, recorded: str, now: str) -> str | None:
    """Return names that one answer lacks, unless they stand in *question* and the other has no other ones."""
    lacking = [
        [name for name in _names(one) if not _has_name(name, other)]
        for one, other in ((recorded, now), (now, recorded))
    ]
    asked = question.lower()
    for names, whose in zip(lacking, ("answer now", "recorded answer"), strict=True):
        if new := [name for name in names if name not in asked or all(lacking)]:
            return f"not in the {whose}: {', '.join(new[:MOST_NAMED])}"
    return None


def _names(text: str) -> list[str]:
    """Return the words with a capital within a sentence, and what stands in backquotes, in lower case."""
    return list(dict.fromkeys(m[0].lower() for m in _NAME.finditer(text) if m[0] not in _NO_NAMES))


def _has_name(name: str, text: str) -> bool:
    from rapidfuzz.fuzz import ratio

    return name in text.lower() or any(
        word == name or ratio(word, name) >= MISSPELT for word in re.findall(r"[\w'’-]+", text.lower())
    )


def _clauses(text: str) -> list[str]:
    return [clause for clause in _ENDS_CLAUSE.split(text) if clause.strip(" |-*")]


@lru_cache(maxsize=16)
def _matches(recorded: str, now: str) -> list[int]:
    """Return for each clause of *now* the index of the clause of *recorded* most like it, -1 for none."""
    theirs = [Counter(_stems(clause)) for clause in _clauses(recorded)]
    found = []
    for index, clause in enumerate(_clauses(now)):
        ours = Counter(_stems(clause))
        shared = [((ours & other).total(), -abs(index - at), at) for at, other in enumerate(theirs)]
        best = max(shared, default=(0, 0, -1))
        found.append(best[2] if best[0] else -1)
    return found


def _in_order(recorded: str, now: str) -> bool:
    found = [index for index in _matches(recorded, now) if index >= 0]
    return found == sorted(found)


def _align(recorded: str, now: str) -> str:
    """Return *now* with its clauses in the order of those of *recorded*."""
    matched = zip(_matches(recorded, now), _clauses(now), strict=True)
    return " ".join(clause for _, clause in sorted(matched, key=lambda one: (one[0] < 0, one[0])))


def _find_exchange(recorded: str, now: str) -> tuple[str, str] | None:
    """
    Return two words that stand in each other's clause now, such as the names in "Ann sings, Bo plays" and "Bo
    sings, Ann plays"; None if none do.
    """
    matches = _matches(recorded, now)
    before, after = _clause_of_words(recorded), _clause_of_words(now)
    moved = {
        (before[word], matches[after[word]]): word
        for word in before
        if word in after and matches[after[word]] not in (-1, before[word])
    }
    return next(((word, moved[to, at]) for (at, to), word in moved.items() if (to, at) in moved), None)


def _clause_of_words(text: str) -> dict[str, int]:
    """Return the index of the clause of each word that stands in a single one."""
    found: dict[str, int] = {}
    often = set()
    for index, clause in enumerate(_clauses(text)):
        for word in _stems(clause):
            if found.setdefault(word, index) != index:
                often.add(word)
    return {word: index for word, index in found.items() if word not in often}


def _begins_otherwise(one: str, other: str) -> bool:
    """Return whether *one* begins with a word, perhaps a name, that *other* has nowhere."""
    first = _FIRST_WORD.match(one)
    stems = _stems(first[1]) if first and first[1][0].isupper() else ()
    return bool(stems) and stems[0] not in _stems(other)


def _paired_otherwise(recorded: str, now: str) -> bool:
    """Return whether names have changed their order and figures haven't, or the reverse; two of each."""
    capitals = [_CAPITALIZED.findall(text) for text in (recorded, now)]
    names = [
        [name for name in dict.fromkeys(one) if name in both]
        for one, both in zip(capitals, capitals[::-1], strict=True)
    ]
    values = [[f.value for f in figures(text) if f.needed] for text in (recorded, now)]
    if min(map(len, names)) < 2 or min(map(len, values)) < 2 or sorted(values[0]) != sorted(values[1]):
        return False
    return (names[0] == names[1]) != (values[0] == values[1])
