"""What a system and a resolver make of the questions: is the answer found, and what a question leans on?"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby

import msgspec

from replay.core.adapter import Adapter, ChatRequest
from replay.core.asking.retries import open_all, open_session, usable_reply
from replay.core.conversation import Conversation, Passage
from replay.coreference.reading.readings import read_all
from replay.coreference.reading.resolver import Resolver, recorded_document
from replay.coreference.reading.words import content_words
from replay.synthesis.documents.document import SourceSection
from replay.synthesis.pool import Area
from replay.synthesis.questions.fact import DocumentFact

FOUND = 0.6
"""The share of an answer's content words that a reply holds which gives it."""
NEIGHBOURS = 1
"""Sections to either side of those that answer, which a conversation has among its passages too."""
_AT_ONCE = 16
NOT_FOUND = "the system does not find the answer in its passage"
FOUND_WITHOUT = "the system finds the answer without its passage"


async def keep_answered(areas: Iterable[Area], system: Adapter, rejected: Counter[str]) -> list[Area]:
    """
    Return *areas* with the facts that *system* answers with the passage, and not without it.

    It is asked the standalone question, and shown the passage with its neighbours, then these alone. Facts
    that are left out are counted in *rejected*.

    Raises:
        AdapterError: the system can't be asked.
    """
    kept: list[Area] = []
    gate = asyncio.Semaphore(_AT_ONCE)
    async with open_all([system]):
        for area in areas:
            of_section = [
                (section, list(facts))
                for section, facts in groupby(area.facts, key=lambda fact: fact.section)
            ]
            found = await asyncio.gather(
                *(
                    _keep_of_section(system, area, section, facts, rejected, gate)
                    for section, facts in of_section
                )
            )
            kept.append(replace(area, facts=tuple(fact for facts in found for fact in facts)))
    return kept


async def _keep_of_section(
    system: Adapter,
    area: Area,
    section: SourceSection,
    facts: Sequence[DocumentFact],
    rejected: Counter[str],
    gate: asyncio.Semaphore,
) -> list[DocumentFact]:
    """Return those of *facts*, all of *section*, that are answered with it alone."""
    around = with_neighbours(area.sections, [section])
    without = [one for one in around if one.id != section.id]
    async with gate:
        given = await _replies(system, section.id, around, facts)
        blind = await _replies(system, section.id, without, facts)
    kept = []
    for fact, reply, other in zip(facts, given, blind, strict=True):
        # A yes-or-no question has its answer's words: that a search finds no news there says nothing.
        if fact.kind != "yes-no" and not gives(reply, fact.answers):
            rejected[NOT_FOUND] += 1
        elif gives(other, fact.answers):
            rejected[FOUND_WITHOUT] += 1
        else:
            kept.append(fact)
    return kept


async def _replies(
    system: Adapter, name: str, shown: Sequence[SourceSection], facts: Sequence[DocumentFact]
) -> list[str]:
    conversation = Conversation(id=name, turns=(), passages=tuple(passage_of(one) for one in shown))
    replies = []
    for fact in facts:
        async with open_session(system, conversation) as session:
            replies.append(
                (await usable_reply(session, ChatRequest(question=fact.standalone, history=(), depth=1))).text
            )
    return replies


def gives(reply: str, answers: Sequence[str]) -> bool:
    """Return whether *reply* holds most content words of one of *answers*."""
    said = set(content_words(reply))
    return any(
        len(wanted & said) >= FOUND * len(wanted)
        for answer in answers
        if (wanted := set(content_words(answer)))
    )


def with_neighbours(
    sections: Sequence[SourceSection], chosen: Iterable[SourceSection]
) -> list[SourceSection]:
    """Return those of *sections* that are *chosen* or stand beside one that is, in order."""
    ids = {section.id for section in chosen}
    at = [i for i, section in enumerate(sections) if section.id in ids]
    shown = {i + step for i in at for step in range(-NEIGHBOURS, NEIGHBOURS + 1)}
    return [section for i, section in enumerate(sections) if i in shown and section.text]


def passage_of(section: SourceSection) -> Passage:
    """Return *section* as a passage."""
    return Passage(id=section.id, text=section.text, title=" > ".join(section.headings))


def mark_references(
    conversations: Sequence[Conversation], resolver: Resolver
) -> tuple[list[Conversation], Counter[str]]:
    """
    Return *conversations* with what *resolver* makes of each reference, and counts ("pronoun found").

    It reads the recorded conversation alone, without passages. ``found`` says that its antecedent shares a
    content word with what stands there by construction, or with the question before where something was left
    out.
    """
    places = [
        (i, depth)
        for i, conversation in enumerate(conversations)
        for depth, about in enumerate(conversation.metadata["synthesized"], 1)
        if "references" in about
    ]
    documents = [
        recorded_document(conversations[i], depth, window=None, background=False) for i, depth in places
    ]
    counts: Counter[str] = Counter()
    marks: dict[tuple[int, int], bool] = {}
    for place, readings in zip(places, read_all(resolver, documents), strict=True):
        reference = conversations[place[0]].metadata["synthesized"][place[1] - 1]["references"][0]
        turn = conversations[place[0]].turns[reference["depth"] - 1]
        left_out = reference["start"] == reference["end"]  # the question before says what was left out
        meant = set(content_words(turn.question if left_out else reference["antecedent"]))
        marks[place] = any(meant & set(content_words(one.antecedent or "")) for one in readings)
        counts[f"{reference['way']} {'found' if marks[place] else 'not found'}"] += 1
    return [
        _with_marks(one, {d: m for (i, d), m in marks.items() if i == at})
        for at, one in enumerate(conversations)
    ], counts


def _with_marks(conversation: Conversation, marks: dict[int, bool]) -> Conversation:
    about = [
        one | {"resolver": "found" if marks[depth] else "not found"} if depth in marks else one
        for depth, one in enumerate(conversation.metadata["synthesized"], 1)
    ]
    return msgspec.structs.replace(conversation, metadata={**conversation.metadata, "synthesized": about})
