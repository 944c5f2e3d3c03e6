"""
``fuzzy``: whether a gold answer stands in the answer, or nearly so: the best partial match of two strings,
held against a threshold, where both can state the same facts.

The ratio is rapidfuzz's ``partial_ratio``: the shorter text against the best place in the longer one. It
reads both ways, so an answer that is a mere piece of the gold answer ("Curie" of "Marie Curie") matches too.
What it can't see is looked at where they match: figures, names and directions in the sentences that the
match touches, negation in its clauses.

The best place of a long text in another takes its length cubed. So of the shorter text, where it is longer
than ``LONGEST_SHORTER``, the beginning and the end are each looked for, unless all of it stands in the longer
one; and of the longer, beyond ``LONGEST_LONGER``, its beginning and its end are searched.

Whether two texts that are alike letter by letter can state the same facts depends on their figures and names,
whether they deny, and which way things go. A difference of one letter or word turns "in 1987" into "in
1988", "rose" into "fell" and "did" into "didn't", and hardly moves a measure of characters. Denial and
direction are known in English only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Literal, NamedTuple

from replay.scorers.answer_text import DECLINING_PATTERNS, normalize
from replay.scorers.figures import Figure, Kind, figures
from replay.scorers.reference_score import ReferenceScore, each

THRESHOLD = 0.8
"""Where `benchmarks/fuzzy_matching.py` tells right answers from wrong ones best."""

LONGEST_SHORTER = 1_000
LONGEST_LONGER = 20_000
"""In characters of the normalized texts; of each half from its beginning and half from its end."""

_WORD = re.compile(r"\S+\s*")
# Bounded, since an answer may be one "word" of a million full stops.
_ENDS_SENTENCE = re.compile(
    r"(?<!\b(?:Mr|Dr|No|St))(?<!\b(?:Mrs|Inc))(?<!\b\w)[.!?;]\W{0,99}+$|\n\s{0,99}(?:\n|[-*•]\s)$"
)
_ENDS_CLAUSE = re.compile(
    r"(?:[,.:;!?]\W{0,99}+|^(?:and|because|but|since|so|which|while|who|—|–|-)\s*)$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzyMatch:
    """How well an answer and a gold answer match."""

    ratio: float
    """How much of the shorter text the longer one holds in one place, in [0, 1]."""
    differs: Difference | None = None
    """What the two state otherwise there, so that they don't match however alike they are."""
    shortened: bool = False
    """Whether a text was so long that only its beginning and its end were compared."""

    def reaches(self, threshold: float) -> bool:
        """Return whether it is a match."""
        return self.differs is None and self.ratio >= threshold


def fuzzy_match(answer: str, gold: str, *, compare_from: float = 0.0) -> FuzzyMatch:
    """
    The best place of the shorter text in the longer one, and what both state there, if the ratio reaches
    *compare_from*.

    Case, ASCII punctuation, articles and extra spaces don't count (SQuAD normalization). The ratio is 1 if
    one stands in the other word for word, or neither says anything; 0 if only one says nothing. A text of
    one word is held against whole words: "no" is no part of "know". Of long texts it is the mean of the
    beginning's and the end's.

    ``fuzzy_match("It was built in 1889, I believe.", "1889")`` has ratio 1; so has
    ``fuzzy_match("Sales fell to 52", "Sales fell to 5.2")``, where the figures differ.
    """
    from rapidfuzz.fuzz import ratio

    ours, golds = WordIndex(answer), WordIndex(gold)
    if not (ours.text and golds.text):
        return FuzzyMatch(ratio=float(ours.text == golds.text))
    share, our_place, gold_place, shortened = _best_place(ours.text, golds.text)
    shorter = min(ours.text, golds.text, key=len)
    if " " not in shorter and len(shorter) <= LONGEST_SHORTER:
        share = min(share, ratio(ours.whole(our_place), golds.whole(gold_place)) / 100)
    if share < compare_from:
        return FuzzyMatch(ratio=share, shortened=shortened)
    differs = difference(golds.sentences(gold_place), ours.sentences(our_place))
    if differs is None and denials(golds.clauses(gold_place)) != denials(ours.clauses(our_place)):
        differs = "negation"
    return FuzzyMatch(ratio=share, differs=differs, shortened=shortened)


Span = tuple[int, int]


class _Place(NamedTuple):
    """Where two texts match best, and how well."""

    ratio: float
    ours: Span
    golds: Span
    shortened: bool


def _best_place(ours: str, golds: str) -> _Place:
    """Return the best place of the shorter of the two in the longer, or that of its beginning and its end."""
    is_ours = len(ours) <= len(golds)
    shorter, longer = (ours, golds) if is_ours else (golds, ours)
    shortened = len(shorter) > LONGEST_SHORTER or len(longer) > LONGEST_LONGER
    if shortened and (start := longer.find(shorter)) >= 0:
        whole, there = (0, len(shorter)), (start, start + len(shorter))
        return _Place(1.0, *((whole, there) if is_ours else (there, whole)), shortened=False)
    found = []
    for piece in _ends(shorter, LONGEST_SHORTER):
        parts = _ends(longer, LONGEST_LONGER)
        pairs = [(piece, part) if is_ours else (part, piece) for part in parts]
        found.append(max((_align(ours, golds, *pair) for pair in pairs), key=lambda place: place.ratio))
    return _Place(
        fmean(place.ratio for place in found),
        (min(place.ours[0] for place in found), max(place.ours[1] for place in found)),
        (min(place.golds[0] for place in found), max(place.golds[1] for place in found)),
        shortened,
    )


def _ends(text: str, longest: int) -> list[Span]:
    """Return the whole of *text*, or its beginning and its end where it is longer than *longest*."""
    size, half = len(text), longest // 2
    return [(0, size)] if size <= longest else [(0, half), (size - half, size)]


def _align(ours: str, golds: str, our_span: Span, gold_span: Span) -> _Place:
    # Here, because `replay --help` and `replay plugins` import scorers without scoring anything.
    from rapidfuzz.fuzz import partial_ratio_alignment

    found = partial_ratio_alignment(ours[slice(*our_span)], golds[slice(*gold_span)])
    assert found is not None  # only a cut-off leaves it out
    our_start, gold_start = our_span[0], gold_span[0]
    return _Place(
        found.score / 100,
        (our_start + found.src_start, our_start + found.src_end),
        (gold_start + found.dest_start, gold_start + found.dest_end),
        shortened=False,
    )


class WordIndex:
    """A text word by word, as it was and normalized."""

    def __init__(self, text: str) -> None:
        self._raw = _WORD.findall(text)
        self._bare = [normalize(word) for word in self._raw]
        self.text: str = " ".join(filter(None, self._bare))

    def whole(self, place: tuple[int, int]) -> str:
        """Return the normalized words that *place* in the normalized text touches."""
        first, last = self._touched_words(place)
        return " ".join(filter(None, self._bare[first:last]))

    def sentences(self, place: tuple[int, int]) -> str:
        """Return the sentences that *place* touches."""
        return self._up_to(_ENDS_SENTENCE, place)

    def clauses(self, place: tuple[int, int]) -> str:
        """Return the clauses that *place* touches; a conjunction ends one."""
        return self._up_to(_ENDS_CLAUSE, place)

    def _up_to(self, end: re.Pattern[str], place: tuple[int, int]) -> str:
        first, last = self._touched_words(place)
        while first > 0 and not end.search(self._raw[first - 1]):
            first -= 1
        while last < len(self._raw) and not end.search(self._raw[last - 1]):
            last += 1
        return "".join(self._raw[first:last])

    def _touched_words(self, place: tuple[int, int]) -> tuple[int, int]:
        start, end = place
        first, last, at = len(self._raw), 0, 0
        for number, bare in enumerate(self._bare):
            if bare:
                if at < end and at + len(bare) > start:
                    first, last = min(first, number), number + 1
                at += len(bare) + 1
        return (first, last) if last else (0, 0)


def _best(answer: str, references: Sequence[str], *, threshold: float | None) -> float:
    matches = [fuzzy_match(answer, reference, compare_from=threshold or 0.0) for reference in references]
    if threshold is None:
        return max(0.0 if match.differs else match.ratio for match in matches)
    return float(any(match.reaches(threshold) for match in matches))


def fuzzy(
    threshold: float | None = THRESHOLD,
    answerable_only: bool = False,
    declining: tuple[str, ...] = DECLINING_PATTERNS,
) -> ReferenceScore:
    """
    Return the scorer ``fuzzy``: share of answers that match a reference well enough, in [0, 1].

    With a threshold of None, the mean of the best ratios, 0 for an answer that states otherwise than all
    references.

    Args:
        threshold: From which likeness on an answer matches, in [0, 1]; with null the score is the likeness.
    """
    if threshold is not None and not 0 <= threshold <= 1:
        raise ValueError(f"threshold: {threshold} is not between 0 and 1")
    shown = "none" if threshold is None else f"{threshold:g}"
    return ReferenceScore(
        name="fuzzy",
        settings=f"partial+ends+squad+facts+max|threshold:{shown}",
        score=each(partial(_best, threshold=threshold)),
        answerable_only=answerable_only,
        declining=declining,
    )


Difference = Literal["figures", "names", "direction", "negation"]

_PLAIN_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NAME = re.compile(r"(?<=[^.!?:\s]\s)[A-Z][^\W_]+")
SAME_NAME = 75.0
"""Likeness in per cent from which on two names may be one, misspelt or inflected."""
_DENIES = re.compile(
    r"\b(?:(?:not|(?:is|are|was|were|do|does|did|has|have|had|ca|wo|would|could|should|might|must|need)n['’]?t)"
    r"(?!\W+(?:only|just|merely|simply)\b)|no(?!\W+doubt\b|\.?\s*(?-i:[\d#]|(?<=\.\s)[a-z]))"
    r"|never|none|nobody|nothing|nowhere|neither|cannot|without)\b",
    re.IGNORECASE,
)

_RISE = """
rise rises rose risen rising increase increases increased increasing grow grows grew grown growing growth gain
gains gained climb climbs climbed climbing jump jumps jumped soar soars soared surge surges surged up upward
upwards expand expands expanded expansion improve improves improved improvement strengthened accelerated
doubled tripled raise raises raised
"""
_FALL = """
fall falls fell fallen falling decrease decreases decreased decreasing decline declines declined declining
drop drops dropped dropping sink sinks sank sunk shrink shrinks shrank shrunk plunge plunges plunged slump
slumps slumped down downward downwards contracted contraction worsen worsens worsened deteriorated weakened
slowed halved reduce reduces reduced reduction lowered
"""
_MORE = """
more higher greater larger bigger above over most highest largest biggest maximum longer older faster exceeds
exceeded
"""
_LESS = "less fewer lower smaller below under least fewest lowest smallest minimum shorter younger slower"
_WON, _LOST = "won win wins winning winner profit profits", "lost lose loses losing loser loss losses"
_AXES = tuple(
    (frozenset(one.split()), frozenset(other.split()))
    for one, other in (
        (_RISE, _FALL),
        (_MORE, _LESS),
        ("before earlier", "after later"),
        (_WON, _LOST),
        ("best better", "worst worse"),
    )
)
"""Words of either way. Only those of one axis contradict each other: "fell by more than" doesn't."""
_DOWN = frozenset(f"{_FALL} {_LESS} {_LOST}".split())


def difference(gold: str, answer: str) -> Difference | None:
    """
    Return the kind of fact that *answer* states otherwise than *gold*; None if no difference shows.

    Figures: each of *gold*'s is in *answer*, in the same order, however written; *answer* may have more.
    Names: at most one of the two texts has a name that the other lacks. Ordinals, months, weekdays and
    directions: if both name some, one names them in the order of the other. Negation is left to callers that
    know which clauses belong together.
    """
    if not _figures_agree(gold, answer):
        return "figures"
    if not _names_agree(gold, answer):
        return "names"
    words, others = _words(gold), _words(answer)
    ways = ((_ways(words, axis), _ways(others, axis)) for axis in range(len(_AXES)))
    return None if all(_one_in_other(one, other) for one, other in ways) else "direction"


def denials(text: str) -> int:
    """Return how often *text* says not, no, never, ...; "not only" and "No. 1" deny nothing."""
    return len(_DENIES.findall(text))


def _figures_agree(gold: str, answer: str) -> bool:
    wanted, given = figures(gold), figures(answer)
    rest = iter(given)
    for one in wanted:
        if one.needed and not any(_same(one, other, gold, answer) for other in rest):
            return False
    kinds: tuple[Kind, ...] = ("ordinal", "month", "weekday")
    named = ([[one.value for one in some if one.kind == kind] for some in (wanted, given)] for kind in kinds)
    return all(_one_in_other(one, other) for one, other in named)


def _names_agree(gold: str, answer: str) -> bool:
    """Return whether *gold* has no name missing in *answer* that *answer* replaces by another."""
    return not (_unknown(_names(gold), answer) and _unknown(_names(answer), gold))


def _unknown(names: Sequence[str], text: str) -> bool:
    """Return whether one of *names* is like no word of *text*."""
    from rapidfuzz.fuzz import ratio

    words = set(_words(text))
    return any(name not in words and all(ratio(name, word) < SAME_NAME for word in words) for name in names)


def _names(text: str) -> list[str]:
    """Return the words with a capital within a sentence, in lower case."""
    return [name.lower() for name in _NAME.findall(text)]


def _same(one: Figure, other: Figure, gold: str, answer: str) -> bool:
    """Return whether both are the same, with their signs: "-5%" is a fall of 5 %."""
    if not one.same(other):
        return False
    if (one.value < 0) == (other.value < 0):
        return True
    unsigned = answer if one.value < 0 else gold
    return not _DOWN.isdisjoint(_words(unsigned))


def _words(text: str) -> list[str]:
    return _PLAIN_WORD.findall(text.lower())


def _ways(words: Sequence[str], axis: int) -> list[bool]:
    """Return the directions that *words* name: True for the first kind of the axis."""
    first, second = _AXES[axis]
    return [word in first for word in words if word in first or word in second]


def _one_in_other(some: Sequence[object], others: Sequence[object]) -> bool:
    """Return whether one of the two holds the other in its order."""
    short, long = sorted((some, others), key=len)
    rest = iter(long)
    return all(one in rest for one in short)
