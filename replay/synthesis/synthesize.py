"""Conversations made from documents, without a model: read, asked about, filtered, and put in order."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import msgspec

from replay.core.adapter import Adapter
from replay.core.conversation import Conversation
from replay.core.errors import DatasetError, InputError
from replay.coreference.reading.resolver import Resolver
from replay.synthesis.documents.read import DocumentReading
from replay.synthesis.filters import keep_answered, mark_references
from replay.synthesis.flow import ConversationWriter, reached_shares, too_few
from replay.synthesis.pool import Area, pool_of
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
