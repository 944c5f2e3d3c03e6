"""
Conversations made from documents, without a model: read, asked about, filtered, and put in order.

The filters are what a system and a resolver make of the questions: is the answer found, and what a question
leans on?
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from pathlib import Path

import msgspec

from replay.core.adapter import Adapter, ChatRequest
from replay.core.asking.retries import open_all, open_session, usable_reply
from replay.core.conversation import Conversation
from replay.core.errors import DatasetError, InputError
from replay.coreference.reading.readings import read_all
from replay.coreference.reading.resolver import Resolver, recorded_document
from replay.coreference.reading.words import content_words
from replay.synthesis.documents.document import SourceSection
from replay.synthesis.documents.read import DocumentReading
from replay.synthesis.flow import ConversationWriter, reached_shares, too_few
from replay.synthesis.pool import Area, passage_of, pool_of, with_neighbours
from replay.synthesis.questions.question import DocumentFact
from replay.synthesis.synthesis_settings import VERSION, SynthesisSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis:
    """Conversations, and what became of everything that could have been in them."""

    conversations: list[Conversation]
    sources: list[str]
    """Paths of the documents that were read."""
    areas: list[Area]
    """All that can be asked of them, before *system* has a say."""
    sections: int
    questions: int
    """How many could be asked after filtering, several of one sentence among them."""
    rejected: Counter[str]
    """Questions and passages that were left out, by reason."""
    unread: list[DatasetError]
    """Files that couldn't be used."""
    references: Counter[str] = field(default_factory=Counter)
    """How often the resolver found what a question leans on: "pronoun found", "ellipsis not found" ..."""
    reached: Mapping[str, float] = field(default_factory=dict)
    """The shares that were reached, by the names of ``Shares``."""
    signature: str = ""
    """Hash of the settings and of the documents' texts: equal ones give equal conversations."""


def synthesize(
    paths: Iterable[Path], settings: SynthesisSettings, *, system: Adapter | None, resolver: Resolver | None
) -> Synthesis:
    """
    Return conversations that the documents of *paths* carry; equal settings and files give equal ones.

    Args:
        paths: Files, folders and patterns.
        settings: How many, how long, of what kinds.
        system: Only what this system answers from a question's passage is asked; None asks all.
        resolver: Marks whether it finds what each question leans on; None marks nothing.

    Raises:
        DatasetError: none of the files can be used; of several reasons the first is given.
        InputError: the documents carry fewer conversations than are asked for; the message says how many.
        AdapterError: *system* can't be asked.
    """
    reading = DocumentReading(msgspec.json.encode((VERSION, settings)))
    pool = pool_of(reading.documents(paths, settings.largest_mb), least=settings.turns)
    if not reading.sources:
        raise reading.unread[0] if reading.unread else InputError("no documents were found; check the paths")
    areas = pool.areas
    if system is not None:
        # In a thread of its own, since whoever reads a scenario's data may be in an event loop already.
        with ThreadPoolExecutor(1) as thread:
            areas = thread.submit(asyncio.run, keep_answered(areas, system, pool.rejected)).result()
    writer = ConversationWriter(
        areas=areas, turns=settings.turns, shares=settings.shares, rng=random.Random(settings.seed)
    )
    made = list(islice(writer.conversations(), settings.conversations))
    if len(made) < (settings.conversations or 1):
        raise too_few(len(made), settings.conversations, settings.turns)
    references: Counter[str] = Counter()
    if resolver is not None:
        made, references = mark_references(made, resolver)
    return Synthesis(
        conversations=made, sources=reading.sources, areas=pool.areas, sections=pool.sections,
        questions=sum(len(area.facts) for area in areas), rejected=+pool.rejected, unread=reading.unread,
        references=references, reached=reached_shares(made), signature=reading.signature,
    )  # fmt: skip


FOUND = 0.6
"""The share of an answer's content words that a reply holds which gives it."""
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
        request = ChatRequest(question=fact.standalone, history=(), depth=1)
        async with open_session(system, conversation) as session:
            replies.append(usable_reply(await session.ask(request), request).text)
    return replies


def gives(reply: str, answers: Sequence[str]) -> bool:
    """Return whether *reply* holds most content words of one of *answers*."""
    said = set(content_words(reply))
    return any(
        len(wanted & said) >= FOUND * len(wanted)
        for answer in answers
        if (wanted := set(content_words(answer)))
    )


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
