"""
Conversations through what documents carry: which question follows which, and how it leans on it.

The first question of a conversation needs no context. After each, one of these comes next, whichever the
whole set lacks most against the shares that are asked for: a question that leans on the one before, another
of the same section, one of another section, or one that the passages don't answer.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

import msgspec

from replay.core.conversation import CANNOT_ANSWER, Conversation, Turn
from replay.core.errors import InputError
from replay.coreference.reading.words import content_words
from replay.synthesis.pool import Area, passage_of, with_neighbours
from replay.synthesis.questions.question import (
    DocumentFact,
    QuestionForm,
    QuestionSetting,
    Way,
    in_setting,
    lean_on,
)
from replay.synthesis.synthesis_settings import Shares

Move = Literal["lean", "elliptic", "same section", "other section", "unanswerable"]

_MOVES: tuple[Move, ...] = ("lean", "elliptic", "same section", "other section", "unanswerable")
_ELLIPTIC: frozenset[Way] = frozenset({"ellipsis", "why", "else"})
_LEANING: frozenset[Move] = frozenset({"lean", "elliptic"})
_OPENING = frozenset({"definition", "effect", "procedure", "list", "condition", "object", "item"})
_LISTED = frozenset({"cell", "item", "difference"})
"""Kinds of which a conversation has no more than a third: nobody asks for a table cell by cell."""
_ABSENT = 0.5
"""A question has no answer in a sentence that holds at most this share of its content words."""
MOST_TITLES = 3
"""Documents that a conversation is named by."""
_AROUND = 4
"""Areas to either side from which a question without answer is taken."""


@dataclass(slots=True)
class _SoFar:
    """What has been asked so far, in the whole set."""

    later: int = 0
    """Questions after the first."""
    turns: int = 0
    moves: Counter[Move] = field(default_factory=Counter)
    yes_no: int = 0

    def add(self, choice: _Choice, *, is_first: bool) -> None:
        """Count *choice*."""
        self.turns += 1
        self.yes_no += choice.form.fact.kind == "yes-no"
        if not is_first:
            self.later += 1
            self.moves[choice.move] += 1


@dataclass(frozen=True, slots=True)
class _Choice:
    form: QuestionForm
    move: Move


@dataclass(slots=True, kw_only=True)
class _Remainder:
    area: Area
    facts: list[DocumentFact]
    """Those whose answers no conversation has."""
    is_done: bool = False

    @property
    def richness(self) -> int:
        """Return how much can be asked that leans on other questions, or needs more than yes or no."""
        facts = [fact for fact in self.facts if fact.kind not in _LISTED]
        topics = Counter(fact.topic.key for fact in facts if fact.topic is not None)
        return 2 * sum(many - 1 for many in topics.values()) + sum(fact.kind != "yes-no" for fact in facts)


@dataclass(slots=True, kw_only=True)
class ConversationWriter:
    """Puts questions into an order, conversation by conversation."""

    areas: Sequence[Area]
    turns: int
    """Questions of a conversation."""
    shares: Shares
    rng: random.Random
    _so_far: _SoFar = field(default_factory=_SoFar)

    def conversations(self) -> Iterator[Conversation]:
        """
        Yield conversations, each answer used once, until the areas carry no more.

        The areas with the most to ask come first.
        """
        left = [_Remainder(area=area, facts=list(area.facts)) for area in self.areas]
        made: Counter[int] = Counter()
        while open_areas := [i for i, one in enumerate(left) if not one.is_done]:
            at = max(open_areas, key=lambda i: left[i].richness)
            chosen = self._conversation(left[at], self._near(at))
            if chosen is None:
                left[at].is_done = True
                continue
            made[at] += 1
            document = chosen[0].form.fact.section.id.partition("#")[0]
            yield _build(left[at].area, chosen, f"{document}:{made[at]}")

    def _near(self, at: int) -> list[DocumentFact]:
        """Return what neighbouring areas answer."""
        around = range(max(at - _AROUND, 0), min(at + _AROUND + 1, len(self.areas)))
        return [fact for i in around if i != at for fact in self.areas[i].facts]

    def _conversation(self, left: _Remainder, near: Sequence[DocumentFact]) -> list[_Choice] | None:
        """Return the questions of one conversation, and take them from *left*; None if it carries none."""
        if not left.facts:
            return None
        before = replace(self._so_far, moves=Counter(self._so_far.moves))
        first = self._opening(left.facts)
        chosen = [_Choice(in_setting(first, {}), "same section")]
        self._so_far.add(chosen[0], is_first=True)
        facts = _without(left.facts, first)
        while len(chosen) < self.turns:
            choice = self._next(chosen, facts, near, left.area)
            if choice is None:
                self._so_far = before
                return None
            chosen.append(choice)
            self._so_far.add(choice, is_first=False)
            if choice.move != "unanswerable":
                facts = _without(facts, choice.form.fact)
        left.facts = facts
        return chosen

    def _opening(self, facts: Sequence[DocumentFact]) -> DocumentFact:
        """Return an opening question of one of the sections with the most to ask."""
        topics = Counter(fact.topic.key for fact in facts if fact.topic is not None)
        openings = [fact for fact in facts if fact.kind in _OPENING] or list(facts)
        lasting = [fact for fact in openings if fact.topic is not None and topics[fact.topic.key] > 2]
        of_section = Counter(fact.section.id for fact in facts)
        best = sorted(lasting or openings, key=lambda fact: -of_section[fact.section.id])
        return self.rng.choice(best[: max(3, len(best) // 4)])

    def _next(
        self,
        chosen: Sequence[_Choice],
        facts: Sequence[DocumentFact],
        near: Sequence[DocumentFact],
        area: Area,
    ) -> _Choice | None:
        """Return the question that comes next, of the kind that is most wanted among those there are."""
        last, depth = chosen[-1], len(chosen)
        found = self._options(chosen, facts)
        shares, count = self.shares, self._so_far
        wanted: dict[Move, float] = {
            "lean": shares.anaphora,
            "elliptic": shares.ellipsis,
            "unanswerable": shares.unanswerable,
            "other section": shares.shift,
        }
        wanted["same section"] = 1 - sum(wanted.values())
        lacking = {
            move: share * (count.later + 1) - count.moves[move] for move, share in wanted.items() if share
        }
        topics = Counter(fact.topic.key for fact in facts if fact.topic is not None)
        wants_leaning = lacking.get("lean", 0) > 0
        lasting = frozenset(topic for topic, many in topics.items() if many > 1 and wants_leaning)
        wants_yes_no = count.yes_no < shares.yes_no * (count.turns + 1)
        for may_be_yes_no in (wants_yes_no, True):
            for move in sorted(lacking, key=lambda one: -lacking[one]):
                if move == "unanswerable":
                    may_follow = last.move != "unanswerable" and depth > 1 and lacking[move] > 0
                    absent = self._unanswerable(near, area) if may_follow else None
                    if absent is not None:
                        return _Choice(absent, move)
                    continue
                leans = move in ("lean", "elliptic") and lacking[move] > 0
                options = [one for one in found[move] if leans or may_be_yes_no or one.fact.kind != "yes-no"]
                if options:
                    return _Choice(self._nearest(options, last.form.fact, lasting), move)
        return None

    def _options(
        self, chosen: Sequence[_Choice], facts: Sequence[DocumentFact]
    ) -> dict[Move, list[QuestionForm]]:
        """Return what can be asked after *chosen*, by how it follows."""
        last, most_listed = chosen[-1], max(self.turns // 3, 1)
        listed = sum(one.form.fact.kind in _LISTED for one in chosen)
        section = next(one.form.fact.section for one in reversed(chosen) if one.move != "unanswerable")
        found: dict[Move, list[QuestionForm]] = {move: [] for move in _MOVES}
        for fact in facts:
            if fact.kind in _LISTED and listed >= most_listed:
                continue
            if fact.more_of and any(one.form.way == "else" for one in chosen):
                continue
            said = _settings_said(fact, chosen)
            is_clear = all(one.is_told or one in said for one in fact.settings)
            if last.move != "unanswerable" and is_clear:
                for form in lean_on(fact, last.form.fact, len(chosen)):
                    is_elliptic = form.way in _ELLIPTIC
                    if not is_elliptic or last.move != "elliptic":
                        found["elliptic" if is_elliptic else "lean"].append(form)
            if not fact.reason_for and not fact.more_of:
                move: Move = "same section" if fact.section.id == section.id else "other section"
                found[move].append(in_setting(fact, said))
        return found

    def _nearest(
        self, options: Sequence[QuestionForm], last: DocumentFact, lasting: frozenset[str]
    ) -> QuestionForm:
        """
        Return one of *options*, most often the one whose answer follows soonest after the last.

        Where questions are wanted that lean on others, what more can be asked about (*lasting*) comes first.
        """

        document, _, number = last.section.id.rpartition("#")

        def far(form: QuestionForm) -> tuple[bool, bool, bool, bool, int, int]:
            fact = form.fact
            its_document, _, its_number = fact.section.id.rpartition("#")
            sections = abs(int(its_number) - int(number)) if its_document == document else 0
            gap = fact.start - last.start if fact.section.id == last.section.id else fact.start
            ends = bool(lasting) and (fact.topic is None or fact.topic.key not in lasting)
            repeats = fact.kind == last.kind and fact.kind != "yes-no" and not form.references
            return (its_document != document, ends, repeats, gap < 0, sections, abs(gap))

        ordered = sorted(options, key=far)
        return ordered[min(int(self.rng.expovariate(1.0)), len(ordered) - 1)]

    def _unanswerable(self, near: Sequence[DocumentFact], area: Area) -> QuestionForm | None:
        """Return a question of other documents that no sentence of *area* comes near to answering."""
        own = {section.id for section in area.sections}
        for _ in range(20 if near else 0):
            fact = self.rng.choice(near)
            if fact.section.id in own or fact.kind in ("list", "item") or fact.reason_for or fact.more_of:
                continue
            asked_for = frozenset(content_words(fact.question))
            if asked_for and all(len(asked_for & line) / len(asked_for) <= _ABSENT for line in _lines(area)):
                return in_setting(fact, {})
        return None


def _settings_said(fact: DocumentFact, chosen: Sequence[_Choice]) -> dict[QuestionSetting, int]:
    """Return those settings of *fact* that *chosen* is in and has said, each with the depth where."""
    said: dict[QuestionSetting, int] = {}
    for setting in fact.settings:
        for depth in range(len(chosen), 0, -1):
            one = chosen[depth - 1]
            same = next((it for it in one.form.fact.settings if it.key == setting.key), None)
            if one.move == "unanswerable" or same is None:
                break
            left_out = {it.antecedent for it in one.form.references if it.way == "setting"}
            if one.move not in _LEANING and same.text not in left_out:
                said[setting] = depth
                break
    return said


def _without(facts: Sequence[DocumentFact], used: DocumentFact) -> list[DocumentFact]:
    return [fact for fact in facts if (fact.section.id, fact.start) != (used.section.id, used.start)]


@lru_cache(maxsize=4)
def _lines(area: Area) -> list[frozenset[str]]:
    return [frozenset(content_words(line)) for section in area.sections for line in section.text.split(". ")]


def _build(area: Area, chosen: Sequence[_Choice], identity: str) -> Conversation:
    answered = [one.form.fact.section for one in chosen if one.move != "unanswerable"]
    passages = tuple(passage_of(section) for section in with_neighbours(area.sections, answered))
    turns, facts = [], []
    for i, one in enumerate(chosen, 1):
        fact, has_answer = one.form.fact, one.move != "unanswerable"
        turns.append(Turn(
            id=f"{identity}#{i}", question=one.form.question, standalone=fact.standalone,
            gold_answers=fact.answers if has_answer else (CANNOT_ANSWER,),
            gold_passages=(fact.section.id,) if has_answer else (),
        ))  # fmt: skip
        facts.append(_about(one))
    title_of = {section.id: title for section, title in zip(area.sections, area.titles, strict=True)}
    titles = [*dict.fromkeys(title_of[section.id] for section in answered)]
    title = ", ".join(titles[:MOST_TITLES]) + (" ..." if len(titles) > MOST_TITLES else "")
    return Conversation(
        id=identity, title=title, turns=tuple(turns),
        passages=passages, metadata={"synthesized": facts},
    )  # fmt: skip


def _about(one: _Choice) -> dict[str, Any]:
    """Return what is known of a question by construction, as JSON values."""
    fact = one.form.fact
    said: dict[str, Any] = {"kind": fact.kind, "move": one.move}
    if one.move != "unanswerable":
        said["answer"] = {"passage": fact.section.id, "start": fact.start, "end": fact.end}
    if one.form.references:
        said["references"] = [msgspec.to_builtins(reference) for reference in one.form.references]
    return said


def too_few(found: int, wanted: int | None, turns: int) -> InputError:
    """Return the error that says how many conversations documents carry."""
    return InputError(
        f"these documents carry {found} conversations of {turns} turns, and {wanted or 'at least one'} are "
        f"asked for; ask for {found or 'less'}, for fewer turns, or give more documents"
    )


def reached_shares(conversations: Sequence[Conversation]) -> dict[str, float]:
    """Return the shares of kinds of questions in *conversations*, by the names of ``Shares``."""
    known = [about for one in conversations for about in one.metadata["synthesized"]]
    moves = Counter(about["move"] for one in conversations for about in one.metadata["synthesized"][1:])
    later = max(moves.total(), 1)
    return {
        "anaphora": moves["lean"] / later,
        "ellipsis": moves["elliptic"] / later,
        "unanswerable": moves["unanswerable"] / later,
        "shift": moves["other section"] / later,
        "yes_no": sum(about["kind"] == "yes-no" for about in known) / max(len(known), 1),
    }
